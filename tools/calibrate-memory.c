/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures how long it takes to move bytes, by the number of bytes and by where the source and the
 * destination are. The result is a set of tables; each cell is measured in rounds. In each round
 * several blocks (a run) are moved one after the other, as a program moves the buffers of its calls
 * one after the other. The result of a cell is the time of a block in the median round. Other
 * programs do not disturb that round as long as this process gets the greater part of a processor.
 * If two processes must work at the same time, the result is the time in the second fastest round:
 * other programs disturb many of these rounds, and a single round can be fast by chance.
 *
 * Blocks in memory come from pools that are much larger than the memory whose addresses fit in the
 * processor's TLB. Each round takes the next blocks of its pool, and flushes them from the caches
 * at its end. Blocks that two processes exchange are as far apart as the windows of a team.
 *
 * The first helper process runs on another processor, and writes and reads when this process orders
 * it to. Further helpers only make the other processors busy.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "calibrate-memory.h"
#include "job/wait.h"
#include "type/type.h"

enum {
    POOL = 64 << 20, /* the bytes of each of the pools `from` and `to` */
    /* the bytes of the pool `cache`, and of the pools in a helper that only keeps a processor
     * busy */
    SMALL_POOL = 16 << 20,
    RUN_BYTES = 256 << 10,
    RUN_MOST = 32, /* the most blocks in a run: as many as a team has windows */
    SHORT = 1024,  /* exchanged blocks of at most SHORT bytes are APART bytes apart */
    APART = 2048,
    /* longer exchanged blocks of at most WINDOW bytes are FAR_APART bytes apart */
    WINDOW = 128 << 10,
    FAR_APART = WINDOW + 4096,
    /* A cell ends after the rounds that together move ROUNDS_BYTES, but after ROUNDS rounds at
     * least and ROUNDS_MOST at most. It also ends when CELL_NS have passed, but after ROUNDS_LEAST
     * rounds at least. */
    ROUNDS = 9,
    ROUNDS_BYTES = 8 << 20,
    ROUNDS_MOST = 99,
    ROUNDS_LEAST = 3,
    CELL_NS = 20000000,
    HELPERS = 31,
    LINES = 32,
    EXCHANGES = 2000,
    PS_OF_NS = 1000
};

/* The orders that this process gives to a helper. The helper carries out an order on a run of
 * blocks in its pools. */
enum order {
    ORDER_NONE,
    ORDER_END,
    ORDER_FLUSH, /* flushes its private blocks from the caches */
    ORDER_WRITE, /* copies cached data to the shared blocks */
    ORDER_FILL,  /* copies data from memory to the shared blocks */
    /* these two orders do what ORDER_WRITE and ORDER_FILL do, by stores that bypass the caches */
    ORDER_STREAM_WRITE,
    ORDER_STREAM_FILL,
    ORDER_RENEW, /* writes its private blocks, so that they are in its caches */
    ORDER_COPY,  /* copies within memory, from its first pool to its second */
    ORDER_READ,  /* reads the blocks of the process that gives the orders, by process_vm_readv */
    ORDER_RAISE, /* stores to each of the LINES signal lines in turn */
    ORDER_ANSWER /* answers each of EXCHANGES stores to `ping` by a store to `pong` */
};

/* The memory that the processes share. Each word by which they communicate has a cache line of its
 * own. */
struct rig {
    struct {
        /* order: how many orders the helper has got; done: how many of them it has carried out. The
         * helper is idle while both are equal */
        _Alignas(TT_LINE) _Atomic uint32_t order, done;
        enum order what;
        int64_t bytes, at, took_ns; /* at: the offset of the run in the helper's pools */
    } helper[HELPERS];
    _Alignas(TT_LINE) _Atomic uint32_t ping;
    _Alignas(TT_LINE) _Atomic uint32_t pong;
    struct {
        _Alignas(APART) _Atomic uint32_t raised;
    } line[LINES];
    _Alignas(4096) char blocks[RUN_MOST * FAR_APART]; /* the blocks that two processes exchange, 4
                                                       * MiB at least */
};

