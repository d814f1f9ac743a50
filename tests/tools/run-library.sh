#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that use the library get errors that say what happened to the others.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# A rank is killed during collectives: the calls of the other ranks end with an error that names the
# killed rank.
for n in 2 5; do
    expect 137 tutti run -n "$n" --timeout 3000 "$rank" add-until-peer-fails
    [ "$(lines out 'a member of the team failed: .*rank 1 died: signal 9 \(Killed\)')" -eq $((n - 1)) ] ||
        fail 'not every survivor knows'
    says err '^tutti: rank 1 \(pid [0-9]+\) killed by signal 9 \(Killed\)$'
    expect 137 tutti run -n "$n" --on-failure continue-fail --timeout 3000 "$rank" add-until-peer-fails
    expect 0 tutti run -n "$n" --on-failure continue --timeout 3000 "$rank" add-until-peer-fails
    says err '^tutti: rank 1 was lost; the others ended with code 0, and so does the job$'
done

# A rank exits without tutti_finalize, or never joins the job.
expect 0 tutti run -n 3 --timeout 3000 "$rank" desert
[ "$(lines out 'a member of the team failed: .*rank 0 ')" -eq 2 ] || fail 'not every other rank knows'
says err '^tutti: rank 0 exited without tutti_finalize$'
expect 0 tutti run -n 3 --timeout 3000 "$rank" stay-away
[ "$(lines out 'a member of the team failed: .*rank 1 ')" -eq 2 ] || fail 'not every other rank knows'

# Two ranks exit at the same time without tutti_finalize, and the other ranks recover: the launcher
# reports both as lost.
expect 0 tutti run -n 5 --on-failure continue --timeout 3000 "$rank" exit-two
says err '^tutti: ranks 1,3 were lost; the others ended with code 0, and so does the job$'
expect 3 tutti run -n 5 --on-failure continue-fail --timeout 3000 "$rank" exit-two

# A rank is linked to another version of the library.
expect 1 tutti run -n 3 "$rank" join-as-other
says err '^init: the job was started by version [0-9.]+/[0-9a-f]{8}, this rank is linked to version 0.0.9/01234567: use the command and the library of the same build$'
says err '^tutti: rank 1 \(pid [0-9]+\) exited with code 1: it is linked to version 0.0.9/01234567 of the library, this is '
says err '^init: rank 1 (exited with code 1|cannot go on: the ranks run different versions of the library)$'

# A rank does not find a library. The message says how to name the folder of the library. A rank
# that has joined the job may end with the same code for another reason.
mkdir apart
printf '#!/bin/sh\necho "libtutti.so.0: cannot open shared object file" >&2\nexit 127\n' >apart/lacking
chmod +x apart/lacking
expect 127 tutti run -n 2 apart/lacking
says err '^tutti: rank [01] \(pid [0-9]+\) exited with code 127: it found no library, .* set LD_LIBRARY_PATH to its folder$'
# shellcheck disable=SC2016
expect 127 tutti run -n 1 sh -c '"$1" join; exit 127' sh "$rank"
says err '^tutti: rank 0 \(pid [0-9]+\) exited with code 127$'

# Settings that affect shared data structures must be the same on all ranks, whichever rank comes
# first.
for setting in WINDOW:128K:8K EAGER:8K:100 SLICE:0:4K RADIX:0:3 LANES:0:3; do
    IFS=: read -r name all other <<<"$setting"
    # shellcheck disable=SC2016
    expect 1 tutti run -n 3 --timeout 3000 --on-failure continue sh -c \
        'if [ "$TUTTI_RANK" = 1 ]; then export "$1"; fi; exec "$2" join' sh "TUTTI_$name=$other" "$rank"
    says err "^init: TUTTI_$name is ($all here and $other|$other here and $all) on another rank: it must be the same on all\$"
    [ "$(lines err '^init: ')" -eq 3 ] || fail 'somebody joined'
    expect 0 env "TUTTI_$name=$other" tutti run -n 3 "$rank" join
done

# The network must also be the same on all ranks, and must have a node for each rank.
# shellcheck disable=SC2016
expect 1 tutti run -n 3 --timeout 3000 --on-failure continue sh -c \
    'if [ "$TUTTI_RANK" = 1 ]; then export TUTTI_NETWORK=ring:3; fi; exec "$1" join' sh "$rank"
