# --tls: connections that are encrypted, to servers that prove who they are.

load helper
load keys

ensemble() { "$TESTS_DIR/ensemble" "$1" "$BATS_TEST_TMPDIR/${own-own}" "${@:2}"; }

# Netty comes with ZooKeeper; the keys are made once for all tests of this file.
setup_file() {
  export KEYS=$BATS_FILE_TMPDIR/keys
  mkdir "$KEYS"
  authority ca
  authority other
  certificate server ca 30 "DNS:localhost,IP:127.0.0.1"
  certificate elsewhere ca 30 DNS:elsewhere.example
  certificate expired ca 0 "DNS:localhost,IP:127.0.0.1"
  certificate client ca 30 DNS:client
  certificate stranger other 30 DNS:client
}

# serve CERTIFICATE WANTED [N]: servers that show this one, and want none, want or need one of the
# client; $SECURE is their list.
serve() {
  ensemble stop 2>/dev/null || true
  ENSEMBLE_TLS="$KEYS/$1.both $2 $KEYS/ca.pem" ensemble start "${3-1}"
  SECURE=$(sed 's/127.0.0.1/localhost/g' "$BATS_TEST_TMPDIR/own/secure")
  PLAIN=$(cat "$BATS_TEST_TMPDIR/own/servers")
}

teardown() {
  ensemble stop
  common_teardown
}

tls() { zkflock -z "$SECURE" --tls --cacert "$KEYS/ca.pem" "$@"; }

# refused TEXT OPTION...: the server is not used, which is told, and nothing is made.
refused() {
  run -69 tls --connect-timeout 4 "${@:2}" "$LOCK" touch ran
  assert_output --partial "$1"
  assert_not_exist ran
}

@test "--tls: a lock is taken, waited for, listed and given back" {
  serve server none
  run -0 tls "$LOCK" printenv ZKFLOCK_TLS
  assert_output yes
  # Those inside are let in as this one is, also if a config file says otherwise.
  printf '[zkflock]\ntls = yes\n' >config
  ZKFLOCK_TLS=no run -0 zkflock --config config -z "$PLAIN" "$LOCK" printenv ZKFLOCK_TLS
  assert_output no
  printf '[zkflock]\ntls = yes\n[lock %s]\ntls = no\n' "$LOCK" >config
  run -0 zkflock --config config -z "$PLAIN" "$LOCK" printenv ZKFLOCK_TLS
  assert_output no
  background -z "$SECURE" --tls --cacert "$KEYS/ca.pem" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  local holder=$!
  eventually test -e held
  run -1 tls -n "$LOCK" true
  run -0 tls --list "$LOCK"
  assert_output --partial "holds"
  # The name of the server stands in the messages, not the port of the relay.
  run -0 tls -v "$LOCK.b" true
  assert_output --partial "connected to ${SECURE/localhost/127.0.0.1},"
  touch release
  ends_with 0 "$holder"
}

@test "--tls: a server that cannot prove who it is is not used" {
  serve elsewhere none
  refused "has a certificate that is not accepted: hostname mismatch, it is not for localhost"
  serve expired none
  refused "has a certificate that is not accepted: certificate has expired"
  serve server none
  refused "has a certificate that is not accepted: " --cacert "$KEYS/other.pem"
  SECURE=$PLAIN refused "ended the connection in the TLS handshake: it has no TLS at this port"
}

@test "--tls: a server that says nothing" {
  serve server none
  coproc SILENT { exec hostile silent 3>&-; }
  read -r -u "${SILENT[0]}" port
  SECURE=127.0.0.1:$port refused "does not answer in the TLS handshake"
  eval "exec ${SILENT[1]}>&-"
}

@test "--cert and --key: a server that wants to know who the client is" {
  serve server need
  refused "wants a client certificate; give --cert and --key"
  refused "does not accept the certificate of --cert" --cert "$KEYS/stranger.pem" --key "$KEYS/stranger.key"
  run -0 tls --cert "$KEYS/client.pem" --key "$KEYS/client.key" "$LOCK" echo ran
  assert_output ran
  # Others see less of the command of one who has an identity.
  run -0 tls --cert "$KEYS/client.both" "$LOCK" sh -c 'zkflock --list "$1" # a secret' sh "$LOCK"
  assert_output --regexp " sh$"
  refute_output --partial secret
  # It is the identity for ACLs.
  run -0 tls --cert "$KEYS/client.both" --acl creator "$LOCK.own" echo ran
  run -77 zkflock -z "$PLAIN" "$LOCK.own" touch ran
  assert_not_exist ran
}

