# SPDX-License-Identifier: BSD-3-Clause
"""Turns times into rows, means and targets, for JSON and for tables.

The speed-up of a point is the median, over the repeats, of (the peer's time / the base's time of
the same repeat). It is taken against the peer for which it is smallest.
"""
import statistics

from harness import bounds
from harness.campaign import geometric_mean

BUFFERS = ("rotated", "same", "anew", "used")  # the figures of a point; the first of them that was measured counts for targets
SLOW = 0.9
FAST, NEAR = 1.5, 1.2  # a point should be FAST times as fast as its peer, or take at most NEAR times its limit


def size_text(size):
    for unit, text in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{text}"
    return str(size)


def problem(collective, size, ranks):
    if collective == "barrier":
        return f"barrier/p{ranks}"
    op = "/sum" if collective.startswith(("allreduce", "reduce")) or collective in ("scan", "exscan") else ""
    return f"{collective}/f64{op}/{size_text(size)}/p{ranks}"


def ratios(base, peer):
    """Returns peer / base for each repeat in which both were measured."""
    base = dict(base)
    return [us / base[repeat] for repeat, us in peer if repeat in base and base[repeat] > 0]


def row_of(campaign, point, buffers):
    """The row of a point; None if the base has no time for it."""
    collective, size, ranks = point
    key, base = (point, buffers), campaign.peers[0].name
    times = {peer.name: campaign.times.get((peer.name, key), []) for peer in campaign.peers}
    if not times[base]:
        return None
    row = {"problem": problem(*point), "collective": collective, "ranks": ranks, "bytes": size,
           "buffers": buffers, "us": {}, "runs_us": {}, "speedup_over": {}}
    for name, runs in times.items():
        if runs:
            row["us"][name] = round(statistics.median(us for _, us in runs), 4)
            row["runs_us"][name] = [us for _, us in runs]
        pairs = ratios(times[base], runs) if name != base else []
        if pairs:
            row["speedup_over"][name] = round(statistics.median(pairs), 4)
    if row["speedup_over"]:
        row["better_peer"] = min(row["speedup_over"], key=row["speedup_over"].get)
        row["speedup"] = row["speedup_over"][row["better_peer"]]
    row["limits_us"] = limits_of(campaign, size, "rotated" if buffers == "rotated" else "same")
    row["limit_us"], row["limit"] = bounds.bound(collective, ranks, campaign.options.cores, row["limits_us"], buffers)
    row["of_limit"] = round(row["us"][base] / row["limit_us"], 3) if row["limit_us"] else None
    return row


def limits_of(campaign, size, buffers):
    limits = {name: limit_of(campaign, (name, 0, "same")) for name in ("line", "stream", "switch")}
    for name in ("memcpy", "cma"):
        limits[name] = limit_of(campaign, (name, size, buffers))
    return limits


def limit_of(campaign, key):
    times = campaign.limits.get(key)
    return round(statistics.median(times), 4) if times else None


def rows_of(campaign):
    rows = []
    for collective in campaign.options.collectives:
        for ranks in campaign.options.ranks:
            for size in [0] if collective == "barrier" else campaign.options.sizes:
                for buffers in campaign.options.buffers if size else ["same"]:
                    rows.append(row_of(campaign, (collective, size, ranks), buffers))
    return [row for row in rows if row]


def primary(rows):
    """The rows that count for targets: those of the first figure in BUFFERS that was measured, and
    those of barriers, which have no buffers.
    """
    measured = {row["buffers"] for row in rows if row["collective"] != "barrier"}
    buffers = next((name for name in BUFFERS if name in measured), None)
    return [row for row in rows if "speedup" in row and (row["buffers"] == buffers or row["collective"] == "barrier")]


def compared(rows, buffers):
    return [row for row in rows if "speedup" in row and row["buffers"] == buffers]


def falls_short(row):
    """Whether a point is neither fast nor near its limit."""
    return row["speedup"] < FAST and (row["of_limit"] is None or row["of_limit"] > NEAR)


def mean_by(rows, field):
    groups = {}
    for row in rows:
        groups.setdefault(row[field], []).append(row["speedup"])
    return {str(name): round(geometric_mean(group), 3) for name, group in groups.items()}


def short(row):
    return {"problem": row["problem"], "buffers": row["buffers"], "speedup": row["speedup"],
            "over": row["better_peer"], "of_limit": row["of_limit"], "limit": row["limit"]}


def mean_of(rows):
    return round(geometric_mean(row["speedup"] for row in rows), 3) if rows else None


