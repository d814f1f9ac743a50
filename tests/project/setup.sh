#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# scripts/setup.sh where everything is there changes nothing and says nothing; where something is
# missing and there is no apt-get, it names the packages and stops.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

said=$("$TUTTI_SOURCE/scripts/setup.sh" 2>&1)
[ -z "$said" ] || { echo "setup.sh says: $said"; exit 1; }

# A system with little but a shell: neither ninja nor apt-get.
for tool in bash cat ls; do ln -s "$(command -v "$tool")" "$work/$tool"; done
if PATH=$work "$work/bash" "$TUTTI_SOURCE/scripts/setup.sh" >"$work/said" 2>&1; then
    echo 'setup.sh is content with an empty system' && exit 1
fi
grep -q '^setup: this system has no apt-get' "$work/said"
grep -q '^setup: missing: cmake ninja-build .*libhwloc-dev' "$work/said"
