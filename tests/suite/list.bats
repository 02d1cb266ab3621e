# --list: who holds and who waits.

load helper
load list

@test "--list: a table of locks of different kinds, with holders and waiters" {
  holder ann "$LOCK/plain"
  waiter ben "$LOCK/plain"
  waiter cat "$LOCK/plain"
  holder dan -s "$LOCK/read"
  holder eve -s "$LOCK/read"
  waiter fay "$LOCK/read"
  holder gus --permits 2 "$LOCK/pool"
  holder hal --unfair "$LOCK/fast"
  zkflock "$LOCK/idle" true
  run -0 zkflock --list "$LOCK"
  assert_line --index 0 --regexp "^LOCK +STATE +KIND +HOLDER +PID +FOR +WAIT +COMMAND$"
  assert_equal "${#lines[@]}" 6
  host=$(hostname)
  assert_regex "$(row "$LOCK/plain")" "^$LOCK/plain held exclusive ann@$host [0-9]+ [0-9]+s 2 sh -c touch"
  assert_regex "$(row "$LOCK/read")" "^$LOCK/read held shared x2 dan@$host [0-9]+ [0-9]+s 1 sh -c touch"
  assert_regex "$(row "$LOCK/pool")" "^$LOCK/pool held permits 1/2 gus@$host [0-9]+ [0-9]+s 0 sh -c touch"
  assert_regex "$(row "$LOCK/fast")" "^$LOCK/fast held unfair hal@$host [0-9]+ [0-9]+s 0 sh -c touch"
  assert_regex "$(row "$LOCK/idle")" "^$LOCK/idle free 0$"
  # No colours, no ends in a pipe.
  refute_output --partial $'\033'
  refute_output --partial ...
  end_all ann.go dan.go eve.go gus.go hal.go
}

@test "--list LOCK: the queue in order" {
  holder ann "$LOCK"
  for name in ben cat dan; do waiter "$name" "$LOCK"; done
  run -0 zkflock --list "$LOCK"
  assert_line --index 0 "$LOCK"
  assert_line --index 1 "held, exclusive, 3 waiting, lease 15 s"
  assert_line --index 2 --regexp "^PLACE +WHO +PID +KIND +FOR +COMMAND$"
  assert_line --index 3 --regexp "^holds +ann@"
  assert_line --index 4 --regexp "^1 +ben@.* true$"
  assert_line --index 5 --regexp "^2 +cat@"
  assert_line --index 6 --regexp "^3 +dan@"
  end_all ann.go
  run -0 zkflock --list "$LOCK"
  assert_output "$LOCK
free, lease 15 s"
}

@test "--list LOCK: readers that hold together, and those who wait for a permit" {
  holder ann -s "$LOCK/read"
  waiter ben "$LOCK/read"
  waiter cat -s "$LOCK/read"
  run -0 zkflock --list "$LOCK/read"
  assert_line --index 3 --regexp "^holds +ann@.* shared "
  assert_line --index 4 --regexp "^1 +ben@.* exclusive "
  assert_line --index 5 --regexp "^2 +cat@.* shared "
  holder dan --permits 2 "$LOCK/pool"
  holder eve --permits 2 "$LOCK/pool"
  waiter fay --permits 2 "$LOCK/pool"
  LOGNAME=gus background --permits 2 "$LOCK/pool" true
  zk "$ONE" await-count "$LOCK/pool/locks" 2
  run -0 zkflock --list "$LOCK/pool"
  assert_line --index 1 "held, permits 2/2, 2 waiting, lease 15 s"
  assert_line --index 3 --regexp "^holds +dan@"
  assert_line --index 4 --regexp "^holds +eve@"
  assert_line --index 5 --regexp "^1 +fay@"
  assert_line --index 6 --regexp "^2 +gus@"
  assert_equal "${#lines[@]}" 7
  end_all ann.go dan.go eve.go
}

@test "--list: a holder that did not wait for vanished ones is shown as the holder, and --revoke reaches it" {
  zk "$ONE" create "$LOCK" ""
  holder ann --lock-delay 0 "$LOCK"
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 --partial "held, exclusive"
  assert_line --index 3 --regexp "^holds +ann@"
  run -0 zkflock --revoke --yes "$LOCK"
  wait
}

