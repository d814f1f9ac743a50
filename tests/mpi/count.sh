#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that the counter counts every collective as often as the program calls it, with its bytes,
# and that the results of the program are the same as without Tutti.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/../locale.sh"
need "$1"

version=3
if [ "$1" = mpich ]; then version=4; fi
compile_mpi "$1" -Wall -Werror "$here/calls.c" -o calls
for ranks in 1 4 5; do
    launch "$1" "$ranks" ./calls
    counted "$1" "$ranks" ./calls
    python3 "$here/counts.py" calls.json "$ranks" "$version" || fail "on $ranks ranks"
done

# The report does not depend on the program's locale.
if has_locale de_DE; then
    counted "$1" 2 "${in_locale[@]}" ./calls
    python3 -c 'import json; assert json.load(open("calls.json"))["seconds"] > 0'
fi

# A table in text, on standard error.
before=(tutti mpi --count)
launch "$1" 4 ./calls
grep -qE '^MPI_Allreduce +4  MPI_COMM_WORLD +MPI_DOUBLE +MPI_MAX +1 +0 +24 +24 +96 ' err || fail 'the table lacks a row'
grep -qE '^1 communicator\(s\) of 4 ranks, MPI_COMM_WORLD$' err || fail 'the table lacks the world'
grep -qxF '1 communicator(s) of 4 ranks, ring "of" all\u000a\u00ff' err || fail 'a name is printed as it is'
grep -qE '^MPI_Neighbor_alltoallw +4  ring "of" all.u000a.u00ff MPI_INT +- +1 ' err || fail 'the table lacks a long name'

# Nothing is printed in the other modes, and a report that cannot be written does no harm.
for setting in TUTTI_MPI=on TUTTI_MPI=off TUTTI_MPI=; do
    before=(env "$setting" tutti mpi)
    launch "$1" 2 ./calls
    [ ! -s err ] || fail "something is printed with $setting"
done
before=(env TUTTI_MPI_REPORT=/no/such/folder/x tutti mpi --count)
launch "$1" 2 ./calls
grep -qxF "tutti: MPI: cannot write the report to TUTTI_MPI_REPORT '/no/such/folder/x': No such file or directory" err ||
    fail 'no word about the report'
