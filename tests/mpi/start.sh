#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests how many collectives of the host MPI Tutti calls in MPI_Init and MPI_Finalize, and that none
# of them is blocking: with more ranks than processors, a blocking one takes tens of milliseconds.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2015,SC2016
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
compile_mpi "$host" "$here/start.c" -o start
cc -shared -fPIC "$here/audit.c" -o audit.so

# calls SETTING NUMBER: checks that each rank starts this number of nonblocking collectives of the
# host with TUTTI_MPI=SETTING, and calls no blocking one.
calls() {
    before=(env TUTTI_MPI="$1" LD_AUDIT="$work/audit.so" tutti mpi)
    launch "$host" 4 ./start
    [ "$(grep -cx "blocking 0, started $2" err)" -eq 4 ] || fail "TUTTI_MPI=$1: not $2 collectives"
}

# The collectives are: one exchange of the settings and of where ranks run, a duplicate of the
# world, three exchanges of tutti_init_with, one that shows whether all ranks have a client, and a
# barrier at the end. Over MPICH, the ranks also exchange the keys by which they publish that they
# have a buffer.
if [ "$host" = mpich ]; then most=8; else most=7; fi
calls on $most
calls -bcast $most
calls off 1

# ---- All ranks run without Tutti if one of them cannot use it, and one rank says why ----

# without COMMAND TEXT: runs the command before the program at rank 1 of 3, and checks that the text
# is all that is printed.
without() {
    before=(env TUTTI_MPI=on tutti mpi)
    launch "$host" 3 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" -ne 1 ] || eval "$1"; exec ./start' sh "$1"
    grep -qE "^tutti: MPI: off on all ranks: $2" err || fail "no word after $1"
    [ "$(grep -c '^tutti: MPI:' err)" -eq 1 ] || fail "more than one word after $1"
}

mkdir elsewhere
cp "$library" elsewhere
without "export LD_PRELOAD=$work/elsewhere/libtutti_mpi.so" 'rank 1: cannot load libtutti.so.0: '

# of_build HASH FILE COPY: copies the file, and replaces the hash of its sources by another one, so
# that the copy is of another build.
of_build() {
    LC_ALL=C sed "s|$1|01234567|" "$2" >"$3"
    ! cmp -s "$2" "$3" || fail "$2 does not contain $1"
}
build=$(sed 's/.*"\(.*\)"/\1/' "$TUTTI_BUILD/src/library-build.h")
mpi_build=$(sed 's/.*"\(.*\)"/\1/' "$TUTTI_BUILD/src/mpi-build.h")
of_build "$build" "${library%/*}/libtutti.so.0" elsewhere/libtutti.so.0
without "export LD_PRELOAD=$work/elsewhere/libtutti_mpi.so" \
    "rank 1: libtutti.so.0 is of the build [0-9.]+/01234567, but libtutti_mpi is of the build [0-9.]+/$build: install both from one build$"
cc -shared -fPIC -Wl,-soname,libtutti.so.0 -x c /dev/null -o elsewhere/libtutti.so.0
without "export LD_PRELOAD=$work/elsewhere/libtutti_mpi.so" \
    'rank 1: libtutti.so.0 is of another build than libtutti_mpi: it has no tutti_build$'
of_build "$mpi_build" "$library" elsewhere/libtutti_mpi.so
cp "${library%/*}/libtutti.so.0" elsewhere
without "export LD_PRELOAD=$work/elsewhere/libtutti_mpi.so" 'ranks (1 and 0|0 and 1) leave different functions .* or have different builds of Tutti$'

without 'export TUTTI_MPI=-bcast' 'ranks (1 and 0|0 and 1) leave different functions'
without 'export TUTTI_WINDOW=64K' 'rank [0-2]: .*TUTTI_WINDOW'