@test "--list: a lock that was handed over is held since then, not since it was asked for" {
  holder ann "$LOCK"
  LOGNAME=ben background "$LOCK" sh -c 'touch ben.held; until [ -e ben.go ]; do sleep 0.05; done'
  zk "$ONE" await-count "$LOCK" 2
  touch ann.go
  eventually test -e ben.held
  run -0 zkflock --list --json "$LOCK"
  assert_equal "$(json 'd["locks"][0]["holders"][0]["user"]')" ben
  assert_equal "$(json 'd["locks"][0]["holders"][0]["since"] > d["locks"][0]["holders"][0]["created"]')" True
  end_all ben.go
}

@test "--list --json: every key of the manual" {
  holder ann "$LOCK"
  waiter ben "$LOCK"
  run -0 zkflock --list --json "$LOCK" "$LOCK.never"
  assert_equal "$(json 'sorted(d)')" "['format', 'locks', 'time']"
  assert_equal "$(json 'd["format"]')" 1
  lock='d["locks"][0]'
  assert_equal "$(json "sorted($lock)")" \
    "['exists', 'holders', 'kind', 'last_success', 'lease_ms', 'name', 'path', 'permits', 'state', 'until', 'vanished', 'waiting']"
  assert_equal "$(json "[${lock}[k] for k in ('name', 'path', 'exists', 'state', 'kind', 'permits', 'lease_ms', 'vanished', 'until')]")" \
    "['$LOCK', '$LOCK', True, 'held', 'exclusive', None, 15000, 0, None]"
  holder="${lock}['holders'][0]"
  assert_equal "$(json "sorted($holder)")" \
    "['address', 'command', 'created', 'holds', 'host', 'kind', 'node', 'pid', 'session', 'since', 'token', 'until', 'user', 'version']"
  assert_equal "$(json "[${holder}[k] for k in ('user', 'host', 'holds', 'kind', 'address')]")" \
    "['ann', '$(hostname)', True, 'exclusive', None]"
  assert_equal "$(json "${holder}['version'] + '.'")" "$(zkflock --version | cut -d' ' -f2)."
  assert_equal "$(json "${lock}['waiting'][0]['command']")" true
  assert_equal "$(json "[d['locks'][1][k] for k in ('exists', 'state', 'kind', 'holders', 'waiting')]")" \
    "[False, 'free', None, [], []]"
  # The output has exactly the keys that the manual lists.
  for key in $(json "' '.join(sorted(set(d) | set($lock) | set($holder)))"); do
    assert grep -q "^\.It Cm $key\$" "$TESTS_DIR/../man/zkflock.1"
  done
  end_all ann.go
}

@test "--list --held: only what is held, or cannot be read, as a table, in JSON, and names" {
  zkflock "$LOCK/idle" true
  zkflock --permits 2 "$LOCK/idlepool" true
  holder ann "$LOCK/busy"
  waiter ben "$LOCK/busy"
  holder cat --permits 2 "$LOCK/pool"
  # A contender that still has to wait for a vanished holder holds nothing.
  others "$LOCK/settles" _c_0123456789abcdef0123456789abcdef-lock- 1 \
    $'zkflock/1 waiting exclusive\nann@h pid 7: true\nkind=exclusive settling=100000ms\n'
  run -0 --separate-stderr zkflock --list --held "$LOCK/"
  assert_equal "$(printf '%s\n' "${lines[@]}" | tr -s ' ' | cut -d' ' -f1,2)" "LOCK STATE
$LOCK/busy held
$LOCK/pool held"
  assert_equal "$stderr" ""
  run -0 zkflock --list --held --json "$LOCK/"
  assert_equal "$(json '[l["name"] for l in d["locks"]]')" "['$LOCK/busy', '$LOCK/pool']"
  run -0 zkflock --list --held --names "$LOCK/"
  assert_output "$LOCK/busy
$LOCK/pool"
  # One by name, and those of the config files, which may be elsewhere.
  run -0 zkflock --list --held "$LOCK/busy"
  assert_line --index 1 "held, exclusive, 1 waiting, lease 15 s"
  for how in "" --names; do
    # shellcheck disable=SC2086 # none is no argument
    run -0 zkflock --list --held $how "$LOCK/idle" "$LOCK/never"
    assert_output ""
  done
  printf '[zkflock]\nroot = %s\n[lock busy]\n[lock never]\n' "$LOCK" >config
  run -0 zkflock --config config --list --held --names
  assert_output "busy
pool"
  run -69 zkflock --config config --list --held --names -z 127.0.0.1:1 --connect-timeout 300ms
  zk "$ONE" deny "$LOCK/idle" cdwa
  run -0 zkflock --list --held "$LOCK/"
  assert_regex "$(row "$LOCK/idle")" "^$LOCK/idle \? \(unknown: not permitted\)$"
  zk "$ONE" deny "$LOCK/idle" rcdwa
  others_end
  end_all ann.go cat.go
}

