# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the trouble tests share, on top of what those of the command do.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

# shellcheck disable=SC2034
trouble=$TUTTI_BUILD/tests/trouble-rank

# With an argument `nodes`, a script's ranks are on several: 3 on two, 4 on three.
apart=${1-}
on_nodes() {
    [ -n "$apart" ] || return 0
    case $1 in 3) export TUTTI_NODES=2,1 ;; 4) export TUTTI_NODES=1,2,1 ;; *) export TUTTI_NODES="1*$1" ;; esac
}

# Expects that N lines of out say that a peer failed (and how: a pattern), each soon after it did: a
# second is promised, where nothing else runs.
told() {
    local n=$1 how=$2 slow
    [ "$(lines out "^rank [0-9]+: a member of the team failed \([0-9]+ ms\): $how\$")" -eq "$n" ] ||
        fail "not told to $n ranks: $how"
    slow=$(sed -nE 's/^rank .* \(([0-9]+) ms\).*/\1/p' out | awk -v most="$(patience 1500)" '$1 >= most' | wc -l)
    [ "$slow" -eq 0 ] || fail 'told late'
}

# Nothing of a job is left: no process whose environment has this word, no file where temporary
# files go.
nothing_left() {
    [ -z "$(grep -lsFz "TUTTI_TEST=$1" /proc/[0-9]*/environ || true)" ] || fail "$1: processes are left"
    [ -z "$(ls -A "$TMPDIR")" ] || fail "$1: files are left"
}

# beside N COMMAND...: runs it in the background, in a folder of its own, when fewer than N of these
# are running.
sides=() places=0
in_folder() {
    local work=$1
    shift
    trap - EXIT
    cd "$work"
    "$@"
}
beside() {
    local most=$1
    shift
    while [ "$(jobs -r | wc -l)" -ge "$most" ]; do sleep 0.02; done
    places=$((places + 1))
    mkdir "$work/$places"
    in_folder "$work/$places" "$@" &
    sides+=($!)
}
# Waits for all of these, and fails where one has.
all_beside() {
    local side good=true
    for side in "${sides[@]}"; do wait "$side" || good=false; done
    sides=()
    $good || exit 1
}
mkdir "$work/temporary"
export TMPDIR=$work/temporary TUTTI_TEST=$$.$RANDOM
# Ranks that end in the middle of something free nothing; and a leak tracer may wait for a dead one.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
