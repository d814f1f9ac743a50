/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes descriptors from a rank to the other ranks of its host, over a Unix socket that has no
 * file: its name is random and in the abstract namespace. Each side checks that the process on the
 * other side belongs to the same user; otherwise the sender sends nothing, and the receiver accepts
 * nothing.
 */
#ifndef TT_SHARE_H
#define TT_SHARE_H

#include <sys/types.h>

#include "base/base.h"

enum {
    TT_SHARE_NAME = 48, /* bytes of a name, with the 0 at its end */
    TT_SHARE_MOST = 2   /* descriptors that can be passed at once */
};

/* A listening socket and its name, which the receiving ranks need to connect. */
struct tt_share {
    int fd;
    char name[TT_SHARE_NAME];
};

/* Opens a listening socket with a random name. Errors: SYSTEM, LIMIT. */
tutti_status tt_share_open(struct tt_share *share);
void tt_share_close(struct tt_share *share);
/* tt_share_give calls this function when a process has said which rank it is, before that process
 * gets the descriptors. pid: the process in the PID namespace of this process; 0: it is not known
 * there. */
typedef void tt_share_fn(void *arg, int rank, pid_t pid);
/* Passes n descriptors to the next process that connects before until_ns (tt_clock_ns). A process
 * of another user, or one that sends no proper greeting, gets nothing, and the function waits for
 * the next process. Errors: BOOT (no process came). */
tutti_status tt_share_give(struct tt_share *share, const int *fds, int n, int64_t until_ns,
                           tt_share_fn *comes, void *arg);
/* Gets exactly `many` descriptors, which are close-on-exec, from the socket with this name, before
 * until_ns (tt_clock_ns). `rank` is this process' rank. Errors: BOOT, LIMIT. */
tutti_status tt_share_take(const char *name, int rank, int64_t until_ns, int *fds, int many);

#endif
