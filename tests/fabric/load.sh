#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The messages where UCX is missing, too old, too new, incomplete, another library, cannot start, or
# was missing when Tutti was built.
set -euo pipefail

tests=$TUTTI_BUILD/tests
unset "${!UCX_@}" TUTTI_UCX
failed=0

# expect PROGRAM WHAT PATTERN...: expects each pattern in the program's output
expect() {
    local program=$1 what=$2 said pattern
    shift 2
    said=$("$tests/$program" 2>&1) || true
    for pattern in "$@"; do
        grep -q -e "$pattern" <<<"$said" && continue
        printf 'load: %s: "%s" is not in: %s\n' "$what" "$pattern" "$said" >&2
        failed=1
    done
}

still='jobs on one machine work'
expect fabric-without 'built without' '^no not supported' 'libucx-dev' "$still"
if [ -x "$tests/fabric-load" ]; then
    expect fabric-load 'there' '^yes [0-9.]* (libucp.so.0)$'
    ! "$tests/fabric-load" 2>&1 | grep taken || failed=1
    TUTTI_UCX=/nowhere/libucp.so.0 expect fabric-load 'missing' '^no not supported' /nowhere 'libucx0' "$still"
    TUTTI_UCX=$tests/libfabric-stub-old.so expect fabric-load 'too old' '^no not supported' '1.10.7' '1.12' "$still"
    TUTTI_UCX=$tests/libfabric-stub-new.so expect fabric-load 'too new' '^no not supported' '2.0.7' 'of 1 ' "$still"
    TUTTI_UCX=$tests/libfabric-stub-part.so expect fabric-load 'a part' '^no not supported' 'has no uc' "$still"
    TUTTI_UCX=libm.so.6 expect fabric-load 'not UCX' '^no not supported' "not UCX's UCP" "$still"
    UCX_TLS=nonsense expect fabric-load 'no transport' '^no not supported' 'UCX_TLS' "$still"

    grep -q '^  ucx  *[0-9.]* (libucp.so.0)' <<<"$(tutti info)" || failed=1
    grep -q '^  ucx  *not here: .*/nowhere' <<<"$(TUTTI_UCX=/nowhere/libucp.so.0 tutti info)" || failed=1
fi
exit $failed
