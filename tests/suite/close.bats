# The end of the session: zkflock asks for it, and does not wait for it.

load helper

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

no_session() { [ "$(figure zk_global_sessions)" = 0 ]; }

@test "the server ends the session at once" {
  run -0 zkflock --session-timeout 60 "$LOCK" true
  eventually no_session
  run -1 zkflock --session-timeout 60 -n "$LOCK" zkflock --no-reentry -n "$LOCK" true
  eventually no_session
  run -0 zkflock --session-timeout 60 --permits 2 --with "$LOCK/b" "$LOCK/a" true
  eventually no_session
}

@test "zkflock has ended before the session has" {
  PROXY_OF=close listen hold-request 1
  run -3 zkflock -z "$VIA" "$LOCK" sh -c 'exit 3'
  proxy_strikes
  assert_equal "$(figure zk_global_sessions)" 1
  let_pass
  eventually no_session
}

@test "a hook that is slow keeps no session" {
  listen
  cat >slow <<'EOF'
#!/bin/sh
[ "$1" = acquired ] || until [ -e go ]; do sleep 0.05; done
EOF
  chmod +x slow
  background -z "$VIA" --hook ./slow "$LOCK" true
  eventually asked_for CLOSE
  eventually no_session
  assert [ -d "/proc/$!" ]
  touch go
  ends_with 0 $!
}

@test "with others in the queue the session ends a moment after the release" {
  listen
  background -z "$VIA" "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  wait_in_line log "$LOCK" true
  touch go
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  eventually asked_for CLOSE
  local released closed
  read -r _ _ released <<<"$(steps frames "$LOCK" -t LEAVE)"
  read -r _ closed _ <<<"$(steps frames "$LOCK" -t CLOSE)"
  later_by 4 "$released" "$closed"
}

@test "-vv reports no error at the end" {
  run -0 zkflock -vv "$LOCK" true
  refute_output --partial ZOO_ERROR
}