@test "--list: on a terminal the list of all ends with a summary, in a pipe it does not" {
  printf '[zkflock]\nroot = %s\n' "$LOCK" >config
  zkflock "$LOCK/idle" true
  holder ann "$LOCK/busy"
  waiter ben "$LOCK/busy"
  run -0 zkflock --config config --list
  assert_equal "${#lines[@]}" 3
  run -0 terminal "send=zkflock --config config --list; echo d''one\n" "expect=2 locks, 1 held, 1 waiting" expect=done \
    "send=zkflock --config config --list --held; echo d''two\n" "expect=2 locks, 1 held, 1 waiting" expect=dtwo
  # The list without the lock that is free, which counts all the same.
  assert_equal "$(tr -d '\r' <<<"$output" | grep -c '^idle ')" 1
  for how in "--json" "--names" "idle busy"; do
    run -0 terminal "send=zkflock --config config --list $how; echo d''one\n" expect=done
    refute_output --partial "1 held"
  done
  end_all ann.go
}

# noted LOCK SECONDS: notes a last success that began so long ago; prints when, in ms.
noted() {
  local began=$(($(zk "$ONE" mtime "$1.once") - $2 * 1000))
  zk "$ONE" set "$1.once" "zkflock-once/1 began=$began"$'\n'
  echo "$began"
}

@test "--list: when the last run of --once-per that succeeded began" {
  zkflock --once-per 1h "$LOCK/job" true
  zkflock --once-per 1h "$LOCK/fails" false || true
  zk "$ONE" create "$LOCK/other"
  zk "$ONE" create "$LOCK/other.once" "somebody else's"
  began=$(noted "$LOCK/job" 7200)
  run -0 zkflock --list "$LOCK/job"
  assert_line --index 1 "free, lease 15 s, last success 2h00m ago"
  run -0 zkflock --list "$LOCK/fails"
  assert_line --index 1 "free, lease 15 s"
  run -0 zkflock --list "$LOCK/"
  assert_regex "$(row "$LOCK/job")" "^$LOCK/job free last success 2h00m ago 0$"
  assert_regex "$(row "$LOCK/fails")" "^$LOCK/fails free 0$"
  # It is the same for locks asked for by name, as those of config files are, and for one in use.
  holder ann "$LOCK/job"
  for place in "$LOCK/" "$LOCK/job" "$LOCK/job $LOCK/other"; do
    # shellcheck disable=SC2086 # two words
    run -0 zkflock --list --json $place
    job='[l for l in d["locks"] if l["path"] == "'$LOCK'/job"][0]'
    assert_equal "$(json "${job}['last_success']")" \
      "$(date -u -d "@${began%???}" +%FT%T).${began: -3}Z"
    assert_equal "$(json "[l['last_success'] for l in d['locks'] if l['path'] != '$LOCK/job'] in ([], [None])")" True
  done
  run -0 zkflock --list "$LOCK/job"
  assert_line --index 1 "held, exclusive, 0 waiting, lease 15 s, last success 2h00m ago"
  end_all ann.go
  # A note that may not be read is shown as unknown, and does not affect anything else.
  zk "$ONE" deny "$LOCK/job.once" cdwa
  run -0 zkflock --list "$LOCK/job"
  assert_output "$LOCK/job
free, lease 15 s"
  zk "$ONE" deny "$LOCK/job.once" rcdwa
}

@test "--list -q LOCK: held or free, by the exit status alone" {
  run -1 zkflock --list -q "$LOCK"
  assert_output ""
  holder ann "$LOCK"
  run -0 zkflock --list -q "$LOCK"
  assert_output ""
  end_all ann.go
  run -1 zkflock --list -q "$LOCK"
  assert_output ""
  holder ben --permits 3 "$LOCK.pool"
  run -0 zkflock --list -q "$LOCK.pool"
  end_all ben.go
  run -1 zkflock --list -q "$LOCK.pool"
  run -69 zkflock --list -q -z 127.0.0.1:1 --connect-timeout 0.3 "$LOCK"
  assert_output --partial "no server reachable"
}

