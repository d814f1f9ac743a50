#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests what surrounds a program: shells and other programs, tools that are preloaded before Tutti,
# a second MPI, settings that differ, MPI-IO, errors, many communicators, ranks that are killed.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2015,SC2016
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
compile_mpi "$host" "$here/around.c" -o around -rdynamic -ldl

# ---- Programs without MPI ----

tutti mpi --count bash -c 'echo $((6 * 7)); ls /dev/null | cat' >out 2>err
[ "$(cat out)" = $'42\n/dev/null' ] && [ ! -s err ] || fail 'a shell behaves differently'
LD_PRELOAD=$library TUTTI_MPI=count bash -c '[ "$(grep -c . /proc/self/status)" -gt 9 ] && ls /proc/$$/task' >out 2>err
[ "$(wc -l <out)" -eq 1 ] && [ ! -s err ] || fail 'a shell has more threads'
tutti mpi sh -c 'echo "$LD_PRELOAD"' >out
grep -qx "$(realpath "$library")" out || fail 'LD_PRELOAD is not the library'
LD_PRELOAD=libc.so.6 tutti mpi tutti mpi sh -c 'echo "$LD_PRELOAD"; echo "$OMPI_MCA_mca_base_env_list"' >out
printf 'libc.so.6:%s\n\n' "$(realpath "$library")" | cmp - out || fail 'LD_PRELOAD is not appended to once'
code=0
tutti mpi sh -c 'exit 41' || code=$?
[ "$code" -eq 41 ] || fail "exit code $code instead of 41"
code=0
tutti mpi /no/such/command 2>err || code=$?
[ "$code" -eq 127 ] && grep -qx "tutti mpi: cannot run '/no/such/command': No such file or directory" err || fail 'no word'

# ---- Shells between the launcher and the program, and a tool that is preloaded before Tutti ----

"mpicc.$host" -shared -fPIC "$here/tool.c" -o tool.so
before=(env LD_PRELOAD="$work/tool.so" tutti mpi --count)
launch "$host" 3 sh -c './around call; exit $?'
[ "$(grep -cx 'the tool saw 4 calls' err)" -eq 3 ] || fail 'the tool did not see the calls'
grep -qE '^MPI_Allreduce +3 +MPI_COMM_WORLD +MPI_DOUBLE +MPI_SUM +4 ' err || fail 'we did not see the calls'
before=(env LD_PRELOAD="$work/tool.so" TUTTI_MPI_REPORT=1 tutti mpi)
launch "$host" 3 ./around call
[ "$(grep -cx 'the tool saw 4 calls' err)" -eq 3 ] || fail 'the tool did not see the calls that we take'
grep -qE '^MPI_Allreduce +3 .* 4 .* taken$' err || fail 'the calls that the tool sees are not taken'

# ---- A tool that the program is linked with, and that is preloaded after Tutti ----

compile_mpi "$host" "$here/around.c" -o linked -rdynamic -ldl -L"$work" -Wl,--no-as-needed -l:tool.so -Wl,-rpath,"$work"
sees() { [ "$(grep -cx 'the tool saw 4 calls' err)" -eq 3 ] || fail "the tool $1 did not see the calls"; }
before=(env TUTTI_MPI=off tutti mpi)
launch "$host" 3 ./linked call
sees 'without Tutti'
before=(env TUTTI_MPI=take TUTTI_MPI_REPORT=1 tutti mpi)
launch "$host" 3 ./linked call
sees 'in the program'
grep -qE '^MPI_Allreduce +3 .* 4 .* taken$' err || fail 'the calls of a tool in the program are not taken'
before=(env TUTTI_MPI=take TUTTI_MPI_REPORT=1 LD_PRELOAD="$library:$work/tool.so")
launch "$host" 3 ./around call
sees 'after Tutti'
grep -qE '^MPI_Allreduce +3 .* 4 .* taken$' err || fail 'the calls of a tool after Tutti are not taken'

# ---- Tutti registers for membarrier(2) before the host has threads: afterwards it takes long ----

before=(tutti mpi)
launch "$host" 2 ./around registers
grep -qxE 'registered early|unknown' out || fail 'registered late'
before=(env TUTTI_MPI=off tutti mpi)
launch "$host" 2 ./around registers
grep -qxE 'not registered early|unknown' out || fail 'registered although Tutti is off'

# ---- Tutti finds the host MPI without opening the libraries that cannot be one, such as libc ----

