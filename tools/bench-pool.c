/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that a benchmark uses in turn. A benchmark that uses one buffer again and again measures
 * the caches. Here the buffers of all ranks together are twice as large as the last-level cache, if
 * memory allows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { LEAST = 2, ALIGNMENT = 4096 };
static const int64_t cache_unknown = 32 << 20, entries_most = 1 << 16;

/* Returns the memory that is available on this machine (MemAvailable) in bytes, or 1 GiB if the
 * kernel does not report it. */
static int64_t available_bytes(void)
{
    char line[128];
    long long kib = 1 << 20;
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file) return (int64_t)kib << 10;
    while (fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %lld kB", &kib) != 1)
        continue;
    fclose(file);
    return (int64_t)kib << 10;
}

static int64_t cache_bytes(void)
{
    int64_t bytes = tt_max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
    return bytes > 0 ? bytes : cache_unknown;
}

static char *allocate(int64_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGNMENT, (size_t)bytes) != 0) return NULL;
    memset(memory, 0, (size_t)bytes); /* maps the pages before anything is timed */
    return memory;
}

bool tt_pool_open(struct tt_pool *pool, const struct tt_bench *b)
{
    *pool = (struct tt_pool){.in_stride = tt_round_up(b->in_bytes + TT_BENCH_CANARY, TT_LINE),
                             .out_stride = tt_round_up(b->out_bytes + TT_BENCH_CANARY, TT_LINE)};
    int64_t one = pool->in_stride + pool->out_stride, allowed = available_bytes() / 4 / b->p;
    if (LEAST * one <= allowed) {
        int64_t wanted = tt_min(2 * cache_bytes() / b->p, allowed);
        int64_t calls = b->c->iterations > 0 ? b->c->iterations : entries_most;
        pool->n = tt_max(tt_min(tt_min(wanted / one, entries_most), calls), LEAST);
        pool->in = allocate(pool->n * pool->in_stride);
        pool->out = allocate(pool->n * pool->out_stride);
    }
    if (pool->in && pool->out) return true;
    if (b->me == 0)
        fprintf(stderr,
                "tutti bench: %d ranks need %" PRId64 " bytes each, which is more than there is\n",
                b->p, LEAST * one);
    tt_pool_close(pool);
    return false;
}

void tt_pool_close(struct tt_pool *pool)
{
    free(pool->in);
    free(pool->out);
    *pool = (struct tt_pool){0};
}
