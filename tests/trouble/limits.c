/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks with forbidden system calls or with too few resources.
 */
#include "../forbid.h"
#include "rank.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kept.h"

/* Sums vectors of n elements and compares the result. Returns TUTTI_OK if the result is right. */
static tutti_status sums(tutti_team *team, int64_t n)
{
    int p = tutti_size(team);
    int64_t *in = malloc((size_t)n * 8), *out = malloc((size_t)n * 8);
    if (!in || !out) abort();
    for (int64_t i = 0; i < n; i++) in[i] = i * (tutti_rank(team) + 1);
    tutti_status status = tutti_allreduce(team, in, out, n, TUTTI_I64, TUTTI_SUM);
    for (int64_t i = 0; i < n && status == TUTTI_OK; i++)
        if (out[i] != i * p * (p + 1) / 2) status = TUTTI_ERR_SYSTEM;
    free(in);
    free(out);
    return status;
}

/* ---- No access to each other's memory ---- */

static int sum_all(tutti_client *client)
{
    int64_t begin = tt_clock_ns();
    tutti_status status = sums(tutti_world(client), 10);
    if (status == TUTTI_OK) status = sums(tutti_world(client), 100000);
    printf("rank %d: direct %d\n", rank_number(), client->fabric.reads);
    fflush(stdout);
    return end(client, status, TUTTI_OK, begin);
}

/* sandboxed: a sandbox forbids process_vm_readv to rank 1. */
static int sandboxed(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (rank_number() == 1 && forbid(SYS_process_vm_readv, EPERM)) return 77;
    return sum_all(join());
}

/* undumpable: rank 1 makes its memory inaccessible to others. Needs a user other than root, because
 * root may access such memory, too. */
