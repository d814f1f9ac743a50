#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs of processes that this script starts itself: their allgather is files in a folder
# (init-with.c). The script also tries allgathers that fail.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../limit.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TUTTI_BOOT_TIMEOUT=2

fail() {
    echo "FAILED: $*" >&2
    head -n 5 out.* >&2
    exit 1
}

# job SIZE [RANK WHAT...]: runs a job of SIZE ranks; RANK gets the further arguments WHAT. The exit
# code of rank r is in code[r].
job() {
    local size=$1 odd=${2--1} pids=() r
    shift $(($# > 1 ? 2 : 1))
    rm -rf ./*
    mkdir files
    for ((r = 0; r < size; r++)); do
        if [ "$r" = "$odd" ]; then
            "$TUTTI_BUILD/tests/test-api-init-with" files "$r" "$size" "$@" >"out.$r" 2>&1 &
        else
            "$TUTTI_BUILD/tests/test-api-init-with" files "$r" "$size" >"out.$r" 2>&1 &
        fi
        pids+=($!)
    done
    code=()
    for ((r = 0; r < size; r++)); do
        if wait "${pids[r]}"; then code+=(0); else code+=($?); fi
    done
}

for size in 1 2 5; do
    job "$size"
    for c in "${code[@]}"; do [ "$c" = 0 ] || fail "a job of $size ranks: ${code[*]}"; done
done

# all_refuse TEXT [ODD]: expects that every rank but ODD exits with 3 and prints this text.
all_refuse() {
    local r
    for ((r = 0; r < ${#code[@]}; r++)); do
        if [ "$r" = "${2--1}" ]; then continue; fi
        [ "${code[r]}" = 3 ] || fail "$1: exit codes ${code[*]}"
        grep -q "$1" "out.$r" || fail "rank $r does not say: $1"
    done
}

job 3 1 fail 1
all_refuse 'returned .* to rank .* in its call'
# A rank whose allocation fails before the ranks have met calls the allgather once more, so that no
# rank waits for it in vain. The test begins at allocation 1: without allocation 0 the rank can make
# no call.
for allocation in {1..15}; do
    job 3 1 starve "$allocation"
    all_refuse 'rank 1 has no memory for what the ranks publish' 1
    [ "${code[1]}" = 3 ] || fail "allocation $allocation: exit codes ${code[*]}"
done
for call in 1 2; do
    job 3 1 late $call
    all_refuse "the allgather given to tutti_init_with returned 8 to rank 1 in its call $call"
done
job 3 1 late 3
all_refuse 'returned 8 to rank 1 in its call 3\|the 3 ranks of this node came within 2 s\|rank 0'
job 3 1 rank 3
all_refuse 'rank 3 is not in 0 .. 2'
job 3 1 size 4
all_refuse 'called tutti_init_with for'
job 3 0 lie
all_refuse 'returned other bytes for rank 1 than'
job 3 2 kill 2
all_refuse 'returned -2 to rank' 2
