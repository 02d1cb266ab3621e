"""The outcome that a combination must have, by what the manual says about each option.  Nothing here comes
from the program's own tables: the tests have to notice what is missing there."""
import dataclasses
import enum
import itertools


class Place(enum.Enum):
    """What exists at the place where zkflock is to take the lock."""
    FREE = "nothing"
    IDLE = "a lock that was used"
    DONE = "a lock with a fresh success of --once-per"
    HELD = "a lock that is held"
    READ = "a lock that is held shared"
    POOL = "a semaphore of two permits"
    FULL = "a semaphore whose two permits are taken"

    @property
    def is_used(self):
        """True if several combinations can use the place at a time."""
        return self in (Place.HELD, Place.READ, Place.FULL)


@dataclasses.dataclass(frozen=True)
class Expected:
    status: frozenset          # any of these
    ran: bool = False          # whether the command does
    holds: bool = False        # whether --hold has the lock afterwards
    removed: bool = False


ACTIONS = ("hold", "no-fork", "unlock", "list", "revoke", "break", "remove", "show-config")


def status(*numbers, **more):
    return Expected(frozenset(numbers), **more)


RUNS = {"run", "--show-config"}
TAKES = RUNS | {"--hold", "--no-fork"}
STARTS = {"run", "--no-fork"}  # the command
WAITS = TAKES | {"--revoke", "--remove"}
ASKS_SERVERS = WAITS | {"--list", "--break"}
ALL = ASKS_SERVERS | {"--unlock"}

# The actions on which each option has an effect, "run" being a command; on others it is refused.
EFFECTS = {name: actions for actions, names in (
    (RUNS, "--once-per --skip-exit-code --deadline --max-runtime --tree --close"),
    ({"run"}, "--now"),
    (TAKES, "-e --exclusive --shared --permits --unfair --with --no-reentry -E --hook --retry --retry-delay"
            " --node-style --lease --signal --kill-after --on-lost --lock-delay --acl --show-command"),
    (WAITS, "-n -w"),
    (ASKS_SERVERS, "--connect-timeout --session-timeout"),
    (ALL, "--servers --config --verbose --quiet --log-format --log-syslog --auth-file --tls --cacert --cert --key"),
    ({"--hold", "--unlock"}, "--export --for"),
    ({"--list"}, "--json --watch --names --held"),
    ({"--revoke", "--break"}, "--yes"),
) for name in names.split()}

# Features that do not go together.  An option is a feature by its name, without the dashes.
APART = [frozenset(row.split()) for row in (
    "shared plain", "shared permits", "exclusive permits", "unfair permits", "style permits",
    "once permits", "once shared", "shared unfair", "exclusive unfair", "style unfair",
    "hold conflict", "now every-time", "skip-exit-code every-time", "retry-delay no-retry",
    "no-fork once", "no-fork limit", "no-fork tree",
    "names json", "names watch", "held watch", "with own-acl", "with own-auth creator", "creator nobody", "tls-file no-tls", "key no-cert")]


def in_effect(items):
    """Drops the file's part of a choice that the command line makes, and once-per with --hold; of several
    options the last one counts, except for those that are refused together."""
    typed = {item.choice: item for item in items if item.words and item.choice}
    if any(item.name == "--hold" for item in items):
        typed.setdefault("once")
    return [item for item in items
            if item.choice not in typed or typed[item.choice] is item
            or item.words and item.choice in ("kind", "with")]


def meaning(items):
    means = {"action": "run", "kind": "exclusive", "conflict": 1, "skip": 0}
    for item in in_effect(sorted(items, key=lambda item: bool(item.words))):
        means.update(item.means)
    return means


