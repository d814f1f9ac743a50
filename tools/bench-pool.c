/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that a benchmark uses in turn. A benchmark that uses one buffer again and again measures
 * the caches. Here the buffers of the ranks that share a last-level cache are together twice as
 * large as this cache, if memory allows.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "bench.h"

enum { LEAST = 2, ALIGNMENT = 4096, CACHES_MOST = 8 };
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

/* Opens a file about a cache of the processor that this thread runs on. `index` is the number that
 * Linux gives the cache. */
static FILE *open_cache(int index, const char *file)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", sched_getcpu(),
             index, file);
    return fopen(path, "re");
}

/* Returns how many processors share this cache; 1 if this is not known. */
static int64_t cache_processors(int index)
{
    FILE *file = open_cache(index, "shared_cpu_map");
    int64_t n = 0;
    if (!file) return 1;
    for (int c; (c = fgetc(file)) != EOF;) {
        char digit[2] = {(char)c, '\0'};
        n += __builtin_popcountl(strtoul(digit, NULL, 16));
    }
    fclose(file);
    return tt_max(n, 1);
}

/* Returns the bytes of the last-level cache, and sets *processors to how many processors share it.
 * The size is that of sysfs, because sysconf(_SC_LEVEL3_CACHE_SIZE) of glibc 2.36 is ten times as
 * large on an AMD EPYC (Zen 4) with 32 MiB. */
static int64_t last_cache(int64_t *processors)
{
    int64_t bytes = 0;
    for (int index = 0; index < CACHES_MOST; index++) {
        long long kib;
        FILE *file = open_cache(index, "size");
        if (!file) break;
        bool known = fscanf(file, "%lldK", &kib) == 1 && kib << 10 > bytes;
        fclose(file);
        if (!known) continue;
        bytes = kib << 10;
        *processors = cache_processors(index);
    }
    if (bytes == 0) *processors = sysconf(_SC_NPROCESSORS_ONLN);
    return bytes > 0 ? bytes : cache_unknown;
}

/* Returns how many bytes the buffers of a rank should have: twice its share of the last-level
 * cache. The share assumes that the ranks are spread evenly over all processors. */
static int64_t wanted_bytes(int ranks)
{
    int64_t sharing, processors = tt_max(sysconf(_SC_NPROCESSORS_ONLN), 1);
    int64_t bytes = last_cache(&sharing);
    return 2 * bytes / tt_max(ranks * sharing / processors, 1);
}

/* Returns how many ranks of the team are on this machine. */
static int ranks_here(const struct tt_bench *b)
{
    const struct tt_map *map = &b->team->run.map;
    int n = 0;
    if (tt_map_one_node(map) || map->one_kernel) return b->p;
    for (int r = 0; r < b->p; r++) n += map->node[r] == map->node[b->me];
    return n;
}

static char *allocate(int64_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGNMENT, (size_t)bytes) != 0) return NULL;
    memset(memory, 0, (size_t)bytes); /* maps the pages before anything is timed */
    return memory;
}

bool tt_pool_open(struct tt_pool *pool, const struct tt_bench *b, int64_t *least)
{
    *pool = (struct tt_pool){.in_stride = tt_round_up(b->in_bytes + TT_BENCH_CANARY, TT_LINE),
                             .out_stride = tt_round_up(b->out_bytes + TT_BENCH_CANARY, TT_LINE)};
    int here = ranks_here(b);
    int64_t one = pool->in_stride + pool->out_stride, allowed = available_bytes() / 4 / here;
    *least = LEAST * one;
    if (*least <= allowed) {
        int64_t wanted = tt_min(wanted_bytes(here), allowed);
        int64_t calls = b->c->iterations > 0 ? b->c->iterations : entries_most;
        pool->n = tt_max(tt_min(tt_min(wanted / one, entries_most), calls), LEAST);
        pool->in = allocate(pool->n * pool->in_stride);
        pool->out = allocate(pool->n * pool->out_stride);
    }
    if (pool->in && pool->out) return true;
    tt_pool_close(pool);
    return false;
}

void tt_pool_close(struct tt_pool *pool)
{
    free(pool->in);
    free(pool->out);
    *pool = (struct tt_pool){0};
}
