# Whether zkflock takes a lock, or permits, in a znode that others have used.

load helper

@test "--permits: a znode with data of others was no lock that a holder could have vanished from" {
  # Nobody ever left that one.
  zk "$ONE" create "$LOCK/empty"
  zk "$ONE" set "$LOCK/empty" ""
  # kazoo writes a number into an idle Semaphore; this is no number.
  zk "$ONE" create "$LOCK/text" "8080 is the port"
  for name in empty text; do
    run -0 zkflock -v --permits 2 "$LOCK/$name" echo ran
    refute_output --partial vanished
    assert_line ran
  done
}

@test "--permits: a lock called locks whose znode above becomes a semaphore meanwhile is refused, and not made" {
  # One create to join, then those of all znodes down to the lock's.
  PROXY_OF=create open_proxy hold-request 5
  background -z "$VIA" "$LOCK/locks" touch ran 2>log
  local asker=$!
  proxy_strikes
  zk "$ONE" create "$LOCK/leases"
  let_pass
  ends_with 78 "$asker"
  assert_equal "$(cat log)" "zkflock: $LOCK/locks is a part of the semaphore $LOCK; choose another LOCK"
  # With a record in it nobody would take a permit any more.
  assert_equal "$(zk "$ONE" ls "$LOCK")" leases
  assert_not_exist ran
  close_proxy
}

@test "--permits: a semaphore that is refused leaves somebody else's znode where it was" {
  zkflock "$LOCK" true
  zk "$ONE" create "$LOCK/locks"
  run -78 zkflock --permits 2 "$LOCK" touch ran
  assert_output --partial "$LOCK is a lock without permits"
  assert_equal "$(zk "$ONE" ls "$LOCK")" locks
  assert_not_exist ran
}
