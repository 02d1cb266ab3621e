# --tls: which certificates prove who a server is, and which do not; what is sent before.

load helper
export KEY_KIND="ec -pkeyopt ec_paramgen_curve:P-256"
load keys
load certificates

CA=$'\nbasicConstraints=critical,CA:TRUE'

setup_file() {
  export KEYS=$BATS_FILE_TMPDIR/keys
  mkdir "$KEYS"
  authority ca
  authority other
  certificate server ca 30 "DNS:localhost,DNS:zk.example"
  certificate middle ca 30 "DNS:middle$CA"
  certificate below middle 30 DNS:localhost
  cat "$KEYS/below.both" "$KEYS/middle.pem" >"$KEYS/chain.both"
}

setup() {
  common_setup
  echo "127.0.0.1 localhost zk.example a.zk.example ab.zk.example a.b.zk.example" >hosts
  # What an administrator may allow all programs, for the sake of old servers.
  printf '%s\n' openssl_conf=all "[all]" ssl_conf=ssl "[ssl]" system_default=any "[any]" MinProtocol=TLSv1 \
    CipherString=DEFAULT:@SECLEVEL=0 >lenient.cnf
}

teardown() {
  [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}"
  [ -z "${proxy_pid:-}" ] || close_proxy
  "$TESTS_DIR/ensemble" stop "$BATS_TEST_TMPDIR/own" 2>/dev/null || true
  common_teardown
}

@test "a wildcard stands for one whole label" {
  certificate wild ca 30 "DNS:*.zk.example"
  certificate part ca 30 "DNS:a*.zk.example,DNS:*b.zk.example"
  behind wild
  accepted ab.zk.example
  show wild
  refused "hostname mismatch" a.b.zk.example
  refused "hostname mismatch" zk.example
  show part
  refused "hostname mismatch" ab.zk.example
  all_refused
}

@test "a name has to be a DNS name of subjectAltName: neither CN nor another kind counts" {
  certificate localhost ca 30 email:root@localhost
  certificate kinds ca 30 "URI:https://localhost/,IP:127.0.0.1,DNS:elsewhere.example"
  show localhost
  refused "hostname mismatch" localhost
  show kinds
  refused "hostname mismatch" localhost
  all_refused
}

@test "an address has to be an address of subjectAltName: no DNS name that looks like it counts" {
  certificate address ca 30 "IP:127.0.0.1,DNS:elsewhere.example"
  certificate alike ca 30 "DNS:127.0.0.1,DNS:*.0.0.1,IP:127.0.0.2"
  certificate 127.0.0.1 ca 30 email:root@localhost
  certificate six ca 30 IP:::1
  behind address
  accepted 127.0.0.1
  behind six ::1
  accepted "[::1]"
  show alike
  refused "IP address mismatch" 127.0.0.1
  show 127.0.0.1
  refused "IP address mismatch" 127.0.0.1
  all_refused
}

@test "several names of one server: one of them is enough, and beside a name the address does not count" {
  certificate address ca 30 IP:127.0.0.1
  behind server
  accepted "a.zk.example:$port,ab.zk.example:$port,zk.example"
  accepted "zk.example:$port,ab.zk.example:$port,127.0.0.1"
  serve
  refused "hostname mismatch" "a.zk.example:$port,ab.zk.example"
  show address
  refused "hostname mismatch" "127.0.0.1:$port,a.zk.example"
  all_refused
}

@test "a server is told by which name it was called, and shows the certificate of that name" {
  certificate first ca 30 DNS:elsewhere.example
  serve -cert "$KEYS/first.pem" -key "$KEYS/first.key" -servername zk.example \
    -cert2 "$KEYS/server.pem" -key2 "$KEYS/server.key"
  # It gets no answer.
  run -69 tls -z "zk.example:$port" --connect-timeout 4 "$LOCK" touch ran
  assert has_request got.0
  assert_not_exist ran
}

@test "dates: a certificate of tomorrow, and one below an authority that has expired" {
  certificate stale ca 0 "DNS:stale$CA"
  certificate under stale 30 DNS:localhost
  certificate later ca 30 DNS:localhost
  touch index
  openssl ca -batch -notext -config <(printf '%s\n' "[ca]" default_ca=own "[own]" database=index serial=serial policy=any \
    default_md=sha256 "[any]" commonName=supplied) -create_serial -in "$KEYS/later.csr" -outdir . -out "$KEYS/later.both" \
    -cert "$KEYS/ca.pem" -keyfile "$KEYS/ca.key" -startdate 20980101000000Z -enddate 20990101000000Z \
    -extfile <(echo subjectAltName=DNS:localhost) 2>/dev/null
  show later
  refused "certificate is not yet valid" localhost
  show under -cert_chain "$KEYS/stale.pem"
  refused "certificate has expired" localhost
  all_refused
}

