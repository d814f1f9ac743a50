/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wrapper that makes operations fail, to test what the library does after failures:
 *
 *     TUTTI_FAULT=kill,rank=2,after=100      rank 2 kills itself at its 100th operation
 *     TUTTI_FAULT=fail,after=7               every rank's 7th operation fails (SYSTEM)
 *     TUTTI_FAULT=delay=50,seed=3            a pause of 0 to 50 microseconds before each operation
 *
 * An operation is a signal given (in a flag or with messages), a read or a write. Threads that use
 * different contexts may make operations at the same time.
 */
#include "fabric/fabric.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct fault {
    struct tt_fabric_ops ops;
    const struct tt_fabric_ops *below;
    bool kill, fail;
    int64_t rank, after, delay_us, seed;
    _Atomic int64_t count;
    pthread_mutex_t lock; /* protects `random` */
    struct tt_random random;
};

static void pause_randomly(struct fault *fault)
{
    if (fault->delay_us == 0) return;
    pthread_mutex_lock(&fault->lock);
    uint64_t ns = tt_random_below(&fault->random, (uint64_t)fault->delay_us * 1000 + 1);
    pthread_mutex_unlock(&fault->lock);
    struct timespec time = {.tv_nsec = (long)ns};
    nanosleep(&time, NULL);
}

static tutti_status go_wrong(struct fault *fault)
{
    pause_randomly(fault);
    if (atomic_fetch_add(&fault->count, 1) + 1 != fault->after) return TUTTI_OK;
    if (fault->kill) kill(getpid(), SIGKILL);
    return fault->fail ? tt_fail(TUTTI_ERR_SYSTEM, "TUTTI_FAULT: operation %lld fails",
                                 (long long)fault->after)
                       : TUTTI_OK;
}

static tutti_status fault_read(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               void *to, tt_address from, int64_t len)
{
    struct fault *fault = (struct fault *)self;
    TT_TRY(go_wrong(fault));
    return fault->below->read(fault->below, f, rank, to, from, len);
}

static tutti_status fault_write(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                tt_address to, const void *from, int64_t len)
{
    struct fault *fault = (struct fault *)self;
    TT_TRY(go_wrong(fault));
    return fault->below->write(fault->below, f, rank, to, from, len);
}

static tutti_status fault_signalling(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    struct fault *fault = (struct fault *)self;
    TT_TRY(go_wrong(fault));
    return fault->below->signalling ? fault->below->signalling(fault->below, f) : TUTTI_OK;
}

static void fault_close(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    struct fault *fault = (struct fault *)self;
    if (fault->below->close) fault->below->close(fault->below, f);
    pthread_mutex_destroy(&fault->lock);
    tt_free(fault);
}

/* Handles one word of the setting, of n bytes: a flag, or key=number. */
static bool take_word(struct fault *fault, const char *word, size_t n)
{
    struct {
        const char *key;
        int64_t *value;
    } keys[] = {{"rank=", &fault->rank},
                {"after=", &fault->after},
                {"delay=", &fault->delay_us},
                {"seed=", &fault->seed}};
    fault->kill |= n == 4 && strncmp(word, "kill", n) == 0;
    fault->fail |= n == 4 && strncmp(word, "fail", n) == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t key = strlen(keys[i].key);
        if (n > key && strncmp(word, keys[i].key, key) == 0)
            return tt_parse_size(word + key, word + n, keys[i].value);
    }
    return n == 4 && (strncmp(word, "kill", n) == 0 || strncmp(word, "fail", n) == 0);
}

static tutti_status parse(struct fault *fault, const char *text)
{
    for (const char *at = text; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (!take_word(fault, at, n))
            return tt_fail(
                TUTTI_ERR_ARG,
                "TUTTI_FAULT: '%.*s' is none of kill fail rank=R after=N delay=US seed=N", (int)n,
                at);
        at += n;
    }
    return TUTTI_OK;
}

tutti_status tt_fault_check(const char *text)
{
    struct fault fault = {0};
    return parse(&fault, text);
}

/* Returns whether a job of this process has this rank: the present job, of `size` ranks, or an
 * earlier, larger one. Besides its largest job a process may make smaller jobs (of threads, or of
 * one rank) that lack the rank, and this is no error in TUTTI_FAULT. */
static bool has_rank(int64_t rank, int size)
{
    static _Atomic int largest;
    int most = atomic_load(&largest);
    while (size > most && !atomic_compare_exchange_weak(&largest, &most, size)) continue;
    return rank < tt_max(size, most);
}

static tutti_status place(struct tt_fabric *f, struct fault *fault, const char *text)
{
    fault->rank = -1;
    fault->after = 1;
    TT_TRY(parse(fault, text));
    if (!has_rank(fault->rank, f->size))
        return tt_fail(TUTTI_ERR_ARG, "TUTTI_FAULT: there is no rank %lld, the job has %d",
                       (long long)fault->rank, f->size);
    if (fault->rank >= 0 && fault->rank != f->me) return TUTTI_AGAIN;
    pthread_mutex_init(&fault->lock, NULL);
    tt_random_seed(&fault->random, (uint64_t)(fault->seed * f->size + f->me));
    fault->below = f->ops;
    fault->ops = (struct tt_fabric_ops){.name = f->ops->name,
                                        .read = fault_read,
                                        .write = fault_write,
                                        .signalling = fault_signalling,
                                        .did = NULL,
                                        .close = fault_close};
    f->ops = &fault->ops;
    return TUTTI_OK;
}

tutti_status tt_fault_wrap(struct tt_fabric *f)
{
    const char *text = tt_setting("TUTTI_FAULT");
    if (!text) return TUTTI_OK;
    struct fault *fault = tt_calloc(1, sizeof *fault);
    if (!fault) return tt_fail(TUTTI_ERR_MEMORY, "no memory for TUTTI_FAULT");
    tutti_status status = place(f, fault, text);
    if (status != TUTTI_OK) tt_free(fault);
    return status == TUTTI_AGAIN ? TUTTI_OK : status;
}
