/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One wait, as its thread uses it: when the wait has become long, it is published (job/activity.h),
 * and when it has lasted too long, the roll call is printed.
 */
#ifndef TT_WAITING_H
#define TT_WAITING_H

#include "fabric/fabric.h"

/* Fills in the members of *activity that say what the thread waits for, as far as this is known:
 * waits, waits_for, team, number, signature. */
typedef void tt_waiting_fn(const void *arg, struct tt_activity *activity);

struct tt_waiting {
    struct tt_fabric *fabric;
    enum tt_doing doing;
    tt_waiting_fn *fill; /* NULL: there is nothing to fill in */
    const void *arg;
    /* All further members are zero at first. */
    struct tt_activity is;
    int64_t shown_ns; /* when this wait was last published (job/activity.h); 0: never */
    /* holds: this wait uses the rank's activity line; moved: it has made progress since
     * `shown_ns` */
    bool holds, moved;
    /* since its last progress, this wait has printed the roll call or found it printed */
    bool called;
};

/* Adds a rank of the job to the ranks for which the thread waits. */
static inline void tt_waiting_name(struct tt_activity *is, int rank)
{
    if (is->waits < TT_ACTIVITY_NAMED) is->waits_for[is->waits] = rank;
    is->waits++;
}

/* Clears the rank's published record if this wait has written it. */
void tt_waiting_clear(struct tt_waiting *w);
/* Call this after each look (check whether the awaited event has come) of a wait that has become
 * long. moved: the wait has made progress since the previous call. */
void tt_waiting_look(struct tt_waiting *w, bool moved);
/* Ends the wait, however long it was. */
static inline void tt_waiting_end(struct tt_waiting *w)
{
    if (tt_unlikely(w->shown_ns != 0)) tt_waiting_clear(w);
}

#endif
