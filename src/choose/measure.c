/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trials of a team.
 */
#include "choose/measure.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "run/signature.h"

/* MARGIN: by how many per cent another candidate must be faster than the algorithm that is chosen
 * without measuring; smaller differences are mostly noise. WARM: how many of the first calls of
 * each candidate are left out of its time. */
enum { MARGIN = 5, WARM = 1 };

static struct tt_call without_place(const struct tt_call *call)
{
    struct tt_call c = *call;
    c.in_place = false;
    return c;
}

static bool is_same(const struct tt_call *a, const struct tt_call *b)
{
    struct tt_shape_key x = tt_shape_key(a), y = tt_shape_key(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

static tutti_status begin_trial(struct tt_cache *cache, const struct tt_team *team,
                                const struct tt_call *call, struct tt_trial **trial)
{
    struct tt_choice candidate[TT_TRIAL_CANDIDATES];
    if (cache->trials && cache->trials->n == TT_TRIALS) return TUTTI_OK;
    struct tt_call as_planned = tt_cache_tuned(cache, call);
    uint64_t before = tt_memory_lacks();
    int n = tt_candidates(&as_planned, &team->map, cache->rankings, candidate, TT_TRIAL_CANDIDATES);
    /* Another rank, which had memory, may measure other candidates. */
    if (tt_memory_lacks() != before)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory to choose algorithms");
    if (n < 2) return TUTTI_OK;
    if (!cache->trials) cache->trials = tt_calloc(1, sizeof *cache->trials);
    struct tt_trial *t = cache->trials ? tt_calloc(1, sizeof *t) : NULL;
    if (!t) return tt_fail(TUTTI_ERR_MEMORY, "no memory for measuring algorithms");
    t->call = *call;
    t->n = n;
    t->best = -1;
    memcpy(t->candidate, candidate, (size_t)n * sizeof *candidate);
    tt_assert(tt_trial_valid(t));
    cache->trials->trial[cache->trials->n++] = t;
    *trial = t;
    return TUTTI_OK;
}

/* Returns whether a call may be measured. Depends only on what is equal on all ranks that make the
 * call. */
static bool may_measure(const struct tt_team *team, const struct tt_call *call)
{
    bool user_op = tt_coll_has_op(call->coll) && (unsigned)call->op >= TUTTI_OPS;
    return team->map.p > 1 && !team->map.net && !tt_call_counts(call) && !call->as && !user_op;
}

tutti_status tt_trial_find(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           struct tt_trial **trial)
{
    struct tt_call c = without_place(call);
    *trial = NULL;
    for (int i = 0; cache->trials && i < cache->trials->n; i++)
        if (is_same(&cache->trials->trial[i]->call, &c)) *trial = cache->trials->trial[i];
    if (*trial || !may_measure(team, call)) return TUTTI_OK;
    TT_TRY(tt_cache_ready(cache, team, &c));
    return begin_trial(cache, team, &c, trial);
}

bool tt_trial_is_over(const struct tt_trial *trial, int *n)
{
    *n = trial->n * TT_TRIAL_ROUNDS;
    return trial->best < 0 && trial->calls == *n;
}

void tt_trial_begin(struct tt_trial *trial)
{
    trial->begin_ns = tt_clock_ns();
}

void tt_trial_end(struct tt_trial *trial)
{
    trial->ns[trial->calls++] = tt_clock_ns() - trial->begin_ns;
    tt_assert(tt_trial_valid(trial));
}

/* ---- Deciding ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns the median time of a candidate's calls, without the first call, which made the plan and
 * took its memory. */
static int64_t median_ns(const struct tt_trial *t, int candidate)
{
    int64_t ns[TT_TRIAL_ROUNDS - WARM];
    for (int i = WARM; i < TT_TRIAL_ROUNDS; i++) ns[i - WARM] = t->ns[i * t->n + candidate];
    qsort(ns, TT_TRIAL_ROUNDS - WARM, sizeof *ns, by_value);
    return ns[(TT_TRIAL_ROUNDS - WARM) / 2];
}

/* Writes the names and times, in microseconds, of the candidates other than the best one:
 * "NAME:1.23,NAME:1.31". */
static char *print_others(const struct tt_trial *t, char text[TT_WISDOM_OTHERS])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < t->n; i++) {
        if (i == t->best || used + 64 > TT_WISDOM_OTHERS) continue;
        int64_t ns = median_ns(t, i);
        used += (size_t)snprintf(text + used, TT_WISDOM_OTHERS - used, "%s%s:%" PRId64 ".%03d",
                                 used ? "," : "", t->candidate[i].algorithm->name, ns / 1000,
                                 (int)(ns % 1000));
    }
    return text;
}

