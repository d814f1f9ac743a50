/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreement and shrink, with ranks as threads that leave at any point before, between and after
 * these calls. The remaining ranks must all agree on the same result, and each new team must work.
 * The test repeats this with random numbers of ranks and random points.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"

enum { MOST = 9, ROUNDS = 3, POINTS = 3 * ROUNDS };

struct result {
    int64_t value;
    int failed, who[MOST], size;
};

/* One random test case. leaves[r] is the point at which rank r leaves; POINTS: rank r stays to the
 * end. Each rank writes only its own row of results. */
struct story {
    uint64_t seed;
    int p, leaves[MOST];
    _Atomic int ready;
    struct result result[MOST][ROUNDS];
    bool has[MOST][ROUNDS];
};

static void check(int good, const struct story *s, const char *what)
{
    if (good) return;
    fprintf(stderr, "seed %llu, %d ranks: %s: %s\n", (unsigned long long)s->seed, s->p, what,
            tutti_error());
    abort();
}

/* Makes an agreement. Each rank contributes a value in which only its own bit is clear, so that the
 * AND of the values shows which ranks contributed. */
static void agree(struct story *s, tutti_team *team, int rank, int round)
{
    int count = 0, who[MOST];
    struct result *r = &s->result[rank][round];
    r->value = ~(INT64_C(1) << rank);
    check(tutti_team_agree(team, &r->value, &r->failed) == TUTTI_OK, s, "agree");
    check(tutti_team_failed(team, who, MOST, &count) == TUTTI_OK, s, "failed");
    check(count == r->failed, s, "two counts of the failed");
    memcpy(r->who, who, (size_t)count * sizeof *who);
    r->size = tutti_size(team);
    check(!(r->value >> rank & 1), s, "my own value is not in it");
    s->has[rank][round] = true;
}

/* Calls an allreduce, which ends with TUTTI_OK, or with TUTTI_ERR_PEER if a rank left meanwhile. If
 * it succeeds, the result must be right. */
static void use(struct story *s, tutti_team *team)
{
    int64_t one = 1, sum = 0;
    tutti_status status = tutti_allreduce(team, &one, &sum, 1, TUTTI_I64, TUTTI_SUM);
    check(status == TUTTI_OK || status == TUTTI_ERR_PEER, s, "allreduce");
    check(status != TUTTI_OK || sum == tutti_size(team), s, "the sum");
}

static void run_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *team = tutti_world(client), *rest;
    int rank = tutti_rank(team);
    for (int point = 0; point < POINTS; point += 3) {
        if (s->leaves[rank] == point) return;
        agree(s, team, rank, point / 3);
        if (s->leaves[rank] == point + 1) return;
        check(tutti_team_shrink(team, &rest) == TUTTI_OK, s, "shrink");
        check(tutti_size(rest) <= tutti_size(team), s, "it has grown");
        if (s->leaves[rank] == point + 2) return;
        use(s, rest);
        if (team != tutti_world(client)) (void)tutti_team_free(team);
        team = rest;
    }
}

static void compare(const struct story *s, int round)
{
    int first = -1;
    for (int r = 0; r < s->p; r++) {
        if (!s->has[r][round]) continue;
        if (first < 0) first = r;
        const struct result *a = &s->result[first][round], *b = &s->result[r][round];
        check(memcmp(a, b, sizeof *a) == 0, s, "two results");
        check(!(a->value >> r & 1), s, "a value is missing");
    }
}

static void run_story(uint64_t seed, int p)
{
    struct tt_random random;
    struct story *s = calloc(1, sizeof *s);
    if (!s) abort();
    tt_random_seed(&random, seed);
    s->seed = seed;
    s->p = p > 0 ? p : 1 + (int)tt_random_below(&random, MOST);
    for (int r = 0; r < s->p; r++) {
        bool leaves = tt_random_below(&random, 2);
        s->leaves[r] = leaves ? (int)tt_random_below(&random, POINTS) : POINTS;
    }
    check(tutti_threads(s->p, run_rank, s) == TUTTI_OK, s, "threads");
    for (int round = 0; round < ROUNDS; round++) compare(s, round);
    free(s);
}

