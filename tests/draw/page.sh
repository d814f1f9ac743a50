#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the page that shows a picture in a headless browser. Skipped where there is none.
set -euo pipefail

export TUTTI_TEST_PAGE_FRAME=$TUTTI_BUILD/tests/page-frame

# python3-selenium of Debian belongs to Debian's Python, which need not be the first Python in PATH.
python=/usr/bin/python3
"$python" -c 'import selenium' 2>/dev/null || python=python3
if ! "$python" -c 'import selenium' 2>/dev/null || ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    echo 'no chromium, chromedriver or python3-selenium here'
    exit 77
fi
# The driver connects to the browser by the name localhost.
if ! "$python" -c 'import socket; socket.getaddrinfo("localhost", 0)' 2>/dev/null; then
    echo 'this system has no address for the name localhost (in /etc/hosts), by which chromedriver speaks to the browser'
    exit 77
fi
exec timeout --kill-after=20 280 "$python" -B "$TUTTI_SOURCE/tests/draw/page.py"
