/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes and reads the activity record of a rank, without a lock (activity.h).
 */
#include "job/activity.h"

#define TRIES 100

void tt_activity_write(struct tt_activity_line *line, const struct tt_activity *activity)
{
    uint64_t word[TT_ACTIVITY_WORDS];
    uint64_t turn = atomic_load_explicit(&line->turn, memory_order_relaxed) | 1;
    memcpy(word, activity, sizeof word);
    atomic_store_explicit(&line->turn, turn, memory_order_relaxed);
    for (int i = 0; i < TT_ACTIVITY_WORDS; i++)
        atomic_store_explicit(&line->word[i], word[i], memory_order_release);
    atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
}

bool tt_activity_read(const struct tt_activity_line *line, struct tt_activity *activity)
{
    uint64_t word[TT_ACTIVITY_WORDS];
    for (int i = 0; i < TRIES; i++) {
        uint64_t turn = atomic_load_explicit(&line->turn, memory_order_acquire);
        for (int k = 0; k < TT_ACTIVITY_WORDS; k++)
            word[k] = atomic_load_explicit(&line->word[k], memory_order_acquire);
        if (turn % 2 || atomic_load_explicit(&line->turn, memory_order_relaxed) != turn) continue;
        memcpy(activity, word, sizeof word);
        return true;
    }
    return false;
}
