/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The provider of the directory that uses PMIx. It calls the nonblocking functions of PMIx' client
 * library (PMIx_Get_nb, PMIx_Fence_nb), so that the caller decides how long to wait: servers differ
 * in which of PMIx's own time limits they respect. Each request has a reply with two owners: the
 * thread that asked, and the library's thread that answers. Either may release the reply first.
 */
#include "boot/pmix.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns whether TUTTI_PMIX is set to this text. The setting is 0, 1 or the name of the
 * library. */
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

#include "base/signals.h"

enum { MAJOR_LEAST = 3 };

/* ---- The library ---- */

#define PMIX_FUNCTIONS(X)                                                                          \
    X(Init)                                                                                        \
    X(Finalize)                                                                                    \
    X(Put)                                                                                         \
    X(Commit)                                                                                      \
    X(Get_nb)                                                                                      \
    X(Fence_nb)                                                                                    \
    X(Register_event_handler)                                                                      \
    X(Error_string)                                                                                \
    X(Get_version)

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
    _Atomic bool left;     /* the session is finalized for good, by pmix_leave */
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
                   "of version %d or later (Debian: libpmix2), or set TUTTI_PMIX to its path; "
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

/* Loads libpmix. It is never unloaded, because it has threads of its own. It is loaded with
 * RTLD_GLOBAL, because its plug-ins need its symbols. */
static tutti_status load_locked(void)
{
    if (session.loaded) return TUTTI_OK;
    const char *lacks = NULL;
    void *library = tt_library_load(library_name(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE, &lacks);
    if (!library) return without("PMIx cannot be loaded", lacks);
    lacks = find_functions(library);
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

/* ---- Requests ---- */

/* A request to PMIx. It lasts until PMIx has answered, because PMIx may read the arguments until
 * then. */
struct pmix_request {
    struct tt_reply *reply;
    char key[TT_DIRECTORY_KEY];
    pmix_proc_t who;
};

#define LEFT                                                                                       \
    "this job has left its launcher (TUTTI_DETACH=1), so its ranks on several hosts can make no "  \
    "further client"

/* Stores the answer to a request and frees the request. The thread of PMIx that answers calls this
 * function; if PMIx refuses the request at once, the thread that made the request calls it. */
static void answered(struct pmix_request *r, pmix_status_t status, const void *bytes, size_t n)
{
    atomic_fetch_sub(&session.under_way, 1);
    tt_reply_settle(r->reply, "PMIx: ", status == PMIX_SUCCESS ? NULL : pmix.Error_string(status),
                    status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT, bytes, n);
    tt_free(r);
}

/* Makes a request for a value of `rank`, or of the whole job if `rank` is negative, and counts the
 * request as under way. NULL: no memory. */
static struct pmix_request *request_new(int rank, const char *key)
{
    struct pmix_request *r = tt_calloc(1, sizeof *r);
    if (r) r->reply = tt_reply_new(key);
    if (!r || !r->reply) {
        tt_free(r);
        return NULL;
    }
    atomic_fetch_add(&session.under_way, 1);
    memcpy(&r->who, &session.me, sizeof r->who);
    r->who.rank = rank < 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)rank;
    snprintf(r->key, sizeof r->key, "%s", key);
    return r;
}

static void got(pmix_status_t status, pmix_value_t *value, void *arg)
{
    struct pmix_request *r = arg;
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

/* Finishes starting a request: PMIx does not call back for a request that it refused or completed
 * at once, so this function stores the answer in that case. */
static struct tt_reply *begun(struct pmix_request *r, struct tt_reply *reply, pmix_status_t status)
{
    if (status == PMIX_SUCCESS) return reply;
    answered(r, status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, NULL, 0);
    return reply;
}

/* This attribute may be passed to any version of PMIx: PMIx 3 does not know it, and ignores unknown
 * attributes that are not marked as required. */
#ifndef PMIX_GET_REFRESH_CACHE
#define PMIX_GET_REFRESH_CACHE "pmix.get.refresh"
#endif

static struct tt_reply *pmix_ask(int rank, const char *key, bool anew)
{
    static const pmix_info_t refresh = {.key = PMIX_GET_REFRESH_CACHE,
                                        .value = {.type = PMIX_BOOL, .data.flag = true}};
    if (session.left) return tt_reply_known("", LEFT, false, NULL, 0);
    struct pmix_request *r = request_new(rank, key);
    if (!r) return NULL;
    struct tt_reply *reply = r->reply; /* *r may be freed before Get_nb returns */
    return begun(r, reply, pmix.Get_nb(&r->who, r->key, anew ? &refresh : NULL, anew, got, r));
}

/* The barrier must collect values: with some launchers (Slurm), in a barrier that collects nothing
 * the ranks of a host wait only for each other. */
static struct tt_reply *pmix_fence(void)
{
    static const pmix_info_t all = {.key = PMIX_COLLECT_DATA,
                                    .value = {.type = PMIX_BOOL, .data.flag = true}};
    if (session.left) return tt_reply_known("", LEFT, false, NULL, 0);
    struct pmix_request *r = request_new(-1, "a fence");
    if (!r) return NULL;
    struct tt_reply *reply = r->reply;
    return begun(r, reply, pmix.Fence_nb(NULL, 0, &all, 1, fenced, r));
}

static tutti_status pmix_put(enum tt_scope scope, const char *key, const void *bytes, size_t n)
{
    static const pmix_scope_t scopes[] = {[TT_SCOPE_LOCAL] = PMIX_LOCAL,
                                          [TT_SCOPE_REMOTE] = PMIX_REMOTE,
                                          [TT_SCOPE_ALL] = PMIX_GLOBAL};
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {(char *)bytes, n}};
    if (session.left) return tt_fail(TUTTI_ERR_BOOT, LEFT);
    pmix_status_t status = pmix.Put(scopes[scope], key, &value);
    if (status == PMIX_SUCCESS) status = pmix.Commit();
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "cannot publish %s: PMIx: %s", key, pmix.Error_string(status));
}

