# --hold and --unlock: a lock for a script that is already running.

load helper
load hold

@test "--hold: the lock is held when it returns, until the script ends" {
  export LOCK
  script sh <<'EOF'
zkflock --hold "$LOCK" && touch held
until [ -e end ]; do sleep 0.05; done
exit 5
EOF
  eventually test -e held
  is_busy "$LOCK"
  touch end
  ends_with 5 "$script"
  eventually is_free "$LOCK"
}

@test "--hold: however the script ends, the lock comes free" {
  export LOCK
  for signal in KILL TERM; do
    rm -f held
    script sh <<'EOF'
zkflock --hold "$LOCK"
touch held
exec sleep 1000
EOF
    eventually test -e held
    is_busy "$LOCK"
    kill -"$signal" "$script"
    eventually is_free "$LOCK"
  done
}

@test "--unlock releases the lock, counted; for a lock that is not held it exits with 1 and a message" {
  export LOCK
  run -0 sh -c 'zkflock --hold "$LOCK"; zkflock --unlock "$LOCK"; zkflock -n "$LOCK" echo free; echo'
  assert_line free
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp "^2 4 0 "
  run -1 zkflock --unlock "$LOCK"
  assert_output "zkflock: $LOCK is not held for this script: there is nothing to unlock"
  run -1 zkflock -u --for $$ "$LOCK"
  assert_output "zkflock: $LOCK is not held for that process: there is nothing to unlock"
}

@test "--unlock -z means the ensemble that the lock was taken in" {
  need_three
  export LOCK ONE THREE
  run -0 sh -c 'zkflock -z "$ONE" --hold "$LOCK"; zkflock -z "$THREE" --hold "$LOCK"
    zkflock -z "$ONE" --unlock "$LOCK"; zkflock -z "$ONE" --unlock "$LOCK"; echo "status $?"
    zkflock --no-reentry -q -n -z "$ONE" "$LOCK" echo free
    zkflock -z "$THREE" --list -q "$LOCK" && echo held'
  assert_line "zkflock: $LOCK is not held for this script at $ONE: there is nothing to unlock"
  assert_line "status 1"
  assert_line free
  assert_line held
}

@test "--hold: the working directory can be removed or unmounted" {
  mkdir mounted
  run -0 unshare -m sh -c 'mount -t tmpfs none mounted &&
    (cd mounted && zkflock --hold --for "$1" "$2") && umount mounted' sh $$ "$LOCK"
  run -0 zkflock --unlock --for $$ "$LOCK"
}

@test "--hold --export: the environment of the lock, in several shells, and re-entry" {
  for shell in bash dash; do
    run -0 "$shell" -c 'eval "$(zkflock --hold --for $$ --export "$1")"
      echo "$ZKFLOCK_LOCK $ZKFLOCK_NODE $ZKFLOCK_TOKEN"
      zkflock -n "$1" sh -c "echo \"\$ZKFLOCK_TOKEN\""
      zkflock --unlock "$1"
      echo end' shell "$LOCK"
    assert_line --index 0 --regexp "^$LOCK $LOCK/_c_[0-9a-f]{32}-lock-[0-9]{10} [0-9]+$"
    assert_equal "${lines[1]}" "${lines[0]##* }"
    assert_line --index 2 end
  done
}

@test "--unlock --export: the shell has its environment back" {
  for shell in bash dash; do
    run -0 "$shell" -c '
      told() { env | grep -E "^ZKFLOCK_(LOCK|NODE|TOKEN|HELD)=" | sort; }
      eval "$(zkflock --hold --for $$ --export "$1/a")"
      told >one
      eval "$(zkflock --hold --for $$ --export "$1/b")"
      eval "$(zkflock --unlock --export "$1/a")"
      zkflock -n "$1/b" echo inside b
      zkflock -n "$1/a" echo anew
      eval "$(zkflock --unlock --export "$1/b")"
      told
      eval "$(zkflock --unlock --export "$1/b" 2>&3)" || echo nothing' "$shell" "$LOCK" 3>&1
    assert_output "inside b
anew
nothing"
    assert_regex "$(cat one)" "ZKFLOCK_HELD=.*ZKFLOCK_LOCK=$LOCK/a"
  done
  run -71 sh -c 'zkflock --hold --for $$ "$1" && exec zkflock --unlock --for $$ --export "$1" >/dev/full' sh "$LOCK"
  assert_output "zkflock: $LOCK was released, but its environment cannot be printed: No space left on device"
}

