# --hook: a command that is told what happens to the lock.

load helper

# A hook that writes down its event and its environment.
teller() {
  cat >teller <<'EOS'
#!/bin/sh
echo "$#:$1:${ZKFLOCK_LOCK-none}:${ZKFLOCK_NODE-none}:${ZKFLOCK_TOKEN-none}" >>told
EOS
  chmod +x teller
}

# events: prints the events that teller got, in one line.
events() { cut -d: -f2 told | paste -sd' '; }

@test "a free lock: acquired and released, in this order, with node and token" {
  teller
  run -0 zkflock --hook ./teller "$LOCK" sh -c 'echo "$ZKFLOCK_LOCK:$ZKFLOCK_NODE:$ZKFLOCK_TOKEN"'
  assert_equal "$(cat told)" "1:acquired:$output
1:released:$output"
}

@test "a run that is not due: skipped" {
  teller
  run -0 zkflock --once-per 1h "$LOCK" true
  run -0 zkflock --once-per 1h --hook ./teller "$LOCK" touch ran
  assert_not_exist ran
  assert_equal "$(events)" skipped
}

@test "--hold: acquired and released, and nobody waits for the end of the hook" {
  teller
  run -0 timeout 10 bash -c 'echo "$(zkflock --hold --hook "./teller" "$1")"; zkflock -u "$1"' bash "$LOCK"
  assert_output ""
  eventually lines told 2
  assert_equal "$(events)" "acquired released"
}

@test "a lock that is waited for: waiting first, without node and token, once" {
  teller
  hold "$LOCK" release
  # Variables that a zkflock around this one has set do not belong to this lock.
  ZKFLOCK_NODE=/another ZKFLOCK_TOKEN=1 wait_in_line log --hook ./teller "$LOCK" \
    sh -c 'echo "$ZKFLOCK_LOCK:$ZKFLOCK_NODE:$ZKFLOCK_TOKEN"' >out
  eventually test -s told
  assert_equal "$(cat told)" "1:waiting:$LOCK:none:none"
  touch release
  ends_with 0 "$waiter"
  assert_equal "$(cat told)" "1:waiting:$LOCK:none:none
1:acquired:$(cat out)
1:released:$(cat out)"
}

@test "a holder that vanished is waited for too" {
  teller
  background --lease 4 --session-timeout 1 "$LOCK" sh -c 'touch started; exec sleep 1000'
  keeper=$!
  eventually test -e started
  crash "$keeper"
  zk "$ONE" await-count "$LOCK" 0
  run -0 zkflock -n --hook ./teller "$LOCK" true
  assert_equal "$(events)" "waiting acquired released"
}

@test "the hook gets busy when zkflock gives up, and nothing more when a signal ends the wait" {
  teller
  hold "$LOCK" release
  run -1 zkflock -n --hook ./teller "$LOCK" true
  assert_equal "$(cat told)" "1:busy:$LOCK:none:none"
  run -1 zkflock -q -w 2 --hook ./teller "$LOCK" true
  assert_equal "$(events)" "busy waiting busy"
  wait_in_line log --hook ./teller "$LOCK" true
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  assert_equal "$(events)" "busy waiting busy waiting"
  touch release
  wait "$holder"
}

# statuses: "EVENT STATUS" for each event of the run in the arguments, in one line.
statuses() {
  rm -f status.told
  cat >status.teller <<'EOS'
#!/bin/sh
echo "$1 ${ZKFLOCK_STATUS-none}" >>status.told
EOS
  chmod +x status.teller
  # Variables that a zkflock around this one has set do not belong to this run.
  ZKFLOCK_STATUS=99 zkflock --hook ./status.teller "$LOCK" "$@" 2>log || true
  paste -sd' ' status.told
}

@test "released comes with the status of the run" {
  assert_equal "$(statuses sh -c 'exit 7')" "acquired none released 7"
  assert_equal "$(statuses true)" "acquired none released 0"
  assert_equal "$(statuses sh -c 'kill -KILL $$')" "acquired none released 137"
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  assert_equal "$(statuses ./script)" "acquired none released 127"
}

