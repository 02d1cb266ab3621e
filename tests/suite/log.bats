# The messages of a run: as text and as JSON.

load helper
load log

readonly JSON=(-v --log-format json)

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

# member LOG EVENT NAME: the value in the last line with that event; without one, of any line.
member() {
  python3 - "$@" <<'EOF'
import json, sys

entries = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
entries = [entry for entry in entries if entry.get("event", "") == sys.argv[2]]
print(entries[-1].get(sys.argv[3]))
EOF
}

# ---- events ----

@test "-v: what happens, a line each, with lock and session; the last has waited and held" {
  hold "$LOCK" release
  wait_in_line log "$LOCK" sleep 0.3
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  node="$LOCK/_c_[0-9a-f]{32}-lock-0000000001"
  span='[0-9.]+ m?s'
  run -0 cat log
  assert_equal "${#lines[@]}" 5
  tag=${lines[0]%%: *}
  assert_regex "$tag" "^zkflock\[$LOCK 0x[0-9a-f]+\]$"
  assert_regex "${lines[0]#"$tag"}" "^: connected to $ONE, took $span\$"
  assert_regex "${lines[1]#"$tag"}" "^: waiting for $LOCK: 1 ahead, held for [^ ]+ by "
  assert_regex "${lines[2]#"$tag"}" "^: holding it as $node, waited $span\$"
  assert_regex "${lines[3]#"$tag"}" "^: released, held $span\$"
  assert_regex "${lines[4]#"$tag"}" "^: exit 0: waited $span, held $span\$"
}

@test "json: the same events, with their members" {
  hold "$LOCK" release
  background "${JSON[@]}" "$LOCK" sh -c 'echo "$ZKFLOCK_NODE $ZKFLOCK_TOKEN" >seen; exit 3' 2>log
  waiter=$!
  eventually contains log queued
  touch release
  ends_with 0 "$holder"
  ends_with 3 "$waiter"
  read -r node token <seen
  run -0 told log "$LOCK"
  assert_output "connected info 0 server=$ONE took_s=T
queued info 0 path=$LOCK position=2 holder=T holder_held_s=T
acquired info 0 node=$node token=$token waited_s=T
released info 0 held_s=T status=3
exit info 0 status=3 waited_s=T held_s=T"
}

@test "json: the times are those of the run" {
  run -0 --separate-stderr zkflock "${JSON[@]}" "$LOCK" sleep 0.5
  assert_output ""
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  run -0 python3 -c 'import sys; waited, held = map(float, sys.argv[1:]); sys.exit(not 0 < waited < 20 or not 0.5 <= held < 20)' \
    "$(member log acquired waited_s)" "$(member log exit held_s)"
  assert_equal "$(member log exit waited_s)" "$(member log acquired waited_s)"
  assert_equal "$(member log exit held_s)" "$(member log released held_s)"
}

@test "json: lost, with the reason, and exit 75" {
  background "${JSON[@]}" "$LOCK" sleep 1000 2>log
  holder=$!
  eventually contains log acquired
  node=$(member log acquired node)
  zk "$ONE" delete "$node"
  ends_with 75 "$holder"
  run -0 told log "$LOCK"
  assert_output "connected info 0 server=$ONE took_s=T
acquired info 0 node=$node token=$(member log acquired token) waited_s=T
lost error 0 reason=gone proof_age_s=T held_s=T
exit info 0 status=75 waited_s=T held_s=T"
  assert_regex "$(member log lost message)" "^lost $LOCK: .*; sleep was sent SIGTERM and ended$"
}

@test "json: contact is lost for good: proof_late, then lost" {
  open_proxy
  background "${JSON[@]}" --lease 6 --session-timeout 4 -z "$VIA" "$LOCK" sleep 1000 2>log
  holder=$!
  eventually contains log acquired
  kill -STOP "$proxy_pid"
  ends_with 75 "$holder"
  run -0 told log "$LOCK"
  assert_line "proof_late info 0 late_s=T lease_left_s=T"
  assert_line "lost error 0 reason=contact proof_age_s=T held_s=T"
  refute_output --partial proof_answered
  refute_output --partial released
  # Once for the whole time.
  assert_equal "$(grep -c proof_late log)" 1
}

