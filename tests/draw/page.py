# SPDX-License-Identifier: BSD-3-Clause
"""The page that shows a picture: it shows what the data say, works with mouse and keyboard, and
loads nothing from elsewhere."""
import re
import sys

import page_data
from page_browser import Browser
from page_check import same
from page_colour import ink_count, themes

PARTS = ["timeline", "calls", "rank-detail", "traffic", "network", "tree"]


def parts_of(page):
    return [part for part in PARTS if page.has(part) and page.get(part).is_displayed()]


# ---- Checks of every page ----

def quiet(page):
    """There are no errors on the console, no requests, and no references to other places."""
    same(page.complaints(), [], "the console")
    requests = page.requests()
    same([len(requests), requests[:1] == [page.driver.current_url]], [1, True], f"the page's own address alone is asked for: {requests}")
    same(len(page.run("performance.getEntriesByType('resource')")), 0, "resources")
    same(page.all("[src], link, iframe, object, embed, form"), [], "elements that load something")
    links = page.run("[...document.querySelectorAll('[href]')].map(one => one.getAttribute('href'))")
    same([link for link in links if not link.startswith("#") or not page.has(link[1:])], [], "links that lead elsewhere")


def named(page):
    """Every element that the keyboard reaches has a name that can be read aloud."""
    same(page.run("""[...document.querySelectorAll('button, input, select, [tabindex], [role=img]')].filter(one =>
        one.id !== 'main' && !one.ariaLabel && !one.labels?.length && !one.textContent.trim() &&
        !document.getElementById(one.getAttribute('aria-labelledby'))?.textContent).map(one => one.outerHTML)"""), [], "nameless")
    same(page.run("""[...document.querySelectorAll('[id]')].map(one => one.id)
        .filter((id, i, all) => all.indexOf(id) !== i)"""), [], "doubled ids")


# ---- The small picture ----

def head(page):
    same(page.text("problem"), "alltoall/u8/1K/p16@torus:4x4", "heading")
    same(page.text("summary"), "Algorithm pairwise · simulated, model links · 16 ranks · 150 ns", "summary")
    same(parts_of(page), [part for part in PARTS if part != "calls"], "parts")
    same(page.run("[getComputedStyle(document.documentElement).scrollBehavior, zoom.duration()]"), ["auto", 0], "motion that is not wanted")


def drawn(page):
    """The steps are drawn in their colours, with areas in proportion to their times."""
    page.get("show-messages").click()
    page.settle()
    seen = ink_count(page)
    for kind in ("send", "recv", "wait", "reduce", "signal"):
        assert seen[kind] > 10, f"no {kind} drawn: {seen}"
    same([seen[kind] for kind in ("put", "get", "copy", "await")], [0] * 4, "kinds that are not there")
    assert 2.5 < seen["reduce"] / seen["send"] < 4, f"reduce is to send as 2.5 to 1, but for the gaps: {seen}"
    page.get("show-messages").click()
    page.settle()
    assert ink_count(page)["wait"] < seen["wait"], "messages are drawn over the waits"
    same(page.texts("#legend li[data-kind]"), ["send", "receive", "signal", "reduce", "wait for a message"], "legend")


def fits(page):
    """All sixteen rows are visible, so that there is nothing to scroll to."""
    same(page.run("(one => one.scrollHeight - one.clientHeight)(document.getElementById('timeline-view'))"), 0, "hidden")
    same(page.run("document.getElementById('timeline-view').clientHeight - diagram.height"), 0, "room beside the diagram")


def activity(page):
    return dict(re.match(r"(\d+) (.*)", text).groups() for text in page.texts("#cursor-ranks li"))


