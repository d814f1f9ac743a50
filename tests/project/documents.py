#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the examples of a document, as its reader would, in an empty folder.

    documents.py [--check | --program] FILE...

An example is a block of code: fenced, indented by four spaces, or between .nf and .fi in the
source of a manual page.

- ```c with a main() is saved under the name that the text before it gives in `backquotes`
  (app.c if there is none), compiled with all warnings, and run alone and as four ranks. It also
  runs where tutti_init fails: there it must print an error and exit with 1. Without a main() it
  is only compiled, as a file of its own or within the frame that a comment gives.
  A program that includes mpi.h is compiled by mpicc and run by mpirun instead, if there are both.
- ```python is a program that runs alone and as four ranks.
- ```sh and indented blocks are commands: each block runs as one script, which ends at the first
  command that fails. ./app and ./program are the document's own program, or the example
  `hello`.
- ```text is not an example.

Comments before a block, which a reader of the rendered document does not see, say what else
applies. In a manual page they are comments of that format (.\\" not run: ...).

    <!-- not run: REASON -->                 for the block
    <!-- not run `WORDS`: REASON -->         for the lines in which WORDS occur
    <!-- inside: int f(tutti_team *team) --> the fragment is the body of that function
    <!-- printed by: COMMAND -->             COMMAND prints the block; ... stands for any lines, and
                                             "# ..." after two blanks at the end of a line is a
                                             comment that COMMAND does not print

--check only checks that all blocks are of these kinds; --program prints the first program.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^\s*```(\w*)\s*$")
REMARK = re.compile(r'^(?:<!--|\.\\")\s*(not run|inside|printed by)\b\s*(?:`([^`]+)`)?\s*:\s*(.*?)\s*(?:-->)?$')
SETTING = re.compile(r"^\w+=")
# Programs that a machine may lack; lines that start one are skipped there.
OPTIONAL = {"mpirun", "prterun", "prun", "srun", "sbatch"}
# Programs that a test must not run.
FORBIDDEN = {"sudo", "apt-get", "rm"}
FRAME = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <tutti/message.h>\n#include <tutti/tutti.h>\n"


class Fault(Exception):
    """A fault in a block, with its position."""

    def __init__(self, block, text):
        super().__init__(f"{block.name}:{block.line}: {text}")


class Block:
    """The text of an example, its position, and the remarks of the document about it."""

    def __init__(self, name, line, language, lines, remarks, before):
        self.name, self.line, self.language, self.lines = name, line, language, lines
        self.remarks, self.before = remarks, before

    def text(self):
        return "\n".join(self.lines) + "\n"

    def said(self, kind):
        """The texts of the remarks of this kind that are about the whole block."""
        return [text for what, words, text in self.remarks if what == kind and not words]

    def has_main(self):
        return re.search(r"\bmain\s*\(", self.text()) is not None

    def program(self):
        """The name, without .c, under which the text before the block has the reader save it."""
        named = re.findall(r"`(\w+)\.c`", self.before)
        return named[-1] if named else "app"

    def commands(self):
        """The lines of the block, with continued lines joined, without those that are not to be
        run."""
        left_out = [words for what, words, _ in self.remarks if what == "not run" and words]
        for words in left_out:
            if words not in self.text():
                raise Fault(self, f"no line has `{words}`, which is said not to be run")
        joined = self.text().replace("\\\n", " ").splitlines()
        return [line for line in joined if not any(words in line for words in left_out)]


# ---- Reading a document ----


def fenced(lines, at):
    """(language, lines, after) of the fenced block that begins at `at`, or None."""
    begin = FENCE.match(lines[at])
    if not begin:
        return None
    end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), len(lines))
    return begin.group(1) or "sh", lines[at + 1 : end], end + 1


def indented(lines, at):
    """(language, lines, after) of the indented block that begins at `at`, or None. It may contain
    single empty lines."""
    if not lines[at].startswith("    ") or (at > 0 and lines[at - 1].strip()):
        return None
    end = at
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return "sh", [line[4:] for line in lines[at:end]], end


