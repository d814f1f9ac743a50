#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of `limits` that need no MPI give a number for each target; which are met is not asked
# here.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$TUTTI_SOURCE/bench/limits" --build "$TUTTI_BUILD" --parts overhead,planning,memory --json "$work/limits.json" >"$work/out"
python3 - "$work/limits.json" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    targets = json.load(file)["targets"]
assert len(targets) == 3 + 5 + 1, targets
for target in targets:
    assert target["measured"] is not None and target["met"] in (True, False), target
PYTHON
grep -q 'a new shape planned, 16 ranks' "$work/out"

# A file that cannot be written is noticed before anything is measured.
status=0
"$TUTTI_SOURCE/bench/limits" --build "$TUTTI_BUILD" --json "$work/none/x" >"$work/out" 2>&1 || status=$?
[ "$status" -eq 1 ]
diff "$work/out" - <<<"limits: cannot write $work/none/x: No such file or directory"

# What copies take: a number for each way, or - for what the kernel forbids, wherever they lie.
"$TUTTI_BUILD/bench/bench-copies" 65536 >"$work/copies"
[ "$(grep -cE '^ +[0-9]+( +([0-9]+\.[0-9]{2}|-)){6}$' "$work/copies")" -eq 15 ]
echo 'limits: a number for each target'
