/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective with indexed, resized and subarray types, with types whose data lie before the
 * address of the buffer, and with types nested in each other, in place or not. The results are
 * compared with a serial reference, byte for byte including the gaps. Ranks are threads of one
 * process (`types-layout threads A B`) or processes (`tutti run -n N types-layout`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "type/typemap.h"

enum { MOST_RANKS = 8, CANARY = 0xa5, WORD = sizeof(uint32_t) };
/* MOST_N: the largest count. MOST_ELEMENTS: the elements of a buffer for each rank. */
enum { MOST_N = 17, MOST_ELEMENTS = 2 * MOST_N + 1 };

struct layout_rank {
    tutti_team *team;
    int p, me, cases;
};

/* One call on one rank. */
struct layout_case {
    const struct layout_rank *rank;
    const struct typemap *map;
    const char *kind; /* the kind of the type, for messages */
    enum tt_coll coll;
    bool in_place;
    int root;
    int64_t n;
    int64_t in_counts[MOST_RANKS], in_displs[MOST_RANKS];
    int64_t out_counts[MOST_RANKS], out_displs[MOST_RANKS];
};

static void fail(const struct layout_case *c, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s of %lld %s%s: %s: %s\n", c->rank->me, c->rank->p,
            tt_coll_name(c->coll), (long long)c->n, c->kind, c->in_place ? " in place" : "", what,
            tutti_error());
    abort();
}

static void no_error(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s\n", tutti_error());
    abort();
}

/* ---- Buffers: memory of exactly the bytes that the elements span ---- */

struct layout_buffer {
    char *memory, *user; /* `user` is the address for the call; the data may lie before it */
    int64_t bytes;
};

static struct layout_buffer buffer_new(const struct typemap *map, int64_t elements)
{
    int64_t n = tt_max(elements, 1), low = tt_min(typemap_begin(map, n), 0);
    struct layout_buffer b = {.bytes = tt_max(typemap_end(map, n), 0) - low};
    b.memory = malloc((size_t)b.bytes);
    if (!b.memory) abort();
    memset(b.memory, CANARY, (size_t)b.bytes);
    b.user = b.memory - low;
    return b;
}

static void put_word(const struct layout_case *c, struct layout_buffer b, int64_t element,
                     int64_t word, uint32_t value)
{
    const char *bytes = (const char *)&value;
    for (int64_t k = 0; k < WORD; k++)
        b.user[element * c->map->extent + c->map->at[word * WORD + k]] = bytes[k];
}

/* ---- The reference ---- */

/* Returns word j of element e of the input of a rank. */
static uint32_t input(int rank, int64_t e, int64_t j)
{
    uint64_t x = (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)e * 0xbf58476d1ce4e5b9u +
                 (uint64_t)j * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 29) * 0xff51afd7ed558ccdu >> 32);
}

static uint32_t summed(int ranks, int64_t e, int64_t j)
{
    uint32_t sum = 0;
    for (int r = 0; r < ranks; r++) sum += input(r, e, j);
    return sum;
}

/* Returns whether two ranks that exchange a piece both pass its count, as in an alltoallv. */
static bool pairs(const struct layout_case *c)
{
    return tt_coll_pairs(c->coll);
}

/* Returns the number of elements that a rank gives another in an alltoallv, gatherv or scatterv. */
static int64_t exchanged(const struct layout_case *c, int from, int to)
{
    if (c->coll == TT_COLL_gatherv && to != c->root) return 0;
    if (c->coll == TT_COLL_scatterv && from != c->root) return 0;
    return c->n * ((from + 2 * to) % 3);
}

/* Returns the number of elements before those for rank r in the input of rank `from` to an
 * alltoallv, gatherv or scatterv. */
static int64_t exchanged_before(const struct layout_case *c, int from, int r)
{
    int64_t at = 0;
    while (r-- > 0) at += exchanged(c, from, r);
    return at;
}

