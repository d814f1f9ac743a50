#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks whose calls do not match (on several nodes, with the argument `nodes`). At least one rank
# must get an error that names both calls, all ranks must get an error, and none may hang. A brief
# run tries each pair of calls with one kind of memory or algorithm.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../ucx.sh"

on_nodes 3
go() { tutti run -n 3 --timeout 3000 --on-failure continue-fail "$trouble" "$@"; }

# Returns whether a brief run leaves this pair of calls out. `pairs` is the number of the pair,
# counted from the start of the matrix.
left_out() {
    pairs=$((pairs + 1))
    [ -n "$TUTTI_TEST_BRIEF" ] && [ $((pairs % 3)) -ne 0 ]
}

# differ PATTERN PATTERN PROBLEM...: rank r calls the r-th problem. Expects a message that names
# both calls, in either order.
differ() {
    if left_out; then return 0; fi
    local one=$1 other=$2 call='rank [0-9] called'
    shift 2
    expect 0 go each "$@"
    says out "^rank [0-9]: the calls of the ranks do not match .*: $call ($one where $call $other|$other where $call $one)\$"
    [ "$(lines out '^rank')" -eq 3 ] || fail 'not reported to all'
}

# matrix PHASE: tries all pairs of calls. A brief run tries a third of them, and a different third
# for each of the phases 0, 1 and 2.
matrix() {
    local pairs=$1
    # Counts, types, operations and roots, as the user gave them.
    differ 'allreduce\(n=1 of f64, sum\)' 'allreduce\(n=2 of f64, sum\)' allreduce/f64/sum/8/p3 allreduce/f64/sum/16/p3
    differ 'allreduce\(n=2 of f64, sum\)' 'allreduce\(n=131072 of f64, sum\)' allreduce/f64/sum/16/p3 allreduce/f64/sum/1M/p3
    differ 'allreduce\(n=128 of f64, sum\)' 'allreduce\(n=256 of f32, sum\)' allreduce/f64/sum/1K/p3 allreduce/f32/sum/1K/p3
    differ 'allreduce\(n=1 of f64, sum\)' 'allreduce\(n=1 of f64, max\)' allreduce/f64/sum/8/p3 allreduce/f64/sum/8/p3 allreduce/f64/max/8/p3
    differ 'bcast\(n=1 of f64, root 1\)' 'bcast\(n=1 of f64, root 2\)' bcast/f64/8/p3/root=1 bcast/f64/8/p3/root=2
    differ 'bcast\(n=131072 of f64, root 1\)' 'bcast\(n=131072 of f64, root 2\)' bcast/f64/1M/p3/root=1 bcast/f64/1M/p3/root=2
    differ 'bcast\(n=131072 of f64, root 0\)' 'bcast\(n=262144 of f64, root 0\)' bcast/f64/1M/p3 bcast/f64/2M/p3
    differ 'reduce\(n=1 of f64, sum, root 1\)' 'reduce\(n=1 of f64, sum, root 0\)' reduce/f64/sum/8/p3/root=1 reduce/f64/sum/8/p3
    differ 'reduce\(n=131072 of f64, sum, root 1\)' 'reduce\(n=131072 of f64, sum, root 0\)' reduce/f64/sum/1M/p3/root=1 reduce/f64/sum/1M/p3
    differ 'reduce\(n=1 of f64, sum, root 0\)' 'reduce\(n=1 of f64, max, root 0\)' reduce/f64/sum/8/p3 reduce/f64/max/8/p3
    differ 'scan\(n=1 of f64, sum\)' 'scan\(n=2 of f64, sum\)' scan/f64/sum/8/p3 scan/f64/sum/16/p3
    differ 'scan\(n=1 of f64, sum\)' 'exscan\(n=1 of f64, sum\)' scan/f64/sum/8/p3 exscan/f64/sum/8/p3
    differ 'exscan\(n=131072 of f64, sum\)' 'exscan\(n=131072 of f64, max\)' exscan/f64/sum/1M/p3 exscan/f64/max/1M/p3
    differ 'scatter\(n=1024 of u8, root 1\)' 'scatter\(n=1024 of u8, root 2\)' scatter/u8/1K/p3/root=1 scatter/u8/1K/p3/root=2
    differ 'scatter\(n=102400 of u8, root 0\)' 'scatter\(n=204800 of u8, root 0\)' scatter/u8/100K/p3 scatter/u8/200K/p3
    differ 'gatherv\(u8, root 1\)' 'gatherv\(u8, root 2\)' gatherv/u8/1K/p3/root=1 gatherv/u8/1K/p3/root=2
    differ 'gatherv\(f64, root 0\)' 'gatherv\(i64, root 0\)' gatherv/f64/200K/p3 gatherv/i64/200K/p3
    differ 'scatterv\(u8, root 1\)' 'scatterv\(u8, root 2\)' scatterv/u8/1K/p3/root=1 scatterv/u8/1K/p3/root=2
    differ 'scatterv\(u8, root 0\)' 'scatter\(n=204800 of u8, root 0\)' scatterv/u8/200K/p3 scatter/u8/200K/p3
    differ 'allgather\(n=1024 of u8\)' 'allgather\(n=2048 of u8\)' allgather/u8/1K/p3 allgather/u8/2K/p3
    differ 'allgather\(n=102400 of u8\)' 'allgather\(n=204800 of u8\)' allgather/u8/100K/p3 allgather/u8/200K/p3
    differ 'alltoall\(n=1024 of u8\)' 'alltoall\(n=2048 of u8\)' alltoall/u8/1K/p3 alltoall/u8/2K/p3
    differ 'alltoall\(n=102400 of u8\)' 'alltoall\(n=204800 of u8\)' alltoall/u8/100K/p3 alltoall/u8/200K/p3
    differ 'allgatherv\(counts=[0-9,]* of u8\)' 'allgatherv\(counts=[0-9,]* of u8\)' allgatherv/u8/1K/p3 allgatherv/u8/2K/p3
    # Different collectives: one that waits for all ranks and one that does not, in either order.
    differ 'barrier.*' 'allreduce.*' barrier/p3 allreduce/f64/sum/1M/p3
    differ 'barrier.*' 'allreduce.*' allreduce/f64/sum/8/p3 barrier/p3
    differ 'barrier.*' 'bcast.*' barrier/p3 barrier/p3 bcast/u8/8/p3
    differ 'bcast.*' 'allgather\(.*' bcast/u8/8/p3 allgather/u8/8/p3
    differ 'bcast.*' 'reduce.*' bcast/u8/1M/p3 reduce/f64/sum/1M/p3
    differ 'alltoallv.*' 'allgatherv.*' alltoallv/u8/100K/p3 allgatherv/u8/200K/p3
    differ 'alltoall\(.*' 'allgather\(.*' alltoall/u8/100K/p3 allgather/u8/1K/p3
}
matrix 0
TUTTI_CMA=0 matrix 1
# Algorithms that use messages, short and long.
export TUTTI_ALGORITHM=doubling,ring,binomial,pairwise,bruck,dissemination,linear
matrix 2
unset TUTTI_ALGORITHM

