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

# kill_with_keeper GUARD: kills both at once: neither sees the other one die.  The guard is first: the
# end of its parent would continue it.
kill_with_keeper() {
  local keeper
  keeper=$(ps -o ppid= -p "$1" | tr -d ' ')
  kill -STOP "$keeper" "$1"
  kill -KILL "$1" "$keeper"
  eventually gone "$keeper"
}

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
  assert contains log "what still runs under the lock is sent SIGTERM"
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

@test "outside: of three holds for one script that use a lock, two are given back, and the script is ended with the lock" {
  outer
  elsewhere sh -c "for _ in 1 2 3; do zkflock --hold --for \$\$ '$LOCK' || exit; done; $stubborn"
  eventually test -s in
  for _ in 1 2; do run -0 zkflock --unlock --for "$(cat in)" "$LOCK"; done
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
  # The one in the middle cannot end it any more.
  kill -STOP "$middle"
  kill -KILL "$(children "$middle" lock-guard)" "$outer"
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

@test "outside: a zkflock inside is killed with its guard: the lock is held until the process that it used it for has ended" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log
  outer=$!
  eventually test -s held
  elsewhere zkflock -F "$LOCK" sh -c "$stubborn"
  eventually test -s in
  kill_with_keeper "$(other_guard "$outer")"
  touch end
  run -1 zkflock -q -w 1 "$LOCK" touch ran
  refute gone "$(cat in)"
  assert_not_exist ran
  kill -KILL "$(cat in)"
  ends_with 0 "$outer"
}

@test "outside: a zkflock inside is killed with its guard: the process that it used the lock for is ended with the lock" {
  outer
  elsewhere zkflock -F "$LOCK" sh -c "$stubborn"
  eventually test -s in
  kill_with_keeper "$(other_guard "$outer")"
  lose
  ends_with 75 "$outer"
  assert gone "$(cat in)"
}

@test "outside: what a script has started lives on when the script has given its hold back, though it was asked for the lock" {
  cat >giver <<END
zkflock --hold --for \$\$ "$LOCK"
trap 'zkflock --unlock --for \$\$ "$LOCK" && touch back' TERM
sh -c 'trap "" TERM; echo \$\$ >child; while :; do sleep 0.05; done' &
echo \$\$ >giver.pid
while :; do sleep 0.05; done
END
  script sh <<END
exec 2>log
eval "\$(zkflock --hold --for \$\$ -v --export "$LOCK")"
setsid zkflock "$LOCK" sh -c 'trap "" TERM; echo \$\$ >user; while :; do sleep 0.05; done' &
setsid sh giver &
until [ -s user ] && [ -s child ]; do sleep 0.05; done
END
  ends_with 0 "$script"
  zkflock --revoke --yes -n "$LOCK"
  eventually test -e back
  run -0 zkflock --break --yes "$LOCK"
  eventually gone "$(cat user)"
  refute gone "$(cat child)"
  refute gone "$(cat giver.pid)"
  kill -KILL "$(cat giver.pid)" "$(cat child)"
}

@test "outside: without a descriptor for the process that it asks for, a zkflock is not let in" {
  outer
  # Two numbers are left: for its connection, and then none for that process.
  used=$(find "/proc/$outer/fd" -type l | wc -l)
  prlimit --pid "$outer" --nofile=$((used + 1)):1024
  elsewhere zkflock -F "$LOCK" touch ran 2>inner.log
  inner=$!
  ends_with 71 "$inner"
  assert contains inner.log "cannot let another one in"
  assert_not_exist ran
  prlimit --pid "$outer" --nofile=1024:1024
  kill -TERM "$outer"
  ends_with 143 "$outer"
}

@test "outside: a peer that sends two descriptors is refused, and none stays open" {
  outer
  cat >peer <<'END'
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\0zkflock-" + sys.argv[1])
pidfd = os.pidfd_open(os.getpid())
text = f"enter 0 0\n{sys.argv[2]}\n{os.environ['ZKFLOCK_SERVERS']}".encode()
for _ in range(50):
    s.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("ii", pidfd, pidfd))])
    print(s.recv(1000).split()[0].decode())
END
  before=$(find "/proc/$outer/fd" -type l | wc -l)
  run -0 /usr/bin/python3 peer "$(cat held)" "$LOCK"
  assert_equal "$(printf '%s\n' "${lines[@]}" | sort -u)" full
  eventually open_files "$before" "$outer"
  kill -TERM "$outer"
  ends_with 143 "$outer"
}

open_files() { [ "$(find "/proc/$2/fd" -type l | wc -l)" -eq "$1" ]; } # open_files N PID

