#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Joining a job on four hosts with 4, 2, 1 and 1 ranks: which rank is on which node, which ranks
# share memory, which address records are fetched, and how soon a killed process or a host that is
# cut off is noticed.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
boot=$TUTTI_BUILD/tests/hosts-boot
hosts 4,2,1,1

run() {
    on_hosts "$@" >out 2>err
}
says() {
    grep -qE "$2" "$1" || fail "nothing in $1 is like $2"
}

# ---- Places ----

run "$boot" places || fail 'places'
for r in 0 1 2 3; do says out "^rank $r: node 0 of 4 on h1, 4 here: 0 1 2 3\$"; done
for r in 4 5; do says out "^rank $r: node 1 of 4 on h2, 2 here: 4 5\$"; done
says out '^rank 6: node 2 of 4 on h3, 1 here: 6$'
says out '^rank 7: node 3 of 4 on h4, 1 here: 7$'

# With the ranks distributed in another order, nodes are numbered by their lowest rank.
on_hosts --map-by node "$boot" places >out 2>err || fail 'places by node'
says out '^rank 0: node 0 of 4 on h1, 4 here: 0 4 6 7$'
says out '^rank 5: node 1 of 4 on h2, 2 here: 1 5$'

# ---- Address records ----

run "$boot" records || fail 'address records'
[ "$(lines '^rank [0-7]: address record of [0-7] good$')" -eq $((4 * 4 + 2 * 6 + 7 + 7)) ] || fail 'not all address records are good'
run env TUTTI_LOG=boot "$boot" join || fail 'join'
[ "$(grep -c 'asks for the address record' err)" -eq 0 ] || fail 'address records that nobody wants are asked for'
run env TUTTI_LOG=boot "$boot" ring || fail 'ring'
[ "$(lines '^rank [0-7]: address record of [0-7] good$')" -eq 4 ] || fail 'not all address records of the ring are good'
[ "$(grep -c 'asks for the address record' err)" -eq 4 ] || fail 'a ring asks for more address records than those of its neighbours'

# ---- Errors in joining ----

# shellcheck disable=SC2016
unlike='if [ "$PMIX_RANK" = "$2" ]; then export TUTTI_RADIX=8; fi; exec "$1" join'
must='it must be the same on all ranks$'
until_lines 8 '^rank [0-7]: meet: ' 300 sh -c "$unlike" sh "$boot" 6
[ "$(lines "^rank [0-57]: meet: TUTTI_RADIX is 0 here and 8 on h3: $must")" -eq 7 ] || fail 'reported otherwise'
[ "$(lines "^rank 6: meet: TUTTI_RADIX is 8 here and 0 on h1: $must")" -eq 1 ] || fail 'rank 6 is reported otherwise'
until_lines 8 '^rank [0-7]: meet: ' 300 sh -c "$unlike" sh "$boot" 5
[ "$(lines '^rank [0-7]: meet: rank [45] has TUTTI_RADIX set otherwise than another rank$')" -eq 7 ] ||
    fail 'not reported that ranks 4 and 5 are unlike'
until_lines 8 '^rank [0-7]: init: .*TUTTI_NODES is for jobs on one machine, this job is on 4$' 300 env TUTTI_NODES=4,4 "$boot" join
# The first rank of a host first meets the ranks of its host, and finds out only then that it cannot
# go on.
# shellcheck disable=SC2016
until_lines 8 '^init: ' 300 sh -c \
    'if [ "$PMIX_RANK" = 4 ]; then export TUTTI_UCX=/nowhere; fi; exec "$1" join 2>&1' sh "$TUTTI_BUILD/tests/tools-rank"
[ "$(lines '^init: rank 4 cannot go on: not supported')" -eq 7 ] || fail 'not all learn why rank 4 cannot go on'
[ "$(lines '^init: UCX cannot be loaded [(]/nowhere')" -eq 1 ] || fail 'rank 4 does not say why it cannot go on'
# A rank exits without joining. The other ranks must not wait for ever.
# shellcheck disable=SC2016
until_lines 7 '^rank [0-6]: meet: ' 300 sh -c \
    'if [ "$PMIX_RANK" = 7 ]; then exit 0; fi; TUTTI_BOOT_TIMEOUT=5 exec "$1" join' sh "$boot"

# ---- Watching ----

# reported WHOM N PATTERN MS: expects that N ranks print a line that matches, each within MS
# milliseconds of the event that they report (on an idle machine). The rank WHOM slept for 3 s
# before the event, which the printed times include.
reported() {
    local whom=$1 n=$2 how=$3 most=$4 late
    wait_lines "$n" '^rank [0-7]: after ' $((SECONDS + 300))
    [ "$(lines "^rank $whom: after [0-9]+ ms: $how\$")" -eq "$n" ] || fail "not reported to $n ranks: $how"
    late=$(sed -nE 's/^rank .* after ([0-9]+) ms: .*/\1/p' out | awk -v most="$(limit_ms "$most")" '$1 > 3000 + most' | wc -l)
    [ "$late" -eq 0 ] || fail "reported later than after $most ms: $how"
    end_mpirun
}
watched() {
    TUTTI_PEER_TIMEOUT=$1 begin_on_hosts -x TUTTI_PEER_TIMEOUT "$boot" watch "$2"
    wait_lines 1 "^rank $2: pid [0-9]+ sleeps\$" $((SECONDS + 300))
    pid=$(sed -nE "s/^rank $2: pid ([0-9]+) sleeps\$/\1/p" out)
}

# A process is killed: its connections are reset at once, and the test allows one more second for
# data that the process may have sent. That is much less than the time after which the ranks give up
# a host that is silent.
watched 100 6
in_host h3 kill -9 "$pid"
reported '[0-57]' 7 'rank 6 on h3 is gone: its process ended' 2500

# Ranks on the same host and ranks on other hosts notice the death.
watched 100 4
in_host h2 kill -9 "$pid"
reported '[0-35-7]' 7 'rank 4 on h2 is gone: its process ended' 2500

# A rank that leaves in order is reported only because other ranks still wait for it.
until_lines 7 '^rank [0-57]: after [0-9]+ ms: rank 6 left the job while it was still needed$' 300 "$boot" left 6

# A host is cut off: the other ranks report it after the configured time, and say how long they had
# no answer. The rank on the host that is cut off reports that it lost the other ranks.
watched 4 7
cut h4
reported '[0-6]' 7 'rank 7 on h4 cannot be reached: no answer for 4 s' 5000
mend h4
in_host h4 kill -9 "$pid"

echo 'four hosts: places, address records, trouble, killed, left, cut off'
