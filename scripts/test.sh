#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sets up, builds, and runs every test. The other compilers and sanitizers are tests of the release
# build themselves (tests/project/matrix.sh), so one summary by ctest, the last thing printed, is
# about everything. Arguments go to ctest: `scripts/test.sh -LE matrix` leaves the others out.
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

scripts/setup.sh test
cmake --preset release -D TUTTI_BUILD_TESTS=ON
cmake --build --preset release
exec ctest --test-dir build/release -j "$(nproc)" --output-on-failure --no-label-summary "$@"
