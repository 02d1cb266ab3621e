# Passwords and private keys: who has them, where they are read from, and to whom they are sent.

load helper
export KEY_KIND="ec -pkeyopt ec_paramgen_curve:P-256"
load keys

setup_file() {
  export KEYS=$BATS_FILE_TMPDIR/keys
  mkdir "$KEYS"
  authority ca
  certificate server ca 30 DNS:localhost
  certificate client ca 30 DNS:client
  # Else the first lock with an ACL would give that to what is above all of them.
  zk "$(cat "$SUITE_DIR/one/servers")" create /t/secrets
}

setup() {
  common_setup
  credentials ann "# of the night shift" "digest:ann:se cret:x"
}

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

credentials() { # credentials FILE LINE...
  printf '%s\n' "${@:2}" >"$1"
  chmod 600 "$1"
}

digest_of() { printf %s "$1" | openssl dgst -sha1 -binary | base64; } # digest_of USER:PASSWORD

below() { # below PID: it, and all that come from it
  local child
  echo "$1"
  for child in $(pgrep -P "$1"); do below "$child"; done
}

@test "front, guard, witness, command and hook have neither password nor private key, in whatever way" {
  PROXY_TLS=$KEYS/server.both open_proxy none 0
  mkfifo go
  echo 'touch held; : <go' >job
  printf '#!/bin/sh\nmkdir hooked || exit 0\n: <go\n' >teller
  chmod +x teller
  cat >run <<END
zkflock -vv --log-format json -z localhost:$port --tls --cacert "$KEYS/ca.pem" --cert "$KEYS/client.pem" \\
  --key "$KEYS/client.key" --auth-file ann --acl creator-read --hook ./teller "$LOCK" sh job 2>log
echo status \$?
END
  terminal "send=sh run\n" file=release "expect=status 0" >session 3>&- 4>&- &
  local terminal=$! front what pids hook
  eventually test -e held -a -e hooked
  front=$(pgrep -P "$(pgrep -P "$(pgrep -P "$terminal")")")
  hook=$(children "$(children "$front" zkflock)" lock-hook)
  kill -STOP "$hook" # else it ends the teller after 10 s
  mapfile -t pids < <(below "$front")
  run -0 ps -o comm= -p "${pids[*]}"
  assert_equal "$(sort <<<"$output" | paste -sd' ')" "lock-guard lock-hook lock-witness sh teller zkflock zkflock"
  for what in "se cret:x" "key=$KEYS/client.key"; do
    run -0 recall "$what" "${pids[@]}"
    assert_equal "$(cut -d' ' -f1 <<<"$output" | sort -u)" "$(children "$front" zkflock)"
  done
  for pid in "${pids[@]}"; do
    refute grep -qa -e "se cret" -e PRIVATE "/proc/$pid/cmdline" "/proc/$pid/environ"
    run -0 ls -l "/proc/$pid/fd"
    refute_line --regexp "/(ann|client.key|client.pem|ca.pem)$"
  done
  kill -CONT "$hook"
  exec 8<>go
  touch release
  acted "$terminal"
  # Neither is it told, nor in the servers' files.
  refute grep -raq -e "se cret" -e PRIVATE log "$SUITE_DIR/one"
}

@test "a process that knows a secret is hidden from others of its user" {
  PROXY_TLS=$KEYS/server.both open_proxy none 0
  cat >look <<'END'
zkflock "$@" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' &
until [ -e held ]; do sleep 0.05; done
[ -e /proc/$! ] && echo seen || echo hidden
touch release
wait
rm held release
END
  looks() { # looks WORD OPTION...
    run -0 in_hiding timeout -k 1 30 bash look "${@:2}" "$LOCK"
    assert_output "$1"
  }
  looks seen
  looks hidden --auth-file ann
  looks seen -z "localhost:$port" --tls --cacert "$KEYS/ca.pem"
  looks hidden -z "localhost:$port" --tls --cacert "$KEYS/ca.pem" --cert "$KEYS/client.both"
}

@test "what was read of an auth file is in no core file, and in no process that is forked" {
  hold "$LOCK" release --auth-file ann
  # Nothing picks comments out: each area with one is the file's own.  dd: not dumped; wf: wiped on fork.
  run -0 recall "of the night shift" "$holder"
  assert_line --partial "$holder VmFlags: "
  for flags in "${lines[@]}"; do
    [[ "$flags " == *" dd "* && "$flags " == *" wf "* ]] || fail "$flags"
  done
  touch release
  ends_with 0 "$holder"
}

takes() { # takes FILE: zkflock makes a lock of the user's in it, which is $ann
  run -0 zkflock --auth-file "$1" --acl creator-read "$LOCK.$1" true
  assert_output ""
  run -0 env ZK_DIGEST="$ann" zk "$ONE" acl "$LOCK.$1"
  assert_output "digest:ann:$(digest_of "$ann"):rwcda,world:anyone:r"
}

