# SPDX-License-Identifier: BSD-3-Clause
"""Who is measured by `hosts`: programs that mpirun starts on several hosts, and UCX's tool between two of them.

These run where in-hosts.sh has made hosts: its on_hosts starts ranks, and HOSTS_ENTER a command on one. Nobody is bound to
a processor (but threads that pull, by themselves): each host takes all of the machine's for its own.
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
# Collectives of nodes within and between; of Open MPI's own, preferred to those that know no nodes.
HAN = ["--mca", "coll_han_priority", "100", "--mca", "coll_adapt_priority", "90"]


class OnHosts(partners.Partner):
    """A program over the library, on `ranks` of the hosts' slots; two go to two hosts."""

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
        """Collectives in the same place each time: what counts here is the network."""
        for line in lines:
            if "measure" in line:
                yield (line["measure"], line.get("bytes", 8)), line.get("us", line.get("mib_per_s"))
            elif "us" in line and not line.get("rotated", False):
                yield (line["collective"], line["bytes"]), line["us"]


class Pulling(OnHosts):
    """Long messages to so many contexts of the other host's rank: by remote keys each gets a portion, else one is sent all."""

    def __init__(self, peer, contexts, keys):
        super().__init__(peer, f"{contexts} pulling, remote keys {keys}", ["-x", f"TUTTI_REMOTE_KEYS={keys}"], "messages-threads", 2)
        self.contexts = contexts

    def points(self, chosen):
        return pull.arguments(chosen.batches, self.contexts)


class Sockets(OnHosts):
    """What sockets alone allow an alltoall (bench/sockets.c): a limit, as those of among.Machine."""

    def points(self, chosen):
        return [str(chosen.batch), str(chosen.batches), ",".join(map(str, chosen.sizes))]

    def read(self, lines):
        return ((("sockets", line["bytes"]), line["us"]) for line in lines if "limit" in line)

    def measure(self, chosen, folder):
        return super().measure(chosen, folder) if "alltoall" in chosen.collectives else {}

    def names(self, measure):
        return ["sockets"] if measure == "alltoall" else []


def settings():
    """{library: [(words, arguments of mpirun)]}"""
    return {"tutti": [("as it is", [])],
            "openmpi": [("tcp", TCP + YIELDING), ("tcp, han", TCP + YIELDING + HAN), ("ucx", UCX + YIELDING)]}


def programs(program, ranks, peer):
    return [OnHosts(peer, words, arguments, program, ranks) for words, arguments in settings()[peer.name]]


def there(names, chosen, folder, program, tell):
    """The libraries of these names that are installed, with the program built."""
    known = {"tutti": peers.Tutti(chosen.build), "openmpi": peers.OpenMpi()}
    for name in names:
        peer = known[name]
        if peer.missing():
            tell(f"{name} is left out: {', '.join(peer.missing())} is not installed")
            continue
        peer.build(folder, [program])
        yield peer


def check(names, parts, build):
    """Before anything is made."""
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


def between_two(chosen, folder, tell):
    """Messages of Tutti beside UCX's tool."""
    found = []
    for name in chosen.partners:
        if name == "ucx" and partners.missing_tool():
            tell("ucx is left out: ucx_perftest is not installed")
        elif name == "ucx":
            found += ucx_tools()
        elif name == "tutti":
            found += [one for peer in there([name], chosen, folder, "messages", tell)
                      for one in programs("messages", 2, peer)]
    return found


def pulls(chosen, folder):
    """Of Tutti alone: by remote keys to one context and to two, and sent, as it is over TCP without a setting."""
    tutti = peers.Tutti(chosen.build)
    tutti.build(folder, ["messages-threads"])
    ways = {"1": Pulling(tutti, 1, keys=1), "2": Pulling(tutti, 2, keys=1), "sent": Pulling(tutti, 1, keys=0)}
    return {way: functools.partial(member.lines, chosen, folder) for way, member in ways.items()}


def sockets(chosen, folder, ranks):
    """They meet by Tutti."""
    tutti = peers.Tutti(chosen.build)
    tutti.build(folder, ["sockets"])
    return Sockets(tutti, "sockets alone", [], "sockets", ranks)


def on_all(chosen, folder, ranks, tell):
    """Collectives of Tutti beside Open MPI."""
    names = [name for name in chosen.partners if name != "ucx"]
    return [one for peer in there(names, chosen, folder, "loop", tell) for one in programs("loop", ranks, peer)]
