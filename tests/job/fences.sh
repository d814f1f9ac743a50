#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Clients in which one of two ranks must not call membarrier, or no longer.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

# With these settings a rank sleeps as soon as it has looked for its event once.
export TUTTI_SPINS=0 TUTTI_YIELDS=0
for when in early between late; do
    got=0
    tutti run -n 2 --timeout 3000 "$TUTTI_BUILD/tests/test-job-fences" "$when" >out 2>err || got=$?
    if [ "$got" -eq 77 ]; then
        echo 'two ranks have no processor each here, or no system call can be forbidden'
        exit 77
    fi
    [ "$got" -eq 0 ] || fail "$when: $got"
done
