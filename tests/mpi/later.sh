#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests nonblocking and persistent collectives: Tutti does them, and the results are right.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
compile_mpi "$host" "$here/later.c" -o later -lpthread -ldl 2>/dev/null || fail 'the compiler'
compile_take "$host" itake -DNONBLOCKING
compile_take "$host" persistent -DNONBLOCKING -DPERSISTENT

# Checks all results.
parts=(many attributes operations driven lists persistent crossed threads) prefix=MPIX_
if [ "$host" = mpich ]; then parts+=(wide) prefix=MPI_; fi
# check RANKS BEGINNING END: checks in the report who did the functions whose names begin and end
# with these texts.
check() {
    python3 - calls.json "$@" <<'PYTHON' || fail "the report of $2*$3 on $1 ranks"
import json
import sys

ranks, begin, end = sys.argv[2:]
done, done_by_users = set(), set()
for row in json.load(open(sys.argv[1]))["calls"]:
    name = row["function"]
    if row["ranks"] != int(ranks) or not name.startswith(begin) or not name.endswith(end):
        continue
    assert row["choice"] == "taken", row
    done.add(name[len(begin) : len(name) - len(end)].lower())
    if row["operation"] == "user":
        done_by_users.add(name[len(begin) : len(name) - len(end)].lower())
names = ("barrier bcast reduce allreduce scan exscan reduce_scatter reduce_scatter_block gather gatherv scatter scatterv "
         "allgather allgatherv alltoall alltoallv alltoallw")
assert done == set(names.split()), done
reductions = "reduce allreduce scan exscan reduce_scatter reduce_scatter_block"
assert done_by_users == set(reductions.split()), done_by_users
PYTHON
}
for ranks in 2 3 5; do
    reported "$host" "$ranks" ./itake
    grep -qx 'all results are right' out || fail "on $ranks ranks"
    [ ! -s err ] || fail "something is printed on $ranks ranks"
    check "$ranks" MPI_I ''
    reported "$host" "$ranks" ./persistent
    grep -qx 'all results are right' out || fail "persistent calls on $ranks ranks"
    [ ! -s err ] || fail "something is printed for persistent calls on $ranks ranks"
    check "$ranks" "$prefix" _init
done

# Checks calls that are in flight while the program does something else.
for part in "${parts[@]}"; do
    reported "$host" 3 ./later "$part"
    [ "$(cat out)" = 'done' ] || fail "$part"
    [ ! -s err ] || fail "$part prints something"
    grep -q '"MPI_I.*"taken"' calls.json || fail "no call is taken in $part"
done

# With MPI_THREAD_MULTIPLE, another thread may call the operations of the program.
reported "$host" 3 ./later operations multiple
[ "$(cat out)" = 'done' ] || fail 'operations multiple'
[ ! -s err ] || fail 'operations multiple prints something'
grep -q '"MPI_Iscan".*"user", "choice": "taken"' calls.json || fail 'no scan is taken in operations multiple'

# Ranks that end a nonblocking call at different times must do the next blocking call in the same
# way, also if blocking calls measure algorithms.
before=(env TUTTI_CHOICE=measure "TUTTI_WISDOM=$PWD/mixed.wisdom" tutti mpi)
launch "$host" 3 ./later mixed
[ "$(cat out)" = 'done' ] || fail 'mixed'
# Rank 0 alone decides whether ranks measure.
before=(env "TUTTI_WISDOM=$PWD/mixed.wisdom" tutti mpi)
# shellcheck disable=SC2016
launch "$host" 3 sh -c 'if [ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 0 ]; then export TUTTI_CHOICE=measure; fi
    exec ./later mixed'
[ "$(cat out)" = 'done' ] || fail 'mixed, where only rank 0 has the setting'
before=()

# dies PART: kills a rank. The launcher must end the job, as it does without Tutti.
dies() {
    local code=0
    timeout 3000 tutti mpi "$(launcher "$host")" -n 3 ./later "$1" >out 2>err </dev/null || code=$?
    if [ "$code" -eq 0 ] || [ "$code" -eq 124 ]; then fail "exit code $code after a rank was killed ($1)"; fi
}
dies die
dies die-started

# Each time that the host MPI's progress runs, it must advance Tutti once, however many calls are in
# flight.
count_advances "$library"
before=(env LD_PRELOAD="$PWD/counted/libtutti_mpi.so")
launch "$host" 2 ./later looks "$PWD/counted/libtutti.so.0"
[ "$(cat out)" = 'done' ] || fail 'looks'

