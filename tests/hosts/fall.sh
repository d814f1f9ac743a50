#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every collective with every victim on 4, 2, 1 and 1 ranks: one that is killed, exits or leaves
# while the others wait for it or before they do, and each host cut off. Every survivor is told who
# and why, and goes on with the others (fall.c).
#
#     fall.sh           early or late, and with or without connections made before, in turn
#     fall.sh all       all of these
#     fall.sh cut       the hosts that are cut off alone
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export TUTTI_PMIX=$TUTTI_BUILD/tests/libhosts-mini-pmix.so
[ -e "$TUTTI_PMIX" ] || skip 'built without PMIx'
hosts 4,2,1,1
where=h1:4,h2:2,h3:1,h4:1
collectives=(barrier bcast reduce allreduce reduce_scatter_block reduce_scatter gather allgather allgatherv alltoall alltoallv)
manners=(kill exit finalize)
whens=('late' 'early first' 'early' 'late first')

# UCX 1.13 now and then stops a survivor at an assertion of its own (docs/open.md). Then nothing is
# shown by the job.
ucx_stopped() {
    grep -qhE '(wireup_ep\.c|uct_iface\.h|ucp_request\.c):[0-9]+ +Assertion' "$1"/out.*
}

# One job, in its folder. What its ranks say stays where it went wrong.
jobs=0 void=0
job() {
    local at=$work/case.$1
    shift
    mkdir "$at"
    if "$TUTTI_BUILD/tests/hosts-start" "$at" 100 $where "$TUTTI_BUILD/tests/hosts-fall" "$@" >"$at/said"; then
        sed -n "s/.*: told after /$* told after /p" "$at"/out.* >>"$work/told"
        rm -r "$at"
    elif ucx_stopped "$at"; then
        echo "job $*" >"$at/void"
    else
        echo "$*" >"$at/failed"
    fi
}
check_all() {
    local at
    [ "${#started[@]}" -eq 0 ] || wait "${started[@]}"
    started=()
    void=0
    for at in "$work"/case.*; do
        [ ! -e "$at/void" ] || void=$((void + 1))
        [ -e "$at/failed" ] || continue
        cat "$at/failed" "$at/said" "$at"/out.* >out
        fail "$(cat "$at/failed")"
    done
}
# beside N ...: when fewer than N are running.
started=()
beside() {
    local most=$1 what=$2
    shift 2
    jobs=$((jobs + 1))
    "$what" "$jobs" "$@" &
    started+=($!)
    [ "${#started[@]}" -lt "$most" ] || {
        wait "${started[0]}"
        started=("${started[@]:1}")
    }
}

kill_all() {
    local collective victim manner when turn=0 m
    for collective in "${collectives[@]}"; do
        turn=$((turn + 1)) # so that each manner of each victim meets all times over the collectives
        for victim in 0 1 2 3 4 5 6 7; do
            for m in 0 1 2; do
                manner=${manners[m]}
                for when in "${whens[@]}"; do
                    [ "${1-}" = all ] || [ "$when" = "${whens[(turn + victim + m) % 4]}" ] || continue
                    # shellcheck disable=SC2086
                    beside 6 job "$collective" "$victim" "$manner" $when
                done
            done
        done
        check_all
        once_more
        echo "$collective: $jobs jobs so far, after $SECONDS s"
    done
}

# Those that showed nothing once more, at most twice.
once_more() {
    local at what
    for _ in 1 2; do
        for at in "$work"/case.*; do
            [ -e "$at/void" ] || continue
            echo "UCX stopped a rank at an assertion of its own, once more: $(cat "$at/void")"
            what=$(cat "$at/void")
            rm -r "$at"
            # shellcheck disable=SC2086
            beside 6 $what
        done
        check_all
    done
    [ "$void" -eq 0 ] || fail 'UCX stops ranks at assertions of its own'
}

# How late they were told, for whoever wants to know.
report() {
    sed -E 's/(.*) told after ([0-9]+) ms.*/\2 ms: \1/' "$work/told" | sort -n | awk -v jobs="$jobs" '
        { told[NR] = $0 }
        END {
            print jobs " jobs: " NR " survivors told; half of them within " told[int((NR + 1) / 2)]
            for (i = NR - 3; i <= NR; i++) print "late: " told[i]
        }'
}

