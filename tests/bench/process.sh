#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every process that the comparison starts is ended: one that hangs, one that hides in its own
# session, and one that a launcher leaves behind when it ends normally. The results distinguish a
# process that was killed from one that failed.
set -euo pipefail
cd "$TUTTI_SOURCE/bench"
python3 - <<'PYTHON'
import sys
sys.dont_write_bytecode = True
from harness import process
process.become_reaper()

def ends(script, timeout=30):
    result = process.run(["bash", "-c", script], timeout)
    assert not process.descendants(), f"left by {script!r}"
    return result

hung = ends("echo before; setsid sleep 1000 & (setsid bash -c 'trap \"\" TERM; sleep 1000' &) ; sleep 1000", 1)
assert "did not end within 1 s" in hung.failure, hung.failure
assert hung.lines == ["before"], hung.lines
left = ends("(setsid sleep 1000 >/dev/null 2>&1 &) ; echo done")
assert left.failure is None and left.lines == ["done"]
failed = ends("echo why >&2; exit 3")
assert "exit code 3" in failed.failure and failed.words == ["why"]
killed = ends("kill -9 $$")
assert "signal 9" in killed.failure
PYTHON
echo 'process: nothing is left'
