#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti ps`, and the roll call that the launcher prints at its time limit and on SIGQUIT.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
source "$(dirname "$0")/lib.sh"

missing=$TUTTI_BUILD/tests/test-run-missing
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

# shows PATTERN: returns whether `tutti ps` prints a matching line for this job.
shows() { tutti ps "$job" >out 2>err && grep -qE -- "$1" out; }
begin() {
    rm -f go
    "$@" >job.out 2>job.err &
    job=$!
    started+=("$job")
}
end() {
    local code=0
    touch go
    wait "$job" || code=$?
    [ "$code" -eq 0 ] || fail "the job ended with $code"
}

# Processes: `tutti ps` shows the process number, state and activity of each rank. It stops no rank
# and changes nothing.
begin tutti run -n 4 "$missing" outside
# On a busy machine the other ranks may be in the next call while rank 2 still returns from the
# first.
wait_for shows '^ +2 +[0-9]+ +(sleeping|running) +outside the library; it last completed barrier.* \(call 1\)$'
wait_for shows '^ +0 +[0-9]+ +(sleeping|running) +in allreduce.* on the world \(call 2\), for [0-9.]+( to [0-9.]+)? s; waits for rank 2$'
says out "^4 ranks of .*test-run-missing outside, started by tutti \(pid $job\), [0-9]+ s ago$"
says out '^ +2 +[0-9]+ +(sleeping|running) +outside the library; it last completed barrier.* \(call 1\)$'
[ "$(lines out '^ +[0-3] ')" -eq 4 ] || fail 'not each rank is shown'
pid=$(awk '$1 == 2 { print $2 }' out)
grep -q test-run-missing "/proc/$pid/cmdline" || fail "$pid is not rank 2"
kill -STOP "$pid"
wait_for shows '^ +2 +[0-9]+ +stopped +stopped, as by SIGSTOP; outside the library'
kill -CONT "$pid"
expect 0 tutti ps "$pid"
says out '^4 ranks of '
expect 0 tutti ps
says out "\(pid $job\)"
expect 0 tutti ps --json
python3 - out "$job" <<'PYTHON'
import json
import sys

with open(sys.argv[1]) as file:
    rows = [row for row in json.load(file) if row["started_by"] == int(sys.argv[2])]
assert [row["rank"] for row in rows] == [0, 1, 2, 3], rows
assert "for_s" in rows[0] and "for_s" not in rows[2], rows
PYTHON

# SIGQUIT prints the roll call, and the job continues.
kill -QUIT "$job"
wait_for grep -q 'SIGQUIT: roll call$' job.err
wait_for grep -qE 'ranks 0-1,3: in allreduce.*; wait for rank 2$' job.err
end
expect 1 tutti ps "$job"
says err 'no job has such a rank or launcher'
expect 2 tutti ps soon

# A job whose ranks are threads.
begin "$missing" outside 3
wait_for shows "^ +0 +$job +(sleeping|running) +in allreduce.*; waits for rank 2$"
says out "^3 threads of .* \(pid $job\)"
end

# The calls of these ranks are blocking and last some microseconds. The ranks are shown in the
# calls, and none of the calls is shown as a request under way.
begin tutti run -n 2 "$missing" brief
wait_for shows '^ +0 +[0-9]+ +[a-z]+ +in barrier\(\) on the world \(call [0-9]+\)$'
for _ in {1..20}; do tutti ps "$job"; done >out 2>err || fail "tutti ps ended with $?"
[ "$(lines out '^ +[01] ')" -eq 40 ] || fail 'not each rank is shown'
[ "$(lines out 'under way')" -eq 0 ] || fail 'short calls are shown as requests'
end

# A rank that waits for a request is shown in that call. Between the start of the request and the
# wait, the rank is shown outside the library. The test tries until it has seen both, since how
# often either is seen depends on the machine's other work.
begin tutti run -n 2 "$missing" brief-requests
wait_for shows '^ +0 +[0-9]+ +[a-z]+ +in barrier\(\) on the world \(call [0-9]+\)$'
wait_for shows '^ +0 +[0-9]+ +[a-z]+ +outside the library, 1 request under way'
end

