#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One palette for all pictures: SVG and HTML have its colours and no others, light and dark, and
# they can be told apart.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

mkdir pictures
expect 0 tutti draw bcast/u8/1K/p8@nodes:4,4 -a binomial -o pictures/time.svg
expect 0 tutti draw bcast/u8/1K/p8@nodes:4,4 -a binomial --what tree -o pictures/tree.svg
expect 0 tutti draw bcast/u8/1K/p8 -a binomial --what traffic -o pictures/traffic.svg
for what in network routes steps; do
    expect 0 tutti draw alltoall/u8/1K/p8@hypercube:3 -a pairwise --what $what -o pictures/$what.svg
done
expect 0 tutti draw alltoall/u8/1K/p8@hypercube:3 -a pairwise -o pictures/page.html
python3 -B "$TUTTI_SOURCE/tests/draw/palette.py" "$TUTTI_SOURCE/src/draw" pictures || fail 'the palette'
