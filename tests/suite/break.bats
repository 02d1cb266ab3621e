# --revoke and --break: a holder is asked, or made, to give its lock up.

load helper

# Runs it without a terminal, even if the tests have one; 124 if it does not end.
step_in() { timeout 40 setsid -w zkflock "$@"; }

# patient LOCK FILE ARG...: holds the lock with those options until it is asked, then cleans up and
# exits with 7; pid in $holder.
patient() {
  local lock=$1 file=$2
  shift 2
  background "$@" "$lock" bash -c 'trap "echo cleaned >$0.cleaned; exit 7" TERM; echo $$ >$0.held
    while :; do sleep 0.05; done' "$file" 2>"$file.log"
  holder=$!
  eventually test -s "$file.held"
}

# foreign NODE: an ephemeral znode of another client, until the fifo "stay" is closed, which
# is descriptor 5.
foreign() {
  mkfifo stay
  zk "$ONE" create-kind ephemeral "$1" <stay >foreign 3>&- 4>&- &
  exec 5>stay
  eventually contains foreign made
}

java_client() {
  timeout 60 java -Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx128m \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=off -Djava.net.preferIPv4Stack=true \
    -cp "$ZKFLOCK_BUILD/interop:$(cat "$TESTS_DIR/interop/classpath")" Revoke "$ONE" "$@"
}

only_node() { zk "$ONE" ls "$1" | head -n 1; }

@test "--revoke: the command gets the signal, and the lock comes back cleanly" {
  patient "$LOCK" a
  wait_in_line log "$LOCK" touch ran
  run -0 step_in --revoke --yes "$LOCK"
  assert_output --regexp "^zkflock: $LOCK was released after .*, by .*@.* pid [0-9]+: bash -c "
  ends_with 7 "$holder"
  assert_exist a.cleaned
  # Nobody vanished, so that the next one starts at once.
  ends_with 0 "$waiter"
  assert_exist ran
  assert lacks log "vanished"
  # One message says what happens, and who asked.
  assert_equal "$(grep -c "is sent SIGTERM: $LOCK is asked for by .* zkflock --revoke $LOCK" a.log)" 1
}

@test "--revoke -w: of two holders one goes on, and the other one is said to have released it" {
  background --shared "$LOCK" sh -c 'echo >ready; exec sleep 1000' 2>log
  holder=$!
  eventually test -e ready
  background --shared "$LOCK" sh -c 'trap "" TERM; echo >stays; until [ -e go ]; do sleep 0.05; done' 2>log
  stays=$!
  eventually test -e stays
  run -1 zkflock --revoke --yes -w 2 "$LOCK"
  assert_line --regexp "^zkflock: $LOCK is still held after 2 s, by .* pid $stays: "
  assert_line --regexp "^zkflock: $LOCK was released after .*, by .* pid $holder: "
  assert_equal "${#lines[@]}" 2
  touch go
  ends_with 143 "$holder"
  wait "$stays"
}

@test "--revoke: a holder whose lock somebody breaks meanwhile has not released it" {
  background --lease 4 "$LOCK" sh -c 'trap "" TERM; echo >ready; while :; do sleep 0.05; done' 2>holder.log
  holder=$!
  eventually test -e ready
  step_in --revoke --yes "$LOCK" >asked 2>&1 &
  asker=$!
  eventually contains holder.log "is asked for by"
  run -0 step_in --break --yes "$LOCK"
  ends_with 0 "$asker"
  ends_with 75 "$holder"
  run -0 cat asked
  assert_line --index 0 --regexp "^zkflock: $LOCK is no longer held by .*: sh -c .*, which may have vanished$"
  assert_line --index 1 --partial "the next holder starts within 4 s: check that the old command has ended"
}

