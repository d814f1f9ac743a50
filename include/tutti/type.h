/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: types and reduction operations, basic and user-defined. tutti.h includes this file and
 * states the rules for all declarations.
 */
#ifndef TUTTI_TYPE_H
#define TUTTI_TYPE_H

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <tutti/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Basic types. X(name, C type or layout, bytes). A (value, index) pair is laid out as the C struct
 * { value; int32_t or int64_t index; }: F32_I32 as { float; int32_t }. Its size includes the
 * padding of that struct. The contents of padding do not matter, neither in a pair nor in an F80.
 * Every platform moves all types. A platform reduces F80 and C160 only if its long double is the
 * 80-bit format of x86, and F128 and C256 only if its compiler has IEEE binary128. Elsewhere
 * built-in operations are not defined for these types. */
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
    X(BF16, bf16, 2) /* upper half of an f32; accumulates in f32, too */                           \
    X(F32, f32, 4)                                                                                 \
    X(F64, f64, 8)                                                                                 \
    X(C64, c64, 8)    /* complex of two f32 */                                                     \
    X(C128, c128, 16) /* complex of two f64 */                                                     \
    X(BOOL, bool, 1)                                                                               \
    X(I32_I32, i32_i32, 8)                                                                         \
    X(I64_I64, i64_i64, 16)                                                                        \
    X(F32_I32, f32_i32, 8)                                                                         \
    X(F64_I64, f64_i64, 16)                                                                        \
    X(I16_I32, i16_i32, 8)  /* 2 bytes of padding after the value */                               \
    X(I64_I32, i64_i32, 16) /* 4 bytes of padding after the index */                               \
    X(F64_I32, f64_i32, 16) /* 4 bytes of padding after the index */                               \
    X(BINNED, binned, 24)   /* a reproducible sum: tutti_binned */                                 \
    X(I128, i128, 16)                                                                              \
    X(U128, u128, 16)                                                                              \
    X(F80, f80, 16)        /* long double of x86: 10 bytes, and 6 of padding */                    \
    X(F128, f128, 16)      /* IEEE binary128 */                                                    \
    X(C160, c160, 32)      /* complex of two f80 */                                                \
    X(C256, c256, 32)      /* complex of two f128 */                                               \
    X(F32_F32, f32_f32, 8) /* a pair as in Fortran: the index is a real number, too */             \
    X(F64_F64, f64_f64, 16)                                                                        \
    X(F80_I32, f80_i32, 32)   /* 12 bytes of padding after the index */                            \
    X(F128_I32, f128_i32, 32) /* 12 bytes of padding after the index */

/* The integer type that has the size of a C type on this platform. */
#define TUTTI_TYPE_SIGNED(type)                                                                    \
    (sizeof(type) == 2 ? TUTTI_I16 : sizeof(type) == 4 ? TUTTI_I32 : TUTTI_I64)
#define TUTTI_TYPE_UNSIGNED(type)                                                                  \
    (sizeof(type) == 2 ? TUTTI_U16 : sizeof(type) == 4 ? TUTTI_U32 : TUTTI_U64)

/* The one of the three types that has the format of a long double on this platform. */
#define TUTTI_TYPE_LONG_DOUBLE(f64, f80, f128)                                                     \
    (LDBL_MANT_DIG == 64 ? (f80) : LDBL_MANT_DIG == 113 ? (f128) : (f64))

