#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The driver of MPI test suites reports a test that fails only with Tutti, and no test that also
# fails without Tutti, always or sometimes. It reads from the output of each suite which parts of a
# test failed. Then it runs a test of MUMPS, if that package is installed.
set -euo pipefail
skip() {
    echo "skipped: $*"
    exit 77
}
[ -e "$TUTTI_BUILD/lib/libtutti_mpi.so" ] || skip 'there is no libtutti_mpi.so'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/judges.py" <<'PYTHON'
from harness import process, trial
from suites import mpi4py, mpich, mumps, scalapack

def judged(judge, out="", err="", failure=None):
    return judge(process.Result(out.splitlines(), err.splitlines(), failure, 1.0))

assert not judged(mpich.judge(None), " No Errors\n", "Note: The following floating-point exceptions are signalling: X\n")
assert "did not print" in judged(mpich.judge(None))[trial.WHOLE]
assert "'tutti: x'" in judged(mpich.judge(None), " No Errors\n", "tutti: x\n")[trial.WHOLE]
assert "signal 9" in judged(mpich.judge(None), " No Errors\n", failure="died of signal 9")[trial.WHOLE]
assert not judged(mpich.judge("TestErrFatal"), "fatal\n", failure="ended with exit code 3")
assert judged(mpich.judge("TestErrFatal"), " No Errors\n")

table = "WALL 17 13 2 0.01 7.4 PASSED\nWALL 17 13 4 0.02 9.7 {}\n {} tests completed and failed residual checks.\n"
assert not judged(scalapack.judge, table.format("PASSED", 0))
assert set(judged(scalapack.judge, table.format("FAILED", 1))) == {
    "WALL 17 13 4 FAILED", "1 tests completed and failed residual checks."}
assert judged(scalapack.judge, "nothing\n") == {trial.WHOLE: "no check passed"}
pblas = "     SUBROUTINE  TOTAL TESTS  PASSED   FAILED  SKIPPED\n  |  PDGER            16        {}        {}       0\n"
assert not judged(scalapack.judge, pblas.format(16, 0)) and judged(scalapack.judge, pblas.format(15, 1))
blacs = "REAL SUM TESTS: 9 TESTS; 9 PASSED, 0 FAILED.\n" + scalapack.ABORTS + "\n"
assert not judged(scalapack.judge, blacs, failure="ended with exit code 255")
assert "did not end the ranks" in judged(scalapack.judge, blacs)[trial.WHOLE]

real = "  Solution is   0.99999999999999878        2.0000000000000004  3.0  3.9999999999999996  4.99999999999\n"
assert not judged(mumps.judge, real)
assert "wrong" in judged(mumps.judge, real.replace("3.9", "3.8"))[trial.WHOLE]
assert not judged(mumps.judge, "  Solution is (1.00000060,0.0) (2.00000048,0.0) (3.0,0.0) (4.0,0.0) (4.99999905,0.0)\n")

cases = "ERROR: testA (__main__.TestX)\nFAIL: testB (__main__.TestX)\nRan 3 tests in 0.1s\n"
assert set(judged(mpi4py.judge, "", cases, "ended with exit code 1")) == {"testA (__main__.TestX)", "testB (__main__.TestX)"}
assert not judged(mpi4py.judge, "", "Ran 3 tests in 0.1s\nOK\n")
assert trial.WHOLE in judged(mpi4py.judge, "", "Segmentation fault\n", "died of signal 11")
PYTHON

# These tests need no MPI: a shell script is the program under test. It knows from LD_PRELOAD
# whether it runs with Tutti.
cat >"$work/trials.py" <<'PYTHON'
import os, sys
from commands import mpi_suites
from harness import process, trial, under

build, folder = sys.argv[1:]
process.become_reaper()
# The driver passes -n and the number of ranks to a launcher. This one drops both, and runs the
# program.
under.LAUNCHERS["none"] = ["sh", "-c", "shift 2; exec \"$@\"", "launcher"]
started = under.Under(build)
WITH = "case $LD_PRELOAD in *libtutti_mpi.so) {} ;; *) {} ;; esac"

def judge(result):
    return trial.status(result) or {line: "said" for line in result.lines}

def tried(script, limit=20.0, repeats=3):
    words = ["env", "sh", "-c", script]
    test = trial.Test("own", "test", "none", 1, words, folder, limit, judge)
    one = trial.Trial(test, "on")
    one.run(started, repeats)
    return one

passes = tried("true")
assert not passes.broken() and len(passes.without) == len(passes.with_tutti) == 1
both = tried("exit 3")
assert not both.broken() and both.without[0].failed and mpi_suites.words_of(both.without) == "failed"
only = tried(WITH.format("exit 3", "true"))
assert "exit code 3" in only.broken()[trial.WHOLE] and len(only.without) == 3, only.broken()
better = tried(WITH.format("true", "exit 3"))
assert not better.broken() and better.without[0].failed and not better.with_tutti[0].failed
parts = tried("echo known; " + WITH.format("echo new", ":"))
assert list(parts.broken()) == ["new"], parts.broken()
flag = os.path.join(folder, "flag")
flaky = tried(WITH.format("exit 3", f"test -e {flag} && exit 3; touch {flag}"))
assert not flaky.broken() and mpi_suites.words_of(flaky.without) == "failed 1 of 2 times", flaky.document()
hangs = tried(WITH.format("sleep 1000", "true"), limit=0.5, repeats=1)
assert "did not end" in hangs.broken()[trial.WHOLE]
assert not process.descendants()

lines, faults = mpi_suites.summary([passes, both, only], [("f90", "none", "no package")])
assert faults == ["own test over none"] and "- f90 over none is left out: no package" in lines, lines
assert "| own | none | 3 | 2 | 1 | 1 | not reported |" in lines, lines
mpi_suites.EXCEPTIONS.append(("own", "none", "te.*", "for a reason"))
lines, faults = mpi_suites.summary([only], [])
assert not faults and any(line.endswith("(an exception: for a reason)") for line in lines), lines
PYTHON
export PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$TUTTI_SOURCE/bench python3 "$work/judges.py"
PYTHONPATH=$TUTTI_SOURCE/bench python3 "$work/trials.py" "$TUTTI_BUILD" "$work"

suites=("$TUTTI_SOURCE/bench/bench" mpi-suites --build "$TUTTI_BUILD" --cache "$work/cache" --no-fetch --mode count)
grep -q -- '--only REGEX' <<<"$("${suites[@]}" --help)"
refused() { # refused TEXT OPTION...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${suites[@]}" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -ne "${expected:-1}" ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out"; then
        echo "$*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
expected=2 refused "'colls' is none of coll, comm" --suite colls
refused 'there is nothing to run' --suite mumps --host mpich
refused 'coll over openmpi is left out: ' --suite coll --host openmpi

dpkg-query -W -f '${db:Status-Status}' mumps-test 2>/dev/null | grep -q '^installed' || skip 'no mumps-test'
"${suites[@]}" --suite mumps --host openmpi --only '^dsimpletest 2' --json "$work/all.json" >"$work/out"
grep -qE '^mumps dsimpletest 2 over openmpi: without passed, with passed \(' "$work/out"
grep -qx -- '- No test passes without Tutti and fails with it.' "$work/out"
python3 -c 'import json, sys; one, = json.load(open(sys.argv[1]))["tests"]; assert not one["broken"], one' "$work/all.json"
