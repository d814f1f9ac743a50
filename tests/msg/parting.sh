#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Many contexts that were just connected part, several times: what went wrong did so in half of
# them.
set -eu
export TUTTI_WIRE=1 UCX_TLS=tcp,self
for _ in 1 2 3 4; do
    tutti run --timeout 600 -n 2 "$TUTTI_BUILD/tests/msg-parting"
done
