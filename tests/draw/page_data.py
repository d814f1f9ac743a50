# SPDX-License-Identifier: BSD-3-Clause
"""Test pictures: small ones of which every number is known, and a large one."""

SIDE = 4
TURN_PS = 10_000


def torus_links(ranks_missing=()):
    """The directed links of the 4x4 torus. The load of a link grows with the ranks at its ends."""
    for node in range(SIDE * SIDE):
        x, y = node % SIDE, node // SIDE
        for to in ((x + 1) % SIDE + y * SIDE, (x - 1) % SIDE + y * SIDE,
                   x + (y + 1) % SIDE * SIDE, x + (y - 1) % SIDE * SIDE):
            if node not in ranks_missing and to not in ranks_missing:
                yield [node, to, 1024 * (node + to)]


def exchange(ranks):
    """In turn k rank r sends to rank r ^ k, waits for that rank's message, and reduces it."""
    events, messages = [], []
    for turn in range(1, ranks):
        begin = (turn - 1) * TURN_PS
        for rank in range(ranks):
            peer = rank ^ turn
            events += [[rank, 0, "send", begin, begin + 1000, peer, 1024],
                      [rank, 0, "recv", begin + 1000, begin + 1500, peer, 1024],
                      [rank, 0, "wait", begin + 1500, begin + 7000, peer, 0],
                      [rank, 0, "reduce", begin + 7000, begin + 9500, -1, 1024]]
            messages.append([rank, peer, "send", begin, begin + 7000, 1024])
        messages.append([0, turn, "signal", begin + 500, begin + 3000, 8])
        events.append([0, 1, "signal", begin + 500, begin + 600, turn, 8])
    return events, messages


