/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Happens-before as vector clocks. A clock's array is shared between a lane and the moments that it
 * gave away, and copied when the lane learns something while others still hold it; so a lane that
 * signals often and hears little copies little.
 */
#include "plan/prove-inside.h"

#include <string.h>

static size_t clock_bytes(const struct tt_prover *p)
{
    return sizeof(struct tt_vclock) + p->width * sizeof(uint32_t);
}

struct tt_vclock *tt_prove_clock_new(struct tt_prover *p)
{
    struct tt_vclock *clock = tt_prove_zalloc(p, clock_bytes(p));
    if (clock) clock->refs = 1;
    return clock;
}

struct tt_vclock *tt_prove_clock_copy(struct tt_prover *p, const struct tt_vclock *clock)
{
    struct tt_vclock *copy = tt_prove_alloc(p, clock_bytes(p));
    if (!copy) return NULL;
    memcpy(copy, clock, clock_bytes(p));
    copy->refs = 1;
    return copy;
}

void tt_prove_clock_drop(struct tt_prover *p, struct tt_vclock *clock)
{
    if (clock && --clock->refs == 0) tt_prove_release(p, clock, clock_bytes(p));
}

/* Its own to change. */
static bool make_own(struct tt_prover *p, struct tt_vclock **seen)
{
    if ((*seen)->refs == 1) return true;
    struct tt_vclock *copy = tt_prove_clock_copy(p, *seen);
    if (!copy) return false;
    (*seen)->refs--;
    *seen = copy;
    return true;
}

static void latest(uint32_t *restrict mine, const uint32_t *restrict other, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) mine[i] = mine[i] > other[i] ? mine[i] : other[i];
}

bool tt_prove_join_all(struct tt_prover *p, struct tt_vclock **seen, const struct tt_vclock *other)
{
    if (!make_own(p, seen)) return false;
    latest((*seen)->t, other->t, p->width);
    return true;
}

bool tt_prove_join(struct tt_prover *p, struct tt_vclock **seen, const struct tt_moment *other)
{
    /* Who has seen this moment has seen what led to it. */
    if ((*seen)->t[other->clock] >= other->time) return true;
    if (!make_own(p, seen)) return false;
    if (*seen != other->seen) latest((*seen)->t, other->seen->t, p->width);
    (*seen)->t[other->clock] = other->time;
    return true;
}

struct tt_moment tt_prove_moment(struct tt_lane_run *lane)
{
    struct tt_moment moment = lane->now;
    moment.seen->refs++;
    lane->now.time++;
    return moment;
}