@test "--cacert: the certificate of the server itself; a host name that ends with a dot" {
  serve server none
  run -0 zkflock -z "$SECURE" --tls --cacert "$KEYS/server.pem" "$LOCK" echo ran
  assert_output ran
  echo "127.0.0.1 localhost localhost." >hosts
  run -0 unshare -Urm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh \
    zkflock -z "${SECURE/localhost/localhost.}" --tls --cacert "$KEYS/ca.pem" "$LOCK" echo ran
  assert_output ran
}

@test "files that cannot be used, and options that do not go together" {
  serve server none
  chmod 644 "$KEYS/client.key"
  run -78 tls --cert "$KEYS/client.pem" --key "$KEYS/client.key" "$LOCK" touch ran
  assert_output --partial "client.key: others than its owner may read or write the private key in it; chmod go-rw"
  chmod 600 "$KEYS/client.key"
  run -78 tls --cert "$KEYS/client.pem" --key "$KEYS/server.key" "$LOCK" touch ran
  assert_output --partial "server.key: is not the private key of $KEYS/client.pem"
  run -78 tls --cacert nothing "$LOCK" touch ran
  assert_output --partial "$PWD/nothing: cannot be read: No such file or directory"
  mkfifo fifo
  run -78 timeout 9 zkflock -z "$SECURE" --tls --cacert fifo "$LOCK" touch ran
  assert_output --partial "$PWD/fifo: is no regular file"
  openssl rsa -aes256 -passout pass:secret -in "$KEYS/client.key" -out locked.key 2>/dev/null
  chmod 600 locked.key
  run -78 tls --cert "$KEYS/client.pem" --key locked.key "$LOCK" touch ran
  assert_output --partial "$PWD/locked.key: the private key has a pass phrase"
  openssl x509 -in "$KEYS/client.pem" -out bare.pem
  run -78 tls --cert bare.pem "$LOCK" touch ran
  assert_output --partial "; or give --key, if the private key is in another file"
  run -78 tls --cert "$KEYS/ca.key" --key "$KEYS/client.key" "$LOCK" touch ran
  assert_output --partial "$KEYS/ca.key: has no certificate in PEM for --cert: no start line"
  run -64 zkflock -z "$SECURE" --cacert "$KEYS/ca.pem" "$LOCK" touch ran
  assert_output --partial "--cacert, --cert and --key go with --tls alone"
  run -64 tls --key "$KEYS/client.key" "$LOCK" touch ran
  assert_output --partial "--key goes with --cert alone"
  assert_not_exist ran
}

@test "--tls: a server that is stopped is left, one that is killed is replaced, and the lock is kept" {
  serve server none 3
  background -v -z "$SECURE" --tls --cacert "$KEYS/ca.pem" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' 2>log
  local holder=$! at
  eventually test -e held
  at=$(at_server log)
  kill -STOP "$(cat "$BATS_TEST_TMPDIR/own/$at/pid")"
  eventually connected_times 2
  kill -CONT "$(cat "$BATS_TEST_TMPDIR/own/$at/pid")"
  eventually serves "$at" # or the next one would be killed without a majority
  at=$(at_server log)
  ensemble kill "$at"
  eventually connected_times 3
  touch release
  ends_with 0 "$holder"
  refute contains log lost
}

@test "--tls: the leader is killed while one holds and others wait: nobody loses lock or place" {
  serve server none 3
  local options=(-v -z "$SECURE" --tls --cacert "$KEYS/ca.pem") i waiters=()
  background "${options[@]}" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' 2>log
  local holder=$!
  eventually test -e held
  for i in 1 2 3; do
    background "${options[@]}" "$LOCK" sh -c 'echo "$1" >>served' sh "$i" 2>"log.$i"
    waiters+=($!)
    eventually grep -q "waiting for" "log.$i"
  done
  ensemble kill "$(ensemble leader)"
  eventually ensemble leader
  assert_not_exist served
  touch release
  ends_with 0 "$holder"
  for i in "${waiters[@]}"; do ends_with 0 "$i"; done
  assert_equal "$(cat served)" "$(seq 3)"
  refute grep -Eq "joining the queue|lost" log log.1 log.2 log.3
}

