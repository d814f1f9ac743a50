# SPDX-License-Identifier: BSD-3-Clause
"""Simulates lists of problems, and prints a table of each list.

The figures come from the model, so they are the same on every machine; bench/results/simulated.md
has them. Only `rates` measures: how many messages a second the simulator handles on one core.
Nothing else should run on the machine meanwhile.
"""
import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

from harness import peers, results
from harness.alternate import collect

LENGTH = 1 << 20


def simulate(chosen, problem, algorithm, *words):
    """The rows of `tutti sim`, which prints its own errors. None: of the algorithm that the table chooses."""
    which = ("--algorithm", algorithm) if algorithm else ("--trace", os.devnull)
    command = [os.path.join(chosen.build, "bin", "tutti"), "sim", problem, *which, "--json", "-", *words]
    result = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, "TUTTI_CHOICE": "table"}, check=False)
    if result.returncode != 0:
        sys.exit(1)
    return json.loads(result.stdout)


def powers_of_two(most):
    p = 2
    while p <= most:
        yield p
        p *= 2


# ---- Nodes: plans that distinguish between nodes, and plans that do not, on uneven nodes ----

MAPS = (("8,4,2,1", 15), ("16,8,8,4,1,1", 38), ("24,8", 32), ("8,8,8,8+dealt", 32))


def node_problems():
    for nodes, p in MAPS:
        yield f"barrier/p{p}@nodes:{nodes}"
        for size in ("8", "64K", "1M"):
            yield f"bcast/u8/{size}/p{p}@nodes:{nodes}"
            if size != "8":
                yield f"reduce/f64/sum/{size}/p{p}@nodes:{nodes}"
            yield f"allreduce/f64/sum/{size}/p{p}@nodes:{nodes}"


def node_row(chosen, problem, ports):
    us = {row["algorithm"]: row["time_ps"] / 1e6
          for row in simulate(chosen, problem, "all", "--ports", ports, "--gamma", "0.1ns", "--tr", "0.1ns")}
    logical, composed = us.pop("logical"), us.pop("composed")
    us.pop("parts", None)  # `parts` distinguishes between nodes, too, so it is none of the usual algorithms
    usual = next(us[name] for name in ("binomial", "doubling", "dissemination") if name in us)
    best = min(us, key=us.get)
    return (f"| `{problem}` | {logical:.1f} | {composed:.1f} | {best} {us[best]:.1f} | {usual:.1f} | {logical / us[best]:.2f} | "
            f"{composed / us[best]:.2f} | {logical / usual:.2f} | {composed / usual:.2f} |")


def nodes(chosen):
    """Plans that distinguish between nodes and plans that do not, on uneven nodes, with a port for each
    rank, and for each node. A message between nodes takes 1 us, and 1 ns for each byte; within a node
    100 ns and 0.1 ns. Copying and reducing take 0.1 ns for each byte. The times are in us; `usual`
    is the time of `binomial`, `doubling` or `dissemination`."""
    for ports in ("one", "node"):
        yield (f"| --ports {ports} | logical | composed | best other | usual | logical / best | composed / best | "
               "logical / usual | composed / usual |")
        yield "|---|---|---|---|---|---|---|---|---|"
        for problem in node_problems():
            yield node_row(chosen, problem, ports)
        yield ""


# ---- Allreduces: the algorithm that the table chooses on several nodes, and the fastest one ----

# The overhead o of a message, the gap g, the latency L and the time G of a byte, in loggp.
NETWORKS = {"100 Gbit/s": ("300ns", "100ns", "1us", "80ps"), "25 Gbit/s": ("4us", "1us", "15us", "320ps"), "10 Gbit/s": ("4us", "1us", "15us", "800ps"),
            "1 Gbit/s": ("4us", "1us", "25us", "8ns")}
# For `choices` also a fast link on which messages start as slowly as by TCP.
CHOICE_NETWORKS = {**NETWORKS, "100 Gbit/s by TCP": ("4us", "1us", "15us", "80ps")}
LENGTHS = ("4K", "16K", "64K", "256K", "1M", "4M")
MEMORY = 4  # so many ranks together copy as fast as the memory of their node allows
UNEVEN = {"3,2,2": 7, "4,2,2": 8, "8,8,4": 20, "5,3": 8, "4,2,1,1": 8, "8,4,2,1": 15,
          "2*3+dealt": 6, "4*5+dealt": 20, "8*7+dealt": 56}
ALLREDUCES = "composed,doubling,halving,logical,parts,ring"


def several_nodes(most):
    maps = {f"{ranks}*{count}": ranks * count for ranks in (2, 4, 8, 16) for count in range(2, 10)}
    return {nodes: p for nodes, p in {**maps, **UNEVEN}.items() if p <= most}


