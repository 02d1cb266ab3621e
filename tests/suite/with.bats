# Several locks at once.

load helper
load beating

# Delayed requests may keep the session alive.
teardown() { common_teardown 10; }

# missing LOCK: how many have left it uncounted.
missing() {
  local version cversion children _
  read -r version cversion children _ < <(zk "$ONE" stat "$1")
  echo $(((cversion - children) / 2 - version))
}

@test "--with: all are held while the command runs, and all given back" {
  run -0 zkflock --with "$LOCK/b" --with "$LOCK/a" "$LOCK/c" sh -c '
    for l in a b c; do zkflock -q -n --no-reentry "${ZKFLOCK_LOCK%c}$l" true && echo free; done
    zkflock -n "${ZKFLOCK_LOCK%c}d" echo other; echo "$ZKFLOCK_LOCK $ZKFLOCK_NODE"'
  refute_output --partial free
  assert_line other
  assert_line --regexp "^$LOCK/c $LOCK/c/_c_"
  for lock in a b c; do
    run -0 zkflock -n "$LOCK/$lock" true
    assert_equal "$(zk "$ONE" stat "$LOCK/$lock" | cut -d" " -f1)" 3
  done
}

@test "--with: several in one word, with commas between, as in a file" {
  echo "[lock $LOCK/c]
with = $LOCK/a, $LOCK/b" >config
  for way in "--with $LOCK/a,$LOCK/b" "--config config"; do
    # shellcheck disable=SC2086 # two words
    run -0 zkflock $way "$LOCK/c" sh -c \
      'for l in a b c; do zkflock -q -n --no-reentry "${ZKFLOCK_LOCK%c}$l" true && echo free; done; echo ran'
    assert_output ran
  done
  run -64 zkflock --with "$LOCK/a,,$LOCK/b" "$LOCK/c" touch ran
  assert_output "zkflock: the LOCK '' is empty"
}

@test "--with: more and longer names than the guard has room for: if the keeper is killed, the session expires" {
  local with=() name
  name=$(printf '%0900d' 0)x
  for i in $(seq 45); do with+=(--with "$LOCK/$i/$name"); done
  background --session-timeout 2 --lease 5 "${with[@]}" "$LOCK/a" sh -c 'touch ready; exec sleep 1000'
  local keeper=$!
  eventually test -e ready
  kill -KILL "$keeper"
  ends_with 137 "$keeper"
  run -0 zkflock -w 20 "$LOCK/45/$name" echo ran
  assert_line ran
}

@test "--with: opposite orders do not wait for each other for ever" {
  echo 0 >counter
  for order in "a b c" "c b a" "b a c" "c a b"; do
    read -r one two three <<<"$order"
    (for _ in $(seq 25); do
      zkflock --with "$LOCK/$two" --with "$LOCK/$three" "$LOCK/$one" \
        sh -c 'n=$(cat counter); sleep 0.001; echo $((n + 1)) >counter'
    done) 3>&- 4>&- &
  done
  wait
  assert_equal "$(cat counter)" 100
}

@test "--with: -w bounds the whole, and nothing is kept when one is busy" {
  hold "$LOCK/b" release
  run -1 zkflock -w 0.3 --with "$LOCK/b" --with "$LOCK/c" "$LOCK/a" touch ran
  assert_output --partial "zkflock: $LOCK/b is still busy after 300 ms: 1 ahead, "
  run -1 zkflock -n --with "$LOCK/b" "$LOCK/a" touch ran
  for lock in a c; do run -0 zkflock -n "$LOCK/$lock" true; done
  assert_not_exist ran
  touch release
  wait "$holder"
}

@test "--with: while the last is waited for, the first stay held, for longer than the lease" {
  hold "$LOCK/b" release
  background -v --lease 4 --session-timeout 2 --with "$LOCK/b" "$LOCK/a" touch ran 2>log
  waiter=$!
  eventually contains log "waiting for $LOCK/b"
  started=$SECONDS
  while [ $((SECONDS - started)) -lt 6 ]; do run -1 zkflock -q -n "$LOCK/a" true; done
  touch release
  ends_with 0 "$waiter"
  wait "$holder"
  assert_exist ran
}

