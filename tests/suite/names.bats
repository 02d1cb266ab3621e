# Znodes whose names do not tell whose they are, taken away by hand and made again by another
# session under the same name: that one's are never taken for the own.

load helper

setup() {
  common_setup
  zkflock --lease 4 "$LOCK" true
}

# Names that are tried: numbered ones without a GUID, and the one of --unfair.
readonly KINDS=('--node-style plain:x-' --unfair)

# take_over: the one znode of $LOCK is another session's from now on, until give_up.
take_over() {
  coproc IMPOSTOR { exec zk "$ONE" take-over "$LOCK/${1:-$(zk "$ONE" ls "$LOCK")}" 3>&-; }
  impostor=$IMPOSTOR_PID
  read -r -u "${IMPOSTOR[0]}" _
}

give_up() {
  eval "exec ${IMPOSTOR[1]}>&-"
  wait "$impostor"
}

still_there() { assert_equal "$(zk "$ONE" ls "$LOCK")" "$1"; }

@test "while it is held: noticed at once, 75, and left alone" {
  for kind in "${KINDS[@]}"; do
    # With a lease so long that no proof is sent; what is noticed is the event.
    LOCK=/t/names/held/${kind// /}
    # shellcheck disable=SC2086 # two words
    background -v --lease 300 $kind "$LOCK" sh -c 'touch held; exec sleep 1000' 2>log
    local holder=$!
    eventually test -e held
    take_over
    local node
    node=$(zk "$ONE" ls "$LOCK")
    ends_with 75 "$holder"
    assert_file_contains log "the znode $LOCK/$node was deleted by somebody"
    still_there "$node"
    give_up
    rm held
  done
}

@test "while it is held, and the event is lost: the next proof is none" {
  for kind in "${KINDS[@]}"; do
    LOCK=/t/names/deaf/${kind// /}
    zkflock --lease 6 "$LOCK" true
    open_proxy deaf 1
    # shellcheck disable=SC2086 # two words
    background -v -z "$VIA" $kind "$LOCK" sh -c 'touch held; exec sleep 1000' 2>log
    local holder=$!
    eventually test -e held
    local node
    node=$(zk "$ONE" ls "$LOCK")
    take_over
    ends_with 75 "$holder"
    assert_file_contains log "the znode $LOCK/$node was deleted by somebody"
    still_there "$node"
    give_up
    close_proxy
    rm held
  done
}

@test "with a GUID in its name, too, a znode that is gone is no proof" {
  open_proxy deaf 1
  background -v -z "$VIA" "$LOCK" sh -c 'touch held; exec sleep 1000' 2>log
  local holder=$!
  eventually test -e held
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK")"
  ends_with 75 "$holder"
  assert_file_contains log "was deleted by somebody"
  close_proxy
}

@test "while it is given back: another's is not deleted" {
  for kind in "${KINDS[@]}"; do
    LOCK=/t/names/leaving/${kind// /}
    # No proof is due meanwhile.
    zkflock --lease 300 "$LOCK" true
    open_proxy deaf 1
    # shellcheck disable=SC2086 # two words
    background -v -z "$VIA" $kind "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.02; done'
    local holder=$!
    eventually test -e held
    local node
    node=$(zk "$ONE" ls "$LOCK")
    take_over
    touch go
    ends_with 0 "$holder"
    still_there "$node"
    give_up
    close_proxy
    rm held go
  done
}

@test "when the keeper is killed: another's is not deleted" {
  for kind in "${KINDS[@]}"; do
    LOCK=/t/names/killed/${kind// /}
    zkflock --lease 300 "$LOCK" true
    listen deaf 1
    # shellcheck disable=SC2086 # two words
    background -v -z "$VIA" $kind "$LOCK" sh -c 'touch held; exec sleep 1000'
    local holder=$!
    eventually test -e held
    local node
    node=$(zk "$ONE" ls "$LOCK")
    take_over
    kill -KILL "$holder"
    eventually asked_for CLOSE
    still_there "$node"
    give_up
    close_proxy
    rm held frames
  done
}

@test "while it waits: the place that was taken away is not good any more when the turn comes" {
  hold "$LOCK" first
  local first
  first=$(zk "$ONE" ls "$LOCK")
  background -v --node-style plain:x- "$LOCK" touch ran 2>log
  local waiter=$! node
  eventually contains log "waiting for"
  node=$(zk "$ONE" ls "$LOCK" | grep -vx "$first")
  take_over "$node"
  touch first
  wait "$holder"
  eventually contains log "the own znode was deleted by somebody"
  zk "$ONE" await-count "$LOCK" 2
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
}

@test "while it waits for one who vanished: another's place is not its own" {
  background --session-timeout 1 "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  local crashing=$!
  eventually test -e crashing
  crash "$crashing"
  zk "$ONE" await-count "$LOCK" 0
  background -v --node-style plain:x- "$LOCK" touch ran 2>log
  local waiter=$! node
  eventually contains log "a contender vanished"
  node=$(zk "$ONE" ls "$LOCK")
  take_over
  eventually contains log "the own znode was deleted by somebody"
  zk "$ONE" await-count "$LOCK" 2
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
}

@test "--unfair: the znode that was found behind the lost answer to a create may be another's" {
  PROXY_OF=create open_proxy lose-reply 1
  background -v --unfair -z "$VIA" "$LOCK" touch ran 2>log
  local waiter=$!
  await_cut 10
  assert_equal "$cut" cut
  take_over
  let_pass
  eventually contains log "waiting for"
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
  close_proxy
}
