# SPDX-License-Identifier: BSD-3-Clause
"""Prints the report as text that can be read on a terminal and in a Markdown file."""
from harness.report import size_text


def number(value):
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def aligned(header, rows):
    """A table in Markdown with aligned columns. The first column is aligned to the left."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = []
    for row in cells:
        columns = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row))]
        lines.append("| " + " | ".join(columns) + " |")
    dashes = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return [lines[0], "| " + " | ".join(dashes) + " |", *lines[1:]]


def section(document, peers, titles, collective, ranks):
    """Returns the lines of the table of one collective on one number of ranks."""
    points = {}
    for row in document["points"]:
        if row["collective"] == collective and row["ranks"] == ranks:
            points.setdefault(row["bytes"], {})[row["buffers"]] = row
    if not points:
        return []
    header = ["bytes", "buffers", *(titles[name] for name in peers), "faster", "limit", "of", "times the limit"]
    body = [line_of(size, row, peers) for size, by_buffers in points.items() for row in by_buffers.values()]
    return [f"### {collective}, {ranks} ranks", "", *aligned(header, body), ""]


def line_of(size, row, peers):
    return ["-" if not size else size_text(size), row["buffers"], *(number(row["us"].get(name)) for name in peers),
            number(row.get("speedup")), number(row["limit_us"]), row["limit"] or "-", number(row["of_limit"])]


def words_of_limits(document):
    """The table of the limits that were measured."""
    found = {(row["limit"], row["bytes"], row["buffers"]): row["us"] for row in document["limits_us"]}
    sizes = sorted({size for name, size, _ in found if name == "memcpy"})
    signals = [f"{name} {number(found[name, 0, 'same'])}" for name in ("line", "stream", "switch") if (name, 0, "same") in found]
    body = [[size_text(size), *(number(found.get((name, size, buffers))) for buffers in ("rotated", "same")
                                for name in ("memcpy", "cma"))] for size in sizes]
    header = ["bytes", "memcpy", "CMA", "memcpy, same place", "CMA, same place"]
    return ["### Limits of the machine", "", f"Microseconds; signals: {', '.join(signals) or 'none measured'}.", "",
            *(aligned(header, body) if body else []), ""]


def words_of_summary(summary, titles):
    if not summary:
        return ["Nothing was compared.", ""]
    groups = [", ".join(f"{name} {value:.2f}" for name, value in summary[field].items())
              for field in ("by_collective", "by_ranks")]
    worst, slow = summary["worst"], summary["slower_than_0.9"]
    others = [f"{words} {summary[name]:.2f}" for name, words in (
        ("geometric_mean_without_rotation", "without rotation"), ("geometric_mean_anew", "with inputs written anew"),
        ("geometric_mean_used", "with outputs read, too"))
              if summary[name]]
    lines = [f"- geometric mean over {summary['points']} points: **{summary['geometric_mean']:.2f}** times as "
             "fast as the better peer" + (f" ({'; '.join(others)})" if others else ""),
             f"- by collective: {groups[0]}",
             f"- by ranks: {groups[1]}",
             f"- worst point: {worst['problem']}, {worst['speedup']:.2f} (over {titles[worst['over']]})",
             f"- points slower than 0.9: {len(slow) or 'none'}"]
    lines += [f"  - {row['problem']}: {row['speedup']:.2f} (over {titles[row['over']]})" for row in slow]
    return lines + [""]


def words_of_short(summary):
    """The table of the figures that are neither fast nor near their limit."""
    if not summary or not summary["short_of_both"]:
        return []
    body = [[row["problem"], row["buffers"], number(row["speedup"]), number(row["of_limit"]), row["limit"] or "-"]
            for row in summary["short_of_both"]]
    return ["### Neither fast nor near the limit", "",
            *aligned(["problem", "buffers", "faster", "times the limit", "of"], body), ""]


def words_of_targets(targets):
    if not targets:
        return []
    word = {True: "met", False: "not met", None: "not measured"}
    body = [[one["target"], one["bound"], number(one["measured"]), word[one["met"]]] for one in targets]
    return ["### Targets", "", *aligned(["target", "bound", "measured", ""], body), ""]


def grouped(problems):
    """Shortens a list of problems such as "allreduce/f64/sum/8/p2" to "allreduce, 2 ranks: 8 4K;
    ...".
    """
    groups = {}
    for one in problems:
        words = one.split("/")
        size = words[-2] if len(words) > 2 else ""
        groups.setdefault(f"{words[0]}, {words[-1][1:]} ranks", []).append(size)
    return "; ".join(f"{name}: {' '.join(sizes)}".rstrip(": ") for name, sizes in groups.items())


def words_of_exceptions(document, titles):
    lines = []
    if document["left_out"]:
        lines.append(f"- left out, over {document['method']['pool_bytes_a_rank'] >> 20} MiB a rank: "
                     + grouped(document["left_out"]))
    total = document["method"]["most_bytes_together"]
    if total:
        lines.append(f"- points at which all ranks together contribute more than {total >> 20} MiB: left out to be quick")
    for name, points in document["late"].items():
        lines.append(f"- {titles[name]} had no time left for these points: {grouped(points)}")
    for name, points in document["measured_once"].items():
        times = sorted(points.values())
        lines.append(f"- {titles[name]} was measured only once at these points, because it was {times[0]:g} to {times[-1]:g} "
                     f"times slower than the other peer: {grouped(points)}")
    for failure in document["failures"]:
        lines.append(f"- {titles[failure['peer']]}, {failure['ranks']} ranks: {failure['what']}")
    return ["### What is missing", "", *lines, ""] if lines else []


def words_of_beside(times_ms):
    if not times_ms:
        return []
    return ["Beside each start ran a program that calculates" +
            (f" for {times_ms[0]:g} ms and pauses for {times_ms[1]:g} ms in turn." if times_ms[1] else " without pause.")]


def words_of_method(document, titles):
    machine, method = document["machine"], document["method"]
    pool = method["pool_bytes_a_rank"]
    lines = [f"{machine['cpu']}, {machine['cores']} cores, L3 {machine['l3_bytes'] / (1 << 20):.1f} MiB, "
             f"Linux {machine['kernel']}; load before: {machine['load']:.2f}.",
             f"{method['repeats']} alternated starts of each; buffers rotate through {pool >> 20} MiB a rank; "
             "microseconds; *faster*: median of the ratios to the better peer's time.",
             *words_of_beside(method["beside_ms"]), ""]
    body = [[titles[one["peer"]], str(one["ranks"]), one["setting"]] for one in document["settings"]]
    return lines + aligned(["peer", "ranks", "setting"], body) + [""]


def text(document, peers):
    titles = {peer.name: peer.title for peer in peers}
    names = document["method"]["order"]
    collectives = list(dict.fromkeys(row["collective"] for row in document["points"]))
    ranks = sorted({row["ranks"] for row in document["points"]})
    lines = [f"## {titles[names[0]]} against " + (" and ".join(titles[n] for n in names[1:]) or "nobody"), ""]
    lines += words_of_method(document, titles) + words_of_limits(document)
    for collective in collectives:
        for p in ranks:
            lines += section(document, names, titles, collective, p)
    lines += words_of_exceptions(document, titles)
    lines += ["### Summary", "", *words_of_summary(document["summary"], titles)]
    lines += words_of_short(document["summary"])
    lines += words_of_targets(document["targets"])
    return "\n".join(lines)
