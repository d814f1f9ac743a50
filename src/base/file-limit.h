/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing files under a limit on their size (ulimit -f). A write beyond the limit sends SIGXFSZ to
 * the thread that writes, and this signal ends the process unless the program handles it. A library
 * must not end a program because a report is too long, and a command would leave its temporary file
 * behind. Between tt_file_limit_enter and tt_file_limit_leave such a write only fails, with EFBIG.
 */
#ifndef TT_FILE_LIMIT_H
#define TT_FILE_LIMIT_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct tt_file_limit {
    sigset_t before; /* the signals that the thread blocked */
    bool pending;    /* SIGXFSZ was pending before, so the program gets it */
};

static inline void tt_file_limit_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGXFSZ);
}

/* Blocks SIGXFSZ in the calling thread. Other threads, and what the program does with the signal,
 * are as before. */
static inline void tt_file_limit_enter(struct tt_file_limit *limit)
{
    sigset_t signal, pending;
    sigpending(&pending);
    limit->pending = sigismember(&pending, SIGXFSZ) == 1;
    tt_file_limit_set(&signal);
    pthread_sigmask(SIG_BLOCK, &signal, &limit->before);
}

/* Takes away the signal that a write may have sent. The kernel has sent it to this thread before
 * the write returned, so it is pending by now. Leaves errno, which may say why the write failed. */
static inline void tt_file_limit_leave(const struct tt_file_limit *limit)
{
    const struct timespec at_once = {0};
    const int error = errno;
    sigset_t signal;
    tt_file_limit_set(&signal);
    if (!limit->pending) (void)sigtimedwait(&signal, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
    errno = error;
}

#endif
