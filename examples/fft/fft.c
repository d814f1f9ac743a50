/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fft: the two-dimensional Fourier transform of a square grid whose rows are shared out over the
 * ranks. FFTW transforms rows; an alltoallv transposes the grid, so that columns become rows.
 *
 *     tutti run -n 4 fft --size 2048 --repeat 20
 *
 * A transform is: rows, transpose, rows, transpose. The second transpose brings the result back to
 * the order of the input. Each rank then compares its rows with a transform of the whole grid that
 * FFTW computes alone, unless the grid is large.
 */
#include "../bar.h"

#include <argp.h>
#include <complex.h>
#include <errno.h>
#include <fftw3.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tutti/tutti.h>

enum { TROUBLE = 2, SIZE = 1024, SIZE_MOST = 32768, CHECK_MOST = 4096, REPEAT_MOST = 1000000 };

typedef double complex number;

struct fft {
    int64_t size, repeat;
    tutti_team *team;
    int p, me;
    int64_t *first;      /* rank r has the rows first[r] .. first[r + 1] - 1 */
    int64_t rows;        /* rows of this rank */
    number *grid;        /* this rank's rows: rows x size */
    number *out, *in;    /* out: the blocks for all ranks; in: the blocks from all ranks; each of
                          * the two arrays has rows x size numbers */
    int64_t *counts;     /* elements of the block for each rank; the block from that rank has as
                          * many */
    int64_t *displs;     /* where each block begins */
    fftw_plan plan;      /* transforms the rows in place; NULL if the rank has none */
    tutti_request *swap; /* the alltoallv that sends out[] and receives in[] */
};

/* ---- Options ---- */

const char *argp_program_version = "fft " TUTTI_VERSION;

static const char doc[] =
    "Transforms a square grid of complex numbers by a two-dimensional Fourier transform, in "
    "parallel:\n\n    tutti run -n 4 fft\n"
    "\vExit status: 0; 1 if the result is not that of FFTW alone; 2 if something went wrong.";

static const struct argp_option known[] = {
    {"size", 'n', "N", 0, "Rows and columns of the grid (1 to 32768, default 1024)", 0},
    {"repeat", 'r', "N", 0, "Transform so many times, each time the same input (default 10)", 0},
    {0},
};

static error_t whole(struct argp_state *state, const char *what, const char *text, int64_t most,
                     int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (!errno && end != text && !*end && *value >= 1 && *value <= most) return 0;
    argp_error(state, "--%s: '%s' is no whole number from 1 to %lld", what, text, (long long)most);
    return EINVAL;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct fft *fft = state->input;
    switch (key) {
    case 'n': return whole(state, "size", arg, SIZE_MOST, &fft->size);
    case 'r': return whole(state, "repeat", arg, REPEAT_MOST, &fft->repeat);
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The grid ---- */

/* Returns the input at a row and a column: numbers in a square around 0 that look random. */
static number input_at(int64_t row, int64_t column)
{
    uint64_t bits = ((uint64_t)row << 32 | (uint64_t)column) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 31) * 0xbf58476d1ce4e5b9u;
    return ((double)(bits >> 40) + (double)(bits >> 8 & 0xffffff) * I) * 0x1p-23 - (1 + I);
}

static void fill(number *to, int64_t first, int64_t rows, int64_t size)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < size; j++) to[i * size + j] = input_at(first + i, j);
    }
}

static int64_t rows_of(const struct fft *fft, int rank)
{
    return fft->first[rank + 1] - fft->first[rank];
}

/* ---- One transform ---- */

/* Fills the block for each rank r with the elements of this rank's rows that lie in the columns
 * first[r] .. first[r + 1] - 1. These columns become the rows of rank r. */
static void pack(struct fft *fft)
{
    number *to = fft->out;
    for (int r = 0; r < fft->p; r++) {
        for (int64_t i = 0; i < fft->rows; i++) {
            for (int64_t j = fft->first[r]; j < fft->first[r + 1]; j++)
                *to++ = fft->grid[i * fft->size + j];
        }
    }
}

