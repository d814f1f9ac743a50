/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures a model of the machine within MOST_NS, between this thread and a second one on another
 * processor, the helper. Everything is measured twice, in two passes, and the lower of the two
 * values of each entry counts. If many entries of the tables differ by more than a half between the
 * passes, or the time was not enough for both passes, other programs were disturbing.
 *
 * Some entries cannot be measured by a thread of this process in the time. They are derived from
 * other numbers:
 *
 *     step                    the time of a multiplication, times a factor
 *     call, message           the same, with other factors, and a part of line: they move cache
 *                             lines between the processors, too
 *     take                    a third of line
 *     turn_4, turn_8          equal to turn_2
 *     1 MiB, 4 MiB            in proportion to 256 KiB; in copy_shared equal to 256 KiB
 *     read_shared             equal to copy_shared
 *
 * `tutti calibrate` found these factors and parts on the processors where it was tried, also on two
 * processors that share a cache at some times and not at others, so that a line takes several times
 * as long (bench/results/2026-11-30-amd-epyc.md).
 */
#include "choose/calibrate.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/settings.h"
#include "base/signals.h"
#include "job/wait.h"
#include "type/type.h"

enum {
    MOST_NS = 35000000, /* after this time no further size is measured */
    LAST = TT_MACHINE_POINTS - 3,
    BLOCK = 256 << 10, /* the largest size that is measured, in bytes */
    ROOM = 2 * BLOCK,
    POOL = 10 << 20, /* enough that no block of the two pools is used twice (move_on) */
    PAGE = 4096,
    RUN_BYTES = 64 << 10,
    RUN_MOST = 16,
    EXCHANGES = 500,
    LOOKS = 10000,
    PS_OF_NS = 1000,
    MILLE = 1000
};

enum brief_order {
    ORDER_NONE,
    ORDER_END,
    ORDER_WRITE,
    ORDER_STREAM,
    ORDER_COPY,
    ORDER_ANSWER,
    ORDER_SHARE
};

/* The memory that both threads use. `order` counts the orders given to the helper, and `done` those
 * that it has done: the two are equal while the helper has nothing to do. */
struct brief {
    _Alignas(TT_LINE) _Atomic uint32_t order;
    _Alignas(TT_LINE) _Atomic uint32_t done;
    _Alignas(TT_LINE) _Atomic uint32_t ping;
    _Alignas(TT_LINE) _Atomic uint32_t pong;
    enum brief_order what;
    int64_t bytes, took_ns;
    char *pool[2];                    /* POOL bytes each; this thread copies from [0] to [1] */
    int64_t at;                       /* the offset of the next blocks in both pools */
    char *from, *to;                  /* the blocks in the pools that are in use */
    char *shared, *its_from, *its_to; /* ROOM bytes each */
    char *target;                     /* where the helper writes */
    int mine, other;                  /* the processors of this thread and the helper;
                                                   * other: -1: there is none */
    int64_t begin_ns, until_ns;
    int64_t settle_ps; /* the time that settle() takes alone */
    bool helps, reads;
    pthread_t helper;
};

static int64_t run_of(int64_t bytes)
{
    return tt_max(1, tt_min(RUN_MOST, RUN_BYTES / bytes));
}

static int64_t stride_of(int64_t bytes)
{
    return tt_round_up(bytes + TT_LINE, TT_LINE);
}

static void settle(void)
{
#ifdef __x86_64__
    _mm_mfence();
    _mm_lfence();
#endif
}

#ifdef __x86_64__
/* Starts to remove the memory from the caches; settle() waits until the processor has done it.
 * clflush removes one line after the other, which takes 45 ms for both pools on an Intel Xeon, and
 * clflushopt 1 ms. */
__attribute__((target("clflushopt"))) static void flush_lines_at_once(char *memory, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += TT_LINE) _mm_clflushopt(memory + i);
}

static bool has_clflushopt(void)
{
    enum { LEAF = 7, CLFLUSHOPT = 1 << 23 };
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) && (b & CLFLUSHOPT) != 0;
}
#endif

/* Removes `bytes` bytes of memory from the caches. */
static void flush(char *memory, int64_t bytes)
{
#ifdef __x86_64__
    if (has_clflushopt())
        flush_lines_at_once(memory, bytes);
    else
        for (int64_t i = 0; i < bytes; i += TT_LINE) _mm_clflush(memory + i);
#else
    (void)memory;
    (void)bytes;
#endif
    settle();
}

