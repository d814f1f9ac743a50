# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test of a suite that others wrote, without Tutti and with it, and compares.

A test consists of parts, such as the cases of a file of unit tests. What a run failed is
{part: reason}; the part WHOLE stands for the test itself. A part counts against Tutti if it failed
in a run with Tutti and in no run without. To find the parts that also fail without Tutti now and
then, such a test is run again, in turn without and with.
"""
import collections
import os
import re

WHOLE = ""

# A test of a suite. --suite and --only choose tests by `suite` and `name`. `words` are the program
# and its arguments, `folder` is where the program runs, and `limit` the seconds that it may take.
# judge(result) returns which parts of the test failed.
Test = collections.namedtuple("Test", "suite name host ranks words folder limit judge stdin environment",
                              defaults=(os.devnull, {}))
Run = collections.namedtuple("Run", "failed seconds report")

USUAL_LIMIT_S = 60.0


def limit(chosen, own=0.0):
    """The seconds that a test may take: those that --limit allows, or else its suite."""
    return chosen.limit or max(USUAL_LIMIT_S, own)


def taken(report):
    """The calls that Tutti took, according to its report; None: it does not say."""
    rows = [row["taken"] for row in (report or {}).get("calls", []) if "taken" in row]
    return sum(rows) if rows else None


class Trial:
    """The runs of a test."""

    def __init__(self, test, mode):
        self.test, self.mode = test, mode
        self.without, self.with_tutti = [], []

    def run(self, under, repeats):
        """Runs the test once without Tutti and once with it. Repeats this while the test counts
        against Tutti, but makes at most `repeats` runs each way.
        """
        for _ in range(repeats):
            self.without.append(self.once(under, "without"))
            self.with_tutti.append(self.once(under, self.mode))
            if not self.broken():
                return

    def once(self, under, mode):
        test = self.test
        command = under.command(mode, test.host, test.ranks, test.words)
        result, report = under.run(mode, command, test.limit, test.folder, test.stdin, test.environment)
        return Run(test.judge(result), result.seconds, report)

    def broken(self):
        """Returns the parts that failed only with Tutti: {part: reason}."""
        before = set().union(*(run.failed for run in self.without))
        if WHOLE in before:
            return {}
        return {part: why for run in self.with_tutti for part, why in run.failed.items() if part not in before}

    def taken(self):
        return taken(self.with_tutti[-1].report)

    def document(self):
        test = self.test
        return {"suite": test.suite, "test": test.name, "host": test.host, "ranks": test.ranks,
                "without": [{"failed": run.failed, "seconds": round(run.seconds, 3)} for run in self.without],
                "with": [{"failed": run.failed, "seconds": round(run.seconds, 3), "taken": taken(run.report)}
                         for run in self.with_tutti],
                "broken": self.broken()}


def status(result):
    """Returns {WHOLE: the failure and the first lines of output} if the program of a test did not end well, else {}."""
    if not result.failure:
        return {}
    said = [line.strip() for line in result.lines + result.errors if re.search(r"\w", line)]
    return {WHOLE: "; ".join([result.failure, *said[:2]])}
