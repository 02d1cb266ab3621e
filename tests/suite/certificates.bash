# Servers that show certificates of $KEYS, for zkflock --tls; the test kills the processes in $servers.
servers=() tries=() texts=()

# tls ARG...: zkflock where the names in "hosts" are this machine's.
tls() {
  unshare -Urm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh \
    timeout -k 1 30 zkflock --tls --cacert "$KEYS/ca.pem" "$@"
}

# serve OPTION...: a server of openssl's with the certificate "server", if no other is given, which notes in
# "got.N" what comes within TLS; $port.
serve() {
  local got=got.${#servers[@]}
  setsid openssl s_server -accept 127.0.0.1:0 -cert "$KEYS/server.pem" -key "$KEYS/server.key" "$@" \
    <>"$SUITE_DIR/pause" >"$got" 2>&1 3>&- 4>&- &
  servers+=($!)
  eventually grep -q ^ACCEPT "$got"
  port=$(sed -n 's/^ACCEPT.*://p' "$got")
}

show() { serve -cert "$KEYS/$1.both" -key "$KEYS/$1.key" "${@:2}"; } # show CERTIFICATE [OPTION]...

# refused TEXT HOST [OPTION]...: begins to see whether the server is not used, and that is why.
refused() {
  local out=out.${#tries[@]} span status
  {
    # The second time only where this machine was too busy.
    for span in 4 20; do
      status=0
      tls -z "$2:$port" --connect-timeout "$span" "${@:3}" "$LOCK" touch ran >"$out" 2>&1 || status=$?
      contains "$out" "does not answer in the TLS handshake" || break
    done
    exit "$status"
  } 3>&- 4>&- &
  tries+=($!)
  texts+=("$1")
}

has_request() { [ "$(tr -dc '\0' <"$1" | wc -c)" -gt 0 ]; } # has_request FILE: it begins with a NUL

# all_refused: ends these; no server has got a request.
all_refused() {
  local i
  for i in "${!tries[@]}"; do
    ends_with 69 "${tries[i]}"
    contains "out.$i" "${texts[i]}" || fail "not '${texts[i]}': $(cat "out.$i")"
  done
  assert_not_exist ran
  for i in got.*; do refute has_request "$i"; done
}

# behind CERTIFICATE [ADDRESS]: the server of this lane, behind a proxy that shows that one; $port.
behind() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  PROXY_TLS=$KEYS/$1.both open_proxy none 0 "${@:2}"
}

accepted() { # accepted HOST [OPTION]...
  run -0 tls -z "$1:$port" "${@:2}" "$LOCK" echo ran
  assert_output ran
}
