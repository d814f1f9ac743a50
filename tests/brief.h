/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact answers, as of proofs and of simulated times, do not depend on how they were compiled. One
 * build goes through all sizes; those configured with TUTTI_TEST_BRIEF go through so many that the
 * same code is run.
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
