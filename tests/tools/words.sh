#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The command's words: help, lists, plans, and the messages about wrong words.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

commands=$(tutti --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
for wanted in run bench check plan list info; do
    grep -qx "$wanted" <<<"$commands" || fail "--help does not name $wanted"
done

# Every option of every command is in the completion script; manual.sh compares the manual pages.
# shellcheck source=scripts/tutti.bash-completion
source "$TUTTI_SOURCE/scripts/tutti.bash-completion"
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _tutti
    echo "${COMPREPLY[*]}"
}
for command in $commands; do
    expect 0 tutti "$command" --help
    says out "^Usage: tutti $command"
    known=" $(complete_words tutti "$command" --) "
    mapfile -t given < <(grep -oE '(^|[ ,])--[a-z-]+' out | grep -oE -- '--[a-z-]+')
    for option in "${given[@]}"; do
        case $option in --help | --usage | --version) continue ;; esac
        [[ $known == *" $option "* ]] || fail "the completion does not know $command $option"
    done
done
[[ " $(complete_words tutti '') " == *" bench "* ]] || fail 'the completion does not know commands'
[[ $(complete_words tutti plan allred) == allreduce* ]] || fail 'the completion does not know collectives'
[[ " $(complete_words tutti run --bind '') " == *" core "* ]] || fail 'the completion does not know --bind'

version=$(sed -n 's/^#define TUTTI_VERSION "\(.*\)"/\1/p' "$TUTTI_SOURCE/include/tutti/tutti.h")
expect 0 tutti --version
says out "^tutti $version\$"

expect 2 tutti
expect 2 tutti rnu
says err "there is no command 'rnu'; did you mean 'run'\?"
expect 2 tutti cheque
expect 2 tutti xyzzy
says err "there is no command 'xyzzy'$"
expect 2 tutti list --jsn
says err "tutti list: there is no option '--jsn'; did you mean '--json'\?"
expect 2 tutti plan
expect 2 tutti benchmark
says err "there is no command 'benchmark'; did you mean 'bench'\?"
expect 2 tutti --vershun
says err "tutti: there is no option '--vershun'; did you mean '--version'\?"

# Each command except the launcher prints its help under each of the usual names. For a misspelled
# word it suggests the most similar one.
for command in $commands; do
    expect 0 tutti help "$command"
    cp out help
    says out "^Usage: tutti $command"
    [ "$command" != run ] || continue
    expect 0 tutti "$command" -h
    cmp help out || fail "tutti $command -h is another help"
    expect 2 tutti "$command" --xyzzy
    says err "tutti $command: there is no option '--xyzzy'$"
done
for helps in help -h '-?' --help; do
    expect 0 tutti "$helps"
    says out '^Usage: tutti'
done
expect 2 tutti help xyzzy
says err "there is no command 'xyzzy'"
expect 2 tutti sim --algoritm ring allreduce/f64/sum/8/p4
says err "there is no option '--algoritm'; did you mean '--algorithm'\?"
# A word that looks like an option is a value if it follows an option that takes one, and an
# argument if it follows --.
expect 2 tutti sim -a --hlep allreduce/f64/sum/8/p4
says err "allreduce has no algorithm '--hlep'"
expect 2 tutti sim -- --hlep
says err "unknown collective '--hlep'"
expect 0 tutti sim --alg=ring allreduce/f64/sum/64/p4

# Output that cannot be written is an error.
if [ -e /dev/full ]; then
    for words in list help --help --version 'help run' 'run --help' 'ps --usage' 'list --version'; do
        expect 1 bash -c "exec tutti $words >/dev/full"
        says err '^tutti: cannot write the output(: .*)?$'
    done
fi
expect 1 bash -c 'exec tutti list >&-'
says err '^tutti: cannot write the output(: .*)?$'
expect 1 bash -c 'exec tutti run -n 1 sh -c "echo hi" >&-'

