# --once-per: one host of many runs the job, once in a period by the ensemble's clock.

load helper

readonly NEVER="zkflock-once/1 began=0"

readonly CLOCKSHIFT=$ZKFLOCK_BUILD/chaos/clockshift.so
# A preloaded library comes before the sanitizers' own.
export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0

note() { zk "$ONE" get "$LOCK.once"; }
is_noted() { [[ $(note) =~ ^zkflock-once/1\ began=[1-9][0-9]{12}$ ]]; }

# set_note_back MS: makes the last success that much older.
set_note_back() {
  local text
  text=$(note)
  zk "$ONE" set "$LOCK.once" "zkflock-once/1 began=$((${text#*=} - $1))"$'\n'
}

# start NAME ARG...: a job that runs until NAME.go is made and ends with the status in NAME.status; its
# pid in NAME.in, that of zkflock in $job.
start() {
  local name=$1
  shift
  background -v "$@" sh -c 'echo $$ >"$0.in"; until [ -e "$0.go" ]; do sleep 0.05; done; exit "$(cat "$0.status")"' \
    "$name" 2>"$name.log"
  job=$!
  eventually test -s "$name.in"
}

# clock HOST SECONDS: a file for the preloaded clock.
clock() { python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("=qq", *2 * [int(sys.argv[1]) * 10**9]))' "$2" >"clock.$1"; }

own_node() { zk "$ONE" ls "$LOCK" | head -n 1; }

@test "once-per: runs once and is then skipped: 0, or --skip-exit-code, in silence" {
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ran
  assert is_noted
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ""
  run -9 zkflock --once-per 1h --skip-exit-code 9 "$LOCK" echo ran
  assert_output ""
  run -0 zkflock -v --once-per 1h "$LOCK" echo ran
  assert_line --regexp "^zkflock\[.*\]: skipped: the last successful run of $LOCK began [0-9.]+ m?s ago, --once-per 1 h\$"
  refute_line ran
  # The lock was given back each time, counted; without the option the job runs, and notes nothing.
  run -0 zk "$ONE" stat "$LOCK"
  assert_output --regexp '^4 8 0 0 '
  noted=$(note)
  run -0 zkflock "$LOCK" echo ran
  assert_output ran
  assert_equal "$(note)" "$noted"
}

@test "once-per: a run that failed does not count" {
  run -3 zkflock --once-per 1h "$LOCK" sh -c 'exit 3'
  run -143 zkflock --once-per 1h "$LOCK" sh -c 'kill -TERM $$'
  assert_equal "$(note)" "$NEVER"
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ran
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ""
}

@test "once-per: if the run fails the next in the queue tries, and those behind it are skipped" {
  echo 1 >first.status
  start first --once-per 1h "$LOCK"
  first=$job
  wait_in_line second --once-per 1h "$LOCK" sh -c 'echo x >>ran'
  second=$waiter
  wait_in_line third --once-per 1h --skip-exit-code 8 "$LOCK" sh -c 'echo x >>ran'
  touch first.go
  ends_with 1 "$first"
  ends_with 0 "$second"
  ends_with 8 "$waiter"
  assert lines ran 1
}

@test "once-per: a run is due when the period has passed since the last one began" {
  zkflock --once-per 1s "$LOCK" true
  due() { zkflock --once-per 1s "$LOCK" touch again && [ -e again ]; }
  eventually due
  set_note_back $((3600 * 1000 - 60 * 1000))
  run -0 zkflock -v --once-per 1h "$LOCK" echo ran
  assert_line --partial "began 59 m "
  refute_line ran
  set_note_back $((60 * 1000))
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ran
}

@test "once-per: a zkflock that waited for a successful run is skipped, however long that run took" {
  echo 0 >long.status
  start long --once-per 1s "$LOCK"
  long=$job
  wait_in_line waiting --once-per 1s --skip-exit-code 8 "$LOCK" touch again
  waiting=$waiter
  began=$(now)
  passed() { [ "$(now)" -gt $((began + 2000)) ]; }
  eventually passed
  # A run that comes this long after the begin of that one is due.
  wait_in_line later --once-per 1s "$LOCK" touch ran
  later=$waiter
  touch long.go
  ends_with 0 "$long"
  ends_with 8 "$waiting"
  assert contains waiting "--once-per 1 s, counted from when zkflock began to wait"
  assert_not_exist again
  ends_with 0 "$later"
  assert_exist ran
}

