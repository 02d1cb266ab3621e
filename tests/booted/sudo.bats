# sudo around zkflock and inside it: with a pseudo-terminal of sudo's (use_pty), if the caller has a
# terminal, and without.

load booted
load recorder

teardown_file() {
  rm -f /etc/sudoers.d/zkflock
  booted_teardown_file
}

# sudo_has OPTION: use_pty or !use_pty.
sudo_has() {
  grep -qw "$(hostname)" /etc/hosts || echo "127.0.1.1 $(hostname)" >>/etc/hosts
  printf 'Defaults %s\nann ALL = (ALL) NOPASSWD: ALL\n' "$1" >/etc/sudoers.d/zkflock
}

# each FUNCTION COMMAND...: calls FUNCTION USER COMMAND..., with that command in sudo and zkflock, or in
# zkflock and sudo.
each() {
  local function=$1
  shift
  "$function" root sudo zkflock "$LOCK" "$@"
  "$function" root sudo -u ann zkflock "$LOCK" "$@"
  "$function" root zkflock "$LOCK" sudo "$@"
  "$function" ann zkflock "$LOCK" sudo "$@"
}

# as USER COMMAND...
as() {
  if [ "$1" = ann ]; then "${ANN[@]}" "${@:2}"; else "${@:2}"; fi
}

# types USER ACTION...: that user at a terminal.
types() {
  echo "# as $*"
  as "$1" "$TESTS_DIR/tools/terminal" "${@:2}" >session 3>&- 4>&- || { cat session && fail "terminal: $*"; }
}

gives_status() {
  echo "# as $*"
  run -3 as "$@"
}

@test "sudo around zkflock and inside: the command's status and output are passed on" {
  recorder
  sudo_has use_pty
  each gives_status sh -c 'echo out; exit 3'
  assert_output out
  is_free
}

gets_term() {
  fresh
  echo "# as $*"
  if [ "$1" = ann ]; then set -- "${ANN[@]}" "${@:2}"; else shift; fi
  setsid sh -c 'echo $$ >outer; exec "$@"' sh "$@" </dev/null 3>&- 4>&- &
  outer=$!
  eventually test -e ready
  kill -TERM "$outer"
  eventually test -e SIGTERM
  kill -USR1 "$outer"
  eventually test -e SIGUSR1
  touch enough
  ends_with 7 "$outer"
  got TERM USR1
  is_free
}

@test "sudo without a terminal: TERM to the outermost reaches the command once" {
  recorder
  sudo_has use_pty
  each gets_term ./recorder
  sudo_has '!use_pty'
  each gets_term ./recorder
}

gets_term_at_terminal() {
  fresh
  types "$1" "send=sh job ${*:2}\n" file=over 3>&- 4>&- &
  person=$!
  eventually test -e ready
  # Whether sudo has made a terminal.
  run -$((pty == 0)) test "$(ps -o tty= -p "$(cat ready)")" != "$(ps -o tty= -p "$(cat outer)")"
  kill -TERM "$(cat outer)"
  eventually test -e SIGTERM
  kill -USR1 "$(cat outer)"
  eventually test -e SIGUSR1
  touch enough
  acted "$person"
  got TERM USR1
  ended 7
}

gets_ctrl_c() {
  fresh
  types "$1" "send=sh job ${*:2}\n" file=ready key=c file=SIGINT 'key=\' file=SIGQUIT touch=enough file=over
  got INT QUIT
  ended 7
}

dies_of_ctrl_c() {
  fresh
  types "$1" "send=sh job ${*:2} sh -c 'touch ready; exec sleep 1000'\n" file=ready key=c file=over
  ended 130
}

# The command waits without a child; see signals.bats.
stops_and_goes_on() {
  fresh
  rm -f go
  types "$1" "send=sh job ${*:2} sh -c 'umask 0; mkfifo go; echo >ready; read -r _ <go; exit 6'\n" \
    file=ready key=z expect=Stopped 'send=(echo >go) & fg %1\n' file=over
  ended 6
}

at_terminal() {
  recorder
  sudo_has "$1"
  [ "$1" = use_pty ] && pty=1 || pty=0
  each "${@:2}"
}

@test "sudo with a pseudo-terminal: TERM to the outermost reaches the command once" {
  at_terminal use_pty gets_term_at_terminal ./recorder
}