# Ranks that are threads and access each other's memory.
for pair in 'allreduce/f64/sum/8/p3 allreduce/f64/sum/16/p3' 'barrier/p3 allreduce/f64/sum/1M/p3' \
    'bcast/f64/1M/p3/root=1 bcast/f64/1M/p3/root=2' 'alltoallv/u8/100K/p3 allgatherv/u8/200K/p3' \
    'reduce/f64/sum/8/p3/root=1 reduce/f64/sum/8/p3' 'alltoall/u8/1K/p3 alltoall/u8/2M/p3'; do
    # shellcheck disable=SC2086
    expect 0 "$trouble" each-thread $pair
    # shellcheck disable=SC2086
    TUTTI_ALGORITHM=doubling,ring,pairwise,binomial expect 0 "$trouble" each-thread $pair
done

# uneven ALGORITHM COLLECTIVE MORE: one rank passes a count that does not match, in a collective in
# which each rank knows only its own counts. The mismatch is reported where a rank would otherwise
# read or write too far.
uneven() {
    [ -z "$apart" ] || [ "$1" != allgatherv=flat ] || return 0 # this algorithm is for one node only
    TUTTI_ALGORITHM=$1 expect 0 go uneven "$2" "$3"
    says out '^rank [0-9]: the calls of the ranks do not match .*: rank .*'
    [ "$(lines out '^rank')" -eq 3 ] || fail 'not reported to all'
}
uneven alltoallv=flat alltoallv -3000
uneven alltoallv=exchange alltoallv 3000
# With padded and composed the ranks compare their counts before they make their plans.
for algorithm in padded composed; do
    for more in 3000 -3000; do
        uneven alltoallv=$algorithm alltoallv $more
        says out "alltoallv: rank 2 sends rank 0 n=$((5000 + more)) of i64 \(in_counts\[0\]\) where rank 0 expects n=5000 of i64 \(out_counts\[2\]\)\$"
    done
