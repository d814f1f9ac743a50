/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types and reduction operations: their names, which types an operation is defined for, and
 * the reduction of k operands in one pass over memory.
 */
#ifndef TT_TYPE_H
#define TT_TYPE_H

#include "base/base.h"

/* ---- Names (type.c, op.c), such as "f64" and "sum" ---- */

/* Returns the name; "packed" for the number of a derived type or of packed bytes; "?" for a number
 * that is no type. */
const char *tt_type_name(tutti_type type);
/* Returns the type with the name text[0..length-1]; TUTTI_TYPES if there is none. */
tutti_type tt_type_parse(const char *text, size_t length);

/* The names of user-defined operations are "user0" (TUTTI_OP_USER), "user1" ..., whether the
 * operations are live or not. */
/* Returns the operation that `op` is bound to (tutti_op_bind); `op` itself if it is not bound. */
static inline tutti_op tt_op_base(tutti_op op)
{
    return op >= TUTTI_OP_USER_END ? (tutti_op)(op % TUTTI_OP_USER_END) : op;
}
/* Returns the name of the operation. A bound operation has the name of the operation to which it is
 * bound. */
const char *tt_op_name(tutti_op op); /* "?" for a number that is no operation */
/* Returns the operation with the name text[0..length-1]; TUTTI_OPS if there is none. */
tutti_op tt_op_parse(const char *text, size_t length);

/* ---- Operations and the types they are defined for (op.c) ---- */

/* Returns NULL if `op` can reduce elements of `type` (if `type` is derived: its basic elements).
 * Otherwise returns the reason ("bxor is not defined for f64"), which is valid until the thread's
 * next call. User-defined operations that are not freed accept every type. */
const char *tt_op_refuse(tutti_op op, tutti_type type);
/* Returns whether operands of `op` may be combined in any order. This holds for all built-in
 * operations, and for user-defined operations that were created as commutative. */
bool tt_op_commutes(tutti_op op);

/* ---- Reduction (reduce.c) ---- */

enum { TT_ELEMENT_MOST = 64 << 10 }; /* the most bytes of an element for a user-defined operation */

/* out[i] = ((in[0][i] op in[1][i]) op ...) op in[k-1][i] for i < n, always from the left, so that
 * the bits of the result are defined (except the bits of a NaN). k >= 1; k = 1 copies. Any
 * alignment is allowed. `out` is exactly one of in[], or overlaps none of them. f16 and bf16 are
 * computed in f32 and rounded once. The caller has checked with tt_op_refuse that `op` is defined
 * for `type`. */
void tt_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type, tutti_op op);

/* A reduction whose type and operation are resolved, for callers that reduce often.
 * tt_reduce_lookup returns NULL for user-defined operations, and if the operation is not defined
 * for the type. */
typedef void tt_reduce_fn(void *out, const void *const *in, int k, size_t n);
tt_reduce_fn *tt_reduce_lookup(tutti_type type, tutti_op op);

/* Returns the instruction set of the kernels in use: "base", "avx2" or "avx512". TUTTI_ISA sets
 * it. */
const char *tt_reduce_isa(void);

#endif
