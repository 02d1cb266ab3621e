# Proof ahead of time: who is next holds by a proof of life that it sent while it waited.

load helper
load vanishing
load beating

setup() {
  common_setup
  short "$LOCK"
}

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown 12
}

# next_in_line ARG...: a zkflock behind a holder, through a proxy that logs, with an early proof that
# was answered; pid in $next.
next_in_line() {
  [ -n "${proxy_pid:-}" ] || listen
  background -z "$VIA" --session-timeout 6 "$@" 2>log
  next=$!
  eventually proved_early
}
# Prints the steps behind the last WATCH but for those that a holder takes as time passes.
steps_behind_watch() {
  steps frames "$LOCK" | grep -vx -e PROBE -e WATCH_OWN -e ANNOUNCE -e PROOF -e PROOF_CLAIMED |
    tac | sed '/^WATCH$/q' | tac | tail -n +2 | tr '\n' ' '
}

long_lease() {
  LOCK=$LOCK/long
  zkflock --lease 120 "$LOCK" true
}

readonly HOLDS='touch held; until [ -e go ]; do sleep 0.05; done'

@test "who is next starts by two reads, and marks that it holds afterwards" {
  long_lease
  hold "$LOCK" first
  next_in_line "$LOCK" sh -c "$HOLDS"
  touch first
  ends_with 0 "$holder"
  eventually asked_for MARK
  run -0 zkflock --list "$LOCK"
  assert_output --partial "held"
  touch go
  ends_with 0 "$next"
  eventually asked_for CLOSE
  assert_equal "$(steps_behind_watch)" "CENSUS MARK LEAVE CLOSE "
  # Nobody has corrected the count.
  refute asked_for ANNOUNCE
}

@test "it proves as often as a holder, and only while it is next" {
  hold "$LOCK" first
  next_in_line "$LOCK" true
  background -z "$VIA" --session-timeout 20 "$LOCK" true
  local behind=$!
  BY=2 eventually asked_for WATCH
  eventually asked_for PROOF 4
  # 667 ms, a sixth of the lease, between any two.
  mapfile -t sent < <(steps frames "$LOCK" 1 | grep -cx PROOF; steps frames "$LOCK" -t PROOF | cut -d' ' -f2)
  for i in 2 3 4; do later_by 600 "${sent[i - 1]}" "${sent[i]}"; done
  refute grep -x PROOF <(steps frames "$LOCK" 2)
  touch first
  ends_with 0 "$holder"
  ends_with 0 "$next"
  ends_with 0 "$behind"
}

@test "after a correction of the count it writes to its znode, so that whoever is behind it reads the count" {
  listen
  holds gone "$LOCK"
  wait_in_line log "$LOCK" sh -c "$HOLDS"
  local settles=$waiter
  background -z "$VIA" --session-timeout 6 "$LOCK" true
  next=$!
  BY=1 eventually asked_for WATCH
  background -z "$VIA" --session-timeout 20 "$LOCK" true
  local behind=$!
  BY=2 eventually asked_for WATCH
  crashes gone
  eventually test -e held
  local held before
  held=$(now)
  # The correction is the last write of the holder.
  before=$(steps frames "$LOCK" 1 | grep -cx PROOF)
  BY=1 eventually asked_for PROOF $((before + 2))
  BY=1 asked_for ANNOUNCE
  later_by -1000 "$held" "$(steps frames "$LOCK" -t ANNOUNCE | tail -n 1 | cut -d' ' -f2)"
  BY=2 asked_for WATCH 2
  touch go
  ends_with 0 "$settles"
  ends_with 0 "$next"
  ends_with 0 "$behind"
}

# Else whoever is behind would not read the count again after a correction by somebody before.
@test "with more than one ahead at first, its first early proof is a write to its znode" {
  hold "$LOCK" first
  wait_in_line log "$LOCK" sh -c "$HOLDS"
  local second=$waiter
  listen
  background -z "$VIA" --session-timeout 6 "$LOCK" true
  next=$!
  eventually asked_for WATCH
  touch first
  ends_with 0 "$holder"
  eventually asked_for ANNOUNCE
  assert_equal "$(steps frames "$LOCK" | grep -m 1 -x -e ANNOUNCE -e PROOF)" ANNOUNCE
  touch go
  ends_with 0 "$second"
  ends_with 0 "$next"
}

@test "-n sends no early proof" {
  listen
  hold "$LOCK" first
  run -1 zkflock -z "$VIA" -n "$LOCK" true
  eventually asked_for CLOSE
  assert_equal "$(steps frames "$LOCK" | grep -c -e ANNOUNCE -e PROOF)" 0
  touch first
  ends_with 0 "$holder"
}

