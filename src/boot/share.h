/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes descriptors from a rank to the others of its host, over a Unix socket that has no file:
 * its name is in the abstract namespace and random. Both sides check the credentials of the other:
 * only processes of the same user are given anything, or are believed.
 */
#ifndef TT_SHARE_H
#define TT_SHARE_H

#include <sys/types.h>

#include "base/base.h"

enum {
    TT_SHARE_NAME = 48, /* bytes of a name, with the 0 at its end */
    TT_SHARE_MOST = 2   /* descriptors */
};

/* A listening socket and its name, which the others need to connect. */
struct tt_share {
    int fd;
    char name[TT_SHARE_NAME];
};

/* Opens a listening socket with a random name. Errors: SYSTEM, LIMIT. */
tutti_status tt_share_open(struct tt_share *share);
void tt_share_close(struct tt_share *share);
/* Hands n descriptors to the next process that connects before until_ns, and returns its rank and
 * process. A process of another user, or one that sends something else, gets nothing and is not
 * counted. Errors: BOOT (nobody came). */
tutti_status tt_share_give(struct tt_share *share, const int *fds, int n, int64_t until_ns,
                           int *rank, pid_t *pid);
/* Gets exactly `many` descriptors, close-on-exec. Errors: BOOT. */
tutti_status tt_share_take(const char *name, int rank, int64_t until_ns, int *fds, int many);

#endif
