/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs whose ranks are threads: the threads of one process (tutti_threads), or of all processes of
 * a team (tutti_team_threads).
 *
 * A job of the second kind is nested in the job of the team. Rank 0 of the team makes the shared
 * memory of the new job, as a launcher would, and writes into it which ranks are threads of which
 * process. The other processes open that memory by rank 0's descriptor in /proc. The processes
 * agree by collectives on the team, so no process waits for one that dies meanwhile. After that,
 * each thread takes a seat and joins the new job as a process would.
 *
 *     team          rank 0           rank 1      rank 2        processes
 *     new job       0   1   2        3           4   5         threads
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "api/team-make.h"
#include "base/file-id.h"

/* ---- Running threads ---- */

struct thread {
    pthread_t id;
    const struct tt_segment *segment;
    int rank;
    tutti_thread_fn *fn;
    void *arg;
    tutti_client *client;
    tutti_status status;
    char text[512]; /* the error text if the thread could not join or leave the job */
};

static void leave(void *arg)
{
    struct thread *t = arg;
    t->status = tutti_finalize(t->client);
    if (t->status != TUTTI_OK) snprintf(t->text, sizeof t->text, "%s", tutti_error());
}

/* Runs fn. The thread leaves the job when fn returns or calls pthread_exit; otherwise the other
 * ranks would wait for ever for a thread that has ended. */
static void *thread_main(void *arg)
{
    struct thread *t = arg;
    struct tt_seat seat;
    t->status = tt_seat_take(&seat, t->segment, t->rank, 0);
    if (t->status == TUTTI_OK) t->status = tt_client_join(&seat, false, &t->client);
    if (t->status != TUTTI_OK) {
        snprintf(t->text, sizeof t->text, "%s", tutti_error());
        return NULL;
    }
    pthread_cleanup_push(leave, t);
    t->fn(t->client, t->arg);
    pthread_cleanup_pop(1);
    return NULL;
}

/* Starts n threads. Returns how many could be started; the ranks of the other threads are marked as
 * failed. */
static int start_threads(struct thread *threads, int n, tutti_status *status)
{
    int started = 0;
    while (started < n &&
           pthread_create(&threads[started].id, NULL, thread_main, &threads[started]) == 0)
        started++;
    if (started < n) *status = tt_fail(TUTTI_ERR_LIMIT, "cannot start thread %d of %d", started, n);
    for (int i = started; i < n; i++)
        tt_job_fail(tt_segment_page(threads[i].segment), threads[i].rank, TT_CAUSE_STATUS,
                    (int)*status);
    return started;
}

/* Runs fn in n threads, which are the ranks first, first + 1 ... of the segment's job. */
static tutti_status run_threads(const struct tt_segment *segment, int first, int n,
                                tutti_thread_fn *fn, void *arg)
{
    struct thread *threads = tt_calloc((size_t)n, sizeof *threads);
    tutti_status status = TUTTI_OK;
    if (!threads) {
        status = tt_fail(TUTTI_ERR_MEMORY, "no memory for %d threads", n);
        for (int i = 0; i < n; i++)
            tt_job_fail(tt_segment_page(segment), first + i, TT_CAUSE_STATUS, (int)status);
        return status;
    }
    for (int i = 0; i < n; i++)
        threads[i] = (struct thread){.segment = segment, .rank = first + i, .fn = fn, .arg = arg};
    int started = start_threads(threads, n, &status);
    for (int i = 0; i < started; i++) pthread_join(threads[i].id, NULL);
    for (int i = 0; i < started && status == TUTTI_OK; i++)
        if (threads[i].status != TUTTI_OK)
            status = tt_fail(threads[i].status, "%s", threads[i].text);
    tt_free(threads);
    return status;
}

/* ---- Threads of one process ---- */

