# --tree: processes that the command leaves behind are under the lock, too.

load helper

# A command that ends at once and leaves a daemon, which goes on until FILE is there.
readonly DAEMON='setsid sh -c "echo \$\$ >daemon; until [ -e release ]; do sleep 0.05; done" >/dev/null 2>&1 & until [ -s daemon ]; do sleep 0.05; done; exit 3'

@test "--tree: the lock is held until everything the command started has ended" {
  background -v --tree "$LOCK" sh -c "$DAEMON" 2>log
  outer=$!
  eventually contains log "sh has ended, but something that it started still runs"
  run -1 zkflock -n "$LOCK" true
  touch release
  ends_with 3 "$outer"
  run -0 zkflock -n "$LOCK" true
}

@test "without --tree, and with -o, the lock is given back when the command ends" {
  for option in -v --close; do
    run -3 zkflock $option "$LOCK" sh -c "$DAEMON"
    run -0 zkflock -n "$LOCK" true
    touch release
    eventually gone "$(cat daemon)"
    rm release daemon
  done
}

@test "--tree: of -o and --tree the last one counts" {
  background -v -o --tree "$LOCK" sh -c "$DAEMON" 2>log
  outer=$!
  eventually contains log "still runs"
  touch release
  ends_with 3 "$outer"
}

@test "--tree: proofs go on for what is left, for longer than the lease" {
  background -v --lease 3.5 --tree "$LOCK" sh -c 'setsid sh -c "touch began; sleep 5; touch ended" & exit 0' 2>log
  ends_with 0 $!
  assert_exist ended
  refute grep lost log
  assert_equal "$(grep -c "still runs" log)" 1
}

@test "--tree: a lock that is lost ends what is left, 75" {
  background -v --tree --lease 60 "$LOCK" sh -c "$DAEMON" 2>log
  outer=$!
  eventually contains log "still runs"
  lose
  eventually gone "$(cat daemon)" # long before the lease ends
  ends_with 75 "$outer"
  assert grep "lost $LOCK" log
  assert gone "$(cat daemon)"
}

@test "--tree: the guard ends what the command left when the lease ends, though the keeper is stopped" {
  background -v --tree --lease 8 --session-timeout 40 "$LOCK" \
    sh -c "echo >began; until [ -e go ]; do sleep 0.05; done; $DAEMON" 2>log
  outer=$!
  eventually test -e began # only then has the guard its order
  kill -STOP "$outer"
  touch go
  eventually test -s daemon
  eventually gone "$(cat daemon)"
  kill -CONT "$outer"
  ends_with 75 "$outer"
  assert_file_contains log "nothing of sh is left, .* before the lease ended"
}

@test "--tree: --on-lost term: what is left goes on, and is not said to have ended" {
  background --tree --lease 4 --on-lost term "$LOCK" \
    sh -c '(trap "" TERM; until [ -e go ]; do sleep 0.05; done) & echo >began' 2>log
  keeper=$!
  eventually test -e began
  zk "$ONE" delete "$LOCK/$(zk "$ONE" ls "$LOCK")"
  eventually contains log "lost $LOCK: "
  refute gone "$keeper"
  touch go
  ends_with 75 "$keeper"
  assert_equal "$(grep -c "; what was started by sh was sent SIGTERM$\|; sh was sent SIGTERM$" log)" 1
  assert_equal "$(wc -l <log)" 1
}

@test "--tree: the guard is killed when the command has ended: what it left is ended, 70" {
  background -v --tree "$LOCK" sh -c 'setsid sleep 1000 & echo $! >left.new; mv left.new left' 2>log
  keeper=$!
  eventually contains log "sh has ended, but something that it started still runs"
  kill -KILL "$(children "$keeper" lock-guard)"
  ends_with 70 "$keeper"
  assert gone "$(cat left)"
  assert contains log "the guard process was killed, so what was started by sh was ended"
}

@test "--tree: TERM reaches what is left when the command has ended" {
  background -v --tree "$LOCK" sh -c "$DAEMON" 2>log
  outer=$!
  eventually contains log "still runs"
  kill -TERM "$outer"
  ends_with 3 "$outer"
  assert gone "$(cat daemon)"
}

@test "--tree: a command that leaves nothing behind ends as without it, without a message" {
  run -0 zkflock -v --tree "$LOCK" true
  refute_output --partial "still runs"
}

@test "--tree: a keeper that reads each report at once does not say that something still runs" {
  background -v --tree "$LOCK" sh -c 'until [ -e go ]; do sleep 0.05; done' 2>log
  outer=$!
  eventually contains log holding
  # On one CPU, the keeper runs as soon as the guard has sent it a report.
  cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$outer/status")
  taskset -cp "$cpu" "$outer"
  taskset -cp "$cpu" "$(children "$outer" lock-guard)"
  chrt --fifo -p 1 "$outer" || renice -n -20 "$outer" || true
  touch go
  ends_with 0 "$outer"
  refute grep "still runs" log
}

@test "--tree: a terminal's Ctrl-C is for what is left, too, when the command has ended" {
  # In a session of its own, and without the shell's & which has INT ignored.
  echo 'setsid -f sh -c "echo \$\$ >daemon; exec sleep 1000"; until [ -s daemon ]; do sleep 0.05; done; exit 3' >leave
  terminal "send=zkflock -v --tree $LOCK sh leave; echo status \$?\n" 'expect=still runs' \
    key=c 'expect=status 3'
  assert gone "$(cat daemon)"
}

@test "--tree: a terminal's Ctrl-Z stops the job, too, when the command has ended" {
  echo "$DAEMON" >leave
  terminal "send=zkflock -v --tree $LOCK sh leave\n" 'expect=still runs' key=z expect=Stopped \
    touch=release 'send=fg; echo status $?\n' 'expect=status 3'
}
