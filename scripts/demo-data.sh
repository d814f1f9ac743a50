#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Writes real text for sorting into a folder, the same text at each call: docs.txt, the
# documentation of perl's own modules (about 4 MB of English prose; perl comes with git), and
# licences.txt, the texts in /usr/share/common-licenses, which every Debian has. Both are free.
# Nothing is downloaded.
set -euo pipefail

stop() {
    echo "demo-data: $*" >&2
    exit 1
}

if [ $# -ne 1 ]; then stop 'usage: demo-data.sh FOLDER'; fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
command -v perl >/dev/null || stop 'perl is not installed (Debian package: perl)'
modules=$(perl -MConfig -e 'print $Config{privlib}')
licences=/usr/share/common-licenses
[ -d "$licences" ] || stop "there is no $licences (Debian package: base-files)"

# Documentation is between =word and =cut at the starts of lines.
(cd -P "$modules" && find . -type f \( -name '*.pm' -o -name '*.pod' \) -print0 | LC_ALL=C sort -z |
    LC_ALL=C xargs -0 perl -ne 'print if /^=[a-zA-Z]/ .. (/^=cut/ || eof)') >"$folder/docs.txt"
[ -s "$folder/docs.txt" ] || stop "found no documentation in $modules (Debian package: perl-modules)"

# Some names in the folder are symbolic links to other files there; `-type f` leaves them out.
find "$licences" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat >"$folder/licences.txt"
