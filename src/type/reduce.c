/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the best set of kernels that this processor supports, once; and folds operands by a
 * user-defined operation.
 */
#include <stdatomic.h>
#include <string.h>

#include "type/kernels.h"
#include "type/op-user.h"
#include "type/type.h"

#ifdef __x86_64__
#include <cpuid.h>

/* Returns whether the processor has F16C. The function asks the processor, because not every
 * compiler's __builtin_cpu_supports knows the name. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

static bool has_base(void)
{
    return true;
}

/* The instruction sets, the best one first. */
static const struct isa {
    const char *name;
    bool (*is_here)(void);
    const struct tt_kernels *kernels;
} isas[] = {
#ifdef __x86_64__
    {"avx512", has_avx512, &tt_kernels_avx512},
    {"avx2", has_avx2, &tt_kernels_avx2},
#endif
    {"base", has_base, &tt_kernels_base},
};
enum { ISAS = sizeof isas / sizeof isas[0] };

static const struct isa *find(const char *name)
{
    for (int i = 0; i < ISAS; i++) {
        if (strcmp(isas[i].name, name) == 0) return isas[i].is_here() ? &isas[i] : NULL;
    }
    return NULL;
}

const struct tt_kernels *tt_kernels_find(const char *isa)
{
    const struct isa *found = find(isa);
    return found ? found->kernels : NULL;
}

static const struct isa *choose(void)
{
    const char *wanted = tt_setting("TUTTI_ISA");
    const struct isa *found = wanted ? find(wanted) : NULL;
    if (found) return found;
    const struct isa *best = isas;
    while (!best->is_here()) best++;
    return best;
}

/* Returns the instruction set to use, and chooses it at the first call. Several threads may make
 * the first call at the same time: they choose the same set, and each may store it. */
static const struct isa *chosen(void)
{
    static const struct isa *_Atomic isa;
    const struct isa *known = atomic_load_explicit(&isa, memory_order_relaxed);
    if (tt_likely(known != NULL)) return known;
    known = choose();
    atomic_store_explicit(&isa, known, memory_order_relaxed);
    return known;
}

const char *tt_reduce_isa(void)
{
    return chosen()->name;
}

tt_reduce_fn *tt_reduce_lookup(tutti_type type, tutti_op op)
{
    if ((unsigned)type >= TUTTI_TYPES || (unsigned)op >= TUTTI_OPS) return NULL;
    return chosen()->kernels->fn[type][op];
}

/* ---- User-defined operations ---- */

/* the operands are folded block by block; a block has at most this many bytes, or else is a single
 * element */
enum { BLOCK_BYTES = TUTTI_OP_BLOCK };

/* A reduction by a user-defined operation. */
struct folding {
    char *out;
    const void *const *in;
    int k;
    size_t n, sz;
    tutti_type type;
    const struct tt_op_user *op;
    bool aligned; /* the result and all operands lie where a value of their size may have to lie */
};

/* Returns whether the result is the same memory as an operand other than the first two. If all
 * operands were folded in place, such an operand would be overwritten before it is read. */
static bool is_late_operand(const struct folding *f)
{
    for (int j = 2; j < f->k; j++) {
        if (f->in[j] == f->out) return true;
    }
    return false;
}

/* Returns whether all addresses are multiples of the greatest power of two, at most 16, that
 * divides the size of an element (tutti_op_fn). */
static bool are_aligned(const struct folding *f)
{
    uintptr_t bits = (uintptr_t)f->out, align = (uintptr_t)tt_min((int64_t)(f->sz & -f->sz), 16);
    for (int j = 0; j < f->k; j++) bits |= (uintptr_t)f->in[j];
    return (bits & (align - 1)) == 0;
}

/* Folds n elements from the left: acc = in0 op in1, acc = acc op in2 ... The last result is stored
 * in `out`. */
static void fold_in_place(const struct folding *f, size_t offset, size_t n, char *acc)
{
    const char *left = (const char *)f->in[0] + offset;
    for (int j = 1; j < f->k; j++) {
        char *result = j == f->k - 1 ? f->out + offset : acc;
        f->op->fn(left, (const char *)f->in[j] + offset, result, n, f->type, f->op->arg);
        left = result;
    }
}

/* Does the same as fold_in_place, on copies of the operands, which are aligned. The copies lie in
 * `left` and `right` by turns, and each result replaces the copy of the right operand. */
static void fold_copies(const struct folding *f, size_t offset, size_t n, char *left, char *right)
{
    size_t bytes = n * f->sz;
    tt_memcpy(left, (const char *)f->in[0] + offset, bytes);
    for (int j = 1; j < f->k; j++) {
        tt_memcpy(right, (const char *)f->in[j] + offset, bytes);
        f->op->fn(left, right, right, n, f->type, f->op->arg);
        char *result = right;
        right = left;
        left = result;
    }
    tt_memcpy(f->out + offset, left, bytes);
}

/* Folds all elements block by block. a, b: aligned memory for a block each; NULL: the operands can
 * be folded in place. */
static void fold(const struct folding *f, char *a, char *b)
{
    size_t block = f->sz < BLOCK_BYTES ? BLOCK_BYTES / f->sz : 1;
    for (size_t i = 0; i < f->n; i += block) {
        size_t offset = i * f->sz, n = f->n - i < block ? f->n - i : block;
        if (f->aligned)
            fold_in_place(f, offset, n, a ? a : f->out + offset);
        else
            fold_copies(f, offset, n, a, b);
    }
}

/* These two functions have their own frames, because threads may have small stacks. */
static __attribute__((noinline)) void fold_blocks(const struct folding *f)
{
    _Alignas(TT_LINE) char memory[2][BLOCK_BYTES];
    fold(f, memory[0], memory[1]);
}

static __attribute__((noinline)) void fold_large_elements(const struct folding *f)
{
    _Alignas(TT_LINE) char memory[2][TT_ELEMENT_MOST];
    fold(f, memory[0], memory[1]);
}

static void reduce_user(void *out, const void *const *in, int k, size_t n, tutti_type type,
                        tutti_op op)
{
    struct folding f = {.out = out, .in = in, .k = k, .n = n, .type = type};
    f.op = tt_op_user_find(op);
    tt_assert(f.op != NULL);
    f.sz = tutti_type_size(type);
    f.aligned = are_aligned(&f);
    if (tt_likely(f.aligned && !is_late_operand(&f)))
        fold(&f, NULL, NULL);
    else if (f.sz <= BLOCK_BYTES)
        fold_blocks(&f);
    else
        fold_large_elements(&f);
}

void tt_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type, tutti_op op)
{
    if (k == 1) {
        if (out != in[0]) tt_memcpy(out, in[0], n * tutti_type_size(type));
    } else if (tt_likely((unsigned)op < TUTTI_OPS)) {
        chosen()->kernels->fn[type][op](out, in, k, n);
    } else {
        reduce_user(out, in, k, n, type, op);
    }
}
