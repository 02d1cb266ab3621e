# What is asked of the ensemble, and in which order: the models in tests/model are true of the
# program as long as it keeps to tests/model/requests.

load helper

setup() {
  common_setup
  zkflock --lease 4 "$LOCK" true
}

# asks ARG...: runs zkflock ARG... in the background, its requests written down.
asks() {
  listen none 0
  background -z "$VIA" "$@"
  asker=$!
}

# steps_are STEP...: what was asked so far, but for what depends on how long the lock is held; on the
# connection $BY, if that is set.
steps_are() {
  local steps
  steps=$(steps frames "$LOCK" ${BY:+"$BY"} |
    grep -vx -e WATCH_OWN -e PROOF -e PROOF_CLAIMED | tr '\n' ' ')
  assert_equal "${steps% }" "$*"
}

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

@test "of a free lock" {
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN LEAVE CLOSE
}

@test "of a lock that does not exist" {
  LOCK=$LOCK/new
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN MAKE_PARENTS JOIN LEAVE CLOSE
}

@test "while it is held: the own znode is watched, and proofs are writes" {
  asks "$LOCK" sleep 2
  ends_with 0 "$asker"
  steps_are JOIN LEAVE CLOSE
  assert_equal "$(steps frames "$LOCK" | grep -cx WATCH_OWN)" 1
  assert asked_for PROOF 2
}

@test "in the queue: the predecessor alone is watched, and proven is what was waited for" {
  hold "$LOCK" first
  asks "$LOCK" sh -c 'touch b; until [ -e b.go ]; do sleep 0.02; done'
  local b=$asker
  eventually asked_for WATCH
  background -z "$VIA" "$LOCK" true
  BY=2 eventually asked_for WATCH
  touch first
  wait "$holder"
  eventually test -e b
  BY=2 eventually asked_for WATCH 2
  touch b.go
  ends_with 0 "$b"
  ends_with 0 $!
  # Behind the holder itself a look at it is enough.
  BY=1 steps_are JOIN LIST WATCH PROVE LEAVE CLOSE
  # The mark of the one before it was written meanwhile: nobody else is before it.
  BY=2 steps_are JOIN LIST WATCH WATCH PROVE LEAVE CLOSE
}

@test "in the queue: when somebody in the middle gives up, the list is asked for again" {
  hold "$LOCK" first
  local first=$holder
  wait_in_line log "$LOCK" true
  asks "$LOCK" true
  eventually asked_for WATCH
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  eventually asked_for WATCH 2
  touch first
  wait "$first"
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH LIST WATCH PROVE LEAVE CLOSE
}

@test "behind one that has been there for long: a write asks whether it is" {
  hold "$LOCK" first
  asks "$LOCK" true
  eventually asked_for VERIFY
  touch first
  wait "$holder"
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH VERIFY WATCH PROVE LEAVE CLOSE
}

vanish() { # vanish ARG...: one who holds the lock so
  background --session-timeout 1 "$@" "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  local pid=$!
  eventually test -e crashing
  crash "$pid"
  rm crashing
}

@test "after one who vanished: a proof behind the wait, and the count and the own mark in one" {
  vanish
  zk "$ONE" await-count "$LOCK" 0
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN TELL_WAITING PROVE SQUARE LEAVE CLOSE
}

@test "after two who vanished: both are counted out at once" {
  vanish --shared
  vanish --shared
  zk "$ONE" await-count "$LOCK" 0
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN TELL_WAITING PROVE SQUARE_TWO LEAVE CLOSE
}

@test "of a lock without a record: it is written with the own mark" {
  zk "$ONE" create "$LOCK/bare"
  LOCK=$LOCK/bare
  asks --lock-delay 0 "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN ADOPT LEAVE CLOSE
}

@test "of a lock without a record and the right to write one: asked for before the wait" {
  zk "$ONE" create "$LOCK/bare"
  LOCK=$LOCK/bare
  zk "$ONE" deny "$LOCK" rcda
  asks --lease 25 "$LOCK" true
  ends_with 78 "$asker"
  # In the version, for whoever looks at the znode later; then without, for want of the right.
  steps_are JOIN ASK_WRITE READ_VERSION LEAVE_BARE READ_VERSION LEAVE_UNCOUNTED CLOSE
  zk "$ONE" deny "$LOCK" rwcda
}

@test "when the answer to the create is lost: the list behind a sync" {
  PROXY_OF=create listen reply 1
  run -0 zkflock -z "$VIA" "$LOCK" echo ran
  steps_are JOIN FIND LIST PROVE LEAVE CLOSE
}

@test "by a name without the GUID: whose it is is asked before it is deleted" {
  asks --node-style plain:x- "$LOCK" sleep 1.5
  ends_with 0 "$asker"
  steps_are JOIN CLAIM LEAVE CLOSE
  # Behind each proof, too.
  assert asked_for PROOF_CLAIMED
  refute grep -qx PROOF <(steps frames "$LOCK")
}

@test "of a semaphore: a turn, and a permit" {
  LOCK=$LOCK/many
  zkflock --permits 1 --lease 4 "$LOCK" true
  background --permits 1 "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.02; done'
  eventually test -e held
  asks --permits 1 "$LOCK" true
  LOCK=$LOCK/locks eventually asked_for WATCH_OWN
  LOCK=$LOCK/leases eventually asked_for COUNT
  touch go
  ends_with 0 "$asker"
  LOCK=$LOCK/leases
  # The list above is the turn's.
  steps_are ABOVE JOIN_BELOW COUNT COUNT PROVE LEAVE CLOSE
  LOCK=${LOCK%leases}locks
  steps_are JOIN_BELOW ABOVE LEAVE CLOSE
}

@test "by --unfair: what was taken in vain is given back, counted" {
  hold "$LOCK" first
  asks --unfair "$LOCK" true
  eventually asked_for WATCH
  touch first
  wait "$holder"
  ends_with 0 "$asker"
  # The name is anybody's.
  steps_are JOIN LIST LEAVE WATCH JOIN CLAIM LEAVE CLOSE
}

@test "for a keeper that was killed: until nothing is found, behind a write" {
  asks "$LOCK" sh -c 'touch held; exec sleep 1000'
  eventually asked_for WATCH_OWN
  kill -KILL "$asker"
  zk "$ONE" await-count "$LOCK" 0
  eventually asked_for CLOSE
  steps_are JOIN SWEEP LEAVE SWEEP CLOSE
}

@test "to remove: the lock goes with the own znode, if nobody came or left" {
  asks --remove "$LOCK"
  ends_with 0 "$asker"
  assert asked_for REMOVE
}
