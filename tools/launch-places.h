/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides where the ranks of a job are bound, by a pure function of the host's topology, of the
 * processors that are allowed and taken on the host, of the number of ranks, and of what the user
 * asks for.
 *
 *     package 0          package 1
 *     c0 c1 c2 c3        c4 c5 c6 c7          a core has one or more processors (hardware threads)
 *     0  1  2  3         4  5  6  7           --map-by core: ranks in the order of the topology
 *     0  2  4  6         1  3  5  7           --map-by package: ranks in turn to the packages
 *     t  0  1  2         3  4  5  6           c0 is taken by another job of this user
 *
 * The numbers below the cores are ranks; t marks a taken core. By default a rank gets one core, or
 * one for each of its threads (launch-cores.c), and not a share of the host: measured collectives
 * were faster between ranks that are bound to a core than between unbound ranks, and the remaining
 * cores stay free for other jobs. If too few cores are free for all ranks, ranks are bound to
 * single processors, at first to one processor of each core. If there are more ranks than
 * processors, the ranks are distributed evenly over the processors and stay there. On an idle host,
 * two ranks on one processor then take turns by yielding. On a busy host, no rank waits for another
 * one that the scheduler is moving to another processor. If other jobs of the user leave fewer
 * processors free than there are ranks, the first ranks get the free processors, and the other
 * ranks share processors with the other jobs in turn. If all ranks were bound to the free
 * processors, they would hardly delay the other jobs (docs/tuning.md), but the choice of algorithms
 * depends on the number of processors of a job. So the bits of a sum could depend on what else the
 * user runs.
 */
#ifndef TT_LAUNCH_PLACES_H
#define TT_LAUNCH_PLACES_H

#include <hwloc.h>

#include "launch.h"

/* The result of the decision: the sets of processors to which ranks are bound. */
struct tt_places {
    int n;               /* the number of sets; 0 if ranks are not bound */
    hwloc_bitmap_t *set; /* the set of rank i is set[i % n] */
    char unbound[120];   /* why ranks are not bound, if n is 0 */
    bool crowded;        /* the ranks share processors with other jobs of this user */
    /* units: how many cores (or processors, if ranks are bound to these) may be used; free: how
     * many of them no other job has taken */
    int units, free;
    int each; /* how many of these units a rank has */
};

/* The request for a decision: the binding that the user asks for, the number of ranks, and the
 * processors that are allowed and those that other jobs have taken. `taken` may be NULL;
 * binding.cores == 0 means 1. */
struct tt_places_wish {
    hwloc_const_bitmap_t allowed, taken;
    struct tt_binding binding;
    int ranks;
};

/* Decides the places of the ranks. Returns false if there is no memory. The caller frees the places
 * with tt_places_free. Uses only the given topology, and does not look at this host. */
bool tt_places_make(struct tt_places *places, hwloc_topology_t topology,
                    const struct tt_places_wish *wish);
void tt_places_free(struct tt_places *places);

/* Begins a topology like hwloc_topology_init, but without hwloc's plugins, unless the environment
 * says otherwise. Debian's plugins find graphics cards and OpenCL devices and read XML. The command
 * uses none of this, and loading them takes 3 of the 12 ms in which a job of four ranks starts and
 * ends. Changes the environment for a moment, so no other thread may run. */
int tt_topology_init(hwloc_topology_t *topology);

/* Writes "processors 1,5 (core 1, package 0)". Names the NUMA node or package if the topology has
 * several. */
void tt_places_print(hwloc_topology_t topology, hwloc_const_bitmap_t set, char *text, size_t n);

#endif
