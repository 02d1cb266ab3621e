# One lease for everybody: locks whose znode has no record, and clients that may not write one.

load helper
load vanishing

teardown() {
  zk "$ONE" deny "$LOCK" rwcda 2>/dev/null || true
  common_teardown
}

# A judge that asks zkflock nothing decides whether two commands run at the same time.
judged() { # judged COMMAND ARG...: words of a command that ends with 99 where another one runs
  printf '%s\n' flock -n -E 99 "$BATS_TEST_TMPDIR/judge" "$@"
}

@test "without a record and the right to write one, the lease is the default for all" {
  make_without_record "$LOCK"
  zk "$ONE" deny "$LOCK" rcda
  # A longer one is refused at once, not after the wait.
  run -78 timeout 10 zkflock --lease 25 "$LOCK" touch ran
  assert_output "zkflock: $LOCK has no record of its lease and its ACL does not let this client write one, so the lease is 15 s for all; leave out --lease 25 s, or take the lock once as a user who may write to that znode"
  assert_not_exist ran
  mapfile -t holding < <(judged sh -c 'touch held; exec sleep 1000')
  mapfile -t following < <(judged true)
  open_proxy
  background -z "$VIA" --session-timeout 2 "$LOCK" "${holding[@]}"
  holder=$!
  PATIENCE=40 eventually test -e held
  kill -STOP "$proxy_pid"
  # The holder's command may run for 15 s more, whatever the next one asks for.
  run -0 zkflock --lease 5 "$LOCK" "${following[@]}"
  assert_line --partial "has a lease of 15 s, which is used here"
  ends_with 75 "$holder"
  close_proxy
}

@test "a reader writes the missing record even if others leave while it waits" {
  make_without_record "$LOCK"
  background --shared "$LOCK" true
  leaving=$!
  zk "$ONE" await-count "$LOCK" 1
  background -v --shared "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done' 2>log
  reader=$!
  eventually contains log "earlier holders are not known"
  kill -TERM "$leaving"
  ends_with 143 "$leaving"
  PATIENCE=40 eventually test -e held
  run -0 zk "$ONE" get "$LOCK"
  assert_output --regexp '^zkflock/1 base=[0-9]+ lease=15000ms$'
  # zkflock did not wait for the one that left during the wait; the next one has to.
  assert_equal "$(vanished_in "$LOCK")" 1
  touch go
  ends_with 0 "$reader"
}

@test "a permit holder writes the missing record even if others leave while it waits" {
  make_without_record "$LOCK/leases"
  others "$LOCK/leases" _c_0123456789abcdef0123456789abcdef-lease- 1
  background -v --permits 2 "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually contains log "earlier holders are not known"
  others_end
  PATIENCE=40 eventually test -e held
  run -0 zk "$ONE" get "$LOCK/leases"
  assert_output --regexp '^zkflock/1 base=[0-9]+ lease=15000ms permits=2$'
  assert_equal "$(vanished_in "$LOCK/leases")" 1
  touch go
  ends_with 0 "$holder"
}

@test "--lock-delay 0 writes the missing record too, at its own risk only" {
  make_without_record "$LOCK" 3
  run -0 timeout 10 zkflock --lock-delay 0 --lease 30 "$LOCK" echo ran
  assert_output ran
  run -0 zk "$ONE" get "$LOCK"
  assert_output --regexp '^zkflock/1 base=[0-9]+ lease=30000ms$'
  assert_equal "$(vanished_in "$LOCK")" 1
}

@test "a lock without a record gets no lease below the default" {
  zk "$ONE" create "$LOCK"
  run -0 zkflock --lock-delay 0 --lease 5 "$LOCK" echo ran
  assert_line ran
  assert_line --partial "has a lease of 15 s, which is used here"
  run -0 zk "$ONE" get "$LOCK"
  assert_output --partial "lease=15000ms"
}

@test "zkflock writes the missing record again if the request, or its answer, was lost" {
  for lost in request reply; do
    zk "$ONE" create "$LOCK/$lost"
    PROXY_OF=multi open_proxy "$lost" 1
    run -0 zkflock -z "$VIA" --lock-delay 0 "$LOCK/$lost" sh -c 'zk "$0" get "$ZKFLOCK_LOCK"' "$ONE"
    assert_output --regexp '^zkflock/1 base=[0-9]+ lease=15000ms$'
    await_cut 1
    assert_equal "$cut" cut
    close_proxy
  done
}

@test "a lock without a record that nobody has ever left is held at once, as there is nobody to wait for" {
  zkflock "$LOCK/below/step" true
  run -0 --separate-stderr zkflock -n "$LOCK/below" echo ran
  assert_output ran
  assert_equal "$stderr" ""
  run -0 zkflock -n --shared "$LOCK" echo ran
  zk "$ONE" create "$LOCK/p/leases"
  run -0 zkflock -n --permits 2 "$LOCK/p" echo ran
}
