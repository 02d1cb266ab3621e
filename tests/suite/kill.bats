# Ending a command's tree on machines that make it hard.

load helper
load beating
load hold

# Delayed requests may keep the session alive.
teardown() { common_teardown 10; }

# The system calls, whose numbers are the same everywhere.
readonly PIDFD_OPEN=434 PIDFD_SEND_SIGNAL=424

# A command that leaves a daemon behind another process, both of which ignore TERM.
stubborn() {
  cat >stubborn <<'END'
#!/bin/sh
trap '' TERM
setsid sh -c 'sh -c "echo \$\$ >daemon; exec sleep 1000" & wait' &
echo $$ >command
wait
END
  chmod +x stubborn
}

# loses ARG...: fail unless a lost lock leaves nothing of the command alive, and a message says so.
loses() {
  rm -f daemon command log
  setsid "$@" zkflock -v --lease 4 --kill-after 0.1 "$LOCK" ./stubborn 2>log 3>&- 4>&- &
  eventually test -s daemon -a -s command
  lose
  eventually contains log "nothing of ./stubborn is left"
  ends_with 75 $!
  refute grep "after the lease ended" log
  assert gone "$(cat daemon)"
}

@test "without pidfds, as under an old container run time, descendants are killed all the same" {
  stubborn
  loses refuse EPERM "$PIDFD_OPEN"
  loses refuse EPERM "$PIDFD_SEND_SIGNAL"
  loses refuse ENOSYS "$PIDFD_OPEN,$PIDFD_SEND_SIGNAL"
}

@test "without pidfds what uses the lock from outside of the tree is killed all the same" {
  for refused in "$PIDFD_SEND_SIGNAL" "$PIDFD_OPEN,$PIDFD_SEND_SIGNAL"; do
    rm -f held inside
    setsid refuse EPERM "$refused" \
      zkflock -v --lease 4 "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e release ]; do sleep 0.05; done' \
      2>log 3>&- 4>&- &
    outer=$!
    eventually test -s held
    # Neither it nor its children are descendants; when it has ended nobody reaps it.
    ZKFLOCK_HELD=$(cat held) setsid sh -c 'zkflock "$@" & exec sleep 1000' sh "$LOCK" sh -c \
      'trap "" TERM; echo $$ >inside; until [ -e release ]; do sleep 0.05; done' 2>inner.log 3>&- 4>&- &
    parent=$!
    eventually test -s inside
    lose
    PATIENCE=10 eventually gone "$(cat inside)"
    PATIENCE=10 eventually gone "$outer"
    ends_with 75 "$outer"
    kill "$parent"
    ends_with 143 "$parent"
  done
}

# The programs "hide NAME seen|unseen", which nobody may trace, with another one below, and "seen".
hiders() {
  cat >hide <<'END'
import ctypes, os, signal, subprocess, sys, time
name, below = sys.argv[1:]
signal.signal(signal.SIGTERM, lambda number, frame: open(name + ".told", "w").close())
ctypes.CDLL(None).prctl(4, 0) # PR_SET_DUMPABLE: nobody may trace it
if below == "seen":
    subprocess.Popen(["sh", "seen", name + ".below"])
elif os.fork() == 0:
    name += ".below"
open(name, "w").close()
while True:
    time.sleep(1000)
END
  echo 'trap "touch $1.told" TERM; touch $1; while :; do sleep 0.05; done' >seen
}

@test "a /proc that hides processes: what it hides is signalled and killed all the same" {
  hiders
  in_hiding zkflock -v --lease 4 "$LOCK" sh -c 'trap "" TERM
    python3 hide one seen & setsid python3 hide two unseen & (setsid python3 hide three seen &)
    wait; wait' 2>log 3>&- 4>&- &
  eventually test -e one -a -e one.below -a -e two -a -e two.below -a -e three
  lose
  eventually contains log "nothing of sh is left"
  ends_with 75 $!
  assert_exist one.told
  assert_exist two.told
  assert_exist one.below.told
  assert_exist three.told # the guard's child: its parent has ended
}

@test "--hold: a /proc that hides processes: what it hides is signalled and killed all the same" {
  hiders
  cat >script <<'END'
zkflock --hold --lease 4 --for $$ "$1" 2>log
trap "" TERM
python3 hide one seen &
touch held
exec sleep 1000
END
  in_hiding bash -c 'bash script "$1"; until [ -e end ]; do sleep 0.05; done' bash "$LOCK" 3>&- 4>&- &
  first=$!
  eventually test -e held -a -e one -a -e one.below
  lose
  eventually contains log "was sent SIGTERM, then killed"
  assert_exist one.told
  assert_exist one.below.told
  # The end of the namespace would end it, too.
  hidden() { ps -o args= -p "$(marked_processes | tr '\n' ,)0" | grep -e "hide one" -e "seen one"; }
  run -1 hidden
  touch end
  ends_with 0 "$first"
}

