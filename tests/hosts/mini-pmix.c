/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of PMIx that Tutti uses, without a server. Data that a rank puts are files in a folder,
 * which MINI_PMIX names, and one of these files counts the fences to which each rank has come. So a
 * job of a few ranks starts in a tenth of the time that mpirun takes (start.c), and hundreds of
 * jobs with ranks that die can be tried. If MINI_PMIX_WITHOUT is set, a fence does not wait for
 * ranks that have died, as with the server of Open MPI. The tests under mpirun cover what else a
 * real server does differently.
 */
#include <fcntl.h>
#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 512, MOST = 65536, WAIT_MS = 60000 };

static const char *folder;
static int me, size;
static _Atomic uint32_t *arrived; /* [r]: number of fences of rank r; [size + r]: its pid */
static uint32_t fences;           /* number of fences of this process */

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void open_count(void)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/arrived", folder);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) abort();
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) abort();
    arrived = at;
    close(fd);
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t n)
{
    (void)info;
    (void)n;
    folder = getenv("MINI_PMIX");
    me = atoi(getenv("PMIX_RANK"));
    size = atoi(getenv("MINI_PMIX_SIZE"));
    open_count();
    atomic_store(&arrived[size + me], (uint32_t)getpid());
    snprintf(proc->nspace, sizeof proc->nspace, "mini");
    proc->rank = (pmix_rank_t)me;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n)
{
    (void)info;
    (void)n;
    return PMIX_SUCCESS;
}

/* Stores the data in a file. The rename makes the file appear only when it is complete. */
pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
    char path[PATH], made[PATH];
    (void)scope;
    snprintf(path, sizeof path, "%s/%d.%s", folder, me, key);
    snprintf(made, sizeof made, "%s/new.%d", folder, me);
    FILE *to = fopen(made, "w");
    if (!to) abort();
    fwrite(value->data.bo.bytes, 1, value->data.bo.size, to);
    if (fclose(to) != 0 || rename(made, path) != 0) abort();
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
    return PMIX_SUCCESS;
}

/* ---- Requests, each answered by a thread ---- */

struct question {
    char path[PATH];
    int ms;          /* the most time that the thread waits for the file */
    uint32_t number; /* number of the fence */
    pmix_value_cbfunc_t got;
    pmix_op_cbfunc_t met;
    void *arg;
};

static void *answer_file(void *arg)
{
    struct question *q = arg;
    static _Thread_local char bytes[MOST];
    FILE *from = NULL;
    for (int ms = 0; ms < q->ms && !(from = fopen(q->path, "r")); ms++) nap();
    if (from) {
        size_t n = fread(bytes, 1, sizeof bytes, from);
        fclose(from);
        pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {bytes, n}};
        q->got(PMIX_SUCCESS, &value, q->arg);
    } else
        q->got(PMIX_ERR_NOT_FOUND, NULL, q->arg);
    free(q);
    return NULL;
}

static int is_dead(int rank)
{
    uint32_t pid = atomic_load(&arrived[size + rank]);
    if (pid == 0 || !getenv("MINI_PMIX_WITHOUT")) return 0;
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (ended.fd < 0) return 1;
    int dead = poll(&ended, 1, 0) > 0;
    close(ended.fd);
    return dead;
}

static void *answer_fence(void *arg)
{
    struct question *q = arg;
    for (int r = 0; r < size; r++)
        while (atomic_load(&arrived[r]) < q->number && !is_dead(r)) nap();
    q->met(PMIX_SUCCESS, q->arg);
    free(q);
    return NULL;
}

static pmix_status_t ask(const struct question *question, void *(*answer)(void *))
{
    pthread_t thread;
    struct question *q = malloc(sizeof *q);
    if (!q) abort();
    *q = *question;
    if (pthread_create(&thread, NULL, answer, q) != 0) abort();
    pthread_detach(thread);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                          size_t n, pmix_value_cbfunc_t got, void *arg)
{
    struct question q = {.ms = WAIT_MS, .got = got, .arg = arg};
    (void)info;
    (void)n;
    if (strcmp(key, PMIX_JOB_SIZE) == 0) {
        pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = (uint32_t)size};
        got(PMIX_SUCCESS, &value, arg);
        return PMIX_SUCCESS;
    }
    if (strncmp(key, "tutti.context", 13) == 0) q.ms = 1;
    snprintf(q.path, sizeof q.path, "%s/%d.%s", folder, (int)proc->rank, key);
    return ask(&q, answer_file);
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                            size_t n, pmix_op_cbfunc_t met, void *arg)
{
    struct question q = {.number = ++fences, .met = met, .arg = arg};
    (void)procs;
    (void)nprocs;
    (void)info;
    (void)n;
    atomic_fetch_add(&arrived[me], 1);
    return ask(&q, answer_fence);
}

/* There is no server that could end, so there are no events. */
pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes, pmix_info_t info[],
                                          size_t n, pmix_notification_fn_t handle,
                                          pmix_hdlr_reg_cbfunc_t registered, void *arg)
{
    (void)codes, (void)ncodes, (void)info, (void)n, (void)handle;
    registered(PMIX_SUCCESS, 0, arg);
    return PMIX_SUCCESS;
}

const char *PMIx_Error_string(pmix_status_t status)
{
    return status == PMIX_ERR_NOT_FOUND ? "NOT-FOUND" : "another status";
}

const char *PMIx_Get_version(void)
{
    return "OpenPMIx 4.2.2 (a small one, for tests)";
}
