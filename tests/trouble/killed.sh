#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# In every algorithm, with short and long messages, a rank kills itself at its first operation or at
# a later one. All other ranks must get an error that says which rank died and why (with the
# argument `nodes`, also on other nodes). A rank whose operation fails must notify the others too.
# Each algorithm meets every moment with short messages, and in turn with long ones and with memory
# that others may not read. A brief run tries the third operation only, and for each algorithm one
# of the four kinds short, long, unread and fails: on several nodes another kind than on one node.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# The number of ranks: three, or four for an algorithm that accepts four ranks but not three.
ranks=3
moments=(1 3 60)
least=100
[ -z "$TUTTI_TEST_BRIEF" ] || moments=(3) least=30

problem() {
    case $1 in
    barrier) echo "barrier/p$ranks" ;;
    allreduce | reduce | scan | exscan | reduce_scatter | reduce_scatter_block) echo "$1/f64/sum/$2/p$ranks" ;;
    bcast | scatter | scatterv) echo "$1/f64/$2/p$ranks/root=1" ;; # ranks other than the root may do nothing but read
    *) echo "$1/f64/$2/p$ranks" ;;
    esac
}

# The launcher lets the survivors go on after a death. By default it grants them one second, which
# may be too short on a busy machine to print their errors.
go() { tutti run -n $ranks --timeout 3000 --on-failure continue-fail "$trouble" "$@"; }
applies() { grep -qx "$coll $algorithm" <<<"$(TUTTI_ALGORITHM="" tutti list --for "$(problem "$coll" 80)" --applicable --names)"; }

# Expects that rank 1 dies and that the other ranks get the error. If the algorithm does not support
# the problem on this machine, the case is not counted.
killed() {
    local got=0
    go loop "$1" >out 2>err || got=$?
    if [ "$got" -eq 8 ] && grep -q 'not supported here' out; then return; fi
    [ "$got" -eq 137 ] || fail "$TUTTI_ALGORITHM $1 $TUTTI_FAULT: $got"
    reported $((ranks - 1)) 'rank 1 died: signal 9 \(Killed\)'
    n=$((n + 1))
}

# try KIND: runs one job, in which rank 1 is killed at the operation of TUTTI_FAULT or (`fails`) its
# fifth operation fails.
try() {
    case $1 in
    short) killed "$(problem "$coll" 80)" ;;
    long) killed "$(problem "$coll" 200000)" ;;
    unread) TUTTI_CMA=0 killed "$(problem "$coll" 5000)" ;;
    fails)
        TUTTI_FAULT=fail,rank=1,after=5 expect 8 go loop "$(problem "$coll" 80)"
        if grep -q 'not supported here' out; then return; fi
        reported $((ranks - 1)) 'rank 1 cannot go on: the system refused: TUTTI_FAULT: operation 5 fails'
        says out '^rank 1: the system refused .*: TUTTI_FAULT: operation 5 fails$'
        failed=$((failed + 1))
        ;;
    esac
}
kinds=(short long unread fails)

n=0 failed=0 turn=0
[ -z "$apart" ] || turn=1
while read -r coll algorithm; do
    turn=$((turn + 1))
    export TUTTI_ALGORITHM=$coll=$algorithm before=$n
    for ranks in 3 4 3; do if applies; then break; fi; done
    on_nodes $ranks
    case $algorithm in forward) export TUTTI_NETWORK=ring:$ranks ;; *) unset TUTTI_NETWORK ;; esac
    for at in "${!moments[@]}"; do
        export TUTTI_FAULT=kill,rank=1,after=${moments[at]}
        if [ -n "$TUTTI_TEST_BRIEF" ]; then
            try "${kinds[turn % 4]}"
        else
            try short
            try "${kinds[1 + (turn + at) % 2]}"
        fi
    done
    [ -z "$TUTTI_TEST_BRIEF" ] || continue
    [ -z "$apart" ] || [ "$n" -gt "$before" ] || continue # the algorithm may be for one node only
    [ "$n" -ge $((before + ${#moments[@]})) ] || fail "$coll $algorithm does not run"
    try fails
done < <("$trouble" algorithms)

# On a busy machine the launcher may learn of a death late. Here its guard, the parent of the ranks,
# is stopped for two seconds. A rank that cannot read the dead rank's memory, or whose connection to
# the dead rank has ended, must wait for the cause, which only the guard knows.
# late AFTER PROBLEM: kills rank 1 at operation number AFTER, while the guard is stopped.
late() {
    local got=0
    # shellcheck disable=SC2016
    TUTTI_FAULT=kill,rank=1,after=$1 tutti run -n 3 --timeout 3000 --on-failure continue-fail sh -c '
        [ "$TUTTI_RANK" -ne 1 ] || { kill -STOP $PPID; (sleep 2; kill -CONT $PPID) & }
        exec "$@"' sh "$trouble" loop "$2" >out 2>err || got=$?
    [ "$got" -eq 137 ] || fail "a stopped guard: $got"
    [ "$(lines out '^rank [02]: a member .*: rank 1 died: signal 9 \(Killed\)$')" -eq 2 ] ||
        fail 'the cause was not waited for'
}
if [ -z "$apart" ] && tutti info | grep 'CMA *allowed' >/dev/null; then
    for _ in 1 2 3; do TUTTI_ALGORITHM=allgather=direct late 60 allgather/f64/200000/p3; done
fi
# Between nodes over a real network, where its library is installed.
if [ -n "$apart" ] && TUTTI_WIRE=1 TUTTI_NODES=1,1,1 tutti run -n 3 "$trouble" survive 1 >out 2>err; then
    for _ in 1 2 3; do TUTTI_ALGORITHM='' TUTTI_WIRE=1 TUTTI_NODES=1,1,1 late 5 barrier/p3; done
fi
echo "$n jobs with a killed rank, $failed with a rank that failed"
if [ "$n" -lt "$least" ] || [ "$failed" -lt 10 ]; then fail 'nearly nothing ran'; fi
nothing_left "$TUTTI_TEST"
