#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs team-of.c on processes: on one node, on several nodes with messages, with a real network, and
# with a rank that dies or leaves.
set -eu
program=$TUTTI_BUILD/tests/test-api-team-of
go() { tutti run --timeout 3000 "$@"; }
for n in 1 2 5; do go -n $n "$program" all; done
TUTTI_NODES=2,2,1 go -n 5 "$program" all

# gone N WHAT: runs a job of N ranks, of which the last one dies or leaves, as WHAT says. Expects
# that each other rank continues.
gone() {
    local said
    said=$(go -n "$1" --on-failure continue "$program" "$2" 2>/dev/null || true)
    [ "$(grep -c '^went on$' <<<"$said")" = $(($1 - 1)) ] || {
        echo "FAILED: $*: $said" >&2
        exit 1
    }
}
for n in 2 3 4; do gone $n die && gone $n leave; done
TUTTI_NODES=2,2 gone 4 die
TUTTI_NODES=2,1 gone 3 leave
# Where the UCX library is installed, also runs the test with a real network between the nodes.
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_WIRE=1 TUTTI_NODES=2,1 UCX_TLS=tcp,self go -n 3 "$program" all
fi
