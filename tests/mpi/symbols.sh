#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the symbols of libtutti_mpi.so. The library needs no MPI: it has no undefined symbol of one,
# so it cannot call itself, and it exports nothing but MPI's functions, each also as PMPI. It runs
# nothing when it is loaded. Nothing of it is in libtutti.so.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

nm -D --undefined-only "$library" | awk '{print $NF}' >undefined
[ -s undefined ] || fail 'nm lists no undefined symbols'
if grep -E '^(P?MPI|MPIR|ompi|opal)_' undefined; then fail 'the library needs symbols of an MPI'; fi

# The library must not call dladdr, which goes through all symbols of the object in which an address
# is: the library looks up the address of each place from which a program calls MPI.
if grep -E '^dladdr' undefined; then fail 'the library calls dladdr'; fi

nm -D --defined-only "$library" | awk '{print $NF}' | sort >defined
if grep -vE '^P?MPIX?_[A-Z]' defined; then fail 'the library exports other symbols'; fi
diff <(sed -nE 's/^MPIX?_/P&/p' defined) <(grep -E '^PMPIX?_' defined) || fail 'MPI_X and PMPI_X differ'
for name in Init Finalize Allreduce Iallreduce Allreduce_init Allreduce_c Allreduce_init_c Ineighbor_alltoallw_c Buffer_attach_c; do
    grep -qx "MPI_$name" defined || fail "MPI_$name is missing"
done
grep -qx MPIX_Allreduce_init defined || fail 'MPIX_Allreduce_init is missing'
[ "$(wc -l <defined)" -eq 328 ] || fail "$(wc -l <defined) functions"

# The compiler's own start-up code has one constructor, whose address takes 8 bytes.
constructors=$(readelf -SW "$library" | sed 's/\[ *//' | awk '$2 == ".init_array" {print $6}')
[ "$((16#$constructors))" -le 8 ] || fail 'the library has constructors'
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "the library needs $needed"

if nm -D "$TUTTI_BUILD/lib/libtutti.so" | grep -E '[ _]P?MPI_|tt_mpi'; then fail 'libtutti.so has a part of it'; fi

# Each stub must be one jump (with clang, a load and a jump), so that a call that is passed on costs
# as little as possible.
objdump -d --no-show-raw-insn "$library" >code
for name in MPI_Barrier MPI_Allreduce PMPI_Alltoallw MPI_Ineighbor_alltoallw; do
    stub=$(sed -n "/ <$name>:/{n;p;n;p;}" code | tr '\n' ' ')
    case $(uname -m):$stub in
    x86_64:*:*jmp*:* | x86_64:*:*mov*\(%rip\),%rax*:*jmp*\*%rax*) ;;
    x86_64:*) fail "$name is no jump: $stub" ;;
    esac
done
