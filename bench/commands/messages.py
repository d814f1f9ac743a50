# SPDX-License-Identifier: BSD-3-Clause
"""Measures messages between two processes beside UCX and MPIs, and the gain from threads.

The partners are ucx_perftest, Open MPI and MPICH. Prints tables, and each target with the measured
figure. Nothing else should run on the machine meanwhile.
"""
import argparse
import statistics

from harness import among, command, partners, peers, process, pull, report
from harness.campaign import parse, say
from harness.table import words_of_targets

SIZES = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]
QUICK_SIZES = [64 << 10, 1 << 20]
PARTS = ["messages", "threads", "pull"]
SIZE = command.size("from 1 to 64M (64K, 1M ...)", most=64 << 20)
LATENCY_BOUND, BANDWIDTH_BOUND, THREADS_BOUND = 1.05, 0.95, 1.8


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few sizes, short batches, two repeats")
    command.add_options(parser, PARTS)
    parser.add_argument("--sizes", type=command.listed(SIZE), metavar="BYTES,...", help="of the streams (64K,256K,1M,4M,16M)")
    parser.add_argument("--partners", type=command.listed(str), default=["tutti", "ucx", "openmpi", "mpich"],
                        metavar="NAME,...", help="the first is compared with the others; a partner that is not installed is left out")
    parser.add_argument("--repeats", type=command.positive, help="alternated starts (7)")
    parser.add_argument("--batch", type=float, help="seconds a batch lasts (0.05)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds until a program is killed (120)")
    chosen = command.parse_with_batch(parser)
    quick = chosen.quick
    chosen.sizes = sorted(set(chosen.sizes or (QUICK_SIZES if quick else SIZES)))
    chosen.repeats = chosen.repeats or (2 if quick else 7)
    chosen.batch = chosen.batch or (0.005 if quick else 0.05)
    chosen.batches = 2 if quick else 3
    chosen.latency = True
    return chosen


class Threads:
    """Runs the program messages-threads: threads of Tutti that have contexts of their own."""

    def __init__(self, chosen, folder):
        self.chosen, self.folder = chosen, folder
        self.tutti = peers.Tutti(chosen.build)
        self.tutti.build(folder, ["messages-threads"])

    def lines(self, ranks, *arguments):
        program = [self.tutti.launcher, "run", "-n", str(ranks), "--bind", "none", "--",
                   self.tutti.programs["messages-threads"], *map(str, arguments)]
        result = process.run(program, self.chosen.timeout, {"TMPDIR": self.folder})
        if result.failure:
            raise peers.Stop("\n    ".join([f"{' '.join(program)}: {result.failure}", *result.words]))
        return [line for line in map(parse, result.lines) if line]

    def rates(self, ranks):
        """Measures how many messages per second one thread and two threads send, and for comparison
        how fast one thread and two threads calculate.

        Returns {"rate": lists, "calculate": lists}, each with a list for one thread and a list for
        two threads, which were measured in turn.
        """
        lines = self.lines(ranks, "rate", self.chosen.repeats, self.chosen.batch)
        return {name: [[line["per_s"] for line in lines if (line["measure"], line["threads"]) == (name, threads)]
                       for threads in (1, 2)] for name in ("rate", "calculate")}

    def pulled_by(self, contexts):
        return lambda: self.lines(2, *pull.arguments(self.chosen.batches, contexts))

    def pulls(self):
        return pull.measure({"1": self.pulled_by(1), "2": self.pulled_by(2)}, self.chosen.repeats)


def gain(one, two):
    """The gain from a second thread: the median ratio of two lists of figures that were taken in
    turn.
    """
    pairs = [b / a for a, b in zip(one, two)]
    return statistics.median(pairs) if pairs else None


def rates_of(threads, ranks, where):
    rates = threads.rates(ranks)
    one, two = rates["rate"]
    allowed = gain(*rates["calculate"])
    words = (f"messages of two threads {where}: {statistics.median(two) / 1e6:.2f} million/s, over one's "
             f"{statistics.median(one) / 1e6:.2f} (two that only calculate: {allowed:.2f})")
    row = {"ranks": ranks, "one": one, "two": two, "calculating": rates["calculate"]}
    return row, report.target(words, gain(one, two), THREADS_BOUND, at_least=True)


def rates_within(threads):
    return rates_of(threads, 1, "within a process")


def rates_between(threads):
    if peers.cores() < 4:
        words = f"messages of two threads of each of two processes, over one: not measured, {peers.cores()} cores of 4"
        return None, report.target(words, None, THREADS_BOUND, at_least=True)
    return rates_of(threads, 2, "of each of two processes")


def measure(chosen, folder):
    """The document for JSON: the figures and the targets."""
    document = {"what": "messages between two processes of one machine", "points": [], "rates": [], "pull": None,
                "targets": [], "failures": []}
    if "messages" in chosen.parts:
        campaign = among.Campaign("messages", chosen, partners.make(chosen.partners, chosen.build, folder, note), folder,
                                  among.Machine())
        campaign.measure()
        document.update(campaign.document({"latency": LATENCY_BOUND, "bandwidth": BANDWIDTH_BOUND, "one-place": BANDWIDTH_BOUND}))
    if "threads" in chosen.parts:
        threads = Threads(chosen, folder)
        for rates, target in (rates_within(threads), rates_between(threads)):
            document["rates"] += [rates] if rates else []
            document["targets"].append(target)
    if "pull" in chosen.parts:
        document["pull"] = Threads(chosen, folder).pulls()
    return document


def text(document):
    """The lines of the tables."""
    lines = among.words_of_points(document, "between two processes") if document["points"] else []
    if document["pull"]:
        lines += [f"{pull.words(document['pull'])}.", ""]
    return lines + words_of_targets(document["targets"])


def note(words):
    say(f"messages: {words}")


def hold(chosen, folder):
    command.check(chosen)
    document = measure(chosen, folder)
    command.give(chosen, document, text(document))
    return 1 if document["failures"] else 0


def main():
    return command.run("messages", hold, options())
