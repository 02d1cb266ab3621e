# --max-runtime: a limit on the run of the command.

load helper
load limits

@test "max-runtime: a command that takes too long is ended by TERM: 124, in one message" {
  before=$(now)
  run -124 zkflock --max-runtime 0.5 --lease 60 "$LOCK" sleep 1000
  later_by 500 "$before" "$(now)"
  # Its grace would be 12 seconds.
  within 10000 "$before" "$(now)"
  assert_output "zkflock: sleep ran longer than --max-runtime 500 ms; sleep was sent SIGTERM and ended"
  # Given back, and counted.
  run -0 zkflock -n "$LOCK" true
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp '^2 4 0 0 '
}

@test "max-runtime: a command that ends in time keeps its status, and 0 is no limit" {
  run -7 zkflock --max-runtime 1m "$LOCK" sh -c 'exit 7'
  run -7 zkflock --max-runtime 0 "$LOCK" sh -c 'exit 7'
  assert_output ""
  # One that takes TERM for a reason to succeed did not end in time.
  run -124 zkflock --max-runtime 2 "$LOCK" sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
}

@test "max-runtime: a limit of one nanosecond is a limit" {
  run -124 zkflock --max-runtime 0.000000001 "$LOCK" sleep 1000
  assert_output --partial "sleep ran longer than --max-runtime "
  run -0 zkflock -n "$LOCK" true
}

@test "max-runtime: the time of the wait does not count" {
  hold "$LOCK" release
  wait_in_line log --max-runtime 1 "$LOCK" sleep 0.5
  began=$(now)
  eventually past $((began + 1200))
  touch release
  ends_with 0 "$waiter"
  ends_with 0 "$holder"
}

@test "max-runtime: --signal comes first, after --kill-after KILL, and nobody has the lock before all is dead" {
  stubborn first
  background --max-runtime 3 --kill-after 1500ms --signal HUP "$LOCK" ./first 2>log
  first=$!
  eventually test -e first.pids
  # The next holder finds nothing of the command.
  run -0 zkflock "$LOCK" sh -c 'for pid in $(cat first.pids); do [ ! -d "/proc/$pid" ] || echo "alive: $pid"; done; cat /proc/uptime >next'
  assert_output ""
  ends_with 124 "$first"
  assert_equal "$(cat log)" "zkflock: ./first ran longer than --max-runtime 3 s; ./first was sent SIGHUP, then killed"
  assert all_gone first
}

@test "max-runtime: TERM is answered in the grace" {
  tidy
  background --max-runtime 3 --kill-after 4 "$LOCK" ./tidy 2>log
  tidy=$!
  eventually test -s asked
  # The lock is held until then.
  run -1 zkflock -q -n "$LOCK" true
  touch tidied
  ends_with 124 "$tidy"
  assert contains log "./tidy was sent SIGTERM and ended"
}

@test "max-runtime: every kind of lock" {
  for kind in --shared --exclusive --unfair "--permits 2" "--with $LOCK.with" "--node-style kazoo" "--lock-delay 0"; do
    # shellcheck disable=SC2086 # an option and its value
    run -124 zkflock --max-runtime 0.2 $kind "$LOCK.${kind//[^a-z]/}" sleep 1000
    # shellcheck disable=SC2086
    run -0 zkflock -n $kind "$LOCK.${kind//[^a-z]/}" true
  done
}

@test "max-runtime: of a zkflock inside, its own command alone is ended, and the lock stays held" {
  run -0 zkflock "$LOCK" sh -c '
    zkflock --max-runtime 0.3 "$1" sleep 1000
    echo "inside $?"
    zkflock -q --no-reentry -n "$1" true
    echo "again $?"' sh "$LOCK"
  assert_output "zkflock: sleep ran longer than --max-runtime 300 ms; sleep was sent SIGTERM and ended
inside 124
again 1"
}

@test "max-runtime: of a zkflock inside, its own command has the grace of its own --kill-after" {
  tidy
  background "$LOCK" sh -c 'zkflock --max-runtime 3 --kill-after 12 "$1" ./tidy; echo $? >status' sh "$LOCK" 2>log
  keeper=$!
  eventually test -s asked
  # Without --kill-after it is 3 s, and half a second more.
  eventually past $(($(when asked) + 4500))
  touch tidied
  ends_with 0 "$keeper"
  assert_equal "$(cat status)" 124
  assert contains log "./tidy was sent SIGTERM and ended"
}

