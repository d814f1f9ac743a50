#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs, moves the result elsewhere, and there builds and runs a small program in C and in C++,
# by pkg-config and by find_package, with the shared and with the static library.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
unset LD_LIBRARY_PATH PKG_CONFIG_PATH

cmake --install "$TUTTI_BUILD" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved
library=$(dirname "$(find "$prefix" -name libtutti.so)")
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library

die() {
    echo "install: $*" >&2
    exit 1
}
version=$(sed -n 's/^#define TUTTI_VERSION "\(.*\)"/\1/p' "$prefix/include/tutti/tutti.h")
runs() {
    local said
    said=$("$@")
    [ "$said" = "$version" ] || die "$1 says '$said', the header says '$version'"
}

[ "$(pkg-config --modversion tutti)" = "$version" ] || die 'tutti.pc has another version'
readelf -d "$library/libtutti.so" | grep -q 'SONAME.*\[libtutti.so.0\]' || die 'not libtutti.so.0'
needed=$(readelf -d "$library/libtutti.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libhwloc|libc|libm|ld-linux.*)\.so' || true)
[ -z "$needed" ] || die "libtutti.so needs more than docs/dependencies.md says: $needed"

read -ra flags <<<"$(pkg-config --cflags --libs tutti)"
# Only Tutti's part is static here: what hwloc is made of need not be installed for a program.
read -ra hwloc <<<"$(pkg-config --libs hwloc)"
"$CC" -Wall -Werror "$here/external/version.c" -o "$work/c-shared" "${flags[@]}"
runs "$work/c-shared"
g++ -std=c++17 -Wall -Werror "$here/external/version.cpp" -o "$work/cpp-shared" "${flags[@]}"
runs "$work/cpp-shared"
"$CC" "$here/external/version.c" -o "$work/c-static" -I "$prefix/include" "$library/libtutti.a" \
    "${hwloc[@]}" -pthread -lm
LD_LIBRARY_PATH='' runs "$work/c-static"

# Each header stands on its own.
for header in "$prefix"/include/tutti/*.h; do
    "$CC" -std=c11 -Wall -Werror -fsyntax-only -x c "$header" -I "$prefix/include"
    g++ -std=c++17 -Wall -Werror -fsyntax-only -x c++ "$header" -I "$prefix/include"
done

env -u CC cmake -G Ninja -S "$here/external" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/build" >/dev/null
for program in c-shared c-static cpp-shared; do runs "$work/build/$program"; done

# What else there is to install is installed.
for page in "$TUTTI_SOURCE"/docs/man/*.[13]; do
    [ -e "$page" ] || continue
    [ -n "$(find "$prefix" -path "*/man${page##*.}/${page##*/}")" ] || die "no ${page##*/}"
done
if [ -x "$TUTTI_BUILD/bin/tutti" ]; then
    "$prefix/bin/tutti" --version | grep -qF "$version" || die 'tutti --version'
fi
if [ -e "$TUTTI_SOURCE/scripts/tutti.bash-completion" ]; then
    cmp "$TUTTI_SOURCE/scripts/tutti.bash-completion" "$prefix/share/bash-completion/completions/tutti"
fi
