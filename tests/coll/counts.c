/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tt_count_plan, which counts the messages and bytes of a plan without unrolling its loops, finds
 * for all algorithms what the unrolled steps give. No rank gets or gives less than the collective
 * needs, and algorithms cost what their sources state. Plans stay small, and know how much of the
 * window they use.
 */
#include <string.h>

#include "brief.h"
#include "coll/coll-util.h"
#include "plans.h"
#include "window.h"

static const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 13, 31, 64, 100, 1000, 1023, 5000, 70000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- The least that any algorithm must move ---- */

static void at_least(const struct plans *all, int r, const char *what, int64_t counted,
                     int64_t bound)
{
    if (counted < bound)
        fail_msg("%s p%d rank %d: %s %lld, %lld at least", all->text, all->p, r, what,
                 (long long)counted, (long long)bound);
}

static int64_t others(const int64_t *counts, int64_t each, int p, int me)
{
    int64_t sum = 0;
    for (int r = 0; r < p; r++) sum += r == me ? 0 : counts ? counts[r] : each;
    return sum;
}

/* Returns the bytes that this rank must at least receive from the other ranks, and send to them. */
static struct tt_count least(const struct tt_call *c, int p, int me)
{
    int64_t in = 0, out = 0;
    bool root = me == c->root;
    switch (c->coll) {
    case TT_COLL_bcast: in = root ? 0 : c->n, out = root ? c->n : 0; break;
    case TT_COLL_reduce: in = root ? c->n : 0, out = root ? 0 : c->n; break;
    case TT_COLL_allreduce: in = out = c->n; break;
    case TT_COLL_reduce_scatter_block: in = c->n, out = (p - 1) * c->n; break;
    case TT_COLL_reduce_scatter:
        in = c->out_counts[me], out = others(c->out_counts, 0, p, me);
        break;
    case TT_COLL_gather: in = root ? (p - 1) * c->n : 0, out = root ? 0 : c->n; break;
    case TT_COLL_scan:
    case TT_COLL_exscan: in = me > 0 ? c->n : 0, out = me < p - 1 ? c->n : 0; break;
    case TT_COLL_scatter: in = root ? 0 : c->n, out = root ? (p - 1) * c->n : 0; break;
    case TT_COLL_allgather: in = (p - 1) * c->n, out = c->n; break;
    case TT_COLL_allgatherv: in = others(c->out_counts, 0, p, me), out = c->out_counts[me]; break;
    case TT_COLL_alltoall:
    case TT_COLL_alltoallv:
    case TT_COLL_gatherv:
    case TT_COLL_scatterv:
        in = others(c->out_counts, c->n, p, me), out = others(c->in_counts, c->n, p, me);
        break;
    case TT_COLL_barrier:
    case TT_COLLS: break;
    }
    if (p == 1) return (struct tt_count){0};
    return (struct tt_count){.received = in * c->sz, .sent = out * c->sz};
}

/* Returns how many elements each rank contributes to a reduction; 0 if the collective reduces
 * nothing. */
static int64_t vector(const struct tt_call *c, int p)
{
    if (!tt_coll_has_op(c->coll)) return 0;
    if (c->coll == TT_COLL_reduce_scatter_block) return p * c->n;
    return c->coll == TT_COLL_reduce_scatter ? others(c->out_counts, 0, p, -1) : c->n;
}

/* ---- Counts of plans: with loops unrolled they must be the same ---- */

static void add_unrolled(const struct tt_plan *plan, const struct tt_plain *s, struct tt_count *c)
{
    struct tt_count *mine = &c[plan->me];
    uint32_t far = 0;
    bool one_sided = s->kind == TT_PUT || s->kind == TT_GET;
    bool local = s->kind == TT_COPY || s->kind == TT_REDUCE;
    mine->steps++;
    if (s->kind == TT_SEND) mine->sent += s->len;
    if (s->kind == TT_RECV) mine->received += s->len;
    for (uint32_t k = 1; (local || one_sided) && k < s->nops; k++) {
        int from = s->range[k].rank, to = s->range[0].rank;
        if (from == to) continue;
        c[from == TT_SELF ? plan->me : from].sent += s->len;
        c[to == TT_SELF ? plan->me : to].received += s->len;
        far++;
    }
    mine->messages += far + (s->kind == TT_SEND);
    if (local && far == 0 && s->nops == 2) mine->copied += s->len;
    if (s->kind == TT_REDUCE) mine->reduced += (int64_t)(s->nops - 2) * s->len;
}

/* Adds the steps of a plan, with its loops unrolled, to the counts of all ranks. Returns how many
 * bytes of the window the steps use. */
