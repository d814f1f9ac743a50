/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of two ranks in which one rank sends other pieces than its partner expects. The collectives
 * are those in which each piece may have a type of its own (neighbourhood collectives, alltoallw),
 * and alltoallv of derived types. Both ranks get an error that names the counts and types of the
 * user. Pieces whose basic types are the same match, whatever types the ranks use.
 */
#include <stdbool.h>

#include "ranks.h"

/* A rank, 0 or 1, with what it needs for the call of a case. `team` is a graph in which each rank
 * is twice a neighbour of the other one. */
struct unlike_rank {
    tutti_team *team;
    int rank;
    tutti_type two, mixed, other; /* two: two i32 with a gap between them; mixed: an i32 and an f32;
                                   * other: an f32 and an i32 */
    int64_t in[64], out[64];
};

struct unlike_case {
    tutti_status (*call)(struct unlike_rank *x);
    const char *text[3]; /* texts that the errors of both ranks contain; no texts: the calls
                          * match */
};

static const int64_t places[2] = {0, 32}, twos[2] = {2, 2}, ones[2] = {1, 1};

/* ---- Collectives with one count or one type for all pieces ---- */

static tutti_status other_type(struct unlike_rank *x)
{
    return tutti_neighbor_alltoall(x->team, x->in, x->out, 2, x->rank ? TUTTI_F32 : TUTTI_I32);
}

static tutti_status other_n(struct unlike_rank *x)
{
    return tutti_neighbor_allgather(x->team, x->in, x->out, 2 + x->rank, TUTTI_I32);
}

static tutti_status gathered_type(struct unlike_rank *x)
{
    return tutti_neighbor_allgatherv(x->team, x->in, 2, x->out, twos, places,
                                     x->rank ? TUTTI_U64 : TUTTI_I64);
}

/* Makes a call in which rank 1 sends 1 and 3 elements where rank 0 expects 3 and 1: as many in all,
 * divided differently. */
static tutti_status divided(struct unlike_rank *x)
{
    static const int64_t up[2] = {1, 3}, down[2] = {3, 1};
    const int64_t *sent = x->rank ? up : twos, *expected = x->rank ? twos : down;
    return tutti_neighbor_alltoallv(x->team, x->in, sent, places, x->out, expected, places,
                                    TUTTI_I32);
}

/* Makes a call in which rank 1 sends 2 and 0 elements where rank 0 expects 0 and 2. */
static tutti_status misplaced(struct unlike_rank *x)
{
    static const int64_t up[2] = {2, 0}, down[2] = {0, 2};
    const int64_t *sent = x->rank ? up : twos, *expected = x->rank ? twos : down;
    return tutti_neighbor_alltoallv(x->team, x->in, sent, places, x->out, expected, places,
                                    TUTTI_I32);
}

/* Makes a call in which rank 1 sends nothing where rank 0 expects something. */
static tutti_status nothing(struct unlike_rank *x)
{
    static const int64_t none[2];
    return tutti_neighbor_alltoallv(x->team, x->in, x->rank ? none : twos, places, x->out, twos,
                                    places, TUTTI_I32);
}

/* Lets the ranks call different collectives without any elements. The error names the types of the
 * calls nevertheless. */
static tutti_status empty_calls(struct unlike_rank *x)
{
    if (x->rank) return tutti_neighbor_allgather(x->team, x->in, x->out, 0, TUTTI_F32);
    return tutti_neighbor_alltoall(x->team, x->in, x->out, 0, TUTTI_I32);
}

/* Lets the ranks pass different numbers of elements of a derived type. The error states the numbers
 * of these elements. */
static tutti_status derived(struct unlike_rank *x)
{
    return tutti_neighbor_allgather(x->team, x->in, x->out, 2 + x->rank, x->mixed);
}

/* ---- A type for each piece ---- */

/* Lets one rank call an alltoallv, which has one type for all pieces, and the other an alltoallw,
 * which has a type for each piece, both without any elements. */
static tutti_status empty_pieces(struct unlike_rank *x)
{
    static const int64_t none[2];
    const tutti_type types[2] = {TUTTI_I32, TUTTI_F64};
    if (x->rank)
        return tutti_neighbor_alltoallv(x->team, x->in, none, places, x->out, none, places,
                                        TUTTI_I64);
    return tutti_neighbor_alltoallw(x->team, x->in, none, places, types, x->out, none, places,
                                    types);
}