def cursor(page):
    """The page shows exactly what each rank does at the time of the cursor, whether keys or a typed time have moved the
    cursor to that time.
    """
    page.run("document.getElementById('timeline-view').focus()")
    same(page.text("cursor-readout"), "At time 0: rank 0 sends 1 KiB to rank 1. Of 16 ranks 16 work, 0 wait.", "at the begin")
    page.press("timeline-view", "n")
    same(page.text("cursor-readout"), "At time 500 ps: rank 0 sends 1 KiB to rank 1; signals rank 1. Of 16 ranks 16 work, 0 wait.", "N")
    page.press("timeline-view", "n", "n")
    same(page.text("cursor-readout"), "At time 1.5 ns: rank 0 waits for rank 1. Of 16 ranks 0 work, 16 wait.", "N again")
    same(activity(page), {str(rank): f"waits for rank {rank ^ 1}" for rank in range(16)}, "all ranks in turn 1")
    page.press("timeline-view", "p")
    same(page.text("cursor-readout"), "At time 1 ns: rank 0 receives 1 KiB from rank 1. Of 16 ranks 16 work, 0 wait.", "P")
    same(page.get("cursor-readout").get_attribute("aria-live"), "polite", "read aloud when moved by key")
    page.press("timeline-view", "SHIFT+ARROW_RIGHT")
    same(page.text("cursor-readout").split(":")[0], "At time 2.5 ns", "a hundredth of the view")
    page.press("timeline-view", "END")
    same(page.text("cursor-readout"), "At time 150 ns: rank 0 has ended. Of 16 ranks 0 work, 0 wait.", "End")
    page.press("timeline-view", "HOME", "SHIFT+ARROW_LEFT")
    same(page.text("cursor-readout").split(":")[0], "At time 0", "Home")
    for typed, shown in (("29.6", "29.6 ns"), ("0.0296 us", "29.6 ns"), ("149500ps", "149.5 ns"), ("99 s", "150 ns")):
        page.run("document.getElementById('cursor-time').select()")
        page.press("cursor-time", typed, "ENTER")
        same(page.text("cursor-readout").split(":")[0], "At time " + shown, typed)
    page.run("document.getElementById('cursor-time').select()")
    page.press("cursor-time", "29.6", "ENTER")
    same(set(activity(page).values()), {"is between steps"}, "between turns")
    page.run("document.getElementById('cursor-time').select()")
    page.press("cursor-time", "soon", "ENTER")
    same(page.get("cursor-time").get_attribute("aria-invalid"), "true", "no time")
    page.press("timeline-view", "HOME")


def domain(page):
    return [round(time) for time in page.run("timeScale().domain()")]


def zoomed(page):
    """Keys and mouse zoom in, zoom out, move, show everything, and select rows."""
    page.press("timeline-view", "0")
    same(domain(page), [0, 150_000], "everything")
    page.press("timeline-view", "+", "+")
    same(domain(page), [0, 66_667], "1.5 times closer, twice, around the cursor at 0")
    page.press("timeline-view", "ARROW_RIGHT")
    first, last = domain(page)
    assert 6_000 < first < 7_500 and last - first in (66_666, 66_667), f"a tenth to the right: {first} {last}"
    page.press("timeline-view", "-", "-", "-")
    same(domain(page), [0, 150_000], "not farther than everything")
    page.get("zoom-in").click()
    same(domain(page), [0, 100_000], "button +")
    page.at("timeline-frame", 600, 200, "drag")
    assert domain(page)[0] > 10_000, "dragging moves"
    page.get("zoom-all").click()
    page.run("document.getElementById('timeline').scrollIntoView()")
    page.wheel("timeline-frame", 0, 0, -300)
    first, last = domain(page)
    assert 10_000 < first and last < 140_000, f"the wheel zooms around the mouse: {first} {last}"
    page.get("zoom-all").click()
    before = page.run("diagram.rowHeight")
    page.press("timeline-view", "]")
    assert page.run("diagram.rowHeight") > before * 1.3, "taller rows"
    page.press("timeline-view", "[", "0")


def mouse(page):
    """The cursor follows the mouse; a click selects the rank; the tip shows what the rank does."""
    place = page.run("[timeScale()(25_000), rowTop(6) + 5]")
    page.at("timeline-frame", *map(int, place))
    time = float(re.match(r"At time ([\d.]+) ns", page.text("cursor-readout")).group(1))
    assert 24.7 < time < 25.3, f"the mouse is at 25 ns, the cursor at {time}"
    same(page.text("tip"), "Rank 6 waits for rank 5", "tip of the diagram")
    same(page.get("cursor-readout").get_attribute("aria-live"), "off", "not read aloud when moved by the mouse")
    page.at("timeline-frame", *map(int, place), "click")
    same(page.text("rank-title"), "Rank 6 in detail", "chosen by a click")


def totals(page):
    names = ("time", "busy", "waiting", "steps", "sent", "received", "signals")
    return [page.text("total-" + name) for name in names]


