# -F, --no-fork: zkflock becomes the command; and the six cases of util-linux's own test of flock(1).

load helper
load hold

# ---- flock's cases, with a shared lock that is held for a while ----

share() { # until the file "end" is made
  background --shared "$LOCK" sh -c 'touch shared; until [ -e end ]; do sleep 0.05; done'
  sharer=$!
  eventually test -e shared
}

@test "flock's cases: non-block, no-fork, shared, exclusive" {
  share
  run -123 zkflock -q --nonblock --conflict-exit-code 123 "$LOCK" touch ran
  run -123 zkflock -q --no-fork --nonblock --conflict-exit-code 123 "$LOCK" touch ran
  run -0 zkflock --shared "$LOCK" echo shared
  assert_output shared
  run -0 zkflock --no-fork --shared "$LOCK" echo shared
  assert_output shared
  run -123 zkflock -q --nonblock --exclusive --conflict-exit-code 123 "$LOCK" touch ran
  run -123 zkflock -q --no-fork --nonblock --exclusive --conflict-exit-code 123 "$LOCK" touch ran
  assert_not_exist ran
  touch end
  ends_with 0 "$sharer"
}

@test "flock's cases: timeout, and that it was waited for" {
  local option
  for option in --verbose --no-fork; do
    rm -f end shared
    share
    begun=$(now)
    (pause 2; touch end) 3>&- 4>&- &
    run -0 zkflock "$option" --timeout 60 --conflict-exit-code 5 "$LOCK" sh -c 'cat /proc/uptime >began'
    later_by 1900 "$begun" "$(when began)"
    ends_with 0 "$sharer"
  done
}

# ---- what it becomes ----

@test "-F: the process itself becomes the command, with its parent, group, session and terminal, and no child" {
  printf 'echo $$ >self; exec zkflock -F "$1" sh -c "ps -o pid=,ppid=,pgid=,sid=,tty= -p \\$\\$; pgrep -P \\$\\$ -l"\n' >caller
  run -1 bash caller "$LOCK"
  assert_output --regexp "^ *$(cat self) +[0-9]+ +$(ps -o pgid= -p $BASHPID) +$(ps -o sid= -p $BASHPID | tr -d ' ') [^ ]+\$"
  cat >waiter <<'EOF'
import ctypes, os
try:
    os.wait()
except ChildProcessError:
    print("none")
adopts = ctypes.c_int(-1)
ctypes.CDLL(None).prctl(37, ctypes.byref(adopts))
print(adopts.value)
EOF
  run -0 zkflock -F "$LOCK" /usr/bin/python3 waiter
  assert_output "$(printf 'none\n0')"
  cat >adopter <<'EOF'
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)
os.execvp(sys.argv[1], sys.argv[1:])
EOF
  run -0 /usr/bin/python3 adopter zkflock -F "$LOCK" /usr/bin/python3 waiter
  assert_output "$(printf 'none\n1')"
}

@test "-F: status, signal mask, dispositions, descriptors and environment are the command's as without it" {
  local of
  run -7 zkflock -F "$LOCK" sh -c 'exit 7'
  run -143 zkflock -F "$LOCK" sh -c 'kill $$'
  wanted=$(masked grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status)
  run -0 masked zkflock -F "$LOCK" grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
  assert_output "$wanted"
  # Nor is a signal pending that the command would get.
  run -0 /usr/bin/python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
os.execvp("zkflock", sys.argv[1:])' zkflock -F "$LOCK" grep -E '^(Sig|Shd)Pnd' /proc/self/status
  assert_output "$(printf 'SigPnd:\t%016d\nShdPnd:\t%016d' 0 0)"
  for of in "" -F; do
    (exec 9<"$BATS_TEST_FILENAME" && ZKFLOCK_EXPORTED=x exec zkflock $of -z "$ONE" "$LOCK" \
      sh -c 'for f in /proc/$$/fd/*; do echo "${f##*/}"; done; env' 3>&- 4>&-) |
      sed 's/^\(ZKFLOCK_HELD\|ZKFLOCK_NODE\|ZKFLOCK_TOKEN\)=.*/\1/' | sort >"seen$of"
  done
  run -0 diff seen seen-F
  assert grep -qx ZKFLOCK_TOKEN seen-F
  zkflock -F "$LOCK" sh -c '[ -e /proc/$$/fd/0 ] || touch closed' <&- >&- 2>&- 3>&- 4>&-
  assert_exist closed
}