@test "--break: of several holders one cannot be deleted: the others are taken away, and told" {
  zk "$ONE" create "$LOCK/_c_0123456789abcdef0123456789abcdef-__READ__0000000000/below"
  background -s "$LOCK" sh -c 'echo >ready; exec sleep 1000'
  holder=$!
  eventually test -e ready
  run -78 step_in --break --yes "$LOCK"
  ends_with 75 "$holder"
  assert_output --partial ": there are znodes below it; remove these first"
  assert_output --partial "$LOCK was taken away from "
  assert_output --partial "the next holder starts within 15 s: check that"
  zk "$ONE" delete "$LOCK/_c_0123456789abcdef0123456789abcdef-__READ__0000000000/below"
  zk "$ONE" delete "$LOCK/_c_0123456789abcdef0123456789abcdef-__READ__0000000000"
}

@test "-n: the advice for a persistent znode among readers is not to break the others" {
  local node=_c_0123456789abcdef0123456789abcdef-__READ__0000000000
  zk "$ONE" create "$LOCK/$node"
  background -s "$LOCK" sh -c 'echo >ready; exec sleep 1000'
  holder=$!
  eventually test -e ready
  run -1 zkflock -n "$LOCK" touch ran
  assert_output --regexp "^zkflock: $LOCK is busy: 2 ahead, held shared for .* by $node, a persistent znode: delete $LOCK/$node$"
  zk "$ONE" delete "$LOCK/$node"
  kill -TERM "$holder"
  ends_with 143 "$holder"
}

@test "--revoke: a command that is stopped hears it too, and --signal is what it hears" {
  background --signal HUP "$LOCK" bash -c '
    (trap "touch child.asked" HUP; touch child; until [ -e end ]; do sleep 0.05; done) &
    trap "exit 9" HUP; echo $$ >held; while :; do sleep 0.05; done'
  holder=$!
  eventually test -s held
  eventually test -e child
  kill -STOP "$(cat held)"
  eventually in_state "$(cat held)" T
  run -0 step_in --revoke --yes "$LOCK"
  ends_with 9 "$holder"
  # zkflock leaves what the command has started to the command.
  touch end
  assert_not_exist child.asked
}

@test "--revoke: a command that does not want to end is asked once, and keeps the lock" {
  background "$LOCK" bash -c 'trap "echo asked >>asked" TERM; touch held
    until [ -e end ]; do sleep 0.05; done'
  holder=$!
  eventually test -e held
  # -E of a config file is for commands only.
  mkdir -p xdg/zkflock
  printf '%s\n' "[zkflock]" "conflict-exit-code = 0" >xdg/zkflock/config
  run -1 step_in --revoke --yes -w 0.5 "$LOCK"
  refute_output --partial "asked before"
  assert_output --regexp "^zkflock: $LOCK is still held after 500 ms, by .*@.* pid [0-9]+: bash"
  run -0 zkflock -n "$LOCK" touch ran
  assert_not_exist ran
  run -0 step_in --revoke --yes -n "$LOCK"
  assert_line --index 0 --regexp "^zkflock: warning: the holder of $LOCK was asked before, which a zkflock passes on only once; --break takes the lock away: .*@.* pid [0-9]+: bash "
  assert_line --index 1 --partial "zkflock: asked the holder of $LOCK to release it: "
  assert_equal "$(cat asked)" asked
  touch end
  ends_with 0 "$holder"
}

@test "--revoke -n does not wait" {
  patient "$LOCK" a
  kill -STOP "$(children "$holder" lock-guard)"
  run -0 step_in --revoke --yes -n "$LOCK"
  assert_output --regexp "^zkflock: asked the holder of $LOCK to release it: .*@.* pid [0-9]+: bash -c "
  kill -CONT "$(children "$holder" lock-guard)"
  ends_with 7 "$holder"
}

@test "--revoke asks all readers that hold the lock, and no waiter" {
  patient "$LOCK" a -s
  local first=$holder
  patient "$LOCK" b -s
  local second=$holder
  wait_in_line writer -x "$LOCK" sh -c 'touch ran; until [ -e end ]; do sleep 0.05; done'
  local writer=$waiter
  wait_in_line reader -s "$LOCK" true
  run -0 step_in --revoke --yes "$LOCK"
  assert_equal "${#lines[@]}" 2
  ends_with 7 "$first"
  ends_with 7 "$second"
  eventually test -e ran
  assert lacks writer "is asked for"
  touch end
  ends_with 0 "$writer"
  ends_with 0 "$waiter"
  assert lacks reader "is asked for"
}

