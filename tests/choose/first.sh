#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job that demands a model of the machine and finds none measures one when it starts, and keeps it
# unless other programs disturbed it. A job that demands none measures nothing.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM TUTTI_ALGORITHM
export XDG_CACHE_HOME=$work/cache
program=$TUTTI_BUILD/tests/choose-caller
run() { env "$@" TUTTI_LOG=choice,boot tutti run -n 3 "$program"; }

expect 0 run
says err 'there is no model of this machine: '
[ ! -e cache ] || fail 'a job measures a model that nobody demands'
[ "$(uname -m)" = x86_64 ] && [ "$(nproc)" -gt 1 ] || exit 77 # on other machines a job measures no model

# If other programs take the processors, the job has no model when its time for measuring is over,
# and the table chooses. That must not happen in each of ten tries.
for try in 1 2 3 4 5 6 7 8 9 10; do
    expect 0 run TUTTI_CHOICE=estimate
    says err 'measuring a model took [0-9.]+ ms'
    if [ "$(lines err 'its estimate chooses')" -eq 1 ]; then
        says err 'choice: .* for bcast.*by estimate'
        says err 'the model was measured(, and is kept in| beside other programs: it is not kept)'
    else
        says err 'choice: .* for bcast.*by the table'
    fi
    [ "$(find cache -name '*.machine' | wc -l)" -eq 0 ] || break
done
[ "$try" -lt 10 ] || exit 77 # the machine was too busy each time
expect 0 tutti calibrate --show
cp cache/tutti/*.machine before

# A known model is not measured again.
for choice in estimate measure; do
    expect 0 run TUTTI_CHOICE=$choice TUTTI_WISDOM=0
    says err 'the model of this machine is known; its estimate chooses'
    [ "$(lines err 'measuring a model')" -eq 0 ] || fail 'it was measured again'
done
cmp -s before cache/tutti/*.machine || fail 'the file has changed'

# A file that the user names is not replaced; a file in the cache that another version wrote is
# replaced.
sed 's/^tutti .*/tutti 0.0.1/' before >named
expect 0 run TUTTI_CHOICE=estimate TUTTI_MACHINE="$work/named"
says err 'there is no model of this machine, so the table chooses: .* by Tutti 0\.0\.1'
grep -q '^tutti 0.0.1' named || fail 'the file that the user names was replaced'
cp named cache/tutti/*.machine
expect 0 run TUTTI_CHOICE=estimate
says err 'measuring a model took'

# Where the file cannot be written, the job continues.
touch occupied
expect 0 run TUTTI_CHOICE=estimate TUTTI_MACHINE="$work/none" XDG_CACHE_HOME="$work/occupied"
expect 0 env -u XDG_CACHE_HOME -u HOME TUTTI_CHOICE=estimate tutti run -n 2 "$program"
says err 'none of TUTTI_MACHINE, XDG_CACHE_HOME and HOME'
expect 0 run TUTTI_CHOICE=estimate XDG_CACHE_HOME="$work/occupied"
[ ! -s occupied ] || fail 'something was written'
