/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of an execution that has failed on this rank, while operations between nodes are still
 * under way. When the call returns its error, its buffers belong to the program again, which may
 * free them. So the operations must not touch the buffers any more:
 *
 *   recv that waits       withdrawn; its message is dropped when it comes
 *   operation under way   cancelled (tt_msg_cancel): the message layer sends nothing more from the
 *                         buffer, and drops the data for the buffer. If the peer asks for the data,
 *                         it gets an error
 *   get of a peer         refused, because the buffer is not open any more (tt_remote_release);
 *                         packets that the network has got already are not waited for
 *
 * While the network or another process uses the buffer, the execution goes on. So a member that
 * makes no call delays the end of the execution only in this case.
 *
 * A member that gets such an error waits until it sees the failure itself, because this rank is
 * not at fault (struct tt_operation, `closed`).
 */
#include "run/remote-inside.h"

/* Removes from their queues (struct tt_end) the recvs whose messages have not come. */
static void withdraw(struct tt_exec *exec)
{
    struct tt_end **link = &exec->ends, *end;
    while ((end = *link) != NULL) {
        while (end->remote && tt_end_take(end)) continue;
        if (end->remote)
            *link = end->next;
        else
            link = &end->next;
    }
}

/* Returns whether the operation moves data to or from the buffers of the execution. A signal does
 * not: it has its own memory. */
static bool uses_buffers(const struct tt_operation *x)
{
    return x->message || x->left;
}

/* Cuts an operation off from the buffers of its execution. Returns false if that is not possible
 * yet. */
static bool cut_off(const struct tt_operation *x)
{
    tutti_context *c = x->remote_teams->context;
    if (!uses_buffers(x)) return true;
    if (!x->takes && !x->opened) return !tt_msg_cancel_transfer(c, &x->transfer);
    return !tt_msg_cancel(c, x->exec->team->job_rank[x->peer], x);
}

bool tt_remote_fail(struct tt_exec *exec)
{
    withdraw(exec);
    for (struct tt_operation *x = exec->remote->moving, *after; x; x = after) {
        after = x->after;
        bool is_cut = x->closed || cut_off(x);
        if (x->exec && x->closed) /* it has ended, perhaps in cut_off */
            tt_operation_free(x);
        else if (is_cut)
            tt_operation_unlist(x);
    }
    if (!exec->remote->moving) tt_remote_release(exec);
    return exec->remote->moving != NULL;
}

void tt_remote_forget(struct tt_exec *exec)
{
    while (exec->remote->moving) {
        if (exec->remote->moving->closed)
            tt_operation_free(exec->remote->moving);
        else
            tt_operation_unlist(exec->remote->moving);
    }
    tt_remote_release(exec);
}
