# Every exit status and its message.

load helper

@test "the command's own status is passed on" {
  for status in 0 1 7 69 75 128 255; do
    run -"$status" zkflock "$LOCK" sh -c "exit $status"
    assert_output ""
  done
}

@test "128+N when a signal ends the command" {
  run -143 zkflock "$LOCK" sh -c 'kill -TERM $$'
  run -137 zkflock "$LOCK" sh -c 'kill -KILL $$'
  run -139 zkflock "$LOCK" sh -c 'ulimit -c 0; kill -SEGV $$'
  nothing_left_of "$LOCK"
}

@test "1 when -n finds the lock taken, with a sentence; -q silences it" {
  hold "$LOCK" release
  run -1 zkflock -n "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, held for [^ ]+ by [^ ]+@[^ ]+ pid $holder: sh -c "
  run -1 zkflock -nq "$LOCK" touch ran
  assert_output ""
  assert_not_exist ran
  touch release
  wait "$holder"
  run -0 zkflock -n "$LOCK" true
}

@test "1 when -w runs out; the place in the queue is given back, counted" {
  hold "$LOCK" release
  run -1 zkflock -w 0.3 "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK is still busy after 300 ms: 1 ahead, held for [^ ]+ by [^ ]+@[^ ]+ pid $holder: sh -c "
  run -1 zkflock --timeout 0 "$LOCK" touch ran
  assert_not_exist ran
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp '^2 5 1 0 '
  touch release
  wait "$holder"
}

@test "1 when -w runs out, long before zkflock has something else to do" {
  hold "$LOCK" release --lease 120
  began=$(now)
  # With -q there is no message about the wait, and the next in line shows every 20 s that it lives.
  run -1 zkflock -q -w 0.3 --session-timeout 40 --lease 120 "$LOCK" touch ran
  within 10000 "$began" "$(now)"
  touch release
  ends_with 0 "$holder"
}

@test "-w that does not run out" {
  hold "$LOCK" release
  wait_in_line log -w 20 "$LOCK" touch ran
  touch release
  ends_with 0 "$waiter"
  assert_exist ran
}

@test "-E sets the status of a busy lock, and of nothing else" {
  hold "$LOCK" release
  run -9 zkflock -n -E 9 "$LOCK" true
  run -0 zkflock -n -E 0 "$LOCK" true
  run -255 zkflock -w 0.1 --conflict-exit-code=255 "$LOCK" true
  touch release
  wait "$holder"
  run -7 zkflock -E 9 "$LOCK" sh -c 'exit 7'
}

@test "69 when no server can be reached, within --connect-timeout" {
  run -69 zkflock -z 127.0.0.1:1 --connect-timeout 500ms "$LOCK" touch ran
  assert_output "zkflock: no server reachable at 127.0.0.1:1 within 500 ms: Connection refused; check --servers (or \$ZKFLOCK_SERVERS) and that ZooKeeper runs there; $LOCK was not taken"
  assert_not_exist ran
}

# One process of its command stays, one goes to a session of its own.
payload='setsid -f sh -c "touch started; exec sleep 1000"; exec sleep 1000'

start_running() { # its processes in $keeper, $guard
  background --session-timeout 1 "$LOCK" sh -c "$payload" 2>log
  keeper=$!
  eventually test -e started
  guard=$(children "$keeper" lock-guard)
}

@test "70 when the guard is killed: the command is ended, the lock given back" {
  start_running
  kill -KILL "$guard"
  ends_with 70 "$keeper"
  assert_equal "$(cat log)" "zkflock: the guard process was killed, so the command was ended"
  nothing_left_of "$LOCK"
}

@test "70 when the guard is stopped as the lock comes free" {
  hold "$LOCK" release
  wait_in_line log --lease 5 "$LOCK" touch ran
  kill -STOP "$(children "$waiter" lock-guard)"
  touch release
  ends_with 0 "$holder"
  ends_with 70 "$waiter"
  assert contains log "the guard process does not answer, so the command was not started"
  assert lacks log "nothing of touch is left"
  assert [ ! -e ran ]
  nothing_left_of "$LOCK"
}

# runner_is_there: finds the process that waits to become the command "touch ran"; its pid in $runner, those
# of its keeper and guard in $keeper and $guard.
runner_is_there() {
  local pid
  for pid in $(pgrep -xf "zkflock --session-timeout 1 $LOCK touch ran"); do
    guard=$(children "$pid" lock-guard)
    [ -z "$guard" ] || keeper=$pid runner=$(children "$guard" lock-command)
  done
  [ -n "${runner:-}" ]
}

