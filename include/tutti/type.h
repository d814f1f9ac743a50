/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: types and operations, basic ones and the user's. Part of tutti.h, which includes it and
 * says what holds for all declarations.
 */
#ifndef TUTTI_TYPE_H
#define TUTTI_TYPE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <tutti/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Basic types. X(name, C type or layout, bytes). A (value, index) pair is laid out as the C
 * struct { value; int32_t or int64_t index; }: F32_I32 as { float; int32_t }. */
#define TUTTI_TYPE_LIST(X)                                                                         \
    X(I8, i8, 1)                                                                                   \
    X(I16, i16, 2)                                                                                 \
    X(I32, i32, 4)                                                                                 \
    X(I64, i64, 8)                                                                                 \
    X(U8, u8, 1)                                                                                   \
    X(U16, u16, 2)                                                                                 \
    X(U32, u32, 4)                                                                                 \
    X(U64, u64, 8)                                                                                 \
    X(F16, f16, 2)   /* IEEE binary16; accumulates in f32, rounded once per reduction step */      \
    X(BF16, bf16, 2) /* upper half of an f32; accumulates likewise */                              \
    X(F32, f32, 4)                                                                                 \
    X(F64, f64, 8)                                                                                 \
    X(C64, c64, 8)    /* complex of two f32 */                                                     \
    X(C128, c128, 16) /* complex of two f64 */                                                     \
    X(BOOL, bool, 1)                                                                               \
    X(I32_I32, i32_i32, 8)                                                                         \
    X(I64_I64, i64_i64, 16)                                                                        \
    X(F32_I32, f32_i32, 8)                                                                         \
    X(F64_I64, f64_i64, 16)

/* The integer of the size that a type of C has on this platform. */
#define TUTTI_TYPE_SIGNED(type)                                                                    \
    (sizeof(type) == 2 ? TUTTI_I16 : sizeof(type) == 4 ? TUTTI_I32 : TUTTI_I64)
#define TUTTI_TYPE_UNSIGNED(type)                                                                  \
    (sizeof(type) == 2 ? TUTTI_U16 : sizeof(type) == 4 ? TUTTI_U32 : TUTTI_U64)

typedef enum tutti_type {
#define TUTTI_TYPE_ENUM(name, text, sz) TUTTI_##name,
    TUTTI_TYPE_LIST(TUTTI_TYPE_ENUM)
#undef TUTTI_TYPE_ENUM
        TUTTI_TYPES,               /* how many are basic; not a type */
    TUTTI_TYPE_USER = 64,          /* derived ones are numbered from here ... */
    TUTTI_TYPE_USER_END = 1 << 28, /* ... to below this */

    /* Other names of these, for those who think in C's types: TUTTI_LONG is TUTTI_I64 where a long
     * has 64 bits. Errors, plans and the command name the basic type. long double has none; _Bool
     * is TUTTI_BOOL. */
    TUTTI_CHAR = CHAR_MIN < 0 ? TUTTI_I8 : TUTTI_U8,
    TUTTI_SIGNED_CHAR = TUTTI_I8,
    TUTTI_UNSIGNED_CHAR = TUTTI_U8,
    TUTTI_BYTE = TUTTI_U8,
    TUTTI_SHORT = TUTTI_TYPE_SIGNED(short),
    TUTTI_INT = TUTTI_TYPE_SIGNED(int),
    TUTTI_LONG = TUTTI_TYPE_SIGNED(long),
    TUTTI_LONG_LONG = TUTTI_TYPE_SIGNED(long long),
    TUTTI_PTRDIFF_T = TUTTI_TYPE_SIGNED(ptrdiff_t),
    TUTTI_INTPTR_T = TUTTI_TYPE_SIGNED(intptr_t),
    TUTTI_INTMAX_T = TUTTI_TYPE_SIGNED(intmax_t),
    TUTTI_UNSIGNED_SHORT = TUTTI_TYPE_UNSIGNED(unsigned short),
    TUTTI_UNSIGNED_INT = TUTTI_TYPE_UNSIGNED(unsigned int),
    TUTTI_UNSIGNED_LONG = TUTTI_TYPE_UNSIGNED(unsigned long),
    TUTTI_UNSIGNED_LONG_LONG = TUTTI_TYPE_UNSIGNED(unsigned long long),
    TUTTI_SIZE_T = TUTTI_TYPE_UNSIGNED(size_t),
    TUTTI_UINTPTR_T = TUTTI_TYPE_UNSIGNED(uintptr_t),
    TUTTI_UINTMAX_T = TUTTI_TYPE_UNSIGNED(uintmax_t),
    TUTTI_UNSIGNED = TUTTI_UNSIGNED_INT,
    TUTTI_INT8_T = TUTTI_I8,
    TUTTI_UINT8_T = TUTTI_U8,
    TUTTI_INT16_T = TUTTI_I16,
    TUTTI_UINT16_T = TUTTI_U16,
    TUTTI_INT32_T = TUTTI_I32,
    TUTTI_UINT32_T = TUTTI_U32,
    TUTTI_INT64_T = TUTTI_I64,
    TUTTI_UINT64_T = TUTTI_U64,
    TUTTI_FLOAT = TUTTI_F32,
    TUTTI_DOUBLE = TUTTI_F64,
    TUTTI_FLOAT_COMPLEX = TUTTI_C64,
    TUTTI_DOUBLE_COMPLEX = TUTTI_C128
} tutti_type;
#undef TUTTI_TYPE_SIGNED
#undef TUTTI_TYPE_UNSIGNED

/* Bytes of one element (of a derived one: of its basic elements, without gaps); 0 for a number that
 * is no type. Local, any thread. */
