# Names without a GUID: somebody deletes the znode, and another session creates one of the same name.
# zkflock never takes that one for its own.

load helper
load vanishing

setup() {
  common_setup
  zkflock --lease 4 "$LOCK" true
}

# Numbered names without a GUID, and the one name of --unfair.
readonly KINDS=('--node-style plain:x-' --unfair)

# take_over [NAME]: replace the znode in $LOCK by another session's, until give_up.
take_over() {
  coproc IMPOSTOR { exec zk "$ONE" take-over "$LOCK/${1:-$(zk "$ONE" ls "$LOCK")}" 3>&-; }
  impostor=$IMPOSTOR_PID
  read -r -u "${IMPOSTOR[0]}" _
}

give_up() {
  eval "exec ${IMPOSTOR[1]}>&-"
  wait "$impostor"
}

# hold_replaced NAME KIND LEASE COMMAND: create a lock with that lease, run COMMAND under it through a proxy
# that drops events, then replace the holder's znode ($node).
hold_replaced() {
  LOCK=/t/names/$1/${2// /}
  zkflock --lease "$3" "$LOCK" true
  listen deaf 1
  # shellcheck disable=SC2086 # two words
  background -v -z "$VIA" $2 "$LOCK" sh -c "touch held; $4" 2>log
  holder=$!
  eventually test -e held
  eventually has_watches 1
  node=$(zk "$ONE" ls "$LOCK")
  take_over
}

# end_replaced: fail unless the other session's znode is there still; make room for the next holder.
end_replaced() {
  still_there "$node"
  give_up
  close_proxy
  rm held
}

still_there() { assert_equal "$(zk "$ONE" ls "$LOCK")" "$1"; }

@test "a holder whose znode is replaced loses the lock at once, 75" {
  for kind in "${KINDS[@]}"; do
    # The lease is so long that only the event can tell.
    LOCK=/t/names/held/${kind// /}
    # shellcheck disable=SC2086 # two words
    background -v --lease 300 $kind "$LOCK" sh -c 'touch held; exec sleep 1000' 2>log
    local holder=$!
    eventually test -e held
    take_over
    local node
    node=$(zk "$ONE" ls "$LOCK")
    eventually contains log "the znode $LOCK/$node was deleted, by --break or another client"
    ends_with 75 "$holder"
    still_there "$node"
    give_up
    rm held
  done
}

@test "a holder whose znode is replaced loses the lock at its next proof, without an event" {
  for kind in "${KINDS[@]}"; do
    hold_replaced deaf "$kind" 6 'exec sleep 1000'
    ends_with 75 "$holder"
    assert_file_contains log "the znode $LOCK/$node was deleted, by --break or another client"
    end_replaced
  done
}

@test "a holder whose znode is deleted loses the lock at its next proof, without an event" {
  open_proxy deaf 1
  background -v -z "$VIA" "$LOCK" sh -c 'touch held; exec sleep 1000' 2>log
  local holder=$!
  eventually test -e held
  eventually has_watches 1 # else its request for the watch would find out
  lose
  ends_with 75 "$holder"
  assert_file_contains log "was deleted, by --break or another client"
  close_proxy
}

@test "a holder that lost the answer to its watch sets it again" {
  # The lease is so long that only the event can tell.
  zkflock --lease 300 "$LOCK.long" true
  PROXY_OF="get" listen reply 2
  background -v -z "$VIA" "$LOCK.long" sh -c 'exec sleep 1000' 2>log
  local holder=$!
  LOCK=$LOCK.long eventually asked_for WATCH_OWN 2
  zk "$ONE" delete "$LOCK.long/$(zk "$ONE" ls "$LOCK.long")"
  eventually contains log "was deleted, by --break or another client"
  ends_with 75 "$holder"
  close_proxy
}

# watches_late [KIND]: hold the lock with a lease so long that no proof is due; let the proxy hold the
# request that watches the own znode; its name in $node.
watches_late() {
  LOCK=$LOCK/watch
  zkflock --lease 300 "$LOCK" true
  PROXY_OF="get" open_proxy hold-request 2
  background -v -z "$VIA" --session-timeout 40 "$@" "$LOCK" sleep 1000 2>log
  holder=$!
  proxy_strikes
  node=$(zk "$ONE" ls "$LOCK")
}

# loses_at_once: let the watch pass; fail unless the holder loses the lock before its next proof.
loses_at_once() {
  let_pass
  eventually contains log "the znode $LOCK/$node was deleted, by --break or another client"
  ends_with 75 "$holder"
  close_proxy
}

@test "a holder whose znode is deleted before it watches that loses the lock at once" {
  watches_late
  zk "$ONE" delete "$LOCK/$node"
  loses_at_once
}

@test "a holder whose znode is replaced before it watches that loses the lock at once" {
  watches_late --unfair
  take_over "$node"
  loses_at_once
  still_there "$node"
  give_up
}

@test "a holder that loses the answers to a proof keeps the lock" {
  # Loses the answer to the check, or the one that tells which session owns the znode.
  for operation in multi exists; do
    LOCK=/t/names/proof/$operation
    zkflock --lease 12 "$LOCK" true
    PROXY_OF=$operation listen reply 1
    background -z "$VIA" --node-style plain:x- "$LOCK" sh -c 'until [ -e go ]; do sleep 0.05; done; exit 3'
    holder=$!
    proxy_strikes
    eventually asked_for PROOF_CLAIMED 2
    touch go
    ends_with 3 "$holder"
    close_proxy
    rm go frames
  done
}

@test "a holder does not delete the znode that replaced its own when it has to leave once more" {
  zkflock --lease 300 "$LOCK.long" true
  LOCK=$LOCK.long
  PROXY_OF=multi open_proxy hold-request 1
  background -z "$VIA" --session-timeout 40 --node-style plain:x- "$LOCK" true
  holder=$!
  proxy_strikes
  node=$(zk "$ONE" ls "$LOCK")
  take_over "$node"
  # Somebody else has left, too, so that the version is another.
  zk "$ONE" set "$LOCK" "$(zk "$ONE" get "$LOCK")"$'\n'
  let_pass
  ends_with 0 "$holder"
  still_there "$node"
  give_up
  close_proxy
}

@test "a holder does not delete the znode that replaced its own" {
  for kind in "${KINDS[@]}"; do
    # The lease is so long that no proof is due.
    hold_replaced leaving "$kind" 300 'until [ -e go ]; do sleep 0.05; done'
    touch go
    ends_with 0 "$holder"
    end_replaced
    rm go
  done
}

@test "the guard of a killed keeper does not delete the znode that replaced the keeper's" {
  for kind in "${KINDS[@]}"; do
    hold_replaced killed "$kind" 300 'exec sleep 1000'
    kill -KILL "$holder"
    eventually asked_for CLOSE
    end_replaced
  done
}

@test "a waiter whose znode is replaced joins the queue again when its turn comes" {
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
  eventually contains log "somebody deleted the znode of this zkflock"
  zk "$ONE" await-count "$LOCK" 2
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
}

@test "a contender whose znode is replaced while it waits for a vanished holder joins again" {
  vanish "$LOCK"
  background -v --lock-delay 10 --node-style plain:x- "$LOCK" touch ran 2>log
  local waiter=$!
  eventually contains log "a contender vanished"
  take_over
  eventually contains log "somebody deleted the znode of this zkflock"
  zk "$ONE" await-count "$LOCK" 2
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
}

@test "a contender whose znode is replaced before it writes the record joins again" {
  for kind in "${KINDS[@]}"; do
    LOCK=/t/names/writing/${kind// /}
    zk "$ONE" create "$LOCK"
    PROXY_OF=multi open_proxy hold-request 1
    # zkflock bears the proxy's silence for a sixth of the lease.
    # shellcheck disable=SC2086 # two words
    background -v -z "$VIA" --session-timeout 40 --lease 120 --lock-delay 0 $kind "$LOCK" touch ran 2>log
    local waiter=$!
    proxy_strikes
    # The other znode has the same version.
    take_over
    let_pass
    eventually contains log "waiting for"
    assert_not_exist ran
    give_up
    ends_with 0 "$waiter"
    assert_exist ran
    close_proxy
    rm ran
  done
}

@test "--unfair: zkflock does not take the next owner of the name for one that is gone" {
  background --unfair "$LOCK" sh -c 'touch held; exec sleep 1000' 2>lost
  local holder=$!
  eventually test -e held
  # zkflock asks by a write, every two leases, whether its predecessor is there.
  PROXY_OF=multi listen refuse 1-1:-101
  background -v --unfair -z "$VIA" --lock-delay 0 "$LOCK" touch ran 2>log
  local waiter=$!
  eventually contains log "but this server shows it; turning to another"
  take_over
  ends_with 75 "$holder"
  # zkflock stays at this server and watches the new znode.
  stays() {
    zk "$ONE" set "$LOCK/unfair__lock__-lock-0000000000" changed
    [ "$(grep -c " request $(tail -n 1 frames | cut -d' ' -f3) .* get $LOCK/.* watch" frames)" -ge 2 ]
  }
  eventually stays
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
  close_proxy
}

@test "--unfair: behind a lost answer to the create, another session's znode is not taken for the own" {
  PROXY_OF=create open_proxy lose-reply 1
  # zkflock bears the proxy's silence for a sixth of that, until it knows the lock's lease.
  background -v --session-timeout 40 --lease 120 --unfair -z "$VIA" "$LOCK" touch ran 2>log
  local waiter=$!
  proxy_strikes
  take_over
  let_pass
  eventually contains log "waiting for"
  assert_not_exist ran
  give_up
  ends_with 0 "$waiter"
  assert_exist ran
  close_proxy
}
