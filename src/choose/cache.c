/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making plans and keeping them in the cache.
 */
#include "choose/cache.h"

#include <stdio.h>
#include <string.h>

#include "choose/plan-file.h"
#include "choose/predict.h"
#include "type/layout.h"
#include "type/type.h"

/* Computes the fingerprint of the call signature: all that must match on all ranks. It leaves out
 * whether a rank calls in place, or with buffers in shared memory, because ranks may differ in
 * that. `file` is the hash of the plan file, or 0. Ranks compare the lower half of the fingerprint.
 * That half is never 0, because unused memory is 0. */
static uint64_t fingerprint(const struct tt_call *c, int p, const char *algorithm, uint64_t file)
{
    struct tt_call common = *c;
    common.in_place = common.shared = false;
    common.type = tt_type_shape(c->type);
    struct tt_shape_key key = tt_shape_key(&common);
    uint64_t h = tt_hash(TT_HASH_BEGIN, &key, sizeof key);
    h = tt_hash(h, algorithm, strlen(algorithm));
    if (file) h = tt_hash(h, &file, sizeof file);
    if (c->coll == TT_COLL_allgatherv || c->coll == TT_COLL_reduce_scatter)
        h = tt_hash(h, c->out_counts, (size_t)p * sizeof(int64_t));
    return (h ^ h >> 32) | 1;
}

/* Writes ", predicted 1.23 us" if a time can be predicted. */
static const char *predicted(const struct tt_prepared *p, const struct tt_team *team,
                             const struct tt_call *call, char *text, size_t n)
{
    char kept[TT_ERROR_TEXT];
    struct tt_prediction prediction;
    const struct tt_algorithm *a = tt_algorithm_find(call->coll, p->plan->algorithm);
    text[0] = '\0';
    tt_error_keep(kept);
    if (a && tt_predict(a, call, &team->map, &prediction) == TUTTI_OK)
        snprintf(text, n, ", predicted %.2f us", 1e-6 * (double)prediction.time_ps);
    tt_error_restore(kept);
    return text;
}

static void log_choice(const struct tt_prepared *p, const struct tt_team *team,
                       const struct tt_call *call, const struct tt_choice *choice,
                       enum tt_chosen_by by)
{
    if (team->me != 0 || !tt_log_on(TT_LOG_choice)) return;
    char text[TT_SIGNATURE_TEXT], with[TT_PARAMETERS_TEXT], time[48];
    tt_log("choice: %s for %s on %d ranks (%s%s), %lld bytes of plan%s", p->plan->algorithm,
           tt_signature_text(&p->signature, text, sizeof text), team->map.p, tt_chosen_text(by),
           tt_parameters_print(&choice->with, ", ", with), (long long)p->plan->bytes,
           predicted(p, team, call, time, sizeof time));
}

