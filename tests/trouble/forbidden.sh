#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that may not read, or not write, each other's memory: from the start, from a moment on, or
# one of them alone. Every algorithm and every kind of message gives what it gives otherwise, and
# `tutti info` says what is forbidden.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

collectives=$TUTTI_BUILD/tests/test-run-conform-threads
messages=$TUTTI_BUILD/tests/test-msg-conform-threads
common=$TUTTI_BUILD/tests/test-run-common
go() { tutti run -n 3 --timeout 200 "$@"; }
hows=(readv writev cma)
[ -z "$TUTTI_TEST_BRIEF" ] || hows=(writev)

# From the start: it is found out, and what works is used.
for how in "${hows[@]}"; do
    expect 0 go "$trouble" without "$how" "$collectives"
    expect 0 go "$trouble" without "$how" "$messages"
    expect 0 "$trouble" without "$how" tutti info
    case $how in
    readv) says out '^ +CMA .*reading is forbidden \(process_vm_readv: .*\), writing allowed' ;;
    writev) says out '^ +CMA .*reading is allowed, writing forbidden \(process_vm_writev: ' ;;
    cma) says out '^ +CMA .*forbidden \(process_vm_readv: ' ;;
    esac
done
expect 0 tutti info
says out '^ +CMA .*allowed'

# From a moment after joining on: plans and protocols stay, the owners are asked.
for how in "${hows[@]}"; do
    FORBID=$how expect 0 go "$collectives"
    FORBID=$how expect 0 go "$messages"
    FORBID=$how FORBID_RANK=1 expect 0 go "$messages"
done
# In the middle of a step: at each read of some; and whichever it is.
for algorithm in direct halving; do
    TUTTI_ALGORITHM=allreduce=$algorithm expect 0 go "$trouble" refused
    [ "$(lines out 'often refused$')" -eq 3 ] || fail "$algorithm: hardly anything was refused"
done
for ms in 5 60 300; do
    FORBID=cma FORBID_MS=$ms FORBID_RANK=1 expect 0 go "$collectives"
    FORBID=cma FORBID_MS=$ms expect 0 go "$messages"
done

# A rank that closes its memory after joining. Nobody is root, who may look into it all the same.
as=()
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$work/bin"
    cp "$collectives" "$messages" "$(command -v tutti)" "$work/bin"
    chmod 755 "$work" "$work/bin"
    collectives=$work/bin/${collectives##*/} messages=$work/bin/${messages##*/}
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
if "${as[@]}" test -x "$collectives" 2>/dev/null; then
    closed() {
        FORBID=dumpable "${as[@]}" "$work/bin/tutti" run -n 3 --timeout 200 "$@"
    }
    [ ${#as[@]} -gt 0 ] || closed() { FORBID=dumpable go "$@"; }
    expect 0 closed "$collectives"
    expect 0 closed "$messages"
    FORBID_RANK=1 expect 0 closed "$collectives"
    FORBID_MS=100 expect 0 closed "$messages"
else
    echo 'skipped: no other user to be' >&2
fi

# The engine of total exchange, by messages: without access, and between nodes without access.
export TUTTI_ALGORITHM=alltoallv=exchange TUTTI_CMA=0
for n in 2 3 5; do expect 0 tutti run -n $n --timeout 100 "$common"; done
TUTTI_NODES=2,1 expect 0 tutti run -n 3 --timeout 100 "$common"
TUTTI_NODES=4,2,1,1 TUTTI_SLICE=1K expect 0 tutti run -n 8 --timeout 100 "$common"
for algorithm in alltoall=exchange alltoallv=exchange allgather=exchange allgatherv=exchange; do
    problem=${algorithm%=*}/u8/100K/p3
    TUTTI_ALGORITHM=$algorithm expect 0 go "$trouble" visit "$problem"
    TUTTI_ALGORITHM=$algorithm TUTTI_NODES=2,1 expect 0 go "$trouble" visit "$problem"
done
nothing_left "$TUTTI_TEST"
