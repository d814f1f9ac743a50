# SPDX-License-Identifier: BSD-3-Clause
"""Draws the speed-ups: a panel for each collective and a line for each number of ranks.

Both axes are logarithmic. One line marks 1 (as fast as the better peer), another the bound 0.9."""
import math
from xml.sax.saxutils import escape

from harness.report import primary, size_text

COLORS = ("#1b6ca8", "#d1495b", "#3b8b5a", "#8d5fb0", "#c98a16", "#444444")
WIDTH, HEIGHT, GAP, TOP, LEFT = 300, 200, 64, 90, 56
TICKS = 8


class Panel:
    """The coordinates of a panel: x is the index in a list of places, y the logarithm of a value.
    """

    def __init__(self, column, row, places, low, high):
        self.x0, self.y0 = LEFT + column * (WIDTH + GAP), TOP + row * (HEIGHT + GAP)
        self.places, self.low, self.high = places, low, high

    def x(self, place):
        return self.x0 + WIDTH * (self.places.index(place) + 0.5) / len(self.places)

    def y(self, value):
        share = (math.log2(value) - self.low) / (self.high - self.low)
        return self.y0 + HEIGHT * (1 - share)


def text(x, y, words, size=11, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'


def line(x1, y1, x2, y2, color, extra=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" {extra}/>'


def frame(panel, title, labels):
    out = [text(panel.x0 + WIDTH / 2, panel.y0 - 8, title, 13, extra='font-weight="bold"')]
    every = math.ceil((panel.high - panel.low) / TICKS)
    for power in (n for n in range(panel.low, panel.high + 1) if n % every == 0):
        y = panel.y(2.0 ** power)
        out.append(line(panel.x0, y, panel.x0 + WIDTH, y, "#333" if power == 0 else "#e4e4e4"))
        out.append(text(panel.x0 - 6, y + 4, f"{2.0 ** power:.4g}", anchor="end"))
    y = panel.y(0.9)
    out.append(line(panel.x0, y, panel.x0 + WIDTH, y, "#c00", 'stroke-dasharray="3 3"'))
    for place, label in zip(panel.places, labels):
        out.append(text(panel.x(place), panel.y0 + HEIGHT + 16, label))
    return out


DASHES = {"rotated": "", "same": 'stroke-dasharray="5 4" opacity="0.6"', "anew": 'stroke-dasharray="1 3"',
          "used": 'stroke-dasharray="8 3 1 3"'}


def curve(panel, points, color, buffers):
    """Draws the points [(place, value)] as a curve."""
    at = [(panel.x(place), panel.y(value)) for place, value in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    out = [f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2" {DASHES[buffers]}/>']
    if buffers == "rotated":
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in at]
    return out


def draw_collective(panel, rows, ranks):
    out = []
    for buffers in reversed(DASHES):
        for p, color in zip(ranks, COLORS):
            points = [(row["bytes"], row["speedup"]) for row in rows
                      if row["ranks"] == p and row["buffers"] == buffers]
            if points:
                out += curve(panel, points, color, buffers)
    return out


def legend(ranks, names, mean):
    words = f"Times as fast as {names}" + (f"; geometric mean {mean:.2f}" if mean else "")
    out = [text(LEFT, 24, words, 15, "start", 'font-weight="bold"')]
    x = LEFT
    for p, color in zip(ranks, COLORS):
        out += [line(x, 42, x + 22, 42, color, 'stroke-width="3"'), text(x + 28, 46, f"{p} ranks", 12, "start")]
        x += 100
    out.append(text(x, 46, "dashed: without rotation; dotted: with inputs written anew; dash-dotted: with outputs read, too; red: 0.9", 12, "start"))
    return out


def svg(document, peers):
    rows = [row for row in document["points"] if "speedup" in row]
    if not rows:
        return None
    collectives = list(dict.fromkeys(row["collective"] for row in rows))
    ranks = sorted({row["ranks"] for row in rows})
    powers = [math.log2(row["speedup"]) for row in rows]
    low, high = min(-1, math.floor(min(powers))), max(2, math.ceil(max(powers)))
    columns = min(3, len(collectives))
    lines_n = math.ceil(len(collectives) / columns)
    width, height = LEFT + columns * (WIDTH + GAP), TOP + lines_n * (HEIGHT + GAP)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    names = ("the better of " if len(peers) > 2 else "") + " and ".join(peer.title for peer in peers[1:])
    out += legend(ranks, names, document["summary"] and document["summary"]["geometric_mean"])
    for i, collective in enumerate(collectives):
        mine = [row for row in rows if row["collective"] == collective]
        if collective == "barrier":
            panel = Panel(i % columns, i // columns, ranks, low, high)
            out += frame(panel, "barrier", [f"{p} ranks" for p in ranks])
            out += curve(panel, [(row["ranks"], row["speedup"]) for row in primary(mine)], "#444444", "rotated")
            continue
        sizes = sorted({row["bytes"] for row in mine})
        panel = Panel(i % columns, i // columns, sizes, low, high)
        out += frame(panel, collective, [size_text(size) for size in sizes])
        out += draw_collective(panel, mine, ranks)
    return "\n".join([*out, "</svg>", ""])