static int undumpable(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (geteuid() == 0) return 77;
    if (rank_number() == 1 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return 77;
    return sum_all(join());
}

/* ---- Access that is refused in the middle of a step ---- */

static const struct tt_fabric_ops *sound;
static int reads_left, refusals;

static tutti_status read_so_far(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                void *to, tt_address from, int64_t len)
{
    (void)self;
    if (--reads_left == 0) tt_fabric_forbid(f, rank, TT_READS);
    refusals += !tt_fabric_may(f, rank, TT_READS);
    return sound->read(sound, f, rank, to, from, len);
}

/* Calls a sum in place, in which the library must not combine any part of the data a second
 * time. */
static tutti_status sum_in_place(tutti_team *team, int64_t *data, int64_t n)
{
    int p = tutti_size(team);
    for (int64_t i = 0; i < n; i++) data[i] = i * (tutti_rank(team) + 1);
    TT_TRY(tutti_allreduce(team, TUTTI_IN_PLACE, data, n, TUTTI_I64, TUTTI_SUM));
    for (int64_t i = 0; i < n; i++)
        if (data[i] != i * p * (p + 1) / 2)
            return tt_fail(TUTTI_ERR_SYSTEM, "element %lld is wrong", (long long)i);
    return TUTTI_OK;
}

/* refused: computes READS sums. In sum k, the k-th read of another rank's memory is refused, and so
 * is every later read of that rank's memory. */
static int refused(int argc, char **argv)
{
    enum { N = 300000, READS = 20 };
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    struct tt_fabric *f = &client->fabric;
    int64_t *data = malloc(N * sizeof *data), begin = tt_clock_ns();
    tutti_status status = data ? TUTTI_OK : TUTTI_ERR_MEMORY;
    sound = f->ops;
    struct tt_fabric_ops ops = *sound;
    ops.read = read_so_far;
    f->ops = &ops;
    for (int k = 1; k <= READS && status == TUTTI_OK; k++) {
        for (int r = 0; r < f->size; r++) atomic_store(&f->forbidden[r], 0);
        reads_left = k;
        status = sum_in_place(tutti_world(client), data, N);
    }
    f->ops = sound;
    free(data);
    printf("rank %d: %s\n", rank_number(), refusals > 4 ? "often refused" : "hardly refused");
    fflush(stdout);
    return end(client, status, TUTTI_OK, begin);
}

/* without WHAT PROGRAM ARGUMENT...: runs the program with a system call forbidden (forbid.h), as in
 * a container. */
static int without(int argc, char **argv)
{
    if (argc < 2) return 7;
    if (forbid_named(argv[0])) return 77;
    execvp(argv[1], argv + 1);
    return 126;
}

/* ---- Allocations that fail ---- */

/* One of the jobs that the command `starving` (below) runs. In this job, the i-th allocation after
 * rank 1 has begun its calls fails; the first one has the number 0. */
struct starved {
    int64_t i;
    bool nested;      /* allocations fail in tutti_team_threads instead of in calls of new shapes */
    atomic_int again; /* number of local calls that failed and were repeated */
    atomic_bool lacked; /* an allocation of a rank failed */
    tutti_status status[3];
    char text[3][200];
};

/* Calls tutti_client_share, and once more if it lacks memory: a local call that fails changes
 * nothing, so the second call must work. The other ranks do not learn of the failure. */
static tutti_status share(tutti_client *client, struct starved *s)
{
    tutti_status status = tutti_client_share(client);
    if (status != TUTTI_ERR_MEMORY) return status;
    s->again++;
    return tutti_client_share(client);
}

/* Calls alltoallw, alltoallv in place, and two neighbourhood collectives. */
static tutti_status exchanges(tutti_team *world, tutti_team *grid, tutti_team *graph)
{
    static const int64_t counts[3] = {1, 1, 1}, displs[3] = {0, 1, 2}, bytes[3] = {0, 8, 16};
    static const tutti_type types[3] = {TUTTI_I64, TUTTI_I64, TUTTI_I64};
    int64_t in[64] = {1}, out[64] = {0};
    TT_TRY(tutti_alltoallw(world, in, counts, bytes, types, out, counts, bytes, types));
    TT_TRY(tutti_alltoallv(world, TUTTI_IN_PLACE, NULL, NULL, out, counts, displs, TUTTI_I64));
    TT_TRY(tutti_neighbor_allgather(grid, in, out, 3, TUTTI_I64));
    return tutti_neighbor_alltoallv(graph, in, counts, displs, out, counts, displs, TUTTI_I64);
}

/* Makes a team of the ranks in reverse order by tutti_team_of, which uses no collectives of the old
 * team. */
static tutti_status team_of(tutti_team *world)
{
    static const int ranks[3] = {2, 1, 0};
    tutti_team *part;
    TT_TRY(tutti_team_of(world, ranks, 3, 5, &part));
    TT_TRY(tutti_barrier(part));
    return tutti_team_free(part);
}

/* Calls gatherv, scatterv, scans and a scatter, and creates teams of several kinds. Then calls
 * `exchanges` on the world and on the teams with neighbours. */
static tutti_status more_shapes(tutti_team *world)
{
    static const int64_t counts[3] = {1, 2, 3}, displs[3] = {0, 1, 3};
    int64_t in[64] = {1}, out[64], mine = counts[tutti_rank(world)];
    int p = tutti_size(world), next = (tutti_rank(world) + 1) % p;
    int before = (tutti_rank(world) + p - 1) % p;
    tutti_team *grid, *graph;
    TT_TRY(tutti_gatherv(world, in, mine, out, counts, displs, TUTTI_I64, 0));
    TT_TRY(tutti_scatterv(world, in, counts, displs, out, mine, TUTTI_I64, 1));
    TT_TRY(tutti_scan(world, in, out, 4, TUTTI_I64, TUTTI_SUM));
    TT_TRY(tutti_exscan(world, in, out, 6, TUTTI_I64, TUTTI_SUM));
    TT_TRY(tutti_scatter(world, in, out, 7, TUTTI_I64, 0));
    TT_TRY(tutti_team_cart(world, 1, &p, NULL, TUTTI_CART_LAST_FASTEST, &grid));
    TT_TRY(tutti_team_graph(world, 1, &before, 1, &next, &graph));
    TT_TRY(team_of(world));
    return exchanges(world, grid, graph);
}

static tutti_status shapes(tutti_client *client, struct starved *s)
{
    tutti_team *world = tutti_world(client), *part = NULL;
    int64_t in[64] = {1}, out[64];
    tutti_request *request = NULL;
    tutti_status status = share(client, s);
    if (status == TUTTI_OK) status = tutti_allreduce(world, in, out, 3, TUTTI_I64, TUTTI_SUM);
    if (status == TUTTI_OK) status = tutti_alltoall(world, in, out, 5, TUTTI_I64);
    if (status == TUTTI_OK) status = tutti_team_split(world, 0, 0, &part);
    if (status == TUTTI_OK) status = tutti_ibcast(part, out, 9, TUTTI_I64, 0, &request);
    if (status == TUTTI_OK) status = tutti_wait(request);
    if (status == TUTTI_OK) status = more_shapes(world);
    return status == TUTTI_OK ? tutti_barrier(world) : status;
}

struct inside {
    tutti_status status;
    char text[200];
};

static void nested(tutti_client *client, void *arg)
{
    struct inside *inside = arg;
    inside->status = tutti_barrier(tutti_world(client));
    if (inside->status != TUTTI_OK)
        snprintf(inside->text, sizeof inside->text, "%s", tutti_error());
}

/* Brings a thread to a job of all threads, and returns the first error. Since each thread has a
 * tutti_error() of its own, the thread stores the status and the text in its argument, and the
 * calling thread returns them as its own error. */
static tutti_status threads(tutti_client *client)
{
    struct inside inside = {TUTTI_OK, ""};
    TT_TRY(tutti_team_threads(tutti_world(client), 1, nested, &inside));
    return inside.status == TUTTI_OK ? TUTTI_OK : tt_fail(inside.status, "%s", inside.text);
}

static void starve(tutti_client *client, void *arg)
{
    struct starved *s = arg;
    int me = tutti_rank(tutti_world(client));
    uint64_t lacks = tt_memory_lacks();
    s->status[me] = tutti_barrier(tutti_world(client));
    if (me == 1) tt_memory_fail_at(s->i);
    if (s->status[me] == TUTTI_OK) s->status[me] = s->nested ? threads(client) : shapes(client, s);
    if (me == 1) tt_memory_fail_at(-1);
    if (tt_memory_lacks() != lacks) s->lacked = true;
    snprintf(s->text[me], sizeof s->text[me], "%s", tutti_error());
}

/* starving [threads]: for i = 0, 1, ..., runs a job of three threads in which allocation i fails,
 * until i is so large that none fails. The allocation fails in calls of new shapes or, with
 * `threads`, while each rank brings a thread to a job of all their threads. The threads share the
 * allocator, so the failing allocation may be that of any rank. All ranks must get
 * TUTTI_ERR_MEMORY, or an error that says that a rank is out of memory. (A rank that has no memory
 * for a message gets that error, too.) There are two exceptions, without any error: only a local
 * call failed and was repeated (share), or something could not be kept for later calls and is made
 * again. The ranks are threads, because processes made by fork could not form a job. */
static int starving(int argc, char **argv)
{
    (void)argv;
    for (int64_t i = 0; i < 1000; i++) {
        struct starved s = {.i = i, .nested = argc > 0};
        if (tutti_threads(3, starve, &s) != TUTTI_OK) return 8;
        int good = 0, none = 0, peer = 0;
        for (int r = 0; r < 3; r++) {
            good += s.status[r] == TUTTI_OK;
            none += s.status[r] == TUTTI_ERR_MEMORY;
            peer += s.status[r] == TUTTI_ERR_PEER && strstr(s.text[r], "out of memory");
        }
        if (good == 3 && (s.again > 0 || s.lacked)) continue;
        if (good == 3) return printf("%d failures\n", (int)i) < 0;
        if (none + peer == 3) continue;
        for (int r = 0; r < 3; r++)
            printf("%d: rank %d: %s: %s\n", (int)i, r, tutti_status_text(s.status[r]), s.text[r]);
        return 8;
    }
    return 8;
}

/* Makes as many calls as a team has windows, so that later calls of this length need no more
 * memory. */
static tutti_status sums_in_all_windows(tutti_team *team, int64_t n)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TT_WINDOWS && status == TUTTI_OK; i++) status = sums(team, n);
    return status;
}

