#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Agreement and shrink with ranks that are threads on several simulated nodes.
set -eu
recover=$TUTTI_BUILD/tests/test-recover-shrink
on() { TUTTI_NODES=$2 "$recover" 60 "$1"; }
on 2 1,1
on 3 1,2
on 3 1,1,1
on 4 2,2
on 4 2,1,1
on 7 3,4
