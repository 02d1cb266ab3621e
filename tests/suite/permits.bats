# --permits N: a semaphore, in the layout of Curator's.

load helper
load vanishing

# permit NAME [ARG]...: takes one of two in the background, until NAME.go.
permit() {
  background -v --lease 4 "${@:2}" --permits 2 "$LOCK" \
    sh -c 'echo "$1" >>started; until [ -e "$1.go" ]; do sleep 0.05; done' sh "$1" 2>"log.$1"
}

started() { eventually grep -qsx "$1" started; }

@test "--permits: two at once, the third waits, and has the one that comes free" {
  permit a
  started a
  permit b
  started b
  permit c
  eventually contains log.c "waiting for a permit of $LOCK"
  run -1 zkflock --permits 2 -n "$LOCK" touch ran
  run -1 zkflock --permits 2 -w 0.3 "$LOCK" touch ran
  refute grep -q c started
  touch b.go
  started c
  touch a.go c.go
  wait
  assert_equal "$(zk "$ONE" ls "$LOCK")" $'leases\nlocks'
  nothing_left_of "$LOCK/leases"
  nothing_left_of "$LOCK/locks"
}

@test "--permits 3: never more than three of twenty loops at once, and three are" {
  mkdir inside
  cat >enter <<'EOF'
#!/bin/sh
touch "inside/$$"
n=$(ls inside | wc -l)
[ "$n" -le 3 ] || touch too-many
[ "$n" -lt 3 ] || touch three
sleep 0.01
rm "inside/$$"
echo x >>finished
EOF
  chmod +x enter
  for _ in $(seq 20); do
    (for _ in $(seq 10); do zkflock --permits 3 "$LOCK" ./enter; done) 3>&- 4>&- &
  done
  wait
  assert_equal "$(wc -l <finished)" 200
  assert_not_exist too-many
  assert_exist three
}

@test "--permits -n: a zkflock that comes together with others does not give up while permits are free" {
  for i in {1..5}; do
    zkflock -n --permits 5 "$LOCK" sh -c 'touch "ran.$1"; until [ -e go ]; do sleep 0.05; done' sh "$i" &
  done
  all_run() { [ "$(find . -name 'ran.*' | wc -l)" -eq 5 ]; }
  eventually all_run
  run -1 zkflock -q -n --permits 5 "$LOCK" true
  touch go
  wait
}

@test "--permits: a waiter whose turn is deleted by somebody does not block the others" {
  zkflock --permits 1 "$LOCK" sh -c 'touch first; until [ -e go ]; do sleep 0.05; done' &
  eventually test -e first
  zkflock --permits 1 "$LOCK" touch second &
  zk "$ONE" await-count "$LOCK/leases" 2
  zk "$ONE" delete "$LOCK/locks/$(zk "$ONE" ls "$LOCK/locks")"
  zkflock --permits 1 "$LOCK" touch third &
  zk "$ONE" await-count "$LOCK/locks" 2
  touch go
  eventually test -e second
  eventually test -e third
  wait
}

@test "--permits 1 is a lock: no update is lost" {
  echo 0 >counter
  for _ in $(seq 10); do
    (for _ in $(seq 20); do
      zkflock --permits 1 "$LOCK" sh -c 'n=$(cat counter); sleep 0.001; echo $((n + 1)) >counter'
    done) 3>&- 4>&- &
  done
  wait
  assert_equal "$(cat counter)" 200
}

@test "--permits: one release wakes one of many waiters" {
  # No waiter sends requests of its own accord before that lease ends.
  local long=(--lease 60 --session-timeout 40) waiters=()
  permit a "${long[@]}"
  started a
  permit b "${long[@]}"
  started b
  listen
  for i in 1 2 3 4 5; do
    permit "$i" "${long[@]}" -z "$VIA"
    waiters+=($!)
    eventually contains "log.$i" "waiting for"
  done
  for i in 4 5; do BY=$i LOCK=$LOCK/locks eventually asked_for WATCH; done
  eventually waiting_is_watched
  touch a.go
  eventually lines started 3
  # One has its permit and the next one its turn; the waiters behind were not woken.
  eventually waiting_is_watched
  for i in 4 5; do BY=$i LOCK=$LOCK/locks refute asked_for WATCH 2; done
  touch b.go 1.go 2.go 3.go 4.go 5.go
  wait "${waiters[@]}"
  close_proxy
  wait
  assert_equal "$(wc -l <started)" 7
}

