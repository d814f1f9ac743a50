/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank joins a client, in three rounds. Each round has a counter in the memory that the ranks
 * of the client share; a round ends when all ranks have added 1 to its counter.
 *
 * - Round one: every rank publishes its pid and the address of its probe word, and rank 0 publishes
 *   the machine model and the wisdom.
 * - Round two: each rank tries to read and write the probe words of all ranks, and records what it
 *   cannot do. After this round all ranks know, and agree, whether the ranks can access each
 *   other's buffers.
 * - Round three: the first rank of the node publishes the cost of reading another rank's buffer,
 *   and each rank publishes whether it needs a fence after every signal (job/wait.h).
 *
 * In a job on several nodes, the ranks of each node go through these rounds, and after that the
 * nodes agree (machines.h).
 */
#include "boot/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/file-id.h"
#include "boot/machines.h"
#include "boot/pmix.h"
#include "boot/records.h"
#include "boot/watch.h"
#include "fabric/waiting.h"

/* How long this rank waits for an answer of the PMIx server before it goes on with other work. Most
 * answers take a few milliseconds. */
#define ANSWER_NS INT64_C(50000000)
/* The pause before this rank asks again for a value that the server does not have yet. If it asks
 * for the address of a context, the pauses grow from AGAIN_NS to PAUSE_MOST_NS. */
#define AGAIN_NS INT64_C(2000000)
#define PAUSE_MOST_NS INT64_C(500000000)

/* The word that other ranks read and write to find out whether they can access the memory of this
 * process; 0: no rank of this process has published it. */
static _Atomic uint64_t probe_word;

static tutti_status setting_in(const char *name, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    const char *text = tt_setting(name);
    if (!text) return tt_fail(TUTTI_ERR_BOOT, "TUTTI_JOB is set but %s is not", name);
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (errno == 0 && *end == 0 && *value >= least && *value <= most) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "%s=%s is not a number from %lld to %lld", name, text,
                   (long long)least, (long long)most);
}

/* Checks that the job's memory was made by the version of Tutti to which this process is linked; if
 * not, marks the rank as failed. Records the rank's version first, so that the launcher can print
 * it. */
static tutti_status same_version(struct tt_job_page *job, int64_t me)
{
    char *mine = job->rank[me].version;
    tt_version(mine);
    if (strncmp(job->version, mine, sizeof job->version) == 0) return TUTTI_OK;
    tt_job_fail(job, (int)me, TT_CAUSE_STATUS, TUTTI_ERR_VERSION);
    return tt_fail(
        TUTTI_ERR_VERSION,
        "the job was started by version %.23s, this rank is linked to version %s: use the "
        "command and the library of the same build",
        job->version, mine);
}

static tutti_status fits(struct tt_job_page *job, int64_t size, int64_t me)
{
    if (job->size == size) return same_version(job, me);
    return tt_fail(TUTTI_ERR_BOOT, "TUTTI_SIZE=%lld, but the job in TUTTI_JOB has %d ranks",
                   (long long)size, job->size);
}

/* ---- This process in the job that it was launched into ---- */

/* The clients of a rank share the mapping of the job's memory, which exists while users > 0. The
 * clients also share the descriptor of this memory and the book-keeping of the rank's arena. Both
 * last as long as the process, because other ranks may use memory that a client has left behind,
 * and because the process may make more clients. The lock protects all fields. */
static struct {
    pthread_mutex_t lock;
    struct tt_segment segment;
    int rank;
    pid_t pid;     /* the process that has joined the job; 0: none has */
    int users;     /* the number of clients that exist or are being made */
    int made;      /* the number of the next client */
    bool is_child; /* this process was forked by the process that has joined the job */
    /* the error because of which this process can never join the job, or OK */
    tutti_status refused;
    char refused_text[192];
} launched = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Reads this rank's number, and the descriptor and size of the job, from the environment. */
static tutti_status read_place(int64_t *fd, int64_t *size)
{
    int64_t me;
    TT_TRY(setting_in("TUTTI_JOB", 0, INT32_MAX, fd));
    TT_TRY(setting_in("TUTTI_SIZE", 1, INT32_MAX, size));
    TT_TRY(setting_in("TUTTI_RANK", 0, *size - 1, &me));
    launched.rank = (int)me;
    return TUTTI_OK;
}

static bool is_closed(int64_t fd)
{
    return fcntl((int)fd, F_GETFD) < 0 && errno == EBADF;
}

static tutti_status was_closed(int64_t fd)
{
    return tt_fail(TUTTI_ERR_BOOT,
                   "descriptor %lld, which TUTTI_JOB names as the job's memory, is closed: a "
                   "process between `tutti run` and this program has closed it (in Python, "
                   "subprocess does so without close_fds=False); if another launcher started this "
                   "program, unset TUTTI_JOB, TUTTI_RANK and TUTTI_SIZE for it",
                   (long long)fd);
}