# server_pauses [ARG...]: for a moment, while zkflock holds the lock; fails unless that is told once.
server_pauses() {
  open_proxy
  background -v --lease 60 --session-timeout 40 -z "$VIA" "$@" "$LOCK" \
    sh -c 'until [ -e end ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually contains log "holding"
  kill -STOP "$proxy_pid"
  PATIENCE=60 eventually contains log "proof late"
  kill -CONT "$proxy_pid"
  PATIENCE=60 eventually contains log "proof answered"
  touch end
  ends_with 0 "$holder"
  assert_equal "$(grep -c 'proof late' log)" 1
  assert_equal "$(grep -c 'proof answered' log)" 1
}

@test "a server pauses for less than the lease: proof late, once, and answered" {
  server_pauses
  run -0 cat log
  assert_line --regexp "^zkflock\[$LOCK 0x[0-9a-f]+\]: proof late: no answer for [0-9.]+ s; the lease ends in 4[0-9](\.[0-9])? s$"
  assert_line --regexp "^zkflock\[$LOCK 0x[0-9a-f]+\]: proof answered after [0-9.]+ s$"
}

@test "a server pauses under three locks: proof late is told once, and answered once" {
  server_pauses --with "$LOCK.b" --with "$LOCK.c"
}

# busy_with_holder: whether zkflock -n learned in time who holds the lock; that may take a second.
busy_with_holder() {
  run -1 --separate-stderr zkflock "${JSON[@]}" -n "$LOCK" true
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  [[ $output == *holder=* ]]
}

@test "json: busy, unreachable, not found and not due end with exit" {
  hold "$LOCK" release
  eventually busy_with_holder
  assert_line --index 1 "busy notice 0 path=$LOCK position=2 holder=T holder_held_s=T"
  assert_line --index 2 "exit info 0 status=1 waited_s=T"
  touch release
  ends_with 0 "$holder"
  run -69 --separate-stderr zkflock "${JSON[@]}" -z 127.0.0.1:1 --connect-timeout 200ms "$LOCK" true
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  assert_output "exit info - status=69 waited_s=T"
  run -127 --separate-stderr zkflock "${JSON[@]}" "$LOCK" no-such-command
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  assert_output "exit info - status=127"
  zkflock --once-per 1h "$LOCK" true
  run -0 --separate-stderr zkflock "${JSON[@]}" --once-per 1h "$LOCK" true
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  assert_line "skipped info 0 ago_s=T"
  # Nothing was run, so there is no status of a run.
  assert_line "released info 0 held_s=T"
}

@test "json: with further locks and permits the path of what is waited for" {
  hold "$LOCK/b" release
  background "${JSON[@]}" --with "$LOCK/b" "$LOCK/a" true 2>log
  waiter=$!
  eventually contains log queued
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  run -0 told log "$LOCK/a"
  assert_line "queued info 0 path=$LOCK/b position=2 holder=T holder_held_s=T"

  background --permits 1 "$LOCK/s" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  background "${JSON[@]}" --permits 1 "$LOCK/s" true 2>log
  waiter=$!
  eventually contains log queued
  touch go
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  run -0 told log "$LOCK/s"
  assert_line "queued info 0 path=$LOCK/s position=2 holder=T holder_held_s=T"
}

@test "json: the session expires in the queue: another connected, with the new session" {
  open_proxy
  hold "$LOCK" release
  background "${JSON[@]}" --session-timeout 2 --connect-timeout 60 -z "$VIA" "$LOCK" true 2>log
  waiter=$!
  eventually contains log queued
  kill -STOP "$proxy_pid"
  zk "$ONE" await-count "$LOCK" 1
  kill -CONT "$proxy_pid"
  eventually sh -c '[ "$(grep -c queued log)" = 2 ]'
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  run -0 told log "$LOCK"
  assert_line "connected info 1 server=$VIA took_s=T"
  assert_line "exit info 1 status=0 waited_s=T held_s=T"
}

