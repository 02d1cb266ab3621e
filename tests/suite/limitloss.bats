# --max-runtime where the lock is lost, too, or used by others.

load helper
load limits

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

@test "max-runtime: --on-lost term and warn are about a loss, not about the limit" {
  for way in term warn; do
    stubborn "$way"
    run -124 zkflock --max-runtime 3 --kill-after 300ms --on-lost "$way" "$LOCK" "./$way"
    assert_output "zkflock: ./$way ran longer than --max-runtime 3 s; ./$way was sent SIGTERM, then killed"
    assert all_gone "$way"
  done
}

@test "max-runtime: --on-lost warn: what goes on without its lock is ended at the limit" {
  # The lease is over by then; there is a grace all the same.
  background --max-runtime 8 --lease 4 --session-timeout 2 --kill-after 1 --on-lost warn "$LOCK" \
    sh -c 'trap "sleep 0.3; touch tidied; exit" TERM; echo $$ >pid; while :; do sleep 0.05; done' 2>log
  keeper=$!
  eventually test -s pid
  lose
  ends_with 124 "$keeper"
  assert contains log "goes on without it (--on-lost warn)"
  assert contains log "ran longer than --max-runtime 8 s; sh was sent SIGTERM and ended"
  assert_exist tidied
  assert gone "$(cat pid)"
}

@test "max-runtime: --on-lost term: what ignores the signal of the loss is killed after the limit" {
  stubborn command
  runs command.pids --max-runtime 4 --kill-after 500ms --on-lost term "$LOCK" ./command
  began=$(now)
  lose
  ends_with 75 "$keeper"
  within 20000 "$began" "$(now)"
  assert all_gone command
  assert contains log "lost $LOCK: "
  assert contains log "; ./command was sent SIGTERM"
  assert contains log "zkflock: ./command was killed"
}

@test "max-runtime: --on-lost warn and term: a limit after the loss holds while the guard is stopped" {
  stubborn command
  runs command.pids --max-runtime 5 --kill-after 500ms --on-lost warn "$LOCK" ./command
  began=$(now)
  lose
  eventually contains log "goes on without it"
  kill -STOP "$(children "$keeper" lock-guard)"
  ends_with 124 "$keeper"
  within 25000 "$began" "$(now)"
  assert all_gone command
  assert contains log "./command ran longer than --max-runtime 5 s; "
  rm command.pids
  LOCK=$LOCK.term
  runs command.pids --max-runtime 5 --kill-after 500ms --on-lost term "$LOCK" ./command
  began=$(now)
  lose
  eventually gone "$(cut -d' ' -f2 command.pids)"
  kill -STOP "$(children "$keeper" lock-guard)"
  ends_with 75 "$keeper"
  within 25000 "$began" "$(now)"
  assert all_gone command
}

@test "max-runtime: --on-lost warn: the guard is killed after the loss: the loss is told once" {
  runs started --on-lost warn "$LOCK" sh -c 'touch started; exec sleep 1000'
  lose
  eventually contains log "goes on without it"
  kill -KILL "$(children "$keeper" lock-guard)"
  ends_with 70 "$keeper"
  assert_equal "$(grep -c "lost $LOCK" log)" 1
  assert contains log "the guard process was killed, so the command was ended"
}

@test "max-runtime: a lock that is lost in the grace is reported as lost, with 124" {
  printf '#!/bin/sh\necho "$1" >>told\n' >teller
  chmod +x teller
  runs asked -v --max-runtime 3 --lease 60 --kill-after 20 --hook ./teller "$LOCK" \
    sh -c 'trap "touch asked" TERM; until [ -e go ]; do sleep 0.05; done'
  lose
  # The message comes before the command ends.
  eventually has_watches 0
  eventually past $(($(now) + 500))
  touch go
  ends_with 124 "$keeper"
  assert contains log "sh ran longer than --max-runtime 3 s; sh was sent SIGTERM and ended"
  assert_equal "$(grep -c "lost $LOCK: " log)" 1
  assert lacks log "released, held"
  assert_equal "$(paste -sd' ' told)" "acquired lost"
}

@test "max-runtime: a lock that is lost before is still 75" {
  runs started --max-runtime 1h "$LOCK" sh -c 'touch started; exec sleep 1000'
  lose
  ends_with 75 "$keeper"
}

@test "max-runtime: --on-lost warn: a lock that is lost while a zkflock inside uses it is reported once, and SIGTERM comes at the limit" {
  open_proxy
  runs inside --max-runtime 9 --lease 6 --kill-after 2.5 --session-timeout 20 --on-lost warn -z "$VIA" "$LOCK" \
    zkflock "$LOCK" sh -c 'echo $$ >inside; exec sleep 1000'
  kill -STOP "$proxy_pid"
  eventually contains log "goes on without it"
  kill -CONT "$proxy_pid"
  eventually gone "$(cat inside)"
  ends_with 124 "$keeper"
  assert_equal "$(grep -c "lost $LOCK" log)" 1
  assert contains log "zkflock ran longer than --max-runtime 9 s; zkflock was sent SIGTERM and ended"
}

@test "max-runtime: --on-lost term: what ignores the signal of the loss gets another at the limit, and a grace" {
  runs started --max-runtime 9 --lease 6 --kill-after 2.5 --on-lost term "$LOCK" \
    sh -c 'trap "touch asked; trap \"sleep 0.5; touch tidied; exit\" TERM" TERM; touch started; while :; do sleep 0.05; done'
  lose
  eventually test -e asked
  # The lease is over long before.
  ends_with 75 "$keeper"
  assert_exist tidied
  assert contains log "; sh was sent SIGTERM"
  assert lacks log "was killed"
}

@test "max-runtime: a standstill past both the lease and the limit is a loss: 75" {
  background --max-runtime 6 --lease 4 --session-timeout 20 "$LOCK" sh -c 'echo $$ >pid; exec sleep 1000' 2>log
  keeper=$!
  eventually test -s pid
  began=$(now)
  guard=$(children "$keeper" lock-guard)
  kill -STOP "$keeper" "$guard"
  eventually past $((began + 6500))
  kill -CONT "$guard"
  eventually gone "$(cat pid)"
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  assert contains log "lost $LOCK: "
  assert lacks log "ran longer"
}

@test "max-runtime: the guard watches the limit for a zkflock that comes in just when the command has ended" {
  background --max-runtime 8 --lease 60 "$LOCK" \
    sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done; echo $$ >ended' 2>log
  keeper=$!
  eventually test -s held
  kill -STOP "$keeper"
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'echo $$ >in; exec sleep 1000' 2>inner.log
  inner=$!
  eventually asks_outer "$inner"
  touch end
  eventually test -s ended
  eventually gone "$(cat ended)"
  kill -CONT "$keeper"
  eventually test -s in
  kill -STOP "$keeper"
  eventually gone "$(cat in)"
  kill -CONT "$keeper"
  ends_with 124 "$keeper"
  ends_with 143 "$inner"
}

@test "max-runtime: a command that ends with 0 in the grace did not end in time, though the guard is stopped" {
  runs asked --max-runtime 3 --kill-after 4 "$LOCK" \
    sh -c 'trap "touch asked; until [ -e go ]; do sleep 0.05; done; exit 0" TERM; while :; do sleep 0.05; done'
  kill -STOP "$(children "$keeper" lock-guard)"
  touch go
  ends_with 124 "$keeper"
}
