/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives on derived types. Every algorithm runs with columns of a matrix, structs and rows, in
 * place or not, between ranks with different layouts. Nonblocking and persistent calls run many at
 * once and repeatedly. Ranks are threads of one process (`types threads A B`) or processes (`tutti
 * run -n N types`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/packed.h"
#include "brief.h"
#include "coll/coll.h"
#include "types-case.h"

static bool ranks_are_threads;

/* Returns whether the shape can be tried. A built-in operation can reduce numbers of one type only;
 * a user's operation can reduce structs, too. Counts above LARGE are tried only for structs that a
 * user's operation reduces: with so many elements the call works in slices, which must hold whole
 * structs. */
static bool makes_sense(const struct shape *s)
{
    enum { LARGE = 3000 };
    if (s->n > LARGE && !(s->user_op && s->kind == PAIRS)) return false;
    if (!tt_coll_has_op(s->coll)) return !s->user_op;
    return s->user_op || s->kind != PAIRS;
}

static struct shape variant(struct shape s, int k, int p)
{
    s.in_place = k & 1;
    s.user_op = k & 2;
    s.kind = k / 4;
    s.root = k & 1 ? p - 1 : p / 2;
    return s;
}

enum { VARIANTS = 4 * KINDS };

/* ---- Every algorithm ---- */

static void try_shape(struct types_rank *rank, const struct tt_algorithm *a, struct shape s)
{
    struct one *one = one_new(rank, s);
    if (!a || one_applies(one, a)) {
        one_fill(one, 0);
        one_call(one, BLOCKING);
        one_check(one, 0);
        rank->cases++;
    }
    one_free(one);
}

/* Tries an algorithm with all shapes, or in a brief run with every fifth shape, which still covers
 * each size and each variant. `turn` differs by one from algorithm to algorithm, so that five
 * algorithms of a collective together try all shapes. */
static void try_shapes(struct types_rank *rank, const struct tt_algorithm *a, int turn)
{
    const int64_t sizes[] = {0, 1, 2, 7, 300, 2500, brief(60000, 12000)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < VARIANTS; k++) {
            if (turn++ % brief(1, 5)) continue;
            struct shape s = variant((struct shape){.coll = a->coll, .n = sizes[i]}, k, rank->p);
            /* Rows have little code of their own, so two sizes are enough. */
            if (s.kind == ROWS && s.n != 7 && s.n != 2500) continue;
            if (makes_sense(&s)) try_shape(rank, a, s);
        }
}

static void no_error(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s\n", tutti_error());
    abort();
}

/* Forces the algorithm that the text names. The forced algorithm is a setting of the process: where
 * the ranks are threads, only rank 0 sets it. */
static void force_choice(const struct types_rank *rank, const char *text)
{
    if (!ranks_are_threads || rank->me == 0) tt_choose_force(text);
}

/* Tries an algorithm on a new team, because a team caches its plans. */
static void try_algorithm(struct types_rank *world, const struct tt_algorithm *a, int turn)
{
    char force[64];
    struct types_rank part = *world;
    no_error(tutti_barrier(world->team));
    snprintf(force, sizeof force, "%s=%s", tt_coll_name(a->coll), a->name);
    no_error(tutti_team_split(world->team, 0, world->me, &part.team));
    force_choice(world, force);
    no_error(tutti_barrier(world->team));
    try_shapes(&part, a, turn);
    no_error(tutti_barrier(world->team));
    force_choice(world, NULL);
    no_error(tutti_team_free(part.team));
    no_error(tutti_barrier(world->team)); /* tutti_team_free does not wait for ranks on other
                                           * nodes */
    world->cases = part.cases;
}

/* ---- Nonblocking and persistent ---- */

enum { AT_ONCE = 2 * TT_COLLS * VARIANTS };

static int make_all(struct types_rank *rank, struct one **all, int64_t n, unsigned flags)
{
    int made = 0;
    for (int i = 0; i < AT_ONCE; i++) {
        struct shape s = {.coll = (enum tt_coll)(i % TT_COLLS), .n = n + i % 3, .flags = flags};
        s = variant(s, i / TT_COLLS % VARIANTS, rank->p);
        if (s.coll != TT_COLL_barrier && makes_sense(&s)) all[made++] = one_new(rank, s);
    }
    return made;
}

static void free_all(struct one **all, int n)
{
    for (int i = 0; i < n; i++) one_free(all[i]);
}

/* Starts more requests of all kinds than there are slots, and completes them in reverse order. */
static void try_at_once(struct types_rank *rank)
{
    struct one *all[AT_ONCE];
    int n = make_all(rank, all, 20, 0);
    for (int i = 0; i < n; i++) one_fill(all[i], i);
    for (int i = 0; i < n; i++) one_call(all[i], NONBLOCKING);
    for (int i = n - 1; i >= 0; i--) {
        must(tutti_wait(all[i]->request), all[i], "wait");
        one_check(all[i], i);
    }
    free_all(all, n);
}

static void start(struct one *one, int round)
{
    one_fill(one, round);
    must(tutti_start(one->request), one, "start");
}

/* Ends the call, and checks that its result is unpacked only once, when the request is found
 * complete: data that the caller writes to `out` later must stay. */
static void end(struct one *one, int round)
{
    tutti_status status;
    while ((status = tutti_test(one->request)) == TUTTI_AGAIN) {
    }
    must(status, one, "test");
    one_check(one, round);
    memset(one->out, 0, (size_t)one->bytes);
    must(tutti_wait(one->request), one, "wait");
    for (int64_t i = 0; i < one->bytes; i++)
        if (one->out[i]) must(TUTTI_ERR_SYSTEM, one, "was unpacked twice");
}

/* Checks that nothing is packed if the elements lie in a row. */
static void check_packed(const struct types_rank *rank, const struct one *one)
{
    const struct tt_packed *k = one->request->packed;
    if (one->shape.kind == ROWS && rank->me % 2 == 0 && (k->memory || k->packs || k->unpacks))
        must(TUTTI_ERR_SYSTEM, one, "packs rows");
}

static void try_persistent(struct types_rank *rank, int64_t n, unsigned flags)
{
    struct one *all[AT_ONCE];
    int made = make_all(rank, all, n, flags);
    for (int i = 0; i < made; i++) one_call(all[i], PERSISTENT);
    for (int i = 0; i < made; i++) check_packed(rank, all[i]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < made; i++) start(all[i], round);
        for (int i = 0; i < made; i++) end(all[i], round);
    }
    free_all(all, made);
}