static struct {
    struct rig *rig;
    /* the pools of each process: private memory at addresses that are the same in all processes */
    char *from, *to, *cache;
    pid_t first, helper[HELPERS];
    int helpers;
    int64_t at;        /* the offset of the next run in the pools of this process */
    int64_t its_at;    /* the offset of the next run in the pools of the first helper */
    int64_t settle_ps; /* the time that settle() takes alone */
    bool reads;        /* the system allows processes to read each other's memory */
    bool alone;        /* there is only one processor */
    int64_t until_ns;  /* when the rounds of a cell should end */
} calibration;

/* ---- Runs of blocks ---- */

/* Returns the bytes from the begin of one block in a pool to the begin of the next block. The
 * buffers of `tutti bench` have the same distance. */
static int64_t stride_of(int64_t bytes)
{
    return tt_round_up(bytes + TT_LINE, TT_LINE);
}

/* Returns the bytes from the begin of one block that two processes exchange to the begin of the
 * next block. */
static int64_t window_of(int64_t bytes)
{
    return bytes <= SHORT ? APART : bytes <= WINDOW ? FAR_APART : bytes;
}

static int run_of(int64_t bytes)
{
    return (int)tt_max(1, tt_min(RUN_MOST, RUN_BYTES / bytes));
}

/* Begins the rounds of a cell: sets the time at which they should end. */
static void begin_rounds(void)
{
    calibration.until_ns = tt_clock_ns() + CELL_NS;
}

/* Returns whether another round should follow after i rounds. The time of a cell is limited,
 * because on a busy machine the helper answers late. */
static bool goes_on(int i, int64_t bytes)
{
    int64_t most = tt_max(ROUNDS, tt_min(ROUNDS_MOST, ROUNDS_BYTES / (bytes * run_of(bytes))));
    return i < ROUNDS_LEAST || (i < most && tt_clock_ns() < calibration.until_ns);
}

static void flush(char *memory, int64_t bytes)
{
#ifdef __x86_64__
    for (int64_t i = 0; i < bytes; i += TT_LINE) _mm_clflush(memory + i);
    _mm_mfence();
#else
    /* accesses to other memory displace the blocks from the caches */
    static char *other;
    if (!other) other = calloc(1, 4 * (size_t)POOL);
    for (int64_t i = 0; other && i < 4 * (int64_t)POOL; i += TT_LINE) other[i]++;
    (void)memory;
    (void)bytes;
#endif
}

/* Returns the offset of the next run in a pool of `pool` bytes, and moves the cursor to the end of
 * the run. */
static int64_t next_run(int64_t *cursor, int64_t pool, int64_t bytes)
{
    int64_t length = run_of(bytes) * stride_of(bytes), at = *cursor;
    if (at + length > pool) at = 0;
    *cursor = at + length;
    return at;
}

/* Flushes from the caches the runs at this offset in the pools `from` and `to`. */
static void flush_runs(int64_t at, int64_t bytes)
{
    flush(calibration.from + at, run_of(bytes) * stride_of(bytes));
    flush(calibration.to + at, run_of(bytes) * stride_of(bytes));
}

/* Waits until all copied bytes are stored. Otherwise the processor would work at several blocks at
 * the same time, which it cannot do in a program, where ranks wait for each other between
 * blocks. */