/* Ignores TUTTI_JOB if its descriptor is closed and a launcher with PMIx has started this process.
 * Then `tutti run` has started the launcher as a rank, and the launcher has passed on the
 * environment, but not the descriptor, as mpirun does. */
static void leave_outer_job(void)
{
    int64_t fd, size;
    if (!tt_setting("TUTTI_JOB") || !tt_pmix_there() || read_place(&fd, &size) != TUTTI_OK) return;
    if (!is_closed(fd)) return;
    tt_setting_ignore("TUTTI_JOB");
    if (strcmp(tt_setting("PMIX_RANK"), "0") == 0)
        tt_warn("TUTTI_JOB is ignored, because its descriptor %lld is closed: the ranks join the "
                "job of the launcher with PMIx that `tutti run` has started",
                (long long)fd);
}

/* Returns whether the launcher has recorded that the process which it started as this rank has
 * ended. If so, this process is one that the ended process has left behind. */
static bool is_left_behind(const struct tt_job_page *job, int rank)
{
    const struct tt_rank_status *its = &job->rank[rank].rank_status;
    enum tt_cause cause = tt_rank_cause(its);
    return atomic_load(&its->state) == TT_RANK_FAILED &&
           (cause == TT_CAUSE_SIGNAL || cause == TT_CAUSE_EXIT || cause == TT_CAUSE_ABSENT);
}

static tutti_status left_behind(int rank)
{
    return tt_fail(TUTTI_ERR_BOOT,
                   "the process that was started as rank %d has ended, and this is another one, "
                   "which it left behind by daemon() or fork(): this process cannot join the job",
                   rank);
}

/* Marks the rank as joined, or fails if a process has joined as this rank before. Only one process
 * may ever be a rank, because a second process would not know what the first process has left in
 * the rank's arena. */
static tutti_status be_first(struct tt_job_page *job)
{
    uint32_t absent = TT_RANK_ABSENT;
    struct tt_rank_status *rank_status = &job->rank[launched.rank].rank_status;
    if (atomic_compare_exchange_strong(&rank_status->state, &absent, TT_RANK_JOINED))
        return TUTTI_OK;
    if (is_left_behind(job, launched.rank)) return left_behind(launched.rank);
    return tt_fail(TUTTI_ERR_BOOT, "rank %d has joined this job before", launched.rank);
}

static tutti_status make_store(void)
{
    tutti_status status = tt_store_new(&launched.segment.store);
    if (status != TUTTI_OK)
        tt_job_fail(tt_segment_page(&launched.segment), launched.rank, TT_CAUSE_STATUS,
                    (int)status);
    return status;
}

/* Maps the job's memory for the first time: from the launcher's descriptor, or the memory that the
 * ranks of this node make themselves. */
static tutti_status map_first(void)
{
    int64_t fd, size;
    if (tt_directory_is_gathered() || !tt_setting("TUTTI_JOB")) {
        TT_TRY(tt_machines_attach(&launched.segment, &launched.rank));
        return same_version(tt_segment_page(&launched.segment), launched.rank);
    }
    TT_TRY(read_place(&fd, &size));
    if (is_closed(fd)) return was_closed(fd);
    TT_TRY(tt_segment_attach(&launched.segment, (int)fd, launched.rank));
    return fits(tt_segment_page(&launched.segment), size, launched.rank);
}

/* Makes all later calls of tutti_init in this process fail with this status and with the error text
 * of the call that has just failed (tutti_error). */
static void refuse_later(tutti_status status)
{
    launched.refused = status;
    snprintf(launched.refused_text, sizeof launched.refused_text, "%s", tutti_error());
}

static tutti_status take_place(void)
{
    tutti_status status = map_first();
    if (status != TUTTI_OK && !launched.segment.base) return status;
    if (status == TUTTI_OK) status = be_first(tt_segment_page(&launched.segment));
    if (status == TUTTI_OK) status = make_store();
    if (status == TUTTI_OK) {
        launched.pid = getpid();
        return TUTTI_OK;
    }
    refuse_later(status);
    tt_machines_leave(status);
    tt_segment_close(&launched.segment);
    return tt_fail(status, "%s", launched.refused_text);
}

static tutti_status map_job(void)
{
    if (launched.refused != TUTTI_OK) return tt_fail(launched.refused, "%s", launched.refused_text);
    if (launched.pid == 0) return take_place();
    if (launched.is_child || launched.pid != getpid())
        return tt_fail(TUTTI_ERR_ARG,
                       "this process is a child of the one that joined the job: start a program "
                       "by execve, or call tutti_init only in the parent");
    if (launched.segment.base) return TUTTI_OK;
    if (tt_segment_file(&launched.segment) < 0)
        return tt_fail_errno(
            TUTTI_ERR_BOOT, "this process cannot join again: it closed the descriptor of the job's "
                            "memory");
    TT_TRY(tt_machines_return());
    tutti_status status = tt_segment_attach(&launched.segment, launched.segment.fd, launched.rank);
    if (launched.segment.fd < 0) refuse_later(status);
    return status;
}

