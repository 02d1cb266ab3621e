# Units under systemd: those of the manual and of packaging/examples, and what a unit may do to zkflock.

load booted

EXAMPLES=$BATS_TEST_DIRNAME/../../packaging/examples
MANUAL=$BATS_TEST_DIRNAME/../../man/zkflock.1

# unit NAME: installs the unit on standard input; its commands run in the test's directory.
unit() {
  sed "s,^\[Service\],&\nWorkingDirectory=$PWD," >"/run/systemd/system/$1"
  systemctl daemon-reload
}

# program NAME: a command of the examples, whose lines are on standard input.
program() {
  { printf '#!/bin/bash\ncd %q\n' "$PWD" && cat; } >"/usr/local/bin/$1"
  chmod +x "/usr/local/bin/$1"
}

setup_file() {
  booted_setup_file
  mkdir -p /run/systemd/system
}

teardown() {
  local unit
  for unit in /run/systemd/system/t-*.service; do
    systemctl kill --signal=KILL "${unit##*/}" 2>/dev/null || true
    systemctl stop "${unit##*/}" 2>/dev/null || true
  done
  rm -f /run/systemd/system/t-*
  systemctl daemon-reload
  systemctl reset-failed
  booted_teardown
}

property() { systemctl show -P "$2" "$1"; } # property UNIT PROPERTY
has() { [ "$(property "$1" "$2")" = "$3" ]; } # has UNIT PROPERTY VALUE
has_contenders() { [ "$(zk "$ONE" ls "$LOCK" | wc -w)" -eq "$1" ]; }
# processes UNIT: what runs in its control group.
processes() { cat "/sys/fs/cgroup/system.slice/$1/cgroup.procs" 2>/dev/null || true; }

# A command that writes down its signals, and on TERM cleans up until it may end.
worker() {
  program worker <<'END'
trap 'echo HUP >>signals' HUP
trap 'echo TERM >>signals; : >stopping' TERM
touch started
until [ -e stopping ] && [ -e stop ]; do sleep 0.05; done
exit 0
END
}

# ---- the manual's units ----

@test "systemd: the packages' units are the manual's, and systemd finds nothing wrong in them" {
  local file
  program report <<<true
  program worker <<<true
  for file in report.service report.timer worker.service; do
    sed -n "\,^# /etc/systemd/system/$file\$,,/^# .etc\|^\.Ed/p" "$MANUAL" | grep '^[A-Z]' >manual
    assert [ -s manual ]
    grep '^[A-Z]' "$EXAMPLES/$file" | grep -v '^Description=' | diff - manual
    cp "$EXAMPLES/$file" .
  done
  run -0 systemd-analyze verify ./report.service ./report.timer ./worker.service
  assert_output ""
}

@test "systemd: report.service runs the job once in the period, under the lock" {
  LOCK=/report
  program report <<<'zkflock -n "$ZKFLOCK_LOCK" true && echo held >>ran'
  sed "s/zk1:2181.*/$ONE/; s,--once-per 50m report,--once-per 50m $LOCK," "$EXAMPLES/report.service" | unit t-report.service
  systemctl start t-report
  assert_equal "$(cat ran)" held
  systemctl start t-report
  assert_equal "$(cat ran)" held
  has t-report Result success
  zkflock --remove "$LOCK"
}

@test "systemd: report.timer starts report.service" {
  program report <<<'echo held >>ran'
  unit t-report.service <<<"[Service]
Type=oneshot
ExecStart=/usr/bin/zkflock $LOCK /usr/local/bin/report"
  sed 's/^OnCalendar=.*/OnActiveSec=0/' "$EXAMPLES/report.timer" | unit t-report.timer
  systemctl start t-report.timer
  eventually test -e ran
  systemctl stop t-report.timer
  is_free
}

worker_unit() { # worker_unit [ARG OF sed]...: that of the examples
  worker
  sed -e "s/zk1:2181.*/$ONE/" -e "s,-F worker,-F $LOCK," -e 's/^RestartSec=.*/RestartSec=100ms/' "$@" "$EXAMPLES/worker.service" |
    unit t-worker.service
}

# stops_under_its_lock UNIT: TERM comes once, and the lock is held until the worker has cleaned up.
stops_under_its_lock() {
  systemctl stop --no-block "$1"
  eventually test -e stopping
  run -1 zkflock -q -n "$LOCK" true
  touch stop
  eventually has "$1" ActiveState inactive
  assert_equal "$(cat signals)" TERM
  has "$1" Result success
  is_free
}

@test "systemd: worker.service is the worker itself, and is started again" {
  worker_unit
  systemctl start t-worker
  eventually test -e started
  assert_equal "$(cat "/proc/$(property t-worker MainPID)/comm")" worker
  rm started
  systemctl kill --signal=KILL --kill-who=main t-worker
  eventually test -e started
  assert_equal "$(property t-worker NRestarts)" 1
  stops_under_its_lock t-worker
}

@test "systemd: a service that notifies is active when its command says so, with --no-fork" {
  hold "$LOCK" release
  worker_unit -e 's/^Type=.*/Type=notify\nNotifyAccess=all/'
  program worker <<<'touch started; systemd-notify --ready; exec sleep inf'
  systemctl start --no-block t-worker
  eventually has_contenders 2
  has t-worker ActiveState activating
  touch release
  eventually has t-worker ActiveState active
  ends_with 0 "$holder"
  systemctl stop t-worker
  is_free
}

# ---- what a unit may do ----

