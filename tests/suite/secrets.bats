# Passwords and private keys: who has them, where they are read from, and to whom they are sent.

load helper
KEY_KIND="ec -pkeyopt ec_paramgen_curve:P-256"
load keys

setup_file() {
  export KEYS=$BATS_FILE_TMPDIR/keys
  mkdir "$KEYS"
  authority ca
  certificate server ca 30 DNS:localhost
  certificate client ca 30 DNS:client
}

setup() {
  common_setup
  credentials ann "# of the night shift" "digest:ann:se cret:x"
}

teardown() {
  [ -z "${proxy_pid:-}" ] || close_proxy
  common_teardown
}

credentials() { # credentials FILE LINE...
  printf '%s\n' "${@:2}" >"$1"
  chmod 600 "$1"
}

digest_of() { printf %s "$1" | openssl dgst -sha1 -binary | base64; } # digest_of USER:PASSWORD

# found WHAT PID...: prints a line for each area of memory with that in it, password, key or comment: the pid
# and the area's flags in /proc.  It does not look at areas that are larger than what zkflock has.
found() {
  /usr/bin/python3 - "$KEYS/client.key" "$@" <<'END'
import base64, sys
path, what, *pids = sys.argv[1:]
pem = open(path, "rb").read().splitlines()
key = base64.b64decode(b"".join(pem[1:-1])).split(b"\2\1\1\4 ")[1][:32]
texts = {"password": [b"se cret:x"], "comment": [b"of the night shift"], "key": [key, key[::-1], pem[1]]}[what]
for pid in pids:
    with open(f"/proc/{pid}/smaps") as smaps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in smaps:
            words = line.split()
            if "-" in words[0]:
                begin, end = (int(number, 16) for number in words[0].split("-"))
                readable = "r" in words[1] and "[v" not in line and end - begin < 64 << 20
            elif words[0] == "VmFlags:" and readable:
                memory.seek(begin)
                data = memory.read(end - begin)
                if any(text in data for text in texts):
                    print(pid, *words)
END
}

# below PID: it, and all that come from it.
below() {
  local child
  echo "$1"
  for child in $(pgrep -P "$1"); do below "$child"; done
}

@test "front, guard, witness, command and hook have neither password nor private key, in whatever way" {
  PROXY_TLS=$KEYS/server.both open_proxy none 0
  mkfifo go
  echo 'touch held; : <go' >job
  printf '#!/bin/sh\nmkdir hooked || exit 0\n: <go\n' >teller
  chmod +x teller
  cat >run <<END
zkflock -vv --log-format json -z localhost:$port --tls --cacert "$KEYS/ca.pem" --cert "$KEYS/client.pem" \\
  --key "$KEYS/client.key" --auth-file ann --acl creator --hook ./teller "$LOCK" sh job 2>log
echo status \$?
END
  terminal "send=sh run\n" file=release "expect=status 0" >session 3>&- 4>&- &
  local terminal=$! front what pids both
  eventually test -e held -a -e hooked
  front=$(pgrep -P "$(pgrep -P "$(pgrep -P "$terminal")")")
  mapfile -t pids < <(below "$front")
  run -0 ps -o comm= -p "${pids[*]}"
  assert_equal "$(sort <<<"$output" | paste -sd' ')" "lock-guard lock-hook lock-witness sh teller zkflock zkflock"
  for what in password key; do
    run -0 found "$what" "${pids[@]}"
    assert_equal "$(cut -d' ' -f1 <<<"$output" | sort -u)" "$(children "$front" zkflock)"
  done
  for pid in "${pids[@]}"; do
    refute grep -qa -e "se cret" -e PRIVATE "/proc/$pid/cmdline" "/proc/$pid/environ"
    run -0 ls -l "/proc/$pid/fd"
    refute_line --regexp "/(ann|client.key|client.pem|ca.pem)$"
  done
  exec {both}<>go
  touch release
  acted "$terminal"
  # Neither is it told, nor in the servers' files.
  refute grep -raq -e "se cret" -e PRIVATE log "$SUITE_DIR/one"
}