says err "^init: TUTTI_NETWORK is '(ring:3)?' here and something else on another rank: it must be the same on all\$"
expect 0 env TUTTI_NETWORK=ring:3 tutti run -n 3 "$rank" join
expect 1 env TUTTI_NETWORK=ring:4 tutti run -n 3 "$rank" join
says err '^init: TUTTI_NETWORK=ring:4 has 4 nodes for 3 ranks$'
expect 1 env TUTTI_NETWORK=rong:4 tutti run -n 3 "$rank" join
says err "^init: TUTTI_NETWORK=rong:4: unknown network 'rong', expected one of .* \(at character 1\)\$"

# The nodes that TUTTI_NODES simulates must be the same on all ranks, and must have room for all
# ranks.
for nodes in 2,1 '1*3' 3 '2*1,1'; do expect 0 env "TUTTI_NODES=$nodes" tutti run -n 3 "$rank" add; done
for nodes in 2 '1*2' 2,2 4 2,0 2,1,0 '2,' ',3' '2;1' 2x1 '1*0,3' -1,4 9999999999999999999; do
    expect 1 env "TUTTI_NODES=$nodes" tutti run -n 3 "$rank" join
    says err "^init: TUTTI_NODES=${nodes//\*/\\*}(: expected the ranks of each node| has room for 2 ranks, the job has 3)"
done
# shellcheck disable=SC2016
expect 1 tutti run -n 3 --timeout 3000 --on-failure continue sh -c \
    'if [ "$TUTTI_RANK" = 1 ]; then export TUTTI_NODES=1,2; fi; exec "$1" join' sh "$rank"
says err "^init: TUTTI_NODES is '(1,2)?' here and something else on another rank: it must be the same on all\$"

# A process may create clients repeatedly, while another client exists and after that client has
# ended. But only one process per rank may join.
expect 0 tutti run -n 3 --timeout 3000 "$rank" join-again
[ "$(lines out '^living: done: $')" -eq 3 ] || fail 'no second client'
[ "$(lines out '^left: done: $')" -eq 3 ] || fail 'not joined again'
[ "$(lines out '^sum 3$')" -eq 3 ] || fail 'the living client does not work'
# shellcheck disable=SC2016
expect 1 tutti run -n 1 sh -c '"$1" join && exec "$1" join' sh "$rank"
says err '^init: rank 0 has joined this job before$'
expect 0 tutti run -n 2 --timeout 3000 "$rank" join-in-child
[ "$(lines out '^child: an argument is wrong: this process is a child of the one that joined the job')" -eq 2 ] ||
    fail 'a child joined'
# A process that was started as a rank ends and leaves a child behind. The child is no rank, whether
# it tries to join before or after the launcher has noticed the end of the rank.
for when in join-as-daemon join-as-early-daemon; do
    rm -f go joins
    expect 0 tutti run -n 2 --timeout 3000 "$rank" $when
    says err '^init: the process that was started as rank 0 has ended, and this is another one, which it left behind by daemon'
done
# A process between `tutti run` and the program closes the descriptor of the job's memory.
expect 1 tutti run -n 2 --on-failure continue python3 -c 'import subprocess, sys
sys.exit(subprocess.call(sys.argv[1:]))' "$rank" join
[ "$(lines err '^init: descriptor [0-9]+, which TUTTI_JOB names as the job.s memory, is closed: .*close_fds=False.*unset TUTTI_JOB')" -eq 2 ] ||
    fail 'the closed descriptor is not named'
# Without a launcher, the child of a rank makes a job of its own.
expect 0 "$rank" join-in-child
says out '^child: done: $'
expect 0 "$rank" join-again
[ "$(lines out ': done: $')" -eq 2 ] || fail 'a job of one cannot be made again'

# A wrong value gives one warning, and the default is used.
for setting in RADIX=1 RADIX=0 LANES=0 LANES=9 WINDOW=1 EAGER=-1 SLICE=x CMA=2 SPINS=x YIELDS=-1 ISA=x LOG=x; do
    expect 0 env "TUTTI_$setting" "$rank" join-again
    [ "$(lines err "^tutti: warning: TUTTI_${setting%=*}")" -eq 1 ] || fail "$setting: not warned of once"
    [ "$(lines err)" -eq 1 ] || fail "$setting: more is said"
done
TUTTI_RADIX=1 expect 0 "$rank" join-again
says err '^tutti: warning: TUTTI_RADIX=1 is not a whole number from 2 to 1024: using the default \(the algorithm.s\)$'
TUTTI_READ_COST=x expect 0 tutti run -n 2 "$rank" add
[ "$(lines err "^tutti: .rank 0. warning: TUTTI_READ_COST=x")" -eq 1 ] || fail "TUTTI_READ_COST: not warned of once"
for setting in RANK SIZE; do
    expect 0 env "TUTTI_$setting=1" "$rank" join-again
    [ "$(lines err "^tutti: warning: TUTTI_$setting is set but TUTTI_JOB is not: ignored, this is a job of one rank\$")" -eq 1 ] ||
        fail "TUTTI_$setting: not warned of once"