static tutti_status exchange(struct unlike_rank *x, bool neighbors, const int64_t *sent,
                             const tutti_type *in, const int64_t *expected, const tutti_type *out)
{
    int64_t to[2] = {0}, from[2] = {0}; /* the count for the rank itself stays 0 */
    if (neighbors)
        return tutti_neighbor_alltoallw(x->team, x->in, sent, places, in, x->out, expected, places,
                                        out);
    to[1 - x->rank] = sent[0];
    from[1 - x->rank] = expected[0];
    return tutti_alltoallw(x->team, x->in, to, places, in, x->out, from, places, out);
}

static tutti_status each_type(struct unlike_rank *x)
{
    tutti_type same[2] = {TUTTI_I32, TUTTI_I32}, other[2] = {TUTTI_I32, TUTTI_U32};
    return exchange(x, true, twos, x->rank ? other : same, twos, same);
}

static tutti_status in_halves(struct unlike_rank *x)
{
    tutti_type long_one[2] = {TUTTI_I64, TUTTI_I64}, halves[2] = {TUTTI_I32, TUTTI_I32};
    return exchange(x, false, ones, long_one, x->rank ? ones : twos, x->rank ? long_one : halves);
}

static tutti_status another_order(struct unlike_rank *x)
{
    tutti_type one[2] = {x->mixed, x->mixed}, other[2] = {x->other, x->other};
    return exchange(x, false, ones, x->rank ? one : other, ones, other);
}

/* Makes two calls. In the first, each rank sends pairs of elements (type `two`) and receives each
 * pair as two single elements; in the second, each rank sends single elements and receives pairs.
 * All pieces match. */
static tutti_status same_signature(struct unlike_rank *x)
{
    tutti_type pair[2] = {x->two, x->two}, basic[2] = {TUTTI_I32, TUTTI_I32};
    tutti_status status = exchange(x, true, ones, pair, twos, basic);
    if (status == TUTTI_OK) status = exchange(x, false, twos, basic, ones, pair);
    return status;
}

static tutti_status vectors(struct unlike_rank *x)
{
    int64_t count[2] = {0};
    count[1 - x->rank] = 2;
    return tutti_alltoallv(x->team, x->in, count, places, x->out, count, places,
                           x->rank ? x->mixed : x->other);
}

static tutti_status gathered(struct unlike_rank *x)
{
    static const int64_t at[2] = {0, 8};
    return tutti_gatherv(x->team, x->in, 2, x->out, twos, at, x->rank ? x->mixed : x->other, 0);
}

/* Checks that pieces without elements match, whatever their types are. */
static tutti_status empty(struct unlike_rank *x)
{
    static const int64_t none[2];
    tutti_type one[2] = {TUTTI_I32, x->mixed}, other[2] = {TUTTI_F64, TUTTI_I8};
    tutti_status status = exchange(x, true, none, x->rank ? one : other, none, other);
    if (status == TUTTI_OK) status = exchange(x, false, none, one, none, x->rank ? other : one);
    return status;
}

/* ---- Requests ---- */

static tutti_status finish(tutti_request *request)
{
    tutti_status status = tutti_wait(request);
    (void)tutti_request_free(request);
    return status;
}

static tutti_status started(struct unlike_rank *x)
{
    tutti_request *request;
    tutti_status status = tutti_ineighbor_alltoall(x->team, x->in, x->out, 2,
                                                   x->rank ? TUTTI_F32 : TUTTI_I32, &request);
    return status == TUTTI_OK ? tutti_wait(request) : status;
}

static tutti_status persistent(struct unlike_rank *x)
{
    tutti_request *request;
    tutti_status status = tutti_neighbor_alltoall_init(
        x->team, x->in, x->out, 2, x->rank ? TUTTI_F32 : TUTTI_I32, 0, &request);
    if (status == TUTTI_OK) status = tutti_start(request);
    return status == TUTTI_OK ? finish(request) : status;
}

/* Makes equal calls first, so that both ranks have compared everything before, and then calls that
 * do not match. */
static tutti_status later(struct unlike_rank *x)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < 70 && status == TUTTI_OK; i++)
        status = tutti_neighbor_alltoall(x->team, x->in, x->out, 2, TUTTI_I32);
    return status == TUTTI_OK ? other_type(x) : status;
}

