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

# An administrator installs what is missing for a user, who then builds in the folder of the
# sources. The files that the script leaves there belong to the owner of the sources.
if [ "$(id -u)" -eq 0 ] && ! PATH=$PATH:/usr/sbin command -v slurmctld >/dev/null; then
    mkdir -p "$work/tree/scripts" "$work/fake"
    cp "$TUTTI_SOURCE/scripts/setup.sh" "$work/tree/scripts"
    chown -R 65534:65534 "$work/tree"
    cat >"$work/fake/apt-get" <<'END'
#!/bin/bash
case $1 in
    install) echo 'Inst slurmd (22.05)' ;;
    download) : >slurmd.deb ;;
esac
END
    printf '#!/bin/bash\nmkdir -p usr/sbin && : >usr/sbin/slurmd-wlm\n' >"$work/fake/dpkg-deb"
    chmod +x "$work/fake/apt-get" "$work/fake/dpkg-deb"
    PATH=$work/fake:$PATH "$work/tree/scripts/setup.sh" test
    [ -e "$work/tree/build/slurm/usr/sbin/slurmd-wlm" ]
    [ -z "$(find "$work/tree" ! -user 65534)" ] || { echo 'setup.sh leaves files of root' && exit 1; }
fi
