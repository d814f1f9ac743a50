#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Draws a picture of a run on several hosts in which one rank is killed: it must show each rank with
# its host, and the dead rank up to its last event. Each host writes its trace files to its own
# folder, and all of them are drawn together.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 2,1,1

# shellcheck disable=SC2016
begin() {
    TUTTI_PEER_TIMEOUT=3 begin_on_hosts -x TUTTI_PEER_TIMEOUT sh -c \
        'export TUTTI_TRACE="traces.$(hostname)"; "$@" >"said.$PMIX_RANK" 2>&1; echo $? >"code.$PMIX_RANK"' \
        sh "$@"
}
ended() {
    local deadline=$((SECONDS + 100)) rank
    for rank in "$@"; do
        until [ -s "code.$rank" ]; do
            [ "$SECONDS" -lt "$deadline" ] || fail "rank $rank does not end"
            pause 0.05
        done
    done
}

begin "$TUTTI_BUILD/tests/draw-late" 3
ended 0 1 2 3
end_mpirun
tutti draw traces.h*/rank-* -o run.json 2>err || fail 'there is no picture'
python3 - <<'PYTHON'
import json
c = json.load(open("run.json"))["calls"]
assert [(r["rank"], r["host"]) for r in c["ranks"]] == [(0, "h1"), (1, "h1"), (2, "h2"), (3, "h3")], c["ranks"]
assert c["clocks"] == "one clock", c["clocks"]
assert c["ranks"][3]["end"] and not c["ranks"][0]["end"], c["ranks"]
last = [g for g in c["groups"] if c["names"][c["bars"][g[0]][3]] == "barrier"][-1]
assert last[8] == 3 and last[9] & 1, f"rank 3 never came to {c['bars'][last[0]]}"
PYTHON
tutti draw traces.h*/rank-* -o run.svg
for host in h1 h2 h3; do grep -q ">$host, pid " run.svg || fail "the picture does not say what was on $host"; done

# A rank in a time namespace of its own, whose clock is ahead by 11 days, under the same kernel: the
# picture does not take its clock for that of the other ranks.
export TUTTI_PMIX=$TUTTI_BUILD/tests/libhosts-mini-pmix.so
if [ -e "$TUTTI_PMIX" ] && unshare --time --fork --monotonic 1000000 true 2>/dev/null; then
    mkdir job
    # shellcheck disable=SC2016
    TUTTI_TRACE=$work/ahead "$TUTTI_BUILD/tests/hosts-start" "$work/job" 100 h1:2,h2:1 sh -c \
        'if [ "$PMIX_RANK" = 2 ]; then set -- unshare --time --fork --monotonic 1000000 "$@"; fi; exec "$@"' \
        sh "$TUTTI_BUILD/tests/hosts-clients" pairs 1 >err || fail 'the job with two clocks'
    tutti draw ahead -o ahead.json 2>err || fail 'there is no picture of two clocks'
    grep -q '"clocks": "2 clocks' ahead.json || fail 'two clocks pass for one'
fi
