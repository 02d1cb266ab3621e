# Other clients on the same path: each contends with zkflock, and nothing is lost.
#
# They do not count their departures, so the contests are with --lock-delay 0; what the default
# does beside them has a test of its own.

load helper

# contest INCREMENTS OTHERS FIRST ROUNDS CONTENDER...: all done, nothing lost, nobody stuck
contest() {
  run "$TESTS_DIR/interop/contest" "$ONE" "$LOCK-$3" "${@:3}"
  assert_output "done=$1 lost=0 others=$2 violations=0 stuck=0"
}

@test "Curator's InterProcessMutex" {
  for first in zkflock other; do
    contest 200 0 $first 50 zkflock zkflock curator-mutex curator-mutex
  done
}

@test "Curator's InterProcessReadWriteLock: writers and readers of both" {
  for first in zkflock other; do
    contest 100 100 $first 25 'zkflock --exclusive' 'zkflock --exclusive' \
      'zkflock --shared' 'zkflock --shared' curator-write curator-write curator-read curator-read
  done
}

@test "ZooKeeper's own WriteLock" {
  for first in zkflock other; do
    contest 200 0 $first 50 zkflock zkflock recipe recipe
  done
}

@test "kazoo's Lock, with its own names" {
  local style='zkflock --node-style kazoo'
  for first in zkflock other; do
    contest 200 0 $first 50 "$style" "$style" kazoo-lock kazoo-lock
  done
}

@test "kazoo's Lock, told of Curator's names" {
  contest 200 0 other 50 zkflock zkflock kazoo-lock:-lock- kazoo-lock:-lock-
}

@test "kazoo's WriteLock and ReadLock" {
  local style='zkflock --node-style kazoo'
  for first in zkflock other; do
    contest 100 50 $first 25 "$style --exclusive" "$style --exclusive" "$style --shared" \
      kazoo-write kazoo-write kazoo-read
  done
}

@test "a home-made recipe that sorts whole names" {
  local style='zkflock --node-style plain:lock'
  for first in zkflock other; do
    contest 200 0 $first 50 "$style" "$style" whole-names:lock whole-names:lock
  done
}

@test "the judge can see: names that the other client does not know lose updates" {
  run -1 "$TESTS_DIR/interop/contest" "$ONE" "$LOCK" other 50 zkflock zkflock kazoo-lock kazoo-lock
  assert_output --regexp '^done=200 lost=[1-9]'
}

@test "somebody at zkCli.sh who makes plain sequential ephemerals" {
  for first in zkflock other; do
    contest 100 0 $first 25 zkflock zkflock zkcli:x- zkcli:lock-
  done
}

@test "a plain create -s -e in zkCli.sh is waited for until it goes" {
  zkflock "$LOCK" true
  mkfifo orders
  /usr/share/zookeeper/bin/zkCli.sh -server "$ONE" <orders >cli.log 2>&1 3>&- 4>&- &
  exec 5>orders
  echo "create -s -e $LOCK/guest" >&5
  zk "$ONE" await-count "$LOCK" 1
  run -1 zkflock -n "$LOCK" true
  wait_in_line log --lock-delay 0 "$LOCK" zk "$ONE" ls "$LOCK" >seen 5>&-
  echo quit >&5
  ends_with 0 "$waiter"
  refute grep guest seen
  assert grep -q -- -lock- seen
  wait
}

# after_one KIND: such a client held $LOCK-KIND once and left; zkflock's messages are then in log.KIND
after_one() {
  local lock=$LOCK-$1
  zkflock --lease 4 "$lock" true
  "$TESTS_DIR/interop/contest" "$ONE" "$lock" other 1 "$1" >contest."$1"
  # It waits even with -n, since it is first in the queue.
  zkflock -v -n "$lock" touch "ran.$1" 2>"log.$1"
}

@test "the default lock delay: one lease after another client has left, once" {
  local kinds='curator-mutex recipe kazoo-lock whole-names:lock'
  for kind in $kinds; do after_one "$kind" 3>&- 4>&- & done
  wait
  for kind in $kinds; do
    assert_file_exist "ran.$kind"
    assert_file_contains "log.$kind" 'a contender vanished; its command may run for 3\.[0-9] s more'
    run -0 zkflock -v "$LOCK-$kind" true
    refute_output --partial "vanished"
  done
}

@test "a lock that another client made: one lease for the first, then it is zkflock's" {
  "$TESTS_DIR/interop/contest" "$ONE" "$LOCK" other 1 kazoo-lock
  run -0 zkflock -v "$LOCK" true
  assert_output --partial "earlier holders are not known; one of them and its command may run for 1"
  run -0 zkflock -v "$LOCK" true
  refute_output --partial "not known"
}

@test "kazoo's Semaphore, which is no queue: its path is refused" {
  run -0 "$TESTS_DIR/interop/contest" "$ONE" "$LOCK" other 10 kazoo-semaphore:3 kazoo-semaphore:3
  assert_output "done=0 lost=0 others=20 violations=0 stuck=0"
  run -78 zkflock --lock-delay 0 "$LOCK" touch ran
  assert_output "zkflock: $LOCK holds data that is not zkflock's: it is no lock; choose another LOCK"
  run -78 zkflock --permits 3 "$LOCK" touch ran
  assert_output "zkflock: $LOCK is in use as a semaphore of kazoo's, which does not count zkflock in; choose another LOCK"
  assert_not_exist ran
  assert_equal "$(zk "$ONE" ls "$LOCK")" ""
}

@test "Curator's InterProcessSemaphoreV2: never more than N together" {
  local permits='zkflock --permits 3'
  for first in zkflock other; do
    contest 0 150 $first 25 "$permits" "$permits" "$permits" \
      curator-semaphore:3 curator-semaphore:3 curator-semaphore:3
  done
}

@test "Curator's InterProcessSemaphoreV2 counts with zkflock: N are let in, and no more" {
  local i
  for i in 1 2; do
    background --permits 2 --lock-delay 0 "$LOCK" sh -c 'touch "held.$1"; until [ -e "$1" ]; do sleep 0.05; done' \
      sh "$i"
    eventually test -e "held.$i"
    [ "$i" = 1 ] || break
    # One permit is left, for clients in turn.
    run -0 "$TESTS_DIR/interop/contest" "$ONE" "$LOCK" other 5 curator-semaphore:2 curator-semaphore:2
  done
  "$TESTS_DIR/interop/contest" "$ONE" "$LOCK" other 5 curator-semaphore:2 >contest 3>&- 4>&- &
  contest=$!
  # Curator makes its lease first and then counts.
  zk "$ONE" await-count "$LOCK/leases" 3
  refute [ -s contest ]
  touch 1
  ends_with 0 "$contest"
  touch 2
  wait
}
