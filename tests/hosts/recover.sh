#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the program of docs/recovery.md on two hosts with 2 ranks and 1 rank. Each rank in turn kills
# itself, and the other two must print that they have done the work.
set -eu
if [ -n "$TUTTI_SANITIZE" ]; then
    echo 'a program without the sanitizer cannot use a library with it'
    exit 77
fi
if [ $# -eq 0 ]; then
    for rank in 0 1; do bash "$0" $rank; done
    exec bash "$0" 2
fi
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
hosts 2,1
python3 "$TUTTI_SOURCE/tests/project/documents.py" --program "$TUTTI_SOURCE/docs/recovery.md" >app.c
# Links the program of the document, unchanged, with a tutti_allreduce in which one rank kills
# itself.
cat >victim.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>
tutti_status __real_tutti_allreduce(tutti_team *, const void *, void *, int64_t, tutti_type, tutti_op);
tutti_status __wrap_tutti_allreduce(tutti_team *t, const void *in, void *out, int64_t n, tutti_type type,
                                    tutti_op op)
{
    if (strcmp(getenv("PMIX_RANK"), getenv("VICTIM")) == 0) raise(SIGKILL);
    return __real_tutti_allreduce(t, in, out, n, type, op);
}
END
"$CC" -I"$TUTTI_SOURCE/include" app.c victim.c -o app -Wl,--wrap=tutti_allreduce -L"$TUTTI_BUILD/lib" -ltutti \
    -Wl,-rpath,"$TUTTI_BUILD/lib"
export VICTIM=$1
until_lines 1 '^done by 2 ranks$' 60 -n 3 ./app
if grep -i tutti err; then fail 'a rank complains'; fi
echo "rank $1 of 3 killed itself: the other two did the work"
