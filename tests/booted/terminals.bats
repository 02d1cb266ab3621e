# zkflock over ssh, and in windows of tmux and screen.

load booted
load recorder

setup_terminals() {
  recorder
  printf '#!/bin/sh\nexec zkflock %s ./recorder\n' "$LOCK" >locked
  # tmux takes keys that come together for a paste.
  echo 'set -g assume-paste-time 0' >tmux.conf
  chmod 755 locked
}

teardown() {
  tmux -L zkflock kill-server 2>/dev/null || true
  screen -S zkflock -X quit >/dev/null || true
  touch enough
  booted_teardown
}

# one_more: USR1 to zkflock itself, which the command gets behind all else.
one_more() {
  kill -USR1 "$(pgrep -o -x zkflock)"
  eventually test -e SIGUSR1
}

# is_not_noticed ATTACH KEY TEXT: ./locked in a session, which ATTACH shows; Ctrl-KEY d detaches it, and prints
# TEXT.
is_not_noticed() {
  eventually test -e ready
  terminal "send=TERM=xterm $1\n" 'expect=./locked' "key=$2" send=d "expect=$3" \
    "send=TERM=xterm $1\n" 'expect=./locked' touch=attached hangup
  assert_exist attached
  one_more
  got USR1
  run -1 zkflock -q -n "$LOCK" true
  touch enough
  eventually is_free
}

# ---- ssh ----

# sshd_runs: makes ./to, which runs a command at this host by ssh, as ann.
sshd_runs() {
  local port
  if [ ! -e /etc/ssh/sshd_config.d/zkflock.conf ]; then
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
    printf 'Port %s\nListenAddress 127.0.0.1\n' "$port" >/etc/ssh/sshd_config.d/zkflock.conf
    rm -f /etc/ssh/zkflock_key*
    ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/zkflock_key
    install -d -o ann -g ann -m 700 ~ann/.ssh
    install -o ann -g ann -m 600 /etc/ssh/zkflock_key.pub ~ann/.ssh/authorized_keys
    systemctl restart ssh
  fi
  port=$(sed -n 's/^Port //p' /etc/ssh/sshd_config.d/zkflock.conf)
  cat >to <<END
#!/bin/sh
exec ssh -F none -i /etc/ssh/zkflock_key -p $port -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
  -o LogLevel=ERROR "\$@"
END
  chmod 755 to
  eventually ./to ann@127.0.0.1 true
}

@test "ssh: status and output are passed on, with -t and without" {
  setup_terminals
  sshd_runs
  for option in -t -T; do
    run -3 ./to "$option" ann@127.0.0.1 "zkflock $LOCK sh -c 'echo out; exit 3'"
    assert_output --partial out
  done
  is_free
}

@test "ssh -t: Ctrl-C reaches the command once, the terminal is as before" {
  setup_terminals
  sshd_runs
  terminal "send=sh job ./to -t ann@127.0.0.1 zkflock $LOCK $PWD/recorder\n" \
    file=ready key=c file=SIGINT 'key=\' file=SIGQUIT touch=enough file=over
  got INT QUIT
  ended 7
}

@test "ssh -t: when the line is cut, HUP reaches the command once, and the lock comes free" {
  setup_terminals
  sshd_runs
  terminal "send=sh job ./to -t ann@127.0.0.1 zkflock $LOCK $PWD/recorder\n" file=ready file=over >session 3>&- 4>&- &
  person=$!
  eventually test -e ready
  kill -KILL "$(cat outer)"
  eventually test -e SIGHUP
  one_more
  touch enough
  acted "$person"
  got HUP USR1
  eventually is_free
}

ann_has_no_sshd() { ! pgrep -u ann -f sshd >/dev/null; }

@test "ssh without -t: when the line is cut, the command goes on and keeps the lock" {
  setup_terminals
  sshd_runs
  setsid ./to -T ann@127.0.0.1 zkflock "$LOCK" "$PWD/recorder" 3>&- 4>&- &
  client=$!
  eventually test -e ready
  kill -KILL "$client"
  eventually ann_has_no_sshd
  run -1 zkflock -q -n "$LOCK" true
  one_more
  got USR1
  touch enough
  eventually is_free
}

