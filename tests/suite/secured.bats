# Ensembles that ask who a client is: --auth-file, --acl, --show-command.

load helper

ensemble() { "$TESTS_DIR/ensemble" "$1" "$BATS_TEST_TMPDIR/own" "${@:2}"; }

setup() {
  common_setup
  serve
  credentials ann "digest:ann:se cret:x"
  credentials bob "digest:bob:other"
}

teardown() {
  ensemble stop
  common_teardown
}

# serve [JAVA-OPTION...]: a server of this test's own.
serve() {
  ensemble stop 2>/dev/null || true
  ENSEMBLE_JAVA="$*" ensemble start
  ZKFLOCK_SERVERS=$(cat "$BATS_TEST_TMPDIR/own/servers")
  export ZKFLOCK_SERVERS
}

credentials() { # credentials FILE LINE...
  printf '%s\n' "${@:2}" >"$1"
  chmod 600 "$1"
}

# Asks the server as ann does.
as_ann() { ZK_DIGEST="ann:se cret:x" zk "$ZKFLOCK_SERVERS" "$@"; }

@test "--auth-file lets zkflock into an ensemble that asks who it is" {
  serve -Dzookeeper.enforce.auth.enabled=true -Dzookeeper.enforce.auth.schemes=digest
  run -77 timeout 20 zkflock --connect-timeout 1h "$LOCK" touch ran
  assert_output --partial "serves only clients that authenticate"
  assert_not_exist ran
  for kind in -x -s --unfair "--permits 2" "--with $LOCK.b" "--once-per 1h"; do
    # shellcheck disable=SC2086 # options
    run -0 zkflock --auth-file ann $kind "$LOCK/$kind" echo ran
    assert_output ran
  done
  run -0 zkflock --auth-file ann --list "$LOCK/-x"
  run -0 zkflock --auth-file ann --remove "$LOCK/-x"
  run -1 zkflock --auth-file ann --break --yes "$LOCK/-s"
  hold "$LOCK" release --auth-file ann
  run -0 zkflock --auth-file ann --revoke --yes "$LOCK"
  ends_with 143 "$holder"
}

@test "--auth-file: no server can be reached at first" {
  run -0 zkflock --auth-file ann --acl creator "$LOCK" true
  ensemble kill 1
  # The client library has failed to connect when its start returns.
  ASAN_OPTIONS=detect_leaks=0 strace -o calls -e trace=futex -e inject=futex:delay_exit=100ms \
    zkflock --auth-file ann --acl creator --connect-timeout 60 "$LOCK" echo ran >out 2>&1 3>&- &
  local waiter=$!
  eventually grep -q DELAYED calls
  ensemble revive 1
  ends_with 0 "$waiter"
  assert_equal "$(cat out)" ran
}

@test "the auth file: from the command line, the environment and the config files" {
  ZKFLOCK_AUTH_FILE=$PWD/ann run -0 zkflock --acl creator "$LOCK" printenv ZKFLOCK_AUTH_FILE
  assert_output "$PWD/ann"
  # The zkflock inside is let in as the one around it is.
  run -0 zkflock --auth-file ann "$LOCK" zkflock --no-reentry "$LOCK.b" echo ran
  assert_output ran
  printf '[zkflock]\nauth-file = %s\n' "$PWD/ann" >config
  run -0 zkflock --config config "$LOCK" echo ran
  printf '[lock %s]\nauth-file = %s\n' "$LOCK" "$PWD/ann" >config
  run -0 zkflock --config config "$LOCK" echo ran
  run -77 zkflock "$LOCK" echo ran
  printf '[zkflock]\nauth-file = ann\n' >config
  run -78 zkflock --config config "$LOCK" touch ran
  assert_output --partial "config:2: auth-file"
  assert_not_exist ran
}