/* Returns the status of tutti_alloc while the limit on the size of files is 0. */
static tutti_status alloc_without_files(tutti_client *client)
{
    struct rlimit before, none;
    void *memory;
    if (getrlimit(RLIMIT_FSIZE, &before) != 0) return TUTTI_ERR_SYSTEM;
    none = before;
    none.rlim_cur = 0;
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) return TUTTI_ERR_SYSTEM;
    tutti_status status = tutti_alloc(client, 1 << 20, &memory);
    return setrlimit(RLIMIT_FSIZE, &before) == 0 ? status : TUTTI_ERR_SYSTEM;
}

/* full: rank 1 calls tutti_alloc twice: while a resource limit forbids it to write to files, and
 * while the kernel reports that shared memory is full (fallocate fails). Both calls fail, and
 * everything else still works. */
static int full(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int64_t begin = tt_clock_ns();
    tutti_status status = sums_in_all_windows(world, 1000);
    if (tutti_rank(world) == 1) {
        void *memory;
        print_status(alloc_without_files(client), begin);
        if (forbid(SYS_fallocate, ENOSPC)) return 77;
        print_status(tutti_alloc(client, 1 << 20, &memory), begin);
    }
    if (status == TUTTI_OK) status = sums_in_all_windows(world, 1000);
    return end(client, status, TUTTI_OK, begin);
}

