# The guard watches the lease for as long as the command runs; the lease runs from the sending of the
# last proof of life.

load helper
load beating

# Delayed requests may keep the session alive.
teardown() { common_teardown 10; }

# holds ARG...: run that command under the lock, through the proxy; pids in $keeper and $guard.
holds() {
  beating
  background -v -z "$VIA" "$@" "$LOCK" ./beating 2>log
  keeper=$!
  eventually test -s command
  guard=$(children "$keeper" lock-guard)
}

proofs() { steps frames "$LOCK" -t PROOF PROOF_CLAIMED; }
proven() { [ "$(proofs | grep -cv -e '-$')" -ge "$1" ]; } # proven N: true if N proofs were answered

@test "a keeper that stops after several proofs: the guard kills before the lease ends" {
  listen
  holds --lease 4 --session-timeout 5
  eventually proven 7
  kill -STOP "$keeper"
  dead_by $(($(last_proof) + 4000))
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  assert_file_contains log "nothing of ./beating is left, .* before the lease ended"
  close_proxy
}

@test "a keeper that stops after several proofs: the command gets its whole --kill-after" {
  listen
  holds --lease 15 --kill-after 7 --session-timeout 20
  eventually proven 2
  # The guard may never get an extension that is under way when the keeper stops.
  proof=$(last_proof)
  kill -STOP "$keeper"
  dead_by $(($(last_proof) + 15000))
  # A busy machine may use up some of it, but less than the margin.
  later_by 6200 "$(when asked)" "$(last_beat)"
  # 15 s without the grace and the margin, 1 s.
  later_by 6500 "$proof" "$(when asked)"
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  close_proxy
}

# due: print when the guard's timer expires, in ms of CLOCK_BOOTTIME.
due() {
  local seconds ns
  read -r seconds ns < <(sed -n 's/^it_value: (\([0-9]*\), \([0-9]*\))$/\1 \2/p' "/proc/$guard/fdinfo/"*)
  echo $(($(now) + seconds * 1000 + ns / 1000000))
}

@test "the first signal is due --kill-after and the margin before the lease ends, also after a suspend" {
  listen
  beating
  # CLOCK_BOOTTIME is 1000 s ahead of CLOCK_MONOTONIC, as after a suspend.
  setsid unshare -UrTf --boottime 1000 zkflock -z "$VIA" --lease 300 --kill-after 100 --session-timeout 40 \
    "$LOCK" ./beating 3>&- 4>&- &
  unshare=$!
  eventually test -s command
  guard=$(children "$(children "$unshare" zkflock)" lock-guard)
  at=$(due)
  later_by 170000 "$(last_proof)" "$at"
  later_by 0 "$at" $(($(last_proof) + 185000))
  touch release
  ends_with 0 "$unshare"
  close_proxy
}

@test "a keeper that is killed after several proofs: the command dies before the next one starts" {
  listen
  holds --lease 4 --session-timeout 5
  eventually proven 7
  background -v "$LOCK" sh -c 'cat /proc/uptime >next' 2>next.log
  next=$!
  eventually contains next.log "waiting for"
  # SIGCHLD wakes the guard: it notices the keeper's end even if it has just handled something else.
  kill -STOP "$(cat command)"
  kill -CONT "$(cat command)"
  kill -KILL "$keeper"
  ends_with 0 "$next"
  dead_by "$(when next)"
  refute grep -q vanished next.log
  close_proxy
}

@test "a connection that is lost after several proofs: the command is dead when the lease ends" {
  listen
  holds --lease 4 --session-timeout 5
  eventually proven 7
  dead_without_contact 4000
  ends_with 75 "$keeper"
  # The message must not say that zkflock stood still.
  assert contains log "no contact with the ensemble since"
  close_proxy
}

