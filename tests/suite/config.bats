# The config files: their settings take effect, in the right order.

load helper
load config

# shows LINE ARG...: --show-config prints this line, blanks squeezed.
shows() {
  local line=$1
  shift
  run -0 configured "$@" --show-config job
  assert_equal "$(tr -s ' ' <<<"$output" | grep -Fx -- "$line")" "$line"
}

# ---- what takes effect ----

@test "a named lock is taken at its path, with its servers" {
  unset ZKFLOCK_SERVERS
  system_file "[zkflock]" "servers = $ONE" "[lock job]" "path = $LOCK/app"
  run -0 configured job sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output "$LOCK/app"
  run -0 configured "$LOCK/other" sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output "$LOCK/other"
  run -0 zk "$ONE" ls "$LOCK"
  assert_line app
}

@test "servers with a chroot" {
  zkflock "$LOCK" true
  system_file "[lock job]" "servers=127.0.0.1:1,$ONE$LOCK ; the second one answers" "path=/below"
  unset ZKFLOCK_SERVERS
  run -0 configured job true
  run -0 zk "$ONE" ls "$LOCK"
  assert_line below
}

@test "root is where bare names are, with those of --with" {
  user_file "[zkflock]" "root = $LOCK" "[lock job]" "with = named, bare, /t/config/abs" \
    "[lock named]" "path = $LOCK/elsewhere" "[lock top]" "root = /"
  run -0 configured job sh -c 'echo "$ZKFLOCK_LOCK"'
  assert_output "$LOCK/job"
  for lock in job elsewhere bare; do
    run -0 zk "$ONE" stat "$LOCK/$lock"
  done
  run -0 zk "$ONE" stat /t/config/abs
  shows "with = named # command line" --with named
  run -0 configured --show-config top
  assert_line --regexp "^path += /top "
}

@test "LOCK as a path has a section too" {
  user_file "[lock $LOCK]" "conflict-exit-code = 9"
  hold "$LOCK" release
  run -9 configured -n "$LOCK" true
  touch release
  wait "$holder"
}

@test "kinds" {
  user_file "[lock shared]" "path = $LOCK/s" "kind = shared" "[lock unfair]" "path = $LOCK/u" \
    "kind = unfair" "[lock exclusive]" "path = $LOCK/x" "kind = exclusive" \
    "[lock permits]" "path = $LOCK/p" "permits = 3"
  run -0 configured shared sh -c 'echo "$ZKFLOCK_NODE"'
  assert_output --partial __READ__
  run -0 configured exclusive sh -c 'echo "$ZKFLOCK_NODE"'
  assert_output --partial __WRIT__
  run -0 configured permits sh -c 'echo "$ZKFLOCK_NODE"'
  assert_output --partial -lease-
  run -0 configured unfair sh -c 'echo "$ZKFLOCK_NODE"'
  assert_output --partial /unfair__lock__-lock-
}

@test "what has no effect does no harm: node-style with permits and unfair, once-per with --hold" {
  printf '%s\n' "[zkflock]" "node-style = kazoo" "[lock p]" "path = $LOCK/p" "permits = 1" \
    "[lock u]" "path = $LOCK/u" "kind = unfair" "[lock n]" "path = $LOCK/n" "once-per = 50m" >config
  run -0 zkflock --config config --with u p zkflock --list "$LOCK/"
  assert_line --regexp "^$LOCK/p +held +permits 1/1 "
  assert_line --regexp "^$LOCK/u +held +unfair "
  run -0 zkflock --config config p printenv ZKFLOCK_NODE
  assert_output --regexp "^$LOCK/p/leases/_c_.*-lease-[0-9]{10}$"
  run -0 zkflock --config config --permits 3 "$LOCK/typed" printenv ZKFLOCK_NODE
  assert_output --regexp "^$LOCK/typed/leases/_c_.*-lease-[0-9]{10}$"
  run -0 zkflock --config config --unfair "$LOCK/typed-unfair" true
  # The lock beside the semaphore still gets kazoo's names.
  run -0 zkflock --config config --with "$LOCK/k" p sh -c "zk $ONE ls $LOCK/k"
  assert_output --partial __lock__
  for option in "" "--permits 2"; do
    # shellcheck disable=SC2086 # an option and its argument
    run -0 zkflock --config config --hold --for $$ $option n
    zkflock --unlock --for $$ --config config n
    zkflock --remove --config config n
  done
  refuses 64 "--permits does not go with --node-style: semaphores are Curator's" \
    --config config --node-style kazoo p touch ran
  refuses 64 "--once-per does not go with --hold: there is no command whose success could be noted" \
    --config config --hold --for $$ --once-per 50m n
}