def summary_of(rows):
    counted = primary(rows)
    if not counted:
        return None
    every = [row for row in rows if "speedup" in row]
    return {"points": len(counted),
            "geometric_mean": round(geometric_mean(row["speedup"] for row in counted), 3),
            "geometric_mean_without_rotation": mean_of(compared(rows, "same")),
            "geometric_mean_anew": mean_of(compared(rows, "anew")),
            "geometric_mean_used": mean_of(compared(rows, "used")),
            "figures": len(every),
            "slower_than_peer": sum(row["speedup"] < 1 for row in every),
            "short_of_both": [short(row) for row in sorted(every, key=lambda row: row["speedup"]) if falls_short(row)],
            "by_collective": mean_by(counted, "collective"),
            "by_ranks": mean_by(counted, "ranks"),
            "worst": short(min(counted, key=lambda row: row["speedup"])),
            "slower_than_0.9": [short(row) for row in sorted(counted, key=lambda row: row["speedup"])
                                if row["speedup"] < SLOW]}


def target(text, value, bound, at_least=False):
    met = None if value is None else (value >= bound if at_least else value <= bound)
    return {"target": text, "bound": ("at least " if at_least else "at most ") + f"{bound:g}",
            "measured": None if value is None else round(value, 3), "met": met}


def find(rows, text, buffers="rotated"):
    return next((row for row in rows if row["problem"] == text and row["buffers"] == buffers), None)


def inverse(row, peer):
    over = row and row["speedup_over"].get(peer)
    return 1 / over if over else None


def targets_of(rows, base):
    """The targets of Tutti. Another base has none."""
    if base != "tutti" or not primary(rows):
        return []
    summary = summary_of(rows)
    small, large = "allreduce/f64/sum/8/p2", "allreduce/f64/sum/4M/p2"
    targets = [target("geometric mean of the speed-ups over the better peer",
                      summary["geometric_mean"], 1.5, at_least=True),
               target("points slower than 0.9", len(summary["slower_than_0.9"]), 0),
               target(f"of {summary['figures']} figures, those slower than the better peer", summary["slower_than_peer"], 0),
               target(f"of {summary['figures']} figures, those neither {FAST} times as fast as the better peer nor within "
                      f"{NEAR} times of their limit", len(summary["short_of_both"]), 0)]
    for buffers, words in (("rotated", "rotated"), ("same", "not rotated")):
        row = find(rows, small, buffers)
        targets.append(target(f"{small} ({words}), divided by Open MPI's time", inverse(row, "openmpi"), 0.6))
        line = row["us"][base] / row["limits_us"]["line"] if row and row["limits_us"]["line"] else None
        targets.append(target(f"{small} ({words}), divided by the line exchange", line, 1.6))
    targets.append(target(f"{large}, divided by Open MPI's time", inverse(find(rows, large), "openmpi"), 0.65))
    return targets


def document(campaign, machine):
    rows, options = rows_of(campaign), campaign.options
    base = campaign.peers[0].name
    return {
        "what": "the same C loop over each library; times in microseconds, of the slowest rank, f64",
        "machine": machine,
        "method": {"base": base, "repeats": campaign.repeats, "order": [peer.name for peer in campaign.peers],
                   "batches_a_start": options.batches, "batch_seconds": options.batch,
                   "pool_bytes_a_rank": campaign.pool, "seconds": round(campaign.elapsed(), 1),
                   "beside_ms": options.beside, "quick": options.quick, "most_bytes_together": options.total},
        "settings": [{"peer": name, "ranks": ranks, "setting": setting[0], "arguments": setting[1],
                      "environment": setting[2]}
                     for (name, ranks), setting in campaign.setting.items()],
        "trials": campaign.trials,
        "limits_us": [{"limit": name, "bytes": size, "buffers": buffers,
                       "us": limit_of(campaign, (name, size, buffers))}
                      for name, size, buffers in campaign.limits],
        "points": rows,
        "left_out": [problem(*point) for point in sorted(campaign.left_out)],
        "late": {name: [problem(*point) for point in sorted(points)]
                 for name, points in campaign.late.items() if points},
        "measured_once": {name: {problem(*point): times for point, times in points.items()}
                          for name, points in campaign.hopeless.items() if points},
        "failures": [{"peer": name, "ranks": ranks, "what": what}
                     for name, ranks, what in campaign.failures],
        "summary": summary_of(rows),
        "targets": targets_of(rows, base)}
