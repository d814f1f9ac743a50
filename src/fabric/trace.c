/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wrapper that records what a rank does and when. With TUTTI_TRACE=DIR a rank writes to
 * DIR/rank-R.part, which it maps (trace-part.h). At an orderly end it converts this file to
 * DIR/rank-R.json in Chrome's trace event format, which Perfetto opens. For client K > 0 the names
 * begin with client-K-. If the rank is killed, the .part file stays. The clock is the host's, so
 * the files of the ranks of a host fit together.
 *
 * Threads that use different contexts read and write at the same time, each for its own messages,
 * gets and puts, while another thread makes a collective. So each function of the wrapper holds the
 * trace's lock while it records. A read or write itself is made without the lock.
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file-back.h"
#include "base/file-id.h"
#include "base/file-limit.h"
#include "job/common.h"
#include "fabric/trace-part.h"

_Static_assert(TT_TRACE_PATH >= PATH_MAX + 128, "publish_path() counts on it");

enum {
    TEAMS = 256, /* teams that have numbers of their own; all later teams share the number TEAMS */
    GROWS = 1 << 20,
    FILE_BYTES = (int)sizeof(struct tt_part_head) + TT_PART_ENTRIES * 64
};

/* A call under way. */
struct open_call {
    const void *key;
    struct tt_part_entry *entry; /* NULL: the call was not recorded */
    uint64_t execution;
    uint16_t team;
};

/* The lock protects `backed`, the entries and counts of the file, and all members after `entry`.
 * The other members do not change after tt_trace_wrap. */
struct trace {
    struct tt_fabric_ops ops;
    const struct tt_fabric_ops *below;
    pthread_mutex_t lock;
    char path[PATH_MAX + 64]; /* absolute, since the program may change its directory */
    int fd;
    struct tt_file_id file; /* identifies the file that `fd` has open */
    int64_t backed;         /* bytes of the file that have disk space */
    struct tt_part_head *head;
    struct tt_part_entry *entry;
    uint64_t team[TEAMS];
    int teams;
    uint32_t failures; /* the job's count of failures when this rank last recorded their causes */
    struct open_call call[TT_PART_TRACKS];
    unsigned first_thread; /* identifies the thread that recorded first; 0: none has */
};

/* ---- Entries ----
 *
 * The callers of these functions hold the lock. */

/* Returns room for further entries, which are not counted yet; NULL: there is no room, or the file
 * would have more than `most` entries. The file grows only as far as the disk has space, so a full
 * disk costs trace events and not the rank. */
static struct tt_part_entry *room_for(struct trace *trace, int entries, int64_t most)
{
    int64_t n = atomic_load_explicit(&trace->head->entries, memory_order_relaxed);
    int64_t end = (int64_t)sizeof *trace->head + (n + entries) * (int64_t)sizeof *trace->entry;
    if (n + entries > most) return NULL;
    if (end > trace->backed) {
        int64_t more = tt_min(GROWS, FILE_BYTES - trace->backed);
        if (!tt_file_is(trace->fd, trace->file)) return NULL;
        if (!tt_file_back(trace->fd, trace->backed, more)) return NULL;
        trace->backed += more;
    }
    return &trace->entry[n];
}

static void set_time(_Atomic int64_t *time, int64_t ns)
{
    atomic_store_explicit(time, ns, memory_order_relaxed);
}

static void count_in(struct trace *trace, int entries, int64_t now)
{
    struct tt_part_head *head = trace->head;
    int64_t n = atomic_load_explicit(&head->entries, memory_order_relaxed);
    set_time(&head->last_ns, now);
    atomic_store_explicit(&head->entries, n + entries, memory_order_release);
}

static void lose(_Atomic int64_t *count)
{
    int64_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + 1, memory_order_relaxed);
}

/* Records the stamp that identifies the job, and the number of this rank's node. In a job on
 * several nodes, a rank knows both only when the ranks of the client have met. */
static void fill_run(const struct trace *trace, const struct tt_fabric *f)
{
    trace->head->run = f->job->stamp;
    trace->head->node = f->node ? f->node[f->me] : f->job->rank[f->me].node;
}

/* Returns a number of this thread in the trace: 0 is the thread that recorded first, which usually
 * makes the collectives. If there are many threads, some of them have the same number. */
static uint8_t number_thread(struct trace *trace)
{
    static atomic_uint threads;
    static _Thread_local unsigned mine;
    if (mine == 0) mine = 1 + atomic_fetch_add(&threads, 1);
    if (trace->first_thread == 0) trace->first_thread = mine;
    return mine == trace->first_thread ? 0 : (uint8_t)(1 + mine % (TT_PART_TRACKS - 1));
}

