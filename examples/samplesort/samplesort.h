/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A parallel sample sort of the lines of files, in five steps, one file each:
 *
 *   input.c     each rank reads its share of the bytes, the lines that begin in it; or draws lines
 *   sort.c      each rank sorts its lines
 *   split.c     regular samples of all ranks give p - 1 splitters, the same everywhere
 *   exchange.c  rank r gets the lines between splitters r - 1 and r, as p sorted runs, and merges
 *               them
 *   output.c    the parts, one after the other, are the result
 *
 * Each step returns whether it succeeded. job_fail records a failure of one rank. job_agree makes
 * the failure known to all ranks before the next collective, so that all ranks end together and one
 * message gives the reason.
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
    bool quiet;      /* rank 0 prints no summary and shows no progress bar */
    bool shows;      /* this rank shows the progress bar */
    bool broken;     /* a collective failed on this rank: it starts no more of them */
    bool over;       /* the ranks have agreed that something failed, and have printed it */
    char error[512]; /* first failure of this rank; "" if there was none */
};

struct options {
    const char *output; /* NULL: stdout */
    bool quiet;
    int64_t size; /* lines to draw instead of reading files; 0: files are read */
    char **files;
    int nfiles;
};

/* Text in memory of malloc, which text_free frees. */
struct text {
    char *bytes;
    int64_t used, room; /* bytes that hold text, and bytes that are allocated */
    int64_t begin;      /* start of the first line; the lines are in [begin, used) */
};

/* A line without its newline. The newline follows it in memory. */
struct line {
    uint64_t key; /* seven bytes of the line as a number, for quick comparisons (sort.c) */
    const char *bytes;
    int64_t len;
};

struct lines {
    struct line *at;
    int64_t n;
    int64_t bytes; /* bytes of all lines, newlines included */
};

/* ---- job.c: the ranks as one program ---- */

bool job_begin(struct job *job, bool quiet);
void job_end(struct job *job);
/* Records a failure of this rank unless one is recorded already. Always returns false. */
bool job_fail(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns whether `ok` is true on all ranks. If not, the lowest rank that failed prints its error;
 * from then on the function returns false without communication. Collective. */
bool job_agree(struct job *job, bool ok);
/* Returns whether the status of a collective is OK; records the failure if not. */
bool job_did(struct job *job, tutti_status status);
/* Allocates memory; records a failure if there is none. A success is never NULL, not even for 0
 * bytes. */
void *job_alloc(struct job *job, int64_t bytes, const char *what);
void job_progress(const struct job *job, const char *step, int64_t done, int64_t total);
void job_progress_clear(const struct job *job);

/* ---- The steps ---- */

/* Reads this rank's share of the files into `text`, or draws its share of the lines. Each line is
 * ended by a newline. Collective. */
bool input_read(struct job *job, const struct options *options, struct text *text);

/* Returns a negative number, 0 or a positive number, in the order of LC_ALL=C: bytes are unsigned,
 * and a prefix comes before the longer line. */
int line_compare(const struct line *a, const struct line *b);
/* Returns whether a comes before b in the order of line_compare. line_set_key must have set both
 * keys, which make the comparison faster. */
bool line_below(const struct line *a, const struct line *b);
void line_set_key(struct line *line);
/* Finds the lines of a text and sorts them. Local. */
bool lines_sort(struct job *job, const struct text *text, struct lines *lines);

/* Sets bounds[0 .. p]: the lines bounds[r] .. bounds[r + 1] - 1 go to rank r. Collective. */
bool lines_split(struct job *job, const struct lines *lines, int64_t *bounds);

/* Sends every line to its rank and merges the received lines into `part`. Frees the memory of
 * `text` and `lines` as soon as it is not needed any more; afterwards lines->n and lines->bytes
 * describe the part. Collective. */
bool lines_exchange(struct job *job, struct text *text, struct lines *lines, const int64_t *bounds,
                    struct text *part);

/* Writes the parts of all ranks, in order of rank. Collective. */
bool output_write(struct job *job, const char *name, const struct text *part);

void text_free(struct text *text);
void lines_free(struct lines *lines);

#endif