def detail(page):
    """The totals of a rank, and its steps with the current one marked."""
    page.press("timeline-view", "HOME", "ARROW_UP", "ARROW_UP", "ENTER")
    same(page.text("rank-title"), "Rank 4 in detail", "chosen by keys")
    same(totals(page), ["150 ns", "60 ns (40 %)", "82.5 ns (55 %)", "60", "15 KiB in 15 messages", "15 KiB in 15 messages", "0"], "rank 4")
    page.run("document.getElementById('rank-select').select()")
    page.press("rank-select", "0", "ENTER")
    same(totals(page), ["150 ns", "60 ns (40 %)", "82.5 ns (55 %)", "75", "15 KiB in 15 messages", "15 KiB in 15 messages", "15"], "rank 0")
    page.get("step-next").click()
    page.get("step-next").click()
    page.settle()
    same(page.texts("#steps-body tr[aria-current] > *"), ["3", "receive", "0", "1 ns", "500 ps", "1", "1 KiB"], "the current step")
    same(page.text("steps-caption"), "Steps 1 to 14 of 75 of rank 0, around 1 ns", "caption")
    page.get("step-previous").click()
    page.settle()
    same(page.texts("#steps-body tr[aria-current] > td:nth-child(2)"), ["send", "signal"], "two lanes at once")


def matrix(page):
    cells = page.all("#matrix td[data-from]")
    same(len(cells), 256, "cells")
    same(cells[0 * 16 + 15].text, "16K", "the number in a cell")
    same(cells[17].text, "", "nothing to oneself")
    page.hover(cells[3])
    same(page.text("tip"), "Rank 0 to 3: 4 KiB", "tip of a cell")
    cells[3].click()
    page.type("ARROW_DOWN")
    same(page.text("traffic-readout"), "Rank 1 to 3: 3 KiB", "down by key")
    shades = page.run("""[1, 3, 7, 15].map(to => luminance(document.querySelector(`[data-from='0'][data-to='${to}']`).style.background))""")
    assert shades == sorted(shades, reverse=True) and len(set(shades)) == 4, f"the more, the darker: {shades}"


def network(page):
    same(len(page.all("#network-drawing .link")), 64, "links")
    same(len(page.all("#network-drawing .node")), 16, "nodes")
    same(page.text("network-about"), "torus:4x4: 16 nodes, 64 directed links. The fullest carries 29 KiB, 1.93 times the mean of 15 KiB.", "words")
    page.run("document.querySelector('#network-drawing .link[tabindex=\"0\"]').focus()")
    same(page.text("network-readout"), "Link from rank 14 at (2, 3) to rank 15 at (3, 3): 29 KiB, 1.93 times the mean", "the fullest first")
    page.type("END")
    same(page.text("network-readout"), "Link from rank 1 at (1, 0) to rank 0 at (0, 0): 1 KiB, 0.0667 times the mean", "the emptiest last")
    page.run("document.querySelector('#network').scrollIntoView()")
    page.hover(page.all("#network-drawing .link[aria-label^='Link from rank 5 at (1, 1) to rank 6'] .reach")[0])
    same(page.text("tip"), "Link from rank 5 at (1, 1) to rank 6 at (2, 1): 11 KiB, 0.733 times the mean", "tip of a link")
    same(page.texts("#busiest tbody tr:first-child td"), ["rank 14 at (2, 3)", "rank 15 at (3, 3)", "29 KiB", "1.93×"], "the fullest")
    same(page.texts("#route-select option"), ["Rank 0 to rank 6, 3 links", "Rank 5 to rank 7, 2 links", "All 2", "None"], "routes")
    for choice, ways in (("all", 2), ("none", 0), ("1", 1)):
        page.run("(select => { select.value = arguments[0]; select.dispatchEvent(new Event('change')); })(document.getElementById('route-select'))", choice)
        same(len(page.all(".routes .path")), ways, f"routes drawn for {choice}")
    same(page.text("network-readout"), "rank 5 at (1, 1) → rank 4 at (0, 1) → rank 7 at (3, 1)", "a route in words")
    strokes = page.run("[...document.querySelectorAll('#network-drawing .load')].map(one => one.getAttribute('d').split('M').length - 1)")
    same(sorted(strokes).count(2), 16, "links that close a row or a column, in two pieces")