done
for more in 3000 -3000 -4999; do
    uneven alltoallv=pairwise alltoallv $more
    TUTTI_CMA=0 uneven alltoallv=pairwise alltoallv $more
    for algorithm in flat direct ring bruck exchange; do
        uneven allgatherv=$algorithm allgatherv $more
    done
done

# The last rank passes another count to a gatherv than the root expects, or to a scatterv than the
# root sends: a little more or less, nothing, or a multiple.
for algorithm in flat direct linear slices; do
    [ -z "$apart" ] || [[ $algorithm != @(flat|slices) ]] || continue # flat and slices are for one node only
    if [ $algorithm = slices ]; then
        export TUTTI_READ_COST=9 TUTTI_WINDOW=8K TUTTI_SLICE=1K
        algorithm=flat
    fi
    for coll in gatherv scatterv; do
        for more in 1 -1 -5000 20000; do
            uneven $coll=$algorithm $coll $more
            [ $coll = gatherv ] || pair="rank 0 sends rank 2 n=5000 of i64 \(counts\[2\]\) where rank 2 expects n=$((5000 + more))"
            [ $coll = scatterv ] || pair="rank 2 sends rank 0 n=$((5000 + more)) of i64 where rank 0 expects n=5000 \(counts\[2\]\)"
            for rank in 0 2; do says out "^rank $rank: .*: $coll: $pair\$"; done
        done
    done
done
unset TUTTI_READ_COST TUTTI_WINDOW TUTTI_SLICE

for more in 1 -5000 20000; do
    uneven gatherv=composed gatherv $more
    says out "gatherv: rank 2 sends rank 0 n=$((5000 + more)) of i64 where rank 0 expects n=5000 of i64 \(counts\[2\]\)\$"
    uneven scatterv=composed scatterv $more
    says out "scatterv: rank 0 sends rank 2 n=5000 of i64 \(counts\[2\]\) where rank 2 expects n=$((5000 + more)) of i64\$"
done

# under_way N PATTERN PROBLEM...: each rank starts its problem N times and finalizes without waiting
# for any of the calls. All ranks get the error.
under_way() {
    local n=$1 call=$2
    shift 2
    expect 0 go under-way "$n" "$@"
    [ "$(lines out "^rank [0-2]: the calls of the ranks do not match .*: rank [0-9] called $call where rank [0-9] called $call\$")" -eq 3 ] ||
        fail "under way: $n $*"
}
for n in 1 40; do
    under_way $n 'bcast\(n=1 of f64, root [0-2]\)' bcast/f64/8/p3/root={0,1,2}
    under_way $n 'bcast\(n=131072 of f64, root [0-2]\)' bcast/f64/1M/p3/root={0,1,2}
    under_way $n '(reduce|barrier)\(.*\)' reduce/f64/sum/8/p3/root=1 barrier/p3
done
# Calls that match give no error, also if more calls are started than there are slots.
expect 0 go under-way 40 bcast/f64/8/p3
[ "$(lines out '^rank [0-2]: done')" -eq 3 ] || fail 'calls under way that match'

# An alltoallv that does not match is still under way when the ranks wait for a later barrier: both
# ranks that the count concerns must get the error.
expect 0 go behind-barrier 10
[ "$(lines out '^heard 10 of 10$')" -ge 2 ] || fail 'a mismatch under way was lost'
says err '^tutti: \[rank [0-2]\] error: tutti_finalize: the calls of the ranks do not match: '

