# The messages while zkflock waits for the lock.

load helper

# The clearing of a line, as bash and Python read it.
CLEAR=$'\r\033[K'

on_terminal() { # on_terminal WORDS...: what a person types who waits, on a terminal that can clear lines
  printf 'send=TERM=xterm %s; echo status $?\\n' "$*"
}

@test "terminal: one line tells who is ahead and who holds, and is gone when the lock comes" {
  LOGNAME=ci hold "$LOCK" release
  terminal "$(on_terminal zkflock "$LOCK" echo got it)" \
    "expect=waiting for $LOCK: 1 ahead, held by ci@$(hostname) (sh -c" touch=release \
    "expect=${CLEAR}got it" "expect=status 0" >session || { cat session; false; }
  wait "$holder"
}

@test "terminal: the line follows the queue" {
  hold "$LOCK" release
  wait_in_line first.log "$LOCK" sh -c 'touch second; until [ -e second.go ]; do sleep 0.05; done'
  terminal "$(on_terminal zkflock "$LOCK" echo got it)" \
    "expect=waiting for $LOCK: 2 ahead, held by " touch=release \
    "expect=waiting for $LOCK: 1 ahead, held by " touch=second.go \
    "expect=${CLEAR}got it" "expect=status 0" >session || { cat session; false; }
  wait "$holder" "$waiter"
}

@test "terminal: servers that do not answer are told of before zkflock gives up" {
  terminal "$(on_terminal zkflock -z 127.0.0.1:1 --connect-timeout 9s "$LOCK" touch ran)" \
    "expect=no answer from 127.0.0.1:1 yet: " "expect=; trying for 9 s" key=c \
    'send=echo status $?\n' "expect=status 130" >session || { cat session; false; }
  assert_not_exist ran
}

@test "terminal: the line is gone when the wait is given up or interrupted" {
  hold "$LOCK" release
  terminal "$(on_terminal zkflock -w 1 "$LOCK" true)" \
    "expect=waiting for $LOCK: 1 ahead" "expect=${CLEAR}zkflock: $LOCK is still busy" \
    "expect=status 1" \
    "$(on_terminal zkflock "$LOCK" true)" "expect=waiting for $LOCK: 1 ahead" key=c \
    "expect=$CLEAR" 'send=echo status $?\n' "expect=status 130" >session || { cat session; false; }
  touch release
  wait "$holder"
}

@test "terminal: a job that is stopped while it waits leaves no line" {
  hold "$LOCK" release
  terminal "$(on_terminal zkflock "$LOCK" echo got it)" "expect=waiting for $LOCK" key=z \
    "expect=$CLEAR" "expect=Stopped" 'send=fg; echo status $?\n' "expect=waiting for $LOCK" \
    touch=release "expect=${CLEAR}got it" "expect=status 0" >session || { cat session; false; }
  wait "$holder"
}

@test "terminal: no line from a job in the background, on a dumb terminal, with -q, or elsewhere" {
  hold "$LOCK" release
  terminal "send=TERM=xterm zkflock $LOCK touch background &\n" \
    "send=TERM=xterm zkflock -F $LOCK touch background &\n" "send=TERM=xterm zkflock --hold --for \$\$ -w 2 $LOCK &\n" \
    "send=TERM=dumb zkflock -w 1 $LOCK true; echo dumb \$?\n" "expect=dumb 1" \
    "send=TERM=xterm zkflock -q -w 1 $LOCK true; echo quiet \$?\n" "expect=quiet 1" \
    "send=TERM=xterm zkflock -w 1 $LOCK true 2>log; echo elsewhere \$?\n" "expect=elsewhere 1" \
    touch=release file=background >session || { cat session; false; }
  run -1 grep -F "waiting for" session
  run -0 cat log
  assert_output --regexp "^zkflock: $LOCK is still busy after 1 s: [0-9] ahead, held for "
  refute_output --partial "$CLEAR"
  wait "$holder"
}

# holder_vanishes LEASE: a holder whose znode goes as if its session had expired; its pid in $holder.
holder_vanishes() {
  zkflock --lease "$1" "$LOCK" true
  background "$LOCK" sh -c 'touch held; exec sleep 100'
  holder=$!
  eventually test -e held
  lose
}

