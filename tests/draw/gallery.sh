#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The pictures in docs/gallery are those that scripts/gallery draws: the same files with the same
# contents, style and texts.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

expect 0 "$TUTTI_SOURCE/scripts/gallery" "$work/gallery"
diff "$work/gallery/README.md" "$TUTTI_SOURCE/docs/gallery/README.md" || fail 'the index is another: run scripts/gallery'
diff <(ls "$work/gallery") <(ls "$TUTTI_SOURCE/docs/gallery") || fail 'the pictures are others: run scripts/gallery'
python3 - "$work/gallery" "$TUTTI_SOURCE/docs/gallery" <<'PYTHON'
import glob
import os
import sys
import xml.etree.ElementTree as tree


def words(path):
    """All that does not depend on how a computer rounds: the texts, the style, and what is drawn as what."""
    return [(e.tag, e.get("class"), e.text) for e in tree.parse(path).getroot().iter()]


paths = sorted(glob.glob(sys.argv[1] + "/*.svg"))
assert len(paths) == 8, paths
for path in paths:
    name = os.path.basename(path)
    assert words(path) == words(os.path.join(sys.argv[2], name)), f"{name} is out of date: run scripts/gallery"
size = sum(os.path.getsize(p) for p in glob.glob(sys.argv[2] + "/*"))
assert size < 500000, f"the gallery has {size} bytes"
PYTHON
