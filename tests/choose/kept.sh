#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Rankings are kept for the next job, which computes none of them again. Rank 0 alone reads the
# file, so that no file makes ranks choose differently; and a job that does not estimate does not
# look at it.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
source "$(dirname "$0")/../tools/model.sh"

unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_RANKINGS TUTTI_WISDOM TUTTI_ALGORITHM TUTTI_NODES
export XDG_CACHE_HOME=$work/cache
program=$TUTTI_BUILD/tests/choose-caller
model '900000 900000 900000 900000 900000 900000 900000 1100000 4300000' >mine
model '8 64 512 4096 16384 65536 262144 1048576 4194304' >other
run() { env "$@" TUTTI_LOG=choice tutti run -n 3 "$program"; }
# Each job would measure this cost anew, and rankings depend on it.
export TUTTI_READ_COST=1
estimates() { run TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate "$@"; }
computed() { sed -n 's/.*rankings: \([0-9]*\) were computed.*/\1/p' err; }
file() { echo cache/tutti/*.rankings; }

# The first job computes the rankings, and the second one finds all of them.
expect 0 estimates
[ "$(computed)" -gt 0 ] || fail 'the first job computed nothing'
says err 'were computed, and are kept in .*\.rankings$'
cp "$(file)" before
expect 0 estimates
says err 'rankings: 2 of 2 lines are used of '
says err 'rankings: there is nothing new to keep'
says err 'choice: direct for bcast.*by estimate'
cmp "$(file)" before || fail 'a job with nothing new changed the file'
expect 0 env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice tutti explain bcast/u8/1K/p3
says err 'rankings: there is nothing new to keep'
expect 0 env TUTTI_MACHINE="$work/mine" tutti info
says out ' rankings +2 lines, of which 2 fit:' # a long path may be on another line
expect 0 env TUTTI_MACHINE="$work/mine" tutti info --json
says out '"text":.*2 lines, of which 2 fit: .*\.rankings"'

# Threads of one process reach each other's memory in another way than processes, and have rankings
# of their own.
threads=$TUTTI_BUILD/tests/choose-measured
expect 0 env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice "$threads" 3
[ "$(computed)" -gt 0 ] || fail 'threads computed nothing'
expect 0 env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice "$threads" 3
says err 'rankings: there is nothing new to keep'
grep -q '/p3 .*reach=load ' "$(file)" || fail 'threads have kept nothing'

# With another model, no ranking of the file is used, and new lines replace the old ones.
cp before "$(file)"
expect 0 estimates TUTTI_MACHINE="$work/other"
says err 'rankings: 0 of 2 lines are used'
[ "$(computed)" -gt 0 ] || fail 'the rankings of another model were used'
expect 0 estimates
says err 'rankings: 0 of 2 lines are used'

# Forges a file whose lines name other algorithms and have right checksums, which no user can write
# by mistake. A job that uses these lines chooses the other algorithms.
cat >forge.py <<'SCRIPT'
import sys
for line in open(sys.argv[1]):
    head, value = line[: line.rindex("check=")].replace("=direct ", "=flat "), 0xCBF29CE484222325
    for byte in head.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    print(f"{head}check={value:016x}")
SCRIPT
python3 forge.py before >forged
[ "$(lines forged '=flat ')" -eq 2 ] || fail 'nothing was forged'

# Ranks 1 and 2 have other values of TUTTI_RANKINGS, which nobody reads. So all ranks choose alike.
cat >differing <<'SCRIPT'
#!/bin/bash
case $TUTTI_RANK in
0) export TUTTI_RANKINGS=$1 ;;
1) export TUTTI_RANKINGS=$2 ;;
2)
    unset HOME XDG_CACHE_HOME
    export TUTTI_RANKINGS=0
    ;;
esac
exec "$3"
SCRIPT
chmod +x differing
differing() {
    env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice "${@:3}" tutti run -n 3 ./differing "$1" "$2" "$program"
}
expect 0 differing "$work/before" "$work/forged"
says err 'choice: direct for bcast\(n=1024'
says err 'rankings: there is nothing new to keep'
expect 0 differing "$work/forged" "$work/before"
says err 'choice: flat for bcast\(n=1024'
cmp forged <(python3 forge.py before) || fail 'the file was changed'
expect 0 differing "$work/none" "$work/forged"
says err 'choice: direct for bcast\(n=1024'
cmp <(sort none) <(sort before) || fail 'what was computed differs from what was kept'

# Without the right checksum the same text is not used.
sed 's/=direct /=flat /' before >edited
expect 0 differing "$work/edited" "$work/before"
says err 'rankings: 0 of 2 lines are used'
says err 'choice: direct for bcast\(n=1024'

# A job that does not estimate does not read the file. Here a folder has that name, which would give
# an error.
mkdir folder
expect 0 run TUTTI_MACHINE="$work/mine" TUTTI_RANKINGS="$work/folder" TUTTI_CHOICE=table
[ "$(lines err rankings)" -eq 0 ] || fail 'a job that does not estimate read the file'
expect 0 estimates TUTTI_RANKINGS="$work/folder"
says err 'warning: no rankings are known: .*folder is not a file'
says err 'warning: rankings are not kept: '
expect 0 estimates TUTTI_RANKINGS=0
says err 'were computed, and are not kept: TUTTI_RANKINGS=0'
touch occupied
expect 0 estimates XDG_CACHE_HOME="$work/occupied"
says err 'were computed, and are not kept: '
[ "$(lines err warning)" -eq 0 ] || fail 'a file that nobody named was missed'
