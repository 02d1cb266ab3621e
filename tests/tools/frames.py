"""Parses the messages between a client and a ZooKeeper server, as far as tests need it."""
import struct

OPERATIONS = {1: "create", 2: "delete", 3: "exists", 4: "get", 5: "set", 6: "acl", 7: "set-acl",
              8: "children",
              9: "sync", 11: "ping", 12: "children", 13: "check", 14: "multi", 15: "create",
              19: "create", -11: "close", 100: "auth", 101: "watches", 105: "watches"}


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def number(self):
        self.at += 4
        return struct.unpack_from(">i", self.data, self.at - 4)[0]

    def flag(self):
        self.at += 1
        return self.data[self.at - 1] != 0

    def buffer(self):
        length = max(self.number(), 0)
        self.at += length
        return self.data[self.at - length:self.at].decode(errors="replace")

    def acl(self):
        for _ in range(max(self.number(), 0)):
            self.number(), self.buffer(), self.buffer()

    def version(self):
        """Reads a Stat and returns its version."""
        self.at += 68
        return struct.unpack_from(">i", self.data, self.at - 36)[0]


def operation(kind, reader):
    """One request, or one part of a multi, as words."""
    name = OPERATIONS.get(kind, str(kind))
    if name in ("ping", "close", "auth", "watches") or name == str(kind):
        return name
    words = [name, reader.buffer()]
    if name in ("create", "set"):
        words.append(repr(reader.buffer()).replace(" ", "_"))
    if name == "create":
        reader.acl()
        words.append(f"flags={reader.number()}")
    if name in ("set", "delete", "check"):
        version = reader.number()
        words.append("any" if version == -1 else f"version={version}")
    elif name in ("get", "children", "exists") and reader.flag():
        words.append("watch")
    return " ".join(words)


def request(body):
    """(number, operation) for each request that a client sends after the handshake."""
    reader = Reader(body)
    xid, kind = reader.number(), reader.number()
    if OPERATIONS.get(kind) != "multi":
        return xid, operation(kind, reader)
    parts = []
    while True:
        part, done, _ = reader.number(), reader.flag(), reader.number()
        if done:
            return xid, "multi " + "; ".join(parts)
        parts.append(operation(part, reader))


def error_of_multi(reader):
    """Returns the error of the part that failed; parts before it say 0, parts behind it -2."""
    failed = 0
    while True:
        kind, done, error = reader.number(), reader.flag(), reader.number()
        if done:
            return failed
        if kind == -1:
            error = reader.number()
            failed = failed if error in (0, -2) else error
        elif kind in (1, 15):
            reader.buffer()
        if kind in (5, 15):
            reader.version()


def reply(body, asked):
    """(number of the request, error, version) for each reply of a server.

    asked: the words of the request.  The version is " PATH VERSION" if the answer brings one, else "".
    """
    reader = Reader(body)
    xid = reader.number()
    reader.at += 8
    error = reader.number()
    name, *args = asked.split(" ")
    if error or xid < 0:
        return xid, error, ""
    if name == "multi":
        return xid, error_of_multi(reader), ""
    if name == "create":
        path = reader.buffer()
        return xid, 0, f" {path} {reader.version()}" if reader.at < len(body) else ""
    if name == "get":
        reader.buffer()
    return xid, 0, f" {args[0]} {reader.version()}" if name in ("get", "set", "exists") else ""
