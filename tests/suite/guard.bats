# The guard ends the command by its own clock, as long as the command runs and not only at its start;
# and what the lease runs from.

load helper

# Requests that were held up may be a sign of life of the session.
teardown() { common_teardown 10; }

# Goes on until it is killed, and tells all the time that it runs; and when it was asked to end.
beating() {
  cat >beating <<'EOF'
#!/bin/sh
trap 'cat /proc/uptime >asked' TERM
echo $$ >command
until [ -e release ]; do cat /proc/uptime >>beats; sleep 0.02; done
EOF
  chmod +x beating
}

# holds ARG...: the beating one under the lock, by a way that can be stopped; pids in $keeper and
# $guard.
holds() {
  beating
  background -v -z "$VIA" "$@" "$LOCK" ./beating 2>log
  keeper=$!
  eventually test -s command
  guard=$(children "$keeper" lock-guard)
}

proofs() { steps frames "$LOCK" -t PROOF; }
proven() { [ "$(proofs | grep -cv -e '-$')" -ge "$1" ]; } # proven N: so many proofs are answered

# last_proof: when the last one that was answered was sent.
last_proof() { proofs | grep -v -e '-$' | tail -n 1 | cut -d' ' -f2; }

last_beat() {
  tail -n 1 beats >last
  when last
}

# dead_by MS: nothing of the command was alive then.
dead_by() {
  eventually gone "$(cat command)"
  later_by 0 "$(last_beat)" "$1"
}

@test "after a lease and more: the keeper is stopped, and the command is dead by the lease's end" {
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

@test "after a lease and more: with an early first signal the command has its grace, and no more" {
  listen
  holds --lease 6 --kill-after 2 --session-timeout 7
  eventually proven 7
  kill -STOP "$keeper"
  dead_by $(($(last_proof) + 6000))
  # Half of it is for a machine that is busy.
  later_by 1000 "$(when asked)" "$(last_beat)"
  later_by 3000 "$(last_proof)" "$(when asked)"
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  close_proxy
}

@test "after a lease and more: the keeper is killed, the command ends and the next one has the lock" {
  listen
  holds --lease 4 --session-timeout 5
  eventually proven 7
  background -v "$LOCK" sh -c 'cat /proc/uptime >next' 2>next.log
  eventually contains next.log "waiting for"
  kill -KILL "$keeper"
  ends_with 0 $!
  dead_by "$(when next)"
  refute grep -q vanished next.log
  close_proxy
}

@test "after a lease and more: contact is lost, and the command is dead by the lease's end" {
  listen
  holds --lease 4 --session-timeout 5
  eventually proven 7
  kill -STOP "$proxy_pid"
  dead_by $(($(last_proof) + 4000))
  ends_with 75 "$keeper"
  close_proxy
}

@test "after a lease and more: the guard is stopped, and the command is dead by the lease's end" {
  listen
  holds --lease 4 --session-timeout 5
  eventually proven 7
  kill -STOP "$guard"
  sent=$(last_proof)
  ends_with 70 "$keeper"
  # Proofs go on, and the guard's lease does not.
  dead_by $((sent + 2 * 4000))
  close_proxy
}

# The proof that the lease runs from was sent before it was answered.
@test "answers that come late: the lease runs from the sending of the proof" {
  zkflock --lease 6 "$LOCK" true
  listen late 4:0.8
  holds --session-timeout 7
  eventually proven 3
  kill -STOP "$proxy_pid"
  dead_by $(($(last_proof) + 6000))
  ends_with 75 "$keeper"
  close_proxy
}

@test "answers that come late: and so it does at the start" {
  zkflock --lease 6 "$LOCK" true
  listen late 1:0.8
  holds --session-timeout 7
  kill -STOP "$proxy_pid"
  joined=$(steps frames "$LOCK" -t JOIN | cut -d' ' -f2)
  dead_by $((joined + 6000))
  ends_with 75 "$keeper"
  close_proxy
}

@test "answers that come late: and behind a wait" {
  zkflock --lease 6 "$LOCK" true
  hold "$LOCK" first
  listen late 1:0.8
  beating
  background -v -z "$VIA" --session-timeout 7 "$LOCK" ./beating 2>log
  keeper=$!
  eventually contains log "waiting for"
  touch first
  eventually test -s command
  kill -STOP "$proxy_pid"
  proved=$(steps frames "$LOCK" -t PROVE | tail -n 1 | cut -d' ' -f2)
  dead_by $((proved + 6000))
  ends_with 75 "$keeper"
  close_proxy
}

@test "everything frozen past the lease: a command that ends as it is thawed is too late, 75" {
  listen
  holds --lease 4 --session-timeout 5
  command=$(cat command)
  kill -STOP "$keeper" "$guard" "$command"
  stopped=$(now)
  touch release
  lease_over() { [ "$(now)" -gt $((stopped + 4000)) ]; }
  eventually lease_over
  # It ends by itself, and with 0, before anybody can look at the clock.
  kill -CONT "$command"
  eventually gone "$command"
  kill -CONT "$guard"
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  close_proxy
}

@test "KILL is sent in rounds, for what is started between them" {
  beating
  # Each is the child of one that ends before it can be found through it.
  cat >fleeing <<'EOF'
#!/bin/bash
trap '' TERM
echo $$ >command
flee() { trap '' TERM; for _ in $(seq 400); do (flee_on "$1" &) ; sleep 0.05; done; }
flee_on() { sleep 0.02; (: >>fled; sleep 0.1); }
export -f flee flee_on
setsid bash -c flee &
setsid bash -c flee &
until [ -e release ]; do sleep 0.05; done
EOF
  chmod +x fleeing
  background -v --lease 4 "$LOCK" ./fleeing 2>log
  keeper=$!
  eventually test -e fled
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK")"
  ends_with 75 "$keeper"
  assert_file_contains log "nothing of ./fleeing is left, .* before the lease ended"
}
