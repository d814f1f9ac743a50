#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tutti's simulator and SimGrid give the same time if no message waits for another one, and differ
# in the ways that docs/simulation.md explains if some messages wait. A peer whose model is slightly
# wrong is noticed.
set -euo pipefail
[ -x "$TUTTI_BUILD/tests/simgrid-peer" ] || { echo 'skipped: SimGrid was not found when this was built' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
simgrid=("$TUTTI_SOURCE/tests/simgrid/compare" --build "$TUTTI_BUILD")

"${simgrid[@]}" --json "$work/rows.json" >"$work/out" || { cat "$work/out"; exit 1; }
python3 - "$work/rows.json" <<'PYTHON'
import collections, json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    rows = json.load(file)
kinds = collections.Counter(row["kind"] for row in rows)
assert kinds["same"] > 100 and min(kinds[kind] for kind in ("start-ups", "overlap", "order")) > 2, kinds
assert {row["options"].partition("--model ")[2] for row in rows} >= {"simple", "links"}
# Each row must bear out its verdict: the two times are equal only in a row of the kind "same", and
# messages have waited in each row of another kind.
for row in rows:
    off = abs(row["simgrid_us"] - row["tutti_us"]) / row["tutti_us"]
    assert (off <= 1e-6) == (row["kind"] == "same") and row["as_expected"], row
    assert row["kind"] == "same" or row["waits"] > 0, row
assert sum(row["kind"] == "same" and row["waits"] == 0 for row in rows) > 100
# The times of Tutti and of SimGrid, worked out by hand, in microseconds: a byte takes 0.001, a
# start-up 1.
by_hand = {"alltoall/u8/5000/p8@ring:8 ring": (147, 147),         # 7 start-ups, 28 blocks
           "reduce/f64/sum/1K/p8 prt": (8.096, 6.096),            # SimGrid: 2 start-ups less
           "reduce/f64/sum/1K/p13 binomial": (8.096, 7.096),      # SimGrid: 1 start-up less
           "alltoall/u8/1K/p4@mesh:4 pairwise": (7.12, 8.12),     # SimGrid: 1 start-up more
           "allreduce/f64/sum/1K/p12 doubling": (10.12, 11.144)}  # SimGrid: 1 transfer of 1 KiB more
for row in rows:
    wanted = by_hand.get(f"{row['problem']} {row['algorithm']}")
    if wanted:
        assert abs(row["tutti_us"] - wanted[0]) < 1e-6 and abs(row["simgrid_us"] - wanted[1]) < 1e-6, row
PYTHON
grep -q '^order: ' "$work/out"

# One problem must pass, and must fail if bytes take a thousandth longer in SimGrid.
one=(alltoall/u8/1K/p4@ring:4 ring)
"${simgrid[@]}" "${one[@]}" >"$work/out"
mkdir -p "$work/off/bin" "$work/off/tests"
ln -s "$TUTTI_BUILD/bin/tutti" "$work/off/bin/tutti"
cat >"$work/off/tests/simgrid-peer" <<PEER
#!/bin/sh
exec "$TUTTI_BUILD/tests/simgrid-peer" "\$@" --tw 1001ps
PEER
chmod +x "$work/off/tests/simgrid-peer"
if "$TUTTI_SOURCE/tests/simgrid/compare" --build "$work/off" "${one[@]}" >"$work/out"; then
    cat "$work/out"
    exit 1
fi
grep -q 'NOT AS EXPECTED' "$work/out"

# On a crowded link the order of messages that arrive at the same time matters: Tutti's time is one
# of those that SimGrid finds.
crowded=(alltoall/u8/1K/p7@tree:2x7 pairwise --hop 1003ps)
"${simgrid[@]}" "${crowded[@]}" | grep -qE ' 18\.321027 .* -10\.9109 %$'
for seed in {1..12}; do
    "$TUTTI_BUILD/tests/simgrid-peer" "${crowded[@]}" --contention queued --ties "$seed"
done | cut -c -6 | sort -u | diff - <(printf '%s\n' 16.322 18.321)

refused() { # refused TEXT ARGUMENT...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${simgrid[@]}" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out"; then
        echo "simgrid $*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
refused 'which algorithm?' barrier/p4
refused "barrier has no algorithm 'nothing'" barrier/p4 nothing
refused 'wants a network' barrier/p4 flat --model links
refused "cannot write $work/none/x: No such file or directory" --json "$work/none/x"
refused 'build Tutti first' --build "$work" barrier/p4 flat

# The peer program alone.
peer() { # peer TEXT ARGUMENT...: expects exit status 2 and an error that contains the text
    local words=$1 status=0
    shift
    "$TUTTI_BUILD/tests/simgrid-peer" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -ne 2 ] || ! grep -qF -e "$words" "$work/out"; then
        echo "simgrid-peer $*: wanted status 2 and \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
peer 'want PROBLEM ALGORITHM' barrier/p4
peer 'want PROBLEM ALGORITHM' barrier/p4 flat --ts 1us
peer 'want PROBLEM ALGORITHM' barrier/p4 flat --model loggp
peer 'want PROBLEM ALGORITHM' barrier/p4 flat --ties x
peer 'want PROBLEM ALGORITHM' barrier/p4 flat --hop -1ps
peer 'there is no such algorithm' barrier/p4 nothing
peer 'hypercube does not apply: it needs a power of two' alltoall/u8/8/p5 hypercube
peer 'wants a network' barrier/p4 flat --model links
peer 'p4x' barrier/p4x flat
echo 'simgrid: the same where nobody waits, different as explained where some do'