/* Returns the bytes of the buffers of one run of copies: run_of(bytes) buffers of `bytes` bytes
 * each, stride_of(bytes) apart. */
static int64_t span_of(int64_t bytes)
{
    return run_of(bytes) * stride_of(bytes);
}

/* Moves on to blocks of the pools that were not used since open_pools flushed the pools. So they
 * are in no cache, and the processor has to look up the addresses of their pages, as for the
 * buffers of a program that uses much memory. */
static void move_on(struct brief *b, int64_t bytes)
{
    int64_t span = tt_round_up(span_of(bytes), PAGE);
    tt_assert(b->at + span <= POOL);
    b->from = b->pool[0] + b->at;
    b->to = b->pool[1] + b->at;
    b->at += span;
}

static inline int64_t run_by(bool streams, char *to, const char *from, int64_t bytes)
{
    int64_t begin = tt_clock_ns(), stride = stride_of(bytes);
    for (int64_t i = 0; i < run_of(bytes); i++, to += stride, from += stride) {
        if (streams)
            tt_stream(to, from, (size_t)bytes);
        else
            tt_memcpy(to, from, (size_t)bytes);
        settle();
    }
    return tt_clock_ns() - begin;
}

static int64_t copy_run(char *to, const char *from, int64_t bytes)
{
    return run_by(false, to, from, bytes);
}

static int64_t stream_run(char *to, const char *from, int64_t bytes)
{
    return run_by(true, to, from, bytes);
}

/* ---- The helper ---- */

static bool pin(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

/* Answers each ping by a pong with the same number, until the number is that of the last exchange.
 * The other thread may leave out numbers (exchange). */
static void answer(struct brief *b, bool yields)
{
    uint32_t got = atomic_load(&b->pong), last = got + EXCHANGES, before;
    do {
        before = got;
        while ((got = atomic_load_explicit(&b->ping, memory_order_acquire)) == before)
            if (yields) sched_yield();
        atomic_store_explicit(&b->pong, got, memory_order_release);
    } while (got != last);
}

static void obey(struct brief *b)
{
    switch (b->what) {
    case ORDER_WRITE:
        (void)copy_run(b->its_to, b->its_from, b->bytes);
        b->took_ns = copy_run(b->target, b->its_from, b->bytes);
        break;
    case ORDER_STREAM: b->took_ns = stream_run(b->target, b->its_from, b->bytes); break;
    case ORDER_COPY:
        flush(b->its_to, span_of(b->bytes));
        flush(b->its_from, span_of(b->bytes));
        (void)copy_run(b->its_to, b->its_from, b->bytes);
        break;
    case ORDER_ANSWER: answer(b, false); break;
    case ORDER_SHARE: answer(b, true); break;
    case ORDER_NONE:
    case ORDER_END: break;
    }
}

static void *help(void *arg)
{
    struct brief *b = arg;
    if (!pin(b->other)) b->helps = false;
    for (uint32_t n = 0;; n++) {
        atomic_store(&b->done, n);
        while (atomic_load_explicit(&b->order, memory_order_acquire) == n) sched_yield();
        if (b->what == ORDER_END) return NULL;
        if (b->what == ORDER_SHARE) (void)pin(b->mine);
        obey(b);
    }
}

static void begin_order(struct brief *b, enum brief_order what, int64_t bytes)
{
    b->what = what;
    b->bytes = bytes;
    atomic_fetch_add(&b->order, 1);
}

static int64_t end_order(struct brief *b)
{
    while (atomic_load(&b->done) != atomic_load(&b->order)) sched_yield();
    return b->took_ns;
}

/* Lets the helper write a run of blocks from `to` on, by ORDER_WRITE or ORDER_STREAM. Returns how
 * long it took. */
static int64_t let_write(struct brief *b, enum brief_order what, char *to, int64_t bytes)
{
    b->target = to;
    begin_order(b, what, bytes);
    return end_order(b);
}

/* ---- Entries of the tables ---- */

static int64_t each(const struct brief *b, int64_t run_ns, int64_t bytes)
{
    return tt_max(bytes, run_ns * PS_OF_NS / run_of(bytes) - b->settle_ps);
}

static void measure_copies(struct brief *b, struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point];
    move_on(b, n);
    m->table[TT_MACHINE_copy_memory_memory][point] = each(b, copy_run(b->to, b->from, n), n);
    m->table[TT_MACHINE_copy_cached_cached][point] = each(b, copy_run(b->to, b->from, n), n);
    const char *cached = b->from;
    move_on(b, n);
    m->table[TT_MACHINE_copy_cached_memory][point] = each(b, copy_run(b->to, cached, n), n);
    m->table[TT_MACHINE_copy_memory_cached][point] = each(b, copy_run(b->to, b->from, n), n);
}

