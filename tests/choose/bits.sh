#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Results have the same bits in two jobs with the same wisdom, whatever each job would choose
# without it. Another wisdom gives other bits, so the sums do depend on the algorithm.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM TUTTI_ALGORITHM
export XDG_CACHE_HOME=$work/cache

# bits [NAME=VALUE...]: prints the bits of a job's results.
bits() { timeout 3000 env "$@" tutti run -n 4 "$TUTTI_BUILD/tests/choose-bits"; }
same() { [ "$(bits "${@:2}")" = "$1" ] || fail "other bits with ${*:2}"; }

# The first job measures and writes a wisdom, which all later jobs use.
bits TUTTI_CHOICE=measure TUTTI_WISDOM="$work/measured" >first
[ "$(grep -c '^allreduce/f32/sum/' measured)" -eq 6 ] || fail "not six lines: $(cat measured)"
cp measured before
same "$(bits TUTTI_WISDOM="$work/measured")" TUTTI_CHOICE=measure TUTTI_WISDOM="$work/measured"
cmp before measured || fail 'a later job has changed the wisdom'

# Two files of wisdom that differ only in the algorithm.
for algorithm in flat ring; do
    sed -E "s/^(allreduce[^ ]*) [a-z-]+( radix=[0-9]+| slice=[0-9]+)*/\1 $algorithm/" measured >$algorithm
    bits TUTTI_WISDOM="$work/$algorithm" >$algorithm.bits
    same "$(cat $algorithm.bits)" TUTTI_CHOICE=measure TUTTI_WISDOM="$work/$algorithm"
    same "$(cat $algorithm.bits)" TUTTI_SPINS=0 TUTTI_YIELDS=1 TUTTI_WISDOM="$work/$algorithm"
done
if cmp -s flat.bits ring.bits; then fail 'the bits do not depend on the algorithm'; fi
# Without the wisdom, the table chooses, and gives other bits.
[ "$(bits TUTTI_WISDOM=0 TUTTI_CHOICE=table)" != "$(cat ring.bits)" ] || fail 'the wisdom had no effect'
