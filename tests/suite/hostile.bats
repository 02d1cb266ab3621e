# Servers that are hostile: what they send is no reply of ZooKeeper, or is without end.

load helper

teardown() {
  end_server
  common_teardown
}

server_pid=

# server KIND: tests/tools/hostile; its address in $BAD.
server() {
  end_server
  coproc HOSTILE { exec hostile "$1" 3>&-; }
  server_pid=$HOSTILE_PID
  read -r -u "${HOSTILE[0]}" port
  BAD=127.0.0.1:$port
}

end_server() {
  [ -n "$server_pid" ] || return 0
  eval "exec ${HOSTILE[1]}>&-"
  wait "$server_pid" || true
  server_pid=
}

# spoil OPERATION N-M WAY: a proxy that spoils so many replies to that operation; see spoilt.py.
spoil() { PROXY_OF=$1 open_proxy spoil "$2:$3"; }

# What is wrong with any reply.
ANY="short empty negative huge stranger twice events no-path expired refused connected auth no-auth"

# spoilt_once OPERATION WAY...: zkflock drops the connection, makes another one, and gets the lock.
spoilt_once() {
  for way in "${@:2}"; do
    spoil "$1" 1-1 "$way"
    run -0 timeout 20 zkflock -z "$VIA" --connect-timeout 10 "$LOCK" echo ran
    assert_output ran
    proxy_strikes
    close_proxy
  done
}

@test "a reply to the first request that is none" {
  # shellcheck disable=SC2086 # a list
  spoilt_once connect $ANY bare
}

@test "replies by IPv6 are checked, too" {
  PROXY_OF=connect open_proxy spoil 1-1000:no-path ::1
  run -69 timeout 20 zkflock -z "[::1]:$port" --connect-timeout 3 "$LOCK" touch ran
  assert_output --partial "the server sent what is no reply of ZooKeeper"
  assert_not_exist ran
  close_proxy
}

@test "a reply to a create that is none" {
  # shellcheck disable=SC2086
  spoilt_once create $ANY cut bare null minus many
}

@test "a reply to a get that is none" {
  # shellcheck disable=SC2086
  spoilt_once get $ANY cut bare minus many
}

@test "a reply to the multi of a release that is none" {
  # shellcheck disable=SC2086
  spoilt_once multi $ANY cut bare parts no-parts lie
}

@test "replies to a waiter that are none: it waits on, and gets the lock" {
  for operation in children set; do
    for way in cut bare twice stranger no-path no-auth; do
      rm -f release marked
      hold "$LOCK" release
      spoil "$operation" 1-1 "$way"
      wait_in_line log -z "$VIA" "$LOCK" sh -c '[ -e release ] && touch next; until [ -e marked ]; do sleep 0.05; done'
      [ "$operation" = set ] || proxy_strikes
      touch release
      ends_with 0 "$holder"
      # A command that ends at once leaves no time for the mark.
      [ "$operation" != set ] || proxy_strikes
      touch marked
      ends_with 0 "$waiter"
      assert_exist next
      rm next
      close_proxy
    done
  done
}

@test "replies to a list that are none" {
  for way in cut bare twice stranger huge many minus null no-path no-auth; do
    spoil children 1-1 "$way"
    run -0 timeout 20 zkflock -z "$VIA" --connect-timeout 10 --list /
    proxy_strikes
    close_proxy
  done
}

@test "times that no clock shows are listed as the last of the year 9999" {
  hold "$LOCK" release
  spoil get 1-9 times
  run -0 timeout 20 zkflock -z "$VIA" --list --json "$LOCK"
  assert_output --partial '"created": "9999-12-31T23:59:59.999Z"'
  proxy_strikes
  close_proxy
  touch release
  ends_with 0 "$holder"
}

@test "a holder whose proofs are answered by none: it turns to another server" {
  local way
  for way in cut twice parts lie no-path no-auth events; do
    spoil multi 1-2 "$way"
    zkflock --lease 6 "$LOCK.$way" true
    background -v -z "$VIA" "$LOCK.$way" sh -c 'until [ -e release ]; do sleep 0.05; done' 2>log
    holder=$!
    proxy_strikes
    run -1 zkflock -n "$LOCK.$way" true
    touch release
    ends_with 0 "$holder"
    rm release
    close_proxy
    refute contains log lost
  done
}

@test "beside a server that serves, a hostile one is left: the lock is taken and kept" {
  local kind
  for kind in close half noise flood silent null hasty weeks; do
    server "$kind"
    # The list is shuffled.
    for _ in 1 2; do
      run -0 timeout -k 1 30 zkflock --connect-timeout 20 -z "$BAD,$ONE" "$LOCK.$kind" echo ran
      assert_line ran
    done
  done
}

peak() { # peak PID: the most memory that a process has used, in kB
  awk '/^VmHWM/ { print $2 }' "/proc/$1/status"
}

@test "events without end: 69 in time, a signal is heard, and memory does not grow" {
  server flood
  run -69 timeout -k 1 20 zkflock -z "$BAD" --connect-timeout 1 "$LOCK" touch ran
  assert_not_exist ran
  background -v -z "$BAD" --connect-timeout 1h "$LOCK" touch ran 2>log
  local pid=$!
  eventually contains log "connected to"
  eventually past $(($(now) + 3000))
  # A sanitizer keeps what is freed for a while.
  assert [ "$(peak "$pid")" -lt "$([ -d "$ZKFLOCK_BUILD/sanitize" ] && echo 50000 || echo 600000)" ]
  kill "$pid"
  PATIENCE=10 eventually gone "$pid"
  ends_with 143 "$pid"
  assert_not_exist ran
}

@test "a byte a second: 69 in time, of the first reply and of others" {
  local begun operation
  for operation in connect create get; do
    PROXY_OF=$operation open_proxy slow 1:1
    begun=$(now)
    run -69 timeout -k 1 20 zkflock -z "$VIA" --connect-timeout 1 --session-timeout 3 "$LOCK.$operation" touch ran
    within 10000 "$begun" "$(now)"
    close_proxy
  done
  assert_not_exist ran
  # A waiter and a list, likewise.
  hold "$LOCK" release
  PROXY_OF=children open_proxy slow 1:1
  run -69 timeout -k 1 20 zkflock -z "$VIA" --connect-timeout 1 --session-timeout 3 -w 1 "$LOCK" touch ran
  run -69 timeout -k 1 20 zkflock -z "$VIA" --connect-timeout 1 --list "$LOCK"
  close_proxy
  touch release
  ends_with 0 "$holder"
  assert_not_exist ran
}

@test "no reply but such: 69 in time, and no command" {
  local begun
  for operation in connect create get; do
    for way in huge short no-path; do
      spoil "$operation" 1-1000000 "$way"
      begun=$(now)
      # What cannot be given back is gone with the session.
      run -69 timeout -k 1 20 zkflock -z "$VIA" --connect-timeout 1 --session-timeout 3 "$LOCK.$operation.$way" touch ran
      within 10000 "$begun" "$(now)"
      assert_line --index 0 --regexp "^zkflock: no (answer from|server reachable at) $VIA (for|within) 1 s.*; $LOCK.$operation.$way was not taken\$"
      close_proxy
    done
  done
  assert_not_exist ran
}