@test "terminal: 70 when the keeper and the guard of a waiter are killed while what would become the command is stopped" {
  hold "$LOCK" release
  terminal "send=zkflock --session-timeout 1 $LOCK touch ran; echo status \$?\n" "expect=status 70" >session 2>&1 3>&- 4>&- &
  person=$!
  eventually runner_is_there
  kill -STOP "$guard" "$runner"
  kill -KILL "$guard" "$keeper"
  acted "$person"
  eventually gone "$runner"
  assert [ ! -e ran ]
  touch release
  ends_with 0 "$holder"
}

@test "70 when the guard of a waiter is killed" {
  hold "$LOCK" release
  wait_in_line log "$LOCK" touch ran
  kill -KILL "$(children "$waiter" lock-guard)"
  ends_with 70 "$waiter"
  assert contains log "the guard process was killed, so the command was not started"
  assert [ ! -e ran ]
  touch release
  ends_with 0 "$holder"
  nothing_left_of "$LOCK"
}

@test "kill -9 of zkflock: the command is ended at once, and the lock comes free" {
  start_running
  kill -KILL "$keeper"
  ends_with 137 "$keeper"
  eventually gone "$guard"
  zk "$ONE" await-count "$LOCK" 0
}

# The same at a terminal, where the shell waits for a front: $person plays it, until "go on" exists.
start_at_terminal() { # start_at_terminal [OPTION]...: its processes in $front, $keeper, $guard
  terminal "send=zkflock --session-timeout 1 $* $LOCK sh -c '$payload' 2>log; echo status \$?\\n" \
    'expect=status' file=looked 'expect= ' >session 2>&1 3>&- 4>&- &
  person=$!
  find_family
}

find_family() {
  eventually test -e started
  for front in $(marked_processes); do
    [ "$(cat "/proc/$front/comm")" = zkflock ] || continue
    keeper=$(children "$front" zkflock)
    [ -z "$keeper" ] || break
  done
  guard=$(children "$keeper" lock-guard)
}

@test "at a terminal, 70 when the keeper is killed: the command is ended" {
  start_at_terminal
  eventually in_state "$front" S # it waits, and takes no processor's time
  kill -STOP "$guard"
  kill -KILL "$keeper"
  eventually gone "$keeper"
  # The caller is not told before the guard has ended the command.
  pause 0.3
  assert test -e "/proc/$front"
  kill -CONT "$guard"
  eventually gone "$front"
  assert gone "$guard"
  assert_equal "$(cat log)" "zkflock: the keeper process was killed, so the command was ended"
  touch looked
  wait "$person"
  assert grep -q 'status 70' session
  zk "$ONE" await-count "$LOCK" 0
}

@test "at a terminal, 70 when the keeper is killed while it waits: the command was not started, the lock not taken" {
  hold "$LOCK" release
  for use in "$LOCK touch ran" "--hold $LOCK" "-F $LOCK touch ran"; do
    terminal "send=zkflock -v $use 2>log; echo status \$?\n" 'expect=status 70' >session 2>&1 3>&- 4>&- &
    person=$!
    eventually contains log "waiting for"
    kill -KILL "$(ps -o ppid= -p "$(other_guard "$holder")" | tr -d ' ')"
    acted "$person"
    case $use in
      --hold*) assert contains log "the keeper process was killed, so the lock was not taken" ;;
      *) assert contains log "the keeper process was killed, so the command was not started" ;;
    esac
    zk "$ONE" await-count "$LOCK" 1
    rm log
  done
  touch release
  ends_with 0 "$holder"
  assert_not_exist ran
}

@test "at a terminal: the keeper is killed while it gives the lock back: the status is the command's" {
  open_proxy none 0
  payload='touch started; until [ -e end ]; do sleep 0.05; done; exit 3' \
    start_at_terminal -z "$VIA" --session-timeout 20 --lease 20
  kill -STOP "$proxy_pid"
  touch end
  eventually in_command "$guard" 0
  kill -KILL "$keeper"
  eventually gone "$keeper"
  kill -CONT "$proxy_pid"
  eventually gone "$front"
  touch looked
  wait "$person"
  assert grep -q 'status 3' session
  assert_equal "$(cat log)" ""
  zk "$ONE" await-count "$LOCK" 0
  close_proxy
}

in_command() { [ "$(pgrep -c -P "$1")" -eq "$2" ]; } # in_command GUARD N: it has N children

@test "at a terminal: the keeper is killed and no server answers: Ctrl-C is heard while the guard gives the place back" {
  open_proxy none 0
  terminal "send=zkflock -z $VIA --session-timeout 20 $LOCK sh -c '$payload' 2>log; echo status \$?\n" \
    file=killed key=c 'expect=status 70' >session 2>&1 3>&- 4>&- &
  person=$!
  find_family
  kill -STOP "$proxy_pid"
  kill -KILL "$keeper"
  eventually contains log "the keeper process was killed, so the command was ended"
  refute gone "$guard"
  refute gone "$front"
  touch killed
  acted "$person"
  refute gone "$guard"
  kill -CONT "$proxy_pid"
  zk "$ONE" await-count "$LOCK" 0
  close_proxy
}

