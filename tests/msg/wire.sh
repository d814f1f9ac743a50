#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the programs conform, storm, pressure and alone with TUTTI_WIRE=1: processes of one machine
# send everything through UCX, as between machines, with the transports that UCX chooses and with
# TCP. A brief run takes four of these runs.
set -eu
conform=$TUTTI_BUILD/tests/test-msg-conform-threads
storm=$TUTTI_BUILD/tests/test-msg-storm-threads
export TUTTI_WIRE=1
TUTTI_REMOTE_KEYS=1 UCX_TLS=tcp,self tutti run --timeout 3000 -n 3 "$conform"
UCX_TLS=tcp,self tutti run --timeout 3000 -n 3 "$storm"
tutti run --timeout 3000 -n 2 "$TUTTI_BUILD/tests/msg-pressure"
TUTTI_REMOTE_KEYS=1 UCX_TLS=tcp,self tutti run --timeout 3000 -n 3 "$TUTTI_BUILD/tests/msg-alone"
[ -z "$TUTTI_TEST_BRIEF" ] || exit 0
tutti run --timeout 3000 -n 4 "$conform"
UCX_TLS=tcp,self tutti run --timeout 3000 -n 3 "$conform"
TUTTI_REMOTE_KEYS=1 tutti run --timeout 3000 -n 2 "$storm"
TUTTI_REMOTE_KEYS=0 tutti run --timeout 3000 -n 2 "$storm"
UCX_TLS=tcp,self tutti run --timeout 3000 -n 2 "$TUTTI_BUILD/tests/msg-pressure"
tutti run --timeout 3000 -n 3 "$TUTTI_BUILD/tests/msg-alone"
UCX_TLS=tcp,self tutti run --timeout 3000 -n 3 "$TUTTI_BUILD/tests/msg-alone"
TUTTI_REMOTE_KEYS=1 tutti run --timeout 3000 -n 2 "$TUTTI_BUILD/tests/msg-alone"