/* ---- Splitting a shrunk team, and shrinking a part of a split ---- */

static void split_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *world = tutti_world(client), *rest, *half, *again;
    int me = tutti_rank(world), size;
    if (me == 1) return;
    check(tutti_team_shrink(world, &rest) == TUTTI_OK, s, "shrink");
    check(tutti_size(rest) == s->p - 1, s, "its size");
    check(tutti_rank(rest) == me - (me > 1), s, "my rank in it");
    check(tutti_team_split(rest, me % 2, 0, &half) == TUTTI_OK, s, "split");
    size = tutti_size(half);
    use(s, half);
    check(tutti_barrier(rest) == TUTTI_OK, s, "barrier");
    if (me == 0) return;
    if (me % 2 == 1) check(tutti_barrier(half) == TUTTI_OK, s, "a half that nobody left");
    check(tutti_team_shrink(half, &again) == TUTTI_OK, s, "shrink a half");
    check(tutti_size(again) == size - (me % 2 == 0), s, "the size of what is left of a half");
    check(tutti_barrier(again) == TUTTI_OK, s, "barrier of what is left");
    (void)tutti_team_free(half);
    check(tutti_team_free(again) == TUTTI_OK, s, "free what is left");
    check(tutti_team_free(rest) == TUTTI_OK || me >= 0, s, "free");
}

/* ---- Teams that no rank has left ---- */

/* Runs a rank of four that form a square, of which rank 3 leaves. Rank 2 notices this in its row
 * and revokes its column. Rank 0, in the same column, has nothing to do with rank 3 and waits in
 * that column until it is revoked. */
static void square_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *world = tutti_world(client), *row, *column, *rest;
    int me = tutti_rank(world);
    check(tutti_team_split(world, me / 2, 0, &row) == TUTTI_OK, s, "rows");
    check(tutti_team_split(world, me % 2, 0, &column) == TUTTI_OK, s, "columns");
    for (s->ready++; s->ready < s->p;)
        usleep(100); /* rank 3 leaves only once all ranks have split, because a split may fail too
                      */
    if (me == 3) return;
    if (me == 2) {
        check(tutti_barrier(row) == TUTTI_ERR_PEER, s, "the row of the one that left");
        check(tutti_team_revoke(column) == TUTTI_OK, s, "revoke");
        check(tutti_team_revoke(column) == TUTTI_OK, s, "revoke again");
        check(tutti_barrier(column) == TUTTI_ERR_PEER, s, "what I revoked");
    }
    if (me == 1)
        check(tutti_barrier(column) == TUTTI_ERR_PEER, s, "the column of the one that left");
    if (me == 0) {
        check(tutti_barrier(column) == TUTTI_ERR_PEER, s, "a revoked column");
        check(strcmp(tutti_error(), "rank 2 revoked the team") == 0, s, "its text");
    }
    check(tutti_team_shrink(world, &rest) == TUTTI_OK && tutti_size(rest) == 3, s, "shrink");
    check(tutti_barrier(rest) == TUTTI_OK, s, "barrier of what is left");
    if (me != 1) {
        tutti_team *again;
        check(tutti_team_shrink(column, &again) == TUTTI_OK, s, "shrink a revoked team");
        check(tutti_size(again) == 2, s, "which has lost nobody");
        check(tutti_barrier(again) == TUTTI_OK, s, "barrier of the column again");
        check(tutti_team_free(column) == TUTTI_ERR_PEER, s, "free what was revoked");
        check(tutti_team_free(again) == TUTTI_OK, s, "free the column again");
    }
    check(tutti_team_free(rest) == TUTTI_OK, s, "free what is left");
}