@test "--unlock --export: what was there before comes back, in whatever order holds end" {
  zk "$ONE" create "$LOCK/root"
  for shell in bash dash; do
    run -0 env ZKFLOCK_SERVERS="$ONE$LOCK/root" ZKFLOCK_TOKEN="5 it's;%" "$shell" -c '
      told() { env | grep -E "^ZKFLOCK_(LOCK|TOKEN|HELD|SERVERS|EXPORTED)=" | sort | sed "s/^/$1 /"; }
      hold() { eval "$(zkflock --hold --for $$ --export "$@")"; }
      back() { eval "$(zkflock --unlock --export "$@")"; }
      told before >first
      hold -z "$2" "$1/a"
      told "" >a
      hold -z "$2$1" /b
      hold -z "$2" "$1/c"
      told "" >c
      back -z "$2$1" /b
      told "" >c.later
      # All messages but the one about b.
      diff c c.later | grep -vE "_(HELD|EXPORTED)=" | grep "^[<>]"
      back -z "$2" "$1/c"
      told "" | diff a -
      # The environment of a command is its own.
      zkflock sh -c "env | grep EXPORTED" 2>/dev/null
      zkflock -z "$2" "$1/d" sh -c "env | grep EXPORTED; told=\$ZKFLOCK_TOKEN
        eval \"\$(zkflock --hold --for \$\$ --export \$0/e)\"; eval \"\$(zkflock --unlock --export \$0/e)\"
        [ \"\$ZKFLOCK_TOKEN\" = \$told ] || echo \"another token\"" "$1"
      back -z "$2" "$1/a"
      told before | diff first -' "$shell" "$LOCK" "$ONE"
    assert_output ""
  done
}

@test "--unlock --export: what the script has set itself meanwhile comes back too" {
  run -0 bash -c 'eval "$(zkflock --hold --for $$ --export "$1/a")"
    export ZKFLOCK_SERVERS=127.0.0.1:1 ZKFLOCK_TOKEN=own
    eval "$(zkflock --hold --for $$ --export -z "$2" "$1/b")"
    eval "$(zkflock --unlock --export -z "$2" "$1/b")"
    echo "$ZKFLOCK_SERVERS $ZKFLOCK_TOKEN"
    zkflock --unlock -z "$2" "$1/a"' bash "$LOCK" "$ONE"
  assert_output "127.0.0.1:1 own"
}

@test "--unlock --export: the script asks the ensemble that it asked before" {
  zk "$ONE" create "$LOCK/root"
  printf '[zkflock]\nservers = %s\n[lock plain]\nservers = %s\npath = %s\n' "$ONE$LOCK/root" "$ONE" "$LOCK/plain" >config
  hold=(env -u ZKFLOCK_SERVERS zkflock --config config)
  "${hold[@]}" other sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' &
  other=$!
  eventually test -e held
  run -1 env -u ZKFLOCK_SERVERS bash -c '
    eval "$(zkflock --config config --hold --for $$ --export plain)"
    eval "$(zkflock --config config --unlock --export plain)"
    zkflock -q --config config -n other touch ran'
  assert_not_exist ran
  touch release
  ends_with 0 "$other"
}

@test "--hold --export: a name with quotes and blanks survives eval" {
  run -0 bash -c 'eval "$(zkflock --hold --for $$ --export "$1")"; echo "$ZKFLOCK_LOCK"; zkflock -u "$1"' bash \
    "$LOCK/it's \$a \`b\` \"c\" d"
  assert_output "$LOCK/it's \$a \`b\` \"c\" d"
}

@test "--hold --export: eval fails where zkflock does, and the script need not go on without the lock" {
  for shell in bash dash; do
    run -69 "$shell" -c 'eval "$(zkflock --hold --for $$ --export -z 127.0.0.1:1 --connect-timeout 0.3 "$1")" || exit; touch ran' \
      sh "$LOCK"
    run -69 "$shell" -ec 'eval "$(zkflock --hold --for $$ --export -z 127.0.0.1:1 --connect-timeout 0.3 "$1")"; touch ran' \
      sh "$LOCK"
    run -64 "$shell" -ec 'eval "$(zkflock --hold --export --for 4194304 "$1")"; touch ran' sh "$LOCK"
    run -64 "$shell" -ec 'eval "$(zkflock --hold --for $$ --export "$1//x")"; touch ran' sh "$LOCK"
    run -64 "$shell" -ec 'eval "$(zkflock --hold --export "$1")"; touch ran' sh "$LOCK"
    run -64 "$shell" -c 'eval "$(zkflock -w 1O --hold --unfiar --export "$1")" || exit; touch ran' sh "$LOCK"
    run -64 "$shell" -c 'eval "$(zkflock --hold --for $$ "$1" --export)" || exit; touch ran' sh "$LOCK"
    run -64 "$shell" -c 'eval "$(zkflock --unfiar --hold "$1" --for $$ --export)" || exit; touch ran' sh "$LOCK"
  done
  run -64 --separate-stderr zkflock --unfiar "$LOCK" ./command --export
  assert_output ""
  hold "$LOCK" release
  run -1 bash -ec 'source <(zkflock --hold --for $$ --export -n "$1"); touch ran' bash "$LOCK"
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "terminal: --hold: a script that traps Ctrl-C does not go on without the lock" {
  cat >script <<'EOF'
trap 'echo trapped' INT
held=$(zkflock --hold --for $$ --export -v "$1") || exit
eval "$held"
touch ran
EOF
  hold "$LOCK" release
  for shell in bash dash; do
    terminal "send=$shell script $LOCK; echo status \$?\n" 'expect=waiting for' key=c expect=trapped 'expect=status 130'
  done
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "--hold: never ends with 0 without the lock, whatever -E is for commands" {
  mkdir -p xdg/zkflock
  printf '%s\n' "[zkflock]" "conflict-exit-code = 0" >xdg/zkflock/config
  hold "$LOCK" release
  run -0 zkflock -n "$LOCK" touch ran
  run -1 zkflock --hold --for $$ -n "$LOCK"
  run -1 bash -c 'held=$(zkflock --hold --for $$ --export -n "$1") || exit; eval "$held"; touch ran' bash "$LOCK"
  run -1 bash -ec 'eval "$(zkflock --hold --for $$ --export -w 0.1 "$1")"; touch ran' bash "$LOCK"
  run -5 zkflock --hold --for $$ -n -E 5 "$LOCK"
  run -64 zkflock --hold --for $$ -n -E 0 "$LOCK"
  assert_output "zkflock: -E 0 does not go with --hold: 0 means that the lock is held"
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "--hold --export: an environment that cannot be printed is a failure, and the lock is given back" {
  run -71 bash -c 'zkflock --hold --export --for $1 "$2" 2>log >/dev/full' bash $$ "$LOCK"
  assert_equal "$(cat log)" \
    "zkflock: cannot print the environment of $LOCK: No space left on device; it is released"
  eventually is_free "$LOCK"
}

@test "--hold --export: where nobody reads the environment the lock is given back too" {
  run -0 timeout 30 /usr/bin/python3 - "$LOCK" <<'PYTHON'
import fcntl, os, subprocess, sys
r, w = os.pipe()
os.write(w, b"x" * fcntl.fcntl(w, fcntl.F_GETPIPE_SZ))
hold = subprocess.run(["zkflock", "--hold", "--for", str(os.getpid()), "--export", sys.argv[1]],
                      stdout=w, stderr=subprocess.PIPE, text=True, timeout=20)
print(hold.returncode, hold.stderr)
print(subprocess.run(["zkflock", "-w", "5", sys.argv[1], "echo", "free"],
                     capture_output=True, text=True, timeout=20).stdout)
PYTHON
  assert_line "71 zkflock: cannot print the environment of $LOCK: nobody reads it; it is released"
  assert_line free
}

@test "--hold --export where the shell runs it in a subshell of its own" {
  run -0 bash -c 'eval "$(zkflock --hold --for $$ --export "$1" || echo false)"; zkflock -n "$1" echo inside
    env -u ZKFLOCK_HELD -u ZKFLOCK_NODE zkflock -n "$1" true || echo busy; zkflock -u "$1"' bash "$LOCK"
  assert_line inside
  assert_line busy
}

@test "--hold: several at once, given back one by one" {
  run -0 bash -c 'zkflock --hold "$1/a"; zkflock --hold "$1/b"
    zkflock -u "$1/a"; zkflock -n "$1/a" echo a is free; zkflock -q -n "$1/b" true || echo b is not
    zkflock -u "$1/b"; zkflock -n "$1/b" echo b is free' bash "$LOCK"
  assert_line "a is free"
  assert_line "b is not"
  assert_line "b is free"
}

@test "--hold --with: --unlock of another lock of the set releases nothing and says why" {
  run -0 bash -c 'zkflock --hold --with "$1/b" "$1/a"; zkflock -u "$1/b"; echo $?
    zkflock -n --no-reentry "$1/b" true || echo held; zkflock -u "$1/a"; zkflock -n "$1/b" echo free' bash "$LOCK"
  assert_line --index 0 "zkflock: $LOCK/b is held for this script as --with of another lock: --unlock that one, and all are released"
  assert_line --index 1 1
  assert_line held
  assert_line --index 4 free
}

@test "--unlock: a keeper that is stopped is not waited for for ever" {
  export LOCK
  script bash <<'EOF'
zkflock --hold --on-lost warn "$LOCK"
touch held
exec sleep 1000
EOF
  eventually test -e held
  local keeper
  keeper=$(keeper_of_hold)
  kill -STOP "$keeper"
  run -69 timeout 60 zkflock --unlock --for "$script" "$LOCK"
  assert_output "zkflock: the zkflock that holds a lock for that process does not answer; it may hold $LOCK"
  kill -CONT "$keeper"
  kill "$script"
  eventually gone "$keeper"
}

@test "--hold: of nested holds of one lock, the last one is released first" {
  run -0 bash -c 'eval "$(zkflock --hold --for $$ --export "$1")"; eval "$(zkflock --hold --for $$ --export "$1")"
    zkflock -u "$1"; env -u ZKFLOCK_HELD -u ZKFLOCK_NODE zkflock -q -n "$1" true || echo held
    zkflock -u "$1"; env -u ZKFLOCK_HELD -u ZKFLOCK_NODE zkflock -n "$1" echo free
    zkflock -u "$1" || echo no more' bash "$LOCK"
  assert_line held
  assert_line free
  assert_line "no more"
}

@test "--unlock releases the last hold of a lock, whatever else was released before" {
  run -0 bash -c 'eval "$(zkflock --hold --for $$ --export "$1/a")"; eval "$(zkflock --hold --for $$ --export "$1/b")"
    zkflock -u "$1/a"; eval "$(zkflock --hold --for $$ --export "$1/b")"; zkflock -u "$1/b"
    env -u ZKFLOCK_HELD -u ZKFLOCK_NODE zkflock -q -n "$1/b" true || echo held
    zkflock -u "$1/b"; zkflock -n "$1/b" echo free' bash "$LOCK"
  assert_line --index 1 held
  assert_line --index 2 free
}

@test "--unlock while a zkflock inside uses the lock: a message, and the lock is released when that one ends" {
  # From inside the hold, too, where --unlock would wait for itself.
  run -0 timeout 20 bash -c 'eval "$(zkflock --hold --for $$ --export "$1")"
    zkflock "$1" sh -c "zkflock -u \"\$1\"; touch told; until [ -e end ]; do sleep 0.05; done" sh "$1" &
    until [ -e told ]; do sleep 0.05; done
    zkflock -u "$1" || echo "nothing more: $?"
    unset ZKFLOCK_HELD ZKFLOCK_NODE; zkflock -q -n "$1" true || echo "still held: $?"
    touch end; wait; zkflock -w 10 "$1" echo free' bash "$LOCK"
  assert_output "zkflock: $LOCK is used by a zkflock inside this script, and released when that has ended
zkflock: $LOCK is not held for this script: there is nothing to unlock
nothing more: 1
still held: 1
free"
}

@test "--unlock and --hold ignore processes of other containers with the same pid" {
  # Two pid namespaces, each with a process 1, and one network.
  cat >one <<'EOF'
zkflock --hold "$1" && touch held
until [ -e end ]; do sleep 0.05; done
zkflock -u "$1" # with this process the whole container is killed
EOF
  cat >other <<'EOF'
until [ -e held ]; do sleep 0.05; done
zkflock -u "$1" || echo "not ours: $?"
zkflock -n "$1" true || echo "busy: $?"
touch end
EOF
  run -0 timeout 60 unshare -Ur bash -c 'for script in one other; do
    unshare -pf --mount-proc sh -c "bash \$0 \$1; :" "$script" "$1" &
  done; wait' bash "$LOCK"
  assert_line "not ours: 1"
  assert_line "busy: 1"
}

@test "--hold refuses process 1, which adopts orphans" {
  # Named, the caller in a container, a service of systemd, and one that it has adopted; where a fault
  # of this kind would harm nobody else.
  cat >first <<'EOF'
zkflock --hold --for 1 "$1" 2>log
echo "named: $?" >>log
zkflock --hold "$1" 2>>log
echo "script: $?" >>log
setsid -w zkflock --hold "$1" 2>>log
echo "service: $?" >>log
(sh adopted "$1" &)
until grep -q "adopted: " log; do sleep 0.05; done
EOF
  cat >adopted <<'EOF'
until [ "$(ps -o ppid= -p $$ | tr -d ' ')" = 1 ]; do sleep 0.05; done
echo "adopted: " >>log
exec zkflock --hold "$1" 2>>log
EOF
  run -0 timeout 20 unshare -Urpf --mount-proc bash first "$LOCK"
  assert_equal "$(head -n 2 log)" "zkflock: --hold: process 1 adopts whatever loses its parent, and all of that would be ended if the lock were lost; zkflock LOCK COMMAND holds it for a command
named: 64"
  assert grep -qx "script: 64" log
  assert grep -qx "service: 64" log
  is_free "$LOCK"
}

@test "--hold refuses another process that adopts orphans and may have adopted zkflock" {
  cat >adopter <<'EOF'
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
what, lock = sys.argv[1:]
def adopted():
    try:
        return os.waitstatus_to_exitcode(os.wait()[1])
    except ChildProcessError:
        return None
if what == "child":
    print(subprocess.run(["zkflock", "--hold", lock]).returncode)
else:
    # All in the session and the process group of this one.
    subprocess.run(["sh", "-c", "sh adopted $PPID $0 &", lock])
    print(max(status for status in iter(adopted, None)))
EOF
  cat >adopted <<'EOF'
until [ "$(ps -o ppid= -p $$ | tr -d ' ')" = "$1" ]; do sleep 0.05; done
exec zkflock --hold "$2"
EOF
  for what in child orphan; do
    run -0 timeout 20 python3 adopter "$what" "$LOCK"
    assert_line --index 0 'zkflock: --hold: cannot tell which process called zkflock; name it with --for PID, in a script --for $$'
    assert_line --index 1 64
  done
  is_free "$LOCK"
}

@test "--hold accepts a caller in another session, as it is certain all the same" {
  run -0 setsid -w bash -c 'setsid -w zkflock --hold "$1"; zkflock -q -n "$1" true || echo busy' bash "$LOCK"
  assert_line busy
  eventually is_free "$LOCK"
}

@test "--hold refuses a subshell, which may end at once, unless --for names it" {
  for shell in bash dash; do
    run -0 "$shell" -c '(zkflock --hold "$1"; echo $?); { zkflock --hold "$1"; echo $?; } | cat
      x=$(zkflock --hold "$1" || echo $?); echo "$x"' "$shell" "$LOCK"
    assert_equal "$(grep -cx 64 <<<"$output")" 3
    assert_equal "$(grep -c '^zkflock: --hold: process [0-9]*, which has called zkflock, is a subshell, and may end at once; name the process' <<<"$output")" 3
  done
  run -0 bash -c '(zkflock --hold --for $BASHPID "$1"; zkflock -q -n "$1" true || echo busy; :)
    zkflock -w 10 "$1" echo free' bash "$LOCK"
  assert_line busy
  assert_line free
}

@test "--hold --for: another process, whose end releases the lock" {
  setsid sleep 1000 3>&- 4>&- &
  other=$!
  run -0 zkflock --hold --for "$other" "$LOCK"
  is_busy "$LOCK"
  run -0 zkflock --unlock --for "$other" "$LOCK"
  is_free "$LOCK"
  run -0 zkflock --hold --for "$other" "$LOCK"
  kill -KILL "$other"
  eventually is_free "$LOCK"
}

@test "--hold: a process that ends while the lock is waited for leaves the queue" {
  hold "$LOCK" release
  setsid sleep 1000 3>&- 4>&- &
  other=$!
  wait_in_line log --hold --for "$other" "$LOCK"
  kill -KILL "$other"
  eventually contains log "process $other, which $LOCK was to be held for, has ended"
  ends_with 64 "$waiter"
  zk "$ONE" await-count "$LOCK" 1
  touch release
  ends_with 0 "$holder"
}

@test "--hold: a process that ends when the lock is held, but before it is told, does not have it" {
  hold "$LOCK" release
  setsid sleep 1000 3>&- 4>&- &
  script=$!
  wait_in_line log --hold --for "$script" "$LOCK"
  guard=$(other_guard "$holder")
  keeper=$(ps -o ppid= -p "$guard" | tr -d ' ')
  kill -STOP "$guard"
  touch release
  ends_with 0 "$holder"
  eventually offers "$script"
  kill -STOP "$keeper"
  kill -KILL "$script"
  kill -CONT "$guard"
  eventually in_state "$guard" S # with both told: that it has begun, and that the process has ended
  kill -CONT "$keeper"
  ends_with 64 "$waiter"
  assert contains log "process $script, which $LOCK was to be held for, has ended"
  nothing_left_of "$LOCK"
}

@test "--hold: a script without the environment of --export is refused instead of waiting for itself" {
  run -64 bash -c 'zkflock --hold "$1"; zkflock "$1" touch ran' bash "$LOCK"
  assert_output --regexp "^zkflock: $LOCK is held for process [0-9]+, which this one is part of, and this one would wait for itself; "
  assert_not_exist ran
  # The advice in the message works.
  advice=$(sed -n 's/.*take its environment there, \(held=.*"\), to use.*/\1/p' <<<"$output")
  run -0 bash -c "${advice/LOCK/$LOCK}"' || exit; zkflock "$1" touch ran' bash "$LOCK"
  assert_exist ran
}

@test "--hold: the same for --with, and for a semaphore whose permits are all held by the script" {
  run -64 timeout 10 bash -c 'zkflock --hold "$1/a"; zkflock --with "$1/a" "$1/b" touch ran' bash "$LOCK"
  assert_output --regexp "^zkflock: $LOCK/a is held for process [0-9]+, which this one is part of, and "
  run -64 timeout 10 bash -c 'for i in 1 2; do zkflock --hold --permits 2 "$1/p"; done
    zkflock --permits 2 "$1/p" touch ran' bash "$LOCK"
  assert_output --regexp "^zkflock: $LOCK/p is held for process [0-9]+, which this one is part of, and "
  assert_not_exist ran
  # Somebody else holds the other lock and releases it.
  background --permits 2 "$LOCK/q" sh -c 'touch taken; until [ -e end ]; do sleep 0.05; done'
  eventually test -e taken
  run -0 timeout 20 bash -c 'zkflock --hold --permits 2 "$1/q"; zkflock -v --permits 2 "$1/q" echo got it 2>log &
    until grep -qs "waiting for" log; do sleep 0.05; done; touch end; wait' bash "$LOCK"
  assert_output "got it"
}

@test "--hold: the caller does not wait for the keeper in the background" {
  run -0 timeout 10 bash -c 'x=$(zkflock --hold --for $$ "$1" 2>&1); echo "($x)"; zkflock -u "$1"' bash "$LOCK"
  assert_output "()"
  # It keeps no other descriptor of the caller's, either.
  zkflock --hold --for $$ "$LOCK" 7>kept
  run -0 ls -l "/proc/$(keeper_of_hold)/fd"
  refute_output --partial kept
  zkflock -u --for $$ "$LOCK"
}

@test "--hold: a reader of its messages does not wait for the keeper in the background" {
  cat >collect <<'EOF'
import os, socket, subprocess, sys
lock = sys.argv[1]
def held():
    return subprocess.run(["zkflock", "--list", "-q", lock]).returncode == 0
done = subprocess.run(["zkflock", "--hold", "-v", lock], capture_output=True)
print(done.returncode, b"holding it as" in done.stderr, held())
subprocess.run(["zkflock", "-u", lock])
def tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return socket.create_connection(server.getsockname()), server.accept()[0]
for ours, theirs in socket.socketpair(), tcp_pair():
    subprocess.run(["zkflock", "--hold", "-v", lock], stderr=theirs)
    theirs.close()
    print(b"holding it as" in b"".join(iter(lambda: ours.recv(4096), b"")), held())
    subprocess.run(["zkflock", "-u", lock])
EOF
  run -0 timeout 20 python3 collect "$LOCK"
  assert_output "0 True True
True True
True True"
  for shell in bash dash; do
    run -0 timeout 20 "$shell" -c 'x=$(zkflock --hold --for $$ -v "$1" 2>&1 >/dev/null); zkflock --list -q "$1"; echo $?
      y=$(zkflock --hold --for $$ "$1/b" 2>&1 >/dev/null || exit); zkflock --list -q "$1/b"; echo $?
      zkflock -u "$1"; zkflock -u "$1/b"' "$shell" "$LOCK"
    assert_output "0
0"
  done
}

@test "--unlock of a lock that cannot be released: 69 and a message" {
  open_proxy
  zkflock --hold -z "$VIA" --for $$ --session-timeout 4 "$LOCK" 2>log
  kill -STOP "$proxy_pid"
  run -69 timeout 20 zkflock -u --for $$ "$LOCK"
  assert_output "zkflock: no answer from the ensemble: $LOCK could not be released; it is held for that process no more, and comes free when the session expires"
  close_proxy
  zk "$ONE" await-count "$LOCK" 0
}

@test "--hold keeps no descriptor of the caller, also where close_range(2) is refused" {
  setsid sleep 1000 3>&- 4>&- &
  local other=$! strace
  touch open
  strace -f -qq -o trace -e trace=close_range -e inject=close_range:error=EPERM \
    zkflock --hold --for "$other" "$LOCK" 9<open 3>&- 4>&- &
  strace=$!
  eventually is_busy "$LOCK"
  lacks_file() { ! find /proc/[0-9]*/fd -lname "$PWD/open" 2>/dev/null | grep -v "^/proc/$strace/" | grep -q .; }
  eventually lacks_file
  assert grep -q INJECTED trace
  kill "$other"
  wait "$strace"
}

@test "--hold for a process of a user with hundreds of groups" {
  local groups
  groups=$(seq -s, 1000000001 1000000500)
  echo 'zkflock --hold "$1" && zkflock --unlock "$1"; zkflock -n "$1" true' >script
  setpriv --groups "$groups" true || groups= # not root
  run -0 ${groups:+setpriv --groups "$groups"} bash script "$LOCK"
}

@test "--hold keeps no descriptor of zkflocks inside that have ended" {
  eval "$(zkflock --hold --for $$ --export "$LOCK")"
  keeper=$(keeper_of_hold)
  descriptors() { find "/proc/$keeper/fd" "/proc/$(children "$keeper" lock-guard)/fd" -type l | wc -l; }
  zkflock "$LOCK" true
  before=$(descriptors)
  for _ in {1..10}; do zkflock "$LOCK" true; done
  zkflock "$LOCK" true
  assert [ "$(descriptors)" -le "$((before + 2))" ]
  zkflock -u --for $$ "$LOCK"
}

@test "--hold reports busy, unreachable and interrupted as any run does, and leaves nothing" {
  hold "$LOCK" release
  run -1 zkflock --hold --for $$ -n "$LOCK"
  assert_output --partial "zkflock: $LOCK is busy: 1 ahead, "
  wait_in_line log --hold --for $$ "$LOCK"
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  touch release
  ends_with 0 "$holder"
  run -69 zkflock --hold --for $$ -z 127.0.0.1:1 --connect-timeout 0.3 "$LOCK"
}

is_told() { [ "$(grep -cF "$2" log)" -eq "$1" ]; } # is_told TIMES TEXT

@test "--hold: TERM to the keeper, as when a whole job gets it, leaves the script its lock" {
  export LOCK
  script bash <<'EOF'
zkflock -v --hold "$LOCK" 2>log
touch held
until [ -e end ]; do sleep 0.05; done
EOF
  eventually test -e held
  # shellcheck disable=SC2046 # pids
  keeper=$(ps -o pid=,comm= -p $(marked_processes) | awk '$2 == "zkflock" { print $1 }')
  for signal in TERM HUP USR1; do
    kill -"$signal" "$keeper"
  done
  eventually is_told 3 "$LOCK is held until process $script ends; --unlock releases it"
  is_busy "$LOCK"
  touch end
  ends_with 0 "$script"
  eventually is_free "$LOCK"
}

@test "--hold: shared locks and permits" {
  run -0 bash -c 'zkflock --hold -s "$1/l"; zkflock --hold -s "$1/l"; env -u ZKFLOCK_NODE zkflock -n -s "$1/l" echo reader
    zkflock --hold --permits 2 "$1/p"; zkflock -n --permits 2 "$1/p" echo permit' bash "$LOCK"
  assert_line reader
  assert_line permit
}

@test "--hold and --unlock: bad use" {
  setsid sh -c 'true & echo $! >zombie; exec sleep 1000' 3>&- 4>&- &
  parent=$!
  eventually test -s zombie
  eventually gone "$(cat zombie)"
  refuses 64 "--hold takes no COMMAND: leave 'touch' out" --hold "$LOCK" touch ran
  refuses 64 "--unlock takes no COMMAND: leave 'touch' out" -u "$LOCK" touch ran
  refuses 64 "--hold and --unlock do not go together: give one of them" --hold -u "$LOCK"
  refuses 64 "--export goes with --hold and --unlock alone" --export "$LOCK" touch ran
  for action in --unlock --revoke --break --remove; do
    refuses 64 "--with does not go with $action: give that LOCK a call of its own" "$action" --with b "$LOCK"
  done
  refuses 64 "--for goes with --hold and --unlock alone" --for 1 "$LOCK" touch ran
  refuses 64 "--for takes the number of a process, not 'me'" --hold --for me "$LOCK"
  refuses 64 "--hold: there is no process 4194304 to hold a lock for" --hold --for 4194304 "$LOCK"
  refuses 64 "--hold: there is no process $(cat zombie) to hold a lock for" --hold --for "$(cat zombie)" "$LOCK"
  kill "$parent"
  run -64 sh -c 'echo $$; exec zkflock --hold --for $$ "$1"' sh "$LOCK"
  assert_line --index 1 "zkflock: --hold: process ${lines[0]} is this zkflock itself, which ends when the lock is held"
  refuses 64 "--tree does not go with --hold: there is no command" --hold --tree "$LOCK"
  refuses 64 "no LOCK given: zkflock --hold LOCK" --hold
}

@test "--hold: what runs the hooks has /dev/null open nowhere but as stdin and output" {
  export LOCK
  script sh <<<'zkflock --hold --hook true "$LOCK"; touch ready; until [ -e release ]; do sleep 0.05; done'
  eventually test -e ready
  run -0 find "/proc/$(children "$(keeper_of_hold)" lock-hook)/fd" -lname /dev/null -name '[3-9]*'
  assert_output ""
  touch release
  ends_with 0 "$script"
}

@test "--hold for another user's process, which zkflock could not end, is refused" {
  local theirs=$$ as=(setpriv --reuid 65534 --clear-groups)
  if [ "$(id -u)" -ne 0 ]; then
    theirs=$(pgrep -vu "$(id -u)" . | grep -vx 1 | head -n 1)
    as=()
  fi
  chmod 755 .
  cp "$(command -v zkflock)" copy
  run -77 "${as[@]}" ./copy --hold --for "$theirs" "$LOCK"
  assert_output "zkflock: --hold: process $theirs is another user's, and could not be ended if the lock were lost"
}
