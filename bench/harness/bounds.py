# SPDX-License-Identifier: BSD-3-Clause
"""About how fast a call can be on this machine.

A call needs signals between ranks and copies of data, and the limits of both were measured in the
same run (machine.c). A block is the data that one rank has for another rank, or for all ranks:

    line      signals, if every rank needs data of every other rank: it exchanges a cache line
    stream    signals, if data go one way only: ranks run ahead, and each call reads one line
    switches  signals, if ranks outnumber processors and data go both ways: each rank must run in
              each call
    CMA       copies of blocks to other ranks, where one system call moves each block
    windows   the same copies where this is faster: one copy of a block into a window, for all ranks
              that read it, and one copy out for each of these ranks
    memcpy    copies of blocks that stay on their rank, and the accesses of the program, which writes
              a block before the call or reads it after the call (each counts as half a copy)

The copies of all ranks are shared out evenly to the processors. The limit of a call is the time of
its signals or the time of its copies, whichever is larger. Most calls take longer than their limit,
because memory that all processors use at once is slower, and because the limit leaves out the
reading of operands. Some calls take less, down to 0.6 times the limit: what a rank copies out of a
window is in a cache, and a copy into another process may cost less than one out of it. CMA and
memcpy are measured with memory that is in no cache if the buffers rotate.
"""
BOTH_WAYS = {"allreduce", "alltoall", "alltoallv", "allgather", "allgatherv", "barrier", "reduce_scatter",
             "reduce_scatter_block"}


def blocks(collective, p):
    """How many blocks go from one rank to another in a call, how many copies into windows are enough
    for that, and how many blocks stay on their rank.
    """
    if collective in ("alltoall", "alltoallv"):
        return p * (p - 1), p * (p - 1), p
    if collective in ("allgather", "allgatherv"):
        return p * (p - 1), p, p
    if collective in ("gather", "gatherv", "scatter", "scatterv"):
        return p - 1, p - 1, 1
    if collective in ("reduce_scatter", "reduce_scatter_block"):
        return p * (p - 1), p * (p - 1), 0
    if collective == "allreduce":
        return 2 * (p - 1), p, 0
    if collective == "bcast":
        return p - 1, 1, 0
    return (0, 0, 0) if collective == "barrier" else (p - 1, p - 1, 0)


def written(collective, p):
    """How many blocks of input all ranks have together."""
    if collective in ("alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block"):
        return p * p
    return 1 if collective == "bcast" else p


def read(collective, p):
    """How many blocks of output all ranks have together."""
    if collective in ("alltoall", "alltoallv", "allgather", "allgatherv"):
        return p * p
    if collective in ("bcast", "exscan"):
        return p - 1
    return 1 if collective == "reduce" else p


def touched(collective, p, buffers):
    """How many blocks the program itself writes or reads for each call."""
    blocks_written = written(collective, p) if buffers in ("anew", "used") else 0
    return blocks_written + (read(collective, p) if buffers == "used" else 0)


def signals(collective, p, cores, limits):
    if collective not in BOTH_WAYS:
        return limits.get("stream"), "stream"
    if p <= cores:
        return limits.get("line"), "line"
    switch = limits.get("switch")
    return switch and switch * -(-p // cores), "switches"


def copies(collective, p, cores, limits, buffers):
    own, cma = limits.get("memcpy"), limits.get("cma")
    moved, copied_in, kept = blocks(collective, p)
    if not own or p == 1:
        return None, "memcpy"
    by_windows = (copied_in + moved) * own
    by_system = moved * cma if cma is not None else float("inf")
    us = min(by_windows, by_system) + kept * own + touched(collective, p, buffers) * own / 2
    return us / min(p, cores), "CMA" if by_system < by_windows else "windows"


def bound(collective, p, cores, limits, buffers="same"):
    """Returns the limit of a call in microseconds and its name; None: nothing was measured.

    `limits` has microseconds for a line, a stream, a switch, and a memcpy and a cma of the size of
    a block. `buffers` names the figure (loop.c).
    """
    known = [pair for pair in (signals(collective, p, cores, limits), copies(collective, p, cores, limits, buffers))
             if pair[0]]
    return max(known) if known else (None, None)
