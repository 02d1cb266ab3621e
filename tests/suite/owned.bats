# Locks with an ACL: which znodes get it, and what another user, the creator and an administrator may do.

load helper

ADMIN="super:s"

digest_of() { # digest_of USER:PASSWORD: as ZooKeeper writes it
  printf %s "$1" | openssl dgst -sha1 -binary | base64
}

# What is on the disk decides nothing here.
setup_file() {
  ENSEMBLE_JAVA="-Dzookeeper.enforceQuota=true -Dzookeeper.forceSync=no -Dzookeeper.DigestAuthenticationProvider.superDigest=super:$(digest_of "$ADMIN")" \
    "$TESTS_DIR/ensemble" start "$SUITE_DIR/owned"
}
teardown_file() { "$TESTS_DIR/ensemble" stop "$SUITE_DIR/owned"; }

setup() {
  common_setup
  ONE=$(cat "$SUITE_DIR/owned/servers")
  export ZKFLOCK_SERVERS=$ONE
  for user in ann:secret bob:other "$ADMIN"; do
    echo "digest:$user" >"${user%:*}"
    chmod 600 "${user%:*}"
  done
  CREATOR="digest:ann:$(digest_of ann:secret):rwcda"
}

super() { ZK_DIGEST=$ADMIN zk "$ONE" "$@"; }

walk() { super tree "$1"; }

# all_owned PATH PATTERN...: fail unless all znodes from PATH on have the ACL of creator, and there is one
# whose path, from there on, is PATTERN.
all_owned() {
  local pattern
  walk "$1" >walked
  run -1 grep -vF " $CREATOR" walked
  for pattern in "${@:2}"; do assert grep -q "^$1$pattern " walked; done
}

@test "--acl: ancestors, lock, contenders and note have it" {
  super create "$LOCK"
  hold "$LOCK/a/b/c" release --auth-file ann --acl creator --once-per 1h
  wait_in_line log --auth-file ann --acl creator "$LOCK/a/b/c" true
  all_owned "$LOCK/a" "" /b /b/c "/b/c/.*-lock-0*0" "/b/c/.*-lock-0*1"
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  all_owned "$LOCK/a" /b/c.once
}

@test "--acl: the parts of a semaphore and their contenders have it" {
  super create "$LOCK"
  hold "$LOCK/a/s" release --auth-file ann --acl creator --permits 1
  wait_in_line log --auth-file ann --acl creator --permits 1 "$LOCK/a/s" true
  eventually has_contender "$LOCK/a/s/locks"
  all_owned "$LOCK/a" "" /s /s/leases /s/locks "/s/leases/.*-lease-0*0" "/s/locks/.*-lock-.*"
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
}
has_contender() { [ -n "$(super ls "$1")" ]; }

@test "--acl: the one znode of --unfair, and a reader's, have it" {
  super create "$LOCK"
  for kind in --unfair --shared; do
    hold "$LOCK/$kind" "release$kind" --auth-file ann --acl creator "$kind"
    all_owned "$LOCK/$kind" "" "/.*-*0*0"
    touch "release$kind"
    ends_with 0 "$holder"
  done
}

@test "--acl: what exists keeps its ACL" {
  super create "$LOCK"
  zkflock --permits 2 "$LOCK/s" true
  zkflock --once-per 1h "$LOCK/a/l" true
  walk "$LOCK" >before
  run -0 zkflock --auth-file ann --acl creator --permits 2 "$LOCK/s" true
  run -0 zkflock --auth-file ann --acl creator --once-per 1h --now "$LOCK/a/l" true
  walk "$LOCK" >after
  run -0 diff before after
  # A contender has the ACL of its lock.
  hold "$LOCK/a/l" release --auth-file ann --acl creator
  run -0 super acl "$LOCK/a/l/$(super ls "$LOCK/a/l")"
  assert_output "world:anyone:rwcda"
  touch release
  ends_with 0 "$holder"
  # Nor does a client without --acl open anything.
  zkflock --auth-file ann --acl creator "$LOCK/mine" true
  run -0 zkflock --auth-file ann "$LOCK/mine" true
  run -0 super acl "$LOCK/mine"
  assert_output "$CREATOR"
}

# Each operation on $LOCK/l, a lock that is held, on $LOCK/s, a semaphore that is, on
# $LOCK/p, another one, and on $LOCK/o, a lock with a note.
operations() {
  taking=("-n $LOCK/l" "-w 1h $LOCK/l" "--shared $LOCK/l" "--unfair -n $LOCK/l" "--permits 2 $LOCK/s"
    "--once-per 1h $LOCK/o" "--with $LOCK/l $LOCK.other")
  stepping_in=("--revoke --yes $LOCK/l" "--break --yes $LOCK/l" "--break --yes $LOCK/s" "--remove $LOCK/o"
    "--remove $LOCK/p")
  looking=("--list $LOCK/l" "--list -q $LOCK/l" "--list --json $LOCK/l" "--list $LOCK/s")
}