static int64_t unroll(const struct tt_plan *plan, struct tt_count *count)
{
    struct tt_iter iter;
    struct tt_plain step;
    int64_t window = 0;
    for (int lane = 0; lane < (int)plan->lanes; lane++) {
        void *memory = tt_alloc(tt_iter_bytes(plan, lane) + 8);
        assert_non_null(memory);
        tt_iter_begin(&iter, plan, lane, memory);
        while (tt_iter_next(&iter, &step)) {
            add_unrolled(plan, &step, count);
            window = tt_max(window, window_of_step(plan, &step));
        }
        tt_free(memory);
    }
    return window;
}

/* Checks that the counts are those of the unrolled steps, and that the plans know how much of the
 * window they use. */
static void same_as_unrolled(const struct plans *all, const struct tt_count *count)
{
    struct tt_count *unrolled = tt_calloc((size_t)all->p, sizeof *unrolled);
    assert_non_null(unrolled);
    for (int r = 0; r < all->p; r++) {
        int64_t used = unroll(all->plans[r], unrolled);
        if (all->plans[r]->win_bytes != used)
            fail_msg("%s p%d rank %d: %lld bytes of the window, used are %lld", all->text, all->p,
                     r, (long long)all->plans[r]->win_bytes, (long long)used);
    }
    for (int r = 0; r < all->p; r++) {
#define SAME(field)                                                                                \
    if (count[r].field != unrolled[r].field)                                                       \
        fail_msg("%s p%d rank %d: %lld " #field ", unrolled %lld", all->text, all->p, r,           \
                 (long long)count[r].field, (long long)unrolled[r].field);
        TT_COUNT_FIELDS(SAME)
#undef SAME
    }
    tt_free(unrolled);
}

/* Checks that all bytes that are sent are received, and that every rank sends and receives at least
 * what it must. Also checks that a sum of p vectors takes at least p - 1 additions, or in an
 * exscan, which never adds all p vectors, p - 2. */
static int check(const struct tt_algorithm *a, const struct tt_problem *problem,
                 const struct tt_map *map)
{
    /* A brief run checks every SPREAD-th problem. Unrolling the loops takes longest, so on more
     * than FEW ranks it is done for every RARE-th problem. */
    enum { SPREAD = 11, FEW = 9, RARE = 4 };
    static int cases, large;
    struct plans all;
    if (a->refuse(&problem->call, map)) return 0;
    if (!sampled(&cases, SPREAD)) return 1;
    assert_true(plans_make(&all, a, problem, map));
    struct tt_count *count = plans_counts(&all), sum = tt_count_sum(count, all.p);
    if (all.p <= FEW || large++ % RARE == 0) same_as_unrolled(&all, count);
    if (sum.sent != sum.received)
        fail_msg("%s p%d: sent %lld, received %lld", all.text, all.p, (long long)sum.sent,
                 (long long)sum.received);
    for (int r = 0; r < all.p; r++) {
        struct tt_count must = least(&all.calls[r], all.p, r);
        at_least(&all, r, "received", count[r].received, must.received);
        at_least(&all, r, "sent", count[r].sent, must.sent);
        if (a->coll == TT_COLL_barrier && all.p > 1) at_least(&all, r, "steps", count[r].steps, 2);
    }
    const struct tt_call *call = &all.calls[0];
    int64_t additions = tt_max(all.p - 1 - (call->coll == TT_COLL_exscan), 0);
    at_least(&all, -1, "reduced by all", sum.reduced, additions * vector(call, all.p) * call->sz);
    tt_free(count);
    plans_free(&all);
    return 1;
}

static int check_radix(const struct tt_algorithm *a, struct tt_map *map, int radix, int64_t slice,
                       int root, int64_t largest)
{
    int done = 0;
    for (int i = 0; i < SIZES && sizes[i] <= largest; i++) {
        struct tt_problem problem = plans_problem(a->coll, map->p, sizes[i]);
        problem.call.slice = slice;
        problem.call.radix = radix;
        if (tt_coll_has_root(a->coll)) problem.call.root = root;
        done += check(a, &problem, map);
        bool skewed = a->coll == TT_COLL_allgatherv || a->coll == TT_COLL_reduce_scatter;
        for (int skew = 1; skewed && skew < TT_SKEWS; skew++) {
            problem.skew = (enum tt_skew)skew;
            done += check(a, &problem, map);
        }
    }
    return done;
}

static int check_sizes(const struct tt_algorithm *a, struct tt_map *map, int64_t slice, int root,
                       int64_t largest)
{
    int done = check_radix(a, map, 0, slice, root, largest);
    for (int radix = 4; radix <= 16 && plans_exchanges(a); radix *= 2)
        done += check_radix(a, map, radix, slice, root, largest);
    return done;
}

