# SPDX-License-Identifier: BSD-3-Clause
"""The nonblocking and persistent collectives of an MPI, the host, without Tutti and with it.

later.c times them. Starts without Tutti and with it take turns. A figure is the median over the
starts of one way.
"""
import statistics

from harness import peers, report, table, under
from harness.alternate import alternate
from harness.campaign import in_order, parse, say

CALLS = ("nonblocking", "persistent")
FIGURES = ("us", "start_us", "overlap")
WAYS = ("without", "on")  # the modes of under.Under that are compared


class Later:
    """The measurements over a host: {(calls, collective, ranks, bytes): {way: lines of the starts}},
    the starts that failed, and the calls that Tutti took: {function: (calls, taken)}.
    """

    def __init__(self, host):
        self.host, self.lines, self.failures, self.taken = host, {}, [], {}

    def add(self, calls, way, line):
        key = calls, line["collective"], line["ranks"], line["bytes"]
        self.lines.setdefault(key, {}).setdefault(way, []).append(line)

    def add_report(self, found):
        for row in (found or {}).get("calls", []):
            name = row["function"]
            if name.startswith("MPI_I") or name.endswith("_init"):
                calls, taken = self.taken.get(name, (0, 0))
                self.taken[name] = calls + row["calls"], taken + row.get("taken", 0)

    def took_nothing(self):
        return not any(taken for _, taken in self.taken.values())

    def figures(self, key, way):
        """{figure: median}; empty if a result of the MPI was wrong, or a start failed."""
        lines = self.lines[key].get(way, [])
        if not lines or any("wrong" in line for line in lines):
            return {}
        return {name: statistics.median(line[name] for line in lines) for name in FIGURES}

    def wrong(self, way):
        return sorted(key for key, ways in self.lines.items() if any("wrong" in line for line in ways.get(way, [])))


def start(later, peer, ranks, calls, way, points, chosen, folder, counts=False):
    """Starts the program. With `counts` it makes few calls, and Tutti reports which it takes."""
    batch = 1e-4 if counts else chosen.batch * max(1.0, ranks / peers.cores())
    arguments = ["-t", f"{batch:.6f}", "-l", f"{chosen.limit:.1f}", "-b", "1" if counts else str(chosen.batches),
                 *(["-p"] if calls == "persistent" else []), *in_order(points)]
    started, setting = under.Under(chosen.build), peer.settings(ranks)[0]
    words = [*([started.tutti, "mpi"] if way == "on" else []), *peer.command("later", ranks, setting, arguments)]
    environment = {"TMPDIR": folder, "TUTTI_MPI": "take", **({} if counts else {"TUTTI_MPI_REPORT": ""}), **setting[2]}
    result, found = started.run(way, words, chosen.limit + 60, folder, environment=environment)
    if counts:
        later.add_report(found)
    for line in filter(None, map(parse, [] if counts else result.lines)):
        later.add(calls, way, line)
    if result.failure:
        later.failures.append(f"{peer.title}, {ranks} ranks, {calls} calls, "
                              f"{'with' if way == 'on' else 'without'} Tutti: {result.failure}: {' '.join(result.words)}")
        say(f"mpi: {later.failures[-1]}")


def measure(peer, host, points, chosen, folder):
    later = Later(host)
    peer.build(folder, ["later"])
    kinds = [calls for calls in CALLS if calls in chosen.calls]
    for ranks in chosen.ranks:
        for calls in kinds:
            start(later, peer, ranks, calls, "on", points, chosen, folder, counts=True)

    def turn(_):
        for ranks in chosen.ranks:
            for calls in kinds:
                for way in WAYS:
                    start(later, peer, ranks, calls, way, points, chosen, folder)
    alternate(chosen.repeats, [turn], lambda words: say(f"mpi: {peer.title}: {words}"))
    return later


def cells(without, with_tutti):
    """The cells of a row after the point."""
    faster = without["us"] / with_tutti["us"] if without and with_tutti else None
    found = [faster] + [one.get(name) for name in ("start_us", "overlap") for one in (with_tutti, without)]
    times = [one.get("us") for one in (with_tutti, without)]
    return ["-" if value is None else table.number(value) for value in times + found]


def tables(later):
    title, lines = under.TITLES[later.host], []
    header = ["collective", "ranks", "bytes", "with Tutti, us", f"{title}, us", "faster", "start with Tutti, us",
              f"start, {title}, us", "overlap with Tutti, %", f"overlap, {title}, %"]
    for calls in CALLS:
        body = [[key[1], str(key[2]), report.size_text(key[3]), *cells(*(later.figures(key, way) for way in WAYS))]
                for key in sorted(later.lines) if key[0] == calls]
        if body:
            lines += [f"### {calls} calls, {title}", "", *table.aligned(header, body), ""]
    if later.took_nothing():
        lines.append(f"- **Nothing was taken over {title}**: Tutti's report names no call that it took. So the figures compare "
                     "the host with itself.")
    for name, (calls, taken) in sorted(later.taken.items()):
        lines += [f"- Tutti took {taken:g} of {calls:g} calls of {name}"] if taken < calls else []
    for way, words in zip(WAYS, (f"{title} alone", "Tutti")):
        wrong = [report.problem(name, size, ranks) + f" ({calls})" for calls, name, ranks, size in later.wrong(way)]
        lines += [f"- wrong results of {words}: {', '.join(wrong)}"] if wrong else []
    lines += [f"- {failure}" for failure in later.failures]
    return lines + [""]


def failed(later):
    return bool(later.failures or later.wrong("on") or later.took_nothing())


def document(later):
    return {"host": later.host, "failures": later.failures, "taken": later.taken,
            "points": [{"calls": key[0], "collective": key[1], "ranks": key[2], "bytes": key[3],
                        "with": later.figures(key, "on"), "without": later.figures(key, "without")}
                       for key in later.lines]}
