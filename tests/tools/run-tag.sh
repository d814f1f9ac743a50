#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti run --tag`: the output consists of whole lines, each tagged with its rank, however the
# ranks write.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# Eight ranks write lines in pieces at the same time: the lines of each rank stay whole and in
# order.
expect 0 tutti run -n 8 --tag "$rank" chatter
[ "$(lines out)" -eq 16000 ] || fail 'lines are lost or broken'
[ "$(lines out '^\[([0-7])\] line [0-9]+ of rank \1 end$')" -eq 16000 ] || fail 'lines are mixed'
[ "$(lines err '^\[([0-7])\] error [0-9]+ of rank \1 end$')" -eq 1600 ] || fail 'stderr is mixed'
[ "$(lines err)" -eq 1600 ] || fail 'stderr has more'
for i in 0 7; do
    grep "^\[$i\]" out | diff -q - <(seq 0 1999 | sed "s/.*/[$i] line & of rank $i end/") || fail 'order'
done

# An incomplete last line is completed; empty lines and NUL bytes are kept; no output gives no
# output.
expect 0 tutti run -n 2 --tag sh -c 'printf "a\n\nb\\000c\nlast"'
tr '\0' 0 <out | sort | diff - <(printf '[%d] %s\n' 0 '' 0 a 0 b0c 0 last 1 '' 1 a 1 b0c 1 last | sort)
expect 0 tutti run -n 4 --tag true
[ ! -s out ] || fail 'output of nothing'

# A line that is longer than pipes and buffers stays whole.
expect 0 tutti run -n 2 --tag python3 -c 'print("x" * 700000)'
[ "$(awk '{ print length }' out | sort -u)" = 700004 ] || fail 'a long line is broken'
# A line without end is broken into several, so that memory is bounded.
expect 0 tutti run -n 1 --tag python3 -c 'print("x" * 5000000)'
[ "$(tr -d -c x <out | wc -c)" -eq 5000000 ] || fail 'bytes are lost'
[ "$(lines out)" -gt 2 ] || fail 'a line without end is not broken'

# If the reader of the output ends, the ranks end as they would without --tag.
bash -c 'set -o pipefail; tutti run -n 2 --tag --timeout 3000 sh -c "while echo y; do :; done" 2>/dev/null | head -n 1' >out &&
    fail 'ranks without a reader exited with 0'
says out '^\[[01]\] y$'

# If the output cannot be written, for example to a full disk, the job fails and says why, although
# the ranks themselves have noticed nothing.
cannot_write() {
    says err '^tutti: cannot write the output of the ranks: No space left on device$'
    [ "$(lines err 'cannot write')" -eq 1 ] || fail 'the reason is given several times'
}
expect 125 bash -c 'exec tutti run -n 2 --tag sh -c "echo y" >/dev/full'
cannot_write
expect 3 bash -c 'exec tutti run -n 2 --tag sh -c "echo y; exit 3" >/dev/full'
cannot_write
expect 125 bash -c 'tutti run -n 2 --tag sh -c "echo y >&2" 2>/dev/full'

# A reader that does not read delays the output, but not the end of the job.
mkfifo pipe
exec 7<>pipe
expect 124 bash -c 'exec tutti run -n 2 --tag --timeout 1 sh -c "while echo y; do :; done" >pipe'
exec 7<&-