void tt_trial_decide(struct tt_trial *t, const struct tt_team *team)
{
    char others[TT_WISDOM_OTHERS], text[TT_SIGNATURE_TEXT];
    int64_t first = median_ns(t, 0), least = first - first * MARGIN / 100;
    t->best = 0;
    for (int i = 1; i < t->n; i++) {
        if (median_ns(t, i) >= least) continue;
        least = median_ns(t, i);
        t->best = i;
    }
    tt_assert(tt_trial_valid(t));
    if (team->me != 0 || !tt_log_on(TT_LOG_choice)) return;
    struct tt_call_signature signature = tt_signature_of(&t->call, team->map.p, 0);
    tt_log("choice: %s is the fastest for %s on %d ranks: %.3f us (%s)",
           t->candidate[t->best].algorithm->name, tt_signature_text(&signature, text, sizeof text),
           team->map.p, 1e-3 * (double)median_ns(t, t->best), print_others(t, others));
}

/* ---- Plans ---- */

static void drop_plans(struct tt_trial *t)
{
    for (int i = 0; i < t->n; i++)
        for (int place = 0; place < 2; place++) {
            tt_prepared_drop(t->prepared[i][place]);
            t->prepared[i][place] = NULL;
        }
}

tutti_status tt_trial_plan(struct tt_trial *t, struct tt_cache *cache, struct tt_team *team,
                           const struct tt_call *call, struct tt_prepared **prepared)
{
    int i = t->best >= 0 ? t->best : t->calls % t->n;
    struct tt_prepared **kept = &t->prepared[i][call->in_place];
    if (t->best >= 0) {
        drop_plans(t);
        TT_TRY(tt_prepare_by(cache, team, call, &t->candidate[i], prepared));
        tt_cache_keep(cache, call, *prepared);
        return TUTTI_OK;
    }
    if (!*kept) TT_TRY(tt_prepare_by(cache, team, call, &t->candidate[i], kept));
    (*kept)->owned = true;
    (*kept)->trial = t;
    (*kept)->uses++;
    *prepared = *kept;
    return TUTTI_OK;
}

/* ---- Wisdom ---- */

static bool line_of(const struct tt_trial *t, const struct tt_team *team,
                    struct tt_wisdom_line *line)
{
    *line = (struct tt_wisdom_line){.layout = ""};
    if (t->best < 0 || !tt_wisdom_place(&t->call, &team->map, &line->wise, line->layout))
        return false;
    bool barrier = t->call.coll == TT_COLL_barrier, reduces = tt_coll_has_op(t->call.coll);
    if ((!barrier && line->wise.type == TT_WISE_NONE) || (reduces && line->wise.op == TT_WISE_NONE))
        return false;
    const struct tt_choice *best = &t->candidate[t->best];
    while (tt_algorithms[line->wise.algorithm] != best->algorithm) line->wise.algorithm++;
    line->wise.slice = best->with.slice;
    line->wise.radix = best->with.radix;
    line->wise.lanes = (uint16_t)best->with.lanes;
    line->time_ps = 1000 * median_ns(t, t->best);
    print_others(t, line->others);
    return true;
}

/* Returns whether TUTTI_NODES divides a node into several, so that the measured times are true for
 * no real node. */
static bool pretends(const struct tt_team *team)
{
    return team->fabric->nodes > team->fabric->job->nodes;
}

/* Returns whether the times may be kept in the file of the wisdom. If not, warns once. */
static bool may_keep(void)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    const char *changed = tt_setting("TUTTI_WISDOM") ? NULL : tt_setting_of_costs(NULL);
    if (changed && !atomic_flag_test_and_set(&warned))
        tt_warn("what was measured is not kept, because %s changes the times; TUTTI_WISDOM=FILE "
                "keeps it in a file of its own",
                changed);
    return !changed;
}

/* Adds the decided trials to the file of the wisdom. Only one member of the team does so, and no
 * call fails if the file cannot be written: the next job measures again. */
static void write_lines(const struct tt_trials *trials, const struct tt_team *team)
{
    char path[TT_FILE_PATH], why[TT_FILE_WHY], error[TT_ERROR_TEXT];
    struct tt_wisdom_line *lines = tt_calloc((size_t)trials->n, sizeof *lines);
    int n = 0;
    for (int i = 0; lines && i < trials->n; i++) n += line_of(trials->trial[i], team, &lines[n]);
    tt_error_keep(error);
    if (n > 0 && tt_wisdom_path(path, why) && may_keep() &&
        tt_wisdom_add(path, lines, n) != TUTTI_OK)
        tt_warn("what was measured is not kept: %s", tutti_error());
    tt_error_restore(error);
    tt_free(lines);
}

void tt_trials_release(struct tt_cache *cache, const struct tt_team *team)
{
    if (!cache->trials) return;
    if (team->me == 0 && cache->trials->n > 0 && !pretends(team)) write_lines(cache->trials, team);
    for (int i = 0; i < cache->trials->n; i++) {
        drop_plans(cache->trials->trial[i]);
        tt_free(cache->trials->trial[i]);
    }
    tt_free(cache->trials);
    cache->trials = NULL;
}
