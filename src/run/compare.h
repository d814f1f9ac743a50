/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Comparing the calls of two ranks. Each rank keeps the signatures of its last calls in the block
 * of the team, where the other members read them.
 */
#ifndef TT_COMPARE_H
#define TT_COMPARE_H

#include "run/team.h"

/* Returns MISMATCH with a text that names the first call, in execution `number` or before, in which
 * this rank and member `rank` differ. */
tutti_status tt_compare_mismatch(const struct tt_team *t, uint64_t number, int rank);
/* Returns whether this rank still knows the first call, in execution `number` or before, in which
 * the two ranks differ, so that the text of tt_compare_mismatch can name it. */
bool tt_compare_knows(const struct tt_team *t, uint64_t number, int rank);
/* Writes " (on the team of ...)" into a buffer of n bytes if the rank of some member in the team
 * differs from its rank in the job; else writes an empty text. Error messages name members by their
 * ranks in the job. Returns the buffer. */
enum { TT_WHICH_TEXT = 128 };
char *tt_compare_which_team(const struct tt_team *t, char *text, size_t n);
/* Returns MISMATCH for an alltoallv, gatherv or scatterv, execution `number`, in which member
 * `from` sends `sent` bytes to member `to`, which expects `expected` bytes. */
tutti_status tt_compare_uneven(const struct tt_team *t, uint64_t number, int from, int to,
                               int64_t sent, int64_t expected);
/* Compares the counts that this rank and member `rank` have for each other in a call of pairs that
 * is under way or has ended. Returns MISMATCH if they differ; OK if they match or are not known
 * yet. */
tutti_status tt_compare_pair(const struct tt_team *t, uint64_t number, int rank);
/* Returns MISMATCH if this rank and member `rank` have begun execution `number` as different calls,
 * or with different counts for each other; else OK. */
tutti_status tt_compare_call(const struct tt_team *t, uint64_t number, int rank);

#endif
