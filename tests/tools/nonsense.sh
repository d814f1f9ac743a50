#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Invalid input of every kind ends with exit code 2, an empty output, and a message: for a problem
# string with a mark under the position, and for anything else with the word that is wrong.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

reported=0
refused() {
    local says=$1
    shift
    expect 2 timeout 3000 "$@"
    [ ! -s out ] || fail "'$*' printed something all the same"
    says err "$says"
    # The message contains printable characters only, so no byte makes a terminal do something.
    if LC_ALL=C grep -q '[^ -~]' err; then fail "'$*' shows raw bytes"; fi
    reported=$((reported + 1))
}

# problem AT PATTERN TEXT: expects that a problem string is refused, with the mark under character
# AT of the text, counted from 0. The commands that read the texts alternate.
readers=(plan sim check bench draw)
problem() {
    local at=$1 says=$2 text=$3
    local reader=${readers[reported % ${#readers[@]}]}
    refused "^tutti $reader: bad problem: .*$says" tutti "$reader" "$text"
    # The command draw also reads the names of traces, and says that there is none of this name.
    sed -i '/^tutti draw: there is no file or folder/d' err
    [ "$(lines err)" -eq 3 ] || fail "not three lines"
    [ "$(tail -n 1 err)" = "$(printf '  %*s^' "$at" '')" ] || fail "'$text': the mark is not under $at"
}

# Words, and missing parts.
problem 0 'expected a collective' ''
problem 0 'expected a collective' /
problem 0 "unknown collective ' '" ' '
problem 0 "unknown collective 'Barrier'" Barrier/p4
problem 10 "unknown type 'f256'" allreduce/f256/sum/8/p4
problem 14 "unknown operation 'plus'" allreduce/f64/plus/8/p4
problem 14 'bxor is not defined for f64' allreduce/f64/bxor/8/p4
problem 17 'expected / and a number of bytes' allreduce/f64/sum
problem 18 'expected a number of bytes' allreduce/f64/sum//p4
problem 8 'expected pN' barrier/
problem 8 "'p4 ' is not a number of ranks" 'barrier/p4 '
problem 8 "'p4#' is not a number of ranks" 'barrier/p4#'
problem 11 "unknown key 'p5'" barrier/p4/p5

# For `tutti check` the following words are no error, but ask for a proof of everything.
readers=(plan sim bench draw)
problem 0 "unknown collective 'all'" all
problem 9 'expected / and a type' allreduce
problem 7 'expected / and pN' barrier
readers+=(check)

# Numbers.
problem 8 "'p' is not a number of ranks" barrier/p
problem 8 "'-4' is not a number of ranks" barrier/-4
problem 8 "'p-4' is not a number of ranks" barrier/p-4
problem 8 "'p4.5' is not a number of ranks" barrier/p4.5
problem 8 "'p0x4' is not a number of ranks" barrier/p0x4
problem 8 '0 ranks: must be from 1' barrier/p0
problem 8 '1048577 ranks: must be from 1 to 1048576' barrier/p1048577
problem 8 '1073741824 ranks' barrier/p1G
problem 8 'is not a number of ranks' barrier/p9223372036854775808
problem 8 'is not a number of ranks' barrier/p99999999999999999999999999999999999
problem 9 "'1T' is not a number of bytes" bcast/u8/1T/p4
problem 9 "'1KK' is not a number of bytes" bcast/u8/1KK/p4
problem 9 "'K' is not a number of bytes" bcast/u8/K/p4
problem 9 "'1e6' is not a number of bytes" bcast/u8/1e6/p4
problem 9 "'-1' is not a number of bytes" bcast/u8/-1/p4
problem 9 'is not a number of bytes' bcast/u8/9223372036854775808/p4
problem 9 'are more than can be counted' bcast/u8/9223372036854775807/p4
problem 12 'are more than can be counted' alltoall/i8/8388608G/p1024
problem 10 '7 bytes are no multiple of f64' bcast/f64/7/p4

# Keys.
problem 11 "unknown key ''" barrier/p4/
problem 11 "unknown key 'colour'" barrier/p4/colour=red
problem 15 'expected = and a value' barrier/p4/seed
problem 16 "'' is not a whole number" barrier/p4/seed=
problem 16 'is not a whole number' barrier/p4/seed=18446744073709551616
problem 18 'seed is given twice' barrier/p4/seed=1/seed=2
problem 11 'barrier has no root' barrier/p4/root=0
problem 19 'root 4 of 4 ranks' bcast/u8/8/p4/root=4
problem 19 "'-1' is not a rank" bcast/u8/8/p4/root=-1
problem 20 'a slice of nothing' bcast/u8/8/p4/slice=0
problem 23 "unknown skew 'odd'" alltoallv/u8/8/p4/skew=odd
problem 28 "unknown inplace 'yes'" reduce/f64/sum/8/p4/inplace=yes
problem 26 "unknown order 'up'" reduce/f64/sum/8/p4/order=up

# Nodes.
problem 11 "unknown map ''" barrier/p4@
problem 11 "unknown map 'moon'" barrier/p4@moon:4
problem 16 'expected : and the nodes' barrier/p4@nodes
problem 17 "'' is not a number of ranks" barrier/p4@nodes:
problem 19 "'' is not a number of ranks" barrier/p4@nodes:2,
problem 17 '0 of 4 ranks on a node' barrier/p4@nodes:0,4
problem 17 '5 of 4 ranks on a node' barrier/p4@nodes:5
problem 19 "'4x' is not a number of nodes" barrier/p4@nodes:1*4x
problem 11 'the nodes hold 3 ranks of 4' barrier/p4@nodes:2,1
problem 17 "'4/seed=1' is not a number of ranks" barrier/p4@nodes:4/seed=1

# Networks.
problem 16 'expected a number' barrier/p4@ring:
problem 16 'must be at least 1' barrier/p4@ring:0
problem 16 'expected a number' barrier/p4@ring:-4
problem 19 'expected a number' barrier/p4@torus:2x
problem 17 'must be at least 1' barrier/p4@torus:0x4
problem 16 'too large a number' barrier/p4@mesh:99999999999999999999
problem 28 'more than 6 numbers' barrier/p4@mesh:2x2x1x1x1x1x1
problem 18 'more than 1 number' barrier/p4@ring:4x4
problem 21 'must be from 0 to 20' barrier/p4@hypercube:63
problem 23 'makes more than 1048576 nodes' barrier/p4@torus:65536x65536
problem 16 'must be from 1 to 1024 children' barrier/p4@tree:0x4
problem 19 'must be at most 1048576' barrier/p4@fattree:2147483647x1
problem 23 'must be from 1 to 1048576' barrier/p4@dragonfly:1x2147483647x1
problem 11 'the network has 8 nodes for 4 ranks' barrier/p4@torus:2x2x2
problem 11 'the network has 8191 nodes for 4 ranks' 'barrier/p4@tree:250x8192-hole(8191)'
problem 17 'expected -hole' barrier/p4@ring:4/seed=1
problem 17 'expected -hole' barrier/p4@ring:4-gap
problem 24 'expected \)' 'barrier/p4@ring:5-hole(4'
problem 23 'node 5 of 5' 'barrier/p4@ring:5-hole(5)'
problem 26 'x = 3 is not below 3' 'barrier/p8@torus:3x3-hole(3,0)'
problem 26 '3 coordinates' 'barrier/p8@torus:3x3-hole(1,1,1)'
problem 26 'expected a coordinate' 'barrier/p8@torus:3x3-hole(,)'
problem 26 'expected a dimension' 'barrier/p6@torus:3x3-wall(t=1)'
problem 26 'expected a dimension' 'barrier/p6@torus:3x3-wall(z=1)'
problem 26 'x = 7 is not below 3' 'barrier/p6@torus:3x3-wall(x=7)'
problem 25 'a tree has no walls' 'barrier/p6@tree:2x7-wall(x=1)'
problem 25 '5 missing of 5' 'barrier/p4@ring:5-random(5,1)'
problem 26 'expected , and a seed' 'barrier/p4@ring:5-random(1)'
problem 17 'no node is left' 'barrier/p1@ring:1-hole(0)'
problem 19 'nodes 0 \(0,0\) and 2 \(2,0\) cannot reach one another' 'barrier/p6@mesh:3x3-wall(x=1)'
problem 23 'a network with missing nodes may have at most 8192' 'barrier/p9@mesh:1000x10-hole(0)'

# Networks in files.
problem 16 'none: No such file' barrier/p4@file:none
problem 16 '/dev/zero: not a file' barrier/p4@file:/dev/zero
printf '# a ring\nring:4\n -gap\n' >net
problem 16 'net:3:2: expected -hole' barrier/p4@file:net
printf 'ring:4\0' >net
problem 16 'net: not a text: there is a 0 byte in it' barrier/p4@file:net

# Bytes that are not text, and very long texts.
problem 0 "unknown collective 'barri\?\?re'" $'barri\xc3\xa8re/p4'
problem 0 'unknown collective' $'\x1b[31mbarrier/p4'
problem 8 "'p\?4' is not a number of ranks" $'barrier/p\t4'
problem 8 "'p4\?' is not a number of ranks" $'barrier/p4\n'
problem 12 "unknown map '\?'" $'barrier/p16@\xff'
long=$(printf 'x%.0s' {1..100000})
problem 0 'unknown collective' "$long"
problem 14 'a map of more than 255 characters' "barrier/p1000@nodes:$(printf '1,%.0s' {1..1000})"
# The message shows only a part of a long text, around the position.
problem 63 "'xyz' is not a number of ranks" "barrier/p60@nodes:$(printf '1,%.0s' {1..40})xyz"

# Options of sim.
sim() { refused "$1" tutti sim "${@:2}"; }
sim 'the problem is missing' --json=-
sim "'barrier/p5': only one problem at a time" barrier/p4 barrier/p5
sim "there is no option '--modle'; did you mean '--model'" barrier/p4 --modle=links
sim "option '--ts' requires an argument" barrier/p4 --ts
sim "--model: 'quick' is none of simple loggp links" barrier/p4 --model=quick
sim "--model: '' is none of" barrier/p4 --model=
sim "--ports: 'two' is none of one all" barrier/p4 --ports=two
sim 'model links wants a network' barrier/p4 --model=links
for time in '' 1 us -1us 1.5ps 1e400s inf nan 0x10us 1e3ns 1fortnight '1us '; do
    sim "--tw: '$time' is not a" barrier/p4 --tw="$time"
done
days='if one rank after the other sent its data, this would take %s days under the model; at most 10 are allowed'
# shellcheck disable=SC2059
printf -v many "$days" '[0-9.]+' && printf -v some "$days" '15[.]6'
sim "$many" bcast/u8/1000000000G/p2
sim "$many" bcast/u8/1M/p2@ring:2 --tw=1000s
sim "$some" bcast/u8/1G/p1M
sim "barrier has no algorithm ''; it has: flat" barrier/p4 --algorithm=
sim "barrier has no algorithm ''" barrier/p4 --algorithm=,
sim "barrier has no algorithm ''" barrier/p4 --algorithm=flat,
sim "barrier has no algorithm 'ring'" barrier/p4 --algorithm=flat,ring
sim 'hypercube does not apply: it needs a power of two' alltoall/u8/8/p3 --algorithm=hypercube

# Options of plan.
plan() { refused "$1" tutti plan "${@:2}"; }
plan 'the problem is missing'
plan 'only one problem' barrier/p4 barrier/p4
plan 'there is no rank 4: the problem has 4 ranks' barrier/p4 --rank=4
for rank in '' -1 1.5 x 99999999999999999999; do plan "--rank: '$rank' is not a whole number" barrier/p4 --rank="$rank"; done
plan "barrier has no algorithm ''" barrier/p4 --algorithm=
plan "barrier has no algorithm 'all'" barrier/p4 --algorithm=all

# Options of check.
check() { refused "$1" tutti check "${@:2}"; }
for ranks in '' 0 -1 x 1.. ..3 5..3 1..2..3 1..4097 ' 3' 1..+3 99999999999999999999; do
    check "-p: '$ranks' is not a number of ranks or a range" all --ranks="$ranks"
done
check 'a PROBLEM names its ranks' barrier/p4 -p 3
check "there is no algorithm 'x'" all -a x
check "barrier has no algorithm 'x'" barrier -a x
check "barrier has no algorithm 'x'" barrier/p4 -a x
check "--cases: '0' is not" all --cases=0
check "--threads: '65' is not" all --threads=65
check "--window: '-1' is not" barrier/p4 --window=-1
check "--window: '9G9' is not" barrier/p4 --window=9G9
check "there is no option '--radix" barrier/p4 --radix=4
check "--scattered: '1' is not" barrier/p4 --scattered=1
check 'the options of the machine are for a single PROBLEM' all --window=64K

# Options of bench.
bench() { refused "$1" tutti bench "${@:2}"; }
bench 'the problem is missing'
bench "unknown collective 'x'" barrier/p2 x
for sizes in '' 0 8:4 0:8 :8 8: x -8 8:99999999999999G; do
    bench "--sizes: '$sizes' is not FIRST:LAST" bcast/u8/8/p2 --sizes="$sizes"
done
bench 'none of 1 and its doublings up to 4 is a multiple' bcast/f64/8/p2 --sizes=1:4
for time in '' 0 -1 nan inf x 1e99; do bench "--time: '$time' is not a number of seconds, more than 0 and at most 1e9" barrier/p2 --time="$time"; done
bench "--iterations: '0' is not" barrier/p2 --iterations=0
bench "barrier has no algorithm 'x'" barrier/p2 -a x
bench 'cannot be timed with that many ranks' barrier/p1M
bench 'cannot be timed with a map of nodes' barrier/p2@nodes:1,1
bench 'TUTTI_NODES=4,2 has them behave as on several' barrier/p2@nodes:1,1
problem 20 "a radix of 1: must be from 2 to 1048576" bcast/u8/8/p4/radix=1
problem 20 "0 lanes: must be from 1 to 8" bcast/u8/8/p4/lanes=0
problem 20 "9 lanes: must be from 1 to 8" bcast/u8/8/p4/lanes=9
problem 11 "barrier has no lanes" barrier/p4/lanes=2

# Options of draw, and traces that are cut off, damaged, of another kind, or of some ranks only.
draw() { refused "$1" tutti draw "${@:2}"; }
event='{"name":"copy","ph":"X","pid":1,"tid":0,"ts":1.5,"dur":2,"args":{}}'
trace() {
    printf '%s' "$2" >broken
    draw "^tutti draw: broken$1" --trace broken
}
trace ':1:1: the text ends here' ''
trace ':1:1: a trace: an array of events' $'\1\2'
trace ':1:6: the text ends here; .*closing quote' '[{"na'
trace ': of 2 ranks, rank 0 has no trace' $'[\n'"$event" # as a killed rank leaves it: its complete events are read
trace ':1:2: an object: \{' '[3]'
trace ':1:70: nothing more' "[$event]x"
trace ':1:17: an event with a "pid"' '{"traceEvents":[{"ph":"X"}]}'
trace ':1:10: an event named send' "[${event/copy/cope}]"
trace ':1:32: a rank: a whole number' "[${event/:1,/:-1,}]"
trace ': of 2 ranks, rank 0 has no trace' "[$event]"
draw '/none: No such file' --trace /none
draw "--what: 'x' is none of" barrier/p4 --what=x
draw "--output: 'x.gif' ends in none of" barrier/p4 -o x.gif
draw "--scheme: 'grey' is neither light nor dark" barrier/p4 --scheme=grey
draw '-n: only a machine has processes' barrier/p4 -n 2
draw "-n: '0' is not a whole number" machine -n 0
draw 'a machine is drawn as .svg, .png or .json' machine -o x.dot
draw 'only one problem at a time' machine barrier/p4
draw "only one problem at a time, not 'd' and 'a' \(a trace is a folder," d a
draw 'machine: only -n, --output and --scheme go with it' machine --what time
draw 'machine: only -n, --output and --scheme go with it' machine --ranks=0-3
for ranks in -1 1- -; do draw "--ranks: '$ranks' is neither a rank nor two" barrier/p4 --ranks="$ranks"; done
draw '--ranks: 5 is after 3' barrier/p4 --ranks=5-3
draw 'there is no rank 9' barrier/p4 --what=routes --from=9

# A file that is no trace, and one that would be read and written.
echo 'no trace' >words.txt
draw '^tutti draw: words.txt: this file is no trace, which is a folder, or a file that ends in' words.txt
cat >same.plan <<'PLAN'
tutti plan 1
problem barrier/p2
plan barrier algorithm same rank r of p type i8
lane 0
  signal all 1
  await (1-r) 1
PLAN
tutti sim barrier/p2 -a dissemination --trace same.json >/dev/null
# taken COMMAND...: expects that the command refuses to write a file that it reads, or to write one
# file twice.
taken() { refused '^tutti [a-z]+: [^ ]+: the command reads this file or writes it for another option' "$@"; }
TUTTI_TRACE=runs tutti bench --iterations 1 barrier/p2 >/dev/null
cp same.plan plan.svg
echo ring:4 | tee net.svg >net
touch model wisdom topology.svg
ln -s same.plan link
ln plan.svg hard.svg
ln runs/rank-1.json hard.json
inputs() { cksum same.* plan.svg net* model wisdom topology.svg runs/*; }
inputs >before
for words in 'draw --plan plan.svg -o plan.svg' 'draw --plan plan.svg -o hard.svg' \
    'draw --trace same.json -o same.json' 'draw same.json -o ../'"${work##*/}"'/same.json' \
    'draw runs -o runs/rank-0.json' 'draw runs -o hard.json' 'draw runs -o ./runs/../runs/rank-1.json' \
    'draw same.json --network file:net.svg -o net.svg' 'draw barrier/p4@file:net.svg -o net.svg' \
    'draw bcast/u8/8/p2 --what costs --measured net.svg -o net.svg' \
    'sim --plan same.plan --trace same.plan' 'sim --plan link --json same.plan' \
    'sim barrier/p4@file:net --json net' 'sim barrier/p4@file:net --trace ./net' \
    'sim barrier/p2 -a dissemination --json new --trace new' \
    'sim barrier/p2 -a dissemination --json new --trace ./new' \
    'bench --plan same.plan --json link' 'bench barrier/p2 barrier/p4@file:net --json net'; do
    # shellcheck disable=SC2086
    taken tutti $words
done
taken env HWLOC_XMLFILE=topology.svg tutti draw machine -o topology.svg
taken env HWLOC_XMLFILE=topology.svg tutti bench barrier/p2 --json topology.svg
# Settings name files, too.
for setting in TUTTI_MACHINE=model TUTTI_WISDOM=wisdom TUTTI_NETWORK=file:net \
    TUTTI_ALGORITHM=bcast=flat,barrier=@same.plan; do
    file=${setting##*[=:@]}
    taken env $setting tutti sim allreduce/f64/sum/8/p2 --json "$file"
    taken env $setting tutti bench allreduce/f64/sum/8/p2 --json "./$file"
done
taken env TUTTI_MACHINE=net.svg tutti draw bcast/u8/8/p2 --what costs -o net.svg
for words in 'TUTTI_MACHINE=model tutti tune -o' 'TUTTI_WISDOM=model tutti calibrate -o'; do
    # shellcheck disable=SC2086
    expect 1 env $words model
    says err '^tutti (tune|calibrate): model: the command reads this file or writes it for another option'
done
[ ! -e new ] || fail 'a file was made'
inputs | cmp - before || fail 'an input was overwritten'
sim 'the plan file /dev/zero cannot be read: it holds bytes that are no text' --plan /dev/zero

# Options of list and info.
refused "'x' is neither a collective nor an algorithm" tutti list x
refused "there is nothing to do with 'x'" tutti info x
refused "option '--json' doesn't allow an argument" tutti list --json=x

[ "$reported" -gt 170 ] || fail "only $reported kinds of nonsense"
