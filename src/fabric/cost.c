/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what it costs to read another process' memory, compared with moving bytes through shared
 * memory, where two processors copy in and out at the same time. Three costs count:
 *
 *   the kernel's   how much longer process_vm_readv takes than memcpy of the same memory, because
 *                  it looks up every page
 *   taking         copying lines that another processor has written; the reader pays this whether
 *                  it copies from the other process or from shared memory
 *   giving         writing lines that another processor has read: its cache must give them up first
 *
 * Taking is fast if the lines are in another cache, and slow if they are in memory. Giving may be
 * slow by plain stores. Giving by non-temporal stores is fast, but leaves the data in memory, from
 * which taking is slow. Computers differ in all three costs. For example, let the kernel's cost for
 * 64 KiB be 5 microseconds. If taking and giving cost 2 microseconds each, reading takes 7
 * microseconds, more than three times as long as moving the bytes through shared memory. If instead
 * giving by plain stores costs 8 microseconds, reading still takes 7, less than moving the bytes by
 * plain stores.
 *
 * After a process has read the buffer of another process, the owner's next writes to this buffer
 * are slow, because its processor must get the lines back. If plain stores are very slow
 * (TT_STORES_SLOW), the cost of reading contains this time, too. Between two processors that shared
 * no cache, a call that read 256 KiB took 160 microseconds if the owner wrote its buffer before
 * each call, and 20 if it did not.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/signals.h"
#include "fabric/fabric.h"

enum {
    PARTS = 4,
    BYTES = TT_COST_BYTES / 2,
    PART = BYTES / PARTS,
    PAGE = 4 << 10,
    TRIES = 5,
    MOST = 1000
};

/* ---- Times, in nanoseconds ---- */

typedef void copy_fn(void *to, const void *from, size_t n);

