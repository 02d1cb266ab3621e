# The lock itself: exclusion, order, no herd, what is left behind.

load helper

increment='read -r n <"$1"; echo $((n + 1)) >"$1"'

@test "1000 increments by 20 concurrent loops: none lost" {
  echo 0 >counter
  for _ in $(seq 20); do
    (
      for _ in $(seq 50); do
        zkflock "$LOCK" sh -c "$increment" sh counter || echo "status $?" >>failures
      done
    ) 3>&- 4>&- &
  done
  wait
  assert_not_exist failures
  assert_equal "$(cat counter)" 1000
  # Every one of them left counted: created = departed = version.
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp '^1000 2000 0 0 '
}

@test "the judge can see: without the lock the same loops lose updates" {
  echo 0 >counter
  for _ in $(seq 20); do
    (for _ in $(seq 50); do sh -c "$increment" sh counter; done) 2>/dev/null 3>&- 4>&- &
  done
  wait
  refute [ "$(cat counter)" = 1000 ]
}

watches() { # how many fired, on deletions or changes
  figure "zk_sum_node_$1_watch_count"
}

@test "50 waiters are served in the order of their arrival, one woken by each release" {
  hold "$LOCK" release
  for i in $(seq 50); do
    wait_in_line "log.$i" "$LOCK" sh -c 'echo "$1" >>served; until [ -e go ]; do sleep 0.05; done' \
      sh "$i"
  done
  # Each waiter watches the one before it; the holder watches its own znode.
  eventually has_watches 51
  deleted=$(watches deleted)
  changed=$(watches changed)
  touch release
  eventually test -e served
  eventually has_watches 50
  # The release fired the first waiter's watch and the holder's own.  The new holder's mark fired the
  # watch of the one behind it, whose first early proof fired the next one's.
  has_changed_two() { [ $(($(watches changed) - changed)) -ge 2 ]; }
  eventually has_changed_two
  eventually has_watches 50
  assert_equal $(($(watches deleted) - deleted)) 2
  assert_equal $(($(watches changed) - changed)) 2
  touch go
  wait
  assert_equal "$(cat served)" "$(seq 50)"
}

@test "a waiter that gives up in the middle wakes one, and the order stays" {
  hold "$LOCK" release
  for i in 1 2 3; do
    wait_in_line "log.$i" "$LOCK" sh -c 'echo "$1" >>served' sh "$i"
    [ "$i" != 2 ] || quitter=$waiter
  done
  kill -TERM "$quitter"
  ends_with 143 "$quitter"
  zk "$ONE" await-count "$LOCK" 3
  touch release
  wait
  assert_equal "$(cat served)" "$(printf '1\n3')"
}

@test "a waiter does not keep the memory of a long list that it read when it came" {
  heap() { awk '/\[heap\]/ { heap = 1 } heap && /^Private_Dirty/ { print $2; exit }' "/proc/$1/smaps"; }
  hold "$LOCK" release
  wait_in_line first "$LOCK" true
  first=$waiter
  heap_of_first=$(heap "$first")
  others "$LOCK" _c_0123456789abcdef0123456789abcdef-lock- 3000
  wait_in_line last "$LOCK" true
  # In kB; the list takes 400.  The address sanitizer has no heap, and keeps what is freed.
  gave_back() { [ -z "$heap_of_first" ] || [ "$(heap "$waiter")" -lt $((heap_of_first + 60)) ]; }
  eventually gave_back
  touch release
  wait "$first"
  kill "$waiter"
  others_end
}

@test "different locks do not wait for each other" {
  hold "$LOCK" release
  run -0 zkflock -n "$LOCK-other" true
  touch release
  wait "$holder"
}

