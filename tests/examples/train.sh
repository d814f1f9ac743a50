#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# train comes to the same model on any number of ranks, and with --resilient also when ranks are
# killed on the way: any one, two, all but one, at any step, in the recovery from another death,
# from outside. Without, it ends and says why.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Ranks that end in the middle of something free nothing; and a leak tracer may wait for a dead one.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

die() {
    echo "train: $*" >&2
    for file in out err; do
        if [ -s "$file" ]; then sed "s|^|$file: |" "$file" | head -n 20 >&2; fi
    done
    exit 1
}

small=(-n 600 -s 60 -e 10)
weights=490

# How far two models may be apart. A step's gradient is a mean of terms below 1, whose sum has a
# rounding error below n eps in whatever order; steps of this length down a convex loss do not move
# two models further apart; so after s steps they differ by less than rate * s * n * eps = 0.5 * 60
# * 600 * 2.3e-16 = 4.2e-12.
tolerance=1e-11

same_model() {
    [ "$(wc -l <"$1")" -eq $weights ] || die "$1 is no model, $2"
    paste "$1" reference | awk -v most=$tolerance '
        { d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) bad = 1; if ($1 != 0) some = 1 }
        END { exit bad || !some }' || die "not the model of an undisturbed run, $2"
}

# Undisturbed.
tutti run -n 1 -- train "${small[@]}" -o reference >out
grep -qx 'step 60 of 60: loss 0\.[0-9]*, [0-9.]* % right, 1 rank' out || die 'the last step is not told'
right=$(sed -nE 's/^trained: ([0-9.]*) % of 2000 unseen digits right, 1 rank$/\1/p' out)
awk -v right="$right" 'BEGIN { exit !(right > 90) }' || die "only $right % right"
for n in 2 3 5; do
    for how in '' --resilient; do
        # shellcheck disable=SC2086
        tutti run -n $n -- train "${small[@]}" -q -o model $how >out 2>err
        if [ -s out ] || [ -s err ]; then die "not quiet on $n ranks"; fi
        same_model model "$n ranks $how"
    done
done
train "${small[@]}" -qRo model
same_model model 'no launcher'
tutti run -n 2 -- train -q -s 2 -o other
if cmp -s other reference; then die 'two steps make the model of 60'; fi

