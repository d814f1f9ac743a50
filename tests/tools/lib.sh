# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of the command share. They wait for conditions, with a deadline that only a fault
# reaches, and end only processes that they know by number.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "${BASH_SOURCE[0]}")/../patience.sh"
set -euo pipefail

work=$(mktemp -d)
started=()
clean_up() {
    local pid
    for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean_up EXIT
cd "$work"

# The program of ranks with special needs; see rank.c.
# shellcheck disable=SC2034
rank=${TUTTI_BUILD:-}/tests/tools-rank

fail() {
    echo "FAILED: $*" >&2
    for file in "$work"/out "$work"/err; do
        if [ -s "$file" ]; then sed "s|^|${file##*/}: |" "$file" | head -n 20 >&2; fi
    done
    exit 1
}

# Runs a command with its output in out and err, and expects this exit code.
expect() {
    local code=$1 got=0
    shift
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$code" ] || fail "'$*' exited with $got instead of $code"
}

# Expects that a file (out, err) has a line that matches.
says() { grep -qE -- "$2" "$work/$1" || fail "no line of $1 matches: $2"; }

# How many lines a file has, or that match.
lines() { grep -cE -- "${2:-}" "$work/$1" || true; }

# Waits until a command succeeds.
wait_for() {
    local deadline=$((SECONDS + 300))
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] || fail "in vain waited for: $*"
        sleep 0.02
    done
}

has_lines() { [ "$(lines "$1")" -ge "$2" ]; }

# A letter: R running, S sleeping, T stopped ...; nothing when the process is gone or a zombie.
state() {
    local rest
    rest=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    rest=${rest##*) }
    case ${rest%% *} in Z | X) ;; *) echo "${rest%% *}" ;; esac
}
is_stopped() { [ "$(state "$1")" = T ]; }
is_going() { [ "$(state "$1")" != T ]; }
is_gone() { [ -z "$(state "$1")" ]; }

# Waits until none of the processes whose numbers are in the file is there.
wait_gone() {
    local pid
    while read -r pid; do wait_for is_gone "${pid##* }"; done <"$1"
}