def model(network, nodes, p):
    """The options of `tutti sim`: the ranks of a node share its port, and its memory."""
    byte = f"{max(100, 100 * p // (count_nodes(nodes) * MEMORY))}ps"
    options = zip(("--overhead", "--gap", "--latency", "--byte-gap"), CHOICE_NETWORKS[network])
    near = ("--near-tw", byte, "--tr", byte, "--gamma", byte)
    return ("--model", "loggp", "--ports", "node", *near, *[word for pair in options for word in pair])


def count_nodes(nodes):
    return sum(int(part.partition("*")[2] or 1) for part in nodes.partition("+")[0].split(","))


def choice(chosen, problem, words):
    """The table's choice: `tutti sim` knows the link from the costs of the model."""
    return simulate(chosen, problem, None, *words)[0]["algorithm"]


def choice_cell(chosen, problem, algorithms, words):
    times = {row["algorithm"]: row["time_ps"] for row in simulate(chosen, problem, algorithms, *words)}
    name, best = choice(chosen, problem, words), min(times, key=times.get)
    factor = times[name] / times[best]
    return f"{name} {factor:.2f}" + (f", {best}" if factor > 1.1 else "")


def allreduces(chosen):
    """The allreduce that the table chooses between nodes of several ranks, and how many times as long it
    takes as the fastest algorithm, which is named if the factor exceeds 1.1. The ranks of a node share
    a port, and its memory."""
    for network in NETWORKS:
        yield f"| {network} | " + " | ".join(LENGTHS) + " |"
        yield "|---" * (1 + len(LENGTHS)) + "|"
        for nodes, p in several_nodes(chosen.most).items():
            words = model(network, nodes, p)
            cells = [choice_cell(chosen, f"allreduce/f64/sum/{length}/p{p}@nodes:{nodes}", ALLREDUCES, words)
                     for length in LENGTHS]
            yield f"| `{nodes}` | " + " | ".join(cells) + " |"
        yield ""


# ---- Choices: the algorithm that the table chooses on several nodes, and the fastest one ----

CHOICE_MAPS = {"2,2": 4, "2,1,1": 4, "2*3": 6, "4,2,2": 8, "4,2,1,1": 8, "4*4": 16, "8*4": 32, "4*8": 32, "8*16": 128}
CHOICE_COLLECTIVES = {"bcast": "u8", "reduce": "f64/sum", "allreduce": "f64/sum", "allgather": "u8", "allgatherv": "u8",
                      "reduce_scatter_block": "f64/sum", "reduce_scatter": "f64/sum", "gather": "u8", "scatter": "u8",
                      "alltoall": "u8", "scan": "f64/sum"}
CHOICE_LENGTHS = {"8": 8, "512": 512, "4K": 4 << 10, "16K": 16 << 10, "64K": 64 << 10, "256K": 256 << 10, "1M": 1 << 20,
                  "4M": 4 << 20, "16M": 16 << 20}
WHOLE = ("bcast", "reduce", "allreduce", "scan")  # the vector of a rank is as long as all data
MOST_BYTES = 64 << 20  # longer buffers are left out


def choices(chosen):
    """The algorithm that the table chooses between nodes of several ranks for each collective, and how many
    times as long it takes as the fastest algorithm, which is named if the factor exceeds 1.1. The ranks of
    a node share a port, and its memory."""
    lengths = [length for length in CHOICE_LENGTHS if not chosen.lengths or length in chosen.lengths]
    for network in chosen.links or CHOICE_NETWORKS:
        for coll, words in CHOICE_COLLECTIVES.items():
            yield f"| {coll}, {network} | " + " | ".join(lengths) + " |"
            yield "|---" * (1 + len(lengths)) + "|"
            for nodes, p in CHOICE_MAPS.items():
                if p <= chosen.most:
                    cells = [choice_cell(chosen, f"{coll}/{words}/{length}/p{p}@nodes:{nodes}", "all", model(network, nodes, p))
                             if coll in WHOLE or CHOICE_LENGTHS[length] * p <= MOST_BYTES else "" for length in lengths]
                    yield f"| `{nodes}` | " + " | ".join(cells) + " |"
            yield ""


# ---- Orders: alltoall by puts in rank order and in random order, whole segments and chunks ----

SEGMENT = 8192
CHUNKS = (SEGMENT, 2048, 512)