/* Reads the settings, and makes the builder. */
tutti_status tt_cache_ready(struct tt_cache *cache, const struct tt_team *team,
                            const struct tt_call *call)
{
    if (cache->builder) return TUTTI_OK;
    cache->rankings = team->fabric->rankings;
    if (!cache->slice) cache->slice = tt_setting_must_match(TT_MUST_MATCH_SLICE);
    if (!cache->radix) cache->radix = (int32_t)tt_setting_must_match(TT_MUST_MATCH_RADIX);
    if (!cache->lanes) cache->lanes = (int32_t)tt_setting_must_match(TT_MUST_MATCH_LANES);
    cache->builder = tt_builder_new(team->map.p, team->me, call, "");
    return cache->builder ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* Sets the sizes that this rank's buffers must have, and where in OUT the input of a call in place
 * is. */
static void set_sizes(struct tt_prepared *p, const struct tt_call *c, const struct tt_team *team)
{
    p->in_bytes = tt_call_in_bytes(c, team->map.p, team->me);
    p->out_bytes = tt_call_out_bytes(c, team->map.p, team->me);
    p->place = tt_call_place(c, team->me);
}

/* Takes the plan of a plan file. If the file of a rank is missing or wrong, or differs from the
 * files of the other ranks, the other ranks must not wait for this rank, which cannot know whether
 * they have the same error. So every error breaks the team. */
static tutti_status plan_from_file(struct tt_prepared *p, struct tt_team *team,
                                   const struct tt_call *c, const char *path,
                                   uint64_t *hash_of_file)
{
    struct tt_lab_answer answer;
    char text[sizeof answer.why];
    tutti_status status = tt_plan_from_file(path, c, &team->map, team->me, &answer);
    if (status != TUTTI_OK) {
        snprintf(text, sizeof text, "%s", tutti_error());
        tt_team_break(team, status);
        return tt_fail(status, "%s", text);
    }
    p->plan = answer.plan;
    *hash_of_file = answer.hash | 1;
    return TUTTI_OK;
}

/* Makes the plan of the algorithm, with short windows if they suffice, else with long ones. An
 * algorithm allocates memory to compute whether short windows suffice, and of how many phases its
 * plan consists (tt_algorithm.phases). If a rank lacks this memory, its plan could differ from the
 * plan that the other ranks expect, so this is an error. */
static tutti_status make_plan(struct tt_prepared *p, struct tt_cache *cache, struct tt_team *team,
                              const struct tt_call *c, const struct tt_algorithm *algorithm)
{
    bool is_short;
    uint64_t before = tt_memory_lacks();
    struct tt_map map = tt_plan_map(algorithm, c, &team->map, &is_short);
    p->windows = is_short ? TT_SHORT_WINDOWS : TT_LONG_WINDOWS;
    p->plan = tt_algorithm_plan_with(cache->builder, algorithm, c, &map, team->me);
    if (!p->plan) return tt_error_status();
    if (tt_memory_lacks() == before) return TUTTI_OK;
    tt_plan_free(p->plan);
    return tt_fail(TUTTI_ERR_MEMORY, "no memory to make a plan");
}

/* Makes the plan by *choice. If its algorithm is NULL, takes the plan of the plan file that
 * TUTTI_ALGORITHM gives for the collective, or chooses, and makes the plan by this choice. A plan
 * file may use windows of any size, so its plan gets the long ones. Sets *file to the hash of the
 * plan file, or to 0 if there is none. Sets the parameters of the call to those of the choice. */
static tutti_status find_plan(struct tt_prepared *p, struct tt_cache *cache, struct tt_team *team,
                              struct tt_call *c, struct tt_choice *choice, enum tt_chosen_by *by,
                              uint64_t *file)
{
    char path[TT_PLAN_PATH] = "";
    *file = 0;
    if (!choice->algorithm) TT_TRY(tt_choose_file(c, path));
    p->windows = TT_LONG_WINDOWS;
    if (path[0]) {
        *by = TT_CHOSEN_FORCED;
        return plan_from_file(p, team, c, path, file);
    }
    if (!choice->algorithm) TT_TRY(tt_choose(c, &team->map, cache->rankings, choice, by));
    tt_choice_tune(choice, c);
    return make_plan(p, cache, team, c, choice->algorithm);
}

struct tt_call tt_cache_tuned(const struct tt_cache *cache, const struct tt_call *call)
{
    struct tt_call c = *call;
    tt_tune(&c, cache->slice, cache->radix, cache->lanes);
    if (cache->in_order) c.commutes = false;
    if (cache->seed) c.seed = cache->seed;
    return c;
}

static void fill_in(struct tt_prepared *p, const struct tt_call *call, const struct tt_team *team,
                    uint64_t file)
{
    p->uses = 1;
    p->owned = tt_call_counts(call);
    p->segments = tt_call_segments(call);
    set_sizes(p, call, team);
    p->shape = fingerprint(call, team->map.p, p->plan->algorithm, file);
    p->signature = tt_signature_of(call, team->map.p, (uint32_t)p->shape);
    if (file) p->signature.flags |= TT_SIGNATURE_PLAN_FILE;
}

tutti_status tt_prepare_by(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           const struct tt_choice *choice, struct tt_prepared **prepared)
{
    struct tt_choice chosen = choice ? *choice : (struct tt_choice){.algorithm = NULL};
    enum tt_chosen_by by;
    uint64_t file;
    TT_TRY(tt_cache_ready(cache, team, call));
    struct tt_call c = tt_cache_tuned(cache, call);
    struct tt_prepared *p = tt_alloc_lines(sizeof *p);
    if (!p) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan");
    tutti_status status = find_plan(p, cache, team, &c, &chosen, &by, &file);
    if (status != TUTTI_OK) {
        tt_free(p);
        return status;
    }
    fill_in(p, call, team, file);
    if (!choice) log_choice(p, team, &c, &chosen, by);
    *prepared = p;
    return TUTTI_OK;
}

tutti_status tt_prepare(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                        struct tt_prepared **prepared)
{
    return tt_prepare_by(cache, team, call, NULL, prepared);
}

void tt_prepared_free(struct tt_prepared *p)
{
    tt_exec_free(p->spare);
    tt_exec_free(p->idle);
    tt_plan_free(p->plan);
    tt_free(p->lists);
    tt_free(p);
}

void tt_cache_keep(struct tt_cache *cache, const struct tt_call *call, struct tt_prepared *prepared)
{
    struct tt_shape_key key = tt_shape_key(call);
    struct tt_cache_set **place = &cache->set[tt_cache_index(key)], *set = *place;
    if (!set) set = *place = tt_calloc(1, sizeof *set);
    if (!set) {
        prepared->owned = true;
        return;
    }
    unsigned way = set->oldest++ % TT_CACHE_WAYS;
    tt_prepared_drop(set->prepared[way]);
    set->prepared[way] = prepared;
    set->key[way] = key;
}

tutti_status tt_cache_make(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           struct tt_prepared **prepared)
{
    TT_TRY(tt_prepare(cache, team, call, prepared));
    tt_cache_keep(cache, call, *prepared);
    return TUTTI_OK;
}

/* ---- Calls with counts ---- */

/* Copies the lists of p entries to `to`, and makes `list` point to the copies. Returns the end of
 * the copies. */
static int64_t *copy_lists(const int64_t *list[TT_LISTS], int p, int64_t *to)
{
    for (int i = 0; i < TT_LISTS; i++) {
        if (!list[i]) continue;
        memcpy(to, list[i], (size_t)p * sizeof *to);
        list[i] = to;
        to += p;
    }
    return to;
}

void tt_repeat_keep(struct tt_cache *cache, const struct tt_repeat *repeat, int p)
{
    struct tt_call c = repeat->call;
    struct tt_as_given given = repeat->given;
    const int64_t *list[TT_LISTS] = {c.in_counts, c.in_displs, c.out_counts, c.out_displs};
    int64_t *lists = tt_alloc(2 * TT_LISTS * (size_t)p * sizeof *lists);
    if (!lists) return;
    (void)copy_lists(list, p, copy_lists(given.list, p, lists));
    c.in_counts = list[0];
    c.in_displs = list[1];
    c.out_counts = list[2];
    c.out_displs = list[3];
    c.in_contents = c.out_contents = NULL; /* the contents belong to this call only */
    struct tt_repeat *oldest = &cache->repeat[cache->oldest_repeat++ % TT_CACHE_REPEATS];
    tt_prepared_drop(oldest->prepared);
    *oldest = (struct tt_repeat){repeat->prepared, given, c, repeat->in, repeat->out};
    oldest->prepared->uses++;
    oldest->prepared->lists = lists;
}

static void free_set(struct tt_cache_set *set)
{
    for (int way = 0; set && way < TT_CACHE_WAYS; way++) tt_prepared_drop(set->prepared[way]);
    tt_free(set);
}

void tt_cache_release(struct tt_cache *cache)
{
    for (int i = 0; i < TT_CACHE_REPEATS; i++) tt_prepared_drop(cache->repeat[i].prepared);
    for (int i = 0; i < TT_CACHE_SETS; i++) free_set(cache->set[i]);
    tt_builder_free(cache->builder);
    memset(cache, 0, sizeof *cache);
}
