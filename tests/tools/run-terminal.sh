#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti run` under an interactive shell on a terminal: rank 0 may read from the terminal, signals
# from the keyboard arrive once, stopping and continuing work as for any program, and hanging up
# ends the job.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
source "$(dirname "$0")/lib.sh"

# LeakSanitizer attaches to a process with ptrace when the process ends, and waits for ever if the
# process is just being continued.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

python3 - "$rank" <<'PYTHON'
import os
import pty
import re
import select
import sys
import time

shell, terminal = pty.fork()
if shell == 0:
    os.environ["PS1"] = "ready> "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
seen = ""


def expect(pattern):
    """Reads on until the pattern has come, and returns its match."""
    global seen
    deadline = time.monotonic() + 300
    while not (match := re.search(pattern, seen, re.S)):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            sys.exit(f"FAILED: waited for {pattern!r} in {seen!r}")
        seen += os.read(terminal, 65536).decode(errors="replace").replace("\r", "")
    seen = seen[match.end():]
    return match


def stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def wait_until(what, condition):
    deadline = time.monotonic() + 300
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"FAILED: not in time: {what}")
        time.sleep(0.02)


def type(text):
    os.write(terminal, text.encode())


expect("ready> ")
type(f"tutti run -n 2 {sys.argv[1]} signals\n")
ranks = [expect(r"rank \d pid (\d+)\n").group(1) for _ in range(2)]
for key, name in (("\x03", "INT"), ("\x1c", "QUIT"), ("\x03", "INT")):
    type(key)
    expect(rf"rank [01] {name}\n.*rank [01] {name}\n")
type("\x1a")
expect("Stopped.*ready> ")
wait_until("ranks stop with the job", lambda: all(stopped(pid) for pid in ranks))
type("fg\n")
wait_until("ranks continue", lambda: not any(stopped(pid) for pid in ranks))
type("\x03")
both = expect(r"(rank [01] \w+\n.*rank [01] \w+\n)").group(1)
assert both.count("INT") == 2, f"more than was typed: {both!r}"
type("\x1a")
expect("Stopped.*ready> ")
type("kill %1; bg; wait %1; echo code $?\n")  # in one line: at the next prompt the job may be over, and forgotten
expect(r"rank [01] TERM\n.*rank [01] TERM\n")
expect(r"code 0\n")

type("tutti run -n 2 sh -c 'read line; echo $TUTTI_RANK got ${line:-nothing}'\n")
expect("1 got nothing\n")
type("hello\n")
expect("0 got hello\n")

type("tutti run -n 2 sh -c 'echo pid $$; exec sleep 600'\n")
ranks = [expect(r"pid (\d+)\n").group(1) for _ in range(2)]
type("\x1c")  # the launcher prints the roll call; ranks that do not handle SIGQUIT go on
expect(r"SIGQUIT: roll call\n.*no rank has called tutti_init")
type("\x03")
expect(r"killed by signal 2 \(Interrupt\)")
type("echo code $?\n")
expect(r"code 130\n")

type("tutti run -n 2 sh -c 'echo pid $$; exec sleep 600'\n")
ranks = [expect(r"pid (\d+)\n").group(1) for _ in range(2)]
os.close(terminal)
wait_until("ranks end with the terminal", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks))
os.waitpid(shell, 0)
PYTHON
