# The config files: what they say holds, in the right order, and mistakes in them are told.

load helper

# configured ARG...: zkflock with ./etc as /etc, so that the system's file is the test's own.
configured() {
  local map=()
  [ "$(id -u)" -eq 0 ] || map=(--map-root-user)
  mkdir -p etc
  unshare "${map[@]}" --mount sh -c 'mount --bind etc /etc && exec timeout 20 "$@"' sh \
    "${AS[@]}" zkflock "$@"
}

system_file() { # system_file LINE...
  mkdir -p etc
  printf '%s\n' "$@" >etc/zkflock.conf
}

user_file() { # user_file LINE...
  mkdir -p "$XDG_CONFIG_HOME/zkflock"
  printf '%s\n' "$@" >"$XDG_CONFIG_HOME/zkflock/config"
}

# shows LINE ARG...: --show-config prints this line, blanks squeezed.
shows() {
  local line=$1
  shift
  run -0 configured "$@" --show-config job
  assert_equal "$(tr -s ' ' <<<"$output" | grep -Fx -- "$line")" "$line"
}

# mistake SENTENCE LINE...: a file with these lines is refused, and nothing is run.
mistake() {
  local sentence=$1
  shift
  printf '%s\n' "$@" >file
  refuses 78 "$sentence" --config file "$LOCK" touch ran
  assert_equal "${#lines[@]}" 1
}

# ---- what holds ----

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
  shows "with = $LOCK/elsewhere # command line" --with named
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

# precedence KEY OPTION: each of five values 1 to 5 of $values counts in its turn.
precedence() {
  local key=$1 option=$2 user=$XDG_CONFIG_HOME/zkflock/config
  read -r -a v <<<"$values"
  rm -rf etc xdg
  system_file "[lock job]" "[zkflock]" "$key = ${v[0]}"
  shows "$key = ${v[0]} # /etc/zkflock.conf:3"
  system_file "[lock job]" "$key = ${v[1]}" "[zkflock]" "$key = ${v[0]}"
  shows "$key = ${v[1]} # /etc/zkflock.conf:2"
  user_file "[zkflock]" "$key = ${v[2]}"
  shows "$key = ${v[2]} # $user:2"
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
  ZKFLOCK_SERVERS=f:6 shows 'servers = f:6 # $ZKFLOCK_SERVERS'
  ZKFLOCK_SERVERS=f:6 shows "servers = e:5 # command line" -z e:5
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
  assert_output "zkflock: /etc/zkflock.conf: cannot be read: it is a FIFO"
  rm etc/zkflock.conf
  system_file "[zkflock]"
  chmod 000 etc/zkflock.conf
  chmod a+rx . ..
  chmod a+rx etc
  # Root may read everything.
  AS=(setpriv --reuid=65534 --clear-groups)
  [ "$(id -u)" -eq 0 ] || AS=(setpriv --bounding-set=-all --inh-caps=-all)
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf: cannot be read: Permission denied"
  assert_not_exist ran
}

@test "the user's file is not read with more rights than the caller's" {
  # Only root can give such rights away.
  [ "$(id -u)" -eq 0 ] || return 0
  user_file "[zkflock]" "lease = 20s"
  chmod -R a+rX "$XDG_CONFIG_HOME" . ..
  cp "$(command -v zkflock)" ./other
  chown 65534 other
  chmod 4755 other
  # Whatever its status: a sanitizer cannot look for leaks in such a process, and says so in it.
  run ./other --show-config
  assert_line --regexp "^# lease += 15s"
  chmod 755 other
  run -0 ./other --show-config
  assert_output --partial "20s"
}

# ---- form ----

@test "a byte order mark, CR LF, comments, blanks, a colon" {
  printf '\xef\xbb\xbf; comment\r\n[ zkflock ] # here\r\n\r\n  lease=20s\t; why\r\nsignal : INT#\r\n' >file
  printf '# x = y\n\t[lock  a ]b ] ;\nnode-style = plain:a;b#c\npath = /x = y' >>file
  run -78 configured --config file --show-config
  assert_output "zkflock: file:5: signal takes a signal such as TERM, INT or 15, not 'INT#'"
  sed -i 's/INT#/INT/' file
  run -0 configured --config file --show-config "a ]b"
  assert_line --regexp "^node-style += plain:a;b#c +# file:8"
  assert_line --regexp "^path += /x = y +# file:9"
  assert_line --regexp "^lease += 20s +# file:4"
  assert_line --regexp "^signal += INT +# file:5"
}

