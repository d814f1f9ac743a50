#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Settings: an unknown variable gives one warning per job, with the most similar name. The table of
# settings lists exactly those that the sources read and the documents describe.
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

# ---- One table ----

python3 - "$TUTTI_SOURCE" <<'PYTHON'
import pathlib
import re
import sys
top = pathlib.Path(sys.argv[1])
table = set(re.findall(r"^    X\(([A-Z_]+), ", (top / "src/base/settings.h").read_text(), re.M))
assert len(table) > 20, table
must_match = set(re.findall(r"^    X\(([A-Z_]+), ", (top / "src/base/base.h").read_text(), re.M))
text = "\n".join(path.read_text() for folder in ("src", "tools") for path in (top / folder).rglob("*.[ch]"))
read = set(re.findall(r'(?:tt_setting|tt_setting_int|tt_setting_seconds|setting_in|getenv)\("TUTTI_([A-Z_]+)"', text)) | must_match
assert read - table == set(), f"read, but not in src/base/settings.h: {read - table}"
assert table - read == set(), f"in src/base/settings.h, but never read: {table - read}"
documented = set(re.findall(r"TUTTI_([A-Z_]+)", (top / "docs/tuning.md").read_text()))
assert table <= documented, f"not in docs/tuning.md: {table - documented}"
rows = set(re.findall(r"`TUTTI_([A-Z_]+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", (top / "docs/tuning.md").read_text(), re.M))))
assert rows == table, f"the table of docs/tuning.md: {rows ^ table}"
PYTHON

# ---- The settings in force ----

expect 0 env TUTTI_EAGER=4K TUTTI_RADIX=x TUTTI_READ_COST=3 tutti info
says out '^  TUTTI_EAGER +4K +environment; the same on all ranks$'
says out '^  TUTTI_READ_COST +3 +environment; agreed by all ranks$'
says out "^  TUTTI_RADIX +the algorithm's +default; the same on all ranks$"
[ "$(awk 'length > 100' out | grep -c '^  TUTTI')" -eq 0 ] || fail 'settings wider than 100 columns'
expect 0 env TUTTI_EAGER=4K tutti info --json
python3 - <<'PYTHON'
import json
info = json.load(open("out"))
assert list(info) == ["version", "machine", "transports", "waiting", "model", "binding", "settings"], list(info)
assert info["machine"]["cores"] >= 1 and info["machine"]["usable_processors"] >= 1, info["machine"]
assert all(isinstance(info["transports"][name]["works"], bool) for name in ("shm", "cma", "pmix", "ucx")), info["transports"]
rows = {row["name"]: row for row in info["settings"]}
assert len(rows) > 20 and all(set(row) == {"name", "value", "from", "same", "agreed", "does"} for row in rows.values()), rows
assert rows["TUTTI_EAGER"]["value"] == "4K" and rows["TUTTI_EAGER"]["from"] == "environment" and rows["TUTTI_EAGER"]["same"]
assert rows["TUTTI_WINDOW"]["value"] == "128K" and rows["TUTTI_WINDOW"]["from"] == "default"
assert rows["TUTTI_FILL"]["from"] == "measured" and {row["from"] for row in rows.values()} <= {"environment", "default", "measured"}
PYTHON
