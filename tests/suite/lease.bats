# What happens when contact, keeper or guard is lost: the command ends before the lease does.

load helper
load beating

# Short times; the tests still wait for them.
readonly SHORT=(--session-timeout 2 --lease 4)

# A command that ignores TERM and leaves a daemon, both of which write their pids down.
stubborn() {
  cat >stubborn <<'EOF'
#!/bin/sh
trap '' TERM
setsid sh -c 'sh -c "echo \$\$ >daemon; exec sleep 1000" & exit' &
wait $!
until [ -s daemon ]; do sleep 0.01; done
echo $$ >command
until [ -e release ]; do sleep 0.05; done
EOF
  chmod +x stubborn
}

# guarded ARG...: a holder in the background, its log in "log"; pids in $keeper and $guard.
readonly LONG_SESSION=(--session-timeout 20 --lease 4)

guarded() {
  background -v "${SHORT[@]}" "$@" 2>log
  keeper=$!
  eventually contains log "holding"
  guard=$(children "$keeper" lock-guard)
}

tree_is_dead() { gone "$(cat command)" && gone "$(cat daemon)"; }

# The command has ended, and nobody has waited for it.
command_is_zombie() { [ "$(sed 's/.*) //' "/proc/$(cat command)/stat" | cut -c1)" = Z ]; }

counted_out() { # counted_out N: so many were made, all are gone and all counted out
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp "^$1 $((2 * $1)) 0 "
}

@test "cut off from the ensemble: the whole tree is killed before the lease ends, 75" {
  stubborn
  open_proxy
  guarded -z "$VIA" "$LOCK" ./stubborn
  eventually test -s command
  kill -STOP "$proxy_pid"
  ends_with 75 "$keeper"
  assert tree_is_dead
  close_proxy
  run -0 cat log
  assert_line --regexp "^zkflock\[.*\]: lost $LOCK: no contact with the ensemble since $TIME_OF_DAY, for [0-9.]+ s; ./stubborn was sent SIGTERM, then killed\$"
  assert_line --regexp "^zkflock\[.*\]: nothing of ./stubborn is left, [0-9]+ ms before the lease ended\$"
}

@test "an obedient command is ended by the first signal, and --signal chooses it" {
  open_proxy
  guarded -z "$VIA" --signal usr1 "$LOCK" sh -c 'trap "touch told; exit 3" USR1; echo $$ >command; while :; do sleep 0.05; done'
  eventually test -s command
  kill -STOP "$(cat command)" # zkflock continues it
  kill -STOP "$proxy_pid"
  ends_with 75 "$keeper"
  assert_exist told
  close_proxy
  assert grep -q "sh was sent SIGUSR1 and ended" log
}

@test "cut off for less than the lease: the command never notices" {
  open_proxy
  guarded "${LONG_SESSION[@]}" -z "$VIA" "$LOCK" sh -c 'echo $ZKFLOCK_TOKEN >token; until [ -e release ]; do sleep 0.05; done'
  eventually test -s token
  kill -STOP "$proxy_pid"
  sleep 1 # the cut itself; the first signal would come after 2.9 s
  kill -CONT "$proxy_pid"
  node=$(zk "$ONE" ls "$LOCK")
  # Longer than the lease: proofs go on.
  eventually past $(($(now) + 4000))
  assert_equal "$(zk "$ONE" ls "$LOCK")" "$node"
  touch release
  ends_with 0 "$keeper"
  close_proxy
  refute grep lost log
}

@test "the keeper is killed: the tree dies, and the next holder starts without waiting" {
  stubborn
  guarded "$LOCK" ./stubborn
  eventually test -s command
  background -v "$LOCK" sh -c '! kill -0 $(cat command) && ! kill -0 $(cat daemon) && touch clean' 2>next.log
  waiter=$!
  eventually contains next.log "waiting for"
  kill -KILL "$keeper"
  ends_with 0 "$waiter"
  assert tree_is_dead
  # When the next one started, nothing of the tree was alive.
  assert_exist clean
  refute grep -q vanished next.log
  counted_out 2
}

