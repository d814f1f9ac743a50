#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Another user of the machine gets no access to a job: its memory, descriptors, processes, sockets
# and traces are refused, and the job runs on undisturbed. Needs root, to act as another user.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
skip() {
    echo "SKIPPED: $*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip 'not root, who alone can try as another user'
getent passwd nobody >/dev/null || skip 'there is no user nobody'
stranger=$TUTTI_BUILD/tests/trouble-stranger

# With this umask every file is open to others unless its creator restricts it. The check shows that
# the stranger can open a file that is open to others.
umask 0
chmod 755 "$work"
echo >open
"$stranger" files "$work/open" >out && fail 'the stranger does not even open what is open'
grep -qx '2 attempts, 2 not refused' out || skip 'folders above the temporary one are closed to others'

# refused LEAST ARGUMENT...: runs stranger.c; expects that it makes at least LEAST attempts, and
# that each is refused.
refused() {
    local least=$1
    shift
    expect 0 "$stranger" "$@"
    [ "$(sed -nE 's/^([0-9]+) attempts, 0 not refused$/\1/p' out)" -ge "$least" ] || fail "too little was tried: $*"
}

# begin N COMMAND...: starts N ranks that run until the file `stop` exists, and sets `ranks` and
# `launcher` to their process numbers.
begin() {
    local n=$1
    shift
    rm -f stop said
    "$@" "$stranger" job "$work/stop" >said 2>wrong &
    launcher=$!
    started+=("$launcher")
    wait_for has_lines said "$n"
    mapfile -t ranks < <(sed -nE 's/^rank [0-9]+: pid ([0-9]+)$/\1/p' said)
    [ "${#ranks[@]}" -eq "$n" ] || fail 'not all ranks run'
}
end() {
    touch stop
    wait "$launcher" || fail "the job was disturbed: $(cat wrong)"
    [ "$(lines said '^rank [0-9]+: all sums are right$')" -eq "$1" ] || fail 'not all ranks ended well'
}

# closed PID...: checks that other users cannot open the files and the memory of the job that these
# processes have open or mapped.
closed() {
    local pid at kind
    for pid; do
        for at in "/proc/$pid"/fd/*; do
            kind=$(readlink "$at") || continue
            case $kind in /memfd:* | /dev/shm/* | "$work"/trace/*) ;; *) continue ;; esac
            case $(stat -Lc %a "$at") in *00) ;; *) fail "open to others: $kind" ;; esac
        done
        sed -nE 's|.* (/dev/shm/[^ ]*)( .*)?$|\1|p' "/proc/$pid/maps" | sort -u >mapped
        while read -r at; do
            [ ! -e "$at" ] || case $(stat -c %a "$at") in *00) ;; *) fail "open to others: $at" ;; esac
        done <mapped
        awk -v pid="$pid" '$5 == pid && $3 % 100 != 0 { exit 1 }' /proc/sysvipc/shm || fail 'a System V segment is open to others'
    done
}

# no_ports PID...: checks that these ranks have no port: a job on one machine must not be reachable
# over the network.
no_ports() {
    local pid at inode
    for pid; do
        for at in "/proc/$pid"/fd/*; do
            inode=$(readlink "$at" | sed -nE 's/^socket:\[([0-9]+)\]$/\1/p') || continue
            [ -z "$inode" ] || ! grep -qE " $inode " /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 ||
                fail 'a rank has a port'
        done
    done
}

parts='memory, processes, traces'
begin 3 env TUTTI_TRACE="$work/trace" tutti run -n 3
mapfile -t guard < <(pgrep -P "$launcher")
refused 500 pids "$launcher" "${guard[@]}" "${ranks[@]}"
closed "$launcher" "${guard[@]}" "${ranks[@]}"
no_ports "${ranks[@]}"
end 3
[ "$(find trace -name 'rank-*.json' | wc -l)" -eq 3 ] || fail 'there are no traces'
[ -z "$(find trace -perm /077)" ] || fail 'traces are open to others'
refused 6 files "$work"/trace/rank-*.json
chmod 755 trace # the files stay closed if others may enter their folder
refused 6 files "$work"/trace/rank-*.json

# A job with UCX, which creates memory and files of its own.
if TUTTI_WIRE=1 TUTTI_NODES=2,1 tutti run -n 3 --timeout 60 "$TUTTI_BUILD/bin/hello" >/dev/null 2>&1; then
    begin 3 env TUTTI_WIRE=1 TUTTI_NODES=2,1 tutti run -n 3
    closed "${ranks[@]}"
    refused 300 pids "${ranks[@]}"
    if command -v ss >/dev/null; then
        ports=()
        for pid in "${ranks[@]}"; do
            mapfile -t -O "${#ports[@]}" ports < <(ss -Hltnp | sed -nE "/pid=$pid,/s/^LISTEN +[0-9]+ +[0-9]+ +([0-9.]+:[0-9]+) .*/\\1/p")
        done
        refused 3 ports "${ports[@]}" "${ports[@]}"
        parts+=', ports'
    fi
    end 3
    parts+=', memory with a network'
fi

# ---- Under another launcher: ranks pass shared memory over a socket whose name all users see ----

refused 1 offer
tutti info >reported
if command -v mpirun >/dev/null && grep -q '^  PMIx  *there' reported; then
    # shellcheck disable=SC2016
    begin_late() {
        rm -f stop said go
        mpirun --allow-run-as-root --oversubscribe -n 3 sh -c \
            'until [ "$PMIX_RANK" = 0 ] || [ -e go ]; do sleep 0.02; done; exec "$@"' sh "$stranger" job "$work/stop" \
            >said 2>wrong &
        launcher=$!
        started+=("$launcher")
    }
    # Sets `socket` to the name of the socket of this job's rank 0. Other jobs of the machine have
    # such sockets too, which may appear and vanish meanwhile.
    finds_socket() {
        local inode
        for inode in $(for pid in $(pgrep -P "$launcher"); do readlink "/proc/$pid"/fd/*; done |
            sed -nE 's/^socket:\[([0-9]+)\]$/\1/p'); do
            socket=$(sed -nE "s/^.* $inode @(tutti-[0-9a-f]*).*/\1/p" /proc/net/unix)
            [ -z "$socket" ] || return 0
        done
        return 1
    }
    begin_late
    wait_for finds_socket
    refused 1 sockets "$socket"
    touch go
    wait_for has_lines said 3
    mapfile -t ranks < <(sed -nE 's/^rank [0-9]+: pid ([0-9]+)$/\1/p' said)
    closed "${ranks[@]}"
    refused 300 pids "${ranks[@]}"
    end 3
    parts+=', sockets under mpirun'
fi
echo "strangers refused: $parts"
