/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the directory (boot/directory.h) that uses the allgather of tutti_init_with. One thread of
 * a rank runs fences of the directory, while another thread publishes values and asks for them, as
 * two clients of a rank do. The job has one rank, so the allgather only copies. The sanitizers find
 * accesses of the threads that are not ordered.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "boot/directory.h"

enum { FENCES = 300 };

static atomic_bool done;

static void must(bool good)
{
    if (!good) abort();
}

static int copy(const void *in, void *out, size_t bytes, void *arg)
{
    (void)arg;
    memcpy(out, in, bytes);
    return 0;
}

static void fence(void)
{
    must(tt_reply_end(tt_directory()->fence(), NULL, 0, NULL) == TUTTI_OK);
}

static void publish(const char *key, int64_t value)
{
    must(tt_directory()->put(TT_SCOPE_ALL, key, &value, sizeof value) == TUTTI_OK);
}

static int64_t value_of(const char *key)
{
    int64_t value = -1;
    size_t n = 0;
    struct tt_reply *reply = tt_directory()->ask(0, key, false);
    must(tt_reply_end(reply, &value, sizeof value, &n) == TUTTI_OK && n == sizeof value);
    return value;
}

/* Publishes larger and larger values, and asks for the values that the fences have brought, which
 * must not become smaller. */
static void *other_client(void *arg)
{
    int64_t *last = arg, before = 0;
    for (*last = 1; !atomic_load(&done); ++*last) {
        publish("other", *last);
        int64_t now = value_of("other");
        must(now >= before && now <= *last && value_of("mine") >= 0);
        before = now;
    }
    publish("other", *last);
    return NULL;
}

int main(void)
{
    const struct tt_gather job = {.fn = copy, .rank = 0, .size = 1};
    int rank, size;
    int64_t last = 0;
    pthread_t thread;
    tt_directory_gather(&job);
    must(tt_directory()->open(&rank, &size) == TUTTI_OK && rank == 0 && size == 1);
    publish("mine", 0);
    publish("other", 0);
    fence();
    must(pthread_create(&thread, NULL, other_client, &last) == 0);
    for (int64_t i = 1; i <= FENCES; i++) {
        publish("mine", i);
        fence();
        must(value_of("mine") == i);
    }
    atomic_store(&done, true);
    must(pthread_join(thread, NULL) == 0);
    fence(); /* brings what was put while the last fence ran or after it */
    must(value_of("other") == last);
    return 0;
}
