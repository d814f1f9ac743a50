#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of docs/simulation.md are what the command gives.
set -euo pipefail
most=1024
[ -z "$TUTTI_TEST_BRIEF" ] || most=64
rows=0
while IFS= read -r row; do
    grep -qxF -- "$row" "$TUTTI_SOURCE/docs/simulation.md" || {
        echo "docs/simulation.md has no row '$row'"
        exit 1
    }
    rows=$((rows + 1))
done < <("$TUTTI_SOURCE/bench/halving-costs" "$most")
[ "$rows" -ge 18 ] || {
    echo "only $rows rows"
    exit 1
}