@test "an option replaces the kind of the file altogether" {
  for kind in "kind = unfair" "kind = shared" "permits = 5"; do
    user_file "[lock job]" "$kind"
    shows "kind = shared # command line" -s
    shows "kind = exclusive # command line" -x
    shows "kind = unfair # command line" --unfair
    shows "permits = 3 # command line" --permits 3
    refute_output --partial "kind "
  done
  system_file "[lock job]" "permits = 5"
  user_file "[lock job]" "kind = shared"
  shows "kind = shared # $XDG_CONFIG_HOME/zkflock/config:2"
  refute_output --partial "permits"
  refuses 64 "--permits does not go with --shared or --exclusive: a permit is neither" \
    -s --permits 3 "$LOCK" touch ran
}

@test "timeout, and -n and -w before it" {
  hold "$LOCK" release
  user_file "[lock job]" "path = $LOCK" "timeout = 0" "conflict-exit-code = 7"
  run -7 configured job touch ran
  run -8 configured -E 8 -w 0.2 job touch ran
  assert_output --partial "after 200 ms"
  user_file "[lock job]" "path = $LOCK" "timeout = 1h"
  run -1 configured -n job touch ran
  assert_not_exist ran
  touch release
  wait "$holder"
}

# precedence KEY OPTION: sets the values 1 to 5 of $values at five places; each is used in its turn.
precedence() {
  local key=$1 option=$2 user=$XDG_CONFIG_HOME/zkflock/config
  read -r -a v <<<"$values"
  rm -rf etc xdg
  system_file "[lock job]" "[zkflock]" "$key = ${v[0]}"
  shows "$key = ${v[0]} # /etc/zkflock.conf:3"
  user_file "[zkflock]" "$key = ${v[2]}"
  shows "$key = ${v[2]} # $user:2"
  # A value for this lock alone goes before one for all locks.
  system_file "[lock job]" "$key = ${v[1]}" "[zkflock]" "$key = ${v[0]}"
  shows "$key = ${v[1]} # /etc/zkflock.conf:2"
  user_file "[lock job]" "$key = ${v[3]}" "[zkflock]" "$key = ${v[2]}" "[lock else]" "$key = ${v[0]}"
  shows "$key = ${v[3]} # $user:2"
  shows "$key = ${v[4]} # command line" "$option" "${v[4]}"
}

@test "precedence, for each key" {
  unset ZKFLOCK_SERVERS
  values="10s 20s 30s 40s 50s"
  precedence connect-timeout --connect-timeout
  precedence session-timeout --session-timeout
  precedence lease --lease
  precedence lock-delay --lock-delay
  values="1s 1.5s 2s 2500ms 3s" precedence kill-after --kill-after
  values="INT HUP 3 sigkill SIGTERM" precedence signal --signal
  values="kill term warn kill term" precedence on-lost --on-lost
  values="kazoo plain:x curator kazoo plain:y" precedence node-style --node-style
  values="0 2 3 4 255" precedence conflict-exit-code -E
  values="a:1 b:2 c:3 d:4/x e:5" precedence servers -z
  ZKFLOCK_SERVERS=f:6 shows "servers = d:4/x # $XDG_CONFIG_HOME/zkflock/config:2"
  ZKFLOCK_SERVERS=f:6 shows "servers = e:5 # command line" -z e:5
  user_file "[zkflock]" "servers = c:3"
  ZKFLOCK_SERVERS=f:6 shows "servers = b:2 # /etc/zkflock.conf:2"
  system_file "[lock job]" "[zkflock]" "servers = a:1"
  ZKFLOCK_SERVERS=f:6 shows 'servers = f:6 # $ZKFLOCK_SERVERS'
}

@test "precedence of what is no option" {
  system_file "[zkflock]" "root = /a" "log-level = debug"
  shows "path = /a/job # /etc/zkflock.conf:2"
  shows "log-level = debug # /etc/zkflock.conf:3"
  user_file "[zkflock]" "root = /b" "log-level = error" "[lock job]" "root = /c"
  shows "path = /c/job # $XDG_CONFIG_HOME/zkflock/config:5"
  shows "log-level = error # $XDG_CONFIG_HOME/zkflock/config:3"
  shows "log-level = info # command line" -v
}

