#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The program prints a row for each job that is not too large. The test does not check how fast it
# is.
set -euo pipefail
out=$("$TUTTI_SOURCE/bench/bench" simulate rates --build "$TUTTI_BUILD" --results - --repeats 1 --most 1024)
[ "$(wc -l <<<"$out")" -eq 4 ]

# The driver prints its commands, and refuses other words.
said=$("$TUTTI_SOURCE/bench/bench" --help)
grep -q '^  compare  ' <<<"$said"
for wrong in '' compar; do
    status=0
    # shellcheck disable=SC2086
    said=$("$TUTTI_SOURCE/bench/bench" $wrong 2>&1) || status=$?
    [ "$status" -eq 2 ]
    grep -qE '^bench: (which command\?|there is no command .compar.)$' <<<"$said"
done
status=0
said=$("$TUTTI_SOURCE/bench/bench" simulate nothing 2>&1) || status=$?
[ "$status" -eq 2 ]
grep -q "invalid choice: 'nothing'" <<<"$said"
grep -qE '^\| alltoall/u8/64/p1024 \| pairwise \| 1047552 \| [0-9.]+ \| [0-9.]+ \|$' <<<"$out"
