/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The C types of 128-bit integers and of floats wider than a double, where the compiler has them.
 */
#ifndef TT_WIDE_H
#define TT_WIDE_H

#include <float.h>

__extension__ typedef __int128 tt_i128;
__extension__ typedef unsigned __int128 tt_u128;

/* f80: the extended float of x86, which has 10 bytes, in 16 bytes of memory. */
#if LDBL_MANT_DIG == 64
#define TT_HAS_F80 1
typedef long double tt_f80;
#else
#define TT_HAS_F80 0
#endif

/* f128: on x86 a type of its own beside long double; elsewhere long double, if that has 128 bits,
 * or else not defined. */
#ifdef __x86_64__
#define TT_HAS_F128 1
typedef __float128 tt_f128;
#elif LDBL_MANT_DIG == 113
#define TT_HAS_F128 1
typedef long double tt_f128;
#else
#define TT_HAS_F128 0
#endif

#endif