@test "an intermediate authority: the server sends it, or --cacert has it" {
  behind chain
  accepted localhost
  behind below
  accepted localhost --cacert "$KEYS/middle.pem"
  show below
  refused "unable to get local issuer certificate" localhost
  all_refused
}

@test "--cacert: each authority in it counts, and none of the system's, which count without it alone" {
  cat "$KEYS/other.pem" "$KEYS/ca.pem" >several.pem
  behind server
  accepted localhost --cacert several.pem
  SSL_CERT_FILE=$KEYS/ca.pem run -0 zkflock -z "localhost:$port" --tls "$LOCK" echo ran
  assert_output ran
  serve
  SSL_CERT_FILE=$KEYS/ca.pem refused "unable to get local issuer certificate" localhost --cacert "$KEYS/other.pem"
  all_refused
}

@test "TLS 1.1, and a server without a certificate, whatever openssl.cnf allows" {
  local weak=DEFAULT:@SECLEVEL=0
  serve -tls1_1 -cipher "$weak"
  OPENSSL_CONF=$PWD/lenient.cnf refused "has no TLS 1.2 or later" localhost
  serve -tls1_1 -cipher "$weak"
  refused "has no TLS 1.2 or later" localhost
  serve -tls1_2 -nocert -cipher aNULL:@SECLEVEL=0
  OPENSSL_CONF=$PWD/lenient.cnf refused ": 127.0.0.1:$port has no cipher in common" localhost
  OPENSSL_CONF=$PWD/lenient.cnf refused ": 127.0.0.1:$port has no cipher in common" localhost --cert "$KEYS/server.both"
  # This one allows ciphers that need no certificate.
  sed s/DEFAULT:/ALL:/ lenient.cnf >anonymous.cnf
  serve -tls1_2 -nocert -cipher aNULL:@SECLEVEL=0
  OPENSSL_CONF=$PWD/anonymous.cnf refused "shows no certificate" localhost
  all_refused
}

@test "a client certificate below an intermediate authority is sent with that; one that has expired is refused" {
  local wants version
  certificate client middle 30 DNS:client
  certificate old ca 0 DNS:client
  cat "$KEYS/client.pem" "$KEYS/middle.pem" >client.pem
  ENSEMBLE_TLS="$KEYS/server.both need $KEYS/ca.pem" "$TESTS_DIR/ensemble" start "$BATS_TEST_TMPDIR/own"
  port=$(sed 's/.*://' "$BATS_TEST_TMPDIR/own/secure")
  accepted localhost --cert client.pem --key "$KEYS/client.key"
  refused "does not accept the certificate of --cert" localhost --cert "$KEYS/old.both"
  refused "does not accept the certificate of --cert" localhost --cert "$KEYS/client.both"
  wants=(-Verify 2 -verify_return_error -CAfile "$KEYS/ca.pem")
  for version in -tls1_2 -tls1_3; do
    serve "$version" "${wants[@]}"
    refused "does not accept the certificate of --cert: " localhost --cert "$KEYS/old.both"
  done
  serve -tls1_2 "${wants[@]}"
  refused "wants a client certificate; give --cert and --key" localhost
  serve -tls1_3 "${wants[@]}"
  refused "wants a client certificate; give --cert and --key" localhost
  all_refused
}

@test "nothing falls back to plain, however often TLS is refused" {
  setsid /usr/bin/python3 -uc 'import socket
server = socket.create_server(("127.0.0.1", 0))
print("ACCEPT:%d" % server.getsockname()[1])
while True:
    with server.accept()[0] as client:
        print(client.recv(65536).hex())' >got.0 3>&- 4>&- &
  servers+=($!)
  eventually grep -q ^ACCEPT got.0
  port=$(sed -n 's/^ACCEPT.*://p' got.0)
  refused "ended the connection in the TLS handshake" localhost --lease 4 --session-timeout 1
  all_refused
  # The beginning of TLS each time, if anything.
  assert [ "$(grep -c ^1603 got.0)" -ge 3 ]
  refute grep -v -e ^ACCEPT -e ^1603 -e '^$' got.0
}