/* Unmaps the job's memory if this process has no client left, and ends its use of PMIx. `status` is
 * the status with which the last client ended. */
static void unmap(tutti_status status)
{
    if (launched.users > 0 || !launched.segment.base) return;
    tt_machines_leave(status);
    tt_segment_unmap(&launched.segment);
}

static tutti_status attach_launched(struct tt_seat *seat)
{
    TT_TRY(map_job());
    tutti_status status = tt_seat_take(seat, &launched.segment, launched.rank, launched.made++);
    launched.users += status == TUTTI_OK;
    unmap(status);
    return status;
}

void tt_boot_detach(struct tt_seat *seat, tutti_status status)
{
    if (!seat->segment.store) {
        tt_segment_close(&seat->segment);
        return;
    }
    tt_records_hide(seat->number);
    pthread_mutex_lock(&launched.lock);
    launched.users--;
    unmap(status);
    pthread_mutex_unlock(&launched.lock);
}

/* Launchers that start processes without PMIx. Their variables hold the number of processes and the
 * number of this process. PMI_SIZE and PMI_RANK are those of PMI-1 and PMI-2, older protocols than
 * PMIx, which the mpiexec of MPICH and its relatives speak (Hydra). */
static const struct old_launcher {
    const char *size, *rank, *name, *instead;
} old_launchers[] = {
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", "srun --mpi=pmix"},
    {"PMI_SIZE", "PMI_RANK", "mpiexec, MPICH's or one like it,",
     "Open MPI's mpirun, prun or `tutti run`"},
};

/* Returns the launcher if this process is the first of several that it started without PMIx, so
 * that each of them is a job of one rank; else NULL. */
static const struct old_launcher *first_of_many(void)
{
    for (size_t i = 0; i < sizeof old_launchers / sizeof *old_launchers; i++) {
        const struct old_launcher *l = &old_launchers[i];
        const char *ranks = tt_setting(l->size), *me = tt_setting(l->rank);
        if (ranks && atoi(ranks) > 1 && me && strcmp(me, "0") == 0) return l;
    }
    return NULL;
}

void tt_boot_warn_of_many(const char *each)
{
    if (tt_setting("PMIX_RANK") || tt_setting("TUTTI_PMIX")) return;
    const struct old_launcher *launcher = first_of_many();
    if (launcher)
        tt_warn("%s started %s processes without PMIx, so each %s: use %s, or TUTTI_PMIX=0 if you "
                "want such jobs",
                launcher->name, tt_setting(launcher->size), each, launcher->instead);
}

/* Warns if only a part of the variables that a launcher sets is set, or if a launcher started this
 * process without PMIx. In both cases the user probably wanted one job of many ranks, and not many
 * jobs of one rank. */
static void warn_alone(void)
{
    const char *set = tt_setting("TUTTI_RANK")   ? "TUTTI_RANK"
                      : tt_setting("TUTTI_SIZE") ? "TUTTI_SIZE"
                                                 : NULL;
    if (set) tt_warn("%s is set but TUTTI_JOB is not: ignored, this is a job of one rank", set);
    if (!set) tt_boot_warn_of_many("is a job of one rank");
}

static tutti_status boot_alone(struct tt_seat *seat)
{
    struct tt_segment segment;
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&warned)) warn_alone();
    TT_TRY(tt_segment_create(&segment, 1, true));
    return tt_seat_take(seat, &segment, 0, 0);
}

/* Runs in a child process after a fork. Another thread of the parent may have held the lock, so the
 * child initializes the lock again. The child needs a probe word of its own if it joins a job. */
static void in_child(void)
{
    pthread_mutex_init(&launched.lock, NULL);
    atomic_store(&probe_word, 0);
    launched.is_child = launched.pid != 0;
}

static void handle_forks(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* Makes the caller's allgather the directory of this process (directory.h). Returns an error if the
 * process has joined another job before, because a process belongs to one job. */
static tutti_status take_gather(const struct tt_gather *gather)
{
    bool has_joined = launched.pid != 0, gathered = tt_directory_is_gathered();
    if (launched.is_child || (!gather && !(has_joined && gathered))) return TUTTI_OK;
    if (!gather)
        return tt_fail(TUTTI_ERR_ARG, "this process has joined a job by tutti_init_with: make "
                                      "further clients by tutti_init_with, too");
    if (has_joined && !gathered)
        return tt_fail(TUTTI_ERR_ARG, "this process has joined a job by tutti_init: make further "
                                      "clients by tutti_init, too");
    if (has_joined && tt_directory_differs(gather))
        return tt_fail(TUTTI_ERR_ARG,
                       "rank %d of %d: this process has joined its job as another rank, or with "
                       "another number of ranks",
                       gather->rank, gather->size);
    tt_directory_gather(gather);
    return TUTTI_OK;
}

/* Holds the lock until the seat is taken, because the seats of a rank must be taken in the order of
 * the clients' numbers. */
tutti_status tt_boot_attach(struct tt_seat *seat, const struct tt_gather *gather)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, handle_forks);
    tt_file_occupy_standard();
    pthread_mutex_lock(&launched.lock);
    if (!gather && !launched.pid) leave_outer_job();
    bool alone = !gather && !launched.pid && !tt_setting("TUTTI_JOB") && !tt_pmix_there();
    tutti_status status = take_gather(gather);
    if (status == TUTTI_OK && !alone) status = attach_launched(seat);
    pthread_mutex_unlock(&launched.lock);
    return alone && status == TUTTI_OK ? boot_alone(seat) : status;
}

