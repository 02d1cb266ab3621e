# --list --watch: reports changes as they happen.

load helper
load list

# watch ARG...: in the background, into the file seen; pid in $watch.
watch() {
  zkflock --list --watch "$@" >seen 2>watch.err 3>&- 4>&- &
  watch=$!
}

watch_ends() {
  kill -TERM "$watch"
  ends_with 143 "$watch"
}

seen() { grep -qsE -- "$1" seen; }

@test "--list --watch: a line per change in a pipe" {
  holder ann "$LOCK/a"
  watch "$LOCK"
  eventually seen "^[0-9T:+-]+ $LOCK/a held ann@$(hostname) pid [0-9]+: sh -c touch"
  LOGNAME=ben wait_in_line log.ben "$LOCK/a" sh -c 'until [ -e ben.go ]; do sleep 0.05; done'
  eventually seen " $LOCK/a waiting ben@.*: sh -c until "
  touch ann.go
  eventually seen " $LOCK/a acquired ben@"
  touch ben.go
  eventually seen " $LOCK/a released ben@"
  run cut -d' ' -f2-4 seen
  assert_output --regexp "^$LOCK/a held ann@[^ ]*
$LOCK/a waiting ben@[^ ]*
$LOCK/a released ann@[^ ]*
$LOCK/a acquired ben@[^ ]*
$LOCK/a released ben@[^ ]*\$"
  # A waiter that gives up, and a lock that did not exist.
  holder cat "$LOCK/new/b"
  eventually seen " $LOCK/new/b acquired cat@"
  LOGNAME=dan background -w 3 "$LOCK/new/b" true
  eventually seen " $LOCK/new/b waiting dan@"
  eventually seen " $LOCK/new/b left dan@"
  end_all_but_watch cat.go
  eventually seen " $LOCK/new/b released cat@"
  zk "$ONE" delete "$LOCK/new/b"
  eventually seen " $LOCK/new/b removed$"
  watch_ends
  wait
}

@test "--list --watch LOCK: a lock that is not there yet, and one that comes back" {
  watch "$LOCK"
  eventually seen " $LOCK free$"
  holder ann "$LOCK"
  eventually seen " $LOCK acquired ann@"
  end_all_but_watch ann.go
  eventually seen " $LOCK released ann@"
  zk "$ONE" delete "$LOCK"
  eventually seen " $LOCK removed$"
  holder ben "$LOCK"
  eventually seen " $LOCK acquired ben@"
  end_all_but_watch ben.go
  eventually seen " $LOCK released ben@"
  watch_ends
}

@test "--list --watch: a lock that is made and removed between two looks" {
  watch --json "$LOCK"
  eventually seen '"event":"free"'
  kill -STOP "$watch"
  holder ann "$LOCK"
  kill -CONT "$watch"
  eventually seen '"event":"acquired"'
  kill -STOP "$watch"
  end_all_but_watch ann.go
  zkflock --remove "$LOCK"
  kill -CONT "$watch"
  eventually seen '"event":"removed"'
  output="[$(paste -sd, seen)]"
  assert_equal "$(json '[x["event"] for x in d]')" "['free', 'made', 'acquired', 'released', 'removed']"
  assert_equal "$(json '[x["state"] for x in d]')" "['free', 'held', 'held', 'free', 'free']"
  assert_equal "$(json '[d[-1][k] for k in ("holders", "waiting", "contender")]')" "[0, 0, None]"
  watch_ends
}

