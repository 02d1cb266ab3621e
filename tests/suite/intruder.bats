# Another user of the machine, who can connect to zkflock's sockets and make sockets of his own.

load helper
load hold

setup() {
  common_setup
  chmod 755 .
  INTRUDERS=()
}

teardown() {
  [ ${#INTRUDERS[@]} -eq 0 ] || kill -KILL "${INTRUDERS[@]}"
  common_teardown
}

# intruder PYTHON [ARG]...: a program of another user in the background.
intruder() {
  local code=$1
  shift
  setsid setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 -c "$code" "$@" 3>&- 4>&- &
  INTRUDERS+=($!)
}

# flood NAME: connects and hangs up faster than one process can accept.
flood() {
  local _
  for _ in {1..4}; do
    intruder 'import _socket, sys, time
address = "\0zkflock-" + sys.argv[1]
end = time.monotonic() + 30
while time.monotonic() < end:
    s = _socket.socket(1, 5)
    s.setblocking(False)
    try:
        s.connect(address)
    except OSError:
        pass
    s.close()' "$1"
  done
}

@test "another user who keeps connecting takes no lock away and keeps no zkflock out" {
  background --lease 6 "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; sleep 8; zkflock "$0" echo inside >inner' "$LOCK" 2>log
  holder=$!
  eventually test -s held
  flood "$(cat held)"
  ends_with 0 "$holder"
  assert_equal "$(cat inner)" inside
  refute [ -s log ]
}

@test "another user who keeps connecting takes no lock away from a script, and --unlock works meanwhile" {
  setsid sleep 1000 3>&- 4>&- &
  other=$!
  eval "$(zkflock --hold --lease 6 --export --for "$other" "$LOCK" 2>log)"
  flood "$ZKFLOCK_HELD"
  sleep 8
  run -0 timeout 20 zkflock --unlock --for "$other" "$LOCK"
  refute [ -s log ]
  kill "$other"
}

# is_connecting PID: true if that process waits for a place in the queue of a Unix socket.
is_connecting() { [ "$(cat "/proc/$1/wchan")" = unix_wait_for_peer ]; }

@test "another user who fills the queue of a stopped zkflock does not make one inside wait for ever" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s held
  kill -STOP "$holder"
  touch filled
  chmod 666 filled
  intruder 'import socket, sys, time
crowd = []
while len(crowd) < 1000:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect("\0zkflock-" + sys.argv[1])
    except BlockingIOError:
        break
    crowd.append(s)
with open("filled", "w") as file:
    print(len(crowd), file=file)
time.sleep(60)' "$(cat held)"
  eventually test -s filled
  # Each connection that finds a place stands behind that many of the intruder's.
  assert [ "$(cat filled)" -le 100 ]
  ZKFLOCK_HELD=$(cat held) run -69 timeout -s KILL 20 zkflock --connect-timeout 0.5 "$LOCK" touch ran
  assert_output --partial "the zkflock around this one does not answer, and may hold $LOCK"
  # The same in another pid namespace.
  ZKFLOCK_HELD=$(cat held) run -69 unshare -pf --mount-proc timeout -s KILL 20 \
    zkflock --connect-timeout 0.5 -w 5 "$LOCK" touch ran
  # It hears TERM all the same.
  ZKFLOCK_HELD=$(cat held) background --connect-timeout 1h "$LOCK" touch ran 2>inner
  local inner=$!
  eventually is_connecting "$inner"
  kill -TERM "$inner"
  ends_with 143 "$inner"
  kill -CONT "$holder"
  touch end
  ends_with 0 "$holder"
  refute [ -s log ]
}

@test "another user who takes the name of a zkflock that has ended holds up nothing that it has left in the background" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held' 2>log
  ends_with 0 $!
  touch full
  chmod 666 full
  intruder 'import socket, sys, time
name = "\0zkflock-" + sys.argv[1]
kept = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
kept[0].bind(name)
kept[0].listen(0)
kept[1].connect(name)
open("full", "w").write("1")
time.sleep(60)' "$(cat held)"
  eventually test -s full
  ZKFLOCK_HELD=$(cat held) run -0 timeout -s KILL 20 zkflock "$LOCK.other" echo ran
  assert_output ran
}

namespace() { printf '%x' "$(stat -Lc %i /proc/self/ns/pid)"; }