# Calls of a rank fail, and later its process ends: the line of the rank shows both.
begin tutti run -n 4 --on-failure=continue "$missing" mismatch
wait_for shows '^ +3 +[0-9]+ .* its calls fail: the calls of the ranks do not match; outside '
kill -9 "$(awk '$1 == 3 { print $2 }' out)"
wait_for shows '^ +3 +[0-9]+ +[a-z]+ +cannot go on: the calls of the ranks do not match; died: signal 9 \(Killed\)$'
shows '^ +2 +[0-9]+ .* its calls fail: the calls of the ranks do not match; outside ' || fail 'rank 2 has no other cause'
kill "$job"
wait "$job" || true

# A program that does not use the library.
begin tutti run -n 2 sleep 600
wait_for shows '^ +1 +[0-9]+ +(sleeping|running) +in no client of the library$'
expect 0 tutti ps --json "$job"
python3 - out "$job" <<'PYTHON'
import json
import sys

with open(sys.argv[1]) as file:
    rows = json.load(file)
assert [(row["rank"], row["client"]) for row in rows] == [(0, None), (1, None)], rows
assert all(row["started_by"] == int(sys.argv[2]) and row["pid"] > 0 for row in rows), rows
assert all(row["doing"] == "in no client of the library" for row in rows), rows
PYTHON
kill "$job"
wait "$job" || true

# `tutti ps` neither fails nor disturbs jobs while they start and end, or if there is memory that
# only looks like a job's.
python3 -c '
import os, time
fd = os.memfd_create("tutti")
os.write(fd, bytes(range(256)) * 64)
other = os.memfd_create("tutti")
os.ftruncate(other, 1 << 40)
os.pwrite(other, (0x0069747475745401).to_bytes(8, "little") + b"0.0.9\0", 0)
print("ready", flush=True)
time.sleep(600)
' >ready &
started+=("$!")
wait_for has_lines ready 1
expect 0 tutti ps
says out 'cannot be shown: '
says out 'cannot be shown: it is of version 0\.0\.9 of the library'
for _ in 1 2 3 4 5 6 7 8; do tutti run -n 3 "$rank" join-often; done >job.out 2>job.err &
job=$!
started+=("$job")
while [ -d "/proc/$job" ] && [ "$(state "$job")" ]; do
    tutti ps >out 2>err || fail "tutti ps ended with $?"
    tutti ps --json >out 2>err || fail "tutti ps --json ended with $?"
done
wait "$job" || fail 'a job was disturbed'

# A job whose ranks have ended is not shown, although a child of a rank still has the job's memory.
# The first case is a rank without a launcher, whose child has a copy of the memory. The rank
# becomes a zombie, because its parent does not wait for it.
rm -f go
sh -c '"$0" outlived >child & echo $! >ended; exec sleep 600' "$rank" &
started+=("$!")
wait_for has_lines child 1
wait_for has_lines ended 1
started+=("$(cat child)" "$(cat ended)")
expect 0 tutti ps
says out "^1 rank of .*tools-rank outlived \\(pid $(cat ended)\\)"
[ "$(lines out "^ +0 +$(cat ended) ")" -eq 1 ] || fail 'a copy of the memory counts as a job'
touch go
wait_for is_gone "$(cat ended)"
[ "$(state "$(cat child)")" ] || fail 'the child has ended, too'
[ -e "/proc/$(cat ended)" ] || fail 'the rank is no zombie'
expect 1 tutti ps "$(cat ended)"
expect 0 tutti ps
[ "$(lines out "^ +0 +$(cat ended) ")" -eq 0 ] || fail 'a job that has ended is shown'