/* Runs a rank of a job in which a rank revokes a new team before other ranks have returned from
 * creating it. */
static void hasty_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *world = tutti_world(client), *part;
    for (int i = 0; i < 20; i++) {
        tutti_status status =
            i % 2 ? tutti_team_split(world, 0, 0, &part) : tutti_team_shrink(world, &part);
        check(status == TUTTI_OK, s, "a team");
        if (tutti_rank(part) == i % s->p)
            check(tutti_team_revoke(part) == TUTTI_OK, s, "revoke");
        else
            while ((status = tutti_barrier(part)) == TUTTI_OK) continue;
        check(tutti_rank(part) == i % s->p || status == TUTTI_ERR_PEER, s, "barrier");
        check(tutti_barrier(world) == TUTTI_OK, s, "the world");
        check(tutti_team_free(part) == TUTTI_ERR_PEER, s, "free");
    }
}

/* Calls tutti_team_of, which must end because rank `by` has revoked the world. */
static void of_revoked(struct story *s, tutti_team *world, const int *list, int n, int by)
{
    tutti_team *part = NULL;
    char text[64];
    snprintf(text, sizeof text, "rank %d revoked the team", by);
    check(tutti_team_of(world, list, n, 0, &part) == TUTTI_ERR_PEER && !part, s, "team_of");
    check(strcmp(tutti_error(), text) == 0, s, text);
}

/* Runs a rank of three, of which rank 0 revokes the world instead of making a team with the other
 * ranks. These must not wait for it in tutti_team_of. */
static void unmet_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    const int list[] = {2, 0, 1};
    int64_t one = 1;
    tutti_team *world = tutti_world(client), *rest, *part;
    if (tutti_rank(world) == 0) check(tutti_team_revoke(world) == TUTTI_OK, s, "revoke");
    for (int i = 0; i < 3; i++)
        if (tutti_rank(world) != 0) of_revoked(s, world, list, 3, 0);
    check(tutti_team_agree(world, &one, NULL) == TUTTI_OK, s, "agree");
    check(tutti_team_shrink(world, &rest) == TUTTI_OK && tutti_size(rest) == 3, s, "shrink");
    check(tutti_team_of(rest, list, 3, 0, &part) == TUTTI_OK, s, "a team of a team that works");
    check(tutti_barrier(part) == TUTTI_OK, s, "barrier");
    check(tutti_team_free(part) == TUTTI_OK && tutti_team_free(rest) == TUTTI_OK, s, "free");
}

/* Runs a rank of three, of which rank 0 has revoked the world in messages that only rank 1 got. The
 * other ranks of the list learn it from rank 1, for which they wait. */
static void hearsay_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    const int list[] = {2, 1};
    int64_t one = 1;
    tutti_team *world = tutti_world(client);
    if (tutti_rank(world) == 1) tt_team_revoke(&world->run, 0);
    if (tutti_rank(world) != 0) of_revoked(s, world, list, 2, 0);
    check(tutti_team_agree(world, &one, NULL) == TUTTI_OK, s, "agree");
}

/* Runs a rank of a job in which rank 0 starts more calls than can run at once, revokes the team,
 * and waits for the calls in an order of its own. Then no call is queued any more, so the ranks
 * agree. */
static void many_calls_rank(tutti_client *client, void *arg)
{
    enum { CALLS = 100 };
    static const size_t strides[] = {1, CALLS - 1, 37};
    struct story *s = arg;
    tutti_team *world = tutti_world(client), *part;
    tutti_request *request[CALLS];
    int64_t one = 1;
    for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
        check(tutti_team_dup(world, &part) == TUTTI_OK, s, "duplicate");
        for (int i = 0; i < CALLS && tutti_rank(part) == 0; i++)
            check(tutti_ibarrier(part, &request[i]) == TUTTI_OK, s, "start");
        if (tutti_rank(part) == 0) check(tutti_team_revoke(part) == TUTTI_OK, s, "revoke");
        for (size_t i = 0; i < CALLS && tutti_rank(part) == 0; i++)
            check(tutti_wait(request[CALLS - 1 - i * strides[k] % CALLS]) == TUTTI_ERR_PEER, s,
                  "wait");
        check(tutti_barrier(world) == TUTTI_OK, s, "the world");
        check(tutti_team_agree(part, &one, NULL) == TUTTI_OK, s, "agree");
        for (int i = 0; i < CALLS && tutti_rank(part) == 0; i++)
            (void)tutti_request_free(request[i]);
        check(tutti_team_free(part) == TUTTI_ERR_PEER, s, "free");
    }
}