@test "max-runtime: of a zkflock around others, all are ended" {
  run -124 zkflock --max-runtime 4 "$LOCK" zkflock "$LOCK" sh -c 'echo $$ >inner; exec sleep 1000'
  assert_line "zkflock: zkflock ran longer than --max-runtime 4 s; zkflock was sent SIGTERM and ended"
  assert gone "$(cat inner)"
}

@test "max-runtime: a zkflock inside that outlives the command counts" {
  run -124 zkflock --max-runtime 4 "$LOCK" sh -c 'zkflock "$1" sh -c "touch in; exec sleep 1000" & until [ -e in ]; do sleep 0.05; done' sh "$LOCK"
  assert_line --partial "what was started by sh ran longer than --max-runtime 4 s; "
}

@test "max-runtime: a zkflock inside that outlives the command counts, though the keeper is stopped" {
  background --max-runtime 5 "$LOCK" sh -c 'zkflock "$1" sh -c "echo \$\$ >in; exec sleep 1000" & until [ -e go ]; do sleep 0.05; done' sh "$LOCK" 2>log
  keeper=$!
  eventually test -s in
  kill -STOP "$keeper"
  touch go
  eventually gone "$(cat in)"
  kill -CONT "$keeper"
  ends_with 124 "$keeper"
}

@test "max-runtime: the grace ends when a zkflock that came in from elsewhere has ended" {
  background --max-runtime 3 --lease 60 --kill-after 8 "$LOCK" \
    sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e go ]; do sleep 0.05; done; exit 3' 2>log
  keeper=$!
  eventually test -s held
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'touch in; exec sleep 1000' 2>other
  other=$!
  eventually test -e in
  began=$(now)
  touch go
  ends_with 124 "$keeper"
  within 8000 "$began" "$(now)"
  ends_with 143 "$other"
  assert contains log "what was started by sh ran longer than --max-runtime 3 s; it was sent SIGTERM and ended"
}

@test "max-runtime: a zkflock that asks for the lock when its time is up is not let in" {
  background --max-runtime 3 --lease 60 --kill-after 30 "$LOCK" \
    sh -c 'echo "$ZKFLOCK_HELD" >held; echo "$ZKFLOCK_TOKEN" >token; exec sleep 1000' 2>log
  keeper=$!
  eventually test -s held
  guard=$(children "$keeper" lock-guard)
  kill -STOP "$guard"
  began=$(now)
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN" >in' 2>other
  other=$!
  eventually asks_outer "$other"
  eventually past $((began + 3000))
  kill -CONT "$guard"
  ends_with 124 "$keeper"
  # Not by the grace: what was let in too late would not have got SIGTERM.
  within 30000 "$began" "$(now)"
  # It waited its turn, and has a lock of its own.
  ends_with 0 "$other"
  assert [ "$(cat in)" -gt "$(cat token)" ]
}

@test "max-runtime: with --tree what the command started counts" {
  run -124 zkflock --max-runtime 3 --tree "$LOCK" sh -c 'sleep 1000 & echo $! >child'
  assert_output --partial "what was started by sh ran longer than --max-runtime 3 s; "
  assert gone "$(cat child)"
  # Without --tree the limit does not count for descendants.
  run -0 zkflock --max-runtime 3 "$LOCK" sh -c 'sleep 1000 >out 2>&1 3>&- 4>&- & echo $! >child'
  kill "$(cat child)"
}

@test "max-runtime: a stopped command is ended as well, and its time goes on" {
  background --max-runtime 4 "$LOCK" sh -c 'echo $$ >pid; exec sleep 1000' 2>log
  keeper=$!
  eventually test -s pid
  kill -STOP "$(cat pid)"
  ends_with 124 "$keeper"
  assert contains log "sh was sent SIGTERM and ended"
}

@test "max-runtime: terminal: Ctrl-Z does not stop the clock" {
  terminal 'send=zkflock --max-runtime 5 '"$LOCK"' sh -c "echo \\$\\$ >pid; exec sleep 1000"\n' \
    file=pid key=z 'expect=Stopped' 'send=until ! kill -0 $(cat pid) 2>/dev/null; do :; done; fg; echo status $?\n' \
    'expect=status 124'
}

