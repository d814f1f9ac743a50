#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# On each host, the first rank reads the rankings of its own file and gives them to the ranks of its
# host, under the model of rank 0. Teams within a host estimate by these rankings, and the next job
# computes none of them again, whatever files the other ranks name.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/model.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 2,2
model '900000 900000 900000 900000 900000 900000 900000 1100000 4300000' >costs
cat >rank <<'SCRIPT'
#!/bin/bash
# The second rank of each host has no file.
export TUTTI_RANKINGS=$1/$(hostname).rankings TUTTI_MACHINE=$1/costs TUTTI_CHOICE=estimate TUTTI_LOG=choice
export TUTTI_READ_COST=1 # each job would measure it anew, and rankings depend on it
[ "$((OMPI_COMM_WORLD_RANK % 2))" -eq 0 ] || export TUTTI_RANKINGS=0
exec "$2" node
SCRIPT
chmod +x rank
run() { on_hosts -n 4 ./rank "$work" "$TUTTI_BUILD/tests/choose-caller" >out 2>&1 || fail 'a job'; }

run
for rank in 0 2; do
    [ "$(lines "rank $rank\\] rankings: [1-9][0-9]* were computed, and are kept in .*/h$((1 + rank / 2))\\.rankings")" -eq 1 ] ||
        fail "rank $rank kept nothing"
done
cmp h1.rankings h2.rankings || fail 'hosts computed different rankings under one model'
run
for rank in 0 2; do
    [ "$(lines "rank $rank\\] rankings: there is nothing new to keep")" -eq 1 ] || fail "rank $rank computed again"
done
[ "$(lines '] rankings: ')" -eq 4 ] || fail 'other ranks have read or kept rankings'
