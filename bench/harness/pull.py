# SPDX-License-Identifier: BSD-3-Clause
"""Messages by rendezvous that one context of the target pulls, or two in parallel (bench/messages-threads.c, `pull`).

A way is how they come: "1" and "2", by so many contexts, and what else a script compares with these.
"""
import statistics

from harness import report
from harness.table import number

BYTES = 16 << 20


def arguments(batches, contexts):
    """Of the program."""
    return ["pull", str(batches), str(BYTES), str(contexts)]


def measure(ways, repeats):
    """MiB a second of each start, in turn; ways: {way: what starts the program and gives its lines}."""
    found = {way: [] for way in ways}
    for _ in range(repeats):
        for way, lines in ways.items():
            found[way].append(statistics.median(line["mib_per_s"] for line in lines()))
    return {"bytes": BYTES, "mib_per_s": found}


def median(measured, way):
    return number(statistics.median(measured["mib_per_s"][way]))


def words(measured, where=""):
    rates = measured["mib_per_s"]
    ratio = statistics.median(two / one for one, two in zip(rates["1"], rates["2"]))
    return (f"Rendezvous of {report.size_text(measured['bytes'])}{where}: {median(measured, '2')} MiB/s with two pulling "
            f"contexts, {median(measured, '1')} with one ({ratio:.2f} times)")
