#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The examples of documents, checked or run: documents.py says how.
set -euo pipefail
cd "$TUTTI_SOURCE"
exec python3 tests/project/documents.py "$@"
