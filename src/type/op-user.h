/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of a user-defined operation. An operation with an argument bound to it has a
 * number of its own: the lower bits are the number of the user-defined operation, and the upper
 * bits are its place among the bound operations, from 1.
 */
#ifndef TT_OP_USER_H
#define TT_OP_USER_H

#include "base/base.h"

struct tt_op_user {
    tutti_op_fn *fn;
    void *arg;
    bool commutes;
};

/* Returns NULL unless `op` is a live user-defined or bound operation. Takes no lock. The result is
 * valid until the operation is freed; the caller must make sure that nobody frees the operation
 * meanwhile. */
const struct tt_op_user *tt_op_user_find(tutti_op op);

#endif