@test "once-per: what counts is when the run began" {
  echo 0 >long.status
  start long --once-per 1h "$LOCK"
  began=$(zk "$ONE" create "$LOCK-after" && zk "$ONE" mtime "$LOCK-after")
  touch long.go
  ends_with 0 "$job"
  text=$(note)
  assert [ "${text#*=}" -le "$began" ]
}

@test "once-per: a last success in the future counts as just now, or as a clock's error" {
  zkflock --once-per 1h "$LOCK" true
  set_note_back $((-1800 * 1000))
  run -0 zkflock -v --once-per 1h "$LOCK" echo ran
  assert_line --partial "skipped: the last successful run of $LOCK began 0 ms ago"
  set_note_back $((-3600 * 1000))
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_line --regexp "^zkflock: warning: the last successful run of $LOCK is noted 1 h [0-9a-z. ]+ in the future: the clock of a server is or was wrong; running\$"
  assert_line ran
  zk "$ONE" set "$LOCK.once" $'zkflock-once/1 began=9223372036854775807\n'
  run -0 zkflock -q --once-per 1h "$LOCK" echo ran
  assert_output ran
  assert is_noted
}

@test "once-per: every exclusive kind, and with other locks" {
  for kind in -x --unfair "--node-style kazoo" "--node-style plain:x-"; do
    # shellcheck disable=SC2086 # two words
    for _ in 1 2; do zkflock --once-per 1h $kind "$LOCK${kind##*[ :-]}" sh -c 'echo x >>ran'; done
  done
  assert lines ran 4
  for _ in 1 2; do zkflock --once-per 1h --with "$LOCK-0" "$LOCK-1" sh -c 'echo x >>ran'; done
  assert lines ran 5
  run -0 zk "$ONE" get "$LOCK-1.once"
  run -1 zk "$ONE" get "$LOCK-0.once"
}

@test "once-per: busy is busy" {
  echo 0 >held.status
  start held --once-per 1h "$LOCK"
  run -1 zkflock -n --once-per 1h "$LOCK" touch ran
  run -7 zkflock -w 0.1 -E 7 --once-per 1h --skip-exit-code 9 "$LOCK" touch ran
  touch held.go
  ends_with 0 "$job"
  run -9 zkflock -n -E 7 --once-per 1h --skip-exit-code 9 "$LOCK" touch ran
  assert_not_exist ran
}

@test "once-per: mistakes in the command line" {
  for value in 0 x -1 0.5 999999h ""; do
    refuses 64 "--once-per takes a time from 1 s to 1000 d, not '$value'" --once-per "$value" "$LOCK" touch ran
  done
  for value in 256 -1 x; do
    refuses 64 "--skip-exit-code takes an exit status from 0 to 255, not '$value'" --skip-exit-code "$value" "$LOCK" touch ran
  done
  refuses 64 "--skip-exit-code goes with --once-per alone: without it, every run is due" --skip-exit-code 3 "$LOCK" touch ran
  for kind in "--shared" "--permits 2"; do
    # shellcheck disable=SC2086 # two words
    refuses 64 "--once-per does not go with ${kind% 2}: several would find at the same time that a run is due" \
      --once-per 1h $kind "$LOCK" touch ran
  done
  refuses 64 "the LOCK 'job.once' has a part that ends in .once, as the znodes do where --once-per keeps its notes" job.once touch ran
  refuses 64 "the LOCK 'job.once/x' has a part that ends in .once, as the znodes do where --once-per keeps its notes" job.once/x touch ran
  run -64 zkflock "$LOCK" zkflock --once-per 1h "$LOCK" touch ran
  assert_output "zkflock: --once-per does not go with a lock that the zkflock around this one holds, $LOCK; give it to that one"
  assert_not_exist ran
  # The other way round is as ever.
  run -0 zkflock --once-per 1h "$LOCK" zkflock "$LOCK" echo ran
  assert_output ran
}

