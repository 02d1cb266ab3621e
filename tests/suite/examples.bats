# Runs the examples of the manual and of the README as they stand there.

load helper

MANUAL=$BATS_TEST_DIRNAME/../../man/zkflock.1
README=$BATS_TEST_DIRNAME/../../README.md

# Several tests use the same lock names: each gets a chroot.
setup() {
  common_setup
  zk "$ONE" create "$LOCK"
  export ZKFLOCK_SERVERS=$ONE$LOCK
}

# example TEXT: the example below that text in the manual, with paths of installed programs replaced.
example() {
  example_in "$MANUAL" "$1" | sed -e "s|/usr/local/bin/zkflock|zkflock|" -e "s|/usr/local/bin|$PWD|"
}

# program NAME: writes down that it was run, with its arguments and token.
program() {
  for name; do
    printf '#!/bin/sh\necho "%s $* ${ZKFLOCK_TOKEN:+held}" >>"%s/ran"\n' "$name" "$PWD" >"$name"
    chmod +x "$name"
  done
  PATH=$PWD:$PATH
}

ran() { # ran LINE...: exactly that, in that order
  diff <(printf '%s\n' "$@") <(sed 's/  */ /g; s/ $//' ran)
  rm ran
}

# Runs a line as cron does: by sh, without the five fields; anything printed would be a mail.
cron() { # cron LINE
  run -0 sh -c "$(sed -n "$1p" cron.tab | cut -d' ' -f6- | sed 's/^ *//')"
  assert_output ""
}

@test "examples: cron" {
  example "A cron job that runs on one host" >cron.tab
  program nightly report
  assert_equal "$(sed -n 2p cron.tab)" "ZKFLOCK_SERVERS=zk1:2181,zk2:2181,zk3:2181"
  cron 3
  cron 4
  cron 4 # the hour is not over
  ran "nightly held" "report held"
  # Elsewhere it runs already.
  hold nightly release
  cron 3
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "examples: the README's are the manual's" {
  for text in "A cron job that runs on one host" "A shell script that holds"; do
    example "$text" | sed "s|$PWD|/usr/local/bin|" | grep -v tell-everybody | while IFS= read -r line; do
      grep -qxF "    $line" "$README" || fail "the README lacks: $line"
    done
  done
}

@test "examples: systemd" {
  example "The same with systemd" >unit
  program report
  run -0 sh -c "$(sed -n 's/^ExecStart=//p' unit)"
  assert_output ""
  ran "report held"
  assert grep -qx "OnCalendar=hourly" unit
}

@test "examples: GitLab CI" {
  example "A deploy step in GitLab" >job.yml
  program deploy.sh
  ENVIRONMENT=prod run -0 bash -eo pipefail -c "$(sed -n 's/^ *- //p' job.yml)"
  ran "deploy.sh held"
}

@test "examples: GitHub Actions" {
  example "In GitHub Actions" >job.yml
  program build.sh deploy.sh
  sed '1,/run: |/d' job.yml | sed 's/^ *//' >step
  echo 'zkflock -q -n deploy true || echo "still held: $?"' >>step
  run -0 bash -e step
  assert_output --partial "still held: 64"
  ran "build.sh" "deploy.sh"
  # The step's shell has ended.
  run -0 zkflock -w 10 deploy true
}

@test "examples: Jenkins" {
  program deploy.sh
  run -0 sh -xe -c "$(example "In a Jenkins" | sed "s/^sh '//; s/'$//")"
  ran "deploy.sh held"
}

@test "examples: a makefile" {
  example "In a makefile" >Makefile
  program upload
  touch build
  run -0 make publish
  ran "upload build held"
}

@test "examples: several commands under one lock" {
  program pg_dump migrate
  run -0 sh -c "$(example "In a shell script, several")"
  ran "pg_dump app held" "migrate up held"
  assert_exist backup.sql
}

@test "examples: a script that holds a lock for a part of it" {
  program pg_dump migrate tell-everybody
  example "A shell script that holds" >script
  run -0 bash script
  assert_output ""
  ran "pg_dump app held" "migrate up held" "tell-everybody held"
  # Busy for longer than the script waits.
  hold db-migrate release
  sed -i 's/10m/0.1/' script
  run -1 bash script
  assert_not_exist ran
  touch release
  ends_with 0 "$holder"
}

@test "examples: a cache that one host rebuilds" {
  mkdir shared
  printf '#!/bin/sh\necho rebuilt >>log; sleep 0.2; echo new >"$1"\n' >rebuild
  chmod +x rebuild
  example "A cache that one host" >use
  for _ in 1 2 3 4 5 6; do sh use 3>&- 4>&- & done
  wait
  assert_equal "$(cat log)" rebuilt
  touch -d '11 minutes ago' shared/cache
  run -0 sh use
  assert lines log 2
}

@test "examples: a store that checks the token" {
  # psql's variables, on a store that this machine has.
  cat >psql <<'EOF'
#!/usr/bin/python3
import re, sqlite3, sys
values = dict(arg.split("=", 1) for arg in sys.argv[2::2])
text = re.sub(r":'(\w+)'", lambda m: "'" + values[m[1]].replace("'", "''") + "'", sys.stdin.read())
text = re.sub(r":(\w+)", lambda m: values[m[1]], text)
with sqlite3.connect("store") as store:
    store.execute(text)
EOF
  printf '#!/bin/sh\necho "it'"'"'s new"\n' >render
  chmod +x psql render
  PATH=$PWD:$PATH
  sql() { python3 -c 'import sqlite3, sys; s = sqlite3.connect("store"); print(*s.execute(sys.argv[1])); s.commit()' "$1"; }
  sql "CREATE TABLE report (body, token)"
  sql "INSERT INTO report VALUES ('old', 0)"
  example "A store that checks the token" >update
  run -0 sh update
  run -0 sql "SELECT body FROM report"
  assert_output --partial "it's new"
  # One with a later token was here.
  sql "UPDATE report SET body = 'later', token = token + 1000000"
  run -0 sh update
  run -0 sql "SELECT body FROM report"
  assert_output --partial later
}

@test "examples: to tell a busy lock from a command that failed" {
  program rebuild
  run -0 sh -c "$(example "To tell a busy lock")"
  ran "rebuild held"
  hold cache-rebuild release
  run -0 sh -c "$(example "To tell a busy lock")"
  assert_line "another host is at it"
  touch release
  ends_with 0 "$holder"
}