@test "auth files that are taken: a symbolic link, CRLF, no last newline, blanks and colons, 64 KiB less one" {
  local ann="ann:se cret:x"
  ln -s ann link
  takes link
  credentials dos $'# a comment\r' $'\r' $'digest:ann:se cret:x\r'
  takes dos
  ann="ann:se cret:x  "
  install -m 600 <(printf %s "digest:$ann") open
  takes open
  ann="ann::: a # b	c:"
  credentials odd $' \t' "digest:$ann"
  takes odd
  credentials large "digest:$ann" "#$(printf '%065000d' 0)"
  printf '#%0*d' $((65534 - $(stat -c %s large))) 0 >>large
  assert_equal "$(stat -c %s large)" 65535
  takes large
}

@test "auth files that are refused" {
  refused() { # refused FILE SENTENCE
    run -78 zkflock --auth-file "$1" "$LOCK" touch ran
    assert_output "zkflock: $PWD/$1$2; $LOCK was not taken"
  }
  local mode wrong="is not digest:USER:PASSWORD; SASL (Kerberos) is not supported, and a certificate goes to --cert"
  for mode in 620 604 660; do
    install -m "$mode" ann "mode$mode"
    refused "mode$mode" ": others than its owner may read or write the passwords in it; chmod go-rw"
  done
  ln -s mode604 link
  refused link ": others than its owner may read or write the passwords in it; chmod go-rw"
  chown 65534 ann
  refused ann ": belongs to uid 65534, who could read and change the passwords in it; give it to the user who runs zkflock, or to root"
  ln -s nothing dangling
  refused dangling ": cannot be read: No such file or directory"
  install -m 600 /dev/null empty
  refused empty ": has no line digest:USER:PASSWORD"
  credentials nul "digest:ann:x"
  printf 'digest:bob:y\0z\n' >>nul
  refused nul ":2: $wrong"
  credentials large "digest:ann:x" "#$(printf '%065600d' 0)"
  refused large ": is longer than 64 KiB"
  credentials later "digest:ann:x" "digest:bob"
  refused later ":2: $wrong"
  assert_not_exist ran
}

auths() { grep -c "request .* auth$" frames || true; } # how many credentials were sent by way of the proxy

told() { # told yes|no COMMAND...: whether that sends some
  local is=no before
  before=$(auths)
  run -0 timeout 30 "${@:2}"
  [ "$(auths)" -eq "$before" ] || is=yes
  assert_equal $is "$1"
}

@test "the environment's credentials are not sent to other servers than the environment's" {
  listen
  export ZKFLOCK_AUTH_FILE=$PWD/ann ZKFLOCK_SERVERS=127.0.0.1:1,$VIA
  told yes zkflock -z "$VIA" "$LOCK" true
  ZKFLOCK_SERVERS=$ONE
  told no zkflock -z "$VIA" "$LOCK" true
  run -0 zkflock -v -z "$VIA" "$LOCK" true
  assert_line --partial "]: \$ZKFLOCK_AUTH_FILE is not used: it is for the servers of \$ZKFLOCK_SERVERS"
  run -0 zkflock -v -z "$ONE" "$LOCK" true
  refute_output --partial "is not used"
  told no zkflock -z "$VIA" --list
  told no zkflock -z "$VIA" --remove "$LOCK"
  told yes zkflock -z "$VIA" --auth-file ann "$LOCK" true
  printf '[lock %s]\nservers = %s\n' "$LOCK" "$VIA" >config
  told no zkflock --config config "$LOCK" true
  told no zkflock --config config --list "$LOCK"
  # In the command, that is the environment that zkflock has made.
  told no env -u ZKFLOCK_SERVERS -u ZKFLOCK_AUTH_FILE zkflock -z "$ONE" --auth-file ann "$LOCK.b" zkflock -z "$VIA" "$LOCK" true
}

tried() { [ "$(grep -c "connecting to" log)" -ge "$1" ]; } # tried TIMES

@test "all lines of the auth file are sent, also when it takes several attempts to find a server" {
  credentials both "digest:ann:se cret:x" "" "# of others" "digest:bob:other"
  listen
  kill -STOP "$proxy_pid"
  background -vv -z "$VIA" --auth-file both --acl creator-read "$LOCK" true 2>log
  local waiter=$!
  eventually tried 2
  kill -CONT "$proxy_pid"
  ends_with 0 "$waiter"
  run -0 env ZK_DIGEST="bob:other" zk "$ONE" acl "$LOCK"
  assert_output --partial "digest:ann:$(digest_of "ann:se cret:x"):rwcda"
  assert_output --partial "digest:bob:$(digest_of bob:other):rwcda"
}

@test "an auth file of exactly 64 KiB is not longer than that" {
  printf '#%0*d\n' $((65534 - $(stat -c %s ann))) 0 >>ann
  assert_equal "$(stat -c %s ann)" 65536
  run -0 zkflock --auth-file ann "$LOCK" true
}