static void settle(void)
{
#ifdef __x86_64__
    _mm_mfence();
    _mm_lfence();
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Copies a run of blocks and returns the time in ns. With a stride of 0, the same block is read or
 * written each time. If `streams` is true, the stores bypass the caches. */
static inline int64_t run_by(bool streams, char *to, int64_t to_stride, const char *from,
                             int64_t from_stride, int64_t bytes)
{
    int64_t begin = tt_clock_ns();
    for (int i = 0; i < run_of(bytes); i++, to += to_stride, from += from_stride) {
        if (streams)
            tt_stream(to, from, (size_t)bytes);
        else
            tt_memcpy(to, from, (size_t)bytes);
        settle();
    }
    return tt_clock_ns() - begin;
}

static int64_t copy_run(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                        int64_t bytes)
{
    return run_by(false, to, to_stride, from, from_stride, bytes);
}

static int64_t stream_run(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                          int64_t bytes)
{
    return run_by(true, to, to_stride, from, from_stride, bytes);
}

/* Moves a block by process_vm_readv or process_vm_writev, and sets *took_ns to the time. Before
 * that, a read of one byte brings the code and data of the system call into the caches, as earlier
 * calls do in a program. */
static bool by_system(pid_t pid, bool writes, char *mine, char *its, int64_t bytes,
                      int64_t *took_ns)
{
    struct iovec here = {mine, (size_t)bytes}, there = {its, (size_t)bytes};
    struct iovec word = {calibration.cache, 1};
    (void)process_vm_readv(pid, &word, 1, &word, 1, 0);
    int64_t begin = tt_clock_ns();
    ssize_t n = writes ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                       : process_vm_readv(pid, &here, 1, &there, 1, 0);
    *took_ns = tt_clock_ns() - begin;
    return n == bytes;
}

/* ---- Helpers ---- */

static void relax(void)
{
    if (calibration.alone)
        sched_yield();
    else
        tt_relax();
}

static void pin(int nth)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
    nth %= CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || nth-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

static void raise_lines(void)
{
    for (int i = 0; i < LINES; i++) atomic_fetch_add(&calibration.rig->line[i].raised, 1);
}

static void answer(void)
{
    struct rig *rig = calibration.rig;
    uint32_t from = atomic_load(&rig->pong);
    for (uint32_t i = 1; i <= EXCHANGES; i++) {
        while (atomic_load_explicit(&rig->ping, memory_order_acquire) != from + i) relax();
        atomic_store_explicit(&rig->pong, from + i, memory_order_release);
    }
}

static int64_t obey(enum order what, int64_t bytes, int64_t at)
{
    struct rig *rig = calibration.rig;
    int64_t stride = stride_of(bytes), window = window_of(bytes), took = 0;
    char *from = calibration.from + at, *to = calibration.to + at, *cache = calibration.cache;
    switch (what) {
    case ORDER_FLUSH: flush_runs(at, bytes); break;
    case ORDER_WRITE: return copy_run(rig->blocks, window, cache, 0, bytes);
    case ORDER_FILL: return copy_run(rig->blocks, window, from, stride, bytes);
    case ORDER_STREAM_WRITE: return stream_run(rig->blocks, window, cache, 0, bytes);
    case ORDER_STREAM_FILL: return stream_run(rig->blocks, window, from, stride, bytes);
    case ORDER_RENEW: return copy_run(from, stride, cache, 0, bytes);
    case ORDER_COPY: return copy_run(to, stride, from, stride, bytes);
    case ORDER_READ: (void)by_system(calibration.first, false, to, from, bytes, &took); return took;
    case ORDER_RAISE: raise_lines(); break;
    case ORDER_ANSWER: answer(); break;
    case ORDER_NONE:
    case ORDER_END: break;
    }
    return 0;
}

/* Writes to the first `bytes` bytes of the pools `from` and `to`, and to the pool `cache`, so that
 * the system maps their pages. */
static void touch(int64_t bytes)
{
    memset(calibration.from, 1, (size_t)bytes);
    memset(calibration.to, 1, (size_t)bytes);
    memset(calibration.cache, 1, SMALL_POOL);
}

static _Noreturn void help(int me)
{
    struct rig *rig = calibration.rig;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(me + 1);
    touch(me == 0 ? POOL : SMALL_POOL);
    for (uint32_t n = 0;; n++) {
        atomic_store(&rig->helper[me].done, n);
        while (atomic_load_explicit(&rig->helper[me].order, memory_order_acquire) == n) relax();
        if (rig->helper[me].what == ORDER_END) _exit(0);
        rig->helper[me].took_ns =
            obey(rig->helper[me].what, rig->helper[me].bytes, rig->helper[me].at);
    }
}

static void begin_order(int helper, enum order what, int64_t bytes)
{
    struct rig *rig = calibration.rig;
    rig->helper[helper].what = what;
    rig->helper[helper].bytes = bytes;
    rig->helper[helper].at = helper == 0 ? calibration.its_at : 0;
    atomic_fetch_add(&rig->helper[helper].order, 1);
}

static int64_t end_order(int helper)
{
    struct rig *rig = calibration.rig;
    while (atomic_load(&rig->helper[helper].done) != atomic_load(&rig->helper[helper].order))
        relax();
    return rig->helper[helper].took_ns;
}

static int64_t order(enum order what, int64_t bytes)
{
    begin_order(0, what, bytes);
    return end_order(0);
}

/* ---- Cells ---- */

/* The times of the rounds of a cell. */
struct times {
    int n;
    int64_t ns[ROUNDS_MOST];
};

static void take_time(struct times *times, int64_t ns)
{
    if (times->n < ROUNDS_MOST) times->ns[times->n++] = ns;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the time in ps of the round that is at `place` (from 0) when the rounds are sorted by
 * time, the fastest first. */
static int64_t in_order(struct times *times, int place)
{
    qsort(times->ns, (size_t)times->n, sizeof times->ns[0], ascending);
    return times->ns[place] * PS_OF_NS;
}

/* Returns a time in ps minus the time that settle(), which waits until all bytes are stored, takes
 * alone. Returns at least one ps for each byte: a processor may copy a few bytes in the time that
 * settle() takes anyway. */
static int64_t without_settling(int64_t ps, int64_t bytes)
{
    return tt_max(bytes, ps - calibration.settle_ps);
}

/* Returns the time in ps of a block in the median round. */
static int64_t median(struct times *times, int64_t bytes)
{
    int64_t each = in_order(times, times->n / 2) / run_of(bytes);
    return without_settling(each, bytes);
}

enum { SECOND = 1 };

/* Begins a round: moves on to the next run in the pools of this process and of the first helper.
 * Returns the offset of the run in the pools of this process. */
static int64_t next_round(int64_t bytes)
{
    int64_t cursor = calibration.its_at + run_of(bytes) * stride_of(bytes);
    calibration.its_at = next_run(&cursor, POOL, bytes);
    return next_run(&calibration.at, POOL, bytes);
}

static void measure_own_copies(struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], stride = stride_of(n);
    char *from = calibration.from, *to = calibration.to, *cache = calibration.cache;
    struct times times[4] = {{.n = 0}};
    begin_rounds();
    for (int i = 0; goes_on(i, n); i++) {
        int64_t at = next_round(n), then = next_round(n);
        (void)copy_run(cache, 0, cache + SMALL_POOL / 2, 0, n);
        take_time(&times[0], copy_run(cache, 0, cache + SMALL_POOL / 2, 0, n));
        take_time(&times[1], copy_run(to + at, stride, cache, 0, n));
        take_time(&times[2], copy_run(cache, 0, from + at, stride, n));
        take_time(&times[3], copy_run(to + then, stride, from + then, stride, n));
        flush_runs(at, n);
        flush_runs(then, n);
    }
    m->table[TT_MACHINE_copy_cached_cached][point] = median(&times[0], n);
    m->table[TT_MACHINE_copy_cached_memory][point] = median(&times[1], n);
    m->table[TT_MACHINE_copy_memory_cached][point] = median(&times[2], n);
    m->table[TT_MACHINE_copy_memory_memory][point] = median(&times[3], n);
}

/* Measures how long the helper takes to write the shared blocks by stores that bypass the caches,
 * after this process has read the blocks. */
static void measure_streams(struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], window = window_of(n);
    struct times times[2] = {{.n = 0}};
    begin_rounds();
    for (int i = 0; goes_on(i, n); i++) {
        int64_t at = next_round(n);
        for (int k = 0; k < 2; k++) {
            (void)copy_run(calibration.cache, 0, calibration.rig->blocks, window, n);
            take_time(&times[k], order(k == 0 ? ORDER_STREAM_WRITE : ORDER_STREAM_FILL, n));
        }
        (void)order(ORDER_FLUSH, n);
        flush_runs(at, n);
    }
    int64_t takes = m->table[TT_MACHINE_copy_other_cached][point];
    int64_t own = m->table[TT_MACHINE_copy_cached_cached][point], gives = median(&times[0], n);
    m->table[TT_MACHINE_stream_cached][point] = gives;
    m->table[TT_MACHINE_stream_memory][point] = median(&times[1], n);
    m->table[TT_MACHINE_stream_other][point] = tt_max(takes, takes + gives - own);
}

