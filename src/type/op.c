/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The built-in operations: their names, and the types for which they are defined. An operation is
 * defined for a type if there is a kernel for both, so kernels and checks cannot disagree.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "type/layout.h"
#include "type/op-user.h"
#include "type/type.h"

static const char *const op_names[TUTTI_OPS] = {
#define ENTRY(name, text) [TUTTI_##name] = #text,
    TUTTI_OP_LIST(ENTRY)
#undef ENTRY
};

enum { USER_OPS = TUTTI_OP_USER_END - TUTTI_OP_USER };
static char user_names[USER_OPS][16];

static void name_user_ops(void)
{
    for (int i = 0; i < USER_OPS; i++) snprintf(user_names[i], sizeof user_names[i], "user%d", i);
}

static bool is_builtin(tutti_op op)
{
    return (unsigned)op < TUTTI_OPS;
}

static bool is_user(tutti_op op)
{
    return tt_op_base(op) >= TUTTI_OP_USER && op < TUTTI_OP_BOUND_END;
}

const char *tt_op_name(tutti_op op)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (is_builtin(op)) return op_names[op];
    if (!is_user(op)) return "?";
    pthread_once(&once, name_user_ops);
    return user_names[tt_op_base(op) - TUTTI_OP_USER];
}

static bool is_named(tutti_op op, const char *text, size_t length)
{
    const char *name = tt_op_name(op);
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

tutti_op tt_op_parse(const char *text, size_t length)
{
    for (int op = 0; op < TUTTI_OP_USER_END; op++) {
        if (is_named((tutti_op)op, text, length) && *text != '?') return (tutti_op)op;
    }
    return TUTTI_OPS;
}

/* Appends to the text the operations that are defined for the type. */
static void list_defined(tutti_type type, char *text, size_t n)
{
    size_t at = strlen(text);
    at += (size_t)snprintf(text + at, n - at, " (defined for it:");
    for (int op = 0; op < TUTTI_OPS; op++)
        if (tt_reduce_lookup(type, (tutti_op)op))
            at += (size_t)snprintf(text + at, n - at, " %s", op_names[op]);
    snprintf(text + at, n - at, ", and user-defined operations)");
}

/* Returns NULL if the built-in operation is defined for the type. Otherwise writes the reason why
 * it is not into text[n], and returns this text. type == TUTTI_TYPES stands for a derived type with
 * several basic types. */
static const char *refuse_builtin(tutti_op op, tutti_type type, char *text, size_t n)
{
    if (tt_reduce_lookup(type, op)) return NULL;
    if (type == TUTTI_TYPES) {
        snprintf(text, n,
                 "%s is not defined for a type whose basic elements differ (only user-defined "
                 "operations are)",
                 tt_op_name(op));
        return text;
    }
    snprintf(text, n, "%s is not defined for %s", tt_op_name(op), tt_type_name(type));
    list_defined(type, text, n);
    return text;
}

const char *tt_op_refuse(tutti_op op, tutti_type type)
{
    static _Thread_local char text[192];
    const struct tt_layout *layout = tt_layout_find(type);
    if (!layout) {
        snprintf(text, sizeof text, "%d is not a type", (int)type);
    } else if (is_user(op)) {
        if (tt_op_user_find(op)) return NULL;
        snprintf(text, sizeof text, "%s (%d) is not a live operation: never created, or freed",
                 tt_op_name(op), (int)op);
    } else if (!is_builtin(op)) {
        snprintf(text, sizeof text, "%d is not an operation", (int)op);
    } else {
        return refuse_builtin(op, layout->uniform, text, sizeof text);
    }
    return text;
}

bool tt_op_commutes(tutti_op op)
{
    const struct tt_op_user *user = is_user(op) ? tt_op_user_find(op) : NULL;
    return user ? user->commutes : true;
}