waiting_is_watched() { [ "$(zk "$ONE" ls "$LOCK/leases" | wc -l)" -eq 3 ]; }

@test "--permits: a name that would make a semaphore of the lock above is refused" {
  local sentence="the LOCK $LOCK/leases would make a semaphore of $LOCK: the name leases is kept for the permits of one; choose another LOCK"
  refuses 64 "$sentence" "$LOCK/leases" touch ran
  refuses 64 "$sentence" --permits 2 "$LOCK/leases" touch ran
  refuses 64 "$sentence" --with "$LOCK/leases" "$LOCK" touch ran
  refuses 64 "$sentence" --hold --for $$ "$LOCK/leases"
  run -1 zkflock --remove "$LOCK/leases"
  sentence="the LOCK $LOCK/leases/x would make a semaphore of $LOCK: the name leases is kept for the permits of one; choose another LOCK"
  refuses 64 "$sentence" "$LOCK/leases/x" touch ran
  refuses 64 "$sentence" --permits 2 "$LOCK/leases/x" touch ran
  refuses 64 "$sentence" --with "$LOCK/leases/x" "$LOCK" touch ran
  refuses 64 "$sentence" --hold --for $$ "$LOCK/leases/x"
  # Locks that others have made there can be listed and removed.
  zk "$ONE" create "$LOCK/leases/x" $'zkflock/1 base=0 lease=15000ms\n'
  run -0 zkflock --list --names "$LOCK/leases/x"
  assert_output "$LOCK/leases/x"
  run -1 zkflock --break --yes "$LOCK/leases/x"
  zkflock --remove "$LOCK/leases/x"
  # At the root there is no lock above that could be a semaphore.
  for lock in /leases /leases/x; do
    run -0 zkflock "$lock" true
    zkflock --remove "$lock"
  done
  zk "$ONE" delete /leases
}

@test "--permits: a semaphore that is just being made is shown as one, or not at all" {
  local seen=
  for number in {8..25}; do
    local lock=$LOCK/$number
    zk "$ONE" create "$lock"
    open_proxy hold-request "$number"
    background -z "$VIA" --permits 2 "$lock" touch "ran.$number"
    until [ -e "ran.$number" ]; do
      await_cut 0.1
      [ ! "$cut" ] || break
    done
    seen+="$(zk "$ONE" ls "$lock" | xargs)/"
    for how in "" --names --json; do
      # shellcheck disable=SC2086 # none is no argument
      run -0 zkflock --list $how "$lock/"
      refute_output --regexp "(^|"$'\n'"|\"path\": \")$lock/(locks|leases)"
    done
    run zkflock --list "$lock/locks"
    case $status in
    0) assert_line --index 1 --regexp "^free, and never used" ;;
    *) assert_output "zkflock: $lock/locks is a part of the semaphore $lock; give that one as LOCK" ;;
    esac
    let_pass
    eventually test -e "ran.$number"
    wait $!
    close_proxy
  done
  # There were moments without, with one, with both.
  assert_regex "$seen" "^/+locks/.*/leases locks/"
}

@test "--permits: the two parts of a semaphore are no locks to be listed or broken" {
  zkflock --permits 2 "$LOCK" true
  for part in locks leases; do
    for what in --list "--list --names" "--list --watch" "--list -q" "--break --yes" --remove; do
      # shellcheck disable=SC2086 # options
      refuses 64 "$LOCK/$part is a part of the semaphore $LOCK; give that one as LOCK" $what "$LOCK/$part"
    done
  done
  # The rest of a semaphore that was not made completely is no longer shown.
  zk "$ONE" delete "$LOCK/leases"
  run -0 zkflock --list "$LOCK"
  assert_output "$LOCK
free, earlier holders are not known"
  # Without a semaphore, that name is a lock like any other.
  zkflock "$LOCK.none/locks" true
  for name in "$LOCK.none/" "$LOCK.none/locks"; do
    run -0 zkflock --list --names "$name"
    assert_output "$LOCK.none/locks"
  done
  assert_not_exist ran
}

