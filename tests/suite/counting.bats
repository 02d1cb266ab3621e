# The count of vanished contenders, when several readers or permit holders vanish, wait and square at
# the same time, and when answers are lost.

load helper
load vanishing

setup() {
  common_setup
  short "$LOCK"
}

settles() { eventually contains "log.$1" "its command may run for"; }

# nobody_vanished [LOCK]: fail if the next contender would have to wait.
nobody_vanished() {
  assert_equal "$(vanished_in "${1:-$LOCK}")" 0
}

@test "a reader squares nobody that vanished while it waited" {
  holds b --shared "$LOCK"
  prepare_crash b
  vanish "$LOCK" --shared
  follows reader --shared "$LOCK"
  settles reader
  crashes b
  assert_not_exist started.reader
  follows writer "$LOCK"
  ends_with 0 "$(cat pid.reader)"
  starts_after writer b
  assert contains log.writer "a contender vanished"
  nobody_vanished
}

@test "a reader squares nobody when another reader left while it waited" {
  holds b --shared "$LOCK"
  vanish "$LOCK" --shared
  follows reader --shared "$LOCK"
  settles reader
  touch b.go
  ends_with 0 "$(cat pid.b)"
  assert_not_exist started.reader
  ends_with 0 "$(cat pid.reader)"
  run -0 zkflock -v "$LOCK" true
  refute_output --partial "cannot be right"
  nobody_vanished
}

@test "two readers that wait for the same vanished holder square it once" {
  vanish "$LOCK"
  follows b --shared "$LOCK"
  settles b
  kill -STOP "$(cat pid.b)"
  # The server gets a's square behind b's.
  PROXY_OF=multi listen hold-request 1
  follows a -z "$VIA" --session-timeout 40 --shared "$LOCK"
  proxy_strikes
  # Quickly: after 0.8 s without an answer zkflock leaves the proxy.
  kill -CONT "$(cat pid.b)"
  eventually test -e started.b
  let_pass
  ends_with 0 "$(cat pid.b)"
  ends_with 0 "$(cat pid.a)"
  assert asked_for SQUARE
  nobody_vanished
  run -0 zkflock -v "$LOCK" true
  refute_output --partial "may run for"
  refute_output --partial "cannot be right"
  close_proxy
}

@test "more vanished contenders than one transaction counts out: all are counted out after one wait" {
  stood_in "$LOCK" 1100
  run -0 zkflock "$LOCK" true
  assert_equal "$(vanished_in "$LOCK")" 0
}

@test "a square whose answer is lost is not repeated" {
  for kind in --exclusive --shared; do
    LOCK=/t/counting/lost/$kind
    short "$LOCK"
    vanish "$LOCK" "$kind"
    PROXY_OF=multi open_proxy reply 1
    follows "$kind" -z "$VIA" "$kind" "$LOCK"
    waited "$kind"
    await_cut 1
    assert_equal "$cut" cut
    nobody_vanished
    close_proxy
  done
}

@test "a square whose request is lost is sent again" {
  vanish "$LOCK"
  PROXY_OF=multi open_proxy request 1
  follows next -z "$VIA" "$LOCK"
  waited next
  await_cut 1
  assert_equal "$cut" cut
  nobody_vanished
  close_proxy
}

# A semaphore with two permits; "b" holds one.
two_permits() {
  zkflock --permits 2 --lease 4 "$LOCK/s" true
  holds b --permits 2 "$LOCK/s"
}

@test "--permits: a holder squares nobody that vanished while it waited" {
  two_permits
  prepare_crash b
  vanish "$LOCK/s" --permits 2
  follows a --permits 2 "$LOCK/s"
  settles a
  crashes b
  assert_not_exist started.a
  ends_with 0 "$(cat pid.a)"
  # a has squared one of the two; the command of b may still run.
  holds c --permits 2 "$LOCK/s"
  follows d --permits 2 "$LOCK/s"
  starts_after d b
  assert contains log.d "a contender vanished"
  touch c.go
  ends_with 0 "$(cat pid.c)"
  nobody_vanished "$LOCK/s/leases"
}

