/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Creates, maps and closes the job's memory. Nothing in this file needs to be fast.
 */
#include "job/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file-back.h"
#include "job/wait.h"

/* The limits of the address space that is reserved for each rank of this node. */
#define RANK_MOST (16ll << 30)
#define RANK_LEAST (64ll << 20)

static int64_t common_at(int size)
{
    return (int64_t)sizeof(struct tt_job_page) + size * (int64_t)sizeof(struct tt_job_rank);
}

static int64_t common_bytes(int size)
{
    int64_t bytes = (int64_t)sizeof(struct tt_common) + size * (int64_t)sizeof(struct tt_member);
    return tt_round_up(bytes, TT_LINE);
}

static int64_t page_bytes(int size)
{
    return tt_round_up(common_at(size) + TT_CLIENTS * common_bytes(size), 4096);
}

/* Returns the offset of the first grant. */
static int64_t grants_at(int size)
{
    return tt_round_up(page_bytes(size), TT_GRAIN);
}

/* Returns whether this process runs under Helgrind, Valgrind's checker of races. If a mapping is
 * readable when it is made, Helgrind allocates memory in proportion to its length, which would be
 * about as much as the host has. If the mapping is made readable later, Helgrind allocates nothing.
 * Memcheck, in contrast, allocates memory only if the mapping is made readable later. */
static bool under_helgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "/vgpreload_helgrind");
}

/* Maps the shared memory and leaves it out of core dumps: otherwise the dump of each rank would
 * contain all of it. */
static void *map_shared(int fd, int64_t bytes)
{
    const int access = PROT_READ | PROT_WRITE, first = under_helgrind() ? PROT_NONE : access;
    void *base = mmap(NULL, (size_t)bytes, first, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) return base;
    if (first != access && mprotect(base, (size_t)bytes, access) != 0) {
        munmap(base, (size_t)bytes);
        return MAP_FAILED;
    }
    madvise(base, (size_t)bytes, MADV_DONTDUMP);
    return base;
}

/* Maps memory for a job of threads, of which the first `page` bytes are accessible. The memory
 * belongs to one process, so a core dump contains the part of it that was used, as with a heap. */
static void *map_private(int64_t bytes, int64_t page)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *base = mmap(NULL, (size_t)bytes, PROT_NONE, flags, -1, 0);
    if (base == MAP_FAILED || mprotect(base, (size_t)page, PROT_READ | PROT_WRITE) == 0)
        return base;
    munmap(base, (size_t)bytes);
    return MAP_FAILED;
}

/* Where the ranks of a job are. node[r] is the node of rank r; if `node` is NULL, all ranks are on
 * this node. `me` is a rank of this node, and `arenas` is the number of ranks on this node. */
struct places {
    const int *node;
    int nodes, me, arenas;
};

static void place_ranks(struct tt_job_page *job, const struct places *w)
{
    int arenas = 0;
    job->nodes = w->nodes;
    job->arenas = w->arenas;
    for (int r = 0; r < job->size; r++) {
        bool here = !w->node || w->node[r] == w->node[w->me];
        job->rank[r].node = w->node ? w->node[r] : 0;
        job->rank[r].arena = here ? arenas++ : -1;
    }
}

static void fill_page(const struct tt_segment *s, int size, bool threads, const struct places *w)
{
    struct tt_job_page *job = tt_segment_page(s);
    job->size = size;
    job->stamp = tt_clock_ns();
    job->threads = threads;
    job->page_bytes = page_bytes(size);
    job->whole_bytes = s->bytes;
    atomic_store(&job->end, grants_at(size));
    atomic_store(&job->backed, job->page_bytes);
    job->common_at = common_at(size);
    job->common_bytes = common_bytes(size);
    place_ranks(job, w);
    tt_version(job->version);
    job->magic = TT_JOB_MAGIC;
    tt_assert(tt_job_page_valid(job));
}

/* Creates the memfd. By default every user who finds it in /proc/PID/fd may open it; after fchmod
 * only the same user may. */
static int open_memory(void)
{
    int fd = tt_file_above_standard(memfd_create("tutti", MFD_CLOEXEC));
    if (fd < 0 || fchmod(fd, S_IRUSR | S_IWUSR) == 0) return fd;
    close(fd);
    return -1;
}

int tt_segment_file(const struct tt_segment *s)
{
    return tt_file_is(s->fd, s->file) ? s->fd : -1;
}