@test "--permits: a lock called locks does not wait for departures from the znode above, and writes nothing there" {
  zkflock "$LOCK/a" true
  zkflock --remove "$LOCK/a"
  run -0 zkflock -w 1 "$LOCK/locks" echo ran
  assert_output ran
  assert_equal "$(zk "$ONE" stat "$LOCK" | cut -d" " -f1)" 0
}

@test "--permits: a waiter behind the holder of a lock called locks names that holder" {
  LOGNAME=ci hold "$LOCK/locks" release
  run -1 zkflock -n --permits 2 "$LOCK" true
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, held for [^ ]+ by ci@.*: sh -c "
  background -v --permits 2 "$LOCK" touch ran 2>log
  eventually contains log "waiting for a permit of $LOCK: 1 ahead, held for "
  touch release
  eventually test -e ran
  wait
}

@test "--permits: a different number is an error that names both" {
  zkflock --permits 3 "$LOCK" true
  refuses 78 "$LOCK has 3 permits, not 5: all have to ask for the same number" --permits 5 "$LOCK" touch ran
  run -0 zkflock --permits 3 -n "$LOCK" true
}

@test "--permits: a lock and a semaphore on one path refuse each other" {
  zkflock --permits 3 "$LOCK" true
  refuses 78 "$LOCK is a semaphore; give --permits, or choose another LOCK, or take that one away with --remove" "$LOCK" touch ran
  refuses 78 "$LOCK is a semaphore; give --permits, or choose another LOCK, or take that one away with --remove" --unfair "$LOCK" touch ran
  refuses 78 "$LOCK/locks is a part of the semaphore $LOCK; choose another LOCK" "$LOCK/locks" touch ran
  refuses 78 "$LOCK/locks is a part of the semaphore $LOCK; choose another LOCK" --with "$LOCK/locks" "$LOCK/plain" touch ran
  hold "$LOCK/plain" release
  refuses 78 "$LOCK/plain is in use as a lock without --permits; leave that out, or choose another LOCK" \
    --permits 2 "$LOCK/plain" touch ran
  # Nothing was made that would turn the lock into a semaphore.
  run -1 zkflock -n "$LOCK/plain" true
  touch release
  wait "$holder"
  run -0 zkflock -n "$LOCK/plain" true
}

@test "--permits: a record that does not fit what is asked for is refused, whoever has written it" {
  zk "$ONE" create "$LOCK/lock" $'zkflock/1 base=0 lease=15000ms permits=2\n'
  refuses 78 "$LOCK/lock holds the permits of a semaphore; it is no lock" "$LOCK/lock" touch ran
  zk "$ONE" create "$LOCK/permits/leases" $'zkflock/1 base=0 lease=15000ms\n'
  refuses 78 "$LOCK/permits/leases is a lock, and cannot hold permits" --permits 2 "$LOCK/permits" touch ran
  nothing_left_of "$LOCK/lock"
  nothing_left_of "$LOCK/permits/leases"
}

@test "--permits: a part of a semaphore cannot be a semaphore itself, idle or in use" {
  local sentence="$LOCK/locks is a part of the semaphore $LOCK; choose another LOCK"
  zkflock --permits 2 "$LOCK" true
  refuses 78 "$sentence" --permits 2 "$LOCK/locks" touch ran
  # As it was made with a record.
  zk "$ONE" set "$LOCK/locks" $'zkflock/1 base=0 lease=15000ms\n'
  refuses 78 "$sentence" --permits 2 "$LOCK/locks" touch ran
  others "$LOCK/locks" lock- 1
  refuses 78 "$sentence" --permits 2 "$LOCK/locks" touch ran
  others_end
  nothing_left_of "$LOCK/locks"
  run -0 zkflock --permits 2 "$LOCK" true
  # Where there is no semaphore, that is a LOCK like others.
  run -0 zkflock --permits 2 "$LOCK.none/locks" true
  others "$LOCK.none/locks/locks" lock- 1
  run -1 zkflock -n --permits 2 "$LOCK.none/locks" touch ran
  assert_output --regexp "^zkflock: $LOCK.none/locks is busy: 1 ahead, the next permit goes to another client, session 0x"
  others_end
  # Nor is one at the root.
  for top in "$LOCK.top" "$LOCK.summit"; do zk "$ONE" create "$top/leases"; done
  run -0 zkflock -z "$ONE$LOCK.top" --permits 2 /locks true
  run -0 zkflock -z "$ONE$LOCK.summit" /locks true
}

