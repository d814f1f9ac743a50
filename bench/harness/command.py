# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the commands that measure share: kinds of options, the output, the way they end."""
import argparse
import json
import os
import sys
import tempfile

from harness import output, peers, process, results
from harness.campaign import say

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


# ---- Kinds of options ----

def whole(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}")
    return int(text)


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"not a whole number from 1: {text!r}")
    return int(text)


def size(words, most=None, multiple=1):
    """A kind of option: bytes, of at least 1 and at most `most`. `words` says in the error which
    sizes are allowed.
    """
    def parse(text):
        number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
        if not number.isdigit() or not int(number) or int(number) * unit % multiple or (most and int(number) * unit > most):
            raise argparse.ArgumentTypeError(f"not a size {words}: {text!r}")
        return int(number) * unit
    return parse


def part(parts):
    """A kind of option: one of the parts of a command."""
    def parse(text):
        if text not in parts:
            raise argparse.ArgumentTypeError(f"no part is called {text!r}: there are {', '.join(parts)}")
        return text
    return parse


def listed(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def add_options(parser, parts=None):
    """Adds the options that all commands have, and --parts for the commands with parts."""
    if parts:
        parser.add_argument("--parts", type=listed(part(parts)), default=parts, metavar="NAME,...",
                            help=f"some of {','.join(parts)}")
    parser.add_argument("--build", default=os.path.join(peers.HERE, "..", "build", "release"), metavar="FOLDER",
                        help="where Tutti was built (build/release)")
    parser.add_argument("--json", metavar="FILE", help="- for standard output, instead of the tables")
    results.option(parser)


def parse_with_batch(parser):
    """Parses the arguments of a command that has --batch."""
    chosen = parser.parse_args()
    if chosen.batch is not None and chosen.batch <= 0:
        parser.error("--batch is more than 0 seconds")
    return chosen


# ---- Output ----

def json_text(document):
    return json.dumps(document, indent=1) + "\n"


def check(chosen, *files):
    """Stops before the measurement if one of the files of the results cannot be written."""
    output.check(chosen.json, *files)
    results.check(chosen.results)


def give(chosen, document, lines):
    """Writes the results: the document as JSON where it is wanted, the lines of the tables to
    standard output, if JSON does not go there, and to bench/results.
    """
    lines = results.folded(lines)
    if chosen.json == "-":
        sys.stdout.write(json_text(document))
    else:
        print("\n".join(lines))
        if chosen.json:
            output.write(chosen.json, json_text(document))
    if lines:
        results.append(chosen.results, chosen.build, lines)


# ---- The run ----

def run(name, measure, chosen):
    """Calls measure(chosen, folder) with a temporary folder. Returns the exit code of the command.
    No process that it started is left.
    """
    process.become_reaper()
    try:
        with tempfile.TemporaryDirectory(prefix=f"tutti-{name}-") as folder:
            return measure(chosen, folder)
    except peers.Stop as why:
        say(f"{name}: {why}")
        return 1
    except KeyboardInterrupt:
        say(f"{name}: interrupted")
        return 130
    finally:
        process.end_descendants()
