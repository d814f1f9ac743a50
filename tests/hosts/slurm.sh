#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A Slurm installation of the test's own, on two hosts with 4 and 2 ranks. Its controller runs
# outside them, on the bridge; each host has a slurmd and a munged. Programs of Tutti join through
# PMIx as under mpirun: on one host, on both, and in a batch job. When a rank is killed or a host is
# cut off, the other ranks must notice it.
set -eu
# In a user namespace root cannot set its groups, which slurmctld needs.
if [ "$(id -u)" -ne 0 ]; then
    echo "SKIPPED: Slurm's daemons want to be started by root"
    exit 77
fi
# shellcheck disable=SC2034
launcher=srun
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export PATH=$PATH:/usr/sbin
# Where Slurm is not installed, the test uses the packages that scripts/setup.sh has unpacked
# without installing them. Only this test starts their daemons, and nothing outside that folder is
# changed.
unpacked=$TUTTI_SOURCE/build/slurm
plugins=''
stepd=()
if ! command -v slurmctld >/dev/null && [ -e "$unpacked/usr/sbin/slurmctld" ]; then
    plugins=$(echo "$unpacked"/usr/lib/*/slurm-wlm)
    export PATH=$PATH:$unpacked/usr/bin:$unpacked/usr/sbin LD_LIBRARY_PATH=$plugins:${plugins%/*}
    stepd=(-d "$unpacked/usr/sbin/slurmstepd")
fi
for program in munged slurmctld slurmd srun sbatch; do
    command -v $program >/dev/null || skip "no $program (Debian: slurm-wlm; scripts/setup.sh test unpacks it)"
done
grep -q '^  PMIx  *there' <<<"$(tutti info)" || skip 'built without libpmix-dev, or no libpmix2'
# The PMIx library keeps some memory until the end, which is not a leak of Tutti.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export SLURM_CONF=$work/slurm.conf
boot=$TUTTI_BUILD/tests/hosts-boot

# ---- Slurm ----

# Each host has its own munged, because a munged refuses a credential that it has seen before. Its
# socket and the files that Slurm and PMIx create for a job are in the host's own /dev/shm.
write_configuration() {
    cat >"$SLURM_CONF" <<END
ClusterName=tutti
SlurmctldHost=outside
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=/dev/shm/munge.socket
MailProg=/bin/true
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
TmpFS=/dev/shm
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MessageTimeout=100
TCPTimeout=60
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
${plugins:+PluginDir=$plugins}
NodeName=h1 NodeAddr=10.77.0.1 CPUs=4
NodeName=h2 NodeAddr=10.77.0.2 CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    (umask 077 && dd if=/dev/urandom of="$work/munge.key" bs=128 count=1 2>dd.err)
    mkdir "$work/state" "$work/spool-h1" "$work/spool-h2"
}

munge() {
    "$@" munged --foreground --num-threads 2 --key-file "$work/munge.key" --socket /dev/shm/munge.socket \
        --pid-file /dev/shm/munge.pid --log-file /dev/shm/munge.log --seed-file /dev/shm/munge.seed \
        >>munged.log 2>&1 &
}

# If Slurm cannot start here, whatever the cause, the test is skipped.
cannot() {
    tail -n 3 ./*.log out err 2>/dev/null || true
    skip "$* (its last words are above)"
}
has_munge() {
    [ "$("$@" sh -c 'ls /dev/shm/munge.socket' 2>/dev/null)" ]
}
controller_up() {
    timeout 60 scontrol ping 2>&1 | grep -q 'is UP'
}
nodes_idle() {
    [ "$(timeout 60 sinfo -h -N -o %t 2>err | grep -c idle)" -eq 2 ]
}
until_or_cannot() {
    local deadline=$((SECONDS + 120))
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || cannot "Slurm does not start here: not $*"
        sleep 0.05
    done
}
# Starts the daemons one after the other, because a daemon that does not find another one tries
# again only much later.
start_slurm() {
    local host
    mount -t tmpfs tmpfs /dev/shm
    hosts 4,2
    write_configuration
    for host in 'env' 'in_host h1' 'in_host h2'; do
        # shellcheck disable=SC2086
        munge $host
        # shellcheck disable=SC2086
        until_or_cannot has_munge $host
    done
    slurmctld -D -i >ctl.log 2>&1 &
    until_or_cannot controller_up
    for host in h1 h2; do in_host $host slurmd -D -N $host "${stepd[@]}" >$host.log 2>&1 & done
    until_or_cannot nodes_idle
    timeout 120 srun --mpi=pmix -N 2 -n 6 true >out 2>err || cannot "Slurm's PMIx plugin does not work here"
}

# ---- Jobs ----

# Runs a step, with a time limit.
start() {
    timeout 300 srun --mpi=pmix "$@" >out 2>err || fail "srun $*"
}
says() {
    grep -qE -- "$2" "$1" || fail "nothing in $1 is like $2"
}
sums() {
    [ "$(lines "^rank [0-$(($1 - 1))] of $1: the sum of all ranks is $(($1 * ($1 - 1) / 2))\$")" -eq "$1" ] ||
        fail "not the sums of $1 ranks"
}

start_slurm

# All steps run in one allocation, so that no step waits until another allocation has been cleaned
# up.
salloc --no-shell -N 2 -n 6 2>err || fail 'salloc'
SLURM_JOB_ID=$(sed -nE 's/^salloc: Granted job allocation ([0-9]+)$/\1/p' err)
export SLURM_JOB_ID

start -N 1 -w h1 -n 4 "$TUTTI_BUILD/bin/hello"
sums 4
start -N 2 -n 6 "$TUTTI_BUILD/bin/tutti" bench --iterations 5 barrier
[ "$(lines '^barrier/p6 ')" -eq 1 ] || fail 'not timed once'
start -N 1 -n 1 "$TUTTI_BUILD/bin/hello"
sums 1
start -N 2 -n 6 "$TUTTI_BUILD/bin/hello"
sums 6

# The ranks know which of them are on which host and share memory, also in another order of ranks.
start -N 2 -n 6 "$boot" places
for r in 0 1 2 3; do says out "^rank $r: node 0 of 2 on h1, 4 here: 0 1 2 3\$"; done
for r in 4 5; do says out "^rank $r: node 1 of 2 on h2, 2 here: 4 5\$"; done
start -N 2 -n 4 --ntasks-per-node=2 -m cyclic "$boot" places
for r in 0 2; do says out "^rank $r: node 0 of 2 on h1, 2 here: 0 2\$"; done
for r in 1 3; do says out "^rank $r: node 1 of 2 on h2, 2 here: 1 3\$"; done

# Address records: Slurm's second fence is no barrier between the hosts, so for about a millisecond
# records may be requested before they are put. The test repeats the job to meet this case. A job
# that needs no records must request none.
for _ in 1 2 3 4 5 6 7 8; do
    start -N 2 -n 6 "$boot" records
    [ "$(lines '^rank [0-5]: address record of [0-5] good$')" -eq 16 ] || fail 'not all address records are good'
done
TUTTI_LOG=boot start -N 2 -n 6 "$boot" join
[ "$(grep -c 'asks for the address record' err)" -eq 0 ] || fail 'address records that nobody wants are asked for'

# Each rank creates a second client beside the first, and a third when both are freed. Then the
# ranks run all collectives by all algorithms.
start -N 2 -n 6 "$TUTTI_BUILD/tests/tools-rank" join-again
for said in 'living: done' 'sum 6' 'left: done'; do
    [ "$(lines "^$said")" -eq 6 ] || fail "not all say: $said"
done
start -N 2 -n 6 "$TUTTI_BUILD/tests/tools-rank" join-often
[ "$(lines '^joined 20 times$')" -eq 6 ] || fail 'not all joined again and again'
start -N 2 -n 6 "$TUTTI_BUILD/tests/msg-alone"
[ "$(lines '^heard$')" -eq 5 ] || fail 'not all were heard'
start -N 2 -n 3 "$TUTTI_BUILD/tests/test-run-conform-threads"
says out '^3 ranks: [0-9]{3,} cases$'

scancel "$SLURM_JOB_ID"
unset SLURM_JOB_ID

# Two jobs at the same time do not disturb each other.
srun --mpi=pmix -w h1 -n 2 "$TUTTI_BUILD/bin/hello" >other 2>&1 &
other=$!
start -w h1 -n 2 "$TUTTI_BUILD/bin/hello"
sums 2
wait $other || fail 'the other of two jobs'
mv other out
sums 2

# A batch job, whose script also starts ranks with `tutti run` on its own host. A program that the
# script starts directly is a job of one rank and prints no warning.
cat >job.sh <<END
#!/bin/bash
srun --mpi=pmix "$TUTTI_BUILD/bin/hello"
tutti run -n 5 "$TUTTI_BUILD/bin/hello"
"$TUTTI_BUILD/bin/hello"
END
timeout 300 sbatch --wait -N 2 -n 6 -o out job.sh >submitted 2>err || fail 'sbatch'
sums 6
sums 5
sums 1
[ "$(lines .)" -eq 12 ] || fail 'a batch job says more'
# The command that `tutti run --hosts` prints works. Processes that srun starts without PMIx print a
# warning.
tutti run --hosts h1:4,h2 -n 6 "$TUTTI_BUILD/bin/hello" 2>proposed || true
timeout 300 bash -c "$(grep '^ *srun ' proposed)" >out 2>err || fail "$(cat proposed)"
sums 6
timeout 300 srun -n 2 "$TUTTI_BUILD/bin/hello" >out 2>err || fail 'without PMIx'
[ "$(lines '^rank 0 of 1: ')" -eq 2 ] || fail 'two jobs of one'
[ "$(grep -c 'srun started 2 processes without PMIx.* use srun --mpi=pmix' err)" -eq 1 ] || fail 'not reported that PMIx is missing'

# ---- Failures ----

# Starts a job in the background. Each rank writes to its own file, because a rank that is cut off
# cannot send its output to srun. The files act as a shared disk.
begin() {
    rm -f said.*
    # shellcheck disable=SC2016
    srun --mpi=pmix --no-kill --kill-on-bad-exit=0 --wait=0 -N 2 -n 6 sh -c 'exec "$@" >said.$PMIX_RANK' sh "$@" >out 2>err &
    job=$!
}
wait_said() {
    local n=$1 pattern=$2 deadline=$((SECONDS + $3))
    until [ "$(cat said.* 2>/dev/null | grep -cE "$pattern")" -ge "$n" ]; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            grep -H . said.* >out || true
            fail "not $n lines like: $pattern"
        fi
        sleep 0.05
    done
}
begin_watch() {
    TUTTI_PEER_TIMEOUT=$1 begin "$boot" watch "$2"
    wait_said 1 "^rank $2: pid [0-9]+ sleeps\$" 300
}
# reported N PATTERN MS: expects that N ranks print a line that matches, each within MS milliseconds
# of the event that they report (on an idle machine). The watched rank slept for 3 s before the
# event, which the printed times include.
reported() {
    local n=$1 how=$2 most=$3
    wait_said "$n" '^rank [0-5]: after ' 300
    wait_said "$n" "^rank [0-5]: after [0-9]+ ms: $how\$" 0
    sed -nE 's/^rank .* after ([0-9]+) ms: .*/\1/p' said.* |
        awk -v most="$(limit_ms "$most")" '$1 < 3000 || $1 > 3000 + most { late = 1 } END { exit late }' ||
        fail "reported too early, or later than after $most ms: $how"
}