/* A basic or derived type. */
typedef enum tutti_type {
#define TUTTI_TYPE_ENUM(name, text, sz) TUTTI_##name,
    TUTTI_TYPE_LIST(TUTTI_TYPE_ENUM)
#undef TUTTI_TYPE_ENUM
        TUTTI_TYPES,               /* number of basic types; not a type */
    TUTTI_TYPE_USER = 64,          /* derived types have this number or a higher one */
    TUTTI_TYPE_USER_END = 1 << 28, /* derived types have numbers below this one */

    /* Aliases by C type: TUTTI_LONG is TUTTI_I64 where a long has 64 bits. Errors, printed plans
     * and the command print the basic type. _Bool is TUTTI_BOOL. */
    TUTTI_CHAR = (CHAR_MIN < 0 ? TUTTI_I8 : TUTTI_U8),
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
    TUTTI_DOUBLE_COMPLEX = TUTTI_C128,
    TUTTI_LONG_DOUBLE = TUTTI_TYPE_LONG_DOUBLE(TUTTI_F64, TUTTI_F80, TUTTI_F128),
    TUTTI_LONG_DOUBLE_COMPLEX = TUTTI_TYPE_LONG_DOUBLE(TUTTI_C128, TUTTI_C160, TUTTI_C256),
    /* Pairs { value, int }: TUTTI_DOUBLE_INT is struct { double value; int index; }. */
    TUTTI_SHORT_INT = TUTTI_I16_I32,
    TUTTI_2INT = TUTTI_I32_I32,
    TUTTI_LONG_INT = (sizeof(long) == 8 ? TUTTI_I64_I32 : TUTTI_I32_I32),
    TUTTI_FLOAT_INT = TUTTI_F32_I32,
    TUTTI_DOUBLE_INT = TUTTI_F64_I32,
    TUTTI_LONG_DOUBLE_INT = TUTTI_TYPE_LONG_DOUBLE(TUTTI_F64_I32, TUTTI_F80_I32, TUTTI_F128_I32),

    /* Aliases by Fortran type, with the bytes of a kind in the name. A LOGICAL is an integer, as
     * compilers store it: LAND, LOR and LXOR give .true. as 1. */
    TUTTI_LOGICAL1 = TUTTI_I8,
    TUTTI_LOGICAL2 = TUTTI_I16,
    TUTTI_LOGICAL4 = TUTTI_I32,
    TUTTI_LOGICAL8 = TUTTI_I64,
    TUTTI_LOGICAL = TUTTI_LOGICAL4,
    TUTTI_CHARACTER = TUTTI_U8,
    TUTTI_INTEGER1 = TUTTI_I8,
    TUTTI_INTEGER2 = TUTTI_I16,
    TUTTI_INTEGER4 = TUTTI_I32,
    TUTTI_INTEGER8 = TUTTI_I64,
    TUTTI_INTEGER16 = TUTTI_I128,
    TUTTI_INTEGER = TUTTI_INTEGER4,
    TUTTI_REAL2 = TUTTI_F16,
    TUTTI_REAL4 = TUTTI_F32,
    TUTTI_REAL8 = TUTTI_F64,
    TUTTI_REAL16 = TUTTI_F128,
    TUTTI_REAL = TUTTI_REAL4,
    TUTTI_DOUBLE_PRECISION = TUTTI_F64,
    TUTTI_COMPLEX8 = TUTTI_C64,
    TUTTI_COMPLEX16 = TUTTI_C128,
    TUTTI_COMPLEX32 = TUTTI_C256,
    TUTTI_COMPLEX = TUTTI_COMPLEX8,
    TUTTI_2INTEGER = TUTTI_I32_I32,
    TUTTI_2REAL = TUTTI_F32_F32,
    TUTTI_2DOUBLE_PRECISION = TUTTI_F64_F64
} tutti_type;
#undef TUTTI_TYPE_SIGNED
#undef TUTTI_TYPE_UNSIGNED
#undef TUTTI_TYPE_LONG_DOUBLE

/* Returns the number of bytes of one element, without its gaps if the type is derived. Returns 0 if
 * `type` is no type. Local, any thread. */
TUTTI_API size_t tutti_type_size(tutti_type type);

/* Returns the number of bytes from the beginning of one element to that of the next in a buffer. If
 * the type is basic, this is its size. Returns 0 if `type` is no type. Local, any thread. */
TUTTI_API int64_t tutti_type_extent(tutti_type type);

/* Returns the lower bound of a type in bytes, as MPI defines it. A type of tutti_type_resized has
 * the bound that was given to that function; a type of tutti_type_indexed or tutti_type_hindexed
 * has the least lower bound of its blocks; a type of tutti_type_vector has the bound of its base.
 * All other types have 0, and the function returns 0 if `type` is no type. Local, any thread. */
