/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Members of this node whose memory the system lets no other process access: this rank asks them by
 * message to send bytes from the buffers that they opened, or to store bytes there.
 *
 * A plan says what moves; the fabric decides how. The library finds out at the start, or in the
 * middle of a step, that the system forbids an access (fabric/shm.c). In both cases the plan stays
 * as it is, so the members need not agree on anything: the rank whose access was refused asks the
 * owner for the same bytes of the same buffer by messages (tt_msg_get_at, tt_msg_put_at), and its
 * step is complete when they have been moved.
 *
 *     copy, reduce   the refused operands are fetched first, as from another node; a reduction that
 *                    was begun continues at the byte where it was refused, since it may have
 *                    overwritten an operand up to that byte
 *     put, get       complete when the answer comes
 *     recv           of a long message: when the address of the data has come, the receiver asks
 *                    the sender for the bytes
 *
 * Why the owner answers: the owner is in the same execution, or will be. The owner ends the
 * execution only after a signal that the asking rank gives when it has what it needs, or, as a
 * sender, when the receiver has read the message. A rank that waits in an execution advances
 * context 0, where the request arrives. The owner grants the request if the bytes lie in a buffer
 * that one of its executions has open at that moment. So a request that comes after a failure finds
 * the buffer closed and touches nothing.
 */
#include "run/remote-inside.h"

/* ---- Asking ---- */

tutti_status tt_served_refused(struct tt_exec *exec, uint32_t lane)
{
    exec->lane[lane].resume += exec->resume;
    exec->resume = 0;
    exec->served = true;
    exec->plain = false;
    if (!exec->team->remote_teams)
        return tt_fail(TUTTI_ERR_SYSTEM,
                       "the system does not let this rank access the memory of another rank");
    if (!exec->remote) exec->remote = tt_calloc(1, sizeof *exec->remote);
    /* 0: the next start computes again how many executions may be under way at once (set_depth in
     * exec.c). An exec that asks by messages may write segment entries. These exist once for each
     * window, so the number is that of the windows, which may be less than that of the slots. */
    exec->depth = 0;
    if (exec->remote) return TUTTI_AGAIN;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory to ask another rank for its data");
}

tutti_status tt_served_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                             struct tt_message *m)
{
    tutti_status status = tt_served_refused(exec, lane);
    return status == TUTTI_AGAIN ? tt_remote_access(exec, lane, s, m) : status;
}

static int member_of(const struct tt_team *t, int job_rank)
{
    int r = 0;
    while (t->job_rank[r] != job_rank) r++;
    return r;
}

tutti_status tt_served_receive(struct tt_exec *exec, struct tt_end *end)
{
    tutti_endpoint *to;
    struct tt_team *t = exec->team;
    struct tt_message *m = end->first;
    tutti_status status = tt_served_refused(exec, 0);
    if (status != TUTTI_AGAIN) return status;
    TT_TRY(tt_msg_endpoint(t->remote_teams->msg, end->peer, 0, &to));
    struct tt_operation *x =
        tt_operation_begin(exec, NULL, member_of(t, end->peer), m->at, m->left);
    if (!x) return TUTTI_ERR_MEMORY;
    tt_address from = m->from;
    m->from = 0;
    x->takes = x->opened = true;
    x->left = &m->lacking;
    return tt_operation_started(
        x, tt_msg_get_at(t->remote_teams->context, to, x->at, from, x->len, tt_remote_moved, x));
}

/* ---- Being asked ---- */

/* A request of another rank for bytes at an address of this process. */
struct wanted {
    uint64_t address, bytes;
};

static bool lies_in(const struct wanted *w, const char *begin, int64_t bytes)
{
    uint64_t at = w->address - (uint64_t)(uintptr_t)begin;
    return w->address >= (uint64_t)(uintptr_t)begin && w->bytes <= (uint64_t)bytes &&
           at <= (uint64_t)bytes - w->bytes;
}

static bool is_opened(const struct tt_exec *exec, const struct wanted *w)
{
    for (int b = TT_IN; b <= TT_TMP; b++) {
        if (!(exec->plan->opens & 1u << b) || !exec->buffer[b]) continue;
        struct tt_opened all = tt_remote_opened(exec, b);
        if (lies_in(w, exec->buffer[b] + all.begin, all.end - all.begin)) return true;
    }
    return false;
}

/* Returns whether the bytes lie in a long message that the execution sends, and whose address the
 * receiver has got. */
static bool is_sent(const struct tt_exec *exec, const struct wanted *w)
{
    for (const struct tt_end *end = exec->ends; end; end = end->next)
        for (const struct tt_message *m = end->sending ? end->first : NULL; m; m = m->next)
            if (m->rendezvous && lies_in(w, m->at, m->left)) return true;
    return false;
}

static bool is_open(void *arg, uint64_t address, uint64_t bytes)
{
    const struct tt_team *world = arg, *t = world;
    const struct wanted w = {address, bytes};
    do {
        for (uint64_t s = 0; s < t->slots; s++) {
            const struct tt_exec *exec = t->running[s];
            if (exec && (is_opened(exec, &w) || is_sent(exec, &w))) return true;
        }
        t = t->ring;
    } while (t != world);
    return false;
}

void tt_served_open(struct tt_msg *msg, struct tt_team *world)
{
    tt_msg_opened(msg, is_open, world);
}
