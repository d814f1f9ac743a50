#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives of 2.2 GiB a rank (large.c), in shared memory and over the network.
set -eu
program=$TUTTI_BUILD/tests/test-run-large
need_kib=$((6 << 20))
free_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
if [ "$free_kib" -lt "$need_kib" ]; then
    echo "6 GiB of free memory are needed, $((free_kib >> 20)) GiB are there"
    exit 77
fi

tutti run -n 2 --timeout 3000 "$program"
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_WIRE=1 tutti run -n 2 --timeout 3000 "$program" alltoallv
else
    echo 'no UCX: nothing goes over the network'
fi
