#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Kills a rank with SIGKILL in the middle of messages, short and long, for each protocol. A
# brief run tries one moment for each.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../trouble/lib.sh"
deaths=$TUTTI_BUILD/tests/msg-deaths

# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../ucx.sh"

# Survivors must notice the death within a second on an idle machine. The job goes on without the
# dead rank: otherwise `tutti run` would end survivors that need more than a second on a busy one.
# UCX stops a survivor in every third job with long messages over TCP, so a job may run ten times.
survived() {
    local left got
    for left in {9..0}; do
        got=0
        tutti run -n 3 --timeout 3000 --on-failure=continue "$deaths" "$@" >out 2>err || got=$?
        if [ "$left" -eq 0 ] || ! ucx_stopped out err; then break; fi
    done
    [ "$got" -eq 0 ] || fail "$*: exit code $got"
    says err 'rank 1 .*killed by signal 9'
    [ "$(lines out '^rank [02]: [0-9]+ done, [0-9]+ not$')" -eq 2 ] || fail "$*: who survived did not go on"
    slow=$(sed -nE 's/^rank .* reported after ([0-9]+) ms.*/\1/p' out | awk -v most="$(limit_ms 1500)" '$1 >= most' | wc -l)
    [ "$slow" -eq 0 ] || fail "$*: reported late"
}

moments=(1 5 500)
[ -z "$TUTTI_TEST_BRIEF" ] || moments=(5)
for after in "${moments[@]}"; do
    for length in 8 5000 300000 1000000; do
        survived $length "$after"
        TUTTI_CMA=0 survived $length "$after"
        TUTTI_READ_COST=1 survived $length "$after"
        TUTTI_SPLIT_COPY=1 TUTTI_READ_COST=1 survived $length "$after"
    done
    TUTTI_RING=4K survived 1000 "$after"
    TUTTI_WIRE=1 UCX_TLS=tcp,self survived 5000 "$after"
    TUTTI_WIRE=1 UCX_TLS=tcp,self survived 1000000 "$after"
done
# The rank kills itself before one of its own operations, for example while it writes a piece of a
# split copy that it has claimed (src/msg/pull.h).
export TUTTI_SPLIT_COPY=1 TUTTI_READ_COST=1
for at in $(seq 60 9 150); do TUTTI_FAULT=kill,rank=1,after=$at survived 1000000 1000000; done
unset TUTTI_SPLIT_COPY TUTTI_READ_COST

# A rank dies after it has asked another rank for something over the network. The answer must not
# wait for ever.
answered_late() {
    : >steps
    TUTTI_WIRE=1 expect 0 tutti run -n 3 --timeout 3000 --on-failure=continue "$deaths" "$1" "$PWD/steps"
    [ "$(lines out '^rank [12]: done$')" -eq 2 ] || fail "$1: who survived did not go on"
}
if [ "${1:-}" = wire ]; then
    UCX_TLS=tcp,self answered_late get
    [ -n "$TUTTI_TEST_BRIEF" ] || answered_late get
fi
nothing_left "$TUTTI_TEST"