@test "--list --watch: a zkflock that waits with --unfair neither joins the queue nor leaves it" {
  holder ann "$LOCK"
  watch "$LOCK"
  eventually seen " $LOCK held ann@"
  LOGNAME=ben background -v --unfair "$LOCK" sh -c 'until [ -e ben.go ]; do sleep 0.05; done' 2>log.ben
  eventually contains log.ben "waiting for $LOCK"
  # As the manual says, since there is no znode.
  run -0 zkflock --list --json "$LOCK"
  assert_equal "$(json 'd["locks"][0]["waiting"]')" "[]"
  touch ann.go
  eventually seen " $LOCK acquired ben@"
  end_all_but_watch ben.go
  eventually seen " $LOCK released ben@"
  run cut -d' ' -f2-4 seen
  assert_output --regexp "^$LOCK held ann@[^ ]*
$LOCK released ann@[^ ]*
$LOCK acquired ben@[^ ]*
$LOCK released ben@[^ ]*\$"
  watch_ends
  wait
}

@test "--list --watch: a znode of --unfair that backs off slowly is not reported" {
  others "$LOCK/a" x- 1
  watch "$LOCK"
  eventually seen " $LOCK/a held "
  exec {trying}> >(exec zk "$ONE" create-kind ephemeral "$LOCK/a/unfair__lock__-lock-0000000000" 3>&-)
  zk "$ONE" await-count "$LOCK/a" 2
  zkflock "$LOCK/b" true
  eventually seen " $LOCK/b made$"
  exec {trying}>&-
  zk "$ONE" await-count "$LOCK/a" 1
  zkflock --remove "$LOCK/b"
  eventually seen " $LOCK/b removed$"
  run grep " $LOCK/a " seen
  assert_equal "${#lines[@]}" 1
  others_end
  watch_ends
}

@test "--list --watch: readers go on holding while --unfair tries" {
  holder ann -s "$LOCK/a"
  holder ben -s "$LOCK/a"
  watch "$LOCK"
  eventually seen " $LOCK/a held ben@"
  exec {trying}> >(exec zk "$ONE" create-kind ephemeral "$LOCK/a/unfair__lock__-lock-0000000000" 3>&-)
  zk "$ONE" await-count "$LOCK/a" 3
  zkflock "$LOCK/b" true
  eventually seen " $LOCK/b made$"
  exec {trying}>&-
  zk "$ONE" await-count "$LOCK/a" 2
  zkflock --remove "$LOCK/b"
  eventually seen " $LOCK/b removed$"
  run -1 grep " $LOCK/a acquired " seen
  end_all_but_watch ann.go ben.go
  watch_ends
}

@test "--list --watch: a waiter for permits does not leave when its turn comes" {
  # Held before --watch begins: taking a permit, ann could be seen in the queue.
  holder ann --permits 1 "$LOCK"
  watch "$LOCK"
  eventually seen " $LOCK held ann@"
  LOGNAME=ben wait_in_line log.ben --permits 1 "$LOCK" sh -c 'until [ -e ben.go ]; do sleep 0.05; done'
  eventually seen " $LOCK waiting ben@"
  LOGNAME="cat" wait_in_line log.cat --permits 1 "$LOCK" sh -c 'until [ -e cat.go ]; do sleep 0.05; done'
  eventually seen " $LOCK waiting cat@"
  touch ann.go
  eventually seen " $LOCK acquired ben@"
  touch ben.go
  eventually seen " $LOCK acquired cat@"
  end_all_but_watch cat.go
  eventually seen " $LOCK released cat@"
  run sed -n 's/.* \([a-z]* [a-z]*\)@.*/\1/p' seen
  assert_output "held ann
waiting ben
waiting cat
released ann
acquired ben
released ben
acquired cat
released cat"
  watch_ends
}

@test "--list --watch: a contender that vanishes, and one that waits for it" {
  background --lease 4 --session-timeout 2 "$LOCK" sh -c 'touch crashing; exec sleep 1000'
  crashing=$!
  eventually test -e crashing
  watch "$LOCK"
  eventually seen " held "
  crash "$crashing"
  eventually seen " $LOCK vanished "
  holder next "$LOCK"
  eventually seen " $LOCK acquired next@"
  end_all_but_watch next.go
  eventually seen " $LOCK released next@"
  # It was not reported as a holder before.
  run sed -n 's/.* \(settling\|acquired\|released\) next@.*/\1/p' seen
  assert_output "settling
acquired
released"
  watch_ends
}

