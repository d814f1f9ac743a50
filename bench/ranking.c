/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what a choice by estimate costs, under the model of this machine (TUTTI_MACHINE), or
 * under a made-up one if none is known. The arguments are numbers of ranks (2, 4, 8 and 16).
 *
 *   ranking   for each collective and number of ranks, nodes and processors: the size for which
 *             ranking all algorithms takes longest, the processor time for this size, and the sum
 *             of the processor times for all sizes
 *   lookup    the time of an estimate whose ranking is known
 *
 * On one node there are two processors, or one for each rank. There are also two nodes, and as many
 * nodes as ranks, where each rank has a processor. If the model has no network, a made-up one joins
 * the nodes.
 *
 * The output is one line of JSON for each figure. Each time is the least of several: other programs
 * only make it longer.
 */
#include "measure.h"

#include "choose/estimate.h"
#include "plan/words.h"

enum { REPEATS = 2, BATCHES = 11, LOOKUPS = 1000000, LEAST = 3, MOST = 22 };

static struct tt_machine machine;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_up_model(void)
{
    enum { NUMBER_PS = 100000, BYTE_PS = 200, ALONE = 1000 };
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) machine.number[i] = NUMBER_PS;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
            machine.table[t][i] = BYTE_PS * tt_machine_bytes[i];
        machine.table[TT_MACHINE_copy_shared][i] = machine.table[TT_MACHINE_read_shared][i] = ALONE;
    }
}

static void find_model(void)
{
    char path[TT_MACHINE_PATH], why[TT_MACHINE_WHY] = "";
    if (tt_machine_find(&machine, path, why)) return;
    fprintf(stderr, "%s, so the times are those of rankings under a made-up model\n", why);
    make_up_model();
}

/* Adds a network in which a message takes 10 us, and 0.1 ns for each byte. */
static void make_up_network(void)
{
    enum { TIME_PS = 10000000, WORK_PS = 3000000, BYTE_PS = 100 };
    struct tt_machine_network *n = &machine.network;
    if (tt_machine_has_network(&machine)) return;
    n->look = WORK_PS / 10;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        int64_t bytes_ps = BYTE_PS * tt_machine_bytes[i];
        n->wire[TT_MACHINE_wire_time][i] = TIME_PS + bytes_ps;
        n->wire[TT_MACHINE_wire_send][i] = n->wire[TT_MACHINE_wire_receive][i] =
            WORK_PS + bytes_ps / 2;
        n->wire[TT_MACHINE_wire_gap][i] = WORK_PS + bytes_ps;
    }
}

/* Returns the map of p ranks on nodes with equally many ranks. */
static struct tt_map map_of(int p, int nodes, int cores)
{
    static int node[TT_RANKED_SIZES];
    for (int r = 0; r < p; r++) node[r] = r / (p / nodes);
    return (struct tt_map){.p = p,
                           .node = nodes > 1 ? node : NULL,
                           .cores = cores,
                           .win_bytes = 128 << 10,
                           .eager = 8 << 10,
                           .reads = true,
                           .writes = true,
                           .read_cost = 1,
                           .nodes = nodes,
                           .estimates = true,
                           .machine = &machine};
}

/* Returns a call of 2^log2 bytes. In a collective with a count for each rank, all counts are equal.
 */
static struct tt_call call_of(enum tt_coll coll, int log2, int p, int64_t *counts)
{
    bool reduces = tt_coll_has_op(coll);
    struct tt_call call = {.coll = coll,
                           .type = reduces ? TUTTI_F64 : TUTTI_U8,
                           .op = TUTTI_SUM,
                           .commutes = true,
                           .sz = reduces ? 8 : 1};
    if (coll != TT_COLL_barrier) call.n = (INT64_C(1) << log2) / call.sz;
    for (int r = 0; r < p; r++) counts[r] = call.n;
    if (tt_call_counts(&call)) call.out_counts = counts;
    return call;
}

static double time_ranking(const struct tt_call *call, const struct tt_map *map)
{
    double least = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        double begin = processor_seconds();
        if (!tt_estimate(NULL, call, map, NULL))
            die("nothing is ranked for %s", tt_coll_name(call->coll));
        double took = processor_seconds() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static void measure_rankings(enum tt_coll coll, int p, int nodes, int cores)
{
    int64_t counts[TT_RANKED_SIZES];
    struct tt_map map = map_of(p, nodes, cores);
    double most = 0, all = 0;
    int at = LEAST;
    for (int log2 = LEAST; log2 <= MOST; log2++) {
        struct tt_call call = call_of(coll, log2, p, counts);
        double each = time_ranking(&call, &map);
        all += each;
        if (each <= most) continue;
        most = each;
        at = log2;
    }
    printf("{\"target\": \"ranking\", \"collective\": \"%s\", \"ranks\": %d, \"nodes\": %d, "
           "\"cores\": %d, \"bytes\": %d, \"ns\": %.0f, \"all_ns\": %.0f}\n",
           tt_coll_name(coll), p, nodes, cores, 1 << at, 1e9 * most, 1e9 * all);
}

static void measure_lookup(void)
{
    static struct tt_rankings kept;
    int64_t counts[TT_RANKED_SIZES];
    struct tt_map map = map_of(4, 1, 2);
    double least = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = processor_seconds();
        for (int i = 0; i < LOOKUPS; i++) {
            struct tt_call call = call_of(TT_COLL_allreduce, LEAST + i % 20, 0, counts);
            if (!tt_estimate(&kept, &call, &map, NULL)) die("nothing is ranked for allreduce");
        }
        double took = (processor_seconds() - begin) / LOOKUPS;
        least = took < least ? took : least;
    }
    printf("{\"target\": \"lookup\", \"ns\": %.2f}\n", 1e9 * least);
}

static void measure_ranks(int p)
{
    for (int c = 0; c < TT_COLLS; c++) {
        if (tt_coll_pairs((enum tt_coll)c)) continue;
        measure_rankings((enum tt_coll)c, p, 1, 2);
        if (p > 2) measure_rankings((enum tt_coll)c, p, 1, p);
        if (p > 2 && p % 2 == 0) measure_rankings((enum tt_coll)c, p, 2, p);
        measure_rankings((enum tt_coll)c, p, p, p);
    }
}

int main(int argc, char **argv)
{
    static const int ranks[] = {2, 4, 8, 16};
    find_model();
    make_up_network();
    for (int i = 1; i < argc; i++) {
        int p = atoi(argv[i]);
        if (p < 2 || p > TT_RANKED_SIZES) die("not a number of ranks from 2 on: '%s'", argv[i]);
        measure_ranks(p);
    }
    for (size_t i = 0; argc == 1 && i < sizeof ranks / sizeof *ranks; i++) measure_ranks(ranks[i]);
    measure_lookup();
    return 0;
}
