#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sets up, builds, and runs every test. The builds with other compilers and with sanitizers are
# themselves tests of the release build (tests/project/matrix.sh). One summary by ctest, the last
# output, therefore covers everything. Arguments go to ctest: `scripts/test.sh -LE matrix` leaves
# the other builds out.
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

scripts/setup.sh test
# The tests need no debug information about variables, and without it gcc compiles the library in a
# fifth less time.
cmake --preset release -D TUTTI_BUILD_TESTS=ON -D TUTTI_DEBUG_INFO=-g1
cmake --build --preset release
# Many tests sleep most of the time, so two more run at once than there are processors.
exec ctest --test-dir build/release -j $(($(nproc) + 2)) --output-on-failure --no-label-summary "$@"
