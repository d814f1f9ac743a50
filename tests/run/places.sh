#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs places.c, whose buffers lie at any offset within their pages, with data read, written and
# copied.
set -eu
program=$TUTTI_BUILD/tests/test-run-places

tutti run -n 2 "$program"
tutti run -n 4 "$program"
TUTTI_READ_COST=1 tutti run -n 3 "$program" # ranks read the data
TUTTI_ALGORITHM=alltoall=exchange tutti run -n 3 "$program" # ranks write the data
TUTTI_CMA=0 tutti run -n 2 "$program"
