/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Replies to the requests that a rank makes to a provider (directory.h). A reply has two owners:
 * the thread that asked, and the thread that answers, which may belong to the library of PMIx.
 * Either owner may release the reply first.
 */
#include "boot/directory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct tt_reply {
    pthread_mutex_t lock;
    pthread_cond_t came;
    int owners;
    bool done, lacks;
    /* If the answer is an error, the text of the error is `who` followed by `error`. Otherwise
     * `error` is NULL, and the answer is bytes[n]. */
    const char *who, *error;
    void *bytes;
    size_t n;
    char key[TT_DIRECTORY_KEY];
};

struct tt_reply *tt_reply_new(const char *key)
{
    pthread_condattr_t monotonic;
    struct tt_reply *r = tt_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->owners = 2;
    r->who = "";
    snprintf(r->key, sizeof r->key, "%s", key);
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->came, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return r;
}

static void let_go(struct tt_reply *r)
{
    pthread_mutex_lock(&r->lock);
    bool last = --r->owners == 0;
    pthread_mutex_unlock(&r->lock);
    if (!last) return;
    pthread_cond_destroy(&r->came);
    pthread_mutex_destroy(&r->lock);
    tt_free(r->bytes);
    tt_free(r);
}

void tt_reply_settle(struct tt_reply *r, const char *who, const char *error, bool lacks,
                     const void *bytes, size_t n)
{
    pthread_mutex_lock(&r->lock);
    r->bytes = n ? tt_alloc(n) : NULL;
    if (r->bytes) memcpy(r->bytes, bytes, n);
    r->n = n;
    r->who = who;
    r->error = n && !r->bytes ? "no memory for an answer" : error;
    r->lacks = lacks;
    r->done = true;
    pthread_cond_broadcast(&r->came);
    pthread_mutex_unlock(&r->lock);
    let_go(r);
}

struct tt_reply *tt_reply_known(const char *who, const char *error, bool lacks, const void *bytes,
                                size_t n)
{
    struct tt_reply *r = tt_reply_new("");
    if (r) tt_reply_settle(r, who, error, lacks, bytes, n);
    return r;
}

bool tt_reply_answered(struct tt_reply *r, int64_t until_ns)
{
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    int late = until_ns <= 0;
    pthread_mutex_lock(&r->lock);
    while (!r->done && !late) late = pthread_cond_timedwait(&r->came, &r->lock, &until);
    bool done = r->done;
    pthread_mutex_unlock(&r->lock);
    return done;
}

bool tt_reply_lacks(struct tt_reply *r)
{
    pthread_mutex_lock(&r->lock);
    bool lacks = r->done && r->lacks;
    pthread_mutex_unlock(&r->lock);
    return lacks;
}

static tutti_status outcome(const struct tt_reply *r, void *bytes, size_t room, size_t *n)
{
    if (!r->done) return tt_fail(TUTTI_ERR_BOOT, "the PMIx server does not answer");
    if (r->error) return tt_fail(TUTTI_ERR_BOOT, "%s%s", r->who, r->error);
    if (r->n > room)
        return tt_fail(TUTTI_ERR_BOOT, "%s has %zu bytes, more than %zu", r->key, r->n, room);
    if (r->n) memcpy(bytes, r->bytes, r->n);
    if (n) *n = r->n;
    return TUTTI_OK;
}

tutti_status tt_reply_end(struct tt_reply *r, void *bytes, size_t room, size_t *n)
{
    if (!r) return tt_fail(TUTTI_ERR_BOOT, "no memory, or no server, to ask another rank");
    pthread_mutex_lock(&r->lock);
    tutti_status status = outcome(r, bytes, room, n);
    pthread_mutex_unlock(&r->lock);
    let_go(r);
    return status;
}

void tt_reply_drop(struct tt_reply *r)
{
    if (r) let_go(r);
}
