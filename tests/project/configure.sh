#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# CMake makes warnings errors in each preset, and not in a plain build of a user. It refuses to
# build in the folder of the sources.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CC CMAKE_GENERATOR
cd "$work"

die() {
    echo "configure: $*" >&2
    exit 1
}

# A project that compiles nothing, with Tutti's presets and options.
mkdir options
cp "$TUTTI_SOURCE/CMakePresets.json" options
cat >options/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(options LANGUAGES NONE)
include($TUTTI_SOURCE/cmake/compiler.cmake)
message(STATUS "errors: '\${CMAKE_COMPILE_WARNING_AS_ERROR}'")
END
# errors WANTED ARG...: expects this value when CMake gets these arguments.
errors() {
    "$CMAKE" -S options -B build "${@:2}" >out 2>&1 || die "cmake ${*:2}: $(cat out)"
    grep -qxF -- "-- errors: '$1'" out || die "cmake ${*:2}: $(cat out)"
    rm -r build
}
presets=$(cd options && "$CMAKE" --list-presets | sed -n 's/^ *"\([a-z]*\)".*/\1/p')
[ "$(wc -w <<<"$presets")" -ge 5 ] || die "few presets: $presets"
for preset in $presets; do errors ON --preset "$preset"; done
errors OFF --preset release -D CMAKE_COMPILE_WARNING_AS_ERROR=OFF
errors '' -G Ninja

mkdir sources
cp "$TUTTI_SOURCE/CMakeLists.txt" sources
if (cd sources && "$CMAKE" -G Ninja .) >out 2>&1; then die 'a build in the folder of the sources'; fi
grep -q 'cmake -G Ninja -S . -B build/release' out || die "not what to do: $(cat out)"
(cd sources && eval "$(sed -n 's/^ *\(rm -r .*\)/\1/p' ../out)" && [ "$(ls -A)" = CMakeLists.txt ]) ||
    die "files stay: $(ls -A sources)"
