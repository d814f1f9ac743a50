/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks the signals of a thread for a while. A thread that is started meanwhile inherits the
 * blocked signals, so the program's signals go to the program's own threads: its handlers do not
 * run in a thread that the program does not know, and a signal that the program blocks in all of
 * its threads stays pending. So the library blocks signals while it starts a thread, and while it
 * calls another library that may start threads.
 */
#ifndef TT_SIGNALS_H
#define TT_SIGNALS_H

#include <signal.h>

/* Blocks all signals of this thread, and stores in *before which signals were blocked. */
static inline void tt_signals_block(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static inline void tt_signals_restore(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