/* Measures how long the helper takes to write the shared blocks, and how long this process then
 * takes to copy them. */
static void measure_exchanged_copies(struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], stride = stride_of(n), window = window_of(n);
    char *blocks = calibration.rig->blocks;
    struct times times[4] = {{.n = 0}};
    begin_rounds();
    for (int i = 0; goes_on(i, n); i++) {
        int64_t at = next_round(n);
        take_time(&times[0], order(ORDER_WRITE, n));
        take_time(&times[1], copy_run(calibration.cache, 0, blocks, window, n));
        take_time(&times[2], order(ORDER_FILL, n));
        take_time(&times[3], copy_run(calibration.to + at, stride, blocks, window, n));
        (void)order(ORDER_FLUSH, n);
        flush_runs(at, n);
    }
    int64_t own = m->table[TT_MACHINE_copy_cached_cached][point];
    int64_t gives = median(&times[0], n), takes = median(&times[1], n);
    m->table[TT_MACHINE_copy_cached_other][point] = gives;
    m->table[TT_MACHINE_copy_other_cached][point] = takes;
    m->table[TT_MACHINE_copy_memory_other][point] = median(&times[2], n);
    m->table[TT_MACHINE_copy_other_memory][point] = median(&times[3], n);
    m->table[TT_MACHINE_copy_other_other][point] = tt_max(takes, takes + gives - own);
}

