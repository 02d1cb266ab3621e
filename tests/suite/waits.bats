# How long zkflock waits for a vanished holder, measured with CLOCK_BOOTTIME.

load helper
load vanishing

@test "the next contender waits a whole lease, of whatever kind it is" {
  for kind in --exclusive --shared --unfair -n '-w 0.1' '--node-style plain:x-'; do
    short "$LOCK/$kind"
    vanish "$LOCK/$kind"
    # shellcheck disable=SC2086 # two words
    follows "$kind" $kind "$LOCK/$kind"
  done
  for kind in --exclusive --shared --unfair -n '-w 0.1' '--node-style plain:x-'; do
    waited "$kind"
    tells "$kind" 4
  done
}

@test "the next contender waits a whole lease for a vanished holder of any kind" {
  for kind in --shared --unfair '--node-style plain:x-'; do
    short "$LOCK/$kind"
    # shellcheck disable=SC2086 # two words
    vanish "$LOCK/$kind" $kind
    follows "$kind" "$LOCK/$kind"
  done
  for kind in --shared --unfair '--node-style plain:x-'; do waited "$kind"; done
}

@test "a waiter starts a whole lease after its predecessor was last seen" {
  for kind in --exclusive --shared --unfair; do
    short "$LOCK/$kind"
    holds "holder$kind" "$LOCK/$kind"
    follows "$kind" "$kind" "$LOCK/$kind"
    eventually contains "log.$kind" "waiting for"
    crashes "holder$kind"
  done
  for kind in --exclusive --shared --unfair; do
    starts_after "$kind" "holder$kind"
    tells "$kind" 4
  done
}

@test "--permits: the next contender waits a whole lease when no permit is left" {
  zkflock --permits 2 --lease 4 "$LOCK/a" true
  zkflock --permits 2 --lease 4 "$LOCK/b" true
  # Both holders of a vanish; one holder of b vanishes while the other one holds.
  vanish "$LOCK/a" --permits 2
  vanish "$LOCK/a" --permits 2
  vanish "$LOCK/b" --permits 2
  background --permits 2 "$LOCK/b" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done'
  eventually test -e held
  follows a --permits 2 "$LOCK/a"
  follows b --permits 2 "$LOCK/b"
  waited a
  waited b
  tells a 4
  touch go
}

@test "the wait is a whole lease when the count is wrong or the record is read-only" {
  short "$LOCK/wrong" "$LOCK/forbidden"
  zk "$ONE" set "$LOCK/wrong" $'zkflock/1 base=0 lease=4000ms\n'
  vanish "$LOCK/forbidden"
  zk "$ONE" deny "$LOCK/forbidden" rcda
  follows wrong "$LOCK/wrong"
  follows forbidden "$LOCK/forbidden"
  waited wrong
  waited forbidden
  tells wrong 4
  zk "$ONE" deny "$LOCK/forbidden" rwcda
}

@test "the wait is the default lease when there is no record" {
  make_without_record "$LOCK/bare"
  make_without_record "$LOCK/forbidden"
  zk "$ONE" deny "$LOCK/forbidden" rcda
  # A lock may have stood where a semaphore is made.
  make_without_record "$LOCK/above"
  # There more contenders have been counted out than have left.
  make_without_record "$LOCK/overcounted"
  for _ in 1 2 3; do zk "$ONE" set "$LOCK/overcounted" ""; done
  follows bare "$LOCK/bare"
  follows forbidden "$LOCK/forbidden"
  follows above --permits 1 --lease 4 "$LOCK/above"
  follows overcounted --permits 1 --lease 4 "$LOCK/overcounted"
  PATIENCE=40 eventually test -s started.overcounted
  for name in bare forbidden above overcounted; do
    waited "$name" 15000
    tells "$name" 15
  done
  zk "$ONE" deny "$LOCK/forbidden" rwcda
}

@test "the wait is --lock-delay when that is longer" {
  short "$LOCK"
  vanish "$LOCK"
  follows longer --lock-delay 6 "$LOCK"
  waited longer 6000
  tells longer 6
}

@test "--remove waits a whole lease" {
  short "$LOCK"
  vanish "$LOCK"
  local began
  began=$(now)
  zkflock --remove -w 30 "$LOCK"
  later_by "$LEASE" "$began" "$(now)"
}

# The wait runs from the receipt of the answer: when zkflock sent the request, the holder may still have
# been there.
@test "the wait runs from the receipt of a late answer" {
  # zkflock accepts no proof older than a sixth of the lease.
  zk "$ONE" create "$LOCK" $'zkflock/1 base=0 lease=6000ms\n'
  vanish "$LOCK"
  listen late 1:0.6
  follows late -z "$VIA" --session-timeout 40 "$LOCK"
  ends_with 0 "$(cat pid.late)"
  tells late 6
  # JOIN brought the count; zkflock sends PROVE a lease later.
  answered=$(steps frames "$LOCK" -t JOIN | cut -d' ' -f3)
  proven=$(steps frames "$LOCK" -t PROVE | head -n 1 | cut -d' ' -f2)
  later_by 6000 "$answered" "$proven"
  close_proxy
}
