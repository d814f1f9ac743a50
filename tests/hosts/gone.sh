#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the other ranks report of a rank that has gone, where the launcher records no deaths.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export TUTTI_PMIX=$TUTTI_BUILD/tests/libhosts-mini-pmix.so
[ -e "$TUTTI_PMIX" ] || skip 'built without PMIx'
hosts 3,1

# job HOSTS PROGRAM...: stores in `out` what all ranks print.
jobs=0
job() {
    local where=$1
    shift
    jobs=$((jobs + 1))
    mkdir "$work/job.$jobs"
    "$TUTTI_BUILD/tests/hosts-start" "$work/job.$jobs" 300 "$where" "$@" >err || fail "$*"
    cat "$work/job.$jobs"/out.* >out
}
# all N PATTERN: expects N lines of `out` like this.
all() {
    [ "$(lines "$2")" -eq "$1" ] || fail "not $1 lines are like $2"
}

# A rank reads or writes the memory of a process that has ended, before it watches that process.
job h1:3 "$TUTTI_BUILD/tests/hosts-boot" reach 0
all 2 '^rank [12]: PEER: rank 0 on h1 is gone: its process ended$'