/* ---- Failures that tutti_advance reports ---- */

/* Returns how many of the given number of advances of context 0 return TUTTI_ERR_PEER. All others
 * must return TUTTI_OK. */
static int reported(struct story *s, tutti_client *client, int advances)
{
    tutti_context *context = tutti_context_at(client, 0);
    int n = 0;
    for (int i = 0; i < advances; i++) {
        tutti_status status = i % 2 ? tutti_advance(context, NULL)
                                    : tutti_advance_all((tutti_context *[]){context}, 1, NULL);
        check(status == TUTTI_OK || status == TUTTI_ERR_PEER, s, "advance");
        n += status == TUTTI_ERR_PEER;
    }
    return n;
}

/* Checks that tutti_advance_wait blocks for its full timeout if there is nothing to do. */
static void wait_in_vain(struct story *s, tutti_client *client)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < 100 && status == TUTTI_OK; i++)
        status = tutti_advance_wait(tutti_context_at(client, 0), 20, NULL);
    check(status == TUTTI_AGAIN, s, "wait beside a broken team");
}

/* Runs a rank of a job whose last rank leaves. All ranks belong to two teams, the world and `part`.
 * A call on the world returns the error. Then tutti_advance returns the error of `part`, once,
 * because no call on `part` has returned it. */
static void reporting_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    int64_t one = 1;
    tutti_team *world = tutti_world(client), *part, *rest;
    check(tutti_team_split(world, 0, 0, &part) == TUTTI_OK, s, "split");
    for (s->ready++; s->ready < s->p;) usleep(100);
    if (tutti_rank(world) == s->p - 1) return;
    check(tutti_barrier(world) == TUTTI_ERR_PEER, s, "the world");
    check(reported(s, client, 5) == 1, s, "reported once, for the team that did not report it");
    check(tutti_barrier(part) == TUTTI_ERR_PEER, s, "which goes on notifying it");
    check(tutti_barrier(world) == TUTTI_ERR_PEER, s, "and so does the world");
    check(tutti_team_shrink(world, &rest) == TUTTI_OK, s, "shrink");
    check(tutti_barrier(rest) == TUTTI_OK, s, "barrier of what is left");
    check(reported(s, client, 20) == 0, s, "what was recovered from");
    wait_in_vain(s, client);
    /* A team that was revoked can still agree. */
    check(tutti_team_agree(rest, &one, NULL) == TUTTI_OK, s, "agree");
    if (tutti_rank(rest) == 0) check(tutti_team_revoke(rest) == TUTTI_OK, s, "revoke");
    if (tutti_rank(rest) == 0) check(reported(s, client, 5) == 0, s, "what I revoked myself");
}

/* Runs a rank of a job of which the last rank leaves. The other ranks notice this only in an
 * agreement. Later calls on the team name that rank nevertheless. */
static void deserted_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    int64_t one = 1;
    int failed = 0;
    tutti_team *world = tutti_world(client);
    if (tutti_rank(world) == s->p - 1) return;
    check(tutti_team_agree(world, &one, &failed) == TUTTI_OK && failed == 1, s, "agree");
    check(tutti_barrier(world) == TUTTI_ERR_PEER, s, "barrier of the old team");
    check(strcmp(tutti_error(), "rank 2 left the job while it was still needed") == 0, s,
          "its text");
}

