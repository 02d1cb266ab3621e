# zkflock(7): its examples are run as they stand there, and it has every message.

load helper

TOP=$BATS_TEST_DIRNAME/../..
MANUAL=$TOP/man/zkflock.7

setup() {
  common_setup
  # The examples' locks have the same names everywhere.
  zk "$ONE" create "$LOCK"
  export ZKFLOCK_SERVERS=$ONE$LOCK
}

example() { example_in "$MANUAL" "$1"; }

# sql STATEMENT [NAME=VALUE]...: in store.db; prints rows, or how many were changed.
sql() {
  python3 - "$@" <<'EOF'
import sqlite3, sys
with sqlite3.connect("store.db") as db:
    result = db.execute(sys.argv[1], dict(arg.split("=", 1) for arg in sys.argv[2:]))
    rows = result.fetchall()
    print(*rows if rows else [result.rowcount])
EOF
}

# A later holder's token, and an earlier one's.
with_token() { # with_token DIFFERENCE COMMAND...
  local difference=$1
  shift
  zkflock tokens sh -c 'd=$1; shift; ZKFLOCK_TOKEN=$((ZKFLOCK_TOKEN + d)) exec "$@"' - "$difference" "$@"
}

@test "manual: tokens grow" {
  example "For this, zkflock gives the command a number" | sed -n 's/^\$ //p' >session
  assert lines session 2
  run -0 sh session
  assert_equal "${#lines[@]}" 2
  assert [ "${lines[0]}" -lt "${lines[1]}" ]
}

@test "manual: a token in a database" {
  example "Add a column for the token" >create
  while IFS= read -r -d ';' statement; do run -0 sql "$statement"; done <create
  update=$(example "Add a condition to each statement")
  for write in "301 a 1" "305 b 1" "305 c 1" "301 d 0"; do
    read -r token body changed <<<"$write"
    run -0 sql "${update%;}" token="$token" body="$body"
    assert_output "$changed"
  done
  run -0 sql "SELECT body, token FROM report"
  assert_output "('c', 305)"
}

@test "manual: a token for a transaction" {
  run -0 sql "CREATE TABLE fence (name TEXT, token BIGINT)"
  run -0 sql "INSERT INTO fence VALUES ('prices', 0)"
  run -0 sql "CREATE TABLE prices (what TEXT, price INTEGER)"
  example "A run that writes many rows" >load
  chmod +x load
  printf 'tea 3\nmilk 2\n' >prices
  run -0 with_token 0 ./load
  run -0 with_token 1000000 ./load
  echo "old 1" >prices
  run -1 with_token 0 ./load
  assert_output "refused: a later holder was here"
  run -0 sql "SELECT * FROM prices"
  assert_output "('tea', 3) ('milk', 2)"
}

@test "manual: a token for files" {
  mkdir www bin
  example "A file system cannot compare tokens" >www/publish
  printf '#!/bin/sh\ncp "$2" "${3#www:}" && mv "${3#www:}" www/\n' >bin/scp
  printf '#!/bin/sh\ncd "$1" && shift && exec "$@"\n' >bin/ssh
  printf '#!/bin/sh\necho "$VERSION"\n' >build
  chmod +x www/publish bin/* build
  PATH=$PWD/bin:$PATH
  example "so the other hosts upload first" >upload
  VERSION=1 run -0 sh upload
  VERSION=2 run -0 sh upload
  run -0 cat www/site.tar
  assert_output 2
  # Too late; a token that cannot be read refuses too.
  for last in 9000000000000000000 ""; do
    echo "$last" >www/site.token
    VERSION=3 run sh upload
    assert_failure
    assert_output --partial "refused: a later holder was here"
    run -0 cat www/site.tar
    assert_output 2
  done
}

@test "manual: a token in an object store" {
  # Of the store only what the example uses: an ETag that is another one after each write.
  cat >aws <<'EOF'
#!/bin/sh
set -eu
case "$*" in
"s3api head-object --bucket site --key index.html --output text --query [ETag, Metadata.token]")
  cat object.head
  [ ! -e between ] || sh between
  ;;
"s3api put-object --bucket site --key index.html --body "*)
  shift 7
  [ "$3" = "$(cut -f1 object.head)" ] || { echo PreconditionFailed >&2; exit 254; }
  cp "$1" object
  shift 4
  printf '"%s"\t%s\n' "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')" "${1#token=}" >object.head
  ;;
*)
  echo "unknown: $*" >&2
  exit 252
  ;;
esac
EOF
  example "as S3 does by its" >put
  chmod +x aws put
  PATH=$PWD:$PATH
  printf '"etag"\t0\n' >object.head
  for version in 1 2 3 4 5; do echo "$version" >"index.$version"; done
  run -0 with_token 0 ./put index.1
  run -0 with_token 1000000 ./put index.2
  run -1 with_token 0 ./put index.3
  assert_output "refused: a later holder was here"
  echo 'rm between; ZKFLOCK_TOKEN=9000000000000000000 ./put index.5' >between
  run -254 with_token 2000000 ./put index.4
  assert_output PreconditionFailed
  assert_equal "$(cat object)" 5
}

@test "manual: every message is there" {
  mandoc -Tascii -Owidth=500 "$MANUAL" | col -bx | tr -s ' \n' ' ' >text
  # What is about the command line and the config files says itself what to do.
  find "$TOP/src" -name '*.c' -not -path "$TOP/src/cli/*" -not -path "$TOP/src/config/*" -exec \
    "$TESTS_DIR/tools/messages" {} + |
    grep -vE "^servers.c.('|a server's name|the chroot)" >messages
  assert [ "$(wc -l <messages)" -ge 100 ]
  # The manual may break off: the first piece that is more than a word or two, or its beginning.
  awk -F '\t' '{ text = ""
    for (i = NF; i > 1; i--) {
      gsub(/^[^a-zA-Z-]+|[^a-zA-Z]+$/, "", $i)
      if (length($i) >= 8 || length($i) >= length(text)) text = $i
    }
    print $1 "\t" substr(text, 1, 30) }' messages | sed 's/[^a-zA-Z]*$//' >pieces
  missing=
  while IFS=$'\t' read -r file piece; do
    grep -qF -- "$piece" text || missing+="$file: $piece"$'\n'
  done <pieces
  assert_equal "$missing" ""
}
