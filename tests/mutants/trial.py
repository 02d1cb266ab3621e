"""What notices a mistake."""
import collections
import dataclasses
import enum
import pathlib
import threading
import time

import mistakes

NEARBY = 8  # tests that noticed others nearby, to try one by one


class Verdict(enum.Enum):
    NOTICED = "noticed"
    SURVIVED = "SURVIVED"
    UNCOMPILED = "DOES NOT COMPILE"
    LOST = "NOT FOUND in the text"
    UNDECIDED = "not decided in time"


@dataclasses.dataclass
class Result:
    mistake: mistakes.Mistake
    verdict: Verdict
    killer: str = ""  # if it was noticed

    def __str__(self):
        verdict = self.verdict.value
        if self.verdict is Verdict.SURVIVED and self.mistake.excuse:
            verdict = "accounted for"
        return f"{verdict}\n{dataclasses.replace(self.mistake, killer=self.killer)}"


class Late(Exception):
    """The time is over."""


class Trial:
    """Tries mistakes, several at a time.

    known: mistakes with what noticed them; clean: a lane without a mistake; deadline: on
    time.monotonic(), or None; patience: seconds for each, or None; quick: only tests, no whole suites.
    """

    def __init__(self, known, clean, deadline, patience, quick):
        self.lock = threading.Lock()
        self.noticed = collections.defaultdict(collections.Counter)  # by function, and by file
        for mistake in known:
            self.note(mistake, mistake.killer)
        self.clean = clean
        self.clean_lock = threading.Lock()
        self.sound = {}  # by test: whether it passes without a mistake
        self.deadline = deadline
        self.patience = patience
        self.quick = quick

    def note(self, mistake, killer):
        if ":" in killer:
            with self.lock:
                self.noticed[mistake.file, mistake.function][killer] += 1
                self.noticed[mistake.file][killer] += 1

    def run(self, mistake, lane):
        try:
            self.look_at_clock()
            file, text = mistakes.make(mistake, lane.root)
        except mistakes.Lost:
            return Result(mistake, Verdict.LOST)
        except Late:
            return Result(mistake, Verdict.UNDECIDED)
        try:
            if not lane.make():
                return Result(mistake, Verdict.UNCOMPILED)
            killer = self.killer(mistake, lane)
        except Late:
            return Result(mistake, Verdict.UNDECIDED)
        finally:
            file.write_text(text)
        self.note(mistake, killer)
        return Result(mistake, Verdict.NOTICED if killer else Verdict.SURVIVED, killer)

    def look_at_clock(self):
        if self.deadline and time.monotonic() > self.deadline:
            raise Late

    def killer(self, mistake, lane):
        """Returns what notices the mistake: "unit", or a suite and a test; "" if nothing does."""
        if lane.unit_notices():
            return "unit"
        for test in self.tests(mistake):
            self.look_at_clock()
            if self.notices(test, lane, 1 if test == mistake.killer else 2):
                return test
        if self.quick:
            return ""
        began = time.monotonic()
        for suite in suites_of(mistake.file, lane.root):
            if self.patience and time.monotonic() > began + self.patience:
                break
            for _ in range(2):
                self.look_at_clock()
                failed = lane.suite_notices(suite)
                if not failed:
                    break
                if self.notices(f"{suite}: {failed}", lane):
                    return f"{suite}: {failed}"
        return ""

    def tests(self, mistake):
        """The tests to try first: the one that noticed it last time, and those that noticed others nearby."""
        with self.lock:
            here = self.noticed[mistake.file, mistake.function] + collections.Counter()
            around = self.noticed[mistake.file] + collections.Counter()
        nearby = [test for test, _ in here.most_common(NEARBY // 2)]
        nearby += [test for test, _ in around.most_common(NEARBY) if test not in nearby]
        # A test that depends on timing may miss it now and then.
        own = [mistake.killer] * 4 if ":" in mistake.killer else []
        return own + [test for test in nearby[:NEARBY] if test not in own]

    def notices(self, test, lane, times=2):
        """Whether the test fails so many times in a row, and passes where there is no mistake.

        On a busy machine a test may fail once for want of time; of one that is known to notice the
        mistake, that is less likely than that it has noticed it again.
        """
        suite, _, name = test.partition(": ")
        if not all(lane.suite_notices(suite, name) for _ in range(times)):
            return False
        with self.clean_lock:
            if test not in self.sound:
                self.sound[test] = not (self.clean.suite_notices(suite, name) and
                                        self.clean.suite_notices(suite, name))
                if not self.sound[test]:
                    print(f"fails without a mistake, too: {test}", flush=True)
            return self.sound[test]


def suites_of(file, root):
    """For a file that is not in the table: all."""
    for line in (pathlib.Path(__file__).with_name("suites")).read_text().splitlines():
        name, *suites = line.split() or [""]
        if name == file:
            return suites
    return sorted(path.stem for path in (root / "tests/suite").glob("*.bats"))
