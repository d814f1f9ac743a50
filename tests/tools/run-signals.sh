#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Signals to the launcher reach the ranks, and stopping the launcher stops them.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

# The leak check attaches to the process like a debugger, and may wait for ever if all ranks get a
# signal while they end.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

in_background tutti run -n 2 --tag "$rank" signals
launcher=$!
wait_for has_lines out 2
got() { [ "$(lines out "^\[[01]\] rank [01] $1\$")" -eq 2 ]; }
for signal in HUP QUIT USR1 USR2 INT USR1; do
    before=$(lines out)
    kill -s "$signal" "$launcher"
    wait_for has_lines out $((before + 2))
done
for signal in HUP QUIT USR2 INT; do got "$signal" || fail "$signal did not reach both ranks"; done
[ "$(lines out 'USR1$')" -eq 4 ] || fail 'USR1 came other than twice to each'

ranks=$(sed -n 's/.* pid //p' out)
kill -TSTP "$launcher"
wait_for is_stopped "$launcher"
for pid in $ranks; do wait_for is_stopped "$pid"; done
kill -CONT "$launcher"
for pid in $launcher $ranks; do wait_for is_going "$pid"; done

kill -TERM "$launcher"
code=0
wait "$launcher" || code=$?
[ "$code" -eq 0 ] || fail "exited with $code, though the ranks took the signal well"

# A signal to the guard, whose command line is the launcher's, is passed on to the ranks as well.
in_background tutti run -n 2 --tag "$rank" signals
launcher=$!
wait_for has_lines out 2
guard=$(cat "/proc/$launcher/task/$launcher/children")
guard=${guard%% *}
for signal in QUIT USR1; do
    before=$(lines out)
    kill -s "$signal" "$guard"
    wait_for has_lines out $((before + 2))
    got "$signal" || fail "$signal to the guard did not reach both ranks"
done
says err 'SIGQUIT: roll call$'
kill -TERM "$guard"
code=0
wait "$launcher" || code=$?
[ "$code" -eq 0 ] || fail "exited with $code after SIGTERM to the guard"

# No thread that the library or UCX starts takes a signal of the program.
wires=(0)
if grep -qE '^  ucx +[0-9]' <<<"$(tutti info)"; then wires+=(1); fi
for wire in "${wires[@]}"; do
    TUTTI_WIRE=$wire expect 0 tutti run -n 2 "$rank" keep-signal
    [ "$(lines out '^kept USR1$')" -eq 2 ] || fail "another thread took a signal with TUTTI_WIRE=$wire"
done

# A rank that does not handle the signal is ended by it.
in_background tutti run -n 2 sh -c 'echo here; exec sleep 600'
launcher=$!
wait_for has_lines out 2
kill -TERM "$launcher"
code=0
wait "$launcher" || code=$?
[ "$code" -eq 143 ] || fail "exited with $code instead of 143"
says err 'killed by signal 15 \(Terminated\)$'
