#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Handles that are not valid any more, the memory that calls keep, and child processes of ranks: in
# a job of one, in jobs of processes, and on two simulated nodes.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

handles=$TUTTI_BUILD/tests/test-api-handles
for what in end many broken fork; do
    expect 0 "$handles" "$what"
    expect 0 tutti run -n 3 --timeout 3000 "$handles" "$what"
    [ "$(lines out '^all as it should be$')" -eq 3 ] || fail "$what: not all ranks were through"
    TUTTI_NODES=2,1 expect 0 tutti run -n 3 --timeout 3000 "$handles" "$what"
done
expect 0 tutti run -n 2 --timeout 3000 "$handles" join
# The allocators of sanitizers may hang in a child if another thread was in them at the fork.
if [ -z "$TUTTI_SANITIZE" ]; then
    expect 0 "$handles" busy
    expect 0 tutti run -n 3 --timeout 3000 "$handles" busy
fi

# The other ranks notice the death of a rank although a child process of that rank stays alive.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 \
    expect 0 tutti run -n 3 --timeout 3000 --on-failure=continue "$handles" orphan
[ "$(lines out '^rank [02] saw it: rank 1 died: signal 9')" -eq 2 ] || fail 'orphan'
