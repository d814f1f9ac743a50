#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Keys of regions that no longer exist, between processes, for each transport of gets and puts.
set -eu
regions=$TUTTI_BUILD/tests/test-msg-regions-threads
tutti run --timeout 3000 -n 2 "$regions"
TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$regions"
if [ "${1:-}" = wire ]; then
    TUTTI_WIRE=1 tutti run --timeout 3000 -n 2 "$regions"
    TUTTI_WIRE=1 TUTTI_REMOTE_KEYS=1 UCX_TLS=tcp,self tutti run --timeout 3000 -n 2 "$regions"
fi
export TUTTI_READ_COST=1 # the kernel moves long messages
tutti run --timeout 3000 -n 2 "$regions" unmapped
TUTTI_ALGORITHM=bcast=direct tutti run --timeout 3000 -n 3 --on-failure=continue "$regions" dead
