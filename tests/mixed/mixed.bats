# This version and 0.1.0 in one queue; make mixed sets $ZKFLOCK_OLD, the program of 0.1.0.

load ../suite/helper
load ../suite/vanishing
load ../suite/list

# Delayed requests may keep the session alive.
teardown() { common_teardown 10; }

readonly NEW_PATH=$PATH
readonly OLD_PATH=${ZKFLOCK_OLD%/*}:$PATH

# use old|new: zkflock is that version from now on.
use() {
  case $1 in
  old) PATH=$OLD_PATH ;;
  new) PATH=$NEW_PATH ;;
  *) fail "no such version: $1" ;;
  esac
}

# both_ways FUNCTION: call FUNCTION old new, then FUNCTION new old, each with a lock of its own in a
# directory of its own.
both_ways() {
  local lock=$LOCK
  for LOCK in "$lock/old-new" "$lock/new-old"; do
    mkdir "${LOCK##*/}"
    cd "${LOCK##*/}" || return 1
    if [ "${LOCK##*/}" = old-new ]; then "$1" old new; else "$1" new old; fi
    use new
    cd "$BATS_TEST_TMPDIR" || return 1
  done
  LOCK=$lock
}

# The judge: a file lock, of which zkflock knows nothing.  Status 99 where another command runs.
readonly ALONE=(flock -n -E 99 judge) TOGETHER=(flock -s -n -E 99 judge)

# The command of a crowd: loses increments, and notes an overlap, if another one runs.
crowded() {
  cat >increment <<'END'
#!/bin/sh
read -r n <counter
sleep 0.002
echo $((n + 1)) >counter
END
  chmod +x increment
  echo 0 >counter
}

# loop VERSION RUNS ARG...: run zkflock ARG... so many times in the background.
loop() {
  (
    use "$1"
    for _ in $(seq "$2"); do zkflock "${@:3}" || echo "status $?: $*" >>failures; done
  ) 3>&- 4>&- &
}

# all_counted PATH RUNS: fail unless so many contenders came and all were counted when they left.
all_counted() {
  run -0 zk "$ONE" stat "$1"
  assert_output --regexp "^$2 $((2 * $2)) 0 0 "
}

@test "it is 0.1.0 that stands in the queue, and not this version" {
  refute cmp -s "$ZKFLOCK_OLD" "$ZKFLOCK_BUILD/zkflock"
  use old
  run -0 zkflock --version
  assert_output "zkflock 0.1.0"
  run -64 zkflock --deadline 1 "$LOCK" true
  use new
  run -0 zkflock --deadline 10 "$LOCK" true
}

in_order() {
  use "$1"
  hold "$LOCK" release
  for i in 1 2 3 4 5 6; do
    use "$1"
    [ $((i % 2)) = 0 ] || use "$2"
    wait_in_line "log.$i" "$LOCK" "${ALONE[@]}" sh -c 'echo "$1" >>served' sh "$i"
  done
  touch release
  wait
  assert_equal "$(cat served)" "$(seq 6)"
  all_counted "$LOCK" 7
}

@test "an exclusive lock is served in the order of arrival" { both_ways in_order; }

