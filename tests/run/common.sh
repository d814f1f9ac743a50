#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An allgather from any common segment by the one engine, against the direct one; and by what is
# chosen.
set -eu
common=$TUTTI_BUILD/tests/test-run-common
direct=allgather=direct,allgatherv=direct
for n in 1 2 3 5 8; do
    TUTTI_ALGORITHM=alltoallv=exchange,$direct tutti run --timeout 600 -n "$n" "$common"
done
TUTTI_SLICE=1K TUTTI_ALGORITHM=alltoallv=exchange,$direct tutti run --timeout 600 -n 5 "$common"
TUTTI_ALGORITHM=alltoallv=exchange,allgather=exchange,allgatherv=exchange tutti run --timeout 600 -n 5 "$common"
TUTTI_ALGORITHM=alltoallv=pairwise tutti run --timeout 600 -n 5 "$common"
tutti run --timeout 600 -n 4 "$common"
