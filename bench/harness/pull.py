# SPDX-License-Identifier: BSD-3-Clause
"""Measures rendezvous messages that one or two contexts of the target pull.

The program is bench/messages-threads.c with `pull`. A "way" names how the messages are received:
"1" and "2" by that number of contexts in parallel. A script may compare further ways with these.
"""
import statistics

from harness import report
from harness.alternate import collect
from harness.table import number

BYTES = 16 << 20


def arguments(batches, contexts):
    """Returns the arguments of the program for one start."""
    return ["pull", str(batches), str(BYTES), str(contexts)]


def measure(ways, repeats):
    """Returns the MiB per second of each start, with the ways in turn.

    ways: {way: function that starts the program and returns its lines}.
    """
    found = collect(repeats, ways)
    return {"bytes": BYTES, "mib_per_s": {way: [statistics.median(line["mib_per_s"] for line in lines) for lines in starts]
                                          for way, starts in found.items()}}


def median(measured, way):
    return number(statistics.median(measured["mib_per_s"][way]))


def words(measured, where=""):
    rates = measured["mib_per_s"]
    ratio = statistics.median(two / one for one, two in zip(rates["1"], rates["2"]))
    return (f"Rendezvous of {report.size_text(measured['bytes'])}{where}: {median(measured, '2')} MiB/s with two pulling "
            f"contexts, {median(measured, '1')} with one ({ratio:.2f} times)")