@test "several locks, one of which is busy: busy" {
  teller
  hold "$LOCK.z" release
  run -1 zkflock -q -n --with "$LOCK.z" --hook ./teller "$LOCK" true
  touch release
  ends_with 0 "$holder"
  assert_equal "$(events)" busy
}

@test "a lock that is lost: lost instead of released" {
  teller
  background --hook ./teller "$LOCK" sh -c 'touch started; exec sleep 1000' 2>log
  keeper=$!
  eventually test -e started
  lose
  ends_with 75 "$keeper"
  assert_equal "$(events)" "acquired lost"
  assert_regex "$(tail -n 1 told)" "^1:lost:$LOCK:$LOCK/_c_[^:]+:[0-9]+\$"
}

@test "--on-lost warn: lost is told while the command still runs" {
  teller
  background --on-lost warn --hook ./teller "$LOCK" \
    sh -c 'touch started; until [ -e release ]; do sleep 0.05; done; exit 6' 2>log
  keeper=$!
  eventually test -e started
  lose
  eventually contains told :lost:
  touch release
  ends_with 6 "$keeper"
  assert_equal "$(events)" "acquired lost"
}

@test "a command that cannot be executed after all: the lock was held, and is released" {
  teller
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  run -127 zkflock --hook ./teller "$LOCK" ./script
  assert_equal "$(events)" "acquired released"
}

@test "re-entry takes no lock, so nothing is told" {
  teller
  run -0 zkflock "$LOCK" zkflock --hook ./teller "$LOCK" true
  assert_output ""
  assert_not_exist told
}

@test "with several locks, the hook gets the one that was named" {
  teller
  run -0 zkflock --with "$LOCK.a" --with "$LOCK.z" --hook ./teller "$LOCK" true
  assert_equal "$(cut -d: -f2,3 told)" "acquired:$LOCK
released:$LOCK"
}

@test "a hook with blanks is a line for the shell, the event its last word" {
  run -0 zkflock --hook 'printf "%s\n" "a  b" >>"$OUT"; echo >>told event' "$LOCK" true
  assert_equal "$(cat told)" "event acquired
event released"
}

@test "a hook that fails is a warning, and the command's status counts" {
  cat >fails <<'EOS'
#!/bin/sh
case $1 in acquired) exit 3 ;; released) kill -KILL $$ ;; esac
EOS
  chmod +x fails
  run -5 zkflock --hook ./fails "$LOCK" sh -c 'exit 5'
  assert_output "zkflock: warning: the hook ./fails failed at \"acquired\": status 3
zkflock: warning: the hook ./fails failed at \"released\": signal 9 (Killed)"
  run -5 zkflock -q --hook ./fails "$LOCK" sh -c 'exit 5'
  assert_output ""
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  run -0 zkflock --hook ./script "$LOCK" true
  assert_line --index 0 "zkflock: warning: the hook ./script failed at \"acquired\": No such file or directory"
}

@test "a hook that hangs delays neither the command nor proofs, and is killed with its group" {
  cat >hangs <<'EOS'
#!/bin/sh
echo "$1" >>told
[ "$1" = acquired ] || exit 0
trap '' TERM
sleep 1000 &
echo $! >child
wait
EOS
  chmod +x hangs
  # The lease is shorter than the hook's time.
  background --lease 4 --session-timeout 2 --hook ./hangs "$LOCK" \
    sh -c 'touch started; until [ -e release ]; do sleep 0.05; done; exit 4' 2>log
  keeper=$!
  eventually test -e started
  eventually test -s child
  assert lacks log failed
  eventually contains log "the hook ./hangs failed at \"acquired\": killed after 10 s"
  eventually gone "$(cat child)"
  run -1 zkflock -q -n "$LOCK" true
  touch release
  ends_with 4 "$keeper"
  assert_equal "$(paste -sd' ' told)" "acquired released"
}

@test "126 and 127 for a hook are known before the lock is taken, even before a server is" {
  touch plain
  refuses 127 "hook not found: no-such-hook" -z 127.0.0.1:1 --hook no-such-hook "$LOCK" touch ran
  refuses 127 "hook not found: ./missing" -z 127.0.0.1:1 --hook ./missing "$LOCK" touch ran
  refuses 127 "hook not found: '' (an empty word)" -z 127.0.0.1:1 --hook '' "$LOCK" touch ran
  refuses 126 "cannot execute ./plain: Permission denied" -z 127.0.0.1:1 --hook ./plain "$LOCK" touch ran
  refuses 64 "option '--hook' requires an argument" --hook
}

