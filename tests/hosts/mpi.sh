#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI programs on two hosts with 2 and 1 ranks, over Open MPI or MPICH. Tutti does their
# collectives, on the world and on communicators of one host and of both, whether it takes all calls
# or measures first.
#
# MPICH 4.0.2 has two faults of its own on such hosts, also without Tutti. It often hangs in
# MPI_Finalize, where a rank waits for UCX and the others for the launcher. So a program over MPICH
# counts as ended when rank 0 has written the report, which Tutti gathers from all ranks before the
# host ends. And an allreduce of three ranks on two hosts gives wrong sums, so `choice mixed`, of
# which MPICH does many calls, runs over Open MPI only.
set -eu
host=$1
# shellcheck disable=SC2034
if [ "$host" = mpich ]; then launcher=mpiexec; fi
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
command -v "mpicc.$host" >/dev/null || skip "no mpicc.$host"
if [ "$host" = mpich ]; then command -v mpiexec.mpich >/dev/null || skip 'no mpiexec.mpich'; fi
programs=$(dirname "$0")/../mpi
for program in choice take named later; do
    "mpicc.$host" -w "$programs/$program.c" -o $program -lpthread
done
hosts 2,1
export TUTTI_MPI_REPORT=$work/calls.json TUTTI_MPI_WISDOM=0
# The buffers of the sockets have room for few packets, so that some packets have to wait in the
# process.
export UCX_TCP_SNDBUF=4k UCX_TCP_RCVBUF=4k

# login HOST COMMAND...: is called by mpiexec instead of ssh, with options of ssh.
cat >login <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
exec "$work/enter" "\$@"
END
chmod +x login
printf 'h1:2\nh2:1\n' >machines

# run_mpich PROGRAM...: runs the program until it ends, or until the report is there.
run_mpich() {
    local deadline=$((SECONDS + 100)) job code=0
    mpiexec.mpich -launcher ssh -launcher-exec "$work/login" -f machines -n 3 \
        -genv LD_PRELOAD "$TUTTI_BUILD/lib/libtutti_mpi.so" "$@" &
    job=$!
    while kill -0 $job 2>/dev/null && [ ! -s calls.json ] && [ "$SECONDS" -lt "$deadline" ]; do pause 0.05; done
    for _ in $(seq 20); do
        kill -0 $job 2>/dev/null || break
        pause 0.05
    done
    kill $job 2>/dev/null || true
    wait $job || code=$?
    [ -s calls.json ] || return $((code > 0 ? code : 1))
}

# start MODE PROGRAM...: runs the program on the hosts with TUTTI_MPI=MODE.
start() {
    export TUTTI_MPI=$1
    shift
    rm -f calls.json
    if [ "$host" = mpich ]; then
        run_mpich "$@"
    else
        on_hosts -x "LD_PRELOAD=$TUTTI_BUILD/lib/libtutti_mpi.so" -x TUTTI_MPI -x TUTTI_MPI_REPORT -x TUTTI_MPI_WISDOM \
            -x UCX_TCP_SNDBUF -x UCX_TCP_RCVBUF "$@"
    fi
}

# quiet: returns whether nothing is printed to `err`, apart from a warning of mpirun, and what
# MPICH's launcher prints when it is ended. mpirun moves each process by which it logs in on a host
# to a process group of its own, and warns if that process already runs its program by then.
quiet() {
    ! grep -qvE 'plm:rsh: Warning: setpgid\(.*\) failed in parent|^\[(mpiexec|proxy)' err
}

# is_done: returns whether all ranks have come to the end of the program and nothing is printed that
# should not be.
is_done() {
    quiet || return 1
    [ "$host" = mpich ] || [ "$(cat out)" = 'done' ]
}

start take ./take 4 >out 2>err || fail 'take'
[ "$host" = mpich ] || grep -qx 'all results are right' out || fail 'the results'
quiet || fail 'something is printed'
grep -q '"MPI_Alltoallw".*"ranks": 3.*"choice": "taken"' calls.json || fail 'nothing is taken'
grep -q '"MPI_Allreduce".*"ranks": 2.*"choice": "taken"' calls.json || fail 'nothing is taken on one host'
# Ranks wait in calls of the host MPI for data that Tutti has not sent yet.
for part in drains frees busy relay rendezvous threads churns mixed leave; do
    start take ./named $part >out 2>err || fail "$part"
    is_done || fail "the results of $part"
    grep -q '"choice": "taken"' calls.json || fail "nothing is taken in $part"
done
# Nonblocking calls of Tutti end only if the host MPI drives Tutti in the calls in which it waits.
for part in many driven crossed threads; do
    start take ./later $part >out 2>err || fail "$part"
    is_done || fail "the results of $part"
    grep -q '"MPI_I.*"choice": "taken"' calls.json || fail "nothing is taken in $part"
done
start on ./choice counts >out 2>err || fail 'choice counts'
is_done || fail 'the results of choice counts'
grep -q '"host_us"' calls.json || fail 'nothing was decided'
if [ "$host" = mpich ]; then exit 0; fi

# With TUTTI_MPI=on, Open MPI drives Tutti although there are no nonblocking calls.
start on ./named drains >out 2>err || fail 'drains with TUTTI_MPI=on'
is_done || fail 'the results of drains with TUTTI_MPI=on'
start on ./choice mixed 3 3000 >out 2>err || fail 'choice mixed'
is_done || fail 'the results of choice mixed'
