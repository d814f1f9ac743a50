/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of an algorithm: the algorithm that is forced; or the one that was measured to be the
 * fastest (wisdom.h); or the choice by estimate (estimate.h), if rank 0 has a model and does not
 * forbid it; or that of the tables (table.h).
 */
#include "choose/choose.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "choose/table.h"
#include "plan/words.h"
#include "run/signature.h"

static const char *override;

void tt_choose_force(const char *text)
{
    override = text;
}

static const struct tt_algorithm *find(enum tt_coll coll, const char *name, size_t length)
{
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        if ((*a)->coll == coll && strlen((*a)->name) == length &&
            strncmp((*a)->name, name, length) == 0)
            return *a;
    return NULL;
}

/* Return the lengths of the first entry of a list such as TUTTI_ALGORITHM, and of the collective
 * that the entry of `n` characters names: the text before the =, or the whole entry if it has no =.
 * A comma ends the entry, unless a backslash precedes it: such a comma belongs to the path of a
 * plan file. */
static size_t entry_length(const char *text)
{
    size_t n = strcspn(text, ",");
    while (n > 0 && text[n] && text[n - 1] == '\\') n += 1 + strcspn(text + n + 1, ",");
    return n;
}

static size_t key_length(const char *text, size_t n)
{
    const char *equals = memchr(text, '=', n);
    return equals ? (size_t)(equals - text) : n;
}

static bool known_anywhere(const char *name, size_t length)
{
    for (int c = 0; c < TT_COLLS; c++)
        if (find((enum tt_coll)c, name, length)) return true;
    return false;
}

/* Checks that each COLLECTIVE= in a list of algorithms such as TUTTI_ALGORITHM (`text`) names a
 * collective, and that none is named twice. */
static tutti_status check_named(const char *text)
{
    unsigned named = 0;
    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        n = entry_length(text);
        size_t key = key_length(text, n);
        if (key == n) continue;
        int coll = tt_word_find(&tt_coll_words, text, key);
        if (coll < 0)
            return tt_fail(TUTTI_ERR_ARG,
                           "TUTTI_ALGORITHM: there is no collective '%.*s'; see `tutti list`",
                           (int)key, text);
        if (named >> coll & 1)
            return tt_fail(TUTTI_ERR_ARG, "TUTTI_ALGORITHM names %s twice",
                           tt_coll_name((enum tt_coll)coll));
        named |= 1u << coll;
    }
    return TUTTI_OK;
}

/* Returns the value of TUTTI_ALGORITHM; NULL: it is not set. Each call with counts reads it, so the
 * setting, which never changes, is looked up once. */
static const char *forcing(void)
{
    static _Atomic(const char *) known;
    static const char none[] = "";
    const char *text = override ? override : atomic_load_explicit(&known, memory_order_relaxed);
    if (!text) {
        text = tt_setting("TUTTI_ALGORITHM");
        text = text ? text : none;
        atomic_store_explicit(&known, text, memory_order_relaxed);
    }
    return *text ? text : NULL;
}

/* Returns the name that TUTTI_ALGORITHM gives for the call's collective: NAME of COLLECTIVE=NAME,
 * or else the first NAME without a collective, which is for every collective that has such an
 * algorithm. NULL: TUTTI_ALGORITHM gives none, or the call is a step of a call such as
 * tutti_team_split, which the setting does not concern. If NAME stands alone and is the name of no
 * algorithm at all, it is returned for every collective, and the caller reports it as unknown. */
static const char *forced_name(const struct tt_call *call, size_t *length)
{
    enum tt_coll coll = call->coll;
    const char *text = call->as ? NULL : forcing(), *name = tt_coll_name(coll), *found = NULL;
    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        n = entry_length(text);
        size_t key = key_length(text, n);
        if (key < n && key == strlen(name) && strncmp(text, name, key) == 0) {
            *length = n - key - 1;
            return text + key + 1;
        }
        if (key < n || found || (!find(coll, text, n) && known_anywhere(text, n))) continue;
        found = text;
        *length = n;
    }
    return found;
}

/* Writes the text of n characters to `path`, without the backslashes that precede commas. */
static void copy_path(const char *text, size_t n, char path[TT_PLAN_PATH])
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < TT_PLAN_PATH; i++)
        if (text[i] != '\\' || i + 1 == n || text[i + 1] != ',') path[used++] = text[i];
    path[used] = '\0';
}