# ci_settles: a contender waits for a vanished holder; pid in $waiter.
ci_settles() {
  holder_vanishes 60s
  LOGNAME=ci background "$LOCK" true
  waiter=$!
  zk "$ONE" await-count "$LOCK" 1
  eventually settles "$LOCK"
}

@test "terminal: while a holder that vanished is waited for, the line says for how long" {
  holder_vanishes 6s
  terminal "$(on_terminal zkflock "$LOCK" echo got it)" \
    "expect=waiting for $LOCK: a holder vanished, its command may still run for " \
    "expect=${CLEAR}got it" "expect=status 0" >session || { cat session; false; }
  ends_with 75 "$holder"
}

@test "a contender that waits for a vanished holder is not reported as the holder" {
  ci_settles
  run -1 zkflock -n "$LOCK" true
  kill "$waiter"
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, a holder vanished and is waited for by ci@[^ ]+ pid $waiter: true$"
  ends_with 75 "$holder"
  ends_with 143 "$waiter"
}

@test "-v: a wait behind a contender that waits for a vanished holder is reported once" {
  ci_settles
  first=$waiter
  wait_in_line log "$LOCK" true
  second=$waiter
  eventually contains log "a holder vanished and is waited for by ci@"
  # It looks again after 5 s.
  eventually past $(($(now) + 6000))
  assert_equal "$(grep -c "waiting for $LOCK: " log)" 1
  kill "$first" "$second"
  ends_with 75 "$holder"
  ends_with 143 "$first"
  ends_with 143 "$second"
}

@test "a waiter that has to join the queue again has all of --connect-timeout for that" {
  hold "$LOCK" release
  began=$(now)
  wait_in_line log --connect-timeout 1 --lock-delay 0 "$LOCK" touch ran
  eventually past $((began + 1500))
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK" | tail -n 1)"
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  assert contains log "somebody deleted the znode of this zkflock; joining the queue of $LOCK again"
  assert_exist ran
}

@test "a contender that waited in the queue, then for a vanished holder, is not reported as the holder either" {
  holder_vanishes 60s
  ends_with 75 "$holder"
  background --lock-delay 0 "$LOCK" sh -c 'touch second; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e second
  LOGNAME=ci background "$LOCK" true
  waiter=$!
  zk "$ONE" await-count "$LOCK" 2
  touch release
  ends_with 0 "$holder"
  eventually settles "$LOCK"
  run -1 zkflock -n "$LOCK" true
  kill "$waiter"
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, a holder vanished and is waited for by ci@[^ ]+ pid $waiter: true$"
  ends_with 143 "$waiter"
}

settles() { zk "$ONE" get "$1/$(zk "$ONE" ls "$1")" | grep -q settling=; } # settles LOCK

@test "-v without a terminal: a line at the start and at each change" {
  LOGNAME=ci hold "$LOCK" release
  wait_in_line first.log "$LOCK" sh -c 'touch second; until [ -e second.go ]; do sleep 0.05; done'
  first=$waiter
  wait_in_line second.log "$LOCK" true
  run -0 grep -c "waiting for" second.log
  assert_output 1
  run -0 cat second.log
  assert_output --regexp "waiting for $LOCK: 2 ahead, held for [^ ]+ by ci@[^ ]+ pid $holder: sh -c "
  touch release
  eventually contains second.log "waiting for $LOCK: 1 ahead"
  touch second.go
  wait "$holder" "$first" "$waiter"
  run -0 grep -c "waiting for" second.log
  assert_output 2
}

@test "-v: a wait for one lock, then for another one: each is told with its own holder" {
  LOGNAME=ann hold "$LOCK.a" a
  ann=$holder
  LOGNAME=bob hold "$LOCK.b" b
  wait_in_line log --with "$LOCK.b" "$LOCK.a" true
  touch a
  eventually contains log "waiting for $LOCK.b"
  touch b
  ends_with 0 "$waiter"
  ends_with 0 "$ann"
  ends_with 0 "$holder"
  run -0 grep "waiting for" log
  assert_line --index 0 --regexp "waiting for $LOCK.a: 1 ahead, held for .* by ann@"
  assert_line --index 1 --regexp "waiting for $LOCK.b: 1 ahead, held for .* by bob@"
  assert_equal "${#lines[@]}" 2
}

@test "zkflock says for how long the lock has been held at the end of the wait" {
  hold "$LOCK" release
  run -1 zkflock -w 2 "$LOCK" true
  touch release
  assert_output --regexp "held for ([2-9]|[1-9][0-9])s by "
  wait "$holder"
}

