#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs in-place.c on processes, on one node and on several.
set -eu
go() { tutti run --timeout 3000 "$@" "$TUTTI_BUILD/tests/test-api-in-place"; }
go -n 3
TUTTI_CMA=0 go -n 2
TUTTI_NODES=2,2,1 go -n 5
