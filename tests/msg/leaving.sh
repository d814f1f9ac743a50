#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that finalize with messages or puts under way: as threads, and as processes with each
# protocol. A brief run takes half of the protocols.
set -eu
leaving=$TUTTI_BUILD/tests/msg-leaving
for how in once first put nothing together fenced missed unmade late unread unheard queued; do
    "$leaving" threads 2 "$how"
    if [ -z "$TUTTI_TEST_BRIEF" ]; then
        tutti run --timeout 3000 -n 2 "$leaving" "$how"
        TUTTI_RING=4K tutti run --timeout 3000 -n 2 "$leaving" "$how"
    fi
    TUTTI_SPLIT_COPY=1 TUTTI_READ_COST=1 tutti run --timeout 3000 -n 2 "$leaving" "$how"
    TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$leaving" "$how"
    if [ "${1:-}" = wire ]; then
        [ -n "$TUTTI_TEST_BRIEF" ] || TUTTI_WIRE=1 tutti run --timeout 3000 -n 2 "$leaving" "$how"
        TUTTI_WIRE=1 UCX_TLS=tcp,self tutti run --timeout 3000 -n 2 "$leaving" "$how"
    fi
done
"$leaving" threads 3 crossing
tutti run --timeout 3000 -n 3 "$leaving" crossing
if [ "${1:-}" = wire ]; then
    TUTTI_WIRE=1 TUTTI_REMOTE_KEYS=1 tutti run --timeout 3000 -n 2 "$leaving" put
fi
