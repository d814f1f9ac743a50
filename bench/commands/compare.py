# SPDX-License-Identifier: BSD-3-Clause
"""Compares Tutti with Debian's Open MPI and MPICH: the same C loop (loop.c) over each.

Nothing else should run on the machine meanwhile. docs/benchmarks.md says what is measured and how
to read it.
"""
import argparse
import glob
import os
import platform

from harness import chart, command, output, packages, peers, report, results, table
from harness.campaign import Campaign, say

USUAL = ["allreduce", "reduce", "alltoall", "allgather", "bcast", "barrier"]
COLLECTIVES = USUAL + ["reduce_scatter_block", "reduce_scatter", "gather", "scatter", "allgatherv", "gatherv",
                       "scatterv", "alltoallv", "scan", "exscan"]
SIZES = ["8", "64", "512", "4K", "32K", "256K", "1M", "4M"]
QUICK_SIZES = ["8", "4K", "64K", "1M", "4M"]
QUICK_TOTAL = 16 << 20  # bytes that all ranks contribute together; more would take too long
POOL_MOST = 64 << 20
BUSY = 0.5
SIZE = command.size("of f64s (8, 512, 4K, 1M ...)", multiple=8)


def collective(text):
    if text not in COLLECTIVES and text != "all":
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(COLLECTIVES)}, all")
    return text


def buffers(text):
    if text not in report.BUFFERS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(report.BUFFERS)}")
    return text


def beside(text):
    """BUSY:PAUSE in milliseconds"""
    busy, _, pause = text.partition(":")
    try:
        times = float(busy), float(pause or "0")
    except ValueError:
        times = 0.0, 0.0
    if not (0 < times[0] < float("inf") and 0 <= times[1] < float("inf")):
        raise argparse.ArgumentTypeError(f"{text!r} is not BUSY:PAUSE, in milliseconds, such as 5:15")
    return times


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few sizes, known settings; ends in 5 minutes")
    parser.add_argument("--collectives", type=command.listed(collective), default=USUAL, metavar="NAME,...",
                        help=f"{','.join(USUAL)}; all: also the other ones")
    parser.add_argument("--ranks", type=command.listed(command.positive), default=[2, 4, 8, 16], metavar="P,...")
    parser.add_argument("--sizes", type=command.listed(SIZE), metavar="BYTES,...",
                        help=f"bytes of a rank's contribution (to each rank); {','.join(SIZES)}")
    parser.add_argument("--buffers", type=command.listed(buffers), metavar="NAME,...",
                        help="rotated: each call has others; same: the same; anew: the same, with inputs written before "
                        "each call; used: so, and with outputs read after it (all; --quick: the first two)")
    parser.add_argument("--peers", type=command.listed(str), default=["tutti", "openmpi", "mpich"], metavar="NAME,...",
                        help="the first is compared with the others: tutti, tutti-alloc, openmpi, mpich")
    parser.add_argument("--repeats", type=command.positive, default=7, help="alternated starts (7)")
    parser.add_argument("--batch", type=float, help="seconds a batch lasts (0.02; times ranks/cores)")
    parser.add_argument("--batches", type=command.positive, help="batches a start and point, their median counts (3)")
    parser.add_argument("--limit", type=float, help="seconds after which a start begins no further point (180)")
    parser.add_argument("--pool", type=SIZE, metavar="BYTES",
                        help="memory a rank that buffers rotate through (twice the cache, at most 64M)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds beyond that until it is killed (60)")
    parser.add_argument("--budget", type=float, help="seconds after which no further repeat is begun")
    parser.add_argument("--beside", type=beside, metavar="BUSY:PAUSE",
                        help="a program runs beside each start, which calculates for BUSY and pauses for PAUSE ms in turn")
    parser.add_argument("--no-tune", dest="tune", action="store_false", help="do not try the peers' settings")
    command.add_options(parser)
    parser.add_argument("--table", metavar="FILE", help="the table into a file too")
    parser.add_argument("--svg", metavar="FILE", help="the chart")
    parser.add_argument("-v", "--verbose", action="store_true", help="show each command")
    chosen = parser.parse_args()
    quick = chosen.quick
    if "all" in chosen.collectives:
        chosen.collectives = COLLECTIVES
    chosen.sizes = sorted(chosen.sizes or [SIZE(text) for text in (QUICK_SIZES if quick else SIZES)])
    chosen.buffers = chosen.buffers or list(report.BUFFERS[:2 if quick else None])
    chosen.batch = chosen.batch or (0.004 if quick else 0.02)
    chosen.batches = chosen.batches or (2 if quick else 3)
    chosen.limit = chosen.limit or (8.0 if quick else 180.0)
    chosen.budget = chosen.budget or (270.0 if quick else None)
    chosen.tune = chosen.tune and not quick
    chosen.total = QUICK_TOTAL if quick else None
    chosen.pool = chosen.pool or min(POOL_MOST, (2 * cache_bytes() + (1 << 20) - 1) >> 20 << 20)
    chosen.cores = peers.cores()
    return chosen


def cache_bytes():
    """The size of the largest cache of the first processor."""
    found = [32 << 20]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
        if text.endswith("K") and text[:-1].isdigit():
            found.append(int(text[:-1]) << 10)
    return max(found[1:] or found)


def machine():
    return {"cpu": results.cpu_model(), "cores": peers.cores(), "l3_bytes": cache_bytes(),
            "kernel": platform.release(), "load": os.getloadavg()[0]}


def give(document, chosen, members):
    lines = results.folded(table.text(document, members).split("\n"))
    command.give(chosen, document, lines)
    if chosen.table:
        output.write(chosen.table, "\n".join(lines) + "\n")
    picture = chart.svg(document, members) if chosen.svg else None
    if picture:
        output.write(chosen.svg, picture)
    elif chosen.svg:
        say("compare: no chart: nothing was compared")


def compare(chosen, folder):
    command.check(chosen, chosen.table, chosen.svg)
    members = peers.make(chosen.peers, chosen.build)
    packages.install_for(members)
    chosen.folder = folder
    for peer in members:
        peer.build(folder, ["loop"])
    limits = os.path.join(folder, "machine")
    peers.compile_program([os.environ.get("CC", "cc")], "machine.c", limits)
    about = machine()
    if about["load"] > BUSY:
        say(f"compare: the load is {about['load']:.2f}: something else runs here, the figures will not be worth much")
    campaign = Campaign(chosen, members, chosen.pool, limits)
    campaign.choose_settings()
    campaign.measure()
    give(report.document(campaign, about), chosen, members)
    return 1 if campaign.failures else 0


def main():
    return command.run("compare", compare, options())