#define PAIR(call) "neighbor_" call ": rank "
#define DIVIDED ", but divided or ordered in another way"
static const struct unlike_case cases[] = {
    {other_type, {PAIR("alltoall"), "n=4 of i32", "n=4 of f32"}},
    {other_n, {PAIR("allgather"), "n=4 of i32", "n=6 of i32"}},
    {gathered_type, {PAIR("allgatherv"), "n=4 of i64", "n=4 of u64"}},
    {divided,
     {PAIR("alltoallv"), "1 sends rank 0 n=4 of i32 where rank 0 expects n=4 of i32", DIVIDED}},
    {misplaced,
     {PAIR("alltoallv"), "1 sends rank 0 n=2 of i32 where rank 0 expects n=2 of i32", DIVIDED}},
    {nothing, {PAIR("alltoallv"), "rank 1 sends rank 0 n=0 where rank 0 expects n=4 of i32", ""}},
    {empty_calls, {"neighbor_alltoall(n=0 of i32)", "neighbor_allgather(n=0 of f32)", "rank 1 "}},
    {derived,
     {PAIR("allgather"), "n=4 of a derived type of 8 bytes", "n=6 of a derived type of 8 bytes"}},
    {empty_pieces, {"neighbor_alltoallw(no elements)", "neighbor_alltoallv(i64)", "rank 1 "}},
    {each_type, {PAIR("alltoallw"), "rank 1 sends rank 0 16 bytes of several types", "n=4 of i32"}},
    {in_halves,
     {"alltoallw: ", "rank 1 sends rank 0 n=1 of i64 (in_counts[0])",
      "rank 0 expects n=2 of i32 (out_counts[1])"}},
    {another_order,
     {"alltoallw: ", "rank 1 sends rank 0 8 bytes of a derived type (layout ",
      "rank 0 expects 8 bytes of a derived type (layout "}},
    {same_signature, {NULL, NULL, NULL}},
    {empty, {NULL, NULL, NULL}},
    {started, {PAIR("alltoall"), "n=4 of i32", "n=4 of f32"}},
    {persistent, {PAIR("alltoall"), "n=4 of i32", "n=4 of f32"}},
    {vectors, {"alltoallv: rank ", "of a derived type", "expects "}},
    {gathered, {"gatherv: rank 1 sends rank 0 ", "of a derived type", "rank 0 expects "}},
    {later, {PAIR("alltoall"), "n=4 of i32", "n=4 of f32"}}};
enum { CASES = sizeof cases / sizeof *cases };

static void make_types(struct unlike_rank *x)
{
    const tutti_field mixed[] = {{0, 1, TUTTI_I32}, {4, 1, TUTTI_F32}};
    const tutti_field other[] = {{0, 1, TUTTI_F32}, {4, 1, TUTTI_I32}};
    EXPECT(tutti_type_vector(2, 1, 2, TUTTI_I32, &x->two) == TUTTI_OK);
    EXPECT(tutti_type_struct(2, mixed, 8, &x->mixed) == TUTTI_OK);
    EXPECT(tutti_type_struct(2, other, 8, &x->other) == TUTTI_OK);
}

static void free_types(const struct unlike_rank *x)
{
    EXPECT(tutti_type_free(x->two) == TUTTI_OK);
    EXPECT(tutti_type_free(x->mixed) == TUTTI_OK);
    EXPECT(tutti_type_free(x->other) == TUTTI_OK);
}

/* Returns whether the status is a mismatch and the error contains all texts of the case. */
static bool is_told(const struct unlike_case *c, tutti_status status)
{
    bool told = status == TUTTI_ERR_MISMATCH;
    for (int i = 0; i < 3; i++) told = told && strstr(tutti_error(), c->text[i]) != NULL;
    return told;
}

/* Runs the case with the number *arg. The two ranks compare their pieces at the latest in the
 * barrier that follows the call. The rank's buffers must exist until both ranks have the error. */
static void one_rank(tutti_client *client, void *arg)
{
    static struct unlike_rank ranks[2];
    const struct unlike_case *c = &cases[*(int *)arg];
    tutti_team *world = tutti_world(client);
    struct unlike_rank *x = &ranks[tutti_rank(world)];
    x->rank = tutti_rank(world);
    int other = 1 - x->rank, twice[2] = {other, other};
    EXPECT(tutti_size(world) == 2);
    EXPECT(tutti_team_graph(world, 2, twice, 2, twice, &x->team) == TUTTI_OK);
    make_types(x);
    tutti_status status = c->call(x);
    if (status == TUTTI_OK) status = tutti_barrier(x->team);
    bool good = c->text[0] ? is_told(c, status) : status == TUTTI_OK;
    if (!good)
        fprintf(stderr, "rank %d, case %d: %s: %s\n", x->rank, *(int *)arg,
                tutti_status_text(status), tutti_error());
    EXPECT(good);
    free_types(x);
}

/* `unlike` runs all cases, each in a job of two threads. `unlike processes` runs all cases, each in
 * a client of the job that `tutti run` has started with two ranks. */
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < CASES; i++) {
        tutti_client *client;
        if (argc < 2) {
            EXPECT(tutti_threads(2, one_rank, &i) == TUTTI_OK);
            continue;
        }
        EXPECT(tutti_init(&client) == TUTTI_OK);
        one_rank(client, &i);
        (void)tutti_finalize(client);
    }
    return 0;
}