@test "outside: a hold for a process of the zkflock that holds the lock is refused" {
  run -0 timeout 30 zkflock "$LOCK" sh -c 'zkflock --hold --for $PPID "$1"; echo $?' sh "$LOCK"
  assert_line --index 1 64
  assert_line --index 0 --partial "is around both, or a part of that one"
  script bash <<END
eval "\$(zkflock --hold --for \$\$ --export "$LOCK")"
zkflock --hold --for \$(pgrep -f "^zkflock --hold --for \$\$ --export $LOCK\$" | head -n 1) "$LOCK" 2>log
echo \$? >status
END
  ends_with 0 "$script"
  assert_equal "$(cat status)" 64
  eventually is_free "$LOCK"
}

@test "outside: TERM to the keeper of a script that is over reaches who still uses its lock" {
  script sh <<END
eval "\$(zkflock --hold --for \$\$ --export "$LOCK")"
setsid zkflock "$LOCK" sh -c 'echo \$\$ >in; exec sleep 1000' &
until [ -s in ]; do sleep 0.05; done
END
  ends_with 0 "$script"
  kill -TERM "$(keeper_for "$script")"
  eventually gone "$(cat in)"
  eventually is_free "$LOCK"
}

# sends_along PID N: another user connects N times to the zkflock with that guard, and sends along, each
# time, a TCP connection whose close(2) waits for its reader, who never reads; its pid in $foreign.
sends_along() {
  cat >foreign.py <<'END'
import re, socket, struct, sys, time
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
name = re.search(f"@(zkflock-run-[0-9a-f]*-{sys.argv[1]}-.*)", open("/proc/net/unix").read())[1]
peers, readers = [], []
for _ in range(int(sys.argv[2])):
    sender = socket.socket()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    sender.connect(listener.getsockname())
    readers.append(listener.accept())
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(65536))
    except BlockingIOError:
        pass
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.connect("\0" + name)
    peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", sender.fileno()))])
    peers.append(peer)
    sender.close()
print("sent", flush=True)
for peer in peers:
    try:
        while peer.recv(4096):
            pass
    except ConnectionResetError:
        pass
print("hung up", flush=True)
time.sleep(1000)
END
  setsid setpriv --reuid 65534 --clear-groups /usr/bin/python3 - "$@" <foreign.py >sent 3>&- 4>&- &
  foreign=$!
  eventually test -s sent
}

# ends_in_spite_of_foreign: the command of the outer zkflock may end, and so does that one.
ends_in_spite_of_foreign() {
  touch end
  ends_with 0 "$outer"
  kill -KILL "$foreign"
  refute grep "stood still" log
}

# The zkflock is stopped meanwhile: it shall close them only when it has the last copies.
@test "outside: another user cannot make a zkflock stand still by what it sends along with a connection" {
  background -v "$LOCK" sh -c 'touch ready; until [ -e end ]; do sleep 0.05; done' 2>log
  outer=$!
  eventually test -e ready
  kill -STOP "$outer"
  sends_along "$(children "$outer" lock-guard)" 10
  kill -CONT "$outer"
  eventually grep -q "hung up" sent
  ends_in_spite_of_foreign
}

@test "outside: another user cannot make a zkflock stand still by connections that it has not accepted when it ends" {
  background -v "$LOCK" sh -c 'echo $$ >ready; until [ -e end ]; do sleep 0.05; done' 2>log
  outer=$!
  eventually test -s ready
  kill -STOP "$outer"
  sends_along "$(children "$outer" lock-guard)" 64
  touch end
  eventually gone "$(cat ready)"
  kill -CONT "$outer"
  ends_in_spite_of_foreign
}

@test "outside: another user cannot take the lock of a zkflock that can start no process" {
  without_leak_search
  chmod 777 .
  setsid setpriv --reuid 65533 --clear-groups zkflock -v --lease 4 "$LOCK" \
    sh -c 'touch ready; until [ -e end ]; do sleep 0.05; done' 2>log 3>&- 4>&- &
  outer=$!
  eventually test -e ready
  kill -STOP "$outer"
  setpriv --reuid 65533 --clear-groups prlimit --pid "$outer" --nproc=0:0
  before=$(sockets "$outer")
  # It takes 16 in a turn, and then none before it has closed these.
  sends_along "$(children "$outer" lock-guard)" 20
  kill -CONT "$outer"
  eventually has_sockets $((before + 16)) "$outer"
  ends_in_spite_of_foreign
}