@test "json: the keeper is killed: the guard's lines have lock and session too" {
  background "${JSON[@]}" "$LOCK" sleep 1000 2>log
  keeper=$!
  eventually contains log acquired
  session=$(member log acquired session)
  kill -KILL "$keeper"
  eventually contains log "the keeper was killed"
  run -0 told log "$LOCK"
  assert_equal "$(tail -1 log | python3 -c 'import json, sys; e = json.load(sys.stdin); print(e["session"], e["pid"] != '"$keeper"')')" \
    "$session True"
}

@test "json: --hold goes on to tell when its caller has gone on, and a failing hook is told" {
  run -0 --separate-stderr zkflock --log-format json --hook false "$LOCK" true
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  assert_equal "$(member log "" level)" warning
  assert_regex "$(member log "" session)" "^0x"
  setsid sh -c 'zkflock -v --log-format json --hold "$1" 2>log; touch held; until [ -e end ]; do sleep 0.05; done' \
    sh "$LOCK" 3>&- 4>&- &
  eventually test -e held
  touch end
  eventually contains log '"exit"'
  run -0 told log "$LOCK"
  assert_line "released info 0 held_s=T status=0"
  assert_line --index 3 "exit info 0 status=0 waited_s=T held_s=T"
}

# ---- levels and formats ----

@test "-vv: the library's lines are ours, in the one format" {
  run -0 --separate-stderr zkflock -vv "$LOCK" true
  assert_output ""
  printf '%s\n' "$stderr" >log
  every_line log "^zkflock\[$LOCK( 0x[0-9a-f]+)?\]: "
  contains log "session establishment complete"
  run -0 --separate-stderr zkflock -v "${JSON[@]}" "$LOCK" true
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK"
  run -0 grep '"source":"zookeeper"' log
  assert_output --partial "session establishment complete"
  refute_output --regexp '"level":"(info|warning|error)"'
  run -0 --separate-stderr zkflock "${JSON[@]}" "$LOCK" true
  refute [ -z "$stderr" ]
  refute_regex "$stderr" zookeeper
}

@test "-q, and without -v: json has what text has" {
  hold "$LOCK" release
  for option in "" "-q"; do
    # shellcheck disable=SC2086 # no word for the first one
    run -1 zkflock $option -n --log-format json "$LOCK" true
    assert_equal "${#lines[@]}" "$([ -n "$option" ] && echo 0 || echo 1)"
  done
  touch release
  ends_with 0 "$holder"
  run -0 zkflock --log-format json "$LOCK" true
  assert_output ""
  run -69 zkflock -q --log-format json -z 127.0.0.1:1 --connect-timeout 200ms "$LOCK" true
  printf '%s\n' "$output" >log
  told log "$LOCK"
  assert_regex "$(member log "" message)" "^no server reachable at 127.0.0.1:1 "
  assert_equal "$(member log "" level)" error
}

@test "json: what --list says of one lock has that lock" {
  zkflock --permits 2 "$LOCK/pool" true
  zkflock "$LOCK/closed" true
  zk "$ONE" deny "$LOCK/closed" cdwa
  run -69 zkflock --list --log-format json -z 127.0.0.1:1 --connect-timeout 200ms "$LOCK"
  printf '%s\n' "$output" >log
  told log "$LOCK"
  run -77 --separate-stderr zkflock --list --log-format json "$LOCK/closed"
  printf '%s\n' "$stderr" >log
  told log "$LOCK/closed"
  run -0 --separate-stderr zkflock --list -vv --log-format json "$LOCK/"
  printf '%s\n' "$stderr" >log
  told log "$LOCK"
  run -64 zkflock --list --log-format json "$LOCK" "$LOCK/pool/leases"
  printf '%s\n' "$output" >log
  told log "$LOCK/pool/leases"
  # A message about several locks names none.
  run -69 zkflock --list --log-format json -z 127.0.0.1:1 --connect-timeout 200ms "$LOCK" "$LOCK/pool"
  refute_output --partial '"lock"'
  # The lock's section of the config file counts, where there is one.
  printf '[lock far]\npath = %s/far\nservers = 127.0.0.1:1\n' "$LOCK" >config
  run -0 --separate-stderr zkflock --config config --list --log-format json
  grep "servers of its own" <<<"$stderr" >log
  told log "$LOCK/far"
  run -64 zkflock --config config --list --log-format json "$LOCK" far
  printf '%s\n' "$output" >log
  told log "$LOCK/far"
  zk "$ONE" deny "$LOCK/closed" rcdwa
}