static bool limits_addresses(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Returns whether the process could map `bytes` and as many bytes again. If not, a limit on its
 * address space is the reason, and a mapping of `bytes` would leave too little for threads, for the
 * network library, and for the program. */
static bool leaves_room(int64_t bytes)
{
    if (!limits_addresses()) return true;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *both = mmap(NULL, (size_t)(2 * bytes), PROT_NONE, flags, -1, 0);
    return both != MAP_FAILED && munmap(both, (size_t)(2 * bytes)) == 0;
}

/* Maps as many bytes as this host can ever back, between RANK_LEAST and RANK_MOST for each rank of
 * this node. If a limit on address space or file size forbids that, halves the bytes until the
 * mapping succeeds and leaves equally many bytes of address space free, unless the mapping has only
 * RANK_LEAST for each rank. Returns false if RANK_LEAST for each rank cannot be mapped. */
static bool map_largest(struct tt_segment *s, int size, int arenas)
{
    int64_t least = arenas * RANK_LEAST;
    int64_t most = tt_max(least, tt_min(arenas * RANK_MOST, tt_memory_ever()));
    for (int64_t bytes = most; bytes >= least;
         bytes = bytes > least ? tt_max(bytes / 2, least) : 0) {
        s->bytes = grants_at(size) + tt_round_up(bytes, TT_GRAIN);
        if (s->fd >= 0 && !tt_file_may_reach(s->bytes)) continue;
        if (bytes > least && !leaves_room(s->bytes)) continue;
        void *base =
            s->fd >= 0 ? map_shared(s->fd, s->bytes) : map_private(s->bytes, grants_at(size));
        if (base == MAP_FAILED) continue;
        s->base = base;
        return true;
    }
    return false;
}

static tutti_status create(struct tt_segment *s, int size, bool threads, const struct places *w)
{
    *s = (struct tt_segment){.fd = threads ? -1 : open_memory()};
    if (!threads && s->fd < 0)
        return tt_fail_errno(errno == EMFILE || errno == ENFILE ? TUTTI_ERR_LIMIT
                                                                : TUTTI_ERR_SYSTEM,
                             "cannot make the job's shared memory (memfd_create)");
    s->file = tt_file_id(s->fd);
    if (!map_largest(s, size, w->arenas)) {
        tutti_status status =
            tt_fail_errno(TUTTI_ERR_LIMIT, "cannot map %lld bytes of address space for %d ranks",
                          (long long)s->bytes, w->arenas);
        if (s->fd >= 0) close(s->fd);
        return status;
    }
    if (s->fd >= 0 && !tt_file_back(s->fd, 0, page_bytes(size))) {
        tutti_status status = tt_fail_errno(TUTTI_ERR_MEMORY, "no memory for the job's first page");
        tt_segment_close(s);
        return status;
    }
    fill_page(s, size, threads, w);
    return TUTTI_OK;
}

tutti_status tt_segment_create(struct tt_segment *s, int size, bool threads)
{
    const struct places here = {.nodes = 1, .arenas = size};
    return create(s, size, threads, &here);
}

tutti_status tt_segment_create_on(struct tt_segment *s, int size, const int *node, int nodes,
                                  int me)
{
    struct places w = {.node = node, .nodes = nodes, .me = me};
    for (int r = 0; r < size; r++) w.arenas += node[r] == node[me];
    return create(s, size, false, &w);
}

tutti_status tt_segment_check(const struct tt_job_page *job, int64_t bytes)
{
    if (job->magic != TT_JOB_MAGIC)
        return tt_fail(TUTTI_ERR_BOOT, "the memory is not that of a Tutti job");
    if (job->size < 1 || job->arenas < 1 || job->arenas > job->size ||
        job->page_bytes != page_bytes(job->size) || job->common_at != common_at(job->size) ||
        job->common_bytes != common_bytes(job->size) || bytes < job->page_bytes ||
        bytes > job->whole_bytes ||
        job->whole_bytes < grants_at(job->size) + job->arenas * RANK_LEAST)
        return tt_fail(TUTTI_ERR_BOOT,
                       "the job's memory does not have the layout of version %s of the library",
                       tutti_version());
    return TUTTI_OK;
}

/* Marks this rank, which cannot map the job's memory, as failed, so that no rank waits for it. Maps
 * only the job page for that. */
static void refuse(int fd, int rank)
{
    struct tt_job_page *job = map_shared(fd, 4096);
    if (job == MAP_FAILED) return;
    int64_t bytes = job->magic == TT_JOB_MAGIC && rank < job->size ? job->page_bytes : 0;
    munmap(job, 4096);
    if (bytes == 0 || (job = map_shared(fd, bytes)) == MAP_FAILED) return;
    tt_job_fail(job, rank, TT_CAUSE_STATUS, TUTTI_ERR_LIMIT);
    munmap(job, (size_t)bytes);
}

/* Reads from the job page how long the mapping must be. tt_segment_check checks the page later,
 * when it is mapped as a whole. */
static tutti_status whole_of(int fd, int64_t *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tt_fail_errno(TUTTI_ERR_BOOT,
                             "cannot use descriptor %d, which should be the job's memory", fd);
    if (!S_ISREG(st.st_mode) || st.st_size < 4096 || st.st_uid != geteuid())
        return tt_fail(TUTTI_ERR_BOOT, "descriptor %d is not the memory of a job of this user", fd);
    struct tt_job_page *job = map_shared(fd, 4096);
    if (job == MAP_FAILED) return tt_fail_errno(TUTTI_ERR_LIMIT, "cannot map the job's first page");
    *bytes = job->magic == TT_JOB_MAGIC ? tt_max(job->whole_bytes, 4096) : 4096;
    munmap(job, 4096);
    return TUTTI_OK;
}

tutti_status tt_segment_attach(struct tt_segment *s, int fd, int rank)
{
    int64_t bytes = 0;
    TT_TRY(whole_of(fd, &bytes));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    void *base = map_shared(fd, bytes);
    if (base == MAP_FAILED) {
        tutti_status status = tt_fail_errno(
            TUTTI_ERR_LIMIT, "cannot map %lld bytes of shared memory%s", (long long)bytes,
            limits_addresses() ? " (this rank has a limit on address space: ulimit -v)" : "");
        refuse(fd, rank);
        return status;
    }
    *s = (struct tt_segment){.base = base, .bytes = bytes, .fd = fd, .store = s->store};
    s->file = tt_file_id(s->fd);
    tutti_status status = tt_segment_check(tt_segment_page(s), s->bytes);
    if (status != TUTTI_OK) tt_segment_close(s);
    return status;
}

void tt_segment_unmap(struct tt_segment *s)
{
    if (s->base) munmap(s->base, (size_t)s->bytes);
    s->base = NULL;
}

/* Returns a number that identifies the PID namespace of this process on this machine; 0: not
 * known. */
static uint64_t pid_space(void)
{
    struct stat is;
    return stat("/proc/self/ns/pid", &is) == 0 ? (uint64_t)is.st_ino : 0;
}

/* /proc shows several numbers (NSpid) for a process whose namespace is below the namespace of
 * /proc. */
uint64_t tt_segment_proc_space(void)
{
    char line[512];
    int here, below, numbers = 1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0) numbers = sscanf(line, "NSpid: %d %d", &here, &below);
    if (file) fclose(file);
    return numbers == 1 ? pid_space() : 0;
}

