# SPDX-License-Identifier: BSD-3-Clause
"""The collectives of an MPI, the host, beside Tutti's under it, in the same process and loop.

The host is the MPI under which the program runs. loop.c calls each collective in two ways, in turn:
as every program does, so that `tutti mpi` takes the call, and directly in the host. Tutti does not
take all calls; its report says how many it took. Nonblocking and persistent calls are timed in
programs that start in turn without Tutti and with it (harness/later.py).
"""
import argparse
import statistics
import textwrap

from harness import command, later, packages, peers, report, table, under
from harness.campaign import geometric_mean, in_order, parse, say

COLLECTIVES = ["barrier", "bcast", "allreduce", "reduce", "allgather", "allgatherv", "alltoall", "alltoallv", "gather"]
OTHERS = ["gatherv", "scatter", "scatterv", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"]
SIZES = ["8", "64", "512", "4K", "32K", "256K", "1M", "4M"]
# The targets. A ratio is the host's time divided by Tutti's. MEAN is for the geometric mean of the
# ratios over a host, and LEAST for the ratio of each point.
MEAN, LEAST = 1.4, 0.95
SIZE = command.size("of f64s (8, 512, 4K, 1M ...)", multiple=8)
HOSTS = {"openmpi": peers.OpenMpi, "mpich": peers.Mpich}
CALLS = ["blocking", *later.CALLS]


def name_in(kinds):
    def parse_name(text):
        if text not in kinds:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(kinds)}")
        return text
    return command.listed(parse_name)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", type=name_in(HOSTS), default=list(HOSTS), metavar="NAME,...", help="openmpi,mpich")
    parser.add_argument("--collectives", type=name_in(COLLECTIVES + OTHERS), default=COLLECTIVES, metavar="NAME,...",
                        help=f"{','.join(COLLECTIVES)}; also {','.join(OTHERS)}")
    parser.add_argument("--calls", type=name_in(CALLS), default=["blocking"], metavar="KIND,...",
                        help=f"some of {','.join(CALLS)} (blocking); of the last two also the time of the start and the overlap")
    parser.add_argument("--ranks", type=command.listed(command.positive), default=[2, 4, 8, 16], metavar="P,...")
    parser.add_argument("--sizes", type=command.listed(SIZE), default=[SIZE(text) for text in SIZES], metavar="BYTES,...",
                        help=f"bytes of a rank's contribution (to each rank); {','.join(SIZES)}")
    parser.add_argument("--repeats", type=command.positive, default=3, help="starts of each job (3)")
    parser.add_argument("--batch", type=float, default=0.02, help="seconds a batch lasts (0.02; times ranks/cores)")
    parser.add_argument("--batches", type=command.positive, default=5, help="pairs of batches in a start (5)")
    parser.add_argument("--pool", type=SIZE, default=64 << 20, metavar="BYTES",
                        help="memory a rank that buffers rotate through (64M)")
    parser.add_argument("--choice", choices=["take", "on"], default="take",
                        help="take: Tutti does all calls that it can do; on: those that it does faster, which it measures first")
    parser.add_argument("--limit", type=float, default=180, help="seconds after which a start begins no further point (180)")
    command.add_options(parser)
    return command.parse_with_batch(parser)


# ---- Measuring ----


class Measured:
    """The measurements over a host: {(collective, ranks, bytes, buffers): rows of the starts}, the
    points that were left out, and the calls that Tutti took.
    """

    def __init__(self, host):
        self.host, self.rows, self.left_out, self.failures = host, {}, set(), []
        self.taken = {}  # function: (calls, calls that Tutti took); empty if the report has no numbers

    def add(self, line):
        key = line["collective"], line["ranks"], line["bytes"], line.get("buffers", "same")
        if "us" in line:
            self.rows.setdefault(key, []).append(line)
        else:
            self.left_out.add(key[:3])

    def add_report(self, found):
        for row in (found or {}).get("calls", []):
            if "taken" in row:
                calls, taken = self.taken.get(row["function"], (0, 0))
                self.taken[row["function"]] = calls + row["calls"], taken + row["taken"]

    def points(self):
        """[(key, Tutti's us, the host's us, ratio)]: the medians over the starts."""
        return [(key, *(statistics.median(row[field] for row in rows) for field in ("us", "host_us", "ratio")))
                for key, rows in self.rows.items()]


def points_of(chosen):
    return [(name, size) for name in chosen.collectives for size in ([0] if name == "barrier" else chosen.sizes)]