def tree(page):
    same(len(page.all("#tree .node")), 16, "ranks in the tree")
    same(len(page.all("#tree .edges path")), 15, "edges")
    page.run("document.querySelector('#tree .node[tabindex=\"0\"]').focus()")
    same(page.text("tree-readout"), "Rank 0: the root, above ranks 1, 2, 4, 8", "the root")
    for key, shown in (("ARROW_DOWN", "Rank 1: under rank 0, a leaf"), ("ARROW_RIGHT", "Rank 2: under rank 0, above rank 3"), ("ARROW_DOWN", "Rank 3: under rank 2, a leaf")):
        page.type(key)
        same(page.text("tree-readout"), shown, "by key")
    page.type("ENTER")
    same(page.text("rank-title"), "Rank 3 in detail", "chosen in the tree")


STOPS = ["#main", "theme", "#timeline", "#rank-detail", "#traffic", "#network", "#tree", "zoom-in", "zoom-out", "zoom-all", "rows-taller",
         "rows-flatter", "show-messages", "cursor-time", "timeline-view", "summary", "cursor-ranks-view", "rank-select", "step-previous",
         "step-next", "steps-caption", "Rank 0 to 0: nothing", "route-select",
         "Link from rank 14 at (2, 3) to rank 15 at (3, 3): 29 KiB, 1.93 times the mean", "busiest-caption",
         "Rank 0: the root, above ranks 1, 2, 4, 8"]


def tabbing(page):
    """Tab reaches every control in its visual order, and the focus is visible."""
    page.run("document.activeElement.blur()")
    met = []
    for _ in range(60):
        page.type("TAB")
        stop, visible = page.run("""(one => [one.id || one.getAttribute('aria-labelledby') || one.ariaLabel || one.getAttribute('href') ||
            one.localName, getComputedStyle(one).outlineStyle !== 'none' || [...one.querySelectorAll('.load, circle')].some(shape =>
            getComputedStyle(shape).stroke === d3.rgb(ink('cursor')).toString())])(document.activeElement)""")
        if stop in met or page.run("document.activeElement === document.body"):
            break
        met.append(stop)
        assert visible, f"{stop}: its focus cannot be seen"
    same(met, STOPS, "stops of Tab")


# ---- Other pictures ----

def holey(page):
    """A network of three dimensions with a missing node; many steps and messages were left out."""
    same(parts_of(page), ["timeline", "network"], "parts")
    same(page.texts("#contents a"), ["Over time", "Network"], "contents")
    same(page.text("timeline-left"), "Left out, as they are too many to keep: 12,345 steps and 678 messages.", "left out")
    same(page.texts("svg text.slice"), ["z = 0", "z = 1"], "slices")
    same(len(page.all("#network-drawing .missing")), 1, "missing nodes")
    same(len(page.all("#network-drawing .node")), 31, "nodes")
    same(len(page.all("#network-drawing .link")), 150, "links")
    same(page.texts("#network-drawing .missing title"), ["missing node 5 at (1, 1, 0)"], "the missing one")
    places = page.run("""[...document.querySelectorAll('#network-drawing .vertices > g')].map(one => one.getAttribute('transform'))""")
    same(len(set(places)), 32, "no two nodes at one place")


def narrow(page):
    """On a telephone held upright nothing is wider than the page except what scrolls by itself,
    and the row names of the scrolled matrix stay in view."""
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    page.settle()
    same(page.run("document.documentElement.scrollWidth"), 390, "the page's width")
    wide = page.run("""[...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > 391 &&
        !one.closest('.scroll, svg, .skip')).map(one => one.outerHTML.slice(0, 80))""")
    same(wide, [], "beyond the edge")
    moved = page.run("""(view => { view.scrollLeft = 300; return view.scrollLeft; })(document.getElementById('traffic-view'))""")
    same(moved, 300, "how far the matrix is scrolled")
    page.settle()
    edge, name, cell = page.run("""[document.getElementById('traffic-view'), document.querySelector('#matrix tbody th'),
        document.querySelector("[data-from='0'][data-to='0']")].map(one => one.getBoundingClientRect().left)""")
    assert edge - 1 <= name <= edge + 8, f"the name of a row is at {name}, the matrix begins at {edge}"
    assert cell < edge, f"the first cell is at {cell}"
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def crossings(page):
    """No edge of the tree crosses a node other than its ends."""
    same(page.run("""(() => {
        const nodes = [...document.querySelectorAll('#tree .node')].map(one => one.getAttribute('transform').match(/[-\\d.]+/g).map(Number));
        const crossed = [];
        for (const path of document.querySelectorAll('#tree .edges path')) {
            const length = path.getTotalLength(), begin = path.getPointAtLength(0), end = path.getPointAtLength(length);
            const far = ([x, y], at) => Math.hypot(x - at.x, y - at.y);
            const others = nodes.filter(node => far(node, begin) > 1 && far(node, end) > 1);
            for (let at = 0; at <= length; at += 2)
                crossed.push(...others.filter(node => far(node, path.getPointAtLength(at)) < 12.5));
        }
        return crossed;
    })()"""), [], "nodes that edges cross")


