#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The environment that `tutti run` gives to ranks: variables, descriptors, signals, cores.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2016
source "$(dirname "$0")/lib.sh"

expect 0 tutti run -n 3 sh -c 'echo "$TUTTI_RANK of $TUTTI_SIZE $#: $*"' name 'a b' c
for i in 0 1 2; do says out "^$i of 3 2: a b c\$"; done

# Without -n there is a rank for each core. Options after the program's name belong to the program.
expect 0 tutti run sh -c 'echo $TUTTI_SIZE'
[ "$(lines out)" -eq "$(head -n 1 out)" ] || fail 'not as many ranks as TUTTI_SIZE says'
expect 0 tutti run -n 1 echo -n 5 --tag
says out '^5 --tag$'
expect 0 tutti run -n 1 -- echo --tag
says out '^--tag$'

# Ranks inherit the job's shared memory, which has no name.
expect 0 tutti run -n 2 sh -c 'readlink /proc/self/fd/$TUTTI_JOB'
[ "$(lines out '^/memfd:tutti \(deleted\)$')" -eq 2 ] || fail 'no memfd in TUTTI_JOB'

# Ranks inherit no descriptor that the launcher has opened, and all that were open before.
open_descriptors='import os; print(sorted(set(map(int, os.listdir("/proc/self/fd"))) - {64}))'
expect 0 python3 -c "$open_descriptors"
mv out expected
for tag in '' --tag; do
    # shellcheck disable=SC2086
    expect 0 tutti run -n 1 $tag python3 -c "$open_descriptors"
    sed 's/^\[0\] //' out | diff - expected || fail "other descriptors are open ($tag)"
done

# Rank 0 reads standard input; the other ranks read an empty input.
expect 0 bash -c 'seq 5 | tutti run -n 3 sh -c "echo \$TUTTI_RANK: \$(wc -l)"'
says out '^0: 5$'
says out '^1: 0$'
says out '^2: 0$'
# Standard input may be closed.
expect 0 bash -c 'exec tutti run -n 2 sh -c "wc -l" <&-'

# The ranks have the signal settings of the launcher's caller: no signal is blocked, and only
# SIGQUIT is ignored in addition, which asks for the roll call.
expect 0 env --default-signal tutti run -n 2 grep -E '^Sig(Blk|Ign):' /proc/self/status
[ "$(lines out 'Sig(Blk:.0000000000000000|Ign:.0000000000000004)$')" -eq 4 ] || fail 'signals are blocked or ignored'
expect 0 env --ignore-signal=PIPE --default-signal=CHLD tutti run -n 1 grep SigIgn: /proc/self/status
says out '0000000000001004$'
# If the launcher's parent ignores SIGCHLD, exit codes are not lost.
expect 3 env --ignore-signal=CHLD tutti run -n 2 sh -c 'exit 3'

# Ranks take cores in turn; the threads and children of a rank stay on its core.
mine=$(python3 -c 'import os; print(len(os.sched_getaffinity(0)))')
expect 0 tutti run -n 5 --bind core --tag python3 -c 'import os; print(sorted(os.sched_getaffinity(0)))'
[ "$(sed 's/^\[[0-9]*\] //' out | sort -u | wc -l)" -le "$mine" ] || fail 'more cores than there are'
if [ "$mine" -gt 1 ]; then
    [ "$(grep '^\[0\]' out | cut -c 5-)" != "$(grep '^\[1\]' out | cut -c 5-)" ] || fail 'not in turn'
fi
# --tag keeps lines whole: Python may write a line in two parts, between which lines of the other
# rank could come.
expect 0 tutti run -n 2 --bind none --tag python3 -c 'import os; print(len(os.sched_getaffinity(0)))'
[ "$(lines out "^\[[01]\] $mine\$")" -eq 2 ] || fail 'bound without being asked'

# A job within a rank of another job.
expect 0 tutti run -n 2 tutti run -n 2 sh -c 'echo $TUTTI_RANK of $TUTTI_SIZE'
[ "$(lines out '^[01] of 2$')" -eq 4 ] || fail 'jobs in jobs'
