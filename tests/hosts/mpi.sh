#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI programs on two hosts with 2 and 1 ranks. Under Open MPI, Tutti does their collectives, on the
# world and on communicators of one host and of both, whether it takes all calls or measures first.
# Under MPICH it takes nothing, says so in one line, and the program runs as with its MPI alone. The
# first argument is the MPI: openmpi or mpich.
set -eu
mpi=$1
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
for tool in "mpicc.$mpi" "mpiexec.$mpi"; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
echo '#include <mpi.h>' | "mpicc.$mpi" -fsyntax-only -x c - 2>/dev/null || skip "no mpi.h of $mpi"
programs=$(dirname "$0")/../mpi
for program in choice take named; do "mpicc.$mpi" "$programs/$program.c" -o $program -lpthread; done
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

if [ "$mpi" = mpich ]; then
    start on ./choice counts >out 2>err || fail 'choice'
    [ "$(cat out)" = 'done' ] || fail 'the results of choice'
    grep -qx 'tutti: MPI: off on all ranks: rank 0: the ranks are on several hosts, and this MPI cannot drive Tutti' err ||
        fail 'no word about several hosts'
    if grep -q '"choice": "taken"' calls.json 2>/dev/null; then fail 'something is taken'; fi
    exit
fi

start take ./take 4 >out 2>err || fail 'take'
grep -qx 'all results are right' out || fail 'the results'
[ ! -s err ] || fail 'something is printed'
grep -q '"MPI_Alltoallw".*"ranks": 3.*"choice": "taken"' calls.json || fail 'nothing is taken'
grep -q '"MPI_Allreduce".*"ranks": 2.*"choice": "taken"' calls.json || fail 'nothing is taken on one host'
# Ranks that wait in the host for what Tutti has yet to send.
for part in relay rendezvous threads churns mixed leave; do
    start take ./named $part >out 2>err || fail "$part"
    if [ "$(cat out)" != 'done' ] || [ -s err ]; then fail "the results of $part"; fi
    grep -q '"choice": "taken"' calls.json || fail "nothing is taken in $part"
done
for part in counts 'mixed 3'; do
    # shellcheck disable=SC2086
    start on ./choice $part >out 2>err || fail "choice $part"
    if [ "$(cat out)" != 'done' ] || [ -s err ]; then fail "the results of choice $part"; fi
    grep -q '"host_us"' calls.json || fail "nothing was decided in $part"
done
