# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by the tests of the command. Tests wait for conditions, with a deadline that is reached
# only after an error, and end only processes whose numbers they know.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "${BASH_SOURCE[0]}")/../limit.sh"
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

# pause S: waits S seconds without starting a process, which would take milliseconds of processor
# time. Nobody writes into the pipe, so `read` waits until its time is over.
empty_pipe=$work/.empty-pipe
mkfifo "$empty_pipe"
pause() { read -rt "$1" <>"$empty_pipe" || true; }

# The program whose ranks do special things; see rank.c.
# shellcheck disable=SC2034
rank=${TUTTI_BUILD:-}/tests/tools-rank

fail() {
    echo "FAILED: $*" >&2
    for file in "$work"/out "$work"/err; do
        if [ -s "$file" ]; then sed "s|^|${file##*/}: |" "$file" | head -n 20 >&2; fi
    done
    exit 1
}

# expect CODE COMMAND...: runs the command with its output in the files out and err, and expects
# this exit code.
expect() {
    local code=$1 got=0
    shift
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$code" ] || fail "'$*' exited with $got instead of $code"
}

# in_background COMMAND...: starts the command in the background with its output in the files out
# and err, and leaves its number in $!. The background process opens these files itself, perhaps
# only after the caller has read them. So this function removes those of earlier commands first.
in_background() {
    rm -f "$work/out" "$work/err"
    "$@" >"$work/out" 2>"$work/err" &
    started+=("$!")
}

# says FILE PATTERN: expects that the file (out or err) has a line that matches.
says() { grep -qE -- "$2" "$work/$1" || fail "no line of $1 matches: $2"; }

# lines FILE [PATTERN]: prints how many lines the file has, or how many match.
lines() { grep -cE -- "${2:-}" "$work/$1" || true; }

# wait_for COMMAND...: waits until the command succeeds.
wait_for() {
    local deadline=$((SECONDS + 300))
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] || fail "in vain waited for: $*"
        pause 0.02
    done
}

has_lines() { [ "$(lines "$1")" -ge "$2" ]; }

# Prints the state of a process as a letter: R running, S sleeping, T stopped, ...; prints nothing
# if the process has ended or is a zombie.
state() {
    local rest
    rest=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    rest=${rest##*) }
    case ${rest%% *} in Z | X) ;; *) echo "${rest%% *}" ;; esac
}
is_stopped() { [ "$(state "$1")" = T ]; }
is_going() { [ "$(state "$1")" != T ]; }
is_gone() { [ -z "$(state "$1")" ]; }

# wait_gone FILE: waits until all processes whose numbers are in the file have ended.
wait_gone() {
    local pid
    while read -r pid; do wait_for is_gone "${pid##* }"; done <"$1"
}