/* Measures copies between the caches of two processors: this thread copies blocks that the helper
 * has just written, and the helper copies into blocks that this thread has just read. The target of
 * the first copy and the source of the second one are in the cache of the thread that copies. If
 * they are in no cache, or in the other processor's cache, the time is not measured, but computed
 * from the measured times. */
static void measure_exchanges(struct brief *b, struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point];
    int64_t(*t)[TT_MACHINE_POINTS] = m->table;
    (void)copy_run(b->to, b->shared, n);
    int64_t gives = each(b, let_write(b, ORDER_WRITE, b->shared, n), n);
    int64_t takes = each(b, copy_run(b->to, b->shared, n), n);
    int64_t own = t[TT_MACHINE_copy_cached_cached][point];
    int64_t load = tt_max(0, t[TT_MACHINE_copy_memory_cached][point] - own);
    int64_t store = tt_max(0, t[TT_MACHINE_copy_cached_memory][point] - own);
    t[TT_MACHINE_copy_cached_other][point] = gives;
    t[TT_MACHINE_copy_other_cached][point] = takes;
    t[TT_MACHINE_copy_memory_other][point] = gives + load;
    t[TT_MACHINE_copy_other_memory][point] = takes + store;
    t[TT_MACHINE_copy_other_other][point] = tt_max(takes, takes + gives - own);
    int64_t streams = each(b, let_write(b, ORDER_STREAM, b->shared, n), n);
    t[TT_MACHINE_stream_cached][point] = streams;
    t[TT_MACHINE_stream_memory][point] = streams + load;
    t[TT_MACHINE_stream_other][point] = tt_max(takes, takes + streams - own);
}

/* Returns the time that a second operand of n bytes, `second`, adds to a reduction into `to`, as
 * `tutti calibrate` measures it: the time of a sum of two operands minus `own`, the time of a copy
 * of n bytes within the cache; at least half of `own`. */
static int64_t further(const struct brief *b, char *to, const char *second, int64_t n, int64_t own)
{
    tt_reduce_fn *sum = tt_reduce_lookup(TUTTI_F64, TUTTI_SUM);
    int64_t begin = tt_clock_ns();
    for (int64_t i = 0; i < run_of(n); i++) {
        const void *in[2] = {to + i * stride_of(n), second + i * stride_of(n)};
        sum(to + i * stride_of(n), in, 2, (size_t)n / sizeof(double));
        settle();
    }
    return tt_max(tt_max(n, each(b, tt_clock_ns() - begin, n) - own), own / 2);
}

static void measure_sums(struct brief *b, struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], own = m->table[TT_MACHINE_copy_cached_cached][point];
    char *to = b->to;
    (void)copy_run(to, b->from, n);
    m->table[TT_MACHINE_add_cached][point] = further(b, to, b->from, n, own);
    move_on(b, n);
    m->table[TT_MACHINE_add_memory][point] = further(b, to, b->from, n, own);
    (void)let_write(b, ORDER_WRITE, b->shared, n);
    m->table[TT_MACHINE_add_other][point] = further(b, to, b->shared, n, own);
}

static int64_t by_system(struct brief *b, bool writes, char *mine, char *its, int64_t n)
{
    struct iovec here = {mine, (size_t)n}, there = {its, (size_t)n};
    int64_t begin = tt_clock_ns();
    ssize_t moved = writes ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                           : process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    b->reads = b->reads && moved == n;
    return tt_max(tt_max(1, n), (tt_clock_ns() - begin) * PS_OF_NS);
}

/* Measures reads and writes by the system. This process reads its own memory, which takes as long
 * as reading the memory of another process. */
