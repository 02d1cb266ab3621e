# For the tests of --hold: scripts that hold locks.

# script SHELL: runs stdin as a script, in a session of its own like all that a test starts in the
# background; its pid in $script.
script() {
  cat >script
  setsid "$@" script 3>&- 4>&- &
  script=$!
}

keeper_of_hold() {
  local pid
  for pid in $(marked_processes); do
    if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "^zkflock --hold .*$LOCK \$"; then
      echo "$pid"
      return
    fi
  done
  return 1
}

is_busy() {
  local status=0
  zkflock -q -n "$1" true || status=$?
  [ "$status" -eq 1 ]
}
is_free() { zkflock -q -n "$1" true; }

# offers PID: true if a keeper offers a lock that it holds for that process.
offers() { grep -q "@zkflock-hold-[0-9a-f]*-$1-" /proc/net/unix; }

# has_sockets N PID: true if that process has N sockets.
has_sockets() { [ "$(sockets "$2")" -eq "$1" ]; }
sockets() { find "/proc/$1/fd" -lname 'socket:*' | wc -l; }
