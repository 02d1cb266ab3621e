# For the tests of --max-runtime: commands, and zkflock in the background.

# stubborn NAME: a command for zkflock that ignores TERM and HUP, and has a descendant, in a session of
# its own, that does not; their pids in NAME.pids.
stubborn() {
  cat >"$1" <<'EOS'
#!/bin/bash
setsid sleep 1000 &
trap '' TERM HUP
echo "$$ $!" >"$0.pids.new"
mv "$0.pids.new" "$0.pids"
while :; do read -rt 1 _ <>"$SUITE_DIR/pause"; done
EOS
  chmod +x "$1"
}

# tidy: a command of that name that tidies up on TERM, until the file "tidied" exists.
tidy() {
  cat >tidy <<'EOS'
#!/bin/sh
trap 'cat /proc/uptime >asked; until [ -e tidied ]; do sleep 0.05; done; exit 3' TERM
while :; do sleep 0.05; done
EOS
  chmod +x tidy
}

# The processes of a stubborn command have gone.
all_gone() {
  local pid pids
  read -ra pids <"$1.pids"
  for pid in "${pids[@]}"; do
    gone "$pid" || return 1
  done
}

# runs FILE ARG...: zkflock as $keeper in the background, its messages in "log", until there is FILE.
runs() {
  local made=$1
  shift
  background "$@" 2>log
  keeper=$!
  eventually test -e "$made"
}