@test "--list -q: a config file that makes zkflock quiet does not silence a list" {
  mkdir -p xdg/zkflock
  printf '[zkflock]\nlog-level = error\n' >xdg/zkflock/config
  zkflock "$LOCK" true
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "free, lease 15 s"
}

@test "--list: what it does not go with" {
  refuses 64 "--list -q takes exactly one LOCK, and tells by the exit status whether it is held" --list -q
  refuses 64 "--list -q takes exactly one LOCK, and tells by the exit status whether it is held" --list -q a b
  refuses 64 "-q does not go with --json: with -q only the exit status says whether a LOCK is held" --list -q --json a
  refuses 64 "-q does not go with --held: with -q only the exit status says whether a LOCK is held" --list -q --held a
  refuses 64 "--held does not go with --watch, which tells of locks that come free, too" --list --held --watch
  refuses 64 "-q does not go with --watch: with -q only the exit status says whether a LOCK is held" --list -q --watch a
  refuses 64 "the LOCK '/a//b' has an empty part (//)" --list /a//b
  refuses 69 "no server reachable at 127.0.0.1:1 within 300 ms: Connection refused; check --servers (or \$ZKFLOCK_SERVERS) and that ZooKeeper runs there" \
    --list -z 127.0.0.1:1 --connect-timeout 0.3
}

@test "--list: a vanished holder, and until when the next one waits for it" {
  background --lease 25 --session-timeout 2 "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  crashing=$!
  eventually test -e crashing
  crash "$crashing"
  zk "$ONE" await-count "$LOCK" 0
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "free, but a holder vanished: the next one waits 25 s, lease 25 s"
  run -0 zkflock --list "$LOCK" "$LOCK.never"
  assert_regex "$(row "$LOCK")" "^$LOCK free 1 vanished 0$"
  assert_regex "$(row "$LOCK.never")" "^$LOCK.never free \(never used\) 0$"
  background --lease 25 --session-timeout 2 "$LOCK" sh -c 'touch next; until [ -e go ]; do sleep 0.05; done'
  eventually settles
  run -0 zkflock --list --json "$LOCK"
  assert_equal "$(json '[d["locks"][0]["state"], len(d["locks"][0]["holders"]), len(d["locks"][0]["waiting"])]')" "['settling', 0, 1]"
  assert_equal "$(json 'd["locks"][0]["until"] == d["locks"][0]["waiting"][0]["until"] > d["time"]')" True
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 --regexp "^settling: the next one waits for a holder that vanished, until $TIME_OF_DAY \([0-9]+s\), 1 waiting, lease 25 s$"
  assert_line --index 3 --regexp "^next "
  run -0 zkflock --list "$LOCK" "$LOCK.never"
  assert_regex "$(row "$LOCK")" "^$LOCK settling exclusive until $TIME_OF_DAY 1$"
  run -1 zkflock --list -q "$LOCK.never"
  run -0 zkflock --list -q "$LOCK"
  PATIENCE=60 eventually test -e next
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 "held, exclusive, 0 waiting, lease 25 s"
  end_all go
}

@test "--list: a vanished holder is waited for as long as --lock-delay says" {
  background --lease 4 --session-timeout 1 "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  crashing=$!
  eventually test -e crashing
  crash "$crashing"
  zk "$ONE" await-count "$LOCK" 0
  background --lock-delay 1h "$LOCK" touch ran
  eventually settles
  run -0 zkflock --list "$LOCK"
  assert_line --index 1 --regexp "^settling: the next one waits for a holder that vanished, until $TIME_OF_DAY \((1h|59m)"
  kill $!
  ends_with 143 $!
}

settles() { zkflock --list "$LOCK" | grep -q "^settling: "; }

@test "--list: 1000 contenders, and a reader that wants the beginning alone" {
  others "$LOCK" _c_0123456789abcdef0123456789abcdef-lock- 1000
  run -0 zkflock --list "$LOCK"
  assert_equal "${#lines[@]}" 1003
  assert_line --index 1002 --regexp "^999 +session 0x"
  run -0 zkflock --list --json "$LOCK"
  assert_equal "$(json 'len(d["locks"][0]["waiting"])')" 999
  # As head(1) has it: no message.
  run bash -c 'set -o pipefail; zkflock --list "$1" | head -1' bash "$LOCK"
  assert_output "$LOCK"
  others_end
}

