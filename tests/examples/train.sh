#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# train computes the same model on any number of ranks. With --resilient it does so even when ranks
# are killed: any one, two, all but one, at any step, during the recovery from another death, or
# from outside. (A brief run tries fewer of these.) Without --resilient it ends and says why.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Ranks that end in the middle of a call free nothing, and the leak check may wait for a dead rank.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

die() {
    echo "train: $*" >&2
    for file in out err; do
        if [ -s "$file" ]; then sed "s|^|$file: |" "$file" | head -n 20 >&2; fi
    done
    exit 1
}

step=1 draws=12 strokes=6
[ -z "$TUTTI_TEST_BRIEF" ] || step=8 draws=2 strokes=2
small=(-n 600 -s 60 -e 10)
weights=490

# The largest difference of two models. The gradient of a step is a mean of n terms below 1, whose
# sum has a rounding error below n eps in any order. Steps of this length (rate) down a convex loss
# function do not move two models further apart. So after s steps the models differ by less than
# rate * s * n * eps = 0.5 * 60 * 600 * 2.3e-16 = 4.2e-12.
tolerance=1e-11

same_model() {
    [ "$(wc -l <"$1")" -eq $weights ] || die "$1 is no model, $2"
    paste "$1" reference | awk -v most=$tolerance '
        { d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) bad = 1; if ($1 != 0) some = 1 }
        END { exit bad || !some }' || die "not the model of an undisturbed run, $2"
}

# Runs without failures.
tutti run -n 1 -- train "${small[@]}" -o reference >out
grep -qx 'step 60 of 60: loss 0\.[0-9]*, [0-9.]* % right, 1 rank' out || die 'the last step is not reported'
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
command -v script >/dev/null || die 'script(1) is missing (Debian package: bsdutils)'
script -qec 'tutti run -n 2 -- train -n 600 -s 5' /dev/null </dev/null >out
grep -q '\[#.*\] steps [0-9]* %' out || die 'no progress bar on a terminal'
train "${small[@]}" -qRo model
same_model model 'no launcher'
tutti run -n 2 -- train -q -s 2 -o other
if cmp -s other reference; then die 'two steps make the model of 60'; fi

# The model goes through a link and into a pipe or a device, which all stay what they are.
ln -s linked link
mkfifo pipe
exec 3<>pipe
for file in link pipe; do tutti run -n 2 -- train -q -s 2 -o $file || die "no model in a $file"; done
if [ ! -L link ] || [ ! -p pipe ]; then die 'the link or the pipe was replaced'; fi
head -n $weights <&3 >piped
exec 3>&-
for file in linked piped; do cmp $file other || die "another model in the file $file"; done
if mknod null c 1 3 2>err && true >>null; then
    tutti run -n 2 -- train -q -s 2 -o null || die 'no model in a device'
    [ -c null ] || die 'the device was replaced'
fi
rm -f null link pipe

# With --reproducible the models are the same to the last bit, on any number of ranks, with any
# placement on nodes, and when ranks die.
tutti run -n 1 -- train "${small[@]}" -q --reproducible -o exact
paste exact reference | awk '{ if ($1 != $2) differ++ } END { exit !differ }' || die 'plain sums gave the bits of the others'
for n in 3 4 16; do
    tutti run -n $n -- train "${small[@]}" -q --reproducible -o model
    cmp exact model || die "another model on $n ranks"
done
TUTTI_NODES=3,2,1 tutti run -n 6 -- train "${small[@]}" -q --reproducible -o model
cmp exact model || die 'another model on three nodes'
TUTTI_FAULT=kill,rank=2,after=40 tutti run -n 4 --on-failure=continue -- \
    train "${small[@]}" -q --resilient --reproducible -o model 2>err
cmp exact model || die 'another model when a rank dies'