@test "--with: of different leases the shortest one counts, and every proof is as new as it wants" {
  zk "$ONE" create "$LOCK/a" $'zkflock/1 base=0 lease=120000ms\n'
  zk "$ONE" create "$LOCK/b" $'zkflock/1 base=0 lease=6000ms\n'
  hold "$LOCK/b" release
  # While an answer is late zkflock asks again, but not all the time.
  listen late 1:0.4
  background -v -z "$VIA" --lease 300 --with "$LOCK/b" "$LOCK/a" sh -c 'touch ran; until [ -e go ]; do sleep 0.05; done' 2>log
  waiter=$!
  eventually contains log "waiting for $LOCK/b"
  # Longer than the shorter lease, and shorter than the time after which the longer one is proven.
  eventually past $(($(now) + 8000))
  touch release
  eventually test -e ran
  touch go
  ends_with 0 "$waiter"
  wait "$holder"
  refute grep -q "lost" log
  LOCK=$LOCK/a assert asked_for PROOF
  LOCK=$LOCK/a refute asked_for PROOF 50
  close_proxy
}

@test "--with: any znode that is deleted ends the command, 75" {
  for taken in a b c; do
    background -v --lock-delay 0 --with "$LOCK/c" --with "$LOCK/b" "$LOCK/a" sh -c 'touch ready; exec sleep 1000' 2>log
    holder=$!
    eventually test -e ready
    rm ready
    zk "$ONE" delete "$LOCK/$taken/$(zk "$ONE" ls "$LOCK/$taken")"
    ends_with 75 "$holder"
    assert grep -q "the znode $LOCK/$taken/.* was deleted, by --break or another client" log
    for free in a b c; do run -0 zkflock -n --lock-delay 0 "$LOCK/$free" true; done
  done
}

@test "--with: the lease runs from the oldest of the proofs" {
  for lock in a b; do zk "$ONE" create "$LOCK/$lock" $'zkflock/1 base=0 lease=12000ms\n'; done
  hold "$LOCK/b" first
  # The creates and the mark pass; they are the only proofs.  Shared: nobody proves while it waits.
  PROXY_OF=multi listen hold-request 1
  beating
  background -v -z "$VIA" --session-timeout 7 --shared --with "$LOCK/b" "$LOCK/a" ./beating 2>log
  local set=$!
  eventually contains log "waiting for $LOCK/b"
  # zkflock takes the locks in the order of their names.  When it acquires b, its proof of a is older
  # by more than the margin, 0.8 s, but not as old as it may be, 2 s.
  eventually past $(($(LOCK=$LOCK/a last_proof) + 1000))
  touch first
  eventually test -s command
  LOCK=$LOCK/a dead_without_contact 12000
  later_by 900 "$(LOCK=$LOCK/a last_proof)" "$(LOCK=$LOCK/b last_proof)"
  ends_with 75 "$set"
  wait "$holder"
  close_proxy
}

@test "--with: the keeper is killed, and all come free at once" {
  background --with "$LOCK/b" "$LOCK/a" sh -c 'touch ready; exec sleep 1000'
  eventually test -e ready
  kill -KILL $!
  for lock in a b; do
    run -0 zkflock -v -w 5 "$LOCK/$lock" echo ran
    refute_output --partial vanished
    assert_output --partial ran
  done
}

@test "--with: shared locks too" {
  background --shared --with "$LOCK/b" "$LOCK/a" sh -c 'touch ready; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e ready
  run -0 zkflock -n --shared --with "$LOCK/a" "$LOCK/b" true
  run -1 zkflock -q -n "$LOCK/b" true
  touch release
  wait "$holder"
}

