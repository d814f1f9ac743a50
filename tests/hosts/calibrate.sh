#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two ranks on two hosts measure messages between the hosts, and rank 0 adds the times to its file.
# Then the times of a problem on two hosts are predicted. If rank 0 has no model, the command prints
# the reason once.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/model.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
tutti() { "$TUTTI_BUILD/bin/tutti" "$@"; }
hosts 1,1
calibrate() { on_hosts -n 2 -x TUTTI_MACHINE="$work/costs" "$TUTTI_BUILD/bin/tutti" calibrate --network >out 2>&1; }

# With recovery, mpirun may return 0 although its ranks have failed.
calibrate || true
[ ! -e costs ] || fail 'a network without a model of the machine'
[ "$(lines 'costs: No such file or directory; first measure this machine alone')" -eq 1 ] || fail 'no reason'
model '400 2000 9000 50000 200000 800000 3000000 12000000 50000000' >costs
calibrate || fail 'a calibration'
[ "$(lines "^written to $work/costs\$")" -eq 1 ] || fail 'not written once'
[ "$(grep -c '^wire_' costs)" -eq 5 ] || fail 'the network is not complete'
TUTTI_MACHINE=$work/costs tutti explain allreduce/f64/sum/64K/p2@nodes:1,1 >out
[ "$(lines '^[* ] doubling +[0-9]+\.[0-9]+ .*wire [0-9]')" -eq 1 ] || fail 'no time is predicted'