/* ---- The cost of reading another rank's buffer (fabric.h) ----
 *
 * The first rank of the node writes a block, the second rank reads it, and the first rank publishes
 * the cost. */

/* Returns whether the cost is measured and this rank has the number `arena` among the ranks of its
 * node. */
static bool measures_as(const struct tt_fabric *f, int arena)
{
    return !f->mapped && f->job->arenas > 1 && f->job->rank[f->me].arena == arena;
}

static void begin_cost(struct tt_fabric *f)
{
    int64_t at;
    if (!measures_as(f, 0)) return;
    /* If there is no memory for the block, the cost is not measured. */
    if (tt_arena_alloc(&f->arena, TT_COST_BYTES, &at) != TUTTI_OK) return;
    tt_cost_begin(tt_fabric_at(f, at));
    atomic_store(&f->common->block, at);
}

static void take_cost(struct tt_fabric *f)
{
    int64_t at = atomic_load(&f->common->block);
    if (!at || !measures_as(f, 1)) return;
    struct tt_taking taking = tt_cost_take(tt_fabric_at(f, at));
    atomic_store(&f->common->taking_stored, taking.stored);
    atomic_store(&f->common->taking_streamed, taking.streamed);
}

static void end_cost(struct tt_fabric *f)
{
    if (f->job->rank[f->me].arena != 0) return;
    int64_t at = atomic_load(&f->common->block);
    struct tt_taking taking = {atomic_load(&f->common->taking_stored),
                               atomic_load(&f->common->taking_streamed)};
    struct tt_cost cost = {.times = 1, .stored_times = 1, .percent = 100};
    if (!f->mapped) cost = tt_cost_end(at ? tt_fabric_at(f, at) : NULL, taking);
    atomic_store(&f->common->read_cost, cost.times);
    atomic_store(&f->common->read_stored_cost, cost.stored_times);
    atomic_store(&f->common->read_percent, cost.percent);
    atomic_store(&f->common->streams, cost.streams);
    atomic_store(&f->common->stores_slow, cost.stores_slow);
    if (at) (void)tt_arena_free(&f->arena, at);
}

/* ---- The machine model and the wisdom ---- */

/* Asks the kernel for what is not known of the link. Nodes of TUTTI_NODES are parts of one machine,
 * whose links do not connect them. */
static void complete_link(const struct tt_fabric *f, struct tt_machine_link *link)
{
    if (f->job->nodes == 1 || tt_setting("TUTTI_NODES")) return;
    if (link->mbit > 0 && link->start_ns > 0) return;
    struct tt_machine_link kernel = tt_link_read("/sys/class");
    if (link->mbit == 0 && !tt_setting("TUTTI_LINK_MBIT")) link->mbit = kernel.mbit;
    if (link->start_ns == 0) link->start_ns = kernel.start_ns;
}

/* Reads the files of the machine model and the wisdom on rank 0, and publishes their contents for
 * the ranks of the node. */
static void begin_machine(struct tt_fabric *f)
{
    char why[TT_MACHINE_WHY], link[TT_LINK_TEXT];
    if (f->me != 0 || f->size == 1) return;
    struct tt_machine_in_force *machine = &f->common->machine;
    tt_machine_decide(machine, f->measure_machine, why);
    complete_link(f, &machine->link);
    f->common->wisdom = f->wisdom;
    if (!tt_log_on(TT_LOG_boot)) return;
    if (f->wisdom.n > 0) tt_log("%u lines of wisdom are in force", (unsigned)f->wisdom.n);
    if (machine->link.mbit > 0)
        tt_log("a machine's link to other machines has %s", tt_link_print(&machine->link, link));
    if (machine->measures) tt_log("the first calls of a shape measure algorithms");
    if (machine->use == TT_MACHINE_UNKNOWN)
        tt_log("there is no model of this machine: %s", why);
    else
        tt_log("the model of this machine is known; %s chooses algorithms",
               machine->use == TT_MACHINE_ESTIMATE ? "its estimate" : "the table");
}

