/* SPDX-License-Identifier: BSD-3-Clause
 *
 * train: trains a model to recognise digits, with as many ranks as `tutti run` starts, and with the
 * remaining ranks if some die:
 *
 *     tutti run -n 4 --on-failure=continue train --resilient
 */
#include "train.h"

#include "../bar.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tutti/tutti.h>

enum { TROUBLE = 2, UNSEEN = 2000, NAMED_MOST = 16 };

#define DOUBLES(type) ((int64_t)(sizeof(type) / sizeof(double)))

struct main_options {
    int64_t samples, steps, report, seed;
    double rate;
    const char *model;
    bool resilient, reproducible, quiet;
};

struct main_job {
    struct main_options options;
    tutti_client *client;
    tutti_team *team;      /* the ranks that are left */
    int rank;              /* rank in the world */
    struct sample *sample; /* this rank's share of the samples */
    int64_t samples;
    struct model model;
    struct finding finding; /* the sums over all samples in the step before */
};

/* ---- Options ---- */

const char *argp_program_version = "train " TUTTI_VERSION;

static const char doc[] =
    "Trains a model to recognise digits, which it draws itself, in parallel:\n\n"
    "    tutti run -n 4 train\n"
    "    tutti run -n 4 --on-failure=continue train --resilient\n\n"
    "The second goes on with the ranks that are left when some die, and comes to the same model."
    "\vExit status: 0, or 2 if something went wrong.";

static const struct argp_option known[] = {
    {"samples", 'n', "N", 0, "Digits to learn from (10 to 10000000, default 4000)", 0},
    {"steps", 's', "N", 0, "Steps of gradient descent (1 to 1000000, default 200)", 0},
    {"rate", 'r', "X", 0, "Length of a step (above 0, to 1; default 0.5)", 0},
    {"seed", 'S', "N", 0, "Of the digits (default 1)", 0},
    {"report", 'e', "N", 0, "Print how far it is every N steps (default 20)", 0},
    {"model", 'o', "FILE", 0, "Write the weights to FILE, one a line", 0},
    {"resilient", 'R', NULL, 0, "When ranks die, go on with those that are left", 0},
    {"reproducible", 'b', NULL, 0, "Find the same model, bit by bit, with any number of ranks", 0},
    {"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
    {0},
};

static int64_t whole(struct argp_state *state, const char *what, const char *text, int64_t least,
                     int64_t most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most) {
        argp_error(state, "--%s: '%s' is no whole number from %lld to %lld", what, text,
                   (long long)least, (long long)most);
    }
    return value;
}

