/* SPDX-License-Identifier: BSD-3-Clause */
#include "choose/estimate.h"

#include "choose/predict.h"
#include "choose/table.h"
#include "choose/wisdom.h"
#include "plan/count.h"

#define COUNT(name) +1
enum { ALGORITHMS = 0 TT_ALGORITHMS(COUNT) };
#undef COUNT
_Static_assert((int)ALGORITHMS < (int)TT_NOTHING_RANKED, "indices + 1 fit");

/* Returns the logarithm to the base 2 of the call's bytes, rounded up (tt_size_class). In an
 * allgatherv these are the mean bytes of a rank, and in a reduce_scatter the bytes of all ranks
 * together. */
static int size_of(const struct tt_call *call, int p)
{
    bool lists = call->coll == TT_COLL_allgatherv && call->out_counts;
    int64_t bytes = lists ? tt_call_mean_bytes(call, p) : tt_call_bytes(call);
    return (int)tt_min(tt_size_class(bytes), TT_RANKED_SIZES - 1);
}

/* Returns whether the time of the call can be predicted: the model and the map allow it, and every
 * rank knows all counts. */
static bool is_known(const struct tt_call *call, const struct tt_map *map)
{
    if (!map->machine || map->p < 2 || map->p > TT_PREDICT_RANKS) return false;
    bool reaches = tt_map_one_node(map) || tt_machine_has_network(map->machine);
    return reaches && !map->net && !tt_coll_pairs(call->coll);
}

/* Returns the call that stands for all calls of the same collective with about 2^log2 bytes
 * (tt_size_class): a sum of doubles, or, in a collective without an operation, a transfer of plain
 * bytes. */
static struct tt_call stand_in(const struct tt_call *call, int log2)
{
    bool reduces = tt_coll_has_op(call->coll);
    int64_t sz = reduces ? (int64_t)sizeof(double) : 1;
    return (struct tt_call){.coll = call->coll,
                            .type = reduces ? TUTTI_F64 : TUTTI_U8,
                            .op = TUTTI_SUM,
                            .commutes = true,
                            .shared = call->shared,
                            .n = call->coll == TT_COLL_barrier ? 0 : (INT64_C(1) << log2) / sz,
                            .sz = sz,
                            .slice = call->slice / sz * sz,
                            .radix = call->radix,
                            .lanes = call->lanes};
}

/* The algorithms with the least times so far, the fastest first. left: the effort that may still be
 * spent on their ranking, in steps of ranks that are followed. */
struct ranked {
    int64_t left;
    int n;
    uint8_t index[TT_RANKED];
    int64_t time_ps[TT_RANKED];
};

/* Returns whether algorithm `index` with the time `time_ps` is better than the algorithm at place
 * `than` of the ranking. If the two times are equal, the algorithm that stands first in
 * tt_algorithms is better. */
static bool is_better(int64_t time_ps, int index, const struct ranked *r, int than)
{
    if (time_ps != r->time_ps[than]) return time_ps < r->time_ps[than];
    return index + 1 < r->index[than];
}

static void insert(struct ranked *r, int index, int64_t time_ps)
{
    int at = r->n;
    while (at > 0 && is_better(time_ps, index, r, at - 1)) at--;
    if (at == TT_RANKED) return;
    r->n = (int)tt_min(r->n + 1, TT_RANKED);
    for (int i = r->n - 1; i > at; i--) {
        r->index[i] = r->index[i - 1];
        r->time_ps[i] = r->time_ps[i - 1];
    }
    r->index[at] = (uint8_t)(index + 1);
    r->time_ps[at] = time_ps;
}

/* The algorithms that apply, in the order in which their times are predicted. The prediction of a
 * further plan stops as soon as its time is known to exceed a limit, which depends on the least
 * time so far (rank_all). So the choice of the table comes first, which is seldom slow, and then
 * come short plans, because following them takes least. */
struct runners {
    int n, index[ALGORITHMS];
    int64_t steps[ALGORITHMS]; /* about how many steps the plan of rank 0 has; -1: the choice of the
                                * table */
};

static void add_runner(struct runners *runners, int index, int64_t steps)
{
    int at = runners->n++;
    for (; at > 0 && runners->steps[at - 1] > steps; at--) {
        runners->index[at] = runners->index[at - 1];
        runners->steps[at] = runners->steps[at - 1];
    }
    runners->index[at] = index;
    runners->steps[at] = steps;
}

