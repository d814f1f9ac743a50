# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by the trouble tests, in addition to what the tests of the command share.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

# shellcheck disable=SC2034
trouble=$TUTTI_BUILD/tests/trouble-rank

# With the argument `nodes` the ranks of a script are on several simulated nodes: 3 ranks on two, 4
# ranks on three.
apart=${1-}
# In the full run on one node, ranks use the default wait policy, except in forbidden.sh. In all
# other runs ranks sleep after a few yields. So deaths meet ranks that poll and ranks that sleep.
# With few yields a job takes a third less processor time.
if [ -n "$apart$TUTTI_TEST_BRIEF" ]; then export TUTTI_YIELDS=20; fi
on_nodes() {
    [ -n "$apart" ] || return 0
    case $1 in 3) export TUTTI_NODES=2,1 ;; 4) export TUTTI_NODES=1,2,1 ;; *) export TUTTI_NODES="1*$1" ;; esac
}

# reported N PATTERN: expects N lines of `out` that say that a peer failed, and why, each within a
# second of the failure (longer on a busy machine). Hundreds of jobs are checked, so this function
# starts no process unless a rank reports so late that the load of the machine matters.
reported() {
    local n=$1 how=$2 found=0 line said after='^rank .* \(([0-9]+) ms\)'
    local right="^rank [0-9]+: a member of the team failed \([0-9]+ ms\): $how\$"
    mapfile -t said <"$work/out"
    for line in "${said[@]}"; do
        if [[ $line =~ $right ]]; then found=$((found + 1)); fi
        if [[ $line =~ $after ]] && [ "${BASH_REMATCH[1]}" -ge 1500 ]; then
            [ "${BASH_REMATCH[1]}" -lt "$(limit_ms 1500)" ] || fail 'reported late'
        fi
    done
    [ "$found" -eq "$n" ] || fail "not reported to $n ranks: $how"
}

# nothing_left WORD: expects that nothing of a job is left: no process whose environment holds this
# value of TUTTI_TEST, and no temporary file.
nothing_left() {
    [ -z "$(grep -lsFz "TUTTI_TEST=$1" /proc/[0-9]*/environ || true)" ] || fail "$1: processes are left"
    [ -z "$(ls -A "$TMPDIR")" ] || fail "$1: files are left"
}

# Sets n to the number of background commands that run, without starting a process to count them.
running() {
    local each
    jobs -r >"$work/.running"
    mapfile -t each <"$work/.running"
    n=${#each[@]}
}
# beside N COMMAND...: runs the command in the background, in its own folder, once fewer than N such
# commands are running.
sides=() places=0
in_folder() {
    local work=$1
    shift
    trap - EXIT
    cd "$work"
    "$@"
    : >"$work/passed"
}
beside() {
    local most=$1 n
    shift
    while running && [ "$n" -ge "$most" ]; do pause 0.02; done
    places=$((places + 1))
    mkdir "$work/$places"
    in_folder "$work/$places" "$@" &
    sides+=($!)
}
# Waits for all commands that `beside` started, and fails if one of them has failed. Each command
# leaves a file if it passes, because its exit status may be lost: on a busy machine the kernel soon
# gives the number of an ended process to another process, and the shell then forgets the status.
all_beside() {
    local n
    wait "${sides[@]}" 2>/dev/null || true
    sides=()
    for ((n = 1; n <= places; n++)); do [ -e "$work/$n/passed" ] || exit 1; done
}
mkdir "$work/temporary"
export TMPDIR=$work/temporary TUTTI_TEST=$$.$RANDOM
# Ranks that end in the middle of a call free nothing, and the leak check may wait for a dead rank.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
