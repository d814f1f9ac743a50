# SPDX-License-Identifier: BSD-3-Clause
"""Writes what was measured to bench/results/DATE-MACHINE.md: machine, versions, table.

All benchmarks of a day on a machine share a file; each run appends a section.
"""
import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
import textwrap

from harness import output, peers

FOLDER = os.path.join(peers.HERE, "results")
WIDTH = 100  # columns of a line of text in a document
# The commands that print the versions of the measured libraries and of the compiler, if they are
# installed.
VERSIONS = (["mpirun.openmpi", "--version"], ["mpichversion"], ["ucx_info", "-v"], ["cc", "--version"])

# Options whose values are files and folders of this machine.
FILES = ("--build", "--json", "--table", "--svg", "--results", "--inside", "--fetch", "--cache")


def option(parser):
    parser.add_argument("--results", metavar="FOLDER", default=FOLDER,
                        help="where to append the tables, as DATE-MACHINE.md (bench/results); - for nowhere")


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.machine()


def short_name(model):
    """The model of a processor as a part of a file name: amd-epyc-9b14."""
    words = re.sub(r"\((r|tm)\)|@.*|\b(cpu|processor|\d+-core)\b", " ", model.lower())
    return "-".join(re.findall(r"[a-z0-9]+", words)) or "unknown"


def path(folder):
    """The file of today and this machine; None if nothing is to be written."""
    if folder == "-":
        return None
    return os.path.join(folder, f"{datetime.date.today().isoformat()}-{short_name(cpu_model())}.md")


def check(folder):
    """Stops if the file cannot be written; called before the measurement."""
    output.check(path(folder))


def version(command):
    """The first line with a number that the command prints; None if there is no such command."""
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    line = next((line for line in result.stdout.splitlines() if re.search(r"\d\.\d", line)), None)
    return " ".join(line.strip("# ").split()) if line and result.returncode == 0 else None


def versions(build):
    commands = ([os.path.join(build, "bin", "tutti"), "--version"], *VERSIONS)
    return [f"Linux {platform.release()}", *filter(None, map(version, commands))]


def command_line():
    """The name of this benchmark, and its command without the arguments that only name files."""
    words, skip = [], False
    for word in sys.argv[1:]:
        if not skip and not word.startswith(FILES):
            words.append(word)
        skip = word in FILES
    name = f"bench/{os.path.basename(sys.argv[0])} {' '.join(words[:1])}".strip()
    return name, f"{name} {shlex.join(words[1:])}".strip()


def fold(line):
    if line.startswith(("|", "#")) or len(line) <= WIDTH:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" -")))
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def folded(lines):
    """Returns the lines, folded to at most WIDTH columns each, except rows of tables and
    headings."""
    return [part for line in lines for part in fold(line)]


def append(folder, build, lines):
    """Appends the tables of this run, as lines of Markdown."""
    file = path(folder)
    if not file:
        return
    model, now = cpu_model(), datetime.datetime.now()
    begin = "" if os.path.exists(file) else f"# {now:%Y-%m-%d}, {model}\n\n{peers.cores()} processors.\n"
    name, command = command_line()
    about = f"At {now:%H:%M}. {'; '.join(versions(build))}."
    text = "\n".join(folded([f"## {name}", "", f"`{command}`", "", about, "", *"\n".join(lines).strip("\n").split("\n")]))
    output.append(file, f"{begin}\n{text}\n")
