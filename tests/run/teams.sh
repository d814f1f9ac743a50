#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs teams.c, which makes and frees many teams, with threads or processes.
set -eu
program=$TUTTI_BUILD/tests/test-run-teams

run() { # run CASE RANKS: runs a case with so many ranks if ranks are processes
    if [ "$how" = threads ]; then
        "$program" threads "$1"
    else
        tutti run -n "$2" --bind none "$program" processes "$1"
    fi
}

how=$1
run orders 3
run frees 3
run ends 3
run busy 3
run agreements 3
run thousand 16
run churn 3
[ "$how" = threads ] || TUTTI_ALGORITHM=allreduce=flat run windows 3 # `flat` uses windows on every machine
export TUTTI_ALGORITHM=bcast=binomial # `binomial` sends messages on every machine
run channels 6
TUTTI_EAGER=1M run channels 6 # all bytes go through the channels