# If settings differ, the message names the host.
# shellcheck disable=SC2016
begin sh -c 'case $PMIX_RANK in 4 | 5) export TUTTI_RADIX=8 ;; esac; exec "$1" join' sh "$boot"
must='it must be the same on all ranks$'
wait_said 4 "^rank [0-3]: meet: TUTTI_RADIX is 0 here and 8 on h2: $must" 300
wait_said 2 "^rank [45]: meet: TUTTI_RADIX is 8 here and 0 on h1: $must" 300
wait $job && fail 'a job that could not begin ended well'

# Rank 4 is killed. It is on another host than four of the ranks and on the same host as rank 5. The
# other ranks continue until they have reported it, and then srun ends.
begin_watch 100 4
in_host h2 kill -9 "$(sed -nE 's/^rank 4: pid ([0-9]+) sleeps$/\1/p' said.4)"
reported 5 'rank 4 on h2 is gone: its process ended' 2500
code=0
wait $job || code=$?
[ $code -eq 137 ] || fail "srun ended with $code"

# A job that has left PMIx (TUTTI_DETACH=1) continues without the ranks that are killed on either
# host, and finishes. srun waits for all ranks that are left and returns the exit code of the first
# rank that was killed. If a job has not left PMIx (TUTTI_DETACH=0), Slurm's server ends the step.
train() {
    # shellcheck disable=SC2016
    TUTTI_DETACH=$1 begin sh -c 'echo $$ >"pid.$PMIX_RANK"; exec "$@" >"said.$PMIX_RANK" 2>"err.$PMIX_RANK"' sh \
        "$TUTTI_BUILD/bin/train" -n 300 -s "$2" -e 10 --resilient
    wait_said 1 '^step .* 6 ranks$' 300
}
kill_rank() {
    in_host "$1" kill -9 "$(cat "pid.$2")"
}
train 1 20000
kill_rank h2 4
wait_said 1 '^step .* 5 ranks$' 300
kill_rank h1 0
code=0
wait $job || code=$?
wait_said 1 '^failed: 4 of 6: going on with 5 ranks' 0
wait_said 1 '^failed: 0 of 5: going on with 4 ranks' 0
wait_said 1 '^trained: 9[0-9.]* % of 2000 unseen digits right, 4 ranks$' 0
[ $code -eq 137 ] || fail "srun ended with $code"
if grep -h . err.*; then fail 'a rank complains'; fi
train 0 1000000
kill_rank h2 4
code=0
wait $job || code=$?
grep -q 'CANCELLED' err || fail "Slurm does not end a step one of whose ranks it has lost ($code): docs/recovery.md says so"
# After leaving PMIx, ranks find further contexts by messages. Further clients on several hosts are
# refused, with the reason.
export TUTTI_DETACH=1
start -N 2 -n 3 "$TUTTI_BUILD/tests/test-msg-conform-threads"
start -N 2 -n 6 "$TUTTI_BUILD/bin/hello"
sums 6
timeout 300 srun --mpi=pmix -N 2 -n 6 "$TUTTI_BUILD/tests/tools-rank" join-often >out 2>err && fail 'a second client after leaving PMIx'
says err 'this job has left its launcher \(TUTTI_DETACH=1\), so its ranks on several hosts can make no further client'
start -N 1 -w h1 -n 4 "$TUTTI_BUILD/tests/tools-rank" join-often
[ "$(lines '^joined 20 times$')" -eq 4 ] || fail 'on one host not all joined again and again after leaving PMIx'
unset TUTTI_DETACH

# A host is cut off: the ranks on both sides notice it. This case is the last one, because Slurm
# itself would need longer to notice.
begin_watch 4 5
cut h2
reported 4 'rank 5 on h2 cannot be reached: no answer for 4 s' 5000
echo "$(srun --version): one host and two, address records, collectives, a batch job, killed, cut off"
