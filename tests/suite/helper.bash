# Loaded by every test file.  Each test gets a lock of its own, $LOCK, on the standalone server,
# and ends by showing that no process and no contender is left.

bats_require_minimum_version 1.8.0
# Not by bats_load_library, which starts 17 processes; each test loads this file anew.
IFS=: read -ra places <<<"${BATS_LIB_PATH:-/usr/lib/bats}"
for place in "${places[@]}"; do
  for part in "$place"/bats-{support,assert,file}/src/*.bash; do
    # shellcheck source=/dev/null
    [ ! -e "$part" ] || source "$part"
  done
done

TESTS_DIR=${BATS_TEST_DIRNAME%/*}
# Debian's commands come before a user's own, such as a python3 that is a slow script and lacks kazoo.
PATH=${ZKFLOCK_BUILD:?set by tests/check}:$TESTS_DIR/tools:/usr/bin:$PATH
# A pattern for times in messages, which have a date unless it is today's.
TIME_OF_DAY='([0-9-]{10} )?[0-9:]{8}'

common_setup() {
  read -r ONE <"$SUITE_DIR/one/servers"
  export ZKFLOCK_SERVERS=$ONE
  export SHELL=/bin/sh
  # No config file of whoever runs the tests.
  export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/xdg
  LOCK=${BATS_TEST_FILENAME##*/}
  LOCK=/t/${LOCK%.bats}/$BATS_TEST_NUMBER
  # Every process that a test starts has this mark in its environment.
  export ZKFLOCK_TEST_MARK=mark-$$-$LOCK
  # For tests/check, which ends a test that hangs.
  echo "$$ $ZKFLOCK_TEST_MARK $BATS_TEST_DESCRIPTION" >"$SUITE_DIR/running"
  cd "$BATS_TEST_TMPDIR" || return 1
}

setup() { common_setup; }

# need_three: sets THREE, an ensemble of three, which the lane keeps from its first use on.  Starting one
# for each lane would take a quarter of a minute of all processors.
need_three() {
  [ -e "$SUITE_DIR/three/servers" ] ||
    env -u ZKFLOCK_TEST_MARK "$TESTS_DIR/ensemble" start "$SUITE_DIR/three" 3
  THREE=$(cat "$SUITE_DIR/three/servers")
}

# A test that fails may leave subshells behind that wait for what it has not done any more.  They
# keep the pipe open that bats reads to its end.  A script that the test has started has the mark.
end_subshells() {
  local pid comm
  for pid in $(jobs -rp); do
    read -r comm <"/proc/$pid/comm"
    if [ "$comm" = bash ] && ! is_marked "$pid"; then kill -KILL "$pid"; fi
  done 2>/dev/null || true
}

# figure KEY: prints a number that the standalone server reports about itself.
figure() { command figure "$ONE" "$1" 2>/dev/null; }

# has_watches N: true if N watches are set at the standalone server.
has_watches() { [ "$(figure zk_watch_count)" -eq "$1" ]; }

# common_teardown [SECONDS]: fail if a process runs, or a contender is left after that time.
# shellcheck disable=SC2120 # failover gives it more time
common_teardown() {
  local left
  end_subshells
  left=$(await_no_process 5) || fail "processes are left: $left" || return 1
  [ "$(figure zk_ephemerals_count)" = 0 ] || left=$(zk "$ONE" leftovers "${1:-5}") || fail "contenders are left: $left" || return 1
}

# shellcheck disable=SC2119
teardown() { common_teardown; }

is_marked() { grep -qsz "^ZKFLOCK_TEST_MARK=" "/proc/$1/environ"; } # is_marked PID

# Prints the pids of all processes that this test started.  The shells of the test itself do not
# have the mark: they began before it was set.
marked_processes() {
  local environ
  # shellcheck disable=SC2013 # a path has no blanks
  for environ in $(grep -lsz "^ZKFLOCK_TEST_MARK=$ZKFLOCK_TEST_MARK\$" /proc/[0-9]*/environ); do
    # This grep finds itself too, and has ended.
    [ ! -e "$environ" ] || echo "${environ//[!0-9]/}"
  done
}

await_no_process() { # await_no_process SECONDS
  local deadline=$((SECONDS + $1)) pids
  while pids=$(marked_processes) && [ -n "$pids" ]; do
    if [ "$SECONDS" -gt "$deadline" ]; then
      # shellcheck disable=SC2086 # a list of pids
      ps -o pid,ppid,stat,args -p $pids
      # shellcheck disable=SC2086
      kill -KILL $pids
      return 1
    fi
    pause 0.02
  done
}

# pause SECONDS: a sleep(1) without a process: nobody writes into that pipe, which tests/check has made.
pause() { read -rt "$1" _ <>"$SUITE_DIR/pause" || true; }

