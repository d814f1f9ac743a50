#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every collective on 4, 2, 1 and 1 ranks, with the first and another rank of each host as victim: a
# rank that is killed, exits or leaves while the others wait for it or before they do, and each host
# cut off. Every survivor must get an error that says which rank failed and why, and continues with
# the others (fall.c).
#
#     fall.sh           each victim falls in each collective in one manner, early or late, on new
#                       connections or on connections made before. Over the collectives, each victim
#                       falls in each manner at each of these times. (Ranks 1 to 3 have the same
#                       role, so in each collective only one of them falls.) How the other ranks
#                       learn of a fall depends on its manner and time, and which ranks wait for the
#                       victim depends on the collective. These two questions are independent. For
#                       the same reason two hosts are cut off from under each collective, and over
#                       the collectives each host is.
#     fall.sh all       tries all combinations of these, and more deaths during a recovery
#     fall.sh cut       only cuts hosts off, each from under every collective
#     fall.sh again     leaves out the victims that are killed, exit or leave
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export TUTTI_PMIX=$TUTTI_BUILD/tests/libhosts-mini-pmix.so
[ -e "$TUTTI_PMIX" ] || skip 'built without PMIx'
hosts 4,2,1,1
where=h1:4,h2:2,h3:1,h4:1
way=${1-}
collectives=(barrier bcast reduce allreduce reduce_scatter_block reduce_scatter gather allgather allgatherv alltoall alltoallv scatter scan exscan
    gatherv scatterv)
manners=(kill exit finalize)
whens=('late' 'early first' 'early' 'late first')

# gave_up_link FOLDER: returns whether UCX gave up a link in this job, which UCX sometimes does
# while nothing is wrong (docs/limitations.md). A job in which UCX gives up a link too early, or
# stops a rank, is void.
gave_up_link() {
    grep -qs 'UCX has given up a link' "$1"/out.*
}
# Prints what UCX logged in a void job: which ranks it stopped, which links it gave up, and why.
said_by_ucx() {
    (cd "$1" && grep -hoE 'UCX has given up a link: .*|[a-z_]+\.c:[0-9]+ +Assertion.*' out.* | sort | uniq -c | sed "s/^/$2: /")
}
# Returns whether UCX gave up a link of a job before the host was cut off.
lost_before_cut() {
    [ -e "$1/lost" ] || { [ -e "$work/not-cut" ] && gave_up_link "$1"; }
}

# Runs one job in a folder of its own, which is kept if the job fails.
jobs=0 void=0
job() {
    local at=$work/case.$1
    shift
    mkdir "$at"
    if "$TUTTI_BUILD/tests/hosts-start" "$at" 100 $where "$TUTTI_BUILD/tests/hosts-fall" "$@" >"$at/said"; then
        sed -n "s/.*: reported after /$* reported after /p" "$at"/out.* >>"$work/reported"
        rm -r "$at"
    elif ucx_stopped "$at"/out.* || lost_before_cut "$at"; then
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
# beside N FUNCTION ARGUMENT...: runs the function in the background, with at most N running at a
# time.
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
    local collective victim roles manner when turn=0 m
    for collective in "${collectives[@]}"; do
        turn=$((turn + 1)) # gives each victim each manner and time
        roles=(0 $((1 + turn % 3)) 4 5 6 7)
        [ "${1-}" != all ] || roles=(0 1 2 3 4 5 6 7)
        for victim in "${roles[@]}"; do
            for m in 0 1 2; do
                manner=${manners[m]}
                [ "${1-}" = all ] || [ "$m" -eq $(((turn + victim) % 3)) ] || continue
                for when in "${whens[@]}"; do
                    [ "${1-}" = all ] || [ "$when" = "${whens[(turn + victim) % 4]}" ] || continue
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

# Repeats the void jobs, at most twice.
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

# Prints how late survivors noticed the failure, for information.
report() {
    sed -E 's/(.*) reported after ([0-9]+) ms.*/\2 ms: \1/' "$work/reported" | sort -n | awk -v jobs="$jobs" '
        { reported[NR] = $0 }
        END {
            print jobs " jobs: " NR " survivors reported; half of them within " reported[int((NR + 1) / 2)]
            for (i = NR - 3; i <= NR; i++) print "late: " reported[i]
        }'
}

# survive CASE RANK:AFTER...: ranks die at the given operations, some of them during the recovery
# from an earlier death. The ranks that are left must agree every time, as in trouble/recover.sh;
# but here no launcher reports the deaths to them.
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
    elif ucx_stopped "$at"/out.*; then
        echo "survive $*" >"$at/void"
    else
        echo "survive $*" >"$at/failed"
    fi
}
# same_rounds FOLDER DEATHS: returns whether all ranks that were alive in a round printed the same
# line for it.
same_rounds() {
    local round
    for round in 0 1 2; do
        [ "$(grep -h "^round $round:" "$1"/out.* | sort -u | wc -l)" -eq 1 ] || return 1
        [ "$(cat "$1"/out.* | grep -c "^round $round:")" -ge $((8 - $2)) ] || return 1
    done
    ! grep -hv '^round' "$1"/out.*
}
survive_all() {
    local after step=3
    [ "${1-}" != all ] || step=2
    for after in $(seq 1 $step 40); do
        beside 6 survive "$((after % 8)):$after"
        beside 6 survive "5:9" "$((after % 5)):$after"
        beside 6 survive "0:9" "7:12" "4:$after"
    done
    check_all
    once_more
    echo "$jobs jobs with deaths in the recovery from others"
}

