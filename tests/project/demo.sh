#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs scripts/demo.sh without its set-up and build: the result must be that of sort(1).
set -euo pipefail

"$TUTTI_SOURCE/scripts/demo.sh" | tail -n 1 | grep -q '^demo: the result is, byte for byte, that of LC_ALL=C sort: [0-9]* bytes$'
