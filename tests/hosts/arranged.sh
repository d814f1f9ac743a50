#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Duplicates, grids, graphs and memory domains on several hosts (tests/api/arranged.c), wrong
# arguments included.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 2,2,1
arranged() {
    on_hosts -n "$1" "$TUTTI_BUILD/tests/test-api-arranged" processes >out 2>err || fail "$1 ranks"
    [ "$(lines "^$1 ranks: grid of nodes compared $2 times\$")" -eq 1 ] || fail "$1 ranks"
}
arranged 4 1 # two hosts with two ranks each
arranged 5 0