static int64_t before(const struct layout_case *c, int r)
{
    int64_t at = 0;
    while (r-- > 0) at += c->out_counts[r];
    return at;
}

/* Sets uneven counts, some of them zero, and displacements with gaps; the pieces of `out` are in
 * reverse order of ranks. */
static void set_counts(struct layout_case *c)
{
    int p = c->rank->p, me = c->rank->me;
    int64_t out_at = 0;
    bool known = !pairs(c);
    for (int r = 0; r < p; r++) {
        c->in_counts[r] = exchanged(c, me, r);
        c->in_displs[r] = exchanged_before(c, me, r) + r;
        c->out_counts[r] = known ? c->n * (r % 3) : exchanged(c, r, me);
    }
    for (int r = p - 1; r >= 0; r--) {
        c->out_displs[r] = out_at;
        out_at += c->out_counts[r] + 1;
    }
}

/* Returns the number of elements for which a buffer has room. */
static int64_t room(const struct layout_case *c)
{
    return (2 * c->n + 1) * c->rank->p;
}

/* Returns the number of elements of this rank's input, and in *place where they lie in the output
 * if the call is in place. */
static int64_t input_elements(const struct layout_case *c, int64_t *place)
{
    int p = c->rank->p, me = c->rank->me;
    *place = 0;
    switch (c->coll) {
    case TT_COLL_alltoall:
    case TT_COLL_reduce_scatter_block: return c->n * p;
    case TT_COLL_reduce_scatter: return before(c, p);
    case TT_COLL_bcast: return c->root == me ? c->n : 0;
    case TT_COLL_scatter: return c->root == me ? c->n * p : 0;
    case TT_COLL_gather:
    case TT_COLL_allgather: *place = me * c->n; return c->n;
    case TT_COLL_allgatherv: *place = c->out_displs[me]; return c->out_counts[me];
    default: return c->n;
    }
}

static void put_input(const struct layout_case *c, struct layout_buffer b, bool in_place)
{
    int me = c->rank->me;
    int64_t place, n = input_elements(c, &place), words = c->map->n / WORD;
    bool listed = pairs(c), gathers = c->coll == TT_COLL_gatherv;
    for (int r = 0; r < (listed ? c->rank->p : 1); r++) {
        int64_t first = listed ? exchanged_before(c, me, r) : 0;
        int64_t to = in_place && gathers ? c->out_displs[me] : in_place ? place : 0;
        if (listed && !(in_place && gathers)) to = c->in_displs[r];
        for (int64_t e = 0; e < (listed ? c->in_counts[r] : n); e++)
            for (int64_t j = 0; j < words; j++) put_word(c, b, to + e, j, input(me, first + e, j));
    }
}

/* Writes elements first .. first + n - 1 of the input of `rank` (with `ranks` > 0: of the sum of
 * the inputs of ranks 0 .. ranks - 1) to the buffer, from its element `to` on. */
static void put_result(const struct layout_case *c, struct layout_buffer b, int64_t to, int64_t n,
                       int rank, int ranks, int64_t first)
{
    for (int64_t e = 0; e < n; e++)
        for (int64_t j = 0; j < c->map->n / WORD; j++)
            put_word(c, b, to + e, j,
                     ranks > 0 ? summed(ranks, first + e, j) : input(rank, first + e, j));
}

static void put_reduction(const struct layout_case *c, struct layout_buffer b)
{
    int p = c->rank->p, me = c->rank->me;
    int ranks = c->coll == TT_COLL_scan ? me + 1 : c->coll == TT_COLL_exscan ? me : p;
    if (c->coll == TT_COLL_reduce && c->root != me) return;
    if (c->coll == TT_COLL_reduce_scatter_block)
        put_result(c, b, 0, c->n, 0, p, me * c->n);
    else if (c->coll == TT_COLL_reduce_scatter)
        put_result(c, b, 0, c->out_counts[me], 0, p, before(c, me));
    else if (ranks > 0)
        put_result(c, b, 0, c->n, 0, ranks, 0);
}

