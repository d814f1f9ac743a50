#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tools that visit all memory of a rank must find what the job has used, and no more: a core dump,
# mlockall, a debugger, a memory checker. The ranks run in a cgroup with a limit, so that an error
# here cannot fill the machine's memory. Where no such cgroup can be created, only the mappings are
# checked.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

limit=$((768 << 20))
skipped() { echo "skipped: $*" >&2; }

# The number of mappings can be checked without a limit on memory.
expect 0 tutti run -n 2 --timeout 3000 "$trouble" mapped
[ "$(lines out 'mappings 1, of the guard 1, dumped 0; not more than there is$')" -eq 2 ] ||
    fail 'mappings'

# ---- A cgroup below the cgroup of this script, of version 1 or 2 ----

own_group() { sed -nE "s|^[0-9]+:$1:||p" /proc/self/cgroup; }
make_group() {
    local mount=$1 above=$1$2
    [ -d "$above" ] || above=$mount
    group=$(mktemp -d "$above/tutti-test-XXXXXX" 2>/dev/null) || return 1
}
group=
remove_group() {
    [ -z "$group" ] || wait_for rmdir "$group"
    group=
}
trap 'remove_group; clean_up' EXIT
# set_to FILE VALUE: sets a value of the cgroup. The script checks further below whether that
# worked.
set_to() { { echo "$2" >"$group/$1"; } 2>/dev/null || true; }
if [ -f /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    killed_by=memory.oom_control
    if make_group /sys/fs/cgroup/memory "$(own_group memory)"; then
        set_to memory.limit_in_bytes $limit
        set_to memory.memsw.limit_in_bytes $limit
    fi
elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    killed_by=memory.events
    if make_group /sys/fs/cgroup ''; then
        set_to memory.max $limit
        set_to memory.swap.max 0
    fi
fi
bytes_of() { cat "$group/memory.limit_in_bytes" "$group/memory.max" 2>/dev/null || true; }
if [ -z "$group" ] || [ "$(bytes_of)" != $limit ]; then
    skipped 'no cgroup with a limit on memory can be made here'
    exit 0
fi
limited() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }
nobody_killed() {
    ! grep -qE '^oom_kill [1-9]' "$group/$killed_by" || fail "$1: memory was used up"
}
job() { limited tutti run -n 2 --timeout 3000 "$trouble" "$@"; }
code() {
    local got=0
    "$@" >"$work/out" 2>"$work/err" || got=$?
    echo $got
}

# With locked memory, the job must hold no more memory than it has used.
for how in 'none current' 'none future' 'none onfault' 'current none' 'future none' \
    'future current' 'onfault none'; do
    # shellcheck disable=SC2086
    case $(code job locked $how) in
    0) [ "$(lines out 'no more than that$')" -eq 2 ] || fail "locked $how" ;;
    77 | 9) skipped "locked $how: $(head -n 1 out)" ;; # this user may not lock so much memory
    *) fail "locked $how" ;;
    esac
    nobody_killed "locked $how"
    [ -z "$TUTTI_SANITIZE" ] || continue # the sanitizer's own memory would be locked too
    # shellcheck disable=SC2086
    case $(code limited "$trouble" locked-threads $how) in
    0) says out '^threads: no more than that$' ;;
    77 | 8) skipped "locked threads $how: $(head -n 1 out)" ;;
    *) fail "locked threads $how" ;;
    esac
    nobody_killed "locked threads $how"
done

if [ -n "$TUTTI_SANITIZE" ]; then # the tools below would also visit the sanitizer's own memory
    exit 0
fi

# A rank crashes: the job must end with the exit code of the signal, and the core file must be
# small.
mkdir core
cd core
expect 139 job crash
says err 'rank 1 .*killed by signal 11'
nobody_killed 'a core dump'
says out '^rank 0: .*rank 1 died: signal 11'
case $(cat /proc/sys/kernel/core_pattern) in
*'|'* | */*) skipped 'core dumps go elsewhere' ;;
*)
    kib=$(du -ck --apparent-size -- * | tail -n 1 | cut -f 1)
    [ -n "$(ls -A)" ] || fail 'no core dump'
    [ "$kib" -lt 65536 ] || fail "the core dump is of $kib KiB"
    ;;
esac
cd "$work"
rm -rf core

# A preloaded library that changes mmap so that every mapping is populated at once.
cat >populate.c <<'END'
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    return (void *)syscall(SYS_mmap, at, n, prot, flags | MAP_POPULATE, fd, from);
}
void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    return mmap(at, n, prot, flags, fd, from);
}
END
"$CC" -shared -fPIC -D_GNU_SOURCE -o populate.so populate.c
LD_PRELOAD=$work/populate.so expect 0 job locked none none
[ "$(lines out 'no more than that$')" -eq 2 ] || fail 'filled at once'
LD_PRELOAD=$work/populate.so expect 0 limited "$trouble" locked-threads none none
says out '^threads: no more than that$'
nobody_killed 'mappings that are filled at once'

# A debugger (gcore) writes a core file of a live rank.
if command -v gcore >/dev/null; then
    job looked-at "$work/pid" >out 2>err &
    looked=$!
    wait_for test -s "$work/pid"
    [ "$(code limited gcore -o "$work/dump" "$(cat pid)")" -eq 0 ] ||
        skipped "gcore: $(tail -n 1 err)"
    rm pid
    wait $looked || fail 'looked-at'
    nobody_killed gcore
    for dump in dump.*; do
        kib=$(du -k --apparent-size "$dump" 2>/dev/null | cut -f 1)
        [ "${kib:-0}" -lt 65536 ] || fail "gcore wrote $kib KiB"
    done
    rm -f dump.*
else
    skipped 'no gcore (gdb)'
fi

# All ranks run under a memory checker (valgrind).
if command -v valgrind >/dev/null && [ -z "$TUTTI_TEST_BRIEF" ]; then
    expect 0 limited tutti run -n 2 --timeout 3000 valgrind -q --error-exitcode=6 "$trouble" \
        visit barrier/p2 bcast/u8/64K/p2
    nobody_killed valgrind
    expect 0 limited tutti run -n 2 --timeout 3000 valgrind -q --tool=helgrind "$trouble" \
        visit barrier/p2
    nobody_killed helgrind
else
    skipped 'no valgrind'
fi
nothing_left "$TUTTI_TEST"
