# SPDX-License-Identifier: BSD-3-Clause
"""Files of results: that one cannot be written is told before the measuring, not after it."""
import os

from harness.peers import Stop


def _write(path, mode, text):
    try:
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as why:
        raise Stop(f"cannot write {path}: {why.strerror}") from why


def check(*paths):
    """Stops where one of them cannot be written, and leaves all as they are; None and "-" are none."""
    for path in paths:
        if path and path != "-":
            new = not os.path.lexists(path)
            _write(path, "a", "")
            if new:
                os.unlink(path)


def write(path, text):
    _write(path, "w", text)