# The second case: the launcher and its guard are killed, which ends the rank as well. The child of
# the rank holds the descriptor of the job's memory.
begin tutti run -n 1 "$rank" outlived
wait_for has_lines job.out 1
started+=("$(cat job.out)")
expect 0 tutti ps
says out '^1 rank of .*tools-rank outlived, started by tutti'
guard=$(pgrep -P "$job")
ended=$(pgrep -P "$guard")
kill -STOP "$guard"
kill -9 "$job" "$guard"
wait "$job" || true
wait_for is_gone "$ended"
[ "$(state "$(cat job.out)")" ] || fail 'the child has ended, too'
expect 0 tutti ps
[ "$(lines out "^ +0 +$ended ")" -eq 0 ] || fail 'a job that has ended is shown'

# The job runs in another PID namespace, so its processes have other numbers here. `tutti ps` cannot
# look at these processes, and a process that has one of their numbers here does not belong to the
# job. The job is shown until its ranks have ended.
spaces=(unshare --user --map-root-user --pid --fork --mount-proc --kill-child)
# there N DOING: returns whether `tutti ps` shows N ranks of the job in the other namespace that do
# this.
there() {
    inside=$(pgrep -P "$job") && tutti ps "$inside" >out 2>err &&
        [ "$(lines out "^ +[0-2] +[0-9]+ +unknown +in another PID namespace; $2")" -eq "$1" ]
}
if "${spaces[@]}" true 2>job.err; then
    begin "${spaces[@]}" tutti run -n 3 "$missing" outside
    wait_for there 3 '(in|outside) '
    says out ", started by tutti \\(pid $inside\\), "
    [ "$(lines out 'its process is gone')" -eq 0 ] || fail 'other processes count as ranks'
    expect 0 tutti ps --json "$inside"
    says out '"state":[[:space:]]*"unknown"'
    says out '"doing":[[:space:]]*"in another PID namespace; '
    # Rank 0 has the process number 3 in its namespace; the process number 3 here is another
    # process.
    says out '"pid":[[:space:]]*3,'
    expect 1 tutti ps 3
    end
    expect 1 tutti ps "$inside"
    # A program that does not use the library.
    begin "${spaces[@]}" tutti run -n 2 sleep 600
    wait_for there 2 'in no client'
    kill -9 "$job"
    wait "$job" || true
    # A job whose ranks are threads.
    begin "${spaces[@]}" "$missing" outside 3
    wait_for there 3 '(in|outside) '
    says out "^3 threads of .* \\(pid $inside\\)"
    end
    # Here the job and `tutti ps` run in a new PID namespace in which /proc is not mounted again, so
    # /proc shows the numbers of the namespace above. No process with one of these numbers counts as
    # a rank.
    ln -s "$missing" below
    # shellcheck disable=SC2016
    begin unshare --user --map-root-user --pid --fork --kill-child bash -c '
        tutti run -n 3 "$0" outside &
        until [ -e go ]; do tutti ps >new; mv new shown; sleep 0.1; done
        wait' "$work/below"
    not_taken() {
        [ "$(awk -v of="$work/below outside" '/^[0-9]/ { on = index($0, of) } on' shown |
            grep -cE '^ +[0-2] +[0-9]+ +unknown +in another PID namespace; (in|outside) ')" -eq 3 ]
    }
    wait_for not_taken
    end
fi

# A program that has cleared its command line has the name of its process.
begin "$rank" nameless
wait_for shows '^ +0 +[0-9]+ .* outside the library'
says out '^1 rank of \[tools-rank\] \(pid '
end

# At its time limit a job prints which ranks were missing.
rm -f go
expect 124 tutti run -n 4 --timeout 4 "$missing" outside
says err 'the time is over: roll call$'
says err 'ranks 0-1,3: in allreduce.*; wait for rank 2$'
says err 'timed out after 4 s'
expect 124 tutti run -n 2 --timeout 0.5 sleep 600
says err 'no rank has called tutti_init, or all have left'
