# Certificates for tests of TLS, in $KEYS; of keys of the kind $KEY_KIND, words for openssl req -newkey.
read -r -a key_kind <<<"${KEY_KIND:-rsa:2048}"

authority() { # authority NAME
  openssl req -x509 -newkey "${key_kind[@]}" -nodes -keyout "$KEYS/$1.key" -out "$KEYS/$1.pem" -days 30 \
    -subj "/CN=$1" 2>/dev/null
}

# certificate NAME AUTHORITY DAYS NAMES: NAME.pem, NAME.key, and both in one file; 0 DAYS: it has expired
# when this returns.
certificate() {
  openssl req -newkey "${key_kind[@]}" -nodes -keyout "$KEYS/$1.key" -out "$KEYS/$1.csr" -subj "/CN=$1" 2>/dev/null
  openssl x509 -req -in "$KEYS/$1.csr" -CA "$KEYS/$2.pem" -CAkey "$KEYS/$2.key" -CAcreateserial \
    -out "$KEYS/$1.pem" -days "$3" -extfile <(echo "subjectAltName=$4") 2>/dev/null
  cat "$KEYS/$1.key" "$KEYS/$1.pem" >"$KEYS/$1.both"
  chmod 600 "$KEYS/$1.key" "$KEYS/$1.both"
  if [ "$3" -eq 0 ]; then
    while openssl x509 -in "$KEYS/$1.pem" -checkend 0 >/dev/null; do pause 0.1; done
  fi
}