/* Checks plans for long vectors: in short slices, if the ranks may access each other's memory; in
 * slices of the usual length and in short slices, if they send messages. */
static int check_long(const struct tt_algorithm *a, int p)
{
    struct tt_map map = plans_map(p);
    int done = check_sizes(a, &map, 24, p / 2, 1000);
    map.reads = map.writes = false;
    return done + check_sizes(a, &map, 0, p / 2, 1000) + check_sizes(a, &map, 24, 0, 1000);
}

static void nor_for_more_ranks(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!plans_exchanges(*a)) continue;
        int done = 0;
        for (int p = 2; p <= brief(33, 9); p += p < 17 ? 1 : 4) done += check_long(*a, p);
        assert_true(done > 0);
    }
}

static int check_networks(const struct tt_algorithm *a)
{
    int done = 0;
    for (const char *const *text = plans_networks; *text && plans_need_network(a); text++) {
        struct tt_net net = plans_network(*text);
        struct tt_map map = plans_map(net.ranks);
        map.net = &net;
        done += check_sizes(a, &map, 0, 0, 1000);
        tt_net_free(&net);
    }
    return done;
}

static int check_nodes(const struct tt_algorithm *a, int p)
{
    int node[PLANS_RANKS], done = 0;
    for (int which = 0; which < PLANS_NODES; which++) {
        struct tt_map map = plans_nodes(p, which, node);
        done += check_sizes(a, &map, 0, p / 2, 1023) + check_sizes(a, &map, 24, p / 3, 100);
        map.cores = 1;
        plans_window(&map, 2048);
        done += check_sizes(a, &map, 0, p - 1, 5000);
    }
    return done;
}

/* Checks plans for operations that do not commute, in which ranks forward operands without
 * combining them, and a root may get two runs of adjacent operands. */
static int check_in_order(const struct tt_algorithm *a, int p)
{
    static const int64_t slices[] = {0, 8, 24};
    int node[PLANS_RANKS], done = 0;
    for (int which = 0; which < PLANS_NODES; which++) {
        struct tt_map map = plans_nodes(p, which, node);
        for (int i = 0; i < 9; i++) {
            struct tt_problem problem = plans_problem(a->coll, p, i / 3 * (p + 3));
            problem.call.op = TUTTI_OP_USER;
            problem.call.commutes = false;
            problem.call.slice = slices[i % 3];
            for (int root = 0; root < (tt_coll_has_root(a->coll) ? p : 1); root += 1 + p / 5) {
                problem.call.root = root;
                done += check(a, &problem, &map);
            }
        }
    }
    return done;
}

static void nor_in_rank_order(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!plans_span_nodes(*a) || !tt_coll_has_op((*a)->coll)) continue;
        int done = 0;
        for (int p = 2; p <= brief(33, 9); p += p < 9 ? 1 : 8) done += check_in_order(*a, p);
        assert_true(done > 0);
    }
}

static void nor_on_several_nodes(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        for (int p = plans_span_nodes(*a) ? 2 : brief(9, 8);
             p <= brief(plans_span_nodes(*a) ? 33 : 9, 8); p += p < 9 ? 1 : 8)
            check_nodes(*a, p);
}

static void no_plan_does_too_little(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        int done = 0;
        for (int p = 1; p <= brief(17, 9); p += p < 9 || p > 14 ? 1 : 3) {
            struct tt_map map = plans_map(p);
            done += check_sizes(*a, &map, 0, p / 2, 70000);
            if (tt_coll_has_root((*a)->coll)) done += check_sizes(*a, &map, 0, 0, 1023);
            map.cores = 1;
            done += check_sizes(*a, &map, 0, p - 1, 70000);
            plans_window(&map, 4096);
            done += check_sizes(*a, &map, 0, p - 1, 5000);
            done += check_sizes(*a, &map, 24, p / 3, 1023);
        }
        done += check_networks(*a);
        if (done == 0) fail_msg("%s %s never applied", tt_coll_name((*a)->coll), (*a)->name);
    }
}

/* ---- Ranks that may only read, or only write, each other's memory ---- */

/* Returns whether a step writes (or with `writes` false: reads) a buffer of another rank that is no
 * window. The first range of a step is its destination. */
static bool step_accesses(const struct tt_plan *plan, const struct tt_step *step, bool writes)
{
    /* The operands of a signal are ranks, and no ranges. */
    for (uint32_t i = 0; step->kind != TT_SIGNAL && i < step->nops; i++) {
        const struct tt_range *range = &plan->ranges[step->first + i];
        if (range->rank != TT_SELF && range->buf != TT_WIN && writes == (i == 0)) return true;
    }
    return false;
}

/* Returns whether the plans on this map write (or with `writes` false: read) a buffer of another
 * rank that is no window. Returns -1 if the algorithm refuses the map. */
