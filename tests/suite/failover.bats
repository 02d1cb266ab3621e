# Servers that fail, connections that break, replies that are lost.

load helper

ensemble() {
  local verb=$1
  shift
  # Servers do not count as processes that the test leaves behind.
  env -u ZKFLOCK_TEST_MARK "$TESTS_DIR/ensemble" "$verb" "$SUITE_DIR/three" "$@"
}

setup() {
  common_setup
  need_three
}

# Puts every server that was killed back, whatever the test's outcome.
teardown() {
  local i
  [ -z "$stopped" ] || kill -CONT "$stopped" || true
  for i in 1 2 3; do
    [ -n "$(ensemble mode "$i")" ] || ensemble revive "$i"
  done
  ONE=$THREE
  common_teardown 10
}

@test "the leader is killed while one holds and others wait: nobody loses lock or place" {
  export ZKFLOCK_SERVERS=$THREE
  background -v "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN" >token; until [ -e release ]; do sleep 0.05; done' \
    2>log.holder
  holder=$!
  eventually test -s token
  for i in 1 2 3 4 5; do
    wait_in_line "log.$i" "$LOCK" sh -c 'echo "$1" >>served' sh "$i"
  done
  nodes=$(zk "$THREE" ls "$LOCK")
  ensemble kill "$(ensemble leader)"
  eventually ensemble leader
  # Whoever was connected to it moves to another server; the znodes are the same as before.
  assert_equal "$(zk "$THREE" ls "$LOCK")" "$nodes"
  assert_not_exist served
  touch release
  wait
  assert_equal "$(cat served)" "$(seq 5)"
  refute grep -q "joining the queue" log.1 log.2 log.3 log.4 log.5
}

# server_of LOG: the number of the server that a zkflock -vv has its session at.
server_of() {
  local port
  port=$(sed -n 's/.*establishment complete on server 127\.0\.0\.1:\([0-9]*\),.*/\1/p' "$1" | tail -1)
  tr , '\n' <<<"$THREE" | grep -n ":$port\$" | cut -d: -f1
}

@test "the server that serves the holder is killed: the command never notices" {
  export ZKFLOCK_SERVERS=$THREE
  for _ in 1 2; do
    background -vv "$LOCK" \
      sh -c 'echo "$ZKFLOCK_TOKEN" >token; until [ -e release ]; do sleep 0.05; done' 2>log
    holder=$!
    eventually test -s token
    server=$(server_of log)
    ensemble kill "$server"
    eventually ensemble leader
    eventually contains log "zk retcode=-4"
    run -1 zkflock -n "$LOCK" true
    touch release
    ends_with 0 "$holder"
    ensemble revive "$server"
    rm token release
  done
}

@test "the server that serves the holder stops answering: the command never notices" {
  export ZKFLOCK_SERVERS=$THREE
  # A follower: without their leader the others could not answer either.  The lease is over long
  # before the client library would give the server up.
  background -vv -z "$(other_servers "$(ensemble leader)")" --session-timeout 10 --lease 5 "$LOCK" \
    sh -c 'echo "$ZKFLOCK_TOKEN" >token; until [ -e release ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s token
  server=$(server_of log)
  stopped=$(cat "$SUITE_DIR/three/$server/pid")
  kill -STOP "$stopped"
  eventually contains log "the server does not answer; turning to another"
  # Longer than the lease.
  held=$SECONDS
  while [ $((SECONDS - held)) -lt 7 ]; do
    run -1 zkflock -q -n -z "$(other_servers "$server")" "$LOCK" true
  done
  touch release
  ends_with 0 "$holder"
  kill -CONT "$stopped"
  refute grep lost log
}

other_servers() { # other_servers I
  tr , '\n' <<<"$THREE" | sed "$1d" | paste -sd,
}

@test "the ensemble is gone at the end: told, the command's status, and nobody blocked for long" {
  export ZKFLOCK_SERVERS=$THREE
  background -v --session-timeout 2 --lease 5 "$LOCK" \
    sh -c 'touch ready; until [ -e release ]; do sleep 0.05; done; exit 7' 2>log
  holder=$!
  eventually test -e ready
  background -v --session-timeout 2 --lease 5 "$LOCK" touch ran 2>waiting
  waiter=$!
  eventually grep -q "waiting for" waiting
  for i in 1 2 3; do ensemble kill "$i"; done
  kill -TERM "$waiter"
  touch release
  ends_with 7 "$holder"
  ends_with 143 "$waiter"
  assert grep -q "no answer from the ensemble: the place in the queue of $LOCK could not be given up; its znode is deleted when the session expires" waiting
  assert grep -q "no answer from the ensemble: $LOCK could not be released; it comes free when the session expires, in 2 s at the most, or so long after the ensemble works again" log
  for i in 1 2 3; do ensemble revive "$i" 3>&- 4>&- & done # none serves before two are there
  wait
  run -0 zkflock -v --connect-timeout 30 "$LOCK" echo ran
  assert_output --partial ran
}

@test "a dead server among three does not keep anybody from starting" {
  ensemble kill 1
  eventually ensemble leader
  for _ in $(seq 6); do
    run -0 timeout 10 zkflock --connect-timeout 60 -z "$THREE" "$LOCK" true
  done
}

# end_proxy: "cut" in $cut if the message came and was lost.
end_proxy() {
  await_cut 0.2
  close_proxy
}