@test "another user cannot take the names that a hold listens on, nor pass for a hold" {
  setsid sleep 1000 3>&- 4>&- &
  other=$!
  started=$(printf '%x' "$(cut -d' ' -f22 "/proc/$other/stat")")
  intruder 'import socket, sys, time
held = []
def take(name, backlog):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind("\0zkflock-hold-" + name)
    s.listen(backlog)
    held.append(s)
for number in [*range(1001), 4294967295]:
    take(f"{sys.argv[1]}-{number}", 1)
take(f"{sys.argv[1]}-{sys.argv[2]}-7fffffffffffffff-" + 24 * "0", 1)
time.sleep(60)' "$(namespace)-$other" "$started"
  eventually grep -q "@zkflock-hold-$(namespace)-$other-4294967295" /proc/net/unix
  eval "$(zkflock --hold --export --for "$other" "$LOCK" 2>log)"
  assert [ -n "$ZKFLOCK_HELD" ]
  refute [ -s log ]
  run -0 timeout 20 zkflock --unlock --for "$other" "$LOCK"
  kill "$other"
}

@test "another user who listens by the names of a hold, often and without room, holds up nobody else" {
  without_leak_search
  hold "$LOCK.busy" release
  cat >script <<'END'
zkflock --hold --for $$ "$1"
zkflock --hold --for $$ "$1.b"
echo $$ >pid
until [ -s bound ]; do sleep 0.05; done
strace -f -s 200 -e trace=connect -o nothing zkflock -q --unlock --for $$ "$1.nothing"
echo "nothing $?"
# A kernel that does not tell whose a socket is.
strace -f -e trace=fork,clone,clone3,socket,sendto -e inject=sendto:error=ENOENT -o asked zkflock --unlock --for $$ "$1.b"
echo "asked $?"
strace -f -s 200 -e trace=connect,fork,clone,clone3 -o unlock zkflock --unlock --for $$ "$1"
echo "unlock $?"
strace -f -s 200 -e trace=connect -o busy zkflock -q -n "$1.busy" touch ran
echo "busy $?"
END
  touch bound
  chmod 666 bound
  setsid sh script "$LOCK" >said 3>&- 4>&- &
  local script=$!
  eventually test -s pid
  intruder 'import socket, sys, time
with open(f"/proc/{sys.argv[1]}/stat") as stat:
    started = int(stat.read().rpartition(")")[2].split()[19])
kept = []
for number in range(100):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    name = f"\0zkflock-hold-{sys.argv[2]}-{sys.argv[1]}-{started:x}-7fffffffffffffff-{number:024x}"
    s.bind(name)
    s.listen(0)
    kept.append(s)
    if number % 10 == 0:
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        c.connect(name)
        kept.append(c)
# A name that looks like a line of /proc/net/unix: a crowded name with the inode of the hold.
with open("/proc/net/unix") as sockets:
    inode = next(line.split()[6] for line in sockets if f"-{sys.argv[1]}-{started:x}-" in line and "-7fff" not in line)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(f"\0\n0: 0 0 00010000 5 1 {inode} @" + kept[0].getsockname()[1:].decode())
s.listen(8)
kept.append(s)
open("bound", "w").write("1")
time.sleep(1000)' "$(cat pid)" "$(namespace)"
  ends_with 0 "$script"
  run -0 cat said
  assert_output $'nothing 1\nasked 0\nunlock 0\nbusy 1'
  # It does not even connect to what is not the own user's.
  refute grep 7fffffffffffffff nothing unlock busy
  # If it cannot know, it makes no process to close those, and waits in connect(2) for its own alone.
  refute grep -E "fork|clone" unlock asked
  assert_equal "$(grep -c 'SEQPACKET|SOCK_CLOEXEC, 0' asked)" 1
  touch release
  ends_with 0 "$holder"
}

@test "a script with the pid of a script that has ended has none of its locks" {
  cat >caller <<'EOF'
eval "$(zkflock --hold --for $$ --export "$1")"
setsid zkflock "$1" sh -c 'touch inside; until [ -e end ]; do sleep 0.05; done' &
until [ -e inside ]; do sleep 0.05; done
echo $$ >caller.pid
exec sleep 1000
EOF
  mkfifo go
  cat >later <<'EOF'
read -r _ <go
zkflock --unlock "$1"
echo "unlock: $?"
zkflock -q -n "$1" true
echo "lock: $?"
EOF
  cat >world <<'EOF'
echo 1000 >/proc/sys/kernel/ns_last_pid
bash caller "$1" 2>/dev/null &
caller=$!
until [ -s caller.pid ]; do sleep 0.05; done
kill $caller
wait $caller
# The command that still uses the lock starts processes, too: one of these may get the number.
until
  echo $((caller - 1)) >/proc/sys/kernel/ns_last_pid
  bash later "$1" &
  [ $! -eq $caller ]
do
  kill $!
  wait $!
done
echo "the same number"
echo >go
wait $!
touch end
zkflock -q -w 20 "$1" echo free
EOF
  run -0 timeout 30 unshare -Urpf --mount-proc bash world "$LOCK"
  assert_line "the same number"
  assert_line "unlock: 1"
  assert_line "lock: 1"
  assert_line free
}

