/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes teams from a team. All public functions that do so (tutti_team_split, tutti_team_dup,
 * tutti_team_cart ...) call tt_team_make, with different wishes: the wish of a rank says into which
 * new team the rank wants to go, and at which place.
 *
 * A rank whose arguments are wrong takes part all the same, and its wish contains the error. So all
 * ranks return that error, and no rank waits for a rank that has returned already.
 */
#ifndef TT_TEAM_MAKE_H
#define TT_TEAM_MAKE_H

#include "api/api.h"

enum { TT_WISH_TEXT = 256 };

/* The wish of a rank: what it wants of a call that makes teams. */
struct tt_wish {
    /* ranks with equal colours get one new team; negative: this rank gets no team */
    int64_t color;
    /* orders the ranks of the new team; ranks with equal keys are ordered by their old ranks */
    int64_t key;
    tutti_status status;     /* not OK: the rank's arguments are wrong, and `text` says why */
    uint64_t terms;          /* a hash of the arguments that must be equal on all ranks */
    char text[TT_WISH_TEXT]; /* the error, or the arguments that must be equal */
};

/* Record in the wish that the arguments are wrong, unless the wish has an error already.
 * tt_wish_wrong takes the text of tutti_error(), and does nothing if the status is OK;
 * tt_wish_refuse records ARG. */
void tt_wish_wrong(struct tt_wish *wish, tutti_status status);
__attribute__((format(printf, 2, 3))) void tt_wish_refuse(struct tt_wish *wish, const char *format,
                                                          ...);

/* Finds out whether the arguments of all ranks are right, without making a team. Collective over
 * the team; all ranks return the same status. Errors: as those of tt_team_make, but not LIMIT. */
tutti_status tt_wish_meet(tutti_team *team, enum tt_signature_other as, const struct tt_wish *wish);

/* Makes the teams. Collective over the team; all ranks return the same status. *part is NULL for
 * ranks without a team. `as` is the public function that was called, for the comparison of calls.
 * Errors: those in the wishes; ARG if the terms differ; MEMORY, LIMIT, PEER, MISMATCH. */
tutti_status tt_team_make(tutti_team *team, enum tt_signature_other as, const struct tt_wish *wish,
                          tutti_team **part);

#endif
