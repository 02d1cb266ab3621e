# A zkflock of the same lock inside the command of another.

load helper

# If the inner zkflock queued, it would wait for the outer one for ever.
inside() { timeout 20 zkflock "$@"; }

@test "re-entry: at once, at any depth, through shells and make" {
  cat >Makefile <<'EOF'
all: a b
a b:
	@zkflock -n "$(LOCK)" sh -c 'zkflock -n "$$ZKFLOCK_LOCK" echo $@'
EOF
  export LOCK
  run -0 inside "$LOCK" sh -c 'bash -c "zkflock -n \"\$ZKFLOCK_LOCK\" make -s -j2"'
  assert_equal "$(sort <<<"$output")" $'a\nb'
}

@test "re-entry: no second place in the queue, no connection, the same node and token" {
  connections_are() { [ "$(figure zk_num_alive_connections)" -eq "$1" ]; }
  inside "$LOCK" sh -c 'echo "$ZKFLOCK_NODE $ZKFLOCK_TOKEN" >outer
    zkflock "$0" sh -c "echo \"\$ZKFLOCK_NODE \$ZKFLOCK_TOKEN\" >inner; until [ -e go ]; do sleep 0.05; done"' \
    "$LOCK" 3>&- 4>&- &
  eventually test -s inner
  assert_equal "$(zk "$ONE" ls "$LOCK" | wc -l)" 1
  # The one that asks counts itself; an earlier one may just be closed.
  eventually connections_are 2
  touch go
  wait
  assert_equal "$(cat inner)" "$(cat outer)"
}

@test "re-entry: the lock is held until the last of them ends, also when it outlives the command" {
  background -v "$LOCK" sh -c '(zkflock "$0" sh -c "touch in; until [ -e go ]; do sleep 0.05; done; exit 9") &
    until [ -e in ]; do sleep 0.05; done; exit 4' "$LOCK" 2>log
  holder=$!
  eventually contains log "sh has ended, but 1 zkflock inside it still use $LOCK"
  run -1 zkflock -n "$LOCK" touch ran
  touch go
  ends_with 4 "$holder"
  run -0 zkflock -n "$LOCK" true
}

@test "re-entry: a zkflock inside that outlives the command is ended when the lock is lost" {
  background -v --session-timeout 2 --lease 4 "$LOCK" sh -c '(zkflock "$0" sh -c "echo \$\$ >in; exec sleep 1000") &
    until [ -s in ]; do sleep 0.05; done' "$LOCK" 2>log
  holder=$!
  eventually contains log "sh has ended, but 1 zkflock inside it still use $LOCK"
  # Longer than the lease: it is guarded, and proven.
  sleep 5
  refute gone "$(cat in)"
  lose
  ends_with 75 "$holder"
  eventually gone "$(cat in)"
}

@test "re-entry: the keeper is killed, and all that use its lock die" {
  background "$LOCK" sh -c '(zkflock "$0" sh -c "echo \$\$ >in; exec sleep 1000") &
    until [ -s in ]; do sleep 0.05; done' "$LOCK"
  holder=$!
  eventually test -s in
  kill -KILL "$holder"
  eventually gone "$(cat in)"
  run -0 zkflock -w 5 "$LOCK" true
}

@test "re-entry: shared inside exclusive is fine, exclusive inside shared is refused" {
  run -0 inside -x "$LOCK" zkflock -s "$LOCK" echo ran
  assert_output ran
  run -0 inside -s "$LOCK" zkflock -s "$LOCK" echo ran
  assert_output ran
  for kind in -x --unfair ""; do
    # shellcheck disable=SC2086 # no kind is no argument
    run -64 inside -s "$LOCK" zkflock $kind "$LOCK" touch ran
    assert_output "zkflock: $LOCK is held shared by the zkflock around this one: an exclusive lock inside would wait for itself; use --shared here or --exclusive there"
  done
  assert_not_exist ran
}

@test "re-entry: in every kind" {
  run -0 inside --unfair "$LOCK" zkflock --unfair "$LOCK" echo ran
  assert_output ran
  run -0 inside --unfair "$LOCK" zkflock "$LOCK" echo ran
  assert_output ran
  run -0 inside --permits 1 "$LOCK/p" zkflock --permits 1 "$LOCK/p" echo ran
  assert_output ran
  run -0 inside --node-style kazoo "$LOCK" zkflock "$LOCK" echo ran
  assert_output ran
}

