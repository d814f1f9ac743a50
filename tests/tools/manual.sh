#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The manual pages: each command has one, it has the options and texts of --help, and man finds no
# fault in its format.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

maker=$TUTTI_SOURCE/docs/man/page
tutti=$(command -v tutti)

# Prints the lines of a page as a reader sees them, without the requests for bold and italic text.
plain() { sed -e "s/\\\\(aq/'/g" -e 's/\\f[BIR]//g' -e 's/\\://g' -e 's/\\-/-/g' -e 's/\\&//g' -e 's/\\e/\\/g' "$1"; }
# Two functions that print the options of a page, and those in the output of --help, each as
# "--option=VALUE" with its short form.
options_of_page() { plain "$1" | grep -A1 '^\.TP' | grep -E '^--?[a-zA-Z]' | sort; }
options_of_help() { sed -nE 's/^ {2,6}((-[a-zA-Z?], )?--[a-z][^ ]*|-x [^ ]+).*/\1/p' "$1" | sort; }

check_page() {
    local name=$1 line
    shift
    expect 0 "$maker" "$tutti" "$name" .
    expect 0 tutti "$@" --help
    grep -q "^\.TH ${name^^} 1 " <(plain "$name.1") || fail "$name.1 has no title"
    diff <(options_of_help out) <(options_of_page "$name.1") >differ ||
        fail "$name.1 has other options than --help: $(cat differ)"
    [ "$(options_of_help out | wc -l)" -ge 3 ] || fail "$name --help has no options"
    # The text of each option is in --help, which has it in several lines and without a period.
    tr -d '`' <out | tr -s ' \n' ' ' >flat
    while read -r line; do
        grep -qiF -- "${line%.}" flat || fail "--help of $name does not say: $line"
    done < <(plain "$name.1" | grep -A2 '^\.TP' | grep -A1 -E '^--?[a-zA-Z]' | grep -vE '^-')
    if command -v man >/dev/null; then
        # A narrow terminal shows which lines cannot be broken.
        for width in 60 80; do
            LC_ALL=C.UTF-8 MANWIDTH=$width man --warnings -E UTF-8 -l -Tutf8 -Z "$name.1" >/dev/null 2>warnings
            [ ! -s warnings ] || fail "man warns of $name.1 at $width columns: $(cat warnings)"
        done
    fi
}

commands=$(tutti --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 9 ] || fail 'few commands'
check_page tutti
for command in $commands; do
    check_page "tutti-$command" "$command"
    grep -qxF ".BR tutti\\-$command (1)" tutti.1 || fail "tutti.1 does not name tutti-$command"
done
for source in "$TUTTI_SOURCE"/docs/man/*.man; do
    [ -e "$(basename "$source" .man).1" ] || fail "$source is for no command"
done

# The page and docs/tuning.md name the same environment variables.
variables() { grep -ohE 'TUTTI_[A-Z_]+' "$1" | sort -u; }
diff <(variables "$TUTTI_SOURCE/docs/tuning.md") <(variables tutti.1) >differ ||
    fail "tutti.1 and docs/tuning.md differ: $(cat differ)"

# The source of a manual page adds texts to options and sections. A text for an option that the
# command does not have is an error, and so are two texts for one option or section.
cp "$maker" "$TUTTI_SOURCE"/docs/man/tutti-plan.man .
printf '.\\" more: --no-such-option\nText.\n' >>tutti-plan.man
expect 1 ./page "$tutti" tutti-plan .
says err 'tutti-plan.man: the command has no --no-such-option'
printf '.\\" more: SECTIONS\nText.\n' >>tutti-plan.man
expect 1 ./page "$tutti" tutti-plan .
says err 'tutti-plan.man: two texts for SECTIONS'
