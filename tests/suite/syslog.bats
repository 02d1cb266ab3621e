# The messages of a run in the system's log.

load helper
load log

teardown() {
  [ -z "${reader:-}" ] || end_reader
  common_teardown
}

# read_system_log [FILE]: a reader of ./devlog; pid in $reader.  Without a FILE it reads nothing,
# and its queue is full.
read_system_log() {
  python3 - "$@" 3>&- 4>&- <<'EOF' &
import socket, sys, time

server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind("devlog")
if len(sys.argv) > 1:
    with open(sys.argv[1], "ab", 0) as out:
        while True:
            out.write(server.recv(65536) + b"\n")
# One client may not be able to fill it: what it has sent and nobody has read has a limit, too.
clients = []
sent = 1
while sent:
    clients.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    clients[-1].setblocking(False)
    sent = 0
    try:
        while True:
            clients[-1].sendto(b"x", "devlog")
            sent += 1
    except BlockingIOError:
        pass
open("full", "w").close()
time.sleep(1000)
EOF
  reader=$!
}

end_reader() {
  kill "$reader"
  wait "$reader" || true
  reader=
}

# with_system_log ARG...: zkflock with ./devlog for /dev/log, if there is one, in mounts of its own.
with_system_log() {
  unshare -Urm sh -c '
    mkdir -p dev && mount -t tmpfs none dev || exit
    for name in null zero tty urandom; do
      : >dev/$name && mount --bind /dev/$name dev/$name || exit
    done
    ln -s /proc/self/fd dev/fd
    [ ! -e devlog ] || { : >dev/log && mount --bind devlog dev/log; } || exit
    mount --rbind dev /dev && exec zkflock "$@"' sh "$@"
}

@test "--log-syslog: events with lock and session, whatever goes to stderr" {
  read_system_log got
  eventually test -e got
  run -0 with_system_log --log-syslog "$LOCK" true
  assert_output ""
  eventually contains got "exit 0"
  # 14: user, info.
  head="<14>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} zkflock\[[0-9]+\]: "
  every_line got "^$head\[$LOCK 0x[0-9a-f]+\] "
  run -0 cat got
  assert_equal "${#lines[@]}" 4
  assert_line --index 0 --partial "] connected to $ONE, took "
  assert_line --index 1 --partial "] holding it as $LOCK/"
  assert_line --index 2 --partial "] released, held "
  assert_line --index 3 --partial "] exit 0: waited "

  # A failure is there on both; under -q busy is not on stderr.
  run -69 with_system_log --log-syslog -z 127.0.0.1:1 --connect-timeout 200ms "$LOCK" true
  assert_output --regexp "^zkflock: no server reachable [^$]*"
  eventually contains got "exit 69"
  assert grep -Eq "^<11>.*: \[$LOCK\] no server reachable" got
  hold "$LOCK" release
  run -1 with_system_log -q -n --log-syslog "$LOCK" true
  assert_output ""
  eventually contains got "exit 1"
  assert grep -Eq "^<13>.*: \[$LOCK 0x[0-9a-f]+\] $LOCK is busy" got
  touch release
  ends_with 0 "$holder"
  refute grep -q "ZOO_" got
  run -0 with_system_log -vv --log-syslog "$LOCK" true
  eventually grep -q "<15>.*ZOO_INFO" got
}

@test "--log-syslog: json goes there as json" {
  read_system_log got
  eventually test -e got
  run -0 with_system_log --log-syslog --log-format json "$LOCK" true
  assert_output ""
  eventually contains got '"exit"'
  sed 's/^<14>.\{15\} zkflock\[[0-9]*\]: //' got >log
  run -0 told log "$LOCK"
  assert_line --partial "acquired info 0"
  assert_line --index 3 "exit info 0 status=0 waited_s=T held_s=T"
}

@test "--log-syslog: without a system's log one warning, and the command runs" {
  run -0 with_system_log --log-syslog "$LOCK" echo ran
  assert_output "zkflock: warning: the system's log does not take messages (No such file or directory); some or all are missing there
ran"
  run -0 with_system_log -q --log-syslog "$LOCK" echo ran
  assert_output ran
}

@test "--log-syslog: a system's log that does not read holds nothing up" {
  read_system_log
  eventually test -e full
  with_system_log -v --log-syslog "$LOCK" sh -c 'touch ran; exit 3' >log 2>&1 3>&- 4>&- &
  eventually contains log "exit 3: waited"
  ends_with 3 $!
  assert_exist ran
  assert_equal "$(grep -c "does not take messages (it is not being read)" log)" 1
}