@test "long lines" {
  long=$(head -c 60000 /dev/zero | tr '\0' x)
  printf '[zkflock]\nnode-style = plain:%s\n' "$long" >file
  run -78 zkflock --config file "$LOCK" true
  assert_output --partial "zkflock: file:2: the PREFIX 'xxx"
  mistake "file:2: this line is too long: at most 65534 bytes" "[zkflock]" "a$long$long"
  run -0 zkflock --config <(printf '# %s\n[lock %s]\n' "$long" "/$(head -c 1000 <<<"$long")") "$LOCK" true
  run -0 timeout 10 zkflock --config <(printf '[lock /%s]\nlease=20s' "$(head -c 900 <<<"$long")") \
    --show-config "/$(head -c 900 <<<"$long")"
  assert_line --regexp "^lease += 20s"
}

# ---- mistakes ----

@test "mistakes in the form" {
  mistake "file:2: this is neither a [section], nor key = value, nor a comment" "[zkflock]" lease
  mistake "file:1: 'lease' stands before the first section, [zkflock] or [lock NAME]" "lease = 20s"
  mistake "file:1: the section lacks its closing bracket" "[zkflock"
  mistake "file:1: the section lacks its closing bracket" "[zkflock] x"
  mistake "file:1: there is no section [locks], only [zkflock] and [lock NAME]" "[locks]"
  mistake "file:1: there is no section [lockx y], only [zkflock] and [lock NAME]" "[lockx y]"
  mistake "file:1: there is no section [], only [zkflock] and [lock NAME]" "[ ]"
  mistake "file:1: the LOCK '' is empty" "[lock]"
  mistake "file:1: the LOCK '../x' has a part . or .., which ZooKeeper does not allow" "[lock ../x]"
  printf '[zkflock]\nle\0ase = 20s\n' >file
  refuses 78 "file:2: this line holds a NUL byte" --config file "$LOCK" touch ran
}

@test "mistakes with keys" {
  mistake "file:2: there is no key 'leese'" "[zkflock]" "leese = 20s"
  mistake "file:2: there is no key ''" "[zkflock]" "= 20s"
  mistake "file:2: there is no key 'shared'" "[lock x]" "shared = yes"
  for key in path kind permits timeout with; do
    mistake "file:3: $key belongs in a section [lock NAME], not in [zkflock]" "[zkflock]" "" "$key = 1"
  done
  mistake "file:3: lease stands in this section already, at file:2" "[zkflock]" "lease = 20s" "lease = 20s"
  mistake "file:6: path stands in this section already, at file:2" \
    "[lock a]" "path = /a" "[lock b]" "path = /b" "[lock a]" "path = /a"
}

@test "a file that fails while it is read" {
  refuses 78 "/proc/self/mem:1: this line cannot be read: Input/output error" \
    --config /proc/self/mem "$LOCK" touch ran
  assert_equal "${#lines[@]}" 1
}