@test "max-runtime: it holds while the keeper is stopped" {
  stubborn command
  runs command.pids --max-runtime 5 --kill-after 500ms "$LOCK" ./command
  kill -STOP "$keeper"
  eventually all_gone command
  kill -CONT "$keeper"
  ends_with 124 "$keeper"
  assert contains log "ran longer than --max-runtime 5 s; "
}

@test "max-runtime: it holds while the keeper is stopped for longer than its session lives" {
  background --max-runtime 4 --lease 20 --session-timeout 1 "$LOCK" sh -c 'echo $$ >pid; exec sleep 1000' 2>log
  keeper=$!
  eventually test -s pid
  kill -STOP "$keeper"
  eventually gone "$(cat pid)"
  zk "$ONE" await-count "$LOCK" 0
  kill -CONT "$keeper"
  ends_with 124 "$keeper"
}

@test "max-runtime: it holds while the guard is stopped" {
  stubborn command
  runs command.pids --max-runtime 5 --lease 120 --kill-after 500ms "$LOCK" ./command
  began=$(now)
  kill -STOP "$(children "$keeper" lock-guard)"
  ends_with 124 "$keeper"
  # Half a margin, 4 s, is added to the limit and the grace.  The lease would have taken longer to tell.
  within 17000 "$began" "$(now)"
  assert all_gone command
  # The guard has sent it nothing before.
  assert contains log "ran longer than --max-runtime 5 s; ./command was killed"
}

@test "max-runtime: it holds inside, without a lease of its own, while the guard is stopped" {
  background "$LOCK" sh -c 'echo $$ >outer; zkflock --max-runtime 5 --kill-after 500ms "$1" sh -c "echo \$PPID >guard; echo \$\$ >inner; exec sleep 1000"; echo $? >status' sh "$LOCK"
  outer=$!
  eventually test -s inner
  kill -STOP "$(cat guard)"
  eventually gone "$(cat inner)"
  ends_with 0 "$outer"
  assert_equal "$(cat status)" 124
}

@test "max-runtime: the keeper is killed in the grace: all is ended at once, the lock given back" {
  stubborn command
  runs command.pids --max-runtime 3 --lease 60 --kill-after 20 "$LOCK" ./command
  eventually gone "$(cut -d' ' -f2 command.pids)"
  kill -KILL "$keeper"
  eventually all_gone command
  PATIENCE=10 eventually zkflock -q -n --lock-delay 0 "$LOCK" true
}

@test "max-runtime: the guard is killed in the grace: all is ended, 124" {
  stubborn command
  runs command.pids --max-runtime 3 --lease 60 --kill-after 20 "$LOCK" ./command
  eventually gone "$(cut -d' ' -f2 command.pids)"
  kill -KILL "$(children "$keeper" lock-guard)"
  ends_with 124 "$keeper"
  assert all_gone command
}

@test "max-runtime: the guard is stopped in the grace, under --on-lost term too: all is ended, 124" {
  stubborn command
  runs command.pids --max-runtime 3 --lease 60 --kill-after 5 --on-lost term "$LOCK" ./command
  eventually gone "$(cut -d' ' -f2 command.pids)"
  began=$(now)
  kill -STOP "$(children "$keeper" lock-guard)"
  ends_with 124 "$keeper"
  within 25000 "$began" "$(now)"
  assert all_gone command
  assert contains log "./command was sent SIGTERM, then killed"
}

@test "max-runtime: all of it stood still past the limit: SIGTERM and the grace come all the same" {
  runs started --max-runtime 3 --lease 60 --kill-after 5 "$LOCK" \
    sh -c 'trap "sleep 3; touch tidied; exit" TERM; touch started; while :; do sleep 0.05; done'
  began=$(now)
  guard=$(children "$keeper" lock-guard)
  kill -STOP "$keeper" "$guard"
  # The limit and the grace: the keeper sees that they are over, and gives the guard 2 s.
  eventually past $((began + 8500))
  kill -CONT "$keeper"
  pause 0.3
  kill -CONT "$guard"
  ends_with 124 "$keeper"
  assert_exist tidied
  assert contains log "sh was sent SIGTERM and ended"
}

