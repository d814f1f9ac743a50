#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One rank makes a different call from the others: see odds.c. Runs a part of all cases with each
# kind of transport between the ranks; with the argument `all`, runs all cases. The thread sanitizer
# sees nothing that ranks in several processes share, so it runs ranks as threads only.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

odds=$TUTTI_BUILD/tests/trouble-odds
# try SLICES COMMAND...: divides the cases of the command into SLICES slices, and runs one of these.
# Expects that its cases pass and that there are at least ten. If the command fails, the errors that
# are printed leave out the warnings of tutti_finalize about mismatches, which are intended here.
try() {
    local slices=$1 slice
    shift
    # Every second call of try runs the first slice of the cases, and the other calls run the slice
    # in the middle.
    slice=$((runs++ % 2 * (slices / 2)))
    if ! "$@" "$slices" "$slice" >out 2>err; then
        grep -v 'error: tutti_finalize: the calls' err >&2 || true
        fail "$*"
    fi
    [ "$(sed -nE 's/.* ([0-9]+) cases$/\1/p' out | head -n 1)" -ge 10 ] || fail "$*: hardly any"
}
runs=0 few=${1-20} many=$((4 * few))
[ "$few" != all ] || few=1 many=1
[ -z "$TUTTI_TEST_BRIEF" ] || few=100 many=100
processes() {
    [ "$TUTTI_SANITIZE" = thread ] || try "$many" tutti run -n "$1" --timeout 3000 "$odds" processes "$1"
}
try "$few" "$odds" threads 2
try "$few" "$odds" threads 3
try "$few" "$odds" threads 4
for nodes in 1,1 2,1 1,1,1 2,2 1,2,1; do
    IFS=, read -ra parts <<<"$nodes"
    p=0
    for part in "${parts[@]}"; do p=$((p + part)); done
    TUTTI_NODES=$nodes try "$few" "$odds" threads "$p"
    TUTTI_NODES=$nodes processes "$p"
done
for p in 2 3 4; do
    processes "$p"
    TUTTI_CMA=0 processes "$p"
done
# Algorithms that use messages, and calls in which no rank waits for all others.
TUTTI_ALGORITHM=pairwise,binomial,dissemination,doubling try "$few" "$odds" threads 3
# In a large team on several nodes, tutti_finalize compares the calls of some ranks only. The odd
# rank makes its call 20,000 us late, when the other ranks could have left. With `linear`, the root
# of a scatter sends something to every rank and waits for none.
late() { "$@" 20000 scatter; }
for nodes in 4,4,3 1,1,1,1,1,1,1,1,1,1,1; do
    TUTTI_NODES=$nodes TUTTI_ALGORITHM=scatter=linear try $((2 * few)) late "$odds" threads 11
done
nothing_left "$TUTTI_TEST"