@test "where /proc has gone, the command itself is signalled and killed all the same" {
  for ignored in TERM USR1; do
    # A sanitizer's search for leaks needs /proc.
    ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 setsid unshare --mount --propagation private \
      zkflock -v --lease 4 "$LOCK" sh -c \
      "trap '' $ignored; echo \$\$ >command; exec sleep 1000" 2>log 3>&- 4>&- &
    keeper=$!
    eventually test -s command
    nsenter --target "$keeper" --mount umount --lazy /proc
    lose
    ends_with 75 "$keeper"
    assert gone "$(cat command)"
    mv log "log.$ignored"
    rm command
  done
  assert_file_contains log.TERM "sh was sent SIGTERM, then killed"
  assert_file_contains log.USR1 "sh was sent SIGTERM and ended"
}

@test "a guard without a free descriptor signals all descendants" {
  echo 'trap "touch told; exit" TERM; echo >ready; while :; do sleep 0.05; done' >below
  background --lease 60 --kill-after 5 "$LOCK" sh -c 'sh below & wait' 2>log
  keeper=$!
  eventually test -s ready
  guard=$(children "$keeper" lock-guard)
  free=0
  while [ -e "/proc/$guard/fd/$free" ]; do free=$((free + 1)); done
  prlimit --pid "$guard" --nofile="$free:$free"
  lose
  eventually test -e told
  ends_with 75 "$keeper"
}

@test "a descendant whose pid is lower than its parent's gets the first signal" {
  # Both outlive the first signal: an orphan would be found as a child of the guard.
  echo 'trap : TERM; sh high & until [ -e told ]; do sleep 0.05; done' >top
  cat >high <<'END'
trap : TERM
echo 300 >/proc/sys/kernel/ns_last_pid
sh low &
echo "$$ $!" >numbers
until [ -e told ]; do sleep 0.05; done
END
  echo 'trap "touch told; exit" TERM; echo >ready; while :; do sleep 0.05; done' >low
  setsid unshare -Urpf --mount-proc sh -c 'echo 1000 >/proc/sys/kernel/ns_last_pid
    zkflock --lease 60 --kill-after 5 "$0" sh top' "$LOCK" 2>log 3>&- 4>&- &
  world=$!
  eventually test -s ready -a -s numbers
  read -r high low <numbers
  assert [ "$low" -lt "$high" ]
  lose
  eventually test -e told
  ends_with 75 "$world"
}

@test "12,000 processes are killed within a lease of a minute, however busy the host" {
  "${CC:-cc}" -O2 -o crowd-command "$TESTS_DIR/tools/crowd.c"
  background -v --lease 60 --kill-after 3 "$LOCK" ./crowd-command 12000 2>log
  PATIENCE=300 eventually test -e crowd
  lose
  ends_with 75 $!
  run -0 cat log
  assert_output --partial "./crowd-command was sent SIGTERM, then killed"
  assert_line --regexp "nothing of ./crowd-command is left, [0-9.]+ s before the lease ended"
}

# survives_pkill PATTERN_OPTION...: a pkill(1) that kills zkflock and the command leaves a guard, which
# ends the rest and releases the lock.
survives_pkill() {
  rm -f daemon
  background --session-timeout 20 --hook true "$LOCK" ./"$name-job" 2>log
  holder=$!
  eventually test -s daemon
  pkill -KILL --session "$holder" "$@"
  eventually gone "$(cat daemon)"
  # Long before the session would have expired.
  PATIENCE=10 eventually zkflock -n -q "$LOCK" true
  wait "$holder" || true
  run -0 zk "$ONE" stat "$LOCK"
  read -r version cversion _ <<<"$output"
  assert_equal "$cversion" "$((2 * version))"
}

@test "pkill -9 -f by the command's or the lock's name leaves nothing of the tree" {
  name=n$$-$RANDOM
  LOCK=$LOCK/$name-lock
  echo 'setsid -f sh -c "echo \$\$ >daemon; exec sleep 1000"; sleep 1000; :' >"$name-job"
  chmod +x "$name-job"
  sed -i '1i #!/bin/sh' "$name-job"
  survives_pkill -f "$name-job"
  survives_pkill -f "$name"
  survives_pkill -f zkflock
  survives_pkill zkflock
}

