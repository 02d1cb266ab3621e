# --unfair: no queue; the first one to come gets the lock.

load helper
load vanishing

@test "--unfair: 500 increments by 20 concurrent loops, none lost" {
  echo 0 >counter
  for _ in $(seq 20); do
    (for _ in $(seq 25); do
      zkflock --unfair "$LOCK" sh -c 'n=$(cat counter); sleep 0.001; echo $((n + 1)) >counter'
    done) 3>&- 4>&- &
  done
  wait
  assert_equal "$(cat counter)" 500
  nothing_left_of "$LOCK"
  counted "$LOCK"
}

@test "--unfair: there is one znode, no queue, and a waiter has it when it comes free" {
  hold_unfair
  background -v --unfair "$LOCK" touch ran 2>log
  waiter=$!
  eventually contains log "waiting for $LOCK"
  assert_equal "$(zk "$ONE" ls "$LOCK")" unfair__lock__-lock-0000000000
  run -1 zkflock --unfair -n "$LOCK" true
  assert_output --partial "zkflock: $LOCK is busy: 1 ahead, "
  run -1 zkflock --unfair -w 0.2 "$LOCK" true
  touch release
  ends_with 0 "$waiter"
  ends_with 0 "$holder"
  assert_exist ran
}

hold_unfair() {
  background --unfair "$LOCK" sh -c 'echo $$ >held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -s held
}

@test "--unfair: a fair one waits for it" {
  hold_unfair
  run -1 zkflock -n "$LOCK" true
  wait_in_line log "$LOCK" touch ran
  # And a zkflock with --unfair that comes now does not get in between.
  run -1 zkflock --unfair -q -n "$LOCK" true
  touch release
  ends_with 0 "$waiter"
  ends_with 0 "$holder"
  assert_exist ran
}

@test "--unfair: waits for a fair one" {
  hold "$LOCK" release
  run -1 zkflock --unfair -n "$LOCK" true
  background -v --unfair "$LOCK" touch ran 2>log
  waiter=$!
  eventually contains log "waiting for $LOCK"
  zk "$ONE" await-count "$LOCK" 1
  touch release
  ends_with 0 "$waiter"
  wait "$holder"
  assert_exist ran
}

@test "--unfair and fair ones, shared and exclusive, never together" {
  echo 0 >counter
  for kind in --unfair --unfair -x -x --unfair ""; do
    (for _ in $(seq 40); do
      # shellcheck disable=SC2086 # no kind is no argument
      zkflock $kind "$LOCK" sh -c 'n=$(cat counter); sleep 0.001; echo $((n + 1)) >counter'
    done) 3>&- 4>&- &
  done
  (for _ in $(seq 40); do
    zkflock --shared "$LOCK" sh -c 'a=$(cat counter); sleep 0.001; b=$(cat counter); [ "$a" = "$b" ] || touch torn'
  done) 3>&- 4>&- &
  wait
  assert_equal "$(cat counter)" 240
  assert_not_exist torn
}

@test "--unfair: tokens grow" {
  last=0
  for _ in 1 2 3; do
    run -0 zkflock --unfair "$LOCK" printenv ZKFLOCK_TOKEN
    assert [ "$output" -gt "$last" ]
    last=$output
  done
}

# marked: true if the only znode in $LOCK says that its owner holds the lock.
marked() {
  zk "$ONE" get "$LOCK/$(zk "$ONE" ls "$LOCK")" | grep -q "^zkflock/1 held"
}

@test "--unfair: its token is greater than that of one that went past it" {
  local late
  for late in hold-request hold-reply; do
    hold "$LOCK" first --lease 60
    wait_in_line log --lease 60 "$LOCK" sh -c 'until [ -e second ]; do sleep 0.05; done'
    local second=$waiter
    touch first
    ends_with 0 "$holder"
    eventually marked
    PROXY_OF=children open_proxy "$late" 1
    background --unfair -z "$VIA" --lease 60 "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN" >unfair'
    local unfair=$!
    zk "$ONE" await-count "$LOCK" 2
    wait_in_line log --lease 60 "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN" >fair'
    touch second
    ends_with 0 "$second"
    ends_with 0 "$waiter"
    assert_not_exist unfair
    echo >&"${PROXY[1]}"
    ends_with 0 "$unfair"
    assert [ "$(cat unfair)" -gt "$(cat fair)" ]
    close_proxy
    rm first second unfair
  done
  nothing_left_of "$LOCK"
  counted "$LOCK"
}

@test "--unfair: the keeper is killed, and the next one has it at once" {
  hold_unfair
  kill -KILL "$holder"
  run -0 zkflock --unfair -v -w 5 "$LOCK" echo ran
  refute_output --partial vanished
  assert_output --partial ran
}