before=(env TUTTI_MPI=off LD_DEBUG=files tutti mpi)
launch "$host" 1 ./around call
grep -qE 'opening file=.*/libmpi(ch)?\.so[^ ]* ' err || fail 'the dynamic linker does not tell what is opened'
if grep -E 'opening file=.*/lib(c|m|pthread|hwloc|open-pal|gfortran)\.so' err; then fail 'opens what is no host'; fi

# Creates objects that are linked for an address that only one of them can get, and an object
# without the hash table that shows quickly which symbols an object does not define.
cc -shared -nostdlib -Wl,-Ttext-segment=0x7ffffff00000 -x c /dev/null -o high-1.so
cc -shared -nostdlib -Wl,--hash-style=sysv -x c /dev/null -o old.so
cp high-1.so high-2.so
before=(env LD_PRELOAD="$work/high-1.so $work/high-2.so $work/old.so" TUTTI_MPI_REPORT=1 tutti mpi)
launch "$host" 2 ./around call
grep -qE '^MPI_Allreduce +2 .* 4 .* taken$' err || fail 'the calls are not taken beside objects that were moved down'

# ---- Open MPI passes Tutti's variables to other hosts, with and without its option -x ----

# asks NUMBER ARGUMENT...: checks whether mpirun is asked to pass the variables (1) or not (0), if
# it has these arguments.
mkdir asked
printf '#!/bin/sh\necho "$OMPI_MCA_mca_base_env_list"\n' >asked/mpirun
chmod +x asked/mpirun
asks() {
    local number=$1
    shift
    tutti mpi asked/mpirun "$@" >out
    [ "$(grep -c LD_PRELOAD out)" -eq "$number" ] || fail "mpirun $* is asked $number times"
}
asks 1
asks 1 -n 1 app -x
asks 1 -n 1 sh -c env app -x NAME
asks 1 --oversubscribe --mca pml ob1 -q -np 2 app --x NAME
asks 1 -n 1 a -x : -n 1 b -x
asks 1 -n 1 -- app -x NAME
asks 0 -x NAME app
asks 0 --x NAME=1 -n 2 app -x
asks 0 -n 2 --tag-output --mca pml ob1 --launch-agent sh -x NAME app
asks 0 --unknown -x NAME app
asks 0 -n 1 a : -n 1 -x NAME b

if [ "$host" = openmpi ]; then
    before=(env OMPI_MCA_mca_base_env_list=HOME tutti mpi --count)
    launch "$host" 1 sh -c 'echo "$OMPI_MCA_mca_base_env_list"'
    grep -qx 'HOME;LD_PRELOAD;TUTTI_MPI;TUTTI_MPI_WISDOM' out || fail 'the launcher is not asked to pass the variables'
    before=(tutti mpi --count)
    launch "$host" 2 -x HOME ./around call
    grep -qE '^MPI_Allreduce +2 ' err || fail 'not counted with -x'
    before=(tutti mpi --count)
    launch "$host" 2 --oversubscribe sh -c 'echo "$OMPI_MCA_mca_base_env_list"' sh -x HOME
    grep -qx 'LD_PRELOAD;.*' out || fail 'an option of the program counts as one of the launcher'
fi

# ---- A second MPI; settings that differ ----

other=mpich
if [ "$host" = mpich ]; then other=openmpi; fi
second=$(ldconfig -p | awk -v name="$([ $other = mpich ] && echo libmpich.so.12 || echo libmpi.so.40)" '$1 == name && !n++ {print $NF}')
if [ -n "$second" ]; then
    before=(tutti mpi --count)
    launch "$host" 2 ./around second "$second"
    [ "$(grep -c '^tutti: MPI: off: two MPI libraries in this process: .*lib' err)" -eq 2 ] || fail 'no word about two'
    if grep -q MPI_Allreduce err; then fail 'counted with two MPI libraries'; fi
fi
before=(tutti mpi)
launch "$host" 1 env TUTTI_MPI=count ./around call : -n 1 env TUTTI_MPI=off ./around call
grep -qx 'tutti: MPI: off on all ranks: rank 1 is off, and rank 0 is count (TUTTI_MPI)' err || fail 'no word about settings'
before=(env TUTTI_MPI=cuont tutti mpi)
launch "$host" 2 ./around call
grep -qx "tutti: MPI: off: TUTTI_MPI is 'cuont' (known: on, take, off, count, or a list like -bcast,-scan)" err || fail 'no word about a wrong setting'
[ "$(grep -c 'TUTTI_MPI is' err)" -eq 1 ] || fail 'each rank says that the setting is wrong'