@test "a hook gets stdin, stdout and stderr, and no other descriptor" {
  cat >lists <<'EOS'
#!/bin/sh
cat
# One of them is the shell's own.
ls /proc/self/fd | paste -sd' ' >>fds
readlink /proc/self/fd/0 >>fds
echo to stdout
echo to stderr >&2
EOS
  chmod +x lists
  exec 9<lists
  run --separate-stderr -0 zkflock --hook ./lists "$LOCK" true </dev/zero
  exec 9<&-
  assert_output "to stdout
to stdout"
  assert_equal "$stderr" "to stderr
to stderr"
  assert_equal "$(cat fds)" "0 1 2 3
/dev/null
0 1 2 3
/dev/null"
}

@test "signal mask and dispositions of a hook are the caller's" {
  # Not a shell, which changes some itself.
  cat >states <<'EOS'
#!/usr/bin/python3
with open("/proc/self/status") as status, open("states.txt", "a") as out:
    out.write("".join(line for line in status if line.startswith("Sig") and "Q" not in line))
EOS
  chmod +x states
  masked ./states
  wanted=$(cat states.txt)
  rm states.txt
  run -0 masked zkflock --hook ./states "$LOCK" true
  assert_output ""
  assert_equal "$(cat states.txt)" "$wanted
$wanted"
}

@test "terminal: Ctrl-C does not reach a hook" {
  cat >slow <<'EOS'
#!/bin/sh
trap 'touch hit' INT
touch "$1"
[ "$1" = released ] || until [ -e go ]; do sleep 0.05; done
touch "$1.ended"
EOS
  chmod +x slow
  terminal 'send=zkflock --hook ./slow '"$LOCK"' sleep 1000; echo status $?\n' \
    file=acquired key=c touch=go 'send=echo status $?\n' 'expect=status 130'
  assert_exist acquired.ended
  assert_exist released.ended
  assert_not_exist hit
}

@test "the hooks' own process has its own name, and if it is killed the command goes on" {
  teller
  background --hook ./teller "$LOCK" sh -c 'touch started; until [ -e go ]; do sleep 0.05; done; exit 3' 2>log
  keeper=$!
  eventually test -e started
  eventually contains told acquired
  kill -KILL "$(children "$keeper" lock-hook)"
  touch go
  ends_with 3 "$keeper"
  assert_equal "$(events)" acquired
  assert_equal "$(cat log)" ""
}

@test "no released for a lock that could not be released" {
  teller
  open_proxy
  background -z "$VIA" --session-timeout 8 --hook ./teller "$LOCK" sh -c 'touch started; until [ -e go ]; do sleep 0.05; done' 2>log
  keeper=$!
  eventually test -e started
  kill -STOP "$proxy_pid"
  touch go
  ends_with 0 "$keeper"
  assert_equal "$(events)" acquired
  assert grep -q "could not be released" log
  close_proxy
  zk "$ONE" await-count "$LOCK" 0
}

@test "the guard is killed beside hooks: the command is ended, the lock given back, 70" {
  teller
  background --hook ./teller "$LOCK" sh -c 'touch started; exec sleep 1000' 2>log
  keeper=$!
  eventually test -e started
  kill -KILL "$(children "$keeper" lock-guard)"
  ends_with 70 "$keeper"
  nothing_left_of "$LOCK"
}

@test "the keeper is killed beside hooks: the lock is given back at once, the hook ends as it would" {
  printf '#!/bin/sh\necho "$1" >>told; until [ -e go ]; do sleep 0.05; done; touch ended\n' >slow
  chmod +x slow
  background --hook ./slow "$LOCK" sh -c 'touch started; exec sleep 1000' 2>log
  keeper=$!
  eventually test -e started
  eventually test -s told
  kill -KILL "$keeper"
  zk "$ONE" await-count "$LOCK" 0
  touch go
  eventually test -e ended
  assert_equal "$(cat told)" acquired
}
