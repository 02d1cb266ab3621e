# Bad input: one clear sentence, the right status, nothing left behind, bounded time.

load helper

usage() { # usage SENTENCE ARG...: a mistake in the command line
  refuses 64 "$@"
}

@test "names of locks" {
  usage "the LOCK '' is empty" "" touch ran
  usage "the LOCK '/' names no znode" / touch ran
  usage "the LOCK '../x' has a part . or .., which ZooKeeper does not allow" ../x touch ran
  usage "the LOCK './x' has a part . or .., which ZooKeeper does not allow" ./x touch ran
  usage "the LOCK '/a/../b' has a part . or .., which ZooKeeper does not allow" /a/../b touch ran
  usage "the LOCK '//' has an empty part (//)" // touch ran
  usage "the LOCK '/a//b' has an empty part (//)" /a//b touch ran
  usage "the LOCK '/a/' ends in a slash" /a/ touch ran
  usage "the LOCK 'a/' ends in a slash" a/ touch ran
  usage "the LOCK '/zookeeper/x' belongs to ZooKeeper itself" /zookeeper/x touch ran
  usage "the LOCK '/zookeeper' belongs to ZooKeeper itself" /zookeeper touch ran
  usage "the LOCK 'a\\x0ab' holds a control character" $'a\nb' touch ran
  usage "the LOCK '🔒' holds a character that ZooKeeper does not allow in names" 🔒 touch ran
  usage "the LOCK '\\x1b[31m' holds a control character" $'\e[31m' touch ran
  sentence="the LOCK 'job-0000000001' is the name of a contender's znode, not of a lock: it ends in ten digits"
  usage "$sentence" job-0000000001 touch ran
  # Nor is one that exists a lock.
  usage "$sentence" --list job-0000000001
  usage "$sentence" --break --yes job-0000000001
  run -64 timeout 10 zkflock $'\xff' touch ran
  assert_output --partial "is not valid UTF-8"
}

@test "a part of a name that the lock above it would take for a contender" {
  for part in 0000000000 step-0000000007; do
    local path=$LOCK/$part/step
    local sentence="the LOCK $path would be a contender of $LOCK by its part $part: a name that ends in ten digits is kept for those; choose another LOCK"
    usage "$sentence" "$path" touch ran
    usage "$sentence" --permits 2 "$path" touch ran
    usage "$sentence" --with "$path" "$LOCK" touch ran
    usage "$sentence" --hold --for $$ "$path"
    usage "$sentence" --show-config "$path"
  done
  usage "the LOCK /0000000000/step would be a contender of / by its part 0000000000: a name that ends in ten digits is kept for those; choose another LOCK" \
    /0000000000/step touch ran
  # Not even that part was made.
  run -0 zkflock -n "$LOCK" echo ran
  assert_output ran
  run -0 zkflock "$LOCK/000000001/9999999999/step" true
}

@test "a part of a name that a contender would have: locks that are there already can be broken and removed" {
  zkflock "$LOCK" true
  zk "$ONE" create "$LOCK/0000000000/step" $'zkflock/1 base=0 lease=15000ms\n'
  run -0 zkflock --list "$LOCK/0000000000/step"
  assert_line --index 0 "$LOCK/0000000000/step"
  run -1 zkflock --break --yes "$LOCK/0000000000/step"
  run -0 zkflock --remove "$LOCK/0000000000/step"
  run -0 zkflock --break --yes "$LOCK"
  run -0 zk "$ONE" ls "$LOCK"
  assert_output ""
}

@test "a name of a megabyte, as far as the kernel passes one" {
  # One argument has at most 128 KiB; that is what can arrive.
  name=$(head -c 131000 /dev/zero | tr '\0' x)
  run -64 timeout 10 zkflock "$name" touch ran
  assert_output --regexp "^zkflock: the LOCK 'x{64}\.\.\.' is too long: at most 1024 bytes\$"
  assert_not_exist ran
  run -126 zkflock "$(head -c 1048576 /dev/zero | tr '\0' x)" touch ran
}

@test "a name of the greatest length works" {
  run -0 zkflock "/$(head -c 1023 /dev/zero | tr '\0' x)" true
  run -64 zkflock "/$(head -c 1024 /dev/zero | tr '\0' x)" true
}

