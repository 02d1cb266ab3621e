# The form of config files, and the messages about mistakes in them.

load helper
load config

# mistake SENTENCE LINE...: a file with these lines is refused, and nothing is run.
mistake() {
  local sentence=$1
  shift
  printf '%s\n' "$@" >file
  refuses 78 "$sentence" --config file "$LOCK" touch ran
  assert_equal "${#lines[@]}" 1
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
  mistake "file:2: there is no key 'leese'; zkflock.conf(5) lists them" "[zkflock]" "leese = 20s"
  mistake "file:2: an '=' is missing behind the key in 'servers zk1'" "[zkflock]" "servers zk1:2181"
  mistake "file:2: servers: leave out the quotes around the value" "[zkflock]" 'servers = "zk1:2181"'
  mistake "file:2: there is no key 'kill after'; zkflock.conf(5) lists them" "[zkflock]" "kill after = 5s"
  mistake "file:2: there is no key ''; zkflock.conf(5) lists them" "[zkflock]" "= 20s"
  mistake "file:2: there is no key 'shared'; zkflock.conf(5) lists them" "[lock x]" "shared = yes"
  for key in path kind permits timeout with; do
    mistake "file:3: $key belongs in a section [lock NAME], not in [zkflock]" "[zkflock]" "" "$key = 1"
  done
  mistake "file:3: lease stands in this section already, at file:2" "[zkflock]" "lease = 20s" "lease = 20s"
  mistake "file:6: path stands in this section already, at file:2" \
    "[lock a]" "path = /a" "[lock b]" "path = /b" "[lock a]" "path = /a"
}

@test "quotes in a line for the shell are the shell's" {
  mkdir "my tools"
  printf '#!/bin/sh\necho "$1" >>told\n' >"my tools/tell"
  chmod +x "my tools/tell"
  printf '%s\n' "[zkflock]" "hook = \"$PWD/my tools/tell\"" "[lock $LOCK]" "show-command = 'a text'" >file
  run -0 zkflock --config file "$LOCK" true
  eventually grep -q released told
}

@test "a file that fails while it is read" {
  refuses 78 "/proc/self/mem:1: this line cannot be read: Input/output error" \
    --config /proc/self/mem "$LOCK" touch ran
  assert_equal "${#lines[@]}" 1
}

@test "bad values" {
  mistake "file:2: lease takes a time from 3 s to 1 d, not 'x'" "[zkflock]" "lease = x"
  mistake "file:2: lease takes a time from 3 s to 1 d, not ''" "[zkflock]" "lease ="
  mistake "file:2: connect-timeout takes a time from 100 ms to 1 d, not '0'" \
    "[zkflock]" "connect-timeout = 0"
  mistake "file:2: session-timeout takes a time from 1 s to 1 h, not '1'x'" \
    "[zkflock]" "session-timeout = 1'x"
  mistake "file:2: kill-after takes a time from 0 ms to 1 h, not '-1'" "[zkflock]" "kill-after = -1"
  mistake "file:2: lock-delay takes a time from 0 ms to 1 d, not '2d'" "[zkflock]" "lock-delay = 2d"
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
  mistake "file:2: a lease of 3 s is too short to survive the fail-over of a server; it takes 3.5 s or more" \
    "[zkflock]" "lease = 3"
  mistake "file:4: a lease of 3 s is too short to survive the fail-over of a server; it takes 3.5 s or more" \
    "[zkflock]" "lease = 20" "[lock unused]" "lease = 3"
  mistake "file:3: with --kill-after 8 s a lease of 15 s is too short to survive the fail-over of a server; a --kill-after of 7.9 s would do, or a --lease of 15.5 s" \
    "[zkflock]" "lease = 15s" "kill-after = 8s"
  mistake "file:3: --permits does not go with --shared or --exclusive: a permit is neither" \
    "[lock a]" "kind = shared" "permits = 3"
  mistake "file:3: /locks/b is given twice; --with names further locks" \
    "[lock a]" "path = /locks/b" "with = b"
  mistake "file:2: the lock b has servers of its own (file:4), unlike a" \
    "[lock a]" "with = c, b" "[lock b]" "servers = b:1"
  mistake "file:3: the lock a has servers of its own (file:2), unlike b" \
    "[lock a]" "servers = b:1" "with = b" "[lock b]" "path = /x/b"
  # The message blames the command line for its own mistakes.
  printf '[zkflock]\nlease = 20s\nkill-after = 8s\n' >file
  refuses 64 "with --kill-after 8 s a lease of 15 s is too short to survive the fail-over of a server; a --kill-after of 7.9 s would do, or a --lease of 15.5 s" \
    --config file --lease 15 "$LOCK" touch ran
}

