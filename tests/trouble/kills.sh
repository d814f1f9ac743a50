#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 200 kills at random moments, over all collectives, those with lists of neighbours or types, the
# functions that make teams, and jobs of the processes' threads: the others get an error that names
# the dead rank, in time, and nothing of the job is left. A brief run tries 40. The argument is the
# seed.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
kills=200
[ -z "$TUTTI_TEST_BRIEF" ] || kills=40
RANDOM=${1:-1}

mapfile -t collectives < <("$trouble" algorithms | cut -d ' ' -f 1 | sort -u)
[ "${#collectives[@]}" -ge 16 ] || fail 'collectives are missing'

# problem COLLECTIVE RANKS BYTES: prints a problem. If there are three ranks or more, rank 1
# signals, reads or writes in each call, so it reaches the operation at which it kills itself.
problem() {
    case $1 in
    barrier) echo "barrier/p$2" ;;
    allreduce | reduce | scan | exscan | reduce_scatter | reduce_scatter_block) echo "$1/f64/sum/$3/p$2" ;;
    bcast | scatter | scatterv) echo "$1/f64/$3/p$2/root=1" ;;
    *) echo "$1/f64/$3/p$2" ;;
    esac
}

# killed RANKS COMMAND...: rank 1 kills itself; expects that all other ranks report it.
killed() {
    local ranks=$1 got=0
    shift
    timeout "$(($(limit_ms 60000) / 1000))" tutti run -n "$ranks" --timeout 3000 --on-failure continue-fail \
        "$trouble" "$@" >out 2>err || got=$?
    [ "$got" -eq 137 ] || fail "$TUTTI_FAULT $ranks ranks, $*: exited with $got"
    reported $((ranks - 1)) 'rank 1 died: signal 9 \(Killed\)'
}

makers=0 lists=0 threads=0
for ((i = 0; i < kills; i++)); do
    ranks=$((3 + RANDOM % 3)) which=$((RANDOM % (${#collectives[@]} + 6)))
    export TUTTI_FAULT=kill,rank=1,after=$((1 + RANDOM % 200))
    coll=${collectives[$which]-makers}
    if [ "$which" -ge $((${#collectives[@]} + 2)) ]; then coll=lists; fi
    if [ "$which" -ge $((${#collectives[@]} + 4)) ]; then coll=threads; fi
    what=(loop "$(problem "$coll" "$ranks" $((8 << RANDOM % 16)))")
    if [ "$coll" = makers ]; then what=(makers) makers=$((makers + 1)); fi
    if [ "$coll" = lists ]; then what=(lists) lists=$((lists + 1)); fi
    if [ "$coll" = threads ]; then what=(threads) threads=$((threads + 1)); fi
    beside 2 killed "$ranks" "${what[@]}"
done
all_beside
nothing_left "$TUTTI_TEST"
[ "$makers" -gt 0 ] || fail 'no kill met the makers of teams'
[ "$lists" -gt 0 ] || fail 'no kill met the exchanges with lists'
[ "$threads" -gt 0 ] || fail 'no kill met the jobs of threads'
echo "$kills ranks were killed, $makers of them while teams were made"