@test "--permits: a holder that writes the record anew squares nobody that vanished while it waited" {
  two_permits
  vanish "$LOCK/s" --permits 2
  # The first set tells that it waits, the second one is its proof behind the wait.
  PROXY_OF="set" open_proxy hold-request 2
  follows a -z "$VIA" --session-timeout 40 --permits 2 "$LOCK/s"
  proxy_strikes
  crashes b
  local record
  record=$(zk "$ONE" get "$LOCK/s/leases")$'\n'
  # More departures are counted out than there were.
  for _ in 1 2 3; do zk "$ONE" set "$LOCK/s/leases" "$record"; done
  let_pass
  ends_with 0 "$(cat pid.a)"
  assert contains log.a "cannot be right"
  # The command of b may still run.
  holds c --permits 2 "$LOCK/s"
  follows d --permits 2 "$LOCK/s"
  starts_after d b
  touch c.go
  ends_with 0 "$(cat pid.c)"
  nobody_vanished "$LOCK/s/leases"
  close_proxy
}

@test "--permits: a square whose answer is lost is not repeated for another vanished holder" {
  two_permits
  prepare_crash b
  vanish "$LOCK/s" --permits 2
  PROXY_OF=multi open_proxy lose-reply 1
  background -v -z "$VIA" --session-timeout 40 --permits 2 "$LOCK/s" \
    sh -c 'touch a.held; until [ -e a.go ]; do sleep 0.05; done' 2>log.a
  local a=$!
  settles a
  proxy_strikes
  # Quickly: after 0.8 s without an answer zkflock leaves the proxy.
  crashes b
  assert_not_exist a.held
  let_pass
  eventually test -e a.held
  follows d --permits 2 "$LOCK/s"
  starts_after d b
  assert contains log.d "a contender vanished"
  touch a.go
  ends_with 0 "$a"
  nobody_vanished "$LOCK/s/leases"
  close_proxy
}

@test "--permits: a holder whose square met another departure does not wait again" {
  two_permits
  vanish "$LOCK/s" --permits 2
  vanish "$LOCK/s" --permits 2 --lock-delay 0
  PROXY_OF=multi open_proxy hold-request 1
  follows a -z "$VIA" --session-timeout 40 --permits 2 "$LOCK/s"
  proxy_strikes
  touch b.go
  ends_with 0 "$(cat pid.b)"
  let_pass
  ends_with 0 "$(cat pid.a)"
  assert_equal "$(grep -c "its command may run for" log.a)" 1
  nobody_vanished "$LOCK/s/leases"
  close_proxy
}

@test "--permits: a vanished holder keeps its permit for a lease, however busy the semaphore is" {
  zkflock --permits 2 --lease 4 "$LOCK/s" true
  vanish "$LOCK/s" --permits 2
  local until=$(($(cat last-seen) + LEASE))
  mkdir inside
  cat >enter <<'EOF'
#!/bin/bash
touch "inside/$$"
n=$(ls inside | wc -l)
read -r now _ </proc/uptime
[ "$n" -eq 1 ] || [ "${now/./}0" -ge "$1" ] || touch too-many
[ "$n" -le 2 ] || touch too-many
sleep 0.05
rm "inside/$$"
echo x >>ran
EOF
  chmod +x enter
  for i in 1 2 3; do
    (for _ in $(seq 20); do
      zkflock -v --permits 2 "$LOCK/s" ./enter "$until" 2>>"log.$i" || touch failed
    done) 3>&- 4>&- &
  done
  wait
  assert_not_exist too-many
  assert_not_exist failed
  assert lines ran 60
  # Only contenders that came at the same time waited.
  assert [ "$(cat log.* | grep -c "a contender vanished")" -le 3 ]
  nobody_vanished "$LOCK/s/leases"
}

@test "--permits: zkflock sees another client's permit that was taken between its count and its proof" {
  # After a sixth of the lease without an answer zkflock leaves the proxy.
  zkflock --permits 1 --lease 120 "$LOCK/s" true
  holds first --permits 1 "$LOCK/s"
  LOCK=$LOCK/s/leases
  PROXY_OF="set" listen hold-request 1
  background -z "$VIA" --session-timeout 40 --lock-delay 0 --permits 1 "${LOCK%/leases}" touch ran
  local waiter=$!
  eventually asked_for COUNT
  touch first.go
  proxy_strikes
  others "$LOCK" _c_0123456789abcdef0123456789abcdef-lease- 1
  let_pass
  # While it waits for the answer it may send another request, to find out whether the server is alive.
  counts_again() { [[ $(steps frames "$LOCK" | grep -vx PROBE | tr '\n' ' ') =~ "PROVE COUNT" ]]; }
  eventually counts_again
  assert_not_exist ran
  others_end
  ends_with 0 "$waiter"
  close_proxy
}

