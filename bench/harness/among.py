# SPDX-License-Identifier: BSD-3-Clause
"""Compares the figures of the first of several partners with those of the others.

A point is (measure, bytes). Each repeat starts every partner once, one after the other. The first
partner is compared with each of the others by the median of the ratios within a repeat; the worst
of these ratios counts.
"""
import functools
import os
import platform
import statistics
from collections import defaultdict

from harness import peers, process, report
from harness.alternate import alternate
from harness.campaign import geometric_mean, parse, say
from harness.table import aligned, number


def is_rate(measure):
    """Whether the measure is a rate; all other measures are times in microseconds."""
    return measure in ("bandwidth", "one-place")


TITLES = {"line": "line exchange", "memcpy": "memcpy", "cma": "CMA", "sockets": "sockets alone"}


class Machine:
    """The limits of the machine itself, measured by bench/machine.c without rotation, as for
    messages.

    Limits have the names in TITLES. They are in microseconds.
    """

    def measure(self, chosen, folder):
        """Returns {(limit, bytes): us}."""
        program = os.path.join(chosen.build, "bench", "bench-machine")
        command = [program, str(4 * max(chosen.sizes)), ",".join(map(str, chosen.sizes))]
        result = process.run(command, chosen.timeout, {"TMPDIR": folder})
        if result.failure:
            raise peers.Stop(f"{' '.join(command)}: {result.failure}: {' '.join(result.words)}")
        lines = filter(None, map(parse, result.lines))
        return {(line["limit"], line.get("bytes", 8)): line["us"] for line in lines if line["us"] and line.get("buffers", "same") == "same"}

    def names(self, measure):
        """The names of the limits that are shown beside a measure."""
        return ["line"] if measure == "latency" else ["memcpy", "cma"]


class Campaign:
    """The measurements of all partners.

    `name` is the name of the script. `machine` measures the limits, as Machine does; None: without
    limits.
    """

    def __init__(self, name, chosen, members, folder, machine):
        self.name, self.chosen, self.members, self.folder, self.machine = name, chosen, members, folder, machine
        self.values = defaultdict(list)  # (partner, point) -> [(repeat, value)]
        self.limits = defaultdict(list)  # (limit, bytes) -> [value]
        self.failures, self.given_up = [], set()
        self.load = os.getloadavg()[0]

    # ---- Measuring ----

    def measure(self):
        starts = [self.measure_limits] if self.machine else []
        starts += [functools.partial(self.measure_member, member) for member in self.members]
        alternate(self.chosen.repeats, starts, lambda words: say(f"{self.name}: {words}"))

    def measure_member(self, member, repeat):
        if member.name in self.given_up:
            return
        try:
            found = member.measure(self.chosen, self.folder)
        except peers.Stop as why:
            say(f"{self.name}: {why}")
            self.failures.append(str(why))
            self.given_up.add(member.name)
            return
        for point, value in found.items():
            self.values[member.name, point].append((repeat, value))

    def measure_limits(self, _):
        for limit, us in self.machine.measure(self.chosen, self.folder).items():
            self.limits[limit].append(us)

    # ---- Reporting ----

    def points(self):
        return sorted({point for _, point in self.values}, key=lambda point: (point[0] != "latency", *point))

    def row(self, point):
        base, worst = self.members[0], None
        row = {"measure": point[0], "bytes": point[1], "unit": "MiB/s" if is_rate(point[0]) else "us", "values": {}, "runs": {}, "ratios": {},
               "limits": self.limits_of(point)}
        for member in self.members:
            runs = self.values.get((member.name, point))
            if not runs:
                continue
            row["values"][member.name] = round(statistics.median(value for _, value in runs), 4)
            row["runs"][member.name] = [value for _, value in runs]
            if member.family != base.family:
                ratio = self.ratio(base.name, member.name, point)
                row["ratios"].update({member.name: round(ratio, 6)} if ratio else {})
        if row["ratios"]:
            worst = min if is_rate(point[0]) else max
            row["best"] = worst(row["ratios"], key=row["ratios"].get)
            row["ratio"] = row["ratios"][row["best"]]
        return row

    def ratio(self, base, other, point):
        pairs = report.ratios(self.values.get((other, point), []), self.values.get((base, point), []))
        return statistics.median(pairs) if pairs else None

    def limits_of(self, point):
        """The limits of a point, in the unit of the point."""
        measure, size = point
        found = {}
        for name in self.machine.names(measure) if self.machine else []:
            us = self.limit(name, size)
            found[name] = round(size / us * 1e6 / (1 << 20), 1) if us and is_rate(measure) else us
        return found

    def limit(self, name, size):
        times = self.limits.get((name, size))
        return round(statistics.median(times), 4) if times else None

    def document(self, bounds):
        """Returns the results for JSON. `bounds` is {measure: bound of the ratio}, for the targets."""
        rows = [self.row(point) for point in self.points()]
        return {"machine": {"cores": peers.cores(), "kernel": platform.release(), "load": self.load},
                "method": {"repeats": self.chosen.repeats, "batch_seconds": self.chosen.batch,
                           "order": [member.name for member in self.members]},
                "families": {member.family: member.title for member in self.members},
                "points": rows, "failures": self.failures, "targets": targets_of(rows, bounds)}


