# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by the tests of samplesort: a temporary folder, and failing with a message. To be sourced.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

die() {
    echo "samplesort: $*" >&2
    exit 1
}

# sorted N ARG...: runs samplesort -q on N ranks with these arguments.
sorted() { tutti run -n "$1" -- samplesort -q "${@:2}"; }

# compare N FILE...: compares the output of samplesort on N ranks with that of sort(1): once through
# a pipe, and once written by the ranks themselves over a longer file that existed before.
compare() {
    LC_ALL=C sort "${@:2}" >expected
    { cat expected && echo 'what was there before'; } >out
    sorted "$@" | cmp - expected || die "differs from sort on $1 ranks: ${*:2}"
    sorted "$1" -o out "${@:2}" || die "failed with -o on $1 ranks: ${*:2}"
    cmp out expected || die "differs from sort on $1 ranks with -o: ${*:2}"
}
