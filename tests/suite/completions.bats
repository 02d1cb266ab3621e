# Completions, in real shells at a terminal, as make install puts them where the shells look.

load helper

setup_file() {
  # What is tested is built already, in whichever way.
  make -s -C "$BATS_TEST_DIRNAME/../.." -o all install BUILD="$ZKFLOCK_BUILD" \
    PREFIX="$BATS_FILE_TMPDIR"
}

setup() {
  common_setup
  export HOME=$PWD
  export XDG_DATA_DIRS=$BATS_FILE_TMPDIR/share:/usr/share
  mkdir -p bin "$XDG_CONFIG_HOME/zkflock"
  PATH=$PWD/bin:$PATH
  config "[zkflock]" "root = $LOCK" "[lock nightly]" "path = $LOCK/x"
  cat >rc <<'EOF'
PS1="ready> "
# Writes its arguments to a file, one a line.
words() { printf "%s\n" "$@" >words.new; mv words.new words; }
EOF
  cat rc - >bashrc <<'EOF'
. /usr/share/bash-completion/bash_completion
EOF
  cat rc - >.zshrc <<'EOF'
share=$XDG_DATA_DIRS[(ws.:.)1]
fpath=("$share/zsh/site-functions" $fpath)
autoload -Uz compinit
compinit -u -d "$share/zcompdump"
# Inserts every match, as Meta-* does in bash.
every() { _main_complete; compstate[insert]=all compstate[list]=; }
zle -C every complete-word every
bindkey "\e*" every
EOF
}

config() { # config LINE...: the user's config file
  printf '%s\n' "$@" >"$XDG_CONFIG_HOME/zkflock/config"
}

# types SHELL KEYS: puts the words of the line that results into the file words.
types() {
  local start="exec bash --rcfile bashrc -i"
  [ "$1" = bash ] || start="ZDOTDIR=$PWD exec zsh -d -i"
  rm -f words
  terminal "send=$start\n" "expect=ready> " "send=$2"$'\x01words \n' file=words >session ||
    fail "$(cat session)"
}

# becomes SHELL LINE WORD: the last word of LINE does, after the tab key.
becomes() {
  types "$1" "$2"$'\t' && [ "$(tail -n 1 words)" = "$3" ]
}