@test "guard and hook runner show no word of the command line, nor their environment" {
  background --hook true "$LOCK" sh -c 'echo >ready; exec sleep 1000 # a-word'
  keeper=$!
  eventually test -s ready
  for name in lock-guard lock-hook; do
    assert_equal "$(tr -d '\0' <"/proc/$(children "$keeper" $name)/cmdline")" "$name"
  done
  assert_equal "$(tr '\0' ' ' <"/proc/$keeper/cmdline")" "zkflock --hook true $LOCK sh -c echo >ready; exec sleep 1000 # a-word "
  kill -TERM "$keeper"
  ends_with 143 "$keeper"
}

@test "terminal: pkill -9 -f by the command's name leaves nothing of the tree" {
  name=n$$-$RANDOM
  echo 'setsid -f sh -c "echo \$\$ >daemon; exec sleep 1000"; sleep 1000; :' >"$name-job"
  echo "zkflock $LOCK sh $name-job" >line # the person's own command line has no such word
  terminal 'send=. ./line\n' file=daemon file=killed 'send=echo d""one\n' expect=done >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -s daemon
  pkill -KILL -f "$name-job"
  touch killed
  acted "$person"
  eventually gone "$(cat daemon)"
  zk "$ONE" await-count "$LOCK" 0
  run -0 timeout 10 zkflock -n "$LOCK" true
}

# beside_zkflock PROGRAM: compile PROGRAM.c to a program that is root's whoever starts it, in $place
# with zkflock; go there, where anybody may write.
beside_zkflock() {
  place=$(mktemp -d)
  "${CC:-cc}" -D_GNU_SOURCE -O2 -o "$place/$1" "$1.c"
  cp "$ZKFLOCK_BUILD/zkflock" "$place"
  chmod 4755 "$place/$1"
  chmod 777 "$place"
  cd "$place" || return 1
}

# as_nobody ARG...: run that command in the background; its pid in $nobody.
as_nobody() {
  PATH=$place:$PATH setsid setpriv --reuid 65534 --clear-groups "$@" 2>"$BATS_TEST_TMPDIR/log" 3>&- 4>&- &
  nobody=$!
}

# becoming: make a program that becomes root's for good, as sudo does, and goes on until the file
# "release" exists; and starts another one, which stays its user's and writes the time to "beats", and
# one more, with its pid in "late", when the file "again" exists.
becoming() {
  cat >become.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void beat(void)
{
    struct timespec now;
    FILE *beats = fopen("beats", "a");
    clock_gettime(CLOCK_BOOTTIME, &now);
    fprintf(beats, "%ld.%02ld 0\n", (long)now.tv_sec, now.tv_nsec / 10000000);
    fclose(beats);
    usleep(20000);
}
static int late(void)
{
    if (setuid(65534) < 0 || dprintf(creat("late", 0644), "%d\n", getpid()) < 0)
        return 1;
    for (;;)
        pause();
}
int main(void)
{
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) {
        while (setresuid(getuid(), getuid(), getuid()) == 0)
            beat();
        return 1;
    }
    if (setuid(0) < 0 || creat("became", 0600) < 0)
        return 1;
    while (access("release", F_OK) < 0) {
        if (unlink("again") == 0 && fork() == 0)
            return late();
        usleep(20000);
    }
    return 0;
}
END
  beside_zkflock become
}

# unkillable ARG...: zkflock ARG... as somebody whose command has started such a program.  Pids in
# $keeper, $guard, $pid and, of the other one, $below.
unkillable() {
  becoming
  as_nobody ./zkflock -v "$@" "$LOCK" sh -c './become & wait; wait'
  keeper=$nobody
  eventually test -e became -a -s beats
  guard=$(children "$keeper" lock-guard)
  pid=$(pgrep -x become --session "$keeper" --uid 0)
  below=$(children "$pid" become)
}

@test "a process that cannot be killed is named when the lease has ended, and all others are dead by then" {
  listen
  unkillable -z "$VIA" --lease 4 --session-timeout 5
  echo "$below" >"command"
  kill -STOP "$proxy_pid"
  dead_by $(($(cd "$BATS_TEST_TMPDIR" && last_proof) + 4000))
  eventually contains "$BATS_TEST_TMPDIR/log" "process $pid (uid 0), which sh has started, cannot be killed: $LOCK may have its next holder now, at the same time"
  touch release
  # An answer to a proof that was under way would prolong the lease.
  eventually contains "$BATS_TEST_TMPDIR/log" "nothing of sh is left, but only "
  kill -CONT "$proxy_pid"
  ends_with 75 "$keeper"
  assert_equal "$(grep -c "cannot be killed" "$BATS_TEST_TMPDIR/log")" 1
  close_proxy
  rm -r "$place"
}

