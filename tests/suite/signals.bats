# Signals to zkflock, and a person at a terminal.

load helper

# A command that writes down every signal it gets.
recorder() {
  cat >recorder <<'EOF'
#!/usr/bin/python3
import os, signal, time
def note(number, frame):
    with open("signals", "a") as f:
        f.write(signal.Signals(number).name + "\n")
for name in "TERM HUP INT QUIT USR1 USR2 ALRM CONT TSTP WINCH".split():
    signal.signal(getattr(signal, "SIG" + name), note)
open("ready", "w").close()
while not os.path.exists("enough"):
    time.sleep(0.02)
EOF
  chmod +x recorder
}

@test "TERM, HUP, INT, QUIT, USR1, USR2, ALRM, CONT, TSTP and WINCH reach the command, once" {
  recorder
  # Not by the shell's &, which has INT and QUIT ignored.
  python3 -c 'import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGQUIT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:])
open("pid", "w").write(str(p.pid)); sys.exit(p.wait())' zkflock "$LOCK" ./recorder 3>&- 4>&- &
  eventually test -e ready
  n=0
  for name in TERM HUP INT QUIT USR1 USR2 ALRM CONT TSTP WINCH; do
    kill "-$name" "$(cat pid)"
    n=$((n + 1))
    eventually lines signals "$n"
    assert_equal "$(tail -n 1 signals)" "SIG$name"
  done
  touch enough
  wait
  assert_equal "$(wc -l <signals)" 10
}

@test "a signal that ends the command gives 128+N, and the lock is free" {
  background "$LOCK" sh -c 'touch ready; exec sleep 1000'
  keeper=$!
  eventually test -e ready
  kill -TERM "$keeper"
  ends_with 143 "$keeper"
  run -0 zkflock -n "$LOCK" true
  eventually gone "$keeper"
}

@test "the command may ignore TERM; then it goes on, and so does zkflock" {
  background "$LOCK" sh -c 'trap "" TERM; touch ready; until [ -e stop ]; do sleep 0.05; done; exit 4'
  keeper=$!
  eventually test -e ready
  kill -TERM "$keeper"
  kill -TERM "$keeper"
  touch stop
  ends_with 4 "$keeper"
}

@test "TERM, INT and HUP while waiting leave the queue and give 128+N" {
  hold "$LOCK" release
  for signal in TERM:143 INT:130 HUP:129; do
    python3 -c 'import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], stderr=open("log", "w")); open("pid", "w").write(str(p.pid))
r = p.wait(); open("status", "w").write(str(r))' zkflock -v "$LOCK" touch ran 3>&- 4>&- &
    runner=$!
    eventually contains log "waiting for"
    kill "-${signal%:*}" "$(cat pid)"
    wait "$runner"
    assert_equal "$(cat status)" "${signal#*:}"
    zk "$ONE" await-count "$LOCK" 1
    rm log pid status
  done
  assert_not_exist ran
  assert_equal "$(zk "$ONE" stat "$LOCK" | cut -d' ' -f1)" 3
  touch release
  wait "$holder"
}

@test "TERM while connecting ends at once" {
  background -vv -z 127.0.0.1:1 "$LOCK" touch ran 2>log
  eventually contains log "connecting to"
  kill -TERM $!
  ends_with 143 $!
}

@test "what the caller has ignored stays ignored, as under nohup" {
  bash -c 'trap "" HUP; exec zkflock "$1" sh -c "touch ready; until [ -e stop ]; do sleep 0.05; done"' \
    bash "$LOCK" 3>&- 4>&- &
  keeper=$!
  eventually test -e ready
  kill -HUP "$keeper"
  touch stop
  ends_with 0 "$keeper"
}

@test "a command that is stopped and continued by others ends as if nothing had been" {
  background "$LOCK" sh -c 'echo $$ >pid; touch ready; until [ -e stop ]; do sleep 0.05; done; exit 5'
  keeper=$!
  eventually test -e ready
  kill -STOP "$(cat pid)"
  eventually in_state "$(cat pid)" T
  # It was meant for the command alone.
  refute in_state "$keeper" T
  run -1 zkflock -n "$LOCK" true
  kill -CONT "$(cat pid)"
  touch stop
  ends_with 5 "$keeper"
}

