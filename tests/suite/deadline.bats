# --deadline: a limit on connecting, on the wait and on the run of the command.

load helper

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

@test "deadline: a command that still runs is ended: 124" {
  before=$(now)
  run -124 zkflock --deadline 0.7 "$LOCK" sleep 1000
  later_by 700 "$before" "$(now)"
  assert_output "zkflock: sleep still ran at the end of --deadline 700 ms; sleep was sent SIGTERM and ended"
  run -7 zkflock --deadline 1m "$LOCK" sh -c 'exit 7'
  run -7 zkflock --deadline 0 "$LOCK" sh -c 'exit 7'
  assert_output ""
}

@test "deadline: the time of the wait counts" {
  hold "$LOCK" release
  before=$(now)
  wait_in_line log --deadline 4 "$LOCK" sh -c 'cat /proc/uptime >started; exec sleep 1000'
  eventually past $((before + 2000))
  touch release
  ends_with 124 "$waiter"
  later_by 2000 "$before" "$(when started)"
  within 3900 "$(when started)" "$(now)"
  assert contains log "sh still ran at the end of --deadline 4 s; "
}

@test "deadline: while others hold the lock it is as -w, with -E, the event and the hook" {
  printf '#!/bin/sh\necho "$1" >>told\n' >teller
  chmod +x teller
  hold "$LOCK" release
  run -1 zkflock --deadline 0.5 --hook ./teller "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK is still busy after 500 ms: 1 ahead, held for .* by .* pid $holder: sh -c "
  assert_equal "$(paste -sd' ' told)" "waiting busy"
  run -9 zkflock --deadline 0.5 -w 1h -E 9 "$LOCK" touch ran
  run -1 zkflock --deadline 1h -w 0.3 "$LOCK" touch ran
  assert_output --partial "is still busy after 300 ms"
  run -1 zkflock --deadline 1h -n "$LOCK" touch ran
  assert_output --partial "$LOCK is busy: 1 ahead"
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "deadline: the smaller of --max-runtime and --deadline counts" {
  run -124 zkflock --max-runtime 0.3 --deadline 1h "$LOCK" sleep 1000
  assert_output --partial "sleep ran longer than --max-runtime 300 ms; "
  run -124 zkflock --max-runtime 1h --deadline 500ms "$LOCK" sleep 1000
  assert_output --partial "sleep still ran at the end of --deadline 500 ms; "
}

@test "deadline: no server is reachable: the status of -E, and no more tries" {
  before=$(now)
  run -1 zkflock -z 127.0.0.1:1 --deadline 0.5 "$LOCK" touch ran
  # --connect-timeout is longer.
  within 14000 "$before" "$(now)"
  assert_output --regexp "^zkflock: $LOCK was not taken within --deadline 500 ms: no server reachable "
  before=$(now)
  run -9 zkflock -z 127.0.0.1:1 --deadline 2 -E 9 --connect-timeout 200ms --retry 100 --retry-delay 1h "$LOCK" touch ran
  within 60000 "$before" "$(now)"
  assert_output "zkflock: $LOCK was not taken within --deadline 2 s: no server could be reached before"
  run -69 zkflock -z 127.0.0.1:1 --deadline 1h --connect-timeout 200ms "$LOCK" touch ran
  assert_not_exist ran
}

@test "deadline: -q silences a busy lock, but not an ensemble that does not answer" {
  run -0 zkflock -q -n -E 0 -z 127.0.0.1:1 --deadline 0.5 "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK was not taken within --deadline 500 ms: no server reachable "
  assert_not_exist ran
  hold "$LOCK" release
  run -0 zkflock -q -E 0 --deadline 0.5 "$LOCK" touch ran
  assert_output ""
  touch release
  ends_with 0 "$holder"
}

@test "deadline: a server that does not answer" {
  open_proxy
  kill -STOP "$proxy_pid"
  run -1 zkflock -z "$VIA" --deadline 0.5 "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK was not taken within --deadline 500 ms: no server reachable "
  assert_not_exist ran
  close_proxy
}

@test "deadline: a later try of --retry has what is left of it to connect" {
  open_proxy
  kill -STOP "$proxy_pid"
  run -1 zkflock -z "$VIA" --deadline 4 --connect-timeout 2.5 --retry 9 --retry-delay 100ms "$LOCK" touch ran
  assert_output --regexp "zkflock: $LOCK was not taken within --deadline 4 s: no server (reachable at $VIA within (1\.[0-9]+ s|[0-9]+ ms)|could be reached before)"
  close_proxy
}

@test "deadline: no answer while it joins the queue, or asks for the last success" {
  open_proxy stall 2
  run -1 zkflock -q -z "$VIA" --deadline 1 "$LOCK" touch ran
  assert_output --partial "zkflock: $LOCK was not taken within --deadline 1 s: no answer from the ensemble while joining the queue"
  close_proxy
  zk "$ONE" await-count "$LOCK" 0
  zkflock "$LOCK.jobs" true
  open_proxy stall 4
  run -0 zkflock -z "$VIA" --deadline 1 -E 0 --once-per 1h "$LOCK.jobs" touch ran
  assert_output --partial "zkflock: $LOCK.jobs was not taken within --deadline 1 s: no answer from the ensemble on when it last ran"
  close_proxy
  zk "$ONE" await-count "$LOCK.jobs" 0
  # No command ran, so there is no success to note.
  run -0 zkflock --once-per 1h "$LOCK.jobs" touch ran
  assert_exist ran
}

@test "deadline: a command that a stopped guard did not start in time is not started, nor noted as a success" {
  hold "$LOCK" release
  wait_in_line log --deadline 6 -E 0 --once-per 1h --kill-after 500ms "$LOCK" touch ran
  kill -STOP "$(children "$waiter" lock-guard)"
  touch release
  ends_with 0 "$waiter"
  ends_with 0 "$holder"
  assert contains log "touch was not started before the end of --deadline 6 s"
  assert_not_exist ran
  # Nor does the guard start it when it goes on.
  rm release
  zkflock --lease 60 "$LOCK.again" true
  hold "$LOCK.again" again
  began=$(now)
  wait_in_line log --deadline 6 -E 9 --kill-after 20 "$LOCK.again" touch ran
  kill -STOP "$(children "$waiter" lock-guard)"
  touch again
  eventually past $((began + 7500))
  continued=$(now)
  kill -CONT "$(children "$waiter" lock-guard)"
  ends_with 9 "$waiter"
  # The grace is for a command that was started.
  within 10000 "$continued" "$(now)"
  ends_with 0 "$holder"
  assert contains log "touch was not started before the end of --deadline 6 s"
  assert_not_exist ran
  run -0 zkflock --once-per 1h "$LOCK" touch ran
  assert_exist ran
}

@test "deadline: JSON without a queue: busy, with the lock alone" {
  run -1 --separate-stderr zkflock --log-format json -z 127.0.0.1:1 --deadline 0.3 "$LOCK" touch ran
  python3 - "$stderr" "$LOCK" <<'EOF'
import json, sys
line = json.loads(sys.argv[1])
assert line["event"] == "busy" and line["level"] == "error" and line["path"] == sys.argv[2], line
assert "position" not in line and "holder" not in line, line
EOF
}

# vanish ARG...: a holder of $LOCK with a lease of 4 s crashes.
vanish() {
  background --lease 4 --session-timeout 1 "$@" "$LOCK" sh -c 'touch started; exec sleep 1000'
  eventually test -e started
  crash "$!"
  zk "$ONE" await-count "$LOCK" 0
}

@test "deadline: a holder that vanished is waited for, as with -w, and then nothing is run, with or without --once-per" {
  for once in "" "-q --once-per 1h"; do
    rm -f started
    # shellcheck disable=SC2086 # an option and its value
    vanish $once
    before=$(now)
    # shellcheck disable=SC2086
    run -0 zkflock --deadline 1 -E 0 $once "$LOCK" touch ran
    # With -q the lock is busy, without a message.
    sentence="zkflock: $LOCK was not taken within --deadline 1 s: it was acquired too late"
    if [ -z "$once" ]; then assert_output "$sentence"; else assert_output ""; fi
    later_by 3000 "$before" "$(now)"
    assert_not_exist ran
    # That one has counted the vanished one out for the next.
    # shellcheck disable=SC2086
    run -0 zkflock --deadline 1m $once "$LOCK" touch next
    assert_exist next
    rm next
    zkflock --remove "$LOCK"
    LOCK=$LOCK.again
  done
}

@test "deadline: of a zkflock inside" {
  run -0 zkflock "$LOCK" sh -c 'zkflock --deadline 0.5 "$1" sleep 1000; echo "inside $?"' sh "$LOCK"
  assert_line "inside 124"
}

@test "deadline: a key of a lock's section, --show-config, mistakes" {
  printf '[lock %s]\ndeadline = 2500ms\n' "$LOCK" >config
  run -124 zkflock --config config "$LOCK" sleep 1000
  run -0 zkflock --config config --show-config "$LOCK"
  assert_output --regexp $'\ndeadline +=  *2500ms +# config:2\n'
  refuses 64 "--deadline takes a time from 0 ms to 1000 d, not 'soon'" --deadline soon "$LOCK" touch ran
  refuses 64 "--deadline does not go with --hold: there is no command" --deadline 1 --hold "$LOCK"
}
