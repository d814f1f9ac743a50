/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads and contexts: one thread at a time uses a context, any thread posts work to it, and the
 * thread that advances it gets the errors that no completion function received.
 */
#ifndef TT_THREAD_H
#define TT_THREAD_H

#include "msg/inside.h"

/* ---- One thread at a time uses a context ---- */

/* These functions check, as arguments of tt_assert, that only one thread uses the context between
 * tt_enter and tt_leave. They always return true; if the check fails, they end the process with the
 * reason. tt_enter_advance and tt_leave_advance surround the advancing of a context. Between them,
 * no other call may advance a context of the same client. */
bool tt_enter(tutti_context *context);
bool tt_leave(tutti_context *context);
bool tt_enter_advance(tutti_context *context);
bool tt_leave_advance(tutti_context *context);

/* ---- Posted work and errors ---- */

/* Posts *work, which the caller has allocated. Any thread may call this function. */
void tt_work_post(tutti_context *context, struct tt_work *work);
/* Runs the work that was posted, in the order of posting. Returns how many items of work there
 * were. */
int tt_work_do(tutti_context *context);
/* Drops the work that was posted and not run. */
void tt_work_drop(tutti_context *context);
/* Records an error with its text for tutti_advance to return, unless an earlier one is recorded. */
void tt_context_fault(tutti_context *context, tutti_status status);

#endif
