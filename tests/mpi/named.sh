#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests situations in which Tutti and the host MPI could disturb each other: messages of the host
# while Tutti waits, threads, communicators that are made and freed, processes that are started
# later.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2015
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
compile_mpi "$host" "$here/named.c" -o named -lpthread

# under RANKS PART: runs a part of named.c with Tutti, and checks that Tutti took calls.
under() {
    reported "$host" "$1" ./named "$2"
    [ "$(cat out)" = 'done' ] || fail "$2 on $1 ranks"
    [ ! -s err ] || fail "$2 prints something"
    grep -q '"choice": "taken"' calls.json || fail "nothing is taken in $2"
}
# choice PATTERN TEXT: checks that some rows of the report match the pattern, and that all of these
# have this choice.
choice() {
    grep -E "$1" calls.json >rows || fail "no row matches $1"
    if grep -vF "\"choice\": \"$2\"" rows; then fail "rows that match $1 are not '$2'"; fi
}

under 2 rendezvous
under 3 relay
under 3 threads
under 3 churns
under 2 many
TUTTI_ALGORITHM=bcast=binomial under 2 little
under 2 rows
under 2 wide-rows
under 2 sizes
counted "$host" 2 ./named wide-rows
[ "$(cat out)" = 'done' ] || fail 'counting types that were made with large counts'
under 4 groups
choice '"MPI_Neighbor_allgather"' 'left: not taken by Tutti'
grep -q '"ranks": 4.*"choice": "left: two groups"' calls.json || fail 'the communicator of two groups'
under 3 mixed
choice '"MPI_Iallreduce"' taken
under 3 leave
under 3 late

# The report has the last name of each communicator. In Open MPI, a persistent collective is started
# after its communicator is freed.
for how in counted reported; do
    "$how" "$host" 2 ./named renames
    python3 - calls.json "$host" <<'PYTHON' || fail "names after calls, $how"
import collections
import json
import sys

report = json.load(open(sys.argv[1]))
calls, starts = collections.Counter(), collections.Counter()
for row in report["calls"]:
    calls[row["communicator"]] += row["calls"]
    starts[row["communicator"]] += row.get("starts", 0)
number = {row["communicator"]: row["number"] for row in report["communicators"]}
expected = {"kept": 8, "freed": 11, "": 2}
named = {"kept": 1, "freed": 2, "": 1}
if sys.argv[2] == "openmpi":
    expected |= {"started": 1, "next": 1}
    named |= {"started": 1, "next": 1}
    assert starts["started"] == 3 == sum(starts.values()), starts
assert calls == expected, calls
assert number == named, number
PYTHON
done

# No name is lost, however many there are, and each row counts whole calls.
counted "$host" 2 ./named many-names
python3 - calls.json <<'PYTHON' || fail 'many names'
import json
import sys

report = json.load(open(sys.argv[1]))
rows = {(row["communicator"], row["type"], row["operation"]): row["calls"] for row in report["calls"]}
assert len(rows) == 802 == len(report["calls"]), len(report["calls"])
assert rows["last", "MPI_DOUBLE", "MPI_MAX"] == rows["MPI_COMM_WORLD", "MPI_LONG", "MPI_PROD"] == 1, rows
for name, _, _ in rows:
    number = 1 if name[:3] == "own" or name in ("last", "MPI_COMM_WORLD") else 2
    assert sum(calls for row, calls in rows.items() if row[0] == name) == number, name
assert sum(len(name) > 60 for name, _, _ in rows) == 3, rows
assert all(row["number"] == 1 for row in report["communicators"]), report["communicators"]
assert len(report["communicators"]) == 802, len(report["communicators"])
PYTHON

# Names in UTF-8 are written as they are, and the bytes of others are escaped: bytes alone, forms
# that are too long, half a pair of UTF-16, characters that are too large, control characters, and a
# character that is not complete. The characters at the bounds of these ranges are kept.
name='"é\\\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf'
name+='\xff\xc0\xaf\xe0\x9f\xbf\xed\xa0\x80\xf0\x8f\xbf\xbf\xf4\x90\x80\x80\xf5\x80\xc2\x85\x7f\n\xe2\x82'
printf %b "$name" >name
counted "$host" 1 ./named name name
python3 - calls.json name <<'PYTHON' || fail 'a name that is not only ASCII'
import json
import sys

wanted = open(sys.argv[2], "rb").read()
report = json.load(open(sys.argv[1], encoding="utf-8"))
names = {row["communicator"] for row in report["communicators"]}
text = wanted.decode("utf-8", "surrogateescape")
assert names == {"".join(chr(ord(c) & 0xFF) if "\udc00" <= c < "\ue000" else c for c in text)}, names
PYTHON
before=(tutti mpi --count)
printf 'h\xc3\xa9' >name
launch "$host" 1 ./named name name
grep -qE '^MPI_Barrier +1  hé {15}-' err || fail 'the table escapes a name in UTF-8'
before=()

# A process that is started later has its own world. MPICH cannot start one on every machine.
if "$(launcher "$host")" -n 2 ./named spawn >out 2>err && [ "$(cat out)" = 'done' ]; then
    under 2 spawn
    grep -q '"ranks": 4.*"choice": "left: ranks of another world"' calls.json || fail 'the union of two worlds'
    if grep '"ranks": 4.*"choice": "taken"' calls.json; then fail 'a call of two worlds was taken'; fi
    # Each world has a report. Together they have all calls of the union of the worlds.
    spawned=(calls-*.json)
    [ "${#spawned[@]}" -eq 1 ] && python3 - calls.json "${spawned[0]}" <<'PYTHON' || fail 'the reports of two worlds'
import json
import sys

reports = [json.load(open(name)) for name in sys.argv[1:]]
assert [report["ranks"] for report in reports] == [2, 2], reports
halves = [sum(row["calls"] for row in report["calls"] if row["ranks"] == 4) for report in reports]
assert halves[0] == halves[1] > 0, halves
PYTHON
fi
