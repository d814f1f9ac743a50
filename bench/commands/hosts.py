# SPDX-License-Identifier: BSD-3-Clause
"""Measures Tutti between several hosts: network namespaces of this machine, joined by a bridge.

Measures the bandwidth between two hosts, in comparison with ucx_perftest, and how much a second
context that pulls adds to it. Measures allreduce, alltoall, bcast and reduce on all hosts, in
comparison with Open MPI over the same links and with what sockets alone can do. Prints tables, and
each target with the measured figure. Nothing else should run on the machine meanwhile.
"""
import argparse
import json
import os
import re
import subprocess
import sys

from harness import among, command, far, output, peers, pull
from harness.campaign import say
from harness.table import words_of_targets

STREAMS, QUICK_STREAMS = [64 << 10, 1 << 20, 4 << 20], [1 << 20]
SIZES, QUICK_SIZES = [8, 4 << 10, 64 << 10, 1 << 20], [8, 64 << 10]
COLLECTIVES = ["allreduce", "alltoall", "bcast", "reduce"]
PARTS = ["stream", "pull", *COLLECTIVES]
BOUNDS = {"one-place": 0.9, **dict.fromkeys(COLLECTIVES, 1.3)}
SKIPPED = 77
MEASURED = "measured.json"
SIZE = command.size("of f64s up to 64M (8, 64K, 1M ...)", most=64 << 20, multiple=8)


def nodes(text):
    if not re.fullmatch(r"[1-9]\d?(,[1-9]\d?){1,15}", text):
        raise argparse.ArgumentTypeError(f"not the ranks of 2 to 16 hosts (4,2,1,1): {text!r}")
    return text


def rate(text):
    if not re.fullmatch(r"[1-9]\d*[kmg]bit", text):
        raise argparse.ArgumentTypeError(f"not a rate (100mbit, 1gbit, 10gbit): {text!r}")
    return text


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few sizes, short batches, two repeats")
    command.add_options(parser, PARTS)
    parser.add_argument("--nodes", type=nodes, default="4,2,1,1", metavar="RANKS,...", help="of each host (4,2,1,1)")
    parser.add_argument("--rate", type=rate, help="the bandwidth of each cable: 1gbit ... (not limited)")
    parser.add_argument("--streams", type=command.listed(SIZE), metavar="BYTES,...", help="messages of the stream (64K,1M,4M)")
    parser.add_argument("--sizes", type=command.listed(SIZE), metavar="BYTES,...",
                        help="a rank's contribution (to each rank) in collectives (8,4K,64K,1M)")
    parser.add_argument("--partners", type=command.listed(str), default=["tutti", "ucx", "openmpi"], metavar="NAME,...",
                        help="the first is compared with the others; a partner that is not installed is left out")
    parser.add_argument("--repeats", type=command.positive, help="alternated starts (5)")
    parser.add_argument("--batch", type=float, help="seconds a batch lasts (0.2)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds until a program is killed (120)")
    parser.add_argument("--inside", metavar="FOLDER", help=argparse.SUPPRESS)  # in-hosts.sh passes
                                                                               # this option when it
                                                                               # runs this script
                                                                               # again
    chosen = command.parse_with_batch(parser)
    chosen.streams = sorted(set(chosen.streams or (QUICK_STREAMS if chosen.quick else STREAMS)))
    chosen.sizes = sorted(set(chosen.sizes or (QUICK_SIZES if chosen.quick else SIZES)))
    chosen.repeats = chosen.repeats or (2 if chosen.quick else 5)
    chosen.batch = chosen.batch or (0.02 if chosen.quick else 0.2)
    chosen.batches = 2 if chosen.quick else 3
    chosen.build = os.path.abspath(chosen.build)
    return chosen


def note(words):
    say(f"hosts: {words}")


# ---- Inside the hosts ----

