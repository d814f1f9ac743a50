# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Locales for tests whose programs call setlocale.

# has_locale NAME: makes a locale such as de_DE in the folder `locales`, and sets the words of
# in_locale, which run a command in this locale. Fails if this machine cannot make the locale.
has_locale() {
    local folder=$PWD/locales
    # shellcheck disable=SC2034
    in_locale=(env "LOCPATH=$folder" "LC_ALL=$1.UTF-8")
    mkdir -p "$folder"
    localedef -c -i "$1" -f UTF-8 "$folder/$1.UTF-8" >"$folder/log" 2>&1 || [ -d "$folder/$1.UTF-8" ]
}