def features_of(items, means):
    """What is in effect: by feature, the statuses of a mistake in it: 64 if it stands on the command line,
    78 in a file."""
    features = {}
    for item in in_effect(items):
        for feature in item.features | {word.lstrip("-") for word in item.words[:1]}:
            features.setdefault(feature, set()).add(64 if item.words else 78)
        if "exclusive" in item.features:
            features.pop("shared", None)  # as with flock(1), the last one counts
        elif "shared" in item.features:
            features.pop("exclusive", None)
    if "no-fork" in features:
        features["no-fork"] = {78}  # no setting: the file's is to blame that does not go with it
    if "once" not in features:
        features["every-time"] = {78}
    if "retry" not in features:
        features["no-retry"] = {78}
    for absent, present in (("nobody", {"auth-file", "cert"}), ("no-tls", {"tls"}), ("no-cert", {"cert"})):
        if not present & features.keys():
            features[absent] = {78}
    if means["action"] not in TAKES:
        for made in ("creator", "own-acl", "own-auth"):
            features.pop(made, None)  # it makes no znode
    if means["action"] == "--show-config":
        for shown in ("retry-delay", "skip-exit-code"):
            features.pop(shown, None)
    return features


def refusal(items, means):
    """Returns the statuses with which zkflock may refuse: that of the mistake that it finds first; of several
    found together, any.  64: a mistake on the command line, 78: in a file."""
    action = means["action"]
    names = {item.name for item in items if item.words}
    if len(names & {f"--{action}" for action in ACTIONS}) > 1:
        return {64}
    if any(action not in EFFECTS[name] for name in names & EFFECTS.keys()):
        return {64}
    if "--export" in names and action == "--hold" and "--for" not in names:
        return {64}
    keys = [item.line.split()[0] for item in items if item.line]
    if len(keys) > len(set(keys)):
        return {78}  # a section has each key once
    # A value in a file must be right even if the command line replaces it.
    written = {feature for item in items if item.line for feature in item.features}
    if action == "--hold":
        written.discard("once")
    if action not in TAKES or any(item.words and item.choice == "acl" for item in items):
        written.discard("own-acl")
    if action not in TAKES or any(item.words and item.choice == "auth" for item in items):
        written.discard("own-auth")
    if any(row <= written for row in APART):
        return {78}
    features = features_of(items, means)
    # What the command line and a file say together is a mistake on the command line.
    broken = [row for row in APART if row <= features.keys()]
    if broken:
        return {min(statuses) for row in broken
                for statuses in itertools.product(*(features[feature] for feature in row))}
    if action in ("--revoke", "--break") and "--yes" not in names:
        return {64}  # nobody can be asked
    if action == "--list" and means.get("quiet") and "--names" not in names \
            and names & {"--json", "--held", "--watch"}:
        return {64}
    return set()


def taken(place, means):
    """The state of the lock: "free", "busy", "refused"."""
    permits = means.get("permits")
    if place in (Place.POOL, Place.FULL):
        if permits != 2:
            return "refused"
        return "busy" if place is Place.FULL else "free"
    if permits:
        return "free" if place is Place.FREE else "refused"
    if place is Place.HELD or (place is Place.READ and means["kind"] != "shared"):
        return "busy"
    return "free"


def conflict(means):
    """Returns the status for a busy lock, that of -E; but a --hold without the lock never ends with 0."""
    return means["conflict"] or (1 if means["action"] == "--hold" else 0)


def of_taking(place, means):
    own = taken(place, means)
    possible = set()
    if own == "refused":
        possible.add(78)
    if own == "busy" or means.get("busy"):
        possible.add(conflict(means))
    if means.get("once") and not means.get("now") and place is Place.DONE:
        possible.add(means["skip"])
    if possible:
        return Expected(frozenset(possible))
    return status(0, holds=True) if means["action"] == "--hold" else status(7, ran=True)


def expected(items, place):
    means = meaning(items)
    action = means["action"]
    refused = refusal(items, means)
    if refused:
        return status(*refused)
    if action in STARTS | {"--hold"}:
        return of_taking(place, means)
    if action == "--remove":
        return status(1) if place.is_used or place is Place.FREE else status(0, removed=True)
    if action == "--list" and means.get("quiet") and "--names" not in {item.name for item in items}:
        return status(0 if place.is_used else 1)
    if action in ("--list", "--show-config"):
        return status(0)
    return status(1)  # --unlock, --revoke, --break: there is none to end
