#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fuzz.sh PARSER [SECONDS]: gives the parser all inputs that are stored in its corpus. A build with
# libFuzzer then tries new inputs for SECONDS. An input at which the parser fails is kept in the
# build folder, and the script prints how to run it again.
set -euo pipefail

name=$1 seconds=${2:-0}
here=$TUTTI_SOURCE/tests/fuzz
fuzzer=$TUTTI_BUILD/tests/fuzz-$name
work=$TUTTI_BUILD/fuzz/$name
corpus=$work/corpus
seed=${FUZZ_SEED:-$RANDOM}

rm -rf "$work"
mkdir -p "$corpus" "$work/new"
python3 "$here/corpus.py" unpack "$here/$name.corpus" "$corpus"
echo "fuzz-$name: $(find "$corpus" -type f | wc -l) inputs kept"

failed() {
    echo "fuzz-$name: FAILED. Inputs at which it did, if any, are in $work:" >&2
    find "$work" -maxdepth 1 -type f >&2
    echo "Again: $fuzzer INPUT; with the same seed: FUZZ_SEED=$seed ctest --test-dir $TUTTI_BUILD -R fuzz-$name" >&2
    exit 1
}

if [ "$seconds" -eq 0 ]; then
    # After a failure, runs the inputs one at a time to find the one that fails.
    find "$corpus" -type f -print0 | xargs -0 "$fuzzer" && exit 0
    for input in "$corpus"/*; do "$fuzzer" "$input" >/dev/null 2>&1 || cp "$input" "$work"; done
    failed
fi

bounds=(-timeout=10 -rss_limit_mb=2048 "-artifact_prefix=$work/")
"$fuzzer" "${bounds[@]}" -runs=0 "$corpus" || failed
echo "fuzz-$name: seed $seed"
"$fuzzer" "${bounds[@]}" -seed="$seed" -max_total_time="$seconds" -dict="$here/$name.dict" -max_len=3000 \
    -print_final_stats=1 "$work/new" "$corpus" || failed
