#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs of Tutti under Open MPI's mpirun on this machine join the job through PMIx. Also checks
# the messages where that is impossible.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
skip() {
    echo "SKIPPED: $*"
    exit 77
}
command -v mpirun >/dev/null || skip 'no mpirun (openmpi-bin)'
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
grep -q '^  PMIx  *there' <<<"$(tutti info)" || skip 'built without libpmix-dev, or no libpmix2'
# The PMIx library keeps some memory until the end, which is not a leak of Tutti.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

mkdir "$work/temporary"
export TMPDIR=$work/temporary
boot=$TUTTI_BUILD/tests/hosts-boot
start() {
    mpirun --allow-run-as-root --oversubscribe "$@"
}

expect 0 start -n 4 "$TUTTI_BUILD/bin/hello"
[ "$(lines out '^rank [0-3] of 4: the sum of all ranks is 6$')" -eq 4 ] || fail 'hello'
expect 0 start -n 1 "$TUTTI_BUILD/bin/hello"
says out '^rank 0 of 1: the sum of all ranks is 0$'

expect 0 start -n 4 "$boot" places
for r in 0 1 2 3; do says out "^rank $r: node 0 of 1 on [^ ]+, 4 here: 0 1 2 3\$"; done

# Each rank creates a second client beside the first, and a third when both are freed.
expect 0 start -n 3 "$rank" join-again
for said in 'living: done' 'sum 3' 'left: done'; do
    [ "$(lines out "^$said")" -eq 3 ] || fail "not all say: $said"
done

# The thread that PMIx starts takes no signal of the program.
expect 0 start -n 2 "$rank" keep-signal
[ "$(lines out '^kept USR1$')" -eq 2 ] || fail 'a thread of PMIx took a signal'

# All collectives by all algorithms, as under `tutti run`.
expect 0 start -n 4 "$TUTTI_BUILD/tests/test-run-conform-threads"
says out '^4 ranks: [0-9]+ cases$'
TUTTI_CMA=0 expect 0 start -n 3 "$TUTTI_BUILD/tests/test-run-conform-threads"

# Ranks with different settings get the same message as under `tutti run`. (mpirun exits with 0
# here, because with this option it does not end the job when a rank fails.)
# shellcheck disable=SC2016
expect 0 start -n 3 --mca orte_enable_recovery 1 sh -c \
    'if [ "$PMIX_RANK" = 1 ]; then export TUTTI_SLICE=2K; fi; exec "$1" join' sh "$boot"
says out '^rank [0-2]: meet: TUTTI_SLICE is (0|2K) here and (0|2K) on another rank: it must be the same on all$'

# A rank is killed: the other ranks notice it without Tutti's launcher, and continue.
sleeps() { grep -qE '^rank 2: pid [0-9]+ sleeps$' out; }
watch() {
    in_background start -n 4 --mca orte_enable_recovery 1 "$boot" watch 2
    local mpirun=$!
    wait_for sleeps
    kill -9 "$(sed -nE 's/^rank 2: pid ([0-9]+) sleeps$/\1/p' out)"
    wait $mpirun || true
}
watch
for r in 0 1 3; do says out "^rank $r: after [0-9]+ ms: rank 2 on [^ ]+ is gone: its process ended\$"; done

# Each rank but the first is in a PID namespace of its own, so no rank can refer to the process of
# rank 2 by its pid, which is none in the namespaces of ranks 1 and 3. Nevertheless no rank that
# lives counts as dead, and a death is noticed.
own=()
[ "$(id -u)" -eq 0 ] || own=(unshare --user --map-root-user)
if "${own[@]}" unshare --pid --fork --kill-child true 2>/dev/null; then
    # shellcheck disable=SC2016
    in_background "${own[@]}" mpirun --allow-run-as-root --oversubscribe -n 4 --mca orte_enable_recovery 1 sh -c '
        if [ "$PMIX_RANK" = 0 ]; then exec "$@"; fi
        echo $$ >"outer.$PMIX_RANK"
        if [ "$PMIX_RANK" = 2 ]; then set -- sh -c "true; /bin/true; \"\$@\"; exit \$?" sh "$@"; fi
        exec unshare --pid --fork --kill-child "$@"' sh "$boot" watch 2
    mpirun=$!
    wait_for sleeps
    [ "$(lines out '^rank [013]: after ')" -eq 0 ] || fail 'a rank that lives counts as dead'
    kill -9 "$(cat outer.2)"
    wait $mpirun || true
    for r in 0 1 3; do says out "^rank $r: after [0-9]+ ms: rank 2 on [^ ]+ is gone: its process ended\$"; done
