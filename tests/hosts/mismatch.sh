#!/bin/bash
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
    grep -v 'error: tutti_finalize: the calls' err >wrong || true
    mv wrong err
    fail 'odds'
fi
[ "$(lines '^4 ranks: [0-9]{2,} cases$')" -eq 4 ] || fail 'not all said how many cases'

# Rank 1 passes an invalid pointer, which rank 0 finds when it reads there: the ranks on other hosts
# get an error that names rank 1 and the cause. Rank 1 may die before that, since it reads there,
# too.
until_lines 3 '^rank [023]: a member of the team failed' 100 "$TUTTI_BUILD/tests/trouble-rank" pointer 1 allreduce
blamed='rank 1 (died|on h1 is gone|cannot go on: an argument is wrong: allreduce\(n=100000 of f64, sum\): rank 1 gave)'
[ "$(lines "^rank [023]: a member of the team failed .*: $blamed")" -eq 3 ] || fail 'an invalid pointer: blamed wrongly'
