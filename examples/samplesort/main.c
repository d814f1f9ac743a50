/* SPDX-License-Identifier: BSD-3-Clause
 *
 * samplesort: writes what `LC_ALL=C sort FILE...` writes, byte for byte, using as many ranks as
 * `tutti run` starts.
 */
#include "samplesort.h"

#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TROUBLE = 2 };
static const long long SIZE_MOST = 100000000000;

const char *argp_program_version = "samplesort " TUTTI_VERSION;

static const char doc[] =
    "Sorts the lines of files by their bytes, as LC_ALL=C sort does, in parallel:"
    "\n\n    tutti run -n 4 samplesort FILE...\n\n"
    "Each rank reads its share, sorts it, and exchanges it with the others for what lies between "
    "two "
    "of the splitters all have agreed on.\vExit status: 0, or 2 if something went wrong.";

static const struct argp_option known[] = {
    {"output", 'o', "FILE", 0, "Write to FILE, which may be one of the inputs; each rank its part",
     0},
    {"quiet", 'q', NULL, 0, "No progress bar, no summary", 0},
    {"size", 'n', "N", 0, "Instead of files, sort N lines that the ranks draw", 0},
    {0},
};

static void set_size(struct argp_state *state, struct options *options, const char *text)
{
    char *end;
    options->size = strtoll(text, &end, 10);
    if (end == text || *end || options->size < 1 || options->size > SIZE_MOST)
        argp_error(state, "--size: '%s' is no whole number from 1 to %lld", text, SIZE_MOST);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'o': options->output = arg; return 0;
    case 'q': options->quiet = true; return 0;
    case 'n': set_size(state, options, arg); return 0;
    case ARGP_KEY_ARGS:
        if (options->size > 0) argp_error(state, "files, and --size");
        options->files = state->argv + state->next;
        options->nfiles = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (options->size == 0) argp_usage(state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Parses the options; every rank does so. If parsing ends the program (--help, an error), only rank
 * 0 prints. */
static void parse(int argc, char **argv, struct options *options)
{
    static const struct argp argp = {known, parse_one, "FILE...\n--size=N", doc, NULL, NULL, NULL};
    const char *rank = getenv("TUTTI_RANK");
    bool hush = rank && strcmp(rank, "0") != 0;
    int keep[2] = {-1, -1};
    for (int fd = 1; hush && fd <= 2; fd++) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        keep[fd - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        dup2(null, fd);
        close(null);
    }
    argp_err_exit_status = TROUBLE;
    argp_parse(&argp, argc, argv, 0, NULL, options);
    for (int fd = 1; hush && fd <= 2; fd++) {
        dup2(keep[fd - 1], fd);
        close(keep[fd - 1]);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool sort_files(struct job *job, const struct options *options, struct lines *lines)
{
    struct text text = {0}, part = {0};
    int64_t *bounds = job_alloc(job, (job->p + (int64_t)1) * (int64_t)sizeof *bounds, "bounds");
    bool ok = job_agree(job, bounds) && job_agree(job, input_read(job, options, &text)) &&
              job_agree(job, lines_sort(job, &text, lines)) &&
              job_agree(job, lines_split(job, lines, bounds)) &&
              job_agree(job, lines_exchange(job, &text, lines, bounds, &part)) &&
              job_agree(job, output_write(job, options->output, &part));
    free(bounds);
    free(lines->at);
    lines->at = NULL;
    text_free(&text);
    text_free(&part);
    return ok;
}

/* Returns the bytes of the largest part divided by the mean over the p parts. */
static double over_mean(int64_t most, int64_t total, int p)
{
    return total > 0 ? (double)most * p / (double)total : 1;
}

/* Prints the amount, the speed and the balance: the largest part divided by the mean.
 * Collective. */
static bool summary(struct job *job, const struct lines *lines, double seconds)
{
    int64_t mine[2] = {lines->n, lines->bytes}, total[2], most[2];
    if (!job_did(job, tutti_allreduce(job->team, mine, total, 2, TUTTI_I64, TUTTI_SUM)) ||
        !job_did(job, tutti_allreduce(job->team, mine, most, 2, TUTTI_I64, TUTTI_MAX))) {
        return job_agree(job, false);
    }
    if (job->me == 0 && !job->quiet) {
        double mb = (double)total[1] * 1e-6;
        job_progress_clear(job);
        fprintf(stderr,
                "samplesort: %lld lines, %.1f MB on %d rank%s in %.3f s: %.1f MB/s; "
                "largest part over the mean: %.2f of the lines, %.2f of the bytes\n",
                (long long)total[0], mb, job->p, job->p == 1 ? "" : "s", seconds,
                seconds > 0 ? mb / seconds : 0, over_mean(most[0], total[0], job->p),
                over_mean(most[1], total[1], job->p));
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct lines lines = {0};
    struct job job;
    parse(argc, argv, &options);
    /* With SIGPIPE ignored, writing to a closed pipe is an error of write, which is reported like
     * any other. */
    signal(SIGPIPE, SIG_IGN);
    if (!job_begin(&job, options.quiet)) return TROUBLE;
    double start = now_s();
    bool ok = sort_files(&job, &options, &lines) && summary(&job, &lines, now_s() - start);
    job_end(&job);
    return ok ? 0 : TROUBLE;
}
