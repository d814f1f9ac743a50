# SPDX-License-Identifier: BSD-3-Clause
"""The tests of ScaLAPACK, PBLAS and BLACS, from the package scalapack-mpi-test."""
import glob
import os
import re
import shutil

from harness import trial

LIBRARIES = "/usr/lib/x86_64-linux-gnu/scalapack"
RANKS = 4
# FAILED matches a line about something that failed (in the tables of the PBLAS, the third number
# counts failures). NOTHING matches lines that FAILED matches although nothing failed: they count 0
# failures, or explain the word.
FAILED = re.compile(r"FAILED|\bfailed\b|\*\*\* |\|  P\w+ +\d+ +\d+ +[1-9]")
NOTHING = re.compile(r"\b0 (FAILED|tests? .*failed)|flagged|which .* failed|PASSED")
PASSED = re.compile(r"PASSED|passed")
# Matches the times and residuals in a line.
REAL = re.compile(r"[-+]?\d*\.\d+([eEdD][-+]?\d+)?")
# The tests of the BLACS end with a call of BLACS_ABORT, which has to end all ranks.
ABORTS = "The final auxiliary test is for BLACS_ABORT"


def packages_of(_):
    return ["scalapack-mpi-test"]


def judge(result):
    failed = {}
    if not any(ABORTS in line for line in result.lines):
        failed = trial.status(result)
    elif not result.failure or "exit code" not in result.failure:
        failed = {trial.WHOLE: result.failure or "BLACS_ABORT did not end the ranks"}
    if not failed and not any(PASSED.search(line) for line in result.lines):
        failed = {trial.WHOLE: "no check passed"}
    for line in result.lines:
        if FAILED.search(line) and not NOTHING.search(line):
            failed[" ".join(REAL.sub("", line).split())] = line.strip()
    return failed


def tests(suite, host, chosen):
    """Programs read their input from the folder in which they run, so that it is copied."""
    source, found = os.path.join(LIBRARIES, f"{host}-tests"), []
    for inner in ("", "BLACS", "PBLAS"):
        folder = os.path.join(chosen.folder, suite, host, inner)
        os.makedirs(folder, exist_ok=True)
        for path in glob.glob(os.path.join(source, inner, "*.dat")):
            shutil.copy(path, folder)
        programs = glob.glob(os.path.join(source, inner, "x*")) + glob.glob(os.path.join(source, inner, "*tst"))
        for program in sorted(programs):
            name = os.path.join(inner, os.path.basename(program))
            if not (inner == "" and name.endswith("btest")):
                found.append(trial.Test(suite, name, host, RANKS, [program], folder, trial.limit(chosen, 120.0), judge))
    return found