# completions SHELL LINE: what is offered for the word at the end of LINE, sorted.
completions() {
  if [ "$1" = fish ]; then
    fish -c 'complete -C $argv[1]' "$2" | cut -f1
  else
    types "$1" "$2"$'\e*'
    # Without the words before; the last one may be empty.
    eval "set -- ${2% *}"
    tail -n +$(($# + 1)) words
  fi | sort
}

# offers SHELL LINE WORD...: these and no others.  Perhaps not at once: when a server takes longer than
# 300 ms on a busy machine, the completion rightly does not wait for it.
offers() {
  local wanted deadline=$((SECONDS + 10))
  wanted=$(printf '%s\n' "${@:3}" | sort)
  until
    run -0 completions "$1" "$2"
    [ "$output" = "$wanted" ] || [ "$SECONDS" -gt "$deadline" ]
  do
    :
  done
  assert_equal "$1: $2$output" "$1: $2$wanted"
}

# everywhere LINE WORD...: the same in each of them.
everywhere() {
  for shell in bash zsh fish; do
    offers "$shell" "$@"
  done
}

# listed: the options at the beginning of these lines, such as -s, --shared.
listed() {
  sed -nE 's/^ +((-[^ ,]+, )*-[^ ,]+).*/\1/p' | tr -s ', ' '\n' | sort -u
}

# ---- options ----

@test "options are the same in the help, the manual and the completions" {
  zkflock --help | sed -n '/^What to take/,/^TIME is/p' | listed >help
  assert [ "$(wc -l <help)" -ge 60 ]
  for shell in bash zsh fish; do
    for before in zkflock "zkflock nightly"; do
      completions "$shell" "$before -"
    done | sort -u >"of-$shell"
    run -0 diff help "of-$shell"
  done
  mandoc -Tascii -Owidth=500 "$TESTS_DIR/../man/zkflock.1" | col -bx |
    sed -n '/^ *Options/,/^ENVIRONMENT/p' | grep -E '^ {5}-' | listed >manual
  run -0 diff help manual
}

@test "options, and their values where there is a choice" {
  everywhere "zkflock --on-l" --on-lost
  everywhere "zkflock --on-lost " kill term warn
  everywhere "zkflock --on-lost=k" --on-lost=kill
  everywhere "zkflock -n --log-format " json text
  everywhere "zkflock --log-format=json --node-style k" kazoo
  everywhere "zkflock --node-style p" plain:
  everywhere "zkflock --signal SIGT" SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU
  touch of-mine
  everywhere "zkflock --config of" of-mine
  everywhere "zkflock --config=of" --config=of-mine
  everywhere "zkflock --retry-delay "
  everywhere "zkflock -nw "
}

@test "every signal that is offered is known to the program" {
  for shell in bash zsh fish; do
    for typed in "" SIG; do
      run -0 completions "$shell" "zkflock --signal $typed"
      assert_line "${typed}TERM"
      assert_line "${typed}ABRT"
      for signal in "${lines[@]}"; do
        zkflock --signal "$signal" --show-config >shown || fail "$shell offers $signal"
      done
    done
  done
}

@test "--for: processes, --hook: commands" {
  sleep 1000 3>&- &
  for shell in bash zsh fish; do
    run -0 completions "$shell" "zkflock --for $!"
    assert_line "$!"
  done
  kill "$!"
  printf '#!/bin/sh\n' >bin/tell-them
  chmod +x bin/tell-them
  everywhere "zkflock --hook tell-th" tell-them
}

@test "options are told of in zsh and fish" {
  run -0 terminal "send=ZDOTDIR=$PWD exec zsh -d -i\n" "expect=ready> " $'send=zkflock --con\t' \
    "expect=-- exit status when giving up" $'send=\x15'
  run -0 fish -c 'complete -C "zkflock --conf"'
  assert_line --partial "Exit status when giving up"
}

# ---- LOCK ----

@test "locks: those of the config file and those of the ensemble" {
  zkflock beta true
  zkflock below/beta true
  everywhere "zkflock " below/beta beta nightly
  everywhere "zkflock b" below/beta beta
  everywhere "zkflock -n --with " below/beta beta nightly
  everywhere "zkflock --with=n" --with=nightly
  everywhere "nice zkflock -n n" nightly
  everywhere "zkflock nightly zkflock be" below/beta beta
}

@test "locks: after options in whichever form" {
  everywhere "zkflock -nw 5 n" nightly
  everywhere "zkflock -nw5 n" nightly
  everywhere "zkflock -s --wait 5 --on-lost=kill -E3 -v n" nightly
  everywhere "zkflock -s --config $XDG_CONFIG_HOME/zkflock/config -- n" nightly
}

@test "locks: of the servers and the config file that were typed" {
  zkflock beta true
  export ZKFLOCK_SERVERS=127.0.0.1:1 SERVERS=$ONE
  printf '%s\n' "[zkflock]" "root = $LOCK" "[lock other]" "path = $LOCK/y" >"a file"
  everywhere "zkflock " nightly
  everywhere "zkflock -z $ONE " beta nightly
  everywhere "zkflock -nz$ONE " beta nightly
  everywhere "zkflock --servers=$ONE --config 'a file' " beta other
  everywhere 'zkflock -z $SERVERS --config ~/a\ file ' beta other
}

@test "locks: the config file's, whatever the servers do" {
  coproc hostile silent 3>&-
  read -r port <&"${COPROC[0]}"
  everywhere "zkflock -z 127.0.0.1:$port " nightly
  everywhere "zkflock -z 127.0.0.1:1 " nightly
  everywhere "zkflock -z not:a:server "
  config "[this is wrong"
  everywhere "zkflock "
  kill "$COPROC_PID"
}

@test "locks: one and no COMMAND for --hold and its like, several for --list" {
  everywhere "zkflock --unlock " nightly
  for action in --hold --unlock -u --revoke --break --remove --show-config; do
    everywhere "zkflock $action nightly "
  done
  everywhere "zkflock --list nightly n" nightly
}

@test "locks: none comes to mean anything to a shell" {
  name='$(touch ran) `touch ran` "it'\''s" & a:b'
  zkflock "$name" true
  offers fish "zkflock \\\$" "$name"
  for shell in bash zsh; do
    for typed in '\$' "'\$" '\$\(touch\ ran\)\ \`' "'\$(touch ran) "; do
      eventually becomes "$shell" "zkflock $typed" "$name"
    done
    eventually becomes "$shell" 'zkflock --with=\$' "--with=$name"
    eventually becomes "$shell" "zkflock --with='\$" "--with=$name"
  done
  eventually becomes bash 'zkflock "$' "$name"
  assert_not_exist ran
}

@test "locks: names with colons, at which bash cuts words" {
  zkflock a:b:one true
  for typed in a a: a:b a:b: a:b:o 'a\:b' '"a:' "--with=a:b --with 'a:b:"; do
    eventually becomes bash "zkflock -z $ONE $typed" a:b:one
  done
  eventually becomes bash "zkflock --with=a:b" --with=a:b:one
}

# ---- COMMAND ----

@test "after LOCK: commands, then the command's own completion" {
  printf '#!/bin/sh\n' >bin/paint-it
  chmod +x bin/paint-it
  echo "complete -W 'black blue red' paint-it" >>bashrc
  echo "compdef '_arguments 1:colour:\"(black blue red)\"' paint-it" >>.zshrc
  mkdir -p "$XDG_CONFIG_HOME/fish/completions"
  echo "complete -c paint-it -f -a 'black blue red'" \
    >"$XDG_CONFIG_HOME/fish/completions/paint-it.fish"
  for before in "zkflock nightly" "zkflock -z $ONE -nw 5 nightly" "zkflock -- nightly --" \
    "nice zkflock a:b"; do
    everywhere "$before paint" paint-it
    everywhere "$before paint-it bl" black blue
  done
}

@test "after LOCK: -c, and no option of zkflock's" {
  printf '#!/bin/sh\n' >bin/paint-it
  chmod +x bin/paint-it
  everywhere "zkflock nightly -" --command -c
  everywhere "zkflock nightly --" --command
  everywhere "zkflock -n nightly -c paint" paint-it
  everywhere "zkflock -n nightly --command paint" paint-it
}

@test "bash without bash-completion" {
  cp rc bashrc
  echo ". $BATS_FILE_TMPDIR/share/bash-completion/completions/zkflock" >>bashrc
  zkflock beta true
  printf '#!/bin/sh\n' >bin/paint-it
  chmod +x bin/paint-it
  touch red-one red-two
  offers bash "zkflock --on-lost " kill term warn
  offers bash "zkflock --servers=$ONE -n " beta nightly
  offers bash "zkflock nightly paint" paint-it
  offers bash "zkflock nightly paint-it red" red-one red-two
  offers bash "zkflock --config red" red-one red-two
}

@test "bash: an alias, and whatever IFS is" {
  cp rc bashrc
  echo ". $BATS_FILE_TMPDIR/share/bash-completion/completions/zkflock" >>bashrc
  echo "alias locked=zkflock; complete -F _zkflock locked; IFS=o" >>bashrc
  for command in zkflock locked; do
    offers bash "$command --on-l" --on-lost
    offers bash "$command -nw5 --on-lost " kill term warn
  done
}
