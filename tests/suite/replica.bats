# A server whose data have parted from the others': it missed the end of a session.

load helper

ensemble() { # ensemble VERB [I]
  env -u ZKFLOCK_TEST_MARK "$TESTS_DIR/ensemble" "$1" "$BATS_TEST_TMPDIR/three" "${@:2}"
}

teardown() {
  ensemble stop
  left=$(await_no_process 5) || fail "processes are left: $left" || return 1
}

# Has server I think, on its own, that somebody stands in the queue: what it did meanwhile takes the
# place of as many transactions of the others.
plant_a_ghost() {
  local data=$BATS_TEST_TMPDIR/three/$1 server=$2 ghost
  ensemble kill "$1"
  cp "$data/zoo.cfg" "$data/quorum.cfg"
  sed -i '/^server\./d' "$data/zoo.cfg"
  ensemble revive "$1"
  # shellcheck disable=SC2034 # only its pid
  coproc GHOST { exec zk "$server" create-kind ephemeral "$LOCK/$GHOST_NAME" 3>&-; }
  ghost=$GHOST_PID
  zk "$server" await-count "$LOCK" 1
  ensemble kill "$1"
  kill -KILL "$ghost"
  wait "$ghost" || true
  # Starting once more puts all into a snapshot.
  ensemble revive "$1"
  ensemble kill "$1"
  rm "$data"/data/version-2/log.*
  mv "$data/quorum.cfg" "$data/zoo.cfg"
}

readonly GHOST_NAME=_c_00000000000000000000000000000000-lock-0000000000

@test "a server that shows a contender who is long gone is found out and left" {
  ensemble start 3
  IFS=, read -r -a servers <"$BATS_TEST_TMPDIR/three/servers"
  leader=$(ensemble leader)
  follower=$((leader % 3 + 1))
  good=${servers[leader - 1]}
  bad=${servers[follower - 1]}
  zkflock -z "$good" --lease 4 "$LOCK" true
  plant_a_ghost "$follower" "$bad"
  # The others' transactions, of which the first few never reach that server.
  for i in 1 2 3 4 5; do zk "$good" create "/other/$i"; done
  ensemble revive "$follower"
  assert_equal "$(zk "$good" ls "$LOCK")" ""
  assert_equal "$(zk "$bad" ls "$LOCK")" "$GHOST_NAME"
  # Which server is tried first is drawn by lot.
  for _ in $(seq 20); do
    run -0 timeout 60 zkflock -v -z "$bad,$good" "$LOCK" echo ran
    assert_line ran
    [[ $output != *"but this server shows it; turning to another"* ]] || break
  done
  assert_output --partial "$LOCK/$GHOST_NAME is not there any more, but this server shows it"
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
