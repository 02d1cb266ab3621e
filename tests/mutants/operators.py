"""Small mistakes that a person could make, wherever the text allows them."""
import re

from mistakes import Mistake
from source import OUTSIDE, extent, find, functions, tokens

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OTHERS = {
    "&&": "||", "||": "&&", "true": "false", "false": "true",
    "ZNONODE": "ZBADVERSION", "ZBADVERSION": "ZNONODE", "ZNOAUTH": "ZBADVERSION",
    "SESSION_SET_WATCH": "SESSION_NO_WATCH", "CLOCK_NEVER": "0",
}
# Without these calls, only a reader of the log or a leak checker would notice.
HARMLESS = re.compile(r"log_|free$|va_|snprintf$|close$")
KEYWORDS = {"return", "if", "for", "while", "do", "switch", "case", "break", "continue", "goto",
            "else", "default", "static", "const", "struct", "enum", "union", "sizeof"}


def lines_of(text, start, end):
    """The whole lines that contain this."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end - 1)
    return first, last


class Place:
    """One function of one file, and the changes to it."""

    def __init__(self, text, name, start, end):
        self.text = text
        self.name = name
        self.tokens = tokens(text, start, end)
        self.changes = []

    def change(self, start, end, replacement):
        first, last = lines_of(self.text, start, end)
        self.changes.append((self.text[first:last],
                             self.text[first:start] + replacement + self.text[end:last], first))

    def replace(self, i, replacement):
        self.change(self.tokens[i].start, self.tokens[i].end, replacement)

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def closing(self, i):
        """The index of what closes the bracket at i."""
        depth = 0
        for j in range(i, len(self.tokens)):
            depth += self.word(j) in ("(", "[", "{")
            depth -= self.word(j) in (")", "]", "}")
            if depth == 0:
                return j
        return len(self.tokens) - 1

    def in_loop_head(self, i):
        depth = 0
        for j in range(i, -1, -1):
            depth += self.word(j) == ")"
            depth -= self.word(j) == "("
            if depth < 0:
                return self.word(j - 1) == "for"
            if self.word(j) in "{}" and depth == 0:
                return False
        return False

    def in_brackets(self, i):
        """Returns true between brackets: the head of a loop has semicolons, too."""
        depth = 0
        for j in range(i - 1, -1, -1):
            depth += self.word(j) == ")"
            depth -= self.word(j) == "("
            if depth < 0 or self.word(j) in "{}":
                return depth < 0
        return False

    def begins_statement(self, i):
        if i == 0 or self.word(i - 1) in ("{", "}", ";", "else", ":"):
            return self.word(i - 1) != ":" or self.word(i - 2) != "?"
        if self.word(i - 1) != ")":
            return False
        depth = 0
        for j in range(i - 1, -1, -1):
            depth += self.word(j) == ")"
            depth -= self.word(j) == "("
            if depth == 0:
                return self.word(j - 1) in ("if", "while", "for")
        return False

    def end_of_statement(self, i):
        while self.word(i) != ";":
            i = self.closing(i) if self.word(i) in ("(", "[", "{") else i
            i += 1
            if i >= len(self.tokens):
                return None
        return i

    def is_expression(self, i):
        word, after = self.word(i), self.word(i + 1)
        if self.in_brackets(i) or word in KEYWORDS or not re.match(r"\w", word):
            return False
        return after in ("(", "->", ".", "=", "+=", "-=", "|=", "&=", "++", "--", "[")

    # ---- the operators ----

    def mutate_words(self):
        for i, token in enumerate(self.tokens):
            word = token.text
            loop = self.in_loop_head(i)
            if word in COMPARISONS and not (loop and word in "<>"):
                self.replace(i, COMPARISONS[word])
            elif word in OTHERS:
                self.replace(i, OTHERS[word])
            elif word == "!" and not loop:
                self.change(token.start, token.end, "")
            elif word in "+-" and not loop and re.match(r"[\w)\]]", self.word(i - 1)) \
                    and self.word(i - 1) != "return":
                self.replace(i, "-" if word == "+" else "+")
            elif re.fullmatch(r"\d+", word) and not loop and \
                    self.word(i - 1) in ("return", "=", "/", "+", "-", ">", "<", ">=", "<="):
                self.replace(i, str(int(word) + 1))
            elif word in ("version", ) and self.word(i - 1) in ("->", ".") \
                    and self.word(i + 1) in (",", ")", ";"):
                j = i
                while self.word(j - 1) in ("->", "."):
                    j -= 2
                self.change(self.tokens[j].start, token.end, "-1")

    def mutate_statements(self):
        for i in range(len(self.tokens)):
            if not self.begins_statement(i):
                continue
            if self.word(i) == "if":
                j = self.closing(i + 1)
                self.change(self.tokens[i + 1].start, self.tokens[j].end, "(false)")
            elif self.word(i) in ("return", "continue") and self.word(i + 1) == ";":
                self.change(self.tokens[i].start, self.tokens[i + 1].end, ";")
            elif self.is_expression(i) and not HARMLESS.match(self.word(i)):
                j = self.end_of_statement(i)
                if j is None:
                    continue
                self.change(self.tokens[i].start, self.tokens[j].end, ";")
                self.swap(i, j)

    def swap(self, i, j):
        """Two requests, one after the other."""
        if not self.word(i).startswith("session_") or not self.word(j + 1).startswith("session_"):
            return
        k = self.end_of_statement(j + 1)
        a = self.text[self.tokens[i].start:self.tokens[j].end]
        b = self.text[self.tokens[j + 1].start:self.tokens[k].end]
        between = self.text[self.tokens[j].end:self.tokens[j + 1].start]
        self.change(self.tokens[i].start, self.tokens[k].end, b + between + a)


SPAN = re.compile(r"^#define \w+ \(?(\d+)( \* CLOCK_M?S\)?)$|^enum \{ \w+ = (\d+) \};$", re.MULTILINE)


def constants(text):
    """Those of the preprocessor and of enums of one line: threefold."""
    for start, end in extent(text, OUTSIDE):
        for match in SPAN.finditer(text, start, end):
            group = 1 if match.group(1) else 3
            line = match.group()
            at = match.start(group) - match.start()
            number = match.group(group)
            yield line, line[:at] + str(3 * int(number)) + line[at + len(number):], match.start()


def mistakes_in(text, file):
    """All of them, in the order of the text."""
    found = [(OUTSIDE, *change) for change in constants(text)]
    for name, start, end in functions(text):
        place = Place(text, name, start, end)
        place.mutate_words()
        place.mutate_statements()
        found += [(name, *change) for change in place.changes]
    for name, before, after, position in sorted(found, key=lambda item: item[3]):
        places = [start for start, _ in find(text, name, before)]
        nth = sum(1 for start in places if start < position + len(before) - len(before.lstrip()))
        yield Mistake(function=name, nth=nth + 1 if len(places) > 1 else 0, file=file,
                      before=before, after=after)
