#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The cost of a client between hosts does not depend on how many clients there were before it: after
# many clients a process must have put no more data into PMIx than after a few. Every commit and
# every fence carries these data.
#
# A rank that publishes its address records again must be found by the new ones, although PMIx may
# return the older ones.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
count=$TUTTI_BUILD/tests/libhosts-put-count.so
[ -e "$count" ] || skip 'built without PMIx'
hosts 2,1

# put_by CLIENTS: runs a job that creates so many clients, and prints for each rank the number of
# keys and bytes that it has put into PMIx by the end.
put_by() {
    on_hosts -n 3 -x TUTTI_PMIX="$count" "$TUTTI_BUILD/tests/hosts-clients" "$1" >out 2>err || fail "$1 clients"
    [ "$(lines "^rank [0-2]: $1 clients, ")" -eq 3 ] || fail "not three ranks made $1 clients"
    sed -nE 's/^[0-9]+ puts, ([0-9]+ keys), ([0-9]+) bytes$/\1 \2/p' out | sort
}

few=$(put_by 20)
[ "$(wc -l <<<"$few")" -eq 3 ] || fail 'the puts of not three ranks were counted'
many=$(put_by 150)
# The lengths of addresses may differ by some bytes from client to client, but not the number of
# keys.
[ "$(awk '{ print $1 }' <<<"$few")" = "$(awk '{ print $1 }' <<<"$many")" ] || fail "keys: $few after 20 clients, $many after 150"
paste <(awk '{ print $3 }' <<<"$few") <(awk '{ print $3 }' <<<"$many") |
    awk '$2 > 1.2 * $1 + 100 { bad = 1 } END { exit bad }' || fail "bytes: $few after 20 clients, $many after 150"
grep '^rank 0: ' out

pairs=10
on_hosts -n 3 -x TUTTI_LOG=boot "$TUTTI_BUILD/tests/hosts-clients" pairs $pairs >out 2>err || fail "$pairs pairs of clients"
[ "$(lines "^rank [0-2]: $pairs pairs of clients$")" -eq 3 ] || fail "not three ranks made $pairs pairs of clients"
echo "$(grep -c 'asks anew' err || true) times a rank got an older address record, and asked anew"
