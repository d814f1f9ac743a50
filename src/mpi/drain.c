/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread that sends the packets which Tutti's calls have left behind, and pushes nonblocking
 * calls (drain.h).
 */
#include <pthread.h>
#include <time.h>

#include "base/signals.h"
#include "mpi/drain.h"
#include "mpi/drive.h"
#include "mpi/load.h"

/* The shortest and the longest pause between two advances; FLYING: while nonblocking calls are in
 * flight. */
enum { PAUSE_NS = 20000, PAUSE_MOST_NS = 5000000, PAUSE_MOST_FLYING_NS = 500000 };

static struct {
    tutti_client *client; /* NULL: there is no thread */
    tutti_context *context;
    pthread_t thread;
    pthread_mutex_t mutex;  /* guards the members that follow */
    pthread_cond_t changed; /* signalled after `wanted` or `ends` was set */
    bool shared; /* whether threads share the client; if not, the thread does not use it */
    bool wanted; /* whether packets or calls may have come since the thread last looked for them */
    bool ends;   /* whether the thread is to end */
} at = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Waits until `ns` nanoseconds have passed, a call of Tutti has ended before all its packets were
 * sent, or the thread is to end. The caller holds the mutex. */
static void pause_for(long ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&at.changed, &at.mutex, &until);
}

/* Advances the messages until all packets have left and no nonblocking call is in flight, or the
 * thread is to end. The caller holds the mutex, which is released meanwhile. */
static void send_all(void)
{
    long pause = PAUSE_NS;
    for (;;) {
        at.wanted = false;
        pthread_mutex_unlock(&at.mutex);
        bool flying = tt_mpi_push_flights(), sent = tt_mpi_tutti.drain(at.context) == TUTTI_OK;
        pthread_mutex_lock(&at.mutex);
        if (at.ends || (sent && !flying && !at.wanted)) return;
        if (!at.wanted) pause_for(pause);
        pause = at.wanted ? PAUSE_NS : 2 * pause;
        if (pause > PAUSE_MOST_NS) pause = PAUSE_MOST_NS;
        if (flying && pause > PAUSE_MOST_FLYING_NS) pause = PAUSE_MOST_FLYING_NS;
    }
}

static void *send_when_wanted(void *arg)
{
    pthread_mutex_lock(&at.mutex);
    while (!at.ends) {
        if (at.wanted)
            send_all();
        else
            pthread_cond_wait(&at.changed, &at.mutex);
    }
    pthread_mutex_unlock(&at.mutex);
    return arg;
}

/* Makes the thread, which receives no signals of the program. Returns whether that succeeded. */
static bool make_thread(void)
{
    sigset_t before;
    tt_signals_block(&before);
    bool made = pthread_create(&at.thread, NULL, send_when_wanted, NULL) == 0;
    tt_signals_restore(&before);
    return made;
}

const char *tt_mpi_drain_open(tutti_client *client)
{
    at.context = tt_mpi_tutti.context_at(client, 0);
    at.shared = at.wanted = at.ends = false;
    if (!make_thread())
        return "no thread can be started to send the messages that its calls leave behind";
    at.client = client;
    return NULL;
}

void tt_mpi_drain_close(void)
{
    if (!at.client) return;
    pthread_mutex_lock(&at.mutex);
    at.ends = true;
    pthread_cond_signal(&at.changed);
    pthread_mutex_unlock(&at.mutex);
    pthread_join(at.thread, NULL);
    at.client = NULL;
}

void tt_mpi_drain_wake(void)
{
    pthread_mutex_lock(&at.mutex);
    at.wanted = true;
    pthread_cond_signal(&at.changed);
    pthread_mutex_unlock(&at.mutex);
}

void tt_mpi_drain(tutti_status status)
{
    if (!at.client) return;
    if (status == TUTTI_OK && tt_mpi_tutti.drain(at.context) == TUTTI_OK) return;
    pthread_mutex_lock(&at.mutex);
    /* With MPI_THREAD_MULTIPLE the client is shared already. Below this level, no other thread is
     * inside the library now, so the client can become shared. */
    if (!at.shared) at.shared = tt_mpi_tutti.client_share(at.client) == TUTTI_OK;
    at.wanted = at.shared;
    pthread_cond_signal(&at.changed);
    pthread_mutex_unlock(&at.mutex);
}
