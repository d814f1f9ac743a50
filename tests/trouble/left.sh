#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that dies, exits or leaves while others wait for it, most of them asleep; and a rank that
# leaves when it may.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

on_nodes 3
go() { tutti run -n 3 --timeout 3000 --on-failure continue-fail "$trouble" "$@"; }

# expect_reported CODE PATTERN ARGUMENT...: the job ends with this code, and two of its ranks
# printed an error that matches.
expect_reported() {
    local code=$1 how=$2
    shift 2
    expect "$code" go "$@"
    reported 2 "$how"
}
# Nearly all of these jobs only wait, so four run at a time.
left='rank 2 left the job while it was still needed'
exited='rank 2 exited with code 0 without tutti_finalize'
killed='rank 2 died: signal 9 \(Killed\)'
exits_without_a_word() {
    expect_reported 0 "$exited" late exit allgather/f64/8/p3 1
    says err '^tutti: rank 2 exited without tutti_finalize$'
}
# Rank 0 calls one barrier more than ranks 1 and 2, and must get an error. Ranks 1 and 2 may get one
# too: a rank may still be in the previous barrier when another rank's leaving is noticed.
once_more() {
    go once-more >"$work/out" 2>"$work/err" || [ $? -eq 8 ] || fail 'something else went wrong'
    says out '^rank 0: a member of the team failed .*: rank [12] left the job while it was still needed$'
}
leaves_while_they_join() {
    expect_reported 0 'rank 1 exited with code 0 without tutti_init' absent exit
    [ ! -s "$work/err" ] || fail 'something is said of a good end'
}
# unmade CODE HOW PATTERN [PATTERN]: runs `unmade HOW` (deaths.c). The first pattern is the error
# that rank 2 gets. The second one is the error that rank 0 gets from tutti_finalize; without it,
# rank 0 gets none.
unmade() {
    expect "$1" go unmade "$2"
    says out "^rank 2: a member of the team failed .*: $3\$"
    if [ $# -gt 3 ]; then
        says out "^rank 0: a member of the team failed .*: $4\$"
        says err '^tutti: \[rank 0\] error: tutti_finalize: '
    else
        says out '^rank 0: done'
    fi
}
for problem in barrier/p3 allreduce/f64/sum/8/p3 allreduce/f64/sum/1M/p3 alltoallv/u8/30000/p3; do
    beside 4 expect_reported 137 "$killed" late kill "$problem" 1
done
beside 4 expect_reported 0 "$left" late finalize allreduce/f64/sum/1M/p3 1
beside 4 expect_reported 134 'rank 2 died: signal 6 \(Aborted\)' late abort allgather/f64/8/p3 1
beside 4 expect_reported 3 'rank 2 exited with code 3' late exit3 allgather/f64/8/p3 1
beside 4 exits_without_a_word
# The root of a broadcast does not wait until it has used all slots, so it makes 300 calls.
beside 4 expect_reported 0 "$left" late finalize bcast/f64/8/p3 300
beside 4 expect_reported 137 "$killed" late kill bcast/f64/8/p3 300
# Before it leaves, a rank that has made a call of pairs (alltoallv, gatherv) compares the counts of
# this call, and does not wait for the counts of calls that only the other ranks made.
beside 4 expect_reported 0 "$left" late finalize alltoallv/f64/1000/p3 1 first
beside 4 expect_reported 0 "$left" late finalize gatherv/f64/1000/p3 100 first
beside 4 expect_reported 0 "$left" chain
beside 4 expect_reported 137 "$killed" in-flight
beside 4 once_more
# If rank 0 made one call more than rank 1 and rank 1 ended in order, rank 0 gets an error when it
# leaves. If rank 1 died, rank 0 gets no error from leaving.
one_more='rank 1 left the team without the call of rank 0: scan\(n=1 of f64, sum\)'
beside 4 unmade 0 exit 'rank 1 exited with code 0 without tutti_finalize' "$one_more"
beside 4 unmade 0 finalize 'rank 1 left the job while it was still needed' "$one_more"
beside 4 unmade 137 kill 'rank 1 died: signal 9 \(Killed\)'
# Ranks that only poll and ask the dead rank for bytes that they may not read themselves.
polled() { TUTTI_CMA=0 expect_reported 137 "$killed" polled "$1"; }
for problem in {scatter,scatterv,gatherv}/f64/1M/p3/root=2 {allgather,alltoallv}/f64/1M/p3; do
    beside 4 polled "$problem"
done
# Failures while the ranks join.
beside 4 expect_reported 137 'rank 1 died: signal 9 \(Killed\)' absent kill
beside 4 expect_reported 3 'rank 1 exited with code 3' absent exit3
beside 4 leaves_while_they_join
for problem in allreduce/f64/sum/8/p3 allreduce/f64/sum/300000/p3 bcast/u8/100/p3; do
    beside 4 expect 0 go part "$problem" # a rank that the other ranks do not need may leave
done
all_beside

leave() {
    local got=0
    tutti run -n 4 --timeout 3000 "$trouble" leave "$1" >out 2>err || got=$?
    [ -n "$apart" ] && [ "$got" -eq 8 ] && grep -q 'needs all ranks on one node' out && return 0
    [ "$got" -eq 0 ] || fail "$TUTTI_ALGORITHM $1: $got"
    ran=$((ran + 1))
}

ran=0
turns=(1 2)
[ -z "$TUTTI_TEST_BRIEF" ] || turns=(1)
# All ranks leave at once after their last call. This must work with each algorithm: data from a
# rank that has left may have arrived although the receiver has not looked for them yet.
while read -r coll algorithm; do
    case $coll in
    barrier) problem=barrier/p4 ;;
    *reduce* | *scan) problem=$coll/f64/sum/800/p4 ;;
    *) problem=$coll/f64/800/p4 ;;
    esac
    case $algorithm in forward) export TUTTI_NETWORK=ring:4 ;; *) unset TUTTI_NETWORK ;; esac
    on_nodes 4
    for _ in "${turns[@]}"; do
        TUTTI_ALGORITHM=$coll=$algorithm leave "$problem"
    done
done < <("$trouble" algorithms)
unset TUTTI_NETWORK
[ "$ran" -ge 25 ] || fail 'nearly nobody left'
on_nodes 3
expect 0 go free-late
nothing_left "$TUTTI_TEST"
