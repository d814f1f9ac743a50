#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Settings: an unknown variable or a wrong value gives one warning per job, whichever rank has it.
# The table of settings lists exactly those that the sources read and the documents describe.
# `tutti info` shows what the library ignores.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# ---- Variables that are not settings ----

misspelled() { env TUTTI_EAGRE=4K TUTTI_ALGO=x TUTTI_XYZZY=1 Tutti_Eager=4K tutti_mine=1 "$@"; }
reported_once() {
    [ "$(lines err 'is not a setting')" -eq 4 ] || fail "not four warnings: $*"
    says err 'TUTTI_EAGRE is not a setting and is ignored; did you mean TUTTI_EAGER\?$'
    says err 'TUTTI_ALGO is not a setting and is ignored; did you mean TUTTI_ALGORITHM\?$'
    says err 'Tutti_Eager is not a setting and is ignored; did you mean TUTTI_EAGER\?$'
    says err "TUTTI_XYZZY is not a setting and is ignored \('tutti info' lists the settings\)$"
}
expect 0 misspelled tutti run -n 4 hello
reported_once 'a job of four'
says err 'rank 0\] warning: TUTTI_EAGRE'
expect 0 misspelled tutti bench --threads barrier/p3 --iterations 2
reported_once 'threads'
expect 0 misspelled tutti bench barrier/p3 --iterations 2
reported_once 'a benchmark'
expect 0 misspelled tutti plan barrier/p2
reported_once 'a command without ranks'
expect 0 misspelled hello
reported_once 'a job of one'

# There is no warning about variables that the launcher, environment modules and the tests
# themselves set.
expect 0 env TUTTI_ROOT=/opt TUTTI_HOME=/opt TUTTI_LIB=/opt/lib TUTTI_TEST_ANYTHING=1 NOTUTTI_X=1 tutti run -n 2 hello
[ ! -s err ] || fail 'warned of what is expected'

# ---- A file of wisdom that does not exist ----

expect 0 env TUTTI_WISDOM=nowhere tutti run -n 3 hello
[ "$(lines err)" -eq 1 ] || fail 'not one warning of missing wisdom'
says err '^tutti: \[rank 0\] warning: TUTTI_WISDOM=nowhere: there is no such file, so there is no wisdom$'
expect 0 env TUTTI_WISDOM=nowhere tutti run -n 1 hello
[ ! -s err ] || fail 'a job of one rank uses no wisdom'
: >empty.wisdom
for none in TUTTI_WISDOM=0 TUTTI_WISDOM= TUTTI_WISDOM=empty.wisdom; do
    expect 0 env "$none" tutti run -n 2 hello
    [ "$(lines err 'wisdom')" -eq 0 ] || fail "a warning of missing wisdom with $none"
done
# A job that measures makes the file.
expect 0 env TUTTI_WISDOM=made TUTTI_CHOICE=measure tutti run -n 2 hello
[ "$(lines err 'no such file')" -eq 0 ] || fail 'a warning where the file is made'

# ---- Wrong values ----

wrong() {
    env TUTTI_PEER_TIMEOUT=abc TUTTI_EAGER=-1 TUTTI_CHOICE=best TUTTI_LOG=boat TUTTI_ISA=avx TUTTI_WATCHDOG=soon "$@"
}
each_once() {
    [ "$(lines err '^tutti: .*warning')" -eq 6 ] || fail "not six warnings: $*"
    says err 'warning: TUTTI_PEER_TIMEOUT=abc is not a whole number from 2 to 3600: using the default \(10\)$'
    says err 'warning: TUTTI_EAGER=-1 is not a whole number from 0 to 1G: using the default \(8K\)$'
    says err 'warning: TUTTI_CHOICE=best is not one of auto, table, estimate, measure: using the default \(auto\)$'
    says err 'warning: TUTTI_LOG=boat is not a list of choice, boot, fabric: other words are ignored$'
    says err "warning: TUTTI_ISA=avx is not one of base, avx2, avx512: using the default \(the processor's\)$"
    says err 'warning: TUTTI_WATCHDOG=soon is not a number of seconds from 0 to 1000000000: using the default \(0\)$'
}
expect 0 wrong tutti run -n 4 hello
each_once 'a job of four'
expect 0 wrong tutti bench --threads allreduce/f64/sum/8/p3 --iterations 2
each_once 'threads'
expect 0 wrong hello
each_once 'a job of one'
expect 0 wrong tutti list barrier
each_once 'a command without ranks'