@test "credentials keep a zkflock from being traced: re-entry and --unlock work where /proc hides it" {
  export ZKFLOCK_AUTH_FILE=$PWD/ann
  cat >inside <<'END'
zkflock -w 20 "$1" zkflock -w 5 "$1" echo used
zkflock -w 20 "$1" zkflock -w 20 --with "$1.b" "$1" echo used and taken
zkflock -w 20 "$1" env -u ZKFLOCK_HELD zkflock -w 20 "$1" echo waited || echo "refused: $?"
zkflock --hold --for $$ "$1" && zkflock --unlock --for $$ "$1" && zkflock -w 5 "$1" echo given back
END
  run -0 in_hiding bash inside "$LOCK"
  assert_output --partial "used
used and taken"
  assert_output --partial "refused: 64
given back"
}

@test "re-entry asks no server, and reads no credentials" {
  run -0 zkflock --auth-file ann "$LOCK" sh -c 'rm ann; zkflock --auth-file ann "$1" echo used' sh "$LOCK"
  assert_output used
}

@test "the environment's credentials are for the environment's servers" {
  shown() { # shown FILE OPTION...: the auth file in effect
    run -0 env ZKFLOCK_AUTH_FILE="$PWD/ann" zkflock "${@:2}" --show-config "$LOCK"
    assert_line --regexp "auth-file += $1 "
  }
  shown "$PWD/ann"
  shown none -z "$ZKFLOCK_SERVERS,other:2181"
  shown "$PWD/ann" -z "$ZKFLOCK_SERVERS/apps"
  shown none -z "$ONE"
  shown "$PWD/bob" -z "$ONE" --auth-file bob
  unset ZKFLOCK_SERVERS
  shown "$PWD/ann" -z "$ONE"
}

@test "an ACL in a config file, and the credentials elsewhere" {
  printf '[zkflock]\nacl = creator\n' >config
  run -0 zkflock --config config --auth-file ann "$LOCK" echo ran
  run -0 env ZKFLOCK_AUTH_FILE="$PWD/ann" zkflock --config config "$LOCK" echo ran
  run -78 zkflock --config config "$LOCK" touch ran
  assert_output "zkflock: config:2: --acl gives the lock to clients with credentials alone, and this one has none; give --auth-file, or --tls and --cert"
  assert_not_exist ran
  run -77 zkflock --config config --list "$LOCK"
  # A further lock with a section of its own.
  printf '[zkflock]\nacl = creator\n[lock %s]\nkind = shared\n' "$LOCK.b" >config
  run -0 zkflock --config config --auth-file ann --with "$LOCK.b" "$LOCK" echo ran
  printf '[zkflock]\nacl = creator\n[lock %s]\nacl = creator-read\n' "$LOCK.b" >config
  run -64 zkflock --config config --auth-file ann --with "$LOCK.b" "$LOCK" touch ran
  assert_output --partial "the lock $LOCK.b has an ACL of its own (config:4), unlike $LOCK"
  run -64 zkflock --config config --auth-file ann --with "$LOCK" "$LOCK.b" touch ran
  assert_output --partial "the lock $LOCK.b has an ACL of its own (config:4), unlike $LOCK"
  run -0 zkflock --config config --auth-file ann --acl creator-read --with "$LOCK.b" "$LOCK" echo ran
  assert_not_exist ran
  # Nor one that another user takes; the same ACL by default is no other one.
  printf '[zkflock]\nauth-file = %s\n[lock %s]\nauth-file = %s\n' "$PWD/ann" "$LOCK.b" "$PWD/bob" >config
  run -64 zkflock --config config --acl creator --with "$LOCK.b" "$LOCK" touch ran
  assert_output --partial "the lock $LOCK.b has an auth file of its own (config:4), unlike $LOCK"
  run -0 zkflock --config config --with "$LOCK.b" "$LOCK.open" true
  run -0 zkflock --config config --auth-file ann --with "$LOCK.b" "$LOCK" echo ran
  printf '[lock %s]\nacl = open\n[lock %s]\nwith = %s\n' "$LOCK.b" "$LOCK.c" "$LOCK.b" >config
  run -0 zkflock --config config --list "$LOCK.a"
  printf '[lock %s]\nacl = creator\n[lock %s]\nwith = %s\n' "$LOCK.b" "$LOCK.c" "$LOCK.b" >config
  run -0 zkflock --config config --list "$LOCK.a"
  run -78 zkflock --config config "$LOCK.c" touch ran
  assert_output --partial "config:4: the lock $LOCK.b has an ACL of its own (config:2), unlike $LOCK.c"
  printf '[zkflock]\nacl = creator\n' >config
  # It is for those who take a lock.
  run -0 zkflock /t.secured.open true
  run -0 zkflock --config config --remove /t.secured.open
}

