# A server whose data have parted from the others': it missed the end of a session.

load helper

ensemble() { # ensemble VERB [I]
  env -u ZKFLOCK_TEST_MARK "$TESTS_DIR/ensemble" "$1" "$BATS_TEST_TMPDIR/three" "${@:2}"
}

teardown() {
  ensemble stop
  left=$(await_no_process 5) || fail "processes are left: $left" || return 1
}

# Lets server I go on alone for a while: its transactions then take the place of as many of the
# others' transactions, which never reach it.
part() {
  local data=$BATS_TEST_TMPDIR/three/$1
  cp "$data/zoo.cfg" "$data/quorum.cfg"
  sed -i '/^server\./d' "$data/zoo.cfg"
  ensemble revive "$1"
}

join_again() {
  local data=$BATS_TEST_TMPDIR/three/$1
  ensemble kill "$1"
  # Starting once more puts all into a snapshot.
  ensemble revive "$1"
  ensemble kill "$1"
  rm "$data"/data/version-2/log.*
  mv "$data/quorum.cfg" "$data/zoo.cfg"
  for i in 1 2 3 4 5; do zk "$good" create "/other$LOCK/$i"; done
  ensemble revive "$1"
}

# ghost SERVER NAME: a contender of another client; its pid in $ghost.
ghost() {
  # shellcheck disable=SC2034 # its pid, and what ends it
  coproc GHOST { exec zk "$1" create-kind ephemeral "$LOCK/$2" 3>&-; }
  ghost=$GHOST_PID
  zk "$1" await-count "$LOCK" 1
}

forget_ghost() {
  eval "exec ${GHOST[1]}>&-"
  wait "$ghost"
  zk "$good" await-count "$LOCK" 0
}

# A contender leaves uncounted, and the bad server does not learn of it.  If there is an election
# meanwhile, as on a busy machine, the server learns of everything: then once more, with another lock.
miss_a_departure() {
  for try in 1 2 3 4 5; do
    LOCK=/t/replica/$BATS_TEST_NUMBER/$try
    zkflock -z "$good" --lease 4 "$LOCK" true
    ghost "$good" _c_00000000000000000000000000000000-lock-0000000001
    zk "$bad" await-count "$LOCK" 1
    ensemble kill "$follower"
    forget_ghost
    part "$follower"
    for i in 1 2 3 4 5; do zk "$bad" create "/alone/$try/$i"; done
    join_again "$follower"
    ! zk "$bad" await-count "$LOCK" 1 5 || return 0
  done
  fail "the server never missed the departure"
}

# A holder that does not count vanished ones out, until the file "end" is made.
hold_at_good() {
  background -z "$good" --lock-delay 0 "$LOCK" sh -c 'touch held; until [ -e end ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
}

# Which server is tried first is drawn by lot.
wait_at_bad() {
  for _ in $(seq 30); do
    wait_in_line log -z "$bad,127.0.0.1:1,$good" "$LOCK" sh -c 'date +%s%N >started'
    ! grep -q "connected to $bad," log || return 0
    kill "$waiter"
    ends_with 143 "$waiter"
  done
  fail "$bad was never tried first"
}

# after_path LOG: the server that was connected to when the path was cut.
after_path() { sed "0,/connected to $VIA,/d; s/.*: connected to \([0-9.:]*\),.*/\1/; t; d" "$1" | head -n 1; }
has_moved() { [ -n "$(after_path "$1")" ]; }

# Connects to the other server first, by a path that is then cut.
move_to_bad() {
  for _ in $(seq 30); do
    ONE=$good open_proxy
    wait_in_line log -z "$VIA,$bad,$good" "$LOCK" sh -c 'date +%s%N >started'
    close_proxy
    if contains log "connected to $VIA,"; then
      eventually has_moved log
      [ "$(after_path log)" != "$bad" ] || return 0
    fi
    kill "$waiter"
    ends_with 143 "$waiter"
  done
  fail "$bad was never the second one"
}

setup() {
  common_setup
  ensemble start 3
  IFS=, read -r -a servers <"$BATS_TEST_TMPDIR/three/servers"
  leader=$(ensemble leader)
  follower=$((leader % 3 + 1))
  good=${servers[leader - 1]}
  bad=${servers[follower - 1]}
}

readonly GHOST_NAME=_c_00000000000000000000000000000000-lock-0000000000

@test "a server that shows a contender who is long gone is found out and left" {
  zkflock -z "$good" --lease 4 "$LOCK" true
  ensemble kill "$follower"
  part "$follower"
  ghost "$bad" "$GHOST_NAME"
  ensemble kill "$follower"
  kill -KILL "$ghost"
  wait "$ghost" || true
  join_again "$follower"
  assert_equal "$(zk "$good" ls "$LOCK")" ""
  # One that leaves uncounted, or that server's count would give it away at once.
  ghost "$good" _c_00000000000000000000000000000000-lock-0000000001
  forget_ghost
  assert_equal "$(zk "$bad" ls "$LOCK")" "$GHOST_NAME"
  hold_at_good
  wait_at_bad
  touch end
  ends_with 0 "$waiter"
  assert_file_contains log "$LOCK/$GHOST_NAME is not there any more, but this server shows it"
  assert_file_contains log "a contender vanished; its command may run for"
  ends_with 0 "$holder"
  # Where the client library's socket cannot be found, that server is asked again and again.
  setsid bash -c 'for fd in $(seq 3 540); do eval "exec $fd</dev/null"; done; exec zkflock "$@"' - \
    -v -z "$bad" "$LOCK" touch ran 2>log 3>&- 4>&- &
  waiter=$!
  PATIENCE=60 eventually turns_often log
  kill "$waiter"
  ends_with 143 "$waiter"
  assert_not_exist ran
}

turns_often() { [ "$(grep -c "turning to another" "$1")" -ge 3 ]; }

@test "a server that missed a departure hides no holder that vanished" {
  miss_a_departure
  # A contender at another server waits, counts it out, and vanishes next.
  hold_at_good
  background -v -z "$good" --session-timeout 2 "$LOCK" sh -c 'touch crashing; exec sleep 1000' 2>first
  second=$!
  eventually contains first "waiting for"
  wait_at_bad
  touch end
  eventually test -e crashing
  ends_with 0 "$holder"
  crash "$second"
  crashed=$(date +%s%N)
  ends_with 0 "$waiter"
  # The second one's command may have run until its lease was over.
  (($(cat started) - crashed > 4000000000)) || fail "started $(($(cat started) - crashed)) ns after"
  assert_file_contains log "the departure count of $LOCK cannot be right at this server; turning to another"
  # Another server is found, although one of the list does not answer.
  refute grep -q "has somebody written to it" log
  assert_file_contains log "a contender vanished; its command may run for"
}

@test "a waiter that moves to a server that missed a departure reads its count" {
  miss_a_departure
  background -z "$good" --session-timeout 2 "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  second=$!
  eventually test -e crashing
  zk "$bad" await-count "$LOCK" 2
  move_to_bad
  crash "$second"
  crashed=$(date +%s%N)
  ends_with 0 "$waiter"
  (($(cat started) - crashed > 4000000000)) || fail "started $(($(cat started) - crashed)) ns after"
  assert_file_contains log "the departure count of $LOCK cannot be right at this server; turning to another"
  assert_file_contains log "a contender vanished; its command may run for"
}
