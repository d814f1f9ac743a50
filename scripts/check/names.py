# SPDX-License-Identifier: BSD-3-Clause
"""Which file defines each function and object `tt_...`, and which files use it."""
import re

import tree

SEARCHED = ("src/", "lab/", "tools/")
# Text that is no code: comments, strings, the names of structures, and directives.
NO_CODE = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\b(?:struct|enum|union)\s+\w+'
                     r'|^\s*#\s*include[^\n]*', re.S | re.M)
PROTOTYPE = re.compile(r"^(?!static )[A-Za-z_][^;{}=#]*?\btt_\w+\([^;{}]*;|^extern [^;{}]*;", re.M)
FUNCTION = re.compile(r"^[A-Za-z_][^;{}=#]*?\b(tt_\w+)\([^;{}]*\)\s*\{", re.M)
OBJECT = re.compile(r"^(?!typedef|extern|static)[A-Za-z_*][\w \t*]*?\b(tt_\w+)(?:\[[^\]]*\])*\s*(?:=|;)", re.M)
NAME = re.compile(r"\btt_\w+")


def blank(found):
    """Returns what replaces a text: a word for a word, and as many lines, so that places remain."""
    return ("T" if found.group()[0] in "seu" else " ") + "\n" * found.group().count("\n")


def read():
    """The texts of all files; their code without comments, strings and prototypes; and the file
    that defines each name."""
    texts = {name: tree.text(name) for name in tree.files(".h", ".c") if name.startswith(SEARCHED)}
    codes = {name: NO_CODE.sub(blank, text) for name, text in texts.items()}
    defining = {found: name for name in texts
                for found in FUNCTION.findall(codes[name]) + OBJECT.findall(codes[name])}
    return texts, {name: PROTOTYPE.sub(blank, code) for name, code in codes.items()}, defining