/* Returns about how many steps the plan of a rank has; 0: there is no memory for the plan. */
static int64_t steps_of(const struct tt_algorithm *a, const struct tt_call *call,
                        const struct tt_map *map, int rank)
{
    bool is_short;
    struct tt_map with = tt_plan_map(a, call, map, &is_short);
    struct tt_plan *plan = tt_algorithm_plan(a, call, &with, rank);
    int64_t steps = plan ? tt_plan_steps(plan, 0) : 0;
    tt_plan_free(plan);
    return steps;
}

static bool is_among(const uint8_t *known, int n, int index)
{
    for (int i = 0; i < n; i++)
        if (known[i] == index + 1) return true;
    return false;
}

/* Returns the time by which the algorithm that the table chooses is ranked. */
static int64_t favoured(int64_t time_ps)
{
    return time_ps - time_ps / TT_ESTIMATE_FAVOUR;
}

/* Returns the longest predicted time with which this algorithm may still be ranked by `time_ps`. */
static int64_t unfavoured(int64_t time_ps)
{
    return time_ps + time_ps / (TT_ESTIMATE_FAVOUR - 1) + 1;
}

/* ---- The effort ---- */

/* The effort for a ranking, whose processor time is to be at most 5 ms, in steps that are followed.
 * A step takes some 0.1 us, and more in a large team, so each rank lessens the effort by RANK.
 * Making the plan of a rank takes as long as following some PLAN steps. With less effort than
 * LEAST, no time can be predicted. */
enum { EFFORT = 44000, RANK = 450, PLAN = 64, LEAST = 1000 };

/* Returns the effort for a ranking. In a collective with a root whose ranks share processors it is
 * not limited: many calls have to be followed there until the root no longer runs ahead. */
static int64_t effort_for(const struct tt_call *call, const struct tt_map *map)
{
    bool ahead = tt_coll_has_root(call->coll) && map->p > map->cores;
    return ahead ? INT64_MAX / 2 : EFFORT - RANK * map->p;
}

/* Predicts a time that matters only if it is at most most_ps, as the first of `n` predictions that
 * share the effort that is left. Returns whether the time is known. */
static bool predict_within(const struct tt_algorithm *a, const struct tt_call *call,
                           const struct tt_map *map, int64_t most_ps, int n, int64_t *left,
                           struct tt_prediction *prediction)
{
    if (*left < LEAST) return false;
    const struct tt_limits limits = {most_ps, *left / n, tt_max(*left / 2, *left / n)};
    *prediction = (struct tt_prediction){.time_ps = 0};
    bool known = tt_predict_up_to(a, call, map, &limits, prediction) == TUTTI_OK;
    *left = tt_max(0, *left - prediction->followed - PLAN * map->p);
    return known;
}

/* Ranks the algorithms that are not among the first n of `known`. Algorithms that take more than
 * `times` times the least time may be left out. tabled: the algorithm whose time counts as shorter;
 * NULL: none does. Ranks nothing if the time of `tabled` cannot be predicted. Errors of predictions
 * do not reach the caller: tutti_error stays as it was. */
static void rank_all(const struct tt_call *call, const struct tt_map *map, const uint8_t *known,
                     int n, int times, const struct tt_algorithm *tabled, struct ranked *r)
{
    char kept[TT_ERROR_TEXT];
    struct tt_prediction prediction;
    struct runners runners = {.n = 0};
    tt_error_keep(kept);
    for (int i = 0; tt_algorithms[i]; i++) {
        const struct tt_algorithm *a = tt_algorithms[i];
        if (a->coll == call->coll && !is_among(known, n, i) && !a->refuse(call, map))
            add_runner(&runners, i, a == tabled ? -1 : steps_of(a, call, map, 0));
    }
    for (int i = 0; i < runners.n; i++) {
        const struct tt_algorithm *a = tt_algorithms[runners.index[i]];
        int64_t most = r->n > 0 ? times * r->time_ps[0] : INT64_MAX;
        if (a == tabled && r->n > 0) most = unfavoured(most);
        bool known_time = predict_within(a, call, map, most, runners.n - i, &r->left, &prediction);
        if (known_time)
            insert(r, runners.index[i],
                   a == tabled ? favoured(prediction.time_ps) : prediction.time_ps);
        if (known_time || a != tabled) continue;
        r->n = 0;
        break;
    }
    tt_error_restore(kept);
}