# Lists of collectives and algorithms (tutti list).
expect 0 tutti list
[ "$(lines out)" -gt 10 ] || fail 'a short list'
[ "$(awk 'length > 100' out | wc -l)" -eq 0 ] || fail 'a list of more than 100 columns'
if grep ' $' out; then fail 'blanks at the ends of lines'; fi
expect 0 tutti list --sources
[ "$(awk 'length > 100' out | wc -l)" -eq 0 ] || fail 'a list of more than 100 columns'
says out 'Hensgen, Finkel, Manber 1988'
expect 0 tutti list --for alltoall/u8/1K/p12
[ "$(awk 'length > 100' out | wc -l)" -eq 0 ] || fail 'a list of more than 100 columns'
says out '^  hypercube .* no: it needs a power of two of ranks'
[ "$(lines out 'yes, and it is chosen')" -eq 1 ] || fail 'not one is chosen'
[ "$(grep -cE '^[a-z]' out)" -eq 2 ] || fail 'not one collective'
expect 0 tutti list --for alltoall/u8/1K/p12 --applicable
[ "$(lines out 'no: it')" -eq 0 ] || fail 'what does not apply'
says out '^  pairwise'
expect 0 tutti list barrier bcast --names
[ "$(cut -d' ' -f1 out | sort -u | tr '\n' ' ')" = 'barrier bcast ' ] || fail 'other collectives'
expect 0 tutti list ring halving allreduce --names
[ "$(tr '\n' , <out)" = 'allreduce ring,allreduce halving,' ] || fail 'not what was asked for'
expect 2 tutti list rign
says err "'rign' is neither a collective nor an algorithm; did you mean 'ring'\?"
expect 1 tutti list barrier ring
says err '^tutti list: no algorithm of barrier has one of the names that were given$'
expect 1 tutti list allreduce bcast halving
says err '^tutti list: no algorithm of bcast has one of the names'
[ ! -s out ] || fail 'a part of what was asked for is listed'
expect 1 tutti list bcast halving binomial
says err "^tutti list: 'halving' is no algorithm of the collectives that were given \('tutti list halving'"
expect 1 tutti list --for barrier/p4 bcast
says err '^tutti list: the problem is no bcast$'
expect 2 tutti list --applicable
says err '--applicable wants --for PROBLEM or --costs PROBLEM'
expect 2 tutti list --json --names
expect 2 tutti list --for alltoall/u8/1K
says err 'bad problem: expected / and pN'
expect 0 tutti list --for alltoall/u8/1K/p12 --json
python3 - <<'PYTHON'
import json
rows = {row["name"]: row for row in json.load(open("out"))}
assert rows["hypercube"]["applicable"] is False and rows["hypercube"]["why"] == "needs a power of two of ranks", rows["hypercube"]
assert rows["pairwise"]["applicable"] is True and rows["pairwise"]["why"] is None
assert sum(row["chosen"] for row in rows.values()) == 1
PYTHON
# The costs are counted in the plans. On p ranks, `hypercube` sends log2 p messages, each with half
# of the blocks; `pairwise` sends p - 1 messages of one block.
expect 0 tutti list --costs alltoall/u8/1K/p16
[ "$(awk 'length > 100' out | wc -l)" -eq 0 ] || fail 'costs of more than 100 columns'
says out '^most of any rank +sent +received +reduced +copied +messages +steps$'
says out '^  hypercube +32768 +32768 +0 +[0-9]+ +4 +[0-9]+$'
says out '^  pairwise +15360 +15360 +0 +1024 +15 +[0-9]+$'
says out '^  forward +no: it needs to know the network$'
expect 0 tutti list --costs alltoall/u8/1K/p16 --applicable
[ "$(lines out 'no: it')" -eq 0 ] || fail 'what does not apply'
expect 0 tutti list --costs alltoall/u8/1K/p16 --json hypercube forward
python3 - <<'PYTHON'
import json
rows = {row["name"]: row for row in json.load(open("out"))}
assert sorted(rows) == ["forward", "hypercube"], rows
counts = rows["hypercube"]["counts"]
assert (counts["sent"], counts["messages"], counts["reduced"]) == (32768, 4, 0), counts
assert rows["forward"]["counts"] is None and rows["forward"]["applicable"] is False
PYTHON
expect 2 tutti list --costs alltoall/u8/1K
says err 'bad problem: expected / and pN'
expect 2 tutti list --costs barrier/p2 --for barrier/p2
says err 'only one --for or --costs can be given'
expect 2 tutti list --costs barrier/p2 --names
says err '--costs and --names cannot both be given'
expect 0 tutti list --json
python3 -m json.tool out >/dev/null
python3 - <<'PYTHON'
import json
rows = json.load(open("out"))
assert len(rows) > 10
for row in rows:
    assert set(row) == {"name", "collective", "applies", "cost", "source"}, row
    assert all(isinstance(text, str) and text for text in row.values()), row
assert len({(row["collective"], row["name"]) for row in rows}) == len(rows)
PYTHON
python3 -c 'import json; [print(r["collective"], r["name"]) for r in json.load(open("out"))]' >algorithms

