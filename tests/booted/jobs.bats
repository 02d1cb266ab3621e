# zkflock started by GNU parallel, xargs, make and cron, and around them.

load booted
load recorder

teardown_file() {
  rm -f /etc/cron.d/zkflock /usr/sbin/sendmail
  systemctl start cron
  booted_teardown_file
}

# Makes ./alone N, which ends with N and notes if another one runs at the same time; and ./together N,
# which waits until three of them run, and of no such number more than once.
workers() {
  recorder
  cat >alone <<'END'
#!/bin/sh
mkdir inside || touch overlap
sleep 0.05
echo "$1" >>ran
rmdir inside
exit "$1"
END
  cat >together <<'END'
#!/bin/sh
echo "$1" >>ran
until [ "$(wc -l <ran)" -ge 3 ]; do sleep 0.05; done
END
  chmod 755 alone together
}

# ran N...: these have run, one at a time.
ran() {
  assert_not_exist overlap
  assert_equal "$(sort ran | tr '\n' ' ')" "$*"
  is_free
}

# A makefile with a target for each N, which is run by COMMAND N.
targets() { # targets COMMAND N...
  echo "all: ${*:2}"
  for n in "${@:2}"; do printf '%s:\n\t%s %s\n' "$n" "$1" "$n"; done
}

# ---- several of one lock ----

@test "parallel: runs of one lock do not overlap, and all statuses are passed on" {
  workers
  run -4 parallel -j 6 --joblog log zkflock "$LOCK" ./alone '{}' ::: 0 1 2 3 4 0
  assert_equal "$(tail -n +2 log | cut -f 7 | sort | tr '\n' ' ')" '0 0 1 2 3 4 '
  ran '0 0 1 2 3 4 '
}

@test "xargs -P: runs of one lock do not overlap, and all statuses are passed on" {
  workers
  run -0 xargs -P 4 -n 1 zkflock "$LOCK" ./alone <<<'0 0 0 0'
  run -123 xargs -P 4 -n 1 zkflock "$LOCK" ./alone <<<'0 1 2 3'
  ran '0 0 0 0 0 1 2 3 '
  run -124 xargs -n 1 zkflock "$LOCK" ./alone <<<255
}

@test "make -j: runs of one lock do not overlap, and all statuses are passed on" {
  workers
  targets "zkflock $LOCK ./alone" 0 1 2 3 >makefile
  run -2 make -k -j 4 -f makefile
  for n in 1 2 3; do assert_output --partial "makefile:$((2 * n + 3)): $n] Error $n"; done
  ran '0 1 2 3 '
}

# ---- the same lock inside ----

@test "zkflock around parallel, xargs -P and make -j: the same lock inside is there at once" {
  workers
  targets "zkflock -n $LOCK ./together" 1 2 3 >makefile
  run -0 timeout 30 zkflock "$LOCK" parallel -j 3 zkflock -n "$LOCK" ./together '{}' ::: 1 2 3
  ran '1 2 3 '
  rm ran
  run -0 timeout 30 zkflock "$LOCK" xargs -P 3 -n 1 zkflock -n "$LOCK" ./together <<<'1 2 3'
  ran '1 2 3 '
  rm ran
  run -0 timeout 30 zkflock "$LOCK" make -j 3 -f makefile
  ran '1 2 3 '
}

@test "make -j: its jobserver reaches a make inside zkflock" {
  workers
  targets ./together 1 2 3 >inner
  printf 'all:\n\t+zkflock %s $(MAKE) -f inner\n' "$LOCK" >makefile
  run -0 timeout 30 make -j 3 -f makefile
  refute_output --partial jobserver
  ran '1 2 3 '
}

# ---- they are ended ----

# Makes ./holds, which holds the lock when CONDITION has come true, and ends on signals as usual.
holds() { # holds CONDITION
  printf '#!/bin/sh\n%s\necho $$ >ready\nexec sleep 1000\n' "$1" >holds
  chmod 755 holds
}

@test "parallel --halt now: holder and waiter are ended, and the lock is free" {
  workers
  holds "zk $ONE await-count $LOCK 2"
  run -1 parallel -j 3 --halt now,fail=1 ::: "zkflock $LOCK ./holds" "zkflock $LOCK ./holds" \
    'until [ -e ready ]; do sleep 0.05; done; exit 1'
  assert gone "$(cat ready)"
  PATIENCE=5 eventually no_zkflock_runs
  is_free
}

