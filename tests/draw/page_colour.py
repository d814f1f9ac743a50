# SPDX-License-Identifier: BSD-3-Clause
"""The colours of the page: readable and distinguishable, in the light and in the dark theme."""
import itertools
import re

from page_check import same

AA_TEXT, AA_GRAPHIC = 4.5, 3.0  # the least contrasts by WCAG 2.2, 1.4.3 and 1.4.11
APART = 0.09  # the least distance in Oklab, where black and white are 1 apart

COLOURS = """(() => {
    const back = one => {
        for (; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if (d3.color(colour).opacity === 1) return colour;
        }
        return 'white';
    };
    return ['h1', '#summary', 'nav a', '#theme', 'h2', '#zoom-in', '#cursor-time', '#legend li', '#cursor-readout', '#cursor-ranks li',
        '#cursor-ranks li.waits', '#timeline-help', 'dt', 'dd', '#steps th', '#steps td', '#steps tr[aria-current] td', 'caption',
        '#matrix th', '#matrix td[data-to="7"]', '#matrix td[data-to="15"]', '#matrix td[data-to="2"]', '.readout', '#cursor-flag', '.quiet', '#tip']
        .map(name => [name, document.querySelector(name)]).filter(([, one]) => one)
        .map(([name, one]) => [name, getComputedStyle(one).color, back(one)]);
})()"""


def linear(colour):
    """Red, green and blue as amounts of light."""
    def part(value):
        value /= 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    if colour.startswith("#"):
        return [part(int(colour[at:at + 2], 16)) for at in (1, 3, 5)]
    return [part(float(value)) for value in re.findall(r"[\d.]+", colour)[:3]]


def luminance(colour):
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def contrasts(page):
    colours = page.run(COLOURS)
    assert len(colours) > 20, f"too few: {colours}"
    for name, text, back in colours:
        assert contrast(text, back) >= AA_TEXT, f"{name}: {text} on {back} has a contrast of {contrast(text, back):.2f}"
    inks = page.run("Object.fromEntries([...Object.keys(KINDS), 'panel', 'cursor', 'path', 'accent'].map(name => [name, ink(name)]))")
    for name, colour in inks.items():
        if name not in ("panel", "wait", "await"):
            assert contrast(colour, inks["panel"]) >= AA_GRAPHIC, f"{name}: {contrast(colour, inks['panel']):.2f}"
    for name in ("wait", "await"):
        assert contrast(inks[name], inks["panel"]) < 1.6, f"{name} is not pale"
    return page.run("getComputedStyle(document.body).backgroundColor"), inks

SEEN_BY = {  # The colours that viewers without red, green or blue cones see, for linear light, by Machado, Oliveira, Fernandes 2009.
    "protanopes": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopes": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopes": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def oklab(light):
    """Ottosson 2020: a colour space in which distances correspond to perceived differences."""
    cones = times(((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
                   (0.0883024619, 0.2817188376, 0.6299787005)), [max(0, part) for part in light])
    return times(((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
                  (0.0259040371, 0.7827717662, -0.8086757660)), [cone ** (1 / 3) for cone in cones])


def apart(inks):
    """Any two kinds of work can be distinguished, whichever cones an eye lacks."""
    kinds = [kind for kind in inks if kind not in ("panel", "cursor", "path", "accent", "wait", "await")]
    for who, matrix in {**SEEN_BY, "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1))}.items():
        seen = {kind: oklab(times(matrix, linear(inks[kind]))) for kind in kinds}
        for one, other in itertools.combinations(kinds, 2):
            distance = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other])) ** 0.5
            assert distance >= APART, f"{one} and {other} are {distance:.3f} apart for {who}"


def ink_count(page):
    """How many pixels of the diagram have the colour of each kind of step."""
    return page.run("""(() => {
        const canvas = document.getElementById('timeline-canvas'), seen = {};
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let i = 0; i < data.length; i += 4) {
            const key = '#' + [data[i], data[i + 1], data[i + 2]].map(v => v.toString(16).padStart(2, '0')).join('');
            seen[key] = (seen[key] || 0) + 1;
        }
        return Object.fromEntries(Object.keys(KINDS).map(kind => [kind, seen[ink(kind)] || 0]));
    })()""")


def themes(page):
    """Light and dark theme, chosen by the system's preference or the button; both must be
    readable."""
    light, inks = contrasts(page)
    page.get("theme").click()
    page.settle()
    same(page.get("theme").get_attribute("aria-pressed"), "true", "dark")
    dark, dark_inks = contrasts(page)
    assert luminance(light) > 0.7 and luminance(dark) < 0.05, f"{light} {dark}"
    apart(inks)
    apart(dark_inks)
    same([kind for kind in inks if inks[kind] == dark_inks[kind]], [], "colours that stay")
    assert ink_count(page)["reduce"] > 10, "the diagram is not drawn anew"
    shades = page.run("[1, 15].map(to => luminance(document.querySelector(`[data-from='0'][data-to='${to}']`).style.background))")
    assert shades[0] < shades[1], "in the dark, the more, the lighter"
    page.get("theme").click()
    for wish, pressed in (("dark", "true"), ("light", "false")):
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": wish}]})
        page.until(lambda: page.get("theme").get_attribute("aria-pressed") == pressed)
