# The requests of each step and their order.  The models in tests/model describe the program only as
# long as it sends what tests/model/requests says.

load helper
load vanishing

# zkflock leaves a server after a sixth of the lease without an answer: longer than a test needs.
setup() {
  common_setup
  zkflock --lease 60 "$LOCK" true
}

# use_short_lease: take a lock with a lease of 4 s instead.
use_short_lease() {
  LOCK=$LOCK.short
  short "$LOCK"
}

# asks ARG...: run zkflock ARG... in the background through a proxy that logs its requests.
asks() {
  listen none 0
  background -z "$VIA" --session-timeout 40 "$@"
  asker=$!
}

# asks_holding OPERATION N ARG...: the same, but the proxy holds the answer to the Nth request of that kind.
asks_holding() {
  PROXY_OF=$1 listen hold-reply "$2"
  shift 2
  background -z "$VIA" --session-timeout 40 "$@"
  asker=$!
}

# in_one_flight STEP [TIMES]: fail unless zkflock sends all requests of STEP while the proxy holds the first
# answer.
in_one_flight() {
  proxy_strikes
  eventually asked_for "$@"
  let_pass
}

# zkflock does not wait until the server has got its last message.
ends_session() { steps frames "$LOCK" ${BY:+"$BY"} | grep -qx CLOSE; }

# steps_are STEP...: fail unless zkflock took these steps, not counting those that depend on how long
# it holds the lock; on connection $BY, if that is set.
steps_are() {
  local steps
  [[ $* != *CLOSE ]] || eventually ends_session
  steps=$(steps frames "$LOCK" ${BY:+"$BY"} |
    grep -vx -e PROBE -e WATCH_OWN -e MARK -e ANNOUNCE -e PROOF -e PROOF_CLAIMED | tr '\n' ' ')
  assert_equal "${steps% }" "$*"
}

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

@test "a free lock: zkflock asks for all in one flight" {
  asks_holding create 1 "$LOCK" true
  in_one_flight JOIN
  ends_with 0 "$asker"
  steps_are JOIN LEAVE CLOSE
}

# Has zkflock ask for the ACL of each lock.
with_credentials() {
  echo digest:ann:secret >ann
  chmod 600 ann
  export ZKFLOCK_AUTH_FILE=$PWD/ann
  unset ZKFLOCK_SERVERS # whose credentials these would be
}

@test "with credentials: zkflock asks for the ACL of the lock first, and once" {
  with_credentials
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are ASK_ACL JOIN LEAVE CLOSE
  close_proxy
  LOCK=$LOCK/new
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are ASK_ACL MAKE_PARENTS JOIN LEAVE CLOSE
}

@test "with credentials: a semaphore that is refused: zkflock has made nothing below it" {
  with_credentials
  asks --permits 1 "$LOCK" touch ran
  ends_with 78 "$asker"
  LOCK=$LOCK/locks steps_are ASK_ACL_BELOW CLOSE
  run -1 zk "$ONE" stat "$LOCK/locks"
  assert_not_exist ran
}

@test "with credentials: the answer about the ACL is lost" {
  with_credentials
  PROXY_OF=acl listen lose-reply 1
  background -z "$VIA" --session-timeout 40 "$LOCK" true
  asker=$!
  proxy_strikes
  let_pass
  ends_with 0 "$asker"
  steps_are ASK_ACL ASK_ACL JOIN LEAVE CLOSE
}

@test "with credentials: the lock is another one when zkflock joins" {
  with_credentials
  PROXY_OF=create listen hold-request 1
  # shellcheck disable=SC2016 # for the shell inside
  background -z "$VIA" --session-timeout 40 --acl creator "$LOCK" sh -c 'zk "$0" acl "$ZKFLOCK_NODE" >acl' "$ONE"
  asker=$!
  proxy_strikes
  zkflock -z "$ONE" --remove "$LOCK"
  zkflock -z "$ONE" --lease 60 --acl world:anyone:rwcd,world:anyone:a "$LOCK" true
  let_pass
  ends_with 0 "$asker"
  steps_are ASK_ACL JOIN LEAVE ASK_ACL JOIN LEAVE CLOSE
  assert contains acl "world:anyone:rwcd,world:anyone:a"
}

