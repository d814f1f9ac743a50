#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# transpose writes the transposed table, for any number of ranks up to the number of rows, and
# transposing twice gives the table itself. After any error all ranks end with exit status 2 and one
# message that names the cause, and no file is created or changed.
set -euo pipefail

rates=$TUTTI_SOURCE/examples/transpose/rates.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

die() {
    echo "transpose: $*" >&2
    exit 1
}

transposed() { tutti run -n "$1" -- transpose "$2" "$3"; }

# reference: transposes the table by awk, which knows no ranks or blocks.
reference() {
    awk '{ for (j = 1; j <= NF; j++) at[j, NR] = $j }
         END { for (j = 1; j <= NR; j++)
                   for (i = 1; i <= NR; i++) printf "%s%s", at[j, i], i < NR ? "\t" : "\n" }' "$1"
}

# compare N TABLE: compares the result on N ranks with the reference. The fields of the table are
# separated by tabs.
compare() {
    reference "$2" >expected
    rm -f once twice
    transposed "$1" "$2" once || die "failed on $1 ranks: $2"
    cmp once expected || die "not the transpose on $1 ranks: $2"
    transposed "$1" once twice || die "failed on $1 ranks for the transpose of $2"
    cmp twice "$2" || die "twice is not the table on $1 ranks: $2"
}

# Prints the table that the conversion rates give (Regulation (EC) No 2866/98 and later). The table
# in the source tree must be the same.
rates_again() {
    awk 'BEGIN {
        n = split("ATS 13.7603 BEF 40.3399 DEM 1.95583 ESP 166.386 FIM 5.94573 FRF 6.55957 " \
                  "IEP 0.787564 ITL 1936.27 LUF 40.3399 NLG 2.20371 PTE 200.482 GRD 340.750 " \
                  "SIT 239.640 CYP 0.585274 MTL 0.429300 SKK 30.1260", of) / 2
        printf "1"
        for (j = 1; j <= n; j++) printf "\t%s", of[2 * j - 1]
        print ""
        for (i = 1; i <= n; i++) {
            printf "%s", of[2 * i - 1]
            for (j = 1; j <= n; j++) printf "\t%.6g", of[2 * j] / of[2 * i]
            print ""
        }
    }'
}
rates_again | cmp - "$rates" || die 'rates.txt is not what the conversion rates give'

for n in 1 2 3 4 5 8 17; do
    compare $n "$rates"
done
if cmp -s once "$rates"; then die 'the table is its own transpose, and shows nothing'; fi

awk 'BEGIN { for (i = 0; i < 300; i++)
                 for (j = 0; j < 300; j++)
                     printf "%s%s", (i * 300 + j) * 7919 % 90001, j < 299 ? "\t" : "\n" }' >large
compare 7 large
awk 'BEGIN { for (i = 0; i < 9; i++)
                 for (j = 0; j < 9; j++) {
                     text = sprintf("%d.%d", i, j)
                     while (length(text) < 63) text = text "+"
                     printf "%s%s", text, j < 8 ? "\t" : "\n"
                 } }' >longest
compare 4 longest
printf 'one\n' >one
compare 1 one

# A table with other blanks, with line ends of another system, and without one at the end. The
# output may be the input.
printf '  a b\t\tc \r\nd e f\r\n\tg\t h i' >loose
printf 'a\td\tg\nb\te\th\nc\tf\ti\n' >expected
transposed 2 loose loose
cmp loose expected || die 'other blanks, or the output in place of the input'
transpose "$rates" once
reference "$rates" | cmp - once || die 'without a launcher'

# A table that the ranks generate is the same on any number of ranks. On a terminal there is a
# progress bar.
for n in 1 3 7; do
    tutti run -n $n -- transpose --size 7 made
    seq 0 48 | paste - - - - - - - | reference - | cmp - made || die "--size 7 on $n ranks"
done
command -v script >/dev/null || die 'script(1) is missing (Debian package: bsdutils)'
script -qec 'tutti run -n 2 -- transpose --size 300 made' /dev/null </dev/null >said
grep -q '\[.*\] printing [0-9]* %' said || die "no progress bar on a terminal: $(cat said)"
tutti run -n 2 -- transpose --size 300 made >said 2>&1
[ ! -s said ] || die "not quiet: $(cat said)"

# refused MESSAGE N ARG...: expects that the message is printed once on N ranks, and nothing is
# written.
refused() {
    local status=0
    tutti run -n "$2" -- transpose "${@:3}" >said 2>&1 </dev/null || status=$?
    [ $status -eq 2 ] || die "exit status $status, not 2, for ${*:2}: $(cat said)"
    [ "$(grep -c '^transpose:' said)" -eq 1 ] || die "not one message for ${*:2}: $(cat said)"
    grep -qxF -- "transpose: $1" said || die "expected '$1' for ${*:2}: $(cat said)"
}