@test "re-entry: the same lock under another name is recognised" {
  need_three
  zk "$ONE" create "$LOCK/root"
  run -0 inside -z "$ONE$LOCK/root" /a/b zkflock -z "$ONE" "$LOCK/root/a/b" echo ran
  assert_output ran
  run -0 inside -z "$ONE" "$LOCK/root/a/b" zkflock -z "$ONE$LOCK" /root/a/b echo ran
  assert_output ran
  run -0 inside -z "$THREE" "$LOCK" zkflock -z "$(tr , '\n' <<<"$THREE" | tac | paste -sd,)" "$LOCK" echo ran
  assert_output ran
  run -0 inside -z "$THREE" "$LOCK" zkflock -z "$(tr , '\n' <<<"$THREE" | tail -n 1)" "$LOCK" echo ran
  assert_output ran
  run -0 inside -z "$ONE" "$LOCK.b" zkflock -z "localhost:${ONE#*:}" "$LOCK.b" echo ran
  assert_output ran
}

@test "re-entry: without the environment it is refused and does not wait for itself" {
  local scrubbed=(env -i "PATH=$PATH" "ZKFLOCK_SERVERS=$ONE")
  chmod 777 .
  for kind in "" --unfair "--permits 1" "--with $LOCK.other" --no-reentry; do
    lock=$LOCK.${kind// /}
    for user in "" "setpriv --reuid 65534 --clear-groups"; do
      # shellcheck disable=SC2086 # words
      run -64 inside $kind "$lock" $user "${scrubbed[@]}" zkflock $kind "$lock" touch ran
      assert_output "zkflock: $lock is held by the zkflock around this one, and this one would wait for itself: its environment (\$ZKFLOCK_HELD) did not get here, or it is another user's, or --no-reentry was given"
    done
  done
  run -64 inside "$LOCK" "${scrubbed[@]}" zkflock -n "$LOCK" touch ran
  run -1 inside "$LOCK" zkflock -n --no-reentry "$LOCK" touch ran
  run -0 inside --permits 2 "$LOCK.two" "${scrubbed[@]}" zkflock --permits 2 "$LOCK.two" echo ran
  assert_output ran
  assert_not_exist ran
}

@test "re-entry: under a name that cannot be recognised it is refused and does not wait for itself" {
  open_proxy none 0
  for kind in -x -s; do
    run -64 inside "$LOCK" zkflock "$kind" -z "$VIA" "$LOCK" touch ran
    assert_output "zkflock: $LOCK is held by the zkflock around this one, and this one would wait for itself: it is out of reach from here (no \$ZKFLOCK_HELD, other --servers, another user, --no-reentry)"
  done
  assert_not_exist ran
  # Two readers need not wait for each other.
  run -0 inside -s "$LOCK" zkflock -s -z "$VIA" "$LOCK" echo ran
  assert_output ran
  close_proxy
}

@test "re-entry: another lock inside is another lock, and the same path elsewhere too" {
  need_three
  hold "$LOCK.b" release
  run -1 inside "$LOCK.a" zkflock -n "$LOCK.b" touch ran
  touch release
  wait "$holder"
  run -0 inside -z "$THREE" "$LOCK.a" zkflock -v -z "$ONE" "$LOCK.a" true
  assert_output --partial "holding"
  run -0 inside "$LOCK.a" zkflock "$LOCK.b" sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output "$LOCK.b"
  # A lock that is held around both is used by both.
  run -0 inside "$LOCK.a" zkflock "$LOCK.b" zkflock --with "$LOCK.a" "$LOCK.b" echo ran
  assert_output ran
}

@test "re-entry: a lock of --with that no zkflock around holds is taken as ever" {
  run -0 inside "$LOCK.a" zkflock -v --with "$LOCK.b" "$LOCK.a" \
    sh -c 'zkflock -n --no-reentry "$0" true; zkflock -n "$0" echo in' "$LOCK.b"
  assert_line --partial "]: $LOCK.a is held by the zkflock around this one"
  assert_line --partial "zkflock: $LOCK.b is busy: 1 ahead, "
  assert_line in
}

@test "--no-reentry: a zkflock inside that has it queues, one around that has it makes the inner one be refused" {
  run -1 inside "$LOCK" zkflock --no-reentry -n "$LOCK" touch ran
  run -64 inside --no-reentry "$LOCK" zkflock "$LOCK" touch ran
  assert_not_exist ran
}

@test "re-entry: another user is not let in" {
  chmod 777 .
  run -64 inside "$LOCK" setpriv --reuid 65534 --clear-groups env PATH="$PATH" zkflock -n "$LOCK" touch ran
  assert_not_exist ran
}

@test "re-entry: the message names an outer zkflock that is stopped, not the servers" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s held
  kill -STOP "$holder"
  ZKFLOCK_HELD=$(cat held) run -69 timeout 20 zkflock --connect-timeout 0.5 "$LOCK" touch ran
  kill -CONT "$holder"
  assert_output "zkflock: the zkflock around this one does not answer, and may hold $LOCK; $LOCK was not taken"
  # zkflock waits for it as long as there is time.
  kill -STOP "$holder"
  ZKFLOCK_HELD=$(cat held) background "$LOCK" touch inside
  inner=$!
  kill -CONT "$holder"
  ends_with 0 "$inner"
  assert_exist inside
  touch end
  ends_with 0 "$holder"
}

