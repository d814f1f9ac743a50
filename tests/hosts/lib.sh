# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several hosts on one machine. A script that sources this file continues in namespaces of its own
# (network, mounts, names, processes). All that it creates there vanishes with it, however it ends.
#
#     hosts 4,2,1,1           creates h1 .. h4 with so many slots. Each is a network namespace with
#                             its own address, name, processes and /dev/shm, on a bridge
#     on_hosts PROGRAM...     runs a rank on each slot under mpirun; this script is on none of them
#     in_host h3 COMMAND...   runs one command there, as if by ssh
#     cut h3, mend h3         sets its link down, and up again
#
# With launcher=srun set before, mpirun is not needed and only the hosts are created (slurm.sh).
#
# A host cannot reach any memory of another host: no segment, no process, no socket with a name. The
# script needs root or permission to create user namespaces. Otherwise it prints the reason and is
# skipped (77).

# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "${BASH_SOURCE[0]}")/../limit.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../ucx.sh"

skip() {
    echo "SKIPPED: $*"
    exit 77
}

command -v ip >/dev/null || skip 'no ip (iproute2)'
if [ "${launcher-mpirun}" = mpirun ]; then
    command -v mpirun >/dev/null || skip 'no mpirun (openmpi-bin)'
    mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
fi

if [ -z "${TUTTI_TEST_INSIDE-}" ]; then
    spaces=(unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc)
    [ "$(id -u)" -eq 0 ] || spaces+=(--user --map-root-user)
    "${spaces[@]}" true 2>/dev/null || skip 'namespaces are not permitted here'
    "${spaces[@]}" ip link add probe type bridge 2>/dev/null || skip 'bridges are not permitted in namespaces here'
    TUTTI_TEST_INSIDE=1 exec "${spaces[@]}" bash "$0" "$@"
fi