@test "--revoke asks all holders of permits, and no waiter" {
  patient "$LOCK" a --permits 2
  local first=$holder
  patient "$LOCK" b --permits 2
  local second=$holder
  wait_in_line log --permits 2 "$LOCK" true
  run -0 step_in --revoke --yes "$LOCK"
  assert_equal "${#lines[@]}" 2
  ends_with 7 "$first"
  ends_with 7 "$second"
  ends_with 0 "$waiter"
  assert lacks log "is asked for"
}

@test "--revoke: each lock of --with" {
  for asked in a b; do
    patient "$LOCK/c" "$asked" --with "$LOCK/a" --with "$LOCK/b"
    run -0 step_in --revoke --yes "$LOCK/$asked"
    ends_with 7 "$holder"
    assert contains "$asked.log" "$LOCK/$asked is asked for by"
  done
}

@test "--revoke: a zkflock that holds one lock and waits for another never starts its command" {
  hold "$LOCK/b" release
  wait_in_line log --with "$LOCK/a" "$LOCK/b" touch ran
  run -0 step_in --revoke --yes "$LOCK/a"
  ends_with 143 "$waiter"
  assert contains log "touch is not started: $LOCK/a is asked for by"
  assert_not_exist ran
  touch release
  wait "$holder"
  nothing_left_of "$LOCK/a"
}

@test "--revoke of a hold: the script gets the signal, and may release the lock" {
  export LOCK
  cat >script <<'EOF'
trap 'zkflock --unlock "$LOCK"; touch unlocked' TERM
zkflock --hold "$LOCK"
(trap "touch child.asked" TERM; touch held; until [ -e end ]; do sleep 0.05; done) &
until [ -e end ]; do sleep 0.05; done
EOF
  setsid bash script 2>log 3>&- 4>&- &
  local script=$!
  eventually test -e held
  kill -STOP "$script" # zkflock continues it
  run -0 step_in --revoke --yes "$LOCK"
  assert_output --partial ": process $script"
  eventually test -e unlocked
  assert contains log "process $script is sent SIGTERM: $LOCK is asked for by"
  refute gone "$script"
  assert_not_exist child.asked
  touch end
  ends_with 0 "$script"
}

@test "--revoke reaches a zkflock that uses the lock by re-entry when the command has ended" {
  background -v "$LOCK" sh -c '(zkflock "$0" bash -c "trap \"touch cleaned; exit\" TERM; echo \$\$ >in
      while :; do sleep 0.05; done") &
    until [ -s in ]; do sleep 0.05; done; exit 4' "$LOCK" 2>log
  holder=$!
  eventually contains log "sh has ended, but 1 zkflock inside it still use $LOCK"
  kill -STOP "$(cat in)" # zkflock continues it
  run -0 step_in --revoke --yes "$LOCK"
  ends_with 4 "$holder"
  assert_exist cleaned
}

@test "__REVOKE__, written by hand, is obeyed, and no proof of life overwrites it" {
  for style in "--node-style curator" "--unfair" "--node-style plain:lock-"; do
    rm -f a.*
    # shellcheck disable=SC2086 # options
    patient "$LOCK" a --lease 12 $style
    node=$(only_node "$LOCK")
    # When zkflock goes on, a proof is due; it sends that before it hears of the request.
    kill -STOP "$holder"
    zk "$ONE" set "$LOCK/$node" __REVOKE__
    sleep 2.1
    kill -CONT "$holder"
    eventually contains a.log "is sent SIGTERM"
    ends_with 7 "$holder"
    assert contains a.log "is sent SIGTERM: $LOCK is asked for by somebody"
  done
}

@test "__REVOKE__ to a contender that waits for a vanished holder is not lost" {
  zk "$ONE" create "$LOCK" $'zkflock/1 base=0 lease=30000ms\n'
  background --session-timeout 1 "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  eventually test -e crashing
  crash $!
  zk "$ONE" await-count "$LOCK" 0
  background -v "$LOCK" touch ran 2>log
  local settling=$!
  eventually contains log "a contender vanished"
  zk "$ONE" set "$LOCK/$(only_node "$LOCK")" __REVOKE__
  ends_with 143 "$settling"
  assert_not_exist ran
  assert contains log "touch is not started: $LOCK is asked for by somebody"
}