@test "once-per: a note with other data is refused and left alone, an empty one counts as none" {
  zkflock "$LOCK" true
  for content in "10.0.0.1:80" $'zkflock-once/2 began=5\n' "zkflock-once/1 began=5" $'zkflock-once/1 began=-5\n'; do
    zk "$ONE" create "$LOCK.once" "$content"
    run -78 zkflock --once-per 1h "$LOCK" touch ran
    assert_output "zkflock: $LOCK.once holds data that is no note of --once-per's; delete it if nobody needs it, or choose another LOCK"
    assert_equal "$(note)" "${content%$'\n'}"
    zk "$ONE" delete "$LOCK.once"
  done
  assert_not_exist ran
  nothing_left_of "$LOCK"
  zk "$ONE" create "$LOCK.once"
  zkflock --once-per 1h "$LOCK" touch ran
  assert_exist ran
  assert is_noted
}

@test "once-per: without the right to note, 77 before the command" {
  not_permitted() { # not_permitted LOCK TO WHOSE RIGHT
    run -77 zkflock --once-per 1h "$1" touch ran
    assert_output "zkflock: the note of --once-per: not permitted to $2 $1.once: $3 does not give this client $4"
    assert_not_exist ran
    nothing_left_of "$1"
  }
  zkflock "$LOCK/in" true
  zk "$ONE" deny "$LOCK" rwda
  not_permitted "$LOCK/in" create "the ACL of $LOCK" CREATE
  zk "$ONE" deny "$LOCK" rwcda
  zk "$ONE" create "$LOCK/in.once"
  zk "$ONE" deny "$LOCK/in.once" ra
  not_permitted "$LOCK/in" "write to" "its ACL" WRITE
  for permissions in wa a; do
    zk "$ONE" deny "$LOCK/in.once" "$permissions"
    not_permitted "$LOCK/in" read "its ACL" READ
  done
  zk "$ONE" deny "$LOCK/in.once" rwcda
}

# A zkflock that learns what has happened to its lock only when its command has ended.
freeze() { kill -STOP "$1"; }
thaw() { # thaw PID NAME
  eventually gone "$(cat "$2.in")"
  # When the command ends the kernel itself continues what is stopped in its group.
  kill -CONT "$1" || true
}

@test "once-per: a holder whose znode was deleted notes nothing, and says so" {
  echo 0 >lost.status
  start lost --once-per 1h "$LOCK"
  freeze "$job"
  zk "$ONE" delete "$LOCK/$(own_node)"
  touch lost.go
  thaw "$job" lost
  ends_with 0 "$job"
  assert contains lost.log "warning: the success could not be noted; another host may run it again: the znode"
  assert_equal "$(note)" "$NEVER"
}

@test "once-per: a late success does not change the note that a later holder has read, whatever their znodes' names" {
  for kind in --exclusive --unfair; do
    LOCK=$LOCK$kind
    echo 0 >"late$kind.status"
    echo 1 >"next$kind.status"
    start "late$kind" "$kind" --once-per 1h "$LOCK"
    late=$job
    freeze "$late"
    zk "$ONE" delete "$LOCK/$(own_node)"
    # The unfair one has the same name.
    start "next$kind" "$kind" --lock-delay 0 --once-per 1h "$LOCK"
    touch "late$kind.go"
    thaw "$late" "late$kind"
    ends_with 0 "$late"
    assert contains "late$kind.log" "warning: the success could not be noted"
    touch "next$kind.go"
    ends_with 1 "$job"
    assert_equal "$(note)" "$NEVER"
  done
}

