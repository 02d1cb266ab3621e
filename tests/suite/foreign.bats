# --list: contenders of other clients, and znodes that belong to no session.

load helper
load list

@test "--list: contenders of other clients show what is known of them" {
  others "$LOCK/java" _c_0123456789abcdef0123456789abcdef-lock- 2 10.1.2.3
  run -0 zkflock --list "$LOCK"
  assert_regex "$(row "$LOCK/java")" "^$LOCK/java held exclusive 10.1.2.3 [0-9]+s 1 \(unknown\)$"
  run -0 zkflock --list "$LOCK/java"
  assert_line --index 1 "held, exclusive, 1 waiting"
  assert_line --index 3 --regexp "^holds +10.1.2.3 session 0x[0-9a-f]+ +exclusive +[0-9]+s  \(unknown\)$"
  assert_line --index 4 --regexp "^1 +10.1.2.3 session 0x"
  run -0 zkflock --list --json "$LOCK/java"
  assert_equal "$(json '[d["locks"][0]["holders"][0][k] for k in ("user", "host", "pid", "command", "version", "address")]')" \
    "[None, None, None, None, None, '10.1.2.3']"
  others_end
  others "$LOCK/python" 0123456789abcdef0123456789abcdef__rlock__ 2 "job 17 at worker"
  run -0 zkflock --list "$LOCK"
  assert_regex "$(row "$LOCK/python")" "^$LOCK/python held shared x2 session 0x[0-9a-f]+ [0-9]+s 0 \(unknown\)$"
  others_end
  zk "$ONE" create "$LOCK/nobody/x-0000000007"
  run -0 zkflock --list "$LOCK/nobody"
  assert_line --index 3 --regexp "^holds +persistent +exclusive "
  zk "$ONE" delete "$LOCK/nobody/x-0000000007"
}

@test "a persistent copy of a zkflock's znode is no zkflock: --list, --revoke, --break" {
  local copy=$LOCK/copy/_c_0123456789abcdef0123456789abcdef-lock-0000000000
  hold "$LOCK/lock" release
  zk "$ONE" create "$copy" "$(zk "$ONE" get "$LOCK/lock/$(zk "$ONE" ls "$LOCK/lock")")"
  touch release
  ends_with 0 "$holder"
  run -0 zkflock --list "$LOCK/copy"
  assert_line --index 3 --regexp "^holds +persistent +exclusive +[0-9]+s  \(unknown\)$"
  run -0 zkflock --list "$LOCK"
  assert_regex "$(row "$LOCK/copy")" "^$LOCK/copy held exclusive persistent [0-9]+s 0 \(unknown\)$"
  run -0 zkflock --list --json "$LOCK/copy"
  assert_equal "$(json '[d["locks"][0]["holders"][0][k] for k in ("user", "host", "pid", "command", "version", "session")]')" \
    "[None, None, None, None, None, None]"
  run -0 setsid -w zkflock --revoke --yes -n "$LOCK/copy"
  assert_line --index 0 "zkflock: warning: $LOCK/copy is held by ${copy##*/}, a persistent znode: no client reacts to the request; --break takes the lock away"
  run -0 setsid -w zkflock --break --yes "$LOCK/copy"
  assert_line --index 0 "zkflock: $LOCK/copy was taken away from ${copy##*/}, a persistent znode"
}

@test "--list: a semaphore of Curator's" {
  zk "$ONE" create "$LOCK/locks"
  others "$LOCK/leases" _c_0123456789abcdef0123456789abcdef-lease- 3 10.1.2.3
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "held, permits 3, 0 waiting"
  others_end
}