def slices(page):
    """Dimensions have the same names as in the other pictures, x y z u v w, and titles do not
    overlap."""
    names = page.texts("svg text.slice")
    same([len(names), names[:3], names[15]], [16, [f"z u v w = {place}" for place in ("0 0 0 0", "1 0 0 0", "0 1 0 0")], "z u v w = 1 1 1 1"], "slices")
    boxes = page.run("[...document.querySelectorAll('svg text.slice')].map(one => one.getBBox()).map(box => [box.y, box.x, box.x + box.width])")
    near = [(a, b) for a, b in zip(boxes, boxes[1:]) if a[0] == b[0] and a[2] + 4 > b[1]]
    same(near, [], "titles that touch")
    assert all(box[1] >= 0 and box[2] <= page.run("Number(document.getElementById('network-drawing').getAttribute('width'))") for box in boxes), boxes


def lopsided(page):
    """Long steps are found behind short ones, and each rank has its own totals."""
    for time, shown in (("15", "sends 3 KiB to rank 1; copies 64 bytes"), ("20", "sends 3 KiB to rank 1; signals rank 2"),
                       ("90", "sends 3 KiB to rank 1"), ("100", "has ended")):
        page.run("document.getElementById('cursor-time').select()")
        page.press("cursor-time", time, "ENTER")
        same(page.text("cursor-readout").split(". ")[0], f"At time {time} ns: rank 0 {shown}", "overlapping steps")
    for time, shown in (("0", "2 work, 1 wait"), ("5", "2 work, 1 wait"), ("6", "1 work, 1 wait")):
        page.run("document.getElementById('cursor-time').select()")
        page.press("cursor-time", time, "ENTER")
        assert page.text("cursor-readout").endswith(f"Of 3 ranks {shown}."), f"at {time} ns: {page.text('cursor-readout')}"
    page.run("document.getElementById('cursor-time').select()")
    page.press("cursor-time", "0", "ENTER")
    same(activity(page)["2"], "copies 64 bytes; awaits rank 0", "a step without time is shown")
    for rank, expected in (
            ("0", ["100 ns", "100 ns (100 %)", "0 (0 %)", "4", "4 KiB in 2 messages", "0 bytes in 0 messages", "1"]),
            ("1", ["100 ns", "5 ns (5 %)", "0 (0 %)", "2", "0 bytes in 0 messages", "3 KiB in 1 message", "0"]),
            ("2", ["100 ns", "0 (0 %)", "60 ns (60 %)", "2", "0 bytes in 0 messages",
                   "1 KiB in 1 message" if page.run("view.picture.messages.list.length") else "0 bytes in 0 messages", "0"])):
        page.run("document.getElementById('rank-select').select()")
        page.press("rank-select", rank, "ENTER")
        same(totals(page), expected, f"rank {rank}")


def empty(page):
    same(parts_of(page), [], "parts")
    same([part for part in PARTS if page.has(part)], [], "parts that are hidden only")
    assert "has nothing in it" in page.text("error"), page.text("error")


