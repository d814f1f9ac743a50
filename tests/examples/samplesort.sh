#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# samplesort writes what LC_ALL=C sort writes, byte for byte: for real text, and for every shape of
# input that could be divided, sampled or compared wrongly, on fewer and on more ranks than the
# input has lines.
# shellcheck source=tests/examples/samplesort-util.sh
source "$(dirname "$0")/samplesort-util.sh"

mkdir data
"$TUTTI_SOURCE/scripts/demo-data.sh" data

make_files() {
    perl -e 'print "every line is this one\n" x 30000' >equal
    perl -e 'print "x" x 5_000_000' >huge
    perl -e 'print "b\na\n", "m" x 3_000_000, "\nz\nc\n", "m" x 3_000_000, "\n", "m" x 2_999_999, "l"' >huge-among-small
    # Lines that are longer than a sample may be, and equal up to that length.
    perl -e 'print "p" x 5000, 7 * $_ % 101, "\n" for 1 .. 300' >long-alike
    printf 'b\nc\na' >no-newline
    printf 'z\n' >newline
    printf 'x' >one-byte
    printf '\n' >one-newline
    printf '\n\n\n\n\n' >newlines
    printf '' >empty
    printf 'b\0\na\0b\na\0a\na\n\0\n\n\0\0\nb' >nul
    # Lines and their prefixes, some ending in zero bytes, with lengths around every multiple of 7
    # and 8.
    perl -e 'for $n (0 .. 40) { print "a" x $n, "\0" x $_, "\n" for (2, 0, 1) }' >prefixes
    perl -e 'srand 1; print map { chr int rand 256 } 1 .. 100_000' >any-bytes
    perl -e 'printf "%07d\n", $_ for reverse 1 .. 20000' >falling
    perl -e 'printf "%07d\n", $_ for 1 .. 20000' >rising
}
make_files

ranks=(1 2 3 4 7) seeds=12
[ -z "$TUTTI_TEST_BRIEF" ] || ranks=(1 3 4) seeds=6
for n in "${ranks[@]}"; do
    compare "$n" data/docs.txt data/licences.txt
    compare "$n" equal
    compare "$n" huge
    compare "$n" huge-among-small
    compare "$n" long-alike
    compare "$n" nul prefixes any-bytes
    compare "$n" falling rising
    compare "$n" no-newline newline one-byte no-newline empty one-newline
    compare "$n" newlines
    compare "$n" one-byte
    compare "$n" empty
    compare "$n" empty empty newline empty
done

# With small alphabets every short line occurs, and the boundaries between ranks fall at all kinds
# of places.
for seed in $(seq $seeds); do
    SEED=$seed perl -e 'srand $ENV{SEED}; @of = ("\n", "\0", "a", "\xff"); print map { $of[rand @of] } 1 .. rand 300' >small-a
    SEED=$seed perl -e 'srand 99 + $ENV{SEED}; @of = ("\n", "a", "b"); print map { $of[rand @of] } 1 .. rand 60' >small-b
    compare $((2 + seed % 6)) small-a small-b small-a
done

# The output may be one of the inputs. Without a launcher the program is a job of one rank.
cp data/licences.txt itself
LC_ALL=C sort itself newline >expected
sorted 3 -o itself itself newline
cmp itself expected || die 'differs from sort when the output is an input'
samplesort -q data/licences.txt | cmp - <(LC_ALL=C sort data/licences.txt) || die 'differs without a launcher'

# The ranks generate the same lines, however many ranks there are.
for n in 1 3 4; do sorted $n --size 5000 -o "drawn-$n"; done
[ "$(LC_ALL=C sort -uc drawn-1 && wc -lc <drawn-1 | xargs)" = '5000 85000' ] || die 'not 5000 lines'
for n in 3 4; do cmp drawn-1 drawn-$n || die "other lines on $n ranks"; done

# Equal lines are distributed over the ranks like any others.
tutti run -n 4 -- samplesort -o out equal 2>said
share=$(sed -n 's/.*over the mean: \([0-9.]*\) of the lines.*/\1/p' said)
[ -n "$share" ] || die "no summary: $(cat said)"
perl -e 'exit !($ARGV[0] >= 1 && $ARGV[0] < 1.3)' "$share" || die "equal lines: one rank has $share times the mean"

# The program prints its progress on a terminal, and only there.
command -v script >/dev/null || die 'script(1) is missing (Debian package: bsdutils)'
script -qec 'tutti run -n 2 -- samplesort -o out data/docs.txt' /dev/null </dev/null >said
grep -q '] reading [0-9]* %' said || die "no progress line on a terminal: $(cat said)"
tutti run -n 2 -- samplesort -o out data/docs.txt 2>said
if grep -q 'reading' said; then die 'a progress line, and no terminal'; fi
sorted 2 -o out data/docs.txt 2>said
[ ! -s said ] || die "not quiet: $(cat said)"
