# --hold: what zkflock ends when the lock or the keeper is lost.

load helper
load hold

# children_are_gone: those that the script has written down in the file "children".
children_are_gone() {
  local child
  while read -r child; do
    eventually gone "$child"
  done <children
}

@test "--hold: when the lock is lost, the script and what it started are ended" {
  export LOCK
  script bash <<'EOF'
zkflock --hold --lease 4 "$LOCK" 2>log
sleep 1000 & echo $! >child
(trap '' TERM; echo $BASHPID >stubborn; while :; do sleep 0.1; done) &
until [ -s stubborn ]; do sleep 0.05; done
touch held
wait
EOF
  eventually test -e held
  lose
  ends_with 143 "$script"
  eventually gone "$(cat child)"
  eventually gone "$(cat stubborn)"
  eventually contains log "zkflock: lost $LOCK: "
  assert grep -q "process $script was sent SIGTERM, then killed" log
}

@test "--hold: all that the script has started is ended, even more than there are descriptors for" {
  export LOCK
  script bash <<'EOF'
ulimit -n 40
zkflock --hold --lease 6 --kill-after 2.5 "$LOCK" 2>log
for _ in {1..70}; do
  sleep 1000 & echo $! >>children
done
trap '' TERM
touch held
while read -r child; do
  wait "$child"
  echo $? >>ends
done <children
exec sleep 1000
EOF
  eventually test -e held
  lose
  ends_with 137 "$script"
  # All got the first signal.
  assert_equal "$(grep -cx 143 ends)" 70
  children_are_gone
}

@test "--hold: what ignores TERM is ended, too, even if it is more than there are descriptors for" {
  export LOCK
  script bash <<'EOF'
ulimit -n 40
zkflock --hold --lease 6 "$LOCK" 2>log
for _ in {1..70}; do
  (trap '' TERM; exec sleep 1000) & echo $! >>children
done
touch held
wait
EOF
  eventually test -e held
  lose
  ends_with 143 "$script"
  children_are_gone
}

@test "--hold: a descendant that ignores TERM is ended with all that it starts later, though the script has ended" {
  export LOCK
  script bash <<'EOF'
zkflock --hold --lease 6 "$LOCK" 2>log
(trap '' TERM; touch stubborn; until [ -e lost ]; do sleep 0.05; done
  sleep 1000 & echo $! >late; wait) &
until [ -e stubborn ]; do sleep 0.05; done
touch held
exec sleep 1000
EOF
  eventually test -e held
  lose
  ends_with 143 "$script"
  touch lost
  eventually test -s late
  eventually gone "$(cat late)"
  eventually contains log "was sent SIGTERM, then killed"
}

@test "--hold: a process with the pid of a script that has ended is left alone" {
  cat >caller <<'EOF'
zkflock --hold --lease 6 "$1" 2>log
# None of them forks any more: that would take the pid that the test waits for.
(trap '' TERM; echo $BASHPID >stubborn; exec sleep 1000) &
echo $$ >caller.pid
exec sleep 1000
EOF
  cat >world <<'EOF'
echo 1000 >/proc/sys/kernel/ns_last_pid
bash caller "$1" &
wait $!
echo "caller: $?"
echo $(($(cat caller.pid) - 1)) >/proc/sys/kernel/ns_last_pid
sh -c 'sleep 1000 & echo $$ $! >next; wait' &
until grep -q "lost .*then killed" log; do sleep 0.05; done
read -r next child <next
[ "$next" -eq "$(cat caller.pid)" ] && kill -0 "$child" && echo alive
kill "$child"
EOF
  setsid unshare -Urpf --mount-proc bash world "$LOCK" >out 3>&- 4>&- &
  world=$!
  eventually test -s caller.pid
  eventually test -s stubborn
  lose
  ends_with 0 "$world"
  assert_equal "$(cat out)" "caller: 143
alive"
}

@test "--hold: --on-lost term waits for all that the script has started, and ends with it" {
  export LOCK
  script bash <<'EOF'
zkflock --hold --lease 4 --on-lost term "$LOCK" 2>log
(
  trap '' TERM
  touch stubborn
  until [ -e lost ]; do sleep 0.05; done
  (
    until [ -e left ]; do sleep 0.05; done
    sleep 1.5
    touch alive
    until [ -e end ]; do sleep 0.05; done
  ) &
  sleep 1.5 # zkflock looks for what is left every 0.5 s
  touch left
) &
until [ -e stubborn ]; do sleep 0.05; done
touch held
exec sleep 1000
EOF
  eventually test -e held
  keeper=$(keeper_of_hold)
  guard=$(children "$keeper" lock-guard)
  lose
  ends_with 143 "$script"
  touch lost
  eventually test -e alive
  refute gone "$keeper"
  eventually in_state "$guard" S # it sleeps between two looks
  touch end
  eventually contains log "process $script was sent SIGTERM"
  eventually gone "$keeper"
}

@test "--hold: a zkflock that uses the lock after the script's end is ended with the keeper" {
  export LOCK
  script bash <<'EOF'
eval "$(zkflock --hold --for $$ --export "$LOCK")"
setsid zkflock "$LOCK" sh -c 'echo $$ >inner; exec sleep 1000' &
until [ -s inner ]; do sleep 0.05; done
EOF
  ends_with 0 "$script"
  is_busy "$LOCK"
  kill -KILL "$(keeper_of_hold)"
  eventually gone "$(cat inner)"
  eventually is_free "$LOCK"
}

