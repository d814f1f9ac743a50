#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads a GOAL text and runs it: every line must follow the grammar, every send must match a
receive of the same length, and all operations must end. Prints the number of operations and the
bytes sent.
"""
import collections
import re
import sys

OP = re.compile(r"^  l(\d+): (?:(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)|calc (\d+)) cpu (\d+)$")
EDGE = re.compile(r"^  l(\d+) (i?)requires l(\d+)$")


def parse(lines):
    ranks, rank = [], None
    assert re.fullmatch(r"num_ranks \d+", lines[0]), lines[0]
    for line in lines[1:]:
        if not line:
            continue
        if match := re.fullmatch(r"rank (\d+) \{", line):
            assert rank is None and int(match[1]) == len(ranks), line
            rank = ({}, [])
        elif line == "}":
            ranks.append(rank)
            rank = None
        elif match := OP.match(line):
            assert int(match[1]) not in rank[0], line
            rank[0][int(match[1])] = match.groups()[1:]
        else:
            match = EDGE.match(line)
            assert match and int(match[1]) in rank[0] and int(match[3]) in rank[0], line
            rank[1].append((int(match[1]), bool(match[2]), int(match[3])))
    assert len(ranks) == int(lines[0].split()[1]) and rank is None
    return ranks


def run(ranks):
    """Sends end at once. A receive ends when its message has arrived: the k-th receive from a
    sender with a tag gets the k-th message of that sender with that tag."""
    waits, after_start, after_end = {}, collections.defaultdict(list), collections.defaultdict(list)
    for r, (ops, edges) in enumerate(ranks):
        for label in ops:
            waits[r, label] = 0
        for later, on_start, earlier in edges:
            waits[r, later] += 1
            (after_start if on_start else after_end)[r, earlier].append((r, later))
    ready = collections.deque(op for op, n in waits.items() if n == 0)
    sent, posted = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
    ended, total = 0, 0

    def free(ops):
        for op in ops:
            waits[op] -= 1
            if waits[op] == 0:
                ready.append(op)

    while ready:
        op = ready.popleft()
        kind, size, peer, tag, _, _ = ranks[op[0]][0][op[1]]
        free(after_start[op])
        done = [op]
        if kind == "send":
            key = (op[0], int(peer), tag)
            total += int(size)
            sent[key].append(size)
        elif kind == "recv":
            key = (int(peer), op[0], tag)
            posted[key].append((op, size))
            done = []
        if kind:
            while sent[key] and posted[key]:
                receive, expected = posted[key].popleft()
                assert sent[key].popleft() == expected, f"rank {receive[0]} l{receive[1]} receives another length"
                done.append(receive)
        for each in done:
            ended += 1
            free(after_end[each])
    assert ended == len(waits), f"{len(waits) - ended} of {len(waits)} operations wait for ever"
    assert not any(sent.values()), "messages that nobody receives"
    return ended, total


print(*run(parse(sys.stdin.read().split("\n"))))
