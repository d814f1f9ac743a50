#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of bench/results/simulated.md are what the command prints.
set -euo pipefail
most=1024
[ -z "$TUTTI_TEST_BRIEF" ] || most=64
rows=0
while IFS= read -r row; do
    grep -qxF -- "$row" "$TUTTI_SOURCE/bench/results/simulated.md" || {
        echo "bench/results/simulated.md has no row '$row'"
        exit 1
    }
    rows=$((rows + 1))
done < <("$TUTTI_SOURCE/bench/bench" simulate halving --build "$TUTTI_BUILD" --most "$most")
[ "$rows" -ge 18 ] || {
    echo "only $rows rows"
    exit 1
}
