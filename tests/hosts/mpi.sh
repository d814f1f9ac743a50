#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI programs on two hosts with 2 and 1 ranks: Tutti takes nothing there, says so in one line, and
# the program runs as with its MPI alone. The first argument is the MPI: openmpi or mpich.
set -eu
mpi=$1
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
for tool in "mpicc.$mpi" "mpiexec.$mpi"; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
echo '#include <mpi.h>' | "mpicc.$mpi" -fsyntax-only -x c - 2>/dev/null || skip "no mpi.h of $mpi"
programs=$(dirname "$0")/../mpi
"mpicc.$mpi" "$programs/choice.c" -o choice
hosts 2,1
export TUTTI_MPI_REPORT=$work/calls.json

# start MODE PROGRAM...: with TUTTI_MPI=MODE.
start() {
    export TUTTI_MPI=$1
    shift
    rm -f calls.json
    if [ "$mpi" = openmpi ]; then
        on_hosts -x "LD_PRELOAD=$TUTTI_BUILD/lib/libtutti_mpi.so" -x TUTTI_MPI -x TUTTI_MPI_REPORT "$@"
    else
        sed 's/ slots=/:/' hostfile >machines
        mpiexec.mpich -f machines -launcher rsh -launcher-exec "$work/enter" -n 3 \
            -genv LD_PRELOAD "$TUTTI_BUILD/lib/libtutti_mpi.so" "$@"
    fi
}

start on ./choice counts >out 2>err || fail 'choice'
[ "$(cat out)" = 'done' ] || fail 'the results of choice'
grep -qx 'tutti: MPI: off on all ranks: rank 0: the ranks are on several hosts' err || fail 'no word about several hosts'
if grep -q '"choice": "taken"' calls.json 2>/dev/null; then fail 'something is taken'; fi
