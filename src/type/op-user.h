/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of a user-defined operation.
 */
#ifndef TT_OP_USER_H
#define TT_OP_USER_H

#include "base/base.h"

struct tt_op_user {
    tutti_op_fn *fn;
    void *arg;
    bool commutes;
};

/* NULL unless `op` is a live user-defined operation. Takes no lock; the answer holds until the
 * operation is freed, which whoever uses it must not let happen meanwhile. */
const struct tt_op_user *tt_op_user_find(tutti_op op);

#endif
