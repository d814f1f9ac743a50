#!/usr/bin/env bash
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

# A rank that measures again tries both kinds of stores in its window: after 16 MiB, three pieces of
# 8 KiB by each, in copies and in reductions, whichever it uses.
tutti run --timeout 60 -n 3 "$stream" 1000000 24576 24