/* ---- Ranks with different types for the same sequence of numbers ---- */

/* Makes calls in which the last rank receives into every second element of a matrix with two
 * columns, while the other ranks use contiguous memory. */
static void try_basic_and_strided(struct types_rank *rank)
{
    enum { N = 12 };
    double values[2 * N], sums[2 * N];
    bool strided = rank->me == rank->p - 1;
    tutti_type every_second = TUTTI_F64;
    for (int i = 0; i < 2 * N; i++) values[i] = sums[i] = -1;
    for (int i = 0; i < N; i++) values[strided ? 2 * i : i] = rank->me + i;
    if (strided) no_error(tutti_type_vector(N / 3, 1, 2, TUTTI_F64, &every_second));
    if (strided) {
        tutti_type longer;
        no_error(tutti_type_struct(1, &(tutti_field){0, 1, every_second}, 2 * N / 3 * 8, &longer));
        no_error(tutti_type_free(every_second));
        every_second = longer;
    }
    no_error(tutti_allreduce(rank->team, values, sums, strided ? 3 : N, every_second, TUTTI_SUM));
    for (int i = 0; i < N; i++) {
        int sum = rank->p * i + rank->p * (rank->p - 1) / 2;
        if (sums[strided ? 2 * i : i] != sum) abort();
        if (strided && sums[2 * i + 1] != -1) abort();
    }
    if (strided) no_error(tutti_type_free(every_second));
}

/* Checks that two elements of one struct match one element that consists of two such structs. */
static void try_cut_otherwise(struct types_rank *rank)
{
    struct pair {
        int32_t a;
        double b;
    } pairs[4] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    tutti_field fields[] = {{offsetof(struct pair, a), 1, TUTTI_I32},
                            {offsetof(struct pair, b), 1, TUTTI_F64}};
    bool odd = rank->me % 2 == 1;
    tutti_type one, two;
    no_error(tutti_type_struct(2, fields, sizeof(struct pair), &one));
    no_error(
        tutti_type_struct(1, &(tutti_field){0, 2, one}, 2 * (int64_t)sizeof(struct pair), &two));
    no_error(tutti_type_free(one));
    no_error(tutti_type_struct(2, fields, sizeof(struct pair), &one));
    for (int i = 0; i < 4 && rank->me == 0; i++) pairs[i] = (struct pair){i, i + 0.5};
    no_error(tutti_bcast(rank->team, pairs, odd ? 2 : 4, odd ? two : one, 0));
    for (int i = 0; i < 4; i++)
        if (pairs[i].a != i || pairs[i].b != i + 0.5) abort();
    no_error(tutti_type_free(one));
    no_error(tutti_type_free(two));
}

