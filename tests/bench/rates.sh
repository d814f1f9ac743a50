#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A row for each job that is not too large; how fast, is no test.
set -euo pipefail
out=$("$TUTTI_SOURCE/bench/rates" --build "$TUTTI_BUILD" --repeats 1 --most 1024)
[ "$(wc -l <<<"$out")" -eq 4 ]
grep -qE '^\| alltoall/u8/64/p1024 \| pairwise \| 1047552 \| [0-9.]+ \| [0-9.]+ \|$' <<<"$out"
