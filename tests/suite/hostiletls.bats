# --tls: servers that are hostile, and other processes that knock at the relay's door.

load helper
load keys

setup_file() {
  export KEYS=$BATS_FILE_TMPDIR/keys
  mkdir "$KEYS"
  authority ca
  certificate server ca 30 "DNS:localhost,IP:127.0.0.1"
}

teardown() {
  end_server
  "$TESTS_DIR/ensemble" stop "$BATS_TEST_TMPDIR/own" 2>/dev/null || true
  common_teardown
}

server_pid=

# server KIND [tls]: tests/tools/hostile, within TLS or not; its address in $BAD.
server() {
  end_server
  coproc HOSTILE { HOSTILE_TLS=${2:+$KEYS/server.both} exec hostile "$1" 3>&-; }
  server_pid=$HOSTILE_PID
  read -r -u "${HOSTILE[0]}" port
  BAD=127.0.0.1:$port # a name has several addresses on some machines, and not all are served
}

end_server() {
  [ -n "$server_pid" ] || return 0
  eval "exec ${HOSTILE[1]}>&-"
  wait "$server_pid" || true
  server_pid=
}

# serve [N]: servers that have a port for TLS; $SECURE is their list.
serve() {
  ENSEMBLE_TLS="$KEYS/server.both none $KEYS/ca.pem" "$TESTS_DIR/ensemble" start "$BATS_TEST_TMPDIR/own" "${1-1}"
  SECURE=$(sed 's/127.0.0.1/localhost/g' "$BATS_TEST_TMPDIR/own/secure")
}

tls() { timeout -k 1 30 zkflock --tls --cacert "$KEYS/ca.pem" "$@"; }

# unreachable ADDRESS TEXT: 69 in time, and no command; with that text, but for an attempt or two at which
# this machine was so busy that it was the beginning of TLS that did not end.
unreachable() {
  local begun
  for _ in 1 2 3; do
    begun=$(now)
    run -69 tls -z "$1" --connect-timeout 5 "$LOCK" touch ran
    within 25000 "$begun" "$(now)"
    assert_not_exist ran
    [[ $output != *"$2"* && $output == *"does not answer in the TLS handshake"* ]] || break
  done
  assert_output --partial "$2"
}

# refused KIND TLS TEXT: unreachable() of such a server.
refused() {
  server "$1" "$2"
  unreachable "$BAD" "$3"
}

@test "--tls: servers that speak no TLS, or do not end its beginning" {
  local not="does not speak TLS at this port; is it its secureClientPort?"
  refused noise "" "$not"
  refused mute "" "$not" # a session in the clear
  refused http "" "$not"
  refused full "" "does not answer; check --servers (or "
  refused alert "" "failed in the TLS handshake: tlsv1 alert internal error"
  refused close "" "ended the connection in the TLS handshake"
  refused silent "" "does not answer in the TLS handshake"
  refused drip "" "does not answer in the TLS handshake"
  refused hello "" "does not answer in the TLS handshake"
}

# silent_told OPTION...: two servers that say nothing are told as that, and nothing else is.
silent_told() {
  local other
  server silent
  other=$BAD
  coproc SECOND { exec hostile silent 3>&-; }
  read -r -u "${SECOND[0]}" port
  run -69 timeout -k 1 30 "$@" zkflock --tls --cacert "$KEYS/ca.pem" -z "$other,127.0.0.1:$port" --session-timeout "${timeout-15}" --connect-timeout 4 "$LOCK" touch ran
  eval "exec ${SECOND[1]}>&-"
  assert_output --regexp "no server reachable at .* within 4 s: 127.0.0.1:[0-9]+ does not answer in the TLS handshake; check --servers"
}

@test "--tls: a silent server is told as that, not as the end of the connection that zkflock itself brings" {
  silent_told env
  # The library makes the next connection before the last one is cut to the end.
  ASAN_OPTIONS=detect_leaks=0 silent_told strace -f -o calls -e trace=shutdown -e inject=shutdown:delay_exit=5000
  assert contains calls DELAYED
  # The library's own patience would end first.
  timeout=2 silent_told env
}