/* ---- Rankings ----
 *
 * The first rank of each node reads the file of rankings as soon as it knows the machine model, and
 * shares the rankings. The other ranks copy them when all ranks have met. */

/* Reads the rankings into shared memory, which is freed with the client's other memory (arena.h).
 * If there is no shared memory, all ranks of the node begin without rankings. */
static void share_rankings(struct tt_fabric *f, const struct tt_machine_in_force *machine)
{
    int64_t at;
    if (machine->use != TT_MACHINE_ESTIMATE || !f->load_rankings) return;
    if (tt_arena_alloc(&f->arena, sizeof(struct tt_rankings), &at) != TUTTI_OK) return;
    f->load_rankings(&machine->model, f->size, tt_fabric_at(f, at));
    atomic_store(&f->common->rankings, at);
}

/* Copies the rankings that the first rank of the node has shared. If this rank has no memory for
 * the copy, it returns an error: without the rankings it might choose other algorithms than the
 * other ranks. */
static tutti_status take_rankings(struct tt_fabric *f)
{
    if (f->machine.use != TT_MACHINE_ESTIMATE || f->size == 1) return TUTTI_OK;
    f->rankings = tt_calloc(1, sizeof *f->rankings);
    if (!f->rankings) return tt_fail(TUTTI_ERR_MEMORY, "no memory for rankings of algorithms");
    int64_t at = atomic_load(&f->common->rankings);
    if (at) memcpy(f->rankings, tt_fabric_at(f, at), sizeof *f->rankings);
    tt_assert(tt_rankings_valid(f->rankings));
    return TUTTI_OK;
}

/* ---- Warnings about settings ----
 *
 * Each rank checks its own environment before the ranks meet. The ranks count how many of them have
 * the same warning, and the lowest of these prints the warning, once for the job. If several ranks
 * are threads of one process, the first of them that checks does so for all. */

/* Returns the id of a warning, a hash of its text. The id is never 0. */
static uint64_t id_of(const char *text)
{
    return tt_hash(TT_HASH_BEGIN, text, strlen(text)) | 1;
}

static void collect(void *arg, const char *text)
{
    struct tt_fabric *f = arg;
    if (f->warnings.n == TT_WARNINGS) return;
    f->warnings.warning[f->warnings.n++] = (struct tt_warning){id_of(text), f->me, 0};
}

static void collect_warnings(struct tt_fabric *f)
{
    static atomic_flag looked = ATOMIC_FLAG_INIT;
    if (f->check_settings && !atomic_flag_test_and_set(&looked)) f->check_settings(collect, f);
}

static const struct tt_warning *find_warning(const struct tt_warnings *warnings, uint64_t id)
{
    for (int i = 0; i < warnings->n; i++)
        if (warnings->warning[i].id == id) return &warnings->warning[i];
    return NULL;
}

static void print_warning(void *arg, const char *text)
{
    const struct tt_fabric *f = arg;
    const struct tt_warning *w = find_warning(&f->warnings, id_of(text));
    /* Each rank itself prints its warnings that found no room in f->warnings. */
    if (w ? w->first != f->me : f->warnings.n < TT_WARNINGS) return;
    if (!w || w->ranks == 0 || w->ranks == f->size || f->mapped)
        tt_warn("%s", text);
    else if (w->ranks == 1)
        tt_warn("%s (only on rank %d)", text, f->me);
    else
        tt_warn("%s (on %d of %d ranks, from rank %d on)", text, w->ranks, f->size, f->me);
}

/* Prints those warnings that this rank has to print. If the ranks did not meet, prints all warnings
 * of this rank, since a wrong setting may be the reason. */
static void print_warnings(struct tt_fabric *f)
{
    if (f->warnings.n > 0) f->check_settings(print_warning, f);
}

/* ---- Meeting ---- */

/* Returns -1 if no rank has failed since the last call; else the rank that was the first of all to
 * fail. *seen is the value of job->failures at the last call. */
static int find_failed(const struct tt_fabric *f, uint32_t *seen)
{
    uint32_t failures = atomic_load(&f->job->failures);
    if (failures == *seen) return -1;
    *seen = failures;
    return tt_common_first_failed(f->job, f->common);
}

/* Watches the ranks of this node. In a job without a launcher of Tutti, only this finds a rank that
 * dies before all ranks have come. */
static void watch_locals(struct tt_fabric *f)
{
    for (int r = 0; f->watch && r < f->size; r++)
        if (tt_fabric_shares(f, r)) tt_watch(f, r);
    tt_watch_look(f);
}

/* Fills in, for the roll call, which ranks of this node have not come yet: this rank waits for
 * them. */
static void fill_absent(const void *arg, struct tt_activity *is)
{
    const struct tt_fabric *f = arg;
    for (int r = 0; r < f->size; r++)
        if (tt_fabric_shares(f, r) && tt_common_state(f->job, f->common, r) == TT_RANK_ABSENT)
            tt_waiting_name(is, r);
}

