#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job that finds no model of the machine measures one when it starts, and keeps it unless other
# programs disturbed it. A job that does not demand a model measures none if it could not be kept,
# or if another job has just tried.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM TUTTI_ALGORITHM
export XDG_CACHE_HOME=$work/cache
program=$TUTTI_BUILD/tests/choose-caller
run() { env "$@" TUTTI_LOG=choice,boot tutti run -n 3 "$program"; }

# Nothing is measured for the table, for a file that the user names, and if nothing can be kept.
touch occupied
for words in TUTTI_CHOICE=table "TUTTI_MACHINE=$work/none" "XDG_CACHE_HOME=$work/occupied" TUTTI_WINDOW=64K; do
    expect 0 run "$words"
    says err 'there is no model of this machine'
    [ "$(lines err 'measuring a model took')" -eq 0 ] || fail "$words: a job measures a model"
    [ "$(find . -name '*.machine' | wc -l)" -eq 0 ] || fail "$words: a job writes a model"
done
[ "$(uname -m)" = x86_64 ] && [ "$(nproc)" -gt 1 ] || exit 77 # on other machines a job measures no model

# A job that demands no model keeps the one that it has measured. Otherwise other programs have
# disturbed it; it leaves a file that says so, and later jobs do not try again, until the file is
# some minutes old.
expect 0 run
says err 'measuring a model took [0-9.]+ ms'
if [ "$(lines err 'its estimate chooses')" -eq 1 ]; then
    says err 'the model was measured, and is kept in'
else
    says err 'there is no model of this machine: .*too busy'
    grep -q '^# A job has begun to measure' cache/tutti/*.machine || fail 'no file says that a job has tried'
fi
expect 0 tutti info
printf '# A job has begun to measure a model of this machine. If it could not, because other programs\n' >begun
printf '# took the processors, a job that begins at least ten minutes later tries again.\n' >>begun
cp begun cache/tutti/*.machine
expect 0 run
says err 'there is no model of this machine: .* other programs were busy when a job began to measure a model'
[ "$(lines err 'measuring a model took')" -eq 0 ] || fail 'a job tries again too soon'
touch -d '1 hour ago' cache/tutti/*.machine
expect 0 run
says err 'measuring a model took [0-9.]+ ms'
rm -r cache

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

# A message and a call move cache lines, so they take more than a number of steps: the more, the
# longer a line takes. Otherwise short messages would seem to take less time than signals where
# lines are slow.
awk '{ ns[$1] = $2 }
    END { exit !(ns["message"] - 10 * ns["step"] >= ns["line"] / 2 && ns["call"] - 5 * ns["step"] >= ns["line"] / 6 &&
                 3 * ns["take"] <= ns["line"]) }' before || fail 'messages and calls seem to move no cache lines'

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
expect 0 run TUTTI_CHOICE=estimate TUTTI_MACHINE="$work/none" XDG_CACHE_HOME="$work/occupied"
expect 0 env -u XDG_CACHE_HOME -u HOME TUTTI_CHOICE=estimate tutti run -n 2 "$program"
says err 'none of TUTTI_MACHINE, XDG_CACHE_HOME and HOME'
expect 0 run TUTTI_CHOICE=estimate XDG_CACHE_HOME="$work/occupied"
[ ! -s occupied ] || fail 'something was written'
