/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of members on other nodes: what they call, have opened, signalled and ended. It is
 * stored in their mirrors as they would store it themselves, so that those who wait look in the
 * same places as for members of this node.
 */
#include <string.h>

#include "run/far.h"
#include "run/remote.h"

/* ---- Executions ---- */

bool tt_far_has_left(const struct tt_team *t, int rank)
{
    const struct tt_mirror *m = t->remote->mirror[rank];
    return m && m->done == TT_FAR_LEFT;
}

bool tt_far_has_opened(const struct tt_team *t, int rank, uint64_t number)
{
    const struct tt_mirror *m = t->remote->mirror[rank];
    return m && m->opens[tt_team_slot(t, number)] == number + 1;
}

void tt_far_ended(struct tt_mirror *m, uint64_t done)
{
    if (done > m->done) m->done = done;
}

/* The first word of an execution: what an older one opened in this slot is closed. */
static void close_slot(struct tt_team *t, struct tt_mirror *m, int slot)
{
    memset(tt_team_opening(t, m->rank, slot), 0, sizeof(struct tt_opening));
    memset(tt_team_segment(t, m->rank, slot, t->me), 0, sizeof(struct tt_segment_opening));
    tt_free(m->opening[slot]);
    m->opening[slot] = NULL;
}

/* NULL: it has not begun here, or has ended. */
static struct tt_exec *execution_of(const struct tt_team *t, uint64_t number)
{
    struct tt_exec *exec = t->running[tt_team_slot(t, number)];
    return exec && exec->number == number ? exec : NULL;
}

static uint64_t base_of(const struct tt_team *t, uint64_t number)
{
    return ((number >> t->slots_log2) + 1) << 32;
}

/* Records what the member calls in an execution that has begun here. False: the slot already
 * belongs to a newer execution. */
static bool note(struct tt_team *t, struct tt_mirror *m, const struct tt_far_packet *packet)
{
    const struct tt_far_head *head = &packet->head;
    int slot = tt_team_slot(t, head->number);
    struct tt_line *line = tt_team_line(t, m->rank, slot);
    uint64_t mark = base_of(t, head->number) | head->history;
    uint64_t known = atomic_load_explicit(&line->shape, memory_order_relaxed);
    const struct tt_exec *exec = t->running[slot];
    if (known >> 32 > mark >> 32 || (exec && exec->number > head->number)) return false;
    if (head->flags & TT_FAR_WHAT)
        memcpy(tt_team_what(t, m->rank, slot), packet->what, sizeof packet->what);
    if (known == mark) return true;
    close_slot(t, m, slot);
    atomic_store_explicit(&line->shape, mark, memory_order_release);
    return true;
}

bool tt_far_is_last(const struct tt_team *t, uint64_t number)
{
    const struct tt_line *line = tt_team_line(t, t->me, tt_team_slot(t, number));
    uint64_t mark = atomic_load_explicit(&line->shape, memory_order_relaxed);
    return mark >> 32 == base_of(t, number) >> 32;
}

/* Whether both call the same; if not, the team breaks. An execution that has ended here is
 * remembered by this rank's own line. */
static bool agrees(struct tt_team *t, struct tt_mirror *m, uint64_t number)
{
    int slot = tt_team_slot(t, number);
    uint64_t mine =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    uint64_t theirs =
        atomic_load_explicit(&tt_team_line(t, m->rank, slot)->shape, memory_order_relaxed);
    if (mine == theirs || mine >> 32 != theirs >> 32 || t->broken != TUTTI_OK) return true;
    struct tt_exec *exec = execution_of(t, number);
    if (exec) tt_far_name(exec, m);
    tt_team_break(t, tt_step_mismatch(t, number, m->rank));
    return false;
}

bool tt_far_admits(struct tt_team *t, struct tt_mirror *m, const struct tt_far_packet *packet)
{
    return note(t, m, packet) && agrees(t, m, packet->head.number);
}

/* ---- Openings ---- */

bool tt_far_is_opening(const struct tt_far_opening *o, int64_t bytes)
{
    if (bytes < (int64_t)sizeof *o || o->keyed > 7 ||
        o->keys != (uint32_t)__builtin_popcount(o->keyed))
        return false;
    for (int b = TT_IN; b <= TT_TMP; b++)
        if (o->offset[b] < 0 || o->bytes[b] < 0 || o->offset[b] > INT64_MAX / 4 ||
            o->bytes[b] > INT64_MAX / 4)
            return false;
    return bytes == (int64_t)(sizeof *o + o->keys * sizeof(tutti_key));
}

static tt_address address_of(const struct tt_far_opening *o, int b)
{
    return o->keyed & 1u << b ? TT_FAR_ADDRESS + (uint64_t)o->offset[b] : 0;
}

/* Takes it over. */
static void open_there(struct tt_team *t, struct tt_mirror *m, uint64_t number,
                       struct tt_far_opening *o)
{
    int slot = tt_team_slot(t, number);
    struct tt_opening *opening = tt_team_opening(t, m->rank, slot);
    struct tt_segment_opening *segment = tt_team_segment(t, m->rank, slot, t->me);
    for (int b = TT_IN; b <= TT_TMP; b++) {
        opening->at[b] = address_of(o, b);
        opening->bytes[b] = o->bytes[b];
        if (b == TT_TMP) continue;
        segment->at[b] = opening->at[b];
        segment->bytes[b] = o->bytes[b];
    }
    tt_free(m->opening[slot]);
    m->opening[slot] = o;
    m->opens[slot] = number + 1;
}

/* ---- Signals ---- */

static void raise_there(struct tt_team *t, struct tt_mirror *m, const struct tt_far_head *head)
{
    int slot = tt_team_slot(t, head->number);
    _Atomic uint64_t *word = tt_team_signal(t, m->rank, slot, head->lane);
    uint64_t value = base_of(t, head->number) + head->value;
    if (value > atomic_load_explicit(word, memory_order_relaxed))
        atomic_store_explicit(word, value, memory_order_release);
}

void tt_far_signalled(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a)
{
    const struct tt_far_head *head = &a->packet.head;
    if (a->opening) open_there(t, m, head->number, a->opening);
    a->opening = NULL;
    if (head->lane != TT_NO_LANE) raise_there(t, m, head);
    if (!tt_far_is_last(t, head->number) || t->broken != TUTTI_OK) return;
    tutti_status status = tt_step_pair(t, head->number, m->rank);
    if (status != TUTTI_OK) tt_team_break(t, status);
}