/* Adds 1 to the counter and waits until all ranks of this node have added 1. Errors: PEER if a rank
 * has failed. */
static tutti_status count_to_all(struct tt_fabric *f, _Atomic uint32_t *counter)
{
    struct tt_wait wait;
    char text[160];
    int failed = -1;
    const uint32_t all = (uint32_t)f->job->arenas;
    uint32_t seen = 0; /* the value of job->failures as long as no rank has failed or left */
    struct tt_waiting waiting = {
        .fabric = f, .doing = TT_DOING_INIT, .fill = fill_absent, .arg = f};
    atomic_fetch_add(counter, 1);
    tt_fabric_signalled(f, NULL, -1);
    tt_wait_begin(&wait, &f->policy, f->job, f->me);
    while (atomic_load(counter) < all && (failed = find_failed(f, &seen)) < 0) {
        tt_wait_more(&wait);
        if (wait.announced) watch_locals(f);
        if (tt_wait_is_long(&wait)) tt_waiting_look(&waiting, false);
    }
    tt_wait_done(&wait);
    tt_waiting_end(&waiting);
    if (atomic_load(counter) >= all) return TUTTI_OK;
    tt_common_cause_text(f->job, f->common, failed, text, sizeof text);
    return tt_fail(TUTTI_ERR_PEER, "%s", text);
}

static tutti_status matches(struct tt_fabric *f, enum tt_must_match which)
{
    int64_t mine = tt_setting_must_match(which), first = 0;
    if (atomic_compare_exchange_strong(&f->common->must_match[which], &first, mine + 1))
        return TUTTI_OK;
    if (first == mine + 1) return TUTTI_OK;
    tt_common_fail(f->job, f->common, f->me, TT_CAUSE_SETTING, (int)which);
    return tt_setting_differs(which, mine, first - 1, "another rank", "all");
}

/* Compares the must-match settings before any data of another rank is used, because the place of
 * the data depends on them. */
static tutti_status all_match(struct tt_fabric *f)
{
    for (int i = 0; i < TT_MUST_MATCH_SETTINGS; i++) TT_TRY(matches(f, (enum tt_must_match)i));
    return TUTTI_OK;
}

/* Publishes the probe word. Its value is a hash of the stamp and the rank of the first job in which
 * this process publishes it, so another process, whose pid or address happens to be the same in
 * another namespace, has another value. */
static void publish_probe(const struct tt_fabric *f, struct tt_job_rank *me)
{
    uint64_t none = 0, hash = TT_HASH_BEGIN;
    hash = tt_hash(hash, &f->job->stamp, sizeof f->job->stamp);
    hash = tt_hash(hash, &f->me, sizeof f->me) | 1;
    atomic_compare_exchange_strong(&probe_word, &none, hash);
    atomic_store(&me->probe_value, atomic_load(&probe_word));
    atomic_store(&me->probe, (uint64_t)(uintptr_t)&probe_word);
}

static tutti_status come(struct tt_fabric *f)
{
    struct tt_job_rank *me = &f->job->rank[f->me];
    uint32_t absent = TT_RANK_ABSENT;
#ifdef PR_SET_PTRACER
    /* if the Yama security module is in use, only this call lets other ranks read this rank's
     * memory */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    collect_warnings(f);
    tt_common_warn(f->job, f->common, f->me, &f->warnings);
    TT_TRY(all_match(f));
    tt_common_publish_cores(f->common);
    tt_segment_set_process(me, getpid());
    if (!f->mapped) publish_probe(f, me);
    begin_cost(f);
    begin_machine(f);
    if (f->me == 0) share_rankings(f, &f->common->machine);
    /* other ranks may have found meanwhile that this rank cannot go on */
    atomic_compare_exchange_strong(&f->common->rank[f->me].rank_status.state, &absent,
                                   TT_RANK_JOINED);
    return count_to_all(f, &f->common->joined);
}

static void try_all(struct tt_fabric *f)
{
    int works = tt_setting_int("TUTTI_CMA") == 0 ? 0 : TT_ACCESSES;
    take_cost(f);
    for (int r = 0; r < f->size && works && !f->mapped; r++)
        if (tt_fabric_shares(f, r)) works &= tt_cma_works(f->job, r, f->me);
    atomic_fetch_or(&f->common->forbidden, (uint32_t)(TT_ACCESSES & ~works));
}

/* Sets the kinds of access (reads, writes) that this rank uses. If some pair of ranks cannot use a
 * kind, no rank uses it, so that all ranks use the same protocols. */
static void settle_accesses(struct tt_fabric *f)
{
    int forbidden = f->mapped ? 0 : (int)atomic_load(&f->common->forbidden);
    f->reads = !(forbidden & TT_READS);
    f->writes = !(forbidden & TT_WRITES);
    f->everywhere = TT_ACCESSES & ~forbidden;
    for (int r = 0; r < f->size; r++) tt_fabric_forbid(f, r, forbidden);
}