/* Transposes each received block, which has the rows of its sender and the columns of this rank,
 * into this rank's rows. */
static void unpack(struct fft *fft)
{
    const number *from = fft->in;
    for (int r = 0; r < fft->p; r++) {
        for (int64_t i = fft->first[r]; i < fft->first[r + 1]; i++) {
            for (int64_t j = 0; j < fft->rows; j++) fft->grid[j * fft->size + i] = *from++;
        }
    }
}

static tutti_status transpose(struct fft *fft)
{
    pack(fft);
    tutti_status status = tutti_start(fft->swap);
    if (status == TUTTI_OK) status = tutti_wait(fft->swap);
    if (status == TUTTI_OK) unpack(fft);
    return status;
}

static tutti_status transform(struct fft *fft)
{
    fill(fft->grid, fft->first[fft->me], fft->rows, fft->size);
    for (int turn = 0; turn < 2; turn++) {
        if (fft->plan) fftw_execute(fft->plan);
        tutti_status status = transpose(fft);
        if (status != TUTTI_OK) return status;
    }
    return TUTTI_OK;
}

/* ---- Progress ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Shows, on rank 0, how many transforms are done. */
static void show_progress(const struct fft *fft, int64_t done)
{
    if (fft->me == 0) bar_show("transforms", done, fft->repeat);
}

/* Does all transforms, and sets *seconds to the seconds of one. */
static tutti_status repeat(struct fft *fft, double *seconds)
{
    tutti_status status = tutti_barrier(fft->team);
    double begin = now();
    for (int64_t i = 0; status == TUTTI_OK && i < fft->repeat; i++) {
        show_progress(fft, i);
        status = transform(fft);
    }
    *seconds = (now() - begin) / (double)fft->repeat;
    bar_clear();
    return status;
}

/* ---- The check ---- */

/* Returns the largest difference between this rank's rows and those of `alone`. */
static double difference(const struct fft *fft, const number *alone)
{
    double largest = 0;
    const number *expected = alone + fft->first[fft->me] * fft->size;
    for (int64_t i = 0; i < fft->rows * fft->size; i++) {
        double d = cabs(fft->grid[i] - expected[i]);
        if (!(d <= largest)) largest = d; /* a NaN counts as different */
    }
    return largest;
}

/* Compares the result with a transform that FFTW computes alone. A Fourier transform of N numbers
 * has rounding errors of about eps * log2(N) times the root mean square of the result. This mean is
 * sqrt(N) times that of the input, and the input here has a root mean square of 0.8. */
static tutti_status check(const struct fft *fft, bool *good)
{
    int64_t n = fft->size;
    double mine = HUGE_VAL, largest;
    number *alone = fftw_malloc((size_t)(n * n) * sizeof *alone);
    if (alone) {
        fftw_plan plan =
            fftw_plan_dft_2d((int)n, (int)n, alone, alone, FFTW_FORWARD, FFTW_ESTIMATE);
        fill(alone, 0, n, n);
        fftw_execute(plan);
        mine = difference(fft, alone);
        fftw_destroy_plan(plan);
    }
    fftw_free(alone);
    tutti_status status = tutti_allreduce(fft->team, &mine, &largest, 1, TUTTI_F64, TUTTI_MAX);
    if (status != TUTTI_OK) return status;
    double allowed = 8 * DBL_EPSILON * log2((double)n * (double)n + 1) * (double)n * 0.8;
    *good = largest <= allowed;
    if (fft->me == 0 && isinf(largest))
        fprintf(stderr, "fft: a rank has no memory for the transform by FFTW alone\n");
    else if (fft->me == 0)
        printf("largest difference to FFTW alone: %.2g, %.2g allowed\n", largest, allowed);
    return TUTTI_OK;
}

/* ---- Beginning and end ---- */

