#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# In every algorithm, with short and long messages, a rank kills itself at its first operation, or
# some later one: all others are told who died of what (with the argument nodes, also on other
# nodes). And a rank whose operation fails tells the others. Brief: at the third alone.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# How many: three, or what an algorithm needs.
ranks=3
moments=(1 3 60)
[ -z "$TUTTI_TEST_BRIEF" ] || moments=(3)

problem() {
    case $1 in
    barrier) echo "barrier/p$ranks" ;;
    allreduce | reduce | reduce_scatter | reduce_scatter_block) echo "$1/f64/sum/$2/p$ranks" ;;
    bcast) echo "$1/f64/$2/p$ranks/root=1" ;; # others may have nothing to do but read
    *) echo "$1/f64/$2/p$ranks" ;;
    esac
}

# Rank 1 dies of it; or, not counted, the algorithm is not for this problem or this machine.
killed() {
    local got=0
    tutti run -n $ranks --timeout 600 "$trouble" loop "$1" >out 2>err || got=$?
    if [ "$got" -eq 8 ] && grep -q 'not supported here' out; then return; fi
    [ "$got" -eq 137 ] || fail "$TUTTI_ALGORITHM $1 $TUTTI_FAULT: $got"
    told $((ranks - 1)) 'rank 1 died: signal 9 \(Killed\)'
    n=$((n + 1))
}

n=0
while read -r coll algorithm; do
    export TUTTI_ALGORITHM=$coll=$algorithm before=$n
    case $algorithm in hypercube) ranks=4 ;; *) ranks=3 ;; esac
    on_nodes $ranks
    case $algorithm in forward) export TUTTI_NETWORK=ring:$ranks ;; *) unset TUTTI_NETWORK ;; esac
    for after in "${moments[@]}"; do
        export TUTTI_FAULT=kill,rank=1,after=$after
        killed "$(problem "$coll" 80)"
        killed "$(problem "$coll" 200000)"
        TUTTI_CMA=0 killed "$(problem "$coll" 5000)"
    done
    [ -z "$apart" ] || [ "$n" -gt "$before" ] || continue # for one node
    [ "$n" -ge $((before + ${#moments[@]})) ] || fail "$coll $algorithm does not run"
    TUTTI_FAULT=fail,rank=1,after=5 expect 8 \
        tutti run -n $ranks --timeout 600 "$trouble" loop "$(problem "$coll" 80)"
    told $((ranks - 1)) 'rank 1 cannot go on: the system refused: TUTTI_FAULT: operation 5 fails'
    says out '^rank 1: the system refused .*: TUTTI_FAULT: operation 5 fails$'
done < <("$trouble" algorithms)
echo "$n jobs with a killed rank"
[ "$n" -ge 100 ] || fail 'nearly nothing ran'
nothing_left "$TUTTI_TEST"
