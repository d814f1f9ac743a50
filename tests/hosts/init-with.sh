#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job on two hosts that this script starts itself: the allgather of its ranks is files in a folder
# that both hosts see (tests/api/init-with.c). The script also tries an allgather that fails at one
# rank.
# shellcheck disable=SC2034
launcher=none
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export TUTTI_BOOT_TIMEOUT=20
hosts 2,1
place=(h1 h1 h2)
setting=(NONE=1 NONE=1 NONE=1) # one setting for each rank

# job [WHAT...]: runs three ranks; rank 2 gets the arguments.
job() {
    local pids=() r more
    rm -rf files
    mkdir files
    for r in 0 1 2; do
        more=()
        if [ $r = 2 ]; then more=("$@"); fi
        in_host "${place[r]}" env "${setting[r]}" "$TUTTI_BUILD/tests/test-api-init-with" "$work/files" $r 3 \
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

# Only one rank of the job warns of a misspelled setting, whichever host it is on.
setting=(NONE=1 TUTTI_EAGRE=1 TUTTI_EAGRE=1)
job
[ "$(lines 'is not a setting')" -eq 1 ] || fail 'not one warning from two hosts'
grep -qE 'TUTTI_EAGRE is not a setting .* \(on 2 of 3 ranks, from rank 1 on\)$' out.1 || fail 'the wrong rank warns, or the warning does not name it'
setting=(NONE=1 NONE=1 TUTTI_RADIX=x)
job
[ "$(lines 'is not a whole number')" -eq 1 ] || fail 'not one warning from the second host'
grep -qE 'TUTTI_RADIX=x is not .* \(only on rank 2\)$' out.2 || fail 'the wrong rank warns, or the warning does not name it'
setting=(NONE=1 NONE=1 NONE=1)

job fail 1
[ "${code[*]}" = '3 3 3' ] || fail "exit codes ${code[*]} with an allgather that fails"
[ "$(lines 'returned .* to rank .* in its call')" -eq 3 ] || fail 'not all ranks say why'
