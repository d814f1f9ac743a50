/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/queue.h"

/* a queue with more events is not checked by tt_queue_valid, because this would take too long */
enum { CHECKED = 256 };

static int bucket_of(int64_t time, int64_t last)
{
    return time == last ? 0 : 64 - __builtin_clzll((uint64_t)(time ^ last));
}

static bool grow(struct tt_bucket *bucket)
{
    size_t room = bucket->room ? 2 * bucket->room : 64;
    struct tt_event *events = tt_realloc(bucket->events, room * sizeof *events);
    if (!events) return false;
    bucket->events = events;
    bucket->room = room;
    return true;
}

static bool push(struct tt_bucket *bucket, struct tt_event event)
{
    if (tt_unlikely(bucket->n == bucket->room) && !grow(bucket)) return false;
    bucket->events[bucket->n++] = event;
    return true;
}

bool tt_queue_valid(const struct tt_queue *queue)
{
    size_t n = 0;
    bool valid = true;
    for (int b = 0; b < 65; b++) {
        const struct tt_bucket *bucket = &queue->bucket[b];
        for (size_t i = b == 0 ? queue->taken : 0; i < bucket->n; i++, n++)
            valid = valid && bucket_of(bucket->events[i].time, queue->last) == b;
    }
    return valid && n == queue->n;
}

bool tt_queue_put(struct tt_queue *queue, struct tt_event event)
{
    tt_assert(event.time >= queue->last);
    if (!push(&queue->bucket[bucket_of(event.time, queue->last)], event)) return false;
    queue->n++;
    return true;
}

/* Fills bucket 0, which is empty: takes all events out of the lowest bucket that is not empty, sets
 * queue->last to the earliest of their times, and puts them into the buckets that now belong to
 * their times, which are lower ones. The queue must have an event. Returns false if there is no
 * memory. */
static bool refill(struct tt_queue *queue)
{
    int b = 1;
    while (queue->bucket[b].n == 0) b++;
    struct tt_bucket *from = &queue->bucket[b];
    int64_t least = from->events[0].time;
    for (size_t i = 1; i < from->n; i++) least = tt_min(least, from->events[i].time);
    queue->last = least;
    for (size_t i = 0; i < from->n; i++)
        if (!push(&queue->bucket[bucket_of(from->events[i].time, least)], from->events[i]))
            return false;
    from->n = 0;
    tt_assert(queue->n > CHECKED || tt_queue_valid(queue));
    return true;
}

bool tt_queue_take(struct tt_queue *queue, struct tt_event *event)
{
    struct tt_bucket *now = &queue->bucket[0];
    if (queue->n == 0) return false;
    if (queue->taken == now->n) {
        now->n = queue->taken = 0;
        if (!refill(queue)) return false;
    }
    *event = now->events[queue->taken++];
    queue->n--;
    return true;
}

void tt_queue_free(struct tt_queue *queue)
{
    for (int b = 0; b < 65; b++) tt_free(queue->bucket[b].events);
    *queue = (struct tt_queue){.n = 0};
}