tutti_status tt_choose_file(const struct tt_call *call, char path[TT_PLAN_PATH])
{
    size_t n;
    path[0] = '\0';
    TT_TRY(check_named(forcing()));
    const char *name = forced_name(call, &n);
    if (!name || name[0] != '@') return TUTTI_OK;
    if (name == forcing() || name[-1] == ',')
        return tt_fail(TUTTI_ERR_ARG,
                       "TUTTI_ALGORITHM: %.*s needs the name of its collective, as in %s=%.*s",
                       (int)n, name, tt_coll_name(call->coll), (int)n, name);
    if (n == 1)
        return tt_fail(TUTTI_ERR_ARG, "TUTTI_ALGORITHM: the @ needs the path of a plan file");
    copy_path(name + 1, n - 1, path);
    return TUTTI_OK;
}

/* Returns the error for a plan file in TUTTI_ALGORITHM, which is no algorithm. Callers that make
 * plans read the file, and do not call tt_choose for its collective. */
static tutti_status refuse_file(const char *name, size_t length, const char *coll)
{
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "TUTTI_ALGORITHM=%s=%.*s names a plan file", coll,
                   (int)length, name);
}

/* Sets *algorithm to the algorithm that is forced, or to NULL if none is. */
static tutti_status choose_forced(const struct tt_call *call, const struct tt_map *map,
                                  const struct tt_algorithm **algorithm)
{
    size_t length;
    TT_TRY(check_named(forcing()));
    const char *name = forced_name(call, &length), *coll = tt_coll_name(call->coll);
    *algorithm = NULL;
    if (!name) return TUTTI_OK;
    if (name[0] == '@') return refuse_file(name, length, coll);
    const struct tt_algorithm *a = find(call->coll, name, length);
    if (!a)
        return tt_fail(TUTTI_ERR_ARG,
                       "TUTTI_ALGORITHM: there is no algorithm '%.*s' for %s; see `tutti list`",
                       (int)length, name, coll);
    const char *why = a->refuse(call, map);
    if (why)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "TUTTI_ALGORITHM forces %s for %s: it %s", a->name,
                       coll, why);
    *algorithm = a;
    return TUTTI_OK;
}

tutti_status tt_choose_check(void)
{
    const char *text = forcing();
    TT_TRY(check_named(text));
    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        n = entry_length(text);
        size_t key = key_length(text, n);
        bool alone = key == n;
        const char *name = alone ? text : text + key + 1;
        size_t length = alone ? n : n - key - 1;
        if (alone ? known_anywhere(name, length)
                  : name[0] == '@' ||
                        find((enum tt_coll)tt_word_find(&tt_coll_words, text, key), name, length))
            continue;
        return tt_fail(TUTTI_ERR_ARG, "there is no algorithm '%.*s'%s%.*s; see `tutti list`",
                       (int)length, name, alone ? "" : " for ", alone ? 0 : (int)key, text);
    }
    return TUTTI_OK;
}

/* Returns the status of a choice, or MEMORY if an allocation failed during the choice. `before` is
 * the number of failed allocations when the choice began. Algorithms need memory to find out
 * whether they apply, and a rank without memory must not choose another algorithm than the other
 * ranks do. */
static tutti_status checked(uint64_t before, tutti_status status)
{
    if (tt_memory_lacks() == before) return status;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory to choose an algorithm");
}

/* Sets *first to the algorithm that is forced for an alltoallv, gatherv or scatterv, if with it the
 * ranks exchange counts or lengths before the plan is made; else to NULL. */
static void find_first(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_algorithm **first)
{
    char kept[TT_ERROR_TEXT];
    *first = NULL;
    if (!tt_coll_pairs(call->coll) || !forcing()) return;
    tt_error_keep(kept);
    if (choose_forced(call, map, first) != TUTTI_OK) tt_error_restore(kept);
    if (*first && (*first)->first == TT_FIRST_NOTHING) *first = NULL;
}

tutti_status tt_choose_first(const struct tt_call *call, const struct tt_map *map,
                             const struct tt_algorithm **first)
{
    uint64_t before = tt_memory_lacks();
    find_first(call, map, first);
    return checked(before, TUTTI_OK);
}

/* Returns the algorithm of a step in which ranks exchange their counts for an alltoallv that
 * follows; NULL: the step may use any algorithm. */