@test "--permits: an idle lock is refused, as is one whose holder vanished, and nothing is left of it" {
  zkflock "$LOCK" true
  refuses 78 "$LOCK is a lock without permits; leave out --permits, or choose another LOCK, or take that one away with --remove" \
    --permits 2 "$LOCK" touch ran
  vanish "$LOCK"
  refuses 78 "$LOCK is a lock without permits; leave out --permits, or choose another LOCK, or take that one away with --remove" \
    --permits 2 "$LOCK" touch ran
  nothing_left_of "$LOCK"
  run -0 zkflock -v "$LOCK" echo ran
  assert_line --partial "a contender vanished"
  assert_line ran
}

# Uses a path as a lock and as a semaphore at the same time, both for the first time.
both_kinds() {
  zkflock -q "$1" flock -n -E 99 "judge.$2" sleep 0.02 &
  local lock=$! pid status
  zkflock -q --permits 2 "$1" flock -n -E 99 "judge.$2" sleep 0.02 &
  for pid in $lock $!; do
    status=0
    wait "$pid" || status=$?
    echo "$status" >>"statuses.$2"
  done
}

@test "--permits: a lock and a semaphore that are made at once on one path leave one of them, or none" {
  # Some wait for a lease, since the other one has made the znode; so all of them at once.
  for i in {1..10}; do both_kinds "$LOCK/$i" "$i" 3>&- 4>&- & done
  wait
  for i in {1..10}; do
    refute grep -vx -e 0 -e 78 "statuses.$i"
    # A record would make it a lock, and children a semaphore.
    assert [ -z "$(zk "$ONE" get "$LOCK/$i")" -o -z "$(zk "$ONE" ls "$LOCK/$i")" ]
  done
}

@test "--permits: if others have left the znode and there is no record, zkflock waits for them, once" {
  make_without_record "$LOCK" 2
  run -0 zkflock -v --permits 2 "$LOCK" echo ran
  assert_line --partial "$LOCK: a holder of a former lock there may have vanished"
  assert_line ran
  run -0 zkflock -v --permits 2 "$LOCK" echo ran
  refute_output --partial vanished
  # A contender that was refused has not vanished.
  run -78 zkflock "$LOCK" touch ran
  run -0 zkflock -v --permits 2 "$LOCK" echo ran
  refute_output --partial vanished
}

@test "--permits: in znodes that others made the number is written down with the lease" {
  zk "$ONE" create "$LOCK/leases"
  run -0 zkflock --lock-delay 0 --permits 2 "$LOCK" echo ran
  assert_output ran
  run -78 zkflock --permits 3 "$LOCK" touch ran
  assert_output "zkflock: $LOCK has 2 permits, not 3: all have to ask for the same number"
}

@test "--permits: if others have left the znode since the semaphore was last used, zkflock waits for them, once" {
  for name in used wrong; do
    zk "$ONE" create "$LOCK/$name"
    zkflock --permits 2 "$LOCK/$name" true
    # The two znodes of the semaphore stay.
    stood_in "$LOCK/$name" 2
  done
  # Counts out more departures than there were; no later count makes up for that.
  for _ in 1 2 3; do zk "$ONE" set "$LOCK/wrong" ""; done
  for name in used wrong; do
    background -v --permits 2 "$LOCK/$name" touch "ran.$name" 2>"log.$name"
    echo $! >"pid.$name"
  done
  for name in used wrong; do
    PATIENCE=40 eventually gone "$(cat "pid.$name")"
    assert contains "log.$name" "$LOCK/$name: a holder of a former lock there may have vanished"
    assert_exist "ran.$name"
  done
  run -0 zkflock -v --permits 2 "$LOCK/used" echo ran
  refute_output --partial vanished
  assert_equal "$(zk "$ONE" stat "$LOCK/used" | cut -d' ' -f1)" 2
  assert_equal "$(zk "$ONE" stat "$LOCK/wrong" | cut -d' ' -f1)" 3
}

