#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# System calls that are forbidden, and resources that are used up. The library reports the cause or
# works without. Memory does not grow, and nothing is left behind.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

go() { tutti run -n 3 --timeout 3000 "$trouble" "$@"; }
skipped() { echo "skipped: $*" >&2; }

# No access to each other's memory: by a setting, in a sandbox, or because a rank is not dumpable.
TUTTI_CMA=0 expect 0 go visit allreduce/f64/sum/1M/p3 alltoall/u8/100K/p3 barrier/p3
expect 0 go sandboxed
[ "$(lines out 'direct 0')" -eq 3 ] || fail 'a sandboxed rank is read'
if [ "$(id -u)" -ne 0 ]; then
    expect 0 go undumpable
    [ "$(lines out 'direct 0')" -eq 3 ] || fail 'an undumpable rank is read'
elif cp "$trouble" "$(command -v tutti)" "$work" && chmod 755 "$work" &&
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$work/tutti"; then
    expect 0 setpriv --reuid 65534 --regid 65534 --clear-groups \
        "$work/tutti" run -n 3 --timeout 3000 "$work/trouble-rank" undumpable
    [ "$(lines out 'direct 0')" -eq 3 ] || fail 'an undumpable rank is read'
else
    skipped 'no other user to be'
fi

# Without memfd nothing can be shared. Without membarrier, signallers use a fence instead.
expect 125 "$trouble" without memfd tutti run -n 3 "$trouble" visit barrier/p3
says err 'memfd_create.*: Operation not permitted'
expect 0 "$trouble" without memfd "$trouble" visit barrier/p1 allreduce/f64/sum/8/p1
expect 0 "$trouble" without membarrier tutti run -n 3 "$trouble" visit barrier/p3 bcast/u8/1M/p3
# With more ranks than processors no rank interrupts others when it goes to sleep.
ranks=$(($(nproc) + 1))
TUTTI_YIELDS=0 expect 0 "$trouble" without interrupts \
    tutti run -n "$ranks" "$trouble" visit "barrier/p$ranks" "bcast/u8/1M/p$ranks"

# Few descriptors, little address space, small files. The descriptors that this script has inherited
# are closed first.
# shellcheck disable=SC2016
closed='for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done'
for n in 4 6 8; do
    expect 125 bash -c "$closed; ulimit -n $n; exec tutti run -n 2 '$trouble' visit barrier/p2"
    says err '^tutti: .*Too many open files'
done
expect 0 bash -c "$closed; ulimit -n 16; exec tutti run -n 2 '$trouble' visit barrier/p2"
if [ -z "$TUTTI_SANITIZE" ]; then # sanitizers need terabytes of address space
    expect 0 bash -c "ulimit -v 1000000; exec tutti run -n 2 '$trouble' visit barrier/p2"
    expect 125 bash -c "ulimit -v 100000; exec tutti run -n 2 '$trouble' visit barrier/p2"
    says err '^tutti: .*address space.*: Cannot allocate memory \(memory for processes, or a limit on address space: ulimit -v\)$'
    # The job's memory leaves address space for the rest of the program: what works with some limit
    # also works with larger ones.
    works=
    for kib in {300000..900000..25000}; do
        if bash -c "ulimit -v $kib; exec tutti bench --threads --iterations 1 barrier/p3" >out 2>err; then
            works=$kib
        else
            [ -z "$works" ] || fail "three threads need more than $kib KiB of address space, but not more than $works"
        fi
    done
    [ "$works" = 900000 ] || fail 'three threads need too much address space'
    expect 0 tutti run -n 3 --timeout 3000 "$trouble" cramped
    reported 2 'rank 1 cannot go on: a limit of the system or of the library is reached'
    says out '^rank 1: a limit .*: cannot map [0-9]+ bytes of shared memory \(this rank has a limit on address space: ulimit -v\): Cannot allocate memory$'
    expect 0 tutti run -n 3 --timeout 3000 "$trouble" deaf "$work/limited"
    reported 2 'rank 1 cannot go on: out of memory'
fi
expect 125 bash -c "ulimit -f 64; exec tutti run -n 2 '$trouble' visit barrier/p2"
says err '^tutti: .*: File too large \(a limit on the size of files: ulimit -f\)$'

# Shared memory is full: the call that needs memory fails, and all other calls still work.
expect 0 go full
says out '^rank 1: out of memory .*: cannot get 1048576 bytes of shared memory \(this rank has a limit on the size of files: ulimit -f\): File too large$'
says out '^rank 1: out of memory .*: cannot get 1048576 bytes of shared memory: No space left on device$'
expect 0 go full-split
says out '^rank 1: out of memory .*: cannot get [0-9]+ bytes of shared memory: No space left on device$'
[ "$(lines out '^rank [0-9]: out of memory')" -eq 3 ] || fail 'not reported to all'
expect 0 go full-window
says out '^rank 1: out of memory .*: cannot get [0-9]+ bytes of shared memory: No space left on device$'
[ "$(lines out '^rank [02]: a member of the team failed .*rank 1 cannot go on: out of memory')" -eq 2 ] ||
    fail 'not reported to all'
expect 0 "$trouble" exhausted
expect 0 "$trouble" starving
expect 0 "$trouble" starving threads

# Hundreds of teams, after which no more memory may be in use than after a few.
expect 0 go splits 400
TUTTI_CMA=0 expect 0 go splits 400
nothing_left "$TUTTI_TEST"
