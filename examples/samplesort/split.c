/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides which line goes to which rank, by regular sampling (Shi and Schaeffer, JPDC 1992). The
 * weight of a line is its bytes plus a constant cost of handling a line. Every rank goes through
 * its sorted lines and takes a line as a sample whenever the sum of the weights passes the next
 * multiple of `step`. All samples, sorted, represent all lines. Of n samples, every (n / p)-th is a
 * splitter. Lines are ordered by (text, rank, index in that rank), which is unique, so that equal
 * lines are spread over the ranks as well, even if there are no others.
 *
 * Every rank holds all samples, and a line may be huge. A line over SAMPLE_MAX bytes therefore
 * contributes only its beginning, as a sample that comes before all lines with that beginning.
 */
#include "samplesort.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_PER_RANK_MAX = 512, SAMPLE_MAX = 4096, LINE_WEIGHT = sizeof(struct line) };

struct split_sample {
    struct line line;
    int rank;      /* rank of the line; -1: the sample comes before all lines with this text */
    int64_t index; /* index among the lines of `rank` */
};

/* The header before the bytes of a sample in a message. */
struct header {
    int64_t index; /* index of the line; -1: the sample is only the beginning of a line */
    int64_t len;
};

/* All received samples, rank by rank. */
struct gathered {
    char *bytes;
    int64_t *counts, *displs; /* bytes from each rank, and where they lie; displs[p] is the total */
};

/* The state of a walk over the lines that takes samples. */
struct walk {
    const struct lines *lines;
    int64_t step, next, due; /* next: the next line; due: weight until the next sample */
};

/* Returns the next line at which the weight reaches a multiple of `step`, or -1. */
static int64_t walk_on(struct walk *walk)
{
    while (walk->next < walk->lines->n) {
        walk->due -= walk->lines->at[walk->next++].len + LINE_WEIGHT;
        if (walk->due <= 0) {
            walk->due = walk->step - -walk->due % walk->step;
            return walk->next - 1;
        }
    }
    return -1;
}

static struct header header_of(const struct lines *lines, int64_t i)
{
    int64_t len = lines->at[i].len;
    return len > SAMPLE_MAX ? (struct header){-1, SAMPLE_MAX} : (struct header){i, len};
}

static int64_t samples_size(const struct lines *lines, int64_t step)
{
    struct walk walk = {lines, step, 0, step};
    int64_t size = 0;
    for (int64_t i; (i = walk_on(&walk)) >= 0;) {
        size += (int64_t)sizeof(struct header) + header_of(lines, i).len;
    }
    return size;
}

static void samples_take(const struct lines *lines, int64_t step, char *to)
{
    struct walk walk = {lines, step, 0, step};
    for (int64_t i; (i = walk_on(&walk)) >= 0;) {
        struct header header = header_of(lines, i);
        memcpy(to, &header, sizeof header);
        memcpy(to + sizeof header, lines->at[i].bytes, (size_t)header.len);
        to += (int64_t)sizeof header + header.len;
    }
}

static bool step_choose(struct job *job, const struct lines *lines, int64_t *step)
{
    int64_t mine = lines->bytes + lines->n * LINE_WEIGHT, total, each = 4 * (int64_t)job->p;
    if (each > SAMPLES_PER_RANK_MAX) each = SAMPLES_PER_RANK_MAX;
    if (!job_did(job, tutti_allreduce(job->team, &mine, &total, 1, TUTTI_I64, TUTTI_SUM))) {
        return false;
    }
    *step = total / job->p / each + 1;
    return true;
}

static bool gather(struct job *job, const char *mine, int64_t size, struct gathered *all)
{
    if (!job_did(job, tutti_allgather(job->team, &size, all->counts, 1, TUTTI_I64))) return false;
    all->displs[0] = 0;
    for (int r = 0; r < job->p; r++) all->displs[r + 1] = all->displs[r] + all->counts[r];
    all->bytes = job_alloc(job, all->displs[job->p], "the samples");
    return job_agree(job, all->bytes) &&
           job_did(job, tutti_allgatherv(job->team, mine, all->bytes, all->counts, all->displs,
                                         TUTTI_U8));
}

static bool gather_samples(struct job *job, const struct lines *lines, struct gathered *all)
{
    int64_t step;
    if (!step_choose(job, lines, &step)) return false;
    int64_t size = samples_size(lines, step);
    char *mine = job_alloc(job, size, "its samples");
    all->counts = job_alloc(job, (2 * (int64_t)job->p + 1) * (int64_t)sizeof *all->counts,
                            "the sizes of samples");
    all->displs = all->counts ? all->counts + job->p : NULL;
    if (mine) samples_take(lines, step, mine);
    bool ok = job_agree(job, mine && all->counts) && gather(job, mine, size, all);
    free(mine);
    return ok;
}

/* Reads the samples of each rank, or only counts them if `to` is NULL. Returns their number. */
static int64_t parse(const struct job *job, const struct gathered *all, struct split_sample *to)
{
    int64_t n = 0;
    for (int r = 0; r < job->p; r++) {
        for (int64_t at = all->displs[r]; at < all->displs[r + 1]; n++) {
            struct header header;
            memcpy(&header, all->bytes + at, sizeof header);
            at += (int64_t)sizeof header;
            if (to) {
                to[n] = (struct split_sample){
                    {0, all->bytes + at, header.len}, header.index < 0 ? -1 : r, header.index};
            }
            at += header.len;
        }
    }
    return n;
}

static int sample_compare(const void *a, const void *b)
{
    const struct split_sample *x = a, *y = b;
    int order = line_compare(&x->line, &y->line);
    if (order) return order;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Returns how many of this rank's lines come before the splitter, by binary search. */
static int64_t lines_before(const struct lines *lines, const struct split_sample *splitter, int me)
{
    int64_t low = 0, high = lines->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        struct split_sample here = {lines->at[middle], me, middle};
        if (sample_compare(&here, splitter) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool bounds_find(struct job *job, const struct gathered *all, const struct lines *lines,
                        int64_t *bounds)
{
    int64_t n = parse(job, all, NULL);
    struct split_sample *samples =
        job_alloc(job, n * (int64_t)sizeof *samples, "the list of samples");
    if (!samples) return false;
    parse(job, all, samples);
    qsort(samples, (size_t)n, sizeof *samples, sample_compare);
    bounds[0] = 0;
    for (int r = 1; r < job->p; r++) {
        bounds[r] = n > 0 ? lines_before(lines, &samples[n * r / job->p], job->me) : lines->n;
    }
    bounds[job->p] = lines->n;
    free(samples);
    return true;
}

bool lines_split(struct job *job, const struct lines *lines, int64_t *bounds)
{
    struct gathered all = {0};
    bool ok = gather_samples(job, lines, &all) && bounds_find(job, &all, lines, bounds);
    free(all.bytes);
    free(all.counts);
    return ok;
}
