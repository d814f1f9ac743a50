#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The conformance program, storms and floods with TUTTI_WIRE=1: processes of one machine that send
# each other everything over the network library, as between machines, by whatever it picks and by
# TCP.
set -eu
conform=$TUTTI_BUILD/tests/test-msg-conform-threads
storm=$TUTTI_BUILD/tests/test-msg-storm-threads
export TUTTI_WIRE=1
tutti run --timeout 600 -n 4 "$conform"
UCX_TLS=tcp,self tutti run --timeout 600 -n 3 "$conform"
TUTTI_REMOTE_KEYS=1 UCX_TLS=tcp,self tutti run --timeout 600 -n 3 "$conform"
TUTTI_REMOTE_KEYS=1 tutti run --timeout 600 -n 2 "$storm"
TUTTI_REMOTE_KEYS=0 tutti run --timeout 600 -n 2 "$storm"
UCX_TLS=tcp,self tutti run --timeout 600 -n 3 "$storm"
tutti run --timeout 600 -n 2 "$TUTTI_BUILD/tests/msg-pressure"
UCX_TLS=tcp,self tutti run --timeout 600 -n 2 "$TUTTI_BUILD/tests/msg-pressure"
tutti run --timeout 600 -n 3 "$TUTTI_BUILD/tests/msg-alone"
UCX_TLS=tcp,self tutti run --timeout 600 -n 3 "$TUTTI_BUILD/tests/msg-alone"