# A call that can end in its start must be completed there.
compile_mpi "$host" "$here/in-start.c" -o in-start -ldl || fail 'the compiler'
before=(env "LD_PRELOAD=$PWD/counted/libtutti_mpi.so" "TUTTI_MPI_REPORT=$PWD/calls.json")
launch "$host" 2 ./in-start "$PWD/counted/libtutti.so.0"
[ "$(cat out)" = 'done' ] || fail 'in-start'
[ "$(grep -cE '"MPIX?_(Ibcast|Bcast_init)".*"taken"' calls.json)" -eq 2 ] || fail 'the calls of in-start are not taken'

# An error handler may jump out of a call that cannot begin. The program calls 3 barriers before
# this call and 5 after it, and Tutti must take all 8.
before=(env "LD_PRELOAD=$PWD/counted/libtutti_mpi.so" "TUTTI_MPI_REPORT=$PWD/calls.json")
launch "$host" 2 ./later refused "$PWD/counted/libtutti.so.0"
[ "$(cat out)" = 'done' ] || fail 'refused'
[ "$(grep -cE '^tutti: MPI: MPIX?_(Ibcast|Bcast_init): ' err)" -eq 4 ] || fail 'no word about calls that could not begin'
grep -q '"MPI_Barrier".*"choice": "taken".*"calls": 8}' calls.json || fail 'calls after an error handler has jumped out of one'
before=()

# Persistent calls of two threads can fail at the same time.
before=(env "LD_PRELOAD=$PWD/counted/libtutti_mpi.so")
launch "$host" 2 ./later refused-threads "$PWD/counted/libtutti.so.0"
[ "$(cat out)" = 'done' ] || fail 'refused-threads'
before=()

# An error that is found after the start must go to the error handler of the communicator.
for level in single multiple; do
    before=(tutti mpi)
    launch "$host" 3 ./later mismatch "$level"
    [ "$(cat out)" = 'done' ] || fail "mismatch $level"
    grep -q '^tutti: MPI: MPI_Iallreduce: rank [0-2] called ' err || fail 'no word about the counts'
    launch "$host" 3 ./later unlike "$level"
    [ "$(cat out)" = 'done' ] || fail "unlike $level"
    grep -qE '^tutti: MPI: MPIX?_Allreduce_init: rank [0-2] called ' err || fail 'no word about the counts of a persistent call'
done
before=()

# Up to 256 persistent calls have teams at the same time, and the host MPI must do the others.
reported "$host" 3 ./later prepared
[ "$(cat out)" = 'done' ] || fail 'prepared'
python3 - calls.json <<'PYTHON' || fail 'the report of persistent calls'
import json
import sys

rows = {row["choice"]: row for row in json.load(open(sys.argv[1]))["calls"] if row["function"].endswith("_Allreduce_init")}
calls = {choice: (row["calls"], row["starts"]) for choice, row in rows.items()}
assert calls == {"taken": (511, 511), "left: no team could be made": (89, 89)}, calls
PYTHON

# By default, nonblocking calls are left to the host MPI. A single function can be switched off.
before=(env TUTTI_MPI=on)
reported "$host" 3 ./later driven
grep '"MPI_I' calls.json | grep -vF '"left: nonblocking calls are not measured"' && fail 'the default'
before=(env TUTTI_MPI=on)
reported "$host" 3 ./later prepared
grep '_init"' calls.json | grep -vF '"left: nonblocking calls are not measured"' && fail 'the default of persistent calls'
before=(env 'TUTTI_MPI=take,-ibcast')
reported "$host" 3 ./later driven
grep -q '"MPI_Ibcast".*"left: TUTTI_MPI"' calls.json || fail 'a call that is switched off'
grep -q '"MPI_Ibarrier".*"taken"' calls.json || fail 'the other calls'

# MPICH calls Tutti in place of UCX only if Tutti takes nonblocking calls.
for mode in take on count; do
    if [ "$host" != mpich ]; then break; fi
    expected=no
    if [ "$mode" = take ]; then expected=yes; fi
    before=(env "TUTTI_MPI=$mode" tutti mpi)
    launch "$host" 2 ./later replaced "$expected"
    [ "$(cat out)" = 'done' ] || fail "replaced in mode $mode"
done
