#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs repeated.c on processes, and counts the plans that rank 0 makes: one for equal calls, and one
# for each shape if a few shapes come in turn.
set -eu
program=$TUTTI_BUILD/tests/test-api-repeated
for n in 1 2 5; do tutti run --timeout 3000 -n $n "$program"; done
TUTTI_NODES=2,2,1 tutti run --timeout 3000 -n 5 "$program"

plans() {
    made=$(TUTTI_LOG=choice tutti run -n 3 "$program" "$1" 2>&1 | grep -c 'for allgatherv')
    [ "$made" -eq "$2" ] || { echo "$1: $made plans instead of $2" >&2 && exit 1; }
}
plans equal 1
plans turns 3
