# SPDX-License-Identifier: BSD-3-Clause
"""Runs suites of tests that others wrote for MPI, without Tutti and with it, over Open MPI and MPICH.

Sources are fetched by `apt-get source` and built in a folder, programs are installed by apt. A test
counts against Tutti if it fails in a run with Tutti and passes in all runs without. --repeats says
how often such a test runs each way. The exit status is 1 if there is such a test that EXCEPTIONS
does not list.
"""
import argparse
import os
import re
import sys
import time

from commands.mpi import name_in
from harness import command, packages, trial, under
from harness.campaign import say
from harness.peers import Stop
from suites import mpi4py, mpich, mumps, scalapack

SUITES = {**{name: mpich for name in mpich.NAMES}, "scalapack": scalapack, "mumps": mumps, "mpi4py": mpi4py}
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "tutti-mpi-suites")

# At most MOST_PARTS parts of a test are printed.
MOST_PARTS = 5

# Tests that may fail with Tutti although they pass without it: (suite, host, regular expression for
# the test and the part of it, reason).
EXCEPTIONS = [
    ("scalapack", "", r"xzheevr.*", "it compares VL and VU, which it never sets, with copies of themselves, and what happens to lie on "
     "the stack there may be a NaN, which differs from itself (valgrind shows this without Tutti)"),
]


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", type=name_in(SUITES), default=list(SUITES), metavar="NAME,...", help=",".join(SUITES))
    parser.add_argument("--host", type=name_in(under.LAUNCHERS), default=list(under.LAUNCHERS), metavar="NAME,...",
                        help=",".join(under.LAUNCHERS))
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX", help="only tests whose names match")
    parser.add_argument("--mode", choices=["on", "count"], default="on",
                        help="on: Tutti takes collectives (the default); count: it only counts calls")
    parser.add_argument("--repeats", type=command.positive, default=3, metavar="N",
                        help="runs of a test that fails with Tutti only, each way (3)")
    parser.add_argument("--limit", type=float, metavar="S",
                        help="seconds that a test may take (60, or more where its suite allows more)")
    parser.add_argument("--cache", default=CACHE, metavar="FOLDER", help=f"where sources are kept and built ({CACHE})")
    parser.add_argument("--no-fetch", dest="fetch", action="store_false",
                        help="leave out suites of which a package is missing or that were not built before")
    parser.add_argument("--list", action="store_true", help="print the names of the tests only")
    parser.add_argument("-v", "--verbose", action="store_true", help="print why a test fails without Tutti too")
    command.add_options(parser)
    parser.set_defaults(results="-")
    chosen = parser.parse_args()
    chosen.cache = os.path.abspath(chosen.cache)
    return chosen


# ---- The run ----


def tests_of(suite, host, chosen):
    """Returns the tests of a suite that were chosen. Raises Stop with the reason if the suite cannot
    be had.
    """
    if not under.has(host):
        raise Stop(f"{under.LAUNCHERS[host][0]} is not installed")
    lacking = packages.missing(SUITES[suite].packages_of(host))
    if lacking and not chosen.fetch:
        raise Stop(f"not installed: {' '.join(lacking)}")
    packages.install(lacking)
    return SUITES[suite].tests(suite, host, chosen)


def collect(chosen):
    """Returns the tests, and the suites that are left out: [(suite, host, reason)]."""
    tests, left = [], []
    for host in chosen.host:
        for suite in chosen.suite:
            try:
                tests += tests_of(suite, host, chosen)
            except Stop as why:
                left.append((suite, host, str(why)))
                say(f"mpi-suites: {suite} over {host} is left out: {why}")
    return tests, left


def words_of(runs):
    failed = sum(bool(run.failed) for run in runs)
    if not failed:
        return "passed"
    return "failed" if failed == len(runs) else f"failed {failed} of {len(runs)} times"


def first(broken):
    """The first parts of a test that count against Tutti, and how many more there are."""
    shown = list(broken.items())[:MOST_PARTS]
    return shown + ([("...", f"and {len(broken) - MOST_PARTS} more")] if len(broken) > MOST_PARTS else [])


