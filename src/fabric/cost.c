/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What it costs to read another process, beside the other way of moving bytes: by shared memory, which two processors copy in
 * and out at the same time. Three prices count:
 *
 *   the kernel's   what process_vm_readv takes longer than memcpy, of the same memory: it looks up every page
 *   taking         a copy of lines that lie in another processor's cache; whoever reads pays it either way
 *   giving         writing lines that another processor has read: it has to let go of them first
 *
 * Machines differ in all. Where taking and giving 64 KiB are below 2 microseconds and the kernel's price is 5, reading is dear;
 * where giving is 8, with the same kernel, it is cheap.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fabric/fabric.h"

enum { PARTS = 4, PART = TT_COST_BYTES / PARTS, PAGE = 4 << 10, TRIES = 5, MOST = 1000 };

/* ---- Times, in nanoseconds ---- */

static int64_t time_copy(char *to, const char *from, size_t n)
{
    int64_t begin = tt_clock_ns();
    memcpy(to, from, n);
    __asm__ volatile("" : : "r"(to) : "memory");
    return tt_clock_ns() - begin;
}

/* Of memory of this process, which stands for another one. 0: it cannot be read. */
static int64_t time_reading(char *to, char *from, size_t n)
{
    struct iovec mine = {to, n}, its = {from, n};
    int64_t begin = tt_clock_ns();
    if (process_vm_readv(getpid(), &mine, 1, &its, 1, 0) != (ssize_t)n) return 0;
    return tt_clock_ns() - begin;
}

/* Of what can be done once only: by the second fastest of its parts, so that neither an interrupt counts nor what was near. */
static int64_t time_once(char *to, const char *from)
{
    int64_t least = INT64_MAX, second = INT64_MAX;
    for (size_t i = 0; i < PARTS; i++) {
        int64_t time = time_copy(to + i * PART, from + i * PART, PART);
        second = tt_min(second, tt_max(least, time));
        least = tt_min(least, time);
    }
    return second * PARTS;
}

/* ---- The steps ---- */

void tt_cost_begin(char *block)
{
    memset(block, 1, TT_COST_BYTES);
}

/* A byte of each page comes first, for it may not be mapped yet. */
int64_t tt_cost_take(const char *block)
{
    char *to = tt_alloc_lines(TT_COST_BYTES);
    if (!to) return 0;
    memset(to, 1, TT_COST_BYTES);
    for (size_t i = 0; i < TT_COST_BYTES; i += PAGE) (void)*(const volatile char *)&block[i];
    int64_t time = time_once(to, block);
    tt_free(to);
    return time;
}

static int cost_of(char *memory, char *block, int64_t taking)
{
    char *to = memory, *from = memory + TT_COST_BYTES;
    int64_t giving = block && taking ? time_once(block, from) : 0;
    int64_t copy = INT64_MAX, reading = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        copy = tt_min(copy, time_copy(to, from, TT_COST_BYTES));
        reading = tt_min(reading, time_reading(to, from, TT_COST_BYTES));
    }
    copy = tt_max(1, copy);
    taking = tt_max(taking, copy);
    return (int)tt_max(1, tt_min(MOST, (taking + reading - copy) / tt_max(taking, giving)));
}

int tt_cost_end(char *block, int64_t taking)
{
    int cost = (int)tt_setting_int("TUTTI_READ_COST", 0, 0, MOST);
    char *memory = cost ? NULL : tt_alloc_lines((size_t)2 * TT_COST_BYTES);
    if (!memory) return tt_max(1, cost);
    memset(memory, 1, (size_t)2 * TT_COST_BYTES);
    cost = cost_of(memory, block, taking);
    tt_free(memory);
    return cost;
}

/* ---- In a program without peers ---- */

struct taker {
    const char *block;
    int not_here; /* the processor of who writes */
    int64_t time;
};

static void *take_elsewhere(void *arg)
{
    struct taker *t = arg;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0 && t->not_here >= 0 && CPU_COUNT(&cpus) > 1) {
        CPU_CLR(t->not_here, &cpus);
        (void)sched_setaffinity(0, sizeof cpus, &cpus);
    }
    t->time = tt_cost_take(t->block);
    return NULL;
}

int tt_cost_alone(void)
{
    pthread_t thread;
    char *block = tt_alloc_lines(TT_COST_BYTES);
    struct taker t = {.block = block, .not_here = sched_getcpu()};
    if (block) tt_cost_begin(block);
    if (block && pthread_create(&thread, NULL, take_elsewhere, &t) == 0) pthread_join(thread, NULL);
    int cost = tt_cost_end(block, t.time);
    tt_free(block);
    return cost;
}