@test "-v: a waiter for a permit reports how many are ahead in all" {
  LOGNAME=ci hold "$LOCK" release --permits 1
  wait_in_line first.log --permits 1 "$LOCK" true
  first=$waiter
  wait_in_line second.log --permits 1 "$LOCK" true
  run -0 cat first.log
  assert_output --partial "waiting for a permit of $LOCK: 1 ahead, held for "
  run -0 cat second.log
  assert_output --partial "waiting for a permit of $LOCK: 2 ahead, held for "
  assert_output --partial " by ci@"
  second=$waiter
  # The first one counts once, though it has both the turn and a place among the permits.
  wait_in_line third.log --permits 1 "$LOCK" true
  assert contains third.log "waiting for a permit of $LOCK: 3 ahead, held for "
  touch release
  wait "$holder" "$first" "$second" "$waiter"
}

@test "-w counts from the start of zkflock, also while a server is slow to answer" {
  hold "$LOCK" release
  PROXY_OF=connect open_proxy hold-reply 1
  began=$(now)
  background -z "$VIA" --session-timeout 40 -w 4 --deadline 7 "$LOCK" touch ran 2>log
  waiter=$!
  proxy_strikes
  eventually past $((began + 4500))
  let_pass
  ends_with 1 "$waiter"
  # Another 4 s would reach --deadline.
  assert contains log " is still busy after 4 s: "
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
  close_proxy
}

@test "-w: a lock that has come free is not called busy because a server is slow to tell of it" {
  hold "$LOCK" release
  PROXY_OF=multi open_proxy hold-reply 1
  began=$(now)
  background -z "$VIA" --session-timeout 40 -w 2 "$LOCK" touch ran 2>log
  waiter=$!
  proxy_strikes # it is in line
  touch release
  ends_with 0 "$holder"
  eventually past $((began + 4500))
  let_pass
  ends_with 0 "$waiter"
  assert_exist ran
  assert_equal "$(cat log)" ""
  close_proxy
}

@test "-w: without an answer zkflock does not say that the lock is busy" {
  hold "$LOCK" release
  PROXY_OF=children open_proxy hold-reply 2
  run -69 zkflock -z "$VIA" -w 1 --connect-timeout 2 --session-timeout 40 "$LOCK" touch ran
  assert_output "zkflock: no answer from $VIA for 2 s while waiting; $LOCK was not taken"
  close_proxy
  PROXY_OF=children open_proxy hold-reply 2
  run -5 zkflock -z "$VIA" -E 5 --deadline 2 --session-timeout 40 "$LOCK" touch ran
  assert_output "zkflock: $LOCK was not taken within --deadline 2 s: no answer from the ensemble while waiting"
  close_proxy
  assert_not_exist ran
  touch release
  wait "$holder"
}

@test "-n: a slow server has all of --connect-timeout to say who is ahead, however long the join took" {
  hold "$LOCK" release
  # It takes three answers to join and two to look.
  open_proxy late 1:2
  run -1 zkflock -n -z "$VIA" --connect-timeout 9 --session-timeout 40 "$LOCK" touch ran
  assert_output --partial "$LOCK is busy: 1 ahead, held for "
  touch release
  wait "$holder"
  close_proxy
}

two_in_line() { [ "$(zk "$ONE" ls "$1/locks" | wc -w)" -eq 2 ]; } # two_in_line SEMAPHORE

@test "-n --with: each lock of several is told with its own queue" {
  hold "$LOCK.b" release
  zkflock --permits 3 "$LOCK.a" true
  others "$LOCK.a/locks" lock- 1
  background -n --permits 3 --with "$LOCK.b" "$LOCK.a" true 2>log
  waiter=$!
  eventually two_in_line "$LOCK.a"
  others_end
  ends_with 1 "$waiter"
  assert contains log "zkflock: $LOCK.b is busy: 1 ahead, held for "
  touch release
  wait "$holder"
}

@test "-w: who holds is asked again at the end of the wait" {
  LOGNAME=ann hold "$LOCK" release
  LOGNAME=bob wait_in_line bob.log "$LOCK" sh -c 'until [ -e bob.go ]; do sleep 0.05; done'
  bob=$waiter
  # Before the queue is looked at again by itself.
  wait_in_line log -w 4.8 "$LOCK" true
  touch release
  ends_with 0 "$holder"
  ends_with 1 "$waiter"
  assert contains log " is still busy after 4.8 s: 1 ahead, held for "
  assert_equal "$(grep -c "still busy.* by bob@" log)" 1
  touch bob.go
  ends_with 0 "$bob"
}

