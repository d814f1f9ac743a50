#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of `limits` that need no MPI give a number for each target. The test does not check
# which targets are met.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/results"
"$TUTTI_SOURCE/bench/bench" limits --build "$TUTTI_BUILD" --results "$work/results" --parts overhead,planning,memory --json "$work/limits.json" >"$work/out"
python3 - "$work/limits.json" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    targets = json.load(file)["targets"]
assert len(targets) == 3 + 5 + 1, targets
for target in targets:
    assert target["measured"] is not None and target["met"] in (True, False), target
PYTHON
grep -q 'planning a new shape, 16 ranks' "$work/out"

# The table is also appended to the file of this day and machine, with the machine and the versions.
files=("$work"/results/*.md)
[ ${#files[@]} -eq 1 ]
[[ ${files[0]##*/} =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}-[a-z0-9-]+\.md$ ]]
model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
grep -qF ", $(xargs <<<"$model")" <(head -n 1 "${files[0]}")
grep -qx "\`bench/bench limits --parts overhead,planning,memory\`" "${files[0]}"
versions=$(sed -n '/^At /, /^$/p' "${files[0]}" | xargs)
grep -qE "^At [0-9:]{5}\. Linux $(uname -r); tutti [0-9.]+;.*\.$" <<<"$versions"
diff -B "$work/out" <(awk 'after; /^At / { at = 1 } at && /^$/ { after = 1 }' "${files[0]}")
"$TUTTI_SOURCE/bench/bench" limits --build "$TUTTI_BUILD" --results "$work/results" --parts overhead >"$work/out"
[ "$(grep -c '^## bench/bench limits' "${files[0]}")" -eq 2 ]
[ "$(grep -c '^# ' "${files[0]}")" -eq 1 ]

# A file that cannot be written is reported before anything is measured.
status=0
"$TUTTI_SOURCE/bench/bench" limits --build "$TUTTI_BUILD" --results "$work/results" --json "$work/none/x" >"$work/out" 2>&1 || status=$?
[ "$status" -eq 1 ]
diff "$work/out" - <<<"limits: cannot write $work/none/x: No such file or directory"
status=0
"$TUTTI_SOURCE/bench/bench" limits --build "$TUTTI_BUILD" --results "$work/none" >"$work/out" 2>&1 || status=$?
[ "$status" -eq 1 ]
grep -qE "^limits: cannot write $work/none/[0-9].*\.md: No such file or directory$" "$work/out"

# Wrong arguments.
refused() { # refused TEXT ARGUMENT...: expects an error that contains the text
    local words=$1 status=0
    shift
    "$TUTTI_SOURCE/bench/bench" limits --build "$TUTTI_BUILD" --results - "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -eq 2 ]
    grep -qF -e "$words" "$work/out"
}
refused "no part is called 'rest': there are overhead, planning, ranking, startup, memory, transfer" --parts overhead,rest
refused "not a whole number from 1: '0'" --repeats 0

# The times of rankings, for each collective and number of nodes and processors, and the time of
# finding a ranking.
"$TUTTI_BUILD/bench/bench-ranking" 3 >"$work/rankings"
[ "$(grep -cE '^\{"target": "ranking", "collective": "[a-z_]+", "ranks": 3, "nodes": [13], "cores": [23], "bytes": [0-9]+, "ns": [0-9]+, "all_ns": [0-9]+\}$' "$work/rankings")" -eq 39 ]
[ "$(grep -cE '^\{"target": "lookup", "ns": [0-9.]+\}$' "$work/rankings")" -eq 1 ]

# The times of copies: a number for each method and each pair of positions, or "-" if the kernel
# forbids this method.
"$TUTTI_BUILD/bench/bench-copies" 65536 >"$work/copies"
[ "$(grep -cE '^ +[0-9]+( +([0-9]+\.[0-9]{2}|-)){6}$' "$work/copies")" -eq 15 ]

# The speeds of packing: for each kind of pieces two speeds and their ratio, packing and unpacking.
"$TUTTI_BUILD/bench/bench-packing" 65536 >"$work/packing"
[ "$(grep -cE '^[0-9][a-z0-9, ]+( +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} +[0-9]+ %){2}$' "$work/packing")" -eq 8 ]
echo 'limits: a number for each target'