static int accesses_on(const struct tt_algorithm *a, const struct tt_problem *problem,
                       const struct tt_map *map, bool writes)
{
    struct plans all;
    bool found = false;
    if (!plans_make(&all, a, problem, map)) return -1;
    for (int r = 0; r < all.p; r++)
        for (uint32_t i = 0; i < all.plans[r]->steps_n; i++)
            found = found || step_accesses(all.plans[r], &all.plans[r]->steps[i], writes);
    plans_free(&all);
    return found;
}

/* Checks which algorithms are refused if the ranks may not write (or not read) each other's memory.
 * If neither access is allowed, puts and gets become messages, so plans may contain them. An
 * algorithm that does not need the forbidden access must not be refused. */
static void check_forbidden(bool writes)
{
    int less = 0, refused = 0, kept = 0;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        struct tt_problem problem = plans_problem((*a)->coll, 5, 40000);
        struct tt_map both = plans_map(5), one, neither;
        both.mapped = false;
        one = neither = both;
        *(writes ? &one.writes : &one.reads) = neither.reads = neither.writes = false;
        int here = accesses_on(*a, &problem, &both, writes);
        int there = accesses_on(*a, &problem, &one, writes);
        int without = accesses_on(*a, &problem, &neither, writes);
        if (there == 1 && without != 1)
            fail_msg("%s %s accesses buffers", tt_coll_name((*a)->coll), (*a)->name);
        if (here == 0 && there != 0)
            fail_msg("%s %s needs no such access", tt_coll_name((*a)->coll), (*a)->name);
        less += here == 1 && there == 0;
        refused += here == 1 && there < 0;
        kept += here == 0 && without < 0;
    }
    assert_true(less > 0 && refused > 3 && kept > 1);
}

static void nothing_is_written_where_only_reading_is_allowed(void **state)
{
    (void)state;
    check_forbidden(true);
}

static void nothing_is_read_where_only_writing_is_allowed(void **state)
{
    (void)state;
    check_forbidden(false);
}

/* ---- What sources state ---- */

static int64_t rounds(int64_t p)
{
    int64_t l = 0;
    while (INT64_C(1) << l < p) l++;
    return l;
}

static int64_t one(int64_t p)
{
    return p > 1;
}

static int64_t two(int64_t p)
{
    return p > 1 ? 2 : 0;
}

static int64_t two_and_two(int64_t p)
{
    return 2 * two(p);
}

static int64_t half(int64_t p)
{
    return p / 2;
}

static int64_t each_other(int64_t p)
{
    return p - 1;
}

static int64_t each_other_twice(int64_t p)
{
    return 2 * (p - 1);
}

static int64_t rounds_twice(int64_t p)
{
    return 2 * rounds(p);
}

static int64_t rounds_and_each_other(int64_t p)
{
    return rounds(p) + p - 1;
}

/* Returns the number of parts that the root sends if the data consist of p parts: first one part to
 * each other rank, and then to each of them the p - 1 parts that it lacks. */
static int64_t split_sent(int64_t p)
{
    return (p - 1) * p;
}

static int64_t around_one_way(int64_t p)
{
    return p * (p - 1) / 2;
}

static int64_t around_both_ways(int64_t p)
{
    return p * p / 4;
}

static int64_t half_each_way(int64_t p)
{
    return 2 * (p / 2);
}

/* Returns how many bits are set in all numbers from 1 to p - 1 together. If p is a power of two,
 * these are (p / 2) log2 p bits. */
static int64_t bits(int64_t p)
{
    int64_t sum = 0;
    for (int64_t j = 1; j < p; j++) sum += __builtin_popcountll((unsigned long long)j);
    return sum;
}

static bool any(int p)
{
    return p > 0;
}

static bool more_than_three(int p)
{
    return p > 3;
}

static bool even(int p)
{
    return p % 2 == 0;
}

static bool power(int p)
{
    return (p & (p - 1)) == 0;
}

static bool power_of_four(int p)
{
    return power(p) && tt_log2_up(p) % 2 == 0;
}

/* Returns the number of messages of a rank in log_4 p rounds, in each of which a rank exchanges
 * data with three others. */
static int64_t by_fours(int64_t p)
{
    return 3 * (tt_log2_up((int)p) / 2);
}

/* An entry contains what the source of an algorithm states about the rank that has the most to do:
 * how many messages it has, and how many units (see `shares`) it sends and reduces. The statement
 * is for the numbers p of ranks for which the function `ranks` returns true. If one of the other
 * functions is NULL, the source does not state this cost. */
