/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making plans, and keeping them.
 */
#include "choose/cache.h"

#include <string.h>

#include "type/layout.h"
#include "type/type.h"

/* FNV-1a. */
static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h;
}

/* Computes the fingerprint of all that must match on all ranks. Ranks that call in place, or with
 * buffers in shared memory, may run the same plan as others. Ranks compare the lower half, which is
 * never 0, as unused memory is. */
static uint64_t fingerprint(const struct tt_call *c, int p, const char *algorithm)
{
    struct tt_call common = *c;
    common.in_place = common.shared = false;
    common.type = tt_type_shape(c->type);
    struct tt_shape_key key = tt_shape_key(&common);
    uint64_t h = hash(0xcbf29ce484222325u, &key, sizeof key);
    h = hash(h, algorithm, strlen(algorithm));
    if (c->coll == TT_COLL_allgatherv || c->coll == TT_COLL_reduce_scatter)
        h = hash(h, c->out_counts, (size_t)p * sizeof(int64_t));
    return (h ^ h >> 32) | 1;
}

static void log_choice(const struct tt_prepared *p, const struct tt_team *team, bool forced)
{
    if (team->me != 0 || !tt_log_on(TT_LOG_choice)) return;
    char text[TT_WHAT_TEXT];
    tt_log("choice: %s for %s on %d ranks (%s), %lld bytes of plan", p->plan->algorithm,
           tt_what_text(&p->what, text, sizeof text), team->map.p,
           forced ? "forced by TUTTI_ALGORITHM" : "by the table", (long long)p->plan->bytes);
}

/* Makes what the first plan needs. */
static tutti_status ready(struct tt_cache *cache, const struct tt_team *team,
                          const struct tt_call *call)
{
    if (cache->builder) return TUTTI_OK;
    if (!cache->slice) cache->slice = tt_setting_alike(TT_ALIKE_SLICE);
    if (!cache->radix) cache->radix = (int32_t)tt_setting_alike(TT_ALIKE_RADIX);
    cache->builder = tt_builder_new(team->map.p, team->me, call, "");
    return cache->builder ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static bool gathers(const struct tt_call *c)
{
    return c->coll == TT_COLL_gather || c->coll == TT_COLL_allgather || c->coll == TT_COLL_alltoall;
}

/* The input is the vector of all blocks; the output one of them, or in place all that was there. */
static void set_scattered(struct tt_prepared *p, const struct tt_call *c,
                          const struct tt_team *team)
{
    p->in_bytes = tt_call_block_at(c, team->map.p);
    p->out_bytes = c->in_place ? p->in_bytes : tt_call_block_bytes(c, team->me);
}

/* Sets the sizes that this rank's buffers must have; see call.h. */
static void set_sizes(struct tt_prepared *p, const struct tt_call *c, const struct tt_team *team)
{
    int64_t bytes = tt_call_bytes(c), all = bytes * team->map.p;
    if (tt_call_segments(c) || c->coll == TT_COLL_barrier) return;
    if (tt_call_scatters(c)) {
        set_scattered(p, c, team);
        return;
    }
    p->in_bytes = c->coll == TT_COLL_alltoall ? all : c->coll == TT_COLL_bcast ? 0 : bytes;
    p->out_bytes = gathers(c) ? all : bytes;
    p->place = c->coll == TT_COLL_allgather || c->coll == TT_COLL_gather ? team->me * bytes : 0;
    if (tt_coll_is_roots(c->coll) && c->root != team->me) p->out_bytes = 0;
}

tutti_status tt_prepare(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                        struct tt_prepared **prepared)
{
    const struct tt_algorithm *algorithm;
    bool forced;
    TT_TRY(ready(cache, team, call));
    struct tt_call c = *call;
    tt_tune(&c, cache->slice, cache->radix);
    if (cache->in_order) c.commutes = false;
    if (cache->seed) c.seed = cache->seed;
    TT_TRY(tt_choose(&c, &team->map, &algorithm, &forced));
    struct tt_prepared *p = tt_alloc_lines(sizeof *p);
    if (!p) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan");
    p->plan = tt_algorithm_plan_with(cache->builder, algorithm, &c, &team->map, team->me);
    if (!p->plan) {
        tt_free(p);
        return TUTTI_ERR_MEMORY;
    }
    p->uses = 1;
    set_sizes(p, call, team);
    p->shape = fingerprint(call, team->map.p, algorithm->name);
    p->what = tt_what_of(call, team->map.p, (uint32_t)p->shape);
    log_choice(p, team, forced);
    *prepared = p;
    return TUTTI_OK;
}

void tt_prepared_drop(struct tt_prepared *p)
{
    if (!p || --p->uses > 0) return;
    tt_exec_free(p->spare);
    tt_plan_free(p->plan);
    tt_free(p);
}

tutti_status tt_cache_make(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           struct tt_prepared **prepared)
{
    struct tt_prepared *p;
    TT_TRY(tt_prepare(cache, team, call, &p));
    struct tt_shape_key key = tt_shape_key(call);
    unsigned set = tt_cache_set(key), way = cache->oldest[set]++ % TT_CACHE_WAYS;
    tt_prepared_drop(cache->prepared[set][way]);
    cache->prepared[set][way] = p;
    cache->key[set][way] = key;
    *prepared = p;
    return TUTTI_OK;
}

void tt_cache_release(struct tt_cache *cache)
{
    for (int set = 0; set < TT_CACHE_SETS; set++)
        for (int way = 0; way < TT_CACHE_WAYS; way++) tt_prepared_drop(cache->prepared[set][way]);
    tt_builder_free(cache->builder);
    memset(cache, 0, sizeof *cache);
}