@test "numbers" {
  usage "-w takes a time such as 10, 0.5, 500ms or 5m, not '-1'" -w -1 "$LOCK" touch ran
  usage "-w takes a time such as 10, 0.5, 500ms or 5m, not 'soon'" -w soon "$LOCK" touch ran
  usage "-w takes a time such as 10, 0.5, 500ms or 5m, not ''" --wait= "$LOCK" touch ran
  usage "-w takes a time such as 10, 0.5, 500ms or 5m, not '1e9'" -w1e9 "$LOCK" touch ran
  usage "-E takes an exit status from 0 to 255, not '300'" -E 300 "$LOCK" touch ran
  usage "-E takes an exit status from 0 to 255, not '-1'" -E -1 "$LOCK" touch ran
  usage "-E takes an exit status from 0 to 255, not 'x'" -E x "$LOCK" touch ran
  usage "-E takes an exit status from 0 to 255, not '99999999999999999999'" \
    -E 99999999999999999999 "$LOCK" touch ran
  usage "--connect-timeout takes a time from 100 ms to 1 d, not '0'" \
    --connect-timeout 0 "$LOCK" touch ran
  usage "--session-timeout takes a time from 1 s to 1 h, not '10ms'" \
    --session-timeout 10ms "$LOCK" touch ran
}

@test "options" {
  usage "unrecognized option '--frob'" --frob "$LOCK" touch ran
  assert_line --index 1 "Try 'zkflock --help'."
  usage "invalid option -- 'y'" -y "$LOCK" touch ran
  usage "option requires an argument -- 'w'" -w
  usage "option '--ver' is ambiguous; possibilities: '--verbose' '--version'" --ver "$LOCK" touch ran
  usage "-c goes behind LOCK: zkflock LOCK -c 'SHELL COMMAND'" -c "touch ran" "$LOCK"
}

@test "options: each has an effect on what is asked for, or is refused by its name" {
  local take="--exclusive -e --shared --permits --unfair --with --hook --retry --retry-delay --node-style \
    --lease --signal --kill-after --on-lost --lock-delay --acl --show-command"
  local enter="--auth-file --tls --cacert --cert --key"
  local ask="--servers $enter --connect-timeout --session-timeout"
  local wait="-n -w"
  local tell="--config --verbose --quiet --log-format --log-syslog"
  local -A effective=(
    [run]="$tell $ask $wait -E $take --no-reentry --deadline --max-runtime --once-per --now --skip-exit-code --tree --close"
    [--hold]="$tell $ask $wait -E $take --no-reentry --export --for"
    [--no-fork]="$tell $ask $wait -E $take --no-reentry"
    [--unlock]="$tell --servers $enter --export --for"
    [--list]="$tell $ask --json --watch --names --held"
    [--revoke]="$tell $ask $wait --yes"
    [--break]="$tell $ask --yes"
    [--remove]="$tell $ask $wait"
    [--show-config]="$tell $ask $wait -E $take --no-reentry --deadline --max-runtime --once-per --skip-exit-code --tree --close"
  ) value=(
    [--permits]=2 [--with]=other [--hook]=true [--retry]=1 [--retry-delay]=1 [--node-style]=kazoo
    [--lease]=20 [--signal]=HUP [--kill-after]=1 [--on-lost]=kill [--lock-delay]=0 [--servers]=h
    [--auth-file]=f [--cacert]=f [--cert]=f [--key]=f [--acl]=open [--show-command]=none
    [--connect-timeout]=1 [--session-timeout]=2 [--config]=xdg/zkflock/config [--log-format]=json
    [--export]=--for=1 [--for]=1 [--once-per]=1h [--max-runtime]=1 [--deadline]=1 [--skip-exit-code]=3 [--wait]=1 [--timeout]=1 [--conflict-exit-code]=3
  ) told=(
    [--nb]=-n [--nonblock]=-n [--nonblocking]=-n [--wait]=-w [--timeout]=-w [--conflict-exit-code]=-E
  )
  local action option name all expected wrong=''
  # This comes after the options: a zkflock that gets there has accepted them and asked no server.
  mkdir -p xdg/zkflock
  echo nonsense >xdg/zkflock/config
  all=$(zkflock --help | grep -oE '^ +(-[a-zA-Z], )*--.*' | grep -oE '(^| )--[a-z][a-z-]*' | sort -u)
  for option in -e $all; do
    case $option in
    --hold | --no-fork | --unlock | --list | --revoke | --break | --remove | --show-config) continue ;;
    --command | --help | --version) continue ;;
    esac
    name=${told[$option]:-$option}
    for action in "${!effective[@]}"; do
      local words=("$option" ${value[$option]+"${value[$option]}"} "$action" lock)
      [ "$action" != run ] || words=("$option" ${value[$option]+"${value[$option]}"} lock true)
      [ "$action" != --no-fork ] || words+=(true)
      status=0
      output=$(timeout 10 zkflock "${words[@]}" 2>&1 >/dev/null) || status=$?
      expected="64: zkflock: $name does not go with $action: [a-z].*"
      [ "$action" != run ] || expected="64: zkflock: $name goes with --[^:]* alone"
      [[ " ${effective[$action]} " != *" $name "* ]] || expected="78: zkflock: .*"
      [[ "$status: $output" =~ ^$expected$ ]] ||
        wrong+="${words[*]}: $status: $output"$'\n'
    done
  done
  assert_equal "$wrong" ""
}