static uint16_t number_of(struct trace *trace, const struct tt_fabric *f,
                          const struct tt_traced_call *call)
{
    for (int i = 0; i < trace->teams; i++)
        if (trace->team[i] == call->team) return (uint16_t)i;
    if (trace->teams == TEAMS) return TEAMS;
    struct tt_part_entry *e = room_for(trace, 1, TT_PART_ENTRIES);
    if (!e) return TEAMS;
    e->kind = TT_PART_TEAM;
    e->made.id = call->team;
    e->made.size = call->team_size;
    e->made.me = call->team_me;
    e->made.number = (uint16_t)trace->teams;
    count_in(trace, 1, tt_clock_ns());
    fill_run(trace, f);
    trace->team[trace->teams] = call->team;
    return (uint16_t)trace->teams++;
}

/* ---- Executions ---- */

static struct open_call *find_call(struct trace *trace, const void *key)
{
    for (int i = 0; i < TT_PART_TRACKS; i++)
        if (trace->call[i].key == key) return &trace->call[i];
    return NULL;
}

/* Records why each failed rank failed, if more ranks have failed since the last call. Must not be
 * called after the rank has left the client: the last rank that leaves clears the shared data that
 * this function reads. */
static void trace_rank_statuses(struct trace *trace, const struct tt_fabric *f)
{
    uint32_t failures = atomic_load_explicit(&f->job->failures, memory_order_acquire);
    if (failures == trace->failures) return;
    trace->failures = failures;
    for (int r = 0; r < f->size && f->common; r++) {
        char text[192];
        struct tt_part_entry *e;
        if (r == f->me || tt_common_state(f->job, f->common, r) != TT_RANK_FAILED) continue;
        if (!(e = room_for(trace, 1, TT_PART_ENTRIES))) return;
        tt_common_cause_text(f->job, f->common, r, text, sizeof text);
        e->kind = TT_PART_RANK_STATUS;
        e->peer = r;
        memccpy(e->text, text, 0, sizeof e->text);
        count_in(trace, 1, tt_clock_ns());
    }
}

static void fill_in(struct tt_part_entry *e, const struct tt_traced_call *call, int64_t now)
{
    e->kind = TT_PART_CALL;
    e->peer = call->root;
    e->bytes = call->bytes;
    e->n = call->n;
    e->execution = call->execution;
    e->blocks = call->blocks;
    set_time(&e->time.begin_ns, now);
    e[1].kind = TT_PART_NAMES;
    memccpy(e[1].names.coll, call->coll, 0, sizeof e->names.coll);
    memccpy(e[1].names.algorithm, call->algorithm, 0, sizeof e->names.algorithm);
    memccpy(e[1].names.type, call->type, 0, sizeof e->names.type);
    memccpy(e[1].names.op, call->op, 0, sizeof e->names.op);
}

static void begin_call(struct trace *trace, const struct tt_fabric *f,
                       const struct tt_traced_call *call)
{
    struct open_call *place = find_call(trace, call->key);
    if (place) return; /* the call was queued and now runs; it is recorded already */
    trace_rank_statuses(trace, f);
    (void)number_thread(trace);
    int64_t now = tt_clock_ns();
    uint16_t team = number_of(trace, f, call);
    struct tt_part_entry *e = room_for(trace, 2, TT_PART_ENTRIES);
    place = find_call(trace, NULL);
    if (!e || !place) {
        lose(&trace->head->lost_calls);
        return;
    }
    *place = (struct open_call){call->key, e, call->execution, team};
    fill_in(e, call, now);
    e->team = team;
    e->track = (uint8_t)(place - trace->call);
    count_in(trace, 2, now);
}

static void trace_began(const struct tt_fabric_ops *self, struct tt_fabric *f,
                        const struct tt_traced_call *call)
{
    struct trace *trace = (struct trace *)self;
    pthread_mutex_lock(&trace->lock);
    begin_call(trace, f, call);
    pthread_mutex_unlock(&trace->lock);
}

static void trace_waits(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key)
{
    struct trace *trace = (struct trace *)self;
    int64_t none = 0;
    (void)f;
    pthread_mutex_lock(&trace->lock);
    struct open_call *call = find_call(trace, key);
    if (call)
        atomic_compare_exchange_strong_explicit(&call->entry->blocked_ns, &none, tt_clock_ns(),
                                                memory_order_relaxed, memory_order_relaxed);
    pthread_mutex_unlock(&trace->lock);
}