TUTTI_API int64_t tutti_type_lower(tutti_type type);

/* ---- Derived types ----
 *
 * A derived type describes where the basic elements of one element lie in the user's memory. Every
 * collective accepts a derived type where it accepts a basic type: counts and displacements are in
 * elements of the derived type, and element i of a buffer begins i * extent bytes into the buffer.
 * Fields at negative offsets lie before that place, so all data of a call may lie before the
 * address that it gets. If there are gaps between the basic elements, or they lie in another order
 * than the fields, the library packs inputs before the start: basic elements follow each other
 * without gaps, in the order of the fields. The call that finds the collective complete (the
 * blocking call, tutti_wait, tutti_test or tutti_request_check) unpacks the result. The library
 * neither reads nor writes the gaps between the fields.
 *
 * Ranks may pass different types in one call if these pack to the same sequence of basic types;
 * with a user-defined operation, this must hold for each element. If the packed sequences differ,
 * the library reports calls that do not match.
 *
 * A built-in operation needs a derived type whose basic elements all have one type, and combines
 * each of them. A user-defined operation gets n packed elements of tutti_type_size bytes each, and
 * the type that its own rank passed. A value in a packed element may be unaligned (copy it out with
 * memcpy). With a user-defined operation, an element may have at most 64 KiB; else the call returns
 * ARG.
 *
 * A type is ready for use when it is made; there is no commit. The function that makes a type joins
 * fields that follow each other in memory, so a type is as fast as the simplest one that describes
 * the same memory. Derived types may be made of derived types in any order, and up to 32 types may
 * be nested. For this limit, a type whose basic elements fill its extent without gaps counts as a
 * basic type, and a type of a single element of another type, such as a resized type, counts as
 * that other type.
 *
 * A call allocates memory to pack and unpack elements that are not contiguous. `in` and `out` of a
 * derived type may interleave. TUTTI_REQUEST_SHARED does not restrict buffers of derived types. */

/* `count` consecutive elements of `type`, which begin `offset` bytes into the element. */
typedef struct tutti_field {
    int64_t offset;  /* bytes from the beginning of the element; may be negative */
    int64_t count;   /* elements of type */
    tutti_type type; /* basic, or derived */
} tutti_field;

/* Makes a type whose element consists of fields[0..n-1]. In a buffer, the elements begin `extent`
 * bytes after each other. The fields may lie in any order and with gaps, but must not overlap.
 * Elements interleave if the extent is smaller than the space that an element spans. For example,
 * one column of a row-major matrix is a tutti_type_vector with count = rows, block = 1 and stride =
 * columns. A struct with this vector as its only field, and with the extent of one value, has the
 * columns of the matrix as consecutive elements. If elements of an output share bytes, the bytes of
 * the later element remain. The lower bound is 0. The function copies the fields; the caller may
 * free their types afterwards. Errors: ARG (null, n < 1, no elements, a negative count,
 * overlapping, an unknown type, an extent < 1, or bytes more than 2^40 from the beginning of the
 * element), LIMIT (4096 types exist, or it would nest more than 32), MEMORY. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_struct(int n, const tutti_field *fields,
                                                          int64_t extent, tutti_type *type);

/* Makes a type of `count` blocks of `block` elements of `base`; each block begins `stride` elements
 * after the block before it. The type has the lower bound of `base`, and its extent is the extent
 * of `base` times ((count - 1) * stride + block). A vector counts as at most two of the 32 types
 * that may be nested. Errors: as for tutti_type_struct; ARG also if count < 1, block < 1 or
 * stride < block. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_vector(int64_t count, int64_t block,
                                                          int64_t stride, tutti_type base,
                                                          tutti_type *type);

/* Makes a type of n blocks of `base`. Block i has blocks[i] elements, and begins displs[i] elements
 * (tutti_type_indexed) or bytes (tutti_type_hindexed) into the element; a displacement may be
 * negative. The blocks may lie in any order and with gaps, but must not overlap; blocks without
 * elements are left out. The bounds are MPI's: the element reaches from the least lower bound of an
 * element of `base` to the greatest upper bound (lower bound + extent). The function copies both
 * arrays. Errors: as for tutti_type_struct; ARG also if a blocks[i] < 0. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_indexed(int n, const int64_t *blocks,
                                                           const int64_t *displs, tutti_type base,
                                                           tutti_type *type);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_hindexed(int n, const int64_t *blocks,
                                                            const int64_t *displs, tutti_type base,
                                                            tutti_type *type);

/* Which index of an array changes fastest in memory. */
typedef enum tutti_order {
    TUTTI_ORDER_C,      /* the last index: rows of a matrix are contiguous */
    TUTTI_ORDER_FORTRAN /* the first index: columns of a matrix are contiguous */
} tutti_order;