@test "--list: locks that come and go meanwhile are no error" {
  for i in 1 2 3; do
    (until [ -e stop ]; do zkflock "$LOCK/$i" true; done) 3>&- 4>&- &
    (until [ -e stop ]; do zk_remove "$LOCK/gone$i"; done) 3>&- 4>&- &
  done
  for _ in $(seq 40); do
    run -0 --separate-stderr zkflock --list "$LOCK"
    assert_equal "$stderr" ""
    run -0 --separate-stderr zkflock --list --json "$LOCK/1" "$LOCK/gone1"
    assert_equal "$stderr" ""
  done
  touch stop
  wait
}

# A lock that is made and deleted, znode and all.
zk_remove() {
  zkflock "$1" true
  zk "$ONE" delete "$1"
}

@test "--list PREFIX: what is below it; nested locks, notes and places that are no locks" {
  zkflock "$LOCK/a/b" true
  zkflock "$LOCK/a" true
  zkflock --once-per 60 "$LOCK/c" true
  zk "$ONE" create "$LOCK/place/empty"
  run -0 zkflock --list "$LOCK/"
  assert_equal "$(printf '%s\n' "${lines[@]}" | cut -d' ' -f1)" "LOCK
$LOCK/a
$LOCK/a/b
$LOCK/c"
  # A lock with others below it shows both.
  run -0 zkflock --list "$LOCK/a"
  assert_line --index 0 "$LOCK/a"
  assert_line --index 1 "free, lease 15 s"
  assert_line --index 3 --regexp "^$LOCK/a/b +free"
  run -0 zkflock --list "$LOCK/place"
  assert_line --index 1 "free, and never used as a lock"
  run -0 zkflock --list "$LOCK/never"
  assert_line --index 1 "free, and never used at $ZKFLOCK_SERVERS"
  run -0 zkflock --list /
  assert_line --regexp "^$LOCK/a/b +free"
  refute_output --partial /zookeeper
}

@test "--list without LOCK: those below the root and those of the config files, as one types them" {
  prefix=below-$$
  mkdir -p xdg/zkflock
  unset ZKFLOCK_SERVERS # which count more than a file's
  cat >xdg/zkflock/config <<END
[zkflock]
servers = $ONE
[lock nightly]
path = $LOCK/far/nightly
[lock $prefix/hidden]
path = $LOCK/other
[lock elsewhere]
servers = 127.0.0.1:1
[lock here]
path = $LOCK/here
servers = $ONE/
END
  zkflock "/locks/$prefix/deploy" true
  zkflock "/locks/$prefix/hidden" true
  run -0 --separate-stderr zkflock --list
  assert_line --regexp "^$prefix/deploy +free"
  assert_line --regexp "^nightly +free +\(never used\)"
  assert_line --regexp "^here +free +\(never used\)"
  # The name means another lock here.
  assert_line --regexp "^/locks/$prefix/hidden +free"
  assert_line --regexp "^$prefix/hidden +free +\(never used\)"
  refute_output --partial elsewhere
  assert_equal "$stderr" "zkflock: the lock elsewhere has servers of its own: zkflock --list elsewhere"
  run -0 zkflock --list nightly
  assert_line --index 0 "nightly ($LOCK/far/nightly)"
  refuses 64 "the lock elsewhere has servers of its own (xdg/zkflock/config:8): list it alone" \
    --config xdg/zkflock/config --list nightly elsewhere
  run -69 zkflock --list --connect-timeout 0.3 elsewhere
  run -69 zkflock --list --connect-timeout 0.3 elsewhere/
  refuses 64 "the lock elsewhere has servers of its own (xdg/zkflock/config:8): list it alone" \
    --config xdg/zkflock/config --list elsewhere// nightly
}

@test "--list: nothing is there" {
  printf '[zkflock]\nroot = %s/root\n' "$LOCK" >config
  run -0 --separate-stderr zkflock --config config --list
  assert_output ""
  assert_equal "$stderr" "zkflock: no locks below $LOCK/root"
  run -0 zkflock --config config --list --json
  assert_equal "$(json 'd["locks"]')" "[]"
}

@test "--list --names: names alone, and those of the config files without a server too" {
  mkdir -p xdg/zkflock
  printf '[zkflock]\nroot = %s\n[lock nightly]\npath = /app/nightly\n[lock b]\ntimeout = 5\n' "$LOCK" >xdg/zkflock/config
  zkflock deploy true
  zkflock a/b true
  run -0 zkflock --list --names
  assert_output "a/b
b
deploy
nightly"
  run -0 --separate-stderr zkflock --list --names -z 127.0.0.1:1 --connect-timeout 300ms
  assert_output "b
nightly"
  run -69 --separate-stderr zkflock --list --names -z 127.0.0.1:1 --connect-timeout 300ms deploy
  assert_output ""
  holder ann deploy
  run -0 zkflock --list --names "$LOCK"
  assert_output "a/b
deploy"
  end_all ann.go
}

