# SPDX-License-Identifier: BSD-3-Clause
#
# legend.py FILE.svg TEXT...: checks the legend with these entries. Each text ends before the next
# entry and before the edge of the picture, in DejaVu Sans and in a font of equally wide letters.
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
elements = list(root)
wide, high = map(float, root.get("viewBox").split()[2:])
texts = [e for e in elements if e.text in sys.argv[2:] and e.get("class") == "minor" and e.get("text-anchor") == "start"]
lines = {y: [e for e in texts if e.get("y") == y] for y in {e.get("y") for e in texts}}
legend = [e for line in lines.values() if len(line) > 1 for e in line]
assert [e.text for e in legend if e.text in sys.argv[2:]] != [] and {e.text for e in legend} >= set(sys.argv[2:]), [e.text for e in legend]
for e in legend:
    x, y = float(e.get("x")), e.get("y")
    most = max(0.602 * 11 * len(e.text), {"memory": 46}.get(e.text, 0))
    after = [float(one.get("x")) - 25 for one in legend if one.get("y") == y and float(one.get("x")) > x]
    assert x + most + 4 <= min(after, default=wide), f"{e.text} reaches what follows"
    assert float(y) < high, f"{e.text} is below the picture"
