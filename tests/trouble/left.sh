#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that dies, exits or leaves while others wait for it, most of them asleep, and one that leaves
# when it may.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

on_nodes 3
go() { tutti run -n 3 --timeout 60 --on-failure continue "$trouble" "$@"; }

for problem in barrier/p3 allreduce/f64/sum/8/p3 allreduce/f64/sum/1M/p3 alltoallv/u8/30000/p3; do
    expect 137 go late kill "$problem" 1
    told 2 'rank 2 died: signal 9 \(Killed\)'
done
expect 0 go late finalize allreduce/f64/sum/1M/p3 1
told 2 'rank 2 left the job while it was still needed'
expect 134 go late abort allgather/f64/8/p3 1
told 2 'rank 2 died: signal 6 \(Aborted\)'
expect 3 go late exit3 allgather/f64/8/p3 1
told 2 'rank 2 exited with code 3'
expect 0 go late exit allgather/f64/8/p3 1
told 2 'rank 2 left the job while it was still needed'
says err '^tutti: rank 2 exited without tutti_finalize$'

# The root of a broadcast waits for nobody, but for a slot.
expect 0 go late finalize bcast/f64/8/p3 100
told 2 'rank 2 left the job while it was still needed'
expect 137 go late kill bcast/f64/8/p3 100
told 2 'rank 2 died: signal 9 \(Killed\)'

expect 0 go chain
told 2 'rank 2 left the job while it was still needed'
expect 137 go in-flight
told 2 'rank 2 died: signal 9 \(Killed\)'
# Who is still in the call before may be told too, when the missing rank is.
go once-more >"$work/out" 2>"$work/err" || [ $? -eq 8 ] || fail 'something else went wrong'
says out '^rank 0: a member of the team failed .*: rank [12] left the job while it was still needed$'

# While the ranks join.
expect 137 go absent kill
told 2 'rank 1 died: signal 9 \(Killed\)'
expect 3 go absent exit3
told 2 'rank 1 exited with code 3'
expect 0 go absent exit
told 2 'rank 1 left the job while it was still needed'
[ ! -s err ] || fail 'something is said of a good end'

# Whoever is not needed may leave.
for problem in allreduce/f64/sum/8/p3 allreduce/f64/sum/300000/p3 bcast/u8/100/p3; do
    expect 0 go part "$problem"
done
leave() {
    local got=0
    tutti run -n 4 --timeout 60 "$trouble" leave "$1" >out 2>err || got=$?
    [ -n "$apart" ] && [ "$got" -eq 8 ] && grep -q 'needs all ranks on one node' out && return 0
    [ "$got" -eq 0 ] || fail "$TUTTI_ALGORITHM $1: $got"
    left=$((${left-0} + 1))
}
# Nor does it matter how what they needed came: some has come, and is not waited for, when its sender has left.
while read -r coll algorithm; do
    case $coll in
    barrier) problem=barrier/p4 ;;
    *reduce*) problem=$coll/f64/sum/800/p4 ;;
    *) problem=$coll/f64/800/p4 ;;
    esac
    case $algorithm in forward) export TUTTI_NETWORK=ring:4 ;; *) unset TUTTI_NETWORK ;; esac
    on_nodes 4
    for _ in 1 2; do
        TUTTI_ALGORITHM=$coll=$algorithm leave "$problem"
    done
done < <("$trouble" algorithms)
unset TUTTI_NETWORK
[ "$left" -ge 50 ] || fail 'nearly nobody left'
on_nodes 3
expect 0 go free-late
nothing_left "$TUTTI_TEST"
