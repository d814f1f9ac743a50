/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors handed from a rank to the others of its machine, over a Unix socket that has no file:
 * a name in the abstract namespace, drawn at random. Both sides look who the other is: only this
 * user's processes get anything, or are believed.
 */
#ifndef TT_SHARE_H
#define TT_SHARE_H

#include <sys/types.h>

#include "base/base.h"

enum {
    TT_SHARE_NAME = 48, /* bytes of a name, with the 0 at its end */
    TT_SHARE_MOST = 2   /* descriptors */
};

struct tt_share {
    int fd;
    char name[TT_SHARE_NAME];
};

/* Opens the door. Errors: SYSTEM, LIMIT. */
tutti_status tt_share_open(struct tt_share *share);
void tt_share_close(struct tt_share *share);
/* Hands n descriptors to the next who comes before then, and tells which rank and process that is.
 * Errors: BOOT (nobody came). Whoever is not of this user, or says nonsense, gets nothing and is
 * not counted. */
tutti_status tt_share_give(struct tt_share *share, const int *fds, int n, int64_t until_ns,
                           int *rank, pid_t *pid);
/* Fetches just so many, close-on-exec. Errors: BOOT. */
tutti_status tt_share_take(const char *name, int rank, int64_t until_ns, int *fds, int many);

#endif
