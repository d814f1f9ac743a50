#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All pictures share one palette: SVG and HTML files contain its colours and no others, for light
# and dark surroundings, and the colours can be distinguished.
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
python3 -B "$TUTTI_SOURCE/tests/draw/palette.py" "$TUTTI_SOURCE/lab/draw" pictures || fail 'the palette'