# ---- One rank without the library: the other ranks find out, and leave all calls to the host ----

# The text is for sh: it runs the program, at rank $1 without the library.
unset_at='[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" -ne "$1" ] || unset LD_PRELOAD; ./around lacks "$1"'
before=(env TUTTI_BOOT_TIMEOUT=6 tutti mpi)
for lacking in 0 2; do
    launch "$host" 4 sh -c "$unset_at" sh "$lacking"
    [ "$(cat out)" = 'rank 0 has the sums' ] || fail "sums with rank $lacking without the library"
    [ "$(grep -c "^tutti: MPI: off.*: rank $lacking does not have this library; " err)" -eq 1 ] || fail "no word about rank $lacking"
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one word about rank $lacking"
done

# ---- Ranks on one host find each other by names without the launcher, and withdraw the names ----

if [ "$host" = openmpi ]; then
    cc -shared -fPIC "$here/no-names.c" -o no-names.so
    before=(env LD_PRELOAD="$work/no-names.so" TUTTI_MPI_REPORT=1 tutti mpi)
    launch "$host" 4 ./around call
    grep -qE '^MPI_Allreduce +4 .* 4 .* taken$' err || fail 'the ranks do not meet without the launcher'
fi
before=(tutti mpi)
launch "$host" 3 ./around nameless
[ "$(grep -o 'no name' out | wc -l)" -eq 3 ] || fail 'a name stays published'

# ---- Many communicators ----

counted "$host" 2 ./around many
python3 - calls.json <<'PYTHON' || fail 'the counts of many communicators'
import json
import sys
report = json.load(open(sys.argv[1]))
assert [(row["function"], row["communicator"], row["calls"]) for row in report["calls"]] == [("MPI_Barrier", "", 104)], report
assert report["communicators"] == [{"communicator": "", "ranks": 2, "number": 104}], report
PYTHON

# ---- MPI-IO: none of its internal calls is counted as the program's ----

for io in '' romio321; do
    export OMPI_MCA_io=$io
    [ -n "$io" ] || unset OMPI_MCA_io
    counted "$host" 3 ./around file
    [ "$(grep -o '"function": "[^"]*"' calls.json)" = '"function": "MPI_Barrier"' ] || fail "calls of MPI-IO ($io)"
done

# ---- Messages that need room in the program's buffer, after a barrier that Tutti does. The queue
# of UCX is short, so that the receiver has to keep some acknowledgements ----

before=(env UCX_POSIX_FIFO_SIZE=16 UCX_SYSV_FIFO_SIZE=16 tutti mpi)
launch "$host" 4 ./around buffered

# ---- Wrong arguments give the host MPI's errors ----

launch "$host" 2 ./around errors
mv out without
grep -q '^handler: class' without || fail 'the program has no errors'
for option in '' --count; do
    # shellcheck disable=SC2206
    before=(tutti mpi $option)
    launch "$host" 2 ./around errors
    cmp without out || fail "errors differ ($option)"
done

# An error that Tutti reports: the ranks pass different counts.
before=(tutti mpi)
launch "$host" 3 ./around mismatch
class=$(sed -n 's/^argument: //p' err | head -n 1)
printf 'handler: class %d\n' "$class" "$class" | cmp - out || fail 'the error handler was not called'
grep -q '^tutti: MPI: MPI_Allreduce: rank [0-2] called ' err || fail 'no word about the counts'
[ "$(grep -c '^tutti: MPI: MPI_Barrier: an earlier call on this communicator has failed: rank [0-2] called allreduce' err)" -eq 3 ] ||
    fail 'no word about the earlier call'
[ "$(grep -cE '^tutti: MPI: MPI_Barrier: (this rank counts as failed: )?rank [0-2] cannot go on: the calls of the ranks do not match' err)" -eq 3 ] ||
    fail 'no word about the call on another communicator'

# ---- A rank that is killed ----

code=0 codes=()
for before in '' 'tutti mpi' 'tutti mpi --count'; do
    code=0
    # shellcheck disable=SC2086
    $before "$(launcher "$host")" -n 3 ./around die >out 2>err </dev/null || code=$?
    codes+=("$code")
done
[ "${codes[0]}" -ne 0 ] && [ "${codes[*]}" = "${codes[0]} ${codes[0]} ${codes[0]}" ] || fail "exit codes ${codes[*]}"
