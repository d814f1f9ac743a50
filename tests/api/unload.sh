#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs unload.c: libtutti.so stays in memory although the program unloads it, alone and in a job.
set -eu
program=$TUTTI_BUILD/tests/test-api-unload
"$program" "$TUTTI_BUILD/lib/libtutti.so"
tutti run --timeout 3000 -n 3 "$program" "$TUTTI_BUILD/lib/libtutti.so"
