# Shared locks: readers together, writers alone, first come first served.

load helper
load vanishing

# reader NAME / writer NAME: in the background, writes down when it starts; goes on until NAME.go.
reader() { contend --shared "$1"; }
writer() { contend --exclusive "$1"; }
contend() {
  background -v "$1" "$LOCK" sh -c 'echo "$1" >>started; until [ -e "$1.go" ]; do sleep 0.05; done' \
    sh "$2" 2>"log.$2"
}

queued() { eventually contains "log.$1" "waiting for"; }
started() { eventually grep -qx "$1" started; }

two_readers_and_a_waiting_writer() { # a and b hold, w waits
  reader a
  started a
  reader b
  started b
  writer w
  queued w
}

@test "readers hold the lock together, a writer alone" {
  two_readers_and_a_waiting_writer
  run -1 zkflock -n --exclusive "$LOCK" true
  touch a.go
  zk "$ONE" await-count "$LOCK" 2
  refute grep -q w started
  touch b.go
  started w
  run -1 zkflock -n --shared "$LOCK" true
  touch w.go
  wait
}

@test "a writer that waits is not overtaken by readers who come later" {
  reader a
  started a
  writer w
  queued w
  reader b
  queued b
  run -1 zkflock -n --shared "$LOCK" true
  refute grep -q b started
  touch a.go
  started w
  refute grep -q b started
  touch w.go b.go
  wait
  assert_equal "$(cat started)" $'a\nw\nb'
}

@test "a reader behind a waiting writer is told that it waits for a writer, and that the lock is shared" {
  reader a
  started a
  run -1 zkflock -n "$LOCK" true
  assert_output --regexp "^zkflock: $LOCK is busy: 1 ahead, held shared for [^ ]+ by "
  writer w
  queued w
  run -1 zkflock -n --shared "$LOCK" true
  assert_output --regexp "^zkflock: $LOCK is busy: 1 exclusive ahead, held shared for [^ ]+ by [^ ]+ pid [0-9]+: sh -c "
  touch a.go
  started w
  run -1 zkflock -n --shared "$LOCK" true
  assert_output --regexp "^zkflock: $LOCK is busy: 1 exclusive ahead, held for "
  touch w.go
  wait
}

@test "all readers behind a writer start when it has gone, those in front of one that gave up too" {
  writer w
  started w
  for i in 1 2 3; do
    reader "$i"
    queued "$i"
  done
  writer q
  quitter=$!
  queued q
  reader 4
  queued 4
  kill -TERM "$quitter"
  touch w.go
  for i in 1 2 3 4; do started "$i"; done
  touch 1.go 2.go 3.go 4.go
  wait
}

@test "a writer behind readers of which an early one leaves late waits for it" {
  # The last reader before it may leave first: that it held the lock does not mean that it was alone.
  two_readers_and_a_waiting_writer
  touch b.go
  zk "$ONE" await-count "$LOCK" 2
  reader c
  queued c
  refute grep -q w started
  touch a.go
  started w
  touch w.go c.go
  wait
}

@test "a writer behind readers that have waited themselves waits for all of them" {
  writer v
  started v
  for name in a b; do
    reader "$name"
    queued "$name"
  done
  listen
  background -z "$VIA" --exclusive "$LOCK" sh -c 'echo w >>started'
  local writer=$!
  eventually asked_for WATCH
  touch v.go
  started a
  started b
  # The last reader before it has marked itself as a holder, which does not mean that it is alone.
  eventually asked_for WATCH 2
  touch b.go
  eventually asked_for LIST 2
  refute grep -q w started
  touch a.go
  ends_with 0 "$writer"
  close_proxy
}

