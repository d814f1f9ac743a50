#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# mpirun starts `tutti bench` and `tutti tune` as the ranks of a job on two hosts: these ranks are
# timed, and rank 0 alone prints and writes. What is wrong is said once, and no rank waits for one
# that has died. A later job on the hosts uses the lines of wisdom.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 XDG_CACHE_HOME=$work/cache TUTTI_CHOICE=table
hosts 2,2
# measures COMMAND...: runs a subcommand of tutti as four ranks. With recovery, mpirun may return 0
# although its ranks have failed, so each rank prints its own status.
cat >rank <<'END'
#!/bin/bash
code=0
"$@" || code=$?
echo "rank ended with $code"
END
chmod +x rank
measures() { on_hosts -n 4 ./rank "$TUTTI_BUILD/bin/tutti" "$@" >out 2>&1; }
ended() { [ "$(lines "^rank ended with $1\$")" -eq "${2-4}" ] || fail "not ${2-4} ranks ended with $1"; }

measures bench --iterations 10 --algorithm all allreduce/f64/sum/64K barrier/p4
ended 0
[ "$(lines '^problem +algorithm ')" -eq 1 ] || fail 'not one table'
[ "$(lines '^allreduce/f64/sum/64K/p4 +composed +[0-9]')" -eq 1 ] || fail 'no row'
[ "$(lines '^allreduce/f64/sum/64K/p4 +window +does not apply: it needs all ranks on one node')" -eq 1 ] || fail 'one node?'
[ "$(lines '^barrier/p4 +dissemination +[0-9]')" -eq 1 ] || fail 'no second row'
measures bench barrier/p3
ended 2
[ "$(lines '^tutti bench: barrier/p3: a launcher has started this command as 4 ranks')" -eq 1 ] || fail 'not said once'
# A rank dies: the others end with an error.
export TUTTI_FAULT=kill,rank=3,after=300
until_lines 3 '^rank ended with 1$' 100 -n 4 ./rank "$TUTTI_BUILD/bin/tutti" bench --iterations 1000 allreduce/f64/sum/64K barrier
grep -q '^tutti bench: rank 0: .*rank 3 on h2 is gone: its process ended' err || fail 'no reason'
unset TUTTI_FAULT

# The lines of wisdom name the hosts' numbers of ranks, and decide in a later job on these hosts.
measures tune --time 0.001 allreduce/f64/sum/4K barrier
ended 0
[ "$(lines '^written to ')" -eq 1 ] || fail 'not written once'
[ "$(grep -c '/p4@nodes:2,2 .*reach=kernel ' cache/tutti/*.wisdom)" -eq 2 ] || fail 'not two lines'
sed -i 's/^\(allreduce[^ ]*\) .*\(us=[0-9.]*\) \(others=[^ ]* \)\?/\1 ring \2 /' cache/tutti/*.wisdom
TUTTI_LOG=choice measures bench --iterations 2 allreduce/f64/sum/4K
[ "$(lines 'choice: ring for allreduce.n=512 of f64, sum. on 4 ranks .by wisdom')" -ge 1 ] || fail 'the wisdom is not used'
measures tune --output /proc/none/wisdom barrier
ended 1
[ "$(lines '^tutti tune: the folder /proc/none cannot be made')" -eq 1 ] || fail 'not said once'
export TUTTI_FAULT=kill,rank=3,after=100
until_lines 3 '^rank ended with 1$' 100 -n 4 ./rank "$TUTTI_BUILD/bin/tutti" tune --output dead allreduce/f64/sum/64K
grep -q '^tutti bench: rank 0: .*rank 3 on h2 is gone: its process ended' err || fail 'no reason'
