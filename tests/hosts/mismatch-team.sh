#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A call that does not match, on a team that few messages have used yet: the members also get the
# notice of the failure over another team, but must get the error of this team.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 4,2,1,1
on_hosts "$TUTTI_BUILD/tests/trouble-rank" duplicate 8 >out 2>err || fail 'a new team'
[ "$(lines '^heard 8 of 8$')" -eq 8 ] || fail 'a new team: not all ranks got the mismatch'
