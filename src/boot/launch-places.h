/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the ranks of a job are bound: a function of the machine, of what is allowed and taken
 * there, of how many ranks there are, and of what the user wants, and of nothing else.
 *
 *     package 0          package 1
 *     c0 c1 c2 c3        c4 c5 c6 c7          a core has one or more processors (hardware threads)
 *     0  1  2  3         4  5  6  7           --map-by core: ranks in the machine's order
 *     0  2  4  6         1  3  5  7           --map-by package: dealt out
 *     t  0  1  2         3  4  5  6           c0 is taken by another job of this user
 *
 * By default a rank gets a core, not a share of the machine, because measurements of collectives
 * between bound and unbound ranks say so, and because what is left is free for other jobs. Where
 * there are more ranks than cores they are bound to single processors, first one of each core, and
 * where there are more than processors, in turn: on an idle machine two ranks on their processor
 * take turns by yielding, and under load none of them waits for another that was moved. If another
 * job of the user has taken so much that the ranks do not fit beside it, they are not bound, since
 * two bound ranks on a processor cannot get out of each other's way.
 */
#ifndef TT_LAUNCH_PLACES_H
#define TT_LAUNCH_PLACES_H

#include <hwloc.h>

#include "boot/launch.h"

struct tt_places {
    int n;               /* 0: ranks are not bound */
    hwloc_bitmap_t *set; /* rank i is bound to set[i % n] */
    char unbound[120];   /* why ranks are not bound, if n is 0 */
};

/* The request. `taken` may be NULL; binding.cores of 0 means 1. */
struct tt_places_wish {
    hwloc_const_bitmap_t allowed, taken;
    struct tt_binding binding;
    int ranks;
};

/* False: no memory. The cpusets are the caller's, for tt_places_free. Does not look at this
 * system. */
bool tt_places_make(struct tt_places *places, hwloc_topology_t topology,
                    const struct tt_places_wish *wish);
void tt_places_free(struct tt_places *places);

/* "processors 1,5 (core 1, package 0)": of one package or NUMA node where the machine has
 * several. */
void tt_places_print(hwloc_topology_t topology, hwloc_const_bitmap_t set, char *text, size_t n);

#endif