@test "the environment's TLS: a later 'no' takes its files along, another certificate its key" {
  shown() { # shown LINE...: with $tls and $options
    # shellcheck disable=SC2086 # may be empty
    run -0 env ZKFLOCK_TLS_CERT=/old ZKFLOCK_TLS_KEY=/key ZKFLOCK_TLS_CACERT=/ca $tls zkflock $options --show-config "$LOCK"
    for line; do assert_line --regexp "$line"; done
  }
  tls="" options="" shown "tls += no" "cert += none" "key += none" "cacert += those of the system"
  tls=ZKFLOCK_TLS=yes options="" shown "cert += /old" "key += /key" "cacert += /ca"
  tls=ZKFLOCK_TLS=yes options="--cert /new" shown "cert += /new" "key += none" "cacert += /ca"
  printf '[lock %s]\ntls = no\n' "$LOCK" >config
  tls=ZKFLOCK_TLS=yes options="--config config" shown "tls += no" "cert += none" "cacert += those of the system"
  # Elsewhere they are a mistake.
  for key in cacert cert key; do
    printf '[zkflock]\n%s = /file\n' "$key" >config
    run -78 zkflock --config config "$LOCK" touch ran
    assert_output --partial "config:2: --cacert, --cert and --key go with --tls alone"
  done
  run -64 zkflock --cacert /ca "$LOCK" touch ran
  assert_output --partial "go with --tls alone"
}

@test "--hold --export: the shell has the credentials too, and its own again after --unlock" {
  # shellcheck disable=SC2016 # for the shell inside
  run -0 bash -c 'eval "$(zkflock --hold --for $$ --export --auth-file "$1" "$2")"
    echo "$ZKFLOCK_AUTH_FILE"
    eval "$(zkflock --unlock --export "$2")"
    echo "${ZKFLOCK_AUTH_FILE-unset}"
    export ZKFLOCK_AUTH_FILE=$3
    eval "$(zkflock --hold --for $$ --export --auth-file "$1" "$2")"
    eval "$(zkflock --unlock --export "$2")"
    echo "$ZKFLOCK_AUTH_FILE"' bash ann "$LOCK" "$PWD/bob"
  assert_output "$PWD/ann
unset
$PWD/bob"
}

@test "an auth file that others may read, or that does not parse, is refused" {
  refused() { # refused FILE SENTENCE
    run -78 zkflock --auth-file "$1" "$LOCK" touch ran
    assert_output "zkflock: $2; $LOCK was not taken"
    run -78 zkflock --auth-file "$1" --list
    assert_output "zkflock: $2"
    assert_not_exist ran
  }
  chmod 640 ann
  refused ann "$PWD/ann: others than its owner may read or write the passwords in it; chmod go-rw"
  chmod 602 ann
  refused ann "$PWD/ann: others than its owner may read or write the passwords in it; chmod go-rw"
  refused nothing "$PWD/nothing: cannot be read: No such file or directory"
  refused . "$PWD/.: is no regular file"
  mkfifo fifo
  refused fifo "$PWD/fifo: is no regular file"
  for line in digest:ann digest::secret digest:ann: ann:secret sasl:ann:secret " digest:ann:secret"; do
    credentials wrong "# a comment" "" "$line"
    refused wrong "$PWD/wrong:3: is not digest:USER:PASSWORD; SASL (Kerberos) is not supported, and a certificate goes to --cert"
    refute_output --partial secret
  done
  credentials wrong "# a comment"
  refused wrong "$PWD/wrong: has no line digest:USER:PASSWORD"
}