static void put_output(const struct layout_case *c, struct layout_buffer b)
{
    int p = c->rank->p, me = c->rank->me;
    if (c->in_place) put_input(c, b, true);
    if (tt_coll_has_op(c->coll)) {
        put_reduction(c, b);
    } else if (c->coll == TT_COLL_bcast) {
        put_result(c, b, 0, c->n, c->root, 0, 0);
    } else if (c->coll == TT_COLL_scatterv && c->in_place) {
        return;
    } else if (c->coll == TT_COLL_scatter) {
        if (!c->in_place) put_result(c, b, 0, c->n, c->root, 0, me * c->n);
    } else if (c->coll != TT_COLL_gather || c->root == me) {
        for (int r = 0; r < p; r++) {
            bool listed = c->coll == TT_COLL_allgatherv || pairs(c);
            int64_t first = pairs(c) ? exchanged_before(c, r, me) : 0;
            if (c->coll == TT_COLL_alltoall) first = me * c->n;
            put_result(c, b, listed ? c->out_displs[r] : r * c->n, listed ? c->out_counts[r] : c->n,
                       r, 0, first);
        }
    }
}

/* ---- The call ---- */

static tutti_status reduce(const struct layout_case *c, const void *in, void *out)
{
    tutti_team *team = c->rank->team;
    tutti_type type = c->map->type;
    switch (c->coll) {
    case TT_COLL_reduce: return tutti_reduce(team, in, out, c->n, type, TUTTI_SUM, c->root);
    case TT_COLL_scan: return tutti_scan(team, in, out, c->n, type, TUTTI_SUM);
    case TT_COLL_exscan: return tutti_exscan(team, in, out, c->n, type, TUTTI_SUM);
    case TT_COLL_reduce_scatter:
        return tutti_reduce_scatter(team, in, out, c->out_counts, type, TUTTI_SUM);
    case TT_COLL_reduce_scatter_block:
        return tutti_reduce_scatter_block(team, in, out, c->n, type, TUTTI_SUM);
    default: return tutti_allreduce(team, in, out, c->n, type, TUTTI_SUM);
    }
}

/* Calls a gatherv or scatterv. Each rank has lists of its own, in which the entry of the root gives
 * the count and the displacement of the piece that the rank sends to the root or gets from it. */
static tutti_status call_rooted_list(const struct layout_case *c, const void *in, void *out)
{
    tutti_team *team = c->rank->team;
    tutti_type type = c->map->type;
    int64_t give = c->in_displs[c->root] * c->map->extent,
            take = c->out_displs[c->root] * c->map->extent;
    if (c->coll == TT_COLL_gatherv)
        return tutti_gatherv(team, c->in_place ? in : (const char *)in + give,
                             c->in_counts[c->root], out, c->out_counts, c->out_displs, type,
                             c->root);
    return tutti_scatterv(team, in, c->in_counts, c->in_displs,
                          c->in_place ? out : (char *)out + take, c->out_counts[c->root], type,
                          c->root);
}

static tutti_status call(const struct layout_case *c, const void *in, void *out)
{
    tutti_team *team = c->rank->team;
    tutti_type type = c->map->type;
    switch (c->coll) {
    case TT_COLL_bcast: return tutti_bcast(team, out, c->n, type, c->root);
    case TT_COLL_gather: return tutti_gather(team, in, out, c->n, type, c->root);
    case TT_COLL_allgather: return tutti_allgather(team, in, out, c->n, type);
    case TT_COLL_allgatherv:
        return tutti_allgatherv(team, in, out, c->out_counts, c->out_displs, type);
    case TT_COLL_scatter: return tutti_scatter(team, in, out, c->n, type, c->root);
    case TT_COLL_alltoall: return tutti_alltoall(team, in, out, c->n, type);
    case TT_COLL_alltoallv:
        return tutti_alltoallv(team, in, c->in_counts, c->in_displs, out, c->out_counts,
                               c->out_displs, type);
    case TT_COLL_gatherv:
    case TT_COLL_scatterv: return call_rooted_list(c, in, out);
    default: return reduce(c, in, out);
    }
}

