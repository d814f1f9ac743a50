#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests programs in Fortran, with mpif.h, the module mpi and mpi_f08: their calls are counted once
# each, although the Fortran layer of an MPI calls its C functions. Tutti does the calls, also in
# place and with operations of the program; with Open MPI also persistent ones.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need "$1"
command -v gfortran >/dev/null || skip 'no gfortran'
command -v "mpif90.$1" >/dev/null || skip "no mpif90.$1"
persistent=() yields=()
if [ "$1" = openmpi ]; then persistent=(-DPERSISTENT); fi
if [ "$1" = mpich ]; then
    cc -c "$here/yield.c" -o yield.o
    yields=(yield.o -ldl)
fi

for form in 1 2 3; do
    "mpif90.$1" -DFORM=$form "$here/calls.F90" "${yields[@]}" -o calls
    launch "$1" 4 ./calls
    counted "$1" 4 ./calls
    python3 - calls.json <<'PYTHON' || fail "form $form"
import json
import sys
rows = {(row["function"], row["communicator"], row["ranks"], row["type"], row["operation"]): (row["calls"], row["bytes"])
        for row in json.load(open(sys.argv[1]))["calls"]}
world = "MPI_COMM_WORLD", 4
assert rows == {
    ("MPI_Bcast", *world, "MPI_INTEGER", ""): (1, 16),
    ("MPI_Allreduce", *world, "MPI_DOUBLE_PRECISION", "MPI_SUM"): (1, 96),
    ("MPI_Alltoall", *world, "MPI_INTEGER", ""): (1, 64),
    ("MPI_Ibarrier", "", 2, "", ""): (2, 0),
    ("MPI_Barrier", "", 2, "", ""): (2, 0),
}, rows
PYTHON
    "mpif90.$1" -cpp -ffree-line-length-none -fallow-argument-mismatch -DFORM=$form "${persistent[@]}" "$here/take.F90" "${yields[@]}" -o take
    launch "$1" 3 ./take
    reported "$1" 3 ./take
    if grep '"choice": "left' calls.json; then fail "a call is left in form $form"; fi
    grep -q '"MPI_Allreduce".*"operation": "user", "choice": "taken"' calls.json || fail "no operation of the program in form $form"
    [ "$1" = openmpi ] || continue
    grep -q '"MPIX_Allreduce_init".*"MPI_MAX", "choice": "taken".*"starts": 4,' calls.json || fail "no persistent call in form $form"
done
