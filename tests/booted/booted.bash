# Loaded by the suites of this directory, which want a whole machine of their own that systemd has booted
# (make check-systemd): they install zkflock, users, units and tables of cron.  One file at a time.

load ../suite/helper

booted_setup_file() {
  if [ ! -e /made ] || [ ! -d /run/systemd/system ]; then
    fail "only in a Debian that is made for it: make check-systemd"
  fi
  make -s -C "$BATS_TEST_DIRNAME/../.." install PREFIX=/usr BUILD="$ZKFLOCK_BUILD" >/dev/null
  ln -sf /usr/bin/zkflock /usr/local/bin
  id ann >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ann
}

setup_file() { booted_setup_file; }

booted_teardown_file() {
  make -s -C "$BATS_TEST_DIRNAME/../.." uninstall PREFIX=/usr
  rm -f /usr/local/bin/zkflock
}

teardown_file() { booted_teardown_file; }

# zkflock is called by others, which pass no environment on: it finds the servers in its config file.
setup() {
  common_setup
  printf '[zkflock]\nservers = %s\n' "$ONE" >/etc/zkflock.conf
  chmod 755 "$BATS_RUN_TMPDIR" .. . # others than root work here, too
}

no_zkflock_runs() { ! pgrep zkflock >/dev/null; }

booted_teardown() {
  local deadline=$((SECONDS + 5))
  rm -f /etc/zkflock.conf
  until no_zkflock_runs; do
    [ "$SECONDS" -le "$deadline" ] || fail "zkflock still runs: $(pgrep -a zkflock)" || return 1
    pause 0.05
  done
  common_teardown
}

teardown() { booted_teardown; }

# The lock of the test is free, and somebody else gets it at once.
is_free() { zkflock -z "$ONE" -n "$LOCK" true; }