@test "the keeper is killed while it waits: its place is given back" {
  hold "$LOCK" release
  wait_in_line log "$LOCK" touch ran
  kill -KILL -- "-$waiter" # with its process group
  zk "$ONE" await-count "$LOCK" 1
  touch release
  wait "$holder"
  assert_not_exist ran
  counted_out 2
}

@test "the keeper is killed while it waits at a new place: that is the place which is given back" {
  hold "$LOCK" first --lease 4
  local first=$holder
  wait_in_line log "${LONG_SESSION[@]}" "$LOCK" touch ran
  background "$LOCK" sh -c 'touch second.held; until [ -e second ]; do sleep 0.05; done'
  holder=$!
  zk "$ONE" await-count "$LOCK" 3
  # It joins again when it looks for its znode, at the latest when the first one leaves.
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK" | grep '0000000001$')"
  touch first
  wait "$first"
  zk "$ONE" await-count "$LOCK" 2
  eventually test -e second.held
  kill -KILL -- "-$waiter"
  zk "$ONE" await-count "$LOCK" 1
  touch second
  wait "$holder"
  assert_not_exist ran
  counted_out 4 # the first place by the second holder, which has waited a lease for it
}

@test "the keeper is killed while it waits for a vanished one: its place is given back" {
  guarded "$LOCK" sleep 1000
  crash "$keeper"
  zk "$ONE" await-count "$LOCK" 0
  background -v "$LOCK" touch ran 2>next.log
  waiter=$!
  eventually contains next.log "a contender vanished"
  kill -KILL "$waiter"
  zk "$ONE" await-count "$LOCK" 0
  # Two were made, one was counted out.
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp "^1 4 0 "
}

@test "terminal: the keeper is killed, and the person is told, 70" {
  terminal 'send=zkflock '"$LOCK"' sh -c "ps -o ppid= -p \$PPID >keeper; exec sleep 1000"; echo status $?\n' \
    'expect=the keeper process was killed' 'expect=status 70' >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -s keeper
  # shellcheck disable=SC2046
  kill -KILL $(cat keeper)
  acted "$person"
  counted_out 1
}

@test "the keeper is stopped for longer than the lease: the guard kills by its own clock" {
  stubborn
  guarded "$LOCK" ./stubborn
  eventually test -s command
  kill -STOP "$keeper"
  stopped=$(now)
  # In time, as guard.bats shows.
  eventually tree_is_dead
  eventually past $((stopped + 5500))
  # The kernel continues a stopped process whose group has lost its last other parent.
  kill -CONT "$keeper" || true
  ends_with 75 "$keeper"
  # The guard's clock counts; the keeper hears of the end more than a second after the lease.
  assert grep -qE "nothing of ./stubborn is left, (.* before|but only [0-9]+ ms after) the lease ended" log
}

@test "a stopped keeper is killed after the guard has killed the tree: the guard gives its place back" {
  stubborn
  guarded "${LONG_SESSION[@]}" "$LOCK" ./stubborn
  eventually test -s command
  kill -STOP "$keeper"
  eventually tree_is_dead
  eventually test ! -e "/proc/$(cat daemon)" -a ! -e "/proc/$(cat command)" # the guard has reaped them
  kill -KILL "$keeper"
  eventually gone "$guard"
  counted_out 1
}

@test "the lease is over before the command could start: it is not started, and a message says so" {
  zkflock --lease 8 "$LOCK" true
  hold "$LOCK" release
  began=$(now)
  wait_in_line log --session-timeout 40 --kill-after 3.5 --deadline 5 "$LOCK" touch ran
  guard=$(children "$waiter" lock-guard)
  kill -STOP "$guard"
  touch release
  eventually contains log "holding"
  kill -STOP "$waiter"
  # The first signal is due 4 s after the proof, KILL after 7.5 s.  --deadline is over as well.
  eventually past $(($(now) + 4200))
  eventually past $((began + 5100))
  kill -CONT "$guard"
  eventually in_state "$guard" S
  kill -CONT "$waiter"
  ends_with 75 "$waiter"
  wait "$holder"
  assert_not_exist ran
  assert grep -q "lost $LOCK: .*; touch was not started" log
  refute grep -q "nothing of touch is left" log
}