static int64_t reduce_run(tt_reduce_fn *reduce, char *to, int64_t stride, const char *a,
                          int64_t a_stride, const char *b, int64_t b_stride, int64_t bytes)
{
    int64_t begin = tt_clock_ns();
    for (int i = 0; i < run_of(bytes); i++) {
        const void *in[2] = {a + i * a_stride, b + i * b_stride};
        reduce(to + i * stride, in, 2, (size_t)bytes / sizeof(double));
        settle();
    }
    return tt_clock_ns() - begin;
}

/* Returns the time in ps that each operand after the first adds to a reduction: the time `two` of a
 * reduction of two operands minus the time `one` of a copy of one operand. It is at least half of
 * the time `own` of a copy within the cache, because a copy reads and writes, and an operand is
 * only read. It is also at least one ps for each byte, because the addition of a few bytes may seem
 * to take no time (without_settling). */
static int64_t further(int64_t two, int64_t one, int64_t own, int64_t bytes)
{
    return tt_max(bytes, tt_max(two - one, own / 2));
}

static void measure_sums(struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], stride = stride_of(n);
    tt_reduce_fn *sum = tt_reduce_lookup(TUTTI_F64, TUTTI_SUM);
    char *from = calibration.from, *to = calibration.to, *cache = calibration.cache;
    struct times times[3] = {{.n = 0}};
    begin_rounds();
    for (int i = 0; goes_on(i, n); i++) {
        int64_t at = next_round(n), then = next_round(n), last = next_round(n);
        (void)copy_run(cache, 0, cache + SMALL_POOL / 2, 0, n);
        take_time(&times[0], reduce_run(sum, cache, 0, cache, 0, cache + SMALL_POOL / 2, 0, n));
        take_time(&times[1],
                  reduce_run(sum, to + at, stride, from + at, stride, from + then, stride, n));
        (void)order(ORDER_WRITE, n);
        take_time(&times[2], reduce_run(sum, to + last, stride, from + last, stride,
                                        calibration.rig->blocks, window_of(n), n));
        flush_runs(at, n);
        flush_runs(then, n);
        flush_runs(last, n);
    }
    int64_t own = m->table[TT_MACHINE_copy_cached_cached][point];
    int64_t far = m->table[TT_MACHINE_copy_memory_memory][point];
    m->table[TT_MACHINE_add_cached][point] = further(median(&times[0], n), own, own, n);
    m->table[TT_MACHINE_add_memory][point] = further(median(&times[1], n), far, own, n);
    m->table[TT_MACHINE_add_other][point] = further(median(&times[2], n), far, own, n);
}

