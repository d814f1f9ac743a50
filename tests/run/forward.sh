#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Alltoallv through members only, on a torus with a hole.
set -eu
export TUTTI_NETWORK='torus:3x3-hole(1,1)' TUTTI_ALGORITHM=alltoallv=forward
for wrong in nonblocking mismatch; do
    tutti run --timeout 60 -n 8 "$TUTTI_BUILD/tests/test-run-forward" $wrong
done
