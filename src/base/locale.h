/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers and letters as in the "C" locale. A program may call setlocale, as Python does when it
 * starts. From then on, strtod and printf may expect and print a comma in a number, and tolower may
 * know other pairs of letters. Settings, the files of Tutti and JSON must not depend on that.
 */
#ifndef TT_LOCALE_H
#define TT_LOCALE_H

#include <locale.h>
#include <stdlib.h>

/* Sets the locale of the calling thread to "C", and returns the thread's former locale, for
 * tt_locale_leave. The C libraries glibc and musl return a constant object for the locale "C", so
 * newlocale does not fail and there is nothing to free. */
static inline locale_t tt_locale_enter(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static inline void tt_locale_leave(locale_t former)
{
    uselocale(former);
}

/* Converts a decimal as strtod does in the locale "C". */
static inline double tt_parse_decimal(const char *text, char **end)
{
    locale_t former = tt_locale_enter();
    double value = strtod(text, end);
    tt_locale_leave(former);
    return value;
}

#endif