@test "--list --watch: the next in the queue of one that vanishes is not reported as a holder before it has waited" {
  local kind options
  for kind in "" --unfair "--permits 1"; do
    read -ra options <<<"$kind"
    background --lease 4 --session-timeout 2 "${options[@]}" "$LOCK$kind" sh -c 'touch crashing; exec sleep 1000'
    crashing=$!
    eventually test -e crashing
    [ "$kind" != --unfair ] || options=()
    LOGNAME=next wait_in_line log.next "${options[@]}" "$LOCK$kind" sh -c 'until [ -e next.go ]; do sleep 0.05; done'
    watch "$LOCK$kind"
    eventually seen " waiting next@"
    crash "$crashing"
    eventually seen " $LOCK$kind acquired next@"
    touch next.go
    eventually seen " $LOCK$kind released next@"
    run sed -n 's/.* \(waiting\|vanished\|settling\|acquired\|released\) .*@.*/\1/p' seen
    assert_output "waiting
vanished
settling
acquired
released"
    watch_ends
    rm crashing next.go
  done
}

@test "--list --watch: a holder is reported once it has waited, also where it may not count" {
  local lock part
  for lock in "$LOCK/one" "$LOCK/two"; do
    part=
    [ "$lock" = "$LOCK/one" ] || part=/leases
    zkflock --lease 4 ${part:+--permits 1} "$lock" true
    zk "$ONE" deny "$lock$part" rcda
    watch "$lock"
    eventually seen " free$"
    holder first ${part:+--permits 1} "$lock"
    eventually seen " $lock acquired first@"
    # Its departure is not counted.
    end_all_but_watch first.go
    eventually seen " $lock vanished first@"
    holder next ${part:+--permits 1} "$lock"
    eventually seen " $lock acquired next@"
    end_all_but_watch next.go
    eventually seen " $lock vanished next@"
    # They may be seen in the queue for turns, or before they have found out that they must wait.
    run sed -n '/ waiting /d; s/.* \([a-z]* [a-z]*\)@.*/\1/p' seen
    assert_output "acquired first
vanished first
settling next
acquired next
vanished next"
    watch_ends
    zk "$ONE" deny "$lock$part" rwcda
    rm first.* next.*
  done
}

@test "--list --watch --json: an object per line" {
  watch --json "$LOCK"
  eventually seen '"event":"free"'
  holder ann "$LOCK"
  eventually seen '"event":"acquired"'
  end_all_but_watch ann.go
  eventually seen '"event":"released"'
  run cat seen
  output="[$(paste -sd, seen)]"
  assert_equal "$(json '[x["event"] for x in d]')" "['free', 'made', 'acquired', 'released']"
  assert_equal "$(json 'sorted(d[-1])')" \
    "['contender', 'event', 'format', 'holders', 'name', 'path', 'state', 'time', 'waiting']"
  assert_equal "$(json '[d[-1][k] for k in ("format", "name", "path", "state", "holders", "waiting")]')" \
    "[1, '$LOCK', '$LOCK', 'free', 0, 0]"
  assert_equal "$(json 'd[-1]["contender"]["user"]')" ann
  watch_ends
}

@test "--list --watch: ends when nobody reads any more" {
  run timeout 20 bash -c 'set -o pipefail; zkflock --list --watch "$1" | head -1' bash "$LOCK"
  assert_equal "$status" 141
  assert_output --regexp " $LOCK free$"
}