@test "160 increments by loops of both versions, at three servers: none lost, no overlap" {
  need_three
  crowded
  for server in ${THREE//,/ }; do
    loop old 20 -z "$server" "$LOCK" "${ALONE[@]}" ./increment
    loop new 20 -z "$server" "$LOCK" "${ALONE[@]}" ./increment
  done
  loop old 20 -z "$THREE" "$LOCK" "${ALONE[@]}" ./increment
  loop new 20 -z "$THREE" "$LOCK" "${ALONE[@]}" ./increment
  wait
  assert_not_exist failures
  assert_equal "$(cat counter)" 160
  zk "$THREE" await-count "$LOCK" 0
  run -0 zk "$THREE" stat "$LOCK"
  assert_output --regexp "^160 320 0 0 "
}

@test "loops of both versions, exclusive, shared and unfair: no increment lost, no overlap" {
  crowded
  for version in old new; do
    loop "$version" 15 "$LOCK" "${ALONE[@]}" ./increment
    loop "$version" 15 --unfair "$LOCK" "${ALONE[@]}" ./increment
    loop "$version" 15 --shared "$LOCK" "${TOGETHER[@]}" sleep 0.002
    loop "$version" 15 --shared "$LOCK" "${TOGETHER[@]}" sleep 0.002
  done
  wait
  assert_not_exist failures
  assert_equal "$(cat counter)" 60
  nothing_left_of "$LOCK"
  # Also the one of --unfair that had to go away again.
  assert_equal "$(vanished_in "$LOCK")" 0
}

shared_and_exclusive() {
  use "$1"
  holds a -s "$LOCK" "${TOGETHER[@]}"
  use "$2"
  holds b -s "$LOCK" "${TOGETHER[@]}" # beside the other one
  use "$1"
  run -1 zkflock -n "$LOCK" true
  wait_in_line writer "$LOCK" "${ALONE[@]}" sh -c 'echo writer >>served'
  use "$2"
  run -1 zkflock -s -n "$LOCK" true # not past the writer
  wait_in_line reader -s "$LOCK" "${TOGETHER[@]}" sh -c 'echo reader >>served'
  touch a.go
  ends_with 0 "$(cat pid.a)"
  zk "$ONE" await-count "$LOCK" 3
  assert_not_exist served
  touch b.go
  wait
  assert_equal "$(cat served)" $'writer\nreader'
  assert_equal "$(vanished_in "$LOCK")" 0
}

@test "shared locks are held together, and exclude exclusive ones" { both_ways shared_and_exclusive; }

permits() {
  use "$1"
  holds a --permits 2 "$LOCK"
  use "$2"
  holds b --permits 2 "$LOCK"
  for version in old new; do
    use "$version"
    run -1 zkflock -n --permits 2 "$LOCK" true
    run -78 zkflock -n --permits 3 "$LOCK" true
  done
  use "$1"
  wait_in_line log.c --permits 2 "$LOCK" sh -c 'echo c >>served'
  use "$2"
  background --permits 2 "$LOCK" sh -c 'echo d >>served' # behind c, for the turn
  zk "$ONE" await-count "$LOCK/locks" 2
  assert_not_exist served
  touch b.go
  ends_with 0 "$(cat pid.b)"
  eventually test -e served
  eventually lines served 2
  touch a.go
  wait
  assert_equal "$(cat served)" $'c\nd'
  assert_equal "$(vanished_in "$LOCK/leases")" 0
  for version in old new; do
    use "$version"
    run -78 zkflock "$LOCK" true
  done
}

@test "permits are counted together" { both_ways permits; }

@test "--permits 3: never more than three of six loops of both versions at once" {
  mkdir inside
  cat >enter <<'END'
#!/bin/sh
touch "inside/$$"
[ "$(ls inside | wc -l)" -le 3 ] || touch too-many
sleep 0.02
rm "inside/$$"
END
  chmod +x enter
  for version in old new old new old new; do loop "$version" 8 --permits 3 "$LOCK" ./enter; done
  wait
  assert_not_exist failures
  assert_not_exist too-many
  assert_equal "$(vanished_in "$LOCK/leases")" 0
}

unfair() {
  use "$1"
  holds a --unfair "$LOCK" "${ALONE[@]}"
  use "$2"
  run -1 zkflock -n "$LOCK" true
  run -1 zkflock -n --unfair "$LOCK" true
  wait_in_line log.fair "$LOCK" "${ALONE[@]}" true
  touch a.go
  ends_with 0 "$waiter"
  holds b "$LOCK" "${ALONE[@]}"
  use "$1"
  run -1 zkflock -n --unfair "$LOCK" true
  wait_in_line log.unfair --unfair "$LOCK" "${ALONE[@]}" true
  touch b.go
  ends_with 0 "$waiter"
  wait
  assert_equal "$(vanished_in "$LOCK")" 0
}

@test "--unfair and the queue keep out each other" { both_ways unfair; }

@test "--with: sets of both versions, a semaphore among them, do not wait for each other for ever" {
  crowded
  # A '-' comes before the '/' of the semaphore's own znodes.
  for version in old new; do
    loop "$version" 15 --with "$LOCK/b" --with "$LOCK/c" "$LOCK/a" "${ALONE[@]}" ./increment
    loop "$version" 15 --with "$LOCK/a" --with "$LOCK/b" "$LOCK/c" "${ALONE[@]}" ./increment
    loop "$version" 15 -w 20 --with "$LOCK/pool-x" --with "$LOCK/pool/x" --permits 1 "$LOCK/pool" true
  done
  wait
  assert_not_exist failures
  assert_equal "$(cat counter)" 60
  for lock in a b c pool-x pool/x; do assert_equal "$(vanished_in "$LOCK/$lock")" 0; done
}

once_per() {
  use "$1"
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ran
  use "$2"
  run -9 zkflock --once-per 1h --skip-exit-code 9 "$LOCK" echo ran
  assert_output ""
  run -0 "$ZKFLOCK_BUILD/zkflock" --list "$LOCK"
  assert_output --partial "last success"
  zk "$ONE" set "$LOCK.once" $'zkflock-once/1 began=1\n' # long ago
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ran
  use "$1"
  run -9 zkflock --once-per 1h --skip-exit-code 9 "$LOCK" echo ran
}

@test "--once-per: a run of one version counts for the other" { both_ways once_per; }

# Holders of all kinds crash, one after the other.
vanished() {
  local name names=(exclusive shared unfair permit set)
  declare -A first_of=([exclusive]="$LOCK/x" [shared]="-s $LOCK/s" [unfair]="--unfair $LOCK/u"
    [permit]="--permits 1 $LOCK/p" [set]="--with $LOCK/w $LOCK/v")
  declare -A next_of=([exclusive]="$LOCK/x" [shared]="$LOCK/s" [unfair]="--unfair $LOCK/u"
    [permit]="--permits 1 $LOCK/p" [set]="$LOCK/w")
  for name in "${names[@]}"; do
    use "$1"
    # shellcheck disable=SC2086 # words
    holds "$name" --session-timeout 1 --lease 4 ${first_of[$name]}
    use "$2"
    # shellcheck disable=SC2086 # words
    follows "next.$name" ${next_of[$name]}
    eventually contains "log.next.$name" "waiting for"
    prepare_crash "$name"
  done
  for name in "${names[@]}"; do crashes "$name"; done
  for name in "${names[@]}"; do
    starts_after "next.$name" "$name"
    assert contains "log.next.$name" "a contender vanished"
  done
  # The other version knows that the wait is over.
  use "$1"
  for name in "${names[@]}"; do
    # shellcheck disable=SC2086 # words
    run -0 zkflock -v ${next_of[$name]} true
    refute_output --partial vanished
    touch "$name.go"
  done
  wait
}

@test "a holder is killed with its guard: the other version waits for the lease" { both_ways vanished; }

keeper_killed() {
  use "$1"
  holds a "$LOCK"
  use "$2"
  wait_in_line log "$LOCK" true
  kill -KILL "$(cat pid.a)" # without a terminal this is the keeper
  ends_with 0 "$waiter"
  assert lacks log vanished
  assert_equal "$(vanished_in "$LOCK")" 0
  wait
}

@test "a keeper is killed: its guard releases the lock, and nobody waits" { both_ways keeper_killed; }

# The holder asks for a longer lease than the record says, which the other version wrote.
cut_off() {
  use "$2"
  zkflock --lease 5 "$LOCK" true
  open_proxy
  use "$1"
  background -v -z "$VIA" --lease 30 --session-timeout 2 "$LOCK" "${ALONE[@]}" sh -c \
    'touch held; exec sleep 1000' 2>log
  holder=$!
  eventually test -e held
  use "$2"
  wait_in_line log.next --lease 20 "$LOCK" "${ALONE[@]}" true
  kill -STOP "$proxy_pid"
  ends_with 0 "$waiter"
  ends_with 75 "$holder"
  for file in log log.next; do assert grep -qE "has a lease of 5 ?s, which is used here" "$file"; done
  close_proxy
  assert_equal "$(zk "$ONE" get "$LOCK")" "zkflock/1 base=0 lease=5000ms"
}

@test "a holder that is cut off ends within the lease of the record, before the other version starts" {
  both_ways cut_off
}

@test "a record that one version writes into another client's lock counts for the other" {
  make_without_record "$LOCK/a"
  make_without_record "$LOCK/b"
  use old
  follows a --lease 4 "$LOCK/a"
  eventually contains log.a "earlier holders are not known"
  wait_in_line log.behind.a "$LOCK/a" true
  use new
  wait_in_line log.new.a "$LOCK/a" true
  follows b "$LOCK/b"
  eventually contains log.b "earlier holders are not known"
  use old
  wait_in_line log.behind.b "$LOCK/b" true
  waited a
  waited b 15000
  wait
  assert_regex "$(zk "$ONE" get "$LOCK/a")" '^zkflock/1 base=[0-9]+ lease=4000ms$'
  assert_regex "$(zk "$ONE" get "$LOCK/b")" '^zkflock/1 base=[0-9]+ lease=15000ms$'
  for log in behind.a new.a behind.b; do
    assert lacks "log.$log" "its command may run for"
  done
  for lock in a b; do assert_equal "$(vanished_in "$LOCK/$lock")" 0; done
}

lists() {
  use "$1"
  holder ann "$LOCK/plain"
  pids=$!
  waiter ben "$LOCK/plain"
  pids+=", $waiter"
  holder dan -s "$LOCK/read"
  holder gus --permits 2 "$LOCK/pool"
  holder hal --unfair "$LOCK/fast"
  use "$2"
  waiter cat "$LOCK/plain"
  pids+=", $waiter"
  host=$(hostname)
  for version in old new; do
    use "$version"
    run -0 zkflock --list "$LOCK"
    assert_regex "$(row "$LOCK/plain")" "^$LOCK/plain held exclusive ann@$host [0-9]+ [0-9]+s 2 sh -c touch"
    assert_regex "$(row "$LOCK/read")" "^$LOCK/read held shared dan@$host [0-9]+ [0-9]+s 0 sh -c touch"
    assert_regex "$(row "$LOCK/pool")" "^$LOCK/pool held permits 1/2 gus@$host [0-9]+ [0-9]+s 0 sh -c touch"
    assert_regex "$(row "$LOCK/fast")" "^$LOCK/fast held unfair hal@$host [0-9]+ [0-9]+s 0 sh -c touch"
    run -0 zkflock --list --json "$LOCK/plain"
    assert_equal "$(json 'd["locks"][0]["lease_ms"]')" 15000
    assert_equal "$(json '[c["pid"] for c in d["locks"][0]["holders"] + d["locks"][0]["waiting"]]')" "[$pids]"
    assert_equal "$(json '[c["command"] for c in d["locks"][0]["waiting"]]')" "['true', 'true']"
  done
  end_all ann.go dan.go gus.go hal.go
}

@test "--list shows holders and waiters of both versions with pid and command" { both_ways lists; }

# patient NAME ARG...: hold a lock until it is asked for, then clean up and exit with 7.
patient() {
  background -v "${@:2}" bash -c 'trap "echo cleaned >$0.cleaned; exit 7" TERM; echo $$ >$0.held
    while :; do sleep 0.05; done' "$1" 2>"$1.log"
  holder=$!
  eventually test -s "$1.held"
}

revoked() {
  local kind name
  for kind in -x -s --unfair "--permits 1"; do
    name=${kind// /}
    use "$1"
    # shellcheck disable=SC2086 # words
    patient "a$name" $kind "$LOCK/$name"
    use "$2"
    run -0 timeout 40 setsid -w zkflock --revoke --yes "$LOCK/$name"
    ends_with 7 "$holder"
    assert_exist "a$name.cleaned"
    assert grep -qE "SIGTERM: $LOCK/$name is asked for by .* zkflock --revoke" "a$name.log"
    # shellcheck disable=SC2086 # words
    run -0 zkflock -v $kind "$LOCK/$name" true
    refute_output --partial vanished
  done
}

@test "--revoke: a holder of the other version hears it and releases the lock" { both_ways revoked; }

broken() {
  short "$LOCK"
  use "$1"
  background "$LOCK" "${ALONE[@]}" sh -c 'touch held; exec sleep 1000' 2>log
  holder=$!
  eventually test -e held
  use "$2"
  run -0 timeout 40 setsid -w zkflock --break --yes "$LOCK"
  assert_output --partial "$LOCK was taken away from"
  since=$(now)
  run -0 zkflock -v "$LOCK" "${ALONE[@]}" true
  later_by 3900 "$since" "$(now)"
  assert_output --partial "a contender vanished"
  ends_with 75 "$holder"
}

@test "--break: a holder of the other version loses the lock, and the next one waits for it" { both_ways broken; }

removed() {
  use "$1"
  holds a "$LOCK/a"
  zkflock --permits 2 "$LOCK/b" true
  zkflock --once-per 1h "$LOCK/c" true
  use "$2"
  run -1 zkflock --remove "$LOCK/a"
  assert_output --partial "in use, by"
  touch a.go
  ends_with 0 "$(cat pid.a)"
  for lock in a b c; do run -0 zkflock --remove "$LOCK/$lock"; done
  nothing_left_of "$LOCK"
  # Whoever makes it anew decides on the lease.
  zkflock --lease 7 "$LOCK/a" true
  use "$1"
  run -0 zkflock "$LOCK/a" true
  assert_output ""
  assert_equal "$(zk "$ONE" get "$LOCK/a")" "zkflock/1 base=0 lease=7000ms"
}

@test "--remove: a lock that the other version uses stays, and a free one goes" { both_ways removed; }

@test "inside a command of 0.1.0 its lock is used; the other way round 0.1.0 does not wait for itself" {
  use old
  run -0 zkflock "$LOCK" "$ZKFLOCK_BUILD/zkflock" -v "$LOCK" echo ran
  assert_line ran
  assert_output --partial "$LOCK is held by the zkflock around this one"
  # 0.1.0 does not notice for which process this one asks.
  run -0 zkflock "$LOCK" "$ZKFLOCK_BUILD/zkflock" -F "$LOCK" echo ran
  assert_output ran
  run -64 zkflock -s "$LOCK" "$ZKFLOCK_BUILD/zkflock" "$LOCK" echo ran
  use new
  run -64 zkflock "$LOCK" "$ZKFLOCK_OLD" "$LOCK" echo ran
  assert_output --partial "$LOCK is held by the zkflock around this one"
  run -0 zkflock "$LOCK" "$ZKFLOCK_OLD" "$LOCK.other" echo ran
  assert_output ran
}

held_by_script() {
  export LOCK
  cat >script <<'END'
zkflock --hold --for $$ "$LOCK" || exit
touch script.held
until [ -e script.go ]; do sleep 0.05; done
PATH=$OTHER_PATH zkflock --unlock "$LOCK" && exit 99
zkflock --unlock "$LOCK" || exit
END
  use "$2"
  export OTHER_PATH=$PATH
  use "$1"
  setsid bash script 2>log 3>&- 4>&- &
  script=$!
  eventually test -e script.held
  use "$2"
  wait_in_line log.next "$LOCK" true
  touch script.go
  ends_with 0 "$script"
  assert contains log "$LOCK is not held for this script: there is nothing to unlock"
  ends_with 0 "$waiter"
  assert lacks log.next vanished
}

@test "--hold keeps out the other version, whose --unlock says that it finds no such lock" { both_ways held_by_script; }

@test "0.1.0 stands in one queue with a client that has credentials, and only sees a lock with an ACL" {
  printf 'digest:ann:secret\n' >ann
  chmod 600 ann
  use old
  zkflock "$LOCK" true
  hold "$LOCK" release
  use new
  wait_in_line log.1 --auth-file ann "$LOCK" sh -c 'echo 1 >>served'
  use old
  wait_in_line log.2 "$LOCK" sh -c 'echo 2 >>served'
  use new
  wait_in_line log.3 --auth-file ann "$LOCK" sh -c 'echo 3 >>served'
  touch release
  wait
  assert_equal "$(cat served)" "$(seq 3)"
  all_counted "$LOCK" 5

  holder ann --auth-file ann --acl creator-read "$LOCK.acl"
  use old
  run -77 zkflock "$LOCK.acl" touch ran
  assert_not_exist ran
  run -0 zkflock --list "$LOCK.acl"
  assert_line --regexp "^holds +ann@$(hostname) +[0-9]+ +exclusive +[0-9]+s +sh"
  end_all ann.go
}