@test "a process that cannot be killed while there is contact is named, too, and the lock is not given back" {
  unkillable --lease 3.5
  kill -KILL "$guard"
  eventually contains "$BATS_TEST_TMPDIR/log" "process $pid (uid 0), which sh has started, cannot be killed: $LOCK is not released before it has ended"
  assert gone "$below"
  run -1 zkflock -n "$LOCK" true
  touch release
  ends_with 70 "$keeper"
  rm -r "$place"
}

@test "a process that cannot be killed, for which a zkflock inside used the lock: it is named, and the lock is not given back" {
  becoming
  as_nobody ./zkflock -v --lease 3.5 "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; exec sleep 1000'
  keeper=$nobody
  eventually test -s held
  ZKFLOCK_HELD=$(cat held) setsid setpriv --reuid 65534 --clear-groups ./zkflock -F "$LOCK" ./become 3>&- 4>&- &
  pid=$!
  eventually test -e became
  kill -KILL "$(children "$keeper" lock-guard)"
  eventually contains "$BATS_TEST_TMPDIR/log" "process $pid (uid 0) cannot be killed: $LOCK is not released before it has ended"
  run -1 zkflock -n "$LOCK" true
  touch release
  ends_with 70 "$keeper"
  rm -r "$place"
}

@test "--hold: a script that cannot be killed at once keeps its lock until it has ended, no longer" {
  becoming
  as_nobody sh -c 'zkflock --hold --lease 4 --for $$ "$1" && exec become' sh "$LOCK"
  eventually test -e became -a -s beats
  below=$(children "$nobody" become)
  kill -KILL "$(children "$(keeper_of_hold)" lock-guard)"
  eventually gone "$below"
  eventually contains "$BATS_TEST_TMPDIR/log" "process $nobody (uid 0) cannot be killed: $LOCK is not released before it has ended"
  run -1 zkflock -w 1 "$LOCK" true
  touch release
  ends_with 0 "$nobody"
  PATIENCE=10 eventually is_free "$LOCK"
  rm -r "$place"
}

@test "processes each of which can be killed only a while after the one before: all are within the lease" {
  cat >chain.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
    uid_t user = getuid();
    int before = -1, ends[2];
    signal(SIGTERM, SIG_IGN);
    if (setuid(0) < 0)
        return 1;
    for (int i = 0; i < 22 && pipe(ends) == 0 && fork() == 0; i++) {
        close(ends[1]);
        before = ends[0];
        if (i == 21)
            creat("became", 0600);
    }
    if (before >= 0 && read(before, ends, 1) == 0)
        usleep(30000);
    if (setresuid(user, user, user) < 0)
        return 1;
    for (;;)
        pause();
}
END
  beside_zkflock chain
  as_nobody ./zkflock -v --lease 4 --kill-after 0.1 "$LOCK" ./chain
  eventually test -e became
  lose
  ends_with 75 "$nobody"
  assert grep "nothing of ./chain is left, .* before the lease ended" "$BATS_TEST_TMPDIR/log"
  rm -r "$place"
}

@test "a process that cannot be killed at once: the guard of a killed keeper waits for its end" {
  unkillable --session-timeout 30
  kill -KILL "$keeper"
  # KILL has been sent; root's process lives on, so nobody else gets the lock.
  eventually gone "$below"
  run -1 zkflock -q -w 1 "$LOCK" true
  # A process that starts meanwhile is killed too.
  touch again
  eventually test -s late
  eventually gone "$(cat late)"
  refute gone "$pid"
  refute gone "$guard"
  touch release
  eventually gone "$guard"
  run -0 zkflock -v "$LOCK" echo ran
  assert_output --partial ran
  refute_output --partial vanished
  rm -r "$place"
}

@test "a process that cannot be killed is named by the guard of a killed keeper, when the lease has ended" {
  unkillable --lease 4 --session-timeout 4
  kill -KILL "$keeper"
  eventually contains "$BATS_TEST_TMPDIR/log" "process $pid (uid 0), which sh has started, cannot be killed: $LOCK may have its next holder now, at the same time"
  assert gone "$below"
  refute gone "$pid"
  # It says so once, however often it tries again.
  turns() { sed -n 's/^voluntary_ctxt_switches:\s*//p' "/proc/$guard/status"; }
  before=$(turns)
  has_tried_again() { [ "$(turns)" -ge $((before + 4)) ]; }
  eventually has_tried_again
  touch release
  eventually gone "$guard"
  assert_equal "$(grep -c "cannot be killed" "$BATS_TEST_TMPDIR/log")" 1
  rm -r "$place"
}