/* ---- The end of the launcher ----
 *
 * If the launcher of this host ends before its ranks, nothing else ends them. So the library ends
 * the process when its connection to the launcher breaks, as Open MPI does, and in the same way as
 * `tutti run` ends ranks: by SIGTERM, which the program may handle, and then by SIGKILL. */

/* The event that the connection to the server is lost: from PMIx 4 on, and in PMIx 3. Headers of
 * one version may lack the name of the other. */
#ifndef PMIX_ERR_LOST_CONNECTION
#define PMIX_ERR_LOST_CONNECTION (-61)
#endif
#ifndef PMIX_ERR_LOST_CONNECTION_TO_SERVER
#define PMIX_ERR_LOST_CONNECTION_TO_SERVER (-101)
#endif

/* The time from SIGTERM to SIGKILL. */
static const struct timespec asked_for = {.tv_sec = 1};

static void *kill_later(void *arg)
{
    nanosleep(&asked_for, NULL);
    kill(getpid(), SIGKILL);
    return arg;
}

/* Sends SIGTERM to this process, and starts a thread that sends SIGKILL later; without such a
 * thread, sends SIGKILL at once. This runs in the thread of PMIx and returns, because the program's
 * handler of SIGTERM may use PMIx. All signals stay blocked in the thread of PMIx and in the new
 * thread, so the program's handlers run in neither of them. SIGPIPE is blocked, too, and does not
 * end the process if the launcher was the reader of stderr. */
static void end_process(void)
{
    pthread_t killer;
    sigset_t before;
    tt_signals_block(&before);
    bool later = pthread_create(&killer, NULL, kill_later, NULL) == 0;
    tt_log_error("the launcher has ended, so this rank ends, too");
    kill(getpid(), later ? SIGTERM : SIGKILL);
}

/* PMIx calls this function when a connection is lost: that to the server, unless `source` is
 * another rank of this job. After pmix_leave the process goes on without the launcher. */
static void lost_connection(size_t id, pmix_status_t event, const pmix_proc_t *source,
                            pmix_info_t info[], size_t n, pmix_info_t results[], size_t nresults,
                            pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    (void)id, (void)event, (void)info, (void)n, (void)results, (void)nresults;
    bool is_rank = source && strcmp(source->nspace, session.me.nspace) == 0;
    if (!is_rank && !session.left) end_process();
    if (done) done(PMIX_SUCCESS, NULL, 0, NULL, NULL, arg);
}

