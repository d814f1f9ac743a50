# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the checks share: the list of the project's files, and the end of a check.

The first argument of a check is the root of a source tree; the default is the tree of the check
itself. A check prints one line for each fault, `file:line: what is wrong`. It exits with 0 if there
is no fault, else with 1.
"""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

# Folders with copies of other projects' files, or with generated files. Checks of form leave them
# out.
VENDORED = ("lab/draw/page/vendor/", "docs/gallery/")


def root():
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1]).resolve()
    return pathlib.Path(__file__).resolve().parents[2]


def files(*suffixes):
    """The project's files, relative to its root.

    In a git tree these are the files that git tracks or would track, otherwise all files.
    """
    top = root()
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(top), "ls-files", "-zco", "--exclude-standard"],
        capture_output=True, check=False)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith((".git/", "build/"))]
    names = [name for name in names if (top / name).is_file()]
    return sorted(name for name in set(names) if not suffixes or name.endswith(suffixes))


def text(name):
    return (root() / name).read_text(encoding="utf-8", errors="replace")


def end(check, faults, done):
    for fault in faults:
        print(fault)
    print(f"{check}: {len(faults)} faults" if faults else f"{check}: {done}")
    sys.exit(1 if faults else 0)
