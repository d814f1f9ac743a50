# SPDX-License-Identifier: BSD-3-Clause
"""The tests of mpi4py, from its source package, run with the package python3-mpi4py, which is built
over Open MPI. Each file of tests is a test here, and its cases are the parts.
"""
import glob
import os
import re

from harness import packages, trial
from harness.peers import Stop

RANKS = (1, 3)
CASE = re.compile(r"(?:ERROR|FAIL): (\w+ \([\w.]+\))")


def packages_of(_):
    return ["python3-mpi4py", "python3-numpy"]


def judge(result):
    """Ranks that fail print their cases to standard error; a run that ends without counting its
    cases failed as a whole.
    """
    failed = {match.group(1): "fails" for match in map(CASE.match, result.errors) if match}
    if not any(re.match(r"Ran \d+ tests?", line) for line in result.errors):
        return {trial.WHOLE: (result.failure or "ran no case") + ": " + " ".join(result.words[-2:])}
    return failed or trial.status(result)


def tests(suite, host, chosen):
    if host != "openmpi":
        raise Stop("Debian has no mpi4py over it")
    if not chosen.fetch and not os.path.isdir(os.path.join(chosen.cache, "sources", "mpi4py")):
        raise Stop(f"its source was not fetched into {chosen.cache} before")
    folder = os.path.join(packages.source("mpi4py", chosen.cache), "test")
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(folder, "test_*.py")))
    return [trial.Test(suite, f"{name} {ranks}", host, ranks, ["/usr/bin/python3", "-B", f"{name}.py", "-v"], folder,
                       trial.limit(chosen, 120.0), judge)
            for name in names for ranks in RANKS]