@test "-F: 126 and 127 before the lock is taken or after it, and it is given back" {
  run -127 zkflock -F -z 127.0.0.1:1 "$LOCK" ./none
  assert_output "zkflock: command not found: ./none"
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  run -127 zkflock -F "$LOCK" ./script
  assert_output "zkflock: cannot execute ./script: No such file or directory"
  eventually is_free "$LOCK"
  run -0 zkflock -F "$LOCK" -c 'echo "$0 $1"'
  assert_output "/bin/sh "
}

# become [OPTION]...: a command in the place of zkflock, which ends when the file "end" is made; its pid in $command.
become() {
  rm -f end pid
  setsid zkflock -F "$@" "$LOCK" sh -c 'echo $$ >pid; until [ -e end ]; do sleep 0.05; done; exit 5' 3>&- 4>&- 2>log &
  command=$!
  eventually test -s pid
  assert_equal "$(cat pid)" "$command"
}

# keeper_of_command: prints its pid, and the guard's.
keeper_of_command() {
  local guard
  # shellcheck disable=SC2046 # pids
  guard=$(ps -o pid=,comm= -p $(marked_processes) | awk '$2 == "lock-guard" { print $1 }')
  ps -o ppid= -p "$guard"
  echo "$guard"
}

@test "-F: the lock is held until the command ends, however it ends, and is then released, counted" {
  become
  is_busy "$LOCK"
  touch end
  ends_with 5 "$command"
  eventually is_free "$LOCK"
  become
  kill -KILL "$command"
  ends_with 137 "$command"
  eventually is_free "$LOCK"
  run -0 zkflock --list --json "$LOCK"
  assert_line --partial '"state": "free"'
  assert_line --partial '"vanished": 0'
}

@test "-F: without its keeper, its guard or its znode the command is ended" {
  become
  read -r -d '' keeper guard < <(keeper_of_command) || true
  kill -KILL "$keeper"
  ends_with 137 "$command"
  eventually is_free "$LOCK"
  become
  read -r -d '' keeper guard < <(keeper_of_command) || true
  kill -KILL "$guard"
  ends_with 137 "$command"
  eventually is_free "$LOCK"
  become
  lose
  ends_with 143 "$command"
  eventually is_free "$LOCK"
  become --lease 4
  read -r -d '' keeper guard < <(keeper_of_command) || true
  kill -STOP "$keeper"
  ends_with 143 "$command"
  kill -CONT "$keeper"
}

@test "-F: what service managers do: TERM to the command and all around it at once" {
  become -v
  read -r -d '' keeper guard < <(keeper_of_command) || true
  kill -TERM "$keeper" "$guard"
  eventually contains log "$LOCK is held until process $command ends"
  is_busy "$LOCK"
  kill -TERM "$command"
  ends_with 143 "$command"
  eventually is_free "$LOCK"
}

@test "-F: signals that come while it waits leave the queue" {
  hold "$LOCK" release
  for signal in TERM HUP USR1; do
    wait_in_line log -F "$LOCK" touch ran
    kill -"$signal" "$waiter"
    ends_with $((128 + $(kill -l "$signal"))) "$waiter"
  done
  wait_in_line log -F "$LOCK" touch ran
  kill -KILL "$waiter"
  ends_with 137 "$waiter"
  eventually has_contenders 1
  touch release
  ends_with 0 "$holder"
  assert_not_exist ran
}

has_contenders() { [ "$(zk "$ONE" ls "$LOCK" | wc -l)" -eq "$1" ]; }

is_held() { zkflock --list --held --names "$LOCK" | grep -qx "$LOCK"; }

@test "-F: it ends, too, after its keeper was stopped and continued" {
  hold "$LOCK" release
  background -F "$LOCK" touch ran
  front=$!
  zk "$ONE" await-count "$LOCK" 2
  between=$(children "$front" zkflock)
  keeper=$(children "$between" zkflock)
  kill -STOP "$keeper"
  eventually in_state "$between" T # and nobody continues it
  kill -CONT "$keeper"
  kill -TERM "$front"
  ends_with 143 "$front"
  touch release
  ends_with 0 "$holder"
  assert_not_exist ran
}