done
# A launcher that speaks PMI and not PMIx makes each process a job of its own. The first one warns.
pmi='^tutti: warning: mpiexec, MPICH.s or one like it, started 3 processes without PMIx, so each is a job of one rank: use Open MPI.s mpirun, prun or .tutti run., or TUTTI_PMIX=0 '
expect 0 env -u SLURM_PROCID PMI_SIZE=3 PMI_RANK=0 "$rank" join-again
[ "$(lines err "$pmi")" -eq 1 ] || fail 'not warned of once'
for silent in PMI_RANK=1 PMI_SIZE=1 TUTTI_PMIX=0; do
    expect 0 env -u SLURM_PROCID PMI_SIZE=3 PMI_RANK=0 "$silent" "$rank" join-again
    [ ! -s err ] || fail "$silent: warned of"
done
expect 0 env PMI_SIZE=3 PMI_RANK=0 tutti run -n 2 "$rank" add
[ ! -s err ] || fail 'ranks of tutti run warn'
if command -v mpiexec.mpich >/dev/null; then
    # MPICH's mpiexec may die by SIGPIPE if processes without MPI end soon, even those of `true`.
    for try in {1..30}; do
        status=0
        mpiexec.mpich -n 3 "$rank" join-again >out 2>err || status=$?
        [ "$status" -eq 141 ] || break
    done
    [ "$status" -eq 0 ] || fail "exit code $status of mpiexec at attempt $try"
    [ "$(lines err "$pmi")" -eq 1 ] || fail 'not warned of once by three processes'
fi
for setting in 'nope=ring:there is no collective .nope.; see' 'bcast=flat,bcast=direct:names bcast twice' \
    'allreduce=flat,allreduce=ring:names allreduce twice' 'nope:there is no algorithm .nope. for allreduce' \
    '=ring:there is no collective ..; see' 'allreduce=:there is no algorithm .. for allreduce'; do
    expect 0 env "TUTTI_ALGORITHM=${setting%%:*}" tutti run -n 2 "$rank" add
    [ "$(lines out "^an argument is wrong: TUTTI_ALGORITHM:? ${setting#*:}")" -eq 2 ] || fail "$setting: not reported to both"
done
TUTTI_ALGORITHM=binomial,flat,bcast=flat,allreduce=doubling expect 0 tutti run -n 2 "$rank" add
[ "$(lines out '^done: $')" -eq 2 ] || fail 'several names are refused'
for fault in x kill,rank=-1 kill,rank=x rank=9999999999999999999; do
    TUTTI_FAULT=$fault expect 1 "$rank" join
    says err "^init: TUTTI_FAULT: '${fault#kill,}' is none of kill fail rank=R after=N delay=US seed=N\$"
done
# TUTTI_FAULT must name a rank that exists: in this job or, if this job consists of threads or of
# one rank, in a larger job of this process.
for fault in kill,rank=9,after=3 delay=1,rank=2 fail,rank=4294967296; do
    TUTTI_FAULT=$fault expect 1 tutti run -n 2 --on-failure continue "$rank" join
    number=${fault##*rank=}
    [ "$(lines err "^init: TUTTI_FAULT: there is no rank ${number%%,*}, the job has 2\$")" -eq 2 ] || fail "$fault: not reported to both"
done
TUTTI_FAULT=kill,rank=1 expect 1 "$rank" join
says err '^init: TUTTI_FAULT: there is no rank 1, the job has 1$'
TUTTI_FAULT=delay=1,rank=2 expect 0 tutti run -n 3 "$rank" join-again
TUTTI_FAULT=delay=1,rank=2 expect 0 tutti run -n 3 "$rank" join-beside-threads
TUTTI_FAULT=delay=1,rank=3 expect 1 tutti run -n 3 "$rank" join-beside-threads

# Ranks that are bound to one core each count all cores of the job, and spin where there are enough.
if [ "$(nproc)" -gt 1 ]; then
    TUTTI_LOG=boot expect 0 tutti run -n 2 --bind core hello
    says err '2 ranks on 2 cores$'
fi
# The log says which kind of stores fills the windows.
TUTTI_LOG=boot TUTTI_FILL=1 expect 0 tutti run -n 2 hello
says err 'windows are filled by stores that bypass the caches$'
TUTTI_LOG=boot TUTTI_FILL=0 TUTTI_CMA=0 expect 0 tutti run -n 2 hello
says err 'windows are filled by plain stores$'
