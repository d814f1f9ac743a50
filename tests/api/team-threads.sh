#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs team-threads.c: with processes that bring one, two and three threads, with and without direct
# access to each other's memory; inside the threads of one process; with wrong arguments; in
# different PID namespaces; with a thread that ends early; and with a process that dies.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
program=$TUTTI_BUILD/tests/test-api-team-threads
go() { tutti run --timeout 3000 "$@"; }
# With this setting the ranks do not measure the cost of reading. They take it to be low, and read
# long data from buffer to buffer.
export TUTTI_READ_COST=1

"$program" all
few=(1 2)
[ -z "$TUTTI_TEST_BRIEF" ] || few=()
for n in "${few[@]}" 3; do go -n "$n" "$program" all; done
TUTTI_CMA=0 go -n 3 "$program" all
TUTTI_WIRE=0 TUTTI_TRACE=$work/trace go -n 2 "$program" all
[ "$(find "$work/trace" -type f | wc -l)" -eq 2 ] || fail 'the trace is not of the two processes'
TUTTI_FAULT=delay=20,seed=3 go -n 2 "$program" all
"$program" nested
"$program" ends
go -n 2 "$program" ends
go -n 3 "$program" arguments
TUTTI_NODES=2,1 go -n 3 "$program" arguments
spaces=(unshare --user --map-root-user --pid --fork --mount-proc --kill-child)
if "${spaces[@]}" true 2>/dev/null; then
    go -n 2 "${spaces[@]}" "$program" arguments
fi

# The five threads and processes that are left learn of the death soon.
got=0
go -n 3 --on-failure continue-fail "$program" dies >out 2>err || got=$?
[ $got -eq 137 ] || fail "exited with $got"
[ "$(grep -c '^thread [0-3]: notified after' out)" -eq 4 ] || fail 'threads were not notified'
late=$(sed -n 's/.* after \([0-9]*\) ms$/\1/p' out | awk -v most="$(limit_ms 1500)" '$1 >= most' | wc -l)
[ "$late" -eq 0 ] || fail 'a thread was notified late'