@test "options without an effect are ignored in a config file" {
  printf '[lock %s]\npermits = 2\ntimeout = 0\nhook = true\nlease = 20s\nretry = 2\nconflict-exit-code = 9\n' \
    "$LOCK" >config
  run -1 zkflock --config config --list -q "$LOCK"
  run -1 zkflock --config config --unlock "$LOCK"
  run -1 zkflock --config config --break --yes "$LOCK"
  assert_output "zkflock: $LOCK does not exist: nobody holds it"
}

@test "operands" {
  usage "no LOCK given"
  usage "--names goes with --list alone" --names
  usage "no COMMAND given: zkflock $LOCK COMMAND" "$LOCK"
  usage "no COMMAND given: zkflock $LOCK COMMAND" "$LOCK" --
  printf '#!/bin/sh\n' >deploy.sh
  chmod +x deploy.sh
  usage "no LOCK given: zkflock LOCK ./deploy.sh" ./deploy.sh
  refuses 64 "'--yes' stands behind LOCK; options go before it: zkflock --break --yes $LOCK" --break "$LOCK" --yes
  refuses 64 "'--json' stands behind LOCK; options go before it: zkflock --list --json $LOCK" --list "$LOCK" --json
  usage "no COMMAND given; a descriptor number alone, as flock(1) takes, cannot hold a lock of an ensemble: zkflock LOCK COMMAND" 9
  usage "'-n' stands behind LOCK, where COMMAND is expected; options go before LOCK" \
    "$LOCK" -n touch ran
  usage "-c takes exactly one argument, the shell command; quote it as one word" "$LOCK" -c
  usage "-c takes exactly one argument, the shell command; quote it as one word" \
    "$LOCK" -c touch ran
}

@test "lists of servers" {
  usage "--servers: '127.0.0.1:0' has no valid port: 1 to 65535" -z 127.0.0.1:0 "$LOCK" touch ran
  usage "--servers: 'h:65536' has no valid port: 1 to 65535" -z h:65536 "$LOCK" touch ran
  usage "--servers: a server's name is empty" -z "" "$LOCK" touch ran
  usage "--servers: a server's name is empty" -z "$ONE," "$LOCK" touch ran
  usage "--servers: '::1:2181' has more than one colon; an IPv6 address is written in brackets: [::1]:2181" \
    -z ::1:2181 "$LOCK" touch ran
  usage "--servers: 'http://h:2181' is a URL; write HOST:PORT" -z http://h:2181 "$LOCK" touch ran
  usage "--servers: 'a:2181 b:2181' has a blank; commas separate servers" -z "a:2181 b:2181" "$LOCK" touch ran
  usage "--servers: the chroot '/a/' ends in a slash" -z "$ONE/a/" "$LOCK" touch ran
  usage "--servers: the chroot /a stands once, behind the last server: HOST:PORT,HOST:PORT/a" \
    -z "$ONE/a,$ONE/a" "$LOCK" touch ran
  ZKFLOCK_SERVERS=h:0 refuses 78 "\$ZKFLOCK_SERVERS: 'h:0' has no valid port: 1 to 65535" \
    "$LOCK" touch ran
}

@test "a host name that cannot be resolved" {
  refuses 69 "cannot resolve the server name 'no-such-host.invalid': Name or service not known; $LOCK was not taken" \
    -z no-such-host.invalid:2181 "$LOCK" touch ran
}