def measure(chosen, folder):
    """Measures the chosen parts. Returns {table: document}."""
    documents = {}
    ranks = sum(map(int, chosen.nodes.split(",")))
    if "stream" in chosen.parts:
        members = far.between_two(chosen, folder, note)
        documents["stream"] = run("stream", among_options(chosen, chosen.streams, []), members, folder, None)
    if "pull" in chosen.parts:
        documents["pull"] = pulls(chosen, folder)
    collectives = [name for name in COLLECTIVES if name in chosen.parts]
    if collectives:
        members = far.on_all(chosen, folder, ranks, note)
        options = among_options(chosen, chosen.sizes, collectives)
        documents["collectives"] = run("collectives", options, members, folder, far.sockets(chosen, folder, ranks))
    return documents


def among_options(chosen, sizes, collectives):
    return argparse.Namespace(**{**vars(chosen), "sizes": sizes, "collectives": collectives, "latency": True})


def run(what, chosen, members, folder, machine):
    campaign = among.Campaign(f"hosts: {what}", chosen, members, folder, machine)
    campaign.measure()
    return campaign.document(BOUNDS)


def pulls(chosen, folder):
    """Measures the pulls. If one of the ways to pull fails, this part of the run ends, and the other
    parts go on.
    """
    try:
        return {**pull.measure(far.pulls(chosen, folder), chosen.repeats), "targets": [], "failures": []}
    except peers.Stop as why:
        note(why)
        return {"bytes": pull.BYTES, "mib_per_s": None, "targets": [], "failures": [str(why)]}


# ---- Outside the hosts ----

def enter(chosen, folder):
    """Runs this script again inside the hosts; returns what it measured."""
    result = os.path.join(folder, MEASURED)
    script = os.path.join(peers.HERE, "harness", "in-hosts.sh")
    again = [sys.executable, os.path.join(peers.HERE, "bench"), "hosts", *sys.argv[1:], "--build", chosen.build, "--inside", folder]
    entered = ["bash", script, chosen.nodes, chosen.rate or "-", *again]
    environment = {**os.environ, "TUTTI_BUILD": chosen.build}
    with open(os.path.join(folder, "said"), "w+", encoding="utf-8") as said:
        status = subprocess.run(entered, env=environment, stdin=subprocess.DEVNULL, stdout=said, check=False).returncode
        said.seek(0)
        words = said.read().strip()
    if status == SKIPPED:
        note(words)
        sys.exit(SKIPPED)
    if not os.path.exists(result):
        raise peers.Stop(f"nothing was measured (exit code {status}){': ' if words else ''}{words}")
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def words_of_pull(measured):
    if measured["failures"]:
        return []
    return [f"{pull.words(measured, ' between two hosts')}; TUTTI_REMOTE_KEYS=1 is set. Without this setting the origin "
            f"sends all data to one context: {pull.median(measured, 'sent')} MiB/s.", ""]


def text(documents, chosen):
    lines = [f"Hosts with {chosen.nodes} ranks; cables: {chosen.rate or 'not slowed down'}.", ""]
    titles = {"stream": "### Messages between two hosts", "collectives": "### Collectives on all of them"}
    for what, title in titles.items():
        if what in documents:
            lines += [title, "", *among.words_of_points(documents[what], "what")]
    if "pull" in documents:
        lines += words_of_pull(documents["pull"])
    return lines + words_of_targets([target for document in documents.values() for target in document["targets"]])


def hold(chosen, folder):
    """Checks the arguments before any host is made, measures, and writes the results."""
    command.check(chosen)
    far.check(chosen.partners, chosen.parts, chosen.build)
    documents = enter(chosen, folder)
    command.give(chosen, {"nodes": chosen.nodes, "rate": chosen.rate, **documents}, text(documents, chosen))
    return 1 if any(document["failures"] for document in documents.values()) else 0


def inside(chosen, _):
    """Runs inside the hosts: measures, and leaves the figures for the script outside."""
    output.write(os.path.join(chosen.inside, MEASURED), command.json_text(measure(chosen, chosen.inside)))
    return 0


def main():
    chosen = options()
    return command.run("hosts", inside if chosen.inside else hold, chosen)
