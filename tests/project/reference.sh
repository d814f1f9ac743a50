#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The reference of the public functions: it can be built, every public name is in it, and a
# declaration without a comment is an error.
set -euo pipefail
die() {
    echo "FAILED: $1" >&2
    exit 1
}
command -v doxygen >/dev/null || exit 77

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# write HEADERS: writes the reference of a folder of headers.
write() {
    sed -e "s|^INPUT  .*|INPUT = $1|" -e "s|^OUTPUT_DIRECTORY .*|OUTPUT_DIRECTORY = $work/out|" \
        "$TUTTI_BUILD/Doxyfile" >Doxyfile
    rm -rf out && mkdir out
    doxygen Doxyfile >log 2>&1
}

"$CMAKE" --build "$TUTTI_BUILD" --target reference >log 2>&1 || die "the target reference: $(cat log)"
pages=$TUTTI_BUILD/reference/man/man3
[ -s "$TUTTI_BUILD/reference/html/index.html" ] || die 'there is no index.html'
stray=$(find "$pages" -type f ! -iname 'tutti*')
[ -z "$stray" ] || die "pages with names of nobody: $stray"

# Every exported function, and every enumerator that the headers or their lists name, has a page.
names=$(sed -n 's/^ *\(tutti_[a-z_]*\);.*/\1/p' "$TUTTI_SOURCE/cmake/tutti.map")
names+=" $(cat "$TUTTI_SOURCE"/include/tutti/*.h | sed -nE 's/^ +X\(([A-Z0-9_]+), .*/TUTTI_\1/p; s/^ +(TUTTI_[A-Z0-9_]+)( = .*|,.*)/\1/p')"
[ "$(wc -w <<<"$names")" -gt 150 ] || die "few names: $names"
for name in $names; do
    [ -s "$pages/$name.3" ] || die "$name has no page"
done
grep -q 'Copies buffer\[0' "$pages/tutti-collectives.3" || die 'tutti_bcast has no description'
grep -q 'three forms that run the same' "$pages/tutti-collectives.3" || die 'the collectives have no description'

# A function and a member of a struct without a comment are errors.
cp -r "$TUTTI_SOURCE/include/tutti" headers
write headers || die "the copy of the headers: $(cat log)"
printf '\nTUTTI_API int tutti_bare(void);\n' >>headers/type.h
! write headers || die 'a function without a comment is no error'
grep -q 'tutti_bare.*is not documented' log || die "another error: $(cat log)"
cp "$TUTTI_SOURCE/include/tutti/type.h" headers
sed -i 's|^    int64_t offset; .*|    int64_t offset;|' headers/type.h
! write headers || die 'a member without a comment is no error'
grep -q 'offset.*is not documented' log || die "another error: $(cat log)"
