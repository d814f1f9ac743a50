#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the checks in scripts/check: each must accept a small clean tree, and must report, with file
# and line, the fault that is put into the tree for it.
# shellcheck disable=SC2016 # the scripts that are written here expand their own variables
set -euo pipefail

checks=$TUTTI_SOURCE/scripts/check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree

clean() {
    rm -rf "$tree"
    mkdir -p "$tree"/{include/tutti,src/{base,plan,coll,fabric,msg,run},tools,tests,docs,cmake,scripts}
    cp "$TUTTI_SOURCE/.clang-format" "$tree"
    local licence='/* SPDX-License-Identifier: BSD-3-Clause */' part
    echo "$licence
TUTTI_API TUTTI_MUST_CHECK int tutti_one(void);" >"$tree/include/tutti/tutti.h"
    printf 'TUTTI_0.1 {\nglobal:\n    tutti_one;\nlocal:\n    *;\n};\n' >"$tree/cmake/tutti.map"
    for part in base plan fabric msg run; do echo "$licence" >"$tree/src/$part/$part.h"; done
    printf '%s\n#include <stdio.h>\n#include "plan/plan.h"\n#include "msg/msg.h"\n' "$licence" >"$tree/src/run/run.c"
    printf '%s\n#include "base/base.h"\n#include <tutti/tutti.h>\n' "$licence" >"$tree/src/coll/ring.c"
    printf '%s\n#include "run/run.h"\n' "$licence" >"$tree/tests/any.c"
    printf '#!/bin/bash\n# %s\necho "$1"\n' "$licence" >"$tree/scripts/good.sh"
    printf '# One\n[a](docs/two.md), [b](docs/two.md#its-heading), [c](https://example.org)\n' >"$tree/README.md"
    printf '## Its heading\n' >"$tree/docs/two.md"
    git -C "$tree" init -q
}

passes() {
    "$checks/$1" "$tree" "${@:2}" >"$work/said" 2>&1 && return 0
    echo "check $1 finds fault with a clean tree:" && cat "$work/said" && exit 1
}

# notices CHECK PATTERN: expects that the check fails and prints a line that matches.
notices() {
    if "$checks/$1" "$tree" "${@:3}" >"$work/said" 2>&1; then
        echo "check $1 overlooks: $2" && exit 1
    fi
    grep -qE -- "$2" "$work/said" && return 0
    echo "check $1 should say: $2; it says:" && cat "$work/said" && exit 1
}

lines() { for _ in $(seq "$1"); do echo '    f();'; done; }
function_of() { printf 'void f(void)\n{\n%s\n}\n' "$(lines "$1")"; }

clean
for check in includes cycles exports sizes width comments words links shell symbols; do passes "$check"; done
if clang-format --version | grep -q 'version 14\.'; then
    passes format
    echo 'int  x;' >"$tree/src/base/base.h"
    notices format 'src/base/base.h:1:'
fi

clean && echo '#include "fabric/fabric.h"' >>"$tree/src/coll/ring.c"
notices includes '^src/coll/ring.c:4: src/coll may not know src/fabric'
clean && echo '#include <plan/plan.h>' >>"$tree/src/fabric/fabric.h"
notices includes '^src/fabric/fabric.h:2: src/fabric may not know src/plan'
clean && echo '#include "../msg/msg.h"' >>"$tree/src/plan/plan.h"
notices includes '^src/plan/plan.h:2: src/plan may not know src/msg'
clean && echo '# include "msg/msg.h"' >"$tree/tools/tool.c"
notices includes '^tools/tool.c:1: tools may not know src/msg'
clean && echo '#include <time.h>' >>"$tree/src/coll/ring.c"
notices includes '^src/coll/ring.c:4: src/coll is pure'
clean && echo '#include "nowhere.h"' >>"$tree/src/run/run.h"
notices includes '^src/run/run.h:2: "nowhere.h" is no file'
clean && echo '#include "plan/plan.c"' >>"$tree/src/run/run.h"
notices includes '^src/run/run.h:2: a source file is compiled'
clean && mkdir "$tree/src/new" && echo 'int x;' >"$tree/src/new/new.c"
notices includes '^src/new/new.c:1: the table .* has no part src/new'

clean && printf 'void tt_a(void)\n{\n    tt_b();\n}\n' >"$tree/src/run/a.c"
printf 'void tt_b(void)\n{\n}\n\nvoid tt_c(void)\n{\n    tt_a();\n}\n' >"$tree/src/run/b.c"
notices cycles '^src/run/a.c:3: a cycle of files .*: src/run/a uses src/run/b \(tt_b\), src/run/b uses src/run/a \(tt_a\)'
printf '/* tt_a */\nvoid tt_a(void);\nstruct tt_a {\n    int b;\n};\nconst char *tt_b(void)\n{\n    return "tt_a";\n}\n' >"$tree/src/run/b.c"
passes cycles
clean && echo '#include "run/b.h"' >"$tree/src/run/a.c" && echo '#include "a.h"' >"$tree/src/run/b.h" && touch "$tree/src/run/a.h"
notices cycles '^src/run/a.c:1: a cycle of files .*: src/run/a uses src/run/b \(its header\)'
clean && printf 'int tt_there;\n' >>"$tree/src/run/run.c" && printf 'int here(void)\n{\n    return tt_there;\n}\n' >"$tree/src/msg/here.c"
notices cycles '^src/msg/here.c:3: a cycle of parts: src/msg uses src/run \(tt_there\), src/run uses src/msg'
clean && mkdir "$tree/scripts/check" && cp "$checks"/{cycles,names.py,tree.py} "$tree/scripts/check"
checks=$tree/scripts/check notices cycles '^scripts/check/cycles:1: the tree has no such cycle: [a-z]'

