#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The plan files of docs/plan.md: proven for many numbers of ranks, sizes, roots and in place,
# simulated, drawn, and run by `tutti bench` and by a program.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
plans=$TUTTI_SOURCE/examples/plans

for plan in "$plans"/*.plan; do
    expect 0 tutti check --plan "$plan"
    says out '^my-[a-z]+ +proven'
    expect 0 tutti sim --plan "$plan"
    expect 0 tutti draw --plan "$plan" -o picture.html
    expect 0 tutti bench --plan "$plan" --iterations 20
    says out ' my-[a-z]+ +[0-9.]+ '
done

proven() {
    expect 0 tutti check --plan "$plans/$1" "$2"
    says out '^my-[a-z]+ +proven'
}
for p in 2 3 4 5 7 8 13 16 17 33; do
    for bytes in 8 4K; do
        proven flat.plan allreduce/f64/sum/$bytes/p$p
        proven flat.plan allreduce/f64/sum/$bytes/p$p/inplace=1
        proven ring.plan allgather/f64/$bytes/p$p
        proven tree.plan bcast/i32/$bytes/p$p/root=$((p - 1))
        proven tree.plan bcast/i32/$bytes/p$p
    done
done
proven ring.plan allgather/u8/1K/p1
proven tree.plan bcast/u8/1K/p1
proven tree.plan bcast/u8/1K/p6@nodes:2,2,2

# The plan file tree.plan takes the same time as the algorithm that it describes.
expect 0 tutti sim --plan "$plans/tree.plan" bcast/u8/1000/p13 --json mine
expect 0 tutti sim bcast/u8/1000/p13 --algorithm binomial --json theirs
expect 0 tutti sim --plan "$plans/ring.plan" allgather/u8/1000/p13 --json mine-ring
expect 0 tutti sim allgather/u8/1000/p13 --algorithm ring --json theirs-ring
python3 - <<'PYTHON'
import json
for name in "", "-ring":
    mine, theirs = (json.load(open(who + name))[0]["time_ps"] for who in ("mine", "theirs"))
    assert mine == theirs, (name, mine, theirs)
PYTHON

TUTTI_ALGORITHM=allreduce=@$plans/flat.plan TUTTI_LOG=choice expect 0 tutti run -n 4 hello
says err 'choice: my-flat for allreduce'