static const struct count_statement {
    const struct tt_algorithm *algorithm;
    bool (*ranks)(int p);
    /* true: the vector consists of p units, one for each rank. false: a unit is the whole vector,
     * or, in a collective in which each rank has a block of its own, such a block */
    bool shares;
    int64_t (*messages)(int64_t p), (*sent)(int64_t p), (*reduced)(int64_t p);
} statements[] = {
    {&tt_bcast_binomial, any, false, rounds, rounds, NULL},
    {&tt_bcast_scatter_allgather, power, true, rounds_and_each_other, each_other_twice, NULL},
    {&tt_reduce_binomial, any, false, one, one, rounds},
    {&tt_allreduce_doubling, power, false, rounds, rounds, rounds},
    {&tt_allreduce_ring, any, true, each_other_twice, each_other_twice, each_other},
    {&tt_reduce_scatter_block_halving, power, false, NULL, each_other, each_other},
    {&tt_allgather_ring, any, false, each_other, each_other, NULL},
    {&tt_allgather_bruck, any, false, rounds, each_other, NULL},
    {&tt_allgather_direct, any, false, each_other, each_other, NULL},
    {&tt_allgather_neighbour, even, false, half, each_other, NULL},
    {&tt_alltoall_direct, any, false, each_other, each_other, NULL},
    {&tt_alltoall_pairwise, any, false, each_other, each_other, NULL},
    {&tt_alltoall_bruck, any, false, rounds, bits, NULL},
    {&tt_alltoall_ring, any, false, each_other, around_one_way, NULL},
    {&tt_alltoall_ring_both, any, false, half_each_way, around_both_ways, NULL},
    {&tt_alltoall_hypercube, power, false, rounds, bits, NULL},
    {&tt_scatter_binomial, any, false, rounds, each_other, NULL},
    {&tt_scatter_linear, any, false, each_other, each_other, NULL},
    {&tt_scan_doubling, any, false, rounds, rounds, rounds},
    {&tt_gatherv_linear, any, false, NULL, one, NULL},
    {&tt_gatherv_direct, any, false, NULL, one, NULL},
    {&tt_scatterv_linear, any, false, each_other, each_other, NULL},
    {&tt_scatterv_direct, any, false, NULL, each_other, NULL},
    {&tt_allgather_circulant, any, false, rounds, each_other, NULL},
    {&tt_reduce_scatter_block_circulant, any, false, rounds, each_other, each_other},
    {&tt_allreduce_circulant, any, true, rounds_twice, each_other_twice, each_other},
    {&tt_bcast_chain, any, false, one, one, NULL},
    {&tt_reduce_chain, any, false, one, one, one},
    {&tt_bcast_two_tree, any, false, two, one, NULL},
    {&tt_reduce_two_tree, any, false, two, one, one},
    {&tt_allreduce_two_tree, more_than_three, false, two_and_two, two, one},
    {&tt_reduce_in_order, more_than_three, false, one, one, two},
    {&tt_gather_linear, any, false, one, one, NULL},
    {&tt_gather_direct, any, false, NULL, one, NULL},
    {&tt_reduce_scatter_block_direct, any, false, NULL, each_other, each_other},
    {&tt_allgather_doubling, power, false, rounds, each_other, NULL},
    {&tt_bcast_split, any, true, NULL, split_sent, NULL},
    {&tt_allreduce_multiplying, power_of_four, false, by_fours, by_fours, by_fours},
};

static void stated(const struct count_statement *s, const char *what, int p,
                   int64_t (*states)(int64_t), int64_t unit, int64_t counted)
{
    if (states && counted != unit * states(p))
        fail_msg("%s %s p%d: %s %lld, stated %lld", tt_coll_name(s->algorithm->coll),
                 s->algorithm->name, p, what, (long long)counted, (long long)(unit * states(p)));
}

static void algorithms_cost_what_is_stated(void **state)
{
    (void)state;
    enum { N = 12, BYTES = 8 * N };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        for (int p = 2; p <= 33; p++) {
            const struct count_statement *s = &statements[i];
            struct tt_problem problem = plans_problem(s->algorithm->coll, p, s->shares ? p * N : N);
            struct tt_map map = plans_map(p);
            struct plans all;
            if (!s->ranks(p)) continue;
            assert_true(plans_make(&all, s->algorithm, &problem, &map));
            struct tt_count worst = plans_worst(&all);
            stated(s, "messages", p, s->messages, 1, worst.messages);
            stated(s, "sent", p, s->sent, BYTES, worst.sent);
            stated(s, "reduced", p, s->reduced, BYTES, worst.reduced);
            plans_free(&all);
        }
}

/* Returns how many digits of a number are not 0. */
static int digits(int number, int radix)
{
    int n = 0;
    for (; number > 0; number /= radix) n += number % radix != 0;
    return n;
}