@test "credentials that the ensemble does not take: 77 at once, by whoever asks" {
  serve -Dzookeeper.DigestAuthenticationProvider.enabled=false
  run -77 timeout 20 zkflock --connect-timeout 1h --retry 3 --auth-file ann "$LOCK" touch ran
  assert_output "zkflock: $ZKFLOCK_SERVERS does not accept the credentials of --auth-file; $LOCK was not taken"
  assert_not_exist ran
  for action in --list "--list --watch" "--break --yes" "--revoke --yes" --remove; do
    # shellcheck disable=SC2086
    run -77 timeout 20 zkflock --connect-timeout 1h --auth-file ann $action "$LOCK"
    assert_output "zkflock: $ZKFLOCK_SERVERS does not accept the credentials of --auth-file"
  done
}

@test "--acl creator: nobody else sees, takes, breaks or revokes it" {
  background --auth-file ann --acl creator "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  local holder=$!
  eventually test -e held
  run -0 as_ann acl "$LOCK"
  assert_output "digest:ann:$(digest_of "ann:se cret:x"):rwcda"
  run -0 as_ann acl "$LOCK/$(as_ann ls "$LOCK")"
  assert_output "digest:ann:$(digest_of "ann:se cret:x"):rwcda"
  for who in "" "--auth-file bob"; do
    # shellcheck disable=SC2086 # options
    run -77 zkflock $who "$LOCK" touch ran
    # shellcheck disable=SC2086
    run -77 zkflock $who --break --yes "$LOCK"
    # shellcheck disable=SC2086
    run -77 zkflock $who --revoke --yes "$LOCK"
    # shellcheck disable=SC2086
    run -77 zkflock $who --remove "$LOCK"
  done
  assert_not_exist ran
  # Others with the same credentials queue and wait.
  wait_in_line log --auth-file ann --acl creator "$LOCK" touch next
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  assert_exist next
}

digest_of() { # digest_of USER:PASSWORD: as ZooKeeper writes it
  printf %s "$1" | openssl dgst -sha1 -binary | base64
}

