/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types and reduction operations: their names, which go together, and the reduction of k
 * operands in one pass over memory.
 */
#ifndef TT_TYPE_H
#define TT_TYPE_H

#include "base/base.h"

/* ---- Names (type.c, op.c): as in problem strings, "f64", "sum" ---- */

/* "?" for a number that is no type, "packed" for what stands for derived ones. */
const char *tt_type_name(tutti_type type);
/* TUTTI_TYPES unless text[0..length-1] is the name of a type. */
tutti_type tt_type_parse(const char *text, size_t length);

/* User-defined operations are "user0" (TUTTI_OP_USER), "user1" ..., whether live or not. */
const char *tt_op_name(tutti_op op); /* "?" for a number that is no operation */
/* TUTTI_OPS unless text[0..length-1] is the name of an operation. */
tutti_op tt_op_parse(const char *text, size_t length);

/* ---- Which go together (op.c) ---- */

/* NULL if `op` can reduce elements of `type` (of a derived one: the basic elements in it); else the
 * reason ("bxor is not defined for f64"), which lasts until the thread's next call. User-defined
 * operations that are live take any type. */
const char *tt_op_refuse(tutti_op op, tutti_type type);
/* Whether operands may be combined in any order: all built-in ones, and user-defined ones that say
 * so. */
bool tt_op_commutes(tutti_op op);

/* ---- Reduction (reduce.c) ---- */

enum { TT_ELEMENT_MOST = 64 << 10 }; /* bytes of what a user-defined operation takes for one */

/* out[i] = ((in[0][i] op in[1][i]) op ...) op in[k-1][i] for i < n, always from the left, so that
 * the bits are defined (but for which NaN a NaN is); k >= 1, and k = 1 copies. Any alignment. `out`
 * is exactly one of in[], or overlaps none. f16 and bf16 are computed in f32 and rounded once.
 * The pair must not be refused (above). */
void tt_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type, tutti_op op);

/* A reduction whose type and operation are resolved, for callers that reduce often. NULL for
 * user-defined operations and for pairs that are not defined. */
typedef void tt_reduce_fn(void *out, const void *const *in, int k, size_t n);
tt_reduce_fn *tt_reduce_lookup(tutti_type type, tutti_op op);

/* The instruction set of the kernels in use: "base", "avx2" or "avx512". TUTTI_ISA sets it. */
const char *tt_reduce_isa(void);

#endif
