#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# matrix.sh PRESET build: builds the project with the preset, beside the build that runs this test
# and at the lowest priority.
#
# matrix.sh PRESET test: runs the tests of this build except those labelled `once`, which do not
# depend on how the code was compiled. For clang also the tests of the programs and of failures are
# left out: gcc's optimised code and clang's code under the address sanitizer pass them. For the
# thread sanitizer only the tests labelled `threads` run, because it sees what threads share and not
# what processes share. For libFuzzer only the fuzzed parsers run.
set -euo pipefail

preset=$1 what=$2
build=$(dirname "$TUTTI_BUILD")/$preset
leave='project|once'
select=()
target=all
run=()
case $preset in
fuzz)
    select+=(-L fuzz)
    target=fuzzers
    ;;&
clang) leave+='|bench|draw|examples|tools|trouble' ;;
tsan) select+=(-L threads) ;;&
asan | fuzz | tsan)
    # Sanitizers need fixed places for their shadow memory, which may be occupied in a randomised
    # address space.
    if setarch -R true 2>/dev/null; then run=(setarch -R); fi
    ;;
esac

unset CC CMAKE_GENERATOR
cd "$TUTTI_SOURCE"
if [ "$what" = build ]; then
    cmake --preset "$preset" -B "$build" >/dev/null
    exec nice -n 19 cmake --build "$build" --target "$target" --parallel "$(nproc)" -- --quiet
fi

# Prints nothing about tests that passed, and everything about tests that failed or were skipped.
said=$build/matrix.log status=0
"${run[@]}" ctest --test-dir "$build" -j $(($(nproc) + 2)) --output-on-failure --no-tests=error \
    --no-label-summary -LE "^($leave)\$" "${select[@]}" >"$said" 2>&1 || status=$?
grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed )' "$said"
exit "$status"