static void measure_reads(struct brief *b, struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point];
    int64_t(*t)[TT_MACHINE_POINTS] = m->table;
    char *cached = b->to;
    move_on(b, n);
    t[TT_MACHINE_read_memory_cached][point] = by_system(b, false, cached, b->from, n);
    move_on(b, n);
    t[TT_MACHINE_read_memory_memory][point] = by_system(b, false, b->to, b->from, n);
    cached = b->to;
    move_on(b, n);
    (void)let_write(b, ORDER_WRITE, b->from, n);
    t[TT_MACHINE_read_other_cached][point] = by_system(b, false, cached, b->from, n);
    move_on(b, n);
    (void)let_write(b, ORDER_WRITE, b->from, n);
    t[TT_MACHINE_read_other_memory][point] = by_system(b, false, b->to, b->from, n);
    move_on(b, n);
    t[TT_MACHINE_write_memory_memory][point] = by_system(b, true, b->from, b->to, n);
    for (int i = TT_MACHINE_read_memory_cached; !b->reads && i <= TT_MACHINE_write_memory_memory;
         i++)
        t[i][point] = t[TT_MACHINE_copy_other_memory][point];
}

static void measure_together(struct brief *b, struct tt_machine *m, int point)
{
    int64_t n = tt_machine_bytes[point], one = m->table[TT_MACHINE_copy_memory_memory][point];
    move_on(b, n);
    begin_order(b, ORDER_COPY, n);
    int64_t both = each(b, copy_run(b->to, b->from, n), n);
    (void)end_order(b);
    int64_t mille = tt_max(MILLE, tt_min(2 * MILLE, both * MILLE / one));
    m->table[TT_MACHINE_copy_shared][point] = m->table[TT_MACHINE_read_shared][point] = mille;
}

/* ---- The numbers of the model ---- */

static bool in_time(const struct brief *b)
{
    return tt_clock_ns() < b->until_ns;
}

/* Returns the time of half an exchange between the two threads. When the time for measuring is
 * over, goes on with the last exchange: if other programs take the processors, each exchange lasts
 * milliseconds. */
static int64_t exchange(struct brief *b, enum brief_order what)
{
    enum { EXCHANGES_TO_CLOCK = 8 };
    uint32_t from = atomic_load(&b->ping);
    int made = 0;
    begin_order(b, what, 0);
    int64_t begin = tt_clock_ns();
    for (uint32_t i = 1; i <= EXCHANGES; i++, made++) {
        if (i % EXCHANGES_TO_CLOCK == 0 && !in_time(b)) i = EXCHANGES;
        atomic_store_explicit(&b->ping, from + i, memory_order_release);
        for (int looks = 0; atomic_load_explicit(&b->pong, memory_order_acquire) != from + i;)
            if (what == ORDER_SHARE || ++looks > LOOKS) sched_yield();
    }
    int64_t took = tt_clock_ns() - begin;
    (void)end_order(b);
    return took * PS_OF_NS / made / 2;
}

/* Returns the time of a multiplication that waits for the result of the one before. */
static int64_t multiplication_ps(void)
{
    enum { N = 20000 };
    volatile uint64_t seed = 3;
    uint64_t x = seed;
    int64_t begin = tt_clock_ns();
    for (int i = 0; i < N; i++) x = x * x + seed;
    seed = x;
    return tt_max(1, (tt_clock_ns() - begin) * PS_OF_NS / N);
}

static void measure_numbers(struct brief *b, struct tt_machine *m)
{
    /* what a call, a step and one end of a message cost, in multiplications */
    enum { CALL = 20, STEP = 4, MESSAGE = 40 };
    int64_t unit = multiplication_ps(), line = tt_max(1, exchange(b, ORDER_ANSWER));
    m->number[TT_MACHINE_call] = CALL * unit + line / 5;
    m->number[TT_MACHINE_step] = STEP * unit;
    m->number[TT_MACHINE_message] = MESSAGE * unit + line * 11 / 20;
    m->number[TT_MACHINE_line] = line;
    m->number[TT_MACHINE_take] = tt_max(1, line / 3);
}

static void measure_turns(struct brief *b, struct tt_machine *m)
{
    int64_t turn = tt_max(1, exchange(b, ORDER_SHARE));
    m->number[TT_MACHINE_turn_2] = m->number[TT_MACHINE_turn_4] = m->number[TT_MACHINE_turn_8] =
        turn;
}