@test "--tls: servers that speak TLS, and then are hostile" {
  local none="the server sent what is no reply of ZooKeeper"
  refused noise tls "$none"
  refused garbage tls "$none"
  refused silent tls "does not answer; check --servers (or "
  refused mute tls "for 5 s while joining the queue"
  # Each ends the connection without ending TLS.
  refused half tls "closed the connection, as one does that"
  assert_output --partial ": 127.0.0.1:$port closed"
  refute_output --partial "does not speak TLS"
  refused close tls "closed the connection, as one does that"
  assert_output --partial ": 127.0.0.1:$port closed"
  refute_output --partial "does not speak TLS"
  refused flood tls "for 5 s while joining the queue"
}

@test "--tls: a server that holds up the handshake ends with zkflock, also beside hundreds of open descriptors" {
  local begun
  server hello
  begun=$(now)
  run -69 timeout -k 1 30 bash -c 'ulimit -n 4096; for ((i = 0; i < 600; i++)); do exec {fd}</dev/null; done; exec zkflock "$@"' - \
    -z "$BAD" --tls --cacert "$KEYS/ca.pem" --connect-timeout 3 "$LOCK" touch ran
  within 20000 "$begun" "$(now)"
  assert_not_exist ran
}

@test "--tls: beside a server that serves, a hostile one is left, and the lock is taken" {
  local kind
  serve
  for kind in noise mute alert drip hello silent half flood; do
    server "$kind"
    run -0 tls -z "$BAD,$SECURE" --connect-timeout 20 "$LOCK" echo ran
    assert_output ran
    server "$kind" tls
    # The list is shuffled.
    for _ in 1 2; do
      run -0 tls -z "$BAD,$SECURE" --connect-timeout 20 "$LOCK" echo ran
      assert_line ran
    done
  done
}

# via_tls OPERATION N-M:WAY: a proxy that is a server for TLS, and spoils replies, before the server of
# this lane.
via_tls() {
  PROXY_OF=$1 PROXY_TLS=$KEYS/server.both open_proxy spoil "$2"
  VIA=127.0.0.1:$port
}

@test "--tls: hostile replies within good TLS" {
  local way
  for way in cut short empty negative huge stranger twice no-path no-auth; do
    via_tls create "1-1:$way"
    run -0 tls -z "$VIA" --connect-timeout 10 "$LOCK" echo ran
    assert_output ran
    proxy_strikes
    close_proxy
  done
  via_tls connect 1-1000000:huge
  unreachable "$VIA" "the server sent what is no reply of ZooKeeper"
  close_proxy
}

@test "--tls: a server that no longer speaks TLS once the session has begun" {
  server torn tls
  run -69 tls -z "$BAD" --connect-timeout 4 "$LOCK" touch ran
  assert_output --regexp "^zkflock: no answer from $BAD for 4 s while joining the queue: 127.0.0.1:$port failed in TLS: (wrong version number|bad record type); "
  assert_not_exist ran
}

@test "--tls: a fault of one server is told, not that another one is down" {
  server torn tls
  for _ in 1 2 3; do
    run -69 tls -z "$BAD,127.0.0.1:1" --connect-timeout 4 "$LOCK" touch ran
    assert_output --regexp ": 127.0.0.1:$port failed in TLS: (wrong version number|bad record type)"
  done
}