def large(page):
    """A hundred thousand steps: drawing visits only the visible ones, and draws no pixel twice."""
    same(parts_of(page), ["timeline", "rank-detail", "traffic", "tree"], "parts")
    assert page.run("view.picture.steps.length") > 100_000, "not large"
    columns, (first, last) = page.run("diagram.width"), page.run("ranksInView()")
    assert last - first < 120 and page.run("diagram.drawn.steps") <= (last - first + 1) * 224 + columns, "draws what is not seen"
    assert sum(ink_count(page).values()) > 1000, "nothing drawn"
    for _ in range(12):
        page.press("timeline-view", "+")
    first, last = domain(page)
    assert last - first < 30_000_000, f"{first} {last}"
    assert 0 < page.run("diagram.drawn.steps") < 600, "draws what is not in view"
    page.run("document.getElementById('cursor-time').select()")
    page.press("cursor-time", "2.5 ms", "ENTER")
    # In this picture (page_data.py), turn t of rank r begins at t * 12 us + r * 7 ns with the step
    # of number (t + r) % 5. So at 2.5 ms rank 0 is in turn 208, which began at 2.496 ms, with step
    # 3: a copy.
    same(page.text("cursor-readout").split(". ")[0], "At time 2.5 ms: rank 0 copies 4 KiB", "the cursor")
    assert domain(page)[0] <= 2_500_000_000 <= domain(page)[1], "the view follows the cursor"
    page.press("timeline-view", *["PAGE_DOWN"] * 10, "ENTER")
    same(page.text("rank-title"), "Rank 160 in detail", "far down")
    assert page.run("ranksInView()[0] <= 160 && 160 <= ranksInView()[1]"), "scrolled there"
    assert page.text("cursor-ranks-note").endswith("of 448: those in view. Scroll the diagram for others."), page.text("cursor-ranks-note")
    same(len(page.all("#matrix td[data-from]")), 4096, "cells")
    same(page.run("document.querySelector('#matrix tr:last-child td:last-child').ariaLabel"), "Ranks 441–447 to 441–447: 3.88 KiB", "the last cell")
    same(len(page.all("#tree .node")), 100, "ranks in the tree")


def cells(page, selector):
    return page.run("""[...document.querySelectorAll(arguments[0])].map(row => [...row.cells].map(cell => cell.textContent))""", selector)


def called(page):
    """Calls are shown above their steps, and the diagram, texts and tables show which ranks came
    late or died."""
    same(parts_of(page), ["timeline", "calls", "rank-detail"], "parts")
    same(page.text("problem"), "A real run", "heading")
    same(page.run("document.getElementById('show-messages').checked"), False, "messages, when they are asked for")
    inks = page.run("""['route-0', 'route-6', 'wait', 'path'].map(name => diagram.drawn && ink(name))""")
    assert all(inks), inks
    same(page.texts("#legend li")[:4], ["allreduce", "barrier", "waits for others to come", "came late"], "legend")
    page.run("document.getElementById('cursor-time').select()")
    page.press("cursor-time", "20 us", "ENTER")
    same(activity(page), {"0": "is in allreduce n=128 f64 sum of world, waiting for rank 1: awaits rank 1", "1": "is in the application",
                          "2": "is in allreduce n=128 f64 sum of world, waiting for rank 1"}, "in the first call")
    page.run("document.getElementById('cursor-time').select()")
    page.press("cursor-time", "90 us", "ENTER")
    same(activity(page)["1"], "died: signal 9 (Killed) (rank seen last at 75 µs)", "the dead")
    same(page.text("calls-left"), "Not all is here: not recorded: 0 calls, 7 steps.", "what is missing")
    same(cells(page, "#call-ranks tbody tr")[1], ["1", "here, pid 101", "1", "20 µs", "55 µs", "0", "0", "90 µs", "died: signal 9 (Killed)"], "rank 1")
    same(cells(page, "#calls-body tr"), [
        ["0", "allreduce n=128 f64 sum", "flat", "world", "0", "20 µs", "40 µs", "50 µs", "rank 1, by 20 µs", "50 µs"],
        ["60 µs", "barrier", "flat", "ranks 0, 2", "0", "5 µs", "10 µs", "10 µs", "rank 2, by 5 µs", "5 µs"],
        ["80 µs", "allreduce n=128 f64 sum", "flat", "world", "1", "20 µs", "20 µs", "20 µs", "rank 1 never came", "40 µs"]], "calls")
    same(cells(page, "#alike tbody tr")[0], ["allreduce n=128 f64 sum", "flat", "world", "2", "20 µs", "35 µs", "50 µs", "rank 1, 2 of 2", "90 µs"], "alike")
    page.run("document.querySelector('#calls-body tr:nth-child(2) button').click()")
    page.settle()
    first, last = domain(page)
    assert 40_000_000 < first < 60_000_000 and 70_000_000 < last < 90_000_000, f"the barrier fills the view: {first} {last}"