@test "--unfair: a holder that vanished is waited for" {
  short "$LOCK"
  vanish "$LOCK" --unfair
  run -0 zkflock --unfair -v "$LOCK" echo ran
  assert_output --partial "a contender vanished"
}

@test "--unfair: the reply to the create is lost, and the znode taken for the own one" {
  zkflock "$LOCK" true
  for message in "reply 2" "request 2" "reply 3" "reply 4" "request 4"; do
    # shellcheck disable=SC2086 # two words
    open_proxy $message
    run -0 zkflock --unfair -z "$VIA" "$LOCK" echo ran
    assert_output ran
    close_proxy
  done
  nothing_left_of "$LOCK"
  counted "$LOCK"
}

@test "--unfair: what it does not go with" {
  refuses 64 "--unfair does not go with --exclusive, which says how a place in the queue is named" \
    --unfair -x "$LOCK" touch ran
  refuses 64 "--unfair does not go with --shared: without a queue readers would keep writers out for ever" \
    --unfair --shared "$LOCK" touch ran
  refuses 64 "--unfair does not go with --node-style: all of its kind use one name" \
    --unfair --node-style kazoo "$LOCK" touch ran
}

# counted LOCK: fail unless every departure was counted.
counted() { assert_equal "$(vanished_in "$1")" 0; }

@test "--unfair: TERM after a create whose answer was lost leaves nobody uncounted" {
  # zkflock leaves a server after a sixth of the lease without an answer.
  zkflock --lease 60 "$LOCK" true
  open_proxy mute 2
  background --unfair -z "$VIA" --lease 60 --session-timeout 30 "$LOCK" touch ran
  joining=$!
  zk "$ONE" await-count "$LOCK" 1
  kill -TERM "$joining"
  ends_with 143 "$joining"
  assert_not_exist ran
  zk "$ONE" await-count "$LOCK" 0
  counted "$LOCK"
  close_proxy
}

@test "--unfair: if the session expires while zkflock leaves, it does not say that it joins again" {
  zkflock "$LOCK" true
  PROXY_OF=create listen hold-reply 1
  background --unfair -z "$VIA" --session-timeout 1 "$LOCK" touch ran 2>log
  joining=$!
  proxy_strikes
  kill -TERM "$joining"
  # The client library leaves the silent connection, and zkflock asks on the next one whose znode that is.
  BY=2 eventually asked_for JOIN
  kill -STOP "$proxy_pid"
  zk "$ONE" await-count "$LOCK" 0
  kill -CONT "$proxy_pid"
  ends_with 143 "$joining"
  assert_not_exist ran
  refute contains log "joining the queue again"
  close_proxy
}

@test "--unfair: if its back-off is not answered, zkflock does not blame somebody else, and leaves counted" {
  hold "$LOCK" release
  for number in 3 4 5 6 7; do
    open_proxy reply "$number"
    background -v --unfair -z "$VIA" "$LOCK" true 2>"log.$number"
    waiter=$!
    eventually contains "log.$number" "waiting for"
    kill -TERM "$waiter"
    ends_with 143 "$waiter"
    refute grep -q "was deleted, by --break" "log.$number"
    close_proxy
  done
  touch release
  wait "$holder"
  counted "$LOCK"
}

@test "--unfair: zkflock waits even if somebody deletes its znode while it backs off" {
  zkflock --lease 120 "$LOCK" true
  hold "$LOCK" release
  PROXY_OF=multi open_proxy hold-request 1
  # After a sixth of the lease without an answer zkflock leaves the proxy.
  background -v --unfair -z "$VIA" --lease 120 --session-timeout 40 --lock-delay 0 "$LOCK" touch ran 2>log
  waiter=$!
  proxy_strikes
  zk "$ONE" delete "$LOCK/unfair__lock__-lock-0000000000"
  let_pass
  eventually contains log "waiting for"
  touch release
  wait "$holder"
  ends_with 0 "$waiter"
  assert_exist ran
  close_proxy
}

@test "--unfair: zkflock warns that somebody deleted its znode, even after it has backed off" {
  zkflock --lease 120 "$LOCK" true
  hold "$LOCK" release
  # JOIN reads once, LIST and WATCH twice; the sixth read belongs to the second JOIN.
  PROXY_OF="get" listen hold-request 6
  background --unfair -z "$VIA" --lease 120 --session-timeout 40 --lock-delay 0 "$LOCK" touch ran 2>log
  waiter=$!
  eventually asked_for WATCH
  touch release
  wait "$holder"
  proxy_strikes
  zk "$ONE" await-count "$LOCK" 1
  zk "$ONE" delete "$LOCK/unfair__lock__-lock-0000000000"
  let_pass
  ends_with 0 "$waiter"
  assert_exist ran
  assert contains log "somebody deleted the znode of this zkflock"
  close_proxy
}