@test "--tls: a server that asks for new keys all the time" {
  # The session has begun by then, or has not: each is borne.
  coproc HOSTILE {
    exec 3>&-
    exec openssl s_server -accept 127.0.0.1:0 -key "$KEYS/server.key" -cert "$KEYS/server.pem" 2>&1 < <(
      read -rt 2 _ <>"$SUITE_DIR/pause" || true
      exec yes K
    )
  }
  server_pid=$HOSTILE_PID
  local line at=
  while read -r -t 10 -u "${HOSTILE[0]}" line; do
    [[ $line != ACCEPT\ * ]] || { at=${line##*:} && break; }
  done
  assert [ -n "$at" ]
  run -69 tls -z "localhost:$at" --connect-timeout 4 "$LOCK" touch ran
  assert_output --partial "no server reachable at localhost:$at within 4 s"
  assert_not_exist ran
  kill "$server_pid" 2>/dev/null || true # it may have ended
}

all_sleep() { ! grep -qs '^State:.[^S]' "/proc/$1"/task/*/status; } # all_sleep PID: each of its threads

@test "--tls: a server that asks for new keys and reads no answer: zkflock sleeps" {
  local lister line
  coproc HOSTILE { exec rekey "$KEYS/server.both" "${ONE##*:}" 3>&-; }
  server_pid=$HOSTILE_PID
  read -r -u "${HOSTILE[0]}" line
  background -z "localhost:$line" --tls --cacert "$KEYS/ca.pem" --session-timeout 60 --list --watch "$LOCK" >listed 2>log
  lister=$!
  eventually test -s listed
  echo >&"${HOSTILE[1]}"
  read -r -t 60 -u "${HOSTILE[0]}" line
  assert_equal "$line" full
  # A thread that never sleeps would seldom be seen to.
  for _ in 1 2 3 4 5 6 7 8; do eventually all_sleep "$lister"; done
  kill "$lister"
  ends_with 143 "$lister"
}

# gates PID: the relay's ports; library PID: the port of the client library, and the gate that it uses.
gates() { ss -Htnlp | sed -n "s/.*127.0.0.1:\([0-9]*\) .*pid=$1,.*/\1/p" | sort -u; }
library() {
  local gate
  for gate in $(gates "$1"); do
    ss -Htnp state established "dport = :$gate" | sed -n "s/.*127.0.0.1:\([0-9]*\) *127.0.0.1:$gate .*pid=$1,.*/\1 $gate/p"
  done
}

@test "the relay's door: nobody else gets through, not even from the client library's port" {
  local gate from to
  serve 3
  background -v --tls --cacert "$KEYS/ca.pem" -z "$SECURE" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -e held
  read -r from to < <(library "$holder")
  assert [ -n "$from" ]
  for gate in $(gates "$holder"); do
    run -0 knock "$gate" 100
    assert_output 0
    [ "$gate" != "$to" ] || continue
    run knock "$gate" 1 "$from"
    assert_output --regexp "^(0|cannot)$"
  done
  # The lock is held on, over the same connection.
  run -1 tls -z "$SECURE" -n "$LOCK" true
  assert_equal "$(grep -c "connected to" log)" 1
  touch release
  ends_with 0 "$holder"
  refute contains log lost
}

has_gates() { [ -n "$(gates "$1")" ]; }

@test "the relay's door: others who knock while zkflock connects or waits do not disturb it" {
  local knocker gate
  serve
  server close
  background --tls --cacert "$KEYS/ca.pem" -z "$BAD" --connect-timeout 1h "$LOCK" touch ran
  waiter=$!
  eventually has_gates "$waiter"
  run -0 knock "$(gates "$waiter")" 100
  assert_output 0
  kill "$waiter"
  ends_with 143 "$waiter"
  assert_not_exist ran
  background --tls --cacert "$KEYS/ca.pem" -z "$SECURE" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  wait_in_line log --tls --cacert "$KEYS/ca.pem" -z "$SECURE" "$LOCK" touch next
  read -r _ gate < <(library "$waiter")
  knock "$gate" 200 >knocked &
  knocker=$!
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  assert_exist next
  wait "$knocker"
}

@test "the relay's door: a socket that zkflock was started with does not get through" {
  local pid said
  serve
  coproc KNOCK { exec knock with zkflock --tls --cacert "$KEYS/ca.pem" -z "$SECURE" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' 3>&-; }
  knocker=$KNOCK_PID
  read -r -u "${KNOCK[0]}" pid
  eventually test -e held
  read -r _ gate < <(library "$pid")
  echo "$gate" >&"${KNOCK[1]}"
  read -r -u "${KNOCK[0]}" said
  assert_equal "$said" 0
  touch release
  ends_with 0 "$knocker"
}