@test "--list: not permitted" {
  zkflock "$LOCK/a" true
  zkflock "$LOCK/b" true
  zk "$ONE" deny "$LOCK/a" cdwa
  run -0 zkflock --list "$LOCK"
  assert_regex "$(row "$LOCK/a")" "^$LOCK/a \? \(unknown: not permitted\)$"
  assert_regex "$(row "$LOCK/b")" "^$LOCK/b free"
  run -77 --separate-stderr zkflock --list "$LOCK/a"
  assert_equal "$stderr" "zkflock: not permitted to read $LOCK/a: its ACL does not give this client READ"
  run -77 zkflock --list -q "$LOCK/a"
  assert_output "zkflock: not permitted to read $LOCK/a: its ACL does not give this client READ"
  run -0 zkflock --list --json "$LOCK/"
  assert_equal "$(json '[d["locks"][0][k] for k in ("name", "exists", "state", "vanished", "holders", "waiting")]')" \
    "['$LOCK/a', True, 'unknown', None, None, None]"
  assert_equal "$(json '[d["locks"][1][k] for k in ("state", "vanished", "holders", "waiting")]')" "['free', 0, [], []]"
  zk "$ONE" deny "$LOCK/a" rcdwa
}

@test "output that nothing takes is an error, whatever prints it" {
  zkflock "$LOCK" true
  for what in "--list $LOCK" "--list --json $LOCK" "--list --names $LOCK" --help --version --show-config; do
    # shellcheck disable=SC2086 # options
    run -71 sh -c 'exec zkflock "$@" >/dev/full' sh $what
    assert_output --partial "zkflock: cannot write to stdout: No space left on device"
    # shellcheck disable=SC2086 # options
    run -71 sh -c 'exec zkflock "$@" >&-' sh $what
    assert_output --partial "zkflock: cannot write to stdout: Bad file descriptor"
  done
}

@test "--list on a terminal: fits its width, with colours and without" {
  long=$LOCK/$(printf 'x%.0s' {1..100})
  holder ann "$long"
  run -0 terminal "send=stty cols 60; export LC_ALL=C; unset NO_COLOR\n" \
    "send=zkflock --list $LOCK/; echo d''one\n" expect=done \
    "send=export TERM=xterm; zkflock --list $LOCK/; echo d''two\n" expect=dtwo \
    "send=NO_COLOR=1 zkflock --list $LOCK/; echo d''three\n" expect=dthree
  table=$(printf '%s\n' "$output" | tr -d '\r' | grep -E 'STATE|held')
  assert_equal "$(wc -l <<<"$table")" 6
  plain=$(sed 's/\x1b\[[0-9;]*m//g; s/^\(\$ \)*//' <<<"$table")
  assert_equal "$(awk 'length > 60' <<<"$plain")" ""
  assert_regex "$plain" '\.\.\.'
  # Only with a terminal that can, and not under NO_COLOR.
  assert_equal "$(grep -c $'\033\\[' <<<"$table")" 2
  end_all ann.go
}

@test "--list: the table in the manual has the states that there are" {
  sed -n '/^LOCK  *STATE/,/^\.Ed/p' "$BATS_TEST_DIRNAME/../../man/zkflock.1" |
    sed '1d; $d' | tr -s ' ' | cut -d' ' -f2 | sort -u >shown
  sed -n 's/.*"free".*/&/p' "$BATS_TEST_DIRNAME/../../src/list/describe.c" | grep -o '"[a-z]*"' | tr -d '"' | sort >printed
  run -0 diff shown printed
}

@test "a thousand requests are under way at the most, and a signal ends --list between them" {
  local pid
  gets_are() { [ "$(grep -c " request .* get " frames)" -eq "$1" ]; }
  others "$LOCK" lock- 1500
  PROXY_OF="get" listen hold-reply 1
  background -z "$VIA" --list "$LOCK" >out
  pid=$!
  eventually gets_are 1000
  kill "$pid"
  ends_with 143 "$pid"
  assert gets_are 1000
  assert_file_empty out
  close_proxy
  others_end
}
