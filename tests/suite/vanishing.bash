# Helpers: let holders vanish, and measure how long the next contender waits.

readonly LEASE=4000
readonly START='cat /proc/uptime >"$0"'

# short LOCK...: create locks with a lease of 4 s.
short() {
  local lock
  for lock; do zk "$ONE" create "$lock" $'zkflock/1 base=0 lease=4000ms\n'; done
}

# vanish LOCK [ARG...]: let a holder crash; return when its znode is gone.
vanish() {
  local lock=$1
  shift
  background --session-timeout 1 "$@" "$lock" sh -c 'echo $ZKFLOCK_NODE >crashing; exec sleep 1000'
  local pid=$! since
  eventually test -s crashing
  since=$(now)
  crash "$pid"
  zk "$ONE" last-seen "$(cat crashing)" "$since" >"$BATS_TEST_TMPDIR/last-seen"
  rm crashing
}

# holds NAME ARG...: hold a lock in the background until NAME.go exists; its znode in NAME.held.
holds() {
  local name=$1
  shift
  background --session-timeout 20 "$@" sh -c \
    'echo $ZKFLOCK_NODE >"$0.held"; until [ -e "$0.go" ]; do sleep 0.05; done' "$name"
  echo $! >"pid.$name"
  eventually test -s "$name.held"
}

# prepare_crash NAME: start beforehand what crashes NAME runs, if that has to be quick.
prepare_crash() {
  mkfifo "$1.crash"
  zk "$ONE" vanish "$(cat "$1.held")" <"$1.crash" >"began.$1" 3>&- 4>&- &
  echo $! >"$1.vanisher"
}

# crashes NAME: let that holder crash and its znode go at once; note in began.NAME when it was last
# there.
crashes() {
  [ -p "$1.crash" ] || prepare_crash "$1"
  crash "$(cat "pid.$1")"
  echo >"$1.crash"
  ends_with 0 "$(cat "$1.vanisher")"
}

# follows NAME ARG...: run zkflock ARG... in the background; note the time in began.NAME.
follows() {
  local name=$1
  shift
  now >"began.$name"
  background -v "$@" sh -c "$START" "started.$name" 2>"log.$name"
  echo $! >"pid.$name"
}

# waited NAME [MS]: fail unless its command started at least MS after began.NAME.
waited() {
  ends_with 0 "$(cat "pid.$1")"
  later_by "${2:-$LEASE}" "$(cat "began.$1")" "$(when "started.$1")"
}

# starts_after NAME OTHER: fail unless NAME started a lease after OTHER was last there.
starts_after() {
  ends_with 0 "$(cat "pid.$1")"
  later_by "$LEASE" "$(cat "began.$2")" "$(when "started.$1")"
}

# tells NAME SECONDS: fail if it announced a wait of another length.
tells() { assert_regex "$(cat "log.$1")" "its command may run for ($2|$(($2 - 1))\.[0-9]+) s more"; }

# vanished_in PATH: print the number of vanished contenders that nobody has squared.
vanished_in() {
  local version cversion children base
  read -r version cversion children _ <<<"$(zk "$ONE" stat "$1")"
  base=$(zk "$ONE" get "$1" | sed -n 's/.* base=\([0-9]*\) .*/\1/p')
  echo $((((cversion - children) / 2 - version - base) & 0xffffffff))
}