# A rank expects a piece that no rank sends.
expect 0 go unsent 10
[ "$(lines out '^heard 10 of 10$')" -ge 2 ] || fail 'a piece that is not sent was lost'

# A call on a new team does not match, while some ranks are still making that team. These ranks get
# their team, and then the error from it. Ranks that make another team by the same call get their
# team and no error.
for nodes in '1*6' 3,2,1; do
    [ -n "$apart" ] || break
    export TUTTI_NODES=$nodes
    expect 0 tutti run -n 6 --timeout 3000 "$trouble" duplicate 40 at-once
    [ "$(lines out '^heard 40 of 40$')" -eq 6 ] || fail "a team that is being made on nodes $nodes: not all ranks got the mismatch"
    expect 0 tutti run -n 6 --timeout 3000 "$trouble" halves 60
    [ "$(lines out '^good 60 of 60$')" -eq 6 ] || fail "two teams that are being made on nodes $nodes"
done
on_nodes 3

# pointer RANK TEXT [allreduce]: RANK passes an invalid pointer to a call whose data move by single
# copy. Whichever rank finds the error, RANK gets ARG, and the other ranks get an error that names
# RANK and the cause.
pointer() {
    local of=$1 text=$2
    shift 2
    TUTTI_ALGORITHM=bcast=direct expect 0 go pointer "$of" "$@"
    ! grep -q 'not supported here' out || return 0 # here no rank can read the memory of another one
    says out "^rank $of: an argument is wrong .*: $text\$"
    [ "$(lines out "^rank [^$of]: a member of the team failed .*: rank $of cannot go on: an argument is wrong: $text\$")" -eq 2 ] ||
        fail "pointer of rank $of: not reported to the others: $text"
}
none='are no memory that can be'
if [ -z "$apart" ]; then
    pointer 1 "buffer of bcast\(n=20000 of f64, root 0\): [0-9]+ bytes at 0x1000 $none written"
    pointer 0 "bcast\(n=20000 of f64, root 0\): rank 0 gave [0-9]+ bytes at 0x1000 that $none read"
fi

# maybe RANK COLLECTIVE FOUND: RANK passes an invalid pointer to a call in which it also reads that
# memory itself, so it may die by a signal before another rank finds the error (FOUND). A sanitizer
# must not replace the signal by an exit code. If UCX stops another rank as well, the job is run
# again, at most twice.
maybe() {
    local left
    for left in 2 1 0; do
        ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_segv=0 TSAN_OPTIONS=${TSAN_OPTIONS-}:handle_segv=0 \
            UBSAN_OPTIONS=${UBSAN_OPTIONS-}:handle_segv=0 go pointer "$1" "$2" >out 2>err || [ $? -eq 139 ] || ucx_stopped out err || fail "pointer of $2"
        if [ "$left" -eq 0 ] || ! ucx_stopped out err; then break; fi
    done
    [ "$(lines out "^rank [^$1]: a member of the team failed .*: rank $1 (died: signal 11|$3)")" -eq 2 ] ||
        fail "pointer of $2: blamed wrongly"
}
# An algorithm may copy a part of the message before it uses the invalid pointer. By `split`, which
# runs where reading is cheap, the root writes a part to the other ranks.
maybe 1 bcast 'cannot go on: an argument is wrong: (buffer of )?bcast\(n=20000 of f64, root 0\): (rank 1 gave )?[0-9]+ bytes at 0x[0-9a-f]+ (that )?are no memory that can be written'
maybe 1 allreduce 'cannot go on: an argument is wrong: (in of )?allreduce\(n=100000 of f64, sum\): (rank 1 gave|[0-9]+ bytes at)'
# The network library cannot read the invalid memory either. It must not take that error for the end
# of the rank that receives the data. The other ranks learn of the death from the network or from
# the launcher, whichever is first.
if [ -n "$apart" ] && TUTTI_WIRE=1 go under-way 1 barrier/p3 >out 2>&1; then
    export TUTTI_WIRE=1 TUTTI_NODES=1,1,1
    maybe 0 bcast 'cannot be reached|its process ended'
    maybe 2 allreduce 'cannot be reached|its process ended'
fi
nothing_left "$TUTTI_TEST"