@test "a host name that cannot be resolved beside one that can is a warning" {
  run -0 timeout 10 zkflock -z "no-such-host.invalid:2181,$ONE" "$LOCK" true
  assert_output --regexp "^zkflock: warning: cannot resolve the server name 'no-such-host.invalid': "
}

@test "a chroot that does not exist" {
  fault="the chroot /no/such/chroot in the list of servers does not exist; create that znode first"
  refuses 78 "cannot create $LOCK: $fault" -z "$ONE/no/such/chroot" "$LOCK" touch ran
  # Not "free", which would be said of a lock that others hold elsewhere.
  for step_in in --list "--list --watch" "--list --json" "--break --yes" "--revoke --yes" --remove; do
    # shellcheck disable=SC2086 # two words
    refuses 78 "$fault" -z "$ONE/no/such/chroot" $step_in "$LOCK"
  done
  # For completions.
  run -0 zkflock --list --names -z "$ONE/no/such/chroot" "$LOCK"
  assert_output ""
}

# unreachable PORT: fail unless zkflock gives up within the time, with status 69.
unreachable() {
  run -69 timeout 10 zkflock -z "127.0.0.1:$1" --connect-timeout 1 "$LOCK" touch ran
  assert_output --partial "zkflock: no server reachable at 127.0.0.1:$1 within 1 s"
  assert_equal "${#lines[@]}" 1
  assert_not_exist ran
}

@test "a closed port" {
  unreachable 1
}

hostile_server() { # hostile_server KIND: its port in $port, until the test's end
  coproc HOSTILE { hostile "$1" 3>&-; }
  hostile_pid=$HOSTILE_PID
  read -r -u "${HOSTILE[0]}" port
}

end_hostile_server() {
  eval "exec ${HOSTILE[1]}>&-"
  wait "$hostile_pid" || true
}

@test "ports that accept and say nothing, speak HTTP, close, or talk nonsense" {
  for kind in silent full http close; do
    hostile_server "$kind"
    unreachable "$port"
    # zkflock leaves a silent server, which is not to be told as the server's doing.
    case $kind in
      silent | full) assert_output --partial " within 1 s: the server does not answer; check" ;;
    esac
    end_hostile_server
  done
  # Random bytes may happen to be a session.
  hostile_server garbage
  run -69 timeout 15 zkflock -z "127.0.0.1:$port" --connect-timeout 1 "$LOCK" touch ran
  # The address sanitizer has a line of its own for what they are as a length.
  assert_equal "$(grep -cv "AddressSanitizer failed to allocate" <<<"$output")" 1
  assert_not_exist ran
  end_hostile_server
}

@test "a server that gives a session and then says nothing" {
  hostile_server mute
  run -69 timeout 15 zkflock -z "127.0.0.1:$port" --connect-timeout 1 "$LOCK" touch ran
  assert_output "zkflock: no answer from 127.0.0.1:$port for 1 s while joining the queue; $LOCK was not taken"
  assert_not_exist ran
  end_hostile_server
}

@test "a server that promises weeks and hangs up" {
  hostile_server weeks
  run -69 timeout 15 zkflock -z "127.0.0.1:$port" --connect-timeout 500ms "$LOCK" touch ran
  assert_output "zkflock: no server reachable at 127.0.0.1:$port within 500 ms: the server sent what is no reply of ZooKeeper; check --servers (or \$ZKFLOCK_SERVERS) and that ZooKeeper runs there; $LOCK was not taken"
  assert_not_exist ran
  end_hostile_server
}

@test "a server that says that it is read-only: every action finds out in time" {
  hostile_server readonly
  unreachable "$port"
  assert_output --partial "within 1 s: the server is read-only; check --servers"
  for action in --list "--list --names" "--break --yes" --remove; do
    # shellcheck disable=SC2086 # options
    run -69 timeout -k 1 10 zkflock -z "127.0.0.1:$port" --connect-timeout 1 $action "$LOCK"
    assert_output --partial "within 1 s: the server is read-only"
  done
  run -69 timeout -k 1 10 zkflock -z "127.0.0.1:$port" --connect-timeout 1 --retry 1 \
    --retry-delay 100ms "$LOCK" touch ran
  assert_not_exist ran
  end_hostile_server
}

