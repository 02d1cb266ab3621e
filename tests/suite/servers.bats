# How the servers of an ensemble are named and found.

load helper

@test "a host name, whatever addresses it has" {
  run -0 zkflock -z "localhost:${ONE#*:}" "$LOCK" true
  assert_output ""
}

@test "an IPv6 address, and a chroot behind it" {
  zk "$ONE" create "$LOCK/root"
  open_proxy none 0 ::1
  run -0 zkflock -z "[::1]:$port$LOCK/root" name sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output /locks/name
  run -0 zk "$ONE" ls "$LOCK/root/locks"
  assert_output name
  close_proxy
}

@test "an even number of servers, half of them dead, in any order" {
  for _ in 1 2 3 4 5 6; do
    run -0 timeout 5 zkflock -z "127.0.0.1:1,$ONE" "$LOCK" true
    run -0 timeout 5 zkflock -z "$ONE,127.0.0.1:1,127.0.0.1:2,127.0.0.1:3" "$LOCK" true
  done
}

@test "blanks round the commas, in an option, the environment and a file" {
  list=" 127.0.0.1:1 , $ONE ,127.0.0.1:1 / "
  run -0 zkflock -z "$list" "$LOCK" echo ran
  assert_output ran
  ZKFLOCK_SERVERS=$list run -0 zkflock "$LOCK" echo ran
  assert_output ran
  printf '[zkflock]\nservers = 127.0.0.1:1,  %s\n' "$ONE" >config
  ZKFLOCK_SERVERS='' run -0 zkflock --config config "$LOCK" echo ran
  assert_output ran
}

@test "--servers goes before ZKFLOCK_SERVERS, and an empty ZKFLOCK_SERVERS is none" {
  ZKFLOCK_SERVERS=127.0.0.1:1 run -0 zkflock -z "$ONE" "$LOCK" true
  ZKFLOCK_SERVERS="" run -69 zkflock --connect-timeout 0.2 "$LOCK" true
  assert_output --partial "no server reachable at 127.0.0.1:2181"
}

@test "the command gets no socket of the client" {
  zkflock "$LOCK" sh -c 'ls -l /proc/$$/fd >fds' 3>&- 4>&-
  refute grep -q socket: fds
}

@test "a name server that does not answer leaves time for servers whose addresses are known" {
  # Not one that a resolver of the machine has.
  local address=127.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
  cat >silence <<'END'
import signal, socket, sys
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind((sys.argv[1], 53))
open("silent", "w").close()
signal.pause()
END
  python3 silence "$address" 3>&- 4>&- &
  eventually test -e silent
  printf 'nameserver %s\noptions timeout:30\n' "$address" >resolv.conf
  run -0 unshare -m sh -c 'mount --bind resolv.conf /etc/resolv.conf && shift && exec "$@"' sh - \
    zkflock --connect-timeout 4 -z "slow.test:2181,localhost:${ONE#*:}" "$LOCK" echo ran
  assert_line ran
  assert_line --partial "warning: cannot resolve the server name 'slow.test': Connection timed out"
  kill "$!"
}