/* Tries numbers that lie in a row at an address that is not aligned for a double, and an input that
 * overlaps the output. */
static void try_awkward_rows(struct types_rank *rank)
{
    enum { N = 12, SHIFT = 4 };
    _Alignas(double) char buffers[2][(N + 1) * sizeof(double)];
    double values[N], sums[N];
    tutti_type three;
    no_error(tutti_type_vector(1, 3, 3, TUTTI_F64, &three));
    for (int i = 0; i < N; i++) values[i] = rank->me + i;
    for (int k = 0; k < 2; k++) {
        char *in = buffers[0] + (k ? 0 : SHIFT),
             *out = k ? in + sizeof(double) : buffers[1] + SHIFT;
        memcpy(in, values, sizeof values);
        no_error(tutti_allreduce(rank->team, in, out, N / 3, three, TUTTI_SUM));
        memcpy(sums, out, sizeof sums);
        for (int i = 0; i < N; i++)
            if (sums[i] != rank->p * i + rank->p * (rank->p - 1) / 2.0) abort();
    }
    no_error(tutti_type_free(three));
}

/* ---- Types whose packed sequences differ ---- */

static _Atomic int reported;

static void try_mismatch(tutti_client *client, void *arg)
{
    static char buffers[2][2][12];
    tutti_team *world = tutti_world(client);
    int me = tutti_rank(world);
    tutti_op op = *(tutti_op *)arg;
    tutti_field fields[2][2] = {{{0, 1, TUTTI_I32}, {4, 1, TUTTI_F64}},
                                {{0, 1, TUTTI_F64}, {8, 1, TUTTI_I32}}};
    tutti_type type;
    no_error(tutti_type_struct(2, fields[me], 12, &type));
    tutti_status status = op == TUTTI_SUM
                              ? tutti_bcast(world, buffers[0][me], 1, type, 0)
                              : tutti_allreduce(world, buffers[0][me], buffers[1][me], 1, type, op);
    if (status == TUTTI_OK) status = tutti_barrier(world);
    if (status != TUTTI_ERR_MISMATCH && status != TUTTI_ERR_PEER) abort();
    if (status == TUTTI_ERR_MISMATCH && strstr(tutti_error(), "derived type of 12 bytes (layout "))
        reported++;
    no_error(tutti_type_free(type));
}

static void try_mismatches(void)
{
    tutti_op ops[] = {TUTTI_SUM, types_op[PAIRS]};
    for (int i = 0; i < 2; i++) {
        reported = 0;
        no_error(tutti_threads(2, try_mismatch, &ops[i]));
        if (reported == 0) abort();
    }
}

static void try_all(tutti_client *client, void *arg)
{
    struct types_rank rank = {.client = client, .team = tutti_world(client)};
    (void)arg;
    rank.p = tutti_size(rank.team);
    rank.me = tutti_rank(rank.team);
    for (int i = 0; tt_algorithms[i]; i++)
        if (tt_algorithms[i]->coll != TT_COLL_barrier) try_algorithm(&rank, tt_algorithms[i], i);
    try_at_once(&rank);
    try_persistent(&rank, 10, 0);
    try_persistent(&rank, 700, TUTTI_REQUEST_SHARED);
    try_basic_and_strided(&rank);
    try_cut_otherwise(&rank);
    try_awkward_rows(&rank);
    no_error(tutti_barrier(rank.team));
    if (rank.me == 0) printf("%d ranks: %d cases\n", rank.p, rank.cases);
}

int main(int argc, char **argv)
{
    tutti_client *client;
    keep_freed_memory();
    types_make_ops();
    if (argc == 4 && strcmp(argv[1], "threads") == 0) {
        ranks_are_threads = true;
        for (int p = atoi(argv[2]); p <= atoi(argv[3]); p++)
            no_error(tutti_threads(p, try_all, NULL));
        /* The mismatch test makes a job of two ranks. If TUTTI_NODES is set, it is for as many
         * ranks as argv[3] says, so the test is left out unless this number is 2. */
        if (!getenv("TUTTI_NODES") || atoi(argv[3]) == 2) try_mismatches();
        return 0;
    }
    no_error(tutti_init(&client));
    try_all(client, NULL);
    return tutti_finalize(client) != TUTTI_OK;
}