@test "bad values" {
  mistake "file:2: lease takes a time from 1 s to 24 h 0 m, not 'x'" "[zkflock]" "lease = x"
  mistake "file:2: lease takes a time from 1 s to 24 h 0 m, not ''" "[zkflock]" "lease ="
  mistake "file:2: connect-timeout takes a time from 100 ms to 24 h 0 m, not '0'" \
    "[zkflock]" "connect-timeout = 0"
  mistake "file:2: session-timeout takes a time from 1 s to 1 h 0 m, not '1'x'" \
    "[zkflock]" "session-timeout = 1'x"
  mistake "file:2: kill-after takes a time from 0 ms to 1 h 0 m, not '-1'" "[zkflock]" "kill-after = -1"
  mistake "file:2: lock-delay takes a time from 0 ms to 24 h 0 m, not '2d'" "[zkflock]" "lock-delay = 2d"
  mistake "file:2: signal takes a signal such as TERM, INT or 15, not 'x'" "[zkflock]" "signal = x"
  mistake "file:2: on-lost takes kill, term or warn, not 'x'" "[zkflock]" "on-lost = x"
  mistake "file:2: node-style takes curator, kazoo or plain:PREFIX, not 'x'" "[zkflock]" "node-style = x"
  mistake "file:2: the PREFIX 'a/b' of node-style holds a slash" "[zkflock]" "node-style = plain:a/b"
  mistake "file:2: conflict-exit-code takes an exit status from 0 to 255, not '256'" \
    "[zkflock]" "conflict-exit-code = 256"
  mistake "file:2: log-level takes error, warning, info or debug, not 'x'" "[zkflock]" "log-level = x"
  mistake "file:2: servers: 'h:0' has no valid port: 1 to 65535" "[zkflock]" "servers = h:0"
  mistake "file:2: root takes the path of a znode, such as /locks, not 'x'" "[zkflock]" "root = x"
  mistake "file:2: the root '/x/' ends in a slash" "[zkflock]" "root = /x/"
  mistake "file:2: the root '/zookeeper' belongs to ZooKeeper itself" "[zkflock]" "root = /zookeeper"
  mistake "file:2: timeout takes a time such as 10, 0.5, 500ms or 5m, not 'x'" "[lock a]" "timeout = x"
  mistake "file:2: kind takes exclusive, shared or unfair, not 'x'" "[lock a]" "kind = x"
  mistake "file:2: permits takes a number from 1 to 1000000, not '0'" "[lock a]" "permits = 0"
  mistake "file:2: path takes the path of a znode, such as /app/nightly, not 'x'" "[lock a]" "path = x"
  mistake "file:2: the LOCK '/a//b' has an empty part (//)" "[lock a]" "path = /a//b"
  mistake "file:2: path cannot be another one for the lock /a, which is named by its path" \
    "[lock /a]" "path = /b"
  mistake "file:2: the LOCK '' is empty" "[lock a]" "with = b,,c"
  mistake "file:2: the LOCK '' is empty" "[lock a]" "with = "
}

@test "values that do not go together" {
  mistake "file:2: a lease of 2 s is too short to survive the fail-over of a server; it takes 3.5 s or more" \
    "[zkflock]" "lease = 2"
  mistake "file:4: a lease of 3 s is too short to survive the fail-over of a server; it takes 3.5 s or more" \
    "[zkflock]" "lease = 20" "[lock unused]" "lease = 3"
  mistake "file:3: with --kill-after 8 s a lease of 15 s is too short to survive the fail-over of a server; a --kill-after of 7.9 s would do, or a --lease of 15.5 s" \
    "[zkflock]" "lease = 15s" "kill-after = 8s"
  mistake "file:3: --permits does not go with --shared or --exclusive: a permit is neither" \
    "[lock a]" "kind = shared" "permits = 3"
  mistake "file:4: --permits does not go with --node-style: semaphores are Curator's" \
    "[zkflock]" "node-style = kazoo" "[lock a]" "permits = 3"
  mistake "file:3: /locks/b is given twice; --with names further locks" \
    "[lock a]" "path = /locks/b" "with = b"
  mistake "file:2: the lock b has servers of its own (file:4), a has others" \
    "[lock a]" "with = c, b" "[lock b]" "servers = b:1"
  mistake "file:3: the lock a has servers of its own (file:2), b has others" \
    "[lock a]" "servers = b:1" "with = b" "[lock b]" "path = /x/b"
  # The command line is blamed for what it does itself.
  printf '[zkflock]\nlease = 20s\nkill-after = 8s\n' >file
  refuses 64 "with --kill-after 8 s a lease of 15 s is too short to survive the fail-over of a server; a --kill-after of 7.9 s would do, or a --lease of 15.5 s" \
    --config file --lease 15 "$LOCK" touch ran
}

@test "a mistake is told from the usual files and unused sections too, in each mode" {
  system_file "[lock unused]" "lease = x"
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf:2: lease takes a time from 1 s to 24 h 0 m, not 'x'"
  run -78 configured --show-config
  rm etc/zkflock.conf
  user_file "[lock unused]" "lease = x" "lease = y"
  run -78 configured --lease 20 "$LOCK" touch ran
  assert_output "zkflock: $XDG_CONFIG_HOME/zkflock/config:2: lease takes a time from 1 s to 24 h 0 m, not 'x'"
  assert_not_exist ran
  run -0 configured --help
}

