# Helpers: a command that tells when it is alive, and the proofs of life of its lock, both in ms of
# CLOCK_BOOTTIME.

# A command that writes the time to "beats" while it runs and to "asked" when it gets TERM.
beating() {
  cat >beating <<'EOF'
#!/bin/sh
trap 'cat /proc/uptime >asked' TERM
echo $$ >command
until [ -e release ]; do cat /proc/uptime >>beats; sleep 0.02; done
EOF
  chmod +x beating
}

# last_proof: print when the last answered proof was sent; a create and writes to the own znode are proofs as well.
last_proof() {
  steps frames "$LOCK" -t JOIN ANNOUNCE PROVE MARK PROOF PROOF_CLAIMED | grep -v -e '-$' | tail -n 1 | cut -d' ' -f2
}

last_beat() {
  tail -n 1 beats >last
  when last
}

# dead_by MS: fail if the command was alive after that time.
dead_by() {
  eventually gone "$(cat command)"
  later_by 0 "$(last_beat)" "$1"
}

# dead_without_contact MS: stop the proxy; fail if the command is alive MS after the last answered proof.
dead_without_contact() {
  # shellcheck disable=SC2154 # open_proxy sets it
  kill -STOP "$proxy_pid"
  dead_by $(($(last_proof) + $1))
}