def unfilled(lines, at):
    """(language, lines, after) of the example of a manual page, between .nf and .fi, that begins
    at `at`, or None."""
    if lines[at] != ".nf":
        return None
    end = lines.index(".fi", at)
    return "sh", [line.replace("\\-", "-").replace("\\&", "") for line in lines[at + 1 : end]], end + 1


def blocks(name):
    """The blocks of a document in their order."""
    with open(name, encoding="utf-8") as file:
        lines = file.read().split("\n")
    forms = [unfilled] if name.endswith(".man") else [fenced, indented]
    remarks, before, at = [], "", 0
    while at < len(lines):
        found = next(filter(None, (form(lines, at) for form in forms)), None)
        remark = REMARK.match(lines[at])
        if found:
            language, text, after = found
            yield Block(name, at + 1, language, text, remarks, before)
            remarks, at = [], after
            continue
        if remark:
            remarks.append(remark.groups())
        elif lines[at].strip():
            if remarks:
                raise Fault(Block(name, at, "", [], [], ""), "this remark is not followed by a block")
            before = lines[at] if not lines[at - 1].strip() else before + "\n" + lines[at]
        at += 1


# ---- Faults that can be found without running anything ----


def first_word(command):
    """The program that a command starts, without the settings before it."""
    words = shlex.split(command, comments=True)
    return next((word for word in words if not SETTING.match(word)), None)


def is_optional(command):
    try:
        return first_word(command) in OPTIONAL
    except ValueError:
        return False


def check_command(block, command):
    try:
        program = first_word(command)
    except ValueError as error:
        raise Fault(block, f"{command}: {error}") from error
    if program in FORBIDDEN:
        raise Fault(block, f"{program} is for no test to run: say <!-- not run: REASON --> before it")
    if program and program not in OPTIONAL and not program.startswith("./") and not shutil.which(program):
        raise Fault(block, f"{program} is no command: say ```text if the block is none, or <!-- not run: REASON -->")


def check(block):
    if any(not reason for what, _, reason in block.remarks if what == "not run"):
        raise Fault(block, "why is it not run?")
    if block.said("not run") or block.said("printed by") or block.language in ("text", "c", "python"):
        return
    if block.language != "sh":
        raise Fault(block, f"a block in {block.language}: say <!-- not run: REASON --> before it")
    for command in block.commands():
        check_command(block, command)


# ---- Running ----


