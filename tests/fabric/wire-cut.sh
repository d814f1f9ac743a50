#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two network namespaces joined by a virtual cable. The cable is cut while nothing goes over it, and
# while much does: both ends must notice, which would take UCX itself a quarter of an hour. A peer
# that only does not advance must not be given up.
set -euo pipefail

here=tutti-here-$$
there=tutti-there-$$
skip() {
    echo "wire-cut: skipped: $1" >&2
    exit 77
}

command -v ip >/dev/null || skip 'there is no ip command (iproute2)'
# The script continues in namespaces of its own, so that the mounts by which ip names networks
# vanish with it, however it ends. In a chroot, whose root is not a mount, private mounts are
# impossible.
if [ -z "${TUTTI_CUT_INSIDE-}" ]; then
    spaces=(unshare --net --mount --pid --fork --kill-child --mount-proc)
    "${spaces[@]}" true 2>/dev/null || skip 'namespaces are not allowed here'
    TUTTI_CUT_INSIDE=1 exec "${spaces[@]}" bash "$0" "$@"
fi
if ! mkdir -p /run/netns || ! mount -t tmpfs tmpfs /run/netns; then skip 'nothing can be mounted here'; fi
ip netns add "$here" 2>/dev/null || skip 'network namespaces are not allowed here'
ip netns add "$there"
ip link add cable netns "$here" type veth peer name cable netns "$there" ||
    skip 'pairs of virtual interfaces are not allowed here'
for end in "$here 10.77.0.1" "$there 10.77.0.2"; do
    read -r name address <<<"$end"
    ip -n "$name" addr add "$address/24" dev cable
    ip -n "$name" link set lo up
    ip -n "$name" link set cable up
done
# The kernel takes a moment to notice that the cable is connected, and UCX uses no interface before.
carriers() { ip -n "$here" link show cable && ip -n "$there" link show cable; }
for _ in $(seq 100); do
    [ "$(carriers | grep -c 'state UP')" -eq 2 ] && break
    sleep 0.1
done

export UCX_TLS=tcp,self TUTTI_PEER_TIMEOUT=3
timeout 3000 "$TUTTI_BUILD/tests/fabric-wire-lost" cut "$here" "$there"