@test "--permits: a lock below a part of a semaphore is listed, and used beside it" {
  zkflock --permits 2 "$LOCK" true
  hold "$LOCK/locks/foo" release
  run -0 zkflock --permits 2 -n "$LOCK" true
  run -0 zkflock --list --held --names "$LOCK"
  assert_output "$LOCK/locks/foo"
  for how in --names "--held --json" --json; do
    # shellcheck disable=SC2086 # options
    run -0 zkflock --list $how "$LOCK/"
    assert_output --partial "$LOCK/locks/foo"
    refute_output --regexp "$LOCK/(locks|leases)(\"|\$)"
  done
  run -0 zkflock --list --held "$LOCK"
  assert_line --regexp "^$LOCK/locks/foo +held +exclusive "
  touch release
  ends_with 0 "$holder"
}

@test "--permits: a znode with data of others was no lock, so zkflock waits for nobody" {
  zk "$ONE" create "$LOCK" "port = 8080"
  run -0 zkflock --permits 2 "$LOCK" true
  run -78 zkflock "$LOCK" touch ran
  run -0 zkflock -v --permits 2 "$LOCK" echo ran
  refute_output --partial vanished
  assert_line ran
}

@test "--permits: children that are no contenders take no permit" {
  zkflock --permits 1 "$LOCK" true
  zk "$ONE" create "$LOCK/leases/config"
  run -0 timeout 10 zkflock --permits 1 "$LOCK" echo ran
  assert_line ran
  background --permits 1 "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done'
  eventually test -e held
  run -1 zkflock -n --permits 1 "$LOCK" touch ran
  assert_not_exist ran
  touch go
  wait
}

@test "--permits: the keeper is killed, and the permit is free at once" {
  permit a
  keeper=$!
  started a
  permit b
  started b
  kill -KILL "$keeper"
  run -0 zkflock --permits 2 -v -w 5 "$LOCK" echo ran
  refute_output --partial vanished
  assert_output --partial ran
  touch b.go
  wait
}

@test "--permits: a holder that vanished is waited for when there is no permit beside its own" {
  zkflock --permits 2 --lease 4 "$LOCK" true
  vanish "$LOCK" --permits 2
  # Children that are no contenders take no permit.
  zk "$ONE" create "$LOCK/leases/config"
  zk "$ONE" create "$LOCK/leases/notes"
  # One of two may still be in use: the other one is free.
  run -0 zkflock --permits 2 -v "$LOCK" echo ran
  refute_output --partial vanished
  permit b
  started b
  run -0 zkflock --permits 2 -v "$LOCK" echo ran
  assert_output --partial "a contender vanished"
  touch b.go
  wait
}

@test "--permits: tokens grow, and the environment tells the semaphore's path" {
  last=0
  for _ in 1 2 3; do
    run -0 zkflock --permits 2 "$LOCK" sh -c 'echo $ZKFLOCK_TOKEN $ZKFLOCK_LOCK $ZKFLOCK_NODE'
    read -r token path node <<<"$output"
    assert [ "$token" -gt "$last" ]
    assert_equal "$path" "$LOCK"
    assert_regex "$node" "^$LOCK/leases/_c_[0-9a-f]{32}-lease-[0-9]{10}\$"
    last=$token
  done
}

@test "--permits: the connection breaks at each message in turn" {
  zkflock --permits 2 "$LOCK" true
  for direction in request reply; do
    for number in 2 3 4 5 6 7 8; do
      open_proxy "$direction" "$number"
      run -0 zkflock --permits 2 -z "$VIA" "$LOCK" echo ran
      assert_output ran
      close_proxy
    done
  done
  nothing_left_of "$LOCK/leases"
  assert_equal "$(vanished_in "$LOCK/leases")" 0
}

@test "--permits: a waiter without contact takes whichever permit came free meanwhile" {
  permit a
  started a
  permit b
  started b
  PROXY_OF=ping open_proxy lose-reply 1
  background -v -z "$VIA" --session-timeout 9 --permits 2 "$LOCK" touch ran 2>log
  local waiter=$!
  eventually contains log "waiting for"
  proxy_strikes
  touch a.go
  zk "$ONE" await-count "$LOCK/leases" 2
  let_pass
  eventually test -e ran
  ends_with 0 "$waiter"
  close_proxy
  touch b.go
  wait
}

@test "--permits: a waiter leaves a server that shows a holder which the ensemble does not have" {
  permit a
  started a
  permit b
  started b
  PROXY_OF=multi open_proxy refuse 1-1:-101
  background -v -z "$VIA" --session-timeout 40 --permits 2 "$LOCK" touch ran 2>log
  local waiter=$!
  eventually contains log "is not there any more, but this server shows it; turning to another"
  touch a.go b.go
  ends_with 0 "$waiter"
  close_proxy
  wait
}

