#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fft computes what FFTW computes alone, on any number of ranks and nodes, also with more ranks than
# rows; and it refuses wrong options once and not on every rank.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
die() {
    echo "fft: $*" >&2
    cat out err >&2
    exit 1
}
command -v fft >/dev/null || {
    echo 'built without FFTW'
    exit 77
}

transforms() {
    "$@" >out 2>err || die "exit status $?: $*"
    grep -qE '^largest difference to FFTW alone: [0-9.e-]+, [0-9.e-]+ allowed$' out || die "no check: $*"
    [ ! -s err ] || die "not quiet: $*"
}
for n in 1 2 3 4 7; do
    for size in 1 2 5 64 101; do transforms tutti run -n $n -- fft --size $size --repeat 2; done
done
transforms tutti run -n 3 -- fft
transforms env TUTTI_NODES=2,1,2 tutti run -n 5 -- fft --size 96
transforms fft --size 10

# If a rank dies, the other ranks print an error.
if TUTTI_FAULT=kill,rank=1,after=3 tutti run -n 3 -- fft >out 2>err; then die 'a rank died and nobody noticed'; fi
grep -qE '^fft: rank [02]: .*rank 1 died' err || die 'the cause is not reported'

for wrong in --size=0 --size=32769 --size=x --repeat=0 --sizes=4 5; do
    status=0
    tutti run -n 3 -- fft "$wrong" >out 2>err || status=$?
    [ $status -eq 2 ] || die "exit status $status: $wrong"
    [ "$(grep -c '^fft: ' err)" -eq 1 ] || die "not one complaint: $wrong"
done
tutti run -n 2 -- fft --help >out
grep -q Fourier out || die 'no help'
