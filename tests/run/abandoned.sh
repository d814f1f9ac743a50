#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank leaves while its alltoall is under way (abandoned.c). The library may not free memory of
# the call that the other rank still accesses: packed elements, which the other rank reads or, with
# `exchange`, also writes; or the scratch from which `bruck` sends its blocks.
#
# Threads access each other's memory in any case, and rank 1 has done all its steps that do not wait
# for rank 0. So rank 0 gets OK, which shows that it has accessed that memory. Between processes it
# may get PEER, if the system forbids that ranks access each other's memory.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

abandoned=$TUTTI_BUILD/tests/test-run-abandoned

for algorithm in direct bruck pairwise exchange; do
    export TUTTI_ALGORITHM=alltoall=$algorithm
    for what in packed plain; do
        rm -f started gone finished
        expect 0 tutti run -n 2 "$abandoned" "$what"
        rm -f started gone finished
        expect 0 "$abandoned" threads "$what"
        says out '^OK$'
    done
done
