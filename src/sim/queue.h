/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events in the order of their times: a radix heap (Ahuja et al. 1990). Nothing is put in before
 * what was taken out last, so events lie in buckets by the highest bit in which their time differs
 * from that one's; each is moved to a lower bucket a few times, and memory is passed over in order.
 */
#ifndef TT_SIM_QUEUE_H
#define TT_SIM_QUEUE_H

#include "base/base.h"

struct tt_event {
    int64_t time;
    uint32_t what, who;
};

struct tt_bucket {
    struct tt_event *events;
    size_t n, room;
};

/* Invariants: time(bucket 0) == last; bucket i > 0: the highest bit of time ^ last is i - 1. */
struct tt_queue {
    struct tt_bucket bucket[65];
    int64_t last;
    size_t n;
    /* Of bucket 0, which is taken from its front: events of one time in the order they came. */
    size_t taken;
};

/* time >= that of the event taken last. False: no memory. */
bool tt_queue_put(struct tt_queue *queue, struct tt_event event);
/* The earliest; false if there is none, or no memory. */
bool tt_queue_take(struct tt_queue *queue, struct tt_event *event);
void tt_queue_free(struct tt_queue *queue);

#endif