@test "tree and reentry: yes or no, and the options before them" {
  user_file "[zkflock]" "tree = yes" "[lock job]" "reentry = no"
  shows "tree = yes # $XDG_CONFIG_HOME/zkflock/config:2"
  shows "tree = no # command line" -o
  shows "reentry = no # $XDG_CONFIG_HOME/zkflock/config:4"
  run -1 zkflock job zkflock -n job touch ran
  assert_output --partial "is busy"
  run -0 zkflock other sh -c '(until [ -e end ]; do sleep 0.05; done; echo last) & echo first; touch end'
  assert_output "first
last"
  run -0 zkflock other zkflock other echo inside
  user_file "[zkflock]" "tree = maybe"
  run -78 zkflock other true
  assert_output "zkflock: $XDG_CONFIG_HOME/zkflock/config:2: tree takes yes or no, not 'maybe'"
  rm xdg/zkflock/config
  shows "reentry = no # command line" --no-reentry
  shows "tree = yes # command line" --tree
  shows "tree = no # default"
}

@test "keys do not replace each other: each is looked for by itself" {
  system_file "[lock job]" "lease = 40s" "timeout = 5"
  user_file "[zkflock]" "signal = INT"
  shows "lease = 40s # /etc/zkflock.conf:2"
  shows "timeout = 5 # /etc/zkflock.conf:3"
  shows "signal = INT # $XDG_CONFIG_HOME/zkflock/config:2"
  shows "timeout = 0 # command line" -n
}

# ---- which files ----

@test "the user's file: XDG_CONFIG_HOME, else HOME" {
  mkdir -p home/.config/zkflock
  echo "[zkflock]
lease = 21s" >home/.config/zkflock/config
  user_file "[zkflock]" "lease = 22s"
  export HOME=$PWD/home
  shows "lease = 22s # $XDG_CONFIG_HOME/zkflock/config:2"
  XDG_CONFIG_HOME='' shows "lease = 21s # $HOME/.config/zkflock/config:2"
  XDG_CONFIG_HOME=xdg shows "lease = 21s # $HOME/.config/zkflock/config:2"
  XDG_CONFIG_HOME='' HOME='' shows "# lease = 15s # default"
  rm "$XDG_CONFIG_HOME/zkflock/config"
  shows "# lease = 15s # default"
}

@test "--config is read alone, and the last one counts" {
  system_file "[zkflock]" "lease = 20s"
  user_file "[zkflock]" "signal = INT"
  echo "[lock job]" >file
  shows "# lease = 15s # default" --config file
  assert_line --regexp "^signal += TERM"
  shows "# lease = 15s # default" --config /nowhere --config file
  refuses 78 "/nowhere: cannot be read: No such file or directory" \
    --config /nowhere "$LOCK" touch ran
}

@test "files that cannot be read" {
  refuses 78 "$PWD: cannot be read: Is a directory" --config "$PWD" "$LOCK" touch ran
  mkdir -p etc/zkflock.conf
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf: cannot be read: Is a directory"
  rmdir etc/zkflock.conf
  mkfifo etc/zkflock.conf
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf: cannot be read: it is no regular file"
  rm etc/zkflock.conf
  ln -s /dev/null etc/zkflock.conf
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf: cannot be read: it is no regular file"
  rm etc/zkflock.conf
  system_file "[zkflock]"
  chmod 000 etc/zkflock.conf
  chmod a+rx . ..
  chmod a+rx etc
  # Root may read everything.
  # shellcheck disable=SC2034 # `configured` runs it
  AS=(setpriv --reuid=65534 --clear-groups)
  # shellcheck disable=SC2034
  [ "$(id -u)" -eq 0 ] || AS=(setpriv --bounding-set=-all --inh-caps=-all)
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf: cannot be read: Permission denied"
  assert_not_exist ran
}

# ---- --show-config ----

# round_trip ARG...: fail unless the output, read again beside other sections, has the same effect.
round_trip() {
  configured "${options[@]}" --show-config "$@" >printed
  printf '%s\n' "${others[@]}" | cat printed - >first
  zkflock --config first --show-config "$@" >second
  run -0 diff <(sed 's/ *# [^=]*$//' printed) <(sed 's/ *# [^=]*$//' second)
  run cat second
}

