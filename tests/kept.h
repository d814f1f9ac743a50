/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the pages of freed teams that a rank keeps for its next teams.
 */
#ifndef TESTS_KEPT_H
#define TESTS_KEPT_H

#include "job/arena.h"

/* Returns how many of the bytes that the store keeps are backed by pages. */
static inline int64_t kept_backed(const struct tt_store *s)
{
    int64_t bytes = s->kept_bytes;
    for (int i = 0; i < s->kept.n; i++)
        for (int k = 0; k < s->bare.n; k++) {
            int64_t begin = tt_max(s->kept.all[i].begin, s->bare.all[k].begin);
            bytes -= tt_max(0, tt_min(s->kept.all[i].end, s->bare.all[k].end) - begin);
        }
    return bytes;
}

#endif