@test "a contender whose znode was deleted before it read the count joins again" {
  PROXY_OF="get" listen hold-request 1
  # zkflock leaves the proxy after a sixth of that without an answer, until it knows the lock's lease.
  background -v -z "$VIA" --session-timeout 40 --lease 120 "$LOCK" touch ran 2>log
  local late=$!
  proxy_strikes
  zk "$ONE" await-count "$LOCK" 1
  lose
  # The next contender waits a lease and squares the deleted znode.
  holds next "$LOCK"
  let_pass
  eventually contains log "waiting for"
  assert_not_exist ran
  touch next.go
  ends_with 0 "$late"
  assert_exist ran
  # It did not join again because an answer was missing.
  assert lacks log "does not answer"
  close_proxy
}

@test "a contender whose znode was deleted before it wrote the record joins again" {
  zk "$ONE" create "$LOCK/bare"
  LOCK=$LOCK/bare
  PROXY_OF=multi open_proxy hold-request 1
  background -v -z "$VIA" --session-timeout 40 --lease 120 --lock-delay 0 "$LOCK" touch ran 2>log
  local late=$!
  proxy_strikes
  lose
  let_pass
  ends_with 0 "$late"
  assert_exist ran
  assert contains log "somebody deleted the znode of this zkflock"
  close_proxy
}

@test "--permits: a contender whose permit was deleted before it read the count joins again" {
  zkflock --permits 1 --lease 120 "$LOCK/s" true
  # The turn reads twice.
  PROXY_OF="get" open_proxy hold-request 3
  background -v -z "$VIA" --session-timeout 40 --lease 120 --lock-delay 0 --permits 1 "$LOCK/s" touch ran 2>log
  local late=$!
  proxy_strikes
  zk "$ONE" await-count "$LOCK/s/leases" 1
  zk "$ONE" delete "$LOCK/s/leases/$(zk "$ONE" ls "$LOCK/s/leases")"
  others "$LOCK/s/leases" _c_0123456789abcdef0123456789abcdef-lease- 1
  let_pass
  eventually contains log "waiting for"
  assert_not_exist ran
  others_end
  ends_with 0 "$late"
  assert_exist ran
  assert lacks log "does not answer"
  close_proxy
}

@test "--permits: zkflock does not look for a predecessor that has left" {
  zkflock --permits 1 --lease 4 "$LOCK/s" true
  holds first --permits 1 "$LOCK/s"
  LOCK=$LOCK/s/leases
  listen none 0
  background -v -z "$VIA" --permits 1 "${LOCK%/leases}" touch ran 2>log
  local waiter=$!
  eventually asked_for COUNT
  others "$LOCK" _c_0123456789abcdef0123456789abcdef-lease- 2
  touch first.go
  eventually asked_for COUNT 2
  # It would look for one after two leases.
  local since
  since=$(now)
  two_leases_later() { [ "$(now)" -gt $((since + 9000)) ]; }
  eventually two_leases_later
  refute asked_for VERIFY
  assert lacks log "turning to another"
  others_end
  ends_with 0 "$waiter"
  close_proxy
}

# The fifth thread closes the library's handle; it starts so late that the server answers before.
@test "a server that makes the session when another one is asked already leaves no znode behind" {
  PROXY_OF=connect open_proxy late 1:0.72
  ASAN_OPTIONS=detect_leaks=0 run -0 strace -f -o calls -e trace=clone3 -e inject=clone3:delay_enter=60000:when=5 \
    zkflock -v -z "$VIA" "$LOCK" true
  refute_output --partial "a contender vanished"
  assert contains calls "DELAYED"
  close_proxy
  # The same if the library finds its connection cut before zkflock asks it for its session.
  PROXY_OF=connect open_proxy late 1:0.72
  ASAN_OPTIONS=detect_leaks=0 run -0 strace -f -o calls -e trace=shutdown -e inject=shutdown:delay_enter=100000:delay_exit=100000:when=1 \
    zkflock -v -z "$VIA" "$LOCK" true
  refute_output --partial "a contender vanished"
  assert contains calls "DELAYED"
  close_proxy
}
