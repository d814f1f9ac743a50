#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# After any error, on one rank or on all, all ranks end with exit status 2 and print exactly one
# message, which names the cause.
# shellcheck source=tests/examples/samplesort-util.sh
source "$(dirname "$0")/samplesort-util.sh"

# refused MESSAGE N ARG...: samplesort on N ranks with these arguments must end with this message.
refused() {
    local status=0
    tutti run -n "$2" -- samplesort "${@:3}" >out 2>said </dev/null || status=$?
    held "$1" $status "${*:2}"
}

held() {
    [ "$2" -eq 2 ] || die "exit status $2, not 2, for $3: $(cat said)"
    [ "$(grep -c '^samplesort:' said)" -eq 1 ] || die "not one message for $3: $(cat said)"
    grep '^samplesort:' said | grep -qF -- "$1" || die "expected '$1' for $3: $(cat said)"
}

printf 'b\na\n' >small
seq 200000 >numbers
mkdir folder
mkfifo pipe

for n in 1 4; do
    refused 'cannot open missing: No such file or directory' $n small missing
    refused 'folder is a directory' $n small folder small
    refused 'pipe is not a regular file' $n pipe
    refused '/proc/self/status does not say how long it is' $n /proc/self/status
    refused 'cannot open folder/none/out: No such file or directory' $n -o folder/none/out small
    refused 'cannot open folder: Is a directory' $n -o folder small
    refused 'cannot write /dev/full: No space left on device' $n -o /dev/full numbers
done
[ "$(cat small)" = "$(printf 'b\na')" ] || die 'an input was changed'

# A file that the user may not read.
if [ "$(id -u)" -ne 0 ]; then
    : >secret && chmod 0 secret
    refused 'cannot open secret: Permission denied' 3 small secret
fi

status=0
tutti run -n 3 -- samplesort numbers >/dev/full 2>said || status=$?
held 'cannot write standard output: No space left on device' $status 'a full device'

# The reader of the output ends after ten bytes, when each rank still has much to write.
{
    status=0
    tutti run -n 3 -- samplesort numbers 2>said || status=$?
    echo $status >status
} | head -c 10 >/dev/null
held 'cannot write standard output: Broken pipe' "$(cat status)" 'a closed pipe'

# More data than memory or address space can hold. (Skipped where no file can be so long.)
if truncate -s 8T sparse 2>/dev/null; then
    limits() { (
        ulimit -v 100000000 2>/dev/null || true
        exec "$@"
    ); }
    if [ -n "$TUTTI_SANITIZE" ]; then
        # A sanitizer reserves terabytes of address space itself, so here `limits` sets no limit. By
        # default a sanitizer also ends a program that requests so much memory.
        limits() { "$@"; }
        export ASAN_OPTIONS=${ASAN_OPTIONS-}:allocator_may_return_null=1
        export TSAN_OPTIONS=${TSAN_OPTIONS-}:allocator_may_return_null=1
    fi
    status=0
    limits tutti run -n 2 -- samplesort sparse >out 2>said || status=$?
    held 'out of memory: rank 0 needs ' $status 'a file of 8 TiB'
fi

refused 'unrecognized option' 3 --no-such-option small
status=0
tutti run -n 3 -- samplesort >out 2>said || status=$?
[ $status -eq 2 ] || die "exit status $status without files"
[ "$(grep -c Usage: said)" -eq 1 ] || die "the usage, not once: $(cat said)"
for wrong in --size=0 --size=5x '--size=5 file'; do
    # shellcheck disable=SC2086
    if tutti run -n 3 -- samplesort $wrong >out 2>said; then die "takes $wrong"; fi
    [ "$(grep -c '^samplesort: ' said)" -eq 1 ] || die "$wrong, not one complaint: $(cat said)"
done
tutti run -n 3 -- samplesort --help >out
[ "$(grep -c Usage: out)" -eq 1 ] || die "the help, not once: $(cat out)"
grep -q -- '--output=FILE' out || die 'the help does not name --output'
tutti run -n 2 -- samplesort --version | grep -q '^samplesort [0-9]' || die 'no version'
