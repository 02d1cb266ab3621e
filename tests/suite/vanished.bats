# Holders that vanish without a release, and locks that others have made.

load helper
load vanishing

# counts CREATED DEPARTED COUNTED: fail unless the lock's Stat says so.
counts() {
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp "^$3 $((2 * $1 - ($1 - $2))) $(($1 - $2)) 0 "
}

@test "after a crash the next holder waits the lease out, then counts the vanished one out" {
  short "$LOCK"
  vanish "$LOCK"
  counts 1 1 0
  run -0 zkflock -v "$LOCK" echo ran
  assert_line --partial "a contender vanished; its command may run for"
  assert_line ran
  counts 2 2 2
  # The one after that waits for nobody.
  run -0 zkflock -v "$LOCK" echo ran
  refute_output --partial "contender vanished"
}

@test "-n and -w do not skip for ever after a crash: they wait for the vanished one" {
  short "$LOCK"
  vanish "$LOCK"
  run -0 zkflock -n "$LOCK" echo ran
  assert_output ran
  vanish "$LOCK"
  run -0 zkflock -w 0.1 "$LOCK" echo ran
  assert_output ran
}

@test "a fleet of -n jobs does not skip for ever after a crash" {
  short "$LOCK"
  vanish "$LOCK"
  # Each comes back every half a second and gives up when it finds another one there.
  for _ in 1 2 3 4; do
    (until [ -e ran ]; do
      zkflock -q -n "$LOCK" touch ran || sleep 0.5
    done) 3>&- 4>&- &
  done
  wait
  assert_exist ran
  run -0 zkflock -v "$LOCK" true
  refute_output --partial "contender vanished"
}

@test "a waiter that finds its predecessor vanished waits too" {
  short "$LOCK"
  holds first --session-timeout 1 "$LOCK"
  wait_in_line log "$LOCK" touch ran
  crash "$(cat pid.first)"
  ends_with 0 "$waiter"
  assert grep -q "a contender vanished" log
  counts 2 2 2
}

@test "TERM while waiting for a vanished one leaves the queue" {
  vanish "$LOCK"
  background -v "$LOCK" touch ran 2>log
  eventually contains log "a contender vanished"
  kill -TERM $!
  ends_with 143 $!
  assert_not_exist ran
  counts 2 2 1
}

@test "a lock that others have made is adopted after one default lease" {
  make_without_record "$LOCK"
  run -0 zkflock -v "$LOCK" echo ran
  assert_line --partial "earlier holders are not known; one of them and its command may run for"
  assert_line ran
  run -0 zk "$ONE" get "$LOCK"
  assert_output --regexp '^zkflock/1 base=[0-9]+ lease=15000ms$'
  run -0 zkflock -v "$LOCK" echo ran
  refute_output --partial "not known"
}

@test "without WRITE on the lock's znode it works, uncounted and with a warning" {
  short "$LOCK"
  zk "$ONE" deny "$LOCK" rcda
  run -0 zkflock "$LOCK" echo ran
  assert_line ran
  assert_line --partial "warning: not permitted to write to $LOCK, so departures are not counted"
  # The next one waits for it, as the warning says.
  run -0 zkflock -v "$LOCK" echo ran
  assert_line --partial "a contender vanished"
  zk "$ONE" deny "$LOCK" rwcda
}

@test "without DELETE on the lock's znode the own znode goes with the session, and a message says so" {
  short "$LOCK"
  zk "$ONE" deny "$LOCK" rwca
  run -0 zkflock "$LOCK" echo ran
  assert_line --index 0 ran
  assert_line --index 1 --regexp "^zkflock: warning: not permitted to delete $LOCK/[^ ]*: the ACL of $LOCK does not give this client DELETE; the ensemble deletes it when the session ends$"
  assert_equal "${#lines[@]}" 2
  run -0 zk "$ONE" ls "$LOCK"
  assert_output ""
  zk "$ONE" deny "$LOCK" rwcda
}

@test "without DELETE on the lock's znode the guard of a killed keeper tries once and tells once" {
  short "$LOCK"
  zk "$ONE" deny "$LOCK" rwca
  background "$LOCK" sh -c 'touch held; exec sleep 1000' 2>log
  eventually test -e held
  kill -KILL "$!"
  zk "$ONE" await-count "$LOCK" 0 40
  zk "$ONE" deny "$LOCK" rwcda
  assert_equal "$(grep -c "not permitted to delete" log)" 1
}

