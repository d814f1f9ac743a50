#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# in-hosts.sh NODES RATE COMMAND...: makes hosts with so many slots each (tests/hosts/lib.sh), lets
# so much through each cable in either direction (a rate of tc; `-`: as much as comes), and runs the
# command among them. It finds there on_hosts, and HOSTS_ENTER, which runs a command on one of them.
set -eu
# shellcheck source-path=SCRIPTDIR source=../../tests/hosts/lib.sh disable=SC1091
source "$(dirname "$0")/../../tests/hosts/lib.sh"

# The bucket holds more than one packet as the sender's kernel hands it over (64 KiB).
shape() {
    local shaping=(root tbf rate "$2" burst 256k latency 50ms)
    tc qdisc add dev "to-$1" "${shaping[@]}" || fail "no link of the rate $2 (tc, CONFIG_NET_SCH_TBF)"
    in_host "$1" tc qdisc add dev eth0 "${shaping[@]}"
}

hosts "$1"
if [ "$2" != - ]; then
    # shellcheck disable=SC2154 # host_count: of the library
    for ((i = 1; i <= host_count; i++)); do shape "h$i" "$2"; done
fi
shift 2
# shellcheck disable=SC2154 # work: likewise
export work HOSTS_ENTER=$work/enter
export -f on_hosts
"$@"