/* Finds the number of processors, and decides whether a fence follows every signal. If the node has
 * more ranks than processors, or if this rank cannot register for membarrier, the rank sets
 * `fences` for all ranks; otherwise other ranks may interrupt this rank by membarrier. All ranks of
 * the node take the same decision, even if they see different numbers of processors, because their
 * cgroups differ, or if only some of them can register: a rank sets `fences` before it adds 1 to
 * the counter `settled`, and all ranks read `fences` when that counter is complete.
 *
 * Before this decision a fence follows every signal, and no wait uses membarrier (tt_fabric_init).
 * A rank that has already read the decision may signal without a fence while another rank still
 * sleeps in count_to_all. The sleeper has not called membarrier and may miss such a signal. That
 * does no harm: the sleeper waits for the signal of the last rank that adds 1 to `settled`, and a
 * fence follows that signal. */
static void find_cores(struct tt_fabric *f)
{
    int cores = tt_common_find_cores(f->common);
    if (f->job->arenas > cores || !tt_wait_register()) atomic_store(&f->common->fences, 1);
}

static tutti_status meet_here(struct tt_fabric *f)
{
    struct tt_warnings here;
    TT_TRY(come(f));
    tt_common_warnings(f->job, f->common, &here);
    tt_warnings_add(&f->warnings, &here);
    try_all(f);
    TT_TRY(count_to_all(f, &f->common->ready));
    end_cost(f);
    find_cores(f);
    TT_TRY(count_to_all(f, &f->common->settled));
    f->cores = atomic_load(&f->common->cores);
    f->crowded = f->nodes <= 1 && f->size > f->cores;
    f->read_cost = atomic_load(&f->common->read_cost);
    f->read_stored_cost = atomic_load(&f->common->read_stored_cost);
    f->read_percent = atomic_load(&f->common->read_percent);
    f->streams = atomic_load(&f->common->streams);
    f->stores_slow = atomic_load(&f->common->stores_slow);
    f->machine = f->common->machine;
    f->wisdom = f->common->wisdom;
    f->policy = tt_wait_policy_for(f->job->arenas, f->cores, false);
    settle_accesses(f);
    f->fences = atomic_load(&f->common->fences);
    f->policy.fences = f->fences;
    return TUTTI_OK;
}

static void log_job(const struct tt_fabric *f)
{
    if (f->job->nodes > 1)
        tt_log("%d ranks on %d nodes with %d cores", f->size, f->job->nodes, f->cores);
    else
        tt_log("%d ranks on %d cores", f->size, f->cores);
    if (!f->reads)
        tt_log("ranks cannot %s each other's memory (CMA): %s goes through shared windows",
               f->writes ? "read" : "reach into", f->writes ? "most data" : "data");
    else if (!f->writes)
        tt_log("ranks cannot write each other's memory (CMA): messages and collectives only read");
    else
        tt_log("reading 64 KiB of another rank takes %.2f times as long as through shared memory "
               "that is filled in the faster way; its cost counts as %d%s",
               f->read_percent / 100.0, f->read_cost,
               100 * f->read_cost > f->read_percent + 125
                   ? ", because the owner then takes longer to write the memory again"
                   : "");
    if (!f->mapped)
        tt_log("windows are filled by %s",
               f->stores_slow ? "stores that bypass the caches" : "plain stores");
}

tutti_status tt_boot_meet(struct tt_fabric *f)
{
    bool unwatched = tt_directory_serves(f->job) || f->job->nested;
    tutti_status here = unwatched ? tt_watch_open(f) : TUTTI_OK;
    if (here == TUTTI_OK) here = meet_here(f);
    if (f->job->nodes > 1) here = tt_machines_agree(f, here);
    if (here == TUTTI_OK && f->me != 0 && f->job->rank[f->me].arena == 0)
        share_rankings(f, &f->machine); /* the model has come with the terms of node 0 */
    if (here != TUTTI_OK && is_left_behind(f->job, f->me)) here = left_behind(f->me);
    print_warnings(f);
    if (here == TUTTI_OK && f->me == 0 && tt_log_on(TT_LOG_boot)) log_job(f);
    return here;
}

tutti_status tt_boot_show(struct tt_fabric *f, const void *address, size_t bytes)
{
    if (f->job->nodes > 1) TT_TRY(tt_machines_show(f, tt_watch_port(f), address, bytes));
    TT_TRY(tt_records_detach(f));
    /* The ranks have met, so the first rank of the node has shared its rankings. */
    return take_rankings(f);
}

/* ---- Addresses ---- */

