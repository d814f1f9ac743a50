#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several clients per process, in jobs of processes.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

clients=$TUTTI_BUILD/tests/test-api-clients
go() { tutti run --timeout 3000 --on-failure continue-fail "$@"; }

# Each client has a thread of its own, with more or fewer ranks than cores.
for n in 1 2 4; do expect 0 go -n "$n" "$clients" together 3 60; done
TUTTI_CMA=0 expect 0 go -n 2 "$clients" together 3 60
expect 0 go -n 2 "$clients" together 16 5

# Runs clients over the network with UCX, if UCX is installed, but not under the thread sanitizer,
# for which UCX is not built: the program ends when UCX allocates memory.
if [ "$TUTTI_SANITIZE" = thread ]; then
    echo 'not over the network library under the thread sanitizer'
elif TUTTI_WIRE=1 go -n 1 "$clients" orders >out 2>err && TUTTI_WIRE=1 go -n 2 "$clients" orders >out 2>err; then
    TUTTI_WIRE=1 expect 0 go -n 2 "$clients" together 3 20
    TUTTI_WIRE=1 expect 0 go -n 2 "$clients" idle
else
    says err 'UCX'
fi

expect 0 go -n 2 "$clients" closed
expect 0 "$clients" closed
expect 0 go -n 2 "$clients" idle
expect 0 go -n 3 "$clients" orders
expect 0 go -n 2 "$clients" many
says out '^a job has at most 16 clients that some rank has not finalized yet: finalize one first$'
expect 0 go -n 2 "$clients" jobs

# After a thousand clients nothing may be left behind. A sanitizer keeps freed memory for a while,
# so a run with a sanitizer creates fewer. The ranks are not bound to cores: beside dozens of busy
# processes, bound ranks would wait for each other's time slices.
turns=1000
[ -z "$TUTTI_SANITIZE" ] || turns=100
TUTTI_WINDOW=4K expect 0 go --timeout 3000 --bind none -n 2 "$clients" turns $turns
[ "$(lines out '^shared ')" -eq 2 ] || fail 'not measured'

# One rank creates fewer clients: the other ranks get an error when that rank ends.
expect 0 go -n 3 "$clients" uneven finalize
[ "$(lines out '^second: a member of the team failed: rank 2 left the job while it was still needed$')" -eq 2 ] ||
    fail 'one that finished is not reported'
expect 0 go -n 3 "$clients" uneven exit
[ "$(lines out '^second: a member of the team failed: rank 2 exited with code 0 without tutti_finalize$')" -eq 2 ] ||
    fail 'one that exited is not reported'
says err '^tutti: rank 2 exited without tutti_finalize$'
expect 137 go -n 3 "$clients" uneven kill
[ "$(lines out '^second: a member of the team failed: rank 2 died: signal 9 \(Killed\)$')" -eq 2 ] ||
    fail 'one that was killed is not reported'

# A program may close the descriptor of the job's shared memory, and open a file that gets the same
# number.
expect 0 go -n 2 "$clients" reused
[ "$(lines out '^this process cannot join again: it closed the descriptor of the job.s memory: Bad file descriptor$')" -eq 2 ] ||
    fail 'a descriptor that the program reuses'

TUTTI_TRACE=$work/trace expect 0 go -n 2 "$clients" traced
says err 'TUTTI_TRACE: [0-9]+ steps and [0-9]+ calls were not kept$'
[ "$(echo trace/*)" = 'trace/rank-0.json trace/rank-1.json' ] || fail 'the traces are not complete'

# An error on one client leaves the other client working; the death of a rank is an error on all
# clients.
expect 0 go -n 3 "$clients" one-fails finalize
[ "$(lines out '^bad: a member of the team failed: rank 2 left the job while it was still needed$')" -eq 2 ] ||
    fail 'not reported in the client that was left'
expect 0 go -n 3 "$clients" one-fails mismatch
[ "$(lines out '^bad: ')" -eq 3 ] || fail 'not reported in the client that failed'
says out '^bad: the calls of the ranks do not match: '
expect 0 go -n 3 "$clients" starving
expect 137 go -n 3 "$clients" killed
[ "$(lines out '^dead: a member of the team failed: rank 2 died: signal 9 \(Killed\)$')" -eq 4 ] ||
    fail 'not reported in both clients'