# chain CASE SCENARIO PATTERN: runs this scenario of trouble/deaths.c, in which rank 7 drops out
# while ranks wait on several teams. All other ranks must get an error that matches.
chain() {
    local at=$work/case.$1
    mkdir "$at"
    # shellcheck disable=SC2016
    if "$TUTTI_BUILD/tests/hosts-start" "$at" 100 $where sh -c \
        'cd "$MINI_PMIX" && exec "$TUTTI_BUILD/tests/trouble-rank" "$1"' sh "$2" >"$at/said" &&
        [ "$(cat "$at"/out.* | grep -c "^rank [0-7]: a member of the team failed .*: rank 7 .*$3")" -eq 7 ]; then
        rm -r "$at"
    elif ucx_stopped "$at"/out.*; then
        echo "chain $2 $3" >"$at/void"
    else
        echo "$2" >"$at/failed"
    fi
}

# Returns whether in each job all ranks wait in their collective, or the job has ended already.
all_wait() {
    local at n
    for at in "$work"/case.*; do
        if [ -e "$at/void" ] || [ -e "$at/failed" ]; then continue; fi
        count_lines ': waits$' "$at"/out.*
        [ "$n" -eq 8 ] || return 1
    done
}

# cut_off HOST VICTIMS TRIES COLLECTIVE...: starts a job for each collective, all at the same time,
# waits until all ranks wait in it, and cuts the host off. Starts a job again, at most TRIES times,
# if UCX stopped a rank or gave up a link although nothing was wrong (the job is void).
cut_off() {
    local h=$1 victims=$2 tries=$3 at name deadline=$((SECONDS + 90)) again=()
    shift 3
    rm -rf "$work"/case.*
    touch "$work/not-cut"
    for collective; do beside 99 job "$collective" "$victims" cut early; done
    pause 0.2
    until all_wait; do
        [ "$SECONDS" -lt "$deadline" ] || {
            cat "$work"/case.*/out.* >out
            fail "not all ranks wait before $h is cut off"
        }
        pause 0.05
    done
    for at in "$work"/case.*; do
        if gave_up_link "$at"; then touch "$at/lost"; fi
    done
    cut "$h"
    rm "$work/not-cut"
    check_all
    mend "$h"
    [ "$void" -gt 0 ] || return 0
    for at in "$work"/case.*/void; do
        read -r _ name _ <"$at"
        again+=("$name")
        said_by_ucx "${at%/void}" "$name"
    done
    echo "UCX stopped ranks or gave up links when $h was cut off: once more ${again[*]}"
    [ "$tries" -gt 0 ] || fail 'that happens too often'
    cut_off "$h" "$victims" $((tries - 1)) "${again[@]}"
}

# No launcher reports a death here. Ranks that noticed a death only because no answer comes would
# need 60 s.
export TUTTI_PEER_TIMEOUT=60
if [ "${1-}" != cut ]; then
    [ "${1-}" = again ] || kill_all "$@"
    [ "${1-}" = again ] || report
    survive_all "$@"
    beside 6 chain chain left
    beside 6 chain in-flight gone
    check_all
    once_more
fi
export TUTTI_PEER_TIMEOUT=3 TUTTI_LOG=fabric
# Prints every second collective, from number $1 on; all of them, if this run tries all.
some_of() {
    local i step=2
    case ${way} in all | cut) step=1 ;; esac
    for ((i = step == 1 ? 0 : $1; i < ${#collectives[@]}; i += step)); do echo "${collectives[i]}"; done
}
# shellcheck disable=SC2046
{
    cut_off h1 0-3 3 $(some_of 0)
    cut_off h2 4-5 3 $(some_of 1)
    cut_off h3 6-6 3 $(some_of 1)
    cut_off h4 7-7 3 $(some_of 0)
}
echo 'each host cut off'
