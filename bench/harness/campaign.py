# SPDX-License-Identifier: BSD-3-Clause
"""Runs the measurements: decides which program starts when, and collects what it prints.

One start of a peer measures all points of one number of ranks. The starts alternate between the
peers, again and again, so that changes of the machine's state affect all peers alike. A ratio is
taken between starts that are neighbours in time. A point is (collective, bytes, ranks); a key is
(point, buffers).
"""
import functools
import json
import math
import os
import sys
import time
from collections import defaultdict

from harness import process
from harness.alternate import alternate
from harness.peers import Stop

# A peer that is more than HOPELESS times slower than another peer at a point is not measured there
# again: it cannot be the best one.
HOPELESS = 5.0
TRIAL_SIZES = (8, 4096, 65536, 1 << 20)


def say(text):
    print(text, file=sys.stderr, flush=True)


def in_order(points):
    """Makes the arguments of the loop program from [(collective, bytes)]. Small points come first,
    so that only large points are missing if time runs out."""
    return [f"{collective}:{size}" for collective, size in sorted(points, key=lambda point: point[1])]


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


class Campaign:
    def __init__(self, options, peers, pool, machine):
        self.options, self.peers, self.pool, self.machine = options, peers, pool, machine
        self.times = defaultdict(list)     # (peer, key) -> [(repeat, us)]
        self.limits = defaultdict(list)    # (limit, bytes, buffers) -> [us]
        self.left_out = set()              # points that need more memory than allowed
        self.late = defaultdict(set)       # peer -> points for which there was no time
        self.hopeless = defaultdict(dict)  # peer -> {point: how many times slower}
        self.failures = []                 # (peer, ranks, what failed)
        self.given_up = set()              # (peer, ranks) that are not started any more
        self.setting = {}                  # (peer, ranks) -> the setting that was chosen
        self.trials = []                   # results of the search for settings
        self.repeats = 0
        self.begin = time.monotonic()

    def elapsed(self):
        return time.monotonic() - self.begin

    def left(self):
        return self.options.budget - self.elapsed() if self.options.budget else float("inf")

    # ---- One start ----

    def batch_seconds(self, ranks):
        """Batches are longer if ranks share a processor, because a rank waits milliseconds to run
        again.
        """
        return self.options.batch * max(1.0, ranks / self.options.cores)

    def beside(self):
        """Returns the beginning of a command that runs beside a program that calculates."""
        if not self.options.beside:
            return []
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "beside.py")
        return [sys.executable, script, *map(str, self.options.beside)]

    def start(self, peer, ranks, setting, points, limit, trial=False):
        """Returns the JSON lines that one start prints. The failure of a trial is not recorded."""
        arguments = ["-m", str(self.pool), "-t", f"{self.batch_seconds(ranks):.6f}", "-l", f"{limit:.1f}",
                     "-b", str(self.options.batches), "-u", ",".join(self.options.buffers), *in_order(points)]
        command = self.beside() + peer.command("loop", ranks, setting, arguments)
        if self.options.verbose:
            say("compare: " + " ".join(command))
        timeout = min(self.options.timeout + limit, max(10.0, self.left() + 20.0))
        result = process.run(command, timeout, {"TMPDIR": self.options.folder, **setting[2]})
        if result.failure and trial:
            say(f"compare: {peer.title}, {ranks} ranks, setting {setting[0]}: {result.failure}")
        elif result.failure:
            self.fail(peer, ranks, f"{result.failure}; setting: {setting[0]}", result.words)
        return [line for line in map(parse, result.lines) if line]

    def fail(self, peer, ranks, what, words=()):
        say(f"compare: {peer.title}, {ranks} ranks: {what}")
        for word in words:
            say(f"    {word}")
        self.failures.append((peer.name, ranks, what))
        if sum(name == peer.name and n == ranks for name, n, _ in self.failures) >= 2:
            say(f"compare: {peer.title} is not started again with {ranks} ranks")
            self.given_up.add((peer.name, ranks))

    # ---- Settings ----

    def choose_settings(self):
        for ranks in self.options.ranks:
            for peer in self.peers:
                settings = peer.settings(ranks)
                self.setting[peer.name, ranks] = settings[0]
                if self.options.tune and len(settings) > 1:
                    self.setting[peer.name, ranks] = self.best_setting(peer, ranks, settings)

    def best_setting(self, peer, ranks, settings):
        """Returns the setting with the best geometric mean over the points that all settings gave.
        """
        sizes = [size for size in TRIAL_SIZES if size <= max(self.options.sizes)] or self.options.sizes
        points = self.points_of(sizes, ranks)
        found = []
        for setting in settings:
            lines = self.start(peer, ranks, setting, points, self.options.limit / 4, trial=True)
            found.append({key_of(line): line["us"] for line in lines if "us" in line})
        common = set.intersection(*map(set, [one for one in found if one] or [{}]))
        means = [geometric_mean([one[key] for key in sorted(common)]) if one and common else float("inf")
                 for one in found]
        best = min(range(len(settings)), key=lambda i: means[i])
        for i, setting in enumerate(settings):
            mean = None if means[i] == float("inf") else round(means[i], 3)
            self.trials.append({"peer": peer.name, "ranks": ranks, "setting": setting[0],
                                "mean_us": mean, "points": len(common), "chosen": i == best})
        say(f"compare: {peer.title}, {ranks} ranks: {settings[best][0]} (of {len(settings)} settings)")
        return settings[best]

    # ---- All points ----

    def points_of(self, sizes, ranks):
        points, most = [], self.options.total
        for collective in self.options.collectives:
            points += [(collective, size) for size in ([0] if collective == "barrier" else sizes)
                       if most is None or size * ranks <= most]
        return points

    def measure(self):
        starts = [self.measure_limits]
        for ranks in self.options.ranks:
            points = self.points_of(self.options.sizes, ranks)
            starts += [functools.partial(self.measure_peer, peer, ranks, points) for peer in self.peers]
            starts.append(functools.partial(self.find_hopeless, ranks, points))
        self.repeats = alternate(self.options.repeats, starts, lambda words: say(f"compare: {words}"), self.left)

    def measure_peer(self, peer, ranks, points, repeat):
        out = {point for point in self.hopeless[peer.name].keys() | self.left_out if point[2] == ranks}
        points = [(collective, size) for collective, size in points if (collective, size, ranks) not in out]
        if not points or (peer.name, ranks) in self.given_up:
            return
        for line in self.start(peer, ranks, self.setting[peer.name, ranks], points, self.options.limit):
            point = (line["collective"], line["bytes"], line["ranks"])
            if line.get("left_out"):
                self.left_out.add(point)
            elif line.get("late"):
                self.late[peer.name].add(point)
            else:
                self.late[peer.name].discard(point)
                self.times[peer.name, key_of(line)].append((repeat, line["us"]))

    def find_hopeless(self, ranks, points, _=0):
        """Finds the points at which a peer is more than HOPELESS times slower than another peer in all
        figures. The base, which is the first peer, is left out.

        Such a point is hopeless for the peer and is not measured again. A peer is given up if all
        points that it reached in time are hopeless and it has not reached the other points."""
        rivals = self.peers[1:]
        for peer in rivals:
            known = 0
            for collective, size in points:
                point = (collective, size, ranks)
                behind = [self.behind(peer, rivals, (point, buffers)) for buffers in self.options.buffers]
                behind = [times for times in behind if times is not None]
                known += bool(behind)
                if behind and min(behind) > HOPELESS:
                    self.hopeless[peer.name].setdefault(point, round(min(behind), 1))
            late = any(point[2] == ranks for point in self.late[peer.name])
            if late and known and known == sum(point[2] == ranks for point in self.hopeless[peer.name]):
                self.given_up.add((peer.name, ranks))

    def behind(self, peer, rivals, key):
        mine = self.times.get((peer.name, key))
        others = [self.times[rival.name, key][0][1] for rival in rivals
                  if rival is not peer and self.times.get((rival.name, key))]
        return mine[0][1] / min(others) if mine and others else None

    def measure_limits(self, _=0):
        sizes = ",".join(str(size) for size in self.options.sizes)
        result = process.run([self.machine, str(self.pool), sizes], self.options.timeout)
        if result.failure:
            raise Stop(f"the program that measures the machine {result.failure}: {' '.join(result.words)}")
        for line in filter(None, map(parse, result.lines)):
            if line["us"] is not None:
                key = (line["limit"], line.get("bytes", 0), line.get("buffers", "same"))
                self.limits[key].append(line["us"])


def key_of(line):
    return ((line["collective"], line["bytes"], line["ranks"]), line.get("buffers", "same"))


def parse(text):
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
