/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which cores there are to bind ranks to: those that both the machine's cpuset and this process'
 * own affinity allow, whole cores where they are known, in the machine's order.
 */
#include <errno.h>
#include <hwloc.h>

#include "boot/launch-guard.h"

struct tt_cores {
    hwloc_topology_t topology;
    hwloc_cpuset_t allowed;
    hwloc_obj_type_t type;
    int n; /* that are allowed */
};

static hwloc_obj_t next(const struct tt_cores *c, hwloc_obj_t after)
{
    do {
        after = hwloc_get_next_obj_by_type(c->topology, c->type, after);
    } while (after && !hwloc_bitmap_intersects(after->cpuset, c->allowed));
    return after;
}

static int count(struct tt_cores *c, hwloc_obj_type_t type)
{
    c->type = type;
    c->n = 0;
    for (hwloc_obj_t core = next(c, NULL); core; core = next(c, core)) c->n++;
    return c->n;
}

static bool load(struct tt_cores *c)
{
    c->allowed = hwloc_bitmap_alloc();
    if (hwloc_topology_init(&c->topology) != 0) return false;
    hwloc_topology_set_all_types_filter(c->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(c->topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    return hwloc_topology_load(c->topology) == 0 && c->allowed &&
           hwloc_get_cpubind(c->topology, c->allowed, HWLOC_CPUBIND_PROCESS) == 0 &&
           (count(c, HWLOC_OBJ_CORE) > 0 || count(c, HWLOC_OBJ_PU) > 0);
}

struct tt_cores *tt_cores_new(void)
{
    struct tt_cores *c = tt_calloc(1, sizeof *c);
    if (c && load(c)) return c;
    tt_launch_say("cannot bind to cores: hwloc finds none that this process may use");
    tt_cores_free(c);
    return NULL;
}

int tt_cores_bind(const struct tt_cores *c, int i)
{
    hwloc_obj_t core = next(c, NULL);
    for (int skip = i % c->n; skip > 0; skip--) core = next(c, core);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) return ENOMEM;
    hwloc_bitmap_and(set, core->cpuset, c->allowed);
    int error = hwloc_set_cpubind(c->topology, set, HWLOC_CPUBIND_PROCESS) == 0 ? 0 : errno;
    hwloc_bitmap_free(set);
    return error;
}

void tt_cores_free(struct tt_cores *c)
{
    if (!c) return;
    if (c->topology) hwloc_topology_destroy(c->topology);
    hwloc_bitmap_free(c->allowed);
    tt_free(c);
}
