#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A real run of two ranks is traced and drawn. After an error a message says what is wrong, and
# nothing is drawn.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
overlap=("$TUTTI_SOURCE/bench/bench" overlap --build "$TUTTI_BUILD")

"${overlap[@]}" --problem allreduce/f64/sum/256K/p2 --svg "$work/drawn.svg" >"$work/out"
grep -qE '^execution [0-9]+: .* both at once in [0-9]+ %' "$work/out"
python3 - "$work/drawn.svg" <<'PYTHON'
import sys, xml.etree.ElementTree as xml
root = xml.parse(sys.argv[1]).getroot()
boxes = {box.get("fill") for box in root.iter("{http://www.w3.org/2000/svg}rect")}
assert {"#4477aa", "#ee6677"} <= boxes, boxes
PYTHON

refused() { # refused TEXT ARGUMENT...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${overlap[@]}" --svg "$work/none.svg" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out" ||
        [ -e "$work/none.svg" ]; then
        echo "overlap $*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
refused 'overlap: no trace: tutti bench exited with 2' --problem nonsense
refused "overlap: cannot run $work/bin/tutti: No such file" --build "$work"
refused "overlap: cannot write $work/none/x: No such file or directory" --svg "$work/none/x"
echo 'overlap: drawn, and errors in words'
