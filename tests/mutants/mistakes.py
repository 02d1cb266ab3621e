"""The list of mistakes.

A mistake is a function, the lines as they are, the lines as they would be, and what was found:

    queue_watching in queue.c
    - if (rc == ZNONODE)
    + if (rc != ZNONODE)
    = lock: 50 waiters are served in the order of their arrival

It is found by its words, however they are laid out; in another file, if that one has them no more.
"function #2" is the second place in the function where these lines stand, and "-" is outside of all
functions.  The verdict behind "=" is "unit", or the suite and the test that notices, or

    ~ equivalent: why nothing can be noticed
    ~ why it is not
"""
import dataclasses
import pathlib
import re

import source


@dataclasses.dataclass
class Mistake:
    function: str
    nth: int
    file: str
    before: str
    after: str
    killer: str = ""
    excuse: str = ""

    @property
    def is_equivalent(self):
        return self.excuse.startswith("equivalent")

    @property
    def key(self):
        return (self.function, self.nth, self.file, words(self.before), words(self.after))

    def __str__(self):
        head = self.function + (f" #{self.nth}" if self.nth else "") + " in " + self.file
        lines = [head]
        lines += ["- " + line for line in stripped(self.before)]
        lines += ["+ " + line for line in stripped(self.after)]
        if self.killer:
            lines.append("= " + self.killer)
        if self.excuse:
            lines.append("~ " + self.excuse)
        return "\n".join(lines) + "\n"


def words(text):
    return " ".join(token.text for token in source.tokens(text))


def stripped(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def parse(text):
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        head, *rest = lines
        function, nth, file = re.fullmatch(r"(\S+)(?: #(\d+))? in (\S+)", head).groups()

        def those(mark):
            return "\n".join(line[2:] for line in rest if line[0] == mark)

        yield Mistake(function, int(nth or 0), file, those("-"), those("+"), those("="), those("~"))


class Lost(Exception):
    """The words of a mistake are not in the source, or more than once."""


def place(mistake, root):
    """(file, start, end) below root/src."""
    found = {}
    for file in sorted(pathlib.Path(root, "src").rglob("*.[ch]")):
        spans = source.find(file.read_text(), mistake.function, mistake.before)
        if len(spans) == 1 and mistake.nth <= 1 or len(spans) >= mistake.nth > 0:
            found[file] = spans[max(mistake.nth - 1, 0)]
    files = [file for file in found if file.name == mistake.file] or list(found)
    if len(files) != 1:
        raise Lost(f"{len(files)} places for:\n{mistake}")
    return files[0], *found[files[0]]


def make(mistake, root):
    """Makes it below root; returns the file, and its text as it was."""
    file, start, end = place(mistake, root)
    text = file.read_text()
    file.write_text(text[:start] + mistake.after.strip() + text[end:])
    return file, text
