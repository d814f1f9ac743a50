#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that the benchmarks under MPI programs print what they should. How long a call takes is not
# checked.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need openmpi

bench=$TUTTI_SOURCE/bench/bench
(cd "$TUTTI_SOURCE" && "$bench" passing --build "$TUTTI_BUILD" --rounds 1 --results -) >out 2>err || fail 'passing'
grep -qE '^\| Open MPI \| [0-9.]+ \| -?[0-9.]+ \| -?[0-9.]+ \| 15 ns: ' out || fail 'passing has no row for Open MPI'

/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip 'no mpi4py'
"$bench" counts --build "$TUTTI_BUILD" --programs 'mpi4py hello' --results "$work" >out 2>err || fail 'counts'
grep -qE '^mpi4py helloworld over openmpi: [1-9][0-9]* calls$' out || fail 'counts counts nothing'
grep -qE '^\| mpi4py helloworld \| Open MPI v4' ./*-mpi-counts.md || fail 'no row in the page'