/* ---- The passes ---- */

static bool pass(struct brief *b, struct tt_machine *m)
{
    static void (*const measures[])(struct brief *, struct tt_machine *, int point) = {
        measure_copies, measure_exchanges, measure_sums, measure_reads, measure_together};
    enum { N = sizeof measures / sizeof *measures };
    measure_numbers(b, m);
    for (int i = 0; i < N * (LAST + 1) && in_time(b); i++) measures[i % N](b, m, i / N);
    for (int i = 0; i < TT_MACHINE_TABLES_N * TT_MACHINE_POINTS; i++) {
        int t = i / TT_MACHINE_POINTS, point = i % TT_MACHINE_POINTS;
        bool mille = t >= TT_MACHINE_copy_shared;
        int64_t times = mille ? 1 : tt_machine_bytes[point] / tt_machine_bytes[LAST];
        if (point > LAST) m->table[t][point] = times * m->table[t][LAST];
    }
    return in_time(b);
}

static bool differ(int64_t a, int64_t b)
{
    return 2 * tt_max(a, b) > 3 * tt_min(a, b);
}

/* Keeps in *m the lower value of each entry of two passes. Returns whether the passes agree. */
static bool unite(struct tt_machine *m, const struct tt_machine *again)
{
    enum { FEW = 5 };
    int differing = 0, all = TT_MACHINE_copy_shared * TT_MACHINE_POINTS;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++)
        m->number[i] = tt_min(m->number[i], again->number[i]);
    for (int i = 0; i < TT_MACHINE_TABLES_N * TT_MACHINE_POINTS; i++) {
        int t = i / TT_MACHINE_POINTS, point = i % TT_MACHINE_POINTS;
        int64_t *x = &m->table[t][point], y = again->table[t][point];
        differing += t < TT_MACHINE_copy_shared && differ(*x, y);
        *x = tt_min(*x, y);
    }
    return differing * FEW <= all;
}

static void measure_settling(struct brief *b)
{
    enum { N = 200 };
    int64_t begin = tt_clock_ns();
    for (int i = 0; i < N; i++) settle();
    b->settle_ps = (tt_clock_ns() - begin) * PS_OF_NS / N;
}

/* Maps the pages of the pools, and removes them from the caches. */
static void open_pools(struct brief *b)
{
    for (int i = 0; i < 2; i++) {
        memset(b->pool[i], 1, POOL);
        flush(b->pool[i], POOL);
    }
}

/* Measures with a helper. Sets *quiet to whether both passes were complete and agree. Returns false
 * if the time was too short for a model. */
static bool measure(struct brief *b, struct tt_machine *m, bool *quiet)
{
    struct tt_machine again = {0}, warm = {0};
    measure_settling(b);
    open_pools(b);
    measure_copies(b, &warm, LAST);
    measure_exchanges(b, &warm, LAST); /* the first exchange only maps the pages */
    if (!pass(b, m)) return false;
    bool whole = pass(b, &again);
    measure_turns(b, m);
    again.number[TT_MACHINE_turn_2] = again.number[TT_MACHINE_turn_4] =
        again.number[TT_MACHINE_turn_8] = m->number[TT_MACHINE_turn_2];
    *quiet = whole && unite(m, &again);
    for (int t = 0; t < TT_MACHINE_copy_shared; t++)
        for (int i = TT_MACHINE_POINTS - 1; i > 0; i--)
            m->table[t][i - 1] = tt_min(m->table[t][i - 1], m->table[t][i]);
    return true;
}

/* Finds another processor that this process may use, whatever this rank is bound to; -1: there is
 * none. */
static int find_other(int mine)
{
    cpu_set_t before, all;
    int found = -1;
    if (sched_getaffinity(0, sizeof before, &before) != 0) return -1;
    memset(&all, 0xff, sizeof all);
    if (sched_setaffinity(0, sizeof all, &all) != 0) return -1;
    (void)sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 0; cpu++)
        if (cpu != mine && CPU_ISSET(cpu, &all)) found = cpu;
    (void)sched_setaffinity(0, sizeof before, &before);
    return found;
}

/* Maps memory for struct brief and, after it, the pools and three buffers. NULL: there is no
 * memory. */
