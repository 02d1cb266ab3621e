# For the tests of the config files.

# configured ARG...: zkflock with ./etc as /etc, so that the system's file is the test's own; run by
# the command AS, if that is set.
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