/* ---- A team without failures ---- */

static void healthy_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *world = tutti_world(client), *copy;
    tutti_request *request;
    int64_t in = 1, out = 0;
    for (int i = 0; i < 20; i++) {
        int failed = 7;
        int64_t value = tutti_rank(world) == i % s->p ? 6 : 3;
        check(tutti_iallreduce(world, &in, &out, 1, TUTTI_I64, TUTTI_SUM, &request) == TUTTI_OK, s,
              "start");
        check(tutti_team_agree(world, &value, &failed) == TUTTI_OK, s, "agree");
        check(value == (s->p > 1 ? 2 : 6) && failed == 0, s, "the value");
        check(tutti_wait(request) == TUTTI_OK && out == s->p, s, "what was in flight");
        check(tutti_request_free(request) == TUTTI_OK, s, "free a request");
        check(tutti_team_shrink(world, &copy) == TUTTI_OK, s, "copy");
        check(tutti_size(copy) == s->p && tutti_rank(copy) == tutti_rank(world), s, "a copy");
        use(s, copy);
        check(tutti_barrier(world) == TUTTI_OK, s, "the team that was copied");
        check(tutti_team_free(copy) == TUTTI_OK, s, "free a copy");
    }
}

/* ---- Memory that is left behind ---- */

static int64_t held_bytes(const tutti_client *client)
{
    int64_t bytes = 0;
    const struct tt_extents *pieces = &client->fabric.arena.store->pieces;
    for (int i = 0; i < pieces->n; i++) bytes += pieces->all[i].end - pieces->all[i].begin;
    return bytes;
}

/* Sends a message to each other rank, so that this rank makes all its packet rings now; they stay
 * until the client is finalized. Otherwise a rank that waits long in an agreement, and meanwhile
 * compares its calls with members on other nodes, would make rings only then, and peel_rank would
 * count their memory as growth. */
static void make_rings(struct story *s, tutti_team *world)
{
    tutti_team *part;
    check(tutti_team_split(world, 0, 0, &part) == TUTTI_OK, s, "split");
    check(tutti_team_revoke(part) == TUTTI_OK, s, "revoke");
    check(tutti_team_free(part) == TUTTI_ERR_PEER, s, "free what was revoked");
}

/* Runs a rank of a job whose ranks leave one after the other, the highest first. The shared memory
 * that the other ranks hold must not grow by as much as a team's block, because freeing a team
 * returns its memory. */
static void peel_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *team = tutti_world(client), *rest;
    int64_t before = 0, one = 1;
    make_rings(s, team);
    for (int left = s->p; tutti_rank(team) < left - 1; team = rest, left--) {
        check(tutti_team_shrink(team, &rest) == TUTTI_OK, s, "shrink");
        if (team != tutti_world(client)) (void)tutti_team_free(team);
        use(s, rest);
        check(tutti_team_agree(rest, &one, NULL) == TUTTI_OK, s, "agree");
        if (left == s->p) before = held_bytes(client);
        check(held_bytes(client) < before + rest->run.layout.bytes / 2, s, "it holds ever more");
    }
}

/* ---- Calls that do not match ---- */

static void mixed_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    int64_t value = 1;
    tutti_team *world = tutti_world(client), *rest = NULL;
    tutti_status status = tutti_rank(world) == 1 ? tutti_team_shrink(world, &rest)
                                                 : tutti_team_agree(world, &value, NULL);
    check(status == TUTTI_ERR_MISMATCH && !rest && value == 1, s, "agree and shrink");
    check(strstr(tutti_error(), "tutti_team_shrink") != NULL, s, "its message");
    check(tutti_team_agree(world, &value, NULL) == TUTTI_OK, s, "and then agree");
}

/* Runs a rank of a job in which one rank calls a different collective from the others, which makes
 * it count as failed for them. */
