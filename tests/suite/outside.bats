# Re-entry by processes that descend neither from the command nor from the caller of the lock: each of
# them is ended with the lock, and nobody else is.

load helper
load hold

# outer: a zkflock in the background whose command never ends; its pid in $outer, the name
# of its socket in the file "held".
outer() {
  background --session-timeout 1 "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held.new; mv held.new held; exec sleep 1000' 2>log
  outer=$!
  eventually test -s held
}

# elsewhere COMMAND...: runs it beside the outer zkflock, and lets it use that one's lock.
elsewhere() { ZKFLOCK_HELD=$(cat held) setsid "$@" 3>&- 4>&- & }

# keeper_for PID: the keeper that holds $LOCK for that process.
keeper_for() { pgrep -xf "zkflock --hold --for $1 .*$LOCK"; }

# A command that writes its pid down, and does not care for TERM.
stubborn='trap "" TERM; echo $$ >in; while :; do sleep 0.05; done'

@test "outside: -F inside a lost lock is ended with it" {
  outer
  elsewhere zkflock -F "$LOCK" sh -c "$stubborn"
  eventually test -s in
  lose
  ends_with 75 "$outer"
  assert gone "$(cat in)"
}

@test "outside: a script with a --hold inside a lost lock is ended with it" {
  outer
  elsewhere sh -c "zkflock --hold --for \$\$ '$LOCK' && $stubborn"
  eventually test -s in
  lose
  ends_with 75 "$outer"
  assert gone "$(cat in)"
}

@test "outside: a script is over, its keeper is killed, and what used its lock dies" {
  local use
  for use in "zkflock -F '$LOCK' sh -c" "zkflock --hold --for \$\$ '$LOCK' && eval"; do
    rm -f in
    cat >inner <<END
$use '$stubborn'
END
    script sh <<END
eval "\$(zkflock --hold --for \$\$ --export "$LOCK")"
setsid sh inner &
until [ -s in ]; do sleep 0.05; done
END
    ends_with 0 "$script"
    kill -KILL "$(keeper_for "$script")"
    eventually gone "$(cat in)"
    eventually is_free "$LOCK"
  done
}

@test "outside: --revoke reaches a command of -F that alone still uses the lock of a script" {
  script sh <<END
exec 2>log
eval "\$(zkflock --hold --for \$\$ -v --export "$LOCK")"
setsid zkflock -F "$LOCK" sh -c 'echo \$\$ >in; exec sleep 1000' &
until [ -s in ]; do sleep 0.05; done
END
  ends_with 0 "$script"
  run -0 zkflock --revoke --yes -w 20 "$LOCK"
  eventually gone "$(cat in)"
  assert contains log "what is left of process $script is sent SIGTERM"
  nothing_left_of "$LOCK"
}

@test "outside: a script that has given its hold back outlives the lock that it had used" {
  outer
  elsewhere sh -c "zkflock --hold --for \$\$ '$LOCK' && zkflock --unlock --for \$\$ '$LOCK' && $stubborn"
  eventually test -s in
  elsewhere sh -c "zkflock --hold --for $(cat in) '$LOCK' && echo \$\$ >once"
  eventually test -s once
  run -0 zkflock --unlock --for "$(cat in)" "$LOCK"
  lose
  ends_with 75 "$outer"
  refute gone "$(cat in)"
  kill -KILL "$(cat in)"
}

@test "outside: of two holds for one script that use a lock, one is given back, and the script is ended with the lock" {
  outer
  elsewhere sh -c "zkflock --hold --for \$\$ '$LOCK' && zkflock --hold --for \$\$ '$LOCK' && $stubborn"
  eventually test -s in
  run -0 zkflock --unlock --for "$(cat in)" "$LOCK"
  refute gone "$(cat in)"
  lose
  ends_with 75 "$outer"
  assert gone "$(cat in)"
}

@test "outside: a lock is held by one inside of another lock: both of their zkflocks are killed, and who uses it dies" {
  outer
  elsewhere zkflock --session-timeout 1 --with "$LOCK" "$LOCK.b" sh -c 'echo "$ZKFLOCK_HELD" >held.b; exec sleep 1000'
  middle=$!
  eventually test -s held.b
  cut -d' ' -f2 held.b >held
  elsewhere zkflock "$LOCK.b" sh -c "$stubborn" 2>inner.log
  inner=$!
  eventually test -s in
  # The guard of the one in the middle cannot end it any more.
  kill -STOP "$(children "$middle" lock-guard)"
  kill -KILL "$outer"
  ends_with 75 "$inner"
  assert gone "$(cat in)"
  assert_equal "$(cat inner.log)" "zkflock: the zkflock around this one, whose lock it used, was killed, so sh was killed"
  zk "$ONE" await-count "$LOCK.b" 0
}

@test "outside: a zkflock that asks while the one around dies never starts its command" {
  outer
  background "$LOCK.c" sh -c 'touch busy; until [ -e free ]; do sleep 0.05; done'
  eventually test -e busy
  elsewhere zkflock -v --with "$LOCK" "$LOCK.c" touch ran 2>inner.log
  inner=$!
  eventually contains inner.log "waiting for"
  kill -STOP "$(children "$inner" lock-guard)"
  touch free
  eventually contains inner.log "holding it as"
  guard=$(children "$outer" lock-guard)
  kill -STOP "$guard"
  kill -KILL "$outer" "$guard"
  kill -CONT "$(children "$inner" lock-guard)"
  ends_with 75 "$inner"
  assert contains inner.log "the zkflock around this one, whose lock it used, was killed, so touch was not started"
  assert_not_exist ran
  pkill -KILL --session "$outer" || true
  zk "$ONE" await-count "$LOCK" 0
}

@test "outside: --on-lost warn: who uses the lock goes on when the one around has ended" {
  background --on-lost warn "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log
  outer=$!
  eventually test -s held
  elsewhere zkflock "$LOCK" sh -c 'echo $$ >in; until [ -e over ]; do sleep 0.05; done; exit 6'
  inner=$!
  eventually test -s in
  lose
  eventually contains log "goes on without it"
  touch end
  ends_with 0 "$outer"
  eventually past $(($(now) + 300))
  refute gone "$(cat in)"
  touch over
  ends_with 6 "$inner"
}

@test "outside: a hold for a process around the zkflock that holds the lock is refused: each would wait for the other" {
  cat >around <<END
zkflock "$LOCK" sh -c 'zkflock --hold --for \$1 "$LOCK"; echo \$? >status' sh \$\$
END
  run -0 timeout 30 sh around
  assert_output --regexp "^zkflock: $LOCK is held by the zkflock around this one, and process [0-9]+ is around both, or a part of that one: each could wait for the other; name a process inside with --for PID$"
  assert_equal "$(cat status)" 64
}

@test "outside: a process that has adopted the keeper of its hold may hold the lock once more" {
  cat >adopter <<'END'
import ctypes, os, re, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) # PR_SET_CHILD_SUBREAPER
hold = ["zkflock", "--hold", "--for", str(os.getpid())]
first = subprocess.run(hold + ["--export", sys.argv[1]], stdout=subprocess.PIPE, text=True).stdout
os.environ["ZKFLOCK_HELD"] = re.search("ZKFLOCK_HELD='(.*)'", first)[1]
sys.exit(subprocess.run(hold + [sys.argv[1]]).returncode)
END
  run -0 timeout 30 python3 adopter "$LOCK"
  eventually is_free "$LOCK"
}