# A rank dies at some operation, and another one in the recovery from that: those that are left
# agree every time, as in trouble/recover.sh, but nobody sees the deaths for them.
survive() {
    local at=$work/case.$1
    mkdir "$at"
    shift
    # shellcheck disable=SC2016
    if "$TUTTI_BUILD/tests/hosts-start" "$at" 100 $where sh -c '
        for death; do [ "${death%:*}" = "$PMIX_RANK" ] && export TUTTI_FAULT=kill,after=${death#*:}; done
        exec "$TUTTI_BUILD/tests/trouble-rank" survive 3' sh "$@" >"$at/said" &&
        same_rounds "$at" $#; then
        rm -r "$at"
    elif ucx_stopped "$at"; then
        echo "survive $*" >"$at/void"
    else
        echo "survive $*" >"$at/failed"
    fi
}
# Of each round one line, said by all that lived then.
same_rounds() {
    local round
    for round in 0 1 2; do
        [ "$(grep -h "^round $round:" "$1"/out.* | sort -u | wc -l)" -eq 1 ] || return 1
        [ "$(cat "$1"/out.* | grep -c "^round $round:")" -ge $((8 - $2)) ] || return 1
    done
    ! grep -hv '^round' "$1"/out.*
}
survive_all() {
    local after
    for after in $(seq 1 2 40); do
        beside 6 survive "$((after % 8)):$after"
        beside 6 survive "5:9" "$((after % 5)):$after"
        beside 6 survive "0:9" "7:12" "4:$after"
    done
    check_all
    once_more
    echo "$jobs jobs with deaths in the recovery from others"
}

# Teams that are on some hosts only, and share members.
chain() {
    local at=$work/case.$1
    mkdir "$at"
    # shellcheck disable=SC2016
    if "$TUTTI_BUILD/tests/hosts-start" "$at" 100 $where sh -c \
        'cd "$MINI_PMIX" && exec "$TUTTI_BUILD/tests/trouble-rank" "$1"' sh "$2" >"$at/said" &&
        [ "$(cat "$at"/out.* | grep -c "^rank [0-7]: a member of the team failed .*: rank 7 .*$3")" -eq 7 ]; then
        rm -r "$at"
    elif ucx_stopped "$at"; then
        echo "chain $2 $3" >"$at/void"
    else
        echo "$2" >"$at/failed"
    fi
}

waiting() { cat "$work"/case.*/out.* 2>/dev/null | grep -c ': waits$' || true; }

# All collectives at once wait, and a host is cut off.
cut_off() {
    local h=$1 victims=$2 collective deadline=$((SECONDS + 90))
    rm -rf "$work"/case.*
    for collective in "${collectives[@]}"; do beside 12 job "$collective" "$victims" cut early; done
    until [ "$(waiting)" -eq $((8 * ${#collectives[@]})) ]; do
        [ "$SECONDS" -lt "$deadline" ] || fail "only $(waiting) ranks wait before $h is cut off"
        sleep 0.05
    done
    cut "$h"
    check_all
    mend "$h"
    [ "$void" -gt 0 ] || return 0
    echo "UCX stopped ranks at assertions of its own in $void of ${#collectives[@]} jobs when $h was cut off: once more"
    [ "$3" -gt 0 ] || fail 'that happens too often'
    cut_off "$h" "$victims" $(($3 - 1))
}

# No launcher tells, and 60 s would pass where only silence did.
export TUTTI_PEER_TIMEOUT=60
if [ "${1-}" != cut ]; then
    [ "${1-}" = again ] || kill_all "$@"
    [ "${1-}" = again ] || report
    survive_all
    beside 6 chain chain left
    beside 6 chain in-flight gone
    check_all
    once_more
fi
export TUTTI_PEER_TIMEOUT=3
cut_off h1 0-3 2
cut_off h2 4-5 2
cut_off h3 6-6 2
cut_off h4 7-7 2
echo "each host cut off from under ${#collectives[@]} collectives"
