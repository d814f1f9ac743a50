/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multikey quicksort (Bentley and Sedgewick, SODA 1997), seven bytes at a time. The key of a line
 * at a depth holds the next seven bytes, padded with zeros, and in its lowest byte the number of
 * these bytes:
 *
 *     "tutti" -> t u t t i 0 0 | 5        "tutti\0" -> t u t t i 0 0 | 6
 *     "tutti frutti" -> t u t t i _ f | 8   (_: a blank; 8: the line goes on)
 *
 * So one comparison of integers decides, zero bytes included. Lines with the same key are equal if
 * its lowest byte is less than 8. Otherwise the lines go on, and they are sorted among themselves,
 * seven bytes deeper.
 */
#include "samplesort.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 7, GOES_ON = 8, FEW = 12 };

static uint64_t key_at(const struct line *line, int64_t depth)
{
    int64_t left = line->len - depth;
    uint64_t word = 0;
    if (left > KEY_BYTES) {
        memcpy(&word, line->bytes + depth, sizeof word);
        return (be64toh(word) & ~UINT64_C(0xff)) | GOES_ON;
    }
    memcpy(&word, line->bytes + depth, (size_t)left);
    return be64toh(word) | (uint64_t)left;
}

int line_compare(const struct line *a, const struct line *b)
{
    int64_t shorter = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->bytes, b->bytes, (size_t)shorter);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* Returns whether a comes before b. The lines agree before `depth`, and their keys are of that
 * depth. */
static bool below(const struct line *a, const struct line *b, int64_t depth)
{
    if (a->key != b->key) return a->key < b->key;
    if ((a->key & 0xff) != GOES_ON) return false;
    struct line rest_a = {0, a->bytes + depth, a->len - depth};
    struct line rest_b = {0, b->bytes + depth, b->len - depth};
    return line_compare(&rest_a, &rest_b) < 0;
}

bool line_below(const struct line *a, const struct line *b)
{
    return below(a, b, 0);
}

void line_set_key(struct line *line)
{
    line->key = key_at(line, 0);
}

static void sort_few(struct line *at, int64_t n, int64_t depth)
{
    for (int64_t i = 1; i < n; i++) {
        struct line line = at[i];
        int64_t j = i;
        for (; j > 0 && below(&line, &at[j - 1], depth); j--) at[j] = at[j - 1];
        at[j] = line;
    }
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a < b) return b < c ? b : a < c ? c : a;
    return a < c ? a : b < c ? c : b;
}

static uint64_t median_near(const struct line *at, int64_t step)
{
    return median(at[0].key, at[step].key, at[2 * step].key);
}

/* Returns a pivot: the median of three medians of keys from all over the lines. */
static uint64_t pivot_of(const struct line *at, int64_t n)
{
    int64_t step = n / 9;
    if (step == 0) return at[n / 2].key;
    return median(median_near(at, step), median_near(at + 3 * step, step),
                  median_near(at + 6 * step, step));
}

static void swap(struct line *a, struct line *b)
{
    struct line old = *a;
    *a = *b;
    *b = old;
}

/* Sorts the lines by key, so that [0, *less) are below the pivot, [*less, *more) equal to it, and
 * [*more, n) above it. */
static void partition(struct line *at, int64_t n, uint64_t pivot, int64_t *less, int64_t *more)
{
    int64_t low = 0, high = n;
    for (int64_t i = 0; i < high;) {
        if (at[i].key < pivot) {
            swap(&at[i++], &at[low++]);
        } else if (at[i].key > pivot) {
            swap(&at[i], &at[--high]);
        } else {
            i++;
        }
    }
    *less = low;
    *more = high;
}

struct range {
    struct line *at;
    int64_t n, depth;
};

static void range_swap(struct range *a, struct range *b)
{
    struct range old = *a;
    *a = *b;
    *b = old;
}

static void fill_keys(const struct range *range)
{
    for (int64_t i = 0; i < range->n; i++) range->at[i].key = key_at(&range->at[i], range->depth);
}

/* Cuts a range into the lines whose key is below, equal to and above the pivot. Equal lines are
 * sorted further from the next depth on, unless they end within the key. */
static void cut(const struct range *range, struct range part[3])
{
    int64_t less, more;
    uint64_t pivot = pivot_of(range->at, range->n);
    partition(range->at, range->n, pivot, &less, &more);
    part[0] = (struct range){range->at, less, range->depth};
    part[1] = (struct range){range->at + less, more - less, range->depth + KEY_BYTES};
    part[2] = (struct range){range->at + more, range->n - more, range->depth};
    if ((pivot & 0xff) == GOES_ON) {
        fill_keys(&part[1]);
    } else {
        part[1].n = 0;
    }
}

/* How far the sorting is, for the progress bar. */
struct sort_tally {
    struct job *job;
    int64_t done, total, shown;
};

static void tally_add(struct sort_tally *tally, int64_t n)
{
    tally->done += n;
    if (tally->done - tally->shown < 1 << 14) return;
    tally->shown = tally->done;
    job_progress(tally->job, "sorting", tally->done, tally->total);
}

/* Sorts a range. Recurses into the two smaller parts, which have at most half of the lines, and
 * loops on the largest. So the depth of the recursion is at most the logarithm of the number of
 * lines, even if many lines have a long beginning in common. */
static void sort_range(struct range range, struct sort_tally *tally)
{
    while (range.n > FEW) {
        struct range part[3];
        cut(&range, part);
        tally_add(tally, range.n - part[0].n - part[1].n - part[2].n);
        if (part[0].n > part[1].n) range_swap(&part[0], &part[1]);
        if (part[1].n > part[2].n) range_swap(&part[1], &part[2]);
        sort_range(part[0], tally);
        sort_range(part[1], tally);
        range = part[2];
    }
    sort_few(range.at, range.n, range.depth);
    tally_add(tally, range.n);
}

static int64_t count_lines(const struct text *text)
{
    int64_t n = 0;
    const char *at = text->bytes + text->begin, *end = text->bytes + text->used;
    for (; at < end; n++) at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    return n;
}

static void find_lines(const struct text *text, struct lines *lines)
{
    const char *at = text->bytes + text->begin, *end = text->bytes + text->used;
    for (int64_t i = 0; i < lines->n; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        lines->at[i] = (struct line){0, at, newline - at};
        at = newline + 1;
    }
}

void lines_free(struct lines *lines)
{
    free(lines->at);
    *lines = (struct lines){0};
}

bool lines_sort(struct job *job, const struct text *text, struct lines *lines)
{
    lines->n = text->used > 0 ? count_lines(text) : 0;
    lines->bytes = text->used - text->begin;
    lines->at = job_alloc(job, lines->n * (int64_t)sizeof *lines->at, "the lines");
    if (!lines->at) return false;
    if (lines->n > 0) find_lines(text, lines);
    struct range all = {lines->at, lines->n, 0};
    struct sort_tally tally = {job, 0, lines->n, 0};
    fill_keys(&all);
    sort_range(all, &tally);
    return true;
}
