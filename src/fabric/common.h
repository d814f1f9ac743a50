/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a job share of each client: the places of a table in the job page, one for each
 * client that some rank has not finalized.
 *
 * The k-th tutti_init of every rank makes client k, so a number is all that must be agreed on;
 * which place it gets is settled by the first rank that comes. Numbers go on and places are used
 * again: by who leaves last.
 */
#ifndef TT_COMMON_H
#define TT_COMMON_H

#include "fabric/segment.h"

/* A rank's place in client `number`. */
struct tt_seat {
    struct tt_segment segment;
    struct tt_common *common;
    int rank, number;
};

/* Takes the rank's place in client `number`, into *seat. A rank takes its seats in the order of the
 * numbers, each once, and leaves each (tt_common_leave), whether it joined or not. Errors: LIMIT,
 * which all ranks get alike: there is no place for the client. Does not block. */
tutti_status tt_seat_take(struct tt_seat *seat, const struct tt_segment *segment, int rank,
                          int number);

/* NULL: there is no such client, or all ranks of this machine have left it. */
struct tt_common *tt_common_find(const struct tt_job_page *job, int number);

/* The i-th place of TT_CLIENTS, whose `number` is 0 where it is free. */
struct tt_common *tt_common_at(const struct tt_job_page *job, int i);

/* ---- How the ranks stand with a client ---- */

/* A rank cannot go on with this client, unless it left: its other ones are not concerned. Wakes all
 * sleepers. Any thread. */
void tt_common_fail(struct tt_job_page *job, struct tt_common *common, int rank,
                    enum tt_cause cause, int code);
/* The rank leaves, unless it failed; whoever waits for it shall look. It must not touch *common any
 * more. */
void tt_common_leave(struct tt_job_page *job, struct tt_common *common, int rank);
/* A rank of another machine says that it leaves. */
void tt_common_left(struct tt_job_page *job, struct tt_common *common, int rank);
/* A rank that left is still needed by somebody: that is a failure after all. */
void tt_common_miss(struct tt_job_page *job, struct tt_common *common, int rank);

/* Says to all ranks why a team does not work any more, before the rank that found out fails with a
 * status of which this is the text; only the first that says anything is heard. */
void tt_common_give_reason(struct tt_common *common, uint64_t team, const char *text);
/* Returns the reason that a rank gave for this team; NULL: there is none. The text lasts until the
 * rank leaves the client. */
const char *tt_common_reason(const struct tt_common *common, uint64_t team);
/* The i-th thing that was said, of TT_FINDINGS at most; NULL: nothing was. */
const struct tt_finding *tt_common_finding(const struct tt_common *common, int i);
/* Another rank says that this one failed, and why. Processes end, and hosts fall silent, for all
 * clients. A rank that is taken for dead elsewhere is taken for dead here, too (boot/notice.h). */
void tt_common_believe(struct tt_job_page *job, struct tt_common *common, int rank,
                       enum tt_cause cause, int code);

/* FAILED too where the rank's process has ended before it left. */
enum tt_rank_state tt_common_state(const struct tt_job_page *job, const struct tt_common *common,
                                   int rank);
/* Returns how a rank failed: with this client or with its process, whichever came first. */
const struct tt_fate *tt_common_fate(const struct tt_job_page *job, const struct tt_common *common,
                                     int rank);
/* The failed rank to name: the one that did first, since others fail because of it; -1: none. */
int tt_common_first_failed(const struct tt_job_page *job, const struct tt_common *common);
/* "rank 3 died: signal 9 (Killed)", into a buffer of n bytes; returns it. */
char *tt_common_cause_text(const struct tt_job_page *job, const struct tt_common *common, int rank,
                           char *buffer, size_t n);

#endif