def chosen(page, name, value):
    page.run("(one => { one.value = arguments[1]; one.dispatchEvent(new Event('change')); })(document.getElementById(arguments[0]))", name, value)
    page.settle()


def paged(page):
    """A long list of calls is shown page by page, filtered by team, and in another order."""
    same(page.text("calls-caption"), "Calls 1 to 25 of 60", "the first page")
    same(page.get("calls-previous").is_enabled(), False, "nothing before")
    page.get("calls-next").click()
    page.get("calls-next").click()
    same(page.text("calls-caption"), "Calls 51 to 60 of 60", "the last page")
    same(page.get("calls-next").is_enabled(), False, "nothing behind")
    chosen(page, "calls-order", "waited")
    same(cells(page, "#calls-body tr")[0][4], "59", "waited in most")
    chosen(page, "calls-team", "0")
    same([page.text("calls-caption"), cells(page, "#calls-body tr")], ["No such call", []], "of another team")


def refused(page):
    """Data that are not a picture give an error message in words, and nothing else is shown."""
    good = page_data.bare()
    for data, words in (
            ("", "there is none"), ("{\"tutti\": ", "it is not JSON"), ("[1, 2]", "it is not an object"),
            ({**good, "tutti": "picture 3"}, 'it should say "tutti": "picture 2", and says "picture 3"'),
            ({**good, "ranks": 0}, "ranks is 0"), ({**good, "time_ps": -1}, "time_ps is -1"),
            ({**good, "events": [[1, 0, "send", 0, 1, 0, 1]]}, "events[0] is not [rank,"),
            ({**good, "events": [[0, 0, "fly", 0, 1, 0, 1]]}, "events[0] is not [rank,"),
            ({**good, "events": [[0, 0, "send", 2, 1, 0, 1]]}, "events[0] is not [rank,"),
            ({**good, "messages": [[0, 7, "send", 0, 1, 1]]}, "messages[0] is not [from,"),
            ({**good, "ranks": 3, "calls": {**page_data.run()["calls"], "bars": [[0] * 15]}}, "calls.bars[0] is not a call"),
            ({**good, "ranks": 3, "calls": {**page_data.run()["calls"], "groups": [[9] * 10]}}, "calls.groups[0] is not one"),
            ({**good, "ranks": 3, "calls": {**page_data.run()["calls"], "names": None}}, "calls.names are not texts"),
            ({**good, "traffic": {"groups": 2, "bytes": [[1, 2]]}}, "traffic.bytes is not a square"),
            ({**good, "network": {**page_data.small()["network"], "links": [[0, 99, 1]]}}, "network.links are not"),
            ({**good, "ranks": 3, "tree": {"kind": "logical", "edges": [[1, 2], [2, 1]]}}, "tree.edges are no tree")):
        page.open(data)
        assert words in page.text("error"), f"{data}: {page.text('error')!r} should have {words!r}"
        assert page.text("error").startswith("This page's data cannot be shown: "), page.text("error")
        same(page.get("error").get_attribute("role"), "alert", "read aloud")
        same(parts_of(page), [], "parts")
        quiet(page)


SMALL = [crossings, head, quiet, named, fits, drawn, cursor, zoomed, mouse, detail, matrix, network, tree]

PAGES = [(page_data.small, [tabbing, *SMALL]), (page_data.small, [themes, quiet]), (page_data.small, [narrow, quiet]), (page_data.holes, [holey, quiet, named]),
         (page_data.deep, [slices, quiet, named]),
         (page_data.uneven, [lopsided, quiet]), (page_data.silent, [lopsided, quiet]), (page_data.bare, [empty, quiet]), (page_data.run, [called, quiet, named]), (page_data.many, [paged, quiet]), (page_data.big, [large, quiet, named])]


def main():
    with Browser() as page:
        for data, checks in PAGES:
            page.open(data())
            for check in checks:
                check(page)
                print(f"{data.__name__}: {check.__name__}", flush=True)
        refused(page)
        print("refused")


if __name__ == "__main__":
    sys.exit(main())