static void end_call(struct trace *trace, const void *key, tutti_status status)
{
    struct open_call *call = find_call(trace, key);
    int64_t now = tt_clock_ns();
    if (!call) return;
    call->entry->status = (uint8_t)status;
    set_time(&call->entry->time.end_ns, now);
    set_time(&trace->head->last_ns, now);
    *call = (struct open_call){.key = NULL};
}

static void trace_ended(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key,
                        tutti_status status)
{
    struct trace *trace = (struct trace *)self;
    pthread_mutex_lock(&trace->lock);
    end_call(trace, key, status);
    if (status == TUTTI_ERR_PEER) trace_rank_statuses(trace, f);
    pthread_mutex_unlock(&trace->lock);
}

/* ---- Steps ---- */

/* Returns the track of the call that a step belongs to, which selects the lines of the picture on
 * which the step is drawn (trace-part.c). The reads and writes of thread 0 that belong to no call
 * are on track 0. Those of each other thread are on a track of its own, from the last one down,
 * since they overlap in time. */
static uint8_t place_step(struct trace *trace, const struct tt_trace_record *event, uint8_t thread,
                          uint16_t *team)
{
    for (int i = 0; i < TT_PART_TRACKS; i++) {
        const struct open_call *call = &trace->call[i];
        if (!call->key || call->key != event->key) continue;
        *team = call->team;
        return (uint8_t)i;
    }
    *team = 0;
    return thread ? (uint8_t)(TT_PART_TRACKS - thread) : 0;
}

/* Returns whether the entry is a step that ended at this time or later. */
static bool is_later_step(const struct tt_part_entry *e, int64_t ns)
{
    return e->kind == TT_PART_STEP &&
           atomic_load_explicit(&e->time.end_ns, memory_order_relaxed) >= ns;
}

/* Moves the reads and writes within a step, which this thread recorded just before it, to the
 * step's track. Skips what other threads recorded meanwhile, because the reads and writes of their
 * messages, gets and puts are no part of the step. Steps are recorded in the order of their ends,
 * so the function stops at the first entry that ended before the step began. */
static void adopt(const struct trace *trace, const struct tt_part_entry *step)
{
    int64_t begin = atomic_load_explicit(&step->time.begin_ns, memory_order_relaxed);
    for (struct tt_part_entry *e = (struct tt_part_entry *)step - 1; e >= trace->entry; e--) {
        if (!is_later_step(e, begin)) return;
        if (e->thread != step->thread) continue;
        bool within = (e->name[0] == 'w' || e->name[2] == 'a') &&
                      atomic_load_explicit(&e->time.begin_ns, memory_order_relaxed) >= begin;
        if (!within) return;
        e->track = step->track;
        e->lane = step->lane;
        e->team = step->team;
        e->execution = step->execution;
    }
}

static void record_step(struct trace *trace, const struct tt_trace_record *event)
{
    struct tt_part_entry *e = room_for(trace, 1, TT_PART_STEPS);
    int64_t now = tt_clock_ns();
    if (!e) {
        lose(&trace->head->lost_steps);
        return;
    }
    e->kind = TT_PART_STEP;
    e->lane = (uint8_t)event->lane;
    e->thread = number_thread(trace);
    e->track = place_step(trace, event, e->thread, &e->team);
    e->peer = event->peer;
    e->bytes = event->bytes;
    e->execution = event->execution;
    e->value = event->value;
    memccpy(e->name, event->name, 0, sizeof e->name);
    set_time(&e->time.begin_ns, event->begin_ns);
    set_time(&e->time.end_ns, now);
    if (event->key) adopt(trace, e);
    count_in(trace, 1, now);
}

static void trace_did(const struct tt_fabric_ops *self, struct tt_fabric *f,
                      const struct tt_trace_record *event)
{
    struct trace *trace = (struct trace *)self;
    (void)f;
    pthread_mutex_lock(&trace->lock);
    record_step(trace, event);
    pthread_mutex_unlock(&trace->lock);
}

static tutti_status trace_read(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               void *to, tt_address from, int64_t len)
{
    const struct tt_fabric_ops *below = ((const struct trace *)self)->below;
    struct tt_trace_record event = {
        .name = "read", .begin_ns = tt_clock_ns(), .bytes = len, .peer = rank};
    tutti_status status = below->read(below, f, rank, to, from, len);
    trace_did(self, f, &event);
    return status;
}