# survive RANKS RANK:AFTER...: runs a job in which each RANK dies at its operation number AFTER.
# Checks the output and the model, and sets `killed` to the number of ranks that died.
survive() {
    local n=$1 status=0
    shift
    rm -f model
    # shellcheck disable=SC2016
    tutti run -n "$n" --timeout 3000 --on-failure=continue bash -c '
        for death; do
            [ "${death%%:*}" = "$TUTTI_RANK" ] && export TUTTI_FAULT=kill,after=${death##*:}
        done
        exec train -n 600 -s 60 -e 10 --resilient -o model' bash "$@" >out 2>err || status=$?
    killed=$(grep -c 'killed by signal 9' err || true)
    [ $status -eq 0 ] || die "exit status $status on $n ranks, deaths $*"
    if grep -vE 'killed by signal 9|(was|were) lost; ' err | grep -q .; then die "complaints on $n ranks, deaths $*"; fi
    same_model model "$n ranks, deaths $*"
    # The other ranks do not notice the death of a rank after the last agreement. If the rank died
    # that prints the result, nobody prints it.
    if ! grep -qE "^trained: 9[0-9.]* % of 2000 unseen digits right, [$((n - killed))-$n] ranks?\$" out; then
        if grep -q '^failed:.* 0 ' out || [[ "$*" != *0:* ]]; then die "the end is not reported on $n ranks, deaths $*"; fi
    fi
}

survive 4 2:40
[ "$killed" -eq 1 ] || die "$killed killed instead of one"
grep -qE '^failed: 2 of 4: going on with 3 ranks from step [0-9]+$' out || die 'who failed is not reported'
survive 4 0:41
grep -qE '^failed: 0 of 4: going on with 3 ranks from step [0-9]+$' out || die 'that rank 0 failed is not reported'
RANDOM=5
for ((i = 0; i < draws; i++)); do
    survive 4 $((i % 4)):$((1 + RANDOM % 130))
    survive 5 $((i % 3)):$((1 + RANDOM % 130)) $((3 + i % 2)):$((1 + RANDOM % 130))
done
# A second rank dies while the ranks recover from the first death, at each operation of the
# recovery.
for ((i = 30; i < 54; i += step)); do
    survive 4 1:30 0:$i
done
# All ranks but one die.
survive 4 0:20 1:30 2:40
survive 4 1:25 2:25 3:25
grep -qE '^trained: .* right, 1 rank$' out || die 'rank 0 is not the only one left'

# Ranks on several simulated nodes.
for deaths in 0:10 2:30 '1:20 3:40'; do
    # shellcheck disable=SC2086
    TUTTI_NODES=2,2 survive 4 $deaths
done

# Ranks are killed from outside at any time, as a user might do.
for ((i = 0; i < strokes; i++)); do
    rm -f model pids
    # shellcheck disable=SC2016
    tutti run -n 4 --timeout 3000 --on-failure=continue bash -c '
        echo "$TUTTI_RANK $$" >>pids
        exec train -n 600 -s 60 --resilient -q -o model' >out 2>err &
    launcher=$!
    until [ -e pids ] && [ "$(wc -l <pids)" -eq 4 ]; do sleep 0.01; done
    sleep 0.0$((RANDOM % 10))
    kill -9 "$(sed -n "s/^$((i % 4)) //p" pids)" 2>err.kill || true
    status=0
    wait $launcher || status=$?
    # If the rank was killed before it had joined, the other ranks cannot begin. If it was killed
    # after the end, nobody notices.
    if grep -q 'died: signal 9' err; then continue; fi
    [ $status -eq 0 ] || die "exit status $status when killed from outside"
    [ -e model ] || [ $((i % 4)) -eq 0 ] || die 'no model when killed from outside'
    if [ -e model ]; then same_model model 'killed from outside'; fi
done

# Without --resilient each remaining rank prints the cause, and no model is written. (A rank that
# was killed while it wrote the model has left a part.)
rm -f model model.*
status=0
TUTTI_FAULT=kill,rank=1,after=40 tutti run -n 3 -- train "${small[@]}" -o model >out 2>err || status=$?
[ $status -eq 137 ] || die "exit status $status, not resilient"
[ "$(grep -cE '^train: rank [02]: cannot go on \(--resilient would\): rank 1 died: signal 9 \(Killed\)$' err)" -eq 2 ] ||
    die 'the cause is not reported'
if compgen -G 'model*' >/dev/null; then die 'a model was left'; fi

# An error that is not a death would occur again in a smaller team: it ends all ranks, whether one
# rank or each rank has it.
for who in 1 '[0-2]'; do
    status=0
    # shellcheck disable=SC2016
    tutti run -n 3 --timeout 3000 --on-failure=continue bash -c '
        case $TUTTI_RANK in '"$who"') export TUTTI_ALGORITHM=allreduce=nonsense ;; esac
        exec train -n 600 -s 60 -q --resilient -o model' >out 2>err || status=$?
    [ $status -eq 2 ] || die "exit status $status, an error of rank $who"
    grep -q '^train: rank 1: cannot go on: .*nonsense' err || die "the error of rank $who is not reported"
done
if compgen -G 'model*' >/dev/null; then die 'a model was left'; fi

# refused MESSAGE ARG...: expects that train ends with this message.
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