/* Makes a type of a part of an array of n dimensions with sizes[d] elements of `base` in dimension
 * d. The part has the elements whose index i in each dimension d is starts[d] <= i < starts[d] +
 * parts[d]. The packed form has them in the order of memory. The element begins where the array
 * begins; its extent is that of the whole array, and its lower bound 0. Each dimension counts as at
 * most one of the 32 types that may be nested, so an array of a basic type may always have 32
 * dimensions. A dimension in which the part has only one element does not count. The function
 * copies the arrays. Errors: as for tutti_type_struct; ARG also if a size or part < 1, a start < 0,
 * the part is not inside the array, or the order is unknown. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_subarray(int n, const int64_t *sizes,
                                                            const int64_t *parts,
                                                            const int64_t *starts,
                                                            tutti_order order, tutti_type base,
                                                            tutti_type *type);

/* Makes a type that has the data of `base`, but another lower bound and extent, in bytes. The lower
 * bound does not move data: the data lie where those of `base` lie, and element i of a buffer
 * begins i * extent bytes into the buffer. The bound enters into the bounds of types that are made
 * of this one. Errors: as for tutti_type_struct; ARG also if the lower bound is not within 2^40
 * bytes. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_type_resized(tutti_type base, int64_t lower,
                                                           int64_t extent, tutti_type *type);

/* Frees a derived type, which no call in flight and no live request may use. Errors: ARG (the
 * number is no live derived type). Local, any thread. */
TUTTI_API tutti_status tutti_type_free(tutti_type type);

/* ---- Reduction operations ---- */

/* Reduction operations. Defined for:
 *   sum prod                numbers (integers wrap around), complex included
 *   min max                 real numbers; with a NaN among the operands the result is a NaN
 *   land lor lxor           integers and bool: 0 is false, and the result of two or more operands
 *                           is 0 or 1; a single operand (one rank, or rank 0 of a scan) stays as
 *                           it is
 *   band bor bxor           integers
 *   minloc maxloc           pairs: the least (greatest) value; of equal values, the lowest index
 * tutti_op_create makes user-defined operations. */
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

/* A reduction operation, built-in or user-defined. */
typedef enum tutti_op {
#define TUTTI_OP_ENUM(name, text) TUTTI_##name,
    TUTTI_OP_LIST(TUTTI_OP_ENUM)
#undef TUTTI_OP_ENUM
        TUTTI_OPS,               /* number of built-in operations; not an operation */
    TUTTI_OP_USER = 64,          /* user-defined operations have this number or a higher one */
    TUTTI_OP_USER_END = 256,     /* user-defined operations have numbers below this one */
    TUTTI_OP_BOUND_END = 1 << 25 /* operations of tutti_op_bind have numbers below this one */
} tutti_op;

/* The most bytes of each operand that one call of a user-defined operation gets. A single element
 * may be larger; the call then gets this element alone. */
#define TUTTI_OP_BLOCK 8192