@test "--hold: --signal is what the script gets first, and its grace is --kill-after" {
  export LOCK
  script bash <<'EOF'
trap 'sleep 2; echo told >told; exit 9' USR1
zkflock --hold --lease 20 --kill-after 6 --signal USR1 "$LOCK" 2>log
touch held
while :; do sleep 0.05; done
EOF
  eventually test -e held
  lose
  ends_with 9 "$script"
  assert_exist told
  eventually contains log "process $script was sent SIGUSR1"
}

@test "--hold: kill -9 of the keeper ends the script and frees the lock" {
  export LOCK
  script bash <<'EOF'
zkflock --hold "$LOCK"
touch held
exec sleep 1000
EOF
  eventually test -e held
  kill -KILL -- "-$(keeper_of_hold)" # with its process group
  eventually gone "$script"
  ends_with 137 "$script"
  eventually is_free "$LOCK"
}

@test "--hold: kill -9 of a keeper that waits for the lock leaves the script alone" {
  export LOCK
  hold "$LOCK" other
  script bash <<'EOF'
zkflock --hold -v "$LOCK" 2>log
echo $? >status
until [ -e end ]; do sleep 0.05; done
EOF
  eventually contains log "waiting for"
  keeper=$(children "$(keeper_of_hold)" zkflock)
  guard=$(children "$keeper" lock-guard)
  kill -KILL "$keeper"
  eventually gone "$guard"
  eventually test -s status
  assert_equal "$(cat status)" 70
  touch end other
  ends_with 0 "$script"
  ends_with 0 "$holder"
}

@test "--hold: kill -9 of a keeper that has not told the script yet frees the lock" {
  hold "$LOCK" other
  sleep 1000 3>&- 4>&- &
  for=$!
  background -v --hold --for "$for" "$LOCK" 2>log
  front=$!
  eventually contains log "waiting for"
  # The script is told only after the guard watches it.
  keeper=$(children "$front" zkflock)
  guard=$(children "$keeper" lock-guard)
  kill -STOP "$guard"
  touch other
  ends_with 0 "$holder"
  eventually contains log "holding it as"
  before=$(sockets "$keeper")
  kill -KILL "$front"
  eventually has_sockets $((before - 1)) "$keeper" # it knows
  kill -CONT "$guard"
  eventually is_free "$LOCK"
  refute gone "$for"
  kill "$for"
}

@test "--hold: a script that has released the lock is spared when a zkflock that still uses it is ended" {
  export LOCK
  script bash <<'EOF'
eval "$(zkflock --hold --lease 4 --for $$ --export "$LOCK")"
setsid zkflock "$LOCK" sh -c 'echo $$ >inner; exec sleep 1000' &
until [ -s inner ]; do sleep 0.05; done
zkflock --unlock "$LOCK" 2>unlocked
touch told
until [ -e end ]; do sleep 0.05; done
EOF
  eventually test -e told
  kill -KILL "$(keeper_of_hold)"
  eventually gone "$(cat inner)"
  eventually is_free "$LOCK"
  refute gone "$script"
  touch end
  ends_with 0 "$script"
}

@test "--hold: a script that has released the lock, but become a zkflock that uses it, is ended with the lock" {
  export LOCK
  script bash <<'EOF'
eval "$(zkflock --hold --lease 4 --for $$ --export "$LOCK")"
exec zkflock "$LOCK" sh -c 'zkflock --unlock "$LOCK" 2>unlocked; echo $$ >inner; exec sleep 1000'
EOF
  eventually test -s inner
  assert contains unlocked "is used by a zkflock inside this script"
  lose
  eventually gone "$(cat inner)"
  ends_with 143 "$script"
}

@test "--hold --for a process that adopts the keeper: when the lock is lost, that process is ended and the keeper is not" {
  cat >adopter <<'EOF'
import ctypes, os, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) # PR_SET_CHILD_SUBREAPER
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(subprocess.run(["zkflock", "--hold", "--lease", "4", "--for", str(os.getpid()), sys.argv[1]],
                     stderr=open("log", "w")).returncode, file=open("held", "w"), flush=True)
while True:
    time.sleep(1000)
EOF
  setsid python3 adopter "$LOCK" 3>&- 4>&- &
  adopter=$!
  eventually test -s held
  assert_equal "$(cat held)" 0
  lose
  eventually gone "$adopter"
  ends_with 137 "$adopter"
  eventually contains log "process $adopter was sent SIGTERM, then killed"
}

@test "--hold --on-lost warn: an --unlock that comes together with the loss and the end of the script" {
  export LOCK
  script bash <<'EOF'
eval "$(zkflock --hold --for $$ --export -v --on-lost warn "$LOCK" 2>log)"
zkflock "$LOCK" true
touch held
exec sleep 1000
EOF
  eventually test -e held
  keeper=$(keeper_of_hold "$script")
  guard=$(children "$keeper" lock-guard)
  # The guard gets all of that at once, and the keeper what it reports.
  kill -STOP "$guard"
  lose
  eventually contains log "goes on without it"
  zkflock --unlock --for "$script" "$LOCK" 3>&- 4>&- &
  unlock=$!
  sleep 0.5 # the guard that is stopped cannot tell when it has the order
  kill -STOP "$keeper"
  kill -KILL "$script"
  kill -CONT "$guard"
  sleep 0.5
  kill -CONT "$keeper"
  wait "$unlock" || true
  eventually gone "$guard"
  assert lacks log "the keeper was killed"
}