static struct brief *open_brief(size_t *bytes)
{
    *bytes = tt_round_up(sizeof(struct brief), BLOCK) + 2 * (size_t)POOL + 3 * (size_t)ROOM;
    void *memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    struct brief *b = memory;
    char *at = (char *)memory + tt_round_up(sizeof *b, BLOCK);
    char **buffers[] = {&b->shared, &b->its_from, &b->its_to};
    for (int i = 0; i < 3; i++, at += ROOM) *buffers[i] = at;
    for (int i = 0; i < 2; i++, at += POOL) b->pool[i] = at;
    b->mine = sched_getcpu();
    b->other = b->mine < 0 ? -1 : find_other(b->mine);
    b->helps = b->reads = true;
    b->begin_ns = tt_clock_ns();
    b->until_ns = b->begin_ns + MOST_NS;
    return b;
}

/* Starts the helper with all signals blocked, so that signals of the process go to other
 * threads. */
static bool start_helper(struct brief *b)
{
    sigset_t before;
    tt_signals_block(&before);
    bool starts = pthread_create(&b->helper, NULL, help, b) == 0;
    tt_signals_restore(&before);
    return starts;
}

static bool with_helper(struct brief *b, struct tt_machine *m, bool *quiet,
                        char why[TT_MACHINE_WHY])
{
    cpu_set_t before;
    bool kept = sched_getaffinity(0, sizeof before, &before) == 0;
    if (b->other < 0) return tt_file_refuse(why, "a single processor can be used");
    bool starts = kept && pin(b->mine) && start_helper(b), good = false;
    if (starts) {
        good = measure(b, m, quiet);
        begin_order(b, ORDER_END, 0);
        (void)pthread_join(b->helper, NULL);
    }
    if (kept) (void)sched_setaffinity(0, sizeof before, &before);
    if (!starts) return tt_file_refuse(why, "there is no thread to measure with");
    if (!b->helps) return tt_file_refuse(why, "a thread cannot be bound to another processor");
    if (tt_log_on(TT_LOG_boot))
        tt_log("measuring a model took %.1f ms", 1e-6 * (double)(tt_clock_ns() - b->begin_ns));
    if (!good) return tt_file_refuse(why, "the machine is too busy to measure one at the start");
    return tt_machine_credible(m, why);
}

static void keep(const char *path, const struct tt_machine *machine, bool quiet)
{
    bool logs = tt_log_on(TT_LOG_boot);
    const char *changed = tt_setting("TUTTI_MACHINE") ? NULL : tt_setting_of_costs(NULL);
    if (changed) {
        if (logs) tt_log("the model was measured with %s: it is not kept", changed);
    } else if (!quiet) {
        if (logs) tt_log("the model was measured beside other programs: it is not kept");
    } else if (tt_machine_write(path, machine) != TUTTI_OK) {
        if (logs) tt_log("the model was measured, and cannot be kept: %s", tutti_error());
    } else if (logs) {
        tt_log("the model was measured, and is kept in %s", path);
    }
}

/* Returns whether a model that nobody demands can be kept, so that only one job measures it. */
static bool is_worth_it(const char *path)
{
    return !tt_setting_of_costs(NULL) && tt_machine_begin(path) == TUTTI_OK;
}

static bool measure_briefly(const char *path, bool demanded, struct tt_machine *machine,
                            char why[TT_MACHINE_WHY])
{
    bool quiet = false;
    size_t bytes;
    if (!demanded && !is_worth_it(path))
        return tt_file_refuse(why, "none was measured, because it could not be kept");
    struct brief *b = open_brief(&bytes);
    if (!b) return tt_file_refuse(why, "no memory to measure with");
    bool good = with_helper(b, machine, &quiet, why);
    (void)munmap(b, bytes);
    if (good && !quiet && !demanded)
        good = tt_file_refuse(why, "the machine is too busy to measure one at the start");
    if (good) keep(path, machine, quiet);
    return good;
}

bool tt_calibrate_briefly(const char *path, bool demanded, struct tt_machine *machine,
                          char why[TT_MACHINE_WHY])
{
    char kept[TT_ERROR_TEXT];
#ifndef __x86_64__
    return tt_file_refuse(why, "`tutti calibrate` has to measure it on this kind of processor");
#endif
    tt_error_keep(kept);
    bool good = measure_briefly(path, demanded, machine, why);
    tt_error_restore(kept);
    return good;
}
