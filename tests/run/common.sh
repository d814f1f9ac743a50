#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Compares an alltoallv from a common segment (common.c) with an allgather and an allgatherv. The
# algorithms are: `exchange` for the alltoallv and `direct` for the others, `exchange` for all,
# `pairwise` for the alltoallv, and those that the planner chooses.
set -eu
common=$TUTTI_BUILD/tests/test-run-common
direct=allgather=direct,allgatherv=direct
for n in 1 2 3 5 8; do
    TUTTI_ALGORITHM=alltoallv=exchange,$direct tutti run --timeout 3000 -n "$n" "$common"
done
TUTTI_SLICE=1K TUTTI_ALGORITHM=alltoallv=exchange,$direct tutti run --timeout 3000 -n 5 "$common"
TUTTI_ALGORITHM=alltoallv=exchange,allgather=exchange,allgatherv=exchange tutti run --timeout 3000 -n 5 "$common"
TUTTI_ALGORITHM=alltoallv=pairwise tutti run --timeout 3000 -n 5 "$common"
tutti run --timeout 3000 -n 4 "$common"
