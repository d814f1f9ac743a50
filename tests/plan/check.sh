# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti check` proves all algorithms (in brief test runs a part of them), or one problem, and says
# what it cannot prove.
set -eu

fail() {
    echo "check.sh: $*" >&2
    exit 1
}

# run STATUS ARGUMENT...: runs `tutti check`, expects the status, and leaves the output in $out.
run() {
    local want=$1 status=0
    shift
    out=$(tutti check "$@" 2>&1) || status=$?
    [ "$status" = "$want" ] || fail "tutti check $*: status $status, expected $want: $out"
}

says() {
    [[ $out == *"$1"* ]] || fail "does not say '$1': $out"
}

if [ -n "${TUTTI_TEST_BRIEF:-}" ]; then
    run 0 all -p 1..9 --cases 15
else
    # Larger teams: algorithms that send p * p messages up to 128 ranks, and those with log p up to
    # 4096 ranks.
    run 0 all -p 128 --cases 2
    run 0 allreduce -a doubling -p 4096 --cases 2 # the first case has empty vectors
    run 0 bcast -a binomial -p 4096 --cases 2
    run 0 barrier -a dissemination -p 4096 --cases 1
    run 0 all -p 18..33 --cases 20
    run 0 all -p 1..17
fi
says "cases proven"
says "sequences of plans"
[[ $out != *"applied to none"* ]] || fail "an algorithm was not tried: $out"

run 0 allreduce -a flat -p 40 --cases 3 --threads 1
says "3 cases proven"
run 0 allreduce/i32/sum/52/p3/slice=8
says "ring               proven"
run 0 bcast/i32/8/p4@nodes:2,2 -a flat
says "does not apply"
run 0 allgatherv/i32/8/p4/skew=zipf --gaps --indirect --window 64
says "proven"

run 0 reduce_scatter/i32/sum/8/p6/skew=zipf/inplace=1 --indirect --window 64
says "halving            proven"
run 0 'alltoall/i32/8/p11@torus:4x3-hole(1,1)' -a forward
says "forward            proven"
run 2 'alltoall/i32/8/p20@mesh:5x5-wall(x=2)' -a forward
says "nodes 0 (0,0) and 3 (3,0) cannot reach one another"

run 0 allgather/i32/8/p6 -a neighbour
says "neighbour          proven"
run 0 allgather/i32/8/p7 -a neighbour
says "does not apply: it needs an even number of ranks"

run 0 scatter/i32/8/p5/root=3 --indirect
says "linear             proven"
run 0 gather/i32/8/p5/root=3 --indirect
says "binomial           proven"

run 0 gatherv/i32/8/p5/root=3/skew=zipf --gaps
says "flat               proven"
run 0 scatterv/i32/8/p5/root=3/skew=zipf/inplace=1 --indirect
says "linear             proven"

run 2 allreduce/i32/sum/52
run 2 nothing
run 2 all -a nothing
says "no algorithm 'nothing'"
run 2 bcast -a doubling -p 2
says "bcast has no algorithm 'doubling'; it has:"
run 2 allreduce -p 0..3
says "-p"
run 2 allreduce -p 4..3
run 2 allreduce/i32/sum/52/p3 -p 2
says "a PROBLEM names its ranks"
run 2 all --gaps
says "are for a single PROBLEM"
run 2 bcast/u8/8/p4 --gaps
says "--gaps: only allgatherv, alltoallv, gatherv and scatterv have pieces with gaps"
run 2 bcast/u8/8/p4@nodes:2,2 --scattered 2
says "--scattered: the problem has nodes of its own, @nodes:2,2"
run 2 all all
run 0 --help
