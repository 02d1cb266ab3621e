# Which right each step needs: the message names the right that is missing, and the znode.

load helper

# without RIGHTS ZNODE: takes those rights (letters of rwcd) from everybody.
without() {
  zk "$ONE" deny "$2" "$(echo rwcda | tr -d "$1")"
  denied+=("$2")
}
restore() { zk "$ONE" deny "$1" rwcda; }

# Other tests look at the whole tree.
teardown() {
  local node
  for node in "${denied[@]}"; do restore "$node" 2>/dev/null || true; done
  common_teardown
}

# refused STATUS SENTENCE ARG...: fail unless the server refuses this run, without a wait.
refused() {
  local status=$1 sentence=$2
  shift 2
  run "-$status" timeout 20 zkflock --lock-delay 0 "$@"
  assert_line "zkflock: $sentence"
  assert_not_exist ran
}

# steps_in STATUS SENTENCE ARG...: the same for an action that runs no command.
steps_in() {
  local status=$1 sentence=$2
  shift 2
  run "-$status" timeout 20 zkflock "$@"
  assert_line "zkflock: $sentence"
}

holders_node() { echo "$1/$(zk "$ONE" ls "$1" | head -n 1)"; }

@test "CREATE to join, and on the parent to make the lock" {
  zk "$ONE" create "$LOCK/a"
  without c "$LOCK/a"
  refused 77 "not permitted to create a znode in $LOCK/a: its ACL does not give this client CREATE" "$LOCK/a" touch ran
  without c "$LOCK"
  refused 77 "not permitted to create $LOCK/b: the ACL of $LOCK does not give this client CREATE" "$LOCK/b" touch ran
  refused 77 "not permitted to create $LOCK/b: the ACL of $LOCK does not give this client CREATE" "$LOCK/b/c/d" touch ran
  # A znode that exists need not be made.
  refused 77 "not permitted to create $LOCK/a/b: the ACL of $LOCK/a does not give this client CREATE" "$LOCK/a/b/c" touch ran
  restore "$LOCK/a"
  run -0 zkflock "$LOCK/a/b/c" echo ran
  assert_output ran
  refused 77 "not permitted to create $LOCK/s: the ACL of $LOCK does not give this client CREATE" --permits 2 "$LOCK/s" touch ran
  restore "$LOCK"
}

@test "READ on the lock for the census, to list, to step in" {
  hold "$LOCK" release
  without r "$LOCK"
  read="not permitted to read $LOCK: its ACL does not give this client READ"
  refused 77 "$read" -n "$LOCK" touch ran
  steps_in 77 "$read" --list "$LOCK"
  steps_in 77 "$read" --list -q "$LOCK"
  for action in "--revoke --yes" "--break --yes" --remove; do
    # shellcheck disable=SC2086 # options
    steps_in 77 "$read" $action "$LOCK"
  done
  run -0 zkflock --list "$LOCK" "$LOCK.other"
  assert_line --regexp "^$LOCK +\? +\(unknown: not permitted\)"
  restore "$LOCK"
  touch release
  ends_with 0 "$holder"
}

@test "READ on the lock is taken away while zkflock waits: the command does not start" {
  hold "$LOCK" release
  wait_in_line log "$LOCK" touch ran
  without r "$LOCK"
  touch release
  wait "$holder"
  ends_with 77 "$waiter"
  assert contains log "not permitted to read $LOCK: its ACL does not give this client READ"
  assert_not_exist ran
  restore "$LOCK"
}

@test "READ on both znodes of a semaphore, to list and to step in" {
  zkflock --permits 2 "$LOCK" true
  for part in leases locks; do
    without r "$LOCK/$part"
    for action in --list "--list -q" "--break --yes" --remove; do
      # shellcheck disable=SC2086 # options
      steps_in 77 "not permitted to read $LOCK/$part: its ACL does not give this client READ" $action "$LOCK"
    done
    restore "$LOCK/$part"
  done
}

