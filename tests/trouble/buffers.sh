#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# After a call has failed, the library does not touch the buffers of the call any more, although a
# member of another node still wants data from them.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
buffers=$TUTTI_BUILD/tests/trouble-buffers
export TUTTI_CMA=0

# unmapped ALGORITHM FILE...: rank 0 unmaps the buffer of its bcast.
unmapped() {
    TUTTI_NODES=1,1 TUTTI_ALGORITHM=bcast=$1 expect 0 tutti run -n 2 --timeout 3000 \
        "$buffers" unmapped "${@:2}"
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
    unmapped $algorithm "unmapped-1-$algorithm"
    unmapped $algorithm "unmapped-2-$algorithm" "begun-$algorithm"
done
# Over a network, where its library is installed. There the call of rank 0 returns only when the
# network has read what it has got, which may need rank 1, so rank 1 asks for the data afterwards.
if TUTTI_NODES=1,1 TUTTI_WIRE=1 tutti run -n 2 "$trouble" survive 1 >out 2>err; then
    TUTTI_WIRE=1 unmapped binomial unmapped-3
fi