# delay GUARD: it takes in each message of its keeper, and that one's end, 0.4 s later.
delay() {
  strace -qq -o calls -e trace=recvmsg -e inject=recvmsg:delay_enter=400000 -p "$1" 3>&- 4>&- &
  eventually grep -q '^TracerPid:.*[1-9]' "/proc/$1/status"
}

# The sanitizer cannot look for leaks in a process that is traced, or can start no other.
without_leak_search() { export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0; }

# in_hiding ARG...: where /proc hides processes that may not be traced, and zkflock may trace only its own.
in_hiding() {
  unshare -Urpfm --kill-child bash -c 'mount -t proc -o hidepid=4 none /proc &&
    setpriv --bounding-set=-all --inh-caps=-all "$@" || exit' bash "$@"
}

# Polls until the command succeeds; fails after 20 s, or after $PATIENCE.
eventually() {
  local deadline=$((SECONDS + ${PATIENCE:-20})) between=0.02 tries=0
  until "$@"; do
    [ "$SECONDS" -le "$deadline" ] || fail "did not come true in time: $*"
    pause "$between"
    tries=$((tries + 1))
    [ "$tries" -lt 25 ] || between=0.1
  done
}

# contains FILE TEXT
contains() {
  local text=
  read -rd '' text 2>/dev/null <"$1" || true
  [[ $text == *"$2"* ]]
}
# lacks FILE TEXT: false, too, if there is no such file.
lacks() { [ -e "$1" ] && ! contains "$@"; }
lines() { [ "$(wc -l <"$1")" -eq "$2" ]; } # lines FILE N
# gone PID: true of a zombie too, but not if there is no PID.
gone() {
  local status=
  [ -n "$1" ] || return 1
  # Reads to the end: bash would put back what it read too much, which fails if the process ends meanwhile.
  read -rd '' status 2>/dev/null <"/proc/$1/status" || true
  [[ $status != *State:$'\t'[!ZX]* ]]
}
# took PID: true if that process has taken all signals that were sent to it; without a fork, for a loop
# after which the next one follows at once.
took() {
  local field value
  while read -r field value; do
    if [ "$field" = ShdPnd: ]; then [[ ! $value =~ [1-9a-f] ]] && return 0; fi
  done <"/proc/$1/status"
  return 1
}
in_state() { [ "$(ps -o state= -p "$1")" = "$2" ]; } # in_state PID LETTER

# now prints the time in ms of CLOCK_BOOTTIME, which zkflock uses; when FILE prints the time that a
# command wrote with `cat /proc/uptime`.
now() { when /proc/uptime; }
past() { [ "$(now)" -gt "$1" ]; } # past MS: true after that time
when() { # when FILE
  local seconds
  read -r seconds _ <"$1"
  echo "${seconds/./}0"
}

# later_by MS EARLIER LATER: fail if less than MS passed between the two.
later_by() { [ $(($3 - $2)) -ge "$1" ] || fail "$(($3 - $2)) ms later, not $1"; }

# within MS EARLIER LATER: fail if more than MS passed between the two.
within() { [ $(($3 - $2)) -le "$1" ] || fail "$(($3 - $2)) ms later, not $1 at the most"; }

# Runs zkflock in the background, without a terminal and with bats' own descriptors closed; its pid
# in $!.
background() {
  setsid zkflock "$@" 3>&- 4>&- &
}

# hold LOCK FILE [OPTION]...: takes the lock in the background and holds it until FILE is made; pid in
# $holder.
hold() {
  rm -f "$2.held"
  background "${@:3}" "$1" sh -c 'touch "$1.held"; until [ -e "$1" ]; do sleep 0.05; done' hold "$2"
  holder=$!
  eventually test -e "$2.held"
}

# wait_in_line LOG ARG...: a zkflock in the background that waits in the queue; pid in $waiter.
wait_in_line() {
  local log=$1
  shift
  background -v "$@" 2>"$log"
  waiter=$!
  eventually contains "$log" "waiting for"
}

# Contenders of other clients; until `others_end`.
others() { # others PATH PREFIX N [DATA]
  coproc OTHERS { exec zk "$ONE" contend "$@" 3>&-; }
  others_pid=$OTHERS_PID
  read -r -u "${OTHERS[0]}" _
}

others_end() {
  eval "exec ${OTHERS[1]}>&-"
  wait "$others_pid"
}

# stood_in PATH N: N contenders of other clients come to a znode and go.
stood_in() {
  local before
  before=$(zk "$ONE" ls "$1" | wc -l)
  zk "$ONE" contend "$1" x- "$2" </dev/null
  zk "$ONE" await-count "$1" "$before"
}

# make_without_record PATH [N]: a lock's znode as other clients make it; N of them, or one, have left it.
make_without_record() {
  zk "$ONE" create "$1"
  stood_in "$1" "${2:-1}"
}

# lose: takes the lock away from the only contender.
lose() { zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK")"; }

