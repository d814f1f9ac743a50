#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests libtutti_mpi.so with AddressSanitizer and UndefinedBehaviorSanitizer, under an MPI that has
# neither. The library is compiled here, because the sanitizer's run-time library must be preloaded
# before it. The MPIs leak memory, so leaks are not checked. libtutti.so is that of this build,
# without sanitizers.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2015
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
command -v gcc >/dev/null || skip 'no gcc'
runtime=$(gcc -print-file-name=libasan.so)
[ -e "$runtime" ] || skip 'no libasan.so'
module=ompi-c text='Open MPI v4.'
if [ "$host" = mpich ]; then module=mpich text='MPICH Version:\t4.'; fi
read -ra includes <<<"$(pkg-config --cflags-only-I "$module")"

# One call of the compiler for the files of a backend (see CMakeLists.txt), and one for the others.
# To optimise them would take longer than it saves in the runs.
sources=$TUTTI_SOURCE/src/mpi
mapfile -t of_backend < <(sed -n '/^set(mpi_backend_sources/,/)/{s/set(mpi_backend_sources//; s/)//; p}' \
    "$sources/CMakeLists.txt" | xargs -n 1)
options=(-std=gnu17 -g -O0 -fPIC -D_GNU_SOURCE -fvisibility=hidden -fsanitize=address -fsanitize=undefined
    -fno-sanitize-recover=undefined -fno-sanitize=alignment -I"$TUTTI_SOURCE/src" -I"$TUTTI_SOURCE/include" -I"$TUTTI_BUILD/src")
mkdir backend others
(cd backend && gcc "${options[@]}" "${includes[@]}" -DTT_MPI_BACKEND="tt_mpi_backend_$host" -DTT_MPI_VERSION="\"$text\"" \
    -c "${of_backend[@]/#/$sources/}") &
(cd others && gcc "${options[@]}" -DTT_MPI_"${host^^}" -c "$sources"/{stub,start,hosts,load,count,report,trial,kept,local-names,find}.c &&
    gcc "${options[@]}" -Dtt_fail=tt_mpi_fail -Dtt_fail_errno=tt_mpi_fail_errno -Dtt_setting=tt_mpi_environment \
        -Dtt_calloc=calloc -Dtt_free=free -c "$TUTTI_SOURCE"/src/base/{cache-file,host-name}.c) || fail 'the other files'
wait $! || fail 'the backend'
gcc -shared -fsanitize=address,undefined backend/*.o others/*.o -o libtutti_mpi.so -ldl -lpthread || fail 'the library'

export LD_LIBRARY_PATH=$TUTTI_BUILD/lib ASAN_OPTIONS=detect_leaks=0:exitcode=55 TUTTI_MPI_REPORT=$work/calls.json
compile_take "$host" take
compile_mpi "$host" -g "$here/choice.c" -o choice
compile_take "$host" itake -DNONBLOCKING
compile_mpi "$host" -g "$here/later.c" -o later -lpthread -ldl 2>/dev/null || fail 'the compiler'
export TUTTI_MPI_WISDOM=$work/wisdom # the second run of choice reads what the first one has written
runs=('take ./take' 'take ./itake 2' 'take ./later many' 'take ./later operations' 'take ./later threads' 'on ./choice mixed 5' 'on ./choice mixed 5')
compile_take "$host" persistent -DNONBLOCKING -DPERSISTENT
runs+=('take ./persistent' 'take ./later persistent')
for run in "${runs[@]}"; do
    before=(env "TUTTI_MPI=${run%% *}")
    # shellcheck disable=SC2086
    launch "$host" 2 env LD_PRELOAD="$runtime:$work/libtutti_mpi.so" ${run#* }
    grep -qxE 'all results are right|done' out && [ ! -s err ] || fail "$run"
    grep -q '"choice": "taken"' calls.json || fail "nothing is taken in $run"
done

# Persistent calls of two threads that fail at the same time, which Tutti prints.
count_advances libtutti_mpi.so
before=(env TUTTI_MPI=take)
launch "$host" 2 env LD_PRELOAD="$runtime:$work/counted/libtutti_mpi.so" ./later refused-threads "$work/counted/libtutti.so.0"
grep -qx 'done' out && ! grep -q 'Sanitizer' err || fail 'refused-threads'