@test "with credentials: the lock did not exist, and another client makes it first" {
  with_credentials
  LOCK=$LOCK/new
  PROXY_OF=create listen hold-request 1
  # shellcheck disable=SC2016
  background -z "$VIA" --session-timeout 40 --acl creator "$LOCK" sh -c 'zk "$0" acl "$ZKFLOCK_NODE" >acl' "$ONE"
  asker=$!
  proxy_strikes
  ZKFLOCK_AUTH_FILE='' zkflock -z "$ONE" --lease 60 "$LOCK" true
  let_pass
  ends_with 0 "$asker"
  steps_are ASK_ACL MAKE_PARENTS ASK_ACL JOIN LEAVE CLOSE
  assert contains acl "world:anyone:rwcda"
}

# listen_behind OPERATION ARG...: listen to hold the first create, through another proxy that strikes
# such an operation.
listen_behind() {
  mkfifo stdin
  PROXY_OF=$1 proxy "$ONE" "${@:2}" <stdin >port 3>&- &
  exec {behind}>stdin
  eventually test -s port
  ONE=127.0.0.1:$(head -n 1 port) PROXY_OF=create listen hold-request 1
}

# makes_another_lock: while the create is held, $LOCK is made again with another ACL; then its contender
# has that.
makes_another_lock() {
  # shellcheck disable=SC2016
  background -z "$VIA" --session-timeout 40 --acl creator "$LOCK" sh -c 'zk "$0" acl "$ZKFLOCK_NODE" >acl' "$ONE"
  asker=$!
  proxy_strikes
  zkflock -z "$ONE" --remove "$LOCK"
  zkflock -z "$ONE" --lease 60 --acl world:anyone:rwcd,world:anyone:a "$LOCK" true
  let_pass
  ends_with 0 "$asker"
  exec {behind}>&-
  assert contains acl "world:anyone:rwcd,world:anyone:a"
}

@test "with credentials: the lock is another one, and others leave it meanwhile" {
  with_credentials
  listen_behind multi refuse 1-1:-103
  makes_another_lock
  steps_are ASK_ACL JOIN LEAVE LIST LEAVE ASK_ACL JOIN LEAVE CLOSE
}

@test "with credentials: the lock is another one, and the answer to the create is lost" {
  with_credentials
  listen_behind create reply 1
  makes_another_lock
  steps_are ASK_ACL JOIN FIND LIST LEAVE ASK_ACL JOIN LEAVE CLOSE
}

@test "a lock that does not exist" {
  LOCK=$LOCK/new
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN MAKE_PARENTS JOIN LEAVE CLOSE
}

@test "a held lock: zkflock watches its znode and proves by writes" {
  use_short_lease
  asks "$LOCK" sleep 2
  ends_with 0 "$asker"
  steps_are JOIN LEAVE CLOSE
  assert_equal "$(steps frames "$LOCK" | grep -cx WATCH_OWN)" 1
  assert asked_for PROOF 2
}

@test "a held lock: how often zkflock proves does not depend on --kill-after" {
  use_short_lease
  asks --kill-after 0 "$LOCK" sleep 2
  ends_with 0 "$asker"
  assert asked_for PROOF 2
  # Every 667 ms.
  refute asked_for PROOF 20
}

@test "a held lock: behind a lost connection zkflock proves at once" {
  LOCK=$LOCK/new
  # JOIN reads once without a lock, once with one; the third read is the one that watches the own znode.
  PROXY_OF="get" listen reply 3
  background -z "$VIA" --lease 300 "$LOCK" sh -c 'until [ -e go ]; do sleep 0.05; done'
  asker=$!
  proxy_strikes
  # The next one would be due after 50 s.
  eventually asked_for PROOF
  touch go
  ends_with 0 "$asker"
}

@test "--with: while zkflock waits for a lock it watches its znode in the one that it has" {
  hold "$LOCK/b" first --lease 300
  asks --lease 300 --with "$LOCK/b" "$LOCK/a" true # nothing else comes before PATIENCE is over
  LOCK=$LOCK/a eventually asked_for WATCH_OWN
  touch first
  wait "$holder"
  ends_with 0 "$asker"
}