def do(block, command, **options):
    """Runs a command, which must not fail, and returns its output."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode:
        raise Fault(block, f"this ended with {done.returncode}:\n{command}\n---- it printed:\n{done.stdout[-4000:]}")
    return done.stdout


def save(block, name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(f'#line {block.line + 1} "{block.name}"\n{text}')


def compiler(cc=os.environ.get("CC", "cc")):
    return f"{cc} -Wall -Wextra -Werror $(pkg-config --cflags --libs tutti)"


def compile_fragment(block):
    frame = block.said("inside")
    text = block.text()
    if frame:
        text = f"{FRAME}{frame[0]};\n{frame[0]}\n{{\n#line {block.line + 1} \"{block.name}\"\n{text}}}\n"
    save(block, "fragment.c", text)
    do(block, f"{compiler()} -Wno-unused -fsyntax-only fragment.c")


def build(command, name):
    """The command that compiles and links the program, with its source before the libraries."""
    return command.replace(" $(", f" {name}.c -o {name} $(")


def run_with_mpi(block, name):
    if shutil.which("mpicc") and shutil.which("mpirun"):
        do(block, f"{build(compiler('mpicc'), name)} && mpirun -n 4 ./{name}")


def fail_to_join(block, name):
    """Runs a program where tutti_init fails, and expects that it prints why and exits with 1."""
    done = subprocess.run([f"./{name}"], env={**os.environ, "TUTTI_NODES": "2,1"}, stdin=subprocess.DEVNULL,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 1 or "TUTTI_NODES" not in done.stdout:
        raise Fault(block, f"where tutti_init fails, {name} ends with {done.returncode} and prints:\n{done.stdout}")


def run_program(block):
    name = block.program()
    save(block, f"{name}.c", block.text())
    if "<mpi.h>" in block.text():
        run_with_mpi(block, name)
        return
    do(block, build(compiler(), name))
    do(block, f"./{name} && tutti run -n 4 ./{name}")
    fail_to_join(block, name)


def run_python(block):
    with open("program.py", "w", encoding="utf-8") as file:
        file.write(block.text())
    do(block, "python3 program.py && tutti run -n 4 python3 program.py")


def run_commands(block):
    """Runs the commands as one script, without those whose launcher this machine lacks."""
    commands = [line for line in block.commands() if not is_optional(line) or shutil.which(first_word(line))]
    do(block, "set -x\n" + "\n".join(commands))


def compare(block, command):
    """Checks that the command prints the block. A line of three dots stands for any lines, and the
    block may add comments to lines."""
    said = "\n".join(line.rstrip() for line in do(block, command).splitlines())
    shown = "\n".join(re.sub(r"(?<=\S)\s{2,}# .*", "", line).rstrip() for line in block.lines)
    pattern = "\n".join(r"(?:.*\n)*?.*" if line.strip() == "..." else re.escape(line) for line in shown.split("\n"))
    if not re.fullmatch(pattern, said):
        raise Fault(block, f"{command} does not print this, but:\n{said}")


def run(block):
    if block.language == "text" and not block.said("printed by") or block.said("not run"):
        return False
    if block.said("printed by"):
        compare(block, block.said("printed by")[0])
    elif block.language == "c":
        (run_program if block.has_main() else compile_fragment)(block)
    elif block.language == "python":
        run_python(block)
    else:
        run_commands(block)
    return True


def environment(prefix):
    """Sets the environment that a reader has after an installation. Open MPI is allowed to start
    more ranks than there are processors, also as root."""
    library = subprocess.run(["find", prefix, "-name", "libtutti.so"], check=True, text=True, stdout=subprocess.PIPE)
    library = os.path.dirname(library.stdout.split("\n")[0])
    os.environ.update({"PATH": f"{prefix}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": library,
                       "PKG_CONFIG_PATH": f"{library}/pkgconfig", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"})


def prepare(folder, build):
    """Provides what the documents assume: an installation, a program, a file with host names, files
    to read, and a cache folder without a model or wisdom."""
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    subprocess.run(["cmake", "--install", build, "--prefix", f"{folder}/prefix"], check=True, stdout=subprocess.DEVNULL)
    environment(f"{folder}/prefix")
    os.mkdir(f"{folder}/here")
    os.chdir(f"{folder}/here")
    for name in ("app", "program"):
        shutil.copy(f"{build}/bin/hello", name)
    for name in ("README.md", "examples"):
        os.symlink(f"{os.environ['TUTTI_SOURCE']}/{name}", name)
    with open("machines", "w", encoding="utf-8") as file:
        file.write("localhost slots=8\n")


def run_documents(names):
    """Runs programs before commands, because a document may use a program before it shows it."""
    build = os.path.abspath(os.environ["TUTTI_BUILD"])
    names = [os.path.abspath(name) for name in names]
    for name in names:
        found = sorted(blocks(name), key=lambda block: not (block.language == "c" and block.has_main()))
        with tempfile.TemporaryDirectory() as folder:
            prepare(folder, build)
            for block in found:
                check(block)
            print(f"{name}: {sum(map(run, found))} of {len(found)} blocks were run")
            os.chdir("/")


def main(arguments):
    options = [a for a in arguments if a.startswith("--")]
    names = [a for a in arguments if not a.startswith("--")]
    if options == ["--program"]:
        programs = [b for b in blocks(names[0]) if b.language == "c" and b.has_main()]
        print(programs[0].text(), end="")
    elif options == ["--check"]:
        for block in (block for name in names for block in blocks(name)):
            check(block)
    else:
        run_documents(names)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Fault as fault:
        sys.exit(str(fault))