static tutti_status trace_write(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                tt_address to, const void *from, int64_t len)
{
    const struct tt_fabric_ops *below = ((const struct trace *)self)->below;
    struct tt_trace_record event = {
        .name = "write", .begin_ns = tt_clock_ns(), .bytes = len, .peer = rank};
    tutti_status status = below->write(below, f, rank, to, from, len);
    trace_did(self, f, &event);
    return status;
}

static tutti_status trace_signalling(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    const struct tt_fabric_ops *below = ((const struct trace *)self)->below;
    return below->signalling ? below->signalling(below, f) : TUTTI_OK;
}

/* ---- The file ---- */

/* Writes the name of one of the trace's files, such as DIR/rank-3.part. */
static void name_file(const struct trace *trace, const char *ending, char *path, size_t n)
{
    snprintf(path, n, "%s%s", trace->path, ending);
}

/* Creates a file that only its owner can read. It unlinks a file of the same name first: another
 * job may have mapped that file, and a mapped file must not become shorter. */
static int create_own(const char *path)
{
    unlink(path);
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static bool print_json(const struct trace *trace, const char *path)
{
    int64_t n = atomic_load(&trace->head->entries);
    struct tt_file_limit limit;
    int fd = create_own(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !file) close(fd);
    if (!file) return false;
    tt_file_limit_enter(&limit);
    tt_part_print(trace->head, sizeof *trace->head + (size_t)n * sizeof *trace->entry,
                  TT_PART_ENDED, file);
    bool failed = ferror(file) | fclose(file);
    tt_file_limit_leave(&limit);
    return !failed;
}

/* Removes the .part file, but only if it is this rank's: another job may have reused the names. */
static void remove_part(const struct trace *trace, const char *part)
{
    struct stat named;
    if (stat(part, &named) == 0 && named.st_ino == trace->file.file &&
        named.st_dev == trace->file.device)
        unlink(part);
}

/* Renames the complete JSON file into place and then removes the .part file, which is valid until
 * then. */
static void save(const struct trace *trace)
{
    char part[PATH_MAX + 128], new[PATH_MAX + 128], path[PATH_MAX + 128];
    int64_t steps = atomic_load(&trace->head->lost_steps);
    int64_t calls = atomic_load(&trace->head->lost_calls);
    name_file(trace, ".part", part, sizeof part);
    name_file(trace, ".json.new", new, sizeof new);
    name_file(trace, ".json", path, sizeof path);
    if (print_json(trace, new) && rename(new, path) == 0) {
        remove_part(trace, part);
    } else {
        tt_warn("TUTTI_TRACE: cannot write %s: %s; what there is stays in %s", path,
                strerror(errno), part);
        unlink(new);
    }
    if (steps || calls)
        tt_warn("TUTTI_TRACE: %lld steps and %lld calls were not kept", (long long)steps,
                (long long)calls);
}

static void free_trace(struct trace *trace)
{
    if (trace->head) munmap(trace->head, FILE_BYTES);
    if (trace->fd >= 0 && tt_file_is(trace->fd, trace->file)) close(trace->fd);
    pthread_mutex_destroy(&trace->lock);
    tt_free(trace);
}

static void trace_close(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    struct trace *trace = (struct trace *)self;
    fill_run(trace, f);
    save(trace);
    if (trace->below->close) trace->below->close(trace->below, f);
    free_trace(trace);
}

static void fill_head(const struct trace *trace, const struct tt_fabric *f)
{
    struct tt_part_head *head = trace->head;
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    memcpy(head->magic, TT_PART_MAGIC, sizeof TT_PART_MAGIC);
    head->ranks = f->size;
    head->rank = f->me;
    head->client = f->client;
    head->pid = getpid();
    head->wall_ns = wall.tv_sec * 1000000000 + wall.tv_nsec - tt_clock_ns();
    gethostname(head->host, sizeof head->host - 1);
    tt_part_clock(head->clock, sizeof head->clock);
    set_time(&head->last_ns, tt_clock_ns());
    fill_run(trace, f);
}

/* Locks the .part file: by the lock, readers know that the rank still runs. The system drops the
 * lock when the process ends, in whatever way. A child that the process forks does not have the
 * lock. */
static void lock_part(int fd)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_SETLK, &all);
}

/* Creates and maps the .part file. Leaves the mapping out of core dumps, like the other shared
 * memory. */
static bool map_file(struct trace *trace, const struct tt_fabric *f)
{
    char part[PATH_MAX + 128];
    name_file(trace, ".part", part, sizeof part);
    trace->fd = create_own(part);
    if (trace->fd < 0) return false;
    trace->file = tt_file_id(trace->fd);
    lock_part(trace->fd);
    trace->backed = GROWS;
    void *at = tt_file_back(trace->fd, 0, GROWS)
                   ? mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) {
        remove_part(trace, part);
        return false;
    }
    madvise(at, FILE_BYTES, MADV_DONTDUMP);
    trace->head = at;
    trace->entry = (struct tt_part_entry *)(trace->head + 1);
    fill_head(trace, f);
    return true;
}

