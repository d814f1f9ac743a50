#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# matrix.sh PRESET build: builds what the tests of the preset need, beside the build that runs this
# test and at the lowest priority.
#
# matrix.sh PRESET test: runs the tests of this build except those labelled `project` or `once`,
# which do not depend on how the code was compiled.
#
# For clang only the areas run in which the result depends on how a compiler optimises: calculation,
# copies, signals between ranks, and bits that must be the same. The other areas (plans, proofs,
# simulated times, errors and reports), run-oracle, run-forward and run-missing are left out: the
# tests of the address sanitizer run them, and clang optimises that build, too.
#
# For the thread sanitizer only the tests labelled `threads` run, because it sees what threads share
# and not what processes share.
set -euo pipefail

preset=$1 what=$2
build=$(dirname "$TUTTI_BUILD")/$preset
# The targets tests-AREA build the programs of the tests in a folder.
targets=(all)
leave='project|once'
select=()
run=()
case $preset in
clang)
    targets=(tutti_command tutti_lab_shared tools-rank tests-{base,job,mpi,msg,run,type})
    select=(-R '^(base|job|msg|run|type|mpi-symbols|mpi-static)' -E '^run-(forward|missing|oracle)$')
    leave+='|tools'
    ;;
tsan)
    targets=(tutti_command tutti_lab_shared tests-{api,choose,draw,hosts,job,msg,recover,run,tools,trouble})
    select=(-L threads)
    ;;
esac
if [ "$preset" != clang ] && setarch -R true 2>/dev/null; then
    # Sanitizers need fixed places for their shadow memory, which may be occupied in a randomised
    # address space.
    run=(setarch -R)
fi

unset CC CMAKE_GENERATOR
cd "$TUTTI_SOURCE"
if [ "$what" = build ]; then
    cmake --preset "$preset" -B "$build" >/dev/null
    exec nice -n 19 cmake --build "$build" --target "${targets[@]}" --parallel "$(nproc)" -- --quiet
fi

# Prints nothing about tests that passed, and everything about tests that failed or were skipped.
said=$build/matrix.log status=0
"${run[@]}" ctest --test-dir "$build" -j $(($(nproc) + 2)) --output-on-failure --no-tests=error \
    --no-label-summary -LE "^($leave)\$" "${select[@]}" >"$said" 2>&1 || status=$?
grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed )' "$said"
exit "$status"
