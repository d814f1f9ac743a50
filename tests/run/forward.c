/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the algorithms in which the ranks first send each other their counts: `forward`, `padded`
 * and `composed` of alltoallv, and `composed` of gatherv and scatterv. The counts of other ranks
 * may change while those of this rank stay, and a prepared call is started again. A nonblocking
 * call is refused. Every rank gets an error if counts or types do not match, or if an allocation
 * fails.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#include "base/base.h"

enum { RANKS = 8, MOST = 40 };

static tutti_team *world;
static bool is_reversed; /* `world` is a team of all ranks in reverse order */
static int me, p, root;
static enum { ALLTOALLV, GATHERV, SCATTERV } coll;

static void check(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d: %s: %s\n", me, what, tutti_error());
    exit(1);
}

/* Returns how many elements rank `from` sends to rank `to`. All counts change from round to round,
 * except those of rank 0. If rank 0 is the root of a gatherv or scatterv, only the count of its own
 * piece stays. */
static int64_t count(int round, int from, int to)
{
    if ((coll == GATHERV && to != root) || (coll == SCATTERV && from != root)) return 0;
    if (coll == ALLTOALLV ? from == 0 || to == 0 : from + to == root) return 3;
    return (7 * from + 5 * to + 11 * round) % MOST;
}

static int64_t value(int from, int to, int64_t i)
{
    return 10000 * from + 100 * to + i;
}

struct forward_lists {
    int64_t counts[2][RANKS], displs[RANKS]; /* counts[0]: sent, counts[1]: received */
    /* With `huge` (see expect_mismatch), rank 2 sends rank 6 a piece that is longer than each of
     * these buffers: the library must find the mismatch before it moves this piece. */
    int64_t out[RANKS * MOST], in[RANKS * MOST];
};

static void fill(struct forward_lists *l, int round)
{
    memset(l->out, -1, sizeof l->out);
    for (int r = 0; r < p; r++) {
        l->counts[0][r] = count(round, me, r);
        l->counts[1][r] = count(round, r, me);
        l->displs[r] = r * MOST;
        for (int i = 0; i < MOST; i++) l->in[r * MOST + i] = value(me, r, i);
    }
}

static void expect(const struct forward_lists *l)
{
    for (int r = 0; r < p; r++)
        for (int i = 0; i < MOST; i++)
            check(l->out[r * MOST + i] == (i < l->counts[1][r] ? value(r, me, i) : -1),
                  "a wrong element");
}

static tutti_status exchange(struct forward_lists *l)
{
    if (coll == GATHERV)
        return tutti_gatherv(world, l->in + root * MOST, l->counts[0][root], l->out, l->counts[1],
                             l->displs, TUTTI_I64, root);
    if (coll == SCATTERV)
        return tutti_scatterv(world, l->in, l->counts[0], l->displs, l->out + root * MOST,
                              l->counts[1][root], TUTTI_I64, root);
    return tutti_alltoallv(world, l->in, l->counts[0], l->displs, l->out, l->counts[1], l->displs,
                           TUTTI_I64);
}

static tutti_status start(struct forward_lists *l, tutti_request **request)
{
    if (coll == GATHERV)
        return tutti_igatherv(world, l->in + root * MOST, l->counts[0][root], l->out, l->counts[1],
                              l->displs, TUTTI_I64, root, request);
    if (coll == SCATTERV)
        return tutti_iscatterv(world, l->in, l->counts[0], l->displs, l->out + root * MOST,
                               l->counts[1][root], TUTTI_I64, root, request);
    return tutti_ialltoallv(world, l->in, l->counts[0], l->displs, l->out, l->counts[1], l->displs,
                            TUTTI_I64, request);
}

static tutti_status prepare(struct forward_lists *l, tutti_request **request)
{
    if (coll == GATHERV)
        return tutti_gatherv_init(world, l->in + root * MOST, l->counts[0][root], l->out,
                                  l->counts[1], l->displs, TUTTI_I64, root, 0, request);
    if (coll == SCATTERV)
        return tutti_scatterv_init(world, l->in, l->counts[0], l->displs, l->out + root * MOST,
                                   l->counts[1][root], TUTTI_I64, root, 0, request);
    return tutti_alltoallv_init(world, l->in, l->counts[0], l->displs, l->out, l->counts[1],
                                l->displs, TUTTI_I64, 0, request);
}

static void try_prepared(struct forward_lists *l)
{
    tutti_request *request;
    fill(l, 1);
    check(prepare(l, &request) == TUTTI_OK, "init");
    for (int k = 0; k < 3; k++) {
        memset(l->out, -1, sizeof l->out);
        check(tutti_start(request) == TUTTI_OK && tutti_wait(request) == TUTTI_OK, "prepared");
        expect(l);
    }
    check(tutti_request_free(request) == TUTTI_OK, "free");
}