# ends_at_ctrl_c STATUS COMMAND: with that status, or one that begins so; run by a person, and ended by Ctrl-C when all zkflocks are there.
ends_at_ctrl_c() {
  rm -f ready ran session
  terminal "send=$2\n" file=ready key=c 'send=echo status $?\n' "expect=status $1" >session || { cat session && fail "$2"; }
  assert gone "$(cat ready)"
  PATIENCE=5 eventually no_zkflock_runs
  is_free
}

@test "Ctrl-C ends parallel, xargs -P and make -j with holder and waiters, and the lock is free" {
  workers
  holds "zk $ONE await-count $LOCK 3"
  targets "zkflock $LOCK ./holds" 1 2 3 >makefile
  ends_at_ctrl_c 255 "parallel -j 3 zkflock $LOCK ./holds ::: 1 2 3"
  ends_at_ctrl_c 130 "echo 1 2 3 | xargs -P 3 -n 1 zkflock $LOCK ./holds"
  ends_at_ctrl_c '' "make -j 3 -f makefile"
}

@test "Ctrl-C ends zkflock around parallel, xargs -P and make -j, with zkflocks inside, and the lock is free" {
  workers
  holds './together $$'
  targets "zkflock -n $LOCK ./holds" 1 2 3 >makefile
  ends_at_ctrl_c 255 "zkflock $LOCK parallel -j 3 zkflock -n $LOCK ./holds ::: 1 2 3"
  ends_at_ctrl_c 130 "echo 1 2 3 | zkflock $LOCK xargs -P 3 -n 1 zkflock -n $LOCK ./holds"
  # make 4.4 ends with 2 now and then: it waits for children that it has reaped.
  ends_at_ctrl_c '' "zkflock $LOCK make -j 3 -f makefile"
}

# ---- cron ----

# What cron starts within a minute, all at once: two of a job with -n, two of one with --once-per, and one
# that finds the lock busy and says so.
table() {
  cat <<END
PATH=/usr/local/bin:/usr/bin:/bin
ZKFLOCK_SERVERS=$ONE
* * * * * root cd $PWD; zkflock -n -E 0 -q $LOCK ./nightly; echo \$? >>statuses
* * * * * root cd $PWD; zkflock -n -E 0 -q $LOCK ./nightly; echo \$? >>statuses
* * * * * root cd $PWD; zkflock --once-per 50m $LOCK.report ./report; echo \$? >>reported
* * * * * ann cd $PWD; zkflock --once-per 50m $LOCK.report ./report; echo \$? >>reported
* * * * * root cd $PWD; until [ -e ready ]; do sleep 0.1; done; zkflock -n $LOCK touch ran; echo \$? >busy
END
}

# Notes what cron mails, in place of the sendmail of a mail server.
mails() {
  printf '#!/bin/sh\n{ cat; echo; } >>%s/mail\n' "$PWD" >/usr/sbin/sendmail
  chmod 755 /usr/sbin/sendmail
}

@test "cron: one of two runs its job, a busy one is skipped without mail; a job outlives cron" {
  recorder
  mails
  cat >nightly <<'END'
#!/bin/sh
{ tty; echo "$PATH $SHELL $(wc -c)"; ps -o tty= -p $$; } >environment
exec ./recorder
END
  printf '#!/bin/sh\nid -un >>reports\n' >report
  : >statuses
  : >reported
  : >reports
  chmod 777 nightly report statuses reported reports
  table >/etc/cron.d/zkflock
  PATIENCE=150 eventually test -e ready
  rm /etc/cron.d/zkflock
  eventually lines statuses 1
  eventually lines reported 2
  eventually test -s busy
  eventually grep -qs "is busy" mail
  assert_equal "$(cat statuses reported busy | tr '\n' ' ')" '0 0 0 1 '
  assert_equal "$(wc -l <reports)" 1
  assert_equal "$(grep -c ^Subject: mail)" 1
  assert_not_exist ran
  assert_equal "$(cat environment)" "not a tty
/usr/local/bin:/usr/bin:/bin /bin/sh 0
?"
  # Debian's unit has KillMode=process.
  systemctl stop cron
  run -1 zkflock -q -n "$LOCK" true
  kill -USR1 "$(pgrep -o -x zkflock)"
  eventually test -e SIGUSR1
  got USR1
  touch enough
  eventually lines statuses 2
  assert_equal "$(tail -n 1 statuses)" 7
  assert_equal "$(grep -c ^Subject: mail)" 1
  is_free
}
