#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI programs over Open MPI on two hosts with 2 and 1 ranks. Tutti does their collectives, on the
# world and on communicators of one host and of both, whether it takes all calls or measures first.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
command -v mpicc.openmpi >/dev/null || skip 'no mpicc.openmpi'
programs=$(dirname "$0")/../mpi
for program in choice take named later; do
    mpicc.openmpi "$programs/$program.c" -o $program -lpthread
done
hosts 2,1
export TUTTI_MPI_REPORT=$work/calls.json

# start MODE PROGRAM...: runs the program on the hosts with TUTTI_MPI=MODE.
start() {
    export TUTTI_MPI=$1
    shift
    rm -f calls.json
    on_hosts -x "LD_PRELOAD=$TUTTI_BUILD/lib/libtutti_mpi.so" -x TUTTI_MPI -x TUTTI_MPI_REPORT "$@"
}

# quiet: returns whether nothing is printed to `err`, apart from a warning of mpirun. mpirun moves
# each process by which it logs in on a host to a process group of its own, and warns if that
# process already runs its program by then.
quiet() {
    ! grep -qvE 'plm:rsh: Warning: setpgid\(.*\) failed in parent' err
}

start take ./take 4 >out 2>err || fail 'take'
grep -qx 'all results are right' out || fail 'the results'
quiet || fail 'something is printed'
grep -q '"MPI_Alltoallw".*"ranks": 3.*"choice": "taken"' calls.json || fail 'nothing is taken'
grep -q '"MPI_Allreduce".*"ranks": 2.*"choice": "taken"' calls.json || fail 'nothing is taken on one host'
# Ranks wait in calls of the host, Open MPI, for data that Tutti has not sent yet.
for part in relay rendezvous threads churns mixed leave; do
    start take ./named $part >out 2>err || fail "$part"
    if [ "$(cat out)" != 'done' ] || ! quiet; then fail "the results of $part"; fi
    grep -q '"choice": "taken"' calls.json || fail "nothing is taken in $part"
done
# Nonblocking calls end only if Open MPI drives Tutti.
for part in many driven crossed threads; do
    start take ./later $part >out 2>err || fail "$part"
    if [ "$(cat out)" != 'done' ] || ! quiet; then fail "the results of $part"; fi
    grep -q '"MPI_I.*"choice": "taken"' calls.json || fail "nothing is taken in $part"
done
for part in counts 'mixed 3'; do
    # shellcheck disable=SC2086
    start on ./choice $part >out 2>err || fail "choice $part"
    if [ "$(cat out)" != 'done' ] || ! quiet; then fail "the results of choice $part"; fi
    grep -q '"host_us"' calls.json || fail "nothing was decided in $part"
done