@test "once-per: whichever message is lost, one run is noted once" {
  # Before the fourth the lock is taken, after the seventh it is released.
  for direction in request reply; do
    for number in 3 4 5 6 7 8; do
      open_proxy "$direction" "$number"
      LOCK=/t/once/lost/$direction/$number
      zkflock "$LOCK" true
      zkflock -z "$VIA" --once-per 1h "$LOCK" sh -c 'echo x >>ran' || fail "$direction $number: $?"
      await_cut 5
      assert_equal "$cut" cut
      close_proxy
      assert is_noted
      zkflock --once-per 1h "$LOCK" touch again
    done
  done
  assert lines ran 12
  assert_not_exist again
}

@test "once-per: no contact before the command: 69; after it: a warning, and the command's status" {
  # stalling REPLY ARG...: runs zkflock through a proxy that loses contact after that reply.
  stalling() {
    open_proxy stall "$1"
    shift
    zkflock "$1" true
    run zkflock -z "$VIA" --connect-timeout 2 --session-timeout 4 --once-per 1h "$@"
    close_proxy
  }
  for reply in 4 5 6; do
    stalling "$reply" "$LOCK-$reply" touch ran
    assert_equal "$status" 69
    assert_line --regexp "^zkflock: no answer from 127.0.0.1:[0-9]+ for 2 s on when the last successful run of $LOCK-$reply began; $LOCK-$reply was not taken\$"
    assert_not_exist ran
  done
  open_proxy none 0
  run -0 zkflock -z "$VIA" --connect-timeout 2 --session-timeout 4 --once-per 1h "$LOCK" \
    sh -c 'touch ran; kill -STOP "$1"' sh "$proxy_pid"
  close_proxy
  assert_line --partial "warning: the success could not be noted; another host may run it again: no answer from the ensemble"
  assert_exist ran
}

@test "once-per: --retry takes the lock anew where contact was lost before the command" {
  open_proxy stall 4
  zkflock "$LOCK" true
  run -0 zkflock -v -z "$VIA" --connect-timeout 1 --session-timeout 2 --once-per 1h \
    --retry 5 --retry-delay 100ms "$LOCK" touch ran
  assert_line --regexp "on when the last successful run of $LOCK began; trying again in 100 ms, 5 tries left$"
  assert_exist ran
  close_proxy
}

# events LOG: what happened to the lock, of a log in JSON, in one line.
events() { grep -oE '"event": ?"(acquired|lost|released|exit)"' "$1" | cut -d'"' -f4 | paste -sd" "; }

@test "once-per: with --retry, each acquired is followed by released or lost" {
  for pause in 100ms 4; do
    LOCK=/t/once/retry/$pause
    zkflock "$LOCK" true
    # The answer about the note does not come; after the longer pause there is contact again.
    open_proxy stall 4
    zkflock -v --log-format json -z "$VIA" --connect-timeout 1 --session-timeout 2 \
      --lock-delay 0 --once-per 1h --retry 3 --retry-delay "$pause" "$LOCK" true 2>log
    assert_regex "$(events log)" "^acquired (lost|released) acquired released exit\$"
    close_proxy
  done
  # Both tries lose it.
  PROXY_OF=multi open_proxy refuse 1-1000:-101
  run -75 zkflock -z "$VIA" --lock-delay 0 --once-per 1h --retry 1 --retry-delay 100ms "$LOCK.gone" true
  assert_output --regexp "^zkflock: lost $LOCK.gone before true was started: the znode [^ ]* was deleted, by --break or another client\$"
  run -75 zkflock -v --log-format json -z "$VIA" --lock-delay 0 --once-per 1h --retry 1 --retry-delay 100ms "$LOCK.gone" true
  echo "$output" >log
  assert_equal "$(events log)" "acquired lost acquired lost exit"
  close_proxy
}

@test "once-per: a run whose lock was lost under --on-lost warn does not count" {
  background --on-lost warn --lease 5 --once-per 1h "$LOCK" sh -c 'touch started; until [ -e go ]; do sleep 0.05; done' 2>log
  job=$!
  eventually test -e started
  lose
  eventually contains log "goes on without it"
  touch go
  ends_with 0 "$job"
  assert grep -q "warning: the success could not be noted; another host may run it again: the lock was lost" log
  run -0 zkflock --once-per 1h "$LOCK" touch again
  assert_exist again
}