/* ---- Parameters ---- */

bool tt_parameters_try(struct tt_call *call, int i)
{
    enum { EACH = TT_PARAMETERS_TRIES / 3 };
    static const int64_t slices[EACH] = {256 << 10, 64 << 10, 16 << 10, 4 << 10};
    static const int32_t radices[EACH] = {2, 4, 8, 16}, lanes[EACH] = {1, 2, 4, 8};
    const struct tt_call before = *call;
    int64_t slice = i < EACH && slices[i] < tt_call_bytes(call) ? slices[i] : 0;
    int32_t radix = i / EACH == 1 ? radices[i % EACH] : 0;
    tt_tune(call, slice, radix, i / EACH == 2 ? lanes[i % EACH] : 0);
    return call->slice != before.slice || call->radix != before.radix ||
           call->lanes != before.lanes;
}

bool tt_parameters_same(const struct tt_algorithm *a, const struct tt_call *one,
                        const struct tt_call *other, const struct tt_map *map, int me)
{
    bool is_short;
    struct tt_map with[2] = {tt_plan_map(a, one, map, &is_short),
                             tt_plan_map(a, other, map, &is_short)};
    struct tt_plan *x = tt_algorithm_plan(a, one, &with[0], me);
    struct tt_plan *y = tt_algorithm_plan(a, other, &with[1], me);
    bool same = !x || !y || tt_plan_equal(x, y);
    tt_plan_free(x);
    tt_plan_free(y);
    return same;
}

/* Returns whether other parameters change no plan. Compares only the plans of the first and of the
 * last rank, which have different places in most trees and rings. */
static bool changes_nothing(const struct tt_algorithm *a, const struct tt_call *one,
                            const struct tt_call *other, const struct tt_map *map)
{
    return tt_parameters_same(a, one, other, map, 0) &&
           tt_parameters_same(a, one, other, map, map->p - 1);
}

/* Returns whether the estimate may choose parameters for the call. On one node this would gain next
 * to nothing, and if ranks share processors, the predicted times with other parameters are often
 * wrong (docs/refused.md). In a collective with a count for each rank, a rank does not know by the
 * call how long the data of the other ranks are. */
static bool may_tune(const struct tt_call *call, const struct tt_map *map)
{
    return !tt_map_one_node(map) && map->p <= map->cores && !tt_call_counts(call);
}

/* The most steps that the plans of all ranks may have for a parameter to be tried. A prediction
 * takes time for each step, and a rank waits for the ranking in its first call of a shape. */
enum { TRY_STEPS = 2048 };

/* Returns about how many steps the plans of all ranks have, at most. The first and the last rank
 * may be on nodes with different numbers of ranks. */
static int64_t most_steps(const struct tt_algorithm *a, const struct tt_call *call,
                          const struct tt_map *map)
{
    return map->p * tt_max(steps_of(a, call, map, 0), steps_of(a, call, map, map->p - 1));
}

/* Returns 1 + the number of the value (tt_parameters_try) with which the algorithm takes least, if
 * its predicted time is at most most_ps; 0: there is none. Errors of predictions do not reach the
 * caller: tutti_error stays as it was. */
static uint8_t find_value(const struct tt_algorithm *a, const struct tt_call *standing,
                          const struct tt_map *map, int64_t most_ps, int64_t *left)
{
    char kept[TT_ERROR_TEXT];
    struct tt_prediction prediction;
    uint8_t best = 0;
    tt_error_keep(kept);
    for (int i = 0; i < TT_PARAMETERS_TRIES; i++) {
        struct tt_call call = *standing;
        if (!tt_parameters_try(&call, i) || a->refuse(&call, map) ||
            most_steps(a, &call, map) > TRY_STEPS || changes_nothing(a, standing, &call, map) ||
            !predict_within(a, &call, map, most_ps, TT_PARAMETERS_TRIES - i, left, &prediction) ||
            prediction.time_ps > most_ps)
            continue;
        best = (uint8_t)(i + 1);
        most_ps = prediction.time_ps - 1;
    }
    tt_error_restore(kept);
    return best;
}

