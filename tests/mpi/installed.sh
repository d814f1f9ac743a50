#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that the installed command finds the installed library, and that a program may be linked
# with the library instead of preloading it.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2015,SC2016
source "$(dirname "$0")/lib.sh"

cmake --install "$TUTTI_BUILD" --component Unspecified --prefix "$work/prefix" >/dev/null # project/install.sh says why
installed=$(find "$work/prefix" -name libtutti_mpi.so)
[ -n "$installed" ] || fail 'the library is not installed'
env LD_LIBRARY_PATH="${installed%/*}" "$work/prefix/bin/tutti" mpi sh -c 'echo "$LD_PRELOAD"' >out
grep -qx "$(realpath "$installed")" out || fail 'the installed command preloads another library'

# A library whose name begins with libtutti_mpi.so, or a variable whose name begins with TUTTI_MPI,
# must not be taken for that library or that variable.
env LD_PRELOAD="$installed.old" "$work/prefix/bin/tutti" mpi sh -c 'echo "$LD_PRELOAD"' 2>/dev/null >out
grep -qx "$installed.old:$(realpath "$installed")" out || fail 'the library is not preloaded beside another one'
mkdir bin
printf '#!/bin/sh\necho "$OMPI_MCA_mca_base_env_list"\n' >bin/mpirun
chmod +x bin/mpirun
PATH=$work/bin:$PATH OMPI_MCA_mca_base_env_list=TUTTI_MPI_REPORT TUTTI_MPI=off TUTTI_MPI_REPORT=0 \
    "$work/prefix/bin/tutti" mpi mpirun >out
grep -q '^TUTTI_MPI_REPORT;LD_PRELOAD;TUTTI_MPI\(;\|$\)' out || fail 'TUTTI_MPI is not passed to other hosts'
rm -r bin

mkdir "$work/with a space"
mv "$work/prefix" "$work/with a space/prefix"
code=0
"$work/with a space/prefix/bin/tutti" mpi true 2>err || code=$?
[ "$code" -eq 1 ] || fail "exit code $code for a path that cannot be preloaded"
grep -q "cannot be preloaded" err || fail 'no word about the space'
mv "$work/with a space/prefix" "$work/prefix"
rm "$installed"
code=0
"$work/prefix/bin/tutti" mpi true 2>err || code=$?
[ "$code" -eq 1 ] || fail "exit code $code without the library"
grep -q 'no libtutti_mpi.so is found' err || fail 'no word about the missing library'

for host in openmpi mpich; do
    command -v "mpicc.$host" >/dev/null && command -v "$(launcher $host)" >/dev/null || continue
    compile_mpi "$host" "$here/around.c" -o around -L "${library%/*}" -Wl,--no-as-needed -ltutti_mpi -Wl,-rpath,"${library%/*}" -ldl
    before=(env TUTTI_MPI=count)
    launch "$host" 2 ./around call
    grep -qE '^MPI_Allreduce +2 +MPI_COMM_WORLD +MPI_DOUBLE +MPI_SUM +4 ' err || fail "a linked program is not counted ($host)"
done
