#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Recovery between hosts: runs train --resilient on 4, 2, 1 and 1 ranks. During the run one rank is
# killed (each in turn), or two ranks one after the other, or a host is cut off. The remaining ranks
# agree on the failure, continue as a smaller team, and must compute the model of an undisturbed
# run. So must the ranks on the host that is cut off, which take the others for dead.
#
# Each case creates its own hosts, so that nothing of an ended job, whose launcher is killed, is
# left for the next.
#
#     train.sh [kill|kill-RANK|cut-last|cut-first [REFERENCE]]
#
# REFERENCE is the model of an undisturbed run. It is computed once for all cases.
set -eu
size=(-n 300 -s 2000 -e 10)
undisturbed() { "$TUTTI_BUILD/bin/train" -q "${size[@]}" -o "$1"; }
if [ $# -eq 0 ]; then
    # The file is in the build folder, because each case mounts a file system of its own over the
    # work folder (lib.sh).
    reference=$(mktemp "$TUTTI_BUILD/tests/reference.XXXXXX")
    trap 'rm -f "$reference"' EXIT
    undisturbed "$reference"
    for what in kill kill-{0..7} cut-last cut-first; do bash "$0" "$what" "$reference"; done
    exit 0
fi
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 4,2,1,1
train=$TUTTI_BUILD/bin/train
reference=${2-reference}
weights=490

# The tolerance is computed as in the test of train on one machine: two models differ by less than
# rate * s * n * eps = 0.5 * 2000 * 300 * 2.3e-16 = 6.9e-11, because n terms below 1 are added in a
# different order in each of s steps.
tolerance=1e-10

same_model() {
    [ "$(wc -l <"$1")" -eq $weights ] || fail "$1 is no model"
    paste "$1" "$reference" | awk -v most=$tolerance '
        { d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) bad = 1; if ($1 != 0) some = 1 }
        END { exit bad || !some }' || fail "$1 is not the model of an undisturbed run"
}

# Starts the job. The output of each rank is in said.RANK and err.RANK, because a rank that is cut
# off cannot send it to mpirun.
begin() {
    # shellcheck disable=SC2016
    TUTTI_PEER_TIMEOUT=3 begin_on_hosts -x TUTTI_PEER_TIMEOUT sh -c \
        'echo $$ >"pid.$PMIX_RANK"; exec "$@" -o "model.$(hostname)" >"said.$PMIX_RANK" 2>"err.$PMIX_RANK"' \
        sh "$train" --resilient "${size[@]}"
    said 0 '^step .* 8 ranks$'
}

# said RANK PATTERN: waits until the rank has printed a matching line.
said() {
    local deadline=$((SECONDS + 300)) n
    until count_lines "$2" "said.$1" && [ "$n" -gt 0 ]; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 3 said.* err.* >out 2>&1 || true
            fail "rank $1 does not say: $2"
        fi
        pause 0.02
    done
}

# ended LOWEST HOST FAILED LEFT: LOWEST is the lowest rank that is left, on HOST. Expects that this
# rank printed FAILED (which ranks of how many failed) and LEFT (how many ranks continued to the
# end), and that the model in its file on HOST is right.
ended() {
    local lowest=$1 host=$2 failed=$3 left=$4
    said "$lowest" "^trained: 9[0-9.]* % of 2000 unseen digits right, $left ranks?\$"
    said "$lowest" "^failed: $failed: going on with $left ranks? from step [0-9]+\$"
    same_model "model.$host"
}

[ $# -eq 2 ] || undisturbed "$reference"
begin
case $1 in
    kill)
        in_host h3 kill -9 "$(cat pid.6)"
        said 0 '^step .* 7 ranks$'
        in_host h1 kill -9 "$(cat pid.0)"
        ended 1 h1 '0 of 7' 6
        said 0 '^failed: 6 of 8: going on with 7 ranks'
        ;;
    kill-*)
        rank=${1#kill-}
        homes=(h1 h1 h1 h1 h2 h2 h3 h4)
        in_host "${homes[rank]}" kill -9 "$(cat "pid.$rank")"
        lowest=$((rank == 0))
        ended $lowest h1 "$rank of 8" 7
        ;;
    cut-last)
        cut h4
        ended 0 h1 '7 of 8' 7
        ended 7 h4 '0 1 2 3 4 5 6 of 8' 1
        ;;
    cut-first)
        cut h1
        ended 4 h2 '0 1 2 3 of 8' 4
        ended 0 h1 '4 5 6 7 of 8' 4
        ;;
esac
if grep . err.*; then fail 'a rank complains'; fi
end_mpirun
echo "$1: $(grep -hE '^failed: ' said.* | tr '\n' ';')"
