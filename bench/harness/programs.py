# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs of Debian packages that `counts` and `programs` run, each with an input of its
package or of bench/programs.
"""
import collections
import functools
import operator
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

from harness import packages, peers, under

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
OWN = os.path.join(peers.HERE, "programs")

# A program to run. `files` are copied into the folder in which the program runs; "source:NAME/..."
# is in a source package. `build` are commands that compile the program in that folder. `outputs`
# are files that the program writes, besides standard output. `parts` is a regular expression for
# the names and seconds of the program's parts in its outputs. `ranks` are the allowed numbers of
# ranks of a program that works only on certain ones. `varies` is a regular expression for lines
# whose numbers may vary from run to run, besides lines that name a time.
Program = collections.namedtuple("Program", "name host package words files stdin build outputs parts ranks varies",
                                 defaults=((), os.devnull, (), (), None, None, None))


class Failed(Exception):
    """Raised with the reason why a program cannot be run."""


def scalapack(test, host):
    """Returns the Program of a test of ScaLAPACK. The eigenvalue solvers read memory that they have
    not written: their residuals vary from run to run, and `xdsep` fails in some runs and passes in
    others.
    """
    folder = f"{LIBRARIES}/scalapack/{host}-tests"
    return Program(f"ScaLAPACK {test}", host, "scalapack-mpi-test", [f"{folder}/{test}"], [f"{folder}/*.dat"],
                   varies="PASSED|FAILED|SKIPPED" if test == "xdsep" else None)


def lammps(example):
    folder = f"/usr/share/lammps/examples/{example.partition('.')[0]}"
    return Program(f"LAMMPS {example}", "openmpi", "lammps lammps-examples", ["lmp", "-in", f"in.{example}"],
                   [f"{folder}/*"])


def petsc(folder, example, *options):
    """An example of PETSc, compiled in the folder of the run."""
    source = f"/usr/share/petsc/3.18/share/petsc/examples/src/{folder}/tutorials/{example}.c"
    command = f"mpicc.openmpi -O2 -w {example}.c -o {example} $(pkg-config --cflags --libs petsc) -lm"
    return Program(f"PETSc {folder.split('/')[-1]} {example}", "openmpi", "libpetsc3.18-dev-examples libpetsc-real3.18-dev",
                   [f"./{example}", *options], [source], build=[command])


def python(name, package, script):
    return Program(name, "openmpi", package, ["/usr/bin/python3", f"./{script}"], [f"{OWN}/{script}"])


PROGRAMS = [
    Program("HPCC", "openmpi", "hpcc", ["hpcc"], ["/usr/share/doc/hpcc/examples/_hpccinf.txt"],
            outputs=["hpccoutf.txt"], parts=r"^(\w+_time\w*)=([-+.\deE]+)$", varies="MPI_Wtime granularity"),
    *(scalapack(test, host) for host in ("openmpi", "mpich")
      for test in ("xdlu", "xdllt", "xdqr", "xdgblu", "xdsep", "xdsvd")),
    Program("MUMPS dsimpletest", "openmpi", "mumps-test", ["/usr/lib/mumps/dsimpletest"],
            stdin="/usr/lib/mumps/input_simpletest_real"),
    Program("MUMPS zsimpletest", "openmpi", "mumps-test", ["/usr/lib/mumps/zsimpletest"],
            stdin="/usr/lib/mumps/input_simpletest_cmplx"),
    *(lammps(example) for example in ("melt", "min", "friction", "flow.couette", "peptide")),
    Program("LAMMPS lj", "openmpi", "lammps", ["lmp", "-in", "in.lj"], [f"{OWN}/in.lj"]),
    Program("LAMMPS rhodo", "openmpi", "lammps", ["lmp", "-in", "in.rhodo"], ["source:lammps/bench/*.rhodo"]),
    petsc("ksp/ksp", "ex2", "-m", "300", "-n", "300"),
    petsc("ksp/ksp", "ex45", "-da_grid_x", "33", "-da_grid_y", "33", "-da_grid_z", "33"),
    petsc("snes", "ex19", "-da_refine", "4"),
    Program("FFTW fft3d", "openmpi", "libfftw3-mpi-dev", ["./fft3d"], [f"{OWN}/fft3d.c"],
            build=["mpicc.openmpi -O2 fft3d.c -o fft3d -lfftw3_mpi -lfftw3 -lm"]),
    python("h5py", "python3-h5py-mpi python3-mpi4py", "h5.py"),
    Program("NetPIPE", "mpich", "netpipe-mpich2", ["NPmpich2", "-u", "131072", "-n", "100"], ranks=2),
    Program("mpi4py helloworld", "openmpi", "python3-mpi4py", ["/usr/bin/python3", "-m", "mpi4py.bench", "helloworld"]),
    Program("mpi4py ringtest", "openmpi", "python3-mpi4py", ["/usr/bin/python3", "-m", "mpi4py.bench", "ringtest"]),
    python("mpi4py allreduce", "python3-mpi4py python3-numpy", "allreduce.py"),
]


def option(parser):
    """Adds the options that choose programs and say how long they may take."""
    parser.add_argument("--programs", default="", metavar="REGEX", help="only programs whose name and MPI match")
    parser.add_argument("--limit", type=float, default=300, metavar="S", help="seconds that a run may take (300)")
    parser.add_argument("--fetch", metavar="FOLDER", help="where to put source packages that have the input of a program")


def matching(pattern):
    """The programs whose name and host match."""
    return [entry for entry in PROGRAMS if re.search(pattern, f"{entry.name} {entry.host}")]


# ---- Preparing a run ----


def check(entry):
    """Raises Failed if the program is not installed."""
    lacking = packages.missing(entry.package.split())
    if lacking:
        raise Failed(f"is not installed ({' '.join(lacking)})")
    if not under.has(entry.host):
        raise Failed(f"{under.LAUNCHERS[entry.host][0]} is not installed")


def place_of(pattern, cache):
    """Returns the pattern, with the folder of the source package in place of "source:NAME". Raises
    Failed if there is no folder (`cache`) into which a source package can be downloaded.
    """
    name, slash, rest = pattern.removeprefix("source:").partition("/")
    if not pattern.startswith("source:"):
        return pattern
    if not cache:
        raise Failed(f"its input is in the source package {name}, which --fetch FOLDER gets")
    return packages.source(name, cache) + slash + rest


def copy_input(entry, folder, cache):
    """Copies the input of a program into the folder, without the underscores at the beginning of file
    names, which some packages put before the names of examples.
    """
    for pattern in entry.files:
        for path in pathlib.Path("/").glob(place_of(pattern, cache).lstrip("/")):
            if path.is_file():
                shutil.copy(path, os.path.join(folder, path.name.lstrip("_")))


def prepare(entry, folder, cache):
    """Puts the input of a program into the folder, and compiles it there if it is a source."""
    copy_input(entry, folder, cache)
    for command in entry.build:
        done = subprocess.run(command, cwd=folder, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"cannot be built: {' '.join(done.stderr.strip().splitlines()[-2:])}")


# ---- Running ----

# A run of a program: the text that it printed and wrote, the seconds that it took, the seconds of
# its parts, and Tutti's report.
Run = collections.namedtuple("Run", "text seconds parts report")


def ranks_of(entry, ranks):
    """Returns how many ranks a program gets if `ranks` are wanted. Ranks of MPICH spin while they wait,
    so programs take minutes instead of seconds if such ranks share processors.
    """
    if entry.ranks:
        return entry.ranks
    return min(ranks, peers.cores()) if entry.host == "mpich" else ranks


def run(entry, started, mode, ranks, chosen):
    """Runs a program in a folder of its own. Raises Failed if it fails.

    Each run gets a variable of random length in the environment, which moves the program's stack. A
    program that reads memory which it has not written then prints varying results without Tutti, too.
    """
    with tempfile.TemporaryDirectory(prefix="tutti-program-") as folder:
        prepare(entry, folder, chosen.fetch)
        command = started.command(mode, entry.host, ranks_of(entry, ranks), entry.words)
        moves = {"MOVES_THE_STACK": "x" * random.randrange(100)}
        result, report = started.run(mode, command, chosen.limit, folder, entry.stdin, moves)
        if result.failure:
            raise Failed(f"{result.failure}: {' '.join((result.lines + result.words)[-2:])}")
        text = "\n".join([*result.lines, *(read(os.path.join(folder, name)) for name in entry.outputs)])
    parts = re.findall(entry.parts, text, re.M) if entry.parts else []
    return Run(text, result.seconds, {name: float(value) for name, value in parts}, report)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as why:
        raise Failed(f"did not write {os.path.basename(path)}") from why


# ---- Comparing what runs printed ----

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?")
TIME = re.compile(r"\b(time|seconds)\b", re.IGNORECASE)


def shape(line):
    """A line without its numbers and the width of its blanks."""
    return " ".join(NUMBER.sub("#", line).split())


def difference(texts, other, varies=None):
    """Compares the text `other` with `texts`, which runs without Tutti printed and which show what
    varies from run to run, such as times. Returns what differs, or None.

    `other` must have all lines that every run without Tutti has. Its remaining lines must be, apart
    from their numbers, those of one run without Tutti. The order of lines does not count, since
    ranks print at once.
    """
    runs = [collections.Counter(line.rstrip() for line in text.splitlines()) for text in texts]
    steady = steady_lines(runs, varies)
    found = collections.Counter(line.rstrip() for line in other.splitlines())
    lacking = steady - found
    if lacking:
        return f"lacks the line {next(iter(lacking))!r}"
    rest = shapes(found - steady)
    if any(rest == shapes(lines - steady) for lines in runs):
        return None
    more = rest - functools.reduce(operator.or_, (shapes(lines - steady) for lines in runs))
    return f"has a line like {next(iter(more))!r}" if more else "lacks a line that varies"


def steady_lines(runs, varies):
    """The lines that all runs have. A line about a time may vary even if it was the same in these
    runs, for example because it was rounded to 0; so may a line that matches `varies`.
    """
    same = functools.reduce(operator.and_, runs)
    return collections.Counter({line: n for line, n in same.items()
                                if not TIME.search(line) and not (varies and re.search(varies, line))})


def shapes(lines):
    found = collections.Counter()
    for line, n in lines.items():
        found[shape(line)] += n
    return found


def compared(texts, varies=None):
    """How many lines of the runs without Tutti are equal in all of them, and how many there are."""
    runs = [collections.Counter(line.rstrip() for line in text.splitlines()) for text in texts]
    return steady_lines(runs, varies).total(), runs[0].total()