static void by_stores(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

static int64_t time_copy(copy_fn *copy, char *to, const char *from, size_t n)
{
    int64_t begin = tt_clock_ns();
    copy(to, from, n);
    __asm__ volatile("" : : "r"(to) : "memory");
    return tt_clock_ns() - begin;
}

/* Returns how long it takes to read memory of this process by CMA, as if it were memory of another
 * process. Returns 0 if the system refuses. */
static int64_t time_reading(char *to, char *from, size_t n)
{
    struct iovec mine = {to, n}, its = {from, n};
    int64_t begin = tt_clock_ns();
    if (process_vm_readv(getpid(), &mine, 1, &its, 1, 0) != (ssize_t)n) return 0;
    return tt_clock_ns() - begin;
}

/* Times a copy that cannot be repeated, because the first copy changes in which caches the lines
 * are. Copies in PARTS parts and returns PARTS times the time of the second fastest part, so that
 * neither an interrupt nor a part that was in a nearby cache counts. */
static int64_t time_once(copy_fn *copy, char *to, const char *from)
{
    int64_t least = INT64_MAX, second = INT64_MAX;
    for (size_t i = 0; i < PARTS; i++) {
        int64_t time = time_copy(copy, to + i * PART, from + i * PART, PART);
        second = tt_min(second, tt_max(least, time));
        least = tt_min(least, time);
    }
    return second * PARTS;
}

/* ---- The steps: half of a block is written by plain stores, half by non-temporal ones ---- */

void tt_cost_begin(char *block)
{
    memset(block, 1, BYTES);
    tt_stream(block + BYTES, block, BYTES);
}

/* Reads a byte of each page first, since the pages may not be mapped yet. */
struct tt_taking tt_cost_take(const char *block)
{
    struct tt_taking taking = {0, 0};
    char *to = tt_alloc_lines(TT_COST_BYTES);
    if (!to) return taking;
    memset(to, 1, TT_COST_BYTES);
    for (size_t i = 0; i < TT_COST_BYTES; i += PAGE) (void)*(const volatile char *)&block[i];
    taking.stored = time_once(by_stores, to, block);
    taking.streamed = time_once(by_stores, to + BYTES, block + BYTES);
    tt_free(to);
    return taking;
}

static int at_least_1(int64_t cost, int64_t most)
{
    return (int)tt_max(1, tt_min(most, cost));
}

static int rounded(int64_t whole, int64_t other)
{
    return at_least_1((4 * whole + 3 * other) / (4 * other), MOST);
}

/* Returns the cost of reading, compared with windows, as a whole number (`times` of struct
 * tt_cost). Reading takes `whole` ns, and moving the bytes through windows takes `window` ns. Where
 * whole / window was between 0.75 and 1.5, algorithms that use windows were faster. So the result
 * is 1 only below 0.75: with a limit inside this range, noise in the measurement would decide
 * between the two kinds of algorithms. */
static int beside_windows(int64_t whole, int64_t window)
{
    return 4 * whole < 3 * window ? 1 : (int)tt_max(2, rounded(whole, window));
}

struct tt_cost tt_cost_judge(const struct tt_cost_times *t, int fill)
{
    bool two = t->taking.stored && t->taking.streamed;
    int64_t copy = tt_max(1, t->copy);
    int64_t taken = tt_max(t->taking.stored, copy), whole = taken + t->reading - copy;
    int64_t stored = tt_max(taken, t->storing);
    int64_t streamed = two ? tt_max(t->taking.streamed, t->streaming) : stored;
    bool is_apart = stored > TT_STORES_SLOW * streamed, slow = fill < 0 ? is_apart : fill > 0;
    int times =
        beside_windows(whole + (is_apart ? stored - streamed : 0), slow ? streamed : stored);
    if (is_apart && slow) times = (int)tt_max(TT_VERY_DEAR, times);
    return (struct tt_cost){.times = times,
                            .stored_times = rounded(whole, stored),
                            .percent =
                                at_least_1(100 * whole / tt_min(stored, streamed), 100 * MOST),
                            .streams = streamed < stored,
                            .stores_slow = slow};
}

static struct tt_cost_times measured(char *memory, char *block, struct tt_taking taking)
{
    char *to = memory, *from = memory + BYTES;
    struct tt_cost_times t = {.copy = INT64_MAX, .reading = INT64_MAX};
    if (block && taking.stored && taking.streamed) {
        t.taking = taking;
        t.storing = time_once(by_stores, block, from);
        t.streaming = time_once(tt_stream, block + BYTES, from);
    }
    for (int i = 0; i < TRIES; i++) {
        t.copy = tt_min(t.copy, time_copy(by_stores, to, from, BYTES));
        t.reading = tt_min(t.reading, time_reading(to, from, BYTES));
    }
    return t;
}

struct tt_cost tt_cost_end(char *block, struct tt_taking taking)
{
    int times = (int)tt_setting_int_or("TUTTI_READ_COST", 0);
    int fill = (int)tt_setting_int_or("TUTTI_FILL", -1);
    char *memory = tt_alloc_lines(TT_COST_BYTES);
    struct tt_cost cost = {.times = 1, .stored_times = 1, .percent = 100, .stores_slow = fill > 0};
    if (memory) {
        memset(memory, 1, TT_COST_BYTES);
        const struct tt_cost_times t = measured(memory, block, taking);
        cost = tt_cost_judge(&t, fill);
        tt_free(memory);
    }
    if (times > 0) {
        cost.times = cost.stored_times = times;
        cost.percent = 100 * times;
    }
    return cost;
}

/* ---- In a program without other processes ---- */

struct taker {
    const char *block;
    int not_here; /* the processor of the thread that writes; this thread shall avoid it */
    struct tt_taking taking;
};

static void *take_elsewhere(void *arg)
{
    struct taker *t = arg;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0 && t->not_here >= 0 && CPU_COUNT(&cpus) > 1) {
        CPU_CLR(t->not_here, &cpus);
        (void)sched_setaffinity(0, sizeof cpus, &cpus);
    }
    t->taking = tt_cost_take(t->block);
    return NULL;
}

/* Starts the thread with all signals blocked, so that signals of the process go to other threads.
 * Returns whether it was started. */
static bool begin_taking(pthread_t *thread, struct taker *t)
{
    sigset_t before;
    tt_signals_block(&before);
    bool begun = pthread_create(thread, NULL, take_elsewhere, t) == 0;
    tt_signals_restore(&before);
    return begun;
}

static int measure_alone(void)
{
    pthread_t thread;
    char *block = tt_alloc_lines(TT_COST_BYTES);
    struct taker t = {.block = block, .not_here = sched_getcpu()};
    if (block) tt_cost_begin(block);
    if (block && begin_taking(&thread, &t)) pthread_join(thread, NULL);
    struct tt_cost cost = tt_cost_end(block, t.taking);
    tt_free(block);
    return cost.times;
}

int tt_cost_alone(void)
{
    static int cost; /* 0: not measured yet */
    if (cost == 0) cost = measure_alone();
    return cost;
}
