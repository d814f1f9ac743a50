#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that programs end as they do without Tutti, if Tutti takes all calls, and with the measured
# choice, which is the default. odd.c does unusual things, which MPI allows or both Open MPI and
# MPICH accept, and again.c repeats calls with small changes.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
compile_mpi "$host" -w "$here/odd.c" -o odd
compile_mpi "$host" -w "$here/again.c" -o again

# ends RANKS COMMAND...: checks that the command prints the same lines in each mode, equally often.
# The order of the ranks' lines may differ.
ends() {
    local ranks=$1 mode
    shift
    before=(timeout 100)
    launch "$host" "$ranks" "$@"
    sort out >plain
    [ "$(grep -cx 'wrong 0' plain)" -eq "$ranks" ] || fail "$* without Tutti"
    for mode in take on; do
        before=(timeout 100 env "TUTTI_MPI=$mode" tutti mpi)
        launch "$host" "$ranks" "$@"
        sort out | cmp -s - plain || fail "$* with TUTTI_MPI=$mode is not as without"
    done
}

for part in deletes jumps late same bottom frees; do ends 3 ./odd "$part"; done
ends 2 ./odd deletes
ends 2 ./odd uncommitted
# In Open MPI, a handle is an address, and the host does not notice that it is wrong.
if [ "$host" = mpich ]; then ends 3 ./odd handles; fi
ends 2 ./again
before=(timeout 100 tutti mpi)
launch "$host" 2 ./odd reopens

# ---- The environment preloads a copy of the library as well: one of the two takes calls ----

cp "$library" copy.so
rm -f calls.json
before=(env "LD_PRELOAD=$work/copy.so" "LD_LIBRARY_PATH=$TUTTI_BUILD/lib" "TUTTI_MPI_REPORT=$work/calls.json" tutti mpi)
launch "$host" 2 ./again
[ "$(grep -cx 'wrong 0' out)" -eq 2 ] || fail 'wrong results with a copy of the library'
[ ! -s err ] || fail 'a copy of the library disturbs'
grep -q '"choice": "taken"' calls.json || fail 'nothing is taken with a copy of the library'

# ---- The report is written relative to the folder in which the program started, also if it changes
# its folder ----

mkdir elsewhere
"mpicc.$host" -w -x c - -o goes <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (chdir("elsewhere")) return 1;
    MPI_Finalize();
    return 0;
}
END
before=(env TUTTI_MPI_REPORT=report.json tutti mpi)
launch "$host" 2 ./goes
[ -s report.json ] || fail 'no report where the program was started'
[ ! -e elsewhere/report.json ] || fail 'a report where the program ended'
before=(env TUTTI_MPI_REPORT=0 tutti mpi)
launch "$host" 2 ./goes
[ ! -s err ] || fail 'a report although it is off'
[ ! -e 0 ] || fail 'a report in the file 0'
