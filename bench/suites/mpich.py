# SPDX-License-Identifier: BSD-3-Clause
"""The test suite of MPICH, from the source package mpich: a suite for each folder of test/mpi.

The suite is built for each host with the host's compiler commands. Its files `testlist` have one
test on a line: a program, its ranks, and options such as arg=..., env=..., timeLimit=... A program
passes if it prints " No Errors" and nothing else, and its exit status is 0.
"""
import os
import re
import shutil
import subprocess

from harness import packages, trial
from harness.campaign import say
from harness.peers import Stop

NAMES = ["coll", "comm", "datatype", "threads", "errhan", "attr", "f77", "f90", "f08"]
COMMANDS = ("mpicc", "mpicxx", "mpif77", "mpifort", "mpiexec")
# Open MPI's mpi.h declares functions of MPI 1 only if it is asked to. Some tests keep handles of
# types in variables of type int. Over Open MPI that works only if the addresses of predefined types
# fit into an int, as they do in a program with fixed addresses.
CONFIGURE = ["--disable-cxx", "CFLAGS=-DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -fno-pie", "LDFLAGS=-no-pie",
             "FFLAGS=-fallow-argument-mismatch -fno-pie", "FCFLAGS=-fallow-argument-mismatch -fno-pie"]
LISTS = ("testlist", "testlist.dtp")
# Tests that need more than MOST_GIB GiB of memory are left out.
MOST_GIB = 10.0
QUIET = re.compile(r"\s*(Test Passed|FORTRAN STOP|STOP 0|Note: The following floating-point exceptions are signalling.*)?\s*")
NO_ERRORS = re.compile(r"\s*No [Ee]rrors\s*")


def packages_of(host):
    return [*{"openmpi": ["openmpi-bin", "libopenmpi-dev"], "mpich": ["mpich", "libmpich-dev"]}[host], "gfortran", "make"]


# ---- Building ----


def call(command, folder, log):
    with open(log, "a", encoding="utf-8") as file:
        return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False).returncode


def wrap(host, folder):
    """Makes the commands mpicc, ... of a host, as configure wants them: in a folder `bin`."""
    os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
    for name in COMMANDS:
        path = os.path.join(folder, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {name}.{host} "$@"\n')
        os.chmod(path, 0o755)


def configured(host, chosen):
    """Returns (source, build folder) of test/mpi, which it configures the first time."""
    build = os.path.join(chosen.cache, f"mpich-over-{host}")
    done = os.path.exists(os.path.join(build, "configured"))
    if not done and not chosen.fetch:
        raise Stop(f"{build} was not built before")
    source = os.path.join(packages.source("mpich", chosen.cache), "test", "mpi")
    if not done:
        shutil.rmtree(build, ignore_errors=True)
        os.makedirs(build)
        wrap(host, os.path.join(build, "host"))
        log = os.path.join(build, "build.log")
        say(f"mpi-suites: configuring MPICH's tests for {host} in {build}")
        if call([os.path.join(source, "configure"), f"--with-mpi={build}/host", *CONFIGURE], build, log):
            raise Stop(f"configure of MPICH's tests failed: see {log}")
        with open(os.path.join(build, "configured"), "w", encoding="utf-8"):
            pass
    return source, build


def make(folder, programs, build):
    """Builds the programs that can be built; the others fail when they are started."""
    wanted = sorted(name for name in programs if not os.access(os.path.join(folder, name), os.X_OK))
    if wanted:
        say(f"mpi-suites: building {len(wanted)} programs in {folder}")
        call(["make", "-k", "-j2", *wanted], folder, os.path.join(build, "build.log"))


# ---- Tests ----


def lines_of(source, build, folder):
    """The lines of the lists of a folder; configure makes some lists."""
    for name in LISTS:
        for base in (build, source):
            path = os.path.join(base, folder, name)
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    yield from filter(None, (re.sub("#.*", "", line).strip() for line in file))
                break


def walk(source, build, folder):
    """Yields (folder, line) for the tests of a folder and of those that its list names."""
    for line in lines_of(source, build, folder):
        inner = os.path.join(folder, line.split()[0])
        if os.path.isdir(os.path.join(source, inner)):
            yield from walk(source, build, inner)
        else:
            yield folder, line


def judge(expected):
    """Returns a function that returns what failed in a run: {part: reason}, or {} if the run passed. With `expected` (the
    value of the option resultTest), a run passes only if it fails with an exit code.
    """
    def passes(result):
        if expected:
            return {} if result.failure and "exit code" in result.failure else {trial.WHOLE: "ended without an error"}
        failed = trial.status(result)
        said = [line for line in result.lines + result.errors if not QUIET.fullmatch(line)]
        other = [line for line in said if not NO_ERRORS.fullmatch(line)]
        if not failed and other:
            failed = {trial.WHOLE: f"printed {other[0].strip()!r}"}
        if not failed and not said:
            failed = {trial.WHOLE: "did not print 'No Errors'"}
        return failed
    return passes


def test_of(suite, host, folder, line, build, chosen):
    words = line.split()
    options = [word.partition("=")[::2] for word in words[2:]]
    values = {key: value for key, value in options if key not in ("arg", "env")}
    if float(values.get("mem", 0)) > MOST_GIB:
        return None
    environment = dict(value.partition("=")[::2] for key, value in options if key == "env")
    inner = os.path.relpath(folder, suite)
    name = " ".join(words) if inner == "." else f"{inner}/{' '.join(words)}"
    at = os.path.join(build, folder)
    command = [os.path.join(at, words[0]), *(value for key, value in options if key == "arg")]
    return trial.Test(suite, name, host, int(words[1]) if len(words) > 1 else 2, command, at,
                      trial.limit(chosen, float(values.get("timeLimit", 0))), judge(values.get("resultTest")),
                      environment=environment)


def tests(suite, host, chosen):
    source, build = configured(host, chosen)
    found, programs = [], {}
    for folder, line in walk(source, build, suite):
        test = test_of(suite, host, folder, line, build, chosen)
        if test and chosen.only.search(test.name):
            found.append(test)
            programs.setdefault(test.folder, set()).add(os.path.basename(test.words[0]))
    if not chosen.list:
        for folder, names in programs.items():
            make(folder, names, build)
    return found
