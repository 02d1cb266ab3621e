# --retry: an ensemble that cannot be reached yet, or no longer, before the command runs.

load helper

# A server of the test's own, which it can stop and start.
own_server() {
  ensemble start own
  OWN=$(cat own/servers)
}

ensemble() {
  # Servers do not count as processes that the test leaves behind.
  env -u ZKFLOCK_TEST_MARK "$TESTS_DIR/ensemble" "$@" 3>&- 4>&-
}

teardown() {
  [ ! -d own ] || ensemble stop own
  common_teardown
}

# retries LOG N: fail unless N messages say that there will be another try.
retries() { [ "$(grep -c 'trying again in' "$1")" -ge "$2" ]; }

readonly QUICK=(--connect-timeout 300ms --retry-delay 200ms)

@test "the server comes up while zkflock tries: the command runs, nothing is said" {
  own_server
  ensemble kill own 1
  background -z "$OWN" "${QUICK[@]}" --retry 100 "$LOCK" sh -c 'touch ran; exit 3' 2>log
  quiet=$!
  background -v -z "$OWN" "${QUICK[@]}" --retry 100 "$LOCK" true 2>verbose
  told=$!
  eventually retries verbose 2
  assert_not_exist ran
  ensemble revive own 1
  ends_with 3 "$quiet"
  ends_with 0 "$told"
  assert_exist ran
  assert_equal "$(cat log)" ""
  assert_regex "$(cat verbose)" "^zkflock\[$LOCK\]: no server reachable at $OWN within 300 ms: Connection refused; check [^;]*; trying again in 200 ms, 100 tries left"
  zk "$OWN" leftovers
}

@test "N tries more, each told under -v; the last failure is the one line on stderr, 69" {
  run -69 timeout 10 zkflock -z 127.0.0.1:1 "${QUICK[@]}" --retry 2 "$LOCK" touch ran
  assert_output "zkflock: no server reachable at 127.0.0.1:1 within 300 ms: Connection refused; check --servers (or \$ZKFLOCK_SERVERS) and that ZooKeeper runs there; $LOCK was not taken"
  run -69 timeout 10 zkflock -v -z 127.0.0.1:1 "${QUICK[@]}" --retry 2 "$LOCK" touch ran
  assert_equal "${#lines[@]}" 4
  assert_line --index 0 --partial "; trying again in 200 ms, 2 tries left"
  assert_line --index 1 --partial "; trying again in 200 ms, 1 try left"
  refute_line --index 2 --partial "trying again"
  assert_line --index 2 --partial "no server reachable"
  run -69 timeout 10 zkflock -v -z 127.0.0.1:1 "${QUICK[@]}" --retry 0 "$LOCK" touch ran
  assert_equal "${#lines[@]}" 2
  assert_not_exist ran
}

@test "names that cannot be resolved are tried again, and are one line in the end" {
  run -69 timeout 20 zkflock -z a.invalid,b.invalid "${QUICK[@]}" --connect-timeout 5 --retry 1 \
    "$LOCK" touch ran
  assert_output --regexp "^zkflock: cannot resolve the server name 'a.invalid': [^;]*; cannot resolve the server name 'b.invalid': [^;]*; $LOCK was not taken\$"
  assert_equal "${#lines[@]}" 1
  # One of two: a warning, once.
  run -69 timeout 20 zkflock -z a.invalid,127.0.0.1:1 "${QUICK[@]}" --connect-timeout 2 --retry 2 \
    "$LOCK" touch ran
  assert_equal "${#lines[@]}" 2
  assert_line --index 0 --partial "warning: cannot resolve the server name 'a.invalid'"
  assert_line --index 1 --partial "no server reachable at a.invalid,127.0.0.1:1"
}

@test "names are resolved anew" {
  own_server
  cp /etc/hosts hosts
  # A name that stands for nothing until the test says so; the mount is this process's own.
  unshare -Urm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh \
    zkflock -v -z "late.invalid:${OWN#*:}" --connect-timeout 5 --retry 1000 --retry-delay 200ms \
    "$LOCK" touch ran 2>log 3>&- 4>&- &
  eventually retries log 1
  assert_not_exist ran
  echo 127.0.0.1 late.invalid >>hosts
  ends_with 0 $!
  assert_exist ran
}

@test "a server that gives a session and then says nothing" {
  coproc HOSTILE { hostile mute 3>&-; }
  hostile_pid=$HOSTILE_PID
  read -r -u "${HOSTILE[0]}" port
  run -69 timeout 30 zkflock -v -z "127.0.0.1:$port" "${QUICK[@]}" --connect-timeout 2 --retry 1 "$LOCK" touch ran
  assert_line --partial "no answer from 127.0.0.1:$port for 2 s while joining the queue; trying again"
  assert_not_exist ran
  eval "exec ${HOSTILE[1]}>&-"
  wait "$hostile_pid" || true
}