# survive RANKS RANK:AFTER...: these ranks die at these operations; 3 in a line of `out` are the
# ranks that are left.
survive() {
    local n=$1 status=0
    shift
    rm -f model
    # shellcheck disable=SC2016
    tutti run -n "$n" --timeout 600 --on-failure=continue bash -c '
        for death; do
            [ "${death%%:*}" = "$TUTTI_RANK" ] && export TUTTI_FAULT=kill,after=${death##*:}
        done
        exec train -n 600 -s 60 -e 10 --resilient -o model' bash "$@" >out 2>err || status=$?
    killed=$(grep -c 'killed by signal 9' err || true)
    [ $status -eq 0 ] || die "exit status $status on $n ranks, deaths $*"
    if grep -vE 'killed by signal 9|(was|were) lost; ' err | grep -q .; then die "complaints on $n ranks, deaths $*"; fi
    same_model model "$n ranks, deaths $*"
    # Who dies after the last agreement is not missed any more; if it is the one to tell, nobody
    # does.
    if ! grep -qE "^trained: 9[0-9.]* % of 2000 unseen digits right, [$((n - killed))-$n] ranks?\$" out; then
        if grep -q '^failed:.* 0 ' out || [[ "$*" != *0:* ]]; then die "the end is not told on $n ranks, deaths $*"; fi
    fi
}

survive 4 2:40
[ "$killed" -eq 1 ] || die "$killed killed instead of one"
grep -qE '^failed: 2 of 4: going on with 3 ranks from step [0-9]+$' out || die 'who failed is not told'
survive 4 0:41
grep -qE '^failed: 0 of 4: going on with 3 ranks from step [0-9]+$' out || die 'that rank 0 failed is not told'
RANDOM=5
for ((i = 0; i < 12; i++)); do
    survive 4 $((i % 4)):$((1 + RANDOM % 130))
    survive 5 $((i % 3)):$((1 + RANDOM % 130)) $((3 + i % 2)):$((1 + RANDOM % 130))
done
# A second death in the recovery from the first: at each operation that there is after it.
for ((i = 30; i < 54; i++)); do
    survive 4 1:30 0:$i
done
# All but one.
survive 4 0:20 1:30 2:40
survive 4 1:25 2:25 3:25
grep -qE '^trained: .* right, 1 rank$' out || die 'rank 0 is not the only one left'

# Between nodes.
for deaths in 0:10 2:30 '1:20 3:40'; do
    # shellcheck disable=SC2086
    TUTTI_NODES=2,2 survive 4 $deaths
done

# From outside, at any time: as a user would.
for ((i = 0; i < 6; i++)); do
    rm -f model pids
    # shellcheck disable=SC2016
    tutti run -n 4 --timeout 600 --on-failure=continue bash -c '
        echo "$TUTTI_RANK $$" >>pids
        exec train -n 600 -s 60 --resilient -q -o model' >out 2>err &
    launcher=$!
    until [ -e pids ] && [ "$(wc -l <pids)" -eq 4 ]; do sleep 0.01; done
    sleep 0.0$((RANDOM % 10))
    kill -9 "$(sed -n "s/^$((i % 4)) //p" pids)" 2>err.kill || true
    status=0
    wait $launcher || status=$?
    # Killed before it was there, the others cannot begin; killed after the end, nobody knows.
    if grep -q 'died: signal 9' err; then continue; fi
    [ $status -eq 0 ] || die "exit status $status when killed from outside"
    [ -e model ] || [ $((i % 4)) -eq 0 ] || die 'no model when killed from outside'
    if [ -e model ]; then same_model model 'killed from outside'; fi
done

# Not resilient: each that is left says why, and nothing is written.
rm -f model
status=0
TUTTI_FAULT=kill,rank=1,after=40 tutti run -n 3 -- train "${small[@]}" -o model >out 2>err || status=$?
[ $status -eq 137 ] || die "exit status $status, not resilient"
[ "$(grep -cE '^train: rank [02]: cannot go on \(--resilient would\): rank 1 died: signal 9 \(Killed\)$' err)" -eq 2 ] ||
    die 'the cause is not told'
if compgen -G 'model*' >/dev/null; then die 'a model was left'; fi

# An error that is no death would come again: it ends all, whether one rank has it or each.
for who in 1 '[0-2]'; do
    status=0
    # shellcheck disable=SC2016
    tutti run -n 3 --timeout 600 --on-failure=continue bash -c '
        case $TUTTI_RANK in '"$who"') export TUTTI_ALGORITHM=allreduce=nonsense ;; esac
        exec train -n 600 -s 60 -q --resilient -o model' >out 2>err || status=$?
    [ $status -eq 2 ] || die "exit status $status, an error of rank $who"
    grep -q '^train: rank 1: cannot go on: .*nonsense' err || die "not told of the error of rank $who"
done
if compgen -G 'model*' >/dev/null; then die 'a model was left'; fi

# refused MESSAGE ARG...
refused() {
    local status=0
    tutti run -n 2 -- train "${@:2}" >out 2>err || status=$?
    [ $status -eq 2 ] || die "exit status $status for ${*:2}"
    grep -qF -- "$1" err || die "expected '$1' for ${*:2}"
}
refused "--samples: '9' is no whole number from 10 to 10000000" --samples 9
refused "--steps: '1x' is no whole number" -s 1x
refused "--steps: '' is no whole number" -s ''
refused "--rate: '0' is no number above 0 and up to 1" --rate 0
refused "--rate: 'nan' is no number" --rate nan
refused "--seed: '-1' is no whole number" --seed=-1
refused "--report: '0' is no whole number" --report 0
refused "what is 'digits'?" digits
refused 'unrecognized option' --no-such-option
refused 'cannot write none/model: No such file or directory' -q -s 1 -o none/model
tutti run -n 3 -- train --help >out
[ "$(grep -c '^Usage: ' out)" -eq 1 ] || die 'the help, not once'
grep -q -- '--resilient' out || die 'the help does not name --resilient'
tutti run -n 2 -- train --version | grep -q '^train [0-9]' || die 'no version'
