/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMIx, by those functions of its client library that answer later. Each request has a reply with
 * two owners: the thread that asked, and the library's thread that answers. Either may release it
 * first. So this file decides how long to wait; servers differ in which of PMIx's own time limits
 * they respect.
 */
#include "boot/pmix.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether TUTTI_PMIX is set to this text. Its value is 0, 1 or the name of the library. */
static bool is_set_to(const char *text)
{
    const char *set = tt_setting("TUTTI_PMIX");
    return set && strcmp(set, text) == 0;
}

bool tt_pmix_there(void)
{
    return tt_setting("PMIX_NAMESPACE") && tt_setting("PMIX_RANK") && !is_set_to("0");
}

#ifdef TT_PMIX
#include <dlfcn.h>
#include <pmix.h>

enum { MAJOR_LEAST = 3 };

/* ---- The library ---- */

#define PMIX_FUNCTIONS(X)                                                                          \
    X(Init) X(Finalize) X(Put) X(Commit) X(Get_nb) X(Fence_nb) X(Error_string) X(Get_version)

static struct {
#define MEMBER(name) __typeof__(PMIx_##name) *name;
    PMIX_FUNCTIONS(MEMBER)
#undef MEMBER
} pmix;

static struct {
    pthread_mutex_t lock;
    bool loaded;
    int users;
    pid_t pid; /* the process that began the session; 0: no process has */
    int size;
    pmix_proc_t me;
    _Atomic bool left;     /* for good, by tt_pmix_leave */
    _Atomic int under_way; /* requests that the library has not answered */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *library_name(void)
{
    const char *set = tt_setting("TUTTI_PMIX");
    return !set || is_set_to("0") || is_set_to("1") ? "libpmix.so.2" : set;
}

static tutti_status without(const char *what, const char *why)
{
    return tt_fail(TUTTI_ERR_BOOT,
                   "%s (%s), so ranks started by mpirun, prun or srun cannot meet: install libpmix "
                   "of version %d or later (Debian: libpmix2), or say where it is by TUTTI_PMIX; "
                   "`tutti run` works without it, and TUTTI_PMIX=0 makes each process a job of one",
                   what, why, MAJOR_LEAST);
}

static const char *find_functions(void *library)
{
#define FIND(name)                                                                                 \
    *(void **)&pmix.name = dlsym(library, "PMIx_" #name);                                          \
    if (!pmix.name) return "it has no PMIx_" #name;
    PMIX_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

/* Returns the first number in "OpenPMIx 4.2.2 (PMIx Standard: ...)". */
static int major_of(const char *text)
{
    const char *digit = strpbrk(text, "0123456789");
    return digit ? atoi(digit) : 0;
}

/* The library is never unloaded, because it has threads of its own. RTLD_GLOBAL: its plug-ins need
 * its symbols. */
static tutti_status load_locked(void)
{
    if (session.loaded) return TUTTI_OK;
    void *library = dlopen(library_name(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!library) return without("PMIx cannot be loaded", dlerror());
    const char *lacks = find_functions(library);
    if (lacks) return without("PMIx's library is too old, or not PMIx's", lacks);
    if (major_of(pmix.Get_version()) < MAJOR_LEAST)
        return without("PMIx's library is too old", pmix.Get_version());
    session.loaded = true;
    return TUTTI_OK;
}

tutti_status tt_pmix_version(const char **text)
{
    pthread_mutex_lock(&session.lock);
    tutti_status status = load_locked();
    if (status == TUTTI_OK) *text = pmix.Get_version();
    pthread_mutex_unlock(&session.lock);
    return status;
}

/* ---- Replies ---- */

struct tt_pmix_reply {
    pthread_mutex_t lock;
    pthread_cond_t came;
    int owners;
    bool done;
    pmix_status_t status;
    void *bytes;
    size_t n;
    /* The arguments of the request. PMIx may read them until it has answered. */
    char key[TT_PMIX_KEY];
    pmix_proc_t who;
};

static struct tt_pmix_reply *reply_new(int owners)
{
    pthread_condattr_t monotonic;
    struct tt_pmix_reply *r = tt_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->owners = owners;
    r->status = PMIX_ERROR;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->came, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return r;
}

static void let_go(struct tt_pmix_reply *r)
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

static void settle(struct tt_pmix_reply *r, pmix_status_t status, const void *bytes, size_t n)
{
    pthread_mutex_lock(&r->lock);
    r->bytes = n ? tt_alloc(n) : NULL;
    if (r->bytes) memcpy(r->bytes, bytes, n);
    r->n = n;
    r->status = n && !r->bytes ? PMIX_ERR_NOMEM : status;
    r->done = true;
    pthread_cond_broadcast(&r->came);
    pthread_mutex_unlock(&r->lock);
    let_go(r);
}

/* Stores the answer to a request. PMIx' thread calls it; if PMIx does not answer, the thread that
 * made the request calls it. */
static void answered(struct tt_pmix_reply *r, pmix_status_t status, const void *bytes, size_t n)
{
    atomic_fetch_sub(&session.under_way, 1);
    settle(r, status, bytes, n);
}

static void got(pmix_status_t status, pmix_value_t *value, void *arg)
{
    struct tt_pmix_reply *r = arg;
    if (status != PMIX_SUCCESS || !value)
        answered(r, status == PMIX_SUCCESS ? PMIX_ERROR : status, NULL, 0);
    else if (value->type == PMIX_BYTE_OBJECT && value->data.bo.bytes)
        answered(r, status, value->data.bo.bytes, value->data.bo.size);
    else if (value->type == PMIX_STRING && value->data.string)
        answered(r, status, value->data.string, strlen(value->data.string));
    else if (value->type == PMIX_UINT32)
        answered(r, status, &value->data.uint32, sizeof value->data.uint32);
    else
        answered(r, PMIX_ERR_TYPE_MISMATCH, NULL, 0);
}

static void fenced(pmix_status_t status, void *arg)
{
    answered(arg, status, NULL, 0);
}

/* Finishes starting a request. PMIx does not call back for a request that it refused or completed
 * at once, so this function stores the answer in that case. */
static struct tt_pmix_reply *begun(struct tt_pmix_reply *r, pmix_status_t status)
{
    if (status == PMIX_SUCCESS) return r;
    answered(r, status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, NULL, 0);
    return r;
}

/* Makes a reply that has its answer already, for use after PMIx was finalized. */
static struct tt_pmix_reply *answer_here(pmix_status_t status, const void *bytes, size_t n)
{
    struct tt_pmix_reply *r = reply_new(2);
    if (r) settle(r, status, bytes, n);
    return r;
}

struct tt_pmix_reply *tt_pmix_known(const void *bytes, size_t n)
{
    return answer_here(n ? PMIX_SUCCESS : PMIX_ERR_UNREACH, bytes, n);
}

struct tt_pmix_reply *tt_pmix_ask(int rank, const char *key)
{
    if (session.left) return answer_here(PMIX_ERR_UNREACH, NULL, 0);
    struct tt_pmix_reply *r = reply_new(2);
    if (!r) return NULL;
    atomic_fetch_add(&session.under_way, 1);
    memcpy(&r->who, &session.me, sizeof r->who);
    r->who.rank = rank < 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)rank;
    snprintf(r->key, sizeof r->key, "%s", key);
    return begun(r, pmix.Get_nb(&r->who, r->key, NULL, 0, got, r));
}

struct tt_pmix_reply *tt_pmix_fence(void)
{
    static const pmix_info_t all = {.key = PMIX_COLLECT_DATA,
                                    .value = {.type = PMIX_BOOL, .data.flag = true}};
    if (session.left) return answer_here(PMIX_ERR_UNREACH, NULL, 0);
    struct tt_pmix_reply *r = reply_new(2);
    if (!r) return NULL;
    atomic_fetch_add(&session.under_way, 1);
    return begun(r, pmix.Fence_nb(NULL, 0, &all, 1, fenced, r));
}

bool tt_pmix_answered(struct tt_pmix_reply *r, int64_t until_ns)
{
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    int late = until_ns <= 0;
    pthread_mutex_lock(&r->lock);
    while (!r->done && !late) late = pthread_cond_timedwait(&r->came, &r->lock, &until);
    bool done = r->done;
    pthread_mutex_unlock(&r->lock);
    return done;
}

bool tt_pmix_lacks(struct tt_pmix_reply *r)
{
    pthread_mutex_lock(&r->lock);
    bool lacks = r->done && r->status == PMIX_ERR_NOT_FOUND;
    pthread_mutex_unlock(&r->lock);
    return lacks;
}

static tutti_status has_left(void)
{
    return tt_fail(TUTTI_ERR_BOOT,
                   "this job has left its launcher (TUTTI_DETACH=1), so its ranks on several hosts "
                   "can make no further client");
}

static tutti_status outcome(const struct tt_pmix_reply *r, void *bytes, size_t room, size_t *n)
{
    if (!r->done) return tt_fail(TUTTI_ERR_BOOT, "the PMIx server does not answer");
    if (r->status != PMIX_SUCCESS && session.left) return has_left();
    if (r->status != PMIX_SUCCESS)
        return tt_fail(TUTTI_ERR_BOOT, "PMIx: %s", pmix.Error_string(r->status));
    if (r->n > room)
        return tt_fail(TUTTI_ERR_BOOT, "PMIx gave %zu bytes for %s, more than %zu", r->n, r->key,
                       room);
    if (r->n) memcpy(bytes, r->bytes, r->n);
    if (n) *n = r->n;
    return TUTTI_OK;
}

tutti_status tt_pmix_end(struct tt_pmix_reply *r, void *bytes, size_t room, size_t *n)
{
    if (!r) return tt_fail(TUTTI_ERR_BOOT, "PMIx could not be asked");
    pthread_mutex_lock(&r->lock);
    tutti_status status = outcome(r, bytes, room, n);
    pthread_mutex_unlock(&r->lock);
    let_go(r);
    return status;
}

tutti_status tt_pmix_put(enum tt_pmix_scope scope, const char *key, const void *bytes, size_t n)
{
    static const pmix_scope_t scopes[] = {
        [TT_PMIX_LOCAL] = PMIX_LOCAL, [TT_PMIX_REMOTE] = PMIX_REMOTE, [TT_PMIX_ALL] = PMIX_GLOBAL};
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {(char *)bytes, n}};
    if (session.left) return has_left();
    pmix_status_t status = pmix.Put(scopes[scope], key, &value);
    if (status == PMIX_SUCCESS) status = pmix.Commit();
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "cannot publish %s: PMIx: %s", key, pmix.Error_string(status));
}

/* ---- The session ---- */

static tutti_status job_size(int *size)
{
    uint32_t n = 0;
    struct tt_pmix_reply *reply = tt_pmix_ask(-1, PMIX_JOB_SIZE);
    if (reply) (void)tt_pmix_answered(reply, tt_clock_ns() + INT64_C(60) * 1000000000);
    TT_TRY(tt_pmix_end(reply, &n, sizeof n, NULL));
    if (n < 1 || n > INT32_MAX || session.me.rank >= n)
        return tt_fail(TUTTI_ERR_BOOT, "PMIx says that rank %u is in a job of %u", session.me.rank,
                       n);
    *size = (int)n;
    return TUTTI_OK;
}

static tutti_status open_locked(void)
{
    TT_TRY(load_locked());
    pmix_status_t status = pmix.Init(&session.me, NULL, 0);
    if (status != PMIX_SUCCESS)
        return tt_fail(TUTTI_ERR_BOOT,
                       "the PMIx server that the environment names is not to be reached (%s); "
                       "TUTTI_PMIX=0 makes this process a job of one",
                       pmix.Error_string(status));
    tutti_status sized = job_size(&session.size);
    if (sized != TUTTI_OK) pmix.Finalize(NULL, 0);
    return sized;
}

/* A process that ends before all of its clients does not end in good order, and the launcher must
 * notice that. A child of the process has no session. */
static void end_session(void)
{
    if (session.users == 0 && session.pid == getpid() && !session.left) pmix.Finalize(NULL, 0);
}

/* Sets `left` before it finalizes PMIx, so that no thread starts a request meanwhile. If a request
 * of another thread is under way, the session continues. */
bool tt_pmix_leave(void)
{
    pthread_mutex_lock(&session.lock);
    session.left = true;
    bool idle = session.under_way == 0;
    if (idle)
        pmix.Finalize(NULL, 0);
    else
        session.left = false;
    pthread_mutex_unlock(&session.lock);
    return idle;
}

/* The session lasts until the process ends: servers do not handle a process well that comes back
 * (barriers and values of such processes get lost). */
static tutti_status begin_locked(void)
{
    if (session.pid) return TUTTI_OK;
    TT_TRY(open_locked());
    session.pid = getpid();
    (void)atexit(end_session);
    return TUTTI_OK;
}

tutti_status tt_pmix_open(int *rank, int *size)
{
    pthread_mutex_lock(&session.lock);
    tutti_status status = begin_locked();
    if (status == TUTTI_OK) session.users++;
    *rank = (int)session.me.rank;
    *size = session.size;
    pthread_mutex_unlock(&session.lock);
    return status;
}

void tt_pmix_close(void)
{
    pthread_mutex_lock(&session.lock);
    session.users--;
    pthread_mutex_unlock(&session.lock);
}

#else

/* Stubs for a build without libpmix. */
static tutti_status not_built(void)
{
    return tt_fail(TUTTI_ERR_BOOT,
                   "this library was built without PMIx (Debian: libpmix-dev), so ranks started by "
                   "mpirun, prun or srun cannot meet; `tutti run` works, and TUTTI_PMIX=0 makes "
                   "each process a job of one");
}

tutti_status tt_pmix_version(const char **text)
{
    *text = NULL;
    return not_built();
}

tutti_status tt_pmix_open(int *rank, int *size)
{
    *rank = *size = 0;
    return not_built();
}

void tt_pmix_close(void)
{
}

bool tt_pmix_leave(void)
{
    return false;
}

struct tt_pmix_reply *tt_pmix_known(const void *bytes, size_t n)
{
    (void)bytes, (void)n;
    return NULL;
}

tutti_status tt_pmix_put(enum tt_pmix_scope scope, const char *key, const void *bytes, size_t n)
{
    (void)scope, (void)key, (void)bytes, (void)n;
    return not_built();
}

struct tt_pmix_reply *tt_pmix_ask(int rank, const char *key)
{
    (void)rank, (void)key;
    return NULL;
}

struct tt_pmix_reply *tt_pmix_fence(void)
{
    return NULL;
}

bool tt_pmix_answered(struct tt_pmix_reply *reply, int64_t until_ns)
{
    (void)reply, (void)until_ns;
    return true;
}

bool tt_pmix_lacks(struct tt_pmix_reply *reply)
{
    (void)reply;
    return false;
}

tutti_status tt_pmix_end(struct tt_pmix_reply *reply, void *bytes, size_t room, size_t *n)
{
    (void)reply, (void)bytes, (void)room, (void)n;
    return not_built();
}
#endif