@test "contact is lost while waiting: the place is given back in the pause, the wait begins anew" {
  own_server
  background -z "$OWN" --session-timeout 30 --lease 60 "$LOCK" \
    sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  background -v -z "$OWN" --session-timeout 3 --connect-timeout 1 --retry 1 --retry-delay 10 \
    --hook 'echo >>told' "$LOCK" touch ran 2>log
  waiter=$!
  eventually contains log "waiting for /"
  ensemble kill own 1
  eventually contains log "lost contact with $OWN while waiting; trying again in 10 s, 1 try left"
  ensemble revive own 1
  # Otherwise it would have to wait for its own old place.
  zk "$OWN" await-count "$LOCK" 1
  eventually waits_again
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  assert_exist ran
  refute grep -q warning log
  refute grep -q vanished log
  assert_equal "$(paste -sd' ' told)" "waiting acquired released"
  run -0 zk "$OWN" stat "$LOCK"
  assert_output --regexp "^3 6 0 "
}

waits_again() { [ "$(grep -c 'waiting for /' log)" -ge 2 ]; }

@test "a signal during the pause ends zkflock at once, 128+N" {
  for signal in TERM:143 HUP:129 USR1:138; do
    background -v -z 127.0.0.1:1 --connect-timeout 200ms --retry 3 --retry-delay 1d "$LOCK" touch ran 2>log
    keeper=$!
    eventually retries log 1
    kill "-${signal%:*}" "$keeper"
    ends_with "${signal#*:}" "$keeper"
    # The try, the signal, the exit.
    assert_equal "$(wc -l <log)" 3
    rm log
  done
  assert_not_exist ran
}

@test "a busy lock, a wrong one and the command's own 69 are not tried again" {
  hold "$LOCK" release
  run -1 timeout 10 zkflock -n --retry 5 --retry-delay 1d "$LOCK" touch ran
  run -1 timeout 10 zkflock -q -w 0.2 --retry 5 --retry-delay 1d "$LOCK" touch ran
  touch release
  wait "$holder"
  run -69 timeout 10 zkflock --retry 5 --retry-delay 1d "$LOCK" sh -c 'exit 69'
  zk "$ONE" create "$LOCK.x" "settings of an application"
  run -78 timeout 10 zkflock --retry 5 --retry-delay 1d "$LOCK.x" touch ran
  assert_not_exist ran
}

@test "-w is counted from the beginning of the last try" {
  own_server
  background -z "$OWN" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  stop=$(cat own/1/pid)
  kill -STOP "$stop"
  # Its first thread has to run for the others to be stopped; until then it serves.
  eventually in_state "$stop" T
  background -v -z "$OWN" --connect-timeout 300ms --retry 20 --retry-delay 1 -w 1 "$LOCK" touch ran 2>log
  waiter=$!
  # By now more than -w has gone by.
  eventually retries log 2
  kill -CONT "$stop"
  ends_with 1 "$waiter"
  # It still waited for others, instead of finding its time gone.
  assert grep -q "waiting for" log
  touch release
  ends_with 0 "$holder"
  assert_not_exist ran
}

@test "with re-entry: the lock of a zkflock around this one, and another one that has to be waited for" {
  own_server
  background -v -z "$OWN" --session-timeout 30 --lease 60 "$LOCK" \
    sh -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; exec zkflock -v -z "$1" --connect-timeout 500ms --retry 1000 --retry-delay 200ms --with "$2.b" "$2" touch ran' \
    sh "$OWN" "$LOCK" 2>log
  keeper=$!
  eventually test -s pid
  ensemble kill own 1
  touch go
  eventually retries log 2
  ensemble revive own 1
  ends_with 0 "$keeper"
  assert_exist ran
  assert [ "$(grep -c "$LOCK is held by the zkflock around this one" log)" -ge 3 ]
  zk "$OWN" leftovers
}

@test "bad values" {
  refuses 64 "--retry takes a number from 0 to 1000000, not '-1'" --retry -1 "$LOCK" touch ran
  refuses 64 "--retry takes a number from 0 to 1000000, not '1000001'" --retry 1000001 "$LOCK" touch ran
  refuses 64 "--retry takes a number from 0 to 1000000, not ''" --retry= "$LOCK" touch ran
  refuses 64 "--retry takes a number from 0 to 1000000, not '3x'" --retry 3x "$LOCK" touch ran
  refuses 64 "--retry-delay takes a time from 100 ms to 1 d, not '0'" --retry-delay 0 "$LOCK" touch ran
  refuses 64 "--retry-delay takes a time from 100 ms to 1 d, not 'soon'" --retry-delay soon "$LOCK" touch ran
  refuses 64 "--retry-delay takes a time from 100 ms to 1 d, not '2d'" --retry-delay 2d "$LOCK" touch ran
}

@test "--retry-delay without --retry is refused where it is typed" {
  refuses 64 "--retry-delay goes with --retry alone: without it, nothing is tried again" --retry-delay 1 "$LOCK" touch ran
  refuses 64 "--retry-delay goes with --retry alone: without it, nothing is tried again" --retry-delay 1 --hold --for $$ "$LOCK"
  echo "[zkflock]
retry = 1" >retry
  run -0 zkflock --config retry --retry-delay 1 "$LOCK" true
  echo "[zkflock]
retry-delay = 1" >delay
  run -0 zkflock --config delay "$LOCK" true
  run -0 zkflock --show-config --retry-delay 1 "$LOCK"
}

@test "a busy lock is not tried again, whatever status is given to that" {
  hold "$LOCK" release
  run -69 timeout 10 zkflock -n -E 69 --retry 1 --retry-delay 60 "$LOCK" touch ran
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}
