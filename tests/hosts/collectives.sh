#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All collectives by all algorithms on four hosts with 4, 2, 1 and 1 ranks: shared memory within a
# host, TCP between them. The programs are those that also run under `tutti run`; they compare each
# result.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 4,2,1,1

on_hosts "$TUTTI_BUILD/bin/hello" >out 2>err || fail 'hello'
[ "$(lines '^rank [0-7] of 8: the sum of all ranks is 28$')" -eq 8 ] || fail 'hello says something else'
# Each rank creates a second client beside the first, and a third when both are freed.
on_hosts "$TUTTI_BUILD/tests/tools-rank" join-again >out 2>err || fail 'join-again'
for said in 'living: done' 'sum 8' 'left: done'; do
    [ "$(lines "^$said")" -eq 8 ] || fail "not all say: $said"
done
on_hosts "$TUTTI_BUILD/tests/tools-rank" join-often >out 2>err || fail 'join-often'
[ "$(lines '^joined 20 times$')" -eq 8 ] || fail 'not all joined again and again'
# Messages reach a context although the rank does not advance its other contexts. The test is
# repeated because each run sets up connections that are hardly used before the job ends.
for _ in 1 2 3 4 5; do
    on_hosts "$TUTTI_BUILD/tests/msg-alone" >out 2>err || fail 'msg-alone'
    [ "$(lines '^heard$')" -eq 7 ] || fail 'not all were heard'
done
# These hosts are containers on one machine, and each rank must know that all of them are. The speed
# of a link does not matter then.
on_hosts -x TUTTI_LOG=choice -x TUTTI_LINK_MBIT=100000 "$TUTTI_BUILD/tests/tools-rank" exchange >out 2>err || fail 'exchange'
[ "$(lines '^exchanged 1, short queues$')" -eq 8 ] || fail 'not all have short queues'
grep -q 'choice: logical for bcast(n=262144 of u8' err || fail 'another bcast is chosen than between containers'
on_hosts "$TUTTI_BUILD/tests/test-run-conform-threads" >out 2>err || fail 'conform'
[ "$(lines '^8 ranks: [0-9]{3,} cases$')" -eq 1 ] || fail 'conform did not say how many cases'
cat out
# The algorithm exchange puts into the memory of ranks on other hosts, and (with TUTTI_CMA=0) into
# that of ranks on the same host although direct access is forbidden.
for cma in 0 1; do
    on_hosts -x TUTTI_CMA=$cma -x TUTTI_ALGORITHM=alltoallv=exchange \
        "$TUTTI_BUILD/tests/test-run-common" >out 2>err || fail "exchange, TUTTI_CMA=$cma"
done
