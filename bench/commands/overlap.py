# SPDX-License-Identifier: BSD-3-Clause
#
# Traces a real allreduce by `halving` on two processes and draws it: what each rank moves and
# reduces, and for which share of the time both ranks work at once.
#
#     bench/bench overlap [--build FOLDER] [--problem allreduce/f64/sum/4M/p2] [--svg overlap.svg]
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import output, peers

MOVES, COLOURS = ("read", "get", "copy"), {"move": "#4477aa", "reduce": "#ee6677"}


def run(command, environment):
    """Runs the command, which prints its own errors."""
    try:
        subprocess.run(command, env=environment, check=True, timeout=120, stdout=subprocess.DEVNULL)
    except OSError as why:
        raise peers.Stop(f"cannot run {command[0]}: {why.strerror}") from why
    except subprocess.CalledProcessError as why:
        raise peers.Stop(f"no trace: tutti bench exited with {why.returncode}") from why
    except subprocess.TimeoutExpired as why:
        raise peers.Stop(f"no trace: tutti bench did not end within {why.timeout} s") from why


def trace(build, problem):
    """The events of each rank of a short benchmark of the problem."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TUTTI_TRACE=folder)
        command = [f"{build}/bin/tutti", "bench", problem, "--algorithm", "halving",
                   "--iterations", "5"]
        run(command, environment)
        files = sorted(pathlib.Path(folder).glob("rank-*.json"))
        return [[event for event in json.loads(file.read_text()) if event["ph"] == "X" and event["cat"] == "step"]
                for file in files]


def execution_spans(events):
    """Returns {execution: (begin, end)} in microseconds for the executions that reduce."""
    spans, reducing = {}, {e["args"]["execution"] for e in events if e["name"] == "reduce"}
    for e in events:
        if e["args"]["execution"] not in reducing or e["name"] in ("read", "write"):
            continue
        begin, end = spans.get(e["args"]["execution"], (e["ts"], e["ts"]))
        spans[e["args"]["execution"]] = (min(begin, e["ts"]), max(end, e["ts"] + e["dur"]))
    return spans


def pieces(events, execution, window):
    """The moves and reductions as (begin, end, what). Moves inside a reduction are cut out of it.
    """
    inside = [e for e in events if window[0] <= e["ts"] <= window[1]]
    moves = [(e["ts"], e["ts"] + e["dur"], "move") for e in inside if e["name"] in MOVES]
    result = list(moves)
    for e in inside:
        if e["name"] != "reduce" or e["args"]["execution"] != execution:
            continue
        at = e["ts"]
        for begin, end, _ in sorted(m for m in moves if e["ts"] <= m[0] < e["ts"] + e["dur"]):
            result.append((at, begin, "reduce"))
            at = end
        result.append((at, e["ts"] + e["dur"], "reduce"))
    return sorted(p for p in result if p[1] > p[0])


def covered(ranks, window, steps=4000):
    """The shares of the window in which at least one rank, and all ranks, move or reduce."""
    one = both = 0
    width = (window[1] - window[0]) / steps
    for i in range(steps):
        t = window[0] + (i + 0.5) * width
        busy = sum(any(b <= t < e for b, e, _ in rank) for rank in ranks)
        one += busy > 0
        both += busy == len(ranks)
    return one / steps, both / steps


def draw(ranks, window, problem, both):
    width, left, scale = 960, 70, 880 / (window[1] - window[0])
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{90 + 50 * len(ranks)}"'
           ' font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="22">{problem} by halving, a real run: both ranks at work in '
           f'{100 * both:.0f} % of {window[1] - window[0]:.0f} us</text>']
    for r, rank in enumerate(ranks):
        y = 40 + 50 * r
        out.append(f'<text x="10" y="{y + 24}">rank {r}</text>')
        for begin, end, what in rank:
            x = left + (begin - window[0]) * scale
            out.append(f'<rect x="{x:.2f}" y="{y}" width="{max(0.4, (end - begin) * scale):.2f}" '
                       f'height="38" fill="{COLOURS[what]}"/>')
    for i, (what, colour) in enumerate(COLOURS.items()):
        y = 50 + 50 * len(ranks)
        out.append(f'<rect x="{left + 110 * i}" y="{y}" width="14" height="14" fill="{colour}"/>')
        out.append(f'<text x="{left + 20 + 110 * i}" y="{y + 12}">{what}</text>')
    return "\n".join(out + ["</svg>\n"])


def overlap(options):
    output.check(options.svg)
    events = trace(options.build, options.problem)
    spans = [execution_spans(e) for e in events]
    if len(events) < 2 or not spans[0]:
        raise peers.Stop("the trace holds no reduction of two ranks")
    # The ranks were disturbed least in the execution that took the shortest time.
    execution = min(spans[0], key=lambda k: spans[0][k][1] - spans[0][k][0])
    window = (min(s[execution][0] for s in spans), max(s[execution][1] for s in spans))
    ranks = [pieces(e, execution, window) for e in events]
    one, both = covered(ranks, window)
    output.write(options.svg, draw(ranks, window, options.problem, both))
    print(f"execution {execution}: {window[1] - window[0]:.0f} us; some rank moves or reduces in "
          f"{100 * one:.0f} % of it, both at once in {100 * both:.0f} %; drawn in {options.svg}")


def main():
    parser = argparse.ArgumentParser(description="draw a real run of halving on two ranks")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--problem", default="allreduce/f64/sum/4M/p2")
    parser.add_argument("--svg", default="overlap.svg")
    try:
        overlap(parser.parse_args())
    except peers.Stop as why:
        sys.exit(f"overlap: {why}")
    return 0