static void registered(pmix_status_t status, size_t id, void *arg)
{
    (void)id, (void)arg;
    if (status != PMIX_SUCCESS && tt_log_on(TT_LOG_boot))
        tt_log("the end of the launcher will not be noticed: PMIx: %s", pmix.Error_string(status));
}

/* Lets PMIx call lost_connection when the launcher ends. Does not wait until the server has
 * confirmed this. */
static void watch_server(void)
{
    static pmix_status_t lost[] = {PMIX_ERR_LOST_CONNECTION, PMIX_ERR_LOST_CONNECTION_TO_SERVER};
    pmix_status_t status = pmix.Register_event_handler(lost, sizeof lost / sizeof lost[0], NULL, 0,
                                                       lost_connection, registered, NULL);
    if (status != PMIX_SUCCESS) registered(status, 0, NULL);
}

/* ---- The session ---- */

static tutti_status job_size(int *size)
{
    uint32_t n = 0;
    struct tt_reply *reply = pmix_ask(-1, PMIX_JOB_SIZE, false);
    if (reply) (void)tt_reply_answered(reply, tt_clock_ns() + INT64_C(60) * 1000000000);
    TT_TRY(tt_reply_end(reply, &n, sizeof n, NULL));
    if (n < 1 || n > INT32_MAX || session.me.rank >= n)
        return tt_fail(TUTTI_ERR_BOOT, "PMIx says that rank %u is in a job of %u", session.me.rank,
                       n);
    *size = (int)n;
    return TUTTI_OK;
}

static tutti_status open_locked(void)
{
    TT_TRY(load_locked());
    sigset_t before;
    tt_signals_block(&before); /* PMIx starts a thread */
    pmix_status_t status = pmix.Init(&session.me, NULL, 0);
    tt_signals_restore(&before);
    if (status != PMIX_SUCCESS)
        return tt_fail(TUTTI_ERR_BOOT,
                       "the PMIx server that the environment names cannot be reached (%s); "
                       "TUTTI_PMIX=0 makes this process a job of one",
                       pmix.Error_string(status));
    watch_server();
    tutti_status sized = job_size(&session.size);
    if (sized != TUTTI_OK) pmix.Finalize(NULL, 0);
    return sized;
}

/* Finalizes PMIx when the process ends. If the process still has clients, its end is abnormal; PMIx
 * is not finalized in this case, so that the launcher notices the abnormal end. A forked child of
 * the process has no session. */
static void end_session(void)
{
    if (session.users == 0 && session.pid == getpid() && !session.left) pmix.Finalize(NULL, 0);
}

/* Sets `left` before it finalizes PMIx, so that no thread starts a request meanwhile. If a request
 * of another thread is under way, the session continues. */
static bool pmix_leave(void)
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

/* Begins the session if there is none. The session lasts until the process ends, because servers
 * lose the barriers and values of a process that finalizes PMIx and begins a new session. */
static tutti_status begin_locked(void)
{
    if (session.pid) return TUTTI_OK;
    TT_TRY(open_locked());
    session.pid = getpid();
    (void)atexit(end_session);
    return TUTTI_OK;
}

static tutti_status pmix_open(int *rank, int *size)
{
    pthread_mutex_lock(&session.lock);
    tutti_status status = begin_locked();
    if (status == TUTTI_OK) session.users++;
    *rank = (int)session.me.rank;
    *size = session.size;
    pthread_mutex_unlock(&session.lock);
    return status;
}

static void pmix_close(void)
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

static tutti_status pmix_open(int *rank, int *size)
{
    *rank = *size = 0;
    return not_built();
}

static void pmix_close(void)
{
}

static bool pmix_leave(void)
{
    return false;
}

static tutti_status pmix_put(enum tt_scope scope, const char *key, const void *bytes, size_t n)
{
    (void)scope, (void)key, (void)bytes, (void)n;
    return not_built();
}

static struct tt_reply *pmix_ask(int rank, const char *key, bool anew)
{
    (void)rank, (void)key, (void)anew;
    return NULL;
}

static struct tt_reply *pmix_fence(void)
{
    return NULL;
}
#endif

const struct tt_directory tt_directory_pmix = {.at_once = true,
                                               .open = pmix_open,
                                               .close = pmix_close,
                                               .leave = pmix_leave,
                                               .put = pmix_put,
                                               .ask = pmix_ask,
                                               .fence = pmix_fence};