@test "--permits: a permit whose znode is deleted by somebody is lost at once" {
  background -v --lease 300 --kill-after 0.5 --permits 2 "$LOCK" sh -c 'touch ready; exec sleep 1000' 2>log
  local holder=$!
  eventually test -e ready
  eventually has_watches 1
  zk "$ONE" delete "$LOCK/leases/$(zk "$ONE" ls "$LOCK/leases")"
  eventually contains log "was deleted, by --break or another client; sh was sent SIGTERM and ended"
  ends_with 75 "$holder"
}

@test "--permits: a holder that leaves while a waiter verifies it is no ghost" {
  permit a
  started a
  permit b
  started b
  LOCK=$LOCK/leases
  PROXY_OF=multi listen hold-request 1
  background -v -z "$VIA" --session-timeout 40 --permits 2 "${LOCK%/leases}" touch ran 2>log
  local waiter=$!
  proxy_strikes
  touch b.go
  zk "$ONE" await-count "$LOCK" 2
  let_pass
  ends_with 0 "$waiter"
  assert asked_for VERIFY
  assert lacks log "but this server shows it"
  close_proxy
  touch a.go
  wait
}

@test "--permits: with further locks" {
  run -0 zkflock --permits 2 --with "$LOCK.b" "$LOCK" sh -c "zkflock -n --no-reentry $LOCK.b true || echo taken"
  assert_line taken
  # Locks that are called like parts of a semaphore, and are none of this one.
  run -0 zkflock --permits 2 --with "${LOCK}x/locks" "${LOCK}y" echo ran
  assert_line ran
  run -0 zkflock --with "${LOCK}z/locks" "${LOCK}z" echo ran
  assert_line ran
}

@test "--permits: what it does not go with" {
  for wrong in 0 -1 x 1.5 1000001; do
    refuses 64 "--permits takes a number from 1 to 1000000, not '$wrong'" --permits "$wrong" "$LOCK" touch ran
  done
  refuses 64 "--permits does not go with --shared or --exclusive: a permit is neither" --permits 3 --shared "$LOCK" touch ran
  refuses 64 "--permits does not go with --shared or --exclusive: a permit is neither" --permits 3 -x "$LOCK" touch ran
  refuses 64 "--permits does not go with --unfair: permits are given out in a queue" --permits 3 --unfair "$LOCK" touch ran
  refuses 64 "--permits does not go with --node-style: semaphores are Curator's" --permits 3 --node-style kazoo "$LOCK" touch ran
  # One that holds a permit would wait for the turn of one that waits for a permit.
  for part in locks leases; do
    refuses 64 "$LOCK/$part is a part of the semaphore $LOCK, and no further lock" \
      --with "$LOCK/$part" --permits 1 "$LOCK" touch ran
  done
}

@test "--permits: zkflock waits for a departure that it may not count out above, and warns" {
  zk "$ONE" create "$LOCK"
  zk "$ONE" deny "$LOCK" rcd
  zkflock --permits 2 "$LOCK" true
  run -78 zkflock "$LOCK" true
  run -0 zkflock --permits 2 "$LOCK" echo ran
  assert_line ran
  assert_line "zkflock: warning: not permitted to write to $LOCK, so a departure there cannot be counted, and every permit waits 15 s for it"
}

@test "--permits: who waits for vanished holders of other permits holds none yet" {
  local node vanished
  hold "$LOCK" a --lease 60 --permits 3
  vanished=$holder
  hold "$LOCK" b --permits 3
  vanished+=" $holder"
  for node in $(zk "$ONE" ls "$LOCK/leases"); do zk "$ONE" delete "$LOCK/leases/$node"; done
  for holder in $vanished; do ends_with 75 "$holder"; done
  hold "$LOCK" c --permits 3
  background -v --permits 3 "$LOCK" true 2>log
  waiter=$!
  eventually contains log "its command may run for"
  run -1 zkflock --permits 3 -n "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, the next permit goes to .* pid $waiter: true$"
  kill "$waiter"
  ends_with 143 "$waiter"
  touch c
  wait
}
