/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hwloc as the library uses it. The library does not link to hwloc, since few programs ask for
 * memory domains: it loads hwloc when it is first needed, like UCX and PMIx. Each call reads the
 * topology again, because a thread may have been bound to other processors meanwhile; only NUMA
 * nodes and L3 caches are read.
 */
#include "fabric/domain.h"

#include <dlfcn.h>
#include <hwloc.h>

#include "base/process-lock.h"

#define HWLOC_FUNCTIONS(X)                                                                         \
    X(topology_init)                                                                               \
    X(topology_destroy)                                                                            \
    X(topology_load)                                                                               \
    X(topology_set_all_types_filter)                                                               \
    X(topology_set_type_filter)                                                                    \
    X(get_type_depth)                                                                              \
    X(get_nbobjs_by_depth)                                                                         \
    X(get_obj_by_depth)                                                                            \
    X(get_cpubind)                                                                                 \
    X(bitmap_alloc)                                                                                \
    X(bitmap_free)                                                                                 \
    X(bitmap_isincluded)

static struct {
#define MEMBER(name) __typeof__(hwloc_##name) *name;
    HWLOC_FUNCTIONS(MEMBER)
#undef MEMBER
} hwloc;

static struct {
    struct tt_process_lock lock;
    atomic_bool loaded;
} library = {.lock = TT_PROCESS_LOCK};

static const char *find_functions(void *handle)
{
#define FIND(name)                                                                                 \
    *(void **)&hwloc.name = dlsym(handle, "hwloc_" #name);                                         \
    if (!hwloc.name) return "it has no hwloc_" #name;
    HWLOC_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

static tutti_status load_locked(void)
{
    if (library.loaded) return TUTTI_OK;
    const char *lacks = NULL;
    void *handle = tt_library_load("libhwloc.so.15", RTLD_NOW | RTLD_NODELETE, &lacks);
    if (handle) lacks = find_functions(handle);
    if (lacks)
        return tt_fail(TUTTI_ERR_UNSUPPORTED,
                       "NUMA domains and caches are known by hwloc 2, which cannot be loaded (%s): "
                       "install libhwloc.so.15 (Debian: libhwloc15)",
                       lacks);
    library.loaded = true;
    return TUTTI_OK;
}

static tutti_status load(void)
{
    tt_process_lock(&library.lock);
    tutti_status status = load_locked();
    tt_process_unlock(&library.lock);
    return status;
}

static bool read_topology(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    hwloc.topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc.topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    /* hwloc attaches NUMA nodes to groups if no other object has the same processors, so the groups
     * that belong to the structure of the topology are kept. */
    hwloc.topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    return hwloc.topology_load(topology) == 0;
}

/* Returns the number of the first object of the type that has all processors of `set`;
 * TT_DOMAIN_SEVERAL: no object has them all. */
static int home_of(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t set)
{
    int depth = hwloc.get_type_depth(topology, type);
    int n = (int)hwloc.get_nbobjs_by_depth(topology, depth);
    for (int i = 0; i < n; i++)
        if (hwloc.bitmap_isincluded(set,
                                    hwloc.get_obj_by_depth(topology, depth, (unsigned)i)->cpuset))
            return i;
    return TT_DOMAIN_SEVERAL;
}

static tutti_status find(hwloc_topology_t topology, hwloc_bitmap_t set, enum tt_domain kind,
                         int *domain)
{
    hwloc_obj_type_t type = kind == TT_DOMAIN_L3 ? HWLOC_OBJ_L3CACHE : HWLOC_OBJ_NUMANODE;
    const char *name = kind == TT_DOMAIN_L3 ? "L3 cache" : "NUMA domain";
    if (!read_topology(topology, type))
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "hwloc cannot read the topology of this host");
    int depth = hwloc.get_type_depth(topology, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || hwloc.get_nbobjs_by_depth(topology, depth) == 0)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "hwloc knows no %s on this host", name);
    if (hwloc.get_cpubind(topology, set, HWLOC_CPUBIND_THREAD) != 0)
        return tt_fail_errno(TUTTI_ERR_UNSUPPORTED,
                             "hwloc cannot find the processors of this thread");
    *domain = home_of(topology, type, set);
    return TUTTI_OK;
}

tutti_status tt_domain_of_thread(enum tt_domain kind, int *domain)
{
    hwloc_topology_t topology;
    TT_TRY(load());
    if (hwloc.topology_init(&topology) != 0)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for hwloc's topology");
    hwloc_bitmap_t set = hwloc.bitmap_alloc();
    tutti_status status = set ? find(topology, set, kind, domain)
                              : tt_fail(TUTTI_ERR_MEMORY, "no memory for a set of processors");
    hwloc.bitmap_free(set);
    hwloc.topology_destroy(topology);
    return status;
}
