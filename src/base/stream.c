/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies past the caches.
 */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/base.h"

#ifdef __SSE2__
static void stream_line(char *to, const char *from)
{
    const __m128i *part = (const __m128i *)from;
    __m128i a = _mm_loadu_si128(part), b = _mm_loadu_si128(part + 1);
    __m128i c = _mm_loadu_si128(part + 2), d = _mm_loadu_si128(part + 3);
    _mm_stream_si128((__m128i *)to, a);
    _mm_stream_si128((__m128i *)to + 1, b);
    _mm_stream_si128((__m128i *)to + 2, c);
    _mm_stream_si128((__m128i *)to + 3, d);
}

/* Only whole lines. Such stores keep no order with later ones, but for the fence. */
void tt_stream(void *to, const void *from, size_t n)
{
    char *out = to;
    const char *in = from;
    size_t at = tt_min(n, (size_t)(-(uintptr_t)to % TT_LINE));
    memcpy(out, in, at);
    for (; at + TT_LINE <= n; at += TT_LINE) stream_line(out + at, in + at);
    memcpy(out + at, in + at, n - at);
    _mm_sfence();
}
#else
void tt_stream(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}
#endif
