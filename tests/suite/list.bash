# For the tests of --list: holders and waiters, and checks of the output.

# Takes a lock in the background, with these options, until the file NAME.go is made.
holder() { # holder NAME ARG...
  local name=$1
  shift
  LOGNAME=$name background "$@" sh -c 'touch "$1.held"; until [ -e "$1.go" ]; do sleep 0.05; done' sh "$name"
  eventually test -e "$name.held"
}

waiter() { # waiter NAME ARG...
  local name=$1
  shift
  LOGNAME=$name wait_in_line "log.$name" "$@" true
}

# json EXPRESSION: prints the value of EXPRESSION, in which d is $output.
json() {
  printf '%s' "${output:?}" | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

end_all() {
  touch "$@"
  wait
}

# The same while a watch goes on.
end_all_but_watch() {
  touch "$@"
  eventually no_contenders
}

no_contenders() { [ -z "$(zk "$ONE" leftovers 0)" ]; }

# row LOCK: the line of the table in $output, without its blanks.
row() { printf '%s\n' "$output" | grep -- "^$1 " | tr -s ' '; }