/* Calls an alltoallw in which each rank sends 8 bytes to each rank. With `wrong`, rank 2 expects
 * two elements from rank 5, which sends one. */
static tutti_status exchange_types(struct forward_lists *l, bool wrong)
{
    int64_t displs[RANKS], one[RANKS], expected[RANKS];
    tutti_type types[RANKS], out_types[RANKS];
    memset(l->out, -1, sizeof l->out);
    for (int r = 0; r < p; r++) {
        displs[r] = 8 * r;
        one[r] = expected[r] = 1;
        types[r] = out_types[r] = TUTTI_I64;
        l->in[r] = value(me, r, 0);
    }
    if (wrong && me == 2) out_types[5] = TUTTI_I32, expected[5] = 2;
    return tutti_alltoallw(world, l->in, one, displs, types, l->out, expected, displs, out_types);
}

/* Tries a gatherv or scatterv in which rank 2 has another order of the fields of an element than
 * the root. The other ranks get the error in this call or in the barrier that follows. */
static void try_layouts(struct forward_lists *l)
{
    const tutti_field there[] = {{0, 1, TUTTI_I32}, {4, 1, TUTTI_F32}};
    const tutti_field here[] = {{0, 1, TUTTI_F32}, {4, 1, TUTTI_I32}};
    const int64_t ones[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1}, at[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    tutti_type type;
    check(tutti_type_struct(2, me == 2 ? here : there, 8, &type) == TUTTI_OK, "struct");
    tutti_status status = tutti_barrier(world);
    if (status == TUTTI_OK && coll == GATHERV)
        status = tutti_gatherv(world, l->in, 1, l->out, ones, at, type, root);
    else if (status == TUTTI_OK)
        status = tutti_scatterv(world, l->in, ones, at, l->out, 1, type, root);
    if (status == TUTTI_OK && me != 2) status = tutti_barrier(world);
    check(status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER, "types that do not match");
    if (me == 2)
        check(strstr(tutti_error(), " expects 8 bytes of a derived type (layout "),
              "an unclear text");
    check(tutti_type_free(type) == TUTTI_OK, "free");
}

static void try_types(struct forward_lists *l)
{
    check(exchange_types(l, false) == TUTTI_OK, "alltoallw");
    for (int r = 0; r < p; r++) check(l->out[r] == value(r, me, 0), "a wrong element");
    tutti_status status = exchange_types(l, true);
    check(status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER, "types that do not match");
    const char *text = "alltoallw: rank 5 sends rank 2 n=1 of i64 (in_counts[2]) where rank 2 "
                       "expects n=2 of i32 (out_counts[5])";
    if (me == 2) check(strstr(tutti_error(), text) != NULL, "an unclear text");
}

/* Checks the error text of the rank that gets another count than it expects. The text names the
 * ranks by their numbers in the job, but indexes the lists of the call by the ranks of the team. */
static void expect_text(int from, int to, int64_t sent, int64_t expected)
{
    char text[160];
    int giver = is_reversed ? p - 1 - from : from, taker = is_reversed ? p - 1 - to : to;
    if (me != to) return;
    snprintf(text, sizeof text,
             "alltoallv: rank %d sends rank %d n=%lld of i64 (in_counts[%d]) where rank %d expects "
             "n=%lld of i64 (out_counts[%d])",
             giver, taker, (long long)sent, to, taker, (long long)expected, from);
    check(strstr(tutti_error(), text) != NULL, "an unclear text");
    check((strstr(tutti_error(), "on the team of") != NULL) == is_reversed, "which team?");
}

/* Makes an exchange that does not match. Without `huge`, rank 2 expects one element more from rank
 * 5 than rank 5 sends. With `huge`, rank 2 sends rank 6 far more elements than rank 6 expects. */
static void expect_mismatch(struct forward_lists *l, bool huge)
{
    if (me == 2 && huge) l->counts[0][6] = INT64_MAX / 16;
    if (me == 2 && !huge) l->counts[1][5]++;
    tutti_status status = exchange(l);
    check(status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER, "no mismatch");
    if (status == TUTTI_ERR_PEER) check(strstr(tutti_error(), "do not match"), "another error");
    if (huge)
        expect_text(2, 6, INT64_MAX / 16, count(2, 2, 6));
    else
        expect_text(5, 2, count(2, 5, 2), count(2, 5, 2) + 1);
}

/* Makes a gatherv or scatterv that does not match: rank 2 sends the root, or expects from it, one
 * element more than the root's count for rank 2. A rank whose own piece is complete gets the error
 * in its next call, the last barrier. A rank that is slow to leave the first barrier may get it
 * there. */
static void expect_root_mismatch(struct forward_lists *l)
{
    char text[40];
    int from = coll == GATHERV ? 2 : root, to = coll == GATHERV ? root : 2;
    tutti_status status = tutti_barrier(world);
    if (me == 2) l->counts[coll == SCATTERV][root]++;
    if (status == TUTTI_OK) status = exchange(l);
    if (status == TUTTI_OK && me != 2) status = tutti_barrier(world);
    check(status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER, "no mismatch");
    snprintf(text, sizeof text, "rank %d sends rank %d n=", from, to);
    if (me == 2) check(strstr(tutti_error(), text) != NULL, "an unclear text");
}

/* Tries calls that fail in the way that `which` names. The team cannot be used after a mismatch. */
static void try_wrong(struct forward_lists *l, const char *which)
{
    tutti_request *request;
    if (strcmp(which, "types") == 0) {
        if (coll == ALLTOALLV)
            try_types(l);
        else
            try_layouts(l);
        return;
    }
    fill(l, 2);
    if (strcmp(which, "nonblocking") == 0) {
        tutti_status status = start(l, &request);
        check(status == TUTTI_ERR_UNSUPPORTED && strstr(tutti_error(), "only a blocking call"),
              "a nonblocking call");
        check(exchange(l) == TUTTI_OK, "after it");
        expect(l);
        return;
    }
    bool huge = strcmp(which, "huge") == 0;
    if (coll != ALLTOALLV)
        expect_root_mismatch(l);
    else
        expect_mismatch(l, huge);
}

/* Does the exchange by a persistent request, and lets allocation number `i` of rank 1 fail while
 * the request is made. */
static tutti_status exchange_prepared(struct forward_lists *l, int i)
{
    tutti_request *request;
    if (me == 1) tt_memory_fail_at(i);
    tutti_status status = prepare(l, &request);
    if (me == 1) tt_memory_fail_at(-1);
    if (status == TUTTI_OK) status = tutti_start(request);
    if (status == TUTTI_OK) status = tutti_wait(request);
    return status;
}

/* Lets allocation number `i` of rank 1 fail in the first call, or while a request is made. Checks
 * that rank 1 reports the lack of memory, and that every other rank gets an error that names rank
 * 1, in this call or in the next one. If the call has fewer allocations, rank 1 prints that it had
 * enough memory. The call may also succeed although an allocation failed: a plan that cannot be
 * kept for later calls is made again. */
static void try_memory(struct forward_lists *l, bool prepared, int i)
{
    uint64_t lacks = tt_memory_lacks();
    fill(l, 1);
    if (me == 1 && !prepared) tt_memory_fail_at(i);
    tutti_status status = prepared ? exchange_prepared(l, i) : exchange(l);
    if (me == 1) tt_memory_fail_at(-1);
    if (status == TUTTI_OK) expect(l);
    if (status == TUTTI_OK && coll != ALLTOALLV) status = tutti_barrier(world);
    if (status == TUTTI_OK) {
        if (me == 1 && tt_memory_lacks() == lacks) puts("enough memory");
    } else if (me == 1) {
        /* A rank that has no memory for a packet to another node cannot go on, and all of its calls
         * fail. */
        check(status == TUTTI_ERR_MEMORY || strstr(tutti_error(), "rank 1 cannot go on: out of"),
              "no lack of memory");
    } else {
        check(status == TUTTI_ERR_PEER && strstr(tutti_error(), "rank 1"), "not told");
        check(strstr(tutti_error(), "out of memory") != NULL, "not told of what");
    }
}

/* Makes `world` a team of all ranks in the order of their keys. With the key 3 * me % p, the ranks
 * of a node are scattered over the new team. */
static void reorder(int key)
{
    check(tutti_team_split(world, 0, key, &world) == TUTTI_OK, "split");
    me = tutti_rank(world);
}

static const char usage[] = "forward [dealt] [gatherv ROOT|scatterv ROOT] "
                            "nonblocking|mismatch|reversed|huge|types|memory I|prepared I";

int main(int argc, char **argv)
{
    static struct forward_lists l;
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) return 1;
    world = tutti_world(client);
    me = tutti_rank(world);
    p = tutti_size(world);
    check(p <= RANKS && argc >= 2, usage);
    if (strcmp(argv[1], "dealt") == 0) {
        reorder(3 * me % p);
        argc--;
        argv++;
    }
    if (strstr(argv[1], "erv")) {
        coll = strcmp(argv[1], "gatherv") == 0 ? GATHERV : SCATTERV;
        root = atoi(argv[2]);
        argc -= 2;
        argv += 2;
    }
    is_reversed = strcmp(argv[1], "reversed") == 0;
    if (is_reversed) reorder(-me);
    if (argc > 2) {
        try_memory(&l, strcmp(argv[1], "prepared") == 0, atoi(argv[2]));
        (void)tutti_finalize(client);
        return 0;
    }
    for (int round = 0; round < 4; round++) {
        fill(&l, round / 2);
        check(exchange(&l) == TUTTI_OK, "exchange");
        expect(&l);
    }
    try_prepared(&l);
    try_wrong(&l, argv[1]);
    (void)tutti_finalize(client);
    return 0;
}
