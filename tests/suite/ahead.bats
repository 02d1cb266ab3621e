# The process that will be the command is forked ahead of time, for the next in the queue.

load helper

# next_in_line ARG...: a zkflock behind a holder, pid in $next; its process that waits in $ahead.
next_in_line() {
  hold "$LOCK" first
  background "$LOCK" "$@" 2>log
  next=$!
  eventually is_forked "$next"
}

# is_forked PID: true if the zkflock has forked ahead; that process is $ahead.
is_forked() {
  local guard
  [ -n "$1" ] && guard=$(children "$1" lock-guard)
  [ -n "$guard" ] && ahead=$(children "$guard" lock-command) && [ -n "$ahead" ]
}

goes_on() {
  touch first
  ends_with 0 "$holder"
}

@test "the command is the process that was forked ahead, in the caller's session and process group" {
  next_in_line sh -c 'echo $$ $(ps -o pgid=,sid= -p $$) "$ZKFLOCK_NODE" >me'
  assert_equal "$(ps -o pgid= -p "$ahead" | tr -d ' ')" "$ahead"
  local session
  session=$(ps -o sid= -p "$next" | tr -d ' ')
  goes_on
  ends_with 0 "$next"
  assert_regex "$(cat me)" "^$ahead $next $session $LOCK/.*"
}

@test "only the next in the queue forks ahead" {
  next_in_line true
  wait_in_line log.third "$LOCK" true
  local third=$waiter
  refute is_forked "$third"
  goes_on
  ends_with 0 "$next"
  ends_with 0 "$third"
}

# took_signals PID: true if no signals wait for the process.
took_signals() { ! grep -Eq '^(Shd|Sig)Pnd:\s+0*[1-9a-f]' "/proc/$1/status"; }

@test "signals that come while it waits are not the command's" {
  next_in_line true
  kill -USR1 "$ahead"
  kill -USR2 -- "-$ahead"
  eventually took_signals "$ahead"
  goes_on
  ends_with 0 "$next"
}

@test "if it is stopped or killed, the command starts all the same" {
  next_in_line sh -c 'echo $$ >me'
  kill -STOP "$ahead"
  goes_on
  eventually test -s me
  ends_with 0 "$next"
  assert_equal "$(cat me)" "$ahead"
  rm first

  next_in_line sh -c 'echo $$ $(ps -o pgid=,sid= -p $$) >me'
  local session
  session=$(ps -o sid= -p "$next" | tr -d ' ')
  kill -KILL "$ahead"
  eventually gone "$ahead"
  goes_on
  ends_with 0 "$next"
  refute assert_regex "$(cat me)" "^$ahead "
  assert_regex "$(cat me)" "^[0-9]+ $next $session$"
}

@test "it ends with the zkflock that gives up, and with one that is killed" {
  next_in_line true
  kill -TERM "$next"
  ends_with 143 "$next"
  eventually gone "$ahead"
  goes_on
  rm first

  next_in_line true
  kill -KILL "$next"
  ends_with 137 "$next"
  eventually gone "$ahead"
  goes_on
}

# Where the first process does not reap, as in many containers.
@test "zkflock leaves no zombie when it gives up" {
  hold "$LOCK" first
  cat >world <<'END'
import os, subprocess, sys
status = subprocess.call(["zkflock", sys.argv[1], "true"], start_new_session=True)
print(status, *[open(f"/proc/{pid}/stat").read() for pid in os.listdir("/proc") if pid.isdigit() and pid != "1"])
END
  setsid unshare -Urpf --mount-proc python3 world "$LOCK" >out 3>&- 4>&- &
  local world=$!
  zkflock_inside() { next=$(children "$(pgrep -P "$world")" zkflock) && is_forked "$next"; }
  eventually zkflock_inside
  kill -TERM "$next"
  ends_with 0 "$world"
  assert_equal "$(cat out)" 143
  goes_on
}

@test "a command that cannot be executed any more: 127, as without" {
  printf '#!/bin/sh\n' >script
  chmod +x script
  next_in_line ./script
  rm script
  goes_on
  ends_with 127 "$next"
  assert_file_contains log "cannot execute ./script: No such file or directory"
}

# As under cron and in CI: then the kernel sends HUP to a group that it sees become orphaned.
@test "in a process group that no shell controls, a stopped process beside it harms nobody" {
  hold "$LOCK" first
  cat >script <<'END'
sleep 1000 &
kill -STOP $!
zkflock "$1" true
echo "zkflock: $?, beside it: $(ps -o state= -p $!)"
kill -KILL $!
END
  setsid sh script "$LOCK" >result 3>&- 4>&- &
  local script=$!
  script_has_forked() { is_forked "$(children "$script" zkflock)"; }
  eventually script_has_forked
  goes_on
  ends_with 0 "$script"
  assert_equal "$(cat result)" "zkflock: 0, beside it: T"
}

@test "for a caller that is to have the lock nothing is forked" {
  hold "$LOCK" first
  PROXY_LOG=$BATS_TEST_TMPDIR/frames open_proxy
  sh -c 'zkflock -z "$1" --hold --for $$ "$2" && touch held; until [ -e end ]; do sleep 0.05; done' sh "$VIA" "$LOCK" \
    3>&- 4>&- &
  local caller=$!
  eventually proved_early
  goes_on
  eventually test -e held
  refute grep -x lock-command <(marked_processes | xargs -I{} cat /proc/{}/comm)
  touch end
  ends_with 0 "$caller"
  eventually nothing_left_of "$LOCK"
  close_proxy
}
