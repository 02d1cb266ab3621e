# The table of rights in zkflock(7): each right that it names is needed, and no other one.

load helper

MANUAL=$BATS_TEST_DIRNAME/../../man/zkflock.7

# What is on the disk decides nothing here.
setup_file() { ENSEMBLE_JAVA=-Dzookeeper.forceSync=no "$TESTS_DIR/ensemble" start "$SUITE_DIR/rights"; }
teardown_file() { "$TESTS_DIR/ensemble" stop "$SUITE_DIR/rights"; }

setup() {
  common_setup
  ONE=$(cat "$SUITE_DIR/rights/servers")
  export ZKFLOCK_SERVERS=$ONE
  echo digest:ann:secret >ann
  chmod 600 ann
  tries=0
}

# All znodes are ann's, who has all rights on them; zkflock is nobody.
ann() { ZK_DIGEST=ann:secret zk "$ONE" "$@"; }

# Prints the table as OPERATION|ZNODE|RIGHTS, a line for each row.
table() {
  mandoc -Tascii -Owidth=120 "$MANUAL" | col -bx | awk '
    /^ *operation +znode +rights$/ { inside = 1; next }
    inside && /^$/ { exit }
    inside {
      fields = split($0, field, /  +/) # the first is empty: rows are indented
      if (fields == 4) operation = field[2]
      print operation "|" field[fields - 1] "|" field[fields]
    }'
}

rows_of() { table | grep "^$1|"; }

# ---- what is there before ----

# Each makes the lock $lock as ann; holder is the pid of its holder, if it has one.
nothing() { :; }
free_lock() { zkflock --auth-file ann "$lock" true; }
free_semaphore() { zkflock --auth-file ann --permits 2 "$lock" true; }
noted() { zkflock --auth-file ann --once-per 1h "$lock" true; }
old_lock() { ann create "$lock"; }
held() { hold "$lock" release --auth-file ann "$@"; }
held_shared() { held --shared; }
held_unfair() { held --unfair; }
permit_held() { held --permits 1; }

# ---- what is done ----

# waits ARG...: the holder releases the lock once this zkflock waits for it.
waits() {
  local waiter status=0
  background -v "$@" 2>waited
  waiter=$!
  eventually is_decided "$waiter"
  contains waited "waiting for" && touch release
  wait "$waiter" || status=$?
  cat waited >&2
  return "$status"
}
is_decided() { contains waited "waiting for" || gone "$1"; }

# gives_up ARG...: true if the lock is busy.
gives_up() {
  local status=0
  zkflock "$@" || status=$?
  [ "$status" -ne 1 ] || return 0
  return "$status"
}

# holds_for_script LOCK: into a file, because the zkflock of --hold lets go of a pipe.
holds_for_script() {
  local status=0
  sh -c 'zkflock --hold "$1" || exit; touch ran; zkflock --unlock "$1"' - "$1" 2>said || status=$?
  cat said
  return "$status"
}

lists_above() { zkflock --list "${1%/*}"; }

# watches LOCK: true if the lock was shown.
watches() {
  local watch status=0
  background --list --watch --json "$1" >shown 2>said
  watch=$!
  eventually has_shown "$watch"
  gone "$watch" || kill -TERM "$watch"
  wait "$watch" || status=$?
  cat shown said
  [ "$status" -ne 143 ] || return 0
  return "$status"
}
has_shown() { contains shown '"event":"held"' || gone "$1"; }

# ---- one try ----

# Prints the path of a znode of the table.
path_of() {
  case $1 in
  "the znode above") echo "${lock%/*}" ;;
  contender) sed -n 's/ .*//; /[0-9]\{10\}$/p' <<<"$tree" | head -n 1 ;;
  *) echo "${1/LOCK/$lock}" ;;
  esac
}

# Leaves the rights of the table to everybody, but for one of them; and no rights on other znodes.
restrict() { # restrict ROWS [ZNODE LETTER]
  local node operation znode rights words=()
  while read -r node _; do words+=("$node" ""); done <<<"$tree"
  while IFS='|' read -r operation znode rights; do
    [ "$znode" != "${2:-}" ] || rights=${rights//$3/}
    words+=("$(path_of "$znode")" "${rights//[()]/}")
  done <<<"$1"
  ann deny "${words[@]}"
}

# try PREPARE ROWS ZNODE LETTER COMMAND...: sets $status, $output, $before and $after, the znodes with
# their ACLs, $began and $ended, and $path, of ZNODE.  @ in COMMAND is the lock.
try() {
  tries=$((tries + 1))
  lock=$LOCK/$tries/l
  holder=
  rm -f ran release waited shown said
  ann create "${lock%/*}"
  "$1"
  set -- "${@//@/$lock}"
  tree=$(ann tree "${lock%/*}")
  path=$([ -z "$3" ] || path_of "$3")
  restrict "$2" "$3" "$4"
  before=$(ann tree "${lock%/*}")
  began=$(now)
  output=$("${@:5}" 2>&1) && status=0 || status=$?
  ended=$(now)
  after=$(ann tree "${lock%/*}")
  if [ -n "$holder" ]; then
    touch release
    wait "$holder" || true
  fi
}

name_of() { # name_of LETTER
  case $1 in c) echo CREATE ;; d) echo DELETE ;; r) echo READ ;; w) echo WRITE ;; a) echo ADMIN ;; esac
}