@test "--with: each lock has the kind of its own section, and an option gives all one kind" {
  printf '%s\n' "[lock s1]" "path = $LOCK/s1" "kind = shared" "[lock s2]" "path = $LOCK/s2" \
    "[lock u]" "path = $LOCK/u" "kind = unfair" "[lock p]" "path = $LOCK/p" "permits = 2" \
    "[lock job]" "path = $LOCK/job" "with = s1, s2" >config
  # kinds_of OPTION...: of each lock, while job is held.
  kinds_of() {
    zkflock --config config "$@" job zkflock --list "$LOCK/" | awk '$2 == "held" { print $1, $3 }'
  }
  run -0 kinds_of
  assert_output "$LOCK/job exclusive
$LOCK/s1 shared
$LOCK/s2 exclusive"
  run -0 kinds_of --with s2,u
  assert_line "$LOCK/s2 exclusive"
  assert_line "$LOCK/u unfair"
  run -0 kinds_of -s
  assert_output "$LOCK/job shared
$LOCK/s1 shared
$LOCK/s2 shared"
  run -0 kinds_of -x
  assert_line "$LOCK/s1 exclusive"
  # --permits is for LOCK alone.
  run -0 zkflock --config config --permits 1 --with s1,s2 "$LOCK/many" zkflock --list "$LOCK/"
  assert_line --regexp "^$LOCK/many +held +permits 1/1 "
  assert_line --regexp "^$LOCK/s1 +held +shared "
  assert_line --regexp "^$LOCK/s2 +held +exclusive "
  for option in "" -s "--permits 1"; do
    # shellcheck disable=SC2086 # an option and its argument
    run -78 zkflock --config config $option --with p job touch ran
    assert_output "zkflock: config:11: p is a semaphore, and --with takes no permits; give that one as LOCK"
  done
  # Two runs that hold s1 shared run beside each other.
  run -0 zkflock --config config job zkflock --config config -w 5 --no-reentry --with s1 other echo both
  assert_output both
  # The kind of its section counts inside, too.
  run -64 zkflock --config config job zkflock -x "$LOCK/s1" touch ran
  assert_output --partial "$LOCK/s1 is held shared by the zkflock around this one"
  run -0 zkflock --config config job zkflock -s "$LOCK/s1" echo in
  assert_output in
  [ ! -e ran ]
}

@test "--with: the kind of its section has to go with a --node-style that is typed" {
  printf '%s\n' "[lock s1]" "kind = shared" "[lock u]" "kind = unfair" >config
  run -78 zkflock --config config --node-style plain:x- --with s1 "$LOCK" touch ran
  assert_output --partial "zkflock: config:2: --shared does not go with --node-style plain, "
  run -78 zkflock --config config --node-style kazoo --with u "$LOCK" touch ran
  assert_output --partial "zkflock: config:4: --unfair does not go with --node-style: "
  assert_not_exist ran
}

@test "--with: a lock is taken where it is without it, or not at all" {
  unset ZKFLOCK_SERVERS
  printf '%s\n' "[lock job]" "servers = $ONE/with" "with = $LOCK/deploy" "[lock other]" "servers = $ONE/with" >file
  printf '%s\n' "[zkflock]" "servers = $ONE" | cat file - >all
  cp file environment
  # By [zkflock], by the default, by the environment.
  for config in all file environment; do
    [ "$config" != environment ] || export ZKFLOCK_SERVERS=$ONE
    run -78 zkflock --config "$config" "$LOCK/x" touch ran
    assert_output "zkflock: $config:3: the lock job has servers of its own ($config:2), unlike $LOCK/deploy"
    sed -i /^with/d "$config"
    refuses 64 "the lock other has servers of its own ($config:4), unlike $LOCK/deploy" \
      --config "$config" --with "$LOCK/deploy" other touch ran
  done
}

@test "--with: one ensemble however it is written, or by -z for all, or by the environment" {
  printf '%s\n' "[zkflock]" "servers = 127.0.0.2:1, $ONE/with" \
    "[lock job]" "servers = $ONE,127.0.0.2:1/with " "with = $LOCK/deploy" >config
  run -0 env -u ZKFLOCK_SERVERS zkflock --config config --show-config job
  run -0 env "ZKFLOCK_SERVERS=$ONE/with" zkflock --config config --show-config job
  run -78 zkflock --config config --show-config job
  run -0 zkflock --config config -z "$ONE" job echo ran
  assert_output ran
  sed -i 1,2d config
  run -0 env "ZKFLOCK_SERVERS=$ONE/with" zkflock --config config --show-config job
}