@test "READ on the contender before, to watch it" {
  others "$LOCK" lock- 1
  node=$(holders_node "$LOCK")
  without r "$node"
  refused 77 "not permitted to watch $node: its ACL does not give this client READ" "$LOCK" touch ran
  steps_in 77 "not permitted to read $node: its ACL does not give this client READ" --break --yes "$LOCK"
  run -0 zkflock --list "$LOCK"
  assert_line --partial "(unknown: not permitted)"
  others_end
}

@test "READ on the own znode, if --acl may not give it: 77 before the command" {
  local acl option
  zkflock "$LOCK" true
  zkflock --permits 2 "$LOCK/two" true
  for acl in ip:10.1.2.3:cdrw world:anyone:cdw,ip:10.1.2.3:cdrw; do
    for option in -x --unfair --shared; do
      run -77 timeout 20 zkflock "$option" --acl "$acl" "$LOCK" touch ran
      assert_output --regexp "^zkflock: not permitted to read $LOCK/[^ ]*: its ACL does not give this client READ\$"
    done
    run -77 timeout 20 zkflock --permits 2 --acl "$acl" "$LOCK/two" touch ran
    assert_output --regexp "^zkflock: not permitted to read $LOCK/two/[^ ]*: its ACL does not give this client READ\$"
    run -77 timeout 20 zkflock --with "$LOCK" --acl "$acl" "$LOCK/one" touch ran
    hold "$LOCK" release
    run -77 timeout 20 zkflock --acl "$acl" "$LOCK" touch ran
    touch release
    ends_with 0 "$holder"
  done
  assert_not_exist ran
  run -0 zkflock --acl ip:127.0.0.1:cdrw "$LOCK" echo ran
  assert_output ran
}

# lost_without_read QUEUE LOCK [OPTION]...: fail unless a holder of LOCK ends when it may not read its
# znode in QUEUE, and names that znode.
lost_without_read() {
  local queue=$1 lock=$2
  shift 2
  background --lease 4 --session-timeout 2 "$@" "$lock" sh -c 'touch held; exec sleep 1000' 2>log
  holder=$!
  eventually test -e held
  node=$(holders_node "$queue")
  without r "$node"
  ends_with 75 "$holder"
  assert contains log "lost $lock: the ensemble refuses the proof of life: not permitted to check $node: its ACL does not give this client READ"
}

@test "READ on the own znode, for the proofs of life" {
  lost_without_read "$LOCK" "$LOCK"
}

@test "--with: READ on the own znode of the last lock: the message names that znode" {
  lost_without_read "$LOCK/b" "$LOCK/a" --with "$LOCK/b"
}

@test "WRITE on the contender, to mark it or to ask for the lock" {
  hold "$LOCK" release
  wait_in_line log "$LOCK" sh -c 'until [ -e told ]; do sleep 0.05; done'
  node=$LOCK/$(zk "$ONE" ls "$LOCK" | tail -n 1)
  without w "$node"
  without w "$(holders_node "$LOCK")"
  steps_in 77 "not permitted to write to $(holders_node "$LOCK"): its ACL does not give this client WRITE" --revoke --yes "$LOCK"
  touch release
  wait "$holder"
  eventually contains log "warning: not permitted to write to $node: its ACL does not give this client WRITE; --list shows it as held since it began to wait"
  touch told
  ends_with 0 "$waiter"
}

@test "WRITE on the contender of a reader, to mark it" {
  hold "$LOCK" release
  wait_in_line log --shared "$LOCK" touch ran
  node=$LOCK/$(zk "$ONE" ls "$LOCK" | tail -n 1)
  without w "$node"
  touch release
  wait "$holder"
  ends_with 77 "$waiter"
  assert contains log "not permitted to write to $node: its ACL does not give this client WRITE"
}

@test "WRITE on the own znode, to write a record or correct the count: the message names that znode" {
  own_refused() { # own_refused LOCK
    # Only clients at another address have all rights.
    run -77 timeout 20 zkflock --acl ip:10.1.2.3:cdrw,world:anyone:cdr "$1" touch ran
    assert_output --regexp "^zkflock: not permitted to write to $1/_c_[^ ]*: its ACL does not give this client WRITE\$"
    assert_not_exist ran
  }
  zk "$ONE" create "$LOCK/without"
  own_refused "$LOCK/without"
  zkflock --lease 4 "$LOCK/vanished" true
  stood_in "$LOCK/vanished" 1
  own_refused "$LOCK/vanished"
}