static void ask(const struct tt_fabric *f, int rank, struct tt_asked *asked)
{
    int64_t now = tt_clock_ns();
    if (asked->until_ns == 0) asked->until_ns = now + tt_peer_timeout() * INT64_C(1000000000);
    asked->again_ns = now + AGAIN_NS;
    asked->reply = tt_records_ask(f, rank, asked->anew);
    if (asked->reply) (void)tt_reply_answered(asked->reply, now + ANSWER_NS);
}

static tutti_status unreachable(const struct tt_fabric *f, int rank)
{
    char text[160];
    if (tt_common_state(f->job, f->common, rank) != TT_RANK_FAILED)
        return tt_fail(TUTTI_ERR_PEER,
                       "rank %d cannot be reached: it has published no network address", rank);
    return tt_fail(TUTTI_ERR_PEER, "%s",
                   tt_common_cause_text(f->job, f->common, rank, text, sizeof text));
}

/* Handles a request that has no answer yet: returns AGAIN until the timeout, and after that marks
 * the rank as failed. If the rank's host is cut off, its PMIx server cannot answer either. */
static tutti_status wait_on(struct tt_fabric *f, int rank, struct tt_asked *asked)
{
    if (tt_clock_ns() < asked->until_ns) return TUTTI_AGAIN;
    tt_boot_address_end(asked);
    asked->refused = true;
    tt_job_fail(f->job, rank, TT_CAUSE_SILENT, tt_peer_timeout());
    return unreachable(f, rank);
}

/* Returns whether this rank should ask again, because the server has answered that there is no
 * address yet and the timeout is not over. */
static bool is_not_yet_there(const struct tt_fabric *f, int rank, const struct tt_asked *asked)
{
    return asked->reply && tt_reply_lacks(asked->reply) && tt_clock_ns() < asked->until_ns &&
           tt_common_state(f->job, f->common, rank) != TT_RANK_FAILED;
}

tutti_status tt_boot_address(struct tt_fabric *f, int rank, struct tt_asked *asked, void *address,
                             size_t *bytes)
{
    struct tt_address_record record;
    if (asked->refused) return unreachable(f, rank);
    if (is_not_yet_there(f, rank, asked) && tt_clock_ns() >= asked->again_ns)
        tt_boot_address_end(asked);
    if (!asked->reply && asked->anew && tt_clock_ns() < asked->again_ns) return TUTTI_AGAIN;
    if (!asked->reply) ask(f, rank, asked);
    if (asked->reply && !tt_reply_answered(asked->reply, 0)) return wait_on(f, rank, asked);
    if (is_not_yet_there(f, rank, asked)) return TUTTI_AGAIN;
    tutti_status status = tt_records_end(f->client, asked->reply, rank, &record);
    asked->anew = status == TUTTI_AGAIN && tt_clock_ns() < asked->until_ns;
    if (asked->anew) {
        asked->reply = NULL;
        return TUTTI_AGAIN;
    }
    if (status != TUTTI_OK && status != TUTTI_AGAIN) tt_error_undo(); /* see unreachable */
    bool reachable = status == TUTTI_OK && record.wire_bytes > 0;
    *asked = (struct tt_asked){.refused = !reachable};
    if (!reachable) return unreachable(f, rank);
    memcpy(address, record.wire, record.wire_bytes);
    *bytes = record.wire_bytes;
    return TUTTI_OK;
}

tutti_status tt_boot_show_context(const struct tt_fabric *f, int context, const void *address,
                                  size_t bytes)
{
    return f->job->nodes > 1 ? tt_records_put_context(f, context, address, bytes) : TUTTI_OK;
}

/* Asks for the address of a context that may not exist yet. The other rank may make the context at
 * any time, so this function asks again and again, after pauses that grow to PAUSE_MOST_NS. */
static void ask_context(const struct tt_fabric *f, int rank, int context, struct tt_asked *asked)
{
    int64_t now = tt_clock_ns();
    if (now < asked->again_ns) return;
    asked->pause_ns = asked->pause_ns ? tt_min(2 * asked->pause_ns, PAUSE_MOST_NS) : AGAIN_NS;
    asked->again_ns = now + asked->pause_ns;
    asked->reply = tt_records_ask_context(f, rank, context);
}

tutti_status tt_boot_context_address(const struct tt_fabric *f, int rank, int context,
                                     struct tt_asked *asked, void *address, size_t *bytes)
{
    if (!asked->reply) ask_context(f, rank, context, asked);
    if (!asked->reply || !tt_reply_answered(asked->reply, 0)) return TUTTI_AGAIN;
    tutti_status status = tt_reply_end(asked->reply, address, TT_WIRE_ADDRESS, bytes);
    asked->reply = NULL;
    if (status != TUTTI_OK) tt_error_undo(); /* the caller asks again */
    return status == TUTTI_OK && *bytes > 0 ? TUTTI_OK : TUTTI_AGAIN;
}

void tt_boot_address_end(struct tt_asked *asked)
{
    tt_reply_drop(asked->reply);
    asked->reply = NULL;
}