# children PID NAME: those of that process with that name.
children() { pgrep -P "$1" -x "$2" || true; }

# family PID: prints the front, the keeper and the guard of that zkflock.
family() {
  local keeper
  keeper=$(children "$1" zkflock)
  echo "$1 $keeper $(children "${keeper:-$1}" lock-guard)"
}

# other_guard PID: the guard of another keeper than that.
other_guard() {
  # shellcheck disable=SC2046 # pids
  ps -o pid=,ppid=,comm= -p $(marked_processes) | awk -v not="$1" '$3 == "lock-guard" && $2 != not { print $1 }'
}

# asks_outer [PID]: true if somebody has connected to the zkflock whose $ZKFLOCK_HELD is in the file
# "held".  That may be any zkflock of another suite that looks for a hold.  With PID: true if that
# process waits for the answer, too, which is the first poll(2) of a zkflock.
asks_outer() {
  local waits=
  [ "$(grep -c "@zkflock-$(cat held)$" /proc/net/unix)" -ge 2 ] || return 1
  [ $# -gt 0 ] || return 0
  read -r waits <"/proc/$1/wchan" || true # without an end of line
  [[ $waits == *poll* ]]
}

# crash PID: kills these together, as when a host crashes.  A stopped process does not see the others
# die and cannot release the lock.  The guard is first: the end of its parent would continue it.
crash() {
  local pids
  read -r -a pids <<<"$(family "$1")"
  kill -STOP "${pids[@]}"
  # shellcheck disable=SC2046 # pids
  kill -KILL $(printf '%s\n' "${pids[@]}" | tac)
}

# open_proxy [ARG...]: start tests/tools/proxy with these arguments, by default one that passes
# everything; address in $VIA, pid in $proxy_pid.  It has a session of its own, because the kernel
# sends HUP to orphaned process groups with a stopped member.
open_proxy() {
  [ $# -gt 0 ] || set -- none 0
  coproc PROXY { exec setsid proxy "$ONE" "$@" 3>&-; }
  proxy_pid=$PROXY_PID
  read -r -u "${PROXY[0]}" port
  VIA=127.0.0.1:$port
}

close_proxy() {
  kill -CONT "$proxy_pid"
  eval "exec ${PROXY[1]}>&-"
  wait "$proxy_pid" || true
  proxy_pid=
}

# listen [ARG...]: the same, and log the messages to "frames".
listen() {
  PROXY_LOG=$BATS_TEST_TMPDIR/frames open_proxy "$@"
}

# asked_for STEP [TIMES]: true if zkflock took that step of tests/model/requests for $LOCK; on
# connection $BY, if that is set.  If not, it fails after 0.1 s: a loop around it starts a Python for
# each look.
asked_for() {
  [ "$(steps frames "$LOCK" ${BY:+"$BY"} | grep -cx "$1")" -ge "${2:-1}" ] && return
  sleep 0.1
  return 1
}

# proved_early: true if a proof was answered; if nobody holds the lock through the proxy, one that was
# sent ahead of time.
proved_early() {
  [ "$(steps frames "$LOCK" -t PROOF ANNOUNCE | grep -cv -e '-$')" -gt 0 ] && return
  sleep 0.1
  return 1
}

# let_pass: the proxy passes the message that it holds.
let_pass() { echo >&"${PROXY[1]}"; }

# await_cut SECONDS: set $cut to "cut" if the proxy strikes in that time, else to nothing.
await_cut() {
  cut=
  read -r -t "$1" -u "${PROXY[0]}" cut || true
}

proxy_strikes() {
  await_cut 20
  assert_equal "$cut" cut
}

nothing_left_of() { # nothing_left_of LOCK
  run -0 zk "$ONE" ls "$1"
  assert_output ""
}

# refuses STATUS SENTENCE ARG...: fails unless zkflock ARG... exits with STATUS, prints SENTENCE first
# and does not run a command that makes the file "ran".
refuses() {
  local status=$1 sentence=$2
  shift 2
  run -"$status" timeout 10 zkflock "$@"
  assert_line --index 0 "zkflock: $sentence"
  assert_not_exist ran
}

# ends_with STATUS PID: waits for a background process of this shell.
ends_with() {
  local status=0
  wait "$2" || status=$?
  assert_equal "$status" "$1"
}

# acted PID: waits for a terminal in the background whose session is in "session"; fails, and prints
# that, unless everything expected came.
acted() {
  local status=0
  wait "$1" || status=$?
  [ "$status" -eq 0 ] || { cat session && fail "terminal: status $status"; }
}

# example_in MANUAL TEXT: the example below that text.
example_in() {
  awk -v text="$2" 'index($0, text) { found = 1 }
    found && /^\.Bd -literal/ { inside = 1; next }
    inside && /^\.Ed/ { exit }
    inside' "$1" | sed -e 's/^\\&//' -e 's/\\e/\\/g'
}