watches_its_predecessor_alone() { # watches_its_predecessor_alone [OPTION]: one that holds by it
  hold "$LOCK" first
  asks_holding get 11 "$@" "$LOCK" sh -c 'touch b; until [ -e b.go ]; do sleep 0.05; done'
  local b=$asker
  eventually asked_for WATCH
  background -z "$VIA" "$LOCK" true
  BY=2 eventually asked_for WATCH
  eventually proved_early
  touch first
  wait "$holder"
  BY=1 in_one_flight CENSUS
  eventually test -e b
  BY=2 eventually asked_for WATCH 2
  BY=2 eventually asked_for PROOF
  touch b.go
  ends_with 0 "$b"
  ends_with 0 $!
  # Behind the holder itself it needs no second look.
  BY=1 steps_are JOIN LIST WATCH CENSUS LEAVE CLOSE
  # Its predecessor marked itself as the holder meanwhile.
  BY=2 steps_are JOIN LIST WATCH WATCH CENSUS LEAVE CLOSE
}

@test "in the queue: zkflock watches its predecessor alone and proves before it holds" {
  watches_its_predecessor_alone
}

@test "in the queue: zkflock watches a predecessor with -x alone, and needs no list when that leaves" {
  watches_its_predecessor_alone -x
}

@test "in the queue: zkflock that loses its connection reads its predecessor again, for the server may be another" {
  hold "$LOCK" release
  PROXY_OF=ping listen lose-reply 1
  background -z "$VIA" --session-timeout 6 "$LOCK" true
  asker=$!
  proxy_strikes
  let_pass
  BY=2 eventually asked_for WATCH
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$asker"
}

@test "in the queue: zkflock proves again when somebody had written to its znode before the first proof" {
  hold "$LOCK" release
  asks --shared "$LOCK" true # it proves nothing ahead of time
  eventually asked_for WATCH
  zk "$ONE" set "$LOCK/$(zk "$ONE" ls "$LOCK" | tail -n 1)" $'zkflock/1 waiting\n'
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH PROVE LIST PROVE LEAVE CLOSE
}

@test "in the queue: the mark of a predecessor to which somebody has written since does not count" {
  hold "$LOCK" first
  wait_in_line log "$LOCK" sh -c 'touch a; until [ -e a.go ]; do sleep 0.05; done'
  PROXY_OF="get" listen hold-request 8
  background -z "$VIA" --session-timeout 40 "$LOCK" true
  asker=$!
  eventually asked_for WATCH
  touch first
  eventually test -e a
  eventually asked_for WATCH 2
  zk "$ONE" set "$LOCK/$(zk "$ONE" ls "$LOCK" | head -n 1)" whatever
  proxy_strikes
  touch a.go
  ends_with 0 "$waiter"
  let_pass
  ends_with 0 "$asker"
  ends_with 0 "$holder"
  steps_are JOIN LIST WATCH WATCH WATCH LIST PROVE LEAVE CLOSE
}

@test "in the queue: zkflock lists again when a waiter in front of it gives up" {
  hold "$LOCK" first
  local first=$holder
  wait_in_line log "$LOCK" true
  asks_holding children 1 "$LOCK" true
  in_one_flight LIST
  eventually asked_for WATCH
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  eventually asked_for WATCH 2
  eventually proved_early
  touch first
  wait "$first"
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH LIST WATCH CENSUS LEAVE CLOSE
}

@test "in the queue: zkflock looks again when its predecessor leaves while it sets its watch" {
  hold "$LOCK" first
  # JOIN and LIST read three times; the fourth read sets the watch, the fifth, behind it, reads the lock.
  PROXY_OF="get" listen hold-request 5
  background -z "$VIA" "$LOCK" true
  asker=$!
  proxy_strikes
  touch first
  wait "$holder"
  let_pass
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH WATCH PROVE LEAVE CLOSE
}

# long_lease: a lock with so long a lease that zkflock does not leave a proxy that holds messages.
long_lease() {
  LOCK=$LOCK/long
  zkflock --lease 120 "$LOCK" true
}

