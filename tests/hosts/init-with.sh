#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job on two hosts that this script starts itself: the allgather of its ranks is files in a folder
# that both hosts see (tests/api/init-with.c). Also with an allgather that fails at one rank.
# shellcheck disable=SC2034
launcher=none
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export TUTTI_BOOT_TIMEOUT=20
hosts 2,1
place=(h1 h1 h2)

# job [WHAT...]: runs three ranks; rank 2 gets the arguments.
job() {
    local pids=() r more
    rm -rf files
    mkdir files
    for r in 0 1 2; do
        more=()
        if [ $r = 2 ]; then more=("$@"); fi
        in_host "${place[r]}" "$TUTTI_BUILD/tests/test-api-init-with" "$work/files" $r 3 \
            "${more[@]}" >"out.$r" 2>&1 &
        pids+=($!)
    done
    code=()
    for r in 0 1 2; do
        if wait "${pids[r]}"; then code+=(0); else code+=($?); fi
    done
    cat out.* >out
}

job
[ "${code[*]}" = '0 0 0' ] || fail "exit codes ${code[*]}"
[ "$(lines '^done after ')" -eq 3 ] || fail 'not all ranks are done'

job fail 1
[ "${code[*]}" = '3 3 3' ] || fail "exit codes ${code[*]} with an allgather that fails"
[ "$(lines 'returned .* to rank .* in its call')" -eq 3 ] || fail 'not all ranks say why'
