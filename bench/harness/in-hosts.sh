#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# in-hosts.sh NODES RATE COMMAND...: makes hosts with these numbers of slots (tests/hosts/lib.sh),
# limits each cable to RATE in either direction (a rate of tc; `-` for no limit), and runs the
# command among the hosts. The command can use the function on_hosts, and HOSTS_ENTER, which runs a
# command on one host.
set -eu
# shellcheck source-path=SCRIPTDIR source=../../tests/hosts/lib.sh disable=SC1091
source "$(dirname "$0")/../../tests/hosts/lib.sh"

# shape HOST RATE: limits the rate of a host's cable in both directions. The bucket must hold more
# than one packet of the size that the kernel passes on (64 KiB).
shape() {
    local shaping=(root tbf rate "$2" burst 256k latency 50ms)
    tc qdisc add dev "to-$1" "${shaping[@]}" || fail "no link of the rate $2 (tc, CONFIG_NET_SCH_TBF)"
    in_host "$1" tc qdisc add dev eth0 "${shaping[@]}"
}

hosts "$1"
if [ "$2" != - ]; then
    # shellcheck disable=SC2154 # host_count is set by lib.sh
    for ((i = 1; i <= host_count; i++)); do shape "h$i" "$2"; done
fi
shift 2
# shellcheck disable=SC2154 # work is set by lib.sh
export work HOSTS_ENTER=$work/enter
export -f on_hosts
"$@"