@test "at a terminal, kill -9 of zkflock: the command is ended, the lock given back, counted" {
  start_at_terminal
  kill -KILL "$front"
  zk "$ONE" await-count "$LOCK" 0
  assert_equal "$(zk "$ONE" stat "$LOCK" | cut -d' ' -f1)" 1
  assert_equal "$(tail -n 1 log)" "zkflock: zkflock was killed, so the command is ended and the lock released"
  touch looked
  wait "$person"
  run -0 timeout 5 zkflock -n "$LOCK" true
}

@test "at a terminal, kill -9 of zkflock ends the command under --on-lost warn, too" {
  start_at_terminal --on-lost warn
  kill -KILL "$front"
  zk "$ONE" await-count "$LOCK" 0
  assert_equal "$(zk "$ONE" stat "$LOCK" | cut -d' ' -f1)" 1
  touch looked
  wait "$person"
}

@test "at a terminal, kill -9 of zkflock ends a command that goes on without its lock" {
  start_at_terminal --on-lost warn
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK")"
  eventually contains log "sh goes on without it (--on-lost warn)"
  kill -KILL "$front"
  eventually gone "$guard"
  assert_equal "$(tail -n 1 log)" "zkflock: zkflock was killed, so the command is ended"
  touch looked
  wait "$person"
}

@test "at a terminal, kill -9 of zkflock: a lock that is lost before the command has ended is reported as lost" {
  printf '#!/bin/sh\necho "$1" >>told\n' >teller
  cat >slow <<'EOF'
#!/bin/sh
trap 'touch asked' TERM
touch started
until [ -e go ]; do sleep 0.05; done
EOF
  chmod +x teller slow
  payload='exec ./slow' start_at_terminal --lease 60 --kill-after 20 --hook ./teller
  kill -KILL "$front"
  eventually test -e asked
  lose
  # The message comes before the command ends.
  eventually has_watches 0
  eventually past $(($(now) + 500))
  touch go
  eventually gone "$keeper"
  assert contains log "zkflock was killed, so the command is ended"
  assert_equal "$(grep -c "lost $LOCK: " log)" 1
  eventually contains told lost
  assert_equal "$(paste -sd' ' told)" "acquired lost"
  touch looked
  wait "$person"
}

@test "71 when the operating system refuses" {
  for n in 4 5; do
    # A sanitizer could not look for leaks.
    ASAN_OPTIONS=detect_leaks=0 run -71 bash -c 'exec 3>&- 4>&-; ulimit -n "$0"; exec zkflock "$@"' "$n" "$LOCK" true
    assert_output "zkflock: cannot start: Too many open files"
  done
}

# with_limit LIMIT ARG...: zkflock with that limit, as a user that has no other process.
with_limit() {
  local limit=$1 as=(setpriv --reuid 61000 --regid 61000 --clear-groups)
  shift
  [ "$(id -u)" -eq 0 ] || as=()
  # Through a descriptor: the directories above it may be out of that user's reach.  A sanitizer
  # could not look for leaks.
  ASAN_OPTIONS=detect_leaks=0 "${as[@]}" prlimit "$limit" /proc/self/fd/9 "$@" 9<"$(command -v zkflock)" 3>&- 4>&-
}

@test "71 for too few descriptors or processes, however few they are; or it works" {
  export TZ=:/none # as where /etc/localtime is missing, whose absence must not be the reason
  # The limit on processes is a user's, and others of that user run.
  limits=(--nofile)
  [ "$(id -u)" -ne 0 ] || limits+=(--nproc)
  for limit in "${limits[@]}"; do
    least=1
    [ "$limit" = --nproc ] || least=10 # those that the shell and prlimit need
    for n in $(seq "$least" 40); do
      run with_limit "$limit=$n" --connect-timeout 1 "$LOCK" echo ran
      [ "$status" -eq 71 ] || break
      refute_output --partial "ran"
      assert_output --regexp "(Too many open files|Resource temporarily unavailable|no more threads can be started \(ulimit -u, pids.max\))"
    done
    assert_equal "$status" 0
    assert_output --partial "ran"
    assert [ "$n" -gt "$least" ]
  done
}

@test "75 when the own znode is taken away: the command is ended" {
  background "$LOCK" sh -c 'touch started; sleep 1000' 2>log
  keeper=$!
  eventually test -e started
  lose
  ends_with 75 "$keeper"
  run -0 cat log
  assert_output --regexp "^zkflock: lost $LOCK: the znode $LOCK/_c_[^ ]* was deleted, by --break or another client; sh was sent SIGTERM and ended\$"
}

