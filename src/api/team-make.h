/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making teams from a team. All calls that do so are one collective with different wishes: each
 * rank says into which new team it wants to go, and at which place.
 *
 * If the arguments of a rank are wrong, the rank takes part all the same, and brings its error. So
 * all ranks return that error, and none of them waits for a rank that has returned already.
 */
#ifndef TT_TEAM_MAKE_H
#define TT_TEAM_MAKE_H

#include "api/api.h"

enum { TT_WISH_TEXT = 256 };

/* What a rank wants. */
struct tt_wish {
    int64_t color;       /* of the new team; negative: none */
    int64_t key;         /* orders the ranks of the new team; equal keys: by rank in the old team */
    tutti_status status; /* not OK: the rank's arguments are wrong, and `text` says why */
    uint64_t terms;      /* hash of the arguments that must be equal on all ranks */
    char text[TT_WISH_TEXT]; /* of the error, or of those arguments */
};

/* Record in the wish that the arguments are wrong; only the first error counts. tt_wish_wrong takes
 * the text of tutti_error(), and does nothing if the status is OK. */
void tt_wish_wrong(struct tt_wish *wish, tutti_status status);
__attribute__((format(printf, 2, 3))) void tt_wish_refuse(struct tt_wish *wish, const char *format,
                                                          ...);

/* Finds out whether the arguments of all ranks are right, without making a team. Collective over
 * the team; all ranks return the same status. Errors: as those of tt_team_make, but not LIMIT. */
tutti_status tt_wish_meet(tutti_team *team, enum tt_signature_other as, const struct tt_wish *wish);

/* Makes the teams. Collective over the team; all ranks return the same status. *part is NULL for
 * ranks without a team. `as` is the call in the order of calls on the team. Errors: those in the
 * wishes; ARG if the terms differ; MEMORY, LIMIT, PEER, MISMATCH. */
tutti_status tt_team_make(tutti_team *team, enum tt_signature_other as, const struct tt_wish *wish,
                          tutti_team **part);

#endif
