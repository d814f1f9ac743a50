# SPDX-License-Identifier: BSD-3-Clause
"""Measures the time that libtutti_mpi.so adds to a call of an MPI program, over Open MPI and MPICH:
passing.c with the library and without, in turn. The target is 15 ns for a call that is passed through.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from harness import peers, results

TARGET_NS = 15
MODES = ("without", "passed", "counted")


def environment(mode, library):
    added = {"without": {}, "passed": {"LD_PRELOAD": library},
             "counted": {"LD_PRELOAD": library, "TUTTI_MPI": "count", "TUTTI_MPI_REPORT": os.devnull}}[mode]
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **added}


def nanoseconds(peer, mode, library):
    command = peer.command("passing", 1, ("", [], {}), [])
    done = subprocess.run(command, env=environment(mode, library), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise peers.Stop(f"{' '.join(command)}: {done.stderr}")
    return float(done.stdout)


def measure(peer, library, rounds):
    """The least time of a call in each mode."""
    times = {mode: [] for mode in MODES}
    for _ in range(rounds):
        for mode in MODES:
            times[mode].append(nanoseconds(peer, mode, library))
    return {mode: min(values) for mode, values in times.items()}


def passing(options):
    library = os.path.abspath(os.path.join(options.build, "lib", "libtutti_mpi.so"))
    results.check(options.results)
    lines = ["| over | a barrier of one rank, ns | passed through, more ns | counted, more ns | target for passing |",
             "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for peer in (peers.OpenMpi(), peers.Mpich()):
            if peer.missing() or not os.path.exists(library):
                print(f"passing: {peer.title} is left out: its headers, its launcher or {library} are missing")
                continue
            peer.build(folder, ["passing"])
            least = measure(peer, library, options.rounds)
            more = {mode: least[mode] - least["without"] for mode in MODES}
            verdict = "met" if more["passed"] < TARGET_NS else "missed"
            lines.append(f"| {peer.title} | {least['without']:.2f} | {more['passed']:.2f} | {more['counted']:.2f} "
                         f"| {TARGET_NS} ns: {verdict} |")
    print("\n".join(lines))
    results.append(options.results, options.build, lines)


def main():
    parser = argparse.ArgumentParser(description="what libtutti_mpi.so adds to a call of an MPI program")
    parser.add_argument("--build", default="build/release", metavar="FOLDER", help="where Tutti is built (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each is run (%(default)s)")
    results.option(parser)
    try:
        passing(parser.parse_args())
    except peers.Stop as why:
        sys.exit(f"passing: {why}")
    return 0
