# What is installed, and that the documents agree with the program.

load helper

@test "make install honours DESTDIR and PREFIX, make uninstall takes it away" {
  run -0 make -s -C "$TESTS_DIR/.." install DESTDIR="$PWD/root" PREFIX=/opt/z
  run -0 find root -type f
  assert_line root/opt/z/bin/zkflock
  assert_line root/opt/z/share/man/man1/zkflock.1
  assert_line root/opt/z/share/man/man5/zkflock.conf.5
  assert_line root/opt/z/share/man/man7/zkflock.7
  assert_line root/opt/z/share/bash-completion/completions/zkflock
  assert_line root/opt/z/share/zsh/site-functions/_zkflock
  assert_line root/opt/z/share/fish/vendor_completions.d/zkflock.fish
  assert_equal "${#lines[@]}" 7
  run -0 root/opt/z/bin/zkflock "$LOCK" echo ok
  assert_output ok
  run -0 make -s -C "$TESTS_DIR/.." uninstall DESTDIR="$PWD/root" PREFIX=/opt/z
  run -0 find root -type f
  assert_output ""
}

@test "the program is hardened, unless CFLAGS says otherwise" {
  run -0 readelf --wide --file-header --dynamic --program-headers --dyn-syms "$ZKFLOCK_BUILD/zkflock"
  assert_line --regexp "Type: +DYN \(Position-Independent Executable"
  assert_line --regexp "Flags: .*NOW .*PIE"
  assert_line --regexp "GNU_RELRO"
  assert_line --regexp "GNU_STACK .* RW +0x"
  assert_line --regexp " __stack_chk_fail"
  # Sanitizers have their checks in place of those of FORTIFY, and gcov wants no optimization.
  [[ $ZKFLOCK_BUILD == */@(sanitize|coverage) ]] || assert_line --regexp " __[a-z]+_chk[@ ]"
  # What the program does not show, of all of its files.
  make -Bn -C "$TESTS_DIR/.." V=1 BUILD=elsewhere SANITIZE= CFLAGS=-O1 all | grep -- " -c " >compiled
  assert [ "$(wc -l <compiled)" -ge 100 ]
  for flag in -fPIE -fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2 \
    "(-fcf-protection|-mbranch-protection=standard)"; do
    run -1 grep -vE -- " $flag .*-O1 " compiled
  done
}

@test "exit statuses are the same in the source, the help, the manual and the README" {
  top=$TESTS_DIR/..
  sed -n 's/^ *X(EXITCODE_[A-Z]*, \([0-9]*\), "\(.*\)") *\\\{0,1\}$/\1 \2/p' "$top/src/base/exitcode.h" >source
  assert [ "$(wc -l <source)" -ge 11 ]
  zkflock --help | sed -n 's/^ \{2,4\}\([0-9]\{1,3\}\)  \(.*\)$/\1 \2/p' >help
  run -0 diff source help
  # The manual breaks lines and marks options up.
  mandoc -Tascii -Owidth=500 "$top/man/zkflock.1" | col -bx | sed -n '/^EXIT STATUS/,/^EXAMPLES/p' |
    sed -n 's/^ *\([0-9]\{1,3\}\)  *\(.*\)$/\1 \2/p' >manual
  run -0 diff source manual
  # 128 stands in the sentence above the README's table.
  sed -n 's/^| \([0-9]*\) | \(.*\) |$/\1 \2/p' "$top/README.md" >readme
  run -0 diff <(grep -v '^128 ' source) readme
}

@test "the keys of the config file are the same in the source and its manual" {
  sed -n 's/.*\.key = "\([a-z-]*\)".*/\1/p' "$TESTS_DIR/../src/config/option_table.c" | sort >source
  sed -n 's/^\.It Cm \([a-z-]*\)$/\1/p' "$TESTS_DIR/../man/zkflock.conf.5" | sort >manual
  assert [ "$(wc -l <source)" -ge 15 ]
  run -0 diff source manual
}

@test "the config file that is packaged has every key, all commented out, with values that are accepted" {
  local conf=$TESTS_DIR/../packaging/zkflock.conf
  sed -n 's/^#\([a-z-]*\) = .*/\1/p' "$conf" | sort >packaged
  run -0 diff <(sed -n 's/.*\.key = "\([a-z-]*\)".*/\1/p' "$TESTS_DIR/../src/config/option_table.c" | sort) packaged
  run -1 grep -vE '^(#|$|\[zkflock\]$)' "$conf"
  # As it is, and with each key in effect, but for those that do not go together.
  run -0 zkflock --config "$conf" --show-config nightly
  refute_output --partial "$conf"
  sed -E '/^#(permits|auth-file|cacert|cert|key|with) =/!s/^#([a-z-]+ =|\[)/\1/' "$conf" >used
  run -0 zkflock --config used --show-config nightly
  assert_line --regexp "^path += /locks/nightly +# used:[0-9]+\$"
}

@test "the source is packed into the same bytes twice, and can be built from there, without git" {
  run -0 make -s -C "$TESTS_DIR/.." dist BUILD_DIST="$PWD/one"
  run -0 make -s -C "$TESTS_DIR/.." dist BUILD_DIST="$PWD/two"
  run -0 cmp one/*.xz two/*.xz
  tar -xf one/*.xz
  assert_exist zkflock-*/packaging/debian/control
  run -0 make -s -C zkflock-*/ dist BUILD_DIST="$PWD/three"
  run -0 diff <(tar -tf one/*.xz) <(tar -tf three/*.xz)
  run -0 make -n -C zkflock-*/ all
}

@test "every option of the help is known to the program" {
  for option in $(zkflock --help | grep -oE -- '--[a-z-]+' | sort -u); do
    run zkflock "$option"
    refute_output --partial "unrecognized option"
  done
}

@test "--help and --version go to stdout and need no server" {
  export ZKFLOCK_SERVERS=127.0.0.1:1
  run --separate-stderr -0 timeout 5 zkflock --help
  assert_output --partial "Usage: zkflock [options] LOCK COMMAND [ARG]..."
  assert_equal "$stderr" ""
  run --separate-stderr -0 timeout 5 zkflock -V
  assert_output --regexp "^zkflock $(sed -n 's/^VERSION = //p' "$TESTS_DIR/../Makefile")[ ]\\(ZooKeeper client [0-9.]+\\)\$"
  # Narrow enough for any terminal.
  run -0 awk 'length > 80' <(zkflock --help)
  assert_output ""
}
