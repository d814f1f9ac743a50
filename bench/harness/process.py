# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command so that nothing of it remains, however it ends.

Launchers put their ranks into groups and sessions of their own, so that a signal to the launcher's
group does not reach them. This process is therefore a "subreaper": processes that a launcher leaves
behind become its children. It finds them in /proc and kills them.
"""
import ctypes
import os
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 3.0
# The beginnings of file names that the measured libraries use in /dev/shm.
SHM_NAMES = ("vader_segment.", "sm_segment.", "ucx_shm_posix", "mpich_", "MPICH_")


class Result:
    """The result of a command: its lines on stdout and on stderr, the last ones of these lines, the
    failure (None if there was none), and the time that the command took.
    """

    def __init__(self, lines, errors, failure, seconds):
        self.lines, self.errors, self.failure, self.seconds = lines, errors, failure, seconds
        self.words = errors[-12:]


def interrupted(*_):
    raise KeyboardInterrupt


def become_reaper():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    # The driver also kills the processes that it started if a signal ends it.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)


def parents():
    """Returns {process: parent} without zombies."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX":
            found[int(name)] = int(parent)
    return found


def descendants():
    table, mine = parents(), {os.getpid()}
    while True:
        more = {pid for pid, parent in table.items() if parent in mine} - mine
        if not more:
            return mine - {os.getpid()}
        mine |= more


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_descendants(grace=0.0):
    """Kills all descendants, after giving them `grace` seconds to end by themselves."""
    deadline = time.monotonic() + grace
    while True:
        # A process that ends between these two lines is a zombie, which reap() finds.
        left = descendants()
        reap()
        if not left:
            return
        if time.monotonic() >= deadline:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        time.sleep(0.01)


def shm_files():
    try:
        return {name for name in os.listdir("/dev/shm") if name.startswith(SHM_NAMES)}
    except OSError:
        return set()


def mapped():
    """The files in /dev/shm that a process has mapped: another job may have made them."""
    names = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
                names |= {line.partition("/dev/shm/")[2].rstrip("\n") for line in maps if "/dev/shm/" in line}
        except OSError:
            pass
    return names


def remove_shm(before):
    """Removes the files in /dev/shm that killed ranks left."""
    for name in shm_files() - before - mapped():
        try:
            os.unlink(f"/dev/shm/{name}")
        except OSError:
            pass


def stop(child):
    """Asks the launcher to end its ranks, and gives it GRACE_S seconds to do so."""
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        pass


def finish(child, timeout):
    """Waits for the end of the child. Returns (stdout, stderr, None or what went wrong)."""
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        stop(child)
        end_descendants()
        out, err = child.communicate()
        return out, err, f"did not end within {timeout:.0f} s and was killed"
    if child.returncode < 0:
        return out, err, f"died of signal {-child.returncode}"
    if child.returncode > 0:
        return out, err, f"ended with exit code {child.returncode}"
    return out, err, None


# Tutti chooses algorithms by its table, so that figures do not depend on a model or on wisdom that
# the user keeps. The environment of the benchmark has priority.
BY_TABLE = {"TUTTI_CHOICE": "table", "TUTTI_WISDOM": "0"}


def run(command, timeout, environment=None, folder=None, stdin=os.devnull):
    """Runs the command in the folder, with the file `stdin` as its standard input."""
    files, begin = shm_files(), time.monotonic()
    with open(stdin, "rb") as source:
        child = subprocess.Popen(
            command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
            env={**BY_TABLE, **os.environ, **(environment or {})}, text=True, errors="replace", start_new_session=True)
    failure = "was interrupted"
    try:
        out, err, failure = finish(child, timeout)
        took = time.monotonic() - begin
    finally:
        end_descendants(0.0 if failure else GRACE_S)
        if failure:
            remove_shm(files)
    return Result(out.splitlines(), err.strip().splitlines(), failure, took)
