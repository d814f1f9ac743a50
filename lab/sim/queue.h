/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events in the order of their times: a radix heap (Ahuja et al. 1990). No event may be earlier
 * than the one taken last. So each event lies in the bucket of the highest bit in which its time
 * differs from the time of the event taken last. Each event moves to a lower bucket only a few
 * times, and memory is accessed in sequence.
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

/* `last` is the time of the event taken last. Invariants (tt_queue_valid checks them): the events
 * in bucket 0 have the time `last`; for an event in bucket i > 0, the highest bit of time ^ last is
 * bit i - 1; n is the number of events in the queue. */
struct tt_queue {
    struct tt_bucket bucket[65];
    int64_t last;
    size_t n;
    /* The number of events taken from bucket 0. Events are taken from the front of the bucket, so
     * events of the same time are taken in the order in which they were put in. */
    size_t taken;
};

bool tt_queue_valid(const struct tt_queue *queue);

/* Puts in an event, whose time must be >= that of the event taken last. Returns false if there is
 * no memory. */
bool tt_queue_put(struct tt_queue *queue, struct tt_event event);
/* Takes the earliest event out of the queue. Returns false if the queue is empty or there is no
 * memory. */
bool tt_queue_take(struct tt_queue *queue, struct tt_event *event);
void tt_queue_free(struct tt_queue *queue);

#endif
