# For suites in which zkflock runs among other programs: a command that counts signals, and jobs at a
# terminal.

ANN=(setpriv --reuid ann --regid ann --init-groups --reset-env)

# For setup: makes ./recorder, and lets ann work in the test's directory.
recorder() {
  chmod 711 "$BATS_RUN_TMPDIR"
  chmod 777 .
  cat >recorder <<'END'
#!/usr/bin/python3
"""Notes each signal in "signals", and makes a file of its name; ends with 7 when there is "enough"."""
import os, signal, sys, time
os.umask(0)
os.chdir(os.path.dirname(os.path.abspath(__file__)))
def note(number, frame):
    name = signal.Signals(number).name
    with open("signals", "a") as f:
        f.write(name + "\n")
    open(name, "w").close()
for name in "TERM HUP INT QUIT USR1".split():
    signal.signal(getattr(signal, "SIG" + name), note)
with open("ready.new", "w") as f:
    f.write(str(os.getpid()))
os.rename("ready.new", "ready")
while not os.path.exists("enough"):
    time.sleep(0.02)
sys.exit(7)
END
  # At a terminal: its settings before and after, and the status.
  cat >job <<'END'
trap : INT QUIT
stty -g >before
sh -c 'echo $$ >outer; exec "$@"' sh "$@"
echo $? >status
stty -g >after
touch over
END
  chmod 755 recorder job
}

fresh() { rm -f signals SIG* ready enough outer before after status over session; }

# got NAME...: fails unless the recorder has got these signals, in this order, and no others.
got() { assert_equal "$(tr '\n' ' ' <signals)" "$(printf 'SIG%s ' "$@")"; }

# ended STATUS: fails unless the job has ended with that, has left the terminal as it was, and the lock is
# free.
ended() {
  assert_equal "$(cat status)" "$1"
  assert_equal "$(cat after)" "$(cat before)"
  is_free
}
