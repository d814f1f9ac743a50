#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Calls that do not match on parts of the world: the error at each rank names the calls of its own
# team, with the ranks numbered as in the job.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
go() { tutti run -n 4 --timeout 3000 --on-failure continue "$TUTTI_BUILD/tests/trouble-teams" "$@"; }

expect 0 go apart
bcast='bcast\(n=1 of f64, root 1\)'
one="rank 1 called $bcast where rank 0 called barrier\(\)"
other="rank 0 called barrier\(\) where rank 1 called $bcast"
for rank in 0 1; do says out "^rank $rank: the calls of the ranks do not match: ($one|$other)\$"; done
one="rank 3 called $bcast where rank 2 called barrier\(\)"
other="rank 2 called barrier\(\) where rank 3 called $bcast"
for rank in 2 3; do
    says out "^rank $rank: the calls of the ranks do not match: ($one|$other) \(on the team of ranks 2-3;"
done

expect 0 go inner
barrier="rank [13] called barrier\(\)"
for rank in 1 2 3; do
    says out "^rank $rank: .*: (rank 2 called $bcast where $barrier|$barrier where rank 2 called $bcast) \(on the team of ranks 1-3; a root is a rank of the team\)\$"
done
nothing_left "$TUTTI_TEST"