@test "a guard that stops after several proofs: the keeper kills the command a margin before the lease ends" {
  listen
  holds --lease 7.5 --kill-after 0 --session-timeout 9
  eventually proven 3
  kill -STOP "$guard"
  sent=$(last_proof)
  ends_with 70 "$keeper"
  # The keeper goes on proving; the lease that the guard confirmed last counts.  The margin is 500 ms.
  dead_by $((sent + 7500 - 250))
  close_proxy
}

@test "a guard that stops before the lock is lost: the keeper kills the command before the lease ends" {
  listen
  holds --lease 7.5 --session-timeout 9
  eventually proven 1
  kill -STOP "$guard"
  sent=$(last_proof)
  lose
  ends_with 75 "$keeper"
  dead_by $((sent + 7500))
  assert_file_contains log "lost $LOCK: .*; ./beating was killed"
  close_proxy
}

@test "a guard that stops before the lock is lost: 75, though the command ended by itself before that, with 0" {
  background --lease 4 --session-timeout 5 "$LOCK" sh -c 'echo $$ >command; until [ -e release ]; do sleep 0.05; done' 2>log
  keeper=$!
  eventually test -s command
  kill -STOP "$(children "$keeper" lock-guard)"
  touch release
  eventually gone "$(cat command)"
  lose
  ends_with 75 "$keeper"
  assert_file_contains log "lost $LOCK: "
}

@test "--on-lost term: a guard that is killed when the lock has been lost: the keeper kills the command" {
  listen
  holds --on-lost term
  lose
  eventually test -s asked
  kill -KILL "$guard"
  eventually gone "$keeper"
  ends_with 75 "$keeper"
  assert gone "$(cat command)"
  close_proxy
}

# bears_late_answers [ARG...]: fail unless the command dies a lease after the last proof was sent.
bears_late_answers() {
  zkflock --lease 9 "$LOCK" true
  listen late 4:1.05
  holds --session-timeout 7 "$@"
  eventually proven 3
  dead_without_contact 9000
  ends_with 75 "$keeper"
  close_proxy
}

@test "late answers: the lease runs from the sending of the last proof" {
  bears_late_answers
}

@test "late answers: the lease of a name without a GUID runs from the sending of the last proof" {
  bears_late_answers --node-style plain:x-
}

@test "late answers: the first lease runs from the sending of the create" {
  zkflock --lease 9 "$LOCK" true
  listen late 1:1.05
  holds --session-timeout 7
  dead_without_contact 9000
  ends_with 75 "$keeper"
  close_proxy
}

@test "late answers: behind a wait the lease runs from the sending of the proof" {
  zkflock --lease 9 "$LOCK" true
  hold "$LOCK" first
  listen late 1:1.05
  beating
  background -v -z "$VIA" --session-timeout 7 "$LOCK" ./beating 2>log
  keeper=$!
  eventually contains log "waiting for"
  touch first
  eventually test -s command
  dead_without_contact 9000
  ends_with 75 "$keeper"
  close_proxy
}

@test "a keeper is killed while the server is silent: the guard gives its place back when there is an answer" {
  open_proxy
  holds --session-timeout 40
  kill -STOP "$proxy_pid"
  kill -KILL "$keeper"
  eventually gone "$(cat command)"
  sleep 4 # the silence itself
  kill -CONT "$proxy_pid"
  eventually gone "$guard"
  # One contender was created, and it counted itself out.
  assert_regex "$(zk "$ONE" stat "$LOCK")" "^1 2 0 "
  close_proxy
}

waited_for() { [ ! -e "/proc/$command" ]; } # true when the guard has reaped it

@test "all processes frozen past the lease: 75, though the command then ends by itself with 0" {
  listen
  # The session outlives the lease, and with this --on-lost the keeper does not end the command in
  # the guard's place: the guard alone can tell.
  holds --lease 4 --session-timeout 20 --on-lost term
  command=$(cat command)
  kill -STOP "$keeper" "$guard" "$command"
  stopped=$(now)
  touch release
  eventually past $((stopped + 4000))
  # The command ends by itself before guard or keeper run again.
  kill -CONT "$command"
  eventually gone "$command"
  kill -CONT "$guard"
  eventually waited_for
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  close_proxy
}

