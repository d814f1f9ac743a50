# SPDX-License-Identifier: BSD-3-Clause
"""Compares the times that the model of this machine predicts with measured ones.

Each repeat calibrates, predicts the time of each algorithm that applies, and times it with `tutti
bench`. The measured time is the median of the batches of calls. The error of a point is the median
over the repeats. The command also says what each way to choose costs: the measured time of what it
chooses, divided by that of the fastest algorithm.

A host may move the processors of a virtual machine, which changes the times of exchanging a cache
line, of accesses to the caches, and of messages. So the command calibrates before and after the
points of each collective and number of ranks. If the exchange of a line, or with --nodes a message,
took another time afterwards, it measures these points again, up to three times in all (--tries). It
prints for how many of these groups of points the machine changed in the last measurement, too. With
--tries 0 it calibrates only once in each repeat, and does not look whether the machine changes.

With --nodes, the ranks act as on several nodes, which have equally many ranks and send each other messages over the
network library. The calibration then measures these messages, too.
"""
import argparse
import json
import math
import os
import statistics

from harness import chart, command, output, peers, process, report, table
from harness.alternate import alternate
from harness.campaign import geometric_mean, say

COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce", "reduce_scatter_block", "gather", "allgather", "alltoall",
               "scatter", "scan", "exscan"]
SIZES = [8, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20]
NEAR = 0.15
STEADY = 1.3  # if two measured times differ by less than this factor, the machine has not changed
# The lines of a model, and the column, with a time that shows whether the machine changes:
# exchanging a line; with --nodes also messages of 8 bytes and of 64 KiB
SHOWING = {"a line": ("line", 1), "a message of 8 bytes": ("wire_time", 1), "a message of 64K": ("wire_time", 6)}
SIDE = 420


def collective(text):
    if text not in COLLECTIVES:
        raise argparse.ArgumentTypeError(f"no collective is called {text!r}: there are {', '.join(COLLECTIVES)}")
    return text


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    command.add_options(parser)
    parser.add_argument("--collectives", type=command.listed(collective), default=COLLECTIVES, metavar="NAME,...")
    parser.add_argument("--ranks", type=command.listed(command.positive), metavar="N,...",
                        help="numbers of ranks (2,4,8,16; with --nodes: 1 and 2 ranks on each node)")
    parser.add_argument("--nodes", type=command.positive, default=1, metavar="N", help="how many nodes the ranks act on (1)")
    parser.add_argument("--least", action="store_true",
                        help="compare with the least time of the batches, and not with the median: for a busy machine")
    parser.add_argument("--sizes", type=command.listed(command.size("from 8 to 64M, a multiple of 8", 64 << 20, 8)),
                        default=SIZES, metavar="BYTES,...")
    parser.add_argument("--repeats", type=command.positive, default=3, help="calibrations, each with all points (3)")
    parser.add_argument("--tries", type=command.whole, default=3,
                        help="how often a group of points is measured at most if the machine changes meanwhile (3); 0: do "
                        "not look whether it changes")
    parser.add_argument("--first-use", action="store_true",
                        help="the model that a job measures on first use, instead of that of `tutti calibrate`")
    parser.add_argument("--time", type=float, default=0.05, help="seconds of measuring for an algorithm (0.05)")
    parser.add_argument("--batch", type=float, default=0.0005, help="seconds of a batch of calls (0.0005)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds until a program is killed (120)")
    parser.add_argument("--svg", metavar="FILE", help="draw the points")
    chosen = command.parse_with_batch(parser)
    chosen.ranks = chosen.ranks or ([2, 4, 8, 16] if chosen.nodes == 1 else [chosen.nodes, 2 * chosen.nodes])
    uneven = [ranks for ranks in chosen.ranks if ranks % chosen.nodes]
    if uneven:
        parser.error(f"{uneven[0]} ranks cannot be divided evenly among {chosen.nodes} nodes")
    return chosen


def times_of(model):
    """Returns the times of a model that SHOWING names, if the model has them."""
    lines = {words[0]: words for words in map(str.split, model) if words}
    return {what: int(lines[name][at]) for what, (name, at) in SHOWING.items() if name in lines}


def changes(before, now):
    """Says which of the times changed; "": none."""
    changed = [what for what in before.keys() & now.keys()
               if max(before[what], now[what]) > STEADY * min(before[what], now[what])]
    return "; ".join(f"{what} takes {now[what]} ps, before {before[what]} ps" for what in sorted(changed))


