# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by the tests of Tutti under MPI programs. The first argument of a test is the host, the MPI
# under which the programs run: openmpi or mpich.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2034
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    for file in out err; do
        if [ -s "$file" ]; then sed "s|^|$file: |" "$file" | head -n 30 >&2; fi
    done
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}

# shellcheck disable=SC2034
library=$TUTTI_BUILD/lib/libtutti_mpi.so

# need HOST: skips the test if the host's compiler, header or launcher is missing.
need() {
    local tool
    for tool in "mpicc.$1" "$(launcher "$1")"; do
        command -v "$tool" >/dev/null || skip "no $tool"
    done
    echo '#include <mpi.h>' | "mpicc.$1" -fsyntax-only -x c - 2>/dev/null || skip "no mpi.h of $1"
}

# compile_mpi HOST ARGUMENT...: compiles a program by the C compiler command of the host. A rank
# that waits in MPICH leaves its processor to others (yield.c).
compile_mpi() {
    local host=$1
    shift
    if [ "$host" = mpich ]; then set -- "$@" "$TUTTI_SOURCE/tests/mpi/yield.c" -ldl; fi
    "mpicc.$host" "$@"
}

# compile_take HOST NAME OPTION...: compiles take.c with these options, and links the program as
# ./NAME. The compiler takes two seconds, and several tests run the program, so the build folder
# keeps it. Each NAME has always the same options.
compile_take() {
    local host=$1 name=$2 kept=$TUTTI_BUILD/tests/mpi-$2-$1
    local source=$TUTTI_SOURCE/tests/mpi/take.c yields=$TUTTI_SOURCE/tests/mpi/yield.c
    shift 2
    {
        flock 9
        if [ ! "$kept" -nt "$source" ] || [ ! "$kept" -nt "$yields" ]; then
            compile_mpi "$host" -g -Wall -Werror "$@" "$source" -o "$work/$name-new" || fail "$name"
            mv "$work/$name-new" "$kept"
        fi
    } 9>"$kept.lock"
    ln -s "$kept" "$name"
}
# count_advances LIBRARY: makes the folder `counted` with a copy of this libtutti_mpi.so and, beside
# it, the library of advances.c, which this copy loads.
count_advances() {
    local tutti=$TUTTI_BUILD/lib
    mkdir counted
    cp "$1" counted
    gcc -Wall -Werror -shared -fPIC -I "$TUTTI_SOURCE/include" -I "$TUTTI_BUILD/include" \
        -DTUTTI_PATH="\"$tutti/libtutti.so.0\"" "$TUTTI_SOURCE/tests/mpi/advances.c" -o counted/libtutti.so.0 \
        -Wl,-soname,libadvances.so -Wl,--no-as-needed "$tutti/libtutti.so.0" -Wl,-rpath,"$tutti" -ldl
}
launcher() { if [ "$1" = mpich ]; then echo mpiexec.mpich; else echo mpirun.openmpi; fi; }

# launch HOST RANKS COMMAND...: runs the command, with its output in the files out and err. Fails if
# the command does.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
launch() {
    local host=$1 ranks=$2 code=0
    shift 2
    "${before[@]}" "$(launcher "$host")" -n "$ranks" "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq 0 ] || fail "'$*' on $ranks ranks over $host exited with $code"
}
# Tutti does all calls that it can do, so that a test knows who does a call; choice.sh tests the
# default.
export TUTTI_MPI=take
export TUTTI_MPI_WISDOM=0 # no test reads decisions of another test
before=() # the words of the command before the launcher

# counted HOST RANKS COMMAND...: runs the command and counts its calls, with the report in
# calls.json.
counted() {
    rm -f calls.json
    before=(env "TUTTI_MPI_REPORT=$work/calls.json" tutti mpi --count)
    launch "$@"
    [ -s calls.json ] || fail "no report of '${*:3}'"
    before=()
}

# reported HOST RANKS COMMAND...: runs the command under Tutti, with the report in calls.json.
reported() {
    rm -f calls.json
    before=("${before[@]:-env}" env "TUTTI_MPI_REPORT=$work/calls.json" tutti mpi)
    launch "$@"
    [ -s calls.json ] || fail "no report of '${*:3}'"
    before=()
}