@test "zkflock frozen past the lease: 75, though what used the lock behind the command then ends by itself" {
  background -v --lease 4 --session-timeout 20 "$LOCK" sh -c '
    (zkflock "$0" sh -c "touch inside; until [ -e release ]; do sleep 0.05; done"; touch left) &
    until [ -e inside ]; do sleep 0.05; done' "$LOCK" 2>log
  keeper=$!
  eventually contains log "still use $LOCK"
  guard=$(children "$keeper" lock-guard)
  kill -STOP "$keeper" "$guard"
  stopped=$(now)
  eventually past $((stopped + 4000))
  touch release
  eventually test -e left
  kill -CONT "$keeper" "$guard"
  ends_with 75 "$keeper"
}

# A command that starts processes all the time.
fleeing() {
  cat >fleeing <<'EOF'
#!/bin/bash
trap '' TERM
# Each parent ends at once, so that /proc does not show where its child belongs.
flee() { trap '' TERM; for _ in $(seq 400); do (flee_on "$1" &) ; sleep 0.05; done; }
flee_on() { sleep 0.02; (: >>fled; sleep 0.1); }
export -f flee flee_on
setsid bash -c flee &
setsid bash -c flee &
until [ -e release ]; do sleep 0.05; done
EOF
  chmod +x fleeing
  background -v --lease 4 --session-timeout 2 "$LOCK" ./fleeing 2>log
  keeper=$!
  eventually test -e fled
  guard=$(children "$keeper" lock-guard)
}

@test "the guard repeats KILL for processes that start meanwhile" {
  fleeing
  lose
  ends_with 75 "$keeper"
  assert_file_contains log "nothing of ./fleeing is left, .* before the lease ended"
}

@test "the guard of a killed keeper repeats KILL as well" {
  fleeing
  kill -KILL "$keeper"
  # Nothing is left of it when the next one starts.
  run -0 zkflock -w 10 "$LOCK" true
  eventually gone "$guard"
  assert_equal "$(marked_processes)" ""
}

# left_behind: a command was ended by TERM and has left a process; zkflock gives the lock back to a
# server that does not answer; pids in $keeper and $guard.
left_behind() {
  open_proxy
  background -v -z "$VIA" --lease 4 --session-timeout 5 "$LOCK" sh -c '
    (until [ -e end ]; do sleep 0.05; done) &
    echo $! >left
    echo $$ >command
    until [ -e release ]; do sleep 0.05; done
    kill -TERM $$' 2>log
  keeper=$!
  eventually test -s command
  guard=$(children "$keeper" lock-guard)
  kill -STOP "$proxy_pid"
  touch release
}

@test "what the command has left behind lives on, though the lease ends while zkflock gives the lock back" {
  left_behind
  ends_with 143 "$keeper"
  refute gone "$(cat left)"
  touch end
  close_proxy
}

@test "what the command has left behind lives on, though the keeper is killed while it gives the lock back" {
  left_behind
  command=$(cat command)
  eventually waited_for
  kill -KILL "$keeper"
  kill -CONT "$proxy_pid"
  eventually gone "$guard"
  refute gone "$(cat left)"
  touch end
  close_proxy
}

@test "a keeper that is killed after its last order, to start the command: the guard does not start it" {
  without_leak_search
  hold "$LOCK" release
  wait_in_line log "$LOCK" sh -c 'echo ran >>ran'
  guard=$(children "$waiter" lock-guard)
  # It takes in the end of its keeper some time after the order.
  delay "$guard"
  kill -STOP "$guard"
  touch release
  eventually contains log "holding"
  kill -KILL "$waiter"
  kill -CONT "$guard"
  eventually gone "$guard"
  assert_not_exist ran
}