mkdir wrong
cd wrong
head -n 16 "$rates" >short
{ cat "$rates" && echo more; } >long
awk 'NR == 11 { $0 = $0 "\textra" } NR > 12 { sub(/\t[^\t]*$/, "") } 1' "$rates" >ragged
awk 'NR == 6 { $0 = "lone" } 1' "$rates" >lone
: >empty
printf '\na\n' >hollow
printf 'a\tb\tc\na\tb\tc\na\t%064d\tc\n' 0 >wide
printf 'a\tb\nc\0\td\n' >zero
mkdir folder
ln -s there link
echo before >kept
cp -r --preserve=links . ../untouched
mkfifo pipe

for n in 1 2 5; do
    refused 'short is not square: line 1 has 17 fields, and there are 16 lines' $n short out
    refused 'long is not square: line 1 has 17 fields, and more lines follow' $n long out
    refused 'ragged is not square: line 11 has 18 fields, line 1 has 17' $n ragged out
    refused 'lone is not square: line 6 has 1 field, line 1 has 17' $n lone kept
    refused 'empty: there is nothing in its first line' $n empty out
    refused 'hollow: there is nothing in its first line' $n hollow out
    refused 'cannot open missing: No such file or directory' $n missing kept
    refused 'pipe is not a regular file' $n pipe out
    refused 'folder is not a regular file' $n folder out
    refused 'folder is not a regular file' $n "$rates" folder
    refused 'link is not a regular file' $n "$rates" link
    refused '/dev/null is not a regular file' $n "$rates" /dev/null
done
for n in 1 3; do
    refused 'wide: line 3, field 2: 64 bytes, more than 63' $n wide out
done
for n in 1 2; do
    refused 'zero: line 2 has a zero byte' $n zero out
done
refused "$rates: 18 ranks for 17 rows, and each must have one" 18 "$rates" out

# If a rank cannot write, or dies, all ranks end, and nothing is left of what was written before.
# The full disk is a file system of one page, which only this part of the test sees.
awk 'BEGIN { for (i = 1; i <= 40; i++) for (j = 1; j <= 40; j++) printf "%d%s", i * j, j < 40 ? "\t" : "\n" }' >large
mkdir disk
own=(unshare --mount)
[ "$(id -u)" -eq 0 ] || own+=(--user --map-root-user)
if "${own[@]}" mount -t tmpfs -o size=4k none disk 2>/dev/null; then
    status=0
    # shellcheck disable=SC2016
    "${own[@]}" bash -c 'mount -t tmpfs -o size=4k none disk && cd disk || exit
        status=0
        tutti run -n 3 -- transpose ../large kept || status=$?
        ls -A
        exit $status' >said 2>&1 || status=$?
    [ $status -eq 2 ] || die "exit status $status, not 2, where nothing can be written: $(cat said)"
    [ "$(grep -c '^transpose: cannot write kept\.[0-9]*: No space left on device$' said)" -eq 1 ] ||
        die "a full disk: $(cat said)"
    if grep -q '^kept' said; then die "a full disk keeps a file: $(cat said)"; fi
else
    echo 'transpose: no file system can be mounted here: a full disk is not tried'
fi
rm -r disk large

reference "$rates" >../expected
# killed AFTER: rank 1 dies at its operation number AFTER. Expects that the output is complete or
# missing.
killed() {
    status=0
    TUTTI_FAULT=kill,rank=1,after=$1 tutti run -n 3 -- transpose "$rates" out >said 2>&1 || status=$?
    if [ $status -ne 0 ]; then
        [ $status -eq 137 ] || die "exit status $status where rank 1 is killed: $(cat said)"
        grep -q 'rank 1 .*signal 9' said || die "nobody says that rank 1 died: $(cat said)"
    fi
    if [ -e out ]; then cmp out ../expected || die "half an output after a death at $1"; fi
}
killed 1
if [ $status -ne 137 ] || [ -e out ]; then die "killed at once, and yet: $status $(cat said)"; fi
for after in 2 4 6 8 9 10 11 12 13 14; do
    killed $after
    rm -f out
done
rm said pipe
diff -r --no-dereference . ../untouched || die 'something was left behind, or changed'

# The usage message is printed once.
tutti run -n 3 -- transpose --help >said
[ "$(grep -c '^Usage: ' said)" -eq 1 ] || die "the help, not once: $(cat said)"
for wrong in '' one 'one two three' '--size 0 made' '--size 5x made' '--size 1048577 made'; do
    status=0
    # shellcheck disable=SC2086
    tutti run -n 3 -- transpose $wrong >/dev/null 2>said || status=$?
    [ $status -eq 2 ] || die "exit status $status for '$wrong'"
    [ "$(grep -c '^Usage: ' said)" -eq 1 ] || die "the usage, not once: $(cat said)"
done
