/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a job share of each client: the entries of a table in the job page, one entry
 * for each client that some rank has not finalized.
 *
 * The k-th tutti_init of every rank makes client k, so the ranks know the number without agreement.
 * The first rank that comes decides which entry the client gets (common.c). Numbers only rise; the
 * last rank that leaves frees the entry.
 */
#ifndef TT_COMMON_H
#define TT_COMMON_H

#include "job/segment.h"

/* A rank's place in client `number`. */
struct tt_seat {
    struct tt_segment segment;
    struct tt_common *common;
    int rank, number;
};

/* Takes the rank's place in client `number` and stores it in *seat. A rank takes its seats in the
 * order of the numbers, each once, and leaves each one (tt_common_leave), whether it joined or not.
 * Does not block. Errors: LIMIT (no entry is free; all ranks get this error). */
tutti_status tt_seat_take(struct tt_seat *seat, const struct tt_segment *segment, int rank,
                          int number);

/* Returns the record of a client; NULL: there is no such client, or all ranks of this node have
 * left it. */
struct tt_common *tt_common_find(const struct tt_job_page *job, int number);

/* Returns the i-th entry of TT_CLIENTS. Its `number` is 0 if it is free. */
struct tt_common *tt_common_at(const struct tt_job_page *job, int i);

/* ---- The status of the ranks in a client ---- */

/* Records that a rank cannot go on with this client, unless it has left. Its other clients are not
 * affected. Wakes all sleepers. Any thread. */
void tt_common_fail(struct tt_job_page *job, struct tt_common *common, int rank,
                    enum tt_cause cause, int code);
/* Records that the rank leaves, unless it has failed, and wakes the waiters so that they look. The
 * rank must not access *common afterwards. */
void tt_common_leave(struct tt_job_page *job, struct tt_common *common, int rank);
/* Records that a rank of another node has left. */
void tt_common_left(struct tt_job_page *job, struct tt_common *common, int rank);
/* Records as a failure that a rank has left although another rank still needs it. */
void tt_common_miss(struct tt_job_page *job, struct tt_common *common, int rank);

/* How a rank failed, as its own node records it and as it is reported to other nodes.
 *
 * A rank fails once, so an error that it gets on a team also breaks its other teams. Whether a
 * member of a team returns the error itself or PEER depends on the team where the rank failed. So
 * the team and the text belong to the failure, and they are reported together with it, over
 * whichever team and by whichever rank the report comes.
 *
 * Why every member of the team returns the error itself: the rank that fails stores the team and
 * the text in the page of its node before its state becomes FAILED. Every report is made from the
 * page of its sender and holds all three; its receiver stores the text, then the team, then the
 * state. So by induction over the reports, no rank of any node sees the failure without the team
 * and the text. No rank has to ask for the text or to wait for it, and so a rank that dies while it
 * reports leaves nobody waiting. There may be no text: the page has room for TT_FINDINGS teams, and
 * a rank may die while it writes. The team is still known then, and so the status is the same. */
struct tt_failure {
    enum tt_cause cause;
    int code;        /* as in struct tt_rank_status */
    uint64_t team;   /* the same */
    const char *why; /* the error on that team; NULL or "": there is no text */
};

/* Records a failure that another rank reported. Causes that concern a process or a host apply to
 * all clients. A rank that counts as dead elsewhere counts as dead here, too (boot/notice.h). Only
 * the first text for a team is kept. */
void tt_common_believe(struct tt_job_page *job, struct tt_common *common, int rank,
                       const struct tt_failure *failure);
/* Records that a rank cannot go on with this client because of an error on a team. `why` may be
 * NULL. Any thread. */
void tt_common_fail_on(struct tt_job_page *job, struct tt_common *common, int rank, int status,
                       uint64_t team, const char *why);
/* Returns how a rank failed; cause is NONE if it has not failed. The text stays valid until this
 * rank leaves the client. */
struct tt_failure tt_common_failure(const struct tt_job_page *job, const struct tt_common *common,
                                    int rank);

/* Returns the status of a rank in a client. FAILED also if the rank's process ended before it left,
 * or before a notice came that it was leaving. */
enum tt_rank_state tt_common_state(const struct tt_job_page *job, const struct tt_common *common,
                                   int rank);
/* Returns how a rank failed: with this client or with its process, whichever came first. A rank
 * that left this client in order did so before its process ended. */
const struct tt_rank_status *tt_common_rank_status(const struct tt_job_page *job,
                                                   const struct tt_common *common, int rank);
/* Returns the failed rank to name in an error: the one that failed first, since others fail because
 * of it; -1: none failed. */
int tt_common_first_failed(const struct tt_job_page *job, const struct tt_common *common);
/* Writes a text such as "rank 3 died: signal 9 (Killed)" into a buffer of n bytes and returns the
 * buffer. */
char *tt_common_cause_text(const struct tt_job_page *job, const struct tt_common *common, int rank,
                           char *buffer, size_t n);

/* Does the same for how the rank's process ended, whatever happened in a client before. */
char *tt_job_cause_text(const struct tt_job_page *job, int rank, char *buffer, size_t n);
/* Whether a rank that failed for this cause has failed in all clients: its process has ended, or
 * its host is cut off. */
bool tt_cause_ends(enum tt_cause cause);
/* Returns the rank that was found first among those whose processes have ended, or whose hosts are
 * cut off; -1: there is none. */
int tt_job_first_ended(const struct tt_job_page *job);

/* ---- Warnings about settings ---- */

/* Counts the rank among those of this node that have these warnings. If the entries are used up, it
 * leaves a warning out; the rank then prints the warning itself. Any rank, before it joins. */
void tt_common_warn(const struct tt_job_page *job, struct tt_common *common, int rank,
                    const struct tt_warnings *warnings);
/* Sets *all to the warnings that ranks of this node have. All of them have joined. */
void tt_common_warnings(const struct tt_job_page *job, const struct tt_common *common,
                        struct tt_warnings *all);

#endif
