/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the word that was probably meant by a mistyped word.
 */
#include <string.h>

#include "base/base.h"

enum { LETTERS = 32 }; /* longer words are similar to no word */

/* Computes d[i][j], the distance between the first i letters of a and the first j letters of b. */
static size_t cell(const char *a, const char *b, size_t i, size_t j,
                   size_t d[LETTERS + 1][LETTERS + 1])
{
    if (i == 0 || j == 0) return i + j;
    size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
    size_t least = (d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]) + 1;
    bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
    if (replaced < least) least = replaced;
    return swapped && d[i - 2][j - 2] + 1 < least ? d[i - 2][j - 2] + 1 : least;
}

/* Returns how many letters must be inserted, removed, replaced or swapped with their neighbour to
 * turn a into b. */
static size_t distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b), d[LETTERS + 1][LETTERS + 1];
    if (la > LETTERS || lb > LETTERS) return SIZE_MAX;
    for (size_t i = 0; i <= la; i++)
        for (size_t j = 0; j <= lb; j++) d[i][j] = cell(a, b, i, j, d);
    return d[la][lb];
}

/* Returns the shortest word that begins with the text, or with which the text begins, such as
 * "bench" for "benchmark". The word and the text must have at least three letters in common. */
static const char *nearest_beginning(const char *text, const char *const *words, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t common = (size_t)tt_min((int64_t)strlen(text), (int64_t)strlen(words[i]));
        if (common < 3 || strncmp(text, words[i], common) != 0) continue;
        if (!found || strlen(words[i]) < strlen(found)) found = words[i];
    }
    return found;
}

/* Returns the word with the least distance from the text, if this distance is below `least`; else
 * NULL. */
static const char *nearest_letters(const char *text, const char *const *words, size_t n,
                                   size_t least)
{
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(text, words[i]);
        if (d >= least) continue;
        least = d;
        nearest = words[i];
    }
    return nearest;
}

/* One wrong letter is better evidence than a common beginning, and a common beginning is better
 * evidence than two wrong letters: ALGO is more probably short for ALGORITHM than a mistyped
 * LOG. */
const char *tt_nearest(const char *text, const char *const *words, size_t n)
{
    const char *nearest = nearest_letters(text, words, n, 2);
    if (!nearest) nearest = nearest_beginning(text, words, n);
    if (!nearest && strlen(text) > 3) nearest = nearest_letters(text, words, n, 3);
    return nearest;
}
