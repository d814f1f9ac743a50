/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of clients in the job page. It has an entry for each client that some rank of the node
 * has not finalized. The entry contains the data of this client that the ranks of the node share.
 *
 * The k-th tutti_init of every rank makes client k, so the ranks know the number without agreement.
 * The first rank that makes the client decides which entry it gets (common.c). Numbers of clients
 * only rise. The last rank that leaves a client frees its entry.
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
 * order of the numbers, each once, and leaves each of them by tt_common_leave, even if it could not
 * join the client. Does not block. Errors: LIMIT (no entry is free; all ranks get this error). */
tutti_status tt_seat_take(struct tt_seat *seat, const struct tt_segment *segment, int rank,
                          int number);

/* Returns the record of a client; NULL: there is no such client, or all ranks of this node have
 * left it. */
struct tt_common *tt_common_find(const struct tt_job_page *job, int number);

/* Returns entry i of the TT_CLIENTS entries of the table. `number` is 0 in a free entry. */
struct tt_common *tt_common_at(const struct tt_job_page *job, int i);

/* ---- The status of the ranks in a client ---- */

/* Records that a rank cannot go on with this client, unless it has left the client. The rank's
 * other clients are not affected. Wakes all sleepers. Any thread. */
void tt_common_fail(struct tt_job_page *job, struct tt_common *common, int rank,
                    enum tt_cause cause, int code);
/* Records that the rank leaves the client, unless it has failed, and wakes all sleepers so that
 * they notice it. The rank must not access *common afterwards. */
void tt_common_leave(struct tt_job_page *job, struct tt_common *common, int rank);
/* Records that a rank of another node has left the client, and wakes all sleepers. */
void tt_common_left(struct tt_job_page *job, struct tt_common *common, int rank);
/* Completes a report of this rank's failure, or of its leaving, if the process that reported it was
 * killed before it had woken the sleepers. A rank that finds that rank FAILED or LEFT, and does not
 * report it itself, calls this. */
void tt_common_announce(struct tt_job_page *job, struct tt_common *common, int rank);
/* Records as a failure that a rank has left although another rank still needs it. */
void tt_common_miss(struct tt_job_page *job, struct tt_common *common, int rank);

/* How a rank failed. The failure is recorded on the rank's own node, and reported to other nodes.
 *
 * A rank fails once, so an error that it gets on a team also breaks its other teams. Whether a
 * member of a team returns the error itself or PEER depends on the team where the rank failed. So
 * the team and the text of the error belong to the failure, and every report of the failure
 * contains them, whichever rank sends the report, and over whichever team.
 *
 * Why every member of the team returns the error itself: the rank that fails stores the text and
 * the team in the page of its node before its state becomes FAILED. Every report is made from the
 * page of its sender, and contains state, team and text; its receiver stores the text first, then
 * the team, and then the state. So by induction over the reports, no rank of any node sees the
 * failure without the team and the text. No rank has to ask for the text or to wait for it, and so
 * no rank waits for a rank that dies while it reports. The text may be missing, because the page
 * has room for the texts of TT_FINDINGS teams, and because a rank may die while it writes. Even
 * then the team is known, and so the members return the same status. */
struct tt_failure {
    enum tt_cause cause;
    int code;        /* the signal, exit code or other code of the cause (struct tt_rank_status) */
    uint64_t team;   /* the team on which the rank got the error; TT_NO_TEAM: another cause */
    const char *why; /* the error on that team; NULL or "": there is no text */
};

/* Records a failure that another rank reported. A cause that concerns a process or a host applies
 * to all clients. A rank that other nodes consider dead counts as dead on this node, too
 * (boot/notice.h). If the failure contains the text of an error on a team, keeps this text, unless
 * a text for the team is kept already. */
void tt_common_believe(struct tt_job_page *job, struct tt_common *common, int rank,
                       const struct tt_failure *failure);
/* Records that a rank cannot go on with this client because of an error on a team; `why` is the
 * text of the error, or NULL. Any thread. */
void tt_common_fail_on(struct tt_job_page *job, struct tt_common *common, int rank, int status,
                       uint64_t team, const char *why);
/* Returns how a rank failed; cause is NONE if it has not failed. The text stays valid until the
 * calling rank leaves the client. */
struct tt_failure tt_common_failure(const struct tt_job_page *job, const struct tt_common *common,
                                    int rank);

/* Returns the status of a rank in a client. The status is FAILED also if the rank's process ended
 * before the rank left the client or, for a rank of another node, before a notice came that it had
 * left. */
enum tt_rank_state tt_common_state(const struct tt_job_page *job, const struct tt_common *common,
                                   int rank);
/* Returns the record that says how a rank failed: the record of this client or that of the rank's
 * process, whichever failure came first. If the rank left this client although another rank needed
 * it, this is the record of the client, because the rank left before its process ended. */
const struct tt_rank_status *tt_common_rank_status(const struct tt_job_page *job,
                                                   const struct tt_common *common, int rank);
/* Returns the failed rank to name in an error: the rank that failed first, since later failures are
 * mostly consequences of the first; -1: no rank has failed. */
int tt_common_first_failed(const struct tt_job_page *job, const struct tt_common *common);
/* Writes a text such as "rank 3 died: signal 9 (Killed)" into a buffer of n bytes and returns the
 * buffer. */
char *tt_common_cause_text(const struct tt_job_page *job, const struct tt_common *common, int rank,
                           char *buffer, size_t n);

/* Writes a text as tt_common_cause_text does, but about the failure of the rank's process, whatever
 * happened in a client before. */
char *tt_job_cause_text(const struct tt_job_page *job, int rank, char *buffer, size_t n);
/* Returns whether a rank that failed for this cause has failed in all clients, because its process
 * has ended, or because its host is cut off. */
bool tt_cause_ends(enum tt_cause cause);
/* Returns the rank whose failure was found first, among the ranks whose processes have ended or
 * whose hosts are cut off; -1: there is no such rank. */
int tt_job_first_ended(const struct tt_job_page *job);

/* ---- Warnings about settings ---- */

/* Counts the rank among the ranks of this node that have these warnings. If the client's table of
 * warnings is full, leaves a warning out; the rank has to print this warning itself. Each rank
 * calls this before it joins. */
void tt_common_warn(const struct tt_job_page *job, struct tt_common *common, int rank,
                    const struct tt_warnings *warnings);
/* Sets *all to the warnings that ranks of this node have. Call this when all ranks of this node
 * have joined. */
void tt_common_warnings(const struct tt_job_page *job, const struct tt_common *common,
                        struct tt_warnings *all);

#endif