@test "a Curator holder that is revocable gives its lock up" {
  java_client hold "$LOCK" >curator 3>&- 4>&- &
  local curator=$!
  eventually contains curator held
  run -0 step_in --revoke --yes "$LOCK"
  assert_line --regexp "^zkflock: warning: $LOCK is held by _c_.*-lock-0000000000 of session 0x[0-9a-f]+, which is no zkflock: it may not react to the request\$"
  assert_line --regexp "^zkflock: $LOCK is no longer held by _c_[^ ]+ of session 0x[0-9a-f]+$"
  ends_with 0 "$curator"
  assert contains curator released
}

@test "Curator's Revoker is heard by zkflock" {
  patient "$LOCK" a
  java_client ask "$LOCK/$(only_node "$LOCK")" 3>&- 4>&-
  ends_with 7 "$holder"
}

@test "--revoke and --break of a lock that nobody holds: status 1 and a message" {
  for option in --revoke --break; do
    run -1 step_in $option --yes "$LOCK/none"
    assert_output "zkflock: $LOCK/none does not exist: nobody holds it"
    zkflock "$LOCK" true
    run -1 step_in $option --yes "$LOCK"
    assert_output "zkflock: $LOCK is not held"
  done
}

@test "--revoke and --break: without a terminal --yes is needed" {
  patient "$LOCK" a
  for option in --revoke --break; do
    run -64 step_in $option "$LOCK"
    assert_output "zkflock: $option asks before it does anything, and there is no terminal to ask on: use --yes"
  done
  run -1 zkflock -n "$LOCK" true
  assert_not_exist a.cleaned
  kill "$(cat a.held)"
  ends_with 7 "$holder"
}

@test "--revoke and --break: the question on a terminal; anything but yes does nothing" {
  patient "$LOCK" a
  run -0 terminal \
    "send=zkflock --break $LOCK; echo status \$?\n" \
    "expect=$LOCK is held since" "expect= pid " "expect=Take it away and end its command? [y/N] " 'send=n\n' \
    "expect=nothing was done to $LOCK" 'expect=status 1' \
    "send=zkflock --break $LOCK; echo status \$?\n" "expect=[y/N] " 'send=\n' 'expect=status 1' \
    "send=zkflock --break $LOCK; echo status \$?\n" "expect=[y/N] " key=d 'expect=status 1' \
    "send=zkflock --break $LOCK; echo status \$?\n" "expect=[y/N] " key=c 'expect=status 130' \
    "send=zkflock --revoke $LOCK </dev/null; echo status \$?\n" "expect=[y/N] " 'send=no\n' 'expect=status 1'
  run -1 zkflock -n "$LOCK" true
  assert_not_exist a.cleaned
  run -0 terminal "send=zkflock --revoke $LOCK; echo status \$?\n" \
    "expect=Ask the holder to give it up? [y/N] " 'send=y\n' \
    "expect=$LOCK was released after" 'expect=status 0'
  ends_with 7 "$holder"
  hold "$LOCK.shared" one -s
  hold "$LOCK.shared" two -s
  run -0 terminal "send=zkflock --break $LOCK.shared; echo status \$?\n" \
    "expect=Take it away and end their commands? [y/N] " 'send=n\n' 'expect=status 1' \
    "send=zkflock --revoke $LOCK.shared; echo status \$?\n" "expect=Ask them to give it up? [y/N] " 'send=n\n' \
    'expect=status 1'
  touch one two
  wait
}

@test "--revoke and --break: a lock that was released while zkflock asked is told as that" {
  for how in revoke break; do
    hold "$LOCK" "$how"
    terminal "send=zkflock --$how $LOCK; echo status \$?\n" "expect=[y/N] " touch=asked file=over 'send=y\n' \
      "expect=$LOCK was released before, by " "expect=status 0" >session 3>&- 4>&- &
    local asker=$!
    eventually test -e asked
    touch "$how"
    ends_with 0 "$holder"
    touch over
    acted "$asker"
    rm asked over
  done
}