/* Checks the costs of TuNA (Fan et al. 2024). The distances between ranks, 1 to p - 1, are written
 * as numbers in the base `radix`. A rank sends one message for each distance that has exactly one
 * digit other than 0. A block is sent once for each digit of its distance that is not 0. All blocks
 * are as long as the longest one. */
static void a_radix_takes_fewer_bytes_for_more_rounds(void **state)
{
    (void)state;
    for (int radix = 2; radix <= 34; radix += radix < 9 ? 1 : 5)
        for (int p = 2; p <= 33; p++) {
            struct tt_problem problem = plans_problem(TT_COLL_alltoallv, p, 5);
            struct tt_map map = plans_map(p);
            struct plans all;
            int64_t hops = 0, messages = 0;
            problem.skew = TT_SKEW_uniform;
            problem.call.radix = radix;
            for (int j = 1; j < p; j++) {
                hops += digits(j, radix);
                messages += digits(j, radix) == 1;
            }
            assert_true(plans_make(&all, &tt_alltoallv_padded, &problem, &map));
            struct tt_count worst = plans_worst(&all);
            assert_int_equal(worst.messages, messages);
            assert_int_equal(worst.sent, hops * all.calls[0].longest * 8);
            plans_free(&all);
        }
}

/* Returns what a radix costs on p ranks for blocks of n doubles, if a message costs as much as 1000
 * bytes. */
static int64_t radix_cost(int p, int radix, int64_t n)
{
    struct tt_problem problem = plans_problem(TT_COLL_alltoallv, p, n);
    struct tt_map map = plans_map(p);
    struct plans all;
    problem.call.radix = radix;
    assert_true(plans_make(&all, &tt_alltoallv_padded, &problem, &map));
    struct tt_count worst = plans_worst(&all);
    plans_free(&all);
    return 1000 * worst.messages + worst.sent;
}

static void the_radix_suits_the_blocks(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p += p < 9 ? 1 : 11)
        for (int64_t n = 1; n < 2000; n *= 4)
            for (int radix = 2; radix <= 64; radix *= 2)
                assert_true(radix_cost(p, 0, n) <= radix_cost(p, radix, n));
    assert_int_equal(radix_cost(64, 0, 1), radix_cost(64, 2, 1));
    assert_int_equal(radix_cost(64, 0, 20), radix_cost(64, 8, 20));
    assert_int_equal(radix_cost(64, 0, 2000), radix_cost(64, 64, 2000));
}

/* Checks calls of `padded`, which makes all blocks as long as call.longest, the length of the
 * longest piece of all ranks. A call is refused if one of its pieces is longer than call.longest,
 * or if there is no memory for so long blocks. */
static void pieces_fit_into_blocks(void **state)
{
    (void)state;
    struct tt_problem problem = plans_problem(TT_COLL_alltoallv, 5, 8);
    struct tt_map map = plans_map(5);
    struct plans all;
    assert_true(plans_make(&all, &tt_alltoallv_padded, &problem, &map));
    struct tt_call call = all.calls[2];
    assert_int_equal(call.longest, 8);
    call.longest = 7;
    assert_null(tt_algorithm_plan(&tt_alltoallv_padded, &call, &map, 2));
    assert_non_null(strstr(tutti_error(), "needs the longest piece of all ranks"));
    for (int64_t longest = INT64_MAX; longest >= INT64_MAX / 16; longest /= 2) {
        call.longest = longest;
        assert_null(tt_algorithm_plan(&tt_alltoallv_padded, &call, &map, 2));
        assert_non_null(strstr(tutti_error(), "no memory for so long blocks"));
    }
    plans_free(&all);
}

/* Checks the costs of the barrier of Hensgen, Finkel, Manber 1988: ceil(log2 p) rounds, in each of
 * which a rank signals one rank and awaits another one. */
static void dissemination_takes_the_fewest_rounds(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p++) {
        struct tt_problem problem = plans_problem(TT_COLL_barrier, p, 0);
        struct tt_map map = plans_map(p);
        struct plans all;
        assert_true(plans_make(&all, &tt_barrier_dissemination, &problem, &map));
        struct tt_count *count = plans_counts(&all);
        for (int r = 0; r < p; r++) assert_int_equal(count[r].steps, 2 * rounds(p));
        tt_free(count);
        plans_free(&all);
    }
}

/* ---- In place ---- */

static struct tt_count worst_of(const struct tt_algorithm *a, struct tt_problem problem,
                                const struct tt_map *map, bool in_place)
{
    struct plans all;
    problem.call.in_place = in_place;
    if (!plans_make(&all, a, &problem, map)) return (struct tt_count){0};
    struct tt_count worst = plans_worst(&all);
    plans_free(&all);
    return worst;
}

