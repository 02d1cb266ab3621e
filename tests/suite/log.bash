# For the tests of the log of a run.

# told LOG LOCK: checks what every line of JSON has, and prints for each with an event its name,
# the session's number of those met so far, and the other members as NAME=VALUE; times as numbers.
told() {
  python3 - "$@" <<'EOF'
import datetime, json, re, sys

sessions = []
common = ["time", "level", "event", "source", "pid", "lock", "session", "message"]
for line in open(sys.argv[1], encoding="utf-8"):
    assert len(line.encode()) <= 4096, line
    entry = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"]), line
    assert datetime.datetime.fromisoformat(entry["time"][:-1] + "+00:00"), line
    assert entry["level"] in ("error", "warning", "notice", "info", "debug"), line
    assert entry["pid"] > 1 and entry["lock"] == sys.argv[2], line
    assert entry["message"].isprintable(), line
    assert entry.get("source", "zookeeper") == "zookeeper", line
    if "session" in entry and entry["session"] not in sessions:
        assert re.fullmatch("0x[0-9a-f]+", entry["session"]), line
        sessions.append(entry["session"])
    assert "session" in entry or not sessions, "no session: " + line
    if "event" not in entry:
        continue
    number = "-" if "session" not in entry else str(sessions.index(entry["session"]))
    members = []
    for name, value in entry.items():
        if name in common:
            continue
        if name.endswith("_s"):
            assert isinstance(value, (int, float)) and 0 <= value < 1000, line
            value = "T"
        if name == "holder":
            assert isinstance(value, str) and value, line
            value = "T"
        members.append(f"{name}={value}")
    print(entry["event"], entry["level"], number, *members)
EOF
}

# every_line LOG REGEX
every_line() { [ -s "$1" ] && ! grep -Evq "$2" "$1"; }
