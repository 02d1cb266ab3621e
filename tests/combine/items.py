"""The options and the keys of config files, each with what it does to the outcome."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Item:
    name: str                  # as the program calls it, or "key = value"
    words: tuple = ()          # of the command line
    line: str = ""             # of the lock's section in a config file
    features: frozenset = frozenset()  # in the words of outcome.py, APART
    choice: str = ""           # one of several that replace each other: kind, wait, ...
    means: tuple = ()          # (what, value) to the outcome; see outcome.py


def option(text, *features, choice="", means=()):
    words = tuple(text.split())
    return Item(words[0], words, "", frozenset(features), choice, means)


def key(text, *features, choice="", means=()):
    return Item(text, (), text, frozenset(features), choice, means)


ACTIONS = [option(f"--{action}", means=(("action", f"--{action}"),))
           for action in ("hold", "no-fork", "unlock", "list", "revoke", "break", "remove", "show-config")]

OPTIONS = ACTIONS + [
    option("-e", "exclusive", choice="kind", means=(("kind", "exclusive"),)),
    option("--exclusive", "exclusive", choice="kind", means=(("kind", "exclusive"),)),
    option("--shared", "shared", choice="kind", means=(("kind", "shared"),)),
    option("--permits 2", "permits", choice="kind", means=(("permits", 2),)),
    option("--permits 3", "permits", choice="kind", means=(("permits", 3),)),
    option("--unfair", "unfair", choice="kind", means=(("kind", "unfair"),)),
    option("--with FREE", choice="with"),
    option("--with HELD", choice="with", means=(("busy", True),)),
    option("--no-reentry"),
    option("--export"),
    option("--for PID"),
    option("--json"),
    option("--watch"),
    option("--held"),
    option("--names"),
    option("--yes"),
    option("-n", choice="wait", means=(("bounded", True),)),
    option("-w 0.2", choice="wait", means=(("bounded", True),)),
    option("-E 0", "conflict", choice="-E", means=(("conflict", 0),)),
    option("-E 5", choice="-E", means=(("conflict", 5),)),
    option("--once-per 1h", "once", choice="once", means=(("once", True),)),
    option("--now", means=(("now", True),)),
    option("--skip-exit-code 9", choice="skip", means=(("skip", 9),)),
    option("--tree", choice="tree"),
    option("--max-runtime 1h", choice="runtime"),
    option("--deadline 1h", choice="deadline"),
    option("--close", choice="tree"),
    option("--hook true"),
    option("--connect-timeout 9"),
    option("--session-timeout 9"),
    option("--retry 1", choice="retry"),
    option("--retry-delay 1"),
    option("--node-style kazoo", "style", choice="style"),
    option("--node-style plain:x-", "style", "plain", choice="style"),
    option("--lease 20"),
    option("--signal INT"),
    option("--kill-after 1"),
    option("--on-lost warn"),
    option("--lock-delay 0"),
    option("--verbose", choice="log", means=(("quiet", False),)),
    option("--quiet", choice="log", means=(("quiet", True),)),
    option("--log-format json"),
    option("--log-syslog"),
    option("--auth-file AUTH", choice="auth"),
    option("--acl creator", "creator", choice="acl"),
    option("--acl open", choice="acl"),
    option("--show-command none"),
    option("--tls -z SECURE --cacert CA", choice="tls"),
    option("--cacert CA", "tls-file"),
    option("--cert PAIR", "tls-file"),
    option("--key PAIR", "tls-file"),
]

KEYS = [
    key("kind = shared", "shared", choice="kind", means=(("kind", "shared"),)),
    key("kind = unfair", "unfair", choice="kind", means=(("kind", "unfair"),)),
    key("kind = exclusive", "exclusive", choice="kind", means=(("kind", "exclusive"),)),
    key("permits = 2", "permits", choice="kind", means=(("permits", 2),)),
    key("with = FREE", "with", choice="with"),
    key("with = HELD", "with", choice="with", means=(("busy", True),)),
    key("timeout = 0", choice="wait", means=(("bounded", True),)),
    key("once-per = 1h", "once", choice="once", means=(("once", True),)),
    key("skip-exit-code = 9", choice="skip", means=(("skip", 9),)),
    key("conflict-exit-code = 0", choice="-E", means=(("conflict", 0),)),
    key("node-style = kazoo", choice="style"),
    key("reentry = no"),
    key("tree = yes", "tree", choice="tree"),
    key("max-runtime = 1h", "limit", choice="runtime"),
    key("deadline = 1h", "limit", choice="deadline"),
    key("hook = true"),
    key("lease = 20s"),
    key("on-lost = term"),
    key("retry = 1", "retry", choice="retry"),
    key("log-level = error", choice="log"),
    key("log-format = json"),
    key("auth-file = AUTH", "auth-file", "own-auth", choice="auth"),
    key("acl = creator-read", "creator", "own-acl", choice="acl"),
    key("show-command = name"),
    key("tls = no", choice="tls"),
    key("cacert = CA", "tls-file"),
]