@test "no writer starves: readers and writers in turns, each gets its share" {
  echo 0 >counter
  for i in 1 2 3; do
    (for _ in $(seq 15); do
      zkflock --exclusive "$LOCK" sh -c 'n=$(cat counter); sleep 0.001; echo $((n + 1)) >counter'
    done) 3>&- 4>&- &
    (for _ in $(seq 15); do zkflock --shared "$LOCK" sh -c 'a=$(cat counter); b=$(cat counter); [ "$a" = "$b" ] || touch torn'; done) 3>&- 4>&- &
  done
  wait
  assert_equal "$(cat counter)" 45
  assert_not_exist torn
}

@test "default, -x and -s mix in one queue" {
  hold "$LOCK" release
  reader a
  queued a
  writer w
  queued w
  run -1 zkflock -n "$LOCK" true
  touch release
  started a
  touch a.go
  started w
  touch w.go
  wait
}

@test "tokens grow for every later exclusive holder, readers in between or not" {
  last=0
  for kind in --exclusive --shared --exclusive --shared --shared --exclusive; do
    run -0 zkflock "$kind" "$LOCK" printenv ZKFLOCK_TOKEN
    assert [ "$output" -gt "$last" ]
    last=$output
  done
}

@test "a reader that vanished is waited for by a writer, and by a reader" {
  short "$LOCK"
  for next in --exclusive --shared; do
    vanish "$LOCK" --shared
    run -0 zkflock -v "$next" "$LOCK" echo ran
    assert_output --partial "a contender vanished"
    run -0 zkflock -v --exclusive "$LOCK" echo ran
    refute_output --partial "a contender vanished"
  done
}

@test "names are those of the style that was asked for" {
  for wanted in 'curator::-lock-' 'curator:--exclusive:-__WRIT__' 'curator:--shared:-__READ__' \
    'kazoo::__lock__' 'kazoo:--shared:__rlock__' 'plain#x-1-::x-1-'; do
    IFS=: read -r style kind mark <<<"$wanted"
    # shellcheck disable=SC2086 # no kind is no argument
    run -0 zkflock --node-style "${style/\#/:}" $kind "$LOCK" printenv ZKFLOCK_NODE
    assert_output --regexp "^$LOCK/[^/]*${mark}[0-9]{10}\$"
  done
}

@test "a plain name: a znode whose create was not answered is given up with its session" {
  zkflock --lease 4 "$LOCK" true
  open_proxy reply 2
  run -0 zkflock --node-style plain:lock -z "$VIA" "$LOCK" echo ran
  assert_output ran
  close_proxy
}

@test "a plain name: the keeper is killed, and the place is free at once" {
  background --node-style plain:lock "$LOCK" sh -c 'touch ready; exec sleep 1000'
  eventually test -e ready
  kill -KILL $!
  zk "$ONE" await-count "$LOCK" 0 3
}

@test "a plain name that somebody has made by hand" {
  zk "$ONE" create "$LOCK/lock0000000001"
  run -78 timeout 10 zkflock --node-style plain:lock "$LOCK" touch ran
  assert_output "zkflock: the name of the next contender of $LOCK is that of a znode made by hand; delete it, or choose another --node-style"
  assert_not_exist ran
  zk "$ONE" delete "$LOCK/lock0000000001"
}

@test "styles that cannot be" {
  refuses 64 "--node-style takes curator, kazoo or plain:PREFIX, not 'ruby'" --node-style ruby "$LOCK" touch ran
  refuses 64 "the PREFIX '' of --node-style is empty" --node-style plain: "$LOCK" touch ran
  refuses 64 "the PREFIX 'a/b' of --node-style holds a slash" --node-style plain:a/b "$LOCK" touch ran
  # Two of these would hold it as readers do.
  for prefix in x__READ__ __rlock__ unfair__lock__-lock-; do
    refuses 64 "the PREFIX '$prefix' of --node-style is that of readers or of --unfair" \
      --node-style "plain:$prefix" "$LOCK" touch ran
  done
  refuses 64 "--shared does not go with --node-style plain, whose names do not tell readers from others; use curator or kazoo" \
    --shared --node-style plain:x "$LOCK" touch ran
}