# As under cron and in CI: then the kernel sends HUP to a group that it sees become orphaned.
@test "in a process group that no shell controls, a stopped process beside zkflock harms nobody" {
  cat >script <<'END'
sleep 1000 &
kill -STOP $!
zkflock "$1" true
echo "zkflock: $?, beside it: $(ps -o state= -p $!)"
kill -KILL $!
END
  run -0 setsid -w sh script "$LOCK"
  assert_output "zkflock: 0, beside it: T"
}

@test "terminal: Ctrl-C reaches the command once" {
  recorder
  terminal 'send=zkflock '"$LOCK"' ./recorder; echo status $?\n' file=ready key=c \
    file=signals touch=enough 'expect=status 0'
  assert_equal "$(cat signals)" SIGINT
}

@test "terminal: Ctrl-C ends an ordinary command, 130, and the shell has its prompt" {
  terminal 'send=zkflock '"$LOCK"' sh -c "touch ready; exec sleep 1000"\n' \
    file=ready key=c 'send=echo status $?\n' 'expect=status 130'
}

@test "terminal: Ctrl-C ends a loop around zkflock too" {
  terminal 'send=for i in 1 2; do zkflock '"$LOCK"' sh -c "touch ready$i; exec sleep 1000"; done\n' \
    file=ready1 key=c 'send=echo d""one\n' expect=done
  assert_not_exist ready2
}

@test "terminal: Ctrl-C reaches a command that has left the process group, once" {
  terminal 'send=zkflock '"$LOCK"' timeout 100 sh -c "touch ready; exec sleep 1000"\n' \
    file=ready key=c 'send=echo status $?\n' 'expect=status 130'
}

@test "terminal: taken away from zkflock as the leader of its session, HUP ends the command" {
  cat >leader <<'EOF'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp("zkflock", ["zkflock", sys.argv[1], "sh", "-c", "touch ready; exec sleep 1000"])
while not os.path.exists("ready"):
    time.sleep(0.02)
os.close(fd)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
EOF
  run -0 timeout 20 python3 leader "$LOCK"
  assert_output 129
}

@test "a log that has reached the limit for files ends nothing" {
  run -7 bash -c 'ulimit -f 1; head -c 1024 /dev/zero >full; zkflock -v "$1" sh -c "exit 7" 2>>full' bash "$LOCK"
}

@test "terminal: signals that come while zkflock ends do not change its status" {
  cat >bombard <<'EOF'
for i in $(seq 40); do
  zkflock "$1" true &
  for j in $(seq 2000); do kill -WINCH $! || break; done 2>/dev/null
  wait $! || echo "failed with $?"
done
touch done
EOF
  PATIENCE=60 terminal "send=bash bombard $LOCK\n" file=done >session || { cat session; false; }
  refute grep failed session
}

