#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kill -9 of a rank in the middle of messages, short and long, by whatever way they go.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../trouble/lib.sh"
deaths=$TUTTI_BUILD/tests/msg-deaths

# The job's exit code is the dead rank's; a second is promised, where nothing else runs.
survived() {
    expect 137 tutti run -n 3 --timeout 600 "$deaths" "$@"
    [ "$(lines out '^rank [02]: [0-9]+ done, [0-9]+ not$')" -eq 2 ] || fail "$*: who survived did not go on"
    slow=$(sed -nE 's/^rank .* told after ([0-9]+) ms.*/\1/p' out | awk -v most="$(patience 1500)" '$1 >= most' | wc -l)
    [ "$slow" -eq 0 ] || fail "$*: told late"
}

for after in 1 5 500; do
    for length in 8 5000 300000 1000000; do
        survived $length $after
        TUTTI_CMA=0 survived $length $after
        TUTTI_READ_COST=1 survived $length $after
        TUTTI_HELP=1 TUTTI_READ_COST=1 survived $length $after
    done
    TUTTI_RING=4K survived 1000 $after
done
# At one of its own operations, among them the writing of a piece that it has claimed (help.h).
export TUTTI_HELP=1 TUTTI_READ_COST=1
for at in $(seq 60 9 150); do TUTTI_FAULT=kill,rank=1,after=$at survived 1000000 1000000; done
nothing_left "$TUTTI_TEST"