# ---- --show-config ----

# round_trip ARG...: what is printed, read again, comes to the same.
round_trip() {
  configured "${options[@]}" --show-config "$@" >first
  zkflock --config first --show-config "$@" >second
  run -0 diff <(sed 's/ *# [^=]*$//' first) <(sed 's/ *# [^=]*$//' second)
  run cat second
}

@test "--show-config prints a section that says the same" {
  unset ZKFLOCK_SERVERS
  options=()
  round_trip
  assert_line --index 0 "[zkflock]"
  assert_line --regexp '^servers +  = 127.0.0.1:2181 +# first:2$'
  round_trip job
  assert_line --index 0 "[lock job]"
  system_file "[zkflock]" "servers = a:1,b:2/chroot" "root = /r" "lease = 30s" "kill-after = 2" \
    "lock-delay = 0" "signal = INT" "on-lost = term" "connect-timeout = 3s" "session-timeout = 4s" \
    "conflict-exit-code = 0" "log-level = error" "[lock job]" "kind = unfair" "timeout = 5m" \
    "with = b, /c d" "[lock b]" "path = /elsewhere/b"
  round_trip
  round_trip job
  round_trip b
  assert_line --regexp '^path += /elsewhere/b +# first:2$'
  round_trip /a/path
  options=(-n -s -v --node-style kazoo --lease 40)
  round_trip job
  assert_line --regexp '^kind += shared '
  options=(--permits 4 --with x --with y)
  round_trip job
  assert_line --regexp '^with += /r/x, /r/y '
}

@test "--show-config: defaults are the program's" {
  # What stands there as a default changes nothing when it is given.
  zkflock --config /dev/null --show-config | sed -n 's/^\([a-z]*-timeout\|signal\|on-lost\|node-style\) *= \([^ ]*\) .*/--\1 \2/p' >defaults
  assert_equal "$(wc -l <defaults)" 5
  # shellcheck disable=SC2046 # words
  run -0 zkflock $(cat defaults) "$LOCK" true
  assert_output ""
}

@test "--show-config refuses what a file cannot hold, and a command" {
  refuses 64 "'a #b' cannot stand in a config file" --show-config "a #b"
  refuses 64 "'/locks/a,b' cannot stand in a config file" --config /dev/null --show-config --with a,b x
  refuses 64 "--show-config takes no COMMAND: leave 'touch' out" --show-config x touch ran
  run -71 sh -c 'zkflock --config /dev/null --show-config >/dev/full'
  assert_output "zkflock: cannot write to stdout: No space left on device"
}

# ---- anything ----

@test "random bytes as a config file end with 0 or 78" {
  python3 - <<'PYTHON'
import random, subprocess
draw = random.Random(1)
words = [b"[zkflock]", b"[lock a]", b"[lock /x/y]", b"[", b"]", b"lease", b"=", b":", b" ", b"20s", b"\n", b"\r\n",
         b"path", b"/a", b"with", b"b", b",", b"kind = shared", b"permits=3", b"servers", b"h:1", b"#", b";", b"\0",
         b"\xef\xbb\xbf", b"\t", b"root", b"timeout = 1\n", b"\xff", b"x" * 300, b"signal=INT\n", b"node-style=plain:p\n"]
ends = set()
for i in range(400):
    if i % 4:
        text = b"".join(draw.choice(words) for _ in range(draw.randrange(40)))
    else:
        text = draw.randbytes(draw.randrange(200))
    if i % 2:
        text = b"[lock a]\n" + text
    open("file", "wb").write(text)
    ran = subprocess.run(["zkflock", "--config", "file", "--show-config", "a"], capture_output=True, timeout=20)
    ends.add(ran.returncode)
    assert ran.returncode in (0, 78), (ran, text)
    assert (ran.stderr == b"") == (ran.returncode == 0) and ran.stderr.count(b"\n") < 2, (ran, text)
assert ends == {0, 78}, ends
PYTHON
}
