# SPDX-License-Identifier: BSD-3-Clause
"""palette.py SOURCES PICTURES: checks that the colours of pictures are those of palette.h, and
that they can be distinguished."""
import itertools
import pathlib
import re
import sys

from page_colour import AA_GRAPHIC, AA_TEXT, APART, SEEN_BY, contrast, linear, luminance, oklab, times

COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b|rgba?\(\s*\d[^)]*\)")
PLAIN = {"#000000", "#ffffff"}  # text on a coloured area has the one that is easier to read


def read(header):
    """Maps each name to (light, dark)."""
    found = re.findall(r'COLOUR\("([a-z0-9-]+)", "([^"]+)", "([^"]+)"\)', header.read_text())
    names = [name for name, _, _ in found]
    assert len(names) > 40 and len(set(names)) == len(names), "colours without a name of their own"
    return {name: (light, dark) for name, light, dark in found}


def none_elsewhere(sources):
    """No source except the palette contains the value of a colour."""
    for path in sorted(sources.rglob("*")):
        if path.name == "palette.h" or "vendor" in path.parts or not path.is_file():
            continue
        found = set(COLOUR.findall(path.read_text())) - PLAIN
        assert not found, f"{path}: {found} should be colours of the palette"


def all_used(sources, palette):
    """Every colour of the palette is used in some picture."""
    texts = [path.read_text() for path in sources.rglob("*") if path.is_file() and path.name != "palette.h"]
    text = "\n".join(texts)
    for name in palette:
        used = re.search(rf"\${name}[;}}]|--{name}\)|ink\('{name}'\)|tt_palette_light\(\"{name}\"\)", text)
        assert used or name.startswith("load-") or re.search(rf"^  {name}: {{ name:", text, re.M), f"{name}: used nowhere"


def schemes_of(style):
    """The colours of a style sheet outside and inside its rules for dark surroundings."""
    light, dark = style.split("@media(prefers-color-scheme:dark)")
    return set(COLOUR.findall(light)), set(COLOUR.findall(dark))


def svg_has_them(path, palette):
    light, dark = schemes_of(re.search(r"<style>(.*?)</style>", path.read_text(), re.S)[1])
    assert len(light) > 20 and len(dark) > 20, f"{path}: hardly any colours"
    assert light <= {one[0] for one in palette.values()}, f"{path}: {light} in light"
    assert dark <= {one[1] for one in palette.values()}, f"{path}: {dark} in dark"
    assert "none;" not in path.read_text().split("</style>")[0].replace("fill:none;", ""), f"{path}: a name without a colour"


def page_has_them(path, palette):
    text = path.read_text()
    for column, selector in enumerate((r":root \{\n(.*?)\}", r":root\[data-theme=dark\] \{\n(.*?)\}")):
        rules = dict(re.findall(r"--([a-z0-9-]+): (.*?);", re.search(selector, text, re.S)[1]))
        assert rules == {name: one[column] for name, one in palette.items()}, f"the page's {selector}"


def distinguished(palette, names, column, least):
    for who, matrix in {**SEEN_BY, "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1))}.items():
        seen = {name: oklab(times(matrix, linear(palette[name][column]))) for name in names}
        for one, other in itertools.combinations(names, 2):
            distance = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other])) ** 0.5
            assert distance >= least, f"{one} and {other} are {distance:.3f} apart for {who}"


def seen(palette, column):
    panel = palette["panel"][column]
    for name in ("text", "quiet"):
        assert contrast(palette[name][column], panel) >= AA_TEXT, name
    for name in ("between-nodes", "load-8", "cursor", "path"):
        assert contrast(palette[name][column], panel) >= AA_GRAPHIC, name
    loads = [luminance(palette[f"load-{i}"][column]) for i in range(9)]
    assert loads == sorted(loads, reverse=column == 0), f"loads are not in order of lightness: {loads}"
    distinguished(palette, ["send", "put", "recv", "get", "signal", "copy", "reduce", "read", "write"], column, APART)
    distinguished(palette, [f"route-{i}" for i in range(8)], column, APART)


def main():
    sources, pictures = map(pathlib.Path, sys.argv[1:])
    palette = read(sources / "palette.h")
    none_elsewhere(sources)
    all_used(sources, palette)
    for column in (0, 1):
        seen(palette, column)
    for path in sorted(pictures.glob("*.svg")):
        svg_has_them(path, palette)
    page_has_them(pictures / "page.html", palette)


main()
