/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User-defined operations: a fixed table, changed under a lock and read without one.
 *
 * Creation takes the lowest free number, so that ranks that create (and free) in the same order
 * give equal operations equal numbers.
 *
 * A bound operation has its own entry in the table: a copy of the operation's entry with another
 * argument. The place of a bound operation need not be equal on all ranks, so any free entry will
 * do. The search for one begins where the last search ended.
 */
#include <stdatomic.h>

#include "base/process-lock.h"
#include "type/op-user.h"
#include "type/type.h"

enum { USER_OPS = TUTTI_OP_USER_END - TUTTI_OP_USER, BOUND_OPS = 65536 };

/* The members of an entry other than `live` are written before `live` is set (release), and are
 * read only after `live` was seen set (acquire). */
static struct {
    struct tt_process_lock lock;
    struct entry {
        struct tt_op_user op;
        tutti_op base; /* the operation that this one is bound to; `op` itself if it is not bound */
        atomic_bool live;
    } entry[USER_OPS + BOUND_OPS];
    int next; /* the bound operation at which the next search begins, from 0 */
} table = {.lock = TT_PROCESS_LOCK};

/* Returns the index of the operation's entry; -1: `op` is not the number of a user-defined
 * operation. */
static int index_of(tutti_op op)
{
    int base = (int)tt_op_base(op), bound = (int)op / TUTTI_OP_USER_END;
    if ((int)op < 0 || base < TUTTI_OP_USER || bound > BOUND_OPS) return -1;
    return bound ? USER_OPS + bound - 1 : base - TUTTI_OP_USER;
}

static struct entry *live_entry(tutti_op op)
{
    int i = index_of(op);
    struct entry *entry = i < 0 ? NULL : &table.entry[i];
    if (!entry || !atomic_load_explicit(&entry->live, memory_order_acquire)) return NULL;
    return entry->base == tt_op_base(op) ? entry : NULL;
}

const struct tt_op_user *tt_op_user_find(tutti_op op)
{
    struct entry *entry = live_entry(op);
    return entry ? &entry->op : NULL;
}

static bool is_free(const struct entry *entry)
{
    return !atomic_load_explicit(&entry->live, memory_order_relaxed);
}

static void store(struct entry *entry, const struct tt_op_user *op, tutti_op base)
{
    entry->op = *op;
    entry->base = base;
    atomic_store_explicit(&entry->live, true, memory_order_release);
}

/* Enters a new operation. Returns the index of its entry; -1: all entries are in use. */
static int add_locked(struct tt_op_user op)
{
    int i = 0;
    while (i < USER_OPS && !is_free(&table.entry[i])) i++;
    if (i == USER_OPS) return -1;
    store(&table.entry[i], &op, (tutti_op)(TUTTI_OP_USER + i));
    return i;
}

/* Enters an operation that is bound to `arg`. Returns the number of the new operation; 0: all
 * entries for bound operations are in use. */
static int bind_locked(const struct entry *to, void *arg)
{
    const struct tt_op_user op = {to->op.fn, arg, to->op.commutes};
    for (int i = 0; i < BOUND_OPS; i++) {
        int place = (table.next + i) % BOUND_OPS;
        struct entry *entry = &table.entry[USER_OPS + place];
        if (!is_free(entry)) continue;
        table.next = place + 1;
        store(entry, &op, to->base);
        return (place + 1) * TUTTI_OP_USER_END + (int)to->base;
    }
    return 0;
}

tutti_status tutti_op_create(tutti_op_fn *fn, int commutes, void *arg, tutti_op *op)
{
    if (!fn) return tt_fail(TUTTI_ERR_ARG, "tutti_op_create: fn is null");
    if (!op) return tt_fail(TUTTI_ERR_ARG, "tutti_op_create: op is null");
    tt_process_lock(&table.lock);
    int place = add_locked((struct tt_op_user){fn, arg, commutes != 0});
    tt_process_unlock(&table.lock);
    if (place < 0) {
        return tt_fail(TUTTI_ERR_LIMIT,
                       "tutti_op_create: all %d user-defined operations are in use", USER_OPS);
    }
    *op = (tutti_op)(TUTTI_OP_USER + place);
    return TUTTI_OK;
}

tutti_status tutti_op_bind(tutti_op op, void *arg, tutti_op *bound)
{
    if (!bound) return tt_fail(TUTTI_ERR_ARG, "tutti_op_bind: bound is null");
    tt_process_lock(&table.lock);
    const struct entry *to = live_entry(op);
    int made = to ? bind_locked(to, arg) : 0;
    tt_process_unlock(&table.lock);
    if (!to)
        return tt_fail(TUTTI_ERR_ARG, "tutti_op_bind: %d is not a live user-defined operation",
                       (int)op);
    if (!made)
        return tt_fail(TUTTI_ERR_LIMIT, "tutti_op_bind: all %d bound operations are in use",
                       BOUND_OPS);
    *bound = (tutti_op)made;
    return TUTTI_OK;
}

tutti_status tutti_op_free(tutti_op op)
{
    tt_process_lock(&table.lock);
    struct entry *entry = live_entry(op);
    if (entry) atomic_store_explicit(&entry->live, false, memory_order_release);
    tt_process_unlock(&table.lock);
    if (!entry) {
        return tt_fail(TUTTI_ERR_ARG, "tutti_op_free: %d is not a live user-defined operation",
                       (int)op);
    }
    return TUTTI_OK;
}
