#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The benchmark of messages, with Tutti alone, and with Tutti beside UCX. Here a script that prints
# given numbers acts as UCX's tool. Each point, ratio and target is present and follows from the
# measurements. A library that is not installed is left out with a message, and errors are clear.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/results"
messages=("$TUTTI_SOURCE/bench/bench" messages --build "$TUTTI_BUILD" --results "$work/results" --quick --batch 0.001)

"${messages[@]}" --partners tutti --sizes 100K,1M --repeats 1 --json "$work/all.json" >"$work/out"
python3 - "$work/all.json" <<'PYTHON'
import json, os, sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
assert not document["failures"], document
points = {(row["measure"], row["bytes"]): row for row in document["points"]}
streams = {(stream, size) for stream in ("bandwidth", "one-place") for size in (100 << 10, 1 << 20)}
assert set(points) == {("latency", 8)} | streams, points
for row in points.values():
    (name, value), = row["values"].items()
    assert name.startswith("tutti: ") and value > 0 and row["runs"][name] == [value], row
    assert row["unit"] == ("us" if row["measure"] == "latency" else "MiB/s") and "ratio" not in row, row
    assert set(row["limits"]) == ({"line"} if row["measure"] == "latency" else {"memcpy", "cma"}), row
    assert row["measure"] == "latency" or row["limits"]["memcpy"] > 0, row
cores = len(os.sched_getaffinity(0))
assert [rates["ranks"] for rates in document["rates"]] == ([1, 2] if cores >= 4 else [1]), document["rates"]
assert all(rate > 0 for rates in document["rates"] for rate in rates["one"] + rates["two"])
assert all(len(rates["two"]) == 1 for rates in document["rates"])
assert document["pull"]["bytes"] == 16 << 20 and all(len(of) == 1 for of in document["pull"]["mib_per_s"].values())
within, between = document["targets"]
assert within["met"] == (document["rates"][0]["two"][0] / document["rates"][0]["one"][0] >= 1.8), document
assert (between["met"] is None) == (cores < 4), between
PYTHON
grep -q '^| 8 bytes, one way, us ' "$work/out"
grep -q '^Rendezvous of 16M: ' "$work/out"
[ "$(nproc)" -ge 4 ] || grep -q "not measured, $(nproc) cores of 4" "$work/out"

# A script in place of ucx_perftest: it reports a tenth of a second per message and 1 MiB/s for
# either kind of message, and twice as good values with UCX's default transports.
mkdir "$work/bin"
cat >"$work/bin/ucx_perftest" <<'TOOL'
#!/bin/sh
case $1 in
-*) echo 'Waiting for connection...' && exec sleep 1000 ;;
esac
[ ! -e "$0.fails" ] || { echo 'no transport' >&2 && exit 3; }
while [ "$1" != -b ]; do shift; done
tests=$2 good=1
[ -n "$UCX_TLS" ] || good=2
echo 'tests,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr'
while read -r name _; do echo "$name,  10,1,2,$((100000 / good)),4,$good,6,7"; done <"$tests"
TOOL
chmod +x "$work/bin/ucx_perftest"
beside=(env PATH="$work/bin:$PATH" "${messages[@]}" --parts messages --partners 'tutti,ucx' --sizes 1M --repeats 2)
"${beside[@]}" --json "$work/two.json" >"$work/out"
python3 - "$work/two.json" <<'PYTHON'
import json, statistics, sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
latency, own, bandwidth = document["points"]
assert (own["measure"], bandwidth["measure"]) == ("bandwidth", "one-place") and "ratio" not in own, own
assert len(latency["values"]) == 7 and latency["values"]["ucx: am, shared memory"] == 1e5, latency
assert bandwidth["values"]["ucx: tag, default"] == 2 and bandwidth["values"]["ucx: tag, shared memory"] == 1
assert latency["best"].endswith("default") and bandwidth["best"].endswith("default"), document["points"]
tutti = next(name for name in latency["values"] if name.startswith("tutti"))
for row, best in ((latency, 5e4), (bandwidth, 2)):
    expected = statistics.median(run / best for run in row["runs"][tutti])
    assert abs(row["ratio"] - expected) <= 1e-4 * (1 + expected), row
assert [target["bound"] for target in document["targets"]] == ["at most 1.05", "at least 0.95"]
assert all(target["met"] for target in document["targets"]), document["targets"]
PYTHON

refused() { # refused TEXT COMMAND...: expects an error that contains the text
    local words=$1 status=0
    shift
    "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out"; then
        echo "$*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
# If a library fails, it is named and not called again, and the other libraries are measured.
touch "$work/bin/ucx_perftest.fails"
refused 'no transport' "${beside[@]}"
[ "$(grep -c 'no transport' "$work/out")" -eq 6 ]
grep -q '^| 1M, MiB/s ' "$work/out"

# Libraries that are not installed are left out, and the other libraries are measured.
PYTHONPATH=$TUTTI_SOURCE/bench PYTHONDONTWRITEBYTECODE=1 python3 - "$TUTTI_BUILD" <<'PYTHON'
import os, sys
from harness import partners
os.environ["PATH"], said = "/nowhere", []
found = partners.make(["tutti", "ucx", "openmpi", "mpich"], sys.argv[1], "/nowhere", said.append)
assert [one.family for one in found] == ["tutti"], found
assert [words.split()[0] for words in said] == ["ucx", "openmpi", "mpich"] and "mpicc.mpich" in said[2], said
PYTHON

refused 'no partner is called nobody' "${messages[@]}" --partners nobody
refused 'not a size' "${messages[@]}" --sizes 0
refused 'not a size' "${messages[@]}" --sizes 1G
refused "no part is called 'rest'" "${messages[@]}" --parts rest
refused '--batch is more than 0' "$TUTTI_SOURCE/bench/bench" messages --batch 0
refused 'build Tutti first' "$TUTTI_SOURCE/bench/bench" messages --build "$work"
refused "messages: cannot write $work/none/x: No such file or directory" "${messages[@]}" --json "$work/none/x"

# The benchmark programs themselves, without their driver.
bench=$TUTTI_BUILD/bench/bench-messages
refused 'messages go between 2 ranks, not 1' "$bench" latency
refused 'not latency, bandwidth:BYTES' tutti run -n 2 "$bench" speed
refused 'messages have 1 to 64M bytes' tutti run -n 2 "$bench" bandwidth:0
refused 'usage: messages' tutti run -n 2 "$bench"
refused 'usage: messages-threads' "$bench-threads" rate 0 1
refused 'usage: messages-threads' "$bench-threads" pull 1 1M 3
refused 'a job of 2 ranks, not 1' "$bench-threads" pull 1 1000 2
echo 'messages: points, ratios, targets and errors'
