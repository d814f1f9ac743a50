# SPDX-License-Identifier: BSD-3-Clause
"""The partners that send messages in `messages`: Tutti, the tool that comes with UCX, and MPIs.

A partner has one setting. One start measures it and gives {(measure, bytes): value}, where a
latency is in microseconds and a bandwidth in MiB per second.
"""
import os
import shutil
import socket

from harness import peers, process
from harness.campaign import parse
from harness.peers import Stop

LATENCY, WINDOW = ("latency", 8), 16


class Partner:
    """One library (family) with one setting."""

    def __init__(self, family, title, setting):
        self.family, self.title, self.setting = family, title, setting

    @property
    def name(self):
        return f"{self.family}: {self.setting}"

    def measure(self, chosen, folder):
        raise NotImplementedError

    def run(self, command, environment, chosen, folder):
        result = process.run(command, chosen.timeout, {"TMPDIR": folder, **environment})
        if result.failure:
            raise Stop("\n    ".join([f"{self.name}: {result.failure}: {' '.join(command)}", *result.words]))
        return result.lines


class Loop(Partner):
    """The program bench/messages.c over a library.

    `streams` names the stream measures that it should run.
    """

    def __init__(self, peer, setting, streams=("bandwidth",)):
        super().__init__(peer.name, peer.title, setting[0])
        self.peer, self.chosen_setting, self.streams = peer, setting, streams

    def measure(self, chosen, folder):
        points = ["latency"] if chosen.latency else []
        if chosen.sizes:
            points += [f"{stream}:" + ",".join(map(str, chosen.sizes)) for stream in self.streams]
        arguments = ["-t", str(chosen.batch), "-b", str(chosen.batches), *points]
        command = self.peer.command("messages", 2, self.chosen_setting, arguments)
        lines = self.run(command, self.chosen_setting[2], chosen, folder)
        return {(line["measure"], line.get("bytes", 8)): line.get("us", line.get("mib_per_s"))
                for line in map(parse, lines) if line}


class UcxTool(Partner):
    """ucx_perftest: a server and a client, which run one test after the other.

    `ends` holds the beginning of the server's command, and that of the client's command with the
    server's address. By default both run on this host, each on a processor of its own."""
    COUNTED = {"latency": "overall_lat", "one-place": "overall_bw"}
    PAIR = ('tests=$1 port=$2 server=$3 client=$4; stdbuf -oL $server -b "$tests" -p "$port" >"$tests.server" 2>&1 & '
            'for _ in $(seq 1500); do grep -q Waiting "$tests.server" && break; sleep 0.02; done; '
            '$client -b "$tests" -p "$port" -f -v; got=$?; kill $! 2>/dev/null; exit $got')

    def __init__(self, kind, environment, words, ends=None):
        super().__init__("ucx", "ucx_perftest", f"{kind}, {words}")
        self.kind = "tag" if kind == "tag" else "ucp_am"
        self.environment, self.ends = environment, ends or here()

    def tests(self, chosen):
        lasting = chosen.batch * chosen.batches
        if chosen.latency:
            yield f"latency-8 -t {self.kind}_lat -s 8 -n {max(1000, int(lasting * 1e6))} -w 1000"
        for size in chosen.sizes:
            count = max(2 * WINDOW, int(lasting * 4e9 / size))
            yield f"one-place-{size} -t {self.kind}_bw -s {size} -n {count} -w {WINDOW} -O {WINDOW}"

    def measure(self, chosen, folder):
        path = os.path.join(folder, "ucx-tests")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(self.tests(chosen)) + "\n")
        return self.read(self.lines(path, chosen, folder))

    def lines(self, tests, chosen, folder, tries=2):
        """Runs the pair. The two ends do not always find each other on a busy machine, so they get
        a second try.
        """
        command = ["bash", "-c", self.PAIR, "pair", tests, str(free_port()), *self.ends]
        try:
            return self.run(command, self.environment, chosen, folder)
        except Stop:
            if tries == 1:
                raise
            return self.lines(tests, chosen, folder, tries - 1)

    def read(self, lines):
        """Reads the table that the client prints.

        The header names all columns except the first, which holds the test's name.
        """
        found, header = {}, None
        for line in lines:
            cells = [cell.strip() for cell in line.split(",")]
            if "iterations" in cells:
                header = cells
            elif header and len(cells) == len(header):
                measure, _, size = cells[0].rpartition("-")
                found[measure, int(size)] = float(dict(zip(header, cells))[self.COUNTED[measure]])
        return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def here():
    """The commands of a pair on this host, which connects over loopback."""
    mine = sorted(os.sched_getaffinity(0))
    return f"ucx_perftest -c {mine[0]}", f"ucx_perftest 127.0.0.1 -c {mine[-1]}"


def ucx_partners():
    ways = [({"UCX_TLS": "posix,sysv,cma,self"}, "shared memory and CMA"), ({"UCX_TLS": "posix,sysv,self"}, "shared memory"),
            ({}, "default")]
    return [UcxTool(kind, environment, words) for environment, words in ways for kind in ("am", "tag")]


def openmpi_settings():
    core = ["--bind-to", "core"]
    ob1 = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism"]
    ucx = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
           "--mca", "osc", "ucx", "--mca", "btl", "^openib"]
    return [("ob1, vader, CMA", ob1 + ["cma"] + core, {}),
            ("ob1, vader, two copies", ob1 + ["none"] + core, {}),
            ("ucx, shared memory", ucx + core, {"UCX_TLS": "self,sm"})]


def mpich_settings():
    return [("bound to cores", ["-bind-to", "core"], {})]


def missing_tool():
    return [tool for tool in ("ucx_perftest",) if shutil.which(tool) is None]


def known(build):
    """Returns {name: (function that makes its partners, peer)}. ucx has no peer."""
    def loops(peer, settings, *streams):
        return lambda: [Loop(peer, setting, streams) for setting in settings]
    tutti, openmpi, mpich = peers.Tutti(build), peers.OpenMpi(), peers.Mpich()
    return {"tutti": (loops(tutti, tutti.settings(2)[:1], "bandwidth", "one-place"), tutti),
            "ucx": (ucx_partners, None),
            "openmpi": (loops(openmpi, openmpi_settings(), "bandwidth"), openmpi),
            "mpich": (loops(mpich, mpich_settings(), "bandwidth"), mpich)}


def make(names, build, folder, say):
    """Makes the partners in the order of the names. Reports and leaves out those that are not
    installed.
    """
    all_there_are, found = known(build), []
    for name in names:
        if name not in all_there_are:
            raise Stop(f"no partner is called {name}: there are {', '.join(all_there_are)}")
        partners, peer = all_there_are[name]
        missing = peer.missing() if peer else missing_tool()
        if missing:
            say(f"{name} is left out: {', '.join(missing)} is not installed")
            continue
        if peer:
            peer.build(folder, ["messages"])
        found += partners()
    return found
