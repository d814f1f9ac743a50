#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Follows README.md: saves its program, compiles it with its command against an installation, runs
# it with its command, and checks the output.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the README's fenced block in language $1.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$TUTTI_SOURCE/README.md" | sed '1d;$d'; }

cmake --install "$TUTTI_BUILD" --component Unspecified --prefix "$work/prefix" >/dev/null # project/install.sh says why
library=$(dirname "$(find "$work/prefix" -name libtutti.so)")
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library PATH=$work/prefix/bin:$PATH

cd "$work"
block c >ranksum.c
block sh >commands.sh
[ -s ranksum.c ] && [ -s commands.sh ]
bash -euxo pipefail commands.sh | sort >said
printf 'rank %d of 4: the sum of all ranks is 6\n' 0 1 2 3 | diff - said

./ranksum | diff <(echo 'rank 0 of 1: the sum of all ranks is 0') -

# The README's numbers of algorithms and collectives are those of the command.
tutti list --names >names
numbers="$(wc -l <names) algorithms for $(cut -d ' ' -f 1 names | sort -u | wc -l) collectives"
grep -q "$numbers" "$TUTTI_SOURCE/README.md" || { echo "README.md does not say: $numbers"; exit 1; }

# The build commands that the README names use presets that exist.
grep -oE -- '--preset [a-z]+' "$TUTTI_SOURCE/README.md" | sort -u | while read -r _ preset; do
    grep -q "\"$preset\"" <<<"$(cd "$TUTTI_SOURCE" && cmake --list-presets)"
done
