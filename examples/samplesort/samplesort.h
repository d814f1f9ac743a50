/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A parallel sample sort of the lines of files, told in five steps, one file each:
 *
 *   input.c     each rank reads its share of the bytes: the lines that begin in it
 *   sort.c      ... and sorts them
 *   split.c     regular samples of all ranks give p - 1 splitters, the same everywhere
 *   exchange.c  rank r gets what lies between splitters r - 1 and r, as p sorted runs, and merges
 *   output.c    the parts, one after the other, are the result
 *
 * Steps return whether they succeeded. What fails on one rank is recorded with job_fail and becomes
 * common knowledge in job_agree, before the next collective, so that all ranks end together and one
 * message says why.
 */
#ifndef SAMPLESORT_H
#define SAMPLESORT_H

#include <stdbool.h>
#include <stdint.h>

#include <tutti/tutti.h>

struct job {
    tutti_client *client;
    tutti_team *team;
    int me, p;
    bool quiet;       /* no summary, no progress line */
    bool shows;       /* this rank draws the progress line */
    int64_t shown_ms; /* when it last did */
    bool broken;      /* a collective failed here: no more of them */
    bool over;        /* the ranks have agreed that something failed, and it was told */
    char error[512];  /* the first thing that failed on this rank; "" if nothing did */
};

struct options {
    const char *output; /* NULL: stdout */
    bool quiet;
    char **files;
    int nfiles;
};

/* Bytes that belong to whoever holds the struct. */
struct text {
    char *bytes;
    int64_t used, room; /* used <= room */
    int64_t begin;      /* where the first line starts; lines lie in [begin, used) */
};

/* A line without its newline, which follows it in memory. */
struct line {
    uint64_t key; /* what sort.c and exchange.c compare first */
    const char *bytes;
    int64_t len;
};

struct lines {
    struct line *at;
    int64_t n;
    int64_t bytes; /* with newlines */
};

/* ---- job.c: the ranks as one program ---- */

bool job_begin(struct job *job, bool quiet);
void job_end(struct job *job);
/* Records what failed on this rank, if nothing did before. Always false. */
bool job_fail(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether `ok` on all ranks; if not, the lowest rank that failed says why, once, and from then on
 * this is false without asking. Collective. */
bool job_agree(struct job *job, bool ok);
/* Turns the status of a collective into success or a recorded failure. */
bool job_did(struct job *job, tutti_status status);
/* malloc that records its failure; never NULL for success, also for 0 bytes. */
void *job_alloc(struct job *job, int64_t bytes, const char *what);
void job_progress(struct job *job, const char *step, int64_t done, int64_t total);
void job_progress_clear(struct job *job);

/* ---- The steps ---- */

/* This rank's share of the files, each line ended by a newline. Collective. */
bool input_read(struct job *job, const struct options *options, struct text *text);

/* Negative, 0, positive as in LC_ALL=C: bytes unsigned, a prefix before what it is a prefix of. */
int line_compare(const struct line *a, const struct line *b);
/* Whether a comes before b, whose keys line_set_key has set: the same order, found sooner. */
bool line_below(const struct line *a, const struct line *b);
void line_set_key(struct line *line);
/* Finds the lines of a text and sorts them. Local. */
bool lines_sort(struct job *job, const struct text *text, struct lines *lines);

/* bounds[r] .. bounds[r + 1] - 1 are the lines that go to rank r; bounds[p + 1]. Collective. */
bool lines_split(struct job *job, const struct lines *lines, int64_t *bounds);

/* Sends every line where it belongs and merges what came into `part`. Frees what `text` and `lines`
 * hold as soon as it is not needed any more; lines->n and ->bytes then tell of the part.
 * Collective. */
bool lines_exchange(struct job *job, struct text *text, struct lines *lines, const int64_t *bounds,
                    struct text *part);

/* Writes the parts of all ranks, in order of rank. Collective. */
bool output_write(struct job *job, const char *name, const struct text *part);

void text_free(struct text *text);
void lines_free(struct lines *lines);

#endif