/* Records the pid of a rank, and the PID namespace of this process as that of the pid. A process in
 * a new PID namespace replaces what its launcher has recorded. tt_segment_pid says why the pid is 0
 * meanwhile. A rank that joins further clients finds its record as it should be, and does not touch
 * it, since other ranks access its memory by this pid. */
void tt_segment_set_process(struct tt_job_rank *rank, pid_t pid)
{
    uint64_t space = pid_space();
    if (atomic_load(&rank->pid) == pid && atomic_load(&rank->pid_space) == space) return;
    atomic_store(&rank->pid, 0);
    atomic_store(&rank->pid_space, space);
    atomic_store(&rank->pid, (int32_t)pid);
}

void tt_segment_close(struct tt_segment *s)
{
    tt_segment_unmap(s);
    if (s->fd >= 0 && tt_segment_file(s) >= 0) close(s->fd);
    *s = (struct tt_segment){.fd = -1};
}

/* ---- Grants ---- */

/* Grants memory by a compare-and-swap of the end. The end only grows, so no two ranks get the same
 * grant, however many ask at a time, and a rank that dies meanwhile delays no other rank. The
 * granted pages were never backed before, since they were beyond the end. */
tutti_status tt_segment_grant(const struct tt_segment *s, int64_t *end, int64_t bytes,
                              int64_t wanted)
{
    struct tt_job_page *job = tt_segment_page(s);
    if (bytes > s->bytes - *end)
        return tt_fail(TUTTI_ERR_LIMIT,
                       "no %lld bytes of shared memory are left of the %lld for the %d ranks of "
                       "this node",
                       (long long)wanted, (long long)(s->bytes - grants_at(job->size)),
                       job->arenas);
    if (!atomic_compare_exchange_strong(&job->end, end, *end + bytes)) return TUTTI_AGAIN;
    tt_assert(tt_job_page_valid(job));
    if (s->fd >= 0 || mprotect(s->base + *end, (size_t)bytes, PROT_READ | PROT_WRITE) == 0)
        return TUTTI_OK;
    return tt_fail_errno(TUTTI_ERR_MEMORY, "cannot get %lld bytes of memory", (long long)wanted);
}

void tt_segment_backed(const struct tt_segment *s, int64_t end)
{
    _Atomic int64_t *backed = &tt_segment_page(s)->backed;
    int64_t before = atomic_load(backed);
    while (before < end && !atomic_compare_exchange_weak(backed, &before, end)) continue;
    tt_assert(tt_job_page_valid(tt_segment_page(s)));
}