@test "WRITE on a lock without a record, for a longer lease than the default" {
  make_without_record "$LOCK"
  without w "$LOCK"
  refused 78 "$LOCK has no record of its lease and its ACL does not let this client write one, so the lease is 15 s for all; leave out --lease 25 s, or take the lock once as a user who may write to that znode" --lease 25 "$LOCK" touch ran
  restore "$LOCK"
}

@test "READ that is taken away while a name without a GUID holds the lock: its znode goes with the session" {
  listen
  background -z "$VIA" --node-style plain:x- "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  # The version that it has read is not the last any more.
  run -1 zkflock -w 0.2 "$LOCK" true
  without r "$LOCK"
  touch release
  ends_with 0 "$holder"
  # Nor does it try in vain.
  refute grep -q delete frames
  restore "$LOCK"
  close_proxy
}

@test "--unfair: DELETE on the lock, to back off; WRITE only to count that" {
  hold "$LOCK" release
  without w "$LOCK"
  run -1 timeout 20 zkflock --unfair -n "$LOCK" touch ran
  assert_output --partial "$LOCK is busy"
  restore "$LOCK"
  without d "$LOCK"
  steps_in 77 "not permitted to delete $LOCK/unfair__lock__-lock-0000000000: the ACL of $LOCK does not give this client DELETE" --unfair -n "$LOCK" touch ran
  refute_output --partial "not permitted to write"
  assert_not_exist ran
  restore "$LOCK"
  touch release
  wait "$holder"
}

@test "DELETE on the lock, to leave, to break, to remove; and on the parent, to remove" {
  hold "$LOCK/a" release
  node=$(holders_node "$LOCK/a")
  without d "$LOCK/a"
  sentence="not permitted to delete $node: the ACL of $LOCK/a does not give this client DELETE"
  steps_in 77 "$sentence" --break --yes "$LOCK/a"
  restore "$LOCK/a"
  touch release
  wait "$holder"
  without d "$LOCK/a"
  run -77 timeout 20 zkflock --remove "$LOCK/a"
  assert_line --regexp "^zkflock: not permitted to delete $LOCK/a/_c_[^ ]*: the ACL of $LOCK/a does not give this client DELETE\$"
  run -0 zkflock --lock-delay 0 "$LOCK/a" true
  assert_output --regexp "^zkflock: warning: not permitted to delete $LOCK/a/_c_[^ ]*: the ACL of $LOCK/a does not give this client DELETE; the ensemble deletes it when the session ends\$"
  restore "$LOCK/a"
  without d "$LOCK"
  steps_in 77 "not permitted to delete $LOCK/a: the ACL of $LOCK does not give this client DELETE" --remove -w 40 "$LOCK/a"
  restore "$LOCK"
}

@test "WRITE on a lock that has another one below it, to remove that one" {
  zkflock "$LOCK" true
  zkflock "$LOCK/inner" true
  without w "$LOCK"
  steps_in 77 "not permitted to write to $LOCK: its ACL does not give this client WRITE" --remove "$LOCK/inner"
  restore "$LOCK"
}

@test "READ and WRITE on the note of --once-per, and CREATE above it" {
  note="the note of --once-per: not permitted to"
  zkflock "$LOCK/a" true
  without c "$LOCK"
  refused 77 "$note create $LOCK/a.once: the ACL of $LOCK does not give this client CREATE" --once-per 1h "$LOCK/a" touch ran
  restore "$LOCK"
  zkflock --once-per 1h "$LOCK/a" true
  without w "$LOCK/a.once"
  refused 77 "$note write to $LOCK/a.once: its ACL does not give this client WRITE" --once-per 1h "$LOCK/a" touch ran
  without r "$LOCK/a.once"
  refused 77 "$note read $LOCK/a.once: its ACL does not give this client READ" --once-per 1h "$LOCK/a" touch ran
  steps_in 77 "not permitted to read $LOCK/a.once: its ACL does not give this client READ" --remove "$LOCK/a"
  # Without a lock, too, there is no other message.
  zk "$ONE" delete "$LOCK/a"
  run -77 timeout 20 zkflock --remove "$LOCK/a"
  assert_output "zkflock: not permitted to read $LOCK/a.once: its ACL does not give this client READ"
  restore "$LOCK/a.once"
}