@test "while it may not write to its znode after a correction it proves nothing ahead of time" {
  holds gone "$LOCK"
  wait_in_line log "$LOCK" sh -c "$HOLDS"
  local settles=$waiter
  PROXY_OF="set" listen refuse 1-99:-102
  background -z "$VIA" --session-timeout 6 "$LOCK" true
  next=$!
  crashes gone
  eventually test -e held
  eventually asked_for ANNOUNCE
  touch go
  ends_with 0 "$settles"
  ends_with 77 "$next"
  refute asked_for CENSUS
}

@test "readers, permits and whoever waits for an --unfair one prove nothing ahead of time" {
  listen
  hold "$LOCK" first
  background -z "$VIA" --shared "$LOCK" touch reader
  local reader=$!
  eventually asked_for VERIFY # after two leases
  refute asked_for PROOF
  touch first
  ends_with 0 "$holder"
  ends_with 0 "$reader"

  hold "$LOCK" second --unfair
  background -z "$VIA" "$LOCK" touch fair
  local fair=$!
  BY=2 eventually asked_for VERIFY
  BY=2 refute asked_for PROOF
  touch second
  ends_with 0 "$holder"
  ends_with 0 "$fair"
}

@test "the lease runs from when the early proof was sent: cut off with the event, the command is dead by then" {
  beating
  hold "$LOCK" first
  PROXY_OF="set" listen hold-request 1
  next_in_line "$LOCK" ./beating
  touch first
  ends_with 0 "$holder"
  proxy_strikes # the mark is held; what is behind it, too
  kill -STOP "$proxy_pid"
  eventually test -s command
  dead_by $(($(last_proof) + LEASE))
  kill -CONT "$proxy_pid"
  let_pass
  ends_with 75 "$next"
}

@test "an early proof whose answer comes late counts from when it was sent" {
  hold "$LOCK" first
  PROXY_OF="multi" listen hold-reply 1
  background -z "$VIA" --session-timeout 6 "$LOCK" true
  next=$!
  proxy_strikes
  local since passed
  since=$(now)
  eventually past $((since + 700)) # longer than an early proof counts; after 800 it turns away
  touch first
  ends_with 0 "$holder"
  passed=$(now)
  let_pass
  ends_with 0 "$next"
  eventually asked_for CLOSE
  # By PROVE, or by an early proof that was due, or was sent again.
  later_by 0 $((passed - 667)) "$(steps frames "$LOCK" -t PROOF PROVE | tail -n 1 | cut -d' ' -f2)"
}

@test "an early proof that is not answered is followed by a probe" {
  long_lease
  hold "$LOCK" first
  PROXY_OF="multi" listen hold-reply 1
  background -z "$VIA" --session-timeout 40 "$LOCK" true
  next=$!
  proxy_strikes
  eventually asked_for PROBE # the library itself would wait for 27 s
  let_pass
  touch first
  ends_with 0 "$holder"
  ends_with 0 "$next"
}

@test "stopped between the early proof and the event, and for longer than that counts: it proves anew" {
  hold "$LOCK" first
  next_in_line "$LOCK" true
  local pids since thawed
  read -r -a pids <<<"$(family "$next")"
  kill -STOP "${pids[@]}"
  since=$(now)
  eventually past $((since + 800))
  touch first
  ends_with 0 "$holder"
  thawed=$(now)
  kill -CONT "${pids[@]}"
  ends_with 0 "$next"
  eventually asked_for CLOSE
  # By PROVE, or by an early proof that was due.
  later_by 0 "$thawed" "$(steps frames "$LOCK" -t ANNOUNCE PROOF PROVE | tail -n 1 | cut -d' ' -f2)"
}

@test "the census is answered late: it proves anew" {
  LOCK=$LOCK/longer
  zkflock --lease 12 "$LOCK" true
  hold "$LOCK" first
  PROXY_OF="get" listen hold-reply 6
  next_in_line "$LOCK" true
  touch first
  ends_with 0 "$holder"
  proxy_strikes
  local since
  since=$(now)
  eventually past $((since + 2200)) # a sixth of the lease and more
  let_pass
  ends_with 0 "$next"
  eventually asked_for CLOSE
  assert_equal "$(steps_behind_watch)" "CENSUS PROVE LEAVE CLOSE "
}