wrapped() { # wrapped [LINE]...: a unit with zkflock as its main process
  unit t-wrapped.service <<<"[Service]
Type=exec
ExecStart=/usr/bin/zkflock --lease 4s --session-timeout 4s --kill-after 1s $LOCK /usr/local/bin/worker
$(printf '%s\n' "$@")"
}

@test "systemd: the command's status is that of the unit" {
  run -3 systemd-run --quiet --pipe --wait --collect zkflock "$LOCK" sh -c 'exit 3'
  run -3 systemd-run --quiet --scope zkflock "$LOCK" sh -c 'exit 3'
  is_free
}

@test "systemd: stop reaches the command once, and is waited for, with each KillMode" {
  local mode
  worker
  for mode in control-group mixed process; do
    wrapped "KillMode=$mode"
    systemctl start t-wrapped
    eventually test -e started
    stops_under_its_lock t-wrapped
    rm started stopping stop signals
  done
}

@test "systemd: reload reaches the command once, with zkflock before it or without" {
  worker
  worker_unit -e 's,^Restart=.*,ExecReload=kill -HUP $MAINPID,'
  wrapped 'ExecReload=kill -HUP $MAINPID'
  for unit in t-worker t-wrapped; do
    systemctl start "$unit"
    eventually test -e started
    systemctl reload "$unit"
    eventually test -e signals
    touch stop
    systemctl stop "$unit"
    assert_equal "$(cat signals)" "$(printf 'HUP\nTERM')"
    is_free
    rm started stopping stop signals
  done
}

@test "systemd: a command that outlasts TimeoutStopSec is killed with all of zkflock, and its lock is waited for" {
  program worker <<'END'
trap '' TERM
touch started
while :; do cat /proc/uptime >ran; sleep 0.05; done
END
  wrapped "TimeoutStopSec=500ms"
  systemctl start t-wrapped
  eventually test -e started
  systemctl stop t-wrapped
  has t-wrapped Result timeout
  assert_equal "$(processes t-wrapped.service)" ""
  run -0 zkflock "$LOCK" cat /proc/uptime
  echo "$output" >next
  later_by 0 "$(when ran)" "$(when next)"
}

@test "systemd: SIGKILL for the main process alone ends the command and frees the lock at once" {
  worker
  wrapped
  systemctl start t-wrapped
  eventually test -e started
  systemctl kill --signal=KILL --kill-who=main t-wrapped
  eventually has t-wrapped ActiveState failed
  assert_equal "$(processes t-wrapped.service)" ""
  is_free
}

@test "systemd: OnFailure of a lost lock, with status 75" {
  worker
  unit t-alarm.service <<<'[Service]
Type=oneshot
ExecStart=sh -c "echo $MONITOR_SERVICE_RESULT $MONITOR_EXIT_STATUS >alarm"'
  wrapped
  sed -i '1i[Unit]\nOnFailure=t-alarm.service\n' /run/systemd/system/t-wrapped.service
  systemctl daemon-reload
  systemctl start t-wrapped
  eventually test -e started
  lose
  touch stop
  eventually test -s alarm
  assert_equal "$(cat alarm)" "exit-code 75"
  assert_equal "$(head -1 signals)" TERM
}

@test "systemd: a oneshot whose script holds a lock for a part of it" {
  LOCK=db-migrate
  mkdir bin
  printf '#!/bin/sh\nzkflock --list %s >>ran\n' "$LOCK" | tee bin/pg_dump >bin/migrate
  chmod +x bin/*
  unit t-migrate.service <<<"[Service]
Type=oneshot
Environment=PATH=$PWD/bin:/usr/bin:/bin
ExecStart=sh $EXAMPLES/migrate"
  systemctl start t-migrate
  assert_equal "$(grep -c "^held" ran)" 2
  has t-migrate Result success
  is_free
  # A script that fails, or is stopped, keeps nothing.
  printf '#!/bin/sh\nexit 1\n' >bin/migrate
  run -1 systemctl start t-migrate
  assert_equal "$(processes t-migrate.service)" ""
  is_free
  printf '#!/bin/sh\ntouch migrates; sleep inf\n' >bin/migrate
  systemctl start --no-block t-migrate
  eventually test -e migrates
  run -1 zkflock -q -n "$LOCK" true
  systemctl stop t-migrate
  assert_equal "$(processes t-migrate.service)" ""
  is_free
  zkflock --remove "$LOCK"
}

@test "systemd: TimeoutStartSec of a oneshot that waits: it leaves the queue" {
  hold "$LOCK" release
  unit t-oneshot.service <<<"[Service]
Type=oneshot
TimeoutStartSec=1
ExecStart=/usr/bin/zkflock $LOCK touch $PWD/ran"
  run -1 systemctl start t-oneshot
  has t-oneshot Result timeout
  has_contenders 1
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "systemd: a unit with all that systemd can take away" {
  worker
  wrapped User=ann CapabilityBoundingSet= NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes \
    PrivateDevices=yes ProtectProc=invisible ProcSubset=pid ProtectKernelTunables=yes ProtectControlGroups=yes \
    ProtectClock=yes ProtectHostname=yes RestrictNamespaces=yes LockPersonality=yes MemoryDenyWriteExecute=yes \
    RestrictRealtime=yes RestrictSUIDSGID=yes SystemCallArchitectures=native SystemCallFilter=@system-service \
    "RestrictAddressFamilies=AF_INET AF_INET6" "ReadWritePaths=$PWD" UMask=077
  chmod 777 .
  systemctl start t-wrapped
  eventually test -e started
  stops_under_its_lock t-wrapped
}
