#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The complete demonstration: sets up, builds, and sorts real text with four processes of
# examples/samplesort. Then compares the result with that of sort(1), byte for byte. TUTTI_BUILD
# names a finished build to use instead.
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bin=${TUTTI_BUILD:-build/release}/bin
if [ -z "${TUTTI_BUILD:-}" ]; then
    scripts/setup.sh demo
    echo 'demo: building'
    # A newer compiler may warn of what the project's compilers accept.
    { cmake --preset release -D CMAKE_COMPILE_WARNING_AS_ERROR=OFF &&
        cmake --build --preset release --target tutti_command samplesort; } >"$work/log" 2>&1 || {
        cat "$work/log"
        echo 'demo: the build failed (its words are above)' >&2
        exit 1
    }
fi

scripts/demo-data.sh build/demo
data=(build/demo/*.txt)
lines=$(cat "${data[@]}" | wc -l)
echo "demo: sorting the $lines lines of ${data[*]} on 4 processes:"
echo "demo: \$ tutti run -n 4 samplesort ${data[*]}"
"$bin/tutti" run -n 4 -- "$bin/samplesort" "${data[@]}" >"$work/tutti"
LC_ALL=C sort "${data[@]}" >"$work/sort"

echo "demo: some lines of the result, from its second half:"
sed -n "$((lines * 5 / 9))p;$((lines * 6 / 9))p;$((lines * 7 / 9))p;$((lines * 8 / 9))p" "$work/tutti" |
    cut -c 1-100 | sed 's/^/    /'
if ! cmp "$work/tutti" "$work/sort"; then
    echo 'demo: the result is NOT that of LC_ALL=C sort' >&2
    exit 1
fi
echo "demo: the result is, byte for byte, that of LC_ALL=C sort: $(wc -c <"$work/tutti") bytes"