static void check_buffer(const struct layout_case *c, struct layout_buffer got,
                         struct layout_buffer expected, const char *what)
{
    if (memcmp(got.memory, expected.memory, (size_t)got.bytes) != 0) fail(c, what);
    free(got.memory);
    free(expected.memory);
}

static void try_case(struct layout_rank *rank, struct layout_case *c)
{
    bool inside = c->in_place || (c->coll == TT_COLL_bcast && c->root == rank->me);
    set_counts(c);
    struct layout_buffer in = buffer_new(c->map, room(c)), out = buffer_new(c->map, room(c));
    struct layout_buffer before_in = buffer_new(c->map, room(c));
    struct layout_buffer result = buffer_new(c->map, room(c));
    put_input(c, inside ? out : in, inside);
    if (!inside) put_input(c, before_in, false);
    put_output(c, result);
    if (call(c, c->in_place ? TUTTI_IN_PLACE : in.user, out.user) != TUTTI_OK) fail(c, "refused");
    check_buffer(c, out, result, "gave something else");
    check_buffer(c, in, before_in, "changed its input");
    rank->cases++;
}

/* Returns whether this rank passes TUTTI_IN_PLACE in a call that is in place. */
static bool may_be_in_place(enum tt_coll coll, bool is_root)
{
    if (coll == TT_COLL_gather || coll == TT_COLL_scatter || coll == TT_COLL_reduce) return is_root;
    if (coll == TT_COLL_gatherv || coll == TT_COLL_scatterv) return is_root;
    return coll != TT_COLL_bcast && coll != TT_COLL_alltoall && coll != TT_COLL_alltoallv;
}

/* Tries all collectives with elements of the type, which must not share bytes. */
static void try_type(struct layout_rank *rank, const struct typemap *map, const char *kind)
{
    static const int64_t sizes[] = {1, MOST_N};
    for (int i = 0; i < 2 * TT_COLLS * 2; i++) {
        struct layout_case c = {.rank = rank, .map = map, .kind = kind, .n = sizes[i % 2]};
        c.coll = (enum tt_coll)(i / 2 % TT_COLLS);
        c.root = i / 3 % rank->p;
        c.in_place = i >= 2 * TT_COLLS && may_be_in_place(c.coll, c.root == rank->me);
        if (c.coll != TT_COLL_barrier) try_case(rank, &c);
    }
}

/* ---- Types ---- */

static const int64_t few[] = {2, 0, 3}, apart[] = {7, 100, -2}, all_before[] = {-40, -90, -20};

static void make_indexed(const struct typemap *word, struct typemap *map)
{
    no_error(typemap_indexed(word, 3, few, apart, WORD, map));
}

/* Makes a type all of whose data lie before the address of the buffer. */
static void make_before(const struct typemap *word, struct typemap *map)
{
    struct typemap inner;
    no_error(typemap_indexed(word, 3, few, all_before, 1, &inner));
    no_error(typemap_struct(&inner, 1, &(int64_t){1}, &(int64_t){-10000}, 32, map));
    typemap_free(&inner);
}

/* Makes a column of a matrix, resized so that the next element is the next column. */
static void make_column(const struct typemap *word, struct typemap *map)
{
    struct typemap inner;
    no_error(typemap_vector(word, 5, 1, 700, &inner));
    no_error(typemap_resized(&inner, -8, WORD, map));
    typemap_free(&inner);
}

static void make_subarray(const struct typemap *word, struct typemap *map)
{
    static const int64_t sizes[] = {3, 4, 5}, parts[] = {2, 3, 2}, starts[] = {1, 0, 2};
    no_error(typemap_subarray(word, 3, sizes, parts, starts, TUTTI_ORDER_C, map));
}