def show(one, at, of, verbose):
    """Prints a line about a test that was run."""
    took = one.taken()
    print(f"{one.test.suite} {one.test.name} over {one.test.host}: without {words_of(one.without)}, with {words_of(one.with_tutti)}"
          f" ({one.without[-1].seconds:.1f} s, {one.with_tutti[-1].seconds:.1f} s"
          + (f", {took:g} calls taken)" if took is not None else ")"), flush=True)
    for part, why in first(one.broken()):
        print(f"    FAILS WITH TUTTI: {part} {why}".rstrip(), flush=True)
    if verbose:
        for part, why in one.without[0].failed.items():
            print(f"    fails without: {part} {why}".rstrip(), flush=True)
    if sys.stderr.isatty():
        sys.stderr.write(f"\r[{at} of {of}] \r")


def run_all(tests, started, chosen):
    trials = []
    for number, test in enumerate(tests, 1):
        one = trial.Trial(test, chosen.mode)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r[{number} of {len(tests)}] {test.suite} {test.name} ...\033[K\r")
        one.run(started, chosen.repeats)
        show(one, number, len(tests), chosen.verbose)
        trials.append(one)
    return trials


# ---- The report ----


def reason_of(test, part):
    """Returns why a part of a test may fail only with Tutti; None if it may not."""
    return next((reason for suite, host, pattern, reason in EXCEPTIONS
                 if suite == test.suite and host in (test.host, "") and re.fullmatch(pattern, f"{test.name} {part}".strip())), None)


def summary(trials, left):
    """The lines of the report, and the number of faults."""
    lines, faults, groups = [], [], {}
    for one in trials:
        groups.setdefault((one.test.suite, one.test.host), []).append(one)
    lines += ["| suite | over | tests | pass without | pass with | fail with only | calls taken |", "|---|---|--:|--:|--:|--:|--:|"]
    for (suite, host), members in groups.items():
        took = [one.taken() for one in members if one.taken() is not None]
        lines.append(f"| {suite} | {host} | {len(members)} | {sum(not one.without[0].failed for one in members)} "
                     f"| {sum(not one.with_tutti[0].failed for one in members)} | {sum(bool(one.broken()) for one in members)} "
                     f"| {f'{sum(took):g}' if took else 'not reported'} |")
    for one in trials:
        for part, why in one.broken().items():
            reason = reason_of(one.test, part)
            words = f"{one.test.suite} {one.test.name} {part}".strip() + f" over {one.test.host}"
            faults += [] if reason else [words]
            lines.append(f"- {words} fails with Tutti only: {why}" + (f" (an exception: {reason})" if reason else ""))
    lines += [f"- {suite} over {host} is left out: {why}" for suite, host, why in left]
    if trials and not faults:
        lines.append("- No test passes without Tutti and fails with it.")
    return lines, faults


def suites(chosen, folder):
    command.check(chosen)
    started, begin = under.Under(chosen.build), time.monotonic()
    os.makedirs(chosen.cache, exist_ok=True)
    chosen.folder = folder
    tests, left = collect(chosen)
    tests = [test for test in tests if chosen.only.search(test.name)]
    if chosen.list:
        print("\n".join(f"{test.suite} {test.name} over {test.host}, {test.ranks} ranks" for test in tests))
        return 0
    if not tests:
        raise Stop("there is nothing to run")
    trials = run_all(tests, started, chosen)
    lines, faults = summary(trials, left)
    lines.append(f"- {len(tests)} tests took {time.monotonic() - begin:.0f} s; TUTTI_MPI={chosen.mode}.")
    command.give(chosen, {"mode": chosen.mode, "tests": [one.document() for one in trials],
                          "left_out": [{"suite": suite, "host": host, "why": why} for suite, host, why in left],
                          "faults": faults}, lines)
    return 1 if faults else 0


def main():
    return command.run("mpi-suites", suites, options())
