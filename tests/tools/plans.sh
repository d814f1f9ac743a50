# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The plan files of the tests of plan files.

# write_plans [PROBLEM]: writes flat.plan, an allreduce of any number of ranks and bytes;
# never.plan, in which ranks wait for a signal that never comes; and typing.plan, which does not
# parse. The files name the problem if one is given.
write_plans() {
    {
        echo 'tutti plan 1'
        [ -z "${1-}" ] || echo "problem $1"
        cat <<'PLAN'
plan allreduce algorithm mine rank r of p type f64 op sum
lane 0
  copy WIN[0] <- IN[0] len bytes
  signal all 1
  for k in 1..(p-1) {
    await (r+k)%p 1
  }
  reduce OUT[0] <- WIN@0..(p-1)[0] len bytes
PLAN
    } >flat.plan
    sed 's/(r+k)%p 1/(r+k)%p 2/' flat.plan >never.plan
    sed 's/len bytes/len byte/' flat.plan >typing.plan
}