static void make_fortran(const struct typemap *word, struct typemap *map)
{
    static const int64_t sizes[] = {3, 4}, parts[] = {2, 3}, starts[] = {1, 0};
    no_error(typemap_subarray(word, 2, sizes, parts, starts, TUTTI_ORDER_FORTRAN, map));
}

/* Makes a part of an array of resized structs of indexed elements. */
static void make_nested(const struct typemap *word, struct typemap *map)
{
    static const int64_t counts[] = {1, 2}, offsets[] = {200, -120};
    static const int64_t sizes[] = {2, 3}, parts[] = {2, 2}, starts[] = {0, 1};
    struct typemap indexed, fields, resized;
    make_indexed(word, &indexed);
    no_error(typemap_struct(&indexed, 2, counts, offsets, 400, &fields));
    no_error(typemap_resized(&fields, 40, 332, &resized));
    no_error(typemap_subarray(&resized, 2, sizes, parts, starts, TUTTI_ORDER_C, map));
    typemap_free(&indexed);
    typemap_free(&fields);
    typemap_free(&resized);
}

static const struct {
    const char *name;
    void (*make)(const struct typemap *word, struct typemap *map);
} kinds[] = {{"indexed", make_indexed},
             {"before the address", make_before},
             {"columns", make_column},
             {"subarrays", make_subarray},
             {"subarrays in Fortran order", make_fortran},
             {"nested", make_nested}};

/* Tries a type that only even ranks use: odd ranks have the same numbers in contiguous memory. */
static void try_mixed(struct layout_rank *rank, const struct typemap *word,
                      const struct typemap *map, const char *kind)
{
    struct typemap plain;
    no_error(typemap_vector(word, 1, map->n / WORD, map->n / WORD, &plain));
    try_type(rank, rank->me % 2 ? &plain : map, kind);
    typemap_free(&plain);
}

/* Tries random types, which are the same on all ranks, because all ranks begin with the same
 * seed. */
static void try_random(struct layout_rank *rank, uint64_t seed)
{
    enum { MOST_BYTES = 200000 };
    struct tt_random random;
    struct typemap map;
    char kind[40];
    snprintf(kind, sizeof kind, "random type %d", (int)seed);
    tt_random_seed(&random, seed);
    (void)typemap_basic(TUTTI_U32, &map);
    while (map.n < 100 * WORD && tt_random_below(&random, 6) > 0) (void)typemap_wrap(&map, &random);
    int64_t n = MOST_ELEMENTS * rank->p, span = typemap_end(&map, n) - typemap_begin(&map, n);
    if (span < MOST_BYTES && !typemap_overlaps(&map, n)) try_type(rank, &map, kind);
    typemap_free(&map);
}

static void try_all(tutti_client *client, void *arg)
{
    enum { RANDOM_TYPES = 40 };
    struct layout_rank rank = {.team = tutti_world(client)};
    struct typemap word, map;
    (void)arg;
    rank.p = tutti_size(rank.team);
    rank.me = tutti_rank(rank.team);
    (void)typemap_basic(TUTTI_U32, &word);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kinds[i].make(&word, &map);
        if (typemap_overlaps(&map, MOST_ELEMENTS * rank.p)) {
            fprintf(stderr, "elements of %s share bytes\n", kinds[i].name);
            abort();
        }
        try_type(&rank, &map, kinds[i].name);
        try_mixed(&rank, &word, &map, kinds[i].name);
        typemap_free(&map);
    }
    for (uint64_t seed = 0; seed < RANDOM_TYPES; seed++) try_random(&rank, seed);
    typemap_free(&word);
    no_error(tutti_barrier(rank.team));
    if (rank.me == 0) printf("%d ranks: %d cases\n", rank.p, rank.cases);
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc == 4 && strcmp(argv[1], "threads") == 0) {
        for (int p = atoi(argv[2]); p <= atoi(argv[3]); p++)
            no_error(tutti_threads(p, try_all, NULL));
        return 0;
    }
    no_error(tutti_init(&client));
    try_all(client, NULL);
    return tutti_finalize(client) != TUTTI_OK;
}
