"""What a hostile server may send instead of a reply; for tests/tools/proxy.  The header of a reply is its
number, a zxid and an error, 16 bytes."""
import struct

HEADER_LEN = 16
MULTI_CHECK, EVENT, AUTH = 13, -1, -4
DELETED, SESSION_EVENT = 2, -1
EXPIRED, AUTH_FAILED, CONNECTED = -112, -113, 3


def frame(body):
    return struct.pack(">i", len(body)) + body


def with_length(length):
    """A frame that lies about its length."""
    return lambda body: struct.pack(">i", length) + body


def with_first(number):
    """A reply whose first number, a length or a count, is another one."""
    return lambda body: frame(body[:HEADER_LEN] + struct.pack(">i", number) + body[HEADER_LEN + 4:])


def event(kind, state, path):
    return frame(struct.pack(">iqiii", EVENT, 1, 0, kind, state) + path)


def text(value):
    return struct.pack(">i", len(value)) + value


def parts(count):
    """The results of a multi: so many, each of which says that it is of a check, behind which nothing follows."""
    results = struct.pack(">i?i", MULTI_CHECK, False, 0) * count + struct.pack(">i?i", -1, True, -1)
    return lambda body: frame(body[:HEADER_LEN] + results)


def times(body):
    """A reply that ends with a Stat, unless it is an error: ctime and mtime are such as no clock shows."""
    stat = len(body) - 68
    latest = struct.pack(">qq", 2**63 - 1, 2**63 - 1)
    return frame(body if stat < HEADER_LEN else body[:stat + 16] + latest + body[stat + 32:])


WAYS = {
    "cut": lambda body: frame(body[:-1]),
    "short": lambda body: frame(body[:8]),
    "bare": lambda body: frame(body[:HEADER_LEN]),
    "empty": with_length(0),
    "negative": with_length(-1),
    "huge": with_length(0x7FFFFFFF),
    "many": with_first(0x7FFFFFFF),
    "minus": with_first(-5),
    "null": with_first(-1),
    "stranger": lambda body: frame(struct.pack(">i", 0x7FFFFFFF) + body[4:]),
    "twice": lambda body: frame(body) * 2,
    "parts": parts(1000),
    "no-parts": parts(0),
    "lie": parts(1),
    "events": lambda body: event(DELETED, CONNECTED, text(b"/t")) * 20000 + frame(body),
    "no-path": lambda body: event(DELETED, CONNECTED, struct.pack(">i", -1)) + frame(body),
    "expired": lambda body: event(SESSION_EVENT, EXPIRED, text(b"")) + frame(body),
    "refused": lambda body: event(SESSION_EVENT, AUTH_FAILED, text(b"")) + frame(body),
    "connected": lambda body: event(SESSION_EVENT, CONNECTED, text(b"")) * 20000 + frame(body),
    "auth": lambda body: frame(struct.pack(">iqi", AUTH, 0, 0)) + frame(body),
    "times": times,
    "no-auth": lambda body: frame(struct.pack(">iqi", AUTH, 0, -115)) + frame(body),
}