# sentence LETTER PATH: prints a pattern: what zkflock was to do to PATH, which takes that right.
sentence() {
  local right own above
  right=$(name_of "$1")
  own="its ACL does not give this client $right"
  above="the ACL of $2 does not give this client $right"
  case $1 in
  c) echo "not permitted to (create a znode in $2: $own|create $2/[^ /]+: $above)" ;;
  d) echo "not permitted to delete $2/[^ /]+: $above" ;;
  r) echo "not permitted to (read|list|watch) $2: $own" ;;
  w) echo "not permitted to write to $2: $own" ;;
  esac
}

# A right that is missing: 77 before any lease is over, one message, nothing is run, and nothing is left.
refused() { # refused LETTER
  assert_equal "$status" 77
  within 14000 "$began" "$ended"
  assert_regex "$output" "$(sentence "$1" "$path")($|"$'\n'")"
  assert_equal "$(grep -v "warning:" <<<"$output" | grep -c "not permitted to")" 1
  refute_regex "$output" "no zkflock"
  assert_not_exist ran
  assert_equal "$after" "$before"
}

# needed PREPARE OPERATION COMMAND...: COMMAND needs what the table says of OPERATION.
needed() {
  local rows operation znode rights letter
  rows=$(rows_of "$2") || fail "not in the table: $2"
  try "$1" "$rows" "" "" "${@:3}"
  assert_equal "$status" 0
  refute_regex "$output" "not permitted"
  [[ " ${*:3} " != *" touch ran "* ]] || assert_exist ran
  while IFS='|' read -r -u 9 operation znode rights; do
    for letter in $(tr -d '()' <<<"$rights" | fold -w 1); do
      echo "$operation without $(name_of "$letter") on $znode: ${*:3}"
      try "$1" "$rows" "$znode" "$letter" "${@:3}"
      if [[ $rights == *\(*$letter*\) ]]; then
        assert_equal "$status" 0
        assert_regex "$output" "not permitted|\"user\": ?null"
      else
        refused "$letter"
      fi
    done
  done 9<<<"$rows"
}

@test "rights: every operation of the table is tried" {
  table | cut -d '|' -f 1 | sort -u >named
  grep -o '^  needed [a-z_]* "[^"]*"' "$BATS_TEST_FILENAME" | cut -d '"' -f 2 | sort -u >tried
  run -0 diff named tried
  assert [ "$(wc -l <named)" -ge 15 ]
}

@test "rights: create a lock" {
  needed nothing "create a lock" zkflock @ touch ran
}

@test "rights: take a lock" {
  needed free_lock "take a lock" zkflock @ touch ran
}

@test "rights: take a lock, shared and unfair" {
  needed free_lock "take a lock" zkflock --shared @ touch ran
  needed free_lock "take a lock" zkflock --unfair @ touch ran
}

@test "rights: take a lock, for a script" {
  needed free_lock "take a lock" holds_for_script @
}

@test "rights: wait for a lock" {
  needed held "wait for a lock" waits @ touch ran
}

@test "rights: wait for a lock, shared and exclusive" {
  needed held "wait for a lock" waits --shared @ touch ran
  needed held_shared "wait for a lock" waits --exclusive @ touch ran
}

@test "rights: give up a lock that is busy" {
  needed held "wait for a lock" gives_up -n @ false
}

@test "rights: wait with --unfair" {
  needed held "wait with --unfair" waits --unfair @ touch ran
  needed held "wait with --unfair" gives_up --unfair -n @ false
}

@test "rights: create a semaphore" {
  needed nothing "create a semaphore" zkflock --permits 2 @ touch ran
}

@test "rights: take a permit" {
  needed free_semaphore "take a permit" zkflock --permits 2 @ touch ran
}

@test "rights: wait for a permit" {
  needed permit_held "wait for a permit" waits --permits 1 @ touch ran
}

@test "rights: --once-per" {
  needed free_lock "--once-per, first run" zkflock --once-per 1h @ touch ran
  needed noted "--once-per" zkflock --once-per 1h --now @ touch ran
}

@test "rights: --list" {
  needed held "--list" zkflock --list @
  needed held "--list" zkflock --list --json @
}

@test "rights: --list the root" {
  needed held "--list the root" lists_above @
}

@test "rights: --list --watch" {
  needed held "--list" watches @
}

@test "rights: --list a semaphore" {
  needed permit_held "--list a semaphore" zkflock --list @
}

@test "rights: --revoke" {
  needed held "--revoke" zkflock --revoke --yes @
  needed permit_held "--revoke a permit" zkflock --revoke --yes @
}

@test "rights: --break" {
  needed held "--break" zkflock --break --yes @
  needed permit_held "--break a permit" zkflock --break --yes @
}

@test "rights: --remove" {
  needed noted "--remove" zkflock --remove @
}

@test "rights: --remove a semaphore" {
  needed free_semaphore "--remove a semaphore" zkflock --remove @
}
