#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# TUTTI_REPORT: each call is counted once, under its shape and algorithm, and the rank that comes
# late is the one for which the others have waited.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
source "$(dirname "$0")/../locale.sh"
source "$(dirname "$0")/../tools/model.sh"
unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_ALGORITHM TUTTI_TRACE
export TUTTI_WISDOM=0 XDG_CACHE_HOME=$work/cache
program=$TUTTI_BUILD/tests/choose-measured

expect 0 timeout 3000 env TUTTI_REPORT=calls-%r.json tutti run -n 3 "$program"
python3 - <<'PYTHON'
import json
for rank in range(3):
    report = json.load(open(f"calls-{rank}.json"))
    assert report["rank"] == rank and report["ranks"] == 3 and report["lost"] == 0, report
    rows = report["calls"]
    # tests/choose/measured.c makes this number of calls of each kind on the world.
    for call, blocks, number in (("allreduce", True, 180), ("allreduce", False, 60 + 29), ("reduce", True, 60),
                                 ("bcast", True, 60), ("barrier", True, 60)):
        found = [row for row in rows if row["call"] == call and row["ranks"] == 3 and row["blocks"] == blocks]
        assert sum(row["calls"] for row in found) == number, (rank, call, blocks, found)
        for row in found:
            assert row["algorithm"] and 0 < row["least_us"] <= row["most_us"] <= row["us"], row
            assert row["waited_us"] <= row["us"], row
    assert {row["bytes"] for row in rows if row["call"] == "bcast"} == {700}, rows
    assert report["waited_for"][rank] == 0 and 0 < report["in_calls"] < report["seconds"], report
PYTHON
[ "$(find . -name 'calls-*' | wc -l)" -eq 3 ] || fail 'not three reports'

# Rank 1 sleeps before its calls, so rank 0 must have waited longer for rank 1 than rank 1 for rank
# 0. Rank 1 has waited, too, because the processors also have other work. This must hold for the
# algorithms that Tutti chooses, which use flags, and for others, which use messages.
cat >late <<'SCRIPT'
#!/bin/bash
if [ "$TUTTI_RANK" = 1 ]; then export TUTTI_FAULT=delay=3000,seed=1; fi
exec "$1"
SCRIPT
chmod +x late
for algorithms in '' allreduce=doubling,reduce=binomial,bcast=binomial,barrier=dissemination; do
    expect 0 timeout 3000 env "TUTTI_ALGORITHM=$algorithms" TUTTI_REPORT=late-%r.json tutti run -n 2 ./late "$program"
    python3 -c 'import json
reports = [json.load(open(f"late-{rank}.json")) for rank in range(2)]
waited = [report["waited_for"] for report in reports]
assert waited[0][1] > waited[1][0] > 0, waited
in_rows = sum(row["waited_us"] for row in reports[0]["calls"])
assert abs(1e6 * waited[0][1] - in_rows) < 0.01 * in_rows, (waited, in_rows)'
done

# The report as text on standard error. Without %r in the name, only rank 0 writes one. A trace can
# be written at the same time.
expect 0 timeout 3000 env TUTTI_REPORT=1 TUTTI_TRACE=trace tutti run -n 2 "$program"
says err '^Calls of rank 0 of 2; [0-9.]+ s in the job, [0-9.]+ s of them in calls$'
says err '^waited for rank 1: [0-9.]+ s'
says err '^reduce +i64 +sum +5600 +2 flat +60 +- +[0-9.]+ '
[ "$(lines err '^Calls of rank')" -eq 1 ] || fail 'another rank has written a report'
[ "$(find trace -name '*.json' | wc -l)" -eq 2 ] || fail 'the trace is not whole'

# The program's locale changes neither the report nor how settings are read.
if has_locale de_DE; then
    expect 0 "${in_locale[@]}" timeout 3000 env TUTTI_WATCHDOG=2999.5 TUTTI_REPORT=german.json \
        tutti run -n 2 "$program"
    python3 -c 'import json; assert json.load(open("german.json"))["seconds"] > 0'
    [ ! -s err ] || fail 'a setting with a fraction is refused'
fi

# If the program changes its folder, the report still goes to where it would have gone.
mkdir away
expect 0 timeout 3000 env TUTTI_REPORT=moved.json MEASURED_FOLDER=away tutti run -n 2 "$program"
[ -s moved.json ] || fail 'the report is in another folder'

# If the report cannot be written, there is a warning and no error.
(ulimit -f 0 && TUTTI_REPORT=long "$program" 1) 2>&1 | cat >out || fail 'a report that is too long ends the program'
says out 'warning: TUTTI_REPORT: cannot write the whole report to .*/long$'
touch occupied
expect 0 timeout 3000 env TUTTI_REPORT=occupied/report tutti run -n 2 "$program"
says err 'warning: TUTTI_REPORT: cannot write .*/occupied/report: Not a directory'

# With a model, the report predicts times also for calls in which each rank has a count of its own:
# with equal counts.
model '8 64 512 4096 16384 65536 262144 1048576 4194304' >machine
for problem in allgatherv/u8/100/p3 reduce_scatter/f64/sum/800/p3; do
    expect 0 timeout 3000 env TUTTI_REPORT=1 TUTTI_MACHINE="$work/machine" tutti bench --iterations 10 $problem
    says err "^${problem%%/*} +(u8|f64) +(-|sum) +(300|2400) +3 [a-z-]+ +[0-9]+ +[0-9.]+ "
done
