# SPDX-License-Identifier: BSD-3-Clause
"""The programs that `hosts` measures: ranks that mpirun starts on several hosts, and UCX's tool.

The hosts are made by in-hosts.sh. Its function on_hosts starts ranks, and HOSTS_ENTER runs a
command on one host. Ranks are not bound to processors, because each host takes all processors of
the machine for its own. Only threads that pull bind themselves.
"""
import functools
import os

from harness import partners, peers, pull
from harness.campaign import parse
from harness.peers import Stop

YIELDING = ["--mca", "mpi_yield_when_idle", "1"]
TCP = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp"]
UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", "--mca", "osc", "ucx",
       "--mca", "btl", "^openib", "-x", "UCX_TLS=self,posix,sysv,tcp"]
# Collectives of Open MPI that distinguish between nodes, preferred to those that do not.
HAN = ["--mca", "coll_han_priority", "100", "--mca", "coll_adapt_priority", "90"]


class OnHosts(partners.Partner):
    """A program over a library, with `ranks` ranks on the slots of the hosts.

    Two ranks run on two hosts.
    """

    def __init__(self, peer, words, arguments, program, ranks):
        super().__init__(peer.name, peer.title, words)
        self.peer, self.arguments, self.program, self.ranks = peer, arguments, program, ranks

    def points(self, chosen):
        sizes = ",".join(map(str, chosen.sizes))
        if self.program == "messages":
            return ["-t", str(chosen.batch), "-b", str(chosen.batches), "latency", f"one-place:{sizes}"]
        pool = str(4 * self.ranks * max(max(chosen.sizes), 4096))
        return ["-m", pool, "-t", str(chosen.batch), "-b", str(chosen.batches), *(f"{name}:{sizes}" for name in chosen.collectives)]

    def lines(self, chosen, folder):
        places = ["--map-by", "node"] if self.ranks == 2 else []
        command = ["bash", "-c", 'on_hosts "$@"', "on_hosts", "--bind-to", "none", *places, "-n", str(self.ranks), *self.arguments,
                   self.peer.programs[self.program], *self.points(chosen)]
        return list(filter(None, map(parse, self.run(command, {}, chosen, folder))))

    def measure(self, chosen, folder):
        return dict(self.read(self.lines(chosen, folder)))

    def read(self, lines):
        """Yields (point, value). For a collective, the value is the figure for buffers that do not
        rotate, because here the network matters.
        """
        for line in lines:
            if "measure" in line:
                yield (line["measure"], line.get("bytes", 8)), line.get("us", line.get("mib_per_s"))
            elif "us" in line and line.get("buffers", "same") == "same":
                yield (line["collective"], line["bytes"]), line["us"]


class Pulling(OnHosts):
    """Long messages to one rank's contexts on the other host.

    With remote keys each context pulls a portion; otherwise the whole message is sent to one
    context.
    """

    def __init__(self, peer, contexts, keys):
        super().__init__(peer, f"{contexts} pulling, remote keys {keys}", ["-x", f"TUTTI_REMOTE_KEYS={keys}"], "messages-threads", 2)
        self.contexts = contexts

    def points(self, chosen):
        return pull.arguments(chosen.batches, self.contexts)


class Sockets(OnHosts):
    """The limit that sockets alone set for an alltoall (bench/sockets.c); a source of limits like
    among.Machine.
    """

    def points(self, chosen):
        return [str(chosen.batch), str(chosen.batches), ",".join(map(str, chosen.sizes))]

    def read(self, lines):
        return ((("sockets", line["bytes"]), line["us"]) for line in lines if "limit" in line)

    def measure(self, chosen, folder):
        return super().measure(chosen, folder) if "alltoall" in chosen.collectives else {}

    def names(self, measure):
        return ["sockets"] if measure == "alltoall" else []


def settings():
    """Returns {library: [(name of the setting, arguments of mpirun)]}."""
    return {"tutti": [("as it is", [])],
            "openmpi": [("tcp", TCP + YIELDING), ("tcp, han", TCP + YIELDING + HAN), ("ucx", UCX + YIELDING)]}


def programs(program, ranks, peer):
    return [OnHosts(peer, words, arguments, program, ranks) for words, arguments in settings()[peer.name]]


def there(names, chosen, folder, program, note):
    """Yields those of the named libraries that are installed, with the program built."""
    known = {"tutti": peers.Tutti(chosen.build), "openmpi": peers.OpenMpi()}
    for name in names:
        peer = known[name]
        if peer.missing():
            note(f"{name} is left out: {', '.join(peer.missing())} is not installed")
            continue
        peer.build(folder, [program])
        yield peer


def check(names, parts, build):
    """Finds wrong names and missing programs before hosts are made."""
    known = ("tutti", "ucx", "openmpi")
    for name in names:
        if name not in known:
            raise Stop(f"no partner is called {name}: there are {', '.join(known)}")
    if "tutti" in names or "pull" in parts:
        peers.Tutti(build).build(None, ["loop", "messages", "messages-threads", "sockets"])


def ucx_tools():
    enter = os.environ["HOSTS_ENTER"]
    ends = (f"{enter} h1 ucx_perftest", f"{enter} h2 ucx_perftest 10.77.0.1")
    environment = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
    return [partners.UcxTool(kind, environment, "tcp", ends) for kind in ("am", "tag")]


def between_two(chosen, folder, note):
    """The partners for messages between two hosts: Tutti and UCX's tool."""
    found = []
    for name in chosen.partners:
        if name == "ucx" and partners.missing_tool():
            note("ucx is left out: ucx_perftest is not installed")
        elif name == "ucx":
            found += ucx_tools()
        elif name == "tutti":
            found += [one for peer in there([name], chosen, folder, "messages", note)
                      for one in programs("messages", 2, peer)]
    return found


def pulls(chosen, folder):
    """The ways in which Tutti transfers long messages, and what starts each of them.

    With remote keys, to one context ("1") and to two ("2"); and without ("sent"), as Tutti does
    over TCP by default.
    """
    tutti = peers.Tutti(chosen.build)
    tutti.build(folder, ["messages-threads"])
    ways = {"1": Pulling(tutti, 1, keys=1), "2": Pulling(tutti, 2, keys=1), "sent": Pulling(tutti, 1, keys=0)}
    return {way: functools.partial(member.lines, chosen, folder) for way, member in ways.items()}


def sockets(chosen, folder, ranks):
    """The limit of sockets. Its ranks find each other by Tutti."""
    tutti = peers.Tutti(chosen.build)
    tutti.build(folder, ["sockets"])
    return Sockets(tutti, "sockets alone", [], "sockets", ranks)


def on_all(chosen, folder, ranks, note):
    """The partners for collectives on all hosts: Tutti and Open MPI."""
    names = [name for name in chosen.partners if name != "ucx"]
    return [one for peer in there(names, chosen, folder, "loop", note) for one in programs("loop", ranks, peer)]