fi

# mpirun is killed: the rank ends, too, although it is in no call, and also if it ignores SIGTERM.
# An mpirun that is killed leaves files behind, so it gets another folder for them.
mkdir "$work/killed"
end_with_launcher() {
    # shellcheck disable=SC2016
    TMPDIR=$work/killed mpirun --allow-run-as-root --oversubscribe -n 1 \
        sh -c "$1"' exec "$0" watch 0 >said 2>reason' "$boot" >out 2>err &
    local mpirun=$! pid
    wait_for has_lines said 1
    pid=$(sed -nE 's/^rank 0: pid ([0-9]+) sleeps$/\1/p' said)
    started+=("$pid")
    kill -9 $mpirun
    wait $mpirun || true
    wait_for is_gone "$pid"
    says reason 'rank 0. error: the launcher has ended, so this rank ends, too$'
    rm said reason
}
end_with_launcher ''
end_with_launcher "trap '' TERM;"

# The server that the environment names does not exist: an error. With TUTTI_PMIX=0 PMIx is not
# used.
expect 1 env PMIX_NAMESPACE=none PMIX_RANK=0 PMIX_SERVER_URI41='none.0;tcp4://127.0.0.1:1' "$boot" join
says out '^rank 0: attach: .*the PMIx server that the environment names cannot be reached'
expect 0 env PMIX_NAMESPACE=none PMIX_RANK=0 TUTTI_PMIX=0 "$boot" join

# The first rank of the node may come later than the server of Open MPI waits for what this rank
# publishes, which is two seconds, but not later than TUTTI_BOOT_TIMEOUT.
# shellcheck disable=SC2016
expect 0 start -n 2 sh -c 'if [ "$PMIX_RANK" = 0 ]; then sleep 3; fi; exec "$0"' "$TUTTI_BUILD/bin/hello"
[ "$(lines out '^rank [01] of 2: the sum of all ranks is 1$')" -eq 2 ] || fail 'the first rank came too late'
# A rank that does not come at all is named. mpirun ends with an error, because rank 0 ends without
# having used PMIx.
# shellcheck disable=SC2016
start -x TUTTI_BOOT_TIMEOUT=3 -n 2 sh -c 'case $PMIX_RANK in
    0) until [ -e over ]; do sleep 0.1; done ;;
    1) "$0" join || touch over ;;
    esac' "$boot" >out 2>err || true
says out 'attach: rank 0 has not called tutti_init within 3 s \(TUTTI_BOOT_TIMEOUT\)$'

# A second process of a rank cannot join.
expect 0 start -n 2 python3 -c 'import subprocess, sys
for _ in range(2): subprocess.call(sys.argv[1:])' "$TUTTI_BUILD/bin/hello"
[ "$(lines out '^rank [01] of 2: the sum of all ranks is 1$')" -eq 2 ] || fail 'the first processes did not join'
[ "$(lines err 'PMIx has no name for the host of rank [01]; if a process of this job has left it already, another process of the same rank cannot join again')" -eq 2 ] ||
    fail 'the second processes get another error'

# If `tutti run` starts mpirun, the ranks inherit TUTTI_JOB, but mpirun has closed its descriptor.
# shellcheck disable=SC2016
expect 0 tutti run -n 1 sh -c 'exec mpirun --allow-run-as-root --oversubscribe -n 2 "$0"' "$TUTTI_BUILD/bin/hello"
[ "$(lines out '^rank [01] of 2: the sum of all ranks is 1$')" -eq 2 ] || fail 'not the job of mpirun'
[ "$(lines err 'rank 0. warning: TUTTI_JOB is ignored, because its descriptor [0-9]+ is closed')" -eq 1 ] ||
    fail 'not warned of once'

# Nothing is left behind.
[ -z "$(find "$TMPDIR" -type f -o -type s)" ] || fail "files are left: $(find "$TMPDIR")"