def targets_of(rows, bounds):
    """The targets of each point, and those of all sizes of a collective together."""
    held = [row for row in rows if "ratio" in row and row["measure"] in bounds]
    targets = [target_of(row, bounds[row["measure"]]) for row in held]
    for measure in dict.fromkeys(row["measure"] for row in held if row["unit"] == "us"):
        of_measure = [row for row in held if row["measure"] == measure]
        if len(of_measure) > 1:
            targets.append(mean_target(measure, of_measure, bounds[measure]))
    return targets


def mean_target(measure, rows, bound):
    """The target for all sizes of a collective together. Each size counts against its best partner."""
    mean = geometric_mean(1 / row["ratio"] for row in rows)
    return report.target(f"{measure}, geometric mean of {len(rows)} sizes, times as fast as the best", mean, bound, at_least=True)


def target_of(row, bound):
    measure, size, best = row["measure"], report.size_text(row["bytes"]), row["best"]
    if measure == "latency":
        return report.target(f"latency of {size} bytes, one way, divided by the time of {best}", row["ratio"], bound)
    if is_rate(measure):
        where = " from one place" if measure == "one-place" else ""
        return report.target(f"bandwidth at {size}{where}, divided by that of {best}", row["ratio"], bound, at_least=True)
    return report.target(f"{measure} of {size}, times as fast as {best}", 1 / row["ratio"], bound, at_least=True)


def best_of(row, family):
    """Returns the median of the best setting of a family (a library) at this point, or None."""
    mine = [value for name, value in row["values"].items() if name.split(":")[0] == family]
    return (max if is_rate(row["measure"]) else min)(mine) if mine else None


def name_of(row):
    size = report.size_text(row["bytes"])
    names = {"latency": f"{size} bytes, one way, us", "bandwidth": f"{size}, MiB/s", "one-place": f"{size} from one place, MiB/s"}
    return names.get(row["measure"], f"{row['measure']} of {size}, us")


def words_of_points(document, title):
    families = document["families"]
    shown = {limit for row in document["points"] for limit in row["limits"]}
    limits = {limit: title for limit, title in TITLES.items() if limit in shown}
    header = [title, *families.values(), "ratio to the best", "which is", *limits.values()]
    body = [[name_of(row), *(number(best_of(row, family)) for family in families), number(row.get("ratio")),
             row.get("best", "-"), *(number(row["limits"].get(limit)) for limit in limits)]
            for row in document["points"]]
    return [*aligned(header, body), "",
            f"{document['method']['repeats']} alternated starts, medians; load before: "
            f"{document['machine']['load']:.2f}.", ""]
