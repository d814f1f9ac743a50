/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program whose calls are measured (TUTTI_CHOICE=measure), for measure.sh: several shapes in
 * turn, in place and not, of basic and of derived types, with requests of the same shapes in
 * between, and on a second team. Checks each result. With an argument N, the ranks are N threads.
 * Sets the locale of the environment, as programs with a user interface do.
 */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tutti/tutti.h>

enum { CALLS = 60, N = 700 };

static void check(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_text(status), tutti_error());
    exit(1);
}

static void expect(bool right, const char *what, int call)
{
    if (right) return;
    fprintf(stderr, "call %d: %s is wrong\n", call, what);
    exit(1);
}

static int64_t sum_of(int p, int call)
{
    return (int64_t)p * (p - 1) / 2 + (int64_t)p * call;
}

static void reductions(tutti_team *team, int call)
{
    int64_t in[N], out[N];
    int me = tutti_rank(team), p = tutti_size(team);
    tutti_request *request;
    for (int i = 0; i < N; i++) in[i] = me + call;
    memcpy(out, in, sizeof out);
    /* All ranks must be in place or none, but different calls may differ. */
    const void *from = call % 3 ? (const void *)in : TUTTI_IN_PLACE;
    check(tutti_allreduce(team, from, out, N, TUTTI_I64, TUTTI_SUM));
    expect(out[0] == sum_of(p, call) && out[N - 1] == sum_of(p, call), "an allreduce", call);
    from = call % 2 || me ? (const void *)in : TUTTI_IN_PLACE; /* only the root can be in place */
    memcpy(out, in, sizeof out);
    check(tutti_reduce(team, from, out, N, TUTTI_I64, TUTTI_SUM, 0));
    expect(me || out[N / 2] == sum_of(p, call), "a reduce", call);
    check(tutti_iallreduce(team, in, out, N, TUTTI_I64, TUTTI_SUM, &request));
    check(tutti_wait(request));
    check(tutti_request_free(request));
    expect(out[1] == sum_of(p, call), "an iallreduce", call);
}

/* Uses a prepared request of the same shape as blocking calls. Rank 0 prepares it early and the
 * other ranks prepare it late. */
static void requests(tutti_team *team, tutti_request **request, int64_t *in, int64_t *out, int call)
{
    if (call == (tutti_rank(team) == 0 ? 0 : CALLS / 2))
        check(tutti_allreduce_init(team, in, out, N, TUTTI_I64, TUTTI_SUM, 0, request));
    if (call <= CALLS / 2) return;
    in[0] = call;
    check(tutti_start(*request));
    check(tutti_wait(*request));
    expect(out[0] == (int64_t)tutti_size(team) * call, "a prepared allreduce", call);
}

static void others(tutti_team *team, int call)
{
    char data[N], wrong[N];
    memset(data, tutti_rank(team) == 1 ? call : 0, sizeof data);
    memset(wrong, call, sizeof wrong);
    /* A call with wrong arguments does not count as a call of the shape. */
    expect(tutti_bcast(team, NULL, N, TUTTI_U8, 1) == TUTTI_ERR_ARG, "a bcast of nothing", call);
    check(tutti_bcast(team, data, N, TUTTI_U8, 1));
    expect(memcmp(data, wrong, sizeof data) == 0, "a bcast", call);
    check(tutti_barrier(team));
}

/* Makes a type with one value of type `basic` and a gap of the same size. */
static tutti_type spaced(tutti_type basic)
{
    tutti_type type;
    tutti_field field = {0, 1, basic};
    check(tutti_type_struct(1, &field, 2 * (int64_t)tutti_type_size(basic), &type));
    return type;
}

static void add(const void *left, const void *right, void *out, size_t n, tutti_type type,
                void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < n; i++)
        ((int64_t *)out)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
}

/* Calls in which some ranks pack their elements and others do not: the types differ from rank to
 * rank, and one rank is in place. Whether a call is measured may not depend on that. */
static void packings(tutti_team *team, tutti_type type, tutti_op op, int call)
{
    int64_t in[2 * N] = {0}, out[2 * N];
    int me = tutti_rank(team), p = tutti_size(team);
    bool packs = (call / 5 + me) % 2;
    const int64_t stride = packs ? 2 : 1;
    for (int i = 0; i < N; i++) in[i * stride] = me + call;
    check(tutti_allreduce(team, in, out, N, packs ? type : TUTTI_I64, TUTTI_SUM));
    expect(out[(N - 1) * stride] == sum_of(p, call), "an allreduce of two types", call);
    check(tutti_allreduce(team, in, out, N, packs ? type : TUTTI_I64, op));
    expect(out[(N - 1) * stride] == sum_of(p, call), "an allreduce of a user's operation", call);
    for (int to = 0; to < p; to++) in[to] = out[to] = 100 * me + to + call;
    check(tutti_alltoall(team, packs ? TUTTI_IN_PLACE : in, out, 1, TUTTI_I64));
    for (int from = 0; from < p; from++)
        expect(out[from] == 100 * from + me + call, "an alltoall", call);
}

/* arg: the operation `add` */
static void run(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client), *part;
    tutti_request *request = NULL;
    int64_t in[N] = {0}, out[N];
    tutti_type type = spaced(TUTTI_I64);
    tutti_op op = *(tutti_op *)arg;
    check(tutti_team_split(world, tutti_rank(world) % 2, 0, &part));
    for (int call = 0; call < CALLS; call++) {
        reductions(world, call);
        packings(world, type, op, call);
        if (tutti_size(part) > 1) others(part, call);
        if (tutti_size(world) > 1) others(world, call);
        requests(world, &request, in, out, call);
    }
    check(tutti_request_free(request));
    check(tutti_team_free(part));
    check(tutti_type_free(type));
}

int main(int argc, char **argv)
{
    tutti_client *client;
    tutti_op op;
    (void)setlocale(LC_ALL, ""); /* as Python does; a locale may be missing */
    check(tutti_op_create(add, 1, NULL, &op));
    if (argc > 1) {
        check(tutti_threads(atoi(argv[1]), run, &op));
        return 0;
    }
    check(tutti_init(&client));
    const char *folder = getenv("MEASURED_FOLDER"); /* the program changes to this folder */
    expect(!folder || chdir(folder) == 0, "the folder", 0);
    run(client, &op);
    check(tutti_finalize(client));
    return 0;
}