@test "--tls: why no server can be used is told by address, for the last one that was tried" {
  serve server none
  # No network but this one.
  run -69 unshare -Urn sh -c 'ip link set lo up && exec "$@"' sh \
    zkflock -z 203.0.113.1:2281 --tls --cacert "$KEYS/ca.pem" --connect-timeout 1 "$LOCK" touch ran
  assert_output --partial ": 203.0.113.1:2281 cannot be reached: Network is unreachable; check --servers (or "
  serve server none 3
  ensemble kill 1
  ensemble kill 2
  deadline=$((SECONDS + 60))
  # Others than the one without a majority are tried, too.
  for why in "closed the connection, as one does that has no majority" "cannot be reached: Connection refused"; do
    until
      run -69 tls --connect-timeout 1 "$LOCK" touch ran
      [[ $output =~ :\ 127\.0\.0\.1:[0-9]+\ $why.*\;\ check\ --servers ]]
    do
      [ $SECONDS -lt $deadline ] || fail "not '$why': $output"
    done
  done
  assert_not_exist ran
}

serves() { [ -n "$(ensemble mode "$1")" ]; }
connected_times() { [ "$(grep -c "connected to" log)" -ge "$1" ]; }

at_server() { # at_server LOG: the number of the server that was connected to last
  local port
  port=$(sed -n 's/.*connected to [^ ]*:\([0-9]*\),.*/\1/p' "$1" | tail -n 1)
  tr , '\n' <"$BATS_TEST_TMPDIR/own/secure" | grep -n ":$port\$" | cut -d: -f1
}

# held_through_slow_server: contact is lost while the lock is held, and the server then takes 1.4 s to go
# on with the session; fails if zkflock breaks that off.
held_through_slow_server() {
  local holder
  rm -f held release inner
  [ -p until ] || mkfifo until
  proxy "$ONE" reply 16 <until >inner 3>&- &
  exec 8>until
  eventually test -s inner
  PROXY_OF=connect PROXY_TLS=$KEYS/server.both ONE=127.0.0.1:$(head -n 1 inner) open_proxy late 2:1.4
  background -v -z "localhost:$port" --tls --cacert "$KEYS/ca.pem" --session-timeout 6 --lease 15 "$LOCK" \
    sh -c 'touch held; until [ -e release ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually connected_times 2
  touch release
  ends_with 0 "$holder"
  close_proxy
  exec 8>&-
  ! contains log "the server does not answer; trying again"
}

@test "--tls: after a loss of contact a busy server gets more time than without TLS" {
  # If this machine is busy too, it takes longer.
  held_through_slow_server || held_through_slow_server || held_through_slow_server
}

@test "--tls: the keeper is killed, and the guard gives the lock back" {
  serve server none
  background -z "$SECURE" --tls --cacert "$KEYS/ca.pem" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  local holder=$!
  eventually test -e held
  kill -KILL "$holder"
  run -0 tls -w 5 "$LOCK" echo ran
  assert_output ran
  # Each of several servers has names of its own.
  rm held
  background -z "$SECURE,127.0.0.1:1,127.0.0.2:2" --tls --cacert "$KEYS/ca.pem" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  kill -KILL "$holder"
  run -0 tls -w 5 "$LOCK" echo ran
  assert_output ran
}

@test "--tls: with hundreds of descriptors that somebody has left open" {
  serve server none
  run -0 bash -c 'ulimit -n 4096; for ((i = 0; i < 1200; i++)); do exec {fd}</dev/null; done; exec zkflock "$@"' - \
    -z "$SECURE" --tls --cacert "$KEYS/ca.pem" --connect-timeout 5 "$LOCK" echo ran
  assert_output ran
}

@test "--tls: nobody but zkflock itself gets through its port on loopback" {
  serve server none
  background -z "$SECURE" --tls --cacert "$KEYS/ca.pem" "$LOCK" sh -c 'touch held; until [ -e release ]; do sleep 0.05; done'
  local holder=$! port
  eventually test -e held
  port=$(ss -Htlnp | sed -n "s/.*127.0.0.1:\([0-9]*\) .*pid=$holder,.*/\1/p" | head -n 1)
  assert [ -n "$port" ]
  exec 8<>"/dev/tcp/127.0.0.1/$port"
  run ! read -r -t 5 -u 8 -N 1 _
  exec 8>&-
  touch release
  ends_with 0 "$holder"
}
