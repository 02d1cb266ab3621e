# Holders that vanish, and how long the next one waits for them.

readonly LEASE=4000
readonly START='cat /proc/uptime >"$0"'

# short LOCK...: locks with a short lease, made before anybody vanishes from them.
short() {
  local lock
  for lock; do zk "$ONE" create "$lock" $'zkflock/1 base=0 lease=4000ms\n'; done
}

# vanish LOCK [ARG...]: one who holds it so, and is gone when this returns.
vanish() {
  local lock=$1
  shift
  background --session-timeout 1 "$@" "$lock" sh -c 'echo $ZKFLOCK_NODE >crashing; exec sleep 1000'
  local pid=$!
  eventually test -s crashing
  crash "$pid"
  zk "$ONE" last-seen "$(cat crashing)" >"$BATS_TEST_TMPDIR/last-seen"
  rm crashing
}

# follows NAME ARG...: runs zkflock ARG... in the background, which is to start a lease from now.
follows() {
  local name=$1
  shift
  now >"began.$name"
  background -v "$@" sh -c "$START" "started.$name" 2>"log.$name"
  echo $! >"pid.$name"
}

# waited NAME [MS]: it ran, and that long, a lease, after it began.
waited() {
  ends_with 0 "$(cat "pid.$1")"
  later_by "${2:-$LEASE}" "$(cat "began.$1")" "$(when "started.$1")"
}

# tells NAME SECONDS: what is said is no longer than that either.
tells() { assert_regex "$(cat "log.$1")" "its command may run for ($2|$(($2 - 1))\.[0-9]+) s more"; }

# vanished_in PATH: how many are not counted out, as the record and the Stat say.
vanished_in() {
  local version cversion children base
  read -r version cversion children _ <<<"$(zk "$ONE" stat "$1")"
  base=$(zk "$ONE" get "$1" | sed -n 's/.* base=\([0-9]*\) .*/\1/p')
  echo $((((cversion - children) / 2 - version - base) & 0xffffffff))
}
