# SPDX-License-Identifier: BSD-3-Clause
"""Compares Tutti with its own targets: overheads, planning, rankings, start-up, memory, transfers.

Prints each target, the measured figure, and whether the target is met. Nothing else should run on
the machine meanwhile.
"""
import argparse
import json
import statistics
import subprocess

from harness import command, packages, peers, process, report, table
from harness.alternate import collect
from harness.campaign import Campaign, parse, say

RANKS = 16
SMALL, LARGE = 8, 4 << 20
PARTS = ["overhead", "planning", "ranking", "startup", "memory", "transfer"]


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    command.add_options(parser, PARTS)
    parser.add_argument("--repeats", type=command.positive, default=11, help="alternated starts (11)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds until a program is killed (60)")
    return parser.parse_args()


class Limits:
    def __init__(self, chosen, folder):
        self.chosen, self.folder = chosen, folder
        self.tutti = peers.Tutti(chosen.build)
        self.tutti.build(folder, ["loop", "startup", "memory", "overhead", "planning", "ranking", "empty", "machine"])

    def run(self, program, environment=None):
        """Returns the JSON lines of a program, and the seconds that it took."""
        result = process.run(program, self.chosen.timeout, {"TMPDIR": self.folder, **(environment or {})})
        if result.failure:
            raise peers.Stop("\n    ".join([f"{' '.join(program)} {result.failure}", *result.words]))
        return [line for line in map(parse, result.lines) if line], result.seconds

    def on_ranks(self, program, ranks):
        return self.run([self.tutti.launcher, "run", "-n", str(ranks), "--", self.tutti.programs[program]])[0]

    # ---- The parts: each returns a list of targets ----

    def overhead(self):
        ns = {line["target"]: line["ns"] for line in self.run([self.tutti.programs["overhead"]])[0]}
        return [report.target("one rank, allreduce of 8 bytes (ns)", ns["call"], 100),
                report.target("dispatch of a step (ns)", ns["dispatch"], 20),
                report.target("finding a cached plan (ns)", ns["cached"], 30)]

    def planning(self):
        targets = []
        for ranks in (2, 4, 8, RANKS):
            lines = self.on_ranks("planning", ranks)
            new = [line for line in lines if line["target"] == "new"]
            worst = max(new, key=lambda line: line["ns"])
            middle = statistics.median(line["ns"] for line in new)
            words = f"{worst['collective']} of {report.size_text(worst['bytes'])}"
            targets.append(report.target(f"planning a new shape, {ranks} ranks, in ns: the slowest, {words}; the "
                                         f"median is {middle:.0f}", worst["ns"], 3000))
        size = next(line["plan_bytes"] for line in lines if line["target"] == "bytes")
        targets.append(report.target(f"allreduce plan of a rank, {RANKS} ranks, 8 bytes to 1 GiB (bytes)", size, 4096))
        return targets

    def ranking(self):
        lines = self.run([self.tutti.programs["ranking"]])[0]
        worst = max((line for line in lines if line["target"] == "ranking"), key=lambda line: line["ns"])
        words = (f"{worst['collective']} of {report.size_text(worst['bytes'])} on {worst['ranks']} ranks with "
                 f"{worst['cores']} processors on {worst['nodes']} nodes")
        lookup = next(line["ns"] for line in lines if line["target"] == "lookup")
        return [report.target(f"ranking the algorithms by the model, the slowest, {words} (ns)", worst["ns"], 5e6),
                report.target("finding a ranking that is known (ns)", lookup, 100)]

    def start_of(self, peer):
        """A function that starts a job of the peer and returns the seconds that it took."""
        setting = peer.settings(RANKS)[0]
        return lambda: self.run(peer.command("startup", RANKS, setting, []), setting[2])[1]

    def startup(self):
        rival = peers.OpenMpi()
        packages.install_for([rival])
        rival.build(self.folder, ["startup"])
        took = collect(self.chosen.repeats, {"ours": self.start_of(self.tutti), "theirs": self.start_of(rival)})
        ours, theirs = (1000 * statistics.median(took[whose]) for whose in ("ours", "theirs"))
        return [report.target(f"start-up to finalise, {RANKS} ranks: {ours:.0f} ms, divided by mpirun's {theirs:.0f} ms",
                              statistics.median(a / b for a, b in zip(took["ours"], took["theirs"])), 0.2)]

    def memory(self):
        ranks = [line["pss_kib"] for line in self.on_ranks("memory", RANKS)]
        empty = [subprocess.Popen([self.tutti.programs["empty"]], stdout=subprocess.PIPE, text=True)
                 for _ in range(RANKS)]
        base = statistics.median(json.loads(one.communicate()[0])["pss_kib"] for one in empty)
        return [report.target(f"memory of a rank of {RANKS}, the largest, minus an empty program's {base:.0f} KiB "
                              "(MiB of Pss)", (max(ranks) - base) / 1024, 4)]

    def transfer(self):
        """Two ranks against Open MPI, with the same loop as `compare`."""
        members = [self.tutti, peers.TuttiShared(self.chosen.build), peers.OpenMpi()]
        packages.install_for(members)
        for peer in members:
            peer.build(self.folder, ["loop"])
        chosen = argparse.Namespace(
            collectives=["allreduce"], ranks=[2], sizes=[SMALL, LARGE], repeats=self.chosen.repeats, batch=0.02,
            batches=3, limit=30.0, timeout=self.chosen.timeout, budget=None, tune=False, verbose=False,
            beside=None, quick=False, total=None, buffers=["rotated", "same"], folder=self.folder, cores=peers.cores())
        campaign = Campaign(chosen, members, 64 << 20, self.tutti.programs["machine"])
        campaign.choose_settings()
        campaign.measure()
        targets = []
        for buffers in ("rotated", "same"):
            targets += transfer_targets(campaign, buffers)
        return targets


