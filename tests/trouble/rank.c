/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trouble-rank COMMAND ARGUMENT...: a rank that gets into trouble, or notices that others do.
 */
#include "rank.h"

#include "args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rank_number(void)
{
    const char *text = getenv("TUTTI_RANK");
    if (!text) text = getenv("PMIX_RANK");
    return text ? atoi(text) : 0;
}

void print_status(tutti_status status, int64_t since_ns)
{
    char line[512];
    int n = snprintf(line, sizeof line, "rank %d: %s (%d ms): %s\n", rank_number(),
                     tutti_status_text(status), (int)((tt_clock_ns() - since_ns) / 1000000),
                     status == TUTTI_OK ? "" : tutti_error());
    if (write(STDOUT_FILENO, line, (size_t)tt_min(n, (int64_t)sizeof line - 1)) < 0) abort();
}

tutti_client *join(void)
{
    tutti_client *client;
    int64_t begin = tt_clock_ns();
    tutti_status status = tutti_init(&client);
    if (status == TUTTI_OK) return client;
    print_status(status, begin);
    exit(9);
}

int end(tutti_client *client, tutti_status status, tutti_status expected, int64_t since_ns)
{
    print_status(status, since_ns);
    tutti_finalize(client);
    return status == expected ? 0 : 8;
}

/* ---- Calls ---- */

static void *buffer(int64_t bytes)
{
    void *memory = calloc(1, (size_t)bytes + 1);
    if (!memory) abort();
    return memory;
}

static int64_t list_bytes(const int64_t *counts, const int64_t *displs, int p, int64_t sz)
{
    return counts ? (counts[p - 1] + displs[p - 1]) * sz : 0;
}

static void make_buffers(struct call *c)
{
    const struct tt_call *k = &c->call;
    int p = c->problem.p;
    int64_t bytes = k->n * k->sz * p;
    if (tt_call_segments(k)) bytes = list_bytes(k->out_counts, k->out_displs, p, k->sz);
    c->out = buffer(bytes);
    if (k->in_counts) bytes = list_bytes(k->in_counts, k->in_displs, p, k->sz);
    c->in = buffer(bytes);
}

struct call *call_open(tutti_team *team, const char *problem)
{
    struct call *c = buffer(sizeof *c);
    struct tt_problem_error error;
    if (tt_problem_parse(problem, &c->problem, &error) != TUTTI_OK) {
        tt_problem_complain(stderr, "trouble-rank", problem, &error);
        exit(2);
    }
    c->problem.p = tutti_size(team);
    c->room = buffer((int64_t)(tt_problem_room(&c->problem) * sizeof *c->room));
    c->call = tt_problem_call(&c->problem, tutti_rank(team), c->room);
    make_buffers(c);
    return c;
}

static struct tt_args args(const struct call *c)
{
    struct tt_args args = args_of(&c->call);
    args.in = c->call.coll == TT_COLL_bcast ? NULL : c->in;
    args.out = c->out;
    return args;
}

tutti_status call_run(tutti_team *team, struct call *c)
{
    struct tt_args a = args(c);
    return tt_collective_run(team, &a);
}

tutti_status call_start(tutti_team *team, struct call *c, tutti_request **request)
{
    struct tt_args a = args(c);
    return tt_collective_start(team, &a, request);
}

void call_close(struct call *c)
{
    free(c->room);
    free(c->in);
    free(c->out);
    free(c);
}

/* ---- Time ---- */

void note_time(const char *file)
{
    FILE *f = fopen(file, "we");
    if (!f) abort();
    fprintf(f, "%lld\n", (long long)tt_clock_ns());
    if (fclose(f) != 0) abort();
}

int64_t noted_time(const char *file)
{
    long long time = 0;
    FILE *f = fopen(file, "re");
    if (!f || fscanf(f, "%lld", &time) != 1) abort();
    fclose(f);
    return time;
}

int main(int argc, char **argv)
{
    const struct scenario *const all[] = {deaths, mismatches, limits, recoveries, memories};
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        for (const struct scenario *d = all[i]; d->name; d++)
            if (strcmp(argv[1], d->name) == 0) return d->run(argc - 2, argv + 2);
    fprintf(stderr, "trouble: what?\n");
    return 7;
}
