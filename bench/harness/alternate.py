# SPDX-License-Identifier: BSD-3-Clause
"""The loop of every measurement: each repeat starts, in turn, all programs that are compared.

So changes of the machine's state affect all these programs alike.
"""
import math
import time


def alternate(repeats, starts, tell=None, left=lambda: math.inf):
    """Calls each function of `starts` with the number of the repeat, and does so for each repeat.

    `left()` returns how many seconds are left. The function begins no further repeat if the last
    one took longer than that. It calls `tell` with a line of text about each repeat, and returns the
    number of repeats.
    """
    took = 0.0
    for repeat in range(repeats):
        if repeat and took > left():
            tell(f"the time is nearly over: {repeat} repeats, not {repeats}")
            return repeat
        begin = time.monotonic()
        for start in starts:
            start(repeat)
        took = time.monotonic() - begin
        if tell:
            tell(f"repeat {repeat + 1} of {repeats} took {took:.0f} s")
    return repeats


def collect(repeats, ways):
    """Calls the functions of `ways`, {name: function}, in turn. Returns {name: list of what the
    function returned in each repeat}.
    """
    found = {name: [] for name in ways}
    alternate(repeats, [lambda _, name=name, way=way: found[name].append(way()) for name, way in ways.items()])
    return found
