# SPDX-License-Identifier: BSD-3-Clause
"""The tests of MUMPS, from the package mumps-test, which is built over Open MPI.

Each program solves a system of equations whose solution is 1, 2, 3, 4, 5, and prints the solution.
"""
import re

from harness import trial
from harness.peers import Stop

FOLDER = "/usr/lib/mumps"
RANKS = (1, 2, 3, 4)
INPUT = {"s": "real", "d": "real", "c": "cmplx", "z": "cmplx"}
REAL = re.compile(r"[-+]?\d+\.\d*(?:[eEdD][-+]?\d+)?")


def packages_of(_):
    return ["mumps-test"]


def judge(result):
    failed = trial.status(result)
    if failed:
        return failed
    line = next((line for line in result.lines if "Solution is" in line), "")
    numbers = [float(word.replace("D", "E")) for word in REAL.findall(line)]
    # A complex number is printed as (real,imaginary).
    wanted = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0] if "(" in line else [1, 2, 3, 4, 5]
    if len(numbers) != len(wanted) or any(abs(a - b) > 1e-4 for a, b in zip(numbers, wanted)):
        return {trial.WHOLE: f"the solution is wrong: {line.strip() or 'none'}"}
    return {}


def tests(suite, host, chosen):
    if host != "openmpi":
        raise Stop("Debian has no MUMPS over it")
    return [trial.Test(suite, f"{kind}simpletest {ranks}", host, ranks, [f"{FOLDER}/{kind}simpletest"], chosen.folder,
                       trial.limit(chosen), judge, f"{FOLDER}/input_simpletest_{INPUT[kind]}")
            for kind in INPUT for ranks in RANKS]
