/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading arguments: a wrong one is told with what would be right.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

int64_t tt_arg_number(const struct argp_state *state, const char *option, const char *text,
                      int64_t least, int64_t most)
{
    int64_t value;
    if (!tt_parse_size(text, text + strlen(text), &value) || value < least || value > most)
        argp_error(state, "%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, option,
                   text, least, most);
    return value;
}

int64_t tt_arg_seconds(const struct argp_state *state, const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 1e9)
        argp_error(state, "%s: '%s' is not a number of seconds, more than 0", option, text);
    return (int64_t)fmax(value * 1e9, 1);
}

/* How many letters to insert, remove, replace or swap with their neighbour to make b of a. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t la = strlen(a), lb = strlen(b), d[MOST + 1][MOST + 1];
    if (la > MOST || lb > MOST) return SIZE_MAX;
    for (size_t i = 0; i <= la; i++) {
        for (size_t j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t dropped = (d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]) + 1;
            d[i][j] = replaced < dropped ? replaced : dropped;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < d[i][j]) d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[la][lb];
}

const char *tt_nearest(const char *text, const char *const *words, size_t n)
{
    const char *nearest = NULL;
    size_t least = strlen(text) < 4 ? 2 : 3; /* as much as may be wrong, plus one */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(text, words[i]);
        if (d >= least) continue;
        least = d;
        nearest = words[i];
    }
    return nearest;
}