refused() { # refused USER OPERATION [COMMAND]...
  # shellcheck disable=SC2086 # options
  run -77 timeout 14 zkflock ${1:+--auth-file "$1"} $2 "${@:3}"
  assert_output --regexp "not permitted to [a-z ]+ ${LOCK}[^ ]*: (its ACL|the ACL of ${LOCK}[^ ]*) does not give this client (CREATE|DELETE|READ|WRITE)"
  assert_not_exist ran
}

# Makes these locks, as ann.
owned() { # owned ACL
  super create "$LOCK"
  zkflock --auth-file ann --acl "$1" --once-per 1h "$LOCK/o" true
  zkflock --auth-file ann --acl "$1" --permits 1 "$LOCK/p" true
  background --auth-file ann --acl "$1" --permits 1 "$LOCK/s" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  permit=$!
  eventually test -e held
  hold "$LOCK/l" release --auth-file ann --acl "$1"
  walk "$LOCK" >before
}

# The lock is as it was: held by the same contenders, with the same ACLs.
unchanged() {
  walk "$LOCK" >after
  run -0 diff before after
}

released() {
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$permit"
}

@test "--acl creator: every operation of another user ends with 77 and changes nothing" {
  owned creator
  operations
  for user in bob ""; do
    for operation in "${taking[@]}"; do refused "$user" "$operation" touch ran; done
    for operation in "${stepping_in[@]}" "${looking[@]}" "--list --watch $LOCK/l"; do refused "$user" "$operation"; done
  done
  # shellcheck disable=SC2016 # the inner shell's
  run -77 timeout 14 sh -c 'zkflock --auth-file bob --hold "$1" && touch ran' - "$LOCK/l"
  assert_not_exist ran
  unchanged
  released
}

@test "--acl creator-read: another user sees the lock, and the rest ends with 77" {
  owned creator-read
  operations
  for operation in "${looking[@]}"; do
    # shellcheck disable=SC2086 # options
    run -0 zkflock --auth-file bob $operation
    refute_output --partial "not permitted"
  done
  for operation in "${taking[@]}"; do refused bob "$operation" touch ran; done
  for operation in "${stepping_in[@]}"; do
    refused bob "$operation"
  done
  unchanged
  released
}

@test "--acl creator: the creator and an administrator may do everything" {
  for user in ann super; do
    LOCK=$LOCK/$user
    rm -f held release release.held
    owned creator
    run -1 zkflock --auth-file "$user" -n "$LOCK/l" false
    assert_output --partial "is busy"
    run -0 zkflock --auth-file "$user" --list "$LOCK/l"
    assert_output --partial "holds"
    run -0 zkflock --auth-file "$user" --once-per 1h "$LOCK/o" touch ran
    assert_not_exist ran
    run -0 zkflock --auth-file "$user" --remove "$LOCK/o"
    run -0 zkflock --auth-file "$user" --remove "$LOCK/p"
    run -0 zkflock --auth-file "$user" --break --yes "$LOCK/s"
    run -0 zkflock --auth-file "$user" --revoke --yes "$LOCK/l"
    ends_with 143 "$holder"
    ends_with 75 "$permit"
    run -0 zkflock --auth-file "$user" --acl creator "$LOCK/l" echo ran
    assert_output ran
    run -0 zkflock --auth-file "$user" --remove -w 1m "$LOCK/s"
  done
}

# typed: a session with zkCli.sh that reads its lines from stdin.
typed() {
  timeout 60 java -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn org.apache.zookeeper.ZooKeeperMain -server "$ONE"
}

@test "what zkflock(7) has an administrator type" {
  manual=$BATS_TEST_DIRNAME/../../man/zkflock.7
  echo "digest:nightly:correct horse" >nightly
  echo "digest:ops:pass" >ops
  chmod 600 nightly ops
  hash=$(example_in "$manual" "ZooKeeper keeps only a hash" | sh)
  assert_equal "$hash" "$(digest_of "nightly:correct horse")"
  {
    example_in "$manual" "Create a root for the locks" | sed "1d; s,nightly:HASH,nightly:$hash,; s,ops:HASH,ops:$(digest_of ops:pass),"
    example_in "$manual" "Limit what is below the root"
    echo quit
  } >lines
  typed <lines >said 2>&1
  run -0 super acl /locks
  assert_output --regexp "^digest:admin:[^,]*:rwcda,digest:nightly:${hash//+/.}:rc,digest:ops:[^,]*:rcd\$"
  assert contains said "count=-1,bytes=-1=;byteHardLimit=10000000;countHardLimit=10000"
  # Those who may create locks may not remove them, and others may do neither.
  run -0 zkflock --auth-file nightly deploy echo ran
  assert_output ran
  run -77 zkflock --auth-file nightly --remove deploy
  assert_output "zkflock: not permitted to delete /locks/deploy: the ACL of /locks does not give this client DELETE"
  run -77 zkflock nobodys touch ran
  assert_output "zkflock: not permitted to create /locks/nobodys: the ACL of /locks does not give this client CREATE"
  assert_not_exist ran
  run -0 zkflock --auth-file nightly --list
  assert_output --partial deploy
  run -0 zkflock --auth-file ops --remove deploy
}
