#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Storms (storm.c) between processes: with and without direct access to each other's memory, with
# split copies, with the smallest packet rings, and with one rank that is slow. A brief run takes
# two of these runs.
set -eu
storm=$TUTTI_BUILD/tests/test-msg-storm-threads
TUTTI_SPLIT_COPY=1 TUTTI_READ_COST=1 tutti run --timeout 3000 -n 3 "$storm"
TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$storm"
[ -z "$TUTTI_TEST_BRIEF" ] || exit 0
tutti run --timeout 3000 -n 3 "$storm"
TUTTI_READ_COST=1 tutti run --timeout 3000 -n 3 "$storm"
TUTTI_RING=4K tutti run --timeout 3000 -n 3 "$storm"
TUTTI_FAULT=delay=20,rank=1 tutti run --timeout 3000 -n 2 "$storm"
