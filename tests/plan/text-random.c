/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Thousands of random plans, made by random calls of the builder, are structurally valid, parse
 * from their printed text as the same plans, and know how much of the window they use.
 */
#include "plan/text-util.h"

#include "plan/words.h"
#include "window.h"

enum { PLANS = 2500, IDS = 64 };

struct maker {
    struct tt_random random;
    struct tt_builder *b;
    int p, me;
    int depth;
    uint32_t inner_turns; /* number of turns of the innermost loop */
    tt_started ids[IDS];
    int started;
};

static int below(struct maker *m, int n)
{
    return (int)tt_random_below(&m->random, (uint64_t)n);
}

static int64_t number(struct maker *m)
{
    static const int64_t units[] = {1, 8, 1024, 1 << 20, INT64_C(1) << 30};
    return below(m, 2000) * units[below(m, 5)];
}

static int other(struct maker *m)
{
    return (m->me + 1 + below(m, m->p - 1)) % m->p;
}

/* Returns a random length: a multiple of 8 bytes, which is the size of a block of a strided range.
 */
static int64_t length(struct maker *m)
{
    return 8 * (1 + below(m, 3000));
}

/* A plan varies only in loops: the text of a step in no loop cannot say that the step varies, and
 * that of a step in one loop cannot name the turn of an outer one. So the functions below make no
 * such steps. */
static struct tt_range shaped(struct maker *m, struct tt_range r)
{
    if (m->depth == 0) return r;
    if (below(m, 3) == 0)
        r = tt_moving(m->b, r, number(m) - 4096, m->depth == TT_DEPTH ? number(m) : 0);
    if (below(m, 4) == 0) {
        bool uneven = m->depth == TT_DEPTH;
        int mod = uneven ? (int)m->inner_turns : 1 + below(m, 5);
        r = tt_rotating(m->b, r, number(m) - 4096, mod, below(m, 3));
    }
    return r;
}

/* Divides some of the ranges into blocks, for the steps that take blocks. */
static struct tt_range blocks(struct maker *m, struct tt_range r)
{
    return below(m, 4) ? r : tt_strided(m->b, r, 8, 8 + number(m));
}

static struct tt_range own(struct maker *m)
{
    return shaped(m, tt_own((enum tt_buffer)below(m, TT_BUFFERS), number(m)));
}

static struct tt_range far(struct maker *m)
{
    return shaped(m, tt_at((enum tt_buffer)below(m, TT_BUFFERS), other(m), number(m)));
}

static struct tt_range any(struct maker *m)
{
    return m->p > 1 && below(m, 2) ? far(m) : own(m);
}

static void maybe_tail(struct maker *m)
{
    if (m->depth == 0 || below(m, 4)) return;
    int mod = below(m, 2) ? 0 : 1 + below(m, 4);
    tt_tail_at(m->b, 8 * below(m, 3000), mod, mod ? below(m, 4) : 0);
}

static void maybe_counts(struct maker *m)
{
    if (m->depth == 0 || below(m, 3)) return;
    tt_per_turn(m->b, below(m, 100) - 50, m->depth == TT_DEPTH ? below(m, 100) - 50 : 0);
}

static void start(struct maker *m)
{
    tt_started id = 0;
    int alone = m->p == 1;
    switch (below(m, alone ? 2 : 4)) {
    case 0: id = tt_send(m->b, below(m, m->p), own(m), length(m)); break;
    case 1: id = tt_recv(m->b, below(m, m->p), own(m), length(m)); break;
    case 2: id = tt_put(m->b, blocks(m, far(m)), blocks(m, own(m)), length(m)); break;
    case 3: id = tt_get(m->b, blocks(m, own(m)), blocks(m, far(m)), length(m)); break;
    }
    m->ids[m->started++ % IDS] = id;
    maybe_tail(m);
}

static void signal(struct maker *m);

static void wait(struct maker *m)
{
    if (m->started == 0) {
        signal(m);
        return;
    }
    int known = (int)tt_min(m->started, IDS);
    tt_wait_ago(m->b, m->ids[below(m, known)], below(m, TT_IN_FLIGHT));
}

static void signal(struct maker *m)
{
    int32_t set[9];
    int n = 1 + below(m, m->p);
    for (int i = 0; i < n; i++) set[i] = below(m, m->p);
    uint32_t raised = (uint32_t)below(m, 1 << 30);
    switch (below(m, 3)) {
    case 0: tt_signal(m->b, TT_ALL, raised); break;
    case 1: tt_signal(m->b, below(m, m->p), raised); break;
    case 2: tt_signal_set(m->b, set, (uint32_t)n, raised); break;
    }
    maybe_counts(m);
}

static void await(struct maker *m)
{
    uint32_t reached = (uint32_t)below(m, 1000) - 10;
    if (m->p == 1 || below(m, 2))
        tt_await(m->b, below(m, m->p), reached);
    else
        tt_await_lane(m->b, other(m), below(m, TT_LANES), reached);
    maybe_counts(m);
}

static void copy(struct maker *m)
{
    tt_copy(m->b, blocks(m, own(m)), blocks(m, any(m)), length(m));
    maybe_tail(m);
}

static void combine(struct maker *m)
{
    struct tt_range from[12];
    int k = 1 + below(m, 12);
    for (int i = 0; i < k; i++) from[i] = any(m);
    tt_combine(m->b, own(m), from, k, length(m));
    maybe_tail(m);
}

