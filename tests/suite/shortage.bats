# --tls and --auth-file with too few descriptors, processes or memory, or without stdin, stdout and stderr.

load helper
load keys

setup_file() {
  export KEYS=$BATS_FILE_TMPDIR/keys
  mkdir "$KEYS"
  authority ca
  certificate server ca 30 "DNS:localhost,IP:127.0.0.1"
}

setup() {
  common_setup
  ENSEMBLE_TLS="$KEYS/server.both none $KEYS/ca.pem" "$TESTS_DIR/ensemble" start "$BATS_TEST_TMPDIR/own"
  SECURE=$(cat "$BATS_TEST_TMPDIR/own/secure")
  echo "digest:ann:secret" >ann
  chmod 600 ann
}

teardown() {
  "$TESTS_DIR/ensemble" stop "$BATS_TEST_TMPDIR/own"
  common_teardown
}

tls() { timeout -k 1 30 zkflock -z "$SECURE" --tls --cacert "$KEYS/ca.pem" --auth-file "$PWD/ann" --connect-timeout 5 "$@"; }

# limited LIMIT ARG...: zkflock with that limit, see exit.bats.  A sanitizer could not look for leaks.
limited() {
  local as=(setpriv --reuid 61000 --regid 61000 --clear-groups)
  [ "$(id -u)" -eq 0 ] && [[ $1 == --nproc* ]] || as=()
  ASAN_OPTIONS=detect_leaks=0 timeout -k 1 30 "${as[@]}" prlimit "$1" /proc/self/fd/9 -z "$SECURE" --tls \
    --cacert /proc/self/fd/8 --connect-timeout 5 "${@:2}" 9<"$(command -v zkflock)" 8<"$KEYS/ca.pem" 3>&- 4>&-
}

@test "--tls: 71 for too few descriptors or processes, however few they are; or it works" {
  local limits=(--nofile) limit least n
  [ "$(id -u)" -ne 0 ] || limits+=(--nproc)
  for limit in "${limits[@]}"; do
    least=1
    [ "$limit" = --nproc ] || least=10
    for n in $(seq "$least" 40); do
      run limited "$limit=$n" "$LOCK" echo ran
      [ "$status" -eq 71 ] || break
      refute_output --partial ran
      assert_output --regexp "(Too many open files|Resource temporarily unavailable|no more threads can be started \(ulimit -u, pids.max\))"
    done
    [ "$status" -eq 0 ] || fail "$limit=$n: status $status: $output"
    assert_output --partial ran
    assert [ "$n" -gt "$least" ]
  done
}

@test "--tls: 71 for too little memory, however little it is; or it works" {
  local size
  [ ! -d "$ZKFLOCK_BUILD/../sanitize" ] || return 0 # a sanitizer maps terabytes
  for size in $(seq 6000 4000 90000); do
    run bash -c 'ulimit -v "$0"; exec "$@"' "$size" zkflock -z "$SECURE" --tls --cacert "$KEYS/ca.pem" \
      --connect-timeout 5 "$LOCK" echo ran
    [ "$status" -eq 71 ] || break
    refute_output --partial ran
    assert_equal "${#lines[@]}" 1
  done
  assert_equal "$status" 0
  assert_output --partial ran
}

@test "--tls and --auth-file without stdin, stdout or stderr" {
  run -0 tls "$LOCK" touch one <&-
  run -0 tls "$LOCK" touch two >&-
  run -0 tls "$LOCK" touch three 2>&-
  run -0 tls "$LOCK" touch four <&- >&- 2>&-
  assert_exist four
  run -69 zkflock -z 127.0.0.1:1 --tls --cacert "$KEYS/ca.pem" --connect-timeout 0.2 "$LOCK" touch ran <&- >&- 2>&-
  assert_not_exist ran
}

@test "--tls: a log that cannot be written changes nothing" {
  run -7 tls -v "$LOCK" sh -c 'exit 7' 2>/dev/full
  run -7 bash -c 'ulimit -f 1; head -c 1024 /dev/zero >full; exec "$@" 2>>full' bash zkflock -vv -z "$SECURE" --tls \
    --cacert "$KEYS/ca.pem" "$LOCK" sh -c 'exit 7'
}

@test "a name that cannot be looked up for want of descriptors is not called unknown" {
  local n lacking=
  for n in $(seq 8 16); do
    run prlimit --nofile="$n" zkflock -z localhost:1 --connect-timeout 0.2 "$LOCK" touch ran 3>&- 4>&-
    refute_output --partial "not known"
    [[ $output != *"'localhost': Too many open files"* ]] || lacking=yes
  done
  assert [ -n "$lacking" ]
  assert_not_exist ran
}

# lacking SYSCALL:ERROR[:when=N] [STRACE-OPTION]... -- ARG...: zkflock, with that error of a system call.
lacking() {
  local inject=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  ASAN_OPTIONS=detect_leaks=0 timeout -k 1 30 strace -f -o calls -e trace="${inject%%:*}" -e inject="$inject" "${options[@]}" \
    zkflock "${@:2}" 3>&- 4>&-
}

@test "no descriptor or memory for the file of a secret: 71, not 78" {
  local file error
  for file in "$PWD/ann" "$KEYS/ca.pem" "$KEYS/server.key" "$KEYS/server.pem"; do
    for error in EMFILE ENFILE ENOMEM; do
      run -71 lacking "openat:error=$error" -P "$file" -- -z "$SECURE" --tls --cacert "$KEYS/ca.pem" --cert "$KEYS/server.pem" \
        --key "$KEYS/server.key" --auth-file "$PWD/ann" "$LOCK" touch ran
      assert_output --partial "$file: cannot be read"
    done
  done
  assert_not_exist ran
}

@test "--tls: without /proc the relay cannot tell who connects: 71" {
  local error
  for error in ENOENT EMFILE; do
    run -71 lacking "openat:error=$error" -P /proc/self/fd -- -z "$SECURE" --tls --cacert "$KEYS/ca.pem" \
      --connect-timeout 1 "$LOCK" touch ran
    assert_output --partial "cannot connect to $SECURE: /proc/self/fd cannot be read: "
  done
  assert_not_exist ran
}

@test "the client library's first socket cannot be had: zkflock tries again, with its credentials" {
  # The first one of its thread is for getaddrinfo(3).
  run -0 lacking socket:error=EMFILE:when=2 -- "$LOCK" echo ran
  assert_output --partial ran
  run -0 lacking socket:error=EMFILE:when=2 -- --auth-file "$PWD/ann" --acl creator "$LOCK.own" echo ran
  assert_output --partial ran
  # Also where the library connects by itself, without credentials, before its handle is closed.
  run -0 lacking socket:error=EMFILE:when=2 -e trace=socket,clone3 -e inject=clone3:delay_enter=100000:delay_exit=100000:when=1..5 -- \
    --auth-file "$PWD/ann" --acl creator "$LOCK.own" echo ran
  assert_output --partial ran
  run -77 zkflock "$LOCK.own" touch ran
  # A lack that lasts.
  run -71 lacking socket:error=EMFILE:when=2+ -- --connect-timeout 2 --auth-file "$PWD/ann" "$LOCK.own" touch ran
  assert_output --partial "Too many open files"
  assert_not_exist ran
}