static void outcast_rank(tutti_client *client, void *arg)
{
    struct story *s = arg;
    int64_t value = 1, in[2] = {0, 0}, out[2];
    tutti_team *world = tutti_world(client), *rest;
    int n = tutti_rank(world) == 0 ? 2 : 1;
    tutti_status status = tutti_allreduce(world, in, out, n, TUTTI_I64, TUTTI_SUM);
    check(status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_PEER, s, "calls that do not match");
    bool out_cast = status == TUTTI_ERR_MISMATCH;
    status = tutti_team_agree(world, &value, NULL);
    check(status == (out_cast ? TUTTI_ERR_PEER : TUTTI_OK), s, "agree after a mismatch");
    check(!out_cast || strstr(tutti_error(), "this rank counts as failed") != NULL, s, "its text");
    if (!out_cast) check(tutti_team_shrink(world, &rest) == TUTTI_OK, s, "shrink after a mismatch");
}

/* ---- Arguments ---- */

static void wrong_arguments(tutti_client *client, void *arg)
{
    struct story *s = arg;
    tutti_team *world = tutti_world(client), *part = world;
    int64_t value = 5;
    int count = 7;
    check(tutti_team_agree(NULL, &value, NULL) == TUTTI_ERR_ARG, s, "no team");
    check(tutti_team_agree(world, NULL, NULL) == TUTTI_ERR_ARG, s, "no value");
    check(tutti_team_revoke(NULL) == TUTTI_ERR_ARG, s, "no team");
    check(tutti_team_shrink(NULL, &part) == TUTTI_ERR_ARG && part == world, s, "no team");
    check(tutti_team_shrink(world, NULL) == TUTTI_ERR_ARG, s, "no part");
    check(tutti_team_failed(NULL, NULL, 0, &count) == TUTTI_ERR_ARG, s, "no team");
    check(tutti_team_failed(world, NULL, 1, &count) == TUTTI_ERR_ARG && count == 7, s, "no ranks");
    check(tutti_team_failed(world, &count, -1, NULL) == TUTTI_ERR_ARG, s, "negative");
    check(tutti_team_failed(world, NULL, 0, &count) == TUTTI_OK && count == 0, s, "none failed");
    check(tutti_team_failed(world, NULL, 0, NULL) == TUTTI_OK, s, "not even a count");
}

static void run_all(tutti_thread_fn *fn, int p)
{
    struct story s = {.p = p};
    check(tutti_threads(p, fn, &s) == TUTTI_OK, &s, "threads");
}

/* Runs the tests with the arguments STORIES [P]. With P, only cases with P ranks run, to fit a
 * TUTTI_NODES setting. */
int main(int argc, char **argv)
{
    int stories = argc > 1 ? atoi(argv[1]) : 200, only = argc > 2 ? atoi(argv[2]) : 0;
    if (only == 0) run_all(wrong_arguments, 1);
    for (int p = 1; p <= 5; p++)
        if (only == 0 || p == only) run_all(healthy_rank, p);
    for (int i = 0; i < 10; i++) {
        if (only == 0 || only == 7) run_all(split_rank, 7);
        if (only == 0 || only == 4) run_all(square_rank, 4);
        if (only == 0 || only == 3) run_all(hasty_rank, 3);
        if (only == 0 || only == 3) run_all(unmet_rank, 3);
        if (only == 0 || only == 3) run_all(hearsay_rank, 3);
        if (only == 0 || only == 3) run_all(reporting_rank, 3);
        if (only == 0 || only == 3) run_all(deserted_rank, 3);
        if (only == 0 || only == 7) run_all(peel_rank, 7);
        if (only == 0 || only == 3) run_all(mixed_rank, 3);
        if (only == 0 || only == 3) run_all(outcast_rank, 3);
        if (only == 0 || only == 2) run_all(many_calls_rank, 2);
    }
    for (int i = 0; i < stories; i++) run_story((uint64_t)i, only);
    printf("%d stories\n", stories);
    return 0;
}
