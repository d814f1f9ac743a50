#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks are killed at any operation, of collectives and of the recovery from an earlier death: one
# rank, several, the lowest ones, all but one. The others must agree every time, all on the same
# result, and continue. A brief run tries one in three of the moments.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../ucx.sh"

times=${1:-1} step=1 many=25 some=10
[ -z "$TUTTI_TEST_BRIEF" ] || step=3 many=8 some=4

# survive RANKS RANK:AFTER...: each RANK dies at its operation number AFTER, if it makes so many.
# Every rank that survives must exit with 0, and all of these must print the same lines. If UCX
# stops a rank, the job is run again, at most twice.
survive() {
    local n=$1 got fault left
    shift
    deaths="$*"
    # shellcheck disable=SC2016
    fault='for death; do
        [ "${death%%:*}" = "$TUTTI_RANK" ] && export TUTTI_FAULT=kill,after=${death##*:}
    done
    exec "$trouble" survive 4'
    for left in 2 1 0; do
        got=0
        trouble=$trouble tutti run -n "$n" --timeout 3000 --on-failure=continue \
            sh -c "$fault" sh "$@" >out 2>err || got=$?
        if [ "$left" -eq 0 ] || ! ucx_stopped out err; then break; fi
    done
    local killed=0 line said
    mapfile -t said <err
    for line in "${said[@]}"; do
        case $line in
        *'killed by signal 9'*) killed=$((killed + 1)) ;;
        '' | *'was lost; '* | *'were lost; '*) ;;
        *) fail "$n ranks, deaths $deaths: complaints" ;;
        esac
    done
    [ "$got" -eq "$((killed == n ? 137 : 0))" ] || fail "$n ranks, deaths $deaths: exit code $got"
    check_rounds "$n" "$killed"
    jobs=$((jobs + 1))
    [ "$killed" -lt $# ] || all_killed=$((all_killed + 1))
}

# Checks the lines of the rounds. In each round all ranks that are still alive print the same line.
# At least as many ranks as are left at the end must print it, and no two lines of a round may
# differ. This is done without starting processes, which would take half of the test's time.
check_rounds() {
    local n=$1 killed=$2 round line said first found
    mapfile -t said <out
    for round in 0 1 2 3; do
        first='' found=0
        for line in "${said[@]}"; do
            [[ $line == "round $round:"* ]] || continue
            found=$((found + 1))
            [ "$found" -gt 1 ] || first=$line
            [ "$line" = "$first" ] || [ "$killed" -eq "$n" ] || fail "$n ranks, deaths $deaths: round $round"
        done
        [ "$found" -gt 0 ] || [ "$killed" -eq "$n" ] || fail "$n ranks, deaths $deaths: round $round"
        [ "$found" -ge $((n - killed)) ] || fail "$n ranks, deaths $deaths: some say nothing"
    done
}

jobs=0
all_killed=0

# One death at each operation.
for after in $(seq 1 "$step" 40); do
    survive 4 "$((after % 4)):$after"
done
# A second rank dies at each operation of the recovery from the first death. The leader of the
# agreement may be among the dead.
for after in $(seq 8 "$step" 30); do
    survive 4 0:9 "1:$after"
    survive 5 3:9 "0:$after"
done
# Several deaths at random operations, also of all ranks but one.
RANDOM=11
for ((i = 0; i < many * times; i++)); do
    survive 6 "$((RANDOM % 3)):$((1 + RANDOM % 30))" "$((3 + RANDOM % 3)):$((1 + RANDOM % 30))"
    survive 4 "0:$((1 + RANDOM % 20))" "1:$((1 + RANDOM % 30))" "2:$((1 + RANDOM % 40))"
done
survive 2 0:3
survive 2 1:3
survive 1
# Between nodes, where the agreement and the new teams use messages.
export TUTTI_NODES=2,2
for after in $(seq 2 "$((3 * step))" 50); do
    survive 4 "$((after % 4)):$after"
    survive 4 0:12 "3:$after"
done
TUTTI_NODES=1,3,1
for ((i = 0; i < some * times; i++)); do
    survive 5 "$((RANDOM % 3)):$((1 + RANDOM % 40))" "$((3 + RANDOM % 2)):$((1 + RANDOM % 40))"
done
# Several nodes with a real network between them, where its library is installed. There fewer
# messages count as operations.
export TUTTI_NODES=2,2
if TUTTI_WIRE=1 tutti run -n 4 "$trouble" survive 1 >out 2>err; then
    export TUTTI_WIRE=1
    for deaths in 0:3 1:4 2:2 '0:4 2:5' '1:3 0:5' '0:2 1:3 2:4'; do
        # shellcheck disable=SC2086
        survive 4 $deaths
    done
    unset TUTTI_WIRE
fi
unset TUTTI_NODES
[ "$all_killed" -gt $((jobs / 2)) ] || fail "only in $all_killed of $jobs jobs did all die that were to"
echo "$jobs jobs, in $all_killed of which all died that were to"

# An allocation of one rank fails in tutti_team_shrink. All ranks must end: either with a team of
# the other ranks (and an error at the rank that failed), or with no team at all.
hurt=0
for n in $(seq 0 31); do
    expect 0 tutti run -n 3 --timeout 3000 --on-failure=continue "$trouble" no-memory "$n"
    [ "$(lines out '^rank [0-9]+: ')" -eq 3 ] || fail "allocation $n: not three lines"
    says out '^rank 1: (done|out of memory)'
    others=$(sed -nE 's/^rank [02]: (.*) \([0-9]+ ms\).*/\1/p' out | sort -u)
    case $others in
    done | 'out of memory' | 'a member of the team failed') ;;
    *) fail "allocation $n: not reported alike" ;;
    esac
    [ "$(lines out ': done')" -eq 3 ] || hurt=$((hurt + 1))
done
if [ "$hurt" -le 2 ] || [ "$hurt" -ge 32 ]; then fail "of 32 failing allocations $hurt hurt"; fi

expect 0 tutti run -n 4 --timeout 3000 "$trouble" texts 100
expect 0 tutti run -n 3 --timeout 3000 "$trouble" null
TUTTI_NODES=2,1 expect 0 tutti run -n 3 --timeout 3000 "$trouble" null

# While a failure makes the calls of the other ranks fail, a rank that makes no call does not delay
# them. It takes part in their agreement when it calls tutti_team_agree.
expect 0 tutti run -n 4 --timeout 3000 --on-failure=continue "$trouble" idle
[ "$(lines out '^rank [013]: done')" -eq 3 ] || fail 'an idle rank'
# If the launcher ends the job after a failure, it also ends the rank that makes no call.
got=0
# shellcheck disable=SC2016
tutti run -n 3 --timeout 3000 bash -c 'TUTTI_FAULT=kill,rank=1,after=3 "$0" idle' "$trouble" >out 2>err || got=$?
[ "$got" -eq 137 ] || fail "ended with $got where a failure ends the job"
nothing_left "$TUTTI_TEST"
