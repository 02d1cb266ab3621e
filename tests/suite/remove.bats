# --remove: a lock that nobody uses is deleted, by the rule of the protocol.

load helper
load vanishing
load remove

@test "--remove: a free lock goes, and may be made again with another lease" {
  zkflock --lease 5 "$LOCK" true
  run -0 removal "$LOCK"
  assert_output "zkflock: removed $LOCK"
  assert_equal "$(left)" ""
  run -0 zkflock --lease 7 "$LOCK" true
  assert_output ""
  assert_equal "$(zk "$ONE" get "$LOCK")" "zkflock/1 base=0 lease=7000ms"
  run -0 removal -q "$LOCK"
  assert_output ""
}

@test "--remove of a lock that does not exist: status 1 and a message" {
  zkflock "$LOCK/other" true
  run -1 removal "$LOCK/none"
  assert_output "zkflock: $LOCK/none does not exist: there is nothing to remove"
}

@test "--remove: a lock that is held is refused with who holds it, and nothing is left behind" {
  hold "$LOCK" release
  local before
  before=$(zk "$ONE" stat "$LOCK")
  for option in "" -n "-w 2"; do
    # shellcheck disable=SC2086 # options
    run -1 removal $option "$LOCK"
    assert_output --regexp "^zkflock: $LOCK is not removed: it is in use, by .*@.* pid [0-9]+: sh -c "
    zk "$ONE" await-count "$LOCK" 1
  done
  # Without -w it does not even join.
  run -1 removal "$LOCK"
  assert_equal "$(zk "$ONE" stat "$LOCK" | cut -d" " -f1)" "$(($(cut -d" " -f1 <<<"$before") + 1))"
  touch release
  ends_with 0 "$holder"
  run -0 removal "$LOCK"
}

@test "--remove: 1 if somebody uses the lock, whatever -E is for commands" {
  mkdir -p xdg/zkflock
  printf '%s\n' "[zkflock]" "conflict-exit-code = 0" >xdg/zkflock/config
  hold "$LOCK" release
  run -1 removal "$LOCK"
  run -1 removal -w 0.3 "$LOCK"
  run -64 removal -E 0 "$LOCK"
  assert_output "zkflock: -E does not go with --remove: there is no command"
  touch release
  wait "$holder"
  run -0 removal "$LOCK"
}

@test "--remove -w waits for those who are there" {
  hold "$LOCK" release
  background --remove -v -w 30 "$LOCK" 2>log
  local removal=$!
  eventually contains log "waiting for $LOCK"
  touch release
  ends_with 0 "$removal"
  ends_with 0 "$holder"
  assert contains log "removed $LOCK"
  assert_equal "$(left)" ""
}

@test "--remove -w: a signal ends it, and it leaves its place counted" {
  hold "$LOCK" release
  background --remove -v -w 30 "$LOCK" 2>log
  local removal=$!
  eventually contains log "waiting for $LOCK"
  kill "$removal"
  ends_with 143 "$removal"
  touch release
  ends_with 0 "$holder"
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp "^2 4 0 "
}

@test "--remove is refused while the command of a vanished holder may still run; -w waits a lease" {
  short "$LOCK"
  vanish "$LOCK"
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: a holder vanished, and its command may run for a lease, 4 s; -w 5 waits for that"
  run -1 removal -w 1 "$LOCK"
  assert_output --partial "$LOCK is not removed: "
  run -0 removal -v -w 30 "$LOCK"
  assert_line --partial "a contender vanished; its command may run for"
  assert_equal "$(left)" ""
}

@test "--remove: a lock that others have made, and one whose count cannot be right, after a lease" {
  zk "$ONE" create "$LOCK" $'zkflock/1 base=77 lease=4000ms\n'
  run -1 removal "$LOCK"
  assert_output --partial "$LOCK is not removed: it is not known who held it before"
  run -0 removal -w 30 "$LOCK"
  assert_equal "$(left)" ""
  make_without_record "$LOCK"
  run -1 removal "$LOCK"
  assert_output --partial "a lease, 15 s; -w 16 waits for that"
}

@test "--remove: a znode that is no lock, and locks below it, are left alone" {
  zk "$ONE" create "$LOCK" "something else"
  run -78 removal "$LOCK"
  assert_output --partial "$LOCK holds data that is not zkflock's"
  assert_equal "$(zk "$ONE" get "$LOCK")" "something else"
  zkflock "$LOCK-a" true
  zkflock "$LOCK-a/b" true
  run -1 removal "$LOCK-a"
  assert_output "zkflock: $LOCK-a is not removed: below it are znodes that are no contenders, perhaps locks: b"
  run -0 removal "$LOCK-a/b"
  run -0 removal "$LOCK-a"
}

