#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the library, moves the installation elsewhere, and there builds and runs a small program
# in C and in C++, with pkg-config and with find_package, with the shared and the static library.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
unset LD_LIBRARY_PATH PKG_CONFIG_PATH

# With --component CMake does not overwrite the list of the files that the user has installed,
# install_manifest.txt, which may belong to root.
cmake --install "$TUTTI_BUILD" --component Unspecified --prefix "$work/first" >/dev/null
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
grep -q 'SONAME.*\[libtutti.so.0\]' <<<"$(readelf -d "$library/libtutti.so")" || die 'not libtutti.so.0'
needed=$(readelf -d "$library/libtutti.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libhwloc|libc|libm|ld-linux.*)\.so' || true)
[ -z "$needed" ] || die "libtutti.so needs more than docs/dependencies.md says: $needed"

read -ra flags <<<"$(pkg-config --cflags --libs tutti)"
# Only Tutti is linked statically: a program does not need the libraries on which hwloc depends.
read -ra hwloc <<<"$(pkg-config --libs hwloc)"
"$CC" -Wall -Werror "$here/external/version.c" -o "$work/c-shared" "${flags[@]}"
runs "$work/c-shared"
g++ -std=c++17 -Wall -Wextra -Wold-style-cast -pedantic -Werror "$here/external/version.cpp" -o "$work/cpp-shared" "${flags[@]}"
runs "$work/cpp-shared"
"$CC" "$here/external/version.c" -o "$work/c-static" -I "$prefix/include" "$library/libtutti.a" \
    "${hwloc[@]}" -pthread -lm
LD_LIBRARY_PATH='' runs "$work/c-static"

# Each header compiles without any other header before it.
for header in "$prefix"/include/tutti/*.h; do
    "$CC" -std=c11 -Wall -Werror -fsyntax-only -x c "$header" -I "$prefix/include"
    g++ -std=c++17 -Wall -Wextra -Wold-style-cast -pedantic -Werror -fsyntax-only -x c++ "$header" -I "$prefix/include"
done

env -u CC cmake -G Ninja -S "$here/external" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/build" >/dev/null
for program in c-shared c-static cpp-shared; do runs "$work/build/$program"; done
# A plug-in that contains the static library stays in memory after a dlclose, as libtutti.so does.
grep -q 'FLAGS_1.*NODELETE' <<<"$(readelf -d "$work/build/libplug-in.so")" || die 'a plug-in with libtutti.a can be unloaded'

# A project in a language that needs no compiler of C, such as Fortran, finds the package, too.
mkdir "$work/none"
cat >"$work/none/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(none LANGUAGES NONE)
find_package(Tutti 0.1 REQUIRED)
PROJECT
cmake -S "$work/none" -B "$work/none/build" -D CMAKE_PREFIX_PATH="$prefix" >/dev/null || die 'find_package without C'

# find_package takes the Tutti whose folder `bin` comes first in PATH: the installed one, or a build
# that is not installed.
# found FOLDER: expects that find_package finds the package in FOLDER with this PATH.
found() {
    rm -rf "$work/build"
    env -u CC cmake -G Ninja -S "$here/external" -B "$work/build" >/dev/null
    grep -qxF "Tutti_DIR:PATH=$1" "$work/build/CMakeCache.txt" ||
        die "not $1: $(grep Tutti_DIR "$work/build/CMakeCache.txt")"
    cmake --build "$work/build" >/dev/null
    for program in c-shared c-static cpp-shared; do runs "$work/build/$program"; done
}
PATH=$prefix/bin:$PATH found "$library/cmake/Tutti"
PATH=$TUTTI_BUILD/bin:$prefix/bin:$PATH found "$TUTTI_BUILD"

# Another project may contain the sources. Its build then makes only the library. Its own targets
# may have any names, it has its own tests only, and its programs keep their assertions.
mkdir "$work/around"
cp "$here/external/version.c" "$work/around"
cat >"$work/around/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(around LANGUAGES C)
set(CMAKE_UNITY_BUILD ON)
add_subdirectory($TUTTI_SOURCE tutti EXCLUDE_FROM_ALL)
set(CMAKE_UNITY_BUILD OFF)
add_executable(around version.c)
target_link_libraries(around PRIVATE Tutti::tutti)
enable_testing()
add_test(NAME own COMMAND around)
foreach(name IN ITEMS hello heat train manual reference Experimental library-build mpi-build choose-build)
  add_custom_target(\${name})
endforeach()
PROJECT
cmake -G Ninja -S "$work/around" -B "$work/around/build" -D CMAKE_INSTALL_PREFIX=/usr >/dev/null
tests=$(cd "$work/around/build" && ctest -N)
grep -qx 'Total Tests: 1' <<<"$tests" || die "add_subdirectory: other tests: $tests"
steps=$(ninja -C "$work/around/build" -t commands all)
grep -q -- '-o around .*libtutti.so' <<<"$steps" || die 'add_subdirectory: the program is not linked to Tutti'
! grep -E 'tutti/(tests|tools|lab|examples)/' <<<"$steps" || die 'add_subdirectory builds more than the library'
! grep -E -- ' -(DNDEBUG|O).* -c [^ ]*/around/version\.c' <<<"$steps" || die 'add_subdirectory changes how the program is compiled'
grep -q -- ' -O3 .*-c [^ ]*/src/api/client\.c' <<<"$steps" || die 'add_subdirectory: the library is not compiled with -O3'
# With the prefix /usr, there is no -I or -L for the folders of the system.
read -ra usr <<<"$(PKG_CONFIG_PATH=$work/around/build/tutti pkg-config --cflags --libs tutti)"
[ "${usr[*]}" = -ltutti ] || die "tutti.pc under /usr: ${usr[*]}"

# The installed library finds the laboratory beside it, without LD_LIBRARY_PATH.
printf 'tutti plan 1\nplan barrier algorithm none rank r of p type i8\nlane 0\n' >"$work/none.plan"
cat >"$work/barrier.c" <<'PROGRAM'
#include <stdio.h>
#include <tutti/tutti.h>
int main(void)
{
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) return 1;
    puts(tutti_barrier(tutti_world(client)) == TUTTI_OK ? "proven" : tutti_error());
    return tutti_finalize(client) != TUTTI_OK;
}
PROGRAM
"$CC" "$work/barrier.c" -o "$work/barrier" "${flags[@]}" -Wl,-rpath,"$library"
said=$(env -u LD_LIBRARY_PATH TUTTI_ALGORITHM=barrier=@"$work/none.plan" "$work/barrier")
[ "$said" = proven ] || die "a plan file in an installed program: $said"

# All other files that belong to an installation are installed.
for page in "$TUTTI_SOURCE"/docs/man/*.man; do
    page=${page##*/}
    cmp "$TUTTI_BUILD/man/${page%.man}.1" "$prefix/share/man/man1/${page%.man}.1" || die "no ${page%.man}.1"
done
if [ -x "$TUTTI_BUILD/bin/tutti" ]; then
    "$prefix/bin/tutti" --version | grep -qF "$version" || die 'tutti --version'
fi
if [ -e "$TUTTI_SOURCE/scripts/tutti.bash-completion" ]; then
    cmp "$TUTTI_SOURCE/scripts/tutti.bash-completion" "$prefix/share/bash-completion/completions/tutti"
fi