@test "sudo with a pseudo-terminal: Ctrl-C reaches the command once, and ends an ordinary one" {
  at_terminal use_pty gets_ctrl_c ./recorder
  each dies_of_ctrl_c
}

@test "sudo with a pseudo-terminal: Ctrl-Z stops the job, fg goes on with it" {
  at_terminal use_pty stops_and_goes_on
}

@test "sudo without a pseudo-terminal: TERM to the outermost reaches the command once" {
  at_terminal '!use_pty' gets_term_at_terminal ./recorder
}

@test "sudo without a pseudo-terminal: Ctrl-C reaches the command once, and ends an ordinary one" {
  at_terminal '!use_pty' gets_ctrl_c ./recorder
  each dies_of_ctrl_c
}

@test "sudo without a pseudo-terminal: Ctrl-Z stops the job, fg goes on with it" {
  at_terminal '!use_pty' stops_and_goes_on
}

# Ignores TERM.
readonly stubborn='trap "" TERM; echo $$ >ready; until [ -e enough ]; do sleep 0.05; done'

@test "sudo inside: --max-runtime ends a command that ignores TERM, with a pseudo-terminal and without" {
  recorder
  for pty in use_pty '!use_pty'; do
    fresh
    sudo_has "$pty"
    echo "$stubborn" >stubborn
    types root "send=sh job zkflock --max-runtime 1 --kill-after 1 $LOCK sudo sh stubborn\n" file=over
    assert gone "$(cat ready)"
    ended 124
  done
}

@test "sudo inside: a lost lock ends a command that ignores TERM" {
  recorder
  background --lease 6 "$LOCK" sudo sh -c "$stubborn" 2>log
  holder=$!
  eventually test -s ready
  lose
  ends_with 75 "$holder"
  assert gone "$(cat ready)"
  refute grep 'after the lease' log
  is_free
}

as_ann_in_background() {
  setsid "${ANN[@]}" zkflock "$@" </dev/null 3>&- 4>&- &
}

@test "sudo inside, as another user than root: a lost lock ends a command that ends on TERM" {
  recorder
  sudo_has use_pty
  as_ann_in_background --lease 6 "$LOCK" sudo sh -c 'echo $$ >ready; exec sleep 1000' 2>log
  holder=$!
  eventually test -s ready
  lose
  ends_with 75 "$holder"
  assert gone "$(cat ready)"
  refute grep -e 'after the lease' -e 'cannot be killed' log
  is_free
}

@test "sudo inside, as another user than root: zkflock says that it cannot kill the command, and holds the lock" {
  recorder
  sudo_has use_pty
  as_ann_in_background --lease 6 --max-runtime 1 --kill-after 1 "$LOCK" sudo sh -c "$stubborn" 2>log
  holder=$!
  eventually contains log "cannot be killed"
  assert_file_contains log "process $(cat ready) (uid 0), which sudo has started, cannot be killed: $LOCK is not released before it has ended"
  run -1 zkflock -q -n "$LOCK" true
  touch enough
  ends_with 124 "$holder"
  is_free
}

@test "sudo inside, as another user than root: zkflock says that a command outlives the lock that it has lost" {
  recorder
  sudo_has use_pty
  as_ann_in_background --lease 6 "$LOCK" sudo sh -c "$stubborn" 2>log
  holder=$!
  eventually test -s ready
  lose
  eventually contains log "cannot be killed"
  assert_file_contains log "process $(cat ready) (uid 0), which sudo has started, cannot be killed: $LOCK may have its next holder now, at the same time"
  touch enough
  ends_with 75 "$holder"
  assert_file_contains log "after the lease ended"
  is_free
}

@test "sudo inside: re-entry needs the variables of zkflock, which sudo removes" {
  recorder
  sudo_has use_pty
  run -64 zkflock "$LOCK" sudo zkflock "$LOCK" touch ran
  assert_not_exist ran
  run -5 zkflock "$LOCK" sudo --preserve-env=ZKFLOCK_HELD,ZKFLOCK_TOKEN \
    zkflock "$LOCK" sh -c 'echo "$ZKFLOCK_TOKEN" >token; exit 5'
  assert_file_not_empty token
  is_free
}
