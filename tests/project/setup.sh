#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# scripts/setup.sh where everything is there changes nothing and says nothing; where something is
# missing and there is no apt-get, it names the packages and stops. The demo needs less than the
# tests do.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for what in '' demo build test; do
    # shellcheck disable=SC2086
    said=$("$TUTTI_SOURCE/scripts/setup.sh" $what 2>&1)
    [ -z "$said" ] || { echo "setup.sh $what says: $said"; exit 1; }
done
if "$TUTTI_SOURCE/scripts/setup.sh" all 2>"$work/said"; then
    echo 'setup.sh takes any word' && exit 1
fi
grep -qx "setup: 'all' is none of demo, build, test" "$work/said"

# A system with little but a shell: neither ninja nor apt-get. Each word asks for what it needs, and
# for no more.
for tool in bash cat ls; do ln -s "$(command -v "$tool")" "$work/$tool"; done
missing() {
    if PATH=$work "$work/bash" "$TUTTI_SOURCE/scripts/setup.sh" "$@" >"$work/said" 2>&1; then
        echo 'setup.sh is content with an empty system' && exit 1
    fi
    grep -q '^setup: this system has no apt-get' "$work/said"
    missing=$(grep '^setup: missing: cmake ninja-build .*libhwloc-dev' "$work/said")
}
missing demo
[[ $missing == *perl* && ! $missing =~ clang|libcmocka|chromium|libsimgrid|libucx ]]
missing build
[[ $missing == *libucx-dev* && ! $missing =~ clang|libcmocka|chromium|libsimgrid ]]
missing
[[ $missing == *libucx-dev*clang*libcmocka-dev*chromium* ]]