static const struct tt_algorithm *choose_telling(const struct tt_call *step,
                                                 const struct tt_map *map)
{
    const struct tt_algorithm *first;
    struct tt_call next = *step;
    if (step->as != TT_SIGNATURE_COUNTING) return NULL;
    next.coll = TT_COLL_alltoallv;
    next.as = 0;
    find_first(&next, map, &first);
    if (first != &tt_alltoallv_forward) return NULL;
    if (step->coll == TT_COLL_allgather) return &tt_allgather_forward;
    return step->coll == TT_COLL_alltoall ? &tt_alltoall_forward : NULL;
}

static tutti_status choose(const struct tt_call *call, const struct tt_map *map,
                           struct tt_rankings *kept, struct tt_choice *choice,
                           enum tt_chosen_by *by)
{
    struct tt_choice c = {.algorithm = NULL};
    enum tt_chosen_by how = TT_CHOSEN_FORCED;
    TT_TRY(choose_forced(call, map, &c.algorithm));
    const struct tt_algorithm *telling = choose_telling(call, map);
    if (telling) c.algorithm = telling;
    if (!c.algorithm) {
        const struct tt_wise *wise = tt_wisdom_find(call, map);
        if (wise)
            c = (struct tt_choice){.algorithm = tt_wisdom_algorithm(wise),
                                   .with = {wise->slice, wise->radix, wise->lanes}};
        how = TT_CHOSEN_WISDOM;
    }
    if (!c.algorithm && map->estimates) {
        c.algorithm = tt_estimate(kept, call, map, &c.with);
        how = TT_CHOSEN_ESTIMATE;
    }
    if (!c.algorithm) {
        c = (struct tt_choice){.algorithm = tt_table_choose(call, map)};
        how = TT_CHOSEN_TABLE;
    }
    if (by) *by = how;
    if (!c.algorithm)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "no algorithm applies to this %s on %d ranks",
                       tt_coll_name(call->coll), map->p);
    *choice = c;
    return TUTTI_OK;
}

tutti_status tt_choose(const struct tt_call *call, const struct tt_map *map,
                       struct tt_rankings *kept, struct tt_choice *choice, enum tt_chosen_by *by)
{
    uint64_t before = tt_memory_lacks();
    return checked(before, choose(call, map, kept, choice, by));
}

char *tt_parameters_print(const struct tt_parameters *with, const char *before,
                          char text[TT_PARAMETERS_TEXT])
{
    char size[24], *at = text;
    *at = '\0';
    if (with->slice) at += sprintf(at, "%.2sslice=%s", before, tt_print_size(size, with->slice));
    if (with->radix) at += sprintf(at, "%.2sradix=%d", before, (int)with->radix);
    if (with->lanes) sprintf(at, "%.2slanes=%d", before, (int)with->lanes);
    return text;
}

/* ---- What is worth measuring ---- */

static int add_tabled(const struct tt_call *call, const struct tt_map *map,
                      struct tt_choice *candidate, int n, int most)
{
    for (const struct tt_algorithm *const *a = tt_algorithms; *a && n < most; a++)
        if ((*a)->coll == call->coll && *a != candidate[0].algorithm && tt_table_names(*a, map) &&
            !(*a)->refuse(call, map))
            candidate[n++] = (struct tt_choice){.algorithm = *a};
    return n;
}

int tt_candidates(const struct tt_call *call, const struct tt_map *map, struct tt_rankings *kept,
                  struct tt_choice *candidate, int most)
{
    enum tt_chosen_by by;
    char error[TT_ERROR_TEXT];
    tt_error_keep(error);
    tutti_status status = tt_choose(call, map, kept, &candidate[0], &by);
    tt_error_restore(error);
    if (status != TUTTI_OK || by == TT_CHOSEN_FORCED || by == TT_CHOSEN_WISDOM) return 0;
    int n = tt_estimate_near(call, map, candidate, 1, most);
    return n > 0 ? n : add_tabled(call, map, candidate, 1, most);
}

const char *tt_chosen_text(enum tt_chosen_by by)
{
    static const char *const texts[] = {[TT_CHOSEN_FORCED] = "forced by TUTTI_ALGORITHM",
                                        [TT_CHOSEN_WISDOM] = "by wisdom",
                                        [TT_CHOSEN_MEASURED] = "measured",
                                        [TT_CHOSEN_ESTIMATE] = "by estimate",
                                        [TT_CHOSEN_TABLE] = "by the table"};
    return texts[by];
}