@test "a signal ends a zkflock that a read-only server holds up, even after it was stopped" {
  hostile_server readonly
  background -vv -z "127.0.0.1:$port" --connect-timeout 60 "$LOCK" touch ran 2>log
  pid=$!
  eventually contains log "READ-ONLY mode"
  # For so long that the client library, when it goes on, looks for another server at once.
  kill -STOP "$pid"
  sleep 0.5
  kill -CONT "$pid"
  kill "$pid"
  PATIENCE=10 eventually gone "$pid"
  ends_with 143 "$pid"
  assert_not_exist ran
  end_hostile_server
}

@test "a read-only server beside one that serves" {
  hostile_server readonly
  # The list is shuffled.
  for _ in $(seq 6); do
    run -0 timeout -k 1 20 zkflock -z "127.0.0.1:$port,$ONE" "$LOCK" true
  done
  end_hostile_server
}

@test "a port that closes the connection: what it may be" {
  hostile_server close
  unreachable "$port"
  assert_output --partial ": the server closed the connection, as one does that has no majority, is read-only or full (maxClientCnxns), or expects TLS; check"
  end_hostile_server
}

# answers_nonsense KIND STATUS PATTERN: a server of that kind ends zkflock so, and nothing has run; but for an
# attempt or two at which this machine was so busy that no answer came.
answers_nonsense() {
  hostile_server "$1"
  for _ in 1 2 3; do
    run "-$2" timeout -k 1 40 zkflock -z "127.0.0.1:$port" --connect-timeout 4 "$LOCK" touch ran
    [[ $output == *"while joining the queue; "* ]] || break
  done
  assert_line --regexp "$3"
  assert_not_exist ran
  end_hostile_server
}

@test "answers that are no ZooKeeper's: a path without a slash, names that are none, absurd counts" {
  answers_nonsense path 70 "^zkflock: cannot create a znode in $LOCK: marshalling error \\(ZooKeeper error -5\\)\$"
  for kind in null count negative; do
    answers_nonsense "$kind" 69 "^zkflock: no answer from 127.0.0.1:[0-9]+ for 4 s while joining the queue: the server sent what is no reply of ZooKeeper; $LOCK was not taken\$"
  done
}

@test "a tree without end is read in part" {
  for kind in chain tree; do
    hostile_server "$kind"
    run -0 timeout -k 1 120 zkflock -z "127.0.0.1:$port" --list
    assert_output "zkflock: warning: only a part is read: there are more than 100000 znodes, or paths of more than 1024 bytes; name the LOCK
zkflock: no locks below /locks"
    end_hostile_server
  done
}

@test "znodes without data, as other clients may make them" {
  zk "$ONE" create-kind null "$LOCK"
  run -0 zkflock --list "$LOCK"
  coproc OTHER { zk "$ONE" create-kind ephemeral-null "$LOCK/x-0000000000" 3>&-; }
  other_pid=$OTHER_PID
  read -r -u "${OTHER[0]}" _
  run -0 zkflock --list "$LOCK"
  assert_output --partial "held"
  run -1 zkflock -n "$LOCK" true
  run -0 zkflock --revoke --yes -n "$LOCK"
  assert_output --partial "asked the holder of $LOCK to release it"
  run -0 zk "$ONE" get "$LOCK/$(zk "$ONE" ls "$LOCK")"
  assert_output __REVOKE__
  eval "exec ${OTHER[1]}>&-"
  wait "$other_pid" || true
}

@test "a dead first server is left for the next one long before the client library would" {
  hostile_server silent
  # The list is shuffled: in 8 runs the silent one is first about 4 times.  The client library alone would
  # stay with it for 40 s.
  for _ in $(seq 8); do
    run -0 timeout 30 zkflock --session-timeout 60 --connect-timeout 60 \
      -z "127.0.0.1:$port,$ONE" "$LOCK" true
  done
  end_hostile_server
}

@test "a refused command line asks no server" {
  listen
  export ZKFLOCK_SERVERS=$VIA
  usage "the LOCK '/a//b' has an empty part (//)" /a//b touch ran
  usage "no COMMAND given: zkflock $LOCK COMMAND" "$LOCK"
  refuses 127 "command not found: ./none" "$LOCK" ./none
  assert_file_empty frames
  # The proxy would have seen it.
  run -0 zkflock "$LOCK" true
  assert_file_not_empty frames
  close_proxy
}
