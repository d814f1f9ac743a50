/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Brief test runs. Exact results, such as proofs and simulated times, do not depend on how they
 * were compiled. So one build tests all sizes, and builds configured with TUTTI_TEST_BRIEF test
 * only as many as are needed to run the same code.
 */
#ifndef TEST_BRIEF_H
#define TEST_BRIEF_H

#include <stdlib.h>

static inline int brief(int all, int some)
{
    const char *wish = getenv("TUTTI_TEST_BRIEF");
    return wish && *wish ? some : all;
}

#endif
