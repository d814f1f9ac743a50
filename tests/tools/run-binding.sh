#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The processors to which `tutti run` binds ranks on this machine: in turn, within those allowed,
# beside other jobs, or not at all. The reported binding must be the actual one.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2016
source "$(dirname "$0")/lib.sh"

# Ranks avoid the processors of other jobs of this user, so the test runs in its own process
# namespace if it may.
if [ -z "${TUTTI_TEST_ALONE-}" ]; then
    export TUTTI_TEST_ALONE=1
    if unshare -rpf --mount-proc true 2>/dev/null; then
        unshare -rpf --mount-proc bash "$0" "$@"
        exit
    fi
    echo 'not in a process namespace of its own: other jobs may be in the way'
fi

# Prints the line with a single write, so that the lines of ranks do not mix.
affinity='import os
os.write(1, (",".join(map(str, sorted(os.sched_getaffinity(0)))) + "\n").encode())'
mine=$(python3 -c "$affinity")
IFS=, read -ra processors <<<"$mine"
n=${#processors[@]}
# Prints the processors of each rank on a line.
run() { expect 0 tutti run "$@" python3 -c "$affinity"; }
of_list() { python3 -c 'import sys
for line in sys.stdin:
    parts = [p.split("-") for p in line.strip().split(",")]
    print(*[i for p in parts for i in range(int(p[0]), int(p[-1]) + 1)], sep=",")'; }
reported() { sed -nE 's/^tutti: rank [0-9]+: (.*: )?processors? ([0-9,-]+)( .*)?$/\2/p' err | of_list; }

# Ranks take processors in turn and have different ones while there are enough, and the report is
# correct.
for ranks in 1 2 $n $((n + 1)) $((2 * n)); do
    run -n "$ranks" --report-bindings
    [ "$(lines err)" -eq "$ranks" ] || fail 'not a line for each rank'
    diff <(sort out) <(reported | sort) || fail 'reported is something else'
    if [ "$ranks" -le "$n" ]; then [ "$(sort -u out | wc -l)" -eq "$ranks" ] || fail 'not each its own'; fi
    # The library counts the processors that all ranks have together.
    union=$(tr ',' '\n' <out | sort -u | wc -l)
    if [ "$ranks" -gt 1 ]; then
        TUTTI_LOG=boot expect 0 tutti run -n "$ranks" hello
        says err "$ranks ranks on $union cores\$"
    fi
done
run -n $((2 * n))
[ "$(sort out | uniq -c | awk '{ print $1 }' | sort -u)" = 2 ] || fail 'not evenly'

# Ranks use only processors that the launcher may use.
last=${processors[n - 1]}
expect 0 taskset -c "$last" tutti run -n 3 python3 -c "$affinity"
[ "$(lines out "^$last\$")" -eq 3 ] || fail 'elsewhere than allowed'

# The report numbers the cores of the whole machine, also in a cpuset that has only some of its
# cores. The test makes such a cpuset where it is allowed to, with cgroups of version 1.
expect 0 taskset -c "$last" tutti run -n 1 --report-bindings true
cp err outside
if cpuset=$(mktemp -d /sys/fs/cgroup/cpuset/tutti.XXXXXX 2>err); then
    cat /sys/fs/cgroup/cpuset/cpuset.mems >"$cpuset/cpuset.mems"
    echo "$last" >"$cpuset/cpuset.cpus"
    got=0
    sh -c 'echo $$ >"$0/tasks" && exec tutti run -n 1 --report-bindings true' "$cpuset" >out 2>err || got=$?
    rmdir "$cpuset"
    [ "$got" -eq 0 ] || fail "tutti run ended with $got in a cpuset"
    diff outside err || fail 'another core in a cpuset'
fi

# Options and variables that change the binding.
run -n 2 --bind none --report-bindings
[ "$(lines out "^$mine\$")" -eq 2 ] || fail 'bound'
says err '^tutti: rank 1: not bound: --bind none$'
for what in numa package; do
    run -n 2 --bind $what --report-bindings
    diff <(sort out) <(reported | sort) || fail "$what: reported is something else"
done
# A rank gets as many cores as the user asks for. If there are not enough for all ranks, each rank
# gets fewer, and a line says so. A number that even a single rank could not have is an error.
run -n 1 --cores-per-rank "$n"
[ "$(cat out)" = "$mine" ] || fail 'not all for one rank of many threads'
[ ! -s err ] || fail 'something is said although the rank has what it asked for'
run -n 2 --cores-per-rank "$n"
[ "$n" -eq 1 ] || says err "^tutti: --cores-per-rank $n: each of 2 ranks gets only [0-9]+, because there are $n for all of them\$"
for bind in '' '--bind core' '--bind package'; do
    # shellcheck disable=SC2086 # no word or two
    expect 125 tutti run -n 1 $bind --cores-per-rank 4096 true
    says err '^tutti: --cores-per-rank 4096: a rank can have at most [0-9]+ here'
done
expect 0 tutti run -n 1 --bind none --cores-per-rank 4096 true
[ ! -s err ] || fail 'something is said although nothing is bound'
OMP_NUM_THREADS=4096,2 run -n 1
[ "$(cat out)" = "$mine" ] || fail 'not all for the threads of OpenMP'
run -n 1 -x OMP_NUM_THREADS=4096
[ "$(cat out)" = "$mine" ] || fail 'not all for the threads that -x says'
OMP_NUM_THREADS=x run -n 1
[ "$(tr ',' '\n' <out | wc -l)" -le "$n" ] || fail 'no number of threads'

# If hwloc finds no processors, the job runs unbound by default.
HWLOC_COMPONENTS=-linux,stop run -n 2 --report-bindings
[ "$(lines out "^$mine\$")" -eq 2 ] || fail 'bound by whom?'
says err '^tutti: rank 1: not bound: hwloc finds no processor that this process may use$'
HWLOC_COMPONENTS=-linux,stop expect 125 tutti run --bind core true
says err '^tutti: cannot bind ranks: hwloc finds no processor that this process may use$'

# For a synthetic machine the binding is shown but not applied.
export HWLOC_SYNTHETIC='package:2 numa:2 core:4 pu:2'
run -n 5 --map-by package --display map
says err '^tutti: rank 0: python3: processors 0-1 \(core 0, NUMA node 0, package 0\), of a simulated machine'
says err '^tutti: rank 1: python3: processors 16-17 \(core 8, NUMA node 2, package 1\),'
[ "$(lines out "^$mine\$")" -eq 5 ] || fail 'bound on another machine'
expect 0 tutti run -n 17 --report-bindings true
says err '^tutti: rank 15: processor 30 \(core 15, '
says err '^tutti: rank 16: processor 1 \(core 0, '
unset HWLOC_SYNTHETIC

# `tutti info` shows the binding.
expect 0 tutti info
says out '^  tutti run +([0-9]+ ranks|1 rank): processors? [0-9]'
expect 0 tutti info --json
python3 -c 'import json; print(json.load(open("out"))["binding"]["tutti_run"])' >shown
grep -q 'processor' shown || fail 'not in JSON'
expect 0 taskset -c "$last" tutti info
says out '^  tutti run +1 rank: processor [0-9]'

# Under another launcher Tutti does not bind ranks. (PMIx leaks some memory.)
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
if command -v mpirun >/dev/null && mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 true >out 2>err; then
    for how in none core; do
        [ "$n" -gt 1 ] || break
        TUTTI_LOG=boot expect 0 mpirun --allow-run-as-root --oversubscribe --bind-to $how -n 2 hello
        says err "2 ranks on $([ $how = none ] && echo "$n" || echo '[0-9]+') cores\$"
    done
else
    echo 'no mpirun: what it binds is not looked at'
fi

# ---- Two jobs ----

if [ "$n" -lt 2 ]; then
    echo 'one processor: two jobs cannot be apart'
    exit 0
fi

# begin NAME COMMAND...: starts a job that holds its processors until `end NAME`; its report is in
# the file NAME.
begin() {
    local name=$1
    shift
    sh -c 'until [ -e go ]; do :; done; exec tutti run "$@"' - "$@" --report-bindings \
        sh -c "while [ ! -e $work/stop.$name ]; do sleep 0.02; done" 2>"$name" &
    started+=($!)
    pid[$name]=$!
}
end() {
    touch "stop.$1"
    wait "${pid[$1]}" || fail "job $1 failed"
    rm "stop.$1"
}
declare -A pid
touch go
is_bound() { grep -qE 'processor|not bound' "$1"; }
places() { cp "$1" err && reported; }

begin one -n 1
wait_for is_bound one
run -n 1 --report-bindings
[ "$(cat out)" != "$(places one)" ] || fail 'two jobs on the same processor'
expect 0 tutti info
says out '^  taken +processors? .*, by other jobs of this user$'
# Too few processors are left: ranks get the free ones first, and then those of the other job.
run -n "$n" --report-bindings
diff <(sort out) <(reported | sort) || fail 'reported is something else beside another job'
[ "$(sort -u out | wc -l)" -eq "$n" ] || fail 'not bound in turn'
cp err all
sed -n '/rank 0:/p' all >first
[ "$(places first)" != "$(places one)" ] || fail 'bound to what is taken, before what is free'
# On a terminal, one line says that too few processors are left, and what to do about it.
on_terminal() { python3 -c 'import pty, sys
pty.spawn(sys.argv[1:])' tutti run "$@" true </dev/null >out 2>&1; }
on_terminal -n "$n"
[ "$(lines out 'other jobs of this user leave [0-9]+ of [0-9]+ processors free, .*; --bind none')" -eq 1 ] || fail 'not said'
on_terminal -n "$n" --bind none
[ "$(lines out 'other jobs')" -eq 0 ] || fail 'said although nothing was to be bound'
on_terminal -n 1
[ "$(lines out 'other jobs')" -eq 0 ] || fail 'said although one processor is free'
run -n "$n" --bind core
[ "$(sort -u out | wc -l)" -gt 1 ] || fail 'not bound as asked for'
grep -qx "$(places one)" out || fail 'not bound to what is taken, although asked for'
# No processor is left: the ranks of a further job share all of them.
begin more -n "$((n - 1))"
wait_for is_bound more
run -n "$n"
[ "$(sort -u out | wc -l)" -eq "$n" ] || fail 'not bound in turn to what other jobs hold'
on_terminal -n 1
[ "$(lines out 'other jobs of this user leave 0 of [0-9]+ processors free')" -eq 1 ] || fail 'not said that all are taken'
end more
# A job that is not bound occupies no processors.
begin free --bind none -n 1
wait_for is_bound free
run -n 1
[ "$(cat out)" != "$(places one)" ] || fail 'not beside the bound one'
end free
end one
run -n "$n"
[ "$(sort -u out | wc -l)" -eq "$n" ] || fail 'a job that has ended takes something'

# The launcher reads the topology without hwloc's plugins, and leaves no trace of that in the ranks'
# environment. The dynamic linker lists the files that each process has loaded. (Without Debian's
# libhwloc-plugins there is none that could be loaded.)
unset HWLOC_PLUGINS_PATH HWLOC_XMLFILE
# shellcheck disable=SC2016
LD_DEBUG=files LD_DEBUG_OUTPUT=$work/loaded tutti run -n 1 sh -c 'echo "${HWLOC_PLUGINS_PATH-unset}"' >out 2>err
[ "$(cat out)" = unset ] || fail 'a rank finds HWLOC_PLUGINS_PATH in its environment'
cat loaded.* >loaded
grep -q 'libhwloc\.so' loaded || fail 'the launcher does not load hwloc'
grep -q 'file=[^ ]*/hwloc_' loaded && fail 'the launcher loads plugins of hwloc'

# As many jobs as there are processors (at most 8) start at the same moment, and no two of them may
# share a processor.
cores=$(python3 -c 'import glob
print(len({open(f).read() for f in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings")}))' || echo 2)
jobs=$((cores < 8 ? cores : 8))
for turn in {1..10}; do
    rm go
    for ((i = 0; i < jobs; i++)); do begin "at-once.$i" -n 1; done
    sleep 0.1
    touch go
    for ((i = 0; i < jobs; i++)); do wait_for is_bound "at-once.$i"; done
    for ((i = 0; i < jobs; i++)); do
        cp "at-once.$i" err
        reported
        end "at-once.$i"
    done >places
    [ "$(sort -u places | wc -l)" -eq "$jobs" ] || fail "turn $turn: jobs begun at once are on the same processors"
done