# through OPERATION CODE: a proxy that refuses such requests, in $VIA.
through() { PROXY_OF=$1 open_proxy refuse "1-1000000:$2"; }

@test "a server that does not accept the authentication, or the ACL: 77" {
  through create -115
  refused 77 "cannot create a znode in $LOCK: the server does not accept this client's authentication" -z "$VIA" "$LOCK" touch ran
  close_proxy
  through create -114
  refused 77 "cannot create a znode in $LOCK: the server does not accept the ACL that --acl names: it does not know a scheme, an ID is none of its scheme, or it has not authenticated this client" -z "$VIA" "$LOCK" touch ran
  close_proxy
  zkflock "$LOCK" true
  through get -115
  refused 77 "cannot read $LOCK: the server does not accept this client's authentication" -z "$VIA" "$LOCK" touch ran
  steps_in 77 "cannot read $LOCK: the server does not accept this client's authentication" -z "$VIA" --list "$LOCK"
  close_proxy
}

@test "a record or a count that cannot be written for another reason than rights ends it: 78" {
  # Only the first write, so that it can leave.
  used_up="the quota of this znode or one above it is used up"
  make_without_record "$LOCK.new"
  PROXY_OF=multi open_proxy refuse 1-1:-125
  refused 78 "cannot write to $LOCK.new: $used_up" -z "$VIA" "$LOCK.new" touch ran
  close_proxy
  # One that left has not been counted.
  zkflock --lease 4 "$LOCK" true
  stood_in "$LOCK" 1
  PROXY_OF=multi open_proxy refuse 1-1:-125
  run -78 zkflock -z "$VIA" "$LOCK" touch ran
  assert_line "zkflock: cannot write to $LOCK: $used_up"
  assert_not_exist ran
  close_proxy
}

@test "--list: an error that has nothing to do with rights is called what it is, 70" {
  zkflock "$LOCK" true
  through children -1
  run -70 --separate-stderr zkflock -z "$VIA" --list "$LOCK"
  assert_output --partial "unknown: system error"
  assert_equal "$stderr" "zkflock: cannot read $LOCK: system error (ZooKeeper error -1)"
  run -0 zkflock -z "$VIA" --list "$LOCK" "$LOCK.other"
  assert_line --regexp "^$LOCK +\? +\(unknown: system error\)"
  run -70 zkflock -z "$VIA" --break --yes "$LOCK"
  assert_output "zkflock: cannot read $LOCK: system error (ZooKeeper error -1)"
  close_proxy
}

@test "a quota that is used up: 78" {
  JAVA_TOOL_OPTIONS=-Dzookeeper.enforceQuota=true "$TESTS_DIR/ensemble" start server 2>/dev/null
  own=$(cat server/servers)
  # The quota is below ZooKeeper's own znode.
  zk "$own" create /a/lock
  zk "$own" create /zookeeper/quota/a/zookeeper_limits "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=3"
  zk "$own" create /zookeeper/quota/a/zookeeper_stats count=2,bytes=0
  used_up="the quota of this znode or one above it is used up"
  zk "$own" create /a/x
  refused 78 "cannot create a znode in /a/lock: $used_up" -z "$own" /a/lock touch ran
  refused 78 "cannot create /a/new: $used_up" -z "$own" /a/new touch ran
  zk "$own" delete /a/x
  refused 78 "the note of --once-per: cannot create /a/lock.once: $used_up" -z "$own" --once-per 1h /a/lock touch ran
  "$TESTS_DIR/ensemble" stop server
}