@test "the token grows with every holder, also when the lock was deleted between them" {
  last=0
  for _ in 1 2 3; do
    token=$(zkflock "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN"')
    assert [ "$token" -gt "$last" ]
    last=$token
  done
  zk "$ONE" delete "$LOCK"
  token=$(zkflock "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN"')
  assert [ "$token" -gt "$last" ]
}

@test "the token is the czxid of the own znode, which the environment names" {
  zkflock "$LOCK" sh -c 'zk "$ZKFLOCK_SERVERS" stat "$ZKFLOCK_NODE" | cut -d" " -f5 >czxid
    echo "$ZKFLOCK_TOKEN" >token; echo "$ZKFLOCK_LOCK" >lock'
  assert_equal "$(cat token)" "$(cat czxid)"
  assert_equal "$(cat lock)" "$LOCK"
}

@test "the own znode tells who holds, with what command and lease" {
  run -0 zkflock --lease 20 "$LOCK" sh -c 'zk "$ZKFLOCK_SERVERS" get "$ZKFLOCK_NODE"'
  assert_line --index 0 "zkflock/1 waiting exclusive"
  assert_line --index 1 --regexp '^[^ ]+@[^ ]+ pid [0-9]+: sh -c zk '
  assert_line --index 2 --regexp '^since=[0-9TZ:-]+ kind=exclusive lease=20000ms version=[0-9.]+$'
}

@test "missing parents are made, and a bare name stands below /locks" {
  run -0 zkflock "$LOCK/a/b c/d" true
  run -0 zk "$ONE" get "$LOCK/a/b c/d"
  assert_output "zkflock/1 base=0 lease=15000ms"
  run -0 zk "$ONE" get "$LOCK/a"
  assert_output ""
  run -0 zkflock "n/$BATS_TEST_NUMBER" sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output "/locks/n/$BATS_TEST_NUMBER"
}

@test "many start at once where the lock does not exist yet" {
  for _ in $(seq 20); do
    zkflock "$LOCK/deep/er" sh -c 'echo x >>made' 3>&- 4>&- &
  done
  wait
  assert_equal "$(wc -l <made)" 20
  run -0 zk "$ONE" stat "$LOCK/deep/er"
  assert_output --regexp '^20 40 0 0 '
}

@test "names are Curator's: _c_<guid>-lock-<sequence>" {
  run -0 zkflock "$LOCK" sh -c 'echo "$ZKFLOCK_NODE"'
  assert_output --regexp "^$LOCK/_c_[0-9a-f]{32}-lock-[0-9]{10}\$"
}

@test "a chroot is where the lock then is" {
  zk "$ONE" create "$LOCK/root"
  run -0 zkflock -z "$ONE$LOCK/root" /inner sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output /inner
  run -0 zk "$ONE" ls "$LOCK/root"
  assert_output inner
}

@test "a waiter whose host crashes leaves no ghost: its znode ends with its session" {
  hold "$LOCK" release
  wait_in_line log.1 --session-timeout 1 "$LOCK" true
  ghost=$waiter
  wait_in_line log.2 "$LOCK" true
  crash "$ghost"
  zk "$ONE" await-count "$LOCK" 2
  # It left uncounted.
  assert_equal "$(zk "$ONE" stat "$LOCK" | cut -d' ' -f1)" 0
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  touch release
  wait "$holder"
}

@test "a waiter whose session expired while it was stopped joins again" {
  hold "$LOCK" release
  wait_in_line log --session-timeout 1 "$LOCK" touch served
  stopped=$(family "$waiter")
  # shellcheck disable=SC2086
  kill -STOP $stopped
  zk "$ONE" await-count "$LOCK" 1
  # shellcheck disable=SC2086
  kill -CONT $stopped
  eventually contains log "the session expired while waiting"
  zk "$ONE" await-count "$LOCK" 2
  assert_not_exist served
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  touch release
  wait "$holder"
}

@test "children that are no contenders are ignored, and named once under -v" {
  zkflock "$LOCK" true
  # The last two end in ten digits, of numbers that no sequence reaches.
  strangers="config lock-00000001 lock--000000001 -0000000001x x-99999999999 lock-2147483648"
  zk "$ONE" create "$LOCK/config"
  run -0 zkflock -v "$LOCK" true
  assert_line --regexp ": 1 of its children .*: config\$"
  zk "$ONE" create "$LOCK/lock-00000001"
  run -0 zkflock -v "$LOCK" true
  assert_line --regexp ": 2 of its children .*: [^ ]+, \.\.\.\$"
  for name in ${strangers#* * }; do zk "$ONE" create "$LOCK/$name"; done
  run -0 zkflock -v "$LOCK" echo ran
  assert_line ran
  assert_line --regexp "^zkflock\[.*\]: $LOCK: 6 of its children are no contenders and are ignored: [^ ]+, \.\.\.\$"
  assert_equal "$(grep -c ignored <<<"$output")" 1
  for name in $strangers; do zk "$ONE" delete "$LOCK/$name"; done
}
