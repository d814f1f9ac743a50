# SPDX-License-Identifier: BSD-3-Clause
"""The libraries to compare: how programs are built and started over each, and its best settings.

A setting is (words, arguments, environment). The first of a peer's settings is the one that is
usually best. `compare` tries all settings unless it has to be quick.
"""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLAGS = ["-std=gnu17", "-O3", "-g", "-DNDEBUG", "-D_GNU_SOURCE"]  # flags of the release build


class Stop(Exception):
    """Raised if the work cannot go on; the text says why."""


def compile_program(compiler, source, target, *more):
    command = [*compiler, *FLAGS, *more, os.path.join(HERE, source), "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Stop(f"{' '.join(command)}:\n{done.stderr}")


def has_header(compiler):
    command = [compiler, "-x", "c", "-E", "-"]
    return subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=False).returncode == 0


def cores():
    return len(os.sched_getaffinity(0))


class Peer:
    name, title = "", ""
    packages = ()
    wants = ()  # commands that must be installed

    def __init__(self):
        self.programs = {}

    def missing(self):
        return [command for command in self.wants if shutil.which(command) is None]

    def build(self, folder, sources):
        """Builds SOURCE.c for each name in sources."""

    def settings(self, ranks):
        raise NotImplementedError

    def command(self, program, ranks, setting, arguments):
        raise NotImplementedError


class Tutti(Peer):
    name, title = "tutti", "Tutti"

    def __init__(self, build):
        super().__init__()
        self.tree = os.path.abspath(build)
        self.launcher = os.path.join(self.tree, "bin", "tutti")

    def build(self, folder, sources):
        for source in sources:
            self.programs[source] = os.path.join(self.tree, "bench", f"bench-{source}")
        for path in (self.launcher, *self.programs.values()):
            if not os.access(path, os.X_OK):
                raise Stop(f"{path} is missing: build Tutti first (cmake --preset release && "
                           "cmake --build --preset release), or name its build folder with --build")

    def settings(self, ranks):
        bound = ("bound to cores", ["--bind", "core"], {})
        free = ("not bound", ["--bind", "none"], {})
        return [bound, free] if ranks <= cores() else [free, bound]

    def command(self, program, ranks, setting, arguments):
        return [self.launcher, "run", "-n", str(ranks), *setting[1], "--", self.programs[program], *arguments]


class TuttiShared(Tutti):
    """Tutti, with all buffers of the loop program in memory from tutti_alloc."""
    name, title = "tutti-alloc", "Tutti, tutti_alloc memory"

    def command(self, program, ranks, setting, arguments):
        if program == "loop":
            arguments = ["-S", *arguments]
        return super().command(program, ranks, setting, arguments)


class Mpi(Peer):
    compiler = ""

    def missing(self):
        """Also looks for mpi.h, because Debian has the compiler command in another package than the
        headers.
        """
        found = super().missing()
        if not found and not has_header(self.compiler):
            found = [f"mpi.h of {self.compiler}"]
        return found

    def build(self, folder, sources, *more):
        for source in sources:
            self.programs[source] = os.path.join(folder, f"{source}-{self.name}")
            compile_program([self.compiler], f"{source}.c", self.programs[source], "-DBENCH_MPI", *more)


class OpenMpi(Mpi):
    name, title = "openmpi", "Open MPI"
    packages = ("openmpi-bin", "libopenmpi-dev")
    compiler = "mpicc.openmpi"
    wants = ("mpicc.openmpi", "mpirun.openmpi")

    def settings(self, ranks):
        one = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader",
               "--mca", "btl_vader_single_copy_mechanism", "cma"]
        core = ["--bind-to", "core"]
        if ranks > cores():
            # Ranks share cores, so a rank that waits must yield: if it spun, it would keep other
            # ranks from running.
            core = ["--bind-to", "core:overload-allowed"]
            one += ["--mca", "mpi_yield_when_idle", "1"]
        none = ["--bind-to", "none"]
        ucx = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
               "--mca", "osc", "ucx", "--mca", "btl", "^openib"]
        shared = ["--mca", "coll_sm_priority", "90"]
        words = "ob1, vader, CMA" + (", yielding" if ranks > cores() else "")
        settings = [(f"{words}, bound to cores", one + core, {}),
                    (f"{words}, not bound", one + none, {}),
                    (f"{words}, coll/sm preferred, not bound", one + shared + none, {})]
        if ranks <= cores():
            settings.append(("ucx, bound to cores", ucx + core, {"UCX_TLS": "self,sm"}))
        else:
            settings[0], settings[1] = settings[1], settings[0]
        return settings

    def command(self, program, ranks, setting, arguments):
        root = ["--allow-run-as-root"] if os.getuid() == 0 else []
        return ["mpirun.openmpi", *root, "--oversubscribe", *setting[1], "-n", str(ranks),
                self.programs[program], *arguments]


class Mpich(Mpi):
    name, title = "mpich", "MPICH"
    packages = ("mpich", "libmpich-dev")
    compiler = "mpicc.mpich"
    wants = ("mpicc.mpich", "mpiexec.mpich")

    def settings(self, ranks):
        core, none = ["-bind-to", "core"], ["-bind-to", "none"]
        gather = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "release_gather"
                  for name in ("BCAST", "REDUCE", "ALLREDUCE", "BARRIER")}
        settings = [("bound to cores", core, {}),
                    ("not bound", none, {}),
                    ("release_gather collectives, bound to cores", core, gather)]
        if ranks > cores():
            settings[0], settings[1] = settings[1], settings[0]
        return settings

    def command(self, program, ranks, setting, arguments):
        return ["mpiexec.mpich", *setting[1], "-n", str(ranks), self.programs[program], *arguments]


def make(names, build):
    known = {peer.name: peer for peer in (Tutti, TuttiShared, OpenMpi, Mpich)}
    peers = []
    for name in names:
        if name not in known:
            raise Stop(f"no peer is called {name}: there are {', '.join(known)}")
        kind = known[name]
        peers.append(kind(build) if issubclass(kind, Tutti) else kind())
    return peers