# Only some ranks have the variables. The lowest rank that has a variable warns of it.
# shellcheck disable=SC2016 # the shell that each rank starts expands this
some='[ "$TUTTI_RANK" -lt 1 ] || export TUTTI_RADIX=x; [ "$TUTTI_RANK" -ne 2 ] || export TUTTI_EAGRE=1; exec hello'
expect 0 tutti run -n 4 bash -c "$some"
[ "$(lines err 'warning')" -eq 2 ] || fail 'not two warnings from some of the ranks'
says err 'rank 1\] warning: TUTTI_RADIX=x .* \(on 3 of 4 ranks, from rank 1 on\)$'
says err 'rank 2\] warning: TUTTI_EAGRE is not a setting .*TUTTI_EAGER\? \(only on rank 2\)$'
# More unknown variables than the ranks can count: there is a warning about each.
# shellcheck disable=SC2016
many='for i in {1..20}; do export "TUTTI_NONE$i=$TUTTI_RANK"; done; exec hello'
expect 0 tutti run -n 2 bash -c "$many"
for i in {1..20}; do says err "TUTTI_NONE$i is not a setting"; done
# Because a value is wrong on one rank, the ranks differ and cannot begin. The warning about the
# value says why.
# shellcheck disable=SC2016
expect 1 tutti run -n 2 bash -c '[ "$TUTTI_RANK" -eq 0 ] || export TUTTI_RING=x TUTTI_WINDOW=4K; exec hello'
says err 'warning: TUTTI_RING=x is not a whole number from 4K to 1M: using the default \(256K\)'

# ---- One table ----

python3 - "$TUTTI_SOURCE" <<'PYTHON'
import pathlib
import re
import sys
top = pathlib.Path(sys.argv[1])
table = set(re.findall(r"^    X\(([A-Z_]+), ", (top / "src/base/settings.h").read_text(), re.M))
assert len(table) > 20, table
must_match = set(re.findall(r"X\(([A-Z]+)\)", re.search(r"define TT_MUST_MATCH_LIST(?:.*\\\n)*.*", (top / "src/base/base.h").read_text()).group(0)))
text = "\n".join(path.read_text() for folder in ("src", "tools") for path in (top / folder).rglob("*.[ch]"))
read = set(re.findall(r'(?:tt_setting|tt_setting_int|tt_setting_int_or|tt_setting_seconds|tt_setting_word|setting_in|getenv)\("TUTTI_([A-Z_]+)"', text)) | must_match
assert read - table == set(), f"read, but not in src/base/settings.h: {read - table}"
assert table - read == set(), f"in src/base/settings.h, but never read: {table - read}"
documented = set(re.findall(r"TUTTI_([A-Z_]+)", (top / "docs/tuning.md").read_text()))
assert table <= documented, f"not in docs/tuning.md: {table - documented}"
costs = set(re.findall(r"^    X\(([A-Z_]+), .*, COSTS, ", (top / "src/base/settings.h").read_text(), re.M))
listed = (top / "docs/tuning.md").read_text().split("**With other settings.**")[1].split("If one of them")[0]
assert costs == set(re.findall(r"`TUTTI_([A-Z_]+)`", listed)), f"docs/tuning.md lists other settings that change times: {costs}"
rows = set(re.findall(r"`TUTTI_([A-Z_]+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", (top / "docs/tuning.md").read_text(), re.M))))
assert rows == table, f"the table of docs/tuning.md: {rows ^ table}"
PYTHON

