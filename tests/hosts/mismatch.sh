#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One rank makes a different call from the others, on several hosts: a small part of the cases of
# tests/trouble/odds.c.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 2,1,1
# tutti_finalize warns of mismatches, which are intended here.
if ! on_hosts "$TUTTI_BUILD/tests/trouble-odds" processes 4 160 0 >out 2>err; then
    grep -v 'warning: tutti_finalize: the calls' err >wrong || true
    mv wrong err
    fail 'odds'
fi
[ "$(lines '^4 ranks: [0-9]{2,} cases$')" -eq 4 ] || fail 'not all said how many cases'
