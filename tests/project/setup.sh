#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Where everything is installed, scripts/setup.sh changes nothing and prints nothing. Where
# something is missing and there is no apt-get, it names the packages and stops. The demo needs
# fewer packages than the tests.
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

# A system with hardly more than a shell: neither ninja nor apt-get. For each argument the script
# asks for the packages that it needs, and no others.
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