@test "outside: a process that uses the locks of two zkflocks is left behind and ends: both go on" {
  outer
  background "$LOCK.b" sh -c 'echo "$ZKFLOCK_HELD" >held.new; mv held.new held.b; exec sleep 1000'
  second=$!
  eventually test -s held.b
  cat held.b >>held
  paste -sd' ' held >held.both
  mv held.both held
  elsewhere sh -c "zkflock --hold --for \$\$ --with '$LOCK.b' '$LOCK' && $stubborn"
  eventually test -s in
  for pid in $(other_guard "$outer"); do
    keeper=$(ps -o ppid= -p "$pid" | tr -d ' ')
    [ "$keeper" = "$second" ] || guard=$pid
  done
  kill_with_keeper "$guard"
  # Both know of the process by one and the same descriptor, which the second one keeps open.
  kill -STOP "$second"
  kill -KILL "$(cat in)"
  eventually gone "$(cat in)"
  ZKFLOCK_HELD=$(cat held) run -0 zkflock "$LOCK" echo inside
  assert_output inside
  kill -CONT "$second"
  kill -TERM "$second" "$outer"
  ends_with 143 "$second"
  ends_with 143 "$outer"
}

# ends_callers_of_holds [OPTION]...: for a zkflock with these.  $holds: how many; $guard_by is called
# before with the guard of each; $inner is the zkflock inside.
ends_callers_of_holds() {
  local lock=$LOCK.${guard_by-}$# callers=() caller outer guard
  rm -f held
  while [ ${#callers[@]} -lt "${holds-6}" ]; do
    setsid sleep 1000 3>&- 4>&- &
    callers+=($!)
  done
  inner=${inner-zkflock} background --lease 5 "$@" "$lock" bash -c 'for caller in "${@:2}"; do
      "$inner" --lease 5 --hold --for "$caller" "$1.$caller" || exit
    done; touch held; exec sleep 1000' bash "$lock" "${callers[@]}" 2>log
  outer=$!
  eventually test -e held
  for guard in $(other_guard "$outer"); do
    ${guard_by-:} "$guard"
  done
  zkflock --break --yes "$lock"
  ends_with 75 "$outer"
  for caller in "${callers[@]}"; do
    eventually gone "$caller"
    ends_with 137 "$caller"
    zk "$ONE" await-count "$lock.$caller" 0
  done
}

# The keepers of the holds are a part of what is ended with the lock.
@test "outside: the lock around is lost: holds inside it for processes elsewhere end these" {
  ends_callers_of_holds
  ends_callers_of_holds --signal KILL
}

@test "outside: the lock around is lost while the guards of holds inside it get no time: their callers end" {
  holds=2 guard_by=delay ends_callers_of_holds
  # It is no matter if the zkflock inside is a newer one.
  cp "$(command -v zkflock)" newer
  holds=2 guard_by=delay inner=./newer ends_callers_of_holds --signal KILL
}

@test "outside: a zkflock is killed while a guard inside it is stopped: that one is continued, and ends its own tree" {
  background --session-timeout 1 "$LOCK" zkflock --session-timeout 1 "$LOCK.b" \
    sh -c 'echo $PPID >guard; echo "$ZKFLOCK_HELD" >held.new; mv held.new held; exec sleep 1000'
  outer=$!
  eventually test -s held
  elsewhere zkflock -F "$LOCK.b" sh -c "$stubborn"
  eventually test -s in
  kill -STOP "$(cat guard)"
  kill -KILL "$outer"
  # It would be killed after 10 s.
  PATIENCE=5 eventually gone "$(cat guard)"
  eventually gone "$(cat in)"
  zk "$ONE" await-count "$LOCK.b" 0
}

# The guards of the holds, and the one around them, know each other through the script.
@test "outside: holds for a script that their zkflock descends from: one ends, and no guard waits for another" {
  local state guards
  cat >script <<'END'
trap "" TERM
zkflock --session-timeout 1 --lease 4 "$1" sh -c 'echo $PPID >guard
  for lock in b c; do zkflock --hold --for "$0" --session-timeout 1 --lease 4 --signal KILL "$1.$lock" || exit; done
  echo >held; while :; do sleep 0.05; done' $$ "$1"
while :; do sleep 0.05; done
END
  for state in CONT STOP; do
    rm -f held
    setsid sh script "$LOCK" 3>&- 4>&- &
    script=$!
    eventually test -s held
    guards=$(other_guard 0)
    kill -"$state" "$(cat guard)"
    run -0 zkflock --break --yes "$LOCK.b"
    # Else they would be killed after 10 s.
    for guard in $guards; do PATIENCE=5 eventually gone "$guard"; done
    assert gone "$script"
    for lock in "$LOCK" "$LOCK.b" "$LOCK.c"; do zk "$ONE" await-count "$lock" 0; done
  done
}

@test "outside: a --signal that would end a guard inside does not: it ends its own tree at once" {
  background --lease 120 --kill-after 40 --signal ABRT "$LOCK" zkflock "$LOCK.b" \
    sh -c 'trap "" ABRT; sleep 1000 & echo $! >in.new; mv in.new in; wait'
  outer=$!
  eventually test -s in
  run -0 zkflock --break --yes "$LOCK"
  # It would be killed after 40 s, and the next holder of the inner lock not wait for that.
  eventually gone "$(cat in)"
  ends_with 75 "$outer"
}
