#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The program in docs/recovery.md does what is said there.
set -euo pipefail

if [ -n "$TUTTI_SANITIZE" ]; then
    echo 'a program without the sanitizer cannot use a library with it'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# shellcheck disable=SC2016
sed -n '/^```c$/,/^```$/p' "$TUTTI_SOURCE/docs/recovery.md" | sed '1d;$d' >app.c
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
# By default the launcher ends them, or they end by themselves before that.
status=0
TUTTI_FAULT=kill,rank=1,after=1 tutti run -n 4 ./app >out 2>err || status=$?
[ $status -eq 137 ]