@test "--acl creator-read: others see who holds it, and that is all" {
  background --auth-file ann --acl creator-read "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  local holder=$!
  eventually test -e held
  run -0 zkflock --list "$LOCK"
  assert_output --partial "holds"
  run -77 zkflock "$LOCK" touch ran
  run -77 zkflock --break --yes "$LOCK"
  run -77 zkflock --revoke --yes "$LOCK"
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "--acl: a list, as zkCli.sh writes it, for everything that zkflock creates" {
  local hash
  hash=$(digest_of "ann:se cret:x")
  run -0 zkflock "$LOCK.open" true
  run -0 zkflock --auth-file ann --acl "digest:ann:$hash:cdrwa,world:anyone:r" --permits 2 "$LOCK/a" true
  run -0 zkflock --auth-file ann --acl "digest:ann:$hash:cdrwa,world:anyone:r" --once-per 1h "$LOCK/b" true
  for node in "$LOCK" "$LOCK/a" "$LOCK/a/leases" "$LOCK/a/locks" "$LOCK/b"; do
    run -0 as_ann acl "$node"
    assert_output "digest:ann:$hash:rwcda,world:anyone:r"
  done
  # What is there stays as it is.
  run -0 zkflock --auth-file ann --acl creator "$LOCK.open" true
  run -0 zk "$ZKFLOCK_SERVERS" acl "$LOCK.open"
  assert_output "world:anyone:rwcda"
}

@test "contenders have the ACL of their lock, whatever --acl says" {
  own_acl() { # own_acl LOCK OPTION...: of the contender's znode, while it holds the lock
    # shellcheck disable=SC2016 # for the shell inside
    run -0 zkflock --auth-file ann "${@:2}" "$1" sh -c 'ZK_DIGEST="ann:se cret:x" zk "$0" acl "$ZKFLOCK_NODE"' "$ZKFLOCK_SERVERS"
  }
  local hash
  hash=$(digest_of "ann:se cret:x")
  # On an open lock others queue behind it, who cannot read what only its creator may.
  run -0 zkflock "$LOCK" true
  own_acl "$LOCK" --acl creator
  assert_output "world:anyone:rwcda"
  hold "$LOCK" release --auth-file ann --acl creator
  wait_in_line log "$LOCK" touch next
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  assert_exist next
  # On a lock of its creator's no contender is open to others.  Its own rights come on top.
  run -0 zkflock --auth-file ann --acl creator-read "$LOCK.own" true
  own_acl "$LOCK.own"
  assert_output "digest:ann:$hash:rwcda,world:anyone:r,digest:ann:$hash:rwcda"
  run -0 zkflock --auth-file ann --acl creator --permits 2 "$LOCK.two" true
  own_acl "$LOCK.two" --permits 2
  assert_output "digest:ann:$hash:rwcda,digest:ann:$hash:rwcda"
  # A right that the lock does not give on its children is the contender's own all the same.
  run -0 zkflock --auth-file ann --acl "auth::cdrwa" "$LOCK.less" true
  run -0 as_ann setacl "$LOCK.less" world:anyone:cdr "digest:ann:$hash:a"
  own_acl "$LOCK.less"
  assert_line "world:anyone:rcd,digest:ann:$hash:a,digest:ann:$hash:rwcda"
  # The server hides the hashes from a client without ADMIN: --acl, then.
  run -0 as_ann setacl "$LOCK.less" "digest:ann:$hash:cdrw"
  own_acl "$LOCK.less" --acl creator
  assert_line "digest:ann:$hash:rwcda"
  assert_output --partial "warning: the server hides a part of the ACL of $LOCK.less from this client, which lacks ADMIN: its znode there has the ACL of --acl, and a client that may not read it cannot wait behind it (status 77)"
  own_acl "$LOCK.less"
  # Others can watch it, and not ask its holder to end.
  assert_line "digest:ann:$hash:rwcda,world:anyone:r"
  assert_output --partial "lacks ADMIN: its znode there has the ACL creator-read"
}

@test "a contender has the ACL of --acl if the server does not take the lock's from this client" {
  run -0 zkflock "$LOCK" true
  ONE=$ZKFLOCK_SERVERS PROXY_OF=create open_proxy refuse 1-1:-114
  # shellcheck disable=SC2016 # for the shell inside
  run -0 zkflock -z "$VIA" --auth-file ann --acl creator "$LOCK" sh -c 'ZK_DIGEST="ann:se cret:x" zk "$0" acl "$ZKFLOCK_NODE"' "$ZKFLOCK_SERVERS"
  assert_output "digest:ann:$(digest_of "ann:se cret:x"):rwcda"
  close_proxy
}

@test "--acl: what nobody could use is refused before anything is made" {
  refused() { # refused STATUS ACL SENTENCE
    run "-$1" zkflock --acl "$2" "$LOCK" touch ran
    assert_output "zkflock: $3"
    run -1 zk "$ZKFLOCK_SERVERS" stat "$LOCK"
    assert_not_exist ran
  }
  for acl in creator creator-read auth::cdrwa "digest:bob:$(digest_of bob:other):cdrwa"; do
    refused 64 "$acl" "--acl gives the lock to clients with credentials alone, and this one has none; give --auth-file, or --tls and --cert"
  done
  for acl in world:anyone:r world:anyone:cdr,ip:127.0.0.1:cdr; do
    refused 64 "$acl" "--acl gives nobody all of c, d, r and w, without which nobody could use the lock"
  done
  refused 64 world:all:cdrw "--acl has another world than world:anyone"
  refused 64 digest:ann:secret:cdrwa "--acl has a digest that is not USER:HASH: the HASH is printed by openssl, see zkflock(7), RIGHTS"
  for acl in closed world:anyone world:anyone:x :anyone:cdrw; do
    refused 64 "$acl" "--acl takes open, creator, creator-read or SCHEME:ID:PERMS,..., where PERMS are some of cdrwa; not '$acl'"
  done
  refused 64 "auth::cdrwa, world:anyone:r" "--acl takes open, creator, creator-read or SCHEME:ID:PERMS,..., where PERMS are some of cdrwa; not ' world:anyone:r'"
  run -64 zkflock --auth-file '' "$LOCK" touch ran
  assert_output "zkflock: --auth-file takes a path, not ''"
  refused 77 nobody:knows:cdrwa,ip:127.0.0.1:cdrw "cannot create a znode in $LOCK: the server does not accept the ACL that --acl names: it does not know a scheme, an ID is none of its scheme, or it has not authenticated this client"
}

@test "--acl: the rights of an ID add up, and a list for others only is told of" {
  run -0 zkflock --auth-file ann --acl auth::cd,auth::rw "$LOCK" echo ran
  assert_output ran
  run -77 zkflock --auth-file ann --acl "digest:bob:$(digest_of bob:other):cdrwa" "$LOCK.bob" touch ran
  assert_output "zkflock: $LOCK.bob was just made with the ACL of --acl, which does not give this client CREATE: name this client in --acl, and have $LOCK.bob removed by a client that has DELETE"
  assert_not_exist ran
}

@test "the keeper is killed: a guard that may not delete the znode does not say that it did" {
  hold "$LOCK" release --auth-file ann --acl creator
  background -v --auth-file "$PWD/ann" "$LOCK" true 2>log
  waiter=$!
  eventually contains log "waiting"
  cp bob ann
  kill -KILL "$waiter"
  eventually contains log "the keeper was killed; its place in the queue ends with its session"
  wait "$waiter" || true
  touch release
  ends_with 0 "$holder"
}

@test "the keeper is killed: a guard that cannot read the credentials any more says so" {
  hold "$LOCK" release --auth-file ann
  background -v --auth-file "$PWD/ann" "$LOCK" true 2>log
  waiter=$!
  eventually contains log "waiting"
  rm ann
  kill -KILL "$waiter"
  eventually contains log "$PWD/ann: cannot be read: No such file or directory; the keeper was killed; its place in the queue ends with its session"
  wait "$waiter" || true
  touch release
  ends_with 0 "$holder"
}

@test "the keeper is killed: the guard gives the lock back with the same credentials" {
  hold "$LOCK" release --auth-file ann --acl creator
  kill -KILL "$holder"
  run -0 zkflock --auth-file ann --acl creator -w 5 "$LOCK" echo ran
  assert_output ran
}

# has_secret PID: 0 if the password is in the memory of a process, 3 if not; of areas that are larger
# than what zkflock has, none is looked at.
has_secret() {
  python3 - "$1" <<'EOF'
import sys
pid, found = sys.argv[1], False
with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
    for line in maps:
        area, rights = line.split()[:2]
        begin, end = (int(number, 16) for number in area.split("-"))
        if "r" in rights and "[v" not in line and end - begin < 64 << 20:
            memory.seek(begin)
            found |= b"se cret" in memory.read(end - begin)
sys.exit(0 if found else 3)
EOF
}

@test "no other process has the passwords, nor has a log" {
  printf '#!/bin/sh\nenv >hook.env\n' >teller
  chmod +x teller
  background -vv --auth-file ann --hook ./teller "$LOCK" sh -c 'env >env; echo $$ >held; until [ -e release ]; do sleep 0.05; done' 2>log
  local holder=$! guard
  eventually test -s held
  guard=$(ps -o ppid= -p "$(cat held)")
  assert has_secret "$holder"
  for pid in "${guard// /}" "$(cat held)" $(pgrep -P "$holder"); do
    run -3 has_secret "$pid"
  done
  touch release
  ends_with 0 "$holder"
  refute grep -q "se cret" log env hook.env
  run -0 zkflock --auth-file ann --show-config
  refute_output --partial cret
}

@test "--show-command decides what others see of the command" {
  shown() { # shown TEXT OPTION...
    run -0 zkflock "${@:2}" "$LOCK" sh -c 'zkflock --list --json "$1"' secret "$LOCK"
    assert_output --partial "\"command\": \"$1\""
  }
  shown 'sh -c zkflock --list --json \"$1\" secret '"$LOCK"
  shown sh --show-command name
  shown - --show-command none
  shown "nightly build" --show-command "nightly build"
  run -64 zkflock --show-command "" "$LOCK" touch ran
  assert_output --partial "--show-command takes full, name, none or a text, not ''"
  shown sh --auth-file ann
  shown sh --acl world:anyone:cdrw
  shown 'sh -c zkflock --list --json \"$1\" secret '"$LOCK" --show-command full --auth-file ann
  printf '[zkflock]\nshow-command = name\n' >config
  shown sh --config config
}