/* Checks that an algorithm moves as many bytes in place as out of place, and copies no more. A
 * reduce_scatter and an exscan may copy more in place: the result belongs where the input is still
 * needed, so it may have to wait in scratch. */
static void compare_places(const struct tt_algorithm *a, const struct tt_map *map)
{
    struct tt_problem problem = plans_problem(a->coll, map->p, 100);
    struct tt_count in = worst_of(a, problem, map, true), out = worst_of(a, problem, map, false);
    bool waits = tt_call_scatters(&problem.call) || a->coll == TT_COLL_exscan;
    bool copies = in.copied > out.copied && !waits;
    if (in.sent != out.sent || in.received != out.received || in.reduced != out.reduced ||
        in.messages != out.messages || copies)
        fail_msg("%s %s p%d: in place sent %lld (else %lld), received %lld (%lld), reduced %lld "
                 "(%lld), copied %lld (%lld), messages %lld (%lld)",
                 tt_coll_name(a->coll), a->name, map->p, (long long)in.sent, (long long)out.sent,
                 (long long)in.received, (long long)out.received, (long long)in.reduced,
                 (long long)out.reduced, (long long)in.copied, (long long)out.copied,
                 (long long)in.messages, (long long)out.messages);
}

static void compare_places_on_networks(const struct tt_algorithm *a)
{
    for (const char *const *text = plans_networks; *text && plans_need_network(a); text++) {
        struct tt_net net = plans_network(*text);
        struct tt_map map = plans_map(net.ranks);
        map.net = &net;
        compare_places(a, &map);
        tt_net_free(&net);
    }
}

static void in_place_saves_copies_at_most(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if (!tt_coll_has_place((*a)->coll)) continue;
        for (int p = 1; p <= 9; p++) {
            struct tt_map map = plans_map(p);
            compare_places(*a, &map);
        }
        compare_places_on_networks(*a);
    }
}

/* Checks a promise of the library: a plan for 16 ranks takes less than 4 KiB per rank, whatever the
 * length of the vector. */
static void allreduce_plans_do_not_grow(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll != TT_COLL_allreduce) continue;
        for (int64_t n = 1; n <= (int64_t)1 << 26; n = 3 * n + 1) {
            struct tt_problem problem = plans_problem(TT_COLL_allreduce, 16, n);
            struct tt_map map = plans_map(16);
            map.reads = map.writes = n % 2;
            struct plans all;
            if (!plans_make(&all, *a, &problem, &map)) continue;
            for (int r = 0; r < 16; r++)
                if (all.plans[r]->bytes >= 4096)
                    fail_msg("%s n %lld rank %d: a plan of %lld bytes", all.text, (long long)n, r,
                             (long long)all.plans[r]->bytes);
            plans_free(&all);
        }
    }
}

static void names_are_found(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        assert_ptr_equal(tt_algorithm_find((*a)->coll, (*a)->name), *a);
        assert_true((*a)->applies && (*a)->cost && (*a)->source);
    }
    assert_null(tt_algorithm_find(TT_COLL_barrier, "no such"));
}

/* Returns the number of lanes of a plan. Slices of a long vector are distributed over several
 * lanes, unless there is only one node or each rank has a node of its own. */
static int lanes_of(const struct tt_algorithm *a, int64_t bytes, int nodes)
{
    int node[8];
    struct plans all;
    struct tt_map map = plans_map(8);
    struct tt_problem problem = plans_problem(a->coll, 8, bytes / 8);
    for (int r = 0; r < 8; r++) node[r] = r * nodes / 8;
    map.nodes = nodes;
    map.node = node;
    assert_true(plans_make(&all, a, &problem, &map));
    int lanes = (int)all.plans[0]->lanes;
    for (int r = 0; r < 8; r++) assert_int_equal(all.plans[r]->lanes, lanes);
    plans_free(&all);
    return lanes;
}

static void long_vectors_stream_through_composed_plans(void **state)
{
    (void)state;
    static const struct {
        const struct tt_algorithm *row;
        int64_t slice; /* the least bytes of a slice */
    } cases[] = {{&tt_allreduce_parts, 32 << 10},
                 {&tt_allreduce_composed, 32 << 10},
                 {&tt_reduce_composed, 64 << 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lanes_of(cases[i].row, 1 << 20, 3), 3);
        assert_int_equal(lanes_of(cases[i].row, 2 * cases[i].slice, 3), 2);
        assert_int_equal(lanes_of(cases[i].row, 2 * cases[i].slice - 8, 3), 1);
        assert_int_equal(lanes_of(cases[i].row, 1 << 20, 1), 1);
        assert_int_equal(lanes_of(cases[i].row, 1 << 20, 8), 1);
    }
    assert_int_equal(lanes_of(&tt_bcast_composed, 1 << 20, 3), 1);
}

