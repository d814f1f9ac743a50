/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Brief test runs. Exact results, such as proofs and simulated times, do not depend on how the code
 * was compiled. So one build tests all sizes, and builds configured with TUTTI_TEST_BRIEF test only
 * as many as are needed to run the same code.
 */
#ifndef TEST_BRIEF_H
#define TEST_BRIEF_H

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

static inline int brief(int all, int some)
{
    const char *wish = getenv("TUTTI_TEST_BRIEF");
    return wish && *wish ? some : all;
}

/* Returns whether to try the next case: in a brief run only the first of every n cases, otherwise
 * every case. *cases counts the cases so far. If n has no factor in common with the lengths of the
 * surrounding loops, a brief run takes each value of each loop. */
static inline bool sampled(int *cases, int n)
{
    return (*cases)++ % brief(1, n) == 0;
}

/* Makes malloc keep memory that is freed. A test that allocates buffers for each of thousands of
 * cases would otherwise spend half of its time in the kernel, which clears the same pages again and
 * again. */
static inline void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

#endif
