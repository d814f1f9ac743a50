/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program for plan-file.sh that sees the public header only: each rank makes the calls that the
 * arguments name, says whether the results are right, and then calls a barrier.
 *
 *     plan-file N [init] [place] [again] [reduce]
 *     plan-file 1 scatter [place]
 *     plan-file 1 late
 *     plan-file 1 ahead FILE
 *
 * The first form calls an allreduce of N numbers, or with `reduce` a reduce: with `init` by a
 * persistent request, with `place` in place, and with `again` 100 times. The second form calls a
 * scatter of one number to each rank from rank 1, which with `place` calls in place. The third form
 * calls a bcast of one number, for which rank 1 is late. The fourth form calls a bcast of one
 * number and a scatter. When rank 0 has begun both and made the file, rank 1 begins the bcast only.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tutti/tutti.h>

struct plan_file_test {
    tutti_team *world;
    int p, me;
    size_t n;
    bool init, place, reduce;
    double *in, *out;
};

static void fill(struct plan_file_test *t)
{
    for (size_t i = 0; i < t->n; i++) {
        t->in[i] = t->me + (double)i;
        t->out[i] = t->place ? t->in[i] : -1;
    }
}

static bool is_right(const struct plan_file_test *t)
{
    for (size_t i = 0; i < t->n && (!t->reduce || t->me == 0); i++)
        if (t->out[i] != t->p * (t->p - 1) / 2.0 + t->p * (double)i) return false;
    return true;
}

static tutti_status call(struct plan_file_test *t)
{
    const void *in = t->place && (!t->reduce || t->me == 0) ? TUTTI_IN_PLACE : t->in;
    tutti_request *request;
    tutti_status status;
    if (t->reduce) return tutti_reduce(t->world, in, t->out, t->n, TUTTI_F64, TUTTI_SUM, 0);
    if (!t->init) return tutti_allreduce(t->world, in, t->out, t->n, TUTTI_F64, TUTTI_SUM);
    status = tutti_allreduce_init(t->world, in, t->out, t->n, TUTTI_F64, TUTTI_SUM, 0, &request);
    if (status != TUTTI_OK) return status;
    status = tutti_start(request);
    if (status == TUTTI_OK) status = tutti_wait(request);
    tutti_status freed = tutti_request_free(request);
    return status == TUTTI_OK ? freed : status;
}

static void say(const struct plan_file_test *t, const char *what, tutti_status status)
{
    const char *text = status != TUTTI_OK ? tutti_error() : is_right(t) ? "right" : "WRONG";
    printf("rank %d: %s: %s\n", t->me, what, text);
    fflush(stdout);
}

static bool has(char **argv, const char *word)
{
    while (*argv && strcmp(*argv, word) != 0) argv++;
    return *argv;
}

static const char *scattered(const struct plan_file_test *t)
{
    double pieces[3] = {0.5, 1.5, 2.5}, piece = -1;
    bool keeps = t->place && t->me == 1;
    const void *in = keeps ? TUTTI_IN_PLACE : pieces;
    void *out = keeps ? pieces : &piece;
    if (tutti_scatter(t->world, in, out, 1, TUTTI_F64, 1) != TUTTI_OK) return tutti_error();
    for (int r = 0; r < 3; r++)
        if (pieces[r] != r + 0.5) return "WRONG input";
    return piece == (keeps ? -1 : t->me + 0.5) ? "right" : "WRONG";
}

/* Calls a bcast of two ranks in which rank 0 puts the bytes into the window of rank 1 and waits for
 * nobody afterwards. While rank 1 has not begun the call, its window may have no memory. Checks
 * that the call of rank 0 does not complete before rank 1 begins. */
static bool put_waits(struct plan_file_test *t)
{
    tutti_request *request = NULL;
    tutti_team *other = NULL;
    int done = 0;
    if (tutti_team_split(t->world, 0, t->me, &other) != TUTTI_OK) return false;
    if (t->me == 1 && tutti_barrier(other) != TUTTI_OK) return false;
    t->out[0] = t->me == 0 ? 4.5 : 0;
    tutti_status status = tutti_ibcast(t->world, t->out, 1, TUTTI_F64, 0, &request);
    for (int i = 0; i < 1000 && t->me == 0 && status <= TUTTI_AGAIN && !done; i++) {
        status = tutti_test(request);
        done = status == TUTTI_OK;
    }
    if (t->me == 0 && tutti_barrier(other) != TUTTI_OK) return false;
    if (!done) status = tutti_wait(request);
    return !done && status == TUTTI_OK && t->out[0] == 4.5;
}

/* The data of the scatter reach rank 1 before it has begun the scatter, and before the signals of
 * rank 0 in the bcast, which wait for rank 1. */
static bool ahead_is_right(struct plan_file_test *t, const char *file)
{
    tutti_request *bcast, *scatter;
    double pieces[2] = {1.5, 2.5}, piece = 0;
    t->out[0] = t->me == 0 ? 4.5 : 0;
    if (tutti_barrier(t->world) != TUTTI_OK) return false;
    while (t->me == 1 && access(file, F_OK) != 0) usleep(1000);
    tutti_status status = tutti_ibcast(t->world, t->out, 1, TUTTI_F64, 0, &bcast);
    if (status == TUTTI_OK && t->me == 1) status = tutti_wait(bcast);
    if (status != TUTTI_OK) return false;
    status = tutti_iscatter(t->world, pieces, &piece, 1, TUTTI_F64, 0, &scatter);
    if (status == TUTTI_OK && t->me == 0 && tutti_test(scatter) > TUTTI_AGAIN) return false;
    FILE *f = t->me == 0 ? fopen(file, "we") : NULL;
    if (f) fclose(f);
    if (status == TUTTI_OK && t->me == 0) status = tutti_wait(bcast);
    if (status == TUTTI_OK) status = tutti_wait(scatter);
    tutti_request_free(bcast);
    tutti_request_free(scatter);
    return status == TUTTI_OK && t->out[0] == 4.5 && piece == (t->me == 0 ? 1.5 : 2.5);
}

static void call_again(struct plan_file_test *t, int times)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < times && status == TUTTI_OK; i++) {
        fill(t);
        status = call(t);
        if (status == TUTTI_OK && !is_right(t)) break;
    }
    say(t, "the call", status);
    say(t, "the barrier", tutti_barrier(t->world));
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc < 2 || tutti_init(&client) != TUTTI_OK) return 1;
    struct plan_file_test t = {.world = tutti_world(client), .n = (size_t)atoi(argv[1])};
    t.p = tutti_size(t.world);
    t.me = tutti_rank(t.world);
    t.init = has(argv, "init");
    t.place = has(argv, "place");
    t.reduce = has(argv, "reduce");
    t.in = malloc(t.n * sizeof *t.in);
    t.out = malloc(t.n * sizeof *t.out);
    if (!t.in || !t.out) return 1;
    if (has(argv, "scatter"))
        printf("rank %d: %s\n", t.me, scattered(&t));
    else if (has(argv, "late"))
        printf("rank %d: %s\n", t.me, put_waits(&t) ? "right" : "WRONG");
    else if (has(argv, "ahead"))
        printf("rank %d: %s\n", t.me, ahead_is_right(&t, argv[argc - 1]) ? "right" : "WRONG");
    else
        call_again(&t, has(argv, "again") ? 100 : 1);
    (void)tutti_finalize(client);
    free(t.in);
    free(t.out);
    return 0;
}