# Plans (tutti plan).
expect 0 tutti plan allreduce/f64/sum/8/p3
[ "$(lines out '^plan allreduce ')" -eq 3 ] || fail 'not a plan for each rank'
expect 0 tutti plan allreduce/f64/sum/64K/p3 --rank 2 --algorithm ring
[ "$(lines out '^plan allreduce algorithm ring rank 2 of 3 ')" -eq 1 ] || fail 'not the plan asked for'
[ "$(lines out '^plan ')" -eq 1 ] || fail 'more than one plan'
expect 0 tutti plan --unrolled bcast/u8/1M/p2/root=1
[ "$(lines out 'loop')" -eq 0 ] || fail 'loops in an unrolled plan'
expect 0 tutti plan --counts gather/u8/100/p4/root=1 -a flat
says out '^# gather/u8/100/p4/root=1 algorithm flat$'
says out '^0 +100 +0 +0 +100 +0 ' # the root reads from the windows of the other ranks
says out '^1 +0 +300 +0 +100 +3 '
says out '^most +100 +300 +0 +100 +3 '
says out '^sum +300 +300 +0 +400 +3 '
expect 0 tutti plan --counts gather/u8/100/p4/root=1 -a flat --rank 0
[ "$(lines out '^[0-9]')" -eq 1 ] || fail 'counts of several ranks'
says out '^0 +100 '
[ "$(lines out '^(most|sum) ')" -eq 0 ] || fail 'counts of other ranks'
# A number that does not fit in 63 bits is not printed.
expect 0 tutti plan --counts alltoall/u8/4194304G/p1000 -a pairwise
says out '^most +4499096027743125504 +4499096027743125504 +0 +4503599627370496 +'
says out '^sum +too many +too many +0 +4503599627370496000 +'
expect 0 tutti list --costs alltoall/u8/4194304G/p1000 --json bruck
says out '"sent":null'
expect 2 tutti plan --counts barrier/p2 --unrolled
says err '--counts and --unrolled cannot both be given'
expect 2 tutti plan --counts barrier/p2 --rank 2
says err 'there is no rank 2: the problem has 2 ranks'
expect 2 tutti plan allreduce/f64/sum/8/p3 --rank 3
says err 'there is no rank 3: the problem has 3 ranks'
expect 2 tutti plan allreduce/f64/sum/8/p3 --algorithm rung
says err "allreduce has no algorithm 'rung'; it has: .*ring"
expect 2 tutti plan allreduce/u8/user/64/p3 --algorithm ring
says err 'ring does not apply here: it '
expect 2 tutti plan 'alreduce/f64/sum/8/p3'
expect 2 tutti plan 'allreduce/f64/sum/9/p3'
# The mark in the message is under the error.
awk '/allreduce\/f64\/sum\/9\/p3/ { at = index($0, "/9/") + 1; getline; exit index($0, "^") != at }' err ||
    fail 'the caret is elsewhere'

# tutti info prints what the library has found on this machine.
expect 0 tutti info
for word in "tutti $version" '  cores ' '  self ' '  thread ' '  shm ' '  CMA ' '  membarrier '; do
    says out "^$word"
done
# Lines are folded at 100 columns, except for a word that alone is longer than the rest of its line.
HOME=$work/none XDG_CACHE_HOME='' TUTTI_PMIX='' expect 0 tutti info
awk 'length > 100 && !/^ {15}[^ ]*$/ { exit 1 }' out || fail 'info prints lines of more than 100 columns'
if ! grep -q '^  CMA  *forbidden' out; then
    TUTTI_READ_COST=1 expect 0 tutti info
    says out '  CMA +allowed: the cost of reading .* is 1 '
    TUTTI_READ_COST=2 expect 0 tutti info
    says out '  CMA +allowed: the cost of reading .* is 2 '
fi
TUTTI_CMA=0 expect 0 tutti info
says out '  CMA +forbidden \(TUTTI_CMA=0\)'

# Slices that are so short that a plan could not count them are made longer, and a loop that cannot
# be counted is an error.
for algorithm in flat chain; do
    expect 0 tutti plan --counts bcast/u8/4G/p2/slice=1 -a $algorithm
    says out '^most +4294967296'
done
expect 1 tutti plan alltoall/u8/512G/p1000 -a flat -r 0
says err 'cannot build a plan: a loop with more than 2\^30 turns'
