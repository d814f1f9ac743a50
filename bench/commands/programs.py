# SPDX-License-Identifier: BSD-3-Clause
"""The wall time of MPI programs without Tutti and with it, and whether they print the same.

Each program runs without Tutti and with it in turn. A ratio is the time without Tutti divided by the
time with Tutti in the same repeat. The programs are those of `counts`; one that is not installed is
named.
"""
import argparse
import os
import statistics

from harness import command, peers, programs, table, trial, under
from harness.campaign import geometric_mean, say

# The goal of the project: no program may be more than 1 % slower.
SLOWEST = 0.99
MODES = {"without": "without", "with": "on"}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    programs.option(parser)
    parser.add_argument("--ranks", type=command.positive, default=4, metavar="P", help="ranks of each program (4)")
    parser.add_argument("--repeats", type=command.positive, default=7, help="runs of each program, each way (7)")
    parser.add_argument("--mode", choices=["on", "count"], default="on",
                        help="on: Tutti takes collectives (the default); count: it only counts calls")
    parser.add_argument("--list", action="store_true", help="print the names of the programs only")
    command.add_options(parser)
    return parser.parse_args()


class Timed:
    """The runs of a program: {"without": [Run], "with": [Run]}, in pairs, and what it printed in all
    runs without Tutti.
    """

    def __init__(self, entry):
        self.entry, self.runs, self.texts = entry, {way: [] for way in MODES}, []

    def run(self, started, chosen):
        modes = {**MODES, "with": chosen.mode}
        # A first run is not timed: it reads the program from disk.
        self.texts.append(self.once(started, chosen, "without", "without").text)
        for repeat in range(chosen.repeats):
            # The repeats begin in turn without Tutti and with it, so that neither way always runs
            # second.
            for way in sorted(modes, reverse=repeat % 2 == 0):
                self.runs[way].append(self.once(started, chosen, way, modes[way]))
        self.texts += [run.text for run in self.runs["without"]]

    def once(self, started, chosen, way, mode):
        try:
            return programs.run(self.entry, started, mode, chosen.ranks, chosen)
        except programs.Failed as why:
            raise programs.Failed(f"{way} Tutti: {why}") from why

    def seconds(self, way, part=None):
        return [run.parts[part] if part else run.seconds for run in self.runs[way]]

    def ratio(self, part=None):
        """The median of the ratios: the time without Tutti divided by the time with it, for each pair."""
        pairs = zip(self.seconds("without", part), self.seconds("with", part))
        ratios = [without / with_tutti for without, with_tutti in pairs if with_tutti > 0]
        return statistics.median(ratios) if ratios else None

    def parts(self):
        return sorted(set.intersection(*(set(run.parts) for runs in self.runs.values() for run in runs)))

    def difference(self):
        """Returns the first difference of a run with Tutti from the runs without Tutti; None: there is none."""
        found = (programs.difference(self.texts, run.text, self.entry.varies) for run in self.runs["with"])
        return next((words for words in found if words), None)

    def taken(self):
        return trial.taken(self.runs["with"][-1].report)


# ---- The report ----


def rows_of(one):
    for part in [None, *one.parts()]:
        middle = {way: statistics.median(one.seconds(way, part)) for way in MODES}
        yield part, middle["without"], middle["with"], one.ratio(part)


def table_of(timed):
    header = ["program", "over", "without, s", "with, s", "faster", "calls taken", "output"]
    body = []
    for one in timed:
        for part, without, with_tutti, ratio in rows_of(one):
            taken, steady = one.taken(), programs.compared(one.texts, one.entry.varies)
            output = "differs" if one.difference() else f"equal ({steady[0]} of {steady[1]} lines steady)"
            last = ["", ""] if part else ["-" if taken is None else f"{taken:g}", output]
            name = f"{one.entry.name}: {part}" if part else one.entry.name
            body.append([name, under.TITLES[one.entry.host], f"{without:.3f}", f"{with_tutti:.3f}",
                         "-" if ratio is None else f"{ratio:.3f}", *last])
    return table.aligned(header, body)


def page(timed, failed, chosen):
    lines = [*table_of(timed), ""] if timed else []
    for one in timed:
        words = one.difference()
        lines += [f"- {one.entry.name} over {one.entry.host} prints something else with Tutti: {words}"] if words else []
        if one.ratio() < SLOWEST:
            lines.append(f"- {one.entry.name} over {one.entry.host} is slower with Tutti: {one.ratio():.3f}")
    lines += [f"- {entry.name} over {entry.host}: {why}" for entry, why in failed]
    if timed:
        mean = geometric_mean(one.ratio() for one in timed)
        lines.append(f"- {len(timed)} programs, {chosen.repeats} pairs of runs each, {chosen.ranks} ranks (over MPICH at "
                     f"most as many as processors) on {peers.cores()} processors, TUTTI_MPI={chosen.mode}; load after: {os.getloadavg()[0]:.2f}; geometric mean: {mean:.3f}")
    return lines


def document_of(one):
    return {"program": one.entry.name, "host": one.entry.host, "ratio": one.ratio(), "difference": one.difference(),
            "taken": one.taken(), "seconds": {way: one.seconds(way) for way in MODES},
            "parts": {part: {way: one.seconds(way, part) for way in MODES} for part in one.parts()}}


def measure(chosen, _):
    entries = programs.matching(chosen.programs)
    if chosen.list:
        print("\n".join(f"{entry.name} over {entry.host} ({entry.package})" for entry in entries))
        return 0
    command.check(chosen)
    started, timed, failed = under.Under(chosen.build), [], []
    for entry in entries:
        one = Timed(entry)
        try:
            programs.check(entry)
            one.run(started, chosen)
            timed.append(one)
            say(f"programs: {entry.name} over {entry.host}: {one.ratio():.3f}" + (", the output differs" if one.difference() else ""))
        except programs.Failed as why:
            failed.append((entry, why))
            say(f"programs: {entry.name} over {entry.host}: {why}")
    if not timed and not failed:
        raise peers.Stop(f"no program matches {chosen.programs!r}")
    command.give(chosen, {"programs": [document_of(one) for one in timed],
                          "failed": [{"program": entry.name, "host": entry.host, "why": str(why)} for entry, why in failed]},
                 page(timed, failed, chosen))
    return 1 if any(one.difference() or one.ratio() < SLOWEST for one in timed) else 0


def main():
    return command.run("programs", measure, options())