@test "-F: without what stands between it and its keeper it ends, or its command would have the keeper as a child" {
  hold "$LOCK" release
  wait_in_line log -F "$LOCK" touch ran
  kill -KILL "$(children "$waiter" zkflock)"
  ends_with 70 "$waiter"
  assert contains log "a process of zkflock was killed, so the command was not started"
  eventually has_contenders 1
  # The same when the lock is held, and the front has not become the command yet.
  wait_in_line log -F "$LOCK" touch ran
  kill -STOP "$waiter"
  touch release
  ends_with 0 "$holder"
  eventually is_held
  kill -KILL "$(children "$waiter" zkflock)"
  kill -CONT "$waiter"
  ends_with 70 "$waiter"
  eventually is_free "$LOCK"
  assert_not_exist ran
}

@test "-F and --hold: --unlock finds no lock before the caller has it" {
  local use
  for use in -F --hold; do
    hold "$LOCK" release
    cat >caller <<END
[ "$use" = -F ] && exec zkflock -v -F "$LOCK" touch ran
zkflock -v --hold --for \$\$ "$LOCK" && touch ran && exec sleep 1000
END
    script sh 2>log <caller
    eventually contains log "waiting for"
    guard=$(other_guard "$holder")
    kill -STOP "$guard"
    touch release
    ends_with 0 "$holder"
    eventually offers "$script"
    run -1 zkflock --unlock --for "$script" "$LOCK"
    assert_output --partial "is not held for that process"
    kill -CONT "$guard"
    eventually test -e ran
    kill -KILL "$script" || true
    eventually is_free "$LOCK"
    rm ran release log
  done
}

@test "-F: stopped with its keeper, and killed: nothing of it stays" {
  hold "$LOCK" release
  wait_in_line log -F "$LOCK" touch ran
  keeper=$(children "$(children "$waiter" zkflock)" zkflock)
  kill -STOP "$keeper"
  eventually in_state "$keeper" T
  kill -TSTP "$waiter"
  eventually took "$waiter" # and passed on to the keeper, which hears it when its front is dead
  kill -KILL "$waiter"
  eventually gone "$keeper"
  eventually has_contenders 1
  touch release
  ends_with 0 "$holder"
  assert_not_exist ran
}

@test "-F: a signal that comes when the keeper no longer listens reaches the command" {
  hold "$LOCK" release
  wait_in_line log -F "$LOCK" touch ran
  kill -STOP "$waiter"
  touch release
  ends_with 0 "$holder"
  eventually is_held
  kill -TERM "$waiter"
  kill -CONT "$waiter"
  ends_with 143 "$waiter"
  assert_not_exist ran
  eventually is_free "$LOCK"
}

@test "-F: busy, unreachable and bad use are as without it" {
  hold "$LOCK" release
  run -1 zkflock -F -n "$LOCK" touch ran
  assert_output --partial "zkflock: $LOCK is busy: 1 ahead, "
  run -1 zkflock -F -w 0.2 "$LOCK" touch ran
  touch release
  ends_with 0 "$holder"
  run -69 zkflock -F -z 127.0.0.1:1 --connect-timeout 0.3 "$LOCK" touch ran
  refuses 64 "--hold and --no-fork do not go together: give one of them" --hold -F "$LOCK" touch ran
  refuses 64 "--max-runtime does not go with --no-fork: zkflock becomes COMMAND, and cannot wait for it" \
    --max-runtime 3 -F "$LOCK" touch ran
  refuses 64 "no COMMAND given: zkflock $LOCK COMMAND" -F "$LOCK"
  printf '[lock a]\npath = %s\nonce-per = 1h\n[lock b]\nmax-runtime = 1h\n[lock c]\ndeadline = 1h\n[lock d]\ntree = yes\n' "$LOCK" >config
  refuses 78 "$PWD/config:3: --once-per does not go with --no-fork, by which zkflock cannot see whether COMMAND succeeds" \
    --config "$PWD/config" -F a touch ran
  refuses 78 "$PWD/config:5: --max-runtime and --deadline do not go with --no-fork, by which zkflock cannot wait for COMMAND" \
    --config "$PWD/config" -F b touch ran
  refuses 78 "$PWD/config:7: --max-runtime and --deadline do not go with --no-fork, by which zkflock cannot wait for COMMAND" \
    --config "$PWD/config" -F c touch ran
  refuses 78 "$PWD/config:9: --tree does not go with --no-fork, by which zkflock cannot wait for COMMAND" \
    --config "$PWD/config" -F d touch ran
  # What is said of other locks is none of its business.
  run -0 zkflock --config "$PWD/config" -F e true
  run -64 unshare -Urpf --mount-proc zkflock -F "$LOCK" touch ran
  assert_output "zkflock: --no-fork: zkflock is process 1 here, with which all others end; leave --no-fork out"
  assert_not_exist ran
}

