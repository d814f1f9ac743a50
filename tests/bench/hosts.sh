#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The benchmark between hosts: Tutti and the other libraries that are installed, over links of a
# given rate, on two hosts. Nothing of the hosts is left behind, and errors are clear. Skipped where
# namespaces cannot be created or Tutti cannot be started in them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/results"
hosts=("$TUTTI_SOURCE/bench/bench" hosts --build "$TUTTI_BUILD" --results "$work/results" --nodes '2,1' --quick --repeats 1 --batch 0.001)

refused() { # refused TEXT ARGUMENT...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${hosts[@]}" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out"; then
        echo "hosts $*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
refused 'no partner is called nobody' --partners nobody
refused "no part is called 'rest'" --parts rest
refused 'not the ranks of 2 to 16 hosts' --nodes 4
refused 'not the ranks of 2 to 16 hosts' --nodes 4,0
refused 'not a rate' --rate fast
refused 'not a size' --sizes 12
refused 'not a size' --streams 1G
refused '--batch is more than 0' --batch -1
refused 'build Tutti first' --build "$work"
refused "hosts: cannot write $work/none/x: No such file or directory" --json "$work/none/x"

if ! grep -q '^  PMIx  *there' <<<"$(tutti info)"; then
    echo 'SKIPPED: built without libpmix-dev, or no libpmix2'
    exit 77
fi
links() { ip -o link | cut -d: -f2; }
links >"$work/before"
status=0
TMPDIR=$work "${hosts[@]}" --rate 10gbit --streams 64K --sizes 8,64 --json "$work/all.json" >"$work/out" 2>"$work/err" || status=$?
if [ "$status" -eq 77 ]; then
    cat "$work/err"
    exit 77
fi
cat "$work/err"
[ "$status" -eq 0 ]
python3 - "$work/all.json" <<'PYTHON'
import itertools, json, math, shutil, subprocess, sys
header = ["sh", "-c", "echo '#include <mpi.h>' | mpicc.openmpi -x c -E -"]
has_openmpi = subprocess.run(header, capture_output=True, check=False).returncode == 0
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
assert document["nodes"] == "2,1" and document["rate"] == "10gbit"
stream, collectives = document["stream"], document["collectives"]
for part, points in ((stream, {("latency", 8), ("one-place", 64 << 10)}), (collectives, set(itertools.product(("allreduce", "alltoall", "bcast", "reduce"), (8, 64))))):
    assert {(row["measure"], row["bytes"]) for row in part["points"]} == points, part["points"]
    for row in part["points"]:
        assert any(name.startswith("tutti: ") for name in row["values"]), row
        assert min(row["values"].values()) > 0, row
        assert set(row["limits"]) == ({"sockets"} if row["measure"] == "alltoall" else set()), row
        assert all(us > 0 for us in row["limits"].values()), row
if shutil.which("ucx_perftest"):
    assert all(row["best"].startswith("ucx: ") for row in stream["points"]), stream
    assert [target["bound"] for target in stream["targets"]] == ["at least 0.9"]
# Ten gigabits per second are 1192 MiB/s. The link may send 256 KiB at once without a delay (the
# burst of its shaper), which does not change this rate much.
assert all(value < 1500 for row in stream["points"] if row["unit"] == "MiB/s" for value in row["values"].values()), stream
pulled = document["pull"]
assert pulled["bytes"] == 16 << 20 and set(pulled["mib_per_s"]) == {"1", "2", "sent"} and not pulled["targets"], pulled
assert all(len(runs) == 1 and 0 < runs[0] < 1500 for runs in pulled["mib_per_s"].values()), pulled
assert {name.split(":")[0] for row in collectives["points"] for name in row["values"]} >= {"tutti"}
beside = any(name.startswith("openmpi: ") for row in collectives["points"] for name in row["values"])
assert beside or not has_openmpi, "Open MPI is there, and was not measured"
for row, target in zip(collectives["points"] if beside else [], collectives["targets"]):
    assert row["best"].startswith("openmpi: ") and abs(target["measured"] - 1 / row["ratio"]) < 2e-3, (row, target)
for measure in "allreduce", "alltoall", "bcast", "reduce":
    ratios = [1 / row["ratio"] for row in collectives["points"] if row["measure"] == measure and "ratio" in row]
    means = [target for target in collectives["targets"] if target["target"].startswith(f"{measure}, geometric mean of 2")]
    assert not ratios or abs(means[0]["measured"] - math.prod(ratios) ** 0.5) < 2e-3, (ratios, means)
PYTHON
grep -q '^Hosts with 2,1 ranks; cables: 10gbit\.$' "$work/out"
grep -q '^### Messages between two hosts$' "$work/out"
tr '\n' ' ' <"$work/out" |
    grep -q ' Rendezvous of 16M between two hosts: .* TUTTI_REMOTE_KEYS=1 is set\. .* all data to one context: '

# If a job of the part `pull` fails, an error names this job, and the results have no figures of it.
status=0
TMPDIR=$work "${hosts[@]}" --parts pull --timeout 0.01 --json "$work/none.json" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 1 ]
grep -q 'tutti: 1 pulling, remote keys 1: did not end within' "$work/err"
[ "$(head -n 1 "$work/out")" = 'Hosts with 2,1 ranks; cables: not slowed down.' ]
[ "$(grep -c '^Rendezvous' "$work/out")" -eq 0 ]
python3 -c 'import json, sys; pulled = json.load(open(sys.argv[1]))["pull"]; assert not pulled["mib_per_s"] and pulled["failures"]' "$work/none.json"

links | diff "$work/before" -
[ -z "$(find "$work" -name 'tutti-hosts-*')" ]
[ -z "$(grep -lsFz "TMPDIR=$work" /proc/[0-9]*/environ | grep -vE "^/proc/(self|thread-self|$$)/" || true)" ]
echo 'hosts: points, targets, errors, and nothing left'