@test "its predecessor vanished: the census tells, and it waits the lease out" {
  holds first "$LOCK"
  next_in_line "$LOCK" sh -c "$START" started.next
  echo "$next" >pid.next
  crashes first
  starts_after next first
  eventually asked_for CLOSE
  # Without the census if the last early proof was just too old.
  assert_regex "$(steps_behind_watch)" "^(CENSUS )?PROVE TELL_SETTLING PROVE SQUARE LEAVE CLOSE \$"
}

@test "somebody deleted its znode, and the predecessor left behind that: it does not start by the early proof" {
  # Long enough for no other early proof to find out first.
  LOCK=$LOCK/longer
  zkflock --lease 60 "$LOCK" true
  hold "$LOCK" first
  # The deletion event of the predecessor waits in the proxy.
  PROXY_OF="get" listen hold-request 6
  next_in_line --lock-delay 0 "$LOCK" touch ran
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK" | tail -n 1)"
  touch first
  ends_with 0 "$holder"
  proxy_strikes
  zkflock -n --lock-delay 0 "$LOCK" true
  let_pass
  ends_with 0 "$next"
  # It has joined once more.
  assert_equal "$(steps frames "$LOCK" | grep -cx JOIN)" 2
}

@test "without contact for a moment the early proof counts no more" {
  hold "$LOCK" first
  PROXY_OF="multi" listen lose-reply 2
  next_in_line "$LOCK" true
  proxy_strikes
  let_pass
  BY=2 eventually asked_for WATCH
  touch first
  ends_with 0 "$holder"
  ends_with 0 "$next"
  eventually asked_for CLOSE
  # It does not know any more that only the holder is ahead, either.
  assert_equal "$(steps_behind_watch)" "LIST PROVE LEAVE CLOSE "
}

@test "a mark whose answer is lost is written again; one that is refused is told" {
  hold "$LOCK" first
  PROXY_OF="set" listen lose-reply 1
  next_in_line "$LOCK" sh -c "$HOLDS"
  touch first
  ends_with 0 "$holder"
  proxy_strikes
  let_pass
  marked() { contains <(zk "$ONE" get "$LOCK/$(zk "$ONE" ls "$LOCK")") "held"; }
  eventually marked
  touch go
  ends_with 0 "$next"
  close_proxy
  rm held go

  hold "$LOCK" second
  PROXY_OF="set" listen refuse 1-1:-102
  next_in_line "$LOCK" sh -c "$HOLDS"
  touch second
  ends_with 0 "$holder"
  eventually contains log "--list shows it as held since it began to wait"
  touch go
  ends_with 0 "$next"
}

@test "a mark does not wipe out that somebody asks for the lock" {
  hold "$LOCK" first
  PROXY_OF="set" listen hold-request 1
  next_in_line "$LOCK" sh -c "trap '' TERM; $HOLDS"
  touch first
  ends_with 0 "$holder"
  proxy_strikes
  background --revoke --yes "$LOCK"
  local revoker=$!
  asked() { contains <(zk "$ONE" get "$LOCK/$(zk "$ONE" ls "$LOCK")") "revoked by"; }
  eventually asked
  let_pass
  eventually contains log "is asked for by"
  touch go
  ends_with 0 "$next"
  ends_with 0 "$revoker"
  eventually asked_for CLOSE
  assert_equal "$(steps frames "$LOCK" | grep -c '^MARK')" 1
}

@test "a set: the early proof of its last lock counts beside the others" {
  zkflock --lease 4 "$LOCK/b" true
  hold "$LOCK/b" first
  beating
  local set=$LOCK
  LOCK=$set/b next_in_line --with "$set/b" "$set/a" ./beating
  touch first
  ends_with 0 "$holder"
  eventually test -s command
  kill -STOP "$proxy_pid"
  dead_by $(($(LOCK=$set/b last_proof) + LEASE))
  kill -CONT "$proxy_pid"
  ends_with 75 "$next"
}

@test "a persistent copy of the holder's znode, in between, is deleted: the next one goes on waiting" {
  background "$LOCK" sh -c 'echo >held; until [ -e end ]; do sleep 0.05; done; touch ended'
  holder=$!
  eventually test -e held
  zk "$ONE" create "$LOCK/copy-lock-0000000001" "$(zk "$ONE" get "$LOCK/$(zk "$ONE" ls "$LOCK")")"
  background -v --lock-delay 0 "$LOCK" test -e ended 2>log
  waiter=$!
  eventually contains log "2 ahead"
  zk "$ONE" delete "$LOCK/copy-lock-0000000001"
  eventually contains log "1 ahead"
  touch end
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
}