@test "-w of a permit: while none is free, zkflock waits no longer than that for the one that has the turn" {
  hold "$LOCK" release --permits 1
  wait_in_line log --permits 1 "$LOCK" true
  # --deadline comes before the extra time of a waiter that has just got a permit.
  run -5 zkflock -E 5 -w 1 --deadline 1.95 --permits 1 "$LOCK" touch ran
  assert_output --partial " is still busy after 1 s: 2 ahead"
  assert_not_exist ran
  touch release
  wait "$holder" "$waiter"
}

@test "-w of a permit: while all are free, zkflock waits some seconds longer for the one that has the turn" {
  zkflock --permits 1 "$LOCK" true
  others "$LOCK/locks" _c_0123456789abcdef0123456789abcdef-lock- 1
  background -w 0.5 --permits 1 "$LOCK" touch ran
  local since
  since=$(now)
  eventually past $((since + 3000))
  others_end
  ends_with 0 $!
  assert_exist ran
}

@test "-n of a permit: one that was free at first is taken: zkflock names its holder" {
  zkflock --permits 1 "$LOCK" true
  others "$LOCK/locks" _c_0123456789abcdef0123456789abcdef-lock- 1
  background -n --permits 1 "$LOCK" touch ran 2>log
  waiter=$!
  eventually two_in_line "$LOCK"
  zk "$ONE" create-kind ephemeral "$LOCK/leases/_c_0123456789abcdef0123456789abcdef-lease-0000000007" \
    < <(until [ -e release ]; do sleep 0.05; done) >made 3>&- 4>&- &
  other=$!
  ends_with 1 "$waiter"
  assert contains log "zkflock: $LOCK is busy: 1 ahead, held for "
  touch release
  others_end
  wait "$other"
}

@test "--deadline of a permit: the one that has the turn is not waited for any longer" {
  zkflock --permits 1 "$LOCK" true
  others "$LOCK/locks" _c_0123456789abcdef0123456789abcdef-lock- 1
  run -1 zkflock --deadline 1 --permits 1 "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK is still busy after 1 s: 1 ahead, the next permit goes to another client"
  others_end
}

@test "another client that holds is told by its session" {
  zkflock "$LOCK" true
  zk "$ONE" create-kind ephemeral "$LOCK/x-0000000000" \
    < <(until [ -e release ]; do sleep 0.05; done) >made 3>&- 4>&- &
  other=$!
  eventually contains made made
  run -1 zkflock -n "$LOCK" true
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, held for [^ ]+ by another client, session 0x[0-9a-f]+$"
  touch release
  wait "$other"
}

@test "a znode that no session owns is told by its name; what to do about it, by the messages alone" {
  zk "$ONE" create "$LOCK/x-0000000000" "$(printf 'no\033[2Jbody')"
  run -1 zkflock -n "$LOCK" true
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, held for [^ ]+ by x-0000000000, a persistent znode: --break frees the lock$"
  run -1 zkflock -n --log-format json "$LOCK" true
  assert_output --partial '"holder":"x-0000000000, a persistent znode",'
  assert_output --partial ": --break frees the lock\""
  wait_in_line log --lock-delay 0 "$LOCK" true
  eventually contains log "by x-0000000000, a persistent znode: --break frees the lock"
  run -0 zkflock --break --yes "$LOCK"
  ends_with 0 "$waiter"
}

@test "a znode that no session owns among the parts of a semaphore: nobody else's permit has to go" {
  hold "$LOCK" release --permits 2
  # A permit is left: what stands before the turn to take it is named, not the holder of the other one.
  for znode in "$LOCK/locks/lock-0000000000" "$LOCK/leases/A-0000000000"; do
    zk "$ONE" create "$znode"
    run -1 zkflock -w 0.5 --permits 2 "$LOCK" true
    assert_output --regexp "^zkflock: $LOCK is still busy after 500 ms: [12] ahead, held for [^ ]+ by ${znode##*/}, a persistent znode: delete $znode$"
    zk "$ONE" delete "$znode"
  done
  touch release
  ends_with 0 "$holder"
}