/* Returns the algorithm that the table chooses for the call that stands for all of about its size;
 * NULL: none, or the counts of the call are not known. */
static const struct tt_algorithm *tabled_for(const struct tt_call *stand_in,
                                             const struct tt_map *map)
{
    struct tt_equal_counts equal;
    struct tt_call standing = *stand_in;
    tt_give_equal_counts(&standing, &equal, map->p);
    bool known = !tt_call_counts(&standing) || standing.out_counts;
    return known ? tt_table_choose(&standing, map) : NULL;
}

/* Sets best[n] to the fastest of the algorithms that are not among best[0] .. best[n - 1]. If n is
 * 0, also sets *with to the number of its parameters (struct tt_ranking). Returns false if memory
 * was short: the algorithm that was found may then not be the fastest, and best[n] and *with stay
 * as they are. */
static bool rank_next(uint8_t best[TT_RANKED], uint8_t *with, int n, const struct tt_call *stand_in,
                      const struct tt_map *map)
{
    struct ranked r = {.left = effort_for(stand_in, map)};
    struct tt_equal_counts equal;
    struct tt_call standing = *stand_in;
    uint64_t before = tt_memory_lacks();
    const struct tt_algorithm *tabled = tabled_for(stand_in, map);
    uint8_t value = 0;
    tt_give_equal_counts(&standing, &equal, map->p);
    if (!tt_call_counts(&standing) || standing.out_counts)
        rank_all(&standing, map, best, n, 1, tabled, &r);
    if (r.n > 0 && n == 0 && may_tune(&standing, map)) {
        const struct tt_algorithm *a = tt_algorithms[r.index[0] - 1];
        value = find_value(a, &standing, map, a == tabled ? r.time_ps[0] : favoured(r.time_ps[0]),
                           &r.left);
    }
    if (tt_memory_lacks() != before) return false;
    best[n] = r.n > 0 ? r.index[0] : TT_NOTHING_RANKED;
    if (n == 0) *with = value;
    return true;
}

/* ---- Rankings that are kept ---- */

/* Returns a hash of what matters only on several nodes: on which node each rank is, whether one
 * kernel runs all nodes, what their links are like, and how many lanes the calls have; 0: all ranks
 * are on one node. */
static uint64_t nodes_of(const struct tt_call *standing, const struct tt_map *map)
{
    if (tt_map_one_node(map)) return 0;
    uint64_t hash = tt_hash(TT_HASH_BEGIN, map->node, (size_t)map->p * sizeof *map->node);
    hash = tt_hash(hash, &map->one_kernel, sizeof map->one_kernel);
    hash = tt_hash(hash, &map->link, sizeof map->link);
    hash = tt_hash(hash, &standing->lanes, sizeof standing->lanes);
    return hash ? hash : 1;
}

/* Returns what a ranking depends on of the cost of reading, because the table does: the table
 * considers this cost only if ranks of one node read each other's memory by the kernel. Jobs
 * measure this cost anew, so it must not make rankings useless that do not depend on it. */
static uint8_t cost_of(const struct tt_call *standing, const struct tt_map *map)
{
    bool matters = map->reads && !map->mapped && !standing->shared && tt_map_one_node(map);
    return matters ? (uint8_t)tt_min(map->read_cost, TT_TABLE_DEAREST) : 0;
}

static struct tt_ranking_shape shape_of(const struct tt_call *standing, const struct tt_map *map)
{
    return (struct tt_ranking_shape){.window = map->win_bytes,
                                     .eager = map->eager,
                                     .slice = standing->slice,
                                     .nodes = nodes_of(standing, map),
                                     .radix = standing->radix,
                                     .p = map->p,
                                     .cores = map->cores,
                                     .cost = cost_of(standing, map),
                                     .coll = (uint8_t)standing->coll,
                                     .shared = standing->shared,
                                     .reach = (uint8_t)(map->reads * TT_REACHES_READ |
                                                        map->writes * TT_REACHES_WRITE |
                                                        map->mapped * TT_REACHES_LOAD)};
}

static bool is_for(const struct tt_ranking *ranking, const struct tt_ranking_shape *shape)
{
    return memcmp(&ranking->shape, shape, sizeof *shape) == 0;
}

/* Returns the place for a new ranking: a free place or, if there is none, the place of the oldest
 * ranking that did not come from a file. */
