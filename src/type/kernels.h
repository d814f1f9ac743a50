/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of kernels, one for each instruction set that is built in. All are compiled from
 * kernel.h and give the same bits.
 */
#ifndef TT_KERNELS_H
#define TT_KERNELS_H

#include "type/type.h"

struct tt_kernels {
    tt_reduce_fn *fn[TUTTI_TYPES][TUTTI_OPS]; /* NULL: the operation is not defined for the type */
};

extern const struct tt_kernels tt_kernels_base;
#ifdef __x86_64__
extern const struct tt_kernels tt_kernels_avx2;
extern const struct tt_kernels tt_kernels_avx512;
#endif

/* Returns the kernels for an instruction set, which `isa` names; NULL if the library has none for
 * it or this processor lacks it. */
const struct tt_kernels *tt_kernels_find(const char *isa);

#endif