# The first one is killed before it has succeeded, the second one after that; both with all
# processes, as by a crash of the host.
readonly crashing='exec 9>>alone.$1
flock -n 9 || echo overlap >>overlaps
echo $PPID >>starts.$1
case $(wc -l <starts.$1) in
1) exec sleep 1000 ;;
2) echo x >>successes.$1; touch succeeded.$1; exec sleep 1000 ;;
*) echo x >>successes.$1 ;;
esac'

crash_the_starter() { # crash_the_starter LOCK-NUMBER N: the Nth one
  local guard keeper
  eventually at_least "starts.$1" "$2"
  guard=$(sed -n "$2p" "starts.$1")
  keeper=$(ps -o ppid= -p "$guard")
  crash "${keeper// /}"
}

at_least() { [ "$(wc -l <"$1" 2>/dev/null || echo 0)" -ge "$2" ]; } # at_least FILE LINES

@test "once-per: 20 hosts whose clocks differ by minutes: exactly one run in each of 100 rounds" {
  assert_exist "$CLOCKSHIFT" # make check makes it
  run -0 fleet "$CLOCKSHIFT" "$LOCK" 20 100
  assert_output "20 clocks of zkflock, from -120 to 120 s
100 of 100 rounds good"
}

@test "once-per: crashes of whoever runs: at least one success each, never two at once" {
  assert_exist "$CLOCKSHIFT"
  for host in $(seq 0 19); do
    clock "$host" $((-120 + host * 12))
    for lock in 1 2 3; do
      LD_PRELOAD=$CLOCKSHIFT CHAOS_CLOCK=clock.$host \
        background --session-timeout 2 --lease 5 --once-per 1h "$LOCK/$lock" sh -c "$crashing" crashing "$lock"
    done
  done
  for nth in 1 2; do
    for lock in 1 2 3; do
      [ "$nth" -eq 1 ] || eventually test -e "succeeded.$lock"
      crash_the_starter "$lock" "$nth"
    done
  done
  wait
  for lock in 1 2 3; do
    # The one that was killed before it could note its success, and the next.
    assert lines "successes.$lock" 2
    assert lines "starts.$lock" 3
  done
  assert_not_exist overlaps
}

@test "once-per: --now runs what is not due, under the lock, and notes its success" {
  zkflock --once-per 1h "$LOCK" true
  set_note_back 60000
  before=$(note)
  # A failure changes nothing.
  run -3 zkflock --once-per 1h --now "$LOCK" sh -c 'exit 3'
  assert_equal "$(note)" "$before"
  run -0 zkflock -v --once-per 1h --now "$LOCK" echo ran
  assert_line ran
  assert_line --regexp "the last successful run of $LOCK began 1 m( [0-9.]+ s)? ago; running again \(--now\)\$"
  assert is_noted
  noted=$(note)
  assert [ "${noted#*=}" -ge $((${before#*=} + 60000)) ]
  run -0 zkflock --once-per 1h "$LOCK" echo ran
  assert_output ""
  hold "$LOCK" release
  run -1 zkflock -q -n --once-per 1h --now "$LOCK" touch again
  touch release
  ends_with 0 "$holder"
  assert_not_exist again
}

@test "once-per: --now runs what is due as well" {
  run -0 zkflock -v --once-per 1h --now "$LOCK" echo ran
  assert_line ran
  refute_line --partial "running again"
  assert is_noted
}

@test "once-per: --now takes the period of a config file, and is refused without one" {
  printf '[lock %s]\nonce-per = 1h\n' "$LOCK" >config
  zkflock --config config "$LOCK" true
  run -0 zkflock --config config "$LOCK" echo ran
  assert_output ""
  run -0 zkflock --config config --now "$LOCK" echo ran
  assert_output ran
  alone="--now goes with --once-per alone: without it, every run is a run now; leave --now out"
  refuses 64 "$alone" --now "$LOCK" touch ran
  printf '[lock %s]\nkind = unfair\n' "$LOCK" >config
  refuses 64 "$alone" --config config --now "$LOCK" touch ran
}
