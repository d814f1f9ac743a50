#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Alltoallv through members only, on a torus with a hole.
set -eu
export TUTTI_NETWORK='torus:3x3-hole(1,1)' TUTTI_ALGORITHM=alltoallv=forward
forward() { tutti run --timeout 60 -n 8 "$TUTTI_BUILD/tests/test-run-forward" "$@"; }
forward nonblocking
forward mismatch

# Every allocation of the first call fails once: what the exchange of counts needs, and the plan.
failures=0
while enough=$(forward memory $failures) && [ -z "$enough" ]; do failures=$((failures + 1)); done
[ "$enough" = 'enough memory' ] && [ "$failures" -ge 5 ]