@test "--revoke does not change since when the lock is held" {
  zkflock "$LOCK" sh -c 'touch first; until [ -e next ]; do sleep 0.05; done' &
  eventually test -e first
  LOGNAME=ben wait_in_line log "$LOCK" bash -c "trap '' TERM; touch a.held; until [ -e go ]; do sleep 0.05; done"
  touch next
  eventually test -e a.held
  since=$(zkflock --list --json "$LOCK" | grep '"since"')
  run -0 step_in --revoke --yes -n "$LOCK"
  run -0 step_in --revoke --yes -n "$LOCK"
  zk "$ONE" get "$LOCK/$(zk "$ONE" ls "$LOCK")" | grep -q "revoked exclusive"
  assert_equal "$(zkflock --list --json "$LOCK" | grep '"since"')" "$since"
  touch go
  wait
}

@test "--break: the holder ends its command with 75, and the next one waits for it" {
  patient "$LOCK" a --lease 4
  wait_in_line log "$LOCK" touch ran
  run -0 step_in --break --yes "$LOCK"
  assert_line --index 0 --regexp "^zkflock: $LOCK was taken away from .*@.* pid [0-9]+: bash -c "
  assert_line --index 1 "zkflock: the next holder starts within 4 s: check that the old command has ended; it may run on if its host was paused, under --on-lost, or if the holder was no zkflock"
  ends_with 75 "$holder"
  assert contains a.log "lost $LOCK: the znode"
  ends_with 0 "$waiter"
  assert contains log "a contender vanished; its command may run for"
}

@test "--break: a persistent znode that somebody has created by hand" {
  zk "$ONE" create "$LOCK/x-0000000000"
  run -1 step_in --revoke --yes -w 0.5 "$LOCK"
  assert_line --index 0 "zkflock: warning: $LOCK is held by x-0000000000, a persistent znode: no client reacts to the request; --break takes the lock away"
  assert_line --index 1 "zkflock: $LOCK is still held after 500 ms, by x-0000000000, a persistent znode"
  run -0 step_in --break --yes "$LOCK"
  # It has no client that could go on.
  assert_line --index 0 "zkflock: $LOCK was taken away from x-0000000000, a persistent znode"
  nothing_left_of "$LOCK"
}

@test "--break: a persistent znode with others below it stays" {
  zk "$ONE" create "$LOCK/x-0000000000/below"
  run -78 step_in --break --yes "$LOCK"
  assert_line "zkflock: cannot delete $LOCK/x-0000000000: there are znodes below it; remove these first"
  zk "$ONE" delete "$LOCK/x-0000000000/below"
  run -0 step_in --break --yes "$LOCK"
  nothing_left_of "$LOCK"
}

@test "--break: nobody has to wait where a semaphore has permits beside those who vanished" {
  patient "$LOCK" a --permits 2 --lease 4
  run -0 step_in --break --yes "$LOCK"
  assert_output --partial "zkflock: $LOCK was taken away from "
  refute_output --partial "the next holder starts"
  ends_with 75 "$holder"
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "free, permits 0/2, lease 4 s"
  run -1 zkflock --break --yes "$LOCK"
  assert_output "zkflock: $LOCK is not held"
  run -0 zkflock -n --permits 2 "$LOCK" true
  # With the second one, as many have vanished as there are permits.
  patient "$LOCK" b --permits 2
  run -0 step_in --break --yes "$LOCK"
  assert_line --index 1 "zkflock: the next holder starts within 4 s: check that the old command has ended; it may run on if its host was paused, under --on-lost, or if the holder was no zkflock"
  ends_with 75 "$holder"
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "free, but a holder vanished: the next one waits 4 s, lease 4 s"
  run -1 zkflock --break --yes "$LOCK"
  assert_output "zkflock: $LOCK is not held: a holder vanished, and the next contender waits one lease for it"
}

