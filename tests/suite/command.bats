# What the command inherits and what it does not.

load helper

@test "arguments arrive unchanged: blanks, quotes, newlines, empty, globs, options" {
  cat >show <<'EOF'
#!/bin/sh
for a; do printf '<%s>\n' "$a"; done
EOF
  chmod +x show
  run -0 zkflock "$LOCK" ./show "a b" "it's \"quoted\"" $'two\nlines' "" '*' -n -- --help '$HOME' '\'
  assert_output "$(./show "a b" "it's \"quoted\"" $'two\nlines' "" '*' -n -- --help '$HOME' '\')"
}

@test "-c runs one string through \$SHELL, else /bin/sh" {
  run -0 zkflock "$LOCK" -c 'echo "$0" "$#" one; echo two'
  assert_output "$(printf '/bin/sh 0 one\ntwo')"
  printf '#!/bin/sh\necho "shell: $1 $2"\n' >myshell
  chmod +x myshell
  SHELL=$PWD/myshell run -0 zkflock "$LOCK" --command 'echo x'
  assert_output "shell: -c echo x"
  run -0 env -u SHELL zkflock "$LOCK" -c 'exit 0'
}

@test "flock's habits: clusters, --, abbreviations, options end at LOCK" {
  run -0 zkflock -xnw5 "$LOCK" echo ok
  assert_output ok
  run -0 zkflock -en "$LOCK" echo ok
  run -0 zkflock --excl --nonb --conflict=4 "$LOCK" echo ok
  run -0 zkflock -x -- "$LOCK" echo -n ok
  assert_output ok
  run -0 zkflock -- "$LOCK" echo ok
  run -0 zkflock "$LOCK" -- echo ok
  run -0 zkflock "$LOCK" echo -x --help -V
  assert_output -- "-x --help -V"
}

@test "binary stdin passes through to stdout" {
  head -c 3000000 /dev/urandom >in
  zkflock "$LOCK" cat <in >out
  run -0 cmp in out
  head -c 100000 in | zkflock "$LOCK" cat | cmp - <(head -c 100000 in)
}

@test "stdin is read by the command alone: what it leaves is there for the next" {
  printf '1\n2\n3\n' >in
  { zkflock "$LOCK" sh -c 'read -r x; echo "$x"'; cat; } <in >out
  assert_equal "$(cat out)" "$(printf '1\n2\n3')"
}

@test "a descriptor that the caller opened arrives, and no other does" {
  echo through >file
  # The shell that lists has its own descriptor on /proc; ls names it 3 or above.
  exec 9<file
  run -0 zkflock "$LOCK" sh -c 'cat <&9; for f in /proc/$$/fd/*; do echo "${f##*/}"; done' 3>&- 4>&-
  exec 9<&-
  assert_line --index 0 through
  assert_equal "$(printf '%s\n' "${lines[@]:1}" | sort -n | tr '\n' ' ')" "$(
    exec 9<file
    sh -c 'for f in /proc/$$/fd/*; do echo "${f##*/}"; done' 3>&- 4>&- | sort -n | tr '\n' ' '
  )"
}

@test "closed stdin, stdout and stderr arrive closed, and nothing else takes their place" {
  zkflock "$LOCK" sh -c 'for f in 0 1 2; do [ -e /proc/$$/fd/$f ] && touch open.$f; done; touch ran' \
    <&- >&- 2>&- 3>&- 4>&-
  assert_exist ran
  assert_not_exist open.0
  assert_not_exist open.1
  assert_not_exist open.2
}

@test "ulimit -n 32 is enough" {
  run -0 bash -c 'ulimit -n 32; exec zkflock "$@"' bash "$LOCK" sh -c 'ulimit -n'
  assert_output 32
}

@test "working directory, umask, nice value and limits are the caller's" {
  mkdir dir
  cd dir
  umask 027
  run -0 nice -n 3 bash -c 'ulimit -S -f 12345; exec zkflock "$@"' bash "$LOCK" \
    bash -c 'pwd; umask; nice; ulimit -S -f'
  assert_output "$(printf '%s\n0027\n3\n12345' "$PWD")"
}

@test "signal mask and dispositions are the caller's" {
  wanted=$(masked grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status)
  run -0 masked zkflock "$LOCK" grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
  assert_output "$wanted"
}