static bool allocate(struct fft *fft)
{
    size_t p = (size_t)fft->p, bytes = (size_t)(fft->rows * fft->size + 1) * sizeof(number);
    fft->grid = fftw_malloc(bytes);
    fft->out = fftw_malloc(bytes);
    fft->in = fftw_malloc(bytes);
    fft->counts = malloc(p * sizeof *fft->counts);
    fft->displs = malloc(p * sizeof *fft->displs);
    return fft->grid && fft->out && fft->in && fft->counts && fft->displs;
}

static bool share_rows(struct fft *fft)
{
    fft->first = malloc(((size_t)fft->p + 1) * sizeof *fft->first);
    if (!fft->first) return false;
    for (int r = 0; r <= fft->p; r++) fft->first[r] = fft->size * r / fft->p;
    fft->rows = rows_of(fft, fft->me);
    if (!allocate(fft)) return false;
    for (int r = 0; r < fft->p; r++) {
        fft->counts[r] = fft->rows * rows_of(fft, r);
        fft->displs[r] = fft->rows * fft->first[r];
    }
    return true;
}

/* Makes the plan of FFTW and the request for the exchange. The block for a rank has as many
 * elements as the block from it, so the same counts serve for the input and the output. */
static tutti_status make_plans(struct fft *fft)
{
    int n = (int)fft->size;
    if (fft->rows > 0)
        fft->plan = fftw_plan_many_dft(1, &n, (int)fft->rows, fft->grid, NULL, 1, n, fft->grid,
                                       NULL, 1, n, FFTW_FORWARD, FFTW_ESTIMATE);
    return tutti_alltoallv_init(fft->team, fft->out, fft->counts, fft->displs, fft->in, fft->counts,
                                fft->displs, TUTTI_C128, TUTTI_REQUEST_DEFAULT, &fft->swap);
}

static void clear(struct fft *fft)
{
    tutti_request_free(fft->swap);
    if (fft->plan) fftw_destroy_plan(fft->plan);
    fftw_free(fft->grid);
    fftw_free(fft->out);
    fftw_free(fft->in);
    free(fft->counts);
    free(fft->displs);
    free(fft->first);
}

static tutti_status run(struct fft *fft, bool *good)
{
    double seconds;
    tutti_status status = make_plans(fft);
    if (status == TUTTI_OK) status = repeat(fft, &seconds);
    if (status != TUTTI_OK) return status;
    if (fft->me == 0)
        printf("%lld x %lld on %d rank%s: %.3g ms for a transform\n", (long long)fft->size,
               (long long)fft->size, fft->p, fft->p == 1 ? "" : "s", 1e3 * seconds);
    if (fft->size <= CHECK_MOST) return check(fft, good);
    if (fft->me == 0) printf("not compared with FFTW alone: more than %d rows\n", CHECK_MOST);
    return TUTTI_OK;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {known, parse_one, NULL, doc, NULL, NULL, NULL};
    struct fft fft = {.size = SIZE, .repeat = 10};
    const char *rank = getenv("TUTTI_RANK");
    bool speaks = !rank || strcmp(rank, "0") == 0; /* whether this rank prints errors: only one rank
                                                    * does */
    argp_err_exit_status = TROUBLE;
    error_t error = argp_parse(&argp, argc, argv, speaks ? 0 : ARGP_SILENT, NULL, &fft);
    if (error) return speaks ? TROUBLE : 0; /* only rank 0 fails, which ends the job */
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) {
        fprintf(stderr, "fft: %s\n", tutti_error());
        return TROUBLE;
    }
    fft.team = tutti_world(client);
    fft.p = tutti_size(fft.team);
    fft.me = tutti_rank(fft.team);
    bool good = true, enough = share_rows(&fft);
    tutti_status status = TUTTI_ERR_MEMORY;
    if (!enough)
        fprintf(stderr, "fft: rank %d is out of memory\n", fft.me);
    else if ((status = run(&fft, &good)) != TUTTI_OK)
        fprintf(stderr, "fft: rank %d: %s\n", fft.me, tutti_error());
    clear(&fft);
    tutti_finalize(client);
    return status != TUTTI_OK ? TROUBLE : !good;
}