static double rate(struct argp_state *state, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= 1)) {
        argp_error(state, "--rate: '%s' is no number above 0 and up to 1", text);
    }
    return value;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct main_options *o = state->input;
    switch (key) {
    case 'n': o->samples = whole(state, "samples", arg, 10, 10000000); return 0;
    case 's': o->steps = whole(state, "steps", arg, 1, 1000000); return 0;
    case 'r': o->rate = rate(state, arg); return 0;
    case 'S': o->seed = whole(state, "seed", arg, 0, INT64_MAX); return 0;
    case 'e': o->report = whole(state, "report", arg, 1, 1000000); return 0;
    case 'o': o->model = arg; return 0;
    case 'R': o->resilient = true; return 0;
    case 'b': o->reproducible = true; return 0;
    case 'q': o->quiet = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Parses the options; every rank does so. If parsing ends the program (--help, an error), only rank
 * 0 prints. */
static void parse(int argc, char **argv, struct main_options *options)
{
    static const struct argp argp = {known, parse_one, NULL, doc, NULL, NULL, NULL};
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

/* ---- Output ---- */

static bool speaks(const struct main_job *job)
{
    return tutti_rank(job->team) == 0 && !job->options.quiet;
}

static const char *ranks(const struct main_job *job)
{
    return tutti_size(job->team) == 1 ? "rank" : "ranks";
}

static bool complain(const struct main_job *job, const char *what)
{
    bar_clear();
    fprintf(stderr, "train: rank %d: %s: %s\n", job->rank, what, tutti_error());
    return false;
}

static void report(const struct main_job *job)
{
    const struct main_options *o = &job->options;
    int64_t step = (int64_t)job->model.steps;
    if (!speaks(job)) return;
    bar_show("steps", step, o->steps);
    if (step % o->report && step != o->steps) return;
    bar_clear();
    printf("step %lld of %lld: loss %.4f, %.1f %% right, %d %s\n", (long long)step,
           (long long)o->steps, job->finding.loss / (double)o->samples,
           100 * job->finding.right / (double)o->samples, tutti_size(job->team), ranks(job));
    fflush(stdout);
}

/* Prints, on the first of the remaining ranks, which ranks of the previous team (`before`) have
 * failed. */
static void report_failed(const struct main_job *job, const tutti_team *before)
{
    int failed[NAMED_MOST], n;
    if (!speaks(job) || tutti_team_failed(before, failed, NAMED_MOST, &n) != TUTTI_OK) return;
    bar_clear();
    printf("failed:");
    for (int i = 0; i < n && i < NAMED_MOST; i++) printf(" %d", failed[i]);
    printf("%s of %d: going on with %d %s from step %lld\n", n > NAMED_MOST ? " ..." : "",
           tutti_size(before), tutti_size(job->team), ranks(job), (long long)job->model.steps);
    fflush(stdout);
}

/* ---- Training ---- */

/* Draws this rank's share of the samples; called again when fewer ranks share them. */
static bool draw_share(struct main_job *job)
{
    int64_t n = job->options.samples, p = tutti_size(job->team), me = tutti_rank(job->team);
    int64_t first = n * me / p, end = n * (me + 1) / p;
    struct sample *share = realloc(job->sample, (size_t)(end - first + 1) * sizeof *share);
    if (!share) return false;
    job->sample = share;
    job->samples = end - first;
    for (int64_t i = first; i < end; i++) {
        sample_draw(&share[i - first], (uint64_t)job->options.seed, i);
    }
    return true;
}

/* Gives all ranks the model with the most steps. After a failure, some ranks may have taken a step
 * that others have not. */
static tutti_status take_farthest(struct main_job *job)
{
    struct place {
        double steps;
        int64_t rank;
    } mine = {job->model.steps, tutti_rank(job->team)}, farthest;
    struct model model = job->model;
    tutti_status status =
        tutti_allreduce(job->team, &mine, &farthest, 1, TUTTI_F64_I64, TUTTI_MAXLOC);
    if (status != TUTTI_OK) return status;
    status = tutti_bcast(job->team, &model, DOUBLES(struct model), TUTTI_F64, (int)farthest.rank);
    if (status == TUTTI_OK) job->model = model; /* after an error, `model` may be incomplete */
    return status;
}

/* Sums the findings (struct finding) of all samples over the ranks; the last bits of the sums
 * depend on how the samples are shared out. */
static tutti_status sum_findings(struct main_job *job)
{
    struct finding mine = {0};
    model_look(&job->model, job->sample, job->samples, &mine);
    return tutti_allreduce(job->team, &mine, &job->finding, DOUBLES(struct finding), TUTTI_F64,
                           TUTTI_SUM);
}

/* Sums the findings (struct finding) of all samples over the ranks so that the bits of the sums do
 * not depend on how the samples are shared out. */
static tutti_status sum_reproducibly(struct main_job *job)
{
    enum { N = DOUBLES(struct finding) };
    static tutti_binned mine[N], all[N];
    memset(mine, 0, sizeof mine);
    for (int64_t i = 0; i < job->samples; i++) {
        struct finding one = {0};
        model_look(&job->model, &job->sample[i], 1, &one);
        tutti_status status = tutti_sum_local(mine, N, TUTTI_F64, &one, 1);
        if (status != TUTTI_OK) return status;
    }
    tutti_status status = tutti_allreduce(job->team, mine, all, N, TUTTI_BINNED, TUTTI_SUM);
    double *sum = (double *)&job->finding;
    for (int i = 0; i < N && status == TUTTI_OK; i++) sum[i] = tutti_sum_value(&all[i]);
    return status;
}

static tutti_status step(struct main_job *job)
{
    tutti_status status = job->options.reproducible ? sum_reproducibly(job) : sum_findings(job);
    if (status != TUTTI_OK) return status;
    model_step(&job->model, &job->finding, job->options.samples, job->options.rate);
    report(job);
    return TUTTI_OK;
}

/* Trains with the ranks of the team until the end or a failure. */
static tutti_status train(struct main_job *job)
{
    tutti_status status = take_farthest(job);
    while (status == TUTTI_OK && job->model.steps < (double)job->options.steps) status = step(job);
    return status;
}

/* ---- Continuing after a failure ---- */

/* Replaces the team by a team of the survivors. */
static bool shrink(struct main_job *job)
{
    tutti_team *rest, *before = job->team;
    if (tutti_team_shrink(before, &rest) != TUTTI_OK) return complain(job, "cannot go on");
    job->team = rest;
    report_failed(job, before);
    if (before != tutti_world(job->client)) (void)tutti_team_free(before);
    if (draw_share(job)) return true;
    fprintf(stderr, "train: rank %d is out of memory\n", job->rank);
    return false;
}

static bool write_model(const struct main_job *job)
{
    const char *name = job->options.model;
    if (!name || tutti_rank(job->team) != 0 || model_write(&job->model, name)) return true;
    fprintf(stderr, "train: cannot write %s: %s\n", name, strerror(errno));
    return false;
}

enum { TRAINED = 1, SOUND = 2 };

/* Trains. Returns TRAINED if the training is complete, and SOUND unless this rank had an error
 * other than the failure of another rank; the AND over all ranks gives the bits that hold for all
 * ranks. Without SOUND the training ends, because the error would come again with fewer ranks.
 * Other ranks may then wait in a collective that this rank has not entered, so this rank revokes
 * the team. */
static int64_t try(struct main_job *job)
{
    tutti_status status = train(job);
    if (status == TUTTI_OK) return TRAINED | (write_model(job) ? SOUND : 0);
    if (status == TUTTI_ERR_PEER) return SOUND;
    complain(job, "cannot go on");
    if (tutti_team_revoke(job->team) != TUTTI_OK) complain(job, "cannot revoke the team");
    return 0;
}

/* Trains, and then agrees with the other ranks on the result. All living ranks reach the agreement,
 * also those that saw an error and those that had finished the training before the error, and all
 * leave the agreement with the same result. If this result is success, the model has been written
 * before the agreement, so a rank that dies afterwards is not needed any more. */
static bool train_on(struct main_job *job)
{
    for (;;) {
        int64_t all = try(job);
        if (tutti_team_agree(job->team, &all, NULL) != TUTTI_OK) {
            return complain(job, "cannot agree");
        }
        if (!(all & SOUND)) return false;
        if (all & TRAINED) return true;
        if (!shrink(job)) return false;
    }
}

static void report_end(const struct main_job *job)
{
    const struct main_options *o = &job->options;
    if (!speaks(job)) return;
    double right = model_test(&job->model, (uint64_t)o->seed, o->samples, UNSEEN);
    printf("trained: %.1f %% of %d unseen digits right, %d %s\n", 100 * right, UNSEEN,
           tutti_size(job->team), ranks(job));
}

static bool run(struct main_job *job)
{
    if (!draw_share(job)) {
        fprintf(stderr, "train: rank %d is out of memory\n", job->rank);
        return false;
    }
    if (job->options.resilient) return train_on(job);
    if (train(job) == TUTTI_OK) return write_model(job);
    return complain(job, "cannot go on (--resilient would)");
}

int main(int argc, char **argv)
{
    struct main_job job = {
        .options = {.samples = 4000, .steps = 200, .report = 20, .seed = 1, .rate = 0.5}};
    parse(argc, argv, &job.options);
    if (tutti_init(&job.client) != TUTTI_OK) {
        fprintf(stderr, "train: %s\n", tutti_error());
        return TROUBLE;
    }
    job.team = tutti_world(job.client);
    job.rank = tutti_rank(job.team);
    bool ok = run(&job);
    if (ok) report_end(&job);
    free(job.sample);
    tutti_finalize(job.client);
    return ok ? 0 : TROUBLE;
}