@test "--list: a signal ends it too while nobody reads what it prints" {
  holder ann "$LOCK"
  cat >stall <<'EOF'
import fcntl, os, signal, subprocess, sys, time
reading, writing = os.pipe()
fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
os.write(writing, b"x" * 4096)
for option in [], ["--watch"], ["--watch", "--json"]:
    with subprocess.Popen(["zkflock", "--list", *option, sys.argv[1]], stdout=writing) as job:
        while "pipe_write" not in open(f"/proc/{job.pid}/wchan").read():
            time.sleep(0.02)
        job.send_signal(signal.SIGTERM)
        print(job.wait(10))
EOF
  run -0 timeout 60 python3 stall "$LOCK"
  assert_output "-15
-15
-15"
  end_all ann.go
}

@test "--list --watch: follows without asking while nothing happens" {
  holder ann "$LOCK"
  # A clock: this holder sends a proof every 0.7 s.
  holder clock --lease 4 --session-timeout 2 "$LOCK.clock"
  clock=$(zk "$ONE" stat "$LOCK.clock/$(zk "$ONE" ls "$LOCK.clock")" | cut -d' ' -f4)
  watch -vv "$LOCK"
  eventually seen " held "
  sid=$(sed -n 's/.*sessionId=\(0x[0-9a-f]*\), neg.*/\1/p' watch.err)
  before=$(received "$sid")
  assert [ "$before" -gt 0 ]
  proofs=$(proofs)
  eventually proved $((proofs + 3))
  # It pings, every 5 s.
  assert [ "$(received "$sid")" -le $((before + 1)) ]
  end_all_but_watch ann.go clock.go
  watch_ends
}

# received SESSION: how many messages the server has had of it.
received() {
  exec 8<>"/dev/tcp/${ONE%:*}/${ONE#*:}"
  printf cons >&8
  sed -n "s/.*recved=\([0-9]*\),.*sid=$1,.*/\1/p" <&8
  exec 8>&-
}

proofs() { received "$(printf '0x%x' "$clock")"; }
proved() { [ "$(proofs)" -ge "$1" ]; }

@test "--list --watch: goes on after a loss of contact, and in a new session" {
  zkflock "$LOCK" true
  open_proxy reply 6
  zkflock -z "$VIA" --session-timeout 2 --list --watch "$LOCK" >seen 2>watch.err 3>&- 4>&- &
  watch=$!
  eventually seen " free$"
  # The message that is lost is one of these.
  for name in ben cat dan; do
    holder "$name" "$LOCK"
    eventually seen " acquired $name@"
    end_all_but_watch "$name.go"
    eventually seen " released $name@"
  done
  eventually contains watch.err "lost contact"
  eventually contains watch.err "in contact"
  sessions=$(figure zk_global_sessions)
  kill -STOP "$watch"
  eventually fewer_sessions "$sessions"
  holder ann "$LOCK"
  kill -CONT "$watch"
  eventually seen " acquired ann@"
  end_all_but_watch ann.go
  eventually seen " released ann@"
  watch_ends
  close_proxy
}

fewer_sessions() { [ "$(figure zk_global_sessions)" -lt "$1" ]; }

# ---- on a terminal ----

in_second_screen=$'\033[?1049h'
back=$'\033[?1049l'

@test "--list --watch on a terminal: leaves it as it was, on q, Ctrl-C and Ctrl-Z" {
  holder ann "$LOCK"
  run -0 terminal "send=export TERM=xterm; stty -g >before; clear() { :; }\n" \
    "send=zkflock --list --watch $LOCK\n" "expect=$in_second_screen" expect=holds \
    send=q "expect=$back" "send=stty -g >after.q; echo d''one\n" expect=done \
    "send=zkflock --list --watch $LOCK\n" "expect=$in_second_screen" expect=holds \
    key=c "expect=$back" "send=echo status=\$?; stty -g >after.c; echo d''two\n" expect=status=130 expect=dtwo \
    "send=zkflock --list --watch $LOCK\n" "expect=$in_second_screen" expect=holds \
    key=z "expect=$back" expect=Stopped "send=stty -g >after.z; fg\n" "expect=$in_second_screen" expect=holds \
    send=q "expect=$back" "send=stty -g >after.fg; echo d''three\n" expect=dthree
  for after in after.*; do assert_equal "$(cat "$after")" "$(cat before)"; done
  # The cursor comes back each time.
  assert_equal "$(grep -o $'\033\\[?25h' <<<"$output" | wc -l)" 4
  end_all ann.go
}

