#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that the calls of a program that is linked with MPICH statically are counted by
# libtutti_mpi.a, which says that it is not for a program of Open MPI.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need mpich
archive=$(pkg-config --variable=libdir mpich)/libmpich.a
[ -e "$archive" ] || skip 'no libmpich.a'
[ -e "$TUTTI_BUILD/lib/libtutti_mpi.a" ] || fail 'no libtutti_mpi.a'

read -ra flags <<<"$(pkg-config --cflags mpich)"
read -ra needed <<<"$(pkg-config --static --libs mpich | sed 's/-lmpich\>//')"
cat >calls.c <<'PROGRAM'
#include <mpi.h>
int main(int argc, char **argv)
{
    double mine = 1, sum;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 7; i++) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 3;
}
PROGRAM
# static_with LIBRARY PROGRAM: links the program with Tutti's library and with MPICH, statically.
static_with() {
    "$CC" "${flags[@]}" calls.c -L "$TUTTI_BUILD/lib" "$1" "$archive" "${needed[@]}" -lm -lpthread -o "$2" 2>err
}
static_with -l:libtutti_mpi.a calls || { cat err; skip 'MPICH cannot be linked statically here'; }
ldd calls >needs
if grep libmpich needs; then fail 'not linked statically'; fi
launch mpich 3 ./calls
grep -qE '^tutti: MPI: off on all ranks: rank 0: cannot load libtutti.so.0: ' err || fail 'no word about the missing library'
export LD_LIBRARY_PATH=$TUTTI_BUILD/lib
launch mpich 3 ./calls
[ ! -s err ] || fail 'it counts without being asked to'
before=(env TUTTI_MPI_REPORT=1)
launch mpich 3 ./calls
grep -qE '^MPI_Allreduce .* taken$' err || fail 'nothing is taken'
before=(env TUTTI_MPI=count)
launch mpich 3 ./calls
grep -qE '^MPI_Allreduce +3  MPI_COMM_WORLD +MPI_DOUBLE +MPI_SUM +7 +0 +8 +8 +168 ' err || fail 'no row'

# A program may be linked with libtutti.a, too, whose functions have to be its own.
symbols() { nm -g --defined-only "$TUTTI_BUILD/lib/$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u; }
symbols libtutti.a >ours
symbols libtutti_mpi.a >theirs
grep -qx tutti_init ours || fail 'libtutti.a has no tutti_init'
grep -qx MPI_Init theirs || fail 'libtutti_mpi.a has no MPI_Init'
comm -12 ours theirs >out
[ ! -s out ] || fail 'symbols of both libtutti.a and libtutti_mpi.a'

# The shared library finds no MPI in the program.
before=()
static_with -ltutti_mpi shared || fail 'linking with the shared library'
if ./shared 2>err; then fail 'the shared library finds an MPI'; fi
grep -qxF 'tutti: MPI: the program calls MPI, but no MPI library is loaded (a program that contains MPICH must be linked with libtutti_mpi.a, not with libtutti_mpi.so)' err ||
    fail 'no word about libtutti_mpi.a'

if command -v mpicc.openmpi >/dev/null; then
    mpicc.openmpi calls.c "$TUTTI_BUILD/lib/libtutti_mpi.a" -o calls -lpthread -ldl
    before=()
    launch openmpi 3 ./calls
    grep -qE '^tutti: MPI: off: libtutti_mpi.a is for programs that are linked with MPICH 4, and this program uses Open MPI v4[^ ]*: link it with libtutti_mpi.so instead$' err ||
        fail 'no word about Open MPI'
fi