@test "in the queue: zkflock looks again, once, when its predecessor changes while it sets its watch" {
  long_lease
  hold "$LOCK" first
  PROXY_OF="get" listen hold-request 5
  background -z "$VIA" "$LOCK" true
  asker=$!
  proxy_strikes
  zk "$ONE" set "$LOCK/$(zk "$ONE" ls "$LOCK" | head -n 1)" changed
  let_pass
  eventually asked_for WATCH 2
  eventually proved_early
  touch first
  ends_with 0 "$holder"
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH WATCH CENSUS LEAVE CLOSE
}

@test "in the queue: zkflock proves when all in front of it have left before it lists again" {
  long_lease
  hold "$LOCK" first
  wait_in_line log "$LOCK" true
  PROXY_OF="children" listen hold-request 2
  background -z "$VIA" "$LOCK" true
  asker=$!
  eventually asked_for WATCH
  kill -TERM "$waiter"
  ends_with 143 "$waiter"
  proxy_strikes
  touch first
  ends_with 0 "$holder"
  let_pass
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH LIST PROVE LEAVE CLOSE
}

@test "--permits: zkflock counts again when permits change hands while it sets its watch" {
  LOCK=$LOCK/many
  zkflock --permits 1 --lease 60 "$LOCK" true
  background --permits 1 "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done'
  local holder=$!
  eventually test -e held
  LOCK=$LOCK/leases
  # Each JOIN reads twice; the fifth read is the one behind the list that watches.
  PROXY_OF="get" listen hold-request 5
  background -z "$VIA" --lock-delay 0 --permits 1 "${LOCK%/leases}" true
  asker=$!
  proxy_strikes
  touch go
  wait "$holder"
  others "$LOCK" _c_0123456789abcdef0123456789abcdef-lease- 1
  let_pass
  eventually asked_for COUNT 2
  others_end
  ends_with 0 "$asker"
  steps_are ABOVE JOIN_BELOW COUNT COUNT COUNT PROVE LEAVE CLOSE
}

@test "behind a predecessor that stays long: zkflock verifies it by a write" {
  use_short_lease
  hold "$LOCK" first
  asks --shared "$LOCK" true
  eventually asked_for VERIFY
  eventually asked_for WATCH 2
  touch first
  wait "$holder"
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH VERIFY WATCH PROVE LEAVE CLOSE
  # After two leases, not three.
  local watched verified
  read -r _ watched _ < <(steps frames "$LOCK" -t WATCH)
  read -r _ verified _ < <(steps frames "$LOCK" -t VERIFY)
  later_by 7000 "$watched" "$verified"
  later_by 0 "$verified" $((watched + 12000))
}

@test "--permits: zkflock that is the first of too many has nobody to verify, and asks for nothing" {
  LOCK=$LOCK/many
  zk "$ONE" create "$LOCK/locks" $'zkflock/1 base=0 lease=120000ms\n'
  LOCK=$LOCK/leases
  zk "$ONE" create "$LOCK" $'zkflock/1 base=0 lease=4000ms permits=1\n'
  # The turn reads twice; the third read is the one behind the permit's create.
  PROXY_OF="get" listen hold-request 3
  background -z "$VIA" --lease 120 --lock-delay 0 --permits 1 "${LOCK%/leases}" true
  asker=$!
  proxy_strikes
  zk "$ONE" await-count "$LOCK" 1
  others "$LOCK" _c_0123456789abcdef0123456789abcdef-lease- 2
  let_pass
  eventually asked_for COUNT
  # Two leases.
  local since
  since=$(now)
  over() { [ "$(now)" -gt $((since + 8500)) ]; }
  eventually over
  assert asked_for LIST
  refute asked_for COUNT 2
  others_end
  ends_with 0 "$asker"
  refute asked_for VERIFY
}

@test "after a vanished holder: zkflock proves behind the wait, then squares in one transaction" {
  use_short_lease
  vanish "$LOCK"
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN TELL_WAITING PROVE SQUARE LEAVE CLOSE
}

@test "behind a predecessor that vanishes: zkflock proves, marked as the holder, before it waits and behind it" {
  use_short_lease
  holds first "$LOCK"
  asks --shared "$LOCK" true
  eventually asked_for WATCH
  crashes first
  ends_with 0 "$asker"
  steps_are JOIN LIST WATCH PROVE TELL_SETTLING PROVE SQUARE LEAVE CLOSE
}