@test "--remove: of a lock below another one, which does not take it for a vanished holder" {
  zkflock "$LOCK" true
  zkflock --once-per 1h "$LOCK/a" true
  zkflock --permits 2 "$LOCK/b" true
  for name in a b; do run -0 removal "$LOCK/$name"; done
  run -0 zkflock -v "$LOCK" true
  refute_output --partial vanished
  run -0 removal "$LOCK"
}

@test "--remove: the note of --once-per goes along; what is none stays" {
  zkflock --once-per 1h "$LOCK" true
  run -0 removal "$LOCK"
  assert_output "zkflock: removed $LOCK, and with it the time of its last success, $LOCK.once"
  assert_equal "$(left)" ""
  zkflock "$LOCK" true
  zk "$ONE" create "$LOCK.once" mine
  run -0 removal "$LOCK"
  assert_output "zkflock: removed $LOCK"
  assert_equal "$(left)" "${LOCK##*/}.once"
}

@test "--remove: what is below the note of --once-per is named" {
  zkflock --once-per 1h "$LOCK" true
  zk "$ONE" create "$LOCK.once/child"
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: below $LOCK.once are znodes that are no contenders, perhaps locks: child"
  zk "$ONE" delete "$LOCK.once/child"
  run -0 removal "$LOCK"
  assert_equal "$(left)" ""
  # What is no note stays, with all that is below it.
  zkflock "$LOCK" true
  zk "$ONE" create "$LOCK.once/child"
  zk "$ONE" set "$LOCK.once" mine
  run -0 removal "$LOCK"
  assert_output "zkflock: removed $LOCK"
}

@test "--remove: a note whose lock is gone goes too, and the lock above does not take it for a holder" {
  zkflock "$LOCK" true
  zkflock --once-per 1h "$LOCK/a" true
  zk "$ONE" delete "$LOCK/a"
  assert_equal "$(vanished_in "$LOCK")" 1
  run -0 removal "$LOCK/a"
  assert_output "zkflock: removed $LOCK/a, and with it the time of its last success, $LOCK/a.once"
  assert_equal "$(zk "$ONE" ls "$LOCK")" ""
  assert_equal "$(vanished_in "$LOCK")" 1
  zk "$ONE" create "$LOCK/a.once" mine
  run -1 removal "$LOCK/a"
  assert_output "zkflock: $LOCK/a does not exist: there is nothing to remove"
  assert_equal "$(zk "$ONE" ls "$LOCK")" a.once
}

@test "--remove: a semaphore, with all that is below it" {
  background --permits 2 "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  run -1 removal "$LOCK"
  assert_output --partial "$LOCK is not removed: it is in use, by "
  # With -w, too, the message names who has a permit.
  run -1 removal -w 1 "$LOCK"
  assert_output --regexp "^zkflock: $LOCK is not removed: it is in use, by [^ ]+@.* pid $holder: sh -c "
  zk "$ONE" await-count "$LOCK/leases" 1
  zk "$ONE" await-count "$LOCK/locks" 0
  touch release
  ends_with 0 "$holder"
  run -0 removal "$LOCK"
  assert_equal "$(left)" ""
  run -0 zkflock "$LOCK" echo "a lock now"
  assert_output "a lock now"
}

@test "--remove: of a semaphore with locks below its parts, which are named" {
  zkflock --lease 4 --permits 2 "$LOCK" true
  zkflock "$LOCK/locks/foo" true
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: below it are znodes that are no contenders, perhaps locks: locks/foo"
  run -0 removal "$LOCK/locks/foo"
  zk "$ONE" create "$LOCK/leases/bar"
  zk "$ONE" create "$LOCK/leases/foo"
  run -1 removal -w 0.5 "$LOCK"
  assert_output --regexp "^zkflock: $LOCK is not removed: below it are znodes that are no contenders, perhaps locks: leases/(foo|bar), \.\.\.\$"
  for name in foo bar; do zk "$ONE" delete "$LOCK/leases/$name"; done
  # Nobody counted those out.
  run -0 removal -w 30 "$LOCK"
  assert_equal "$(left)" ""
}

@test "--remove: a permit whose holder vanished is waited for" {
  zkflock --lease 4 --permits 3 "$LOCK" true
  vanish "$LOCK" --permits 3
  run -1 removal "$LOCK"
  assert_output --partial "a holder vanished, and its command may run for a lease, 4 s"
  run -0 removal -w 30 "$LOCK"
  assert_equal "$(left)" ""
}

@test "--remove: where a holder vanished from a lock called locks before that was part of a semaphore" {
  short "$LOCK/locks"
  vanish "$LOCK/locks"
  zkflock --permits 2 "$LOCK" true
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: a holder vanished, and its command may run for a lease, 4 s; -w 5 waits for that"
  run -0 removal -w 30 "$LOCK"
  assert_equal "$(left)" ""
}