static void exchange(struct maker *m)
{
    int n = m->p > 1 ? below(m, 20) : 0;
    for (int i = 0; i < n; i++)
        tt_entry(m->b, &(struct tt_entry){number(m), number(m), number(m) / 1024, other(m)});
    struct tt_exchange how = {.order = (enum tt_order)below(m, 3),
                              .window = 1 + (uint32_t)below(m, TT_IN_FLIGHT),
                              .seed = below(m, 2) ? tt_random_next(&m->random) : 0,
                              .chunk = 1 + number(m) / 4 + (INT64_C(1) << 24),
                              .from = below(m, 2) ? TT_IN : TT_OUT};
    tt_exchange(m->b, &how);
}

static void steps(struct maker *m, int n);

static void loop(struct maker *m)
{
    if (m->depth == TT_DEPTH) return;
    uint32_t outer = m->inner_turns;
    m->inner_turns = 1 + (uint32_t)below(m, 5);
    m->depth++;
    tt_loop(m->b, m->inner_turns);
    steps(m, below(m, 6));
    tt_end(m->b);
    m->depth--;
    m->inner_turns = outer;
}

static void steps(struct maker *m, int n)
{
    static void (*const kinds[])(struct maker *) = {start, wait, signal, await, copy, combine,
                                                    start, wait, signal, await, loop, exchange};
    for (int i = 0; i < n; i++) {
        int kind = below(m, 12);
        kinds[kind](m);
        bool varies = kind < 10 && m->depth > 0;
        if (varies && below(m, 5) == 0) tt_from(m->b, (uint32_t)below(m, 4));
    }
}

static struct tt_call random_call(struct maker *m)
{
    struct tt_call call = {.coll = (enum tt_coll)below(m, TT_COLLS),
                           .type = (tutti_type)below(m, TUTTI_TYPES)};
    if (tt_coll_has_op(call.coll)) call.op = (tutti_op)below(m, TUTTI_OPS);
    if (tt_coll_has_op(call.coll) && below(m, 4) == 0)
        call.op = (tutti_op)(TUTTI_OP_USER + below(m, TUTTI_OP_USER_END - TUTTI_OP_USER));
    return call;
}

static struct tt_plan *random_plan(struct tt_builder *b, uint64_t seed)
{
    static const char *const names[] = {"flat", "scatter-allgather", "x_2"};
    struct maker m = {.b = b};
    tt_random_seed(&m.random, seed);
    m.p = 1 + below(&m, 9);
    m.me = below(&m, m.p);
    struct tt_call call = random_call(&m);
    tt_builder_reset(b, m.p, m.me, &call, names[below(&m, 3)]);
    tt_open(b, (uint32_t)below(&m, 8));
    for (int pieces = below(&m, 3); pieces > 0; pieces--) (void)tt_scratch(b, number(&m) + 1);
    for (int lanes = below(&m, 4) ? 1 : 1 + below(&m, TT_LANES);; lanes--) {
        m.started = 0;
        steps(&m, below(&m, 12));
        if (lanes == 1) break;
        tt_lane(b);
    }
    return tt_builder_finish(b);
}

/* Returns whether the plan has both a range whose offset rotates in a loop, as in i % 3, and a step
 * whose length rotates. For such a plan win_bytes may be more than the bytes that the steps use. */
static bool rotates_twice(const struct tt_plan *plan)
{
    bool ranges = false, tails = false;
    for (uint32_t i = 0; i < plan->shapes_n; i++) ranges |= plan->shapes[i].mod > 0;
    for (uint32_t i = 0; i < plan->varies_n; i++) tails |= plan->varies[i].tail_mod > 0;
    return ranges && tails;
}

/* Checks the number of bytes that the plan says it uses of its window. */
static void window_is_measured(const struct tt_plan *plan, uint64_t seed)
{
    int64_t used = window_unrolled(plan), more = plan->win_bytes - used;
    if (more < 0 || (more > 0 && !rotates_twice(plan)))
        fail_msg("seed %d: %lld bytes of the window, used are %lld", (int)seed,
                 (long long)plan->win_bytes, (long long)used);
}

static void random_plans_come_back(void **state)
{
    (void)state;
    struct tt_call call = {.coll = TT_COLL_barrier};
    struct tt_builder *b = tt_builder_new(1, 0, &call, "none");
    assert_non_null(b);
    for (uint64_t seed = 0; seed < PLANS; seed++) {
        struct tt_plan *plan = random_plan(b, seed);
        if (!plan) fail_msg("seed %d: %s", (int)seed, tutti_error());
        const char *invalid = tt_plan_invalid(plan, NULL);
        if (invalid) fail_msg("seed %d: %s", (int)seed, invalid);
        comes_back(plan);
        window_is_measured(plan, seed);
        tt_plan_free(plan);
    }
    tt_builder_free(b);
}

/* Checks that tt_plan_equal does not take different plans for equal: plans of different seeds are
 * equal only if their texts are. */
static void different_plans_differ(void **state)
{
    (void)state;
    struct tt_call call = {.coll = TT_COLL_barrier};
    struct tt_builder *b = tt_builder_new(1, 0, &call, "none");
    assert_non_null(b);
    struct tt_plan *last = random_plan(b, PLANS);
    for (uint64_t seed = PLANS + 1; seed < PLANS + 200; seed++) {
        struct tt_plan *plan = random_plan(b, seed);
        char *text = printed(plan), *other_text = printed(last);
        assert_int_equal(tt_plan_equal(plan, last), strcmp(text, other_text) == 0);
        assert_true(tt_plan_equal(plan, plan));
        free(text);
        free(other_text);
        tt_plan_free(last);
        last = plan;
    }
    tt_plan_free(last);
    tt_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_come_back),
        cmocka_unit_test(different_plans_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