@test "after two vanished holders: zkflock squares both in one transaction" {
  use_short_lease
  for name in a b; do holds "$name" --shared "$LOCK"; done
  for name in a b; do crashes "$name"; done
  asks "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN TELL_WAITING PROVE SQUARE_TWO LEAVE CLOSE
}

@test "a lock without a record: zkflock writes it in one transaction with its own mark" {
  zk "$ONE" create "$LOCK/bare"
  LOCK=$LOCK/bare
  asks --lock-delay 0 "$LOCK" true
  ends_with 0 "$asker"
  steps_are JOIN ADOPT LEAVE CLOSE
}

@test "a lock without a record that zkflock may not write: it asks before it waits" {
  make_without_record "$LOCK/bare"
  LOCK=$LOCK/bare
  zk "$ONE" deny "$LOCK" rcda
  asks --lease 25 "$LOCK" true
  ends_with 78 "$asker"
  # It tries to count its departure, and may not.
  steps_are JOIN ASK_WRITE READ_VERSION LEAVE_BARE READ_VERSION LEAVE_UNCOUNTED CLOSE
  zk "$ONE" deny "$LOCK" rwcda
}

@test "a lock without a record that zkflock may write: it asks once, then waits" {
  make_without_record "$LOCK/bare"
  LOCK=$LOCK/bare
  asks --lease 25 "$LOCK" true
  eventually asked_for TELL_WAITING
  kill -TERM "$asker"
  ends_with 143 "$asker"
  steps_are JOIN ASK_WRITE TELL_WAITING READ_VERSION LEAVE_BARE CLOSE
}

@test "a lost answer to the create: zkflock lists behind a sync" {
  PROXY_OF=create listen lose-reply 1
  background -z "$VIA" --session-timeout 40 "$LOCK" true
  asker=$!
  in_one_flight JOIN
  ends_with 0 "$asker"
  steps_are JOIN FIND LIST PROVE LEAVE CLOSE
}

@test "a lock that others leave all the time: at last zkflock leaves whatever the version is" {
  PROXY_OF=multi listen refuse 1-5:-103
  run -0 zkflock -z "$VIA" "$LOCK" true
  local again="READ_VERSION LEAVE"
  # shellcheck disable=SC2086 # two steps
  steps_are JOIN LEAVE $again $again $again $again READ_VERSION LEAVE_AT_LAST CLOSE
}

# With a GUID and a record zkflock would leave at any version by then, see LEAVE_AT_LAST.
@test "a name without a GUID: zkflock leaves at the version that it read" {
  PROXY_OF=multi listen refuse 1-6:-103
  run -0 zkflock -z "$VIA" --node-style plain:x- "$LOCK" true
  local again="CLAIM LEAVE"
  # shellcheck disable=SC2086 # two steps
  steps_are JOIN $again $again $again $again $again $again $again CLOSE
}

@test "a lock without a record: zkflock leaves at the version that it read" {
  make_without_record "$LOCK/bare"
  LOCK=$LOCK/bare
  PROXY_OF=multi listen refuse 1-6:-103
  background -z "$VIA" --session-timeout 40 "$LOCK" true
  asker=$!
  eventually asked_for TELL_WAITING
  kill -TERM "$asker"
  ends_with 143 "$asker"
  local again="READ_VERSION LEAVE_BARE"
  # shellcheck disable=SC2086 # two steps
  steps_are JOIN TELL_WAITING $again $again $again $again $again $again $again CLOSE
}

@test "a lock without a record: a waiter leaves at the version that it read" {
  zk "$ONE" create "$LOCK/bare"
  LOCK=$LOCK/bare
  others "$LOCK" lock- 1
  PROXY_OF=multi listen refuse 1-6:-103
  run -1 zkflock -z "$VIA" -n "$LOCK" true
  others_end
  # Nothing that somebody writes there meanwhile is lost.
  assert asked_for LEAVE_BARE 7
}