/* For systems on which a process may not read the memory of another: sets the times of such reads
 * and writes to those of copies. On such a system no algorithm uses these times. */
static void copy_instead(struct tt_machine *m, int point)
{
    for (int t = TT_MACHINE_read_memory_cached; t <= TT_MACHINE_write_memory_memory; t++)
        m->table[t][point] = m->table[TT_MACHINE_copy_other_memory][point];
}

/* Reads a block of the first helper. renewed: the helper has just written the block; otherwise the
 * block is in no cache. cached: the destination is in the caches of this process. */
static bool read_once(bool renewed, bool cached, int64_t bytes, int64_t *ns)
{
    int64_t at = next_round(bytes);
    if (renewed) (void)order(ORDER_RENEW, bytes);
    bool works =
        by_system(calibration.helper[0], false, cached ? calibration.cache : calibration.to + at,
                  calibration.from + calibration.its_at, bytes, ns);
    (void)order(ORDER_FLUSH, bytes);
    flush_runs(at, bytes);
    return works;
}

static bool write_once(int64_t bytes, int64_t *ns)
{
    int64_t at = next_round(bytes);
    bool works = by_system(calibration.helper[0], true, calibration.from + at,
                           calibration.to + calibration.its_at, bytes, ns);
    (void)order(ORDER_FLUSH, bytes);
    flush_runs(at, bytes);
    return works;
}

static void measure_reads(struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], ns = 0;
    struct times times[5] = {{.n = 0}};
    bool works = calibration.reads;
    begin_rounds();
    for (int i = 0; goes_on(i, n) && works; i++) {
        for (int k = 0; k < 4 && works; k++) {
            works = read_once(k >= 2, k % 2 == 0, n, &ns);
            take_time(&times[k], ns);
        }
        works = works && write_once(n, &ns);
        take_time(&times[4], ns);
    }
    for (int k = 0; k < 5 && works; k++)
        m->table[TT_MACHINE_read_memory_cached + k][point] =
            tt_max(1, in_order(&times[k], times[k].n / 2));
    if (!works) copy_instead(m, point);
}

static void begin_all(enum order what, int64_t bytes)
{
    for (int h = 0; h < calibration.helpers; h++) begin_order(h, what, bytes);
}

static void end_all(void)
{
    for (int h = 0; h < calibration.helpers; h++) (void)end_order(h);
}

/* Returns the time in ps that this process takes to copy or read a block (what: ORDER_COPY or
 * ORDER_READ) while all helpers do the same. */