@test "the guard is killed: the keeper kills the tree and gives the lock back, 70" {
  stubborn
  guarded "$LOCK" ./stubborn
  eventually test -s daemon
  kill -KILL "$guard"
  ends_with 70 "$keeper"
  # The command may have ended before it wrote its pid down.
  assert gone "$(cat daemon)"
  assert grep -q "the guard process was killed, so the command was ended" log
  counted_out 1
}

@test "the guard is stopped: the keeper notices and kills the tree, 70" {
  stubborn
  guarded "$LOCK" ./stubborn
  eventually test -s command
  kill -STOP "$guard"
  ends_with 70 "$keeper"
  assert tree_is_dead
  assert grep -q "the guard process does not answer, so the command was ended" log
  counted_out 1
}

@test "the guard is stopped or killed: a command that ended by itself keeps its status, and its success is noted" {
  for signal in STOP KILL; do
    guarded --once-per 1h "$LOCK.$signal" sh -c 'echo $$ >command; until [ -e go ]; do sleep 0.05; done'
    eventually test -s command
    # A guard that will be killed is stopped first, so that it does not hear of the command's end.
    kill -STOP "$guard"
    touch go
    eventually command_is_zombie
    kill "-$signal" "$guard"
    ends_with 0 "$keeper"
    assert grep -Eq "the guard process (does not answer|was killed); sh had ended by itself before" log
    rm command go
    run -0 zkflock --once-per 1h "$LOCK.$signal" touch ran
    assert_not_exist ran
  done
}

@test "the guard is stopped, then zkflock past its lease: a command that ended meanwhile does not count as ended in time" {
  guarded --once-per 1h "$LOCK" sh -c 'echo $$ >command; until [ -e go ]; do sleep 0.05; done'
  eventually test -s command
  kill -STOP "$guard"
  # The keeper gets an answer to a proof; the guard, stopped, does not hear of it.
  eventually past $(($(now) + 1200))
  kill -STOP "$keeper"
  eventually past $(($(now) + 4200))
  touch go
  eventually command_is_zombie
  kill -CONT "$keeper"
  status=0
  wait "$keeper" || status=$?
  assert [ "$status" -eq 70 -o "$status" -eq 75 ]
  assert lacks log "had ended by itself"
  kill -CONT "$guard" || true
  run -0 zkflock --once-per 1h "$LOCK" echo again
  assert_output again
}

@test "the guard is out of reach of signals to the process group" {
  guarded "${LONG_SESSION[@]}" "$LOCK" sh -c 'trap "" HUP
    setsid sh -c "echo \$\$ >daemon; exec sleep 1000" & until [ -s daemon ]; do sleep 0.05; done; wait'
  eventually test -s daemon
  kill -HUP -- "-$keeper"
  refute gone "$guard"
  kill -KILL -- "-$keeper"
  ends_with 137 "$keeper"
  eventually gone "$(cat daemon)"
  eventually gone "$guard"
  counted_out 1
}

@test "the own znode is deleted by somebody: noticed at once, the command ended, 75" {
  # The lease is so long that only the event can tell in time, and a question about the own znode would
  # be the third get, which does not pass.
  zkflock --lease 300 "$LOCK" true
  PROXY_OF="get" open_proxy hold-request 3
  background -v -z "$VIA" --kill-after 0.5 "$LOCK" sh -c 'trap "" TERM; touch ready; exec sleep 1000' 2>log
  keeper=$!
  eventually test -e ready
  eventually has_watches 1
  node=$(zk "$ONE" ls "$LOCK")
  zk "$ONE" delete "$LOCK/$node"
  eventually contains log "lost $LOCK: the znode $LOCK/$node was deleted, by --break or another client; sh was sent SIGTERM, then killed"
  assert_equal "$(grep -c "connected to" log)" 1
  ends_with 75 "$keeper"
  close_proxy
}