@test "--remove: a path that was used as a lock and as a semaphore" {
  # A lock whose holder vanished, and in it the znodes of a semaphore.
  short "$LOCK"
  vanish "$LOCK"
  zk "$ONE" create "$LOCK/leases"
  zk "$ONE" create "$LOCK/locks"
  run -78 zkflock "$LOCK" touch ran
  run -78 zkflock --permits 2 "$LOCK" touch ran
  assert_output --partial "take that one away with --remove"
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: a holder vanished, and its command may run for a lease, 4 s; -w 5 waits for that"
  started=$SECONDS
  run -0 removal -w 30 "$LOCK"
  assert [ $((SECONDS - started)) -ge 3 ]
  assert_equal "$(left)" ""
  # A semaphore of which a holder vanished, with the record of a lock.
  zkflock --lease 5 --permits 3 "$LOCK" true
  vanish "$LOCK" --permits 3
  zk "$ONE" set "$LOCK" $'zkflock/1 base=0 lease=4000ms\n'
  run -1 removal "$LOCK"
  assert_output --partial "its command may run for a lease, 5 s; -w 6 waits for that"
  run -0 removal -w 30 "$LOCK"
  assert_equal "$(left)" ""
  # Somebody in the lock.
  zk "$ONE" create "$LOCK/leases"
  zk "$ONE" create "$LOCK/locks"
  others "$LOCK" lock- 1
  run -1 removal "$LOCK"
  assert_output --partial "$LOCK is not removed: it is in use, by "
  run -1 removal -w 1 "$LOCK"
  assert_output --partial "$LOCK is not removed: it is in use, by "
  nothing_left_of "$LOCK/locks"
  others_end
  # Nobody knows whether that one was a holder.
  run -0 removal -w 30 "$LOCK"
  assert_equal "$(left)" ""
  run -0 zkflock -n "$LOCK" echo "a lock now"
  assert_output "a lock now"
}

@test "--remove: a semaphore whose record is gone is waited for" {
  zk "$ONE" create "$LOCK/leases"
  zk "$ONE" create "$LOCK/locks" $'zkflock/1 base=0 lease=20000ms\n'
  others "$LOCK/leases" lock- 1
  others_end
  # --permits made that znode with the lease that it was asked for.
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: it is not known who held it before, and its command may run for a lease, 20 s; -w 21 waits for that"
  zk "$ONE" set "$LOCK/locks" $'zkflock/1 base=0 lease=4000ms\n'
  run -1 removal "$LOCK"
  assert_output --partial "its command may run for a lease, 15 s; -w 16 waits for that"
  # Without a record the version counts no departures, whatever was written there.
  zk "$ONE" set "$LOCK/leases" ""
  run -1 removal "$LOCK"
  assert_output --partial "it is not known who held it before"
}

@test "--remove: locks that are called like the parts of a semaphore are locks" {
  zkflock "$LOCK" true
  zkflock "$LOCK/locks" true
  zk "$ONE" create "$LOCK/leases" $'zkflock/1 base=0 lease=15000ms\n'
  run -1 removal "$LOCK"
  assert_output --regexp "$LOCK is not removed: below it are znodes that are no contenders, perhaps locks: leases, \.\.\.\$"
  for name in leases locks; do run -0 removal "$LOCK/$name"; done
  run -0 removal "$LOCK"
  assert_equal "$(left)" ""
  # Only both together make a semaphore.
  zkflock "$LOCK" true
  zk "$ONE" create "$LOCK/leases"
  run -1 removal "$LOCK"
  assert_output "zkflock: $LOCK is not removed: below it are znodes that are no contenders, perhaps locks: leases"
}

@test "--remove: without the right to, 77, and nothing is gone" {
  zkflock "$LOCK/a" true
  zk "$ONE" deny "$LOCK" rwca
  run -77 removal "$LOCK/a"
  assert_output --partial "not permitted to delete $LOCK/a"
  nothing_left_of "$LOCK/a"
  zk "$ONE" deny "$LOCK/a" wcda
  run -77 removal "$LOCK/a"
  assert_output --partial "not permitted to read $LOCK/a"
  zk "$ONE" deny "$LOCK/a" rwcda
  zk "$ONE" deny "$LOCK" rwcda
}