# ---- The settings in force ----

expect 0 env TUTTI_EAGER=4K TUTTI_RADIX=x TUTTI_READ_COST=3 tutti info
says out '^  TUTTI_EAGER +4K +environment; the same on all ranks$'
says out '^  TUTTI_READ_COST +3 +environment; agreed in tutti_init$'
says out "^  TUTTI_RADIX +the algorithm's +default; the same on all ranks$"
says out "^ +'x' is ignored: it is not a whole number from 2 to 1024$"
expect 0 wrong env TUTTI_ALGORITHM=nonsense TUTTI_NODES=4-2 TUTTI_NETWORK=torus:x TUTTI_FAULT=die TUTTI_RANK=1 tutti info
says out '^  TUTTI_PEER_TIMEOUT +10 +default$'
says out '^  TUTTI_LOG +boat +environment$'
says out '^ +it is not a list of choice, boot, fabric: other words are ignored$'
for ignored in abc -1 best avx soon; do says out "^ +'$ignored' is ignored: it is not "; done
says out "^ +'1' is ignored: TUTTI_JOB is not set$"
says out "^ +wrong, and an error in a job: there is no algorithm 'nonsense'; see"
says out '^ +wrong, and an error in a job: expected the ranks of each node'
says out '^ +wrong, and an error in a job: .* \(at character [0-9]+\)$'
says out "^ +wrong, and an error in a job: TUTTI_FAULT: 'die' is none of"
for good in allreduce=ring ring,bcast=flat allreduce=@file; do
    expect 0 env TUTTI_ALGORITHM="$good" TUTTI_NODES=4*2,1 TUTTI_NETWORK=torus:3x3 TUTTI_FAULT=kill,rank=1 tutti info
    [ "$(lines out 'wrong, and an error')" -eq 0 ] || fail "$good is refused"
done
for bad in allreduce=rign allreduc=ring allreduce=ring,allreduce=flat; do
    expect 0 env TUTTI_ALGORITHM="$bad" tutti info
    says out '^ +wrong, and an error in a job: '
done
[ "$(awk 'length > 100' out | grep -c '^  TUTTI')" -eq 0 ] || fail 'settings wider than 100 columns'
expect 0 env TUTTI_EAGER=4K TUTTI_SPINS=x tutti info --json
python3 - <<'PYTHON'
import json
info = json.load(open("out"))
assert list(info) == ["version", "machine", "transports", "waiting", "model", "binding", "settings"], list(info)
assert info["machine"]["cores"] >= 1 and info["machine"]["usable_processors"] >= 1, info["machine"]
assert all(isinstance(info["transports"][name]["works"], bool) for name in ("shm", "cma", "pmix", "ucx")), info["transports"]
rows = {row["name"]: row for row in info["settings"]}
assert len(rows) > 20 and all(set(row) - {"wrong", "accepts"} == {"name", "value", "from", "kind", "default", "same", "agreed", "does"} for row in rows.values()), rows
assert rows["TUTTI_EAGER"]["value"] == "4K" and rows["TUTTI_EAGER"]["from"] == "environment" and rows["TUTTI_EAGER"]["same"]
assert "wrong" not in rows["TUTTI_EAGER"] and rows["TUTTI_EAGER"]["accepts"] == "a whole number from 0 to 1G", rows
assert rows["TUTTI_SPINS"]["wrong"].startswith("'x' is ignored") and rows["TUTTI_SPINS"]["from"] == "default", rows
assert rows["TUTTI_WINDOW"]["value"] == "128K" and rows["TUTTI_WINDOW"]["from"] == "default"
assert rows["TUTTI_FILL"]["from"] == "measured" and {row["from"] for row in rows.values()} <= {"environment", "default", "measured"}
PYTHON
