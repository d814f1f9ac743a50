#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The program in docs/recovery.md does what the document says.
set -euo pipefail

if [ -n "$TUTTI_SANITIZE" ]; then
    echo 'a program without the sanitizer cannot use a library with it'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 "$TUTTI_SOURCE/tests/project/documents.py" --program "$TUTTI_SOURCE/docs/recovery.md" >app.c
[ -s app.c ]
"$CC" -Wall -Wextra -Werror -I"$TUTTI_SOURCE/include" app.c -o app -L"$TUTTI_BUILD/lib" -ltutti \
    -Wl,-rpath,"$TUTTI_BUILD/lib"

says() { diff - <(echo "$1") || exit 1; }
./app | says 'done by 1 ranks'
tutti run -n 4 ./app | says 'done by 4 ranks'
for rank in 0 1 2 3; do
    status=0
    TUTTI_FAULT=kill,rank=$rank,after=1 tutti run -n 4 --on-failure=continue ./app >out 2>err || status=$?
    [ $status -eq 0 ]
    says 'done by 3 ranks' <out
    grep -qx "tutti: rank $rank was lost; the others ended with code 0, and so does the job" err
    [ "$(wc -l <err)" -eq 2 ]
done
# By default the launcher ends the other ranks after a death, unless they have ended by themselves
# before.
status=0
TUTTI_FAULT=kill,rank=1,after=1 tutti run -n 4 ./app >out 2>err || status=$?
[ $status -eq 137 ]

# An error that is not a death ends all ranks, whether one rank or each rank has it, although the
# launcher would let the other ranks continue.
refused='TUTTI_ALGORITHM: .*nonsense'
for who in 2 '[0-3]'; do
    status=0
    # shellcheck disable=SC2016
    tutti run -n 4 --timeout 3000 --on-failure=continue bash -c '
        case $TUTTI_RANK in '"$who"') export TUTTI_ALGORITHM=allreduce=nonsense ;; esac
        exec ./app' >out 2>err || status=$?
    if [ $status -ne 1 ] || [ -s out ] || ! grep -q "$refused" err; then
        echo "recovery: an error of rank $who ended with $status"
        cat out err
        exit 1
    fi
done
