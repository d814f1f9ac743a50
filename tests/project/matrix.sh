#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# matrix.sh PRESET: builds the project with the preset, beside the build that runs this test, and
# runs its tests except those labelled `once`, which do not depend on how the code was compiled. For
# the thread sanitizer only the tests labelled `threads` run, because it sees what threads share and
# not what processes share. For libFuzzer only the fuzzed parsers run.
set -euo pipefail

preset=$1
build=$(dirname "$TUTTI_BUILD")/$preset
select=(-LE '^(project|once)$')
target=all
run=()
case $preset in
fuzz)
    select+=(-L fuzz)
    target=fuzzers
    ;;&
tsan) select+=(-L threads) ;;&
asan | fuzz | tsan)
    # Sanitizers need fixed places for their shadow memory, which may be occupied in a randomised
    # address space.
    if setarch -R true 2>/dev/null; then run=(setarch -R); fi
    ;;
esac

unset CC CMAKE_GENERATOR
cd "$TUTTI_SOURCE"
cmake --preset "$preset" -B "$build" >/dev/null
cmake --build "$build" --target "$target" -- --quiet

# Prints nothing about tests that passed, and everything about tests that failed or were skipped.
said=$build/matrix.log status=0
"${run[@]}" ctest --test-dir "$build" -j $(($(nproc) + 2)) --output-on-failure --no-tests=error \
    --no-label-summary "${select[@]}" >"$said" 2>&1 || status=$?
grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed )' "$said"
exit "$status"