def of_openmpi(campaign, name, point, buffers):
    """Returns the median of the ratios of Open MPI's time to that of the peer `name`, each from starts
    that are neighbours in time; None if a time is missing.
    """
    key = (point, buffers)
    pairs = report.ratios(campaign.times.get(("openmpi", key), []), campaign.times.get((name, key), []))
    return statistics.median(pairs) if pairs else None


def transfer_targets(campaign, buffers):
    words = "" if buffers == "rotated" else ", same place"
    small, large = (("allreduce", size, 2) for size in (SMALL, LARGE))
    line = report.limit_of(campaign, ("line", 0, "same"))
    mine = [us for _, us in campaign.times.get(("tutti", (small, buffers)), [])]
    return [
        report.target(f"{report.problem(*small)}{words}, divided by Open MPI's time",
                      of_openmpi(campaign, "tutti", small, buffers), 0.6),
        report.target(f"{report.problem(*small)}{words}, divided by the line exchange ({table.number(line)} us)",
                      statistics.median(mine) / line if mine and line else None, 1.6),
        report.target(f"{report.problem(*large)}{words}, ordinary memory, divided by Open MPI's time",
                      of_openmpi(campaign, "tutti", large, buffers), 0.65),
        report.target(f"{report.problem(*large)}{words}, tutti_alloc memory, divided by Open MPI's time",
                      of_openmpi(campaign, "tutti-alloc", large, buffers), 0.5)]


def hold(chosen, folder):
    command.check(chosen)
    limits, targets, failed = Limits(chosen, folder), [], False
    for part in chosen.parts:
        try:
            targets += getattr(limits, part)()
        except peers.Stop as why:
            say(f"limits: {part}: {why}")
            failed = True
    command.give(chosen, {"targets": targets}, table.words_of_targets(targets))
    return 1 if failed else 0


def main():
    return command.run("limits", hold, options())