@test "TSTP while waiting without a terminal stops zkflock, and CONT makes it go on" {
  hold "$LOCK" release
  # In a group of its own below a parent in the same session, as below a shell: the kernel does not stop
  # an orphaned group.
  setsid python3 -c 'import os, sys
pid = os.fork()
if pid == 0:
    os.setpgrp()
    os.execvp("zkflock", ["zkflock", "-v", sys.argv[1], "touch", "ran"])
print(pid, file=open("pid", "w"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$LOCK" 2>log 3>&- 4>&- &
  local parent=$!
  eventually contains log "waiting for"
  waiter=$(cat pid)
  kill -TSTP "$waiter"
  eventually in_state "$waiter" T
  kill -CONT "$waiter"
  eventually in_state "$waiter" S
  assert_not_exist ran
  touch release
  ends_with 0 "$parent"
  ends_with 0 "$holder"
  assert_exist ran
}

@test "terminal: Ctrl-C while waiting leaves the queue" {
  hold "$LOCK" release
  terminal 'send=zkflock -v '"$LOCK"' true\n' 'expect=waiting for' key=c \
    'send=echo status $?\n' 'expect=status 130'
  zk "$ONE" await-count "$LOCK" 1
  touch release
  wait "$holder"
}

# A command that waits for a line in the fifo "go", without a child: a shell that is stopped while
# it forks one does not stop, zkflock or not.
readonly waits='mkfifo go; echo >ready; read -r _ <go; exit 6'

@test "terminal: Ctrl-Z stops the job, fg goes on with it" {
  terminal "send=zkflock $LOCK sh -c '$waits'; echo status \$?\n" \
    file=ready key=z expect=Stopped 'send=jobs\n' expect=Stopped \
    'send=(echo >go) & fg %1; echo after $?\n' 'expect=after 6'
}

# As with fg in a shell that has not waited for zkflock to stop, because a script is in between.
@test "terminal: a job that is continued before zkflock has stopped with it does not stop" {
  terminal "send=zkflock $LOCK sh -c 'echo \$\$ >pid; $waits'; echo status \$?\n" \
    file=ready 'expect=status 6' >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -e ready
  group=$(ps -o pgid= -p "$(cat pid)" | tr -d ' ')
  keeper=$(children "$group" zkflock)
  kill -STOP "$keeper"
  kill -TSTP -- "-$group"
  eventually in_state "$(cat pid)" T
  kill -CONT -- "-$group"
  eventually in_state "$(cat pid)" S
  kill -CONT "$keeper"
  echo >go
  acted "$person"
  refute grep Stopped session
}

@test "terminal: the same while it waits" {
  hold "$LOCK" release
  terminal "send=zkflock $LOCK touch ran; echo status \$?\n" 'expect=status 0' >session 2>&1 3>&- 4>&- &
  person=$!
  zk "$ONE" await-count "$LOCK" 2
  zkflock=$(pgrep -o -f "^zkflock $LOCK touch ran")
  keeper=$(children "$zkflock" zkflock)
  kill -STOP "$keeper"
  for signal in TSTP CONT; do
    kill "-$signal" -- "-$zkflock"
    eventually took "$zkflock"
  done
  kill -CONT "$keeper"
  touch release
  acted "$person"
  assert_exist ran
  refute grep Stopped session
}

@test "terminal: a job that was stopped for longer than the lease still holds its lock" {
  PATIENCE=60 terminal "send=zkflock $LOCK sh -c '$waits'; echo status \$?\n" \
    file=ready key=z expect=Stopped touch=stopped file=long \
    'send=(echo >go) & fg %1; echo after $?\n' 'expect=after 6' >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -e stopped
  # The lease is 15 s; the proofs of life have to carry it on, and nobody else gets the lock.
  started=$SECONDS
  while [ $((SECONDS - started)) -lt 17 ]; do
    run -1 zkflock -q -w 1 "$LOCK" true
  done
  touch long
  acted "$person"
}

# changes_terminal OPTION...: starts a command that turns the echo off and ignores TERM; the person in
# $person.
changes_terminal() {
  rm -f ready before after over
  cat >echoless <<'END'
trap "" TERM
stty -echo
touch ready
while :; do sleep 0.05; done
END
  cat >job <<'END'
stty -g >before
zkflock "$@" sh echoless 2>log
stty -g >after
touch over
END
  terminal "send=sh job $* $LOCK\n" file=ready file=over >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -e ready
}

@test "terminal: when zkflock has killed the command, the settings are as before; else as the command leaves them" {
  changes_terminal --max-runtime 1 --kill-after 0.5
  acted "$person"
  assert_equal "$(cat after)" "$(cat before)"
  # A shell with a process group of its own in the foreground.
  cat >job <<'END'
stty -g >before
zkflock --max-runtime 1 --kill-after 0.5 "$1" bash --norc -i
stty -g >after
touch over
END
  rm -f over
  terminal "send=sh job $LOCK\n" file=over >session 2>&1 3>&- 4>&-
  assert_equal "$(cat after)" "$(cat before)"
  changes_terminal
  # The keeper is killed, and the guard kills the command.
  kill -KILL "$(children "$(pgrep -o -f "^zkflock $LOCK sh echoless")" zkflock)"
  acted "$person"
  assert_equal "$(cat after)" "$(cat before)"
  terminal "send=stty -g >before; zkflock $LOCK stty -echo; stty -g >after; touch over2\n" file=over2
  refute diff -q before after
}

@test "terminal: Ctrl-Z and bg, then the job ends in the background" {
  terminal "send=zkflock $LOCK sh -c '$waits'\n" \
    file=ready key=z expect=Stopped 'send=bg; echo >go; wait %1; echo ended $?\n' 'expect=ended 6'
}

@test "terminal: the command may read from it" {
  terminal 'send=zkflock '"$LOCK"' sh -c "read -r x; echo got \$x"\n' 'send=hello\n' \
    'expect=got hello'
}

@test "terminal: when it is taken away, HUP ends the command and the lock comes free" {
  terminal 'send=zkflock '"$LOCK"' sh -c "touch ready; exec sleep 1000"\n' file=ready hangup
  PATIENCE=5 eventually zkflock -n -q "$LOCK" true
}

@test "what the caller has ignored stays ignored while waiting too, as under nohup" {
  hold "$LOCK" release
  bash -c 'trap "" HUP; exec zkflock -v "$1" touch ran' bash "$LOCK" 2>log 3>&- 4>&- &
  waiter=$!
  eventually contains log "waiting for"
  kill -HUP "$waiter"
  touch release
  ends_with 0 "$waiter"
  assert_exist ran
}

@test "TERM at any moment of joining: the departure is counted" {
  zkflock "$LOCK" true
  for i in {1..150}; do
    zkflock "$LOCK" true 3>&- 4>&- &
    joining=$!
    sleep "0.0$(printf %02d $((i % 12)))"
    kill -TERM "$joining" || true
    wait "$joining" || true
  done
  zk "$ONE" await-count "$LOCK" 0
  read -r version cversion children _ < <(zk "$ONE" stat "$LOCK")
  assert_equal "$(((cversion + children) / 2 - children))" "$version"
}

@test "terminal: in a pid namespace that was entered from outside the command may read from it" {
  terminal 'send=unshare -Urpf --mount-proc zkflock '"$LOCK"' sh -c "read -r x; echo got \$x"\n' 'send=hello\n' \
    'expect=got hello'
}

@test "terminal: without /dev/tty Ctrl-Z stops the job, fg goes on with it" {
  echo 'mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && exec "$@"' >without
  terminal "send=unshare -m sh without bash --norc --noprofile --noediting -i\n" \
    "send=zkflock $LOCK sh -c '$waits'; echo status \$?\n" \
    file=ready key=z expect=Stopped 'send=jobs\n' expect=Stopped \
    'send=(echo >go) & fg %1; echo after $?\n' 'expect=after 6' 'send=exit\n'
}

@test "terminal: a --hold that was stopped while it waited goes on when its front is killed" {
  hold "$LOCK" release
  terminal "send=zkflock -v --hold $LOCK\n" 'expect=waiting for' key=z expect=Stopped file=killed \
    touch=looked 'expect= ' >session 2>&1 3>&- 4>&- &
  person=$!
  stopped() {
    for front in $(marked_processes); do
      keeper=$(children "$front" zkflock)
      [ -z "$keeper" ] || { in_state "$front" T && in_state "$keeper" T && return; }
    done
    return 1
  }
  eventually stopped
  kill -KILL "$front"
  eventually gone "$keeper"
  zk "$ONE" await-count "$LOCK" 1
  touch killed release
  wait "$person" "$holder" || true
}

@test "terminal: Ctrl-Z stops a command that has left the process group, with its own, fg goes on" {
  terminal "send=zkflock $LOCK timeout 100 sh -c 'echo \$\$ >pid; $waits'; echo status \$?\n" \
    file=ready key=z expect=Stopped touch=stopped file=looked 'send=jobs\n' expect=Stopped \
    'send=fg %1; echo after $?\n' 'expect=after 6' >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -e stopped
  eventually in_state "$(cat pid)" T
  touch looked
  eventually in_state "$(cat pid)" S
  # A signal that stops the command alone does not stop the job.
  command=$(ps -o ppid= -p "$(cat pid)" | tr -d ' ')
  kill -STOP "$command"
  eventually in_state "$command" T
  run -1 zkflock -n "$LOCK" true
  kill -CONT "$command"
  echo >go
  acted "$person"
  grep -q 'after 6' session
}

# What a command leaves behind: in a process group of its own, and stopped.
leaver() {
  cat >leaver <<'END'
#!/usr/bin/python3
import os, signal, time
def note(number, frame):
    with open("told", "a") as f:
        f.write(signal.Signals(number).name + "\n")
if os.fork() == 0:
    os.setpgid(0, 0)
    if os.fork() == 0:
        signal.signal(signal.SIGHUP, note)
        signal.signal(signal.SIGCONT, note)
        while os.getppid() == os.getpgrp(): # until it is an orphan
            time.sleep(0.02)
        with open("left.new", "w") as f:
            f.write(str(os.getpid()))
        os.rename("left.new", "left")
        while not os.path.exists("release"):
            time.sleep(0.02)
    os._exit(0)
os.wait()
while not os.path.exists("stopped"):
    time.sleep(0.02)
END
  chmod +x leaver
}

leave_stopped() { # stops what is left behind, and has the command end
  eventually test -s left
  kill -STOP "$(cat left)"
  eventually in_state "$(cat left)" T
  touch stopped
}

still_stopped() { # it has been told nothing, and ends
  assert in_state "$(cat left)" T
  touch release
  kill -CONT "$(cat left)"
  eventually gone "$(cat left)"
  refute grep -s HUP told
}

@test "what the command leaves behind stopped stays so when zkflock ends" {
  leaver
  background "$LOCK" ./leaver
  keeper=$!
  leave_stopped
  ends_with 0 "$keeper"
  still_stopped
}

@test "terminal: what the command leaves behind stopped stays so when zkflock and the shell end" {
  leaver
  terminal "send=zkflock $LOCK ./leaver; echo status \$?\n" 'expect=status 0' >session 2>&1 3>&- 4>&- &
  person=$!
  leave_stopped
  acted "$person"
  still_stopped
}

@test "terminal: what the command leaves behind stopped stays so when the terminal closes" {
  leaver
  terminal "send=zkflock $LOCK ./leaver\n" file=left file=stopped hangup >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -s left
  kill -STOP "$(cat left)"
  eventually in_state "$(cat left)" T
  touch stopped
  wait "$person"
  zk "$ONE" await-count "$LOCK" 0
  still_stopped
}

# once NAME COMMAND...: fail unless the command records once what COMMAND sends, and once a signal that
# then goes to zkflock, $zkflock, alone.
once() {
  : >signals
  "${@:2}"
  eventually contains signals "SIG$1"
  kill -WINCH "$zkflock"
  eventually contains signals SIGWINCH
  assert_equal "$(sort signals | tr '\n' ' ')" "SIG$1 SIGWINCH "
}

# As a service manager does: the main process first, then all others, one by one.
one_by_one() { # one_by_one NAME
  # shellcheck disable=SC2086 # a list of pids
  kill "-$1" "$zkflock" $others
}

# As timeout(1) does: zkflock first, and when it has taken that one, all of its group.  At once, be
# the machine as busy as it may.
together() { # together NAME
  cat >sender <<'EOF'
import os, signal, sys, time
number, zkflock = signal.Signals["SIG" + sys.argv[1]], int(sys.argv[2])
os.kill(zkflock, number)
while any(line.startswith("ShdPnd:") and int(line[7:], 16) for line in open(f"/proc/{zkflock}/status")):
    time.sleep(0.001)
os.killpg(zkflock, number)
EOF
  chrt --fifo 1 python3 sender "$1" "$zkflock" || python3 sender "$1" "$zkflock"
}

@test "a signal to the process group, or to each process, reaches the command once" {
  recorder
  background "$LOCK" ./recorder
  zkflock=$!
  eventually test -e ready
  for name in TERM HUP USR1 USR2 ALRM CONT; do
    once "$name" kill "-$name" -- "-$zkflock"
  done
  others=$(marked_processes | grep -vx "$zkflock")
  for name in TERM HUP USR1; do
    once "$name" one_by_one "$name"
  done
  # One to zkflock alone is not taken for an echo of those before.
  once TERM kill -TERM "$zkflock"
  once TERM kill -TERM "$zkflock"
  touch enough
  ends_with 0 "$zkflock"
}

@test "a signal to zkflock and, together with it, to its process group reaches the command once" {
  recorder
  background "$LOCK" ./recorder
  zkflock=$!
  eventually test -e ready
  for name in TERM HUP USR1; do
    once "$name" together "$name"
  done
  touch enough
  ends_with 0 "$zkflock"
}

# True if the command got a signal once that a slow sender sent to zkflock, to the witness, and to all others.
once_though_late() { # once_though_late NAME
  : >signals
  kill "-$1" "$zkflock"
  pause 0.02 # the witness waits for 0.1 s, which a busy machine may exceed
  kill "-$1" "$witness"
  pause 0.02
  # shellcheck disable=SC2086 # a list of pids
  kill "-$1" $others
  kill -WINCH "$zkflock"
  eventually contains signals SIGWINCH
  [ "$(sort signals | tr '\n' ' ')" = "SIG$1 SIGWINCH " ]
}

@test "a signal that zkflock and others of its group get one after the other reaches the command once" {
  recorder
  background "$LOCK" ./recorder
  zkflock=$!
  eventually test -e ready
  witness=$(children "$zkflock" lock-witness)
  others=$(marked_processes | grep -vx -e "$zkflock" -e "$witness")
  # The witness remembers for 1 s what it has seen: each try with another signal, or later.
  one_was_in_time() { once_though_late TERM || once_though_late HUP || { pause 1.1 && false; }; }
  eventually one_was_in_time
  touch enough
  ends_with 0 "$zkflock"
}

@test "a signal that the group got before there was a command is not taken for one that it got" {
  recorder
  hold "$LOCK" end
  wait_in_line log "$LOCK" ./recorder
  zkflock=$waiter
  kill -CONT -- "-$zkflock"
  until took "$zkflock"; do :; done
  touch end
  eventually test -e ready
  # Within the second in which the two could be the same one.
  kill -CONT "$zkflock"
  eventually test -s signals
  touch enough
  ends_with 0 "$zkflock"
  ends_with 0 "$holder"
  assert_equal "$(cat signals)" SIGCONT
}

@test "an alarm that the caller has set before it executed zkflock reaches the command" {
  recorder
  setsid python3 -c 'import os, signal, sys
signal.alarm(2); os.execvp("zkflock", ["zkflock"] + sys.argv[1:])' "$LOCK" ./recorder 3>&- 4>&- &
  zkflock=$!
  eventually contains signals SIGALRM
  touch enough
  ends_with 0 "$zkflock"
  assert_equal "$(cat signals)" SIGALRM
}

@test "a signal to the process group reaches a command that has left the group, through zkflock" {
  recorder
  background "$LOCK" python3 -c 'import os; os.setpgid(0, 0); os.execv("./recorder", ["recorder"])'
  zkflock=$!
  eventually test -e ready
  for name in TERM HUP USR1; do
    once "$name" kill "-$name" -- "-$zkflock"
  done
  touch enough
  ends_with 0 "$zkflock"
}

@test "terminal: kill of the job reaches the command once" {
  recorder
  terminal "send=zkflock $LOCK ./recorder & echo \$! >pid\n" file=ready 'send=kill %1\n' file=signals \
    'send=kill -WINCH $(cat pid)\n' file=winched touch=enough 'send=wait %1; echo status $?\n' \
    'expect=status 0' >session 2>&1 3>&- 4>&- &
  person=$!
  eventually contains signals SIGWINCH
  touch winched
  acted "$person"
  assert_equal "$(sort signals | tr '\n' ' ')" "SIGTERM SIGWINCH "
}