TUTTI_API size_t tutti_type_size(tutti_type type);

/* Bytes from one element to the next in a user's buffer, which for a basic type is its size; 0 for
 * a number that is no type. Local, any thread. */
TUTTI_API int64_t tutti_type_extent(tutti_type type);

/* ---- Derived types ----
 *
 * A derived type says where in the user's memory the basic elements of one of its elements lie. Any
 * collective takes it where it takes a basic type: counts and displacements are in elements of it,
 * and element i of a buffer begins i * extent bytes into it. Inputs are packed before the start
 * (the basic elements one behind the other, without gaps, in the order of the fields), and the
 * result is unpacked by the call that finds it complete: the blocking one, tutti_wait or
 * tutti_test. What lies between the fields is neither read nor written.
 *
 * Ranks may use different types in one call if they pack to the same sequence of basic types (a
 * basic type among them), and, for a user-defined operation, element by element. Where types differ
 * so from rank to rank is told as other calls that do not match are, but in alltoallv, whose ranks
 * do not know each other's counts, only if one rank's elements are all of one basic type.
 *
 * A built-in operation wants basic elements of one type, and combines each of them. A user-defined
 * one sees n elements of the derived type packed, tutti_type_size bytes each, so that a value in
 * them may be unaligned (copy it out with memcpy), and the type that its own rank passed; an
 * element has at most 64 KiB then (else ARG).
 *
 * A call takes memory for what it packs and unpacks. `in` and `out` of a derived type may
 * interleave. TUTTI_PLAN_SHARED asks nothing of buffers of derived types. */

/* `count` elements of `type` in a row, from `offset` bytes into the element. */
typedef struct tutti_field {
    int64_t offset, count;
    tutti_type type; /* basic, or derived */
} tutti_field;

/* Makes a type of fields[0..n-1], elements of which begin `extent` bytes after each other; the
 * fields may lie in any order and with gaps, but no two share a byte. An extent smaller than the
 * space that an element spans lets elements interleave: the columns of a row-major matrix are
 * elements { rows, 1, columns } of tutti_type_vector in a struct with the extent of one value.
 * Where elements of an output then share bytes, the later one's are left there. The fields are
 * copied; types in them may be freed afterwards. Errors: ARG (null, n < 1, no elements, negative,
 * overlapping or more than 2^40 bytes, no such type), LIMIT (4096 exist, or 32 nested), MEMORY.
 * Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_struct(int n, const tutti_field *fields,
                                                          int64_t extent, tutti_type *type);

/* `count` blocks of `block` elements of `base`, each beginning `stride` elements after the one
 * before it; the extent is that of (count - 1) * stride + block elements. Errors: as above; ARG:
 * count or block < 1, stride < block. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_vector(int64_t count, int64_t block,
                                                          int64_t stride, tutti_type base,
                                                          tutti_type *type);

/* Forgets a derived type, which no call in flight and no live plan may use. Errors: ARG (not a live
 * derived type). Local, any thread. */
TUTTI_API tutti_status tutti_type_free(tutti_type type);

/* Reduction operations. Defined for:
 *   sum prod                numbers (integers wrap around), complex included
 *   min max                 real numbers; with a NaN among the operands the result is a NaN
 *   land lor lxor           integers and bool: 0 is false, the result is 0 or 1
 *   band bor bxor           integers
 *   minloc maxloc           pairs: the least (greatest) value; of equals the lowest index
 * User-defined operations come from tutti_op_create. */
#define TUTTI_OP_LIST(X)                                                                           \
    X(SUM, sum)                                                                                    \
    X(PROD, prod)                                                                                  \
    X(MIN, min)                                                                                    \
    X(MAX, max)                                                                                    \
    X(LAND, land)                                                                                  \
    X(LOR, lor)                                                                                    \
    X(LXOR, lxor)                                                                                  \
    X(BAND, band)                                                                                  \
    X(BOR, bor)                                                                                    \
    X(BXOR, bxor)                                                                                  \
    X(MINLOC, minloc)                                                                              \
    X(MAXLOC, maxloc)

typedef enum tutti_op {
#define TUTTI_OP_ENUM(name, text) TUTTI_##name,
    TUTTI_OP_LIST(TUTTI_OP_ENUM)
#undef TUTTI_OP_ENUM
        TUTTI_OPS,          /* how many are built in; not an operation */
    TUTTI_OP_USER = 64,     /* user-defined ones are numbered from here ... */
    TUTTI_OP_USER_END = 256 /* ... to below this */
} tutti_op;

/* A user-defined operation: out[i] = left[i] op right[i] for i < n. It must be associative.
 * `left` holds the operands of lower ranks. `out` is the same pointer as `left` or as `right`, or
 * overlaps neither. It is called in any thread that calls into the library for the team, several
 * threads at once, and must not call the library. `arg` is the one given at creation. */
typedef void tutti_op_fn(const void *left, const void *right, void *out, size_t n, tutti_type type,
                         void *arg);

/* Makes an operation out of `fn`. `commutes` non-zero promises a op b = b op a; otherwise operands
 * are combined in rank order. All ranks must create their operations in the same order if they
 * use them in one collective. Errors: ARG (null), LIMIT (192 exist). Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_op_create(tutti_op_fn *fn, int commutes, void *arg,
                                                        tutti_op *op);

/* Forgets a user-defined operation, which no call in flight and no live plan may use. Errors: ARG
 * (not a live user-defined operation). Local, any thread. */
TUTTI_API tutti_status tutti_op_free(tutti_op op);

#ifdef __cplusplus
}
#endif

#endif
