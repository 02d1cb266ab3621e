# Helpers of the suites about --remove.

# Prints what is left of the lock and its note.
left() { zk "$ONE" ls "${LOCK%/*}" | grep -x -e "${LOCK##*/}" -e "${LOCK##*/}\.once" || true; }

removal() { timeout 40 zkflock --remove "$@"; }

# removal_waits [ARG...]: a --remove in the background that waits for others; pid in $remover.
removal_waits() {
  background --remove -v -w 60 "$@" "$LOCK" 2>removal.log
  remover=$!
  eventually contains removal.log "waiting for $LOCK: "
}