@test "the lease in the lock's record counts, and a message says so" {
  short "$LOCK"
  run -0 zkflock --lease 30 "$LOCK" true
  assert_line "zkflock: warning: $LOCK has a lease of 4 s, which is used here instead of what --lease says; to change it, --remove the lock"
}

@test "a count that cannot be right: zkflock waits and warns" {
  short "$LOCK"
  zk "$ONE" set "$LOCK" $'zkflock/1 base=0 lease=4000ms\n'
  run -0 zkflock "$LOCK" echo ran
  assert_line "zkflock: warning: the departure count of $LOCK cannot be right: has somebody written to it? The next holder sets it right, after a wait of 4 s"
  assert_line ran
  # That holder counted itself out.
  run -0 zkflock -v "$LOCK" true
  refute_output --partial "may run for"
}

@test "with more vanished contenders than fit into one transaction, the next holder waits once and counts all out" {
  zk "$ONE" create "$LOCK" $'zkflock/1 base=4294966096 lease=4000ms\n'
  assert_equal "$(vanished_in "$LOCK")" 1200
  run -0 zkflock -v "$LOCK" echo ran
  assert_line ran
  assert_line --partial "a contender vanished; its command may run for"
  assert_equal "$(vanished_in "$LOCK")" 0
}

# spoil: count out one more than has left.
spoil() { zk "$ONE" set "$LOCK" "$(zk "$ONE" get "$LOCK")"$'\n'; }

@test "a waiter turns to another server for a count that cannot be right, then warns once" {
  for kind in --exclusive --unfair; do
    LOCK=/t/vanished/spoilt/$kind
    zkflock --lease 120 "$LOCK" true
    hold "$LOCK" "release.$kind"
    spoil
    listen none 0
    background -v -z "$VIA" "$kind" --lock-delay 0 "$LOCK" touch "ran.$kind" 2>log
    local waiter=$!
    eventually contains log "cannot be right: has somebody written to it?"
    assert contains log "the departure count of $LOCK cannot be right at this server; turning to another"
    # The waiter still waits, and reads again when its predecessor changes.
    zk "$ONE" set "$LOCK/$(zk "$ONE" ls "$LOCK" | head -n 1)" changed
    eventually asked_for WATCH 3
    touch "release.$kind"
    wait "$holder"
    ends_with 0 "$waiter"
    assert_exist "ran.$kind"
    assert_equal "$(grep -c "has somebody written to it?" log)" 1
    close_proxy
    rm frames
  done
}

@test "a waiter turns to another server each time that the count cannot be right" {
  zkflock --lease 120 "$LOCK" true
  hold "$LOCK" release
  spoil
  # JOIN reads once, LIST and WATCH twice; zkflock sends the sixth read after it has turned.
  PROXY_OF="get" listen hold-request 6
  background -v -z "$VIA" --session-timeout 40 --lease 120 "$LOCK" true 2>log
  local waiter=$!
  proxy_strikes
  # One contender leaves uncounted, so the count can be right again.
  stood_in "$LOCK" 1
  let_pass
  eventually asked_for WATCH 2
  spoil
  zk "$ONE" set "$LOCK/$(zk "$ONE" ls "$LOCK" | head -n 1)" changed
  turned_twice() { [ "$(grep -c "at this server; turning to another" log)" -eq 2 ]; }
  eventually turned_twice
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  touch release
  ends_with 0 "$holder"
  close_proxy
}

@test "a count that cannot be right does not hide a contender that vanishes afterwards" {
  short "$LOCK"
  zk "$ONE" set "$LOCK" $'zkflock/1 base=0 lease=4000ms\n'
  open_proxy
  background -z "$VIA" --session-timeout 2 "$LOCK" flock -n -E 99 judge sh -c 'touch held; exec sleep 1000'
  holder=$!
  eventually test -e held
  kill -STOP "$proxy_pid"
  zk "$ONE" await-count "$LOCK" 0
  run -0 zkflock -v "$LOCK" flock -n -E 99 judge true
  assert_line --partial "a contender vanished; its command may run for"
  ends_with 75 "$holder"
  close_proxy
  run -0 zkflock -v "$LOCK" true
  refute_output --partial "may run for"
}