# The work folder is a new tmpfs, mounted at /mnt (or at /media if the build lies below /mnt). No
# process outside of this script's namespaces sees the tmpfs. Within the namespaces, the tmpfs hides
# the former contents of the folder.
work=/mnt
case $TUTTI_BUILD in /mnt/*) work=/media ;; esac
mount -t tmpfs tmpfs "$work"
mkdir "$work/tmp"
export TMPDIR=$work/tmp
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    for file in out err; do
        if [ -s $file ]; then sed "s/^/$file: /" $file >&2; fi
    done
    exit 1
}

# Prints how many lines of `out` match.
lines() {
    grep -cE "$1" out || true
}

# pause S and count_lines start no process, because loops that wait for an event call them many
# times. Nobody writes into the pipe, so `read` waits until its time is over.
mkfifo "$work/.empty-pipe"
pause() { read -rt "$1" <>"$work/.empty-pipe" || true; }

# count_lines PATTERN FILE...: sets n to the number of lines that match. Files that do not exist
# have no lines.
count_lines() {
    local pattern=$1 file each line
    n=0
    shift
    for file; do
        [ -e "$file" ] || continue
        mapfile -t each <"$file"
        for line in "${each[@]}"; do
            if [[ $line =~ $pattern ]]; then n=$((n + 1)); fi
        done
    done
}

host_count=0

in_host() {
    local pid
    pid=$(cat "$work/$1.pid")
    shift
    nsenter -t "$pid" --net --uts --ipc --mount --pid -- "$@"
}

# Creates one host: a process that holds its namespaces, and a virtual cable to the bridge.
add_host() {
    local name=$1 slots=$2 number=$3 holder pid=''
    # shellcheck disable=SC2016
    unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc sh -c \
        'hostname "$1"; mount -t tmpfs tmpfs /dev/shm; exec sleep infinity' sh "$name" &
    holder=$!
    until [ -n "$pid" ] && [ "$(nsenter -t "$pid" --uts hostname)" = "$name" ]; do
        sleep 0.02
        pid=$(cat "/proc/$holder/task/$holder/children")
        pid=${pid%% *}
    done
    # shellcheck disable=SC2016
    until nsenter -t "$pid" --mount --pid sh -c '[ -z "$(ls -A /dev/shm)" ]'; do sleep 0.02; done
    echo "$pid" >"$work/$name.pid"
    ip link add "to-$name" type veth peer name eth0 netns "$pid"
    ip link set "to-$name" master bridge up
    in_host "$name" ip address add "10.77.0.$number/24" dev eth0
    in_host "$name" ip link set eth0 up
    in_host "$name" ip link set lo up
    echo "10.77.0.$number $name" >>"$work/names"
    echo "$name slots=$slots" >>"$work/hostfile"
}

# The host names are mounted over /etc/hosts. Where that file does not exist, a copy of /etc that
# contains it is mounted over /etc.
name_hosts() {
    if [ ! -e /etc/hosts ]; then
        mkdir "$work/etc"
        cp -a /etc/. "$work/etc" 2>/dev/null || true # without the files that only root may read
        touch "$work/etc/hosts"
        mount --bind "$work/etc" /etc
    fi
    mount --bind "$work/names" /etc/hosts
}

hosts() {
    local slots
    ip link set lo up
    ip link add bridge type bridge
    ip address add 10.77.0.254/24 dev bridge
    ip link set bridge up
    printf '127.0.0.1 localhost\n10.77.0.254 outside\n' >"$work/names"
    hostname outside
    name_hosts
    for slots in ${1//,/ }; do
        host_count=$((host_count + 1))
        add_host "h$host_count" "$slots" "$host_count"
    done
    cat >"$work/enter" <<END
#!/bin/sh
# mpirun calls this script instead of ssh: HOST COMMAND...
host=\$1
shift
exec nsenter -t "\$(cat "$work/\$host.pid")" --net --uts --ipc --mount --pid -- sh -c "\$*"
END
    chmod +x "$work/enter"
}

# on_hosts PROGRAM...: runs a rank on each slot. mpirun may wait for ever for ranks that have ended,
# so it gets a time limit, after which the test can still print its output.
on_hosts() {
    mpirun --timeout 3000 --allow-run-as-root --hostfile "$work/hostfile" --map-by slot --oversubscribe \
        --mca plm_rsh_agent "$work/enter" --mca oob_tcp_if_include 10.77.0.0/24 \
        --mca btl_tcp_if_include 10.77.0.0/24 --mca orte_enable_recovery 1 "$@"
}

# begin_on_hosts PROGRAM...: starts the ranks in the background. The background process itself
# empties `out` and `err`, perhaps only after the caller has read them, so this function removes the
# output of earlier jobs first.
begin_on_hosts() {
    : >out
    : >err
    on_hosts "$@" >out 2>err &
    mpirun=$!
}

# until_lines N PATTERN SECONDS COMMAND...: runs a job in which some ranks fail or die. It waits
# until N lines of `out` match, at most so many seconds, and then ends mpirun, which does not itself
# notice that all ranks have ended. If UCX stops a rank, it runs the job again.
until_lines() {
    local n=$1 pattern=$2 seconds=$3 left
    shift 3
    for left in 3 2 1 0; do
        begin_on_hosts "$@"
        if wait_lines "$n" "$pattern" $((SECONDS + seconds)); then break; fi
        [ "$left" -gt 0 ] || fail 'UCX stops ranks at assertions of its own'
        end_mpirun
    done
    end_mpirun
}
# wait_lines N PATTERN TIME: waits until N lines of `out` match, until the time $SECONDS is TIME.
# Returns 1 if UCX stops a rank before.
wait_lines() {
    local n
    until count_lines "$2" out && [ "$n" -ge "$1" ]; do
        if ucx_stopped out err; then return 1; fi
        [ "$SECONDS" -lt "$3" ] || fail "not $1 lines like: $2"
        pause 0.05
    done
}
end_mpirun() {
    local rank
    for rank in $(pgrep -P "$mpirun"); do kill -9 "$rank" 2>/dev/null || true; done
    kill -9 "$mpirun" 2>/dev/null || true
    wait "$mpirun" 2>/dev/null || true
}

cut() {
    ip link set "to-$1" down
}

# mend HOST: sets the link of a host up again, and returns when packets pass: a connection to a port
# on which nobody listens is then refused.
mend() {
    ip link set "to-$1" up
    until in_host "$1" timeout 1 bash -c ': </dev/tcp/10.77.0.254/9' 2>&1 | grep -q refused; do
        sleep 0.02
    done
}