@test "--remove against a crowd: nobody is stuck, nothing lost" {
  echo 0 >counter
  for _ in 1 2; do
    (for i in $(seq 60); do
      zkflock "$LOCK" sh -c 'n=$(cat counter); sleep 0.001; echo $((n + 1)) >counter' || touch failed
      sleep "0.0$((i % 10))"
    done) 3>&- 4>&- &
    crowd+=($!)
  done
  (until [ -e enough ]; do zkflock -w 5 --remove "$LOCK" 2>>removals || true; done) 3>&- 4>&- &
  wait "${crowd[@]}"
  touch enough
  wait
  assert_not_exist failed
  assert_equal "$(cat counter)" 120
  # Both happened, and there was no other error.
  assert contains removals "removed $LOCK"
  assert contains removals "$LOCK is not removed: another contender has just joined"
  refute grep -v -e "removed $LOCK" -e "another contender has just joined" -e "does not exist" removals
}

@test "--remove: the connection breaks at each message in turn, and the lock is removed" {
  for direction in request reply; do
    number=1
    cut="cut"
    while [ "$cut" ]; do
      zkflock --once-per 1h "$LOCK" true
      open_proxy "$direction" "$number"
      run -0 removal -z "$VIA" "$LOCK"
      assert_output --partial "removed $LOCK, and with it"
      assert_equal "$(left)" ""
      await_cut 0.2
      close_proxy
      number=$((number + 1))
    done
  done
  assert [ "$number" -gt 8 ]
}

# remove_at [DO] [SECONDS]: begin to remove the lock; let the
# proxy hold the transaction.
remove_at() {
  PROXY_OF="multi" open_proxy "${1:-hold-request}" 1
  background -z "$VIA" --session-timeout "${2:-40}" --remove "$LOCK" 2>log
  remover=$!
  proxy_strikes
}

# removal_ends STATUS SENTENCE
removal_ends() {
  eventually gone "$remover"
  ends_with "$1" "$remover"
  assert_equal "$(cat log)" "zkflock: $2"
  close_proxy
}

@test "--remove: a note that changes meanwhile is read again, and removed" {
  zkflock --once-per 1h "$LOCK" true
  remove_at
  zk "$ONE" set "$LOCK.once" "$(zk "$ONE" get "$LOCK.once")"$'\n'
  let_pass
  removal_ends 0 "removed $LOCK, and with it the time of its last success, $LOCK.once"
  assert_equal "$(left)" ""
}

@test "--remove: a note that changes and cannot be read any more: zkflock leaves, counted" {
  zkflock --once-per 1h "$LOCK" true
  remove_at
  zk "$ONE" set "$LOCK.once" changed
  zk "$ONE" deny "$LOCK.once" wcda
  let_pass
  eventually gone "$remover"
  zk "$ONE" deny "$LOCK.once" rwcda
  removal_ends 77 "not permitted to read $LOCK.once: its ACL does not give this client READ"
  nothing_left_of "$LOCK"
  assert_equal "$(vanished_in "$LOCK")" 0
}

@test "--remove: somebody comes and leaves meanwhile: the lock stays" {
  zkflock "$LOCK" true
  remove_at
  run -1 zkflock -n "$LOCK" true
  let_pass
  removal_ends 1 "$LOCK is not removed: another contender has just joined"
  nothing_left_of "$LOCK"
  assert_equal "$(vanished_in "$LOCK")" 0
}

@test "--remove: a record of the lock above that was written anew meanwhile stays" {
  above=$LOCK
  LOCK=$above/inner
  zkflock --lease 4 "$above" true
  zkflock "$LOCK" true
  remove_at
  zk "$ONE" set "$above" ""
  zkflock "$above" true
  assert_equal "$(vanished_in "$above")" 0
  let_pass
  removal_ends 0 "removed $LOCK"
  assert_equal "$(vanished_in "$above")" 0
}

@test "--remove: somebody deletes the note meanwhile: the lock stays" {
  # Once zkflock cannot know whether its first try succeeded.
  for direction in hold-request lose-request; do
    zkflock --once-per 1h "$LOCK" true
    remove_at "$direction"
    zk "$ONE" delete "$LOCK.once"
    let_pass
    removal_ends 1 "not removed: somebody just deleted $LOCK.once"
    nothing_left_of "$LOCK"
  done
}

@test "--remove: somebody deletes its znode meanwhile: the lock stays" {
  zkflock "$LOCK" true
  remove_at
  node=$(zk "$ONE" ls "$LOCK")
  zk "$ONE" delete "$LOCK/$node"
  let_pass
  removal_ends 1 "not removed: somebody just deleted $LOCK/$node"
  nothing_left_of "$LOCK"
}

@test "--remove: a session that expires meanwhile: zkflock says that the outcome is unknown, 69" {
  zkflock "$LOCK" true
  remove_at hold-request 2
  kill -STOP "$proxy_pid"
  zk "$ONE" await-count "$LOCK" 0
  kill -CONT "$proxy_pid"
  removal_ends 69 "the session expired: it is not known whether $LOCK has been removed"
}