/* full-window: rank 1 has no memory for its window when it begins a call that is longer than all
 * calls before. No rank touches that window: all ranks get an error, and none is killed. */
static int full_window(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int64_t begin = tt_clock_ns();
    tutti_status status = sums_in_all_windows(world, 100), none;
    none = tutti_rank(world) == 1 ? TUTTI_ERR_MEMORY : TUTTI_ERR_PEER;
    if (tutti_rank(world) == 1 && forbid(SYS_fallocate, ENOSPC)) return 77;
    if (status == TUTTI_OK) status = sums(world, 1000);
    return end(client, status, none, begin);
}

/* full-split: rank 1 has no memory for a new team. All ranks get the error, and the world still
 * works. */
static int full_split(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = join();
    tutti_team *world = tutti_world(client), *part = NULL;
    int64_t begin = tt_clock_ns();
    if (sums_in_all_windows(world, 1000) != TUTTI_OK) return 8;
    if (tutti_rank(world) == 1 && forbid(SYS_fallocate, ENOSPC)) return 77;
    tutti_status refused = tutti_team_split(world, 0, 0, &part);
    print_status(refused, begin);
    tutti_status status = sums(world, 1000);
    if (refused == TUTTI_OK || part) status = TUTTI_ERR_SYSTEM;
    return end(client, status, TUTTI_OK, begin);
}

/* cramped: rank 1 has too little address space for the job. It cannot join, and the other ranks are
 * notified although rank 1 stays alive. */
static int cramped(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct rlimit limit = {1 << 28, 1 << 28};
    tutti_client *client;
    if (rank_number() == 1 && setrlimit(RLIMIT_AS, &limit) != 0) return 77;
    int64_t begin = tt_clock_ns();
    tutti_status status = tutti_init(&client);
    print_status(status, begin);
    if (rank_number() == 1) sleep(4);
    return status == (rank_number() == 1 ? TUTTI_ERR_LIMIT : TUTTI_ERR_PEER) ? 0 : 8;
}

/* Limits this process to the address space that it has. Short allocations still get the memory that
 * the process has freed before. */
static bool limit_address_space(void)
{
    enum { KEPT = 100000, KIB = 1024 };
    char line[256];
    unsigned long kib = 0;
    void *volatile kept = malloc(KEPT);
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) (void)sscanf(line, "VmSize: %lu kB", &kib);
    if (file) fclose(file);
    free(kept);
    struct rlimit limit = {kib * KIB, kib * KIB};
    return kib > 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

/* Creates the file `path` in rank 1. The other ranks wait until it exists. */
static bool wait_for_rank_1(const char *path)
{
    if (rank_number() == 1) return close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0;
    while (access(path, F_OK) != 0) usleep(1000);
    return true;
}

