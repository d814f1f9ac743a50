# SPDX-License-Identifier: BSD-3-Clause
"""Counts the collective calls of programs that Debian packages have, over Open MPI and MPICH.

Each program runs on four ranks with an input of its package or of bench/programs, without Tutti and
then under `tutti mpi --count`. A program that is not installed, fails, or lasts too long is named
with the reason. Counts depend on the program only, so that they can be taken on a busy machine; the
times that the reports have are not shown.
"""
import argparse
import collections
import datetime
import os
import textwrap

from harness import command, output, peers, programs, results, under

RANKS = 4
# The table of a program has at most MOST_ROWS rows, those with the most calls.
MOST_ROWS = 12


def count(entry, started, options):
    """Returns the report of a program, which must also run without Tutti."""
    programs.check(entry)
    try:
        programs.run(entry, started, "without", RANKS, options)
    except programs.Failed as why:
        raise programs.Failed(f"without Tutti: {why}") from why
    report = programs.run(entry, started, "count", RANKS, options).report
    if not report:
        raise programs.Failed("wrote no report")
    return report


# ---- Tables ----


def grouped(report):
    """Adds up the rows of a report over communicators and sizes. Returns {(function, type,
    operation, ranks): (calls, least and most bytes of a call, bytes of all calls)}.
    """
    groups = {}
    for row in report["calls"]:
        key = row["function"], row["type"] or "-", row["operation"] or "-", row["ranks"]
        calls, least, most, moved = groups.get(key, (0, row["bytes_least"], 0, 0))
        groups[key] = (calls + row["calls"], min(least, row["bytes_least"]),
                       max(most, row["bytes_most"]), moved + row["bytes"])
    return groups


def size(n):
    for unit in ("", "K", "M", "G"):
        if n < 1024 or unit == "G":
            return f"{n:.4g}{unit}"
        n /= 1024
    return ""


def median_bytes(report):
    """The median of the bytes over all calls, where each call counts with the most bytes of its row."""
    rows = sorted((row["bytes_most"], row["calls"]) for row in report["calls"])
    half = sum(calls for _, calls in rows) / 2
    for most, calls in rows:
        half -= calls
        if half <= 0:
            return most
    return 0


def program_table(entry, report):
    groups = sorted(grouped(report).items(), key=lambda item: -item[1][0])
    comms = ", ".join(f"{row['number']:g} of {row['ranks']} ranks" + (f" ({row['communicator']})" if row["communicator"] else "")
                      for row in report["communicators"])
    lines = [f"### {entry.name}, {report['mpi']}", "",
             *textwrap.wrap(f"Communicators that were used: {comms or 'none'}.", 100), ""]
    lines += ["| function | type | operation | ranks | calls | bytes of a rank in a call | bytes, all |",
              "|---|---|---|---|---|---|---|"]
    for (function, kind, op, ranks), (calls, least, most, moved) in groups[:MOST_ROWS]:
        sizes = size(least) if least == most else f"{size(least)} to {size(most)}"
        lines.append(f"| {function} | {kind} | {op} | {ranks} | {calls:g} | {sizes} | {size(moved)} |")
    if len(groups) > MOST_ROWS:
        rest = groups[MOST_ROWS:]
        lines.append(f"| {len(rest)} more rows | | | | {sum(g[0] for _, g in rest):g} | | {size(sum(g[3] for _, g in rest))} |")
    return lines + [""]


def summary(found):
    """In how many programs a function is called, and how often."""
    programs, calls, short = collections.Counter(), collections.Counter(), collections.Counter()
    for _, report in found:
        for function in {row["function"] for row in report["calls"]}:
            programs[function] += 1
        for row in report["calls"]:
            calls[row["function"]] += row["calls"]
            short[row["function"]] += row["calls"] if row["bytes_most"] <= 1024 else 0
    lines = ["| function | programs that call it | calls | of them up to 1 KiB |", "|---|---|---|---|"]
    for function, n in sorted(programs.items(), key=lambda item: (-item[1], -calls[item[0]])):
        lines.append(f"| {function} | {n} of {len(found)} | {calls[function]:g} | {100 * short[function] / calls[function]:.0f} % |")
    return lines + [""]


def page(found, failed, build):
    now = datetime.date.today().isoformat()
    lines = [f"# What MPI programs call, {now}", "",
             f"The collective calls that `tutti mpi --count` counted in programs from Debian packages, on {RANKS}",
             "ranks (NetPIPE: on two), each with an input of its package or of `bench/programs`. Calls of MPI-IO",
             "and other internal calls are not among them. A call of all ranks of a communicator counts once.", "",
             "```text",
             results.command_line()[1], *results.versions(build), "```", "", "## All programs", "", *summary(found)]
    lines += ["| program | over | calls | median bytes | communicators |", "|---|---|---|---|---|"]
    for entry, report in found:
        calls = sum(row["calls"] for row in report["calls"])
        comms = sum(row["number"] for row in report["communicators"])
        lines.append(f"| {entry.name} | {report['mpi']} | {calls:g} | {size(median_bytes(report))} | {comms:g} |")
    if failed:
        lines += ["", "Without counts:", "", *(f"- {entry.name} over {entry.host}: {why}" for entry, why in failed)]
    lines += ["", "## Each program", ""]
    for entry, report in found:
        lines += program_table(entry, report)
    return "\n".join(lines).rstrip("\n") + "\n"


def counts(options, _):
    started = under.Under(options.build)
    file = os.path.join(options.results, f"{datetime.date.today().isoformat()}-mpi-counts.md")
    output.check(file)
    found, failed = [], []
    for entry in programs.matching(options.programs):
        try:
            report = count(entry, started, options)
            found.append((entry, report))
            print(f"{entry.name} over {entry.host}: {sum(row['calls'] for row in report['calls']):g} calls", flush=True)
        except programs.Failed as why:
            failed.append((entry, why))
            print(f"{entry.name} over {entry.host}: {why}", flush=True)
    if not found:
        raise peers.Stop("no program could be counted")
    output.write(file, page(found, failed, options.build))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", metavar="FOLDER", help="where Tutti is built (%(default)s)")
    programs.option(parser)
    parser.add_argument("--results", default=results.FOLDER, metavar="FOLDER", help="where the page DATE-mpi-counts.md goes")
    return command.run("counts", counts, parser.parse_args())
