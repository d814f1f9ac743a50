#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Many contexts that were just connected disconnect. The run is repeated because the errors that
# this test looks for occurred in half of the runs.
set -eu
export TUTTI_WIRE=1 UCX_TLS=tcp,self
for _ in 1 2 3 4; do
    tutti run --timeout 3000 -n 2 "$TUTTI_BUILD/tests/msg-parting"
done
