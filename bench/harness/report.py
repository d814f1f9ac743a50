# SPDX-License-Identifier: BSD-3-Clause
"""Turns times into rows, means and targets, for JSON and for tables.

The speed-up of a point is the median, over the repeats, of (the peer's time / the base's time of
the same repeat). It is taken against the peer for which it is smallest.
"""
import statistics

from harness.campaign import geometric_mean

SLOW = 0.9


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
    """The ratios of the repeats that both have."""
    base = dict(base)
    return [us / base[repeat] for repeat, us in peer if repeat in base and base[repeat] > 0]


def row_of(campaign, point, rotated):
    """The row of a point; None if the base has no time for it."""
    collective, size, ranks = point
    key, base = (point, rotated), campaign.peers[0].name
    times = {peer.name: campaign.times.get((peer.name, key), []) for peer in campaign.peers}
    if not times[base]:
        return None
    row = {"problem": problem(*point), "collective": collective, "ranks": ranks, "bytes": size,
           "rotated": rotated, "us": {}, "runs_us": {}, "speedup_over": {}}
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
    row["limits_us"] = limits_of(campaign, size, rotated)
    return row


def limits_of(campaign, size, rotated):
    limits = {"line": limit_of(campaign, ("line", 0, False))}
    for name in ("memcpy", "cma"):
        limits[name] = limit_of(campaign, (name, size, rotated))
    return limits


def limit_of(campaign, key):
    times = campaign.limits.get(key)
    return round(statistics.median(times), 4) if times else None


def rows_of(campaign):
    rows = []
    for collective in campaign.options.collectives:
        for ranks in campaign.options.ranks:
            for size in [0] if collective == "barrier" else campaign.options.sizes:
                for rotated in (True, False):
                    rows.append(row_of(campaign, (collective, size, ranks), rotated))
    return [row for row in rows if row]


def primary(rows):
    """The rows that count: those with rotation, and barriers, which have no buffers to rotate."""
    return [row for row in rows if "speedup" in row and (row["rotated"] or row["collective"] == "barrier")]


def mean_by(rows, field):
    groups = {}
    for row in rows:
        groups.setdefault(row[field], []).append(row["speedup"])
    return {str(name): round(geometric_mean(group), 3) for name, group in groups.items()}


def short(row):
    return {"problem": row["problem"], "rotated": row["rotated"], "speedup": row["speedup"],
            "over": row["better_peer"]}


def summary_of(rows):
    counted = primary(rows)
    if not counted:
        return None
    plain = [row for row in rows if "speedup" in row and not row["rotated"]]
    return {"points": len(counted),
            "geometric_mean": round(geometric_mean(row["speedup"] for row in counted), 3),
            "geometric_mean_without_rotation": round(geometric_mean(row["speedup"] for row in plain), 3)
            if plain else None,
            "by_collective": mean_by(counted, "collective"),
            "by_ranks": mean_by(counted, "ranks"),
            "worst": short(min(counted, key=lambda row: row["speedup"])),
            "slower_than_0.9": [short(row) for row in sorted(counted, key=lambda row: row["speedup"])
                                if row["speedup"] < SLOW]}


def target(text, value, bound, at_least=False):
    met = None if value is None else (value >= bound if at_least else value <= bound)
    return {"target": text, "bound": ("at least " if at_least else "at most ") + f"{bound:g}",
            "measured": None if value is None else round(value, 3), "met": met}


def find(rows, text, rotated=True):
    return next((row for row in rows if row["problem"] == text and row["rotated"] == rotated), None)


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
               target("points slower than 0.9", len(summary["slower_than_0.9"]), 0)]
    for rotated in (True, False):
        row, words = find(rows, small, rotated), "rotated" if rotated else "not rotated"
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
                   "quick": options.quick, "most_bytes_together": options.total},
        "settings": [{"peer": name, "ranks": ranks, "setting": setting[0], "arguments": setting[1],
                      "environment": setting[2]}
                     for (name, ranks), setting in campaign.setting.items()],
        "trials": campaign.trials,
        "limits_us": [{"limit": name, "bytes": size, "rotated": rotated,
                       "us": limit_of(campaign, (name, size, rotated))}
                      for name, size, rotated in campaign.limits],
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