/* Creates the folder if necessary. False: it cannot be written to; errno says why. */
static bool find_folder(const char *dir, struct trace *trace, const struct tt_fabric *f)
{
    char absolute[PATH_MAX];
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) return false;
    if (!realpath(dir, absolute)) return false;
    if (f->client == 0)
        snprintf(trace->path, sizeof trace->path, "%s/rank-%d", absolute, f->me);
    else
        snprintf(trace->path, sizeof trace->path, "%s/client-%d-rank-%d", absolute, f->client,
                 f->me);
    return map_file(trace, f);
}

/* Publishes the path of the .part file for the launcher, in case the process ends without removing
 * this file. If there is no memory for the path, pictures of the trace lack only how the rank
 * ended. */
static void publish_path(const struct trace *trace, struct tt_fabric *f)
{
    int64_t at;
    if (tt_arena_alloc(&f->arena, TT_TRACE_PATH, &at) != TUTTI_OK) return;
    name_file(trace, ".part", f->segment->base + at, TT_TRACE_PATH);
    atomic_store(&f->common->rank[f->me].trace, at);
}

tutti_status tt_trace_wrap(struct tt_fabric *f)
{
    const char *dir = tt_setting("TUTTI_TRACE");
    /* a nested job has no trace: its ranks would get the same names of files as the ranks of the
     * job in which it was made */
    if (!dir || f->job->nested) return TUTTI_OK;
    struct trace *trace = tt_calloc(1, sizeof *trace);
    if (!trace) return tt_fail(TUTTI_ERR_MEMORY, "no memory for TUTTI_TRACE");
    trace->fd = -1;
    pthread_mutex_init(&trace->lock, NULL);
    if (!find_folder(dir, trace, f)) {
        tt_warn("TUTTI_TRACE: cannot write to %s: %s", dir, strerror(errno));
        free_trace(trace);
        return TUTTI_OK;
    }
    publish_path(trace, f);
    trace->below = f->ops;
    trace->ops = (struct tt_fabric_ops){.name = f->ops->name,
                                        .read = trace_read,
                                        .write = trace_write,
                                        .signalling = trace_signalling,
                                        .did = trace_did,
                                        .began = trace_began,
                                        .waits = trace_waits,
                                        .ended = trace_ended,
                                        .close = trace_close};
    f->ops = &trace->ops;
    return TUTTI_OK;
}

/* ---- The launcher ---- */

/* Opens the .part file of a rank. The path comes from memory that the rank could write, so it may
 * be anything. -1: the file is not the .part file of that rank in this job. */
static int open_part(const char *path, const struct tt_job_page *job, int rank)
{
    struct tt_part_head head;
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        pread(fd, &head, sizeof head, 0) == sizeof head && tt_part_is_one(&head, sizeof head) &&
        head.run == job->stamp && head.rank == rank)
        return fd;
    close(fd);
    return -1;
}

/* Reads the paths of the .part files from the arena of the rank. Its process has ended, and only
 * that process allocates in this arena, so a path does not change while it is read. Skips a client
 * that the rank has left, because the client's memory may contain something else by now. */
void tt_trace_ended(const struct tt_segment *segment, int rank)
{
    const struct tt_job_page *job = tt_segment_page(segment);
    char path[TT_TRACE_PATH], end[sizeof((struct tt_part_head *)0)->end] = "", text[192];
    memccpy(end, tt_job_cause_text(job, rank, text, sizeof text), 0, sizeof end);
    for (int i = 0; i < TT_CLIENTS; i++) {
        const struct tt_common *common = tt_common_at(job, i);
        const struct tt_member *member = &common->rank[rank];
        int64_t at = atomic_load(&member->trace);
        if (!atomic_load(&common->number) || !at || !tt_segment_holds(segment, at, sizeof path) ||
            atomic_load(&member->rank_status.state) == TT_RANK_LEFT)
            continue;
        memcpy(path, segment->base + at, sizeof path);
        path[sizeof path - 1] = '\0';
        int fd = open_part(path, job, rank);
        if (fd < 0) continue;
        ssize_t written = pwrite(fd, end, sizeof end, offsetof(struct tt_part_head, end));
        (void)written; /* if this fails, pictures lack only how the rank ended */
        close(fd);
    }
}