@test "--signal may be one that has no name" {
  guarded --signal 34 "$LOCK" sleep 1000
  lose
  ends_with 75 "$keeper"
  assert grep -q "sleep was sent signal 34 and ended" log
}

@test "--on-lost term: the first signal alone" {
  open_proxy
  guarded -z "$VIA" --on-lost term "$LOCK" sh -c 'trap "touch told" TERM; until [ -e release ]; do sleep 0.05; done'
  kill -STOP "$proxy_pid"
  eventually test -e told
  # The next one gets the lock while the command still runs: this option waives the guarantee.
  run -0 zkflock "$LOCK" echo ran
  assert_output ran
  refute gone "$keeper"
  touch release
  ends_with 75 "$keeper"
  close_proxy
  assert grep -q "it may have run at the same time as the next holder" log
}

@test "--on-lost term: the loss is told while the command still runs" {
  guarded --on-lost term "$LOCK" sh -c 'trap "touch asked" TERM; until [ -e release ]; do sleep 0.05; done'
  lose
  eventually contains log "lost $LOCK: "
  eventually test -e asked
  refute gone "$keeper"
  touch release
  ends_with 75 "$keeper"
  assert_equal "$(grep -c "lost $LOCK: .*; sh was sent SIGTERM$" log)" 1
}

@test "--on-lost term: a process whose first thread has ended gets the signal, too" {
  cat >threads <<'END'
import ctypes, threading, time
threading.Thread(target=lambda: (open("started", "w"), time.sleep(1000))).start()
ctypes.CDLL(None).pthread_exit(None)
END
  guarded --on-lost term "$LOCK" sh -c 'trap "" TERM; (trap - TERM; exec python3 threads) & echo $! >pid; wait'
  eventually test -e started
  eventually grep -q '^State:.*Z' "/proc/$(cat pid)/status"
  lose
  ends_with 75 "$keeper"
}

@test "--on-lost warn: the command goes on, and its status counts" {
  open_proxy
  guarded -z "$VIA" --on-lost warn "$LOCK" sh -c 'until [ -e release ]; do sleep 0.05; done; exit 6'
  kill -STOP "$proxy_pid"
  eventually contains log "sh goes on without it (--on-lost warn)"
  run -0 zkflock "$LOCK" echo ran
  assert_output ran
  touch release
  ends_with 6 "$keeper"
  close_proxy
}

@test "--on-lost warn: a loss is told once where the guard refuses to start the command" {
  printf '#!/bin/sh\necho "$1" >>told\n' >teller
  chmod +x teller
  zkflock --lease 8 "$LOCK" true
  # The guard refuses before the keeper finds the loss, then after that.
  for first in guard keeper; do
    rm -f told release release.held
    hold "$LOCK" release
    wait_in_line log --session-timeout 40 --kill-after 3.5 --on-lost warn --hook ./teller "$LOCK" touch ran
    guard=$(children "$waiter" lock-guard)
    kill -STOP "$guard"
    touch release
    eventually contains log "holding"
    began=$(now)
    ends_with 0 "$holder"
    if [ "$first" = guard ]; then
      kill -STOP "$waiter"
    else
      lose
      eventually contains log "touch goes on without it (--on-lost warn)"
    fi
    # The first signal is due after 4 s.
    eventually past $((began + 4500))
    kill -CONT "$guard"
    if [ "$first" = guard ]; then
      eventually in_state "$guard" S
      kill -CONT "$waiter"
    fi
    ends_with 75 "$waiter"
    if [ "$first" = guard ]; then
      assert grep -q "lost $LOCK: .*; touch was not started" log
      assert lacks log "after all"
    else
      assert contains log "touch was not started after all"
    fi
    assert_equal "$(grep -c "lost $LOCK" log)" 1
    assert_equal "$(grep -cx lost told)" 1
  done
  assert_not_exist ran
}