static int64_t together(enum order what, int64_t bytes)
{
    struct times times = {.n = 0};
    begin_rounds();
    for (int i = 0; goes_on(i, bytes); i++) {
        int64_t at = next_round(bytes), stride = stride_of(bytes), ns = 0;
        char *from = calibration.from, *to = calibration.to + at;
        begin_all(what, bytes);
        if (what == ORDER_COPY)
            ns = copy_run(to, stride, from + at, stride, bytes);
        else
            (void)by_system(calibration.helper[0], false, to, from + calibration.its_at, bytes,
                            &ns);
        end_all();
        take_time(&times, ns);
        begin_all(ORDER_FLUSH, bytes);
        end_all();
        flush_runs(at, bytes);
    }
    int64_t ps = in_order(&times, SECOND);
    if (what == ORDER_READ) return ps;
    return without_settling(ps / run_of(bytes), bytes);
}

static void measure_together(struct tt_machine *m, int point)
{
    enum { MILLE = 1000, MOST = 64 * MILLE };
    int64_t n = tt_machine_bytes[point];
    int64_t copy = m->table[TT_MACHINE_copy_memory_memory][point];
    int64_t read = m->table[TT_MACHINE_read_memory_memory][point];
    int64_t copies = calibration.alone ? copy : together(ORDER_COPY, n);
    bool reads = calibration.reads && !calibration.alone;
    int64_t readers = reads ? together(ORDER_READ, n) : read;
    m->table[TT_MACHINE_copy_shared][point] = tt_min(MOST, tt_max(MILLE, copies * MILLE / copy));
    m->table[TT_MACHINE_read_shared][point] = tt_min(MOST, tt_max(MILLE, readers * MILLE / read));
}

/* ---- Signals: stores to cache lines that another process reads ---- */

static int64_t time_exchanges(void)
{
    struct rig *rig = calibration.rig;
    uint32_t from = atomic_load(&rig->ping);
    begin_order(0, ORDER_ANSWER, 0);
    int64_t begin = tt_clock_ns();
    for (uint32_t i = 1; i <= EXCHANGES; i++) {
        atomic_store_explicit(&rig->ping, from + i, memory_order_release);
        while (atomic_load_explicit(&rig->pong, memory_order_acquire) != from + i) relax();
    }
    int64_t took = tt_clock_ns() - begin;
    (void)end_order(0);
    return took;
}

static int64_t time_takes(void)
{
    (void)order(ORDER_RAISE, 0);
    int64_t begin = tt_clock_ns();
    for (int i = 0; i < LINES; i++) {
        (void)atomic_load_explicit(&calibration.rig->line[i].raised, memory_order_acquire);
        settle();
    }
    return tt_clock_ns() - begin;
}

static void measure_settling(void)
{
    struct times times = {.n = 0};
    for (int i = 0; i < ROUNDS_MOST; i++) {
        int64_t begin = tt_clock_ns();
        for (int k = 0; k < RUN_MOST; k++) settle();
        take_time(&times, tt_clock_ns() - begin);
    }
    calibration.settle_ps = in_order(&times, times.n / 2) / RUN_MOST;
}

static void measure_lines(struct tt_machine *m)
{
    struct times line = {.n = 0}, take = {.n = 0};
    begin_rounds();
    for (int i = 0; goes_on(i, RUN_BYTES); i++) {
        take_time(&line, time_exchanges());
        take_time(&take, time_takes());
    }
    m->number[TT_MACHINE_line] = tt_max(1, in_order(&line, SECOND) / EXCHANGES / 2);
    m->number[TT_MACHINE_take] = without_settling(in_order(&take, SECOND) / LINES, TT_LINE);
}

/* ---- All tables ---- */

/* If a time in the tables is greater than the time for more bytes, lowers it to the latter: the
 * measurement for the fewer bytes was disturbed. */
static void straighten(struct tt_machine *m)
{
    for (int t = 0; t < TT_MACHINE_copy_shared; t++)
        for (int i = TT_MACHINE_POINTS - 1; i > 0; i--)
            m->table[t][i - 1] = tt_min(m->table[t][i - 1], m->table[t][i]);
}