@test "json: wrong options remain text" {
  run -64 zkflock --log-format json -w soon "$LOCK" true
  assert_output "zkflock: -w takes a time such as 10, 0.5, 500ms or 5m, not 'soon'"
  run -64 zkflock --log-format yaml "$LOCK" true
  assert_output "zkflock: --log-format takes text or json, not 'yaml'"
}

@test "config files: log-format and log-syslog" {
  printf '[zkflock]\nlog-level = info\nlog-format = json\n' >config
  run -0 zkflock --config config "$LOCK" true
  printf '%s\n' "$output" >log
  run -0 told log "$LOCK"
  assert_line --partial "exit info 0"
  run -0 zkflock --config config --log-format text "$LOCK" true
  assert_line --regexp "^zkflock\[.*exit 0"
  printf '[zkflock]\nlog-syslog = yes\n' >config
  run -0 zkflock --config config --show-config
  assert_line --regexp '^log-syslog +"?= yes +# config:2$'
  run -0 zkflock --log-syslog --show-config
  assert_line --regexp '^log-syslog += yes +# command line$'
  printf '[zkflock]\nlog-syslog = on\n' >config
  run -78 zkflock --config config "$LOCK" true
  assert_output "zkflock: config:2: log-syslog takes yes or no, not 'on'"
}

# ---- what others wrote ----

@test "json: hostile names and bytes, and lines that are too long, stay valid and harmless" {
  for name in $'./\e[31m\xff\xc2\x9b"\\\n' "./$(printf '"%.0s' {1..5000})" \
    "./$(printf '\xf0\x9f\x94\x92%.0s' {1..2000})" "./$(printf '\xff%.0s' {1..5000})"; do
    run ! zkflock --log-format json "$LOCK" "$name"
    printf '%s\n' "$output" >log
    assert_equal "${#lines[@]}" 1
    run -0 told log "$LOCK"
    run ! zkflock "$LOCK" "$name"
    refute_regex "$output" '[[:cntrl:]]'
    assert_equal "${#lines[@]}" 1
  done
  run -127 zkflock --log-format json "$LOCK" $'./\e[31m\xff\xc2\x9b"\\\n'
  printf '%s\n' "$output" >log
  assert_equal "$(member log "" message)" 'command not found: ./\x1b[31m\xff\xc2\x9b"\\x0a'

  # Quotes, backslashes, other scripts, and so many of them that paths take all the room.
  for lock in "$LOCK/\"quoted\" \\u0000 ключ 鍵" "$LOCK/$(printf '"%.0s' {1..950})"; do
    run -0 --separate-stderr zkflock "${JSON[@]}" "$lock" true
    printf '%s\n' "$stderr" >log
    run -0 told log "$lock"
    assert_line --partial "acquired info 0"
    zkflock -v "$lock" true 2>log
    every_line log '^zkflock\['
  done

  zk "$ONE" create "$LOCK/c" ""
  zk "$ONE" create "$LOCK/c/\"x\\" ""
  zk "$ONE" create "$LOCK/c/lock-0000000000" $'\e]0;own\a"\n}'
  run -1 --separate-stderr zkflock "${JSON[@]}" -w 1 "$LOCK/c" true
  printf '%s\n' "$stderr" >log
  run -0 told log "$LOCK/c"
  assert_line --partial "queued info 0"
  zk "$ONE" delete "$LOCK/c/lock-0000000000"
  zk "$ONE" delete "$LOCK/c/\"x\\"
}

@test "json: a stderr that nobody reads holds nothing up" {
  mkfifo pipe
  # Both ends are the test's own; then the pipe is filled.
  exec 7<>pipe
  python3 -c '
import os
os.set_blocking(7, False)
try:
    while True:
        os.write(7, b"x")
except BlockingIOError:
    pass
os.set_blocking(7, True)'
  background -vv --log-format json "$LOCK" sh -c 'touch ran; exit 3' 2>&7
  eventually gone $!
  ends_with 3 $!
  assert_exist ran
  exec 7>&-
}
