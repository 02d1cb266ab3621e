# Servers that answer, but not with what was asked for: overloaded ones, and those that want every
# client to authenticate.

load helper

ensemble() { # ensemble VERB ARG...
  env -u ZKFLOCK_TEST_MARK "$TESTS_DIR/ensemble" "$1" "$BATS_TEST_TMPDIR/own" "${@:2}"
}

# serve JAVA-OPTION...: a server of this test's own, which zkflock asks from now on.
serve() {
  ENSEMBLE_JAVA="$*" ensemble start
  export ZKFLOCK_SERVERS
  ZKFLOCK_SERVERS=$(cat "$BATS_TEST_TMPDIR/own/servers")
}

teardown() {
  ensemble stop
  common_teardown
}

@test "an overloaded server refuses requests: they are made again, in all that zkflock does" {
  # A request that comes while the server handles another one waits for 20 ms and is then refused.
  serve -Dzookeeper.request_throttle_max_requests=1 -Dzookeeper.request_throttle_stall_time=20 \
    -Dzookeeper.throttled_op_wait_time=1
  runs=()
  for i in $(seq 8); do
    background "$LOCK" sh -c 'echo x >>ran' 2>"log.$i"
    runs+=($!)
  done
  for run in "${runs[@]}"; do ends_with 0 "$run"; done
  assert lines ran 8
  run -0 zkflock "$LOCK" zkflock --list "$LOCK"
  assert_output --partial "held"
  run -0 zkflock --permits 2 "$LOCK.p" zkflock --shared --with "$LOCK" "$LOCK.s" true
  run -0 zkflock --once-per 1h "$LOCK.o" touch due
  run -0 zkflock --once-per 1h "$LOCK.o" touch again
  assert_not_exist again
  run -0 zkflock --remove "$LOCK.o"
  assert_equal "$(cat log.*)" ""
  # Everybody has left counted.  The server may refuse this request, too.
  read_stat() { zk "$ZKFLOCK_SERVERS" stat "$LOCK" >counters; }
  eventually read_stat
  read -r version cversion children _ <counters
  assert_equal "$children" 0
  assert_equal "$((2 * version))" "$cversion"
}

@test "a server that is overloaded by each flight of requests is asked one after the other" {
  open_proxy alone 2
  export ZKFLOCK_SERVERS=$VIA
  for kind in -x -s --unfair "--permits 2" "--with $LOCK.b" "--once-per 1h"; do
    # shellcheck disable=SC2086 # options
    run -0 zkflock --connect-timeout 10 $kind "$LOCK${kind%% *}" echo ran
    assert_output ran
  done
  run -0 zkflock --list "$LOCK-x"
  run -0 zkflock --remove "$LOCK-x"
  assert_output "zkflock: removed $LOCK-x"
  close_proxy
}

@test "a server that stays overloaded: the message says so" {
  overloaded="is overloaded and refuses requests (ZooKeeper's request throttling); try again later"
  for action in --list --remove "--break --yes" --exclusive; do
    command=()
    [ "$action" != --exclusive ] || command=(touch ran)
    open_proxy throttle 2:1000000
    # shellcheck disable=SC2086 # options
    run -69 zkflock -z "$VIA" --connect-timeout 1 $action "$LOCK" "${command[@]}"
    assert_output --partial "zkflock: $VIA $overloaded"
    close_proxy
  done
}

@test "a proof of life that an overloaded server refuses is sent again: the command never notices" {
  # The handshake, create and get come first, then the watch and the proofs of a quarter of an hour.
  open_proxy throttle 5:8
  zkflock --lease 6 "$LOCK" true
  background -v -z "$VIA" "$LOCK" sh -c 'until [ -e release ]; do sleep 0.05; done' 2>log
  holder=$!
  # This many were refused; then one was accepted.
  read -r -t 60 -u "${PROXY[0]}" _
  run -1 zkflock -n "$LOCK" true
  touch release
  ends_with 0 "$holder"
  assert contains log released
  close_proxy
}

@test "an ensemble that wants clients to authenticate: 77 at once, by whoever asks" {
  serve -Dzookeeper.enforce.auth.enabled=true -Dzookeeper.enforce.auth.schemes=digest
  refusal="$ZKFLOCK_SERVERS serves only clients that authenticate (ZooKeeper's enforce.auth or sessionRequireClientSASLAuth); give --auth-file, or --tls and --cert; SASL is not supported"
  # The options allow an hour of tries: status 77 must not come from a time that ran out.
  for kind in -x -s --unfair "--permits 2" "--with $LOCK.b" "--once-per 1h" "--retry 3"; do
    # shellcheck disable=SC2086 # options
    run -77 timeout 20 zkflock --connect-timeout 1h $kind "$LOCK" touch ran
    assert_output "zkflock: $refusal; $LOCK was not taken"
  done
  for action in --list "--list --watch" "--break --yes" "--revoke --yes" --remove; do
    # shellcheck disable=SC2086
    run -77 timeout 20 zkflock --connect-timeout 1h $action "$LOCK"
    assert_output "zkflock: $refusal"
  done
  run -77 timeout 20 zkflock --hold --for $$ --connect-timeout 1h "$LOCK"
  assert_output "zkflock: $refusal; $LOCK was not taken"
  assert_not_exist ran
}