@test "max-runtime: a command that ended in time keeps its status, though the guard is stopped" {
  runs started --max-runtime 4 --lease 60 --kill-after 500ms "$LOCK" \
    sh -c 'touch started; until [ -e go ]; do sleep 0.05; done; exit 6'
  kill -STOP "$(children "$keeper" lock-guard)"
  # With --tree what it has left behind runs into the limit.
  background --tree --max-runtime 4 --lease 60 --kill-after 500ms "$LOCK.tree" \
    sh -c 'sleep 1000 & echo $! >left; until [ -e go ]; do sleep 0.05; done; exit 6' 2>tree.log
  tree=$!
  eventually test -s left
  kill -STOP "$(children "$tree" lock-guard)"
  touch go
  ends_with 6 "$keeper"
  assert lacks log "ran longer"
  ends_with 124 "$tree"
  assert contains tree.log "what was started by sh ran longer than --max-runtime 4 s; it was killed"
  assert gone "$(cat left)"
}

@test "max-runtime: a command that a stopped guard did not start in time is not started: 70" {
  hold "$LOCK" release
  wait_in_line log --max-runtime 1 --kill-after 500ms "$LOCK" touch ran
  kill -STOP "$(children "$waiter" lock-guard)"
  touch release
  ends_with 70 "$waiter"
  ends_with 0 "$holder"
  assert_not_exist ran
  assert contains log "the guard process does not answer, so touch was not started"
  # It has all of its time when it is started late.
  zkflock --lease 60 "$LOCK.late" true
  hold "$LOCK.late" again
  began=$(now)
  wait_in_line log --max-runtime 5 --lease 60 --kill-after 500ms "$LOCK.late" sh -c 'sleep 3.5; exit 5'
  # The time of the wait is no part of it.
  eventually past $((began + 5000))
  kill -STOP "$(children "$waiter" lock-guard)"
  began=$(now)
  touch again
  # From the start until the keeper takes the guard for late: 5 s, the grace, and 2 s.
  eventually past $((began + 5500))
  kill -CONT "$(children "$waiter" lock-guard)"
  ends_with 5 "$waiter"
  ends_with 0 "$holder"
}

@test "max-runtime: the hook is told released with 124; no success is noted" {
  printf '#!/bin/sh\necho "$1 ${ZKFLOCK_STATUS-}" >>told\n' >teller
  chmod +x teller
  run -124 zkflock --max-runtime 2 --once-per 1h --hook ./teller "$LOCK" sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
  assert_equal "$(tail -n 1 told)" "released 124"
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ran
}

@test "max-runtime: a key of a lock's section, which the option replaces, and --show-config" {
  printf '[lock %s]\nmax-runtime = 300ms\n' "$LOCK" >config
  run -124 zkflock --config config "$LOCK" sleep 1000
  run -0 zkflock --config config --max-runtime 0 "$LOCK" sleep 0.5
  run -0 zkflock --config config --show-config "$LOCK"
  assert_output --regexp $'\nmax-runtime +=  *300ms +# config:2\n'
  run -0 zkflock --config config --show-config --max-runtime 5m "$LOCK"
  assert_output --regexp $'\nmax-runtime +=  *5m +# command line\n'
  # It is meant for commands, and --deadline is.
  echo 'deadline = 300ms' >>config
  bash -c 'zkflock --config config --hold --for $$ "$1"; touch held; until [ -e go ]; do sleep 0.05; done' \
    bash "$LOCK" 3>&- 4>&- &
  script=$!
  eventually test -e held
  began=$(now)
  eventually past $((began + 600))
  run -1 zkflock -q -n "$LOCK" true
  touch go
  ends_with 0 "$script"
}

@test "max-runtime: mistakes" {
  refuses 64 "--max-runtime takes a time from 0 ms to 1000 d, not '-1'" --max-runtime -1 "$LOCK" touch ran
  refuses 64 "--max-runtime takes a time from 0 ms to 1000 d, not 'soon'" --max-runtime soon "$LOCK" touch ran
  refuses 64 "--max-runtime takes a time from 0 ms to 1000 d, not '0.0000000001'" --max-runtime 0.0000000001 "$LOCK" touch ran
  refuses 64 "--deadline takes a time from 0 ms to 1000 d, not '0.0000001 ms'" --deadline "0.0000001 ms" "$LOCK" touch ran
  run -0 zkflock --max-runtime 0.00 --deadline 0ms "$LOCK" true
  refuses 64 "--max-runtime does not go with --hold: there is no command" --max-runtime 1 --hold "$LOCK"
}
