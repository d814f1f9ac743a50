#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks or runs the examples of documents with documents.py.
set -euo pipefail
cd "$TUTTI_SOURCE"
exec python3 tests/project/documents.py "$@"
