#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks what the other ranks report of a rank that has gone, where the launcher records no deaths.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export TUTTI_PMIX=$TUTTI_BUILD/tests/libhosts-mini-pmix.so
[ -e "$TUTTI_PMIX" ] || skip 'built without PMIx'
hosts 3,1,1

# job HOSTS PROGRAM...: runs the program on the hosts, and stores in `out` what all ranks print. If
# UCX stops a rank, the job is void, and is run again.
jobs=0
job() {
    local where=$1
    shift
    jobs=$((jobs + 1))
    mkdir "$work/job.$jobs"
    "$TUTTI_BUILD/tests/hosts-start" "$work/job.$jobs" 300 "$where" "$@" >err || {
        ucx_stopped "$work/job.$jobs"/out.* || fail "$*"
        job "$where" "$@"
        return
    }
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

# ---- Hosts with several addresses ----

# watched HOSTS WHOM [ACTION]: starts a job in which all other ranks watch rank WHOM, and waits
# until that rank has printed its line.
watched() {
    jobs=$((jobs + 1))
    mkdir "$work/job.$jobs"
    "$TUTTI_BUILD/tests/hosts-start" "$work/job.$jobs" 300 "$1" "$TUTTI_BUILD/tests/hosts-boot" "${3-watch}" "$2" >err &
    start=$! asleep="$work/job.$jobs/out.$2"
    until [ -s "$asleep" ] || [ ! -e "/proc/$start" ]; do pause 0.05; done
    cat "$work/job.$jobs"/out.* >out
    pid=$(sed -nE 's/^rank [0-9]: pid ([0-9]+) sleeps$/\1/p' "$asleep")
    [ -n "$pid" ] || fail "rank $2 does not sleep"
}
lives() {
    [ "$(lines '^rank [0-9]: after ')" -eq 0 ] || fail 'a rank that lives was reported'
}
# has_broken N: waits until N ranks have broken their connections to the rank that they watch.
has_broken() {
    local n
    until count_lines '^rank [0-9]: broke ' "$work/job.$jobs"/out.* && [ "$n" -ge "$1" ]; do
        [ -e "/proc/$start" ] || fail 'the job has ended'
        cat "$work/job.$jobs"/out.* >out
        lives
        pause 0.05
    done
}
# reported N: waits until N ranks have reported, and then ends the job.
reported() {
    local n
    until count_lines '^rank [0-9]: after ' "$work/job.$jobs"/out.* && [ "$n" -ge "$1" ]; do
        [ -e "/proc/$start" ] || fail 'the job has ended'
        pause 0.05
    done
    kill -9 "$pid" 2>/dev/null || true
    wait "$start" || fail 'the job'
    cat "$work/job.$jobs"/out.* >out
}
killed() {
    watched "$1" "$2"
    lives
    kill -9 "$pid"
    reported "$3"
}

# Each host has an address in a network that does not connect the hosts. So one address refuses the
# connection, and the other one never answers. The ranks have been connected to the process before
# it ends, or connect to it for the first time afterwards, or a link of UCX breaks first.
export TUTTI_PEER_TIMEOUT=60
for i in 1 2; do
    in_host h$i ip link add apart type veth peer name apart-end
    in_host h$i ip link set apart-end up
    in_host h$i ip address add 10.88.0.$i/24 dev apart
    in_host h$i ip -6 address add fd00:88::$i/64 dev apart nodad 2>/dev/null || true
    in_host h$i ip link set apart up
done
killed h1:3,h2:1 3 3
all 3 '^rank [0-2]: after [0-9]+ ms: rank 3 on h2 is gone: its process ended$'
job h1:3,h2:1 env TUTTI_BOOT_TIMEOUT=120 "$TUTTI_BUILD/tests/hosts-clients" missing 3 kill
all 3 '^rank [0-2]: init 8: rank 3 on h2 is gone: its process ended$'
for when in early late; do
    job h1:3,h2:1 "$TUTTI_BUILD/tests/hosts-fall" barrier 3 kill $when first
    all 3 '^rank [0-2]: reported after [0-9]+ ms: .*rank 3 on h2 is gone: its process ended'
done

# A third host has an address of h2, too, and h1 is in the network of the third host. There the
# connection is refused, but the process lives. The other address of h2 lies in no network of h1.
for i in 1 2; do in_host h$i ip link del apart; done
ip link add other netns "$(cat h1.pid)" type veth peer name other netns "$(cat h3.pid)"
in_host h1 ip address add 10.99.0.1/24 dev other
in_host h3 ip address add 10.99.0.2/24 dev other
for i in 1 3; do in_host h$i ip link set other up; done
in_host h2 ip link add apart type veth peer name apart-end
in_host h2 ip link set apart-end up
in_host h2 ip address add 10.99.0.2/32 dev apart
in_host h2 ip link set apart up
in_host h2 ip address del 10.77.0.2/24 dev eth0
in_host h2 ip address add 10.66.0.2/24 dev eth0
in_host h2 ip route add 10.77.0.0/24 dev eth0
in_host h1 ip route add 10.66.0.0/24 dev eth0
killed h1:3,h2:1 3 3
all 3 '^rank [0-2]: after [0-9]+ ms: rank 3 on h2 is gone: its process ended$'

# The watched connections break, and the ranks connect again, because the host may still answer. If
# the host is then cut off, the refusal of the third host does not pass for the end of the process.
watched h1:3,h2:1 3 again
has_broken 3
kill -9 "$pid"
reported 3
all 3 '^rank [0-2]: after [0-9]+ ms: rank 3 on h2 is gone: its process ended$'
export TUTTI_PEER_TIMEOUT=10
watched h1:3,h2:1 3 again
has_broken 3
cut h2
reported 3
all 3 '^rank [0-2]: after [0-9]+ ms: rank 3 on h2 cannot be reached: no answer for 10 s$'
ip link set to-h2 up

# ---- Hosts without a network address ----

# The loopback addresses of another host lead nowhere. Those of another node in the same network
# namespace lead to its processes (h9 is a second name of h2).
in_host h2 ip link del apart
in_host h2 ip link set eth0 down
watched h1:3,h2:1 3
reported 3
all 3 '^rank [0-2]: after [0-9]+ ms: rank 3 on h2 cannot be reached: its host has no network address$'
export TUTTI_PEER_TIMEOUT=2
watched h1:3,h2:1 0
reported 1
all 1 '^rank 3: after [0-9]+ ms: rank 0 on h1 cannot be reached: h2 has no network address$'
export TUTTI_PEER_TIMEOUT=60
cp h2.pid h9.pid
killed h2:1,h9:1 1 1
all 1 '^rank 0: after [0-9]+ ms: rank 1 on h9 is gone: its process ended$'
echo 'a rank that has gone is reported with its cause'