@test "77 when an ACL forbids it" {
  zk "$ONE" create "$LOCK"
  zk "$ONE" deny "$LOCK" ra
  run -77 zkflock "$LOCK" touch ran
  assert_output "zkflock: not permitted to create a znode in $LOCK: its ACL does not give this client CREATE"
  zk "$ONE" deny "$LOCK" cdwa
  run -77 zkflock "$LOCK" touch ran
  assert_output --partial "not permitted to read $LOCK"
  zk "$ONE" create "$LOCK.parent"
  zk "$ONE" deny "$LOCK.parent" ra
  run -77 zkflock "$LOCK.parent/a/b" touch ran
  assert_output --partial "not permitted to create $LOCK.parent/a: the ACL of $LOCK.parent does not give this client CREATE"
  assert_not_exist ran
  zk "$ONE" deny "$LOCK" rwcda
}

@test "78 when the lock's znode is something else" {
  zk "$ONE" create "$LOCK" "settings of an application"
  run -78 zkflock "$LOCK" touch ran
  assert_output "zkflock: $LOCK holds data that is not zkflock's: it is no lock; choose another LOCK"
  run -0 zk "$ONE" get "$LOCK"
  assert_output "settings of an application"

  coproc MAKER { zk "$ONE" create-kind ephemeral "$LOCK.e" 3>&-; }
  maker_pid=$MAKER_PID
  read -r -u "${MAKER[0]}" _
  run -78 zkflock "$LOCK.e" touch ran
  assert_output "zkflock: cannot create a znode in $LOCK.e: an ephemeral znode stands in the way; choose another LOCK"
  eval "exec ${MAKER[1]}>&-"
  wait "$maker_pid" || true
  assert_not_exist ran
}

@test "69: of the default servers the message says how to name others" {
  run -69 unshare -Urn zkflock -z 127.0.0.1:2181 --connect-timeout 0.3 "$LOCK" true
  assert_output --partial '; other servers are named by --servers, $ZKFLOCK_SERVERS, which sudo and cron do not pass on, or a config file'
}

@test "126 and 127 are known before the lock is taken, even before a server is" {
  touch plain
  export ZKFLOCK_SERVERS=127.0.0.1:1
  run -127 timeout 5 zkflock "$LOCK" no-such-command
  assert_output "zkflock: command not found: no-such-command"
  run -127 timeout 5 zkflock "$LOCK" ./missing
  assert_output "zkflock: command not found: ./missing"
  run -127 timeout 5 zkflock "$LOCK" 'ls | wc'
  assert_output "zkflock: command not found: ls | wc; for a line of the shell use -c"
  run -127 timeout 5 zkflock "$LOCK" ""
  assert_output "zkflock: command not found: '' (an empty word)"
  run -126 timeout 5 zkflock "$LOCK" ./plain
  assert_output "zkflock: cannot execute ./plain: Permission denied"
  run -126 timeout 5 zkflock "$LOCK" /tmp
  assert_output "zkflock: cannot execute /tmp: Is a directory"
  PATH=$PWD:$PATH run -126 timeout 5 zkflock "$LOCK" plain
  assert_output "zkflock: cannot execute plain: Permission denied"
}

@test "126 and 127 that are only known when the command is executed: the lock is released" {
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  run -127 zkflock "$LOCK" ./script
  assert_output "zkflock: cannot execute ./script: No such file or directory"
  nothing_left_of "$LOCK"
}

@test "a script without #! is run by the shell, as execvp does" {
  echo 'echo from the shell' >script
  chmod +x script
  run -0 zkflock "$LOCK" ./script
  assert_output "from the shell"
}

@test "what zkflock says goes to stderr alone" {
  run --separate-stderr -0 zkflock -vv "$LOCK" true
  assert_output ""
  assert [ -n "$stderr" ]
}

@test "what cron would mail: nothing of a success, one line of a failure" {
  run -0 zkflock "$LOCK" true
  assert_output ""
  hold "$LOCK" release
  run -1 zkflock -n "$LOCK" true
  assert_regex "${#lines[@]}" "^1$"
  # On a busy machine zkflock may not learn the holder's name in time.
  assert_output --regexp "$LOCK is busy: 1 ahead(, .* pid $holder: .*)?$"
  touch release
  ends_with 0 "$holder"
  run -69 zkflock -z 127.0.0.1:1 --connect-timeout 0.2 "$LOCK" true
  assert_regex "${#lines[@]}" "^1$"
  background "$LOCK" sleep 1000 2>lost
  holder=$!
  zk "$ONE" await-count "$LOCK" 1
  lose
  ends_with 75 "$holder"
  assert lines lost 1
  assert grep -q "lost $LOCK: .*; sleep was sent SIGTERM and ended" lost
}