# through_proxy DIRECTION N ARG...: runs zkflock ARG... with the Nth message lost.
through_proxy() {
  open_proxy "$1" "$2"
  shift 2
  run zkflock -v -z "$VIA" "$@"
  end_proxy
}

@test "the reply to the create is lost: the znode is found again, not made twice" {
  zkflock "$LOCK" true
  # 1 is the handshake.
  through_proxy reply 2 "$LOCK" touch ran
  assert_success
  assert_equal "$cut" cut
  assert_exist ran
  # Two created in all, both of them left counted.
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp '^2 4 0 0 '
}

@test "the connection breaks at each message in turn: the command runs once, nothing is left" {
  n=0
  for direction in request reply; do
    number=1
    while true; do
      rm -f ran
      through_proxy "$direction" "$number" "$LOCK" sh -c 'echo x >>ran'
      n=$((n + 1))
      assert_success
      assert_equal "$(cat ran)" x
      [ "$cut" = cut ] || break
      number=$((number + 1))
    done
    # Handshake, create, list, get, release, close; and where the lock was new, more.
    assert [ "$number" -ge 5 ]
  done
  run -0 zk "$ONE" ls "$LOCK"
  assert_output ""
  # A departure whose acknowledgement was lost still counts once.
  read -r version cversion children _ <<<"$(zk "$ONE" stat "$LOCK")"
  assert_equal "$children" 0
  assert_equal "$((2 * version))" "$cversion"
}

@test "the same for a waiter: its place is kept through every lost message" {
  for direction in request reply; do
    for number in 2 3 4 5 6; do
      hold "$LOCK" "release.$direction.$number"
      open_proxy "$direction" "$number"
      wait_in_line log -z "$VIA" "$LOCK" touch "ran.$direction.$number"
      zk "$ONE" await-count "$LOCK" 2
      touch "release.$direction.$number"
      ends_with 0 "$waiter"
      assert_exist "ran.$direction.$number"
      wait "$holder"
      end_proxy
    done
  done
  read -r version cversion children _ <<<"$(zk "$ONE" stat "$LOCK")"
  assert_equal "$((2 * version))" "$cversion"
}

@test "a waiter whose znode was deleted finds its new place, though the answer to that create is lost" {
  hold "$LOCK" release
  others "$LOCK" x- 15 # which the list shows too
  PROXY_OF=create open_proxy reply 2
  # The next one cannot know that the deleted one held nothing.
  wait_in_line log -z "$VIA" --lock-delay 0 "$LOCK" touch ran
  # It looks for its own znode when the one before it is gone.
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK" | grep '16$')"
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK" | grep '15$')"
  eventually contains log "somebody deleted the znode of this zkflock"
  others_end
  touch release
  ends_with 0 "$holder"
  eventually gone "$waiter"
  ends_with 0 "$waiter"
  assert_equal "$(grep -c "somebody deleted the znode of this zkflock; joining the queue" log)" 1
  assert_exist ran
  end_proxy
  assert_equal "$cut" cut
  nothing_left_of "$LOCK"
}

@test "a server that takes the connection and never goes on with the session: the command never notices" {
  open_proxy mute 5
  background -v -z "$VIA" --lease 8 --session-timeout 8 "$LOCK" \
    sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually contains log "the server does not answer; trying again"
  touch release
  ends_with 0 "$holder"
  assert contains log "released"
  end_proxy
  assert_equal "$cut" cut
  nothing_left_of "$LOCK"
}

# trace_connects NAME: what the process $NAME and its threads do from now on.
trace_connects() {
  strace -f -qq -ttt -e trace=connect -o "tries.$1" -p "${!1}" 3>&- 4>&- &
  tracer=$!
  eventually grep -q '^TracerPid:.*[1-9]' "/proc/${!1}/status"
}
tries() { grep -c 'connect(' "tries.$1"; }

# longest_gap NAME [AFTER]: between two tries, in ms, from AFTER seconds on.
longest_gap() {
  awk -v after="${2:-0}" '
    !first { first = $2 }
    last && $2 - first >= after && $2 - last > gap { gap = $2 - last }
    /connect\(/ { last = $2 }
    END { print int(gap * 1000) }' "tries.$1"
}

@test "without contact, a waiter tries to connect less and less often; a holder goes on, and who leaves" {
  without_leak_search
  open_proxy
  hold "$LOCK" release -z "$VIA"
  wait_in_line log -z "$VIA" "$LOCK" true
  trace_connects holder
  trace_connects waiter
  close_proxy
  rests() { [ "$(longest_gap waiter)" -ge 900 ]; } # ms; the library itself rests for 250
  eventually rests
  holder_tries_more() { [ "$(tries holder)" -ge $((2 * $(tries waiter))) ]; }
  eventually holder_tries_more
  before=$(tries waiter)
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  # For 5 s it tries to give its place back.
  [ "$(tries waiter)" -ge $((before + 10)) ]
  ends_with 75 "$holder"
  wait
}

@test "without contact, a waiter tries more often again before its session may be lost" {
  without_leak_search
  hold "$LOCK" release
  open_proxy
  wait_in_line log -z "$VIA" --session-timeout 24 "$LOCK" true
  trace_connects waiter
  close_proxy
  ends_with 69 "$waiter"
  wait "$tracer"
  # It rests for a quarter of the time that is left at the most; of all 24 s it would be 3 to 6 s.
  [ "$(longest_gap waiter 16)" -lt 3000 ]
  [ "$(longest_gap waiter)" -ge 1500 ]
  touch release
  ends_with 0 "$holder"
}