@test "ssh -t inside: status and Ctrl-C are passed on" {
  setup_terminals
  sshd_runs
  terminal "send=sh job zkflock $LOCK ./to -t ann@127.0.0.1 $PWD/recorder\n" \
    file=ready key=c file=SIGINT 'key=\' file=SIGQUIT touch=enough file=over
  got INT QUIT
  ended 7
}

@test "ssh -t inside: --max-runtime hangs up, and the terminal is as before" {
  setup_terminals
  sshd_runs
  terminal "send=sh job zkflock --max-runtime 1 $LOCK ./to -t ann@127.0.0.1 $PWD/recorder\n" file=ready file=over
  eventually test -e SIGHUP
  touch enough
  ended 124
}

# ---- tmux ----

tmux_() { tmux -L zkflock -f tmux.conf "$@" 3>&- 4>&-; }
shows() { tmux_ capture-pane -p -t zkflock | grep -q "$1"; }

@test "tmux: Ctrl-C reaches the command once, and the status is the shell's" {
  setup_terminals
  tmux_ new-session -d -s zkflock bash --norc --noprofile
  tmux_ send-keys -t zkflock "sh job ./locked" Enter
  eventually test -e ready
  tmux_ send-keys -t zkflock C-c
  eventually test -e SIGINT
  tmux_ send-keys -t zkflock 'C-\'
  eventually test -e SIGQUIT
  touch enough
  eventually test -e over
  got INT QUIT
  ended 7
  tmux_ send-keys -t zkflock "zkflock $LOCK sh -c 'exit 3'; echo status \$?" Enter
  eventually shows "^status 3"
  is_free
}

@test "tmux: the command does not notice that its session is detached and attached" {
  setup_terminals
  tmux_ new-session -d -s zkflock bash --norc --noprofile
  tmux_ send-keys -t zkflock "./locked" Enter
  is_not_noticed 'tmux -L zkflock attach' b '[detached'
}

@test "tmux: kill-session sends the command HUP, once, and the lock comes free" {
  setup_terminals
  tmux_ new-session -d -s zkflock ./locked
  eventually test -e ready
  tmux_ kill-session -t zkflock
  eventually test -e SIGHUP
  one_more
  got HUP USR1
  touch enough
  eventually is_free
}

@test "tmux: kill-server ends a job of a shell, and the lock comes free" {
  setup_terminals
  tmux_ new-session -d -s zkflock bash --norc --noprofile
  tmux_ send-keys -t zkflock "zkflock $LOCK sh -c 'echo \$\$ >ready; exec sleep 1000'" Enter
  eventually test -s ready
  tmux_ kill-server
  eventually gone "$(cat ready)"
  eventually is_free
}

# ---- screen ----

screen_() { TERM=xterm screen "$@" 3>&- 4>&-; }

@test "screen: Ctrl-C reaches the command once, and the status is the shell's" {
  setup_terminals
  screen_ -dmS zkflock bash --norc --noprofile
  eventually screen_ -S zkflock -X stuff 'sh job ./locked\n'
  eventually test -e ready
  screen_ -S zkflock -X stuff '^C'
  eventually test -e SIGINT
  screen_ -S zkflock -X stuff '^\'
  eventually test -e SIGQUIT
  touch enough
  eventually test -e over
  got INT QUIT
  ended 7
}

@test "screen: the command does not notice that its session is detached and attached" {
  setup_terminals
  screen_ -dmS zkflock bash --norc --noprofile
  eventually screen_ -S zkflock -X stuff './locked\n'
  is_not_noticed 'screen -r zkflock' a 'detached'
}

@test "screen: quit sends the command HUP, and the lock comes free" {
  setup_terminals
  screen_ -dmS zkflock ./locked
  eventually test -e ready
  screen_ -S zkflock -X quit
  eventually test -e SIGHUP
  touch enough
  eventually is_free
}
