# SPDX-License-Identifier: BSD-3-Clause
"""Writes result files. A file that cannot be written is reported before the measurement."""
import os

from harness.peers import Stop


def _write(path, mode, text):
    try:
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as why:
        raise Stop(f"cannot write {path}: {why.strerror}") from why


def check(*paths):
    """Stops if one of the files cannot be written. Does not change any file; ignores None and "-".
    """
    for path in paths:
        if path and path != "-":
            new = not os.path.lexists(path)
            _write(path, "a", "")
            if new:
                os.unlink(path)


def write(path, text):
    _write(path, "w", text)


def append(path, text):
    _write(path, "a", text)