clean && printf 'void tt_a(void)\n{\n}\n' >"$tree/src/run/a.c" && printf 'void b(void)\n{\n    tt_a();\n}\n' >"$tree/src/run/b.c"
notices exports '^src/run/a.c:1: 1 names are used by one other file .*; src/run/b.c alone uses tt_a'
mv "$tree/src/run/b.c" "$tree/src/msg" && passes exports

clean && lines 901 >"$tree/src/run/long.h"
notices sizes '^src/run/long.h:900: the file has 901 lines'
wide=$(printf '%0101d' 0)
for name in src/run/wide.c docs/wide.md; do
    clean && printf '/* a comment\n%s %s\n' "${wide:50}" "${wide:49}" >"$tree/$name"
    notices width "^$name:2: has 104 columns, 100 at most"
done
clean && printf '# a comment %s\n: %s x\n' "$wide" "$wide" >"$tree/scripts/wide.sh"
notices width '^scripts/wide.sh:1: has 113 columns, 100 at most'
clean && printf '%s\n| %s | a table |\n' "$wide" "$wide" >"$tree/docs/wide.md"
passes width
clean && printf '/* Of those that came, the last. */\n' >"$tree/src/run/riddle.c"
notices comments '^src/run/riddle.c:1: the comment begins with a fragment: Of those'
clean && printf '/* The last of those that came. */\n' >"$tree/src/run/plain.c"
passes comments
clean && for part in run msg; do printf 'struct pair {\n    int a, b;\n};\n' >"$tree/src/$part/pair.c"; done
notices comments '^src/run/pair.c:1: the tag pair is defined at src/msg/pair.c:1 too'
clean && function_of 101 >"$tree/tests/long.c"
notices sizes '^tests/long.c:2: the function has 101 lines'
clean && function_of 36 >"$tree/src/run/long.c"
notices sizes '^src/run/long.c:2: the function has 36 lines'
clean && function_of 35 >"$tree/src/run/fits.c" && function_of 100 >"$tree/tests/fits.c"
passes sizes

for word in TO""DO FIX""ME X""XX; do
    clean && echo "/* $word: later */" >"$tree/src/run/run.c"
    notices words "^src/run/run.c:1: a note to self \\($word\\)"
done
clean && echo 'int x;' >"$tree/src/run/run.c"
notices words '^src/run/run.c:1: does not start with its SPDX'
clean && mkdir -p "$tree/lab/draw/page/vendor" && echo 'x ' >"$tree/lab/draw/page/page.js" && cp "$tree"/lab/draw/page/{,vendor/}page.js
notices words '^lab/draw/page/page.js:1: does not start with its SPDX'
notices words '^lab/draw/page/page.js:1: blanks'
rm "$tree/lab/draw/page/page.js" && passes words
clean && printf '#  if 0\n#endif\n' >"$tree/src/run/run.c"
notices words '^src/run/run.c:1: unused code'
clean && echo 'int x; ' >"$tree/src/run/run.c"
notices words '^src/run/run.c:1: blanks'

clean && printf '\n[d](docs/three.md)\n' >>"$tree/README.md"
notices links '^README.md:4: the link to docs/three.md'
clean && echo '[d](../README.md#two)' >>"$tree/docs/two.md"
notices links '^docs/two.md:2: README.md has no heading'

clean && printf '#!/bin/bash\nrm $1\n' >"$tree/scripts/bad"
notices shell 'scripts/bad'
clean && printf 'if\n' >"$tree/scripts/bad.sh"
notices shell 'bad.sh: line'
for interpreter in '/usr/bin/env bash' /bin/sh '/bin/bash -e'; do
    clean && printf '#!%s\necho\n' "$interpreter" >"$tree/scripts/bad"
    notices shell "^scripts/bad:1: #!$interpreter"
done

clean && echo 'TUTTI_API const char *tutti_two(int x);' >>"$tree/include/tutti/tutti.h"
notices symbols 'tutti_two is declared, but not listed'
clean && sed -i 's/tutti_one;/& tutti_three;/' "$tree/cmake/tutti.map"
notices symbols 'tutti_three is listed, but declared nowhere'
clean && echo 'int tutti_two(void) { return 2; }' | "$CC" -shared -fPIC -x c - -o "$work/lib.so"
notices symbols 'tutti_one is listed, but missing' "$work/lib.so"
notices symbols 'tutti_two is exported, but not listed' "$work/lib.so"

clean && mkdir "$work/build" && printf '[{"directory": "%s", "file": "src/%s"}]' "$tree" run/run.c >"$work/build/compile_commands.json"
notices built '^src/coll/ring.c:1: is not built' "$work/build"
rm "$tree/src/coll/ring.c" "$tree/tests/any.c" && passes built "$work/build"