def start(measured, peer, ranks, chosen, folder, counts=False):
    """Starts the loop. With `counts` the loop makes few calls, and Tutti reports which calls it can
    take. A report makes Tutti read the clock twice for each call, so the starts that are timed have
    none. Tutti does not use decisions of earlier programs, which earlier builds may have made.
    """
    batch = 1e-4 if counts else chosen.batch * max(1.0, ranks / peers.cores())
    arguments = ["-m", str(chosen.pool), "-t", f"{batch:.6f}", "-l", f"{chosen.limit:.1f}", "-b", "1" if counts else str(chosen.batches),
                 *in_order(points_of(chosen))]
    started, setting = under.Under(chosen.build), peer.settings(ranks)[0]
    words = [started.tutti, "mpi", *peer.command("loop", ranks, setting, arguments)]
    without = {"TUTTI_MPI": "take"} if counts else {"TUTTI_MPI": chosen.choice, "TUTTI_MPI_REPORT": "", "TUTTI_MPI_WISDOM": "0"}
    result, found = started.run("on", words, chosen.limit + 60, folder, environment={"TMPDIR": folder, **without, **setting[2]})
    for line in filter(None, map(parse, [] if counts else result.lines)):
        measured.add(line)
    measured.add_report(found)
    if result.failure:
        measured.failures.append(f"{peer.title}, {ranks} ranks: {result.failure}: {' '.join(result.words)}")
        say(f"mpi: {measured.failures[-1]}")


def measure(peer, host, chosen, folder):
    measured = Measured(host)
    peer.build(folder, ["loop"], "-DBENCH_HOST")
    for ranks in chosen.ranks:
        start(measured, peer, ranks, chosen, folder, counts=True)
    for repeat in range(chosen.repeats):
        for ranks in chosen.ranks:
            start(measured, peer, ranks, chosen, folder)
        say(f"mpi: {peer.title}: start {repeat + 1} of {chosen.repeats}")
    return measured


# ---- The report ----


def words_of_taken(measured):
    title = under.TITLES[measured.host]
    if not any(taken for _, taken in measured.taken.values()):
        return [f"**Nothing was taken over {title}**: Tutti's report names no call that it took. So the figures compare the host "
                "with itself.", ""]
    calls = [f"{name} {taken:g} of {calls:g}" for name, (calls, taken) in sorted(measured.taken.items())]
    return [*textwrap.wrap(f"Calls that were taken over {title}: {', '.join(calls)}.", 100), ""]


def tables(measured, chosen):
    title, lines = under.TITLES[measured.host], []
    for name in chosen.collectives:
        rows = sorted((key[1], key[2], key[3], us, host_us, ratio)
                      for key, us, host_us, ratio in measured.points() if key[0] == name)
        body = [[str(ranks), report.size_text(size), buffers, table.number(us), table.number(host_us),
                 table.number(ratio)] for ranks, size, buffers, us, host_us, ratio in rows]
        if body:
            header = ["ranks", "bytes", "place", "under Tutti, us", f"{title}, us", "faster"]
            lines += [f"### {name}, {title}", "", *table.aligned(header, body), ""]
    return lines


def counted(measured):
    """The points that the targets are for: those with rotation, and barriers."""
    return [(key, ratio) for key, _, _, ratio in measured.points() if key[3] == "rotated" or key[0] == "barrier"]


def summary(measured):
    title, points = under.TITLES[measured.host], counted(measured)
    mean = geometric_mean(ratio for _, ratio in points)
    slow = [(key, ratio) for key, ratio in points if ratio < LEAST]
    targets = [report.target(f"geometric mean over {len(points)} points of {title}", mean, MEAN, at_least=True),
               report.target(f"points under {LEAST} over {title}", len(slow) if points else None, 0)]
    lines = [f"- under {LEAST} over {title}: {report.problem(key[0], key[2], key[1])}: {ratio:.2f}" for key, ratio in slow]
    if measured.left_out:
        left = sorted(measured.left_out)
        lines.append(f"- left out over {title}: " + ", ".join(report.problem(name, size, p) for name, p, size in left))
    return targets, [*lines, *(f"- {failure}" for failure in measured.failures)]


def document_of(measured):
    return {"host": measured.host, "failures": measured.failures,
            "taken": {name: {"calls": calls, "taken": taken} for name, (calls, taken) in measured.taken.items()},
            "points": [{"collective": key[0], "ranks": key[1], "bytes": key[2], "buffers": key[3], "us": us,
                        "host_us": host_us, "ratio": ratio} for key, us, host_us, ratio in measured.points()]}


def compare(chosen, folder):
    command.check(chosen)
    under.Under(chosen.build)
    hosts = {host: HOSTS[host]() for host in chosen.host}
    packages.install_for(list(hosts.values()))
    blocking = hosts if "blocking" in chosen.calls else {}
    others = hosts if set(chosen.calls) & set(later.CALLS) else {}
    found = [measure(peer, host, chosen, folder) for host, peer in blocking.items()]
    found_later = [later.measure(peer, host, points_of(chosen), chosen, folder) for host, peer in others.items()]
    lines, targets, exceptions = [], [], []
    for measured in found:
        lines += words_of_taken(measured) + tables(measured, chosen)
        more, words = summary(measured)
        targets += more
        exceptions += words
    lines += [*exceptions, *([""] if exceptions else []), *table.words_of_targets(targets)]
    for one in found_later:
        lines += later.tables(one)
    command.give(chosen, {"hosts": [document_of(measured) for measured in found], "targets": targets,
                          "later": [later.document(one) for one in found_later]}, lines)
    return 1 if any(measured.failures for measured in found) or any(map(later.failed, found_later)) else 0


def main():
    return command.run("mpi", compare, options())