@test "a name without a GUID: zkflock checks the owner with each proof and before it deletes" {
  use_short_lease
  asks --node-style plain:x- "$LOCK" sleep 1.5
  ends_with 0 "$asker"
  steps_are JOIN CLAIM LEAVE CLOSE
  assert asked_for PROOF_CLAIMED
  refute grep -qx PROOF <(steps frames "$LOCK")
}

@test "a name without a GUID: zkflock asks for the owner in one flight with the version" {
  asks_holding get 3 --node-style plain:x- "$LOCK" sh -c 'until [ -e go ]; do sleep 0.05; done'
  eventually asked_for WATCH_OWN
  touch go
  in_one_flight CLAIM
  ends_with 0 "$asker"
}

@test "a semaphore: zkflock takes a turn, then a permit" {
  LOCK=$LOCK/many
  zkflock --permits 1 --lease 60 "$LOCK" true
  background --permits 1 "$LOCK" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done'
  eventually test -e held
  asks_holding children 3 --permits 1 "$LOCK" true
  LOCK=$LOCK/leases in_one_flight COUNT
  LOCK=$LOCK/locks eventually asked_for WATCH_OWN
  touch go
  ends_with 0 "$asker"
  LOCK=$LOCK/leases
  # The first one is part of the turn's JOIN.
  steps_are ABOVE JOIN_BELOW COUNT COUNT PROVE LEAVE CLOSE
  LOCK=${LOCK%leases}locks
  steps_are JOIN_BELOW ABOVE LEAVE_UNCOUNTED CLOSE
}

@test "a semaphore that is refused: zkflock leaves what it has made to those who have come" {
  LOCK=$LOCK/many
  # One create to join, five to make the parents; the next one joins.
  PROXY_OF=create listen hold-request 7
  background -z "$VIA" --lease 120 --permits 1 "$LOCK" touch ran 2>log
  asker=$!
  proxy_strikes
  zk "$ONE" set "$LOCK" $'zkflock/1 base=0 lease=4000ms\n'
  others "$LOCK/locks" x- 1
  let_pass
  eventually gone "$asker"
  ends_with 78 "$asker"
  assert_equal "$(cat log)" "zkflock: $LOCK is a lock without permits; leave out --permits, or choose another LOCK, or take that one away with --remove"
  LOCK=$LOCK/locks
  zk "$ONE" await-count "$LOCK" 1
  others_end
  steps_are JOIN_BELOW MAKE_TURN JOIN_BELOW REMOVE LEAVE_UNCOUNTED CLOSE
}

@test "--unfair: zkflock backs off, counted, when it finds another contender" {
  hold "$LOCK" first
  asks_holding get 4 --unfair "$LOCK" true
  in_one_flight WATCH
  touch first
  wait "$holder"
  ends_with 0 "$asker"
  # The name does not tell the owner.
  steps_are JOIN LIST LEAVE WATCH JOIN CLAIM LEAVE CLOSE
}

@test "a killed keeper: the guard leaves until it finds nothing behind a write" {
  asks_holding multi 1 "$LOCK" sleep 1000
  eventually asked_for WATCH_OWN
  kill -KILL "$asker"
  in_one_flight SWEEP
  zk "$ONE" await-count "$LOCK" 0
  eventually asked_for CLOSE
  steps_are JOIN SWEEP LEAVE SWEEP CLOSE
}

@test "--remove: zkflock deletes its own znode and the lock in one transaction" {
  use_short_lease
  vanish "$LOCK"
  asks --remove -w 30 "$LOCK"
  ends_with 0 "$asker"
  # It also reads who is there and which znodes belong to the lock.
  run -0 grep -vx -e READ_VERSION -e '\[.*\]' <(steps frames "$LOCK")
  assert_output $'JOIN\nTELL_WAITING\nPROVE\nSQUARE\nREMOVE\nCLOSE'
}

@test "the models have the steps that the table names" {
  run -0 sed -n 's/^[A-Z].*# //p' "$TESTS_DIR/model/requests"
  for place in "${lines[@]//, /$'\n'}"; do
    while read -r file names; do
      for name in $names; do
        assert grep -qE "^($name:|(proctype|#define) $name\b)" "$TESTS_DIR/model/$file"
      done
    done <<<"$place"
  done
}