@test "--list: a Semaphore of kazoo's, and a lock that is named like a holder of one" {
  zkflock --permits 3 "$LOCK/pool" true
  coproc PERMIT { exec zk "$ONE" create-kind ephemeral "$LOCK/pool/0123456789abcdef0123456789abcdef" 3>&-; }
  permit_pid=$PERMIT_PID
  read -r -u "${PERMIT[0]}" _
  zkflock "$LOCK/d41d8cd98f00b204e9800998ecf8427e" true
  run -0 zkflock --list "$LOCK"
  assert_regex "$(row "$LOCK/pool")" "^$LOCK/pool held permits 1 session 0x[0-9a-f]+ [0-9]+s 0 \(unknown\)$"
  assert_regex "$(row "$LOCK/d41d8cd98f00b204e9800998ecf8427e")" " free 0$"
  assert_equal "${#lines[@]}" 3
  run -0 zkflock -q --list "$LOCK/pool"
  for permits in "" "--permits 1"; do
    # shellcheck disable=SC2086 # two words
    run -78 zkflock $permits "$LOCK/pool" touch ran
    assert_output --partial "$LOCK/pool is in use as a semaphore of kazoo's"
  done
  assert_not_exist ran
  eval "exec ${PERMIT[1]}>&-"
  wait "$permit_pid"
}

@test "locks that are named like holders of a Semaphore of kazoo's do not pass for them: the lock or semaphore above can be taken" {
  local guid=0123456789abcdef0123456789abcde
  for name in builds pool; do
    run -0 zkflock "$LOCK/$name/${guid}0" true
    zk "$ONE" create-kind container "$LOCK/$name/${guid}1"
  done
  hold "$LOCK/builds" release
  # Behind a holder, too, where all children are listed.
  wait_in_line log "$LOCK/builds" touch ran
  touch release
  ends_with 0 "$holder"
  ends_with 0 "$waiter"
  assert_exist ran
  run -0 zkflock --permits 2 "$LOCK/pool" zkflock --no-reentry --permits 2 "$LOCK/pool" echo ran
  assert_output ran
  run -0 zkflock --list "$LOCK"
  for name in builds pool "builds/${guid}0"; do
    assert_regex "$(row "$LOCK/$name")" "^$LOCK/$name free "
  done
}

@test "a Semaphore of kazoo's is recognised, too, beside a lock that is named like its holder" {
  local guid=0123456789abcdef0123456789abcde
  # In the order of the server one of the two is the last.
  for held in 0 1; do
    zk "$ONE" create "$LOCK/$held/$guid$((1 - held))"
    coproc PERMIT { exec zk "$ONE" create-kind ephemeral "$LOCK/$held/$guid$held" 3>&-; }
    permit_pid=$PERMIT_PID
    read -r -u "${PERMIT[0]}" _
    for permits in "" "--permits 2"; do
      # shellcheck disable=SC2086 # two words
      run -78 zkflock $permits "$LOCK/$held" touch ran
      assert_output --partial "$LOCK/$held is in use as a semaphore of kazoo's"
    done
    assert_equal "$(zk "$ONE" ls "$LOCK/$held" | sort)" "${guid}0"$'\n'"${guid}1"
    eval "exec ${PERMIT[1]}>&-"
    wait "$permit_pid"
  done
  assert_not_exist ran
}

@test "--list: hostile data and names do not reach the terminal" {
  hostile=$'zkflock/1 held exclusive\n\x1b[31mroot@evil\x07 pid 7: \x1b]0;pwned\x07\x9b\xff\nsince=\x1b[2J kind=\x1b version=\x1b[31m\n'
  others "$LOCK/data" x- 2 "$hostile"
  # A change of direction, no width, a lone accent; a person's name.
  zkflock "$LOCK/"$'\u202eevil\u200b\u0301' true
  zkflock "$LOCK/"$'Žofie' true
  for locale in C C.UTF-8; do
    for how in "" --json --watch "--watch --json"; do
      # A watch ends when nobody reads it any more: these are two locks and two contenders.
      case $how in --watch*) most=4 ;; *) most=1000 ;; esac
      run -0 timeout 20 bash -c "LC_ALL=$locale zkflock --list $how $LOCK $LOCK/data | head -n $most"
      refute_output --partial $'\033'
      refute_output --partial $'\007'
      refute_output --partial $'\u202e'
      refute_output --partial $'\u200b'
      assert_output --partial "root@evil" || assert_output --partial '"evil?"'
    done
  done
  run -0 env LC_ALL=C.UTF-8 zkflock --list "$LOCK"
  assert_output --partial "$LOCK/?evil??"
  assert_output --partial "$LOCK/Žofie"
  run -0 env LC_ALL=C zkflock --list "$LOCK"
  assert_output --partial "$LOCK/??ofie"
  others_end
}