@test "--revoke: foreign holders that were asked before are named" {
  local name=0123456789abcdef0123456789abcdef__rlock__000000000
  foreign "$LOCK/${name}0"
  zk "$ONE" create "$LOCK/${name}1"
  run -0 step_in --revoke --yes -n "$LOCK"
  refute_output --partial "asked before"
  run -0 step_in --revoke --yes -n "$LOCK"
  assert_line --regexp "^zkflock: warning: the holder of $LOCK was asked before; --break takes the lock away: ${name}0 of session 0x[0-9a-f]+\$"
  assert_line "zkflock: warning: the holder of $LOCK was asked before; --break takes the lock away: ${name}1, a persistent znode"
  zk "$ONE" delete "$LOCK/${name}1"
  exec 5>&-
  wait
}

@test "--break: a foreign holder's znode goes, with a warning that it may not notice" {
  local name=0123456789abcdef0123456789abcdef__lock__0000000000
  foreign "$LOCK/$name"
  run -0 terminal "send=zkflock --break $LOCK; echo status \$?\n" "expect=Take it away? [y/N] " 'send=n\n' \
    'expect=status 1'
  run -0 step_in --break --yes "$LOCK"
  assert_line --regexp "^zkflock: warning: $LOCK is held by $name of session 0x[0-9a-f]+, which is no zkflock: its client may go on working without the lock\$"
  assert_line --partial "$LOCK was taken away from $name of session 0x"
  # No zkflock has set its lease yet.
  assert_line --partial "the next holder starts within its lease, by default 15 s: check that"
  nothing_left_of "$LOCK"
  exec 5>&-
  wait
}

@test "--break: a zkflock that takes what was a Semaphore of kazoo's waits for a lease" {
  local name=0123456789abcdef0123456789abcdef
  foreign "$LOCK/$name"
  run -0 step_in --break --yes "$LOCK"
  assert_line --index 1 --partial "$LOCK was taken away from $name of session 0x"
  assert_line --index 2 --partial "the next holder starts within its lease, by default 15 s: check that"
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "free, earlier holders are not known"
  run -0 zkflock --list --json "$LOCK"
  assert_line --partial '"vanished": null'
  nothing_left_of "$LOCK"
  exec 5>&-
  wait
}

@test "--revoke: zkflock opens a new session if its session expires while it asks for confirmation" {
  connections() { figure zk_num_alive_connections; }
  fewer() { [ "$(connections)" -lt "$before" ]; }
  patient "$LOCK" a
  open_proxy
  terminal "send=zkflock --revoke -z $VIA --session-timeout 1 --connect-timeout 3 $LOCK; echo status \$?\n" \
    "expect=[y/N] " touch=asked file=answer 'send=y\n' 'expect=status 0' >session 2>&1 3>&- 4>&- &
  person=$!
  eventually test -e asked
  before=$(connections)
  kill -STOP "$proxy_pid"
  eventually fewer
  kill -CONT "$proxy_pid"
  touch answer
  acted "$person"
  ends_with 7 "$holder"
  close_proxy
}

@test "--revoke and --break: hostile names of znodes do not reach the terminal" {
  foreign "$LOCK/"$'\u202eevil0000000000'
  run -0 terminal "send=zkflock --break $LOCK; echo status \$?\n" "expect=[y/N] " 'send=y\n' 'expect=status 0'
  assert_output --partial " by ???evil0000000000"
  refute_output --partial $'\u202e'
  nothing_left_of "$LOCK"
  exec 5>&-
  wait
}

@test "--revoke and --break: without the right to, 77" {
  patient "$LOCK" a
  local node
  node=$LOCK/$(only_node "$LOCK")
  zk "$ONE" deny "$node" ra
  run -77 step_in --revoke --yes "$LOCK"
  assert_output "zkflock: not permitted to write to $node: its ACL does not give this client WRITE"
  zk "$ONE" deny "$LOCK" rwca
  run -77 step_in --break --yes "$LOCK"
  assert_output "zkflock: not permitted to delete $node: the ACL of $LOCK does not give this client DELETE"
  zk "$ONE" deny "$LOCK" rwcda
  kill "$(cat a.held)"
  ends_with 7 "$holder"
}
