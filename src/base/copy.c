/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions for copies for which memcpy is slow or unsuitable.
 */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/base.h"

#ifdef __SSE2__
typedef void put_fn(__m128i *to, __m128i value);

static void put(__m128i *to, __m128i value)
{
    _mm_store_si128(to, value);
}

static void put_past_caches(__m128i *to, __m128i value)
{
    _mm_stream_si128(to, value);
}

/* Copies n bytes: put_part stores the whole cache lines of `to`, 16 bytes at a time, and memcpy
 * copies the rest at both ends. */
static inline __attribute__((always_inline)) void copy_lines(void *to, const void *from, size_t n,
                                                             put_fn *put_part)
{
    char *out = to;
    const char *in = from;
    size_t at = tt_min(n, (size_t)(-(uintptr_t)to % TT_LINE));
    memcpy(out, in, at);
    for (; at + TT_LINE <= n; at += TT_LINE) {
        const __m128i *part = (const __m128i *)(in + at);
        __m128i *line = (__m128i *)(out + at);
        __m128i a = _mm_loadu_si128(part), b = _mm_loadu_si128(part + 1);
        __m128i c = _mm_loadu_si128(part + 2), d = _mm_loadu_si128(part + 3);
        put_part(line, a);
        put_part(line + 1, b);
        put_part(line + 2, c);
        put_part(line + 3, d);
    }
    memcpy(out + at, in + at, n - at);
}

void tt_memcpy_near(void *to, const void *from, size_t n)
{
    copy_lines(to, from, n, put);
}

/* Stores that bypass the caches are not ordered with later stores, so a fence follows them. */
void tt_stream(void *to, const void *from, size_t n)
{
    copy_lines(to, from, n, put_past_caches);
    _mm_sfence();
}
#else
void tt_memcpy_near(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

void tt_stream(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}
#endif