/* deaf FILE: rank 1 has no memory for the messages of an agreement. It must not try to receive them
 * for ever, while the other ranks wait for it. The other ranks begin the agreement only when rank 1
 * has limited its address space: rank 1 would still get memory for a message that arrives before
 * that. */
static int deaf(int argc, char **argv)
{
    if (argc < 1) return 2;
    tutti_client *client = join();
    tutti_status status = sums(tutti_world(client), 10);
    if (rank_number() == 1 && !limit_address_space()) return 77;
    if (!wait_for_rank_1(argv[0])) return 77;
    int64_t begin = tt_clock_ns();
    if (status == TUTTI_OK) status = team_of(tutti_world(client));
    return end(client, status, rank_number() == 1 ? TUTTI_ERR_MEMORY : TUTTI_ERR_PEER, begin);
}

/* ---- No shared memory is left ---- */

/* Allocates all shared memory of the job, in pieces that shrink until none fits. The pages are not
 * touched, so this takes no memory of the machine. */
static void take_all(tutti_client *client)
{
    void *memory;
    for (size_t bytes = (size_t)1 << 40; bytes >= 4096;)
        if (tutti_alloc(client, bytes, &memory) != TUTTI_OK) bytes /= 2;
}

/* Makes calls that need more shared memory than is left, in the persistent, the blocking and the
 * nonblocking form. Only the last two break teams. */
static void call_without(tutti_client *client, void *arg)
{
    enum { N = 1024 };
    double in[N] = {0}, out[N];
    tutti_status *status = (tutti_status *)arg + 4 * tutti_rank(tutti_world(client));
    tutti_team *team[3];
    tutti_request *request;
    for (int i = 0; i < 3; i++)
        if (tutti_team_dup(tutti_world(client), &team[i]) != TUTTI_OK) return;
    take_all(client);
    if (tutti_barrier(tutti_world(client)) != TUTTI_OK) return;
    status[0] = tutti_scan_init(team[0], in, out, N, TUTTI_F64, TUTTI_SUM, 0, &request);
    status[1] = tutti_barrier(team[0]);
    status[2] = tutti_scan(team[1], in, out, N, TUTTI_F64, TUTTI_SUM);
    status[3] = tutti_iscan(team[2], in, out, N, TUTTI_F64, TUTTI_SUM, &request);
}

/* exhausted: the ranks of a job of threads have used up the job's shared memory. Calls that need
 * more of it return LIMIT, as tutti_alloc does. */
static int exhausted(int argc, char **argv)
{
    const tutti_status right[] = {TUTTI_ERR_LIMIT, TUTTI_OK, TUTTI_ERR_LIMIT, TUTTI_ERR_LIMIT};
    tutti_status status[8];
    (void)argc;
    (void)argv;
    for (int i = 0; i < 8; i++) status[i] = TUTTI_AGAIN;
    if (tutti_threads(2, call_without, status) != TUTTI_OK) return 8;
    for (int i = 0; i < 8; i++) {
        if (status[i] == right[i % 4]) continue;
        printf("rank %d, call %d: %s\n", i / 4, i % 4, tutti_status_text(status[i]));
        return 8;
    }
    return 0;
}

/* ---- Memory and descriptors do not grow ---- */

/* Returns whether the build keeps freed memory for a while, as a sanitizer does. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QUARANTINE true
#elif defined(__has_feature)
#define QUARANTINE (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define QUARANTINE false
#endif

struct footprint {
    long pss_kib, shared_kib, descriptors;
};

/* Returns the KiB of private memory and of this rank's part of shared memory. The pages of files do
 * not count: this rank's part of them grows whenever another process that has mapped the same
 * library ends. */
static long pss_kib(void)
{
    char line[256];
    long kib, sum = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    if (!file) exit(7);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Pss_Anon: %ld", &kib) == 1 || sscanf(line, "Pss_Shmem: %ld", &kib) == 1)
            sum += kib;
    fclose(file);
    if (sum == 0) exit(7);
    return sum;
}

