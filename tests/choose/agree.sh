#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All ranks choose alike: the model and the way to choose are those of rank 0, whatever files,
# settings and home folders the others have. If the model file cannot be used, the table of the
# library chooses.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
source "$(dirname "$0")/../tools/model.sh"

unset TUTTI_MACHINE TUTTI_CHOICE
export XDG_CACHE_HOME=$work/cache

# Two models. In `mine`, reading the memory of another process is cheap and copying is expensive, so
# that the estimate chooses another algorithm than the table. In `theirs`, copying is cheap, too.
model '900000 900000 900000 900000 900000 900000 900000 1100000 4300000' >mine
model '8 64 512 4096 16384 65536 262144 1048576 4194304' >theirs
sed 's/^processor .*/processor Other/' mine >foreign

# run NAME=VALUE...: runs a job in which rank 0 prints what is chosen for a bcast of 1 KiB. The
# table chooses `flat`.
run() { env "$@" TUTTI_LOG=choice,boot tutti run -n 3 "$TUTTI_BUILD/tests/choose-caller"; }
chosen() { sed -n 's/.*choice: \([a-z-]*\) for bcast.*/\1/p' err; }

expect 0 run TUTTI_CHOICE=table
says err 'there is no model of this machine: .*No such file'
says err 'choice: flat for bcast.*by the table'

expect 0 run TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate
says err 'choice: direct for bcast.*by estimate\), .*predicted [0-9.]+ us'
expect 0 run TUTTI_MACHINE="$work/theirs" TUTTI_CHOICE=estimate
says err 'choice: flat for bcast.*by estimate\)'
expect 0 run TUTTI_MACHINE="$work/mine"
says err 'choice: direct for bcast.*by estimate\), .*predicted [0-9.]+ us'
expect 0 run TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=table
says err 'choice: flat for bcast.*by the table\), .*predicted [0-9.]+ us'
expect 0 run TUTTI_MACHINE="$work/foreign" TUTTI_CHOICE=estimate
says err "warning: there is no model of this machine, so the table chooses: .*'Other'"
says err 'choice: flat for bcast.*by the table'

# Ranks 1 and 2 have another file, another choice, no home folder, and a wrong setting.
cat >differing <<'SCRIPT'
#!/bin/bash
case $TUTTI_RANK in
1) export TUTTI_MACHINE=$1 TUTTI_CHOICE=table ;;
2)
    unset TUTTI_MACHINE HOME XDG_CACHE_HOME
    export TUTTI_CHOICE=nonsense
    ;;
esac
exec "$2"
SCRIPT
chmod +x differing
expect 0 env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice tutti run -n 3 ./differing \
    "$work/theirs" "$TUTTI_BUILD/tests/choose-caller"
says err 'choice: direct for bcast.*by estimate'
says err 'warning: TUTTI_CHOICE=nonsense .*\(only on rank 2\)$'
[ "$(lines err 'warning')" -eq 1 ] || fail 'other settings of other ranks had an effect'
expect 0 env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice TUTTI_CMA=0 tutti run -n 3 ./differing \
    "$work/theirs" "$TUTTI_BUILD/tests/choose-caller"
expect 0 env TUTTI_MACHINE="$work/mine" TUTTI_CHOICE=estimate TUTTI_LOG=choice TUTTI_NODES=2,1 tutti run -n 3 \
    ./differing "$work/theirs" "$TUTTI_BUILD/tests/choose-caller"
says err 'choice: .* for bcast.*by the table'

# With a network in the model, ranks on several nodes choose by estimate, too.
{ cat mine && wires; } >network
expect 0 env TUTTI_MACHINE="$work/network" TUTTI_CHOICE=estimate TUTTI_LOG=choice TUTTI_NODES=2,1 tutti run -n 3 \
    ./differing "$work/theirs" "$TUTTI_BUILD/tests/choose-caller"
says err 'choice: .* for bcast.*by estimate\), .*predicted [0-9.]+ us'

# The parameters of an algorithm are those of rank 0's model, too. If two ranks had different
# slices, the sums would be wrong. Without a processor for each rank, no parameters are chosen. The
# model `theirs` lacks a network.
{ cat theirs && fast_wires; } >fast
cat >also <<'SCRIPT'
#!/bin/bash
[ "$TUTTI_RANK" != 1 ] || export TUTTI_MACHINE=$1 TUTTI_CHOICE=table
shift
exec "$@"
SCRIPT
chmod +x also
expect 0 env TUTTI_MACHINE="$work/fast" TUTTI_CHOICE=estimate TUTTI_LOG=choice TUTTI_NODES=1,1 \
    tutti run -n 2 ./also "$work/theirs" tutti bench --iterations 2 scan/f64/sum/1M
with=$([ "$(nproc)" -ge 2 ] && echo ', slice=256K')
says err "choice: chain for scan.*by estimate$with\\), .*predicted [0-9.]+ us"

# A rank that sets TUTTI_EAGER to its default chooses like a rank that does not set it.
cat >eager <<'SCRIPT'
#!/bin/bash
[ "$TUTTI_RANK" != 1 ] || export TUTTI_EAGER=8K
exec "$1"
SCRIPT
chmod +x eager
for choice in estimate measure; do
    for nodes in 1,1 2,1; do
        expect 0 env TUTTI_MACHINE="$work/network" TUTTI_CHOICE=$choice TUTTI_NODES=$nodes \
            tutti run -n $((${nodes//,/+})) ./eager "$TUTTI_BUILD/tests/choose-caller"
    done
done

# Without a network in the model, the speed of a link is that of rank 0, too. If it is known, the
# table chooses another algorithm between nodes.
cat >faster <<'SCRIPT'
#!/bin/bash
export TUTTI_LINK_MBIT=$(($1 * (TUTTI_RANK == 0)))
exec "$2"
SCRIPT
chmod +x faster
for speed in 0 25000; do
    expect 0 env TUTTI_CHOICE=table TUTTI_LOG=choice,boot TUTTI_NODES=2,1 tutti run -n 3 ./faster $speed \
        "$TUTTI_BUILD/tests/choose-caller"
    case $speed in
    0) says err 'choice: composed for bcast.*by the table' ;;
    *) says err "choice: logical for bcast.*by the table" && says err "link to other machines has $speed Mbit/s, and it" ;;
    esac
done
# The model's network says in what time a message starts, also if the user sets the speed. All ranks
# get this time from rank 0. On a fast link, short calls run by other algorithms if it is long.
sed 's/^wire_time [0-9]*/wire_time 8001000/' network >slow-start
sed 's/^wire_time [0-9]*/wire_time 8000000/' network >quick-start
for start in slow quick; do
    [ $start = slow ] && name=logical || name=composed
    expect 0 env TUTTI_CHOICE=table TUTTI_MACHINE="$work/$start-start" TUTTI_LINK_MBIT=100000 \
        tutti explain bcast/u8/16K/p4@nodes:2,2
    says out "runs by $name" && says out '^Links between nodes: 100000 Mbit/s, and a short message takes 8.0 us$'
done
expect 0 env TUTTI_CHOICE=table TUTTI_MACHINE="$work/slow-start" TUTTI_LOG=choice,boot TUTTI_NODES=2,1 tutti run -n 3 \
    ./differing "$work/theirs" "$TUTTI_BUILD/tests/choose-caller"
says err 'link to other machines has 8000 Mbit/s, and a short message takes 8.0 us'
