/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User-defined operations: a fixed table, changed under a lock and read without one.
 *
 * Creation takes the lowest free number, so that ranks that create (and free) in the same order
 * give equal operations equal numbers.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "type/op-user.h"
#include "type/type.h"

enum { USER_OPS = TUTTI_OP_USER_END - TUTTI_OP_USER };

/* An entry is written before it is made live (release), and read only after it was seen live
 * (acquire). */
static struct {
    pthread_mutex_t lock;
    struct entry {
        struct tt_op_user op;
        atomic_bool live;
    } entry[USER_OPS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct entry *live_entry(tutti_op op)
{
    if (op < TUTTI_OP_USER || op >= TUTTI_OP_USER_END) return NULL;
    struct entry *entry = &table.entry[op - TUTTI_OP_USER];
    return atomic_load_explicit(&entry->live, memory_order_acquire) ? entry : NULL;
}

const struct tt_op_user *tt_op_user_find(tutti_op op)
{
    struct entry *entry = live_entry(op);
    return entry ? &entry->op : NULL;
}

/* Returns the index of the new operation; -1 if all are in use. */
static int add_locked(struct tt_op_user op)
{
    for (int i = 0; i < USER_OPS; i++) {
        struct entry *entry = &table.entry[i];
        if (atomic_load_explicit(&entry->live, memory_order_relaxed)) continue;
        entry->op = op;
        atomic_store_explicit(&entry->live, true, memory_order_release);
        return i;
    }
    return -1;
}

tutti_status tutti_op_create(tutti_op_fn *fn, int commutes, void *arg, tutti_op *op)
{
    if (!fn) return tt_fail(TUTTI_ERR_ARG, "tutti_op_create: fn is null");
    if (!op) return tt_fail(TUTTI_ERR_ARG, "tutti_op_create: op is null");
    pthread_mutex_lock(&table.lock);
    int place = add_locked((struct tt_op_user){fn, arg, commutes != 0});
    pthread_mutex_unlock(&table.lock);
    if (place < 0) {
        return tt_fail(TUTTI_ERR_LIMIT,
                       "tutti_op_create: all %d user-defined operations are in use", USER_OPS);
    }
    *op = (tutti_op)(TUTTI_OP_USER + place);
    return TUTTI_OK;
}

tutti_status tutti_op_free(tutti_op op)
{
    pthread_mutex_lock(&table.lock);
    struct entry *entry = live_entry(op);
    if (entry) atomic_store_explicit(&entry->live, false, memory_order_release);
    pthread_mutex_unlock(&table.lock);
    if (!entry) {
        return tt_fail(TUTTI_ERR_ARG, "tutti_op_free: %d is not a live user-defined operation",
                       (int)op);
    }
    return TUTTI_OK;
}