def small():
    """Sixteen ranks on a 4x4 torus, with everything that a picture can contain."""
    ranks = SIDE * SIDE
    events, messages = exchange(ranks)
    links = list(torus_links())
    return {
        "tutti": "picture 2", "problem": "alltoall/u8/1K/p16@torus:4x4", "algorithm": "pairwise", "source": "simulation",
        "model": "links", "ranks": ranks, "time_ps": 150_000, "events": events, "events_left_out": 0, "messages": messages,
        "messages_left_out": 0,
        "traffic": {"groups": ranks, "bytes": [[0 if a == b else 1024 * (1 + (a ^ b)) for b in range(ranks)] for a in range(ranks)]},
        "tree": {"kind": "logical", "edges": [[node & (node - 1), node] for node in range(1, ranks)]},
        "network": {
            "text": "torus:4x4", "kind": "torus", "extent": [SIDE, SIDE], "nodes": ranks, "missing": [],
            "vertices": [[node % SIDE, node // SIDE, 0, node] for node in range(ranks)], "slices": 1, "links": links,
            "max_link_bytes": max(link[2] for link in links), "mean_link_bytes": sum(link[2] for link in links) / len(links),
            "routes": [[0, 1, 2, 6], [5, 4, 7]]},
    }


def holes():
    """A 4x4x2 torus with a missing node and without steps; the numbers of steps and messages that
    were left out are given."""
    nodes, missing = 32, 5
    rank_of = [node - (node > missing) if node != missing else -1 for node in range(nodes)]
    links = []
    for z in range(2):
        links += [[a + 16 * z, b + 16 * z, size] for a, b, size in torus_links((missing,) if z == 0 else ())]
    links += [[node + 16 * z, node + 16 * (1 - z), 512 * node] for z in range(2) for node in range(16) if node != missing]
    return {
        "tutti": "picture 2", "problem": "alltoall/u8/1K/p31@torus:4x4x2-hole(1,1,0)", "algorithm": "pairwise",
        "source": "simulation", "model": "links", "ranks": 31, "time_ps": 2_000_000, "events": [], "events_left_out": 12345,
        "messages": [[0, 1, "send", 0, 2_000_000, 10]], "messages_left_out": 678, "traffic": None, "tree": None,
        "network": {
            "text": "torus:4x4x2-hole(1,1,0)", "kind": "torus", "extent": [4, 4, 2], "nodes": nodes, "missing": [missing],
            "vertices": [[node % 4, node // 4 % 4, node // 16, rank_of[node]] for node in range(nodes)], "slices": 2,
            "links": links, "max_link_bytes": max(link[2] for link in links),
            "mean_link_bytes": sum(link[2] for link in links) / len(links), "routes": [[4, 0, 1, 2, 6]]},
    }


def deep():
    """A mesh of six dimensions with two nodes each, without steps."""
    nodes = 64
    links = [[node, node ^ bit, 8] for node in range(nodes) for bit in (1, 2, 4, 8, 16, 32)]
    return {
        **bare(), "problem": "alltoall/u8/8/p64@mesh:2x2x2x2x2x2", "ranks": nodes,
        "network": {
            "text": "mesh:2x2x2x2x2x2", "kind": "mesh", "extent": [2] * 6, "nodes": nodes, "missing": [], "slices": 16,
            "vertices": [[node & 1, node >> 1 & 1, node >> 2, node] for node in range(nodes)], "links": links,
            "max_link_bytes": 8, "mean_link_bytes": 8, "routes": []},
    }


def bare():
    """A picture with a name and nothing else."""
    return {
        "tutti": "picture 2", "problem": "barrier/p1", "algorithm": "flat", "source": "run", "model": None, "ranks": 1,
        "time_ps": 0, "events": [], "events_left_out": 0, "messages": [], "messages_left_out": 0, "traffic": None, "tree": None,
        "network": None,
    }


def uneven():
    """Steps of a lane that overlap, steps that take no time, and ranks that only send or only
    receive."""
    events = [[0, 0, "send", 0, 100_000, 1, 3072], [0, 0, "copy", 10_000, 20_000, -1, 64], [0, 0, "signal", 20_000, 20_000, 2, 8],
             [0, 0, "put", 30_000, 40_000, 2, 1024], [1, 0, "recv", 0, 5_000, 0, 3072], [2, 0, "await", 0, 60_000, 0, 0]]
    events += [[2, 0, "copy", 0, 0, -1, 64], [1, 0, "copy", 5_000, 5_000, -1, 64]]
    messages = [[0, 1, "send", 0, 100_000, 3072], [0, 2, "put", 30_000, 50_000, 1024], [0, 2, "signal", 20_000, 60_000, 8]]
    return {**bare(), "problem": "scatter", "ranks": 3, "time_ps": 100_000, "events": events, "messages": messages}


def silent():
    """The picture of `uneven`, from a run that recorded no messages."""
    return {**uneven(), "messages": []}


def big():
    """A hundred thousand steps of 448 ranks in three milliseconds, twenty thousand more in a
    second lane of rank 0, ten thousand messages, 64 groups."""
    ranks, turns = 448, 224
    events, messages = [], []
    for turn in range(turns):
        for rank in range(ranks):
            begin = turn * 12_000_000 + rank * 7_000
            events.append([rank, 0, ("send", "wait", "reduce", "copy", "recv")[(turn + rank) % 5], begin, begin + 9_000_000,
                          (rank + 1) % ranks, 4096])
        for rank in range(0, ranks, 10):
            messages.append([rank, (rank + 37) % ranks, "put", turn * 12_000_000, (turn + 2) * 12_000_000, 4096])
    events += [[0, 1, "signal", 150_000 * i, 150_000 * i + 100_000, 1, 8] for i in range(20_000)]
    return {
        **bare(), "problem": "allreduce/f64/sum/16M/p448", "algorithm": "ring", "source": "run", "ranks": ranks,
        "time_ps": 3_000_000_000, "events": events, "messages": messages,
        "traffic": {"groups": 64, "bytes": [[a * b for b in range(64)] for a in range(64)]},
        "tree": {"kind": "logical", "edges": [[(rank - 1) // 2, rank] for rank in range(1, 100)]},
    }


def run():
    """A run of three ranks: an allreduce to which rank 1 comes last, a barrier of ranks 0 and 2,
    and an allreduce to which rank 1, which was killed, never came."""
    us = 1_000_000
    names = ["", "allreduce", "flat", "f64", "sum", "barrier"]
    bars = [[0, 0, 0, 1, 2, 3, 4, 1024, 0, 50 * us, -1, 0, 30 * us, 1, 128, 0],
            [1, 0, 0, 1, 2, 3, 4, 1024, 30 * us, 50 * us, -1, 30 * us, 0, 1, 128, 0],
            [2, 0, 0, 1, 2, 3, 4, 1024, 10 * us, 50 * us, -1, 10 * us, 20 * us, 1, 128, 0],
            [0, 1, 0, 5, 2, 0, 0, 0, 60 * us, 70 * us, -1, 60 * us, 5 * us, 2, -1, 0],
            [2, 1, 0, 5, 2, 0, 0, 0, 65 * us, 70 * us, -1, 65 * us, 0, 2, -1, 0],
            [0, 0, 1, 1, 2, 3, 4, 1024, 80 * us, 100 * us, -1, 80 * us, 20 * us, 1, 128, 2],
            [2, 0, 1, 1, 2, 3, 4, 1024, 80 * us, 100 * us, -1, 80 * us, 20 * us, 1, 128, 2]]
    groups = [[0, 3, 0, 20 * us, 40 * us, 50 * us, 50 * us, 20 * us, 1, 0],
              [3, 2, 60 * us, 5 * us, 10 * us, 10 * us, 5 * us, 5 * us, 2, 0],
              [5, 2, 80 * us, 20 * us, 20 * us, 20 * us, 40 * us, 0, 1, 1]]
    ranks = [{"rank": rank, "client": 0, "node": 0, "pid": 100 + rank, "host": "here", "end": None, "last": 100 * us, "in": 80 * us,
              "waited": 55 * us, "caused": 0, "calls": 3, "came_late": 0, "lost_steps": 0, "lost_calls": 0} for rank in range(3)]
    ranks[1] = {**ranks[1], "end": "died: signal 9 (Killed)", "last": 75 * us, "in": 20 * us, "waited": 0, "caused": 90 * us, "calls": 1}
    teams = [{"label": "world", "size": 3, "client": 0}, {"label": "ranks 0, 2", "size": 2, "client": 0}]
    return {
        **bare(), "problem": "", "ranks": 3, "time_ps": 100 * us, "events": [[0, 0, "await", 0, 31 * us, 1, 0], [0, 0, "reduce", 31 * us, 49 * us, -1, 1024]],
        "calls": {"clocks": "one clock", "lost": "not recorded: 0 calls, 7 steps", "ranks": ranks, "teams": teams, "names": names,
                  "bars": bars, "groups": groups}}


def many():
    """The picture of `run`, with its barrier repeated sixty times."""
    data = run()
    us = 1_000_000
    calls = {**data["calls"], "lost": None, "bars": [], "groups": []}
    for turn in range(60):
        calls["bars"] += [[rank, 1, turn, 5, 2, 0, 0, 0, turn * us + rank, (turn + 1) * us, -1, turn * us + rank, 2 - rank, 2, -1, 0] for rank in (0, 2)]
        calls["groups"].append([2 * turn, 2, turn * us, us - 2, us, us, 1000 * turn + 2, 2, 2, 0])
    return {**data, "events": [], "calls": calls}