class Predictions:
    def __init__(self, chosen, folder):
        self.chosen = chosen
        self.tutti = os.path.join(chosen.build, "bin", "tutti")
        self.settings = {"TUTTI_MACHINE": os.path.join(folder, "predict.machine")}
        if chosen.nodes > 1:
            self.settings["TUTTI_WIRE"] = "1"
        self.points = {}  # (collective, bytes, ranks, algorithm): [(predicted, measured)]
        self.picked = {}  # (collective, bytes, ranks): {way: algorithm}
        self.groups = self.unsteady = 0  # (collective, ranks) measured; those during which the machine changed
        self.times = {}  # the times of the last calibration that SHOWING names, in ps

    def run(self, words, settings=None):
        """Returns the output of a command, parsed if it is JSON, else as lines; None after an error, which is
        printed."""
        result = process.run([self.tutti, *words], self.chosen.timeout, {**self.settings, **(settings or {})})
        if result.failure:
            say(f"tutti {' '.join(words)} {result.failure}: {' '.join(result.words)}")
            return None
        return json.loads("\n".join(result.lines)) if "--json" in words else result.lines

    def nodes(self, ranks):
        """The setting by which ranks act as on several nodes; without --nodes: no setting."""
        n = self.chosen.nodes
        return {"TUTTI_NODES": ",".join([str(ranks // n)] * n)} if n > 1 else {}

    def explain(self, problem, way, ranks):
        return self.run(["explain", "--json", problem], {"TUTTI_CHOICE": way, **self.nodes(ranks)})

    def measure(self, problem, ranks):
        rows = self.run(["bench", problem, "-a", "all", "--json", "-", "--time", str(self.chosen.time), "--batch",
                         str(self.chosen.batch)], self.nodes(ranks))
        return {row["algorithm"]: row["min_us" if self.chosen.least else "median_us"] for row in rows or []}

    def calibrate(self):
        """Measures the model. Returns a text that says which times have changed; "": none."""
        if self.chosen.first_use:
            self.calibrate_briefly()
        elif self.run(["calibrate"]) is None:
            raise peers.Stop("tutti calibrate failed")
        network = ["run", "-n", "2", self.tutti, "calibrate", "--network"]
        if self.chosen.nodes > 1 and self.run(network, {"TUTTI_NODES": "1,1"}) is None:
            raise peers.Stop("tutti calibrate --network failed")
        with open(self.settings["TUTTI_MACHINE"]) as model:
            before, self.times = self.times, times_of(model)
        return changes(before, self.times)

    def calibrate_briefly(self):
        """Lets a job measure the model. If other programs disturb it, the job does not keep the model."""
        path = self.settings["TUTTI_MACHINE"]
        for _ in range(10):
            if os.path.exists(path):
                os.remove(path)
            if self.run(["bench", "barrier/p2", "--json", "-", "--time", "0.001"], {"TUTTI_CHOICE": "estimate"}) is None:
                raise peers.Stop("tutti bench failed")
            if os.path.exists(path):
                return
        raise peers.Stop("other programs disturb the job that measures the model")

    def point(self, name, size, ranks):
        """Returns {algorithm: (predicted us, measured us)}, and {way to choose: chosen algorithm}."""
        problem = report.problem(name, size, ranks)
        ways = {way: self.explain(problem, way, ranks) for way in ("table", "estimate")}
        if not all(ways.values()):
            return {}, {}
        measured = self.measure(problem, ranks)
        times = {row["algorithm"]: (row["predicted_us"], measured[row["algorithm"]])
                 for row in ways["table"]["candidates"] if "predicted_us" in row and row["algorithm"] in measured}
        return times, {way: found["algorithm"] for way, found in ways.items()}

    def group(self, name, ranks):
        for _ in range(max(1, self.chosen.tries)):
            found = {size: self.point(name, size, ranks) for size in ([0] if name == "barrier" else self.chosen.sizes)}
            changed = self.calibrate() if self.chosen.tries else ""
            if not changed:
                break
            say(f"the machine changed during {name} on {ranks} ranks: {changed}")
        self.groups += 1
        self.unsteady += bool(changed)
        for size, (times, picked) in found.items():
            for algorithm, pair in times.items():
                self.points.setdefault((name, size, ranks, algorithm), []).append(pair)
                self.picked[(name, size, ranks)] = picked

    def repeat(self, _):
        self.calibrate()
        for name in self.chosen.collectives:
            for ranks in self.chosen.ranks:
                self.group(name, ranks)


# ---- Errors ----

def row_of(key, pairs):
    name, size, ranks, algorithm = key
    predicted, measured = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    error = statistics.median(abs(p / m - 1) for p, m in pairs)
    return {"collective": name, "bytes": size, "ranks": ranks, "algorithm": algorithm, "predicted_us": predicted,
            "measured_us": measured, "error": error}


def summary_of(rows):
    errors = [row["error"] for row in rows]
    return {"points": len(rows), "median_error": statistics.median(errors),
            "within": sum(error <= NEAR for error in errors) / len(errors),
            "ratio": geometric_mean([row["predicted_us"] / row["measured_us"] for row in rows])}


def losses_of(rows, picked):
    """Returns the cost of each way to choose at each point: {way: [time / time of the fastest]}."""
    times, losses = {}, {"table": [], "estimate": []}
    for row in rows:
        key = (row["collective"], row["bytes"], row["ranks"])
        times.setdefault(key, {})[row["algorithm"]] = row["measured_us"]
    for key, by_algorithm in times.items():
        for way, algorithm in picked[key].items():
            if all(other in by_algorithm for other in picked[key].values()):
                losses[way].append({"point": report.problem(*key), "algorithm": algorithm,
                                    "loss": by_algorithm[algorithm] / min(by_algorithm.values())})
    return losses


def words_of_losses(losses):
    lines = []
    for way, rows in losses.items():
        if rows:
            worst = max(rows, key=lambda row: row["loss"])
            lines.append(f"What the {way} chooses takes {geometric_mean([row['loss'] for row in rows]):.3f} times as long "
                         f"as the fastest algorithm (geometric mean of {len(rows)} points); at worst "
                         f"{worst['loss']:.2f}: {worst['algorithm']} for {worst['point']}.")
    return lines


def words_of(rows, losses, ranks, collectives):
    head = ["collective", "ranks", "points", "median error", f"within {NEAR:.0%}", "predicted / measured"]
    lines = []
    for name in collectives:
        for p in ranks:
            mine = [row for row in rows if row["collective"] == name and row["ranks"] == p]
            if mine:
                s = summary_of(mine)
                lines.append([name, str(p), str(s["points"]), f"{s['median_error']:.0%}", f"{s['within']:.0%}",
                              f"{s['ratio']:.2f}"])
    every = summary_of(rows)
    lines.append(["all", "", str(every["points"]), f"{every['median_error']:.0%}", f"{every['within']:.0%}",
                  f"{every['ratio']:.2f}"])
    return [*table.aligned(head, lines), "", *words_of_losses(losses)]


# ---- Picture: predicted over measured ----

def svg(rows, ranks):
    values = [value for row in rows for value in (row["predicted_us"], row["measured_us"])]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    left, top = 64, 64

    def x(value):
        return left + SIDE * (math.log10(value) - low) / (high - low)

    def y(value):
        return top + SIDE - SIDE * (math.log10(value) - low) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + SIDE + 40}" height="{top + SIDE + 60}" '
           'font-family="sans-serif">', '<rect width="100%" height="100%" fill="white"/>',
           chart.text(left, 24, "Predicted over measured time of a call, in microseconds", 14, "start",
                      'font-weight="bold"'),
           chart.text(left + SIDE / 2, top + SIDE + 44, "measured"),
           chart.text(14, top + SIDE / 2, "predicted", extra=f'transform="rotate(-90 14 {top + SIDE / 2})"')]
    for power in range(low, high + 1):
        value = 10.0 ** power
        out += [chart.line(x(value), top, x(value), top + SIDE, "#e4e4e4"),
                chart.line(left, y(value), left + SIDE, y(value), "#e4e4e4"),
                chart.text(x(value), top + SIDE + 16, f"{value:g}"),
                chart.text(left - 6, y(value) + 4, f"{value:g}", anchor="end")]
    first, last = 10.0 ** low, 10.0 ** high
    for factor, dash in ((1, ""), (1 - NEAR, 'stroke-dasharray="3 3"'), (1 + NEAR, 'stroke-dasharray="3 3"')):
        begin, end = max(first, first / factor), min(last, last / factor)
        out.append(chart.line(x(begin), y(begin * factor), x(end), y(end * factor), "#777", dash))
    for p, color in zip(ranks, chart.COLORS):
        out += [f'<circle cx="{x(row["measured_us"]):.1f}" cy="{y(row["predicted_us"]):.1f}" r="2.5" fill="{color}" '
                f'fill-opacity="0.7"><title>{row["algorithm"]} of '
                f'{report.problem(row["collective"], row["bytes"], row["ranks"])}</title></circle>'
                for row in rows if row["ranks"] == p]
        at = left + 90 * ranks.index(p)
        out += [f'<circle cx="{at + 5}" cy="44" r="4" fill="{color}"/>', chart.text(at + 14, 48, f"{p} ranks", 12, "start")]
    return "\n".join([*out, "</svg>", ""])


def hold(chosen, folder):
    command.check(chosen, chosen.svg)
    predictions = Predictions(chosen, folder)
    alternate(chosen.repeats, [predictions.repeat], say)
    rows = [row_of(key, pairs) for key, pairs in predictions.points.items()]
    if not rows:
        raise peers.Stop("nothing was measured")
    losses = losses_of(rows, predictions.picked)
    steady = (f"Of {predictions.groups} rows, {predictions.unsteady} were measured while the machine changed."
              if chosen.tries else "Nobody looked whether the machine changed.")
    command.give(chosen, {"points": rows, "summary": summary_of(rows), "losses": losses,
                          "groups": predictions.groups, "unsteady": predictions.unsteady if chosen.tries else None},
                 [*words_of(rows, losses, chosen.ranks, chosen.collectives), steady])
    if chosen.svg:
        output.write(chosen.svg, svg(rows, chosen.ranks))
    return 0


def main():
    return command.run("predict", hold, options())
