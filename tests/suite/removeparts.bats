# --remove: znodes beside the lock, and changes while zkflock waits to remove it.

load helper
load vanishing
load remove

@test "--remove: a znode that may not be read and need not be deleted does no harm" {
  for name in a b; do zkflock "$LOCK/$name" true; done
  zk "$ONE" create "$LOCK/a/locks"
  for denied in "$LOCK/a/locks" "$LOCK"; do zk "$ONE" deny "$denied" wcda; done
  for name in a b; do
    run removal "$LOCK/$name"
    echo "$status $output" >>said
  done
  # Before the test can fail: others look at the whole tree.
  for denied in "$LOCK" "$LOCK/a/locks"; do zk "$ONE" deny "$denied" rwcda; done
  assert_equal "$(cat said)" "1 zkflock: $LOCK/a is not removed: below it are znodes that are no contenders, perhaps locks: locks
0 zkflock: removed $LOCK/b"
}

@test "--remove -w: it does no harm if somebody deletes the note during the wait" {
  zkflock --once-per 1h "$LOCK" true
  hold "$LOCK" release
  removal_waits
  zk "$ONE" delete "$LOCK.once"
  touch release
  ends_with 0 "$remover"
  ends_with 0 "$holder"
  assert_regex "$(tail -n 1 removal.log)" "removed $LOCK\$"
  assert_equal "$(left)" ""
}

@test "--remove -w: a contender at the path of a semaphore that has left is no longer a user" {
  zkflock --permits 1 "$LOCK" true
  # That one has the turn to take a permit, but no permit.
  zk "$ONE" contend "$LOCK/locks" lock- 1 < <(until [ -e release ]; do sleep 0.05; done) >made 3>&- 4>&- &
  turn=$!
  eventually contains made made
  others "$LOCK" lock- 1
  removal_waits
  others_end
  zk "$ONE" await-count "$LOCK" 2
  # Counted out: nobody has to be waited for.
  zk "$ONE" set "$LOCK" ""
  touch release
  ends_with 0 "$remover"
  ends_with 0 "$turn"
  assert_equal "$(left)" ""
}

# True if zkflock has read the znode of the permits since it joined.
leases_read() { sed 1,/create/d frames | grep -q "reply .* $LOCK/leases "; }

@test "--remove -w: a contender that comes and vanishes while the lease is waited out keeps the semaphore" {
  zkflock --lease 6 --permits 2 "$LOCK" true
  vanish "$LOCK" --permits 2
  listen
  background -z "$VIA" --remove -w 60 "$LOCK" 2>removal.log
  remover=$!
  eventually leases_read
  others "$LOCK/leases" lock- 1
  others_end
  ends_with 1 "$remover"
  assert_equal "$(cat removal.log)" "zkflock: $LOCK is not removed: it is in use, by another client"
  assert_equal "$(vanished_in "$LOCK/leases")" 2
  close_proxy
}