@test "the environment is the caller's and five variables" {
  unset ZKFLOCK_SERVERS
  env | cut -d= -f1 | grep -v '^_$' | sort >before
  zkflock -z "$ONE" "$LOCK" env | cut -d= -f1 | grep -v '^_$' | sort >after
  run -0 comm -13 before after
  assert_output "$(printf 'ZKFLOCK_HELD\nZKFLOCK_LOCK\nZKFLOCK_NODE\nZKFLOCK_SERVERS\nZKFLOCK_TOKEN')"
  run -0 comm -23 before after
  assert_output ""
  # What --export left in the script's environment is not meant for a command inside.
  ZKFLOCK_EXPORTED=x run -1 zkflock -z "$ONE" "$LOCK" printenv ZKFLOCK_EXPORTED
}

@test "a zkflock inside asks the ensemble of the one around it, unless told otherwise" {
  export ZKFLOCK_SERVERS=127.0.0.1:1
  run -0 zkflock -z "$ONE" "$LOCK/a" zkflock -n "$LOCK/b" sh -c 'echo "$ZKFLOCK_SERVERS"'
  assert_output "$ONE"
  run -0 bash -c 'eval "$(zkflock -z "$1" --hold --for $$ --export "$2/a")"
    zkflock -n "$2/a" echo inside; zkflock --unlock "$2/a"' bash "$ONE" "$LOCK"
  assert_output inside
  run -69 zkflock -z "$ONE" "$LOCK/a" zkflock -z 127.0.0.1:1 --connect-timeout 0.3 -n "$LOCK/b" touch ran
  assert_not_exist ran
}

@test "the command is in the caller's process group and session" {
  run -0 zkflock "$LOCK" sh -c 'ps -o pgid=,sid= -p $$ | tr -s " "'
  assert_output "$(ps -o pgid=,sid= -p $BASHPID | tr -s ' ')"
}

@test "zkflock works in a process with no child to spare: nothing of it is the command's child" {
  run -0 zkflock "$LOCK" sh -c 'pgrep -P $$ -l; true'
  refute_output --partial zkflock
}

@test "what the command leaves in the background lives on, and is no longer under the lock" {
  zkflock "$LOCK" sh -c 'sh -c "until [ -e stop ]; do sleep 0.05; done; touch stopped" >/dev/null 2>&1 & echo $! >pid'
  assert kill -0 "$(cat pid)"
  run -0 zkflock -n "$LOCK" true
  touch stop
  eventually test -e stopped
}

@test "a child that the caller had before is none of zkflock's business" {
  # The caller's children become zkflock's by exec.
  run -0 bash -c 'sleep 0.2 & exec zkflock "$@"' bash "$LOCK" echo ok
  assert_output ok
}

@test "as the first process of a container, and as one that is brought into it" {
  run -0 unshare -Urpf --mount-proc zkflock "$LOCK" sh -c 'echo $PPID ran'
  assert_output --regexp "^[0-9]+ ran$"
  run -0 unshare -Ur bash -c 'unshare -pf --mount-proc sh -c "touch up; until [ -e down ]; do sleep 0.05; done" &
    until [ -e up ]; do sleep 0.05; done
    first=$(pgrep -P $!)
    nsenter -t "$first" -p -m --wd="$PWD" zkflock "$1" sh -c "echo brought in"; touch down; wait' bash "$LOCK"
  assert_output "brought in"
  # A /proc that shows other numbers is as good as none.
  run -71 unshare -Urpf zkflock "$LOCK" touch ran
  assert_output --partial "cannot read /proc"
  assert_not_exist ran
}

@test "runs leave nothing behind to a first process that waits only for them, as in some containers" {
  cat >first <<'END'
import os, subprocess, sys
for arguments in [["true"], ["zkflock", sys.argv[1] + ".inner", "true"], ["sh", "-c", "true"]] * 3:
    os.waitpid(os.posix_spawnp("zkflock", ["zkflock", sys.argv[1], *arguments], os.environ), 0)
END
  # The last zkflock may not have ended all of its processes yet.
  cat >>first <<'END'
import time
for _ in range(200):
    left = subprocess.run(["ps", "-eo", "stat=,args="], stdout=subprocess.PIPE, text=True).stdout.splitlines()
    left = [line for line in left if "ps -eo" not in line and "python3 first" not in line]
    if not left or all(line.startswith("Z") for line in left):
        break
    time.sleep(0.05)
print("\n".join(left))
END
  run -0 unshare -pf --mount-proc setsid -w /usr/bin/python3 first "$LOCK"
  assert_output ""
}