# Sends what a zkflock of another build could send, and prints the first word of the answer.
speak() { # speak NAME TEXT [COMMAND]...: by COMMAND
  local name=$1 text=$2
  shift 2
  "$@" /usr/bin/python3 -c 'import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
    s.settimeout(20)
    s.connect("\0zkflock-" + sys.argv[1])
    s.send(sys.argv[2].encode())
    print(s.recv(1000).split()[0].decode())' "$name" "$text"
}

@test "root of another pid namespace on the same network releases nothing" {
  setsid sleep 1000 3>&- 4>&- &
  other=$!
  eval "$(zkflock --hold --export --for "$other" "$LOCK")"
  unlock=$(printf 'unlock\n%s\n' "$LOCK"; echo x)
  run -0 speak "$ZKFLOCK_HELD" "${unlock%x}" unshare -pf --mount-proc
  assert_output unknown
  unset ZKFLOCK_HELD ZKFLOCK_NODE
  # A pid namespace whose processes the outer zkflock cannot see.
  cat >inside <<'EOF'
sleep 1000 &
eval "$(zkflock --hold --export --for $! "$1/b")"
echo "$ZKFLOCK_HELD" >held
until [ -e end ]; do sleep 0.05; done
zkflock --unlock --for $! "$1/b"
EOF
  unshare -pf --mount-proc --kill-child sh -c 'bash inside "$0"; :' "$LOCK" 3>&- 4>&- &
  container=$!
  eventually test -s held
  unlock=$(printf 'unlock\n%s\n' "$LOCK/b"; echo x)
  run -0 speak "$(cat held)" "${unlock%x}"
  assert_output unknown
  # Nor could it be ended if the lock were lost.
  ZKFLOCK_HELD=$(cat held) run -1 timeout 20 zkflock -q -n "$LOCK/b" touch ran
  assert_not_exist ran
  is_busy "$LOCK"
  touch end
  wait "$container"
  run -0 zkflock --unlock --for "$other" "$LOCK"
  kill "$other"
}

@test "a process with the pid of a zkflock inside that has ended is left alone" {
  cat >asker <<'EOF'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\0zkflock-" + sys.argv[1])
s.send(f"enter 0 0\n{sys.argv[2]}\n{sys.argv[3]}".encode())
print(os.getpid())
EOF
  cat >world <<'EOF'
echo 1000 >/proc/sys/kernel/ns_last_pid
setsid zkflock --lease 6 "$1" sh -c 'echo "$ZKFLOCK_HELD" >held; exec sleep 1000' 2>log &
keeper=$!
until [ -s held ]; do sleep 0.05; done
kill -STOP $keeper
echo 2000 >/proc/sys/kernel/ns_last_pid
asker=$(/usr/bin/python3 asker "$(cat held)" "$1" "$ZKFLOCK_SERVERS")
echo $((asker - 1)) >/proc/sys/kernel/ns_last_pid
sleep 1000 &
[ $! -eq "$asker" ] && echo "the same number"
kill -CONT $keeper
touch ready
wait $keeper
echo "keeper: $?"
kill $! && echo alive
EOF
  unshare -Urpf --mount-proc bash world "$LOCK" >out 3>&- 4>&- &
  world=$!
  eventually test -e ready
  # By now zkflock has read its request, and all later ones.
  run -0 speak "$(cat held)" "enter 0 0
$LOCK
$ZKFLOCK_SERVERS"
  lose
  ends_with 0 "$world"
  assert_equal "$(cat out)" "the same number
keeper: 75
alive"
}

@test "another user outside the pid namespace cannot pass for the zkflock around its process 1" {
  touch bound asked
  chmod 666 bound asked
  unshare -pf --mount-proc sh -c 'touch in; until [ -s bound ]; do sleep 0.05; done; zkflock -w 1 "$1" true; echo "status $?" >end' \
    sh "$LOCK" 3>&- 4>&- &
  hold "$LOCK" release
  eventually test -e in
  local first
  first=$(pgrep -f "^sh -c touch in" -n)
  intruder 'import socket, sys
with open(f"/proc/{sys.argv[1]}/stat") as stat:
    started = int(stat.read().rpartition(")")[2].split()[19])
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(f"\0zkflock-run-{int(sys.argv[2]):x}-1-{started:x}-ffffffff-000000000000000000000000")
s.listen(8)
open("bound", "w").write("1")
while True:
    c = s.accept()[0]
    open("asked", "a").write(repr(c.recv(4096)) + "\n")' "$first" "$(stat -Lc %i "/proc/$first/ns/pid")"
  eventually test -e end
  touch release
  ends_with 0 "$holder"
  assert_equal "$(cat end)" "status 1"
  # Nobody has even connected.
  refute [ -s asked ]
}