@test "--list --watch on a terminal: in the background it stops until it is called back" {
  holder ann "$LOCK"
  run -0 terminal "send=export TERM=xterm\n" "send=zkflock --list --watch $LOCK &\n" \
    "send=until jobs | grep Stopped; do sleep 0.1; done\n" "expect=]+  Stopped" \
    "send=bg; until jobs | grep Stopped; do sleep 0.1; done; echo d''one\n" \
    "expect=]+  Stopped" expect=done \
    "send=fg\n" "expect=$in_second_screen" expect=holds send=q "expect=$back" \
    "send=echo d''two\n" expect=dtwo
  end_all ann.go
}

@test "--list --watch on a terminal: shows changes as they come, and TERM ends it" {
  (
    eventually test -e looking
    LOGNAME=ann zkflock "$LOCK" sh -c 'touch ann.held; until [ -e ann.go ]; do sleep 0.05; done'
    touch ann.gone
  ) 3>&- 4>&- &
  run -0 terminal "send=export TERM=xterm; stty -g >before\n" \
    "send=zkflock --list --watch $LOCK & fg\n" "expect=$in_second_screen" "expect=free, and never used" \
    touch=looking file=ann.held expect=ann@ touch=ann.go file=ann.gone expect=free \
    "send=q" "expect=$back" "send=stty -g >after; echo d''one\n" expect=done
  assert_equal "$(cat after)" "$(cat before)"
  (
    eventually test -e kill.now
    kill -TERM "$(cat pid)"
  ) 3>&- 4>&- &
  run -0 terminal "send=export TERM=xterm; stty -g >before\n" \
    "send=zkflock --list --watch $LOCK & echo \$! >pid; fg; echo status=\$?\n" \
    "expect=$in_second_screen" expect=free touch=kill.now "expect=$back" expect=status=143 \
    "send=stty -g >after.term; echo d''one\n" expect=done
  assert_equal "$(cat after.term)" "$(cat before)"
  wait
}

@test "--list --watch on a terminal: the success that --once-per notes" {
  zkflock "$LOCK" true
  (
    eventually test -e looking
    zkflock --once-per 1h "$LOCK" true
  ) 3>&- 4>&- &
  run -0 terminal "send=export TERM=xterm\n" "send=zkflock --list --watch $LOCK\n" \
    "expect=$in_second_screen" "expect=free, lease 15 s" touch=looking "expect=last success" send=q "expect=$back"
  wait
}

@test "--list --watch on a terminal: without contact it says for how long, and shows what was last seen" {
  LOGNAME=ann hold "$LOCK" release
  open_proxy
  terminal "send=export TERM=xterm\n" "send=zkflock -z $VIA --list --watch $LOCK\n" "expect=ann@" \
    touch=seen.first file=cut "expect=no contact with $VIA for " "expect=; as it was then:" "expect=ann@" \
    send=q "expect=$back" >session 2>&1 3>&- 4>&- &
  local person=$!
  eventually test -e seen.first
  close_proxy
  touch cut
  acted "$person"
  touch release
  ends_with 0 "$holder"
}

@test "--list --watch on a terminal: more locks than lines, and a terminal of another size" {
  for i in 1 2 3 4 5 6 7 8; do zkflock "$LOCK/$i" true; done
  run -0 terminal "send=export TERM=xterm; stty rows 7 cols 80\n" \
    "send=zkflock --list --watch $LOCK\n" "expect=$in_second_screen" "expect=(5 more lines)" \
    "send=q" "expect=$back"
}
