#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Problems drawn at random over all collectives, types, operations, counts, numbers of ranks, roots
# and algorithms, each compared with a serial reference. The random problems find mistakes in a
# command that was broken on purpose (mutant.c), and the command line that is printed then repeats
# the failure.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# The seed is taken from the number of the commit, so that each commit tries other problems, and
# tries them again if the test runs again. RANDOM_SEED=N draws those of another seed. Without a
# commit, the seed is 1. If a problem fails, the command prints how to repeat it. With a sanitizer
# and beside other tests, a problem of 64 ranks may take a second.
commit=$(git -C "$TUTTI_SOURCE" rev-parse HEAD 2>/dev/null || echo 1)
seconds=8 seed=${RANDOM_SEED:-$((16#${commit:0:7}))}
[ -z "${TUTTI_TEST_BRIEF:-}" ] || seconds=4
echo "seed $seed"
for ranks in --threads ''; do
    # shellcheck disable=SC2086
    expect 0 tutti bench $ranks --random "$seconds" --seed "$seed"
    tail -n 1 out
    [ "$(grep -c '/p' out)" -gt 0 ] || fail 'no problem was tried'
    [ -z "$ranks" ] || cp out first
done

# The same seed gives the same problems, as many as there is time for, and another seed gives
# others.
expect 0 tutti bench --threads --random 0.3 --seed "$seed"
n=$(grep -c '/p' out)
cmp <(head -n "$n" first) <(head -n "$n" out) || fail 'the same seed gave other problems'
expect 0 tutti bench --threads --random 0.3 --seed "$((seed + 1))"
! cmp -s <(head -n 1 first) <(head -n 1 out) || fail 'the seed decides nothing'

export MUTANT
for MUTANT in copy reduce gather neighbor_allgatherv; do
    expect 1 "$TUTTI_BUILD/tests/tools-mutant" bench --threads --random 60 --seed 1
    grep -q 'is wrong at byte' err || fail "the mutant $MUTANT failed otherwise"
    again=$(sed -n 's/^tutti bench: repeat with: tutti //p' err)
    [ -n "$again" ] || fail 'the failure cannot be repeated'
    # shellcheck disable=SC2086
    expect 1 "$TUTTI_BUILD/tests/tools-mutant" $again
    # shellcheck disable=SC2086
    expect 0 tutti $again
    echo "the mutant $MUTANT was found by: $again"
done

# The mutant's gather is wrong, but its allgather and its scatter are right. The identities, which
# compare a collective with other collectives, find the wrong gather in tests of these two.
export MUTANT=gather
for problem in allgather/f64/64/p3 scatter/i32/8/p4; do
    expect 0 "$TUTTI_BUILD/tests/tools-mutant" bench --threads --iterations 1 $problem
    expect 1 "$TUTTI_BUILD/tests/tools-mutant" bench --threads --iterations 1 --identities $problem
    says err '(gather and a bcast, the result|gathered again, the input) is wrong at byte 0'
    expect 0 tutti bench --threads --iterations 1 --identities $problem
done

# find_by_identity MUTANT PROBLEM WHAT: expects that only the identities find the mutant, and that
# the error says WHAT. Only linearity finds a wrong kernel, because the serial reference uses the
# same kernel. Only permuted ranks find a mistake that depends on the numbers of the ranks in the
# job.
find_by_identity() {
    MUTANT=$1
    expect 0 "$TUTTI_BUILD/tests/tools-mutant" bench --threads --iterations 1 "$2"
    expect 1 "$TUTTI_BUILD/tests/tools-mutant" bench --threads --iterations 1 --identities "$2"
    says err "$3.* is wrong at byte"
    expect 0 tutti bench --threads --iterations 1 --identities "$2"
}
for coll in allreduce reduce scan exscan reduce_scatter_block reduce_scatter; do
    find_by_identity sum "$coll/u16/sum/40/p4" 'for a sum of two inputs'
done
find_by_identity order scan/i64/sum/40/p5 'with permuted ranks'
for form in allgather allgatherv alltoall alltoallv alltoallw; do
    find_by_identity "neighbor_$form" "${form/toallw/toall}/i32/20/p5" "a neighbor_$form"
done
find_by_identity alltoallw alltoallv/i32/20/p5/skew=uniform 'an alltoallw'
unset MUTANT

# A job may consist of threads of several processes.
expect 0 tutti bench --threads=2 --iterations 1 --identities --beside allreduce/i64/user/40/p5
MUTANT=copy expect 1 "$TUTTI_BUILD/tests/tools-mutant" bench --threads=2 --iterations 1 bcast/u8/64K/p5
says err 'is wrong at byte'
expect 2 tutti bench --threads=0 barrier/p2
says err 'threads'

# Every identity holds: with equal and unequal pieces, with and without --beside, --reversed and
# --gaps, on threads and on processes that behave as if they were on several nodes.
all=(barrier/p4 bcast/u8/1003/p4/root=2 gather/i32/12/p4/root=3 allgather/f32/20/p4
    allgatherv/i64/40/p4/skew=zipf alltoall/u8/7/p4 alltoallv/i16/30/p4/skew=zipf
    scatter/f64/16/p4/root=1 gatherv/i32/28/p4/root=2/skew=zipf scatterv/i32/28/p4/root=2/skew=zipf)
for coll in allreduce reduce scan exscan reduce_scatter_block reduce_scatter; do
    all+=("$coll/c64/sum/40/p4" "$coll/i64/user/40/p4")
done
for ((i = 0, n = ${#all[@]}; i < n; i++)); do
    case ${all[$i]} in
    allgather/* | reduce/* | allreduce/* | scan/* | exscan/* | gather/* | gatherv/*) all+=("${all[$i]}/inplace=1") ;;
    esac
done
expect 0 tutti bench --threads --iterations 1 --identities "${all[@]}"
expect 0 tutti bench --threads=3 --iterations 1 --identities "${all[@]/%//seed=5}"
expect 0 tutti bench --threads --iterations 1 --identities --beside --reversed --gaps "${all[@]}"
expect 0 tutti bench --iterations 1 --identities --nodes 1,2,1 "${all[@]}"
expect 2 tutti bench --threads --nodes 1,1 barrier/p2
says err 'nodes'

# --algorithm forces an algorithm in the calls of the problem, and not in the calls that make its
# team.
expect 1 tutti bench --threads --reversed --algorithm neighbour allgather/f64/8/p3
says err '--algorithm neighbour does not apply: it needs an even number of ranks$'
expect 0 env TUTTI_ALGORITHM=neighbour tutti bench --threads --reversed bcast/f64/8/p3 --iterations 2

expect 2 tutti bench --random 1 allreduce/f64/sum/8/p2
says err 'random'
