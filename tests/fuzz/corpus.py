#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The stored inputs of fuzzing: one file per parser and one input per line, with bytes that are
not printable escaped.

    corpus.py unpack FILE FOLDER     writes each input to a file of its own
    corpus.py pack FILE FOLDER       does the reverse
"""
import hashlib
import pathlib
import sys

HEADER = "# SPDX-License-Identifier: BSD-3-Clause\n# Inputs that fuzzing found; see corpus.py.\n"


def escaped(data):
    text = data.decode("latin-1").encode("unicode_escape").decode("ascii")
    if text.startswith("#"):
        text = "\\x23" + text[1:]
    return text[:-1] + "\\x20" if text.endswith(" ") else text


def unescaped(line):
    return line.encode("ascii").decode("unicode_escape").encode("latin-1")


def unpack(file, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for line in file.read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            data = unescaped(line)
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(file, folder):
    lines = sorted({escaped(path.read_bytes()) for path in folder.iterdir()})
    file.write_text(HEADER + "".join(line + "\n" for line in lines), encoding="ascii")


{"unpack": unpack, "pack": pack}[sys.argv[1]](pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
