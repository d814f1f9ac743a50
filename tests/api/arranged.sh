#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs arranged.c with threads, with processes on one node and on several simulated ones, and on
# machines that only HWLOC_SYNTHETIC describes.
set -eu
program=$TUTTI_BUILD/tests/test-api-arranged
# compared N COMMAND...: runs the command, and expects that rank 0 has compared the order of ranks
# with their nodes N times (try_nodes in arranged.c).
compared() {
    local n=$1
    shift
    [ "$("$@" | tee /dev/stderr | grep -c "compared $n times\$")" -eq 1 ] || exit 1
}
job() { tutti run -n "$1" --bind none "$program" "$2"; }

for p in 1 2 3 6 12; do compared 1 "$program" threads $p; done
for p in 1 4 6; do compared 1 job $p processes; done
TUTTI_NODES=2,2 compared 1 job 4 processes
TUTTI_NODES=1,1,1,1,1,1 compared 1 job 6 processes
TUTTI_NODES=4,2 compared 0 job 6 processes

# The synthetic machine has its processors 0 and 1 in two domains. With HWLOC_THISSYSTEM=1, hwloc
# takes the synthetic machine for this system, and so applies the binding of this process to it.
[ "$TUTTI_SANITIZE" != thread ] || exit 0
export HWLOC_THISSYSTEM=1
if taskset -c 0,1 true 2>/dev/null && [ "$(taskset -c 0,1 nproc)" -eq 2 ]; then
    HWLOC_SYNTHETIC='pack:2 [numa] l3:1 core:1 pu:1' job 7 domains
    HWLOC_SYNTHETIC='pack:2 [numa] l3:1 core:1 pu:1' job 3 lacking
fi