static int new_place(struct tt_rankings *kept)
{
    if (kept->n < TT_RANKINGS_MOST) return kept->n++;
    return kept->given + (int)(kept->forgotten++ % (uint32_t)(TT_RANKINGS_MOST - kept->given));
}

static struct tt_ranking *find_ranking(struct tt_rankings *kept,
                                       const struct tt_ranking_shape *shape)
{
    uint8_t *last = &kept->last[(shape->coll * 2u + shape->shared) % TT_RANKINGS_KINDS];
    if (*last && is_for(&kept->ranking[*last - 1], shape)) return &kept->ranking[*last - 1];
    int i = 0;
    while (i < kept->n && !is_for(&kept->ranking[i], shape)) i++;
    if (i == kept->n) {
        i = new_place(kept);
        tt_assert(i >= kept->given);
        kept->ranking[i] = (struct tt_ranking){.shape = *shape};
    }
    *last = (uint8_t)(i + 1);
    tt_assert(tt_rankings_valid(kept));
    return &kept->ranking[i];
}

/* Adds 1 to the numbers of entries that this process has computed, in all rankings and in this one.
 * Counts only rankings for ranks on one node, because a file keeps no others. */
static void count(struct tt_rankings *kept, struct tt_ranking *ranking)
{
    if (ranking->shape.nodes != 0) return;
    kept->computed++;
    ranking->computed++;
}

/* Returns the parameters that an algorithm gets for the call: value number `value` - 1 of
 * tt_parameters_try, and otherwise its own. If value is 0, or the algorithm would not apply with
 * this value, it gets only its own. tt_parameters_try changes no parameter that the call sets, so
 * each difference is 0 or the value. */
static struct tt_parameters parameters_of(const struct tt_algorithm *a, const struct tt_call *call,
                                          const struct tt_map *map, uint8_t value)
{
    struct tt_call tuned = *call;
    bool tunes = value > 0 && tt_parameters_try(&tuned, value - 1) && !a->refuse(&tuned, map);
    if (!tunes) return (struct tt_parameters){0};
    return (struct tt_parameters){tuned.slice - call->slice, tuned.radix - call->radix,
                                  tuned.lanes - call->lanes};
}

const struct tt_algorithm *tt_estimate(struct tt_rankings *kept, const struct tt_call *call,
                                       const struct tt_map *map, struct tt_parameters *with)
{
    uint8_t here[TT_RANKED] = {TT_NOT_RANKED}, *best = here, value = 0, *values = &value;
    struct tt_ranking *ranking = NULL;
    if (!is_known(call, map)) return NULL;
    int log2 = size_of(call, map->p);
    struct tt_call standing = stand_in(call, log2);
    if (kept) {
        const struct tt_ranking_shape shape = shape_of(&standing, map);
        ranking = find_ranking(kept, &shape);
        best = ranking->best[log2];
        values = &ranking->with[log2];
    }
    for (int i = 0; i < TT_RANKED; i++) {
        if (best[i] == TT_NOT_RANKED) {
            if (!rank_next(best, values, i, &standing, map)) return NULL;
            if (ranking) count(kept, ranking);
        }
        if (best[i] == TT_NOTHING_RANKED) return NULL;
        const struct tt_algorithm *a = tt_algorithms[best[i] - 1], *runs = a;
        if (a->refuse(call, map)) continue;
        if (a == tabled_for(&standing, map)) runs = tt_table_choose(call, map);
        if (with) *with = parameters_of(a, call, map, i == 0 && runs == a ? *values : 0);
        return runs;
    }
    return NULL;
}

int tt_estimate_near(const struct tt_call *call, const struct tt_map *map,
                     struct tt_choice *candidate, int n, int most)
{
    struct ranked r = {.left = INT64_MAX / 2};
    if (!map->machine || map->p < 2 || tt_call_counts(call)) return 0;
    rank_all(call, map, NULL, 0, 2, NULL, &r);
    for (int i = 0; i < r.n && n < most && r.time_ps[i] < 2 * r.time_ps[0]; i++) {
        const struct tt_algorithm *a = tt_algorithms[r.index[i] - 1];
        if (a != candidate[0].algorithm) candidate[n++] = (struct tt_choice){.algorithm = a};
    }
    return r.n > 0 ? n : 0;
}