@test "parts of names that a lock above would take for its own" {
  local kept="the name leases is kept for the permits of one; choose another LOCK"
  local digits="a name that ends in ten digits is kept for those; choose another LOCK"
  mistake "file:2: the LOCK /x/leases/y would make a semaphore of /x: $kept" "[lock a]" "path = /x/leases/y"
  mistake "file:2: the LOCK /locks/x/leases/y would make a semaphore of /locks/x: $kept" \
    "[lock a]" "with = x/leases/y"
  mistake "file:2: the LOCK /x/n-0000000007/y would be a contender of /x by its part n-0000000007: $digits" \
    "[lock a]" "path = /x/n-0000000007/y"
  mistake "file:2: the LOCK /x/0000000007/y would be a contender of /x by its part 0000000007: $digits" \
    "[lock a]" "with = b, /x/0000000007/y"
  mistake "file:2: the LOCK /locks/x/0000000007/y would be a contender of /locks/x by its part 0000000007: $digits" \
    "[lock x/0000000007/y]" "kind = shared"
  for part in leases 0000000007; do
    printf '%s\n' "[zkflock]" "root = /x/$part" >file
    for how in "" "--with $LOCK" "--with b"; do
      # shellcheck disable=SC2086 # options
      run -78 zkflock --config file $how a touch ran
      assert_output --regexp "^zkflock: file:2: the LOCK /x/$part/[ab] would .*; choose another LOCK\$"
    done
    # Locks that others have made there can be listed.
    run -0 zkflock --config file --list a
    run -1 zkflock --config file --remove a
  done
  # The message does not blame a root that is not in the file, nor for the name behind it.
  printf '%s\n' "[zkflock]" "root = /somewhere/else/and/far" >file
  refuses 64 "the LOCK /x/leases/y would make a semaphore of /x: $kept" --config file /x/leases/y touch ran
  printf '%s\n' "[zkflock]" "root = /x" >file
  refuses 64 "the LOCK /x/leases/y would make a semaphore of /x: $kept" --config file leases/y touch ran
  printf '%s\n' "[lock a]" "with = b" >file
  refuses 64 "the LOCK /x/leases/y would make a semaphore of /x: $kept" --config file /x/leases/y touch ran
  refuses 64 "the LOCK /x/leases/y would make a semaphore of /x: $kept" --config file --with /x/leases/y a touch ran
}

@test "a mistake is told from the usual files and unused sections too, in each mode" {
  system_file "[lock unused]" "lease = x"
  run -78 configured "$LOCK" touch ran
  assert_output "zkflock: /etc/zkflock.conf:2: lease takes a time from 3 s to 1 d, not 'x'"
  run -78 configured --show-config
  rm etc/zkflock.conf
  user_file "[lock unused]" "lease = x" "lease = y"
  run -78 configured --lease 20 "$LOCK" touch ran
  assert_output "zkflock: $XDG_CONFIG_HOME/zkflock/config:2: lease takes a time from 3 s to 1 d, not 'x'"
  assert_not_exist ran
  run -0 configured --help
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
