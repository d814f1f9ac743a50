#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Contexts that stop being advanced, between processes, for each protocol that moves the pieces of a
# long message.
set -eu
idle=$TUTTI_BUILD/tests/test-msg-idle-threads
tutti run --timeout 3000 -n 2 "$idle"
TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$idle"
TUTTI_READ_COST=9 tutti run --timeout 3000 -n 2 "$idle"
TUTTI_CMA=0 TUTTI_RING=4K tutti run --timeout 3000 -n 2 "$idle"
if [ "${1:-}" = wire ]; then
    TUTTI_WIRE=1 TUTTI_REMOTE_KEYS=0 tutti run --timeout 3000 -n 2 "$idle"
    TUTTI_WIRE=1 TUTTI_REMOTE_KEYS=1 tutti run --timeout 3000 -n 2 "$idle" refused
    TUTTI_WIRE=1 TUTTI_REMOTE_KEYS=0 UCX_TLS=tcp,self tutti run --timeout 3000 -n 2 "$idle"
fi
