#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A program under a launcher with PMIx, where the PMIx library is missing, too old, incomplete,
# another library, cannot reach its server, or was missing when Tutti was built. The program must
# print one line that says so and what to do. What this line says still works must work.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
tests=$TUTTI_BUILD/tests
hello=$TUTTI_BUILD/bin/hello
unset "${!PMIX_@}" "${!SLURM_@}" TUTTI_PMIX
# The PMIx library keeps some memory until the end, which is not a leak of Tutti.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

# launched COMMAND...: runs the command in the environment of a launcher whose server is gone.
launched() {
    env PMIX_NAMESPACE=none PMIX_RANK=0 PMIX_SERVER_URI41='none.0;tcp4://127.0.0.1:1' "$@"
}
one_line() {
    [ "$(lines err)" -eq 1 ] || fail 'more than a line, or none'
}

# refused LIBRARY PATTERN...: runs a program with this file as the PMIx library; expects these
# messages.
refused() {
    local library=$1 pattern
    shift
    TUTTI_PMIX=$library expect 1 launched "$hello"
    one_line
    for pattern in "$@"; do says err "$pattern"; done
    # `tutti run` works, and so do the ranks that it starts.
    TUTTI_PMIX=$library expect 0 launched tutti run -n 2 "$hello"
    [ "$(lines out '^rank [01] of 2: the sum of all ranks is 1$')" -eq 2 ] || fail "tutti run without $library"
    # A program that no launcher with PMIx has started does not look for the library.
    TUTTI_PMIX=$library expect 0 "$hello"
    says out '^rank 0 of 1: '
    [ "$(lines err)" -eq 0 ] || fail 'something is said where no launcher is'
}
without() {
    refused "$@" 'so ranks started by mpirun, prun or srun cannot meet' '.tutti run. works without it' 'TUTTI_PMIX=0 '
    TUTTI_PMIX=$1 expect 0 tutti info
    says out '^  PMIx  *not here: '
    TUTTI_PMIX=$1 expect 0 tutti info --json # with --json the texts are not folded
    shift
    says out "$1"
}

expect 0 launched env TUTTI_PMIX=0 "$hello"
says out '^rank 0 of 1: the sum of all ranks is 0$'

expect 1 "$tests/hosts-without"
says out 'built without PMIx \(Debian: libpmix-dev\), so ranks started by mpirun, prun or srun cannot meet'
says out '.tutti run. works, and TUTTI_PMIX=0 makes each process a job of one$'

# A program with a static C library cannot load PMIx. Sanitizers have no static libraries.
read -ra link <<<"-static -I $TUTTI_SOURCE/include -I $TUTTI_SOURCE/examples $TUTTI_SOURCE/examples/hello.c $TUTTI_BUILD/lib/libtutti.a -lm"
if [ -z "$TUTTI_SANITIZE" ] && "$CC" -o static "${link[@]}" 2>/dev/null; then
    expect 1 launched ./static
    says err 'cannot be loaded \(the program has a static C library.*\), so ranks started by|was built without PMIx'
    expect 0 launched tutti run -n 2 ./static
    [ "$(lines out '^rank [01] of 2: the sum of all ranks is 1$')" -eq 2 ] || fail 'tutti run, static'
else
    echo 'not tried: a program with a static C library cannot be linked here'
fi

if ! grep -q 'PMIx.*built without' <<<"$(tutti info)"; then
    without /nowhere/libpmix.so.2 'PMIx cannot be loaded \(/nowhere/libpmix.so.2: .*No such file' 'Debian: libpmix2'
    without "$tests/libhosts-stub-old.so" "PMIx's library is too old \(OpenPMIx 2\.2\.5" 'of version 3 or later'
    without "$tests/libhosts-stub-part.so" 'too old, or not PMIx.s \(it has no PMIx_Init\)'
    without libm.so.6 'too old, or not PMIx.s \(it has no PMIx_Init\)'
    refused "$tests/libhosts-stub-deaf.so" 'cannot be reached \(UNREACHABLE\)' 'TUTTI_PMIX=0 makes this process a job of one$'
fi
if grep -q '^  PMIx  *there' <<<"$(tutti info)"; then
    # PMIx may print lines of its own in addition.
    expect 1 launched "$hello"
    says err '^hello: .*the PMIx server that the environment names cannot be reached \(.*\); TUTTI_PMIX=0 makes'
fi