def orders(chosen):
    """An alltoall of 8 KiB by puts: the time, and the load of the links. A turn is what a rank sends to
    another one before it goes on to the next."""
    yield "| network | order | a turn | time, ms | fullest link, MB | mean link, MB |"
    yield "|---|---|---|---|---|---|"
    for network in chosen.networks:
        for order, name in (("/order=rank", "rank"), ("", "random")):
            for chunk in CHUNKS:
                row = simulate(chosen, f"alltoall/u8/{SEGMENT}/p{chosen.ranks}{order}/slice={chunk}@{network}", "exchange")[0]
                turn = "whole" if chunk == SEGMENT else f"{chunk} B"
                yield (f"| {network} | {name} | {turn} | {row['time_ps'] / 1e9:.2f} | {row['max_link_bytes'] / 1e6:.2f} | "
                       f"{row['mean_link_bytes'] / 1e6:.2f} |")


# ---- Halving against the pipelined tree ----

COSTS = (("500ps", "1ns"), ("500ps", "2ns"), ("4ns", "1ns"), ("4ns", "2ns"))


def halving(chosen):
    """`halving` : `prt`, the times of 1 MiB in slices of 16 KiB without start-ups, in units of L beta.
    L is the length, gamma the cost of a reduced byte, beta that of a byte that is sent, and beta' that
    of a byte that is sent while one is received. gamma and beta' are in units of beta."""
    for coll in ("reduce", "allreduce"):
        yield f"| {coll} | gamma 1/2, beta' 1 | gamma 1/2, beta' 2 | gamma 4, beta' 1 | gamma 4, beta' 2 |"
        yield "|---|---|---|---|---|"
        for p in powers_of_two(min(chosen.most, 1024)):
            cells = []
            for gamma, both in COSTS:
                rows = simulate(chosen, f"{coll}/f64/sum/{LENGTH}/p{p}/slice=16K", "halving,prt", "--ts", "0", "--tw", "1ns",
                                "--gamma", gamma, "--tw-both", both)
                units = {row["algorithm"]: row["time_ps"] / 1e3 / LENGTH for row in rows}
                cells.append(f"{units['halving']:.3f} : {units['prt']:.3f}")
            yield f"| {p} ranks | " + " | ".join(cells) + " |"
        yield ""


# ---- Rates: how fast the simulator is ----

JOBS = (("allreduce/f64/sum/64K/p1024", "ring"), ("alltoall/u8/64/p1024", "pairwise"),
        ("allreduce/f64/sum/8/p65536", "doubling"), ("allreduce/f64/sum/8/p1048576", "doubling"))


def timed(chosen, problem, algorithm):
    begun = time.monotonic()
    rows = simulate(chosen, problem, algorithm, "--model", "loggp")
    return time.monotonic() - begun, rows[0]["messages"]


def rates(chosen):
    """The messages that the simulator handles in a second on one core, under loggp."""
    yield "| problem | algorithm | messages | seconds | million a second |"
    yield "|---|---|---|---|---|"
    jobs = [job for job in JOBS if int(job[0].rsplit("/p", 1)[1]) <= chosen.most]
    found = collect(max(chosen.repeats, 1), {job: functools.partial(timed, chosen, *job) for job in jobs})
    for (problem, algorithm), runs in found.items():
        median, messages = statistics.median(run[0] for run in runs), runs[0][1]
        yield f"| {problem} | {algorithm} | {messages} | {median:.2f} | {messages / median / 1e6:.1f} |"


LISTS = {"nodes": nodes, "allreduces": allreduces, "choices": choices, "orders": orders, "halving": halving, "rates": rates}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", choices=LISTS, help="; ".join(f"{name}: {' '.join(what.__doc__.split('.')[0].split())}"
                                                             for name, what in LISTS.items()).replace("%", "%%"))
    parser.add_argument("--networks", nargs="+", default=["torus:8x8x16", "tree:2x1024"], help="of `orders`")
    parser.add_argument("--ranks", type=int, default=1024, help="of each network of `orders` (1024)")
    parser.add_argument("--most", type=int, default=1 << 20, metavar="RANKS",
                        help="`allreduces`, `choices`, `halving` and `rates` leave out problems of more ranks (1048576)")
    parser.add_argument("--links", nargs="+", choices=CHOICE_NETWORKS, metavar="LINK", help="of `choices` (all), such as '10 Gbit/s'")
    parser.add_argument("--lengths", nargs="+", choices=CHOICE_LENGTHS, metavar="LENGTH", help="of `choices` (all)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each problem of `rates`; the median counts (5)")
    parser.add_argument("--build", default=os.path.join(peers.HERE, "..", "build", "release"), metavar="FOLDER",
                        help="where Tutti was built (build/release)")
    results.option(parser)
    return parser.parse_args()


def main():
    chosen = options()
    if chosen.list != "rates":
        chosen.results = "-"  # these simulations give the same results on every machine
    try:
        results.check(chosen.results)
        lines = []
        for line in LISTS[chosen.list](chosen):
            lines.append(line)
            print(line, flush=True)
        results.append(chosen.results, chosen.build, lines)
    except peers.Stop as why:
        sys.exit(f"simulate: {why}")
    return 0
