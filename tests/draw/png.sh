#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Pictures as PNG: their contents are drawn, light or dark. Where librsvg is missing, an error says
# so and nothing is written.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

if ! tutti draw barrier/p2 -o there.png 2>err; then
    grep -q 'which is not here' err || fail 'no picture, and no reason that a missing library is'
    echo 'no librsvg here'
    exit 77
fi

# look.py checks the size and the background colour, and that something is drawn: some bytes must
# differ from their neighbours.
cat >look.py <<'PYTHON'
import struct
import sys
import zlib

path, paper = sys.argv[1], bytes.fromhex(sys.argv[2])
data = open(path, "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG"
at, packed = 8, b""
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + length]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], kind
    if kind == b"IHDR":
        wide, high, depth, colour = struct.unpack(">IIBB", body[:10])
    if kind == b"IDAT":
        packed += body
    at += 12 + length
raw = zlib.decompress(packed)
assert wide >= 900 and high >= 200 and depth == 8 and colour in (2, 6), (wide, high, depth, colour)
assert len(raw) == high * (1 + wide * (3 if colour == 2 else 4)), len(raw)
assert raw[1:4] == paper, f"the paper is {raw[1:4].hex()}"
drawn = len(raw) - raw.count(0)
assert drawn > len(raw) / 500 and len(set(raw)) > 100, f"hardly anything is drawn: {drawn} of {len(raw)} bytes differ"
PYTHON
for what in time tree traffic; do
    expect 0 tutti draw bcast/u8/1K/p8 -a binomial --what $what -o $what.png
    python3 look.py $what.png ffffff
done
for what in network routes steps; do
    expect 0 tutti draw alltoall/u8/1K/p8@hypercube:3 -a pairwise --what $what --scheme dark -o $what.png
    python3 look.py $what.png 191f26
done
expect 0 tutti draw barrier/p4 -o CAPITALS.PNG
python3 look.py CAPITALS.PNG ffffff
expect 0 tutti draw machine -o machine.png
python3 look.py machine.png ffffff

# Without librsvg the error names the package to install, before the command spends any time, and an
# existing file stays.
echo old >kept.png
expect 1 env LD_PRELOAD="$TUTTI_BUILD/tests/no-rsvg.so" tutti draw barrier/p4 -o kept.png
says err 'a .png is made by librsvg, which is not here .*librsvg2-2.*or draw an .svg'
[ "$(cat kept.png)" = old ] || fail 'what was there is gone'
expect 0 env LD_PRELOAD="$TUTTI_BUILD/tests/no-rsvg.so" tutti draw barrier/p4 -o without.svg
expect 1 tutti draw barrier/p4 -o no/such/folder.png
says err 'cannot write no/such/folder.png'
