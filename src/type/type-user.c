/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived types: a fixed table, changed under a lock and read without one.
 *
 * New types get the numbers in turn, so a number is used again only after many other numbers. So
 * the number of a freed type is not mistaken for that of a live type, and plans that are cached for
 * the number are not used for another type.
 */
#include "base/process-lock.h"
#include "type/layout.h"
#include "type/type.h"

enum { PLACES = 4096, NUMBERS = TUTTI_TYPE_USER_END - TUTTI_TYPE_USER };

/* An entry's layout is written before its number (release), and read only after the number was seen
 * (acquire). */
static struct {
    struct tt_process_lock lock;
    int next;
    struct entry {
        /* the number of the type; 0, which is the number of no derived type: the entry is free */
        _Atomic int type;
        struct tt_layout *_Atomic layout;
    } entry[PLACES];
} table = {.lock = TT_PROCESS_LOCK};

static struct tt_layout basic[TUTTI_TYPES] = {
#define ENTRY(name, text, bytes)                                                                   \
    [TUTTI_##name] = {.packed = bytes,                                                             \
                      .extent = bytes,                                                             \
                      .end = bytes,                                                                \
                      .blocks = 1,                                                                 \
                      .solid = true,                                                               \
                      .uniform = TUTTI_##name,                                                     \
                      .signature = {TUTTI_##name + 1, 0xff51afd7ed558ccdu}},
    TUTTI_TYPE_LIST(ENTRY)
#undef ENTRY
};

static struct entry *live_entry(tutti_type type)
{
    if (type < TUTTI_TYPE_USER || type >= TUTTI_TYPE_USER_END) return NULL;
    struct entry *entry = &table.entry[(type - TUTTI_TYPE_USER) % PLACES];
    int lives = atomic_load_explicit(&entry->type, memory_order_acquire);
    return lives == (int)type ? entry : NULL;
}

struct tt_layout *tt_layout_find(tutti_type type)
{
    if ((unsigned)type < TUTTI_TYPES) return &basic[type];
    struct entry *entry = live_entry(type);
    return entry ? atomic_load_explicit(&entry->layout, memory_order_relaxed) : NULL;
}

struct tt_layout *tt_layout_hold(tutti_type type)
{
    if ((unsigned)type < TUTTI_TYPES) return &basic[type];
    tt_process_lock(&table.lock);
    struct tt_layout *layout = tt_layout_find(type);
    if (layout) atomic_fetch_add(&layout->refs, 1);
    tt_process_unlock(&table.lock);
    return layout;
}

/* If an element of `type` is a single basic element, wherever in the element it lies, returns the
 * number of the basic type. Otherwise returns the number that stands for the packed sequence of
 * basic types (tt_layout_sequence). */
tutti_type tt_type_shape(tutti_type type)
{
    if ((unsigned)type < TUTTI_TYPES) return type;
    const struct tt_layout *l = tt_layout_find(type);
    if (!l) return type;
    bool single = l->uniform != TUTTI_TYPES && l->packed == basic[l->uniform].packed;
    return single ? l->uniform : tt_layout_sequence(l, 1);
}

const char *tt_type_neighbors(tutti_type type)
{
#define NAME(name) "neighbor_" #name,
    static const char *const names[] = {TT_NEIGHBOR_LIST(NAME)};
#undef NAME
    int64_t which = (int64_t)type - (int64_t)TT_TYPE_NEIGHBORS;
    bool one = which >= 0 && which < (int64_t)(sizeof names / sizeof *names);
    return one ? names[which] : NULL;
}

/* ---- Making and freeing ---- */

/* Enters the layout in the table as a new type. Returns the number of the type; 0: all entries are
 * in use. */
static int add_locked(struct tt_layout *layout)
{
    for (int i = 0; i < PLACES; i++) {
        int number = table.next;
        struct entry *entry = &table.entry[number % PLACES];
        table.next = (number + 1) % NUMBERS;
        if (atomic_load_explicit(&entry->type, memory_order_relaxed) != 0) continue;
        atomic_store_explicit(&entry->layout, layout, memory_order_relaxed);
        atomic_store_explicit(&entry->type, TUTTI_TYPE_USER + number, memory_order_release);
        return TUTTI_TYPE_USER + number;
    }
    return 0;
}

tutti_status tt_layout_enter(struct tt_layout *layout, tutti_type *type)
{
    tt_process_lock(&table.lock);
    int made = add_locked(layout);
    tt_process_unlock(&table.lock);
    if (made == 0) {
        tt_layout_drop(layout);
        return tt_fail(TUTTI_ERR_LIMIT, "all %d derived types are in use", PLACES);
    }
    *type = (tutti_type)made;
    return TUTTI_OK;
}

tutti_status tutti_type_free(tutti_type type)
{
    struct tt_layout *layout = NULL;
    tt_process_lock(&table.lock);
    struct entry *entry = live_entry(type);
    if (entry) {
        layout = atomic_load_explicit(&entry->layout, memory_order_relaxed);
        atomic_store_explicit(&entry->type, 0, memory_order_release);
    }
    tt_process_unlock(&table.lock);
    if (!layout) return tt_fail(TUTTI_ERR_ARG, "%d is not a live derived type", (int)type);
    tt_layout_drop(layout);
    return TUTTI_OK;
}

int64_t tutti_type_extent(tutti_type type)
{
    const struct tt_layout *layout = tt_layout_find(type);
    return layout ? layout->extent : 0;
}

int64_t tutti_type_lower(tutti_type type)
{
    const struct tt_layout *layout = tt_layout_find(type);
    return layout ? layout->lower : 0;
}
