/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of an execution that has failed on this rank, while operations between nodes are still
 * under way. When the call returns its error, its buffers belong to the program again, which may
 * free them. So the operations must not touch the buffers any more:
 *
 *   recv that waits             withdrawn; its message is dropped when it comes
 *   operation that only reads   cancelled: the message layer sends nothing more from the buffer,
 *                               and if the peer asks for the data, it gets an error
 *                               (tt_msg_cancel). While the network reads the buffer, the execution
 *                               goes on
 *   get of a peer               refused, since the buffer is not open any more (tt_remote_release)
 *   operation that writes       the execution goes on until the operation has ended
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

/* Whether the operation moves data to or from the buffers of the execution. A signal does not: it
 * has its own memory. */
static bool uses_buffers(const struct tt_operation *x)
{
    return x->message || x->left;
}

/* Cuts an operation off from the buffers of its execution. Returns false if that is not possible
 * yet. */
static bool cut_off(struct tt_operation *x)
{
    if (!uses_buffers(x)) return true;
    if (x->takes) return false;
    return !tt_msg_cancel(x->remote_teams->context, x->opened ? (const void *)x : &x->transfer);
}

bool tt_remote_fail(struct tt_exec *exec)
{
    withdraw(exec);
    for (struct tt_operation *x = exec->remote->moving, *after; x; x = after) {
        after = x->after;
        if (x->closed)
            tt_operation_free(x);
        else if (cut_off(x))
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