/* Returns the most bytes that a rank sends in an allreduce by `parts` on nodes with two ranks each,
 * which are dealt out to the nodes in turn. */
static int64_t most_sent(int nodes, int64_t bytes)
{
    int node[PLANS_RANKS];
    struct plans all;
    struct tt_map map = plans_map(2 * nodes);
    struct tt_problem problem = plans_problem(TT_COLL_allreduce, 2 * nodes, bytes / 8);
    for (int r = 0; r < map.p; r++) node[r] = r % nodes;
    map.nodes = nodes;
    map.node = node;
    problem.call.lanes = 1;
    assert_true(plans_make(&all, &tt_allreduce_parts, &problem, &map));
    int64_t sent = plans_worst(&all).sent;
    plans_free(&all);
    return sent;
}

/* Checks that a long allreduce by `parts` moves as few bytes as possible between any number of
 * nodes n: each rank sends (n-1)/n of its part twice. Within its node, a rank is read twice: the
 * input for the part of the other rank, and its own part of the result. */
static void long_allreduces_send_each_byte_twice(void **state)
{
    (void)state;
    for (int n = 3; n <= 17; n++) {
        int64_t block = 8 << 10, part = n * block;
        assert_int_equal(most_sent(n, 2 * part), 2 * (part - block) + 2 * part);
    }
}

/* Returns how many messages a plan without loops exchanges with ranks of other nodes. */
static int messages_between(const struct tt_plan *plan, const int *node)
{
    int n = 0;
    for (uint32_t i = 0; i < plan->steps_n; i++) {
        const struct tt_step *s = &plan->steps[i];
        assert_int_not_equal(s->kind, TT_LOOP);
        if (s->kind == TT_SEND || s->kind == TT_RECV) n += node[s->peer] != node[plan->me];
    }
    return n;
}

/* Checks gatherv and scatterv: one message goes between the root and each other node. The root
 * copies the pieces of a node only if they are not contiguous. Equal pieces without gaps are
 * contiguous if the ranks of their node are adjacent. */
static void the_pieces_of_a_node_go_in_one_message(const struct tt_algorithm *a, int p, int root)
{
    int node[PLANS_RANKS], seen[PLANS_RANKS] = {0}, nodes = 0;
    struct tt_problem problem = plans_problem(a->coll, p, 5);
    problem.call.root = root;
    for (int which = 0; which < PLANS_NODES; which++, nodes = 0, memset(seen, 0, sizeof seen)) {
        struct tt_map map = plans_nodes(p, which, node);
        struct plans all;
        for (int r = 0; r < p; r++) nodes += seen[node[r]]++ == 0;
        assert_true(plans_make(&all, a, &problem, &map));
        struct tt_count *count = plans_counts(&all);
        int others = 0;
        for (int r = 0; r < p; r++)
            if (r != root) others += messages_between(all.plans[r], node);
        assert_int_equal(messages_between(all.plans[root], node), nodes - 1);
        assert_int_equal(others, nodes - 1);
        if (which < 5) assert_int_equal(count[root].copied, 5 * 8);
        tt_free(count);
        plans_free(&all);
    }
}

static void gatherv_and_scatterv_send_a_message_for_each_node(void **state)
{
    (void)state;
    for (int p = 2; p <= 33; p++)
        for (int root = 0; root < p; root += 1 + p / 3) {
            the_pieces_of_a_node_go_in_one_message(&tt_gatherv_composed, p, root);
            the_pieces_of_a_node_go_in_one_message(&tt_scatterv_composed, p, root);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_where_only_reading_is_allowed),
        cmocka_unit_test(nothing_is_read_where_only_writing_is_allowed),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(no_plan_does_too_little),
        cmocka_unit_test(nor_for_more_ranks),
        cmocka_unit_test(nor_on_several_nodes),
        cmocka_unit_test(nor_in_rank_order),
        cmocka_unit_test(algorithms_cost_what_is_stated),
        cmocka_unit_test(a_radix_takes_fewer_bytes_for_more_rounds),
        cmocka_unit_test(the_radix_suits_the_blocks),
        cmocka_unit_test(pieces_fit_into_blocks),
        cmocka_unit_test(dissemination_takes_the_fewest_rounds),
        cmocka_unit_test(long_vectors_stream_through_composed_plans),
        cmocka_unit_test(long_allreduces_send_each_byte_twice),
        cmocka_unit_test(gatherv_and_scatterv_send_a_message_for_each_node),
        cmocka_unit_test(in_place_saves_copies_at_most),
        cmocka_unit_test(allreduce_plans_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
