#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that may not read, or not write, each other's memory: from the start, from some moment on,
# or only one of the ranks. Every algorithm and every kind of message must give the same results as
# otherwise, and `tutti info` must say what is forbidden.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

collectives=$TUTTI_BUILD/tests/test-run-conform-threads
messages=$TUTTI_BUILD/tests/test-msg-conform-threads
common=$TUTTI_BUILD/tests/test-run-common
go() { tutti run -n 3 --timeout 3000 "$@"; }
hows=(readv writev cma) moments=(5 60 300) teams=(2 3 5)
errors=(22 5 0 3 4 12 14) kernels=(22 3 4 12 14) some=(3 14)
# The library distinguishes three cases: no byte was moved, one of the four errors that the kernel
# also returns for other reasons, and any other error. A brief run tries the first two cases, with
# the results 0 and 3 (ESRCH); the third one is what `without` does if FORBID_ERROR is not set.
[ -z "$TUTTI_TEST_BRIEF" ] || hows=(writev) moments=(60) teams=(3) errors=(0 3) kernels=(3) some=(3)
# With TUTTI_TEST_BRIEF, the shapes that are tried still reach every protocol. A wait makes 20
# yields at most before it sleeps (tests/run/nodes.sh).
export TUTTI_TEST_BRIEF=1 TUTTI_YIELDS=20

# Forbidden from the start: the library notices it and uses what works.
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

# If only writing is forbidden, algorithms that only read run, and those that write are refused. If
# only reading is forbidden, algorithms that only write run, and those that read are refused.
# refuses HOW ACCESS PROBLEM...: expects that `direct` is refused for each problem because it needs
# this ACCESS (read or write), where HOW is forbidden.
direct() { env TUTTI_ALGORITHM="${2%%/*}=direct" tutti run -n 3 --timeout 3000 "$trouble" without "$1" "$trouble" visit "$2"; }
refuses() {
    local how=$1 access=$2 problem
    shift 2
    for problem in "$@"; do
        expect 8 direct "$how" "$problem"
        [ "$(lines out "it needs buffers that peers can $access directly")" -eq 3 ] || fail "$how: $problem"
    done
}
reading=({allreduce/f64/sum,allgather/u8,alltoall/u8,bcast/u8,scatter/u8}/96K/p3)
writing=({gather,gatherv}/u8/96K/p3)
for problem in "${reading[@]}"; do expect 0 direct writev "$problem"; done
for problem in "${writing[@]}"; do expect 0 direct readv "$problem"; done
TUTTI_ALGORITHM=gather=direct,gatherv=direct expect 0 go "$trouble" without readv "$collectives"
refuses writev write "${writing[@]}" reduce/f64/sum/96K/p3
refuses readv read "${reading[@]}" reduce/f64/sum/96K/p3
refuses cma write "${writing[@]}"

# Forbidden some time after joining: plans and protocols stay as they are, and a rank that may not
# access memory asks its owner to move the data.
for how in "${hows[@]}"; do
    FORBID=$how expect 0 go "$collectives"
    FORBID=$how expect 0 go "$messages"
    FORBID=$how FORBID_RANK=1 expect 0 go "$messages"
done
# A filter may return any error, and even 0 as if no byte had been moved. For other reasons the
# kernel itself returns ESRCH (3: the process has ended), EINTR (4: a signal), ENOMEM (12), and
# EFAULT (14: a bad address).
for error in "${errors[@]}"; do
    FORBID_ERROR=$error FORBID=cma expect 0 go "$messages"
    FORBID_ERROR=$error expect 0 go "$trouble" without cma "$messages"
done
for error in "${kernels[@]}"; do FORBID_ERROR=$error FORBID=cma expect 0 go "$collectives"; done
for error in "${some[@]}"; do FORBID_ERROR=$error FORBID=readv FORBID_RANK=1 expect 0 go "$messages"; done
# Access that becomes forbidden in the middle of a step, at each of the first reads; and access that
# becomes forbidden after some milliseconds, whatever the rank is doing then.
for algorithm in direct halving; do
    TUTTI_ALGORITHM=allreduce=$algorithm expect 0 go "$trouble" refused
    [ "$(lines out 'often refused$')" -eq 3 ] || fail "$algorithm: hardly anything was refused"
done
for ms in "${moments[@]}"; do
    FORBID=cma FORBID_MS=$ms FORBID_RANK=1 expect 0 go "$collectives"
    FORBID=cma FORBID_MS=$ms expect 0 go "$messages"
done

# A rank that makes its memory inaccessible after joining. The ranks run as the user nobody, because
# root may access it all the same.
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
        FORBID=dumpable "${as[@]}" "$work/bin/tutti" run -n 3 --timeout 3000 "$@"
    }
    [ ${#as[@]} -gt 0 ] || closed() { FORBID=dumpable go "$@"; }
    expect 0 closed "$collectives"
    expect 0 closed "$messages"
    FORBID_RANK=1 expect 0 closed "$collectives"
    FORBID_MS=100 expect 0 closed "$messages"
else
    echo 'skipped: no other user to be' >&2
fi

# The algorithm exchange with messages: without access to memory, on one node and between nodes.
export TUTTI_ALGORITHM=alltoallv=exchange TUTTI_CMA=0
for n in "${teams[@]}"; do expect 0 tutti run -n "$n" --timeout 3000 "$common"; done
TUTTI_NODES=2,1 expect 0 tutti run -n 3 --timeout 3000 "$common"
TUTTI_NODES=4,2,1,1 TUTTI_SLICE=1K expect 0 tutti run -n 8 --timeout 3000 "$common"
for algorithm in alltoall=exchange alltoallv=exchange allgather=exchange allgatherv=exchange; do
    problem=${algorithm%=*}/u8/100K/p3
    TUTTI_ALGORITHM=$algorithm expect 0 go "$trouble" visit "$problem"
    TUTTI_ALGORITHM=$algorithm TUTTI_NODES=2,1 expect 0 go "$trouble" visit "$problem"
done
# Puts into and gets from the root, of pieces that are longer than a window.
for coll in gatherv scatterv; do
    TUTTI_ALGORITHM=$coll=flat expect 0 go "$trouble" visit "$coll/u8/8M/p3"
done
nothing_left "$TUTTI_TEST"
