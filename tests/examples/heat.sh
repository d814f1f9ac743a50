#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# heat calculates the same bits on any grid of ranks, on several nodes, and for tiles of one cell.
# Its own check notices if ranks do not exchange their borders. Wrong options are refused once.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
die() {
    echo "heat: $*" >&2
    cat out err >&2
    exit 1
}

spreads() {
    "$@" >out 2>err || die "exit status $?: $*"
    [ "$(cat out)" = '0 cells differ from the serial result' ] || die "a wrong result: $*"
    [ ! -s err ] || die "not quiet: $*"
}
for n in 1 2 3 4 6 7 9; do
    for size in 9 64; do spreads tutti run -n $n -- heat -n $size -s 70; done
done
spreads tutti run -n 9 -- heat -n 3 -s 5
spreads env TUTTI_NODES=2,1,3 tutti run -n 6 -- heat -n 50
spreads heat -n 20
spreads tutti run -n 2 -- heat

# A copy of the program without the exchange must fail its own check.
if [ -z "$TUTTI_SANITIZE" ]; then
    sed '/if (t->grid) exchange/s/if (t->grid)/(void)column, (void)exchange; if (0)/' \
        "$TUTTI_SOURCE/examples/heat/heat.c" >mute.c
    "$CC" -O1 -w -I"$TUTTI_SOURCE/include" mute.c -o mute -L"$TUTTI_BUILD/lib" -ltutti \
        -Wl,-rpath,"$TUTTI_BUILD/lib"
    status=0
    tutti run -n 4 -- ./mute -n 40 >out 2>err || status=$?
    [ $status -eq 1 ] || die "exit status $status without an exchange"
    grep -qE '^[1-9][0-9]* cells differ' out || die 'no exchange, and no cell differs'
fi

for wrong in -n0 -nx -n50x -s0 -s5x -x 5 '-n 2' '-x -s 5' -n1000001 -s1000001 \
    '-n 4294967294 -s 1' -n9223372036854775807 -s99999999999999999999 '--help 5'; do
    status=0
    # shellcheck disable=SC2086
    tutti run -n 9 -- heat $wrong >out 2>err || status=$?
    [ $status -eq 2 ] || die "exit status $status: $wrong"
    [ "$(grep -c '^Usage: ' err)" -eq 1 ] || die "not one complaint: $wrong"
done
tutti run -n 3 -- heat --help >out 2>err || die "exit status $? of --help"
[ "$(grep -c '^Usage: ' out)" -eq 1 ] || die 'not one help'
[ "$(wc -l <"$TUTTI_SOURCE/examples/heat/heat.c")" -le 120 ] || die 'more lines than the README says'
