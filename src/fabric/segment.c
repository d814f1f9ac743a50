/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making, mapping and leaving the job's memory. Nothing here is fast or needs to be.
 */
#include "fabric/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/wait.h"

#define ARENA_MOST (16ll << 30)
#define ARENA_LEAST (64ll << 20)

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

static int64_t whole_bytes(int size, int arenas, int64_t arena)
{
    return page_bytes(size) + arenas * arena;
}

static void *map(int fd, int64_t bytes)
{
    int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    return mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
}

/* Who is where: node == NULL: all here. */
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

static void fill_page(const struct tt_segment *s, int size, bool threads, int64_t arena,
                      const struct places *w)
{
    struct tt_job_page *job = tt_segment_page(s);
    job->size = size;
    job->stamp = tt_clock_ns();
    job->threads = threads;
    job->page_bytes = page_bytes(size);
    job->arena_bytes = arena;
    job->common_at = common_at(size);
    job->common_bytes = common_bytes(size);
    place_ranks(job, w);
    snprintf(job->version, sizeof job->version, "%s", tutti_version());
    job->magic = TT_JOB_MAGIC;
}

/* It is born open to all who come by a way to it (/proc/PID/fd); nobody else's should. */
static int open_memory(void)
{
    int fd = memfd_create("tutti", MFD_CLOEXEC);
    if (fd < 0 || fchmod(fd, S_IRUSR | S_IWUSR) == 0) return fd;
    close(fd);
    return -1;
}

/* The largest arenas that the limits on address space and file size allow. */
static bool map_largest(struct tt_segment *s, int size, int arenas, int64_t *arena)
{
    for (*arena = ARENA_MOST; *arena >= ARENA_LEAST; *arena /= 2) {
        s->bytes = whole_bytes(size, arenas, *arena);
        if (s->fd >= 0 && ftruncate(s->fd, s->bytes) != 0) continue;
        void *base = map(s->fd, s->bytes);
        if (base != MAP_FAILED) {
            s->base = base;
            return true;
        }
    }
    return false;
}

static tutti_status create(struct tt_segment *s, int size, bool threads, const struct places *w)
{
    int64_t arena = 0;
    *s = (struct tt_segment){.fd = threads ? -1 : open_memory()};
    if (!threads && s->fd < 0)
        return tt_fail_errno(errno == EMFILE || errno == ENFILE ? TUTTI_ERR_LIMIT
                                                                : TUTTI_ERR_SYSTEM,
                             "cannot make the job's shared memory (memfd_create)");
    if (!map_largest(s, size, w->arenas, &arena)) {
        tutti_status status =
            tt_fail_errno(TUTTI_ERR_LIMIT, "cannot map %lld bytes of address space for %d ranks",
                          (long long)s->bytes, w->arenas);
        if (s->fd >= 0) close(s->fd);
        return status;
    }
    if (s->fd >= 0 && fallocate(s->fd, 0, 0, page_bytes(size)) != 0) {
        tutti_status status = tt_fail_errno(TUTTI_ERR_MEMORY, "no memory for the job's first page");
        tt_segment_close(s);
        return status;
    }
    fill_page(s, size, threads, arena, w);
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
        return tt_fail(TUTTI_ERR_BOOT, "the descriptor in TUTTI_JOB is not a job of tutti");
    if (job->size < 1 || job->arenas < 1 || job->arenas > job->size ||
        whole_bytes(job->size, job->arenas, job->arena_bytes) != bytes ||
        job->page_bytes != page_bytes(job->size) || job->common_at != common_at(job->size) ||
        job->common_bytes != common_bytes(job->size))
        return tt_fail(TUTTI_ERR_BOOT, "the job's memory has the wrong size");
    return TUTTI_OK;
}

/* A rank that cannot map the job's memory maps its page, to tell those that wait for it. */
static void refuse(int fd, int rank)
{
    struct tt_job_page *job = map(fd, 4096);
    if (job == MAP_FAILED) return;
    int64_t bytes = job->magic == TT_JOB_MAGIC && rank < job->size ? job->page_bytes : 0;
    munmap(job, 4096);
    if (bytes == 0 || (job = map(fd, bytes)) == MAP_FAILED) return;
    tt_job_fail(job, rank, TT_CAUSE_STATUS, TUTTI_ERR_LIMIT);
    munmap(job, (size_t)bytes);
}

tutti_status tt_segment_attach(struct tt_segment *s, int fd, int rank)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tt_fail_errno(TUTTI_ERR_BOOT, "TUTTI_JOB names descriptor %d", fd);
    if (!S_ISREG(st.st_mode) || st.st_size < 4096 || st.st_uid != geteuid())
        return tt_fail(TUTTI_ERR_BOOT, "descriptor %d in TUTTI_JOB is not a job of this user", fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    void *base = map(fd, st.st_size);
    if (base == MAP_FAILED) {
        tutti_status status = tt_fail_errno(
            TUTTI_ERR_LIMIT, "cannot map %lld bytes of shared memory", (long long)st.st_size);
        refuse(fd, rank);
        return status;
    }
    *s = (struct tt_segment){.base = base, .bytes = st.st_size, .fd = fd, .store = s->store};
    tutti_status status = tt_segment_check(tt_segment_page(s), s->bytes);
    if (status != TUTTI_OK) tt_segment_close(s);
    return status;
}

void tt_segment_unmap(struct tt_segment *s)
{
    if (s->base) munmap(s->base, (size_t)s->bytes);
    s->base = NULL;
}

void tt_segment_close(struct tt_segment *s)
{
    tt_segment_unmap(s);
    if (s->fd >= 0) close(s->fd);
    *s = (struct tt_segment){.fd = -1};
}

int64_t tt_segment_arena(const struct tt_segment *s, int rank)
{
    const struct tt_job_page *job = tt_segment_page(s);
    int arena = job->rank[rank].arena;
    return arena < 0 ? -1 : job->page_bytes + arena * job->arena_bytes;
}