tutti_status tutti_threads(int n, tutti_thread_fn *fn, void *arg)
{
    struct tt_segment segment;
    if (n < 1 || !fn)
        return tt_fail(TUTTI_ERR_ARG, n < 1 ? "n is %d, not at least 1" : "fn is NULL", n);
    tt_file_occupy_standard();
    TT_TRY(tt_segment_create(&segment, n, true));
    tutti_status status = run_threads(&segment, 0, n, fn, arg);
    tt_segment_close(&segment);
    return status;
}

/* ---- Threads of all processes of a team ---- */

/* The contribution of each process to an allgather: its id and the PID namespace of the id
 * (tt_segment_proc_space), and its number of threads. */
struct brought {
    int64_t pid, space, threads;
};

/* The words that rank 0 sends to the other ranks, by an allreduce to which they contribute zeros
 * (find_greatest): whether it could make the memory, the memory's descriptor, and the stamp by
 * which the other ranks recognise the new job (struct tt_job_page). */
struct offer {
    int64_t status, fd, stamp;
};

/* The most ranks of a job of threads of several processes. */
enum { RANKS_MOST = 1 << 16 };

static tutti_status create(const struct brought *of, int processes, struct tt_segment *segment)
{
    int64_t size = 0;
    int rank = 0;
    for (int i = 0; i < processes; i++) size += of[i].threads;
    if (size > RANKS_MOST)
        return tt_fail(TUTTI_ERR_LIMIT, "%lld threads in all are more than %d", (long long)size,
                       RANKS_MOST);
    TT_TRY(tt_segment_create(segment, (int)size, false));
    struct tt_job_page *job = tt_segment_page(segment);
    job->nested = 1;
    for (int i = 0; i < processes; i++)
        for (int64_t k = 0; k < of[i].threads; k++, rank++) {
            job->rank[rank].process = i;
            tt_segment_set_process(&job->rank[rank], (pid_t)of[i].pid);
        }
    return TUTTI_OK;
}

static tutti_status check_offer(const struct tt_segment *segment, int64_t stamp)
{
    const struct tt_job_page *job = tt_segment_page(segment);
    if (job->nested && job->stamp == stamp) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT,
                   "the memory that rank 0 of the team offers belongs to another job");
}

/* Opens and maps the memory that rank 0 has made. */
static tutti_status attach(const struct offer *offer, int64_t pid, int first,
                           struct tt_segment *segment)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)pid, (long long)offer->fd);
    int fd = tt_file_above_standard(open(path, O_RDWR | O_CLOEXEC));
    if (fd < 0)
        return tt_fail_errno(TUTTI_ERR_BOOT, "cannot open the memory of rank 0 of the team (%s)",
                             path);
    *segment = (struct tt_segment){.fd = -1};
    TT_TRY(tt_segment_attach(segment, fd, first));
    tutti_status status = check_offer(segment, offer->stamp);
    if (status != TUTTI_OK) tt_segment_close(segment);
    return status;
}

/* Sets all[i] to the maximum of mine[i] of all ranks. It serves to find the greatest status of all
 * ranks, and to broadcast the words of rank 0, to which the other ranks contribute 0. */
static tutti_status find_greatest(tutti_team *team, const int64_t *mine, int64_t *all, int64_t n)
{
    return tt_team_step(team, TT_SIGNATURE_THREADS, TT_COLL_allreduce, mine, all, n);
}

/* Returns OK if all ranks have the memory. If this rank has not, returns its error `mine`. If this
 * rank has the memory and another rank has not, returns an error that says that another rank could
 * not get the memory. */
static tutti_status all_have(tutti_team *team, tutti_status mine)
{
    int64_t code = mine, worst;
    char text[256];
    snprintf(text, sizeof text, "%s", mine == TUTTI_OK ? "" : tutti_error());
    TT_TRY(find_greatest(team, &code, &worst, 1));
    if (mine != TUTTI_OK) return tt_fail(mine, "%s", text);
    if (worst == TUTTI_OK) return TUTTI_OK;
    return tt_fail((tutti_status)worst, "another rank could not get the memory of the threads");
}