/* Returns in *kib the memory of the job's segment, without the pages that the ranks keep for their
 * next teams. tests/run/teams.c checks that these pages are few. */
static tutti_status shared_kib(tutti_client *client, long *kib)
{
    struct stat st;
    int64_t mine = kept_backed(client->fabric.arena.store), kept = 0;
    TT_TRY(tutti_allreduce(tutti_world(client), &mine, &kept, 1, TUTTI_I64, TUTTI_SUM));
    *kib = fstat(client->seat.segment.fd, &st) == 0 ? (long)(st.st_blocks / 2 - kept / 1024) : -1;
    return TUTTI_OK;
}

static long descriptors(void)
{
    long n = 0;
    for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Measures between two barriers, while all ranks exist, because Pss divides shared pages by the
 * number of processes. A team's memory is given back when all members have freed the team and have
 * then advanced context 0 twice: the first time they compare their calls, the second time they find
 * that all members have compared theirs. */
static tutti_status measure(tutti_client *client, struct footprint *f)
{
    for (int i = 0; i < 2; i++) {
        TT_TRY(tutti_barrier(tutti_world(client)));
        TT_TRY(tutti_advance(tutti_context_at(client, 0), NULL));
    }
    TT_TRY(tutti_barrier(tutti_world(client)));
    TT_TRY(shared_kib(client, &f->shared_kib));
    f->pss_kib = pss_kib();
    f->descriptors = descriptors();
    return tutti_barrier(tutti_world(client));
}

static tutti_status one_team(tutti_team *world, int i)
{
    tutti_team *part;
    tutti_status status =
        tutti_team_split(world, i % 3 == 0 ? tutti_rank(world) % 2 : 0, -i, &part);
    if (status == TUTTI_OK) status = sums(part, 1 + i % 7 * 1000);
    if (status == TUTTI_OK) status = tutti_barrier(part);
    return status == TUTTI_OK ? tutti_team_free(part) : status;
}

/* splits N: creates and frees N teams. The rank must use as much memory and as many descriptors
 * after all N teams as after the first twenty. */
static int splits(int argc, char **argv)
{
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int64_t begin = tt_clock_ns();
    int n = argc > 0 ? atoi(argv[0]) : 300;
    struct footprint before = {0}, after;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < n && status == TUTTI_OK; i++) {
        if (i == 20) status = measure(client, &before);
        if (status == TUTTI_OK) status = one_team(world, i);
    }
    if (status == TUTTI_OK) status = measure(client, &after);
    if (status != TUTTI_OK) return end(client, status, TUTTI_OK, begin);
    printf("rank %d: Pss %ld -> %ld KiB, shared %ld -> %ld KiB, descriptors %ld -> %ld\n",
           rank_number(), before.pss_kib, after.pss_kib, before.shared_kib, after.shared_kib,
           before.descriptors, after.descriptors);
    fflush(stdout);
    bool same = (QUARANTINE || after.pss_kib <= before.pss_kib + 256) &&
                after.shared_kib <= before.shared_kib && after.descriptors == before.descriptors;
    return end(client, same ? status : TUTTI_ERR_LIMIT, TUTTI_OK, begin);
}

/* visit PROBLEM...: calls each collective once and leaves. The script then looks for anything left
 * behind. */
static int visit(int argc, char **argv)
{
    tutti_client *client = join();
    tutti_team *world = tutti_world(client);
    int64_t begin = tt_clock_ns();
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < argc && status == TUTTI_OK; i++) {
        struct call *c = call_open(world, argv[i]);
        status = call_run(world, c);
        call_close(c);
    }
    return end(client, status, TUTTI_OK, begin);
}

const struct scenario limits[] = {{"sandboxed", sandboxed},
                                  {"undumpable", undumpable},
                                  {"without", without},
                                  {"refused", refused},
                                  {"starving", starving},
                                  {"full", full},
                                  {"full-split", full_split},
                                  {"full-window", full_window},
                                  {"exhausted", exhausted},
                                  {"cramped", cramped},
                                  {"deaf", deaf},
                                  {"splits", splits},
                                  {"visit", visit},
                                  {NULL, NULL}};
