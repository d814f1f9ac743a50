# SPDX-License-Identifier: BSD-3-Clause
"""Who is measured by `hosts`: programs that mpirun starts on several hosts, and UCX's tool between two of them.

These run where in-hosts.sh has made hosts: its on_hosts starts ranks, and HOSTS_ENTER a command on one. Nobody is bound to
a processor: each host takes all of the machine's for its own.
"""
import os

from harness import partners, peers
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

    def measure(self, chosen, folder):
        places = ["--map-by", "node"] if self.program == "messages" else []
        command = ["bash", "-c", 'on_hosts "$@"', "on_hosts", "--bind-to", "none", *places, "-n", str(self.ranks), *self.arguments,
                   self.peer.programs[self.program], *self.points(chosen)]
        return dict(self.read(self.run(command, {}, chosen, folder)))

    def read(self, lines):
        """Collectives in the same place each time: what counts here is the network."""
        for line in filter(None, map(parse, lines)):
            if "measure" in line:
                yield (line["measure"], line.get("bytes", 8)), line.get("us", line.get("mib_per_s"))
            elif "us" in line and not line.get("rotated", False):
                yield (line["collective"], line["bytes"]), line["us"]


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


def check(names, build):
    """Before anything is made."""
    known = ("tutti", "ucx", "openmpi")
    for name in names:
        if name not in known:
            raise Stop(f"no partner is called {name}: there are {', '.join(known)}")
    if "tutti" in names:
        peers.Tutti(build).build(None, ["loop", "messages"])


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


def on_all(chosen, folder, ranks, tell):
    """Collectives of Tutti beside Open MPI."""
    names = [name for name in chosen.partners if name != "ucx"]
    return [one for peer in there(names, chosen, folder, "loop", tell) for one in programs("loop", ranks, peer)]
