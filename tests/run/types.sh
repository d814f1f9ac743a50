#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Derived types on processes: with direct access to each other's memory, without, and with a small
# window.
set -eu
types=$TUTTI_BUILD/tests/test-run-types-threads
tutti run --timeout 250 -n 3 "$types"
[ -z "$TUTTI_TEST_BRIEF" ] || exit 0
TUTTI_CMA=0 tutti run --timeout 250 -n 4 "$types"
TUTTI_WINDOW=1K tutti run --timeout 250 -n 2 "$types"