static void measure_point(struct tt_machine *m, int point)
{
    measure_own_copies(m, point);
    measure_exchanged_copies(m, point);
    measure_streams(m, point);
    measure_sums(m, point);
    measure_reads(m, point);
    measure_together(m, point);
}

/* Returns whether, in any table, the time for the bytes of this point is clearly longer than the
 * time for the next point, which stands for more bytes. */
static bool is_disturbed(const struct tt_machine *m, int point)
{
    enum { PERCENT = 100, CLEARLY = 125 };
    for (int t = 0; t < TT_MACHINE_copy_shared && point + 1 < TT_MACHINE_POINTS; t++)
        if (m->table[t][point] * PERCENT > m->table[t][point + 1] * CLEARLY) return true;
    return false;
}

/* Measures disturbed points again, a few times at most. The least of the measured times counts. */
static void repeat_disturbed(struct tt_machine *m)
{
    enum { TURNS = 3 };
    for (int i = 0; i < TURNS * TT_MACHINE_POINTS; i++) {
        int point = i % TT_MACHINE_POINTS;
        if (!is_disturbed(m, point)) continue;
        struct tt_machine again = *m;
        measure_point(&again, point);
        for (int t = 0; t < TT_MACHINE_copy_shared; t++)
            m->table[t][point] = tt_min(m->table[t][point], again.table[t][point]);
    }
}

static void *map(size_t bytes, int flags)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool start_helpers(void)
{
    int usable = tt_usable_cores();
    calibration.alone = usable < 2;
    calibration.helpers = (int)tt_max(1, tt_min(usable - 1, HELPERS));
    calibration.first = getpid();
    calibration.rig = map(sizeof *calibration.rig, MAP_SHARED);
    calibration.from = map(POOL, MAP_PRIVATE);
    calibration.to = map(POOL, MAP_PRIVATE);
    calibration.cache = map(SMALL_POOL, MAP_PRIVATE);
    if (!calibration.rig || !calibration.from || !calibration.to || !calibration.cache)
        return false;
#ifdef PR_SET_PTRACER
    /* the security module Yama then lets the helpers read the memory of this process */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    for (int h = 0; h < calibration.helpers; h++) {
        pid_t pid = fork();
        if (pid == 0) help(h);
        if (pid < 0) calibration.helpers = h;
        if (pid > 0) calibration.helper[h] = pid;
    }
    return calibration.helpers > 0;
}

static void end_helpers(void)
{
    for (int h = 0; h < calibration.helpers; h++) begin_order(h, ORDER_END, 0);
    for (int h = 0; h < calibration.helpers; h++) (void)waitpid(calibration.helper[h], NULL, 0);
    if (calibration.rig) munmap(calibration.rig, sizeof *calibration.rig);
    if (calibration.from) munmap(calibration.from, POOL);
    if (calibration.to) munmap(calibration.to, POOL);
    if (calibration.cache) munmap(calibration.cache, SMALL_POOL);
}

static bool reading_works(void)
{
    int64_t ns;
    return tt_setting_int("TUTTI_CMA") != 0 &&
           by_system(calibration.helper[0], false, calibration.to, calibration.from, TT_LINE, &ns);
}

bool tt_calibrate_memory(struct tt_machine *machine)
{
    cpu_set_t before;
    bool kept = sched_getaffinity(0, sizeof before, &before) == 0;
    bool good = start_helpers();
    if (good) {
        pin(0);
        touch(POOL);
        calibration.reads = reading_works();
        measure_settling();
        measure_lines(machine);
        for (int point = 0; point < TT_MACHINE_POINTS; point++) measure_point(machine, point);
        repeat_disturbed(machine);
        straighten(machine);
    } else {
        fprintf(stderr, "tutti calibrate: no memory or process to measure with: %s\n",
                strerror(errno));
    }
    end_helpers();
    if (kept) (void)sched_setaffinity(0, sizeof before, &before);
    return good;
}