/* A user-defined operation computes out[i] = left[i] op right[i] for i < n. It must be associative.
 * `left` holds the operands of lower ranks. `out` is equal to `left` or to `right`, or overlaps
 * neither. The library calls the function for blocks of consecutive elements of the vectors, in any
 * order and of any length n >= 1. A block has at most TUTTI_OP_BLOCK bytes, or consists of one
 * larger element. The addresses of `left`, `right` and `out` are multiples of the greatest power of
 * two, at most 16, that divides tutti_type_size(type), wherever the buffers of the call lie. This
 * suffices for every C type without padding that malloc aligns. The library calls the function in
 * any thread that uses the team, and in several threads at the same time; the function must not
 * call the library. `arg` is the argument of tutti_op_create or tutti_op_bind. */
typedef void tutti_op_fn(const void *left, const void *right, void *out, size_t n, tutti_type type,
                         void *arg);

/* Makes an operation of `fn`. A non-zero `commutes` promises a op b = b op a; otherwise the library
 * combines operands in rank order. Ranks that use their operations in one collective must create
 * them in the same order. Operations belong to the process: ranks that are threads of one process
 * (tutti_threads, tutti_team_threads) share them, so one thread creates each, once. Errors: ARG
 * (null), LIMIT (192 operations exist). Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_op_create(tutti_op_fn *fn, int commutes, void *arg,
                                                        tutti_op *op);

/* Gives the function of a user-defined operation another argument for some calls: *bound is an
 * operation that is the same as `op` but for its argument. Calls match if some ranks pass `op` and
 * others any operation bound to it, and they use the same plan. So a program can bind an argument
 * before each call, in any order and on some ranks only; this takes less than a microsecond and
 * allocates nothing. If `op` is bound itself, *bound is bound to the same operation as `op`. The
 * library passes `arg` on and does not read what it points to. The caller frees *bound with
 * tutti_op_free, before or after `op`. Errors: ARG (`bound` is NULL, or `op` is no live
 * user-defined operation), LIMIT (65536 bound operations exist). Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_op_bind(tutti_op op, void *arg, tutti_op *bound);

/* Frees a user-defined or bound operation, which no call in flight and no live request may use.
 * Errors: ARG (the number is no live user-defined operation). Local, any thread. */
TUTTI_API tutti_status tutti_op_free(tutti_op op);

/* ---- Reproducible sums ----
 *
 * A floating-point sum depends on the order in which values are added, and so on the number of
 * ranks, their placement and the algorithm. A tutti_binned is a sum that depends on the added
 * values only, bit by bit: every distribution of the same values over any number of ranks, reduced
 * by any algorithm, gives the same bits.
 *
 *     tutti_binned mine = {{0}}, all;
 *     tutti_sum_local(&mine, 1, TUTTI_F64, values, n);
 *     tutti_allreduce(team, &mine, &all, 1, TUTTI_BINNED, TUTTI_SUM);
 *     double sum = tutti_sum_value(&all);
 *
 * The sum is that of exact addition, but each value may lose less than 2^-56 times the largest
 * magnitude among the values, and the result is rounded to a double once. Infinities and NaN
 * propagate as in IEEE 754. A sum holds up to 2^32 values; with more, it may become a NaN. */

/* A sum of f32 or f64 values. If all bytes are 0, it is the sum of no values. Only TUTTI_SUM is
 * defined for this type. */
typedef struct tutti_binned {
    /* in a format of the library, which depends on the byte order of the machine only */
    int64_t word[3];
} tutti_binned;

/* For each i < n, adds the values[j * n + i] for all j < rows to sums[i]. With rows = 1, this adds
 * one value to each sum; with n = 1, it adds `rows` values to one sum. `type` is TUTTI_F32 or
 * TUTTI_F64. Errors: ARG (null, negative, another type). Local, any thread. */
TUTTI_API tutti_status tutti_sum_local(tutti_binned *sums, int64_t n, tutti_type type,
                                       const void *values, int64_t rows);

/* Returns the value of a sum, rounded to the nearest double. Local, any thread. */
TUTTI_API double tutti_sum_value(const tutti_binned *sum);

#ifdef __cplusplus
}
#endif

#endif
