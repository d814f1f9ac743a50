#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks what the other ranks report of a rank that has gone, where the launcher records no deaths.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export TUTTI_PMIX=$TUTTI_BUILD/tests/libhosts-mini-pmix.so
[ -e "$TUTTI_PMIX" ] || skip 'built without PMIx'
hosts 3,1

# job HOSTS PROGRAM...: runs the program on the hosts, and stores in `out` what all ranks print.
jobs=0
job() {
    local where=$1
    shift
    jobs=$((jobs + 1))
    mkdir "$work/job.$jobs"
    "$TUTTI_BUILD/tests/hosts-start" "$work/job.$jobs" 300 "$where" "$@" >err || fail "$*"
    cat "$work/job.$jobs"/out.* >out
}
# all N PATTERN: expects that N lines of `out` match.
all() {
    [ "$(lines "$2")" -eq "$1" ] || fail "not $1 lines are like $2"
}

# Rank 2 never joins. Rank 1, the first rank of the same host, names it, and rank 0 says where to
# look. (They do not know their own numbers yet.)
# shellcheck disable=SC2016
job h2:1,h1:2 sh -c 'if [ "$PMIX_RANK" != 2 ]; then TUTTI_BOOT_TIMEOUT=3 "$1" join || true; fi' sh "$TUTTI_BUILD/tests/hosts-boot"
within='within 3 s \(TUTTI_BOOT_TIMEOUT\)'
all 1 "^rank [01]: attach: only 1 of the 2 ranks of this node came $within: rank 2 has not called tutti_init\$"
all 1 "^rank 0: meet: not all ranks of the job came $within; on the host of a missing rank, the first rank names it, or is missing itself\$"

# A rank dies after it has asked a rank of another host for something. That rank knows of the death
# when it handles the request, or when it makes the context whose address was asked for.
for request in get address; do
    : >steps
    job h2:1,h1:2 "$TUTTI_BUILD/tests/msg-deaths" $request "$work/steps"
    all 2 '^rank [12]: done$'
done

# A rank reads or writes the memory of a process that has ended, before it watches that process.
job h1:3 "$TUTTI_BUILD/tests/hosts-boot" reach 0
all 2 '^rank [12]: PEER: rank 0 on h1 is gone: its process ended$'

# Rank 0 (of three ranks on its host) or rank 3 (alone on its host) ends, while the other ranks wait
# for it in tutti_init for a further client. All must get an error from tutti_init soon, and not
# only when their time is over. A call on the first client then says whether the rank left that
# client before it ended. MINI_PMIX_WITHOUT=1: the fence is answered without the dead rank, as a
# real server does it; otherwise it is not answered. The dead rank is the leader of its node.
for way in 0 3 0,MINI_PMIX_WITHOUT=1 3,MINI_PMIX_WITHOUT=1; do
    victim=${way%%,*} server=()
    [ "$way" = "$victim" ] || server=("${way#*,}")
    on=h$((1 + victim / 3))
    for manner in kill exit finalize; do
        job h1:3,h2:1 env "${server[@]}" TUTTI_BOOT_TIMEOUT=120 TUTTI_PEER_TIMEOUT=60 "$TUTTI_BUILD/tests/hosts-clients" missing "$victim" $manner
        all 3 "^rank [0-3]: init 8: rank $victim on $on is gone: its process ended\$"
        if [ $manner = finalize ]; then
            all 3 "^rank [0-3]: barrier 8: rank $victim left the job while it was still needed\$"
        else
            all 3 "^rank [0-3]: barrier 8: rank $victim on $on is gone: its process ended\$"
        fi
    done
done
echo 'a rank that has gone is reported with its cause'