@test "--on-lost warn: when the command has ended, zkflock does not wait for others that use the lock" {
  open_proxy
  ZKFLOCK_SERVERS=$VIA guarded --on-lost warn "$LOCK" sh -c '
    (zkflock "$0" sh -c "touch in; until [ -e go ]; do sleep 0.05; done") &
    until [ -e in ]; do sleep 0.05; done; exit 3' "$LOCK"
  eventually contains log "still use $LOCK"
  kill -STOP "$proxy_pid"
  ends_with 3 "$keeper"
  assert contains log "goes on without it"
  touch go
  close_proxy
}

@test "--lock-delay 0 waits for nobody who vanished, and leaves the count to others" {
  guarded "$LOCK" sleep 1000
  crash "$keeper"
  zk "$ONE" await-count "$LOCK" 0
  run -0 zkflock -v --lock-delay 0 "$LOCK" echo ran
  refute_output --partial vanished
  run -0 zkflock -v "$LOCK" echo ran
  assert_output --partial "a contender vanished"
}

@test "a longer --lock-delay is waited out" {
  guarded "$LOCK" sleep 1000
  crash "$keeper"
  zk "$ONE" await-count "$LOCK" 0
  run -0 zkflock -v --lock-delay 5 "$LOCK" echo ran
  assert_output --regexp "its command may run for [45](.[0-9])? s more"
}

@test "everything was frozen for longer than the lease: the tree is killed at once, and the overlap reported" {
  beating
  guarded --lease 5 --kill-after 1.9 "$LOCK" ./beating
  eventually test -s command
  pids="$keeper $guard $(cat command)"
  # shellcheck disable=SC2086
  kill -STOP $pids
  # The session has expired, and the lease is over.
  PATIENCE=30 eventually zkflock -q -w 1 "$LOCK" true
  # The guard sends KILL at once, without another --kill-after and without the keeper.
  continued=$(now)
  kill -CONT "$guard" "$(cat command)"
  dead_by $((continued + 1500))
  kill -CONT "$keeper"
  ends_with 75 "$keeper"
  assert grep -q "nothing of ./beating is left, but only .* after the lease ended: it may have run at the same time as the next holder of $LOCK" log
}

# The session outlives these: proofs are answered again before the loss is reported.

# frozen SECONDS PID...: stopped for that long.
frozen() {
  kill -STOP "${@:2}"
  sleep "$1" # the standstill itself
  kill -CONT "${@:2}"
}

@test "zkflock stood still, and contact is back: the message blames the standstill" {
  guarded --log-format json "${LONG_SESSION[@]}" "$LOCK" sh -c 'echo $$ >command; exec sleep 1000'
  eventually test -s command
  frozen 5 "$keeper" "$guard" "$(cat command)"
  ends_with 75 "$keeper"
  run -0 cat log
  assert_line --regexp "\"event\":\"lost\".*\"reason\":\"standstill\""
  assert_line --regexp "\"lost $LOCK: zkflock itself stood still for [0-9.]+ s or longer, too long for a lease of 4 s; sh was "
  # The last proof before that counts.
  assert_line --regexp "\"proof_age_s\":([5-9]|[0-9]{2})"
  refute_output --partial "no contact"
}

@test "only the guard stood still, with contact all the time: the message blames its standstill" {
  # The command of another holder ends by itself while its guard stands still: in time.
  background --session-timeout 20 --lease 22 --kill-after 12 "$LOCK.b" sh -c 'echo $$ >command; until [ -e release ]; do sleep 0.05; done; exit 5'
  other=$!
  eventually test -s command
  guarded --session-timeout 20 --lease 22 --kill-after 12 "$LOCK" sleep 1000
  kill -STOP "$(children "$other" lock-guard)"
  touch release
  # Past its first signal, at 8.5 s, and before the keeper takes it for mute, at 14.5 s.
  frozen 11 "$guard" "$(children "$other" lock-guard)"
  ends_with 75 "$keeper"
  ends_with 5 "$other"
  assert grep -qE "lost $LOCK: zkflock itself stood still for [0-9.]+ s or longer, too long for a lease of 22 s; sleep was sent SIGTERM and ended" log
}

