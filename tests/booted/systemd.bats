# Units of the manual and of packaging/examples under systemd.

load booted

@test "systemd-run: the command's status is the unit's" {
  run -3 systemd-run --quiet --pipe --wait --collect zkflock "$LOCK" sh -c 'exit 3'
  is_free
}