@test "re-entry: TERM ends a zkflock that waits for the answer of a stopped outer one" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s held
  kill -STOP "$holder"
  ZKFLOCK_HELD=$(cat held) background -v "$LOCK" touch ran 2>inner
  inner=$!
  eventually asks_outer "$inner"
  kill -TERM "$inner"
  ends_with 143 "$inner"
  assert in_state "$holder" T
  assert_equal "$(grep -c "ended by signal" inner)" 1
  kill -CONT "$holder"
  assert_not_exist ran
  touch end
  ends_with 0 "$holder"
}

@test "re-entry: TERM that comes together with the answer of the outer zkflock: the command is not started" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s held
  kill -STOP "$holder"
  export ZKFLOCK_HELD
  ZKFLOCK_HELD=$(cat held)
  background -v "$LOCK" touch ran 2>inner
  inner=$!
  eventually asks_outer "$inner"
  kill -STOP "$inner"
  eventually in_state "$inner" T
  kill -TERM "$inner"
  kill -CONT "$holder"
  # By then the first has its answer.
  run -0 zkflock "$LOCK" true
  kill -CONT "$inner"
  ends_with 143 "$inner"
  assert_not_exist ran
  touch end
  ends_with 0 "$holder"
}

@test "re-entry: a zkflock that could not be ended, for want of a descriptor, is not let in" {
  cat >ask <<'EOF'
import os, socket, sys
crowd = []
for _ in range(40):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(3)
    s.connect("\0zkflock-" + sys.argv[1])
    s.send(f"enter 0 0\n{sys.argv[2]}\n{os.environ['ZKFLOCK_SERVERS']}".encode())
    crowd.append(s)
os.kill(int(sys.argv[3]), 18)
def answer(s):
    try:
        return (s.recv(1000).split() or [b"closed"])[0].decode()
    except TimeoutError:
        return "silent"
print(*{answer(s) for s in crowd}, flush=True)
EOF
  (ulimit -n 64 && exec setsid zkflock "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done' 2>log) 3>&- 4>&- &
  holder=$!
  eventually test -s held
  kill -STOP "$holder"
  run -0 timeout 60 /usr/bin/python3 ask "$(cat held)" "$LOCK" "$holder"
  assert_output --partial full
  touch end
  ends_with 0 "$holder"
}

# asks_while_guard_stops: starts a zkflock that waits for the answer of a stopped guard.
asks_while_guard_stops() {
  guard=$(children "$holder" lock-guard)
  kill -STOP "$guard"
  ZKFLOCK_HELD=$(cat held) background "$LOCK" touch in 2>other
  other=$!
  eventually asks_outer "$other"
}

readonly UNTIL_END='echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done; exit 5'

@test "re-entry: a zkflock that ended before it was let in does not count" {
  background --tree "$LOCK" sh -c "$UNTIL_END" 2>log
  holder=$!
  eventually test -s held
  asks_while_guard_stops
  kill -KILL "$other"
  touch end
  kill -CONT "$guard"
  ends_with 5 "$holder"
  assert_not_exist in
}

@test "re-entry: a zkflock that ended before it was let in: --on-lost term has nothing to wait for" {
  background --on-lost term --lease 6 "$LOCK" sh -c "$UNTIL_END" 2>log
  holder=$!
  eventually test -s held
  asks_while_guard_stops
  kill -KILL "$other"
  kill -CONT "$guard"
  eventually in_state "$guard" S
  kill -STOP "$guard"
  command=$(children "$guard" sh)
  lose # the keeper's order to end the command comes when that has ended
  touch end
  eventually gone "$command"
  kill -CONT "$guard"
  eventually gone "$holder"
}

# crowd_asks N: so many processes outside of the command ask at once, and stay until all have been
# answered; the file answers says what.
crowd_asks() {
  cat >ask <<'EOF'
import os, socket, sys
name, lock, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
asked, answered, over = os.pipe(), os.pipe(), os.pipe()
for _ in range(count):
    if os.fork() == 0:
        os.close(over[1])
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect("\0zkflock-" + name)
        s.send(f"enter 0 0\n{lock}\n{os.environ['ZKFLOCK_SERVERS']}".encode())
        os.write(asked[1], b".")
        os.write(answered[1], (s.recv(1000).split() or [b"closed"])[0] + b"\n")
        os.read(over[0], 1)
        os._exit(0)
for _ in range(count):
    os.read(asked[0], 1)
print("asked", flush=True)
os.close(answered[1])
with os.fdopen(answered[0]) as answers:
    for _ in range(count):
        print(answers.readline(), end="", flush=True)
EOF
  setsid timeout 100 /usr/bin/python3 ask "$(cat held)" "$LOCK" "$1" >answers 3>&- 4>&- &
  asker=$!
  PATIENCE=60 eventually test -s answers
}

@test "re-entry: a zkflock for which the guard has no descriptor left is not let in" {
  background "$LOCK" sh -c "$UNTIL_END" 2>log
  holder=$!
  eventually test -s held
  prlimit --pid "$(children "$holder" lock-guard)" --nofile=24:24
  crowd_asks 40
  ends_with 0 "$asker"
  assert_equal "$(sort -u answers | tr '\n' ' ')" "asked entered full "
  touch end
  ends_with 5 "$holder"
}

@test "re-entry: more zkflocks than the guard's link has room for are all answered when the guard goes on" {
  background --lease 120 "$LOCK" sh -c "$UNTIL_END" 2>log
  holder=$!
  eventually test -s held
  guard=$(children "$holder" lock-guard)
  kill -STOP "$guard"
  crowd_asks 400
  kill -CONT "$guard"
  ends_with 0 "$asker"
  assert_equal "$(sort answers | uniq -c | tr -s ' \n' ' ')" " 1 asked 400 entered "
  touch end
  ends_with 5 "$holder"
}

@test "re-entry: a zkflock beyond the greatest number is refused with a message" {
  cat >crowd <<'EOF'
import os, socket, sys
def enter():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\0zkflock-" + os.environ["ZKFLOCK_HELD"])
    s.send(f"enter 0 0\n{os.environ['ZKFLOCK_LOCK']}\n{os.environ['ZKFLOCK_SERVERS']}".encode())
    return s
crowd = [enter() for _ in range(1000)]
print({s.recv(1000).split()[0].decode() for s in crowd}, flush=True)
os.system('zkflock -n "$ZKFLOCK_LOCK" touch ran; echo $?')
crowd.pop().close()
os.system('zkflock -n "$ZKFLOCK_LOCK" echo let in')
EOF
  run -0 sh -c 'ulimit -n 4096; timeout 60 zkflock "$0" /usr/bin/python3 crowd' "$LOCK"
  assert_line --index 0 "{'entered'}"
  assert_line --index 1 "zkflock: $LOCK is held by the zkflock around this one, which cannot let another one in: all its places are taken, or it has no descriptor left"
  assert_line --index 2 71
  assert_line --index 3 "let in"
  assert_not_exist ran
}

@test "re-entry: names of zkflocks that have ended, and nonsense, are ignored" {
  ZKFLOCK_HELD="0123456789abcdef01234567 x $(head -c 5000 /dev/zero | tr '\0' y)  " \
    run -0 zkflock "$LOCK" sh -c 'zkflock -n "$0" echo ran' "$LOCK"
  assert_output ran
}

@test "re-entry: exit status, signals and a missing command are as ever" {
  run -7 inside "$LOCK" zkflock "$LOCK" sh -c 'exit 7'
  run -127 inside "$LOCK" zkflock "$LOCK" no-such-command
  run -143 inside "$LOCK" zkflock "$LOCK" sh -c 'kill -TERM $$; sleep 1'
  background "$LOCK" sh -c 'exec zkflock "$0" sh -c "echo \$\$ >ready; exec sleep 1000"' "$LOCK"
  holder=$!
  eventually test -s ready
  kill -TERM "$holder"
  ends_with 143 "$holder"
}

@test "re-entry: TERM reaches those who use the lock when the command has ended" {
  background -v "$LOCK" sh -c 'setsid zkflock "$0" sh -c "echo \$\$ >inner; exec sleep 1000" &
    until [ -s inner ]; do sleep 0.05; done' "$LOCK" 2>log
  outer=$!
  eventually contains log "still use $LOCK"
  kill -TERM "$outer"
  eventually gone "$(cat inner)"
  ends_with 0 "$outer"
}

# A holder whose way to the server is cut when its command ends, so that its release takes a while.
holder_cut_off() { # holder_cut_off SCRIPT [OPTION]...: pid in $holder
  local script=$1
  shift
  open_proxy
  ZKFLOCK_SERVERS=$VIA background "$@" "$LOCK" sh -c "$script; touch ready; until [ -e go ]; do sleep 0.05; done" "$LOCK" 2>log
  holder=$!
  eventually test -e ready
  kill -STOP "$proxy_pid"
  touch go
}

@test "re-entry is refused while the lock is being released" {
  holder_cut_off 'echo "$ZKFLOCK_HELD" >held; echo "$ZKFLOCK_NODE" >outer; echo $$ >pid'
  eventually gone "$(cat pid)"
  ZKFLOCK_HELD=$(cat held) background -z "$VIA" "$LOCK" sh -c 'echo "$ZKFLOCK_NODE" >inner'
  inner=$!
  eventually asks_outer "$inner"
  kill -CONT "$proxy_pid"
  ends_with 0 "$holder"
  ends_with 0 "$inner"
  assert_file_contains inner "^$LOCK/"
  refute diff -q outer inner
  close_proxy
  nothing_left_of "$LOCK"
}

@test "re-entry is refused when the lock is lost" {
  background --kill-after 2 "$LOCK" sh -c 'trap "zkflock \"\$0\" touch ran &" TERM
    echo "$ZKFLOCK_HELD" >held; touch ready; until [ -e go ]; do sleep 0.05; done' "$LOCK" 2>log
  holder=$!
  eventually test -e ready
  lose
  eventually eval "asks_outer || [ -e ran ]"
  touch go
  # It gets no answer, and is killed with the rest.
  ends_with 75 "$holder"
  assert_not_exist ran
}

@test "re-entry: what the command left behind lives on when nobody uses the lock, though it cannot be released" {
  # A process that a zkflock inside has left behind does not use the lock.
  holder_cut_off 'zkflock "$0" sh -c "sleep 1000 & echo \$! >left"' --lease 4 --session-timeout 2
  ends_with 0 "$holder"
  assert_file_contains log "could not be released"
  refute gone "$(cat left)"
  kill -KILL "$(cat left)"
  close_proxy
}

@test "re-entry: one that does not descend from the command dies with the lock too" {
  background "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; touch ready; exec sleep 1000' 2>log
  holder=$!
  eventually test -e ready
  # As a build server does that uses its client's environment.
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'trap "" TERM; echo $$ >in; while :; do sleep 0.05; done'
  eventually test -s in
  lose
  ends_with 75 "$holder"
  assert gone "$(cat in)"
}

@test "re-entry: a keeper inside is killed, and the lock is held until its command has ended" {
  background -v "$LOCK" sh -c 'setsid zkflock "$0" sh -c "echo \$\$ >in; exec sleep 1000" & echo $! >inner
    until [ -s in ]; do sleep 0.05; done' "$LOCK" 2>log
  holder=$!
  eventually contains log "still use $LOCK"
  guard=$(children "$(cat inner)" lock-guard)
  kill -STOP "$guard"
  kill -KILL "$(cat inner)"
  # Its own guard would have to end the command, and does not get to it.
  run -1 zkflock -w 1 "$LOCK" touch ran
  refute gone "$(cat in)"
  kill -CONT "$guard"
  eventually gone "$(cat in)"
  ends_with 0 "$holder"
  run -0 zkflock -n "$LOCK" true
}

@test "re-entry: the guard is killed, and what does not descend from it ends all the same" {
  # All in one session, as cron starts them.
  zkflock "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; touch ready; exec sleep 1000' 2>log 3>&- 4>&- &
  holder=$!
  eventually test -e ready
  ZKFLOCK_HELD=$(cat held) zkflock "$LOCK" sh -c 'sleep 1000 & echo $! >in; wait' 3>&- 4>&- &
  eventually test -s in
  kill -KILL "$(children "$holder" lock-guard)"
  ends_with 70 "$holder"
  assert gone "$(cat in)"
}

@test "re-entry: --tree: one that does not descend from the command counts when nothing else is left" {
  background --tree -v "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e in ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s held
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'echo $$ >in; exec sleep 1000'
  eventually contains log "still use $LOCK"
  refute gone "$(cat in)"
  kill -KILL "$(children "$holder" lock-guard)"
  ends_with 70 "$holder"
  assert gone "$(cat in)"
}

# shared_with_outsider ARG...: start a holder; its command ends when a zkflock that does not descend
# from it uses the lock.  That one, which ignores TERM, ends when the file "end" exists.
shared_with_outsider() {
  background -v "$@" "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e in ]; do sleep 0.05; done' 2>log
  holder=$!
  eventually test -s held
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'trap "touch told" TERM; touch in; until [ -e end ]; do sleep 0.05; done'
  inner=$!
}

@test "re-entry: --tree: when the lock is lost, a zkflock from outside that alone uses it is ended first" {
  shared_with_outsider --tree --lease 20 --kill-after 2
  eventually contains log "still use $LOCK"
  lose
  ends_with 75 "$holder"
  assert gone "$inner"
  assert_exist told
}

@test "re-entry: the guard watches the lease for a zkflock that comes in just when the command has ended" {
  background --lease 9 "$LOCK" sh -c 'echo "$ZKFLOCK_HELD" >held; until [ -e end ]; do sleep 0.05; done; echo $$ >ended' 2>log
  holder=$!
  eventually test -s held
  kill -STOP "$holder"
  ZKFLOCK_HELD=$(cat held) background "$LOCK" sh -c 'echo $$ >in; exec sleep 1000'
  inner=$!
  eventually asks_outer "$inner"
  touch end
  eventually test -s ended
  eventually gone "$(cat ended)"
  kill -CONT "$holder"
  eventually test -s in
  kill -STOP "$holder"
  eventually gone "$(cat in)"
  kill -CONT "$holder"
  ends_with 75 "$holder"
  wait "$inner" || true
}

@test "re-entry: --on-lost term waits for a zkflock from outside that uses the lock" {
  shared_with_outsider --on-lost term --lease 60
  eventually contains log "still use $LOCK"
  lose
  eventually test -e told
  touch end
  eventually gone "$holder"
  ends_with 75 "$holder"
  ends_with 0 "$inner"
}

@test "re-entry: --tree: the guard watches the lease while only a zkflock from outside uses the lock" {
  shared_with_outsider --tree --lease 3.5
  eventually contains log "still use $LOCK"
  sleep 4 # longer than the lease
  refute gone "$inner"
  touch end
  eventually gone "$holder"
  ends_with 0 "$holder"
  ends_with 0 "$inner"
  nothing_left_of "$LOCK"
}