writes() { figure zk_cnt_updatelatency; }
written_since() { [ "$(writes)" -ge $(($1 + $2)) ]; } # written_since BEFORE N

@test "contact comes back too late: the message says for how long there was none" {
  open_proxy
  guarded --session-timeout 40 --lease 18 --kill-after 7 -z "$VIA" "$LOCK" sh -c 'trap "touch told" TERM; until [ -e release ]; do sleep 0.05; done'
  kill -STOP "$proxy_pid"
  eventually test -e told
  before=$(writes)
  kill -CONT "$proxy_pid"
  # These are answers to proofs; zkflock writes nothing else.
  eventually written_since "$before" 2
  touch release
  ends_with 75 "$keeper"
  close_proxy
  assert grep -qE "lost $LOCK: no contact with the ensemble for [0-9.]+ s, from $TIME_OF_DAY on; sh was sent SIGTERM and ended" log
}

@test "lease, grace and lock delay that do not go together are refused, with values that would" {
  for lease in 0 0.5 2.9 2d; do
    refuses 64 "--lease takes a time from 3 s to 1 d, not '$lease'" --lease "$lease" "$LOCK" touch ran
  done
  refuses 64 "a lease of 3 s is too short to survive the fail-over of a server; it takes 3.5 s or more" \
    --lease 3 "$LOCK" touch ran
  run -0 zkflock --lease 3 --kill-after 0.3 "$LOCK/short" true
  run -0 zkflock --lease 3.5 "$LOCK/longer" true
  refuses 64 "with --kill-after 9 s a lease of 15 s is too short to survive the fail-over of a server; a --kill-after of 7.9 s would do, or a --lease of 17 s" \
    --lease 15 --kill-after 9 "$LOCK" touch ran
  refuses 64 "--lock-delay 10 s is shorter than the lease, 15 s, in which the command of a holder that vanished may still run; give at least that, or 0 to take the risk" \
    --lease 15 --lock-delay 10 "$LOCK" touch ran
  refuses 64 "--signal takes a signal such as TERM, INT or 15, not 'NOPE'" --signal NOPE "$LOCK" touch ran
  # The C library keeps it for itself, and lets nobody block it.
  refuses 64 "--signal takes a signal such as TERM, INT or 15, not '32'" --signal 32 "$LOCK" touch ran
  refuses 64 "--on-lost takes kill, term or warn, not 'ask'" --on-lost ask "$LOCK" touch ran
  refuses 64 "--kill-after takes a time from 0 ms to 1 h, not '-1'" --kill-after -1 "$LOCK" touch ran
}

@test "--kill-after without --lease: the lock's own lease counts, and a new lock gets one with room" {
  zkflock --lease 60 "$LOCK" true
  run -0 zkflock --kill-after 20 "$LOCK" echo ran
  assert_output ran
  run -0 zkflock --kill-after 20 "$LOCK.new" echo ran
  assert_output ran
  assert_equal "$(zk "$ONE" get "$LOCK.new")" "zkflock/1 base=0 lease=35000ms"
  run -0 zkflock --kill-after 20 --show-config "$LOCK"
  assert_line --regexp "^# lease += 35s +# default\$"
  zkflock "$LOCK.old" true
  run -78 zkflock --kill-after 20 "$LOCK.old" touch ran
  assert_output --regexp "^zkflock: $LOCK.old: with --kill-after 20 s a lease of 15 s is too short"
  assert_not_exist ran
}

@test "a lock's own lease that does not go with --kill-after is refused before the command runs" {
  zkflock --lease 4 "$LOCK" true
  run -78 zkflock --kill-after 3 "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK: with --kill-after 3 s a lease of 4 s is too short"
  assert_not_exist ran
  counted_out 2
}
