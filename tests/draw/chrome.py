# SPDX-License-Identifier: BSD-3-Clause
"""chrome.py TRACE...: checks what Perfetto needs from a trace. The slices of a line nest, a flow
has one begin and one end within slices, every line and process with events has a name, and
every event has its fields.
"""
import collections
import json
import sys

FIELDS = {"X": "name pid tid ts dur", "M": "name pid args", "s": "name cat id pid tid ts", "f": "name cat id pid tid ts bp",
          "i": "name pid tid ts s"}


def load(path):
    trace = json.load(open(path))
    return trace if isinstance(trace, list) else trace["traceEvents"]


def has_fields(events):
    for event in events:
        missing = [field for field in FIELDS[event["ph"]].split() if field not in event]
        assert not missing, f"{event} lacks {missing}"


def nest(events):
    lines = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1e6)
            lines[event["pid"], event["tid"]].append((begin, -begin - round(event["dur"] * 1e6), event["name"]))
    for line, slices in lines.items():
        around = []
        for begin, end, name in sorted(slices):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or -end <= around[-1] + 1, f"{line}: {name} at {begin} ends after what it lies in"
            around.append(-end)
    return lines


def flows(events, lines):
    ends = collections.Counter((event["ph"], event["id"]) for event in events if event["ph"] in "sf")
    assert all(n == 1 for n in ends.values()), "a flow that begins or ends twice"
    assert {id for ph, id in ends if ph == "s"} == {id for ph, id in ends if ph == "f"}, "a flow without its other end"
    for event in events:
        if event["ph"] not in "sf":
            continue
        at = round(event["ts"] * 1e6)
        slices = lines[event["pid"], event["tid"]]
        assert any(begin <= at <= -end for begin, end, _ in slices), f"{event} holds on to nothing"
    return len(ends) // 2


def named(events, lines):
    names = {kind: {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M" and e["name"] == kind}
             for kind in ("process_name", "thread_name")}
    assert {(pid, None) for pid, _ in lines} <= names["process_name"], "a process without a name"
    assert set(lines) <= names["thread_name"], f"lines without a name: {set(lines) - names['thread_name']}"


def check(path):
    events = load(path)
    has_fields(events)
    lines = nest(events)
    named(events, lines)
    return flows(events, lines)


if __name__ == "__main__":
    for trace in sys.argv[1:]:
        print(check(trace))
