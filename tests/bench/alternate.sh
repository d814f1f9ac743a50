#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The loop of all measurements: every function is called once in each repeat, in the given order; no
# repeat begins for which no time is left; an error ends the loop.
set -euo pipefail
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TUTTI_SOURCE/bench python3 - <<'PYTHON'
from harness.alternate import alternate, collect

called, said = [], []
starts = [lambda repeat, name=name: called.append((repeat, name)) for name in "abc"]
assert alternate(3, starts, said.append) == 3
assert called == [(repeat, name) for repeat in range(3) for name in "abc"], called
assert [words.split(" took ")[0] for words in said] == [f"repeat {i} of 3" for i in (1, 2, 3)], said

# Two repeats fit: after the second no time is left.
called.clear()
left = iter([1e9, -1.0])
assert alternate(7, starts, said.append, lambda: next(left)) == 2
assert called == [(repeat, name) for repeat in range(2) for name in "abc"], called
assert said[-1] == "the time is nearly over: 2 repeats, not 7", said
# The first repeat is always made.
called.clear()
assert alternate(7, starts, said.append, lambda: -1.0) == 1 and len(called) == 3

order = []
ways = {name: lambda name=name: order.append(name) or len(order) for name in ("one", "two")}
assert collect(3, ways) == {"one": [1, 3, 5], "two": [2, 4, 6]}
assert order == ["one", "two"] * 3, order

def fails(repeat):
    raise ValueError(repeat)
called.clear()
try:
    alternate(2, [starts[0], fails, starts[1]])
    raise SystemExit("an error does not end the loop")
except ValueError:
    assert called == [(0, "a")], called
PYTHON
