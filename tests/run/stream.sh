#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Where plain stores are slow, stores that bypass the caches fill the windows from 2 KiB on, both
# with copies and with reductions.
set -eu
stream=$TUTTI_BUILD/tests/test-run-stream
export TUTTI_ALGORITHM=scan=window
TUTTI_FILL=1 tutti run --timeout 60 -n 3 "$stream" 2040 0
TUTTI_FILL=1 tutti run --timeout 60 -n 3 "$stream" 2048 2048
TUTTI_FILL=1 tutti run --timeout 60 -n 3 "$stream" 24000 24000
TUTTI_FILL=0 tutti run --timeout 60 -n 3 "$stream" 24000 0

# With TUTTI_FILL unset a rank tries both kinds of stores again after each 16 MiB that it has stored
# in its window: three pieces of 8 KiB by each kind, in copies and in reductions. So some stores
# bypass the caches, whichever kind the rank uses.
tutti run --timeout 60 -n 3 "$stream" 1000000 24576 24
