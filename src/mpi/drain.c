/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread that sends the packets which Tutti's calls have left behind (drain.h).
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "mpi/drain.h"
#include "mpi/load.h"

/* The shortest and the longest pause between two advances. */
enum { PAUSE_NS = 20000, PAUSE_MOST_NS = 1000000 };

static struct {
    tutti_context *context; /* whose packets are sent; NULL: there is nothing to do */
    pthread_mutex_t mutex;  /* guards `lives`, `wanted` and changes of `ends` */
    pthread_cond_t changed; /* signalled after `wanted` or `ends` was set */
    pthread_t thread;
    bool lives;       /* whether the thread was made */
    bool wanted;      /* whether packets were left behind since the thread last began to send */
    atomic_bool ends; /* whether the thread is to end */
} at = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Advances Tutti until all packets have left, or the thread is to end. An error does not end this:
 * Tutti reports the error of a team once here, and to each later call on that team. */
static void send_all(void)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    while (!atomic_load(&at.ends) && tt_mpi_tutti.drain(at.context) != TUTTI_OK) {
        nanosleep(&pause, NULL);
        pause.tv_nsec *= 2;
        if (pause.tv_nsec > PAUSE_MOST_NS) pause.tv_nsec = PAUSE_MOST_NS;
    }
}

static void *send_when_wanted(void *arg)
{
    (void)arg;
    tt_depth++; /* what Tutti calls here is no call of the program */
    pthread_mutex_lock(&at.mutex);
    while (!atomic_load(&at.ends)) {
        if (at.wanted) {
            at.wanted = false;
            pthread_mutex_unlock(&at.mutex);
            send_all();
            pthread_mutex_lock(&at.mutex);
        } else {
            pthread_cond_wait(&at.changed, &at.mutex);
        }
    }
    pthread_mutex_unlock(&at.mutex);
    return NULL;
}

/* Makes the thread, which receives no signals of the program. Returns whether that succeeded. */
static bool make_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&at.thread, NULL, send_when_wanted, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

void tt_mpi_drain_open(tutti_client *client)
{
    at.context = tt_mpi_tutti.context_at(client, 0);
    atomic_store(&at.ends, false);
}

void tt_mpi_drain_close(void)
{
    pthread_mutex_lock(&at.mutex);
    bool lives = at.lives;
    at.lives = at.wanted = false;
    atomic_store(&at.ends, true);
    pthread_cond_signal(&at.changed);
    pthread_mutex_unlock(&at.mutex);
    if (lives) pthread_join(at.thread, NULL);
    at.context = NULL;
}

void tt_mpi_drain(void)
{
    if (!at.context || tt_mpi_tutti.drain(at.context) == TUTTI_OK) return;
    pthread_mutex_lock(&at.mutex);
    if (!at.lives) at.lives = make_thread();
    bool lives = at.lives;
    at.wanted = lives;
    pthread_cond_signal(&at.changed);
    pthread_mutex_unlock(&at.mutex);
    /* Without a thread, to wait for the packets is better than to leave them behind. */
    while (!lives && tt_mpi_tutti.drain(at.context) == TUTTI_AGAIN) sched_yield();
}
