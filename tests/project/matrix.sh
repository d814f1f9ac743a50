#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the project as preset $1 says, beside the build that runs this, and runs its tests but for
# those labelled `once`, which are about other things than the code that is built. For the thread
# sanitizer those labelled `threads`: it sees what threads share, not what processes share. For
# libFuzzer the fuzzed parsers alone.
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
    # The sanitizers' shadow has fixed places, which a randomised address space may already use.
    if setarch -R true 2>/dev/null; then run=(setarch -R); fi
    ;;
esac

unset CC CMAKE_GENERATOR
cd "$TUTTI_SOURCE"
cmake --preset "$preset" -B "$build" >/dev/null
cmake --build "$build" --target "$target" -- --quiet

# Of a hundred tests that passed nobody wants to read; of one that failed or was skipped,
# everything.
said=$build/matrix.log status=0
"${run[@]}" ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error \
    --no-label-summary "${select[@]}" >"$said" 2>&1 || status=$?
grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed )' "$said"
exit "$status"
