#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Long messages as split copies: see help.c. Skipped where the system does not let processes access
# each other's memory. A brief run takes one seed, and leaves out four runs on two ranks whose cases
# the other runs cover.
set -eu
help=$TUTTI_BUILD/tests/msg-help
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TUTTI_READ_COST=1
run() { # run -n RANKS [CONTEXTS]: runs help.c, with one context in each rank by default
    local status=0
    rm -f "$work"/*
    tutti run --timeout 3000 "$1" "$2" "$help" "${3:-1}" "$work" || status=$?
    [ "$status" -ne 77 ] || exit 77
    return "$status"
}
if [ -z "$TUTTI_TEST_BRIEF" ]; then
    TUTTI_SPLIT_COPY=1 run -n 2
    TUTTI_SPLIT_COPY=1 run -n 2 2
    TUTTI_SPLIT_COPY=0 run -n 2
    run -n 2
fi
TUTTI_SPLIT_COPY=1 run -n 3
TUTTI_SPLIT_COPY=1 run -n 3 3
TUTTI_SPLIT_COPY=1 TUTTI_FAULT=delay=30,seed=8 run -n 2 4
TUTTI_SPLIT_COPY=1 TUTTI_RING=4K run -n 2
TUTTI_SPLIT_COPY=1 TUTTI_FAULT=delay=30,seed=7 run -n 2
TUTTI_SPLIT_COPY=0 run -n 2 3
run -n 3
# Delays of up to 20 ms before each piece that the origin writes.
seeds=(1 2 3 4 5)
[ -z "$TUTTI_TEST_BRIEF" ] || seeds=(1)
for seed in "${seeds[@]}"; do
    for contexts in 1 3; do
        TUTTI_SPLIT_COPY=1 TUTTI_FAULT=delay=20000,rank=0,seed=$seed tutti run --timeout 3000 -n 2 "$help" "$contexts"
    done
done