@test "-F beside other locks: inside and outside of each other, and --unlock" {
  run -0 zkflock -F "$LOCK" zkflock -n "$LOCK" echo inside
  assert_output inside
  eventually is_free "$LOCK"
  run -0 zkflock "$LOCK" zkflock -F -n "$LOCK" echo inside
  assert_output inside
  run -0 zkflock -F "$LOCK" zkflock -F -n "$LOCK" echo inside
  assert_output inside
  eventually is_free "$LOCK"
  run -0 zkflock -F "$LOCK" sh -c 'zkflock --hold "$1" && zkflock -n "$1" echo inside' sh "$LOCK"
  assert_output inside
  eventually is_free "$LOCK"
  run -0 zkflock -F --with "$LOCK.b" "$LOCK" zkflock -n "$LOCK.b" zkflock -F -n "$LOCK" echo both
  assert_output both
  eventually is_free "$LOCK.b"
  run -0 zkflock -F "$LOCK" zkflock -F "$LOCK.b" zkflock -n "$LOCK" echo crossed
  assert_output crossed
  run -0 zkflock -F --permits 2 "$LOCK.p" zkflock --no-reentry -F -n --permits 2 "$LOCK.p" echo permits
  assert_output permits
  run -0 zkflock -F --unfair "$LOCK.u" zkflock -n --unfair "$LOCK.u" echo unfair
  assert_output unfair
  run -0 zkflock -F "$LOCK" sh -c 'zkflock --unlock "$1" && zkflock -n --no-reentry "$1" echo free' sh "$LOCK"
  assert_output free
}

@test "terminal: -F: Ctrl-Z stops it while it waits, and nothing is run; fg goes on" {
  hold "$LOCK" release
  terminal "send=zkflock -v -F $LOCK sh -c 'touch ran; exit 5'; echo status \$?\n" 'expect=waiting for' key=z \
    'expect=Stopped' touch=release "send=zkflock -w 1 -E 9 $LOCK true; echo busy \$?\n" 'expect=busy 9' \
    'send=ls ran\n' 'expect=No such file' 'send=fg\n' file=ran 'send=echo status $?\n' 'expect=status 5'
  ends_with 0 "$holder"
}

@test "terminal: -F: it goes on with its keeper, though somebody had stopped what stands between before it stopped itself" {
  hold "$LOCK" release
  terminal "send=zkflock -v -F $LOCK touch ran\n" 'expect=waiting for' file=ran >session 2>&1 3>&- 4>&- &
  person=$!
  zk "$ONE" await-count "$LOCK" 2
  front=$(pgrep -o -f "^zkflock -v -F $LOCK touch ran")
  between=$(children "$front" zkflock)
  keeper=$(children "$between" zkflock)
  kill -STOP "$between"
  eventually in_state "$between" T
  # Not the whole job, as Ctrl-Z and fg do.
  kill -TSTP "$front"
  eventually in_state "$keeper" T
  eventually in_state "$front" T
  kill -CONT "$front"
  touch release
  ends_with 0 "$holder"
  acted "$person"
}

@test "terminal: -F: Ctrl-Z and Ctrl-C reach the command alone, and the lock stays while it is stopped" {
  # Without a child: bash goes on if its child ends by itself just as Ctrl-C comes.
  mkfifo endless
  cat >looper <<'EOF'
trap ': >continued' CONT
exec 3<>endless
: >ready
while :; do read -rt 0.05 -u 3; done
EOF
  terminal "send=zkflock -F $LOCK bash looper; echo status \$?\n" file=ready key=z 'expect=Stopped' \
    "send=zkflock -n $LOCK true; echo busy \$?\n" 'expect=busy 1' \
    'send=fg\n' file=continued key=c 'expect=$ ' 'send=echo status $?\n' 'expect=status 130'
  eventually is_free "$LOCK"
}
