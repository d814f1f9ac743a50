#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti calibrate` writes a model that is then in force. It writes none that cannot be true.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/model.sh"
unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM
export XDG_CACHE_HOME=$work/cache

expect 1 tutti calibrate --show
says err 'No such file'
expect 1 env -u XDG_CACHE_HOME -u HOME tutti calibrate
says err 'none of TUTTI_MACHINE, XDG_CACHE_HOME and HOME'
expect 2 tutti calibrate --show --output x
expect 2 tutti calibrate --show --network
expect 2 tutti calibrate --output -
says err '--output: a model is written to a file'
expect 2 tutti calibrate nonsense

expect 1 env TUTTI_FAULT=delay=1 tutti calibrate
says err '^tutti calibrate: TUTTI_FAULT changes the times, .* name a file by --output or TUTTI_MACHINE$'

# A folder that cannot be written is an error, and leaves no file. Root may write everywhere, so a
# file stands where the folder should be. The command must report the error before it measures: with
# MUTANT=fast no measurement ever succeeds.
expect 0 touch occupied
expect 1 env MUTANT=fast "$TUTTI_BUILD/tests/tools-mutant" calibrate --output "$work/occupied/model"
says err 'cannot be written: Not a directory'
expect 1 tutti calibrate --output "$work"
says err 'cannot be written: it is a directory'
[ "$(find . -name '*.machine*' | wc -l)" -eq 0 ] || fail 'a file is left'

# calibrates COMMAND...: expects that the command writes a model. On a busy machine it may refuse to
# write one; if it refuses twice, the test is skipped.
calibrates() {
    local code
    for _ in 1 2; do
        code=0
        "$@" >out 2>err || code=$?
        [ "$code" -ne 0 ] || return 0
        says err 'calibrate: the machine is too busy: .*; nothing is written$'
    done
    echo 'the machine is too busy for a calibration'
    exit 77
}

# The file that TUTTI_MACHINE names does not exist yet. The jobs that the command starts to measure
# must not warn of that. They have other numbers of ranks than the user's nodes and network.
calibrates env TUTTI_MACHINE="$work/named" TUTTI_NODES=1,1 TUTTI_NETWORK=ring:4 tutti calibrate
says out "^written to $work/named\$"
[ ! -s err ] || fail 'a calibration warns of something'
calibrates tutti calibrate
says out '^written to .*/cache/tutti/.*\.machine$'
[ "$(find cache -type f | wc -l)" -eq 1 ] || fail 'more than one file'
expect 0 tutti calibrate --show
says out '  copy_memory_memory '
expect 0 tutti info
says out "steps +$work/cache/tutti/.*\.machine\$"
expect 0 tutti info --json
python3 -c 'import json, sys; assert json.load(open("out"))["model"]["line"] > 0'

# Times that cannot be true are never written. A job that was faster than its parts shows that the
# measurement of a part was disturbed. If no repetition gives times that agree, the file stays as it
# is.
numbers_are_credible() {
    awk '$1 ~ /^(call|message|line)$/ && $2 < 1000 || $1 ~ /^turn/ && $2 < 10000 { exit 1 }' "$1" ||
        fail "$1 has a time that cannot be true"
}
numbers_are_credible cache/tutti/*.machine
cp cache/tutti/*.machine before
expect 1 env MUTANT=fast "$TUTTI_BUILD/tests/tools-mutant" calibrate
says err 'too busy: .* by [a-z]+ took [0-9.]+ us, and its parts alone .*nothing is written'
cmp before cache/tutti/*.machine
# The times that the mutant pretends are those of code that no sanitizer slows down.
if [ -z "$TUTTI_SANITIZE" ]; then
    # A network that the file already has stays.
    wires >network
    cat cache/tutti/*.machine network >line
    calibrates env MUTANT=line "$TUTTI_BUILD/tests/tools-mutant" calibrate --output line
    grep '^wire_' line | cmp - network || fail 'a calibration lost the network'
    numbers_are_credible line
    awk '$1 == "line" && $2 > 100000 { exit 1 }' line || fail 'a line takes longer than a barrier'
fi
