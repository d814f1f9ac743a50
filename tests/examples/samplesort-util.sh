# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of samplesort share: a folder that goes away, and how to fail. To be sourced.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

die() {
    echo "samplesort: $*" >&2
    exit 1
}

# Runs samplesort -q with the arguments after the number of ranks.
sorted() { tutti run -n "$1" -- samplesort -q "${@:2}"; }

# Holds samplesort's answer for the files after the number of ranks against sort(1): by a pipe, and
# written by each rank itself, over a longer file that was there before.
compare() {
    LC_ALL=C sort "${@:2}" >expected
    { cat expected && echo 'what was there before'; } >out
    sorted "$@" | cmp - expected || die "differs from sort on $1 ranks: ${*:2}"
    sorted "$1" -o out "${@:2}" || die "failed with -o on $1 ranks: ${*:2}"
    cmp out expected || die "differs from sort on $1 ranks with -o: ${*:2}"
}