/* Makes the memory on rank 0 and opens it on the other ranks. After an error, no rank has it. */
static tutti_status share_memory(tutti_team *team, const struct brought *of, int first,
                                 struct tt_segment *segment)
{
    const bool makes = team->run.me == 0;
    struct offer mine = {0}, offer;
    tutti_status status = makes ? create(of, team->run.map.p, segment) : TUTTI_OK;
    bool has = makes && status == TUTTI_OK;
    if (has) mine = (struct offer){0, segment->fd, tt_segment_page(segment)->stamp};
    mine.status = status;
    tutti_status found = find_greatest(team, &mine.status, &offer.status, sizeof offer / 8);
    if (found == TUTTI_OK && !makes && offer.status == TUTTI_OK) {
        status = attach(&offer, of[0].pid, first, segment);
        has = status == TUTTI_OK;
    }
    if (found == TUTTI_OK) found = all_have(team, status);
    if (found != TUTTI_OK && has) tt_segment_close(segment);
    return found;
}

/* Returns UNSUPPORTED if some process cannot refer to the others by the ids that these have
 * brought. All processes have the same of[], so all return the same. */
static tutti_status have_ids(const struct brought *of, int processes)
{
    for (int i = 0; processes > 1 && i < processes; i++)
        if (of[i].space == 0 || of[i].space != of[0].space)
            return tt_fail(TUTTI_ERR_UNSUPPORTED,
                           "the processes of the team are in different PID namespaces, or /proc "
                           "does not show their PID namespace");
    return TUTTI_OK;
}

/* Gets the memory of the new job; *first is the rank of this process' first thread. */
static tutti_status gather(tutti_team *team, const struct brought *mine, struct brought *of,
                           int *first, struct tt_segment *segment)
{
    TT_TRY(tt_team_step(team, TT_SIGNATURE_THREADS, TT_COLL_allgather, mine, of, sizeof *mine / 8));
    TT_TRY(have_ids(of, team->run.map.p));
    int64_t before = 0;
    for (int i = 0; i < team->run.me; i++) before += of[i].threads;
    /* if `before` does not fit in an int, rank 0 refuses to make a job of so many threads */
    *first = (int)before;
    return share_memory(team, of, *first, segment);
}

/* Makes the new job's memory by collectives on the team, with the lock of the client held. */
static tutti_status prepare(tutti_team *team, int n, tutti_thread_fn *fn, int *first,
                            struct tt_segment *segment)
{
    TT_LOCKED(team->client->lock, prepare(team, n, fn, first, segment));
    struct tt_wish wish = {.color = 0};
    struct brought mine = {getpid(), (int64_t)tt_segment_proc_space(), n};
    struct brought *of = tt_calloc((size_t)team->run.map.p, sizeof *of);
    if (n < 1) tt_wish_refuse(&wish, "n is %d, not at least 1", n);
    if (!fn) tt_wish_refuse(&wish, "fn is NULL");
    if (!of) tt_wish_wrong(&wish, tt_fail(TUTTI_ERR_MEMORY, "no memory for the team's processes"));
    if (!tt_map_one_node(&team->run.map))
        tt_wish_wrong(&wish, tt_fail(TUTTI_ERR_UNSUPPORTED, "the team is on several nodes"));
    tt_trace_call_begin(&team->run, TT_SIGNATURE_THREADS, team->run.next);
    tutti_status status = tt_wish_meet(team, TT_SIGNATURE_THREADS, &wish);
    if (status == TUTTI_OK) status = gather(team, &mine, of, first, segment);
    tt_trace_call_end(&team->run, status);
    tt_free(of);
    return status;
}

tutti_status tutti_team_threads(tutti_team *team, int n, tutti_thread_fn *fn, void *arg)
{
    struct tt_segment segment;
    int first;
    TT_TRY_HANDLE(team);
    TT_TRY(prepare(team, n, fn, &first, &segment));
    tutti_status status = run_threads(&segment, first, n, fn, arg);
    tt_segment_close(&segment);
    return status;
}
