#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs what is missing to build, test and demonstrate Tutti. A thing is missing if it cannot be
# found where the build will look for it, whatever put it there, so that only a system that lacks
# something needs apt, and root or sudo.
set -euo pipefail

# package, and the test that shows it is there
needs() {
    cat <<'LIST'
cmake               command -v cmake
ninja-build         command -v ninja
gcc                 command -v gcc
g++                 command -v g++
libc6-dev           test -e /usr/include/stdio.h
clang               command -v clang
clang-format        command -v clang-format
libclang-rt-14-dev  ls "$(clang -print-resource-dir)"/lib/linux/libclang_rt.asan-*.a
pkg-config          command -v pkg-config
libhwloc-dev        pkg-config --exists hwloc
libucx-dev          pkg-config --exists ucx
iproute2            command -v ip
libcmocka-dev       pkg-config --exists cmocka
libcjson-dev        pkg-config --exists libcjson
python3             command -v python3
shellcheck          command -v shellcheck
git                 command -v git
procps              command -v pgrep
perl                perl -MPod::Text -e 1
bsdutils            command -v script
libsimgrid-dev      pkg-config --exists simgrid
graphviz            command -v dot
librsvg2-2          ls /usr/lib/*/librsvg-2.so.2
chromium            command -v chromium
chromium-driver     command -v chromedriver
libpmix-dev         pkg-config --exists pmix
openmpi-bin         command -v mpirun
iproute2            command -v ip
python3-selenium    /usr/bin/python3 -c 'import selenium'
LIST
}

missing=()
look() {
    local package probe
    missing=()
    while read -r package probe; do
        bash -c "$probe" >/dev/null 2>&1 </dev/null || missing+=("$package")
    done < <(needs)
}

stop() {
    printf 'setup: %s\nsetup: missing: %s\n' "$1" "${missing[*]}" >&2
    exit 1
}

look
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

command -v apt-get >/dev/null ||
    stop 'this system has no apt-get: please install what these Debian packages hold, then try again'
become=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop 'neither root nor sudo: please have these packages installed'
    become=(sudo)
fi

echo "setup: installing ${missing[*]}"
apt=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
"${apt[@]}" update </dev/null || stop 'apt-get update failed (its words are above)'
"${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null ||
    stop 'apt-get install failed (its words are above)'

look
if [ ${#missing[@]} -ne 0 ]; then stop 'installed, but still not found'; fi
