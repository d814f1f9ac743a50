# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs over their MPI, the host, alone and under `tutti mpi`."""
import json
import os
import shutil

from harness import process
from harness.peers import Stop

# Where ranks share processors, a rank that waits and spins keeps other ranks from running. Open MPI
# has an option by which such a rank yields, and MPICH has none.
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
             "mpich": ["mpiexec.mpich"]}
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
# The ways to start a program: with the host alone, with Tutti, and with Tutti only counting calls.
MODES = ("without", "on", "count")


class Under:
    """How programs are started with the Tutti of a build folder."""

    def __init__(self, build):
        self.tutti = os.path.abspath(os.path.join(build, "bin", "tutti"))
        library = os.path.join(os.path.dirname(self.tutti), "..", "lib", "libtutti_mpi.so")
        for path in (self.tutti, library):
            if not os.path.exists(path):
                raise Stop(f"{os.path.normpath(path)} is missing: build Tutti first, with the headers of an MPI, or name its build "
                           "folder with --build")

    def command(self, mode, host, ranks, words):
        before = {"without": [], "on": [self.tutti, "mpi"], "count": [self.tutti, "mpi", "--count"]}[mode]
        return [*before, *LAUNCHERS[host], "-n", str(ranks), *words]

    def run(self, mode, command, limit, folder, stdin=os.devnull, environment=None):
        """Runs a command of command() in the folder. Returns the result, and the report of Tutti,
        if there is one.
        """
        report = os.path.join(folder, "tutti-report.json")
        added = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.getuid() == 0 else {}
        if mode != "without":
            added["TUTTI_MPI_REPORT"] = report
        result = process.run(command, limit, {**added, **(environment or {})}, folder, stdin)
        return result, read(report)


def read(path):
    """Returns the report, whose file it removes; None: there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None
    finally:
        if os.path.exists(path):
            os.unlink(path)


def has(host):
    return shutil.which(LAUNCHERS[host][0]) is not None
