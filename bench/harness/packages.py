# SPDX-License-Identifier: BSD-3-Clause
"""Gets Debian's packages: programs by `apt-get install`, and sources by `apt-get source`.

Sources need no root, and nothing of the system's apt is changed: the lists of sources, like the
sources themselves, are kept in the folder that the caller names.
"""
import os
import shutil
import subprocess

from harness.campaign import say
from harness.peers import Stop

# With these arguments `apt-get indextargets` prints a line of sources.list for the sources of each
# archive of Debian from which apt installs packages.
ARCHIVES = ("deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages", "Origin: Debian")


def call(command, folder=None):
    """Runs the command. Returns its standard output, or stops with its last words."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"},
                          check=False)
    if done.returncode != 0:
        raise Stop(f"{' '.join(command[:3])} ... failed: {' '.join(done.stderr.strip().splitlines()[-3:])}")
    return done.stdout


def missing(packages):
    """The packages that are not installed."""
    command = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *packages]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as why:
        raise Stop("this system has no Debian packages: there is no dpkg-query") from why
    there = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in there]


def install(packages):
    """Installs the packages."""
    if not packages:
        return
    become = [] if os.getuid() == 0 else ["sudo"]
    if shutil.which("apt-get") is None or (become and shutil.which("sudo") is None):
        raise Stop(f"missing: {' '.join(packages)} (Debian's names); please install them")
    say(f"bench: installing {' '.join(packages)}")
    call([*become, "apt-get", "-q", "update"])
    call([*become, "apt-get", "-q", "-y", "install", "--no-install-recommends", *packages])


def install_for(members):
    """Installs the packages of the peers of which a command or a header is missing."""
    install([package for member in members if member.missing() for package in member.packages])


def apt_of(folder):
    """Returns the beginning of an apt-get command that keeps lists of its own in the folder. Makes the
    lists the first time.
    """
    own = os.path.join(folder, "apt")
    listed, lists = os.path.join(own, "sources.list"), os.path.join(own, "lists")
    words = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={listed}", "-o", "Dir::Etc::SourceParts=/dev/null",
             "-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={own}/cache", "-o", "APT::Sandbox::User=root"]
    if not os.path.exists(f"{own}/complete"):
        os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
        os.makedirs(f"{own}/cache/archives/partial", exist_ok=True)
        archives = call(["apt-get", "indextargets", "--format", *ARCHIVES])
        if not archives:
            raise Stop("apt knows no archive of Debian: run apt-get update first")
        with open(listed, "w", encoding="utf-8") as file:
            file.write("".join(sorted(set(archives.splitlines(keepends=True)))))
        call([*words, "update"])
        with open(f"{own}/complete", "w", encoding="utf-8"):
            pass
    return words


def source(name, folder):
    """Returns the folder with the source of a package, which it downloads and unpacks the first
    time.
    """
    at = os.path.join(folder, "sources", name)
    if not os.path.isdir(at):
        if shutil.which("apt-get") is None:
            raise Stop(f"the source package {name} cannot be had: there is no apt-get")
        say(f"bench: fetching the source package {name} into {folder}")
        os.makedirs(f"{at}.part", exist_ok=True)
        call([*apt_of(folder), "source", name], f"{at}.part")
        os.rename(f"{at}.part", at)
    unpacked = [entry.path for entry in os.scandir(at) if entry.is_dir()]
    if len(unpacked) != 1:
        raise Stop(f"{at} should hold one source: remove it, so that it is fetched again")
    return unpacked[0]