@test "--show-config prints a section that says the same" {
  unset ZKFLOCK_SERVERS
  options=()
  others=()
  round_trip
  assert_line --index 0 "[zkflock]"
  assert_line --regexp '^servers +  = 127.0.0.1:2181 +# first:[0-9]+$'
  round_trip job
  assert_line --index 0 "[lock job]"
  system_file "[zkflock]" "servers = a:1,b:2/chroot" "root = /r" "lease = 30s" "kill-after = 2" \
    "lock-delay = 0" "signal = INT" "on-lost = term" "connect-timeout = 3s" "session-timeout = 4s" \
    "conflict-exit-code = 0" "log-level = error" "[lock job]" "kind = unfair" "timeout = 5m" \
    "with = b, /c d" "[lock b]" "path = /elsewhere/b"
  round_trip
  round_trip b
  assert_line --regexp '^path += /elsewhere/b +# first:2$'
  round_trip /a/path
  # The names of `with` mean what their own sections say.
  others=("[zkflock]" "servers = a:1,b:2/chroot" "[lock b]" "path = /elsewhere/b")
  round_trip job
  assert_line --regexp '^with += b, /c d +# first:'
  options=(-n -s -v --node-style kazoo --lease 40)
  round_trip job
  assert_line --regexp '^kind += shared '
  options=(--permits 4 --with x --with y)
  round_trip job
  assert_line --regexp '^with += x, y '
}

@test "--show-config: defaults are the program's" {
  # A default that is printed changes nothing when it is given.
  zkflock --config /dev/null --show-config | sed -n 's/^\([a-z]*-timeout\|signal\|on-lost\|node-style\) *= \([^ ]*\) .*/--\1 \2/p' >defaults
  assert_equal "$(wc -l <defaults)" 5
  # shellcheck disable=SC2046 # words
  run -0 zkflock $(cat defaults) "$LOCK" true
  assert_output ""
}

@test "--show-config refuses what a file cannot hold, and a command" {
  refuses 64 "'a #b' cannot stand in a config file" --show-config "a #b"
  refuses 64 "--show-config takes no COMMAND: leave 'touch' out" --show-config x touch ran
}

# ---- whose files are trusted ----

@test "a file that somebody else has written, or may, is refused, and no hook of it runs" {
  printf '#!/bin/sh\ntouch ran\n' >hook
  chmod +x hook
  user_file "[zkflock]" "hook = $PWD/hook"
  file=$XDG_CONFIG_HOME/zkflock/config
  for mode in 664 646 666; do
    chmod "$mode" "$file"
    run -78 configured "$LOCK" true
    assert_output "zkflock: $file: others than its owner may write it, and it is not trusted: it may name commands to run; chmod go-w"
  done
  chmod 600 "$file"
  chown 65534 "$file"
  run -78 configured "$LOCK" true
  assert_output "zkflock: $file: belongs to uid 65534, and is not trusted: it may name commands to run; give it to root or to the user who runs zkflock, or set HOME (sudo -H)"
  system_file "[zkflock]" "hook = $PWD/hook"
  rm "$file"
  chown 65534 etc/zkflock.conf
  run -78 configured "$LOCK" true
  assert_output "zkflock: /etc/zkflock.conf: belongs to uid 65534, and is not trusted: it may name commands to run; give it to root"
  assert_not_exist ran
}

@test "a file of one's own, of root's, or that is named, is read" {
  XDG_CONFIG_HOME=$PWD/etc user_file "[lock job]" "path = $LOCK/app"
  chmod 666 etc/zkflock/config
  run -0 configured --config /etc/zkflock/config --show-config job
  assert_line --regexp "^path += $LOCK/app "
  chmod 644 etc/zkflock/config
  # shellcheck disable=SC2034 # configured() uses it
  AS=(setpriv --reuid 65534 --clear-groups env "PATH=$PATH")
  for owner in 0 65534; do
    chown "$owner" etc/zkflock/config
    # Below a directory that this user can search.
    XDG_CONFIG_HOME=/etc run -0 configured --show-config job
    assert_line --regexp "^path += $LOCK/app "
  done
}

@test "a set-user-ID or set-group-ID copy does nothing" {
  chmod 755 .
  cp "$(command -v zkflock)" copy
  # As root but for the group, since a sanitizer cannot look for leaks in such a process of another
  # user, and would say so in its status.
  for mode in "4755 --reuid=65534" "2755 --regid=65534"; do
    chmod "${mode% *}" copy
    run -77 setpriv "${mode#* }" --clear-groups ./copy --config /etc/shadow "$LOCK" touch ran
    assert_output "zkflock: not permitted with more rights than the caller's: zkflock must have no set-user-ID or set-group-ID bit and no file capabilities (chmod ug-s, setcap -r), and its caller one user ID and one group ID"
  done
  # The rights may also be the caller's.
  run -77 python3 -c 'import os, sys
os.setresuid(65534, 0, 0); os.execv(sys.argv[1], ["zkflock", "lock", "touch", "ran"])' "$(command -v zkflock)"
  assert_output --partial ", and its caller one user ID and one group ID"
  chmod 755 copy
  run -0 setpriv --reuid 65534 --regid 65534 --clear-groups ./copy "$LOCK" echo ran
  assert_output ran
}