@test "--with: bad names, and the same lock twice" {
  refuses 64 "the LOCK '/a//b' has an empty part (//)" --with /a//b "$LOCK" touch ran
  refuses 64 "/locks/x is given twice; --with names further locks" --with x /locks/x touch ran
  refuses 64 "/locks/x is given twice; --with names further locks" --with x --with x "$LOCK" touch ran
}

@test "--with: one lock is broken while another is waited for; the others are given back, counted" {
  hold "$LOCK/c" release
  wait_in_line log --lease 4 --session-timeout 2 --with "$LOCK/a" --with "$LOCK/b" "$LOCK/c" touch ran
  local set=$waiter
  wait_in_line next "$LOCK/a" touch next-ran
  run -0 timeout 40 setsid -w zkflock --break --yes "$LOCK/b"
  ends_with 0 "$waiter"
  assert lacks next vanished
  eventually contains log "lost $LOCK/b before all locks were held: the znode $LOCK/b/"
  touch release
  ends_with 0 "$set"
  wait "$holder"
  # zkflock waited only for the lock that was broken.
  assert_exist ran
  assert lacks log "$LOCK/a: a contender vanished"
  assert lacks log "$LOCK/c: a contender vanished"
  for lock in a b c; do assert_equal "$(missing "$LOCK/$lock")" 0; done
}

@test "--permits: the turn to take a permit is taken away; the place among the permits is given back, counted" {
  hold "$LOCK" release --permits 1
  wait_in_line log --permits 1 "$LOCK" touch ran
  zk "$ONE" await-count "$LOCK/leases" 2
  zk "$ONE" delete "$LOCK/locks/$(zk "$ONE" ls "$LOCK/locks")"
  eventually contains log "lost $LOCK/locks before all locks were held: "
  touch release
  ends_with 0 "$waiter"
  wait "$holder"
  assert_exist ran
  assert lacks log vanished
  assert_equal "$(missing "$LOCK/leases")" 0
}

@test "--permits --with: a semaphore made by this one stays, with its count, when another lock is lost" {
  background --permits 2 --with "$LOCK/y" "$LOCK/x" sh -c 'touch held; exec sleep 1000'
  holder=$!
  eventually test -e held
  run -0 setsid -w zkflock --break --yes "$LOCK/y"
  ends_with 75 "$holder"
  # Otherwise a contender that vanished there meanwhile would be forgotten with the znode.
  run -0 zk "$ONE" get "$LOCK/x/leases"
  assert_output --partial permits=2
  assert_equal "$(missing "$LOCK/x/leases")" 0
}

@test "--permits --with: a semaphore made by this one stays, with its count, when another lock is refused" {
  hold "$LOCK/y" release
  wait_in_line log --permits 2 --with "$LOCK/y" "$LOCK/x" touch ran
  zk "$ONE" set "$LOCK/y" "port = 8080"
  touch release
  ends_with 78 "$waiter"
  wait "$holder"
  assert_not_exist ran
  run -0 zk "$ONE" get "$LOCK/x/leases"
  assert_output --partial permits=2
  assert_equal "$(missing "$LOCK/x/leases")" 0
}

@test "--with: a lease other than the one asked for is told of the lock that has it" {
  zkflock --lease 6 "$LOCK/a" true
  run -0 zkflock --lease 30 --with "$LOCK/a" "$LOCK/b" true
  assert_output "zkflock: warning: $LOCK/a has a lease of 6 s, which is used here instead of what --lease says; to change it, --remove the lock"
  run -78 zkflock --with "$LOCK/a" --kill-after 5 "$LOCK/b" true
  assert_line --partial "zkflock: $LOCK/a: with --kill-after 5 s a lease of 6 s is too short"
}
