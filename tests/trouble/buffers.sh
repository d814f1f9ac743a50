#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# After a call has failed, the library does not touch the buffers of the call any more, although a
# member of another node still wants data from them, or still has data for them.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
buffers=$TUTTI_BUILD/tests/trouble-buffers
export TUTTI_CMA=0

# bcast HOW ALGORITHM FILE...: runs the program, which waits for ever if a call does not end.
bcast() {
    TUTTI_NODES=1,1 TUTTI_ALGORITHM=bcast=$2 expect 0 tutti run -n 2 --timeout 600 \
        "$buffers" "$1" "${@:3}"
}
cat >get.plan <<'PLAN'
tutti plan 1
problem bcast/u8/16M/p2@nodes:1,1

plan bcast algorithm get rank 0 of 2 type u8
opens OUT
lane 0
  signal 1 1
  await 1 1

plan bcast algorithm get rank 1 of 2 type u8
lane 0
  await 0 1
  get %0 OUT[0] <- OUT@0[0] len 16M
  wait %0
  signal 0 1
PLAN
for algorithm in binomial @get.plan; do
    bcast unmapped $algorithm "unmapped-1-$algorithm"
    bcast unmapped $algorithm "unmapped-2-$algorithm" "begun-2-$algorithm"
    bcast received $algorithm "unmapped-3-$algorithm" "begun-3-$algorithm"
done
# Over a network, where its library is installed. There the call of rank 0 returns only when the
# network has read what it has got, which may need rank 1, so rank 1 asks for the data afterwards.
if TUTTI_NODES=1,1 TUTTI_WIRE=1 tutti run -n 2 "$trouble" survive 1 >out 2>err; then
    export TUTTI_WIRE=1
    bcast unmapped binomial unmapped-4
    bcast received binomial unmapped-5 begun-5
fi
