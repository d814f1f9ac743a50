/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the neighbourhood collectives in their three forms (blocking, nonblocking, persistent): on
 * grids, periodic and not, with dimensions of length 1 and 2, where a neighbour occurs twice; and
 * on a graph in which ranks have different numbers of neighbours, some of them several times. Also
 * tests lengths and collectives that do not match, and wrong arguments.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "ranks.h"

enum { MOST = 16, ROOM = 700, PIECES = MOST * ROOM, ROUNDS = 2 };
enum neighbor_mode { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum neighbor_kind { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, KINDS };

struct neighbor_list {
    int n, rank[MOST];
    int64_t counts[MOST], displs[MOST];
    tutti_type types[MOST];
};

struct neighbor_rank {
    tutti_team *team;
    int me;
    bool grid;
    enum neighbor_kind kind;
    int64_t n;
    tutti_type pair; /* 2 elements in an extent of 3, with a gap between them */
    struct neighbor_list to, from;
    /* place[i]: the piece from this rank's i-th source has this index in the source's own list of
     * destinations */
    int place[MOST];
    int64_t in[PIECES], out[PIECES];
};

static void check(bool good, const struct neighbor_rank *x, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d, kind %d: %s: %s\n", x->me, (int)x->kind, what, tutti_error());
    abort();
}

static void must(tutti_status status, const struct neighbor_rank *x, const char *what)
{
    check(status == TUTTI_OK, x, what);
}

/* ---- Pieces ---- */

static bool is_gather(const struct neighbor_rank *x)
{
    return x->kind == ALLGATHER || x->kind == ALLGATHERV;
}

/* Returns the number of elements of piece k of a rank, always an even number. */
static int64_t length(const struct neighbor_rank *x, int rank, int k)
{
    if (x->kind == ALLGATHER || x->kind == ALLTOALL) return x->n;
    if (x->kind == ALLGATHERV) return x->n * (rank % 3) / 4 * 2;
    return x->n * ((2 * rank + k) % 4) / 8 * 2;
}

static int64_t value(const struct neighbor_rank *x, int round, int rank, int k, int64_t i)
{
    return 10000 * (1000 * round + 50 * rank + (is_gather(x) ? 0 : k)) + i;
}

static bool has_lists(const struct neighbor_rank *x)
{
    return x->kind != ALLGATHER && x->kind != ALLTOALL;
}

/* Sets the counts, displacements and types for all destinations and all sources. In calls that pass
 * such lists, the pieces lie in reverse order, with gaps. */
static void set_lists(struct neighbor_rank *x)
{
    int64_t unit = x->kind == ALLTOALLW ? 8 : 1;
    for (int i = 0; i < x->to.n; i++) {
        x->to.counts[i] = length(x, x->me, i);
        x->to.displs[i] = unit * ROOM * (x->to.n - 1 - i);
        x->to.types[i] = TUTTI_I64;
    }
    for (int i = 0; i < x->from.n; i++) {
        bool pairs = x->kind == ALLTOALLW && i % 2;
        x->from.counts[i] = length(x, x->from.rank[i], x->place[i]) / (pairs ? 2 : 1);
        x->from.displs[i] = unit * ROOM * (x->from.n - 1 - i);
        x->from.types[i] = pairs ? x->pair : TUTTI_I64;
    }
}

static int64_t *element(struct neighbor_rank *x, bool out, int k, int64_t i)
{
    struct neighbor_list *list = out ? &x->from : &x->to;
    if (!out && is_gather(x)) return x->in + i;
    int64_t *at = (out ? x->out : x->in) + (has_lists(x) ? ROOM * (list->n - 1 - k) : k * x->n);
    bool pairs = out && x->kind == ALLTOALLW && k % 2;
    return at + (pairs ? i / 2 * 3 + i % 2 * 2 : i);
}

static void fill(struct neighbor_rank *x, int round)
{
    memset(x->in, -1, sizeof x->in);
    memset(x->out, -1, sizeof x->out);
    for (int k = 0; k < x->to.n; k++)
        for (int64_t i = 0; x->to.rank[k] >= 0 && i < length(x, x->me, k); i++)
            *element(x, false, k, i) = value(x, round, x->me, k, i);
}

/* Checks that each piece is in its place, and that nothing was stored anywhere else. */
static void expect(struct neighbor_rank *x, int round)
{
    for (int k = 0; k < x->from.n; k++) {
        int rank = x->from.rank[k], place = x->place[k];
        for (int64_t i = 0; rank >= 0 && i < length(x, rank, place); i++) {
            int64_t *at = element(x, true, k, i);
            check(*at == value(x, round, rank, place, i), x, "a wrong element");
            *at = -1;
        }
    }
    for (int64_t i = 0; i < PIECES; i++) check(x->out[i] == -1, x, "wrote somewhere else");
}

/* ---- Calls ---- */

#define CALL(name, ...)                                                                            \
    (form == BLOCKING ? tutti_neighbor_##name(x->team, x->in, __VA_ARGS__)                         \
     : form == NONBLOCKING                                                                         \
         ? tutti_ineighbor_##name(x->team, x->in, __VA_ARGS__, request)                            \
         : tutti_neighbor_##name##_init(x->team, x->in, __VA_ARGS__, 0, request))

static tutti_status call(struct neighbor_rank *x, enum neighbor_mode form, tutti_request **request)
{
    struct neighbor_list *t = &x->to, *f = &x->from;
    switch (x->kind) {
    case ALLGATHER: return CALL(allgather, x->out, x->n, TUTTI_I64);
    case ALLGATHERV:
        return CALL(allgatherv, length(x, x->me, 0), x->out, f->counts, f->displs, TUTTI_I64);
    case ALLTOALL: return CALL(alltoall, x->out, x->n, TUTTI_I64);
    case ALLTOALLV:
        return CALL(alltoallv, t->counts, t->displs, x->out, f->counts, f->displs, TUTTI_I64);
    case ALLTOALLW:
        return CALL(alltoallw, t->counts, t->displs, t->types, x->out, f->counts, f->displs,
                    f->types);
    case KINDS: break;
    }
    return TUTTI_ERR_ARG;
}

static void run(struct neighbor_rank *x, enum neighbor_mode form)
{
    tutti_request *request = NULL;
    set_lists(x);
    for (int round = 0; round < ROUNDS; round++) {
        fill(x, round);
        if (round == 0 || form != PERSISTENT) must(call(x, form, &request), x, "the call");
        if (form == PERSISTENT) must(tutti_start(request), x, "start");
        if (form != BLOCKING) must(tutti_wait(request), x, "wait");
        if (form == NONBLOCKING) must(tutti_request_free(request), x, "free");
        expect(x, round);
    }
    if (form == PERSISTENT) must(tutti_request_free(request), x, "free");
}

/* Tries all neighbourhood collectives in all forms on the team, and frees the team. */
static void try_team(struct neighbor_rank *x, tutti_team *team)
{
    tutti_team *before = x->team;
    x->team = team;
    x->me = tutti_rank(team);
    must(tutti_team_destinations(team, x->to.rank, MOST, &x->to.n), x, "destinations");
    must(tutti_team_sources(team, x->from.rank, MOST, &x->from.n), x, "sources");
    for (int i = 0; x->grid && i < x->from.n; i++) x->place[i] = i ^ 1;
    for (int i = 0; i < KINDS * FORMS * 2; i++) {
        x->kind = (enum neighbor_kind)(i % KINDS);
        x->n = i % 2 ? 8 : 400;
        run(x, (enum neighbor_mode)(i / 2 / KINDS));
    }
    must(tutti_team_free(team), x, "free");
    x->team = before;
    x->me = tutti_rank(before);
}

static void grids(struct neighbor_rank *x)
{
    int p = tutti_size(x->team);
    x->grid = true;
    for (int periods = 0; periods < 4; periods++)
        for (int width = 1; width <= p && width <= 3; width++) {
            int dims[2] = {p / width, width}, periodic[2] = {periods & 1, periods >> 1};
            tutti_team *grid;
            must(tutti_team_cart(x->team, 2, dims, periodic, TUTTI_CART_LAST_FASTEST, &grid), x,
                 "cart");
            if (grid) try_team(x, grid);
        }
    x->grid = false;
}

/* Lists in `to` the destinations of a rank in a graph of p ranks, and returns their number. The
 * same destination may occur several times. */
static int graph_of(int p, int rank, int *to)
{
    int n = rank * 5 % 4;
    for (int k = 0; k < n; k++) to[k] = (rank + k * (k + rank) / 2) % p;
    return n;
}

/* Tries a graph whose sources are listed in descending order of ranks. */
static void graph(struct neighbor_rank *x)
{
    int p = tutti_size(x->team), to[MOST], from[MOST], other[MOST], n = 0;
    for (int r = p - 1; r >= 0; r--) {
        int m = graph_of(p, r, other);
        for (int k = 0; k < m; k++)
            if (other[k] == x->me) from[n] = r, x->place[n++] = k;
    }
    tutti_team *team;
    must(tutti_team_graph(x->team, n, from, graph_of(p, x->me, to), to, &team), x, "graph");
    try_team(x, team);
}

/* ---- What is refused ---- */

static void refused(const struct neighbor_rank *x, tutti_status status, const char *text)
{
    check(status == TUTTI_ERR_ARG && strstr(tutti_error(), text), x, text);
}

/* Checks that a call is refused with an error text that begins with `text`. */
static void refused_start(const struct neighbor_rank *x, tutti_status status, const char *text)
{
    check(status == TUTTI_ERR_ARG && strstr(tutti_error(), text) == tutti_error(), x, text);
}

static void wrong(struct neighbor_rank *x)
{
    int one = 1, yes = 1;
    int64_t c[2] = {1, 1}, d[2] = {0, 0}, apart[2] = {0, 1}, bad[2] = {-1, 1}, below[2] = {0, -5},
            beyond[2] = {0, INT64_MAX / 4}, large[2] = {INT64_MAX / 2, 1}, bytes[2] = {0, 8},
            *i = x->in, *o = x->out;
    tutti_type types[2] = {TUTTI_I64, TUTTI_I64};
    tutti_team *t, *mine;
    refused(x, tutti_neighbor_allgather(x->team, i, o, 1, TUTTI_I64), "has no neighbours");
    must(tutti_team_split(x->team, x->me, 0, &mine), x, "split");
    must(tutti_team_cart(mine, 1, &one, &yes, TUTTI_CART_LAST_FASTEST, &t), x, "cart");
    refused(x, tutti_neighbor_allgather(t, TUTTI_IN_PLACE, o, 1, TUTTI_I64), "in place");
    refused(x, tutti_neighbor_alltoall(t, i, o, -1, TUTTI_I64), "n is negative");
    refused(x, tutti_neighbor_alltoall(t, i, o, 1, TUTTI_TYPE_USER_END), "live derived types");
    refused(x, tutti_neighbor_alltoall(t, NULL, o, 1, TUTTI_I64), "in is NULL");
    refused(x, tutti_neighbor_alltoall(t, i, NULL, 1, TUTTI_I64), "out is NULL");
    refused(x, tutti_neighbor_alltoall(t, i, o, INT64_MAX / 4, TUTTI_I64), "n is too large");
    refused(x, tutti_neighbor_allgather(t, i, o, INT64_MAX / 16, TUTTI_I64),
            "n is too large for out");
    refused(x, tutti_neighbor_allgatherv(t, i, 1, o, c, below, TUTTI_I64),
            "counts[1] or displs[1] is negative: 1, -5");
    refused_start(x, tutti_neighbor_allgatherv(t, i, 1, o, large, d, TUTTI_I64),
                  "counts[0] and displs[0] overflow");
    refused(x, tutti_neighbor_alltoallv(t, i, c, below, o, c, d, TUTTI_I64),
            "in_counts[1] or in_displs[1] is negative: 1, -5");
    refused(x, tutti_neighbor_alltoallv(t, i, c, beyond, o, c, d, TUTTI_I64),
            "in_displs[1] overflows");
    refused(x, tutti_neighbor_alltoall(t, i, i + 1, 1, TUTTI_I64), "in and out overlap");
    refused(x, tutti_neighbor_allgatherv(t, i, 1, i, c, apart, TUTTI_I64), "in and out overlap");
    refused(x, tutti_neighbor_alltoallw(t, i, c, apart, types, i, c, bytes, types),
            "in and out overlap");
    refused(x, tutti_neighbor_alltoallv(t, i, c, NULL, o, c, d, TUTTI_I64), "in_displs is NULL");
    refused(x, tutti_neighbor_alltoallv(t, i, bad, d, o, c, d, TUTTI_I64), "negative");
    refused(x, tutti_neighbor_alltoallv(t, i, c, d, o, c, d, TUTTI_I64), "pieces of out overlap");
    refused(x, tutti_neighbor_alltoallw(t, i, c, d, NULL, o, c, d, NULL), "in_types is NULL");
    refused(x, tutti_neighbor_allgatherv(t, i, 2, o, c, apart, TUTTI_I64),
            "this rank sends itself n=4 of i64 but expects n=2 of i64");
    must(tutti_team_free(t), x, "free");
    must(tutti_team_free(mine), x, "free");
}

/* Tries a line of ranks, on which the first and the last rank each have a neighbour missing. The
 * count, displacement and type that they pass for that neighbour are ignored, however wrong. */
static void nothing_counts_outside(struct neighbor_rank *x)
{
    int p = tutti_size(x->team), last = p - 1;
    tutti_team *t;
    must(tutti_team_cart(x->team, 1, &p, NULL, TUTTI_CART_LAST_FASTEST, &t), x, "cart");
    int64_t in[2] = {10 * x->me, 10 * x->me + 1}, out[2] = {-1, -1};
    int64_t count[2] = {1, 1}, displ[2] = {0, 1}, byte[2] = {0, 8};
    tutti_type type[2] = {TUTTI_I64, TUTTI_I64};
    for (int k = 0; k < 2; k++) {
        if (x->me != (k ? last : 0)) continue;
        count[k] = -7;
        displ[k] = byte[k] = INT64_MIN;
        type[k] = -1;
    }
    for (int typed = 0; typed < 2; typed++) {
        out[0] = out[1] = -1;
        must(typed ? tutti_neighbor_alltoallw(t, in, count, byte, type, out, count, byte, type)
                   : tutti_neighbor_alltoallv(t, in, count, displ, out, count, displ, TUTTI_I64),
             x, "neighbor_alltoall(v, w)");
        check(out[0] == (x->me > 0 ? 10 * (x->me - 1) + 1 : -1), x, "from the lower neighbour");
        check(out[1] == (x->me < last ? 10 * (x->me + 1) : -1), x, "from the higher neighbour");
    }
    must(tutti_team_free(t), x, "free");
}

/* Checks that both ranks get an error that states both sizes if rank 1 sends more than rank 0
 * expects. */
static void mismatch(struct neighbor_rank *x)
{
    int other = 1 - x->me;
    tutti_team *t;
    if (tutti_size(x->team) != 2) return;
    must(tutti_team_graph(x->team, 1, &other, 1, &other, &t), x, "graph");
    int64_t sent = x->me == 1 ? 3 : 2, expected = 2, zero = 0;
    tutti_status status =
        tutti_neighbor_alltoallv(t, x->in, &sent, &zero, x->out, &expected, &zero, TUTTI_I32);
    if (status == TUTTI_OK) status = tutti_barrier(t);
    check(status == TUTTI_ERR_MISMATCH, x, "lengths that do not match");
    check(strstr(tutti_error(), "rank 1 sends rank 0 n=3 of i32 where rank 0 expects n=2 of i32"),
          x, "the text");
    (void)tutti_team_free(t);
}

/* Checks that both of two neighbours get an error that names both collectives if they call
 * different collectives of equally many bytes. */
static void other_collective(tutti_client *client, void *arg)
{
    struct neighbor_rank *x = calloc(1, sizeof *x);
    tutti_team *t;
    (void)arg;
    if (!x) abort();
    x->team = tutti_world(client);
    x->me = tutti_rank(x->team);
    int other = 1 - x->me;
    must(tutti_team_graph(x->team, 1, &other, 1, &other, &t), x, "graph");
    tutti_status status = x->me == 1 ? tutti_neighbor_alltoall(t, x->in, x->out, 2, TUTTI_I32)
                                     : tutti_neighbor_allgather(t, x->in, x->out, 2, TUTTI_I32);
    if (status == TUTTI_OK) status = tutti_barrier(t);
    check(status == TUTTI_ERR_MISMATCH, x, "collectives that do not match");
    check(strstr(tutti_error(), "neighbor_alltoall(n=2 of i32)") != NULL, x, "the one name");
    check(strstr(tutti_error(), "neighbor_allgather(n=2 of i32)") != NULL, x, "the other name");
    (void)tutti_team_free(t);
    free(x);
}

static void one_rank(tutti_client *client, void *arg)
{
    struct neighbor_rank *x = calloc(1, sizeof *x);
    (void)arg;
    if (!x) abort();
    x->team = tutti_world(client);
    x->me = tutti_rank(x->team);
    must(tutti_type_vector(2, 1, 2, TUTTI_I64, &x->pair), x, "vector");
    grids(x);
    graph(x);
    wrong(x);
    nothing_counts_outside(x);
    mismatch(x);
    must(tutti_type_free(x->pair), x, "free");
    free(x);
}

/* `neighbor` runs the test as one rank of the job that `tutti run` has started. `neighbor threads
 * P...` runs it on P threads, which are the ranks, for each P in turn. */
int main(int argc, char **argv)
{
    if (run_ranks(argc, argv, one_rank) != 0) return 1;
    return argc > 1 && tutti_threads(2, other_collective, NULL) != TUTTI_OK;
}
