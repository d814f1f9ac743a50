/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which algorithm runs a call. It is decided from the common part of the call and the map alone, so
 * all ranks decide alike without talking.
 */
#ifndef TT_CHOOSE_H
#define TT_CHOOSE_H

#include "coll/coll.h"

/* Errors: UNSUPPORTED: TUTTI_ALGORITHM forces one that does not apply (says why), or none applies;
 * ARG: TUTTI_ALGORITHM names what there is not, or a collective twice. *forced, if not NULL:
 * whether it was forced. */
tutti_status tt_choose(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_algorithm **algorithm, bool *forced);
/* Overrides TUTTI_ALGORITHM ("allreduce=ring,bcast=flat", or a name alone for all collectives that
 * have it); NULL: the environment again. Kept until the next call. Not while others choose. */
void tt_choose_force(const char *text);

/* Applies TUTTI_SLICE and TUTTI_RADIX if the call itself says nothing. */
static inline void tt_tune(struct tt_call *call, int64_t slice, int64_t radix)
{
    if (call->slice == 0 && call->sz > 0) call->slice = slice / call->sz * call->sz;
    if (call->radix == 0) call->radix = (int32_t)radix;
}

#endif
