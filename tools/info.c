/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti info`: what this machine has, what it forbids, and what is used instead. Everything is
 * tried, not looked up.
 */
#include <errno.h>
#include <hwloc.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "boot/pmix.h"
#include "command.h"
#include "fabric/fabric.h"
#include "fabric/wire.h"
#include "run/team.h"
#include "type/type.h"

static void line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("  %-12s ", name);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* ---- Machine ---- */

static void say_caches(hwloc_topology_t topology)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = {{HWLOC_OBJ_L1CACHE, "L1 cache"},
                  {HWLOC_OBJ_L2CACHE, "L2 cache"},
                  {HWLOC_OBJ_L3CACHE, "L3 cache"}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        char size[24];
        int n = hwloc_get_nbobjs_by_type(topology, levels[i].type);
        hwloc_obj_t cache = n > 0 ? hwloc_get_obj_by_type(topology, levels[i].type, 0) : NULL;
        if (!cache) continue;
        line(levels[i].name, "%d of %s (processors at each: %d)", n,
             tt_print_size(size, (int64_t)cache->attr->cache.size),
             hwloc_bitmap_weight(cache->cpuset));
    }
}

static void say_machine(void)
{
    struct utsname host;
    hwloc_topology_t topology;
    printf("machine\n");
    if (uname(&host) == 0) line("system", "%s %s, %s", host.sysname, host.release, host.machine);
    if (hwloc_topology_init(&topology) != 0) return;
    if (hwloc_topology_load(topology) == 0) {
        line("cores", "%d (processors: %d)", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
             hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
        say_caches(topology);
    }
    hwloc_topology_destroy(topology);
    line("usable", "processors: %d (affinity, cpuset, and the cgroup's cpu.max)",
         tt_usable_cores());
    line("page", "%ld bytes; huge pages are not asked for", sysconf(_SC_PAGESIZE));
    line("kernels", "%s (reductions)", tt_reduce_isa());
}

/* ---- Transports ---- */

static void say_memory(void)
{
    struct tt_segment segment;
    if (tt_segment_create(&segment, 2, false) == TUTTI_OK) {
        line("shm", "between processes, through a memfd");
        tt_segment_close(&segment);
    } else {
        line("shm", "not here: %s; threads and single processes work", tutti_error());
    }
}

static void say_cma(void)
{
    const char *why =
        tt_setting_int("TUTTI_CMA", 1, 0, 1) == 0 ? "TUTTI_CMA=0" : tt_cma_forbidden();
    if (why)
        line("CMA", "forbidden (%s): data goes through windows in shared memory instead", why);
    else
        line("CMA",
             "allowed: reading 64 KiB of a peer's memory (process_vm_readv) takes %d times as "
             "long as shared memory",
             tt_cost_alone());
}

static void say_ucx(void)
{
    const char *version;
    if (tt_wire_ucx_version(&version) == TUTTI_OK)
        line("ucx", "%s: between machines", version);
    else
        line("ucx", "not here: %s", tutti_error());
}

static void say_launchers(void)
{
    const char *version;
    if (tt_pmix_version(&version) == TUTTI_OK)
        line("PMIx", "there (%s): jobs may be started by mpirun, prun, srun", version);
    else
        line("PMIx", "not here: %s", tutti_error());
}

static void say_transports(void)
{
    char size[24];
    printf("transports\n");
    line("self", "a job of one rank");
    line("thread", "between threads of one process, by plain loads");
    say_memory();
    say_cma();
    say_launchers();
    say_ucx();
    line("window", "%s bytes for each rank in each of %d slots",
         tt_print_size(size, tt_team_window()), TT_SLOTS);
}

/* ---- Waiting ---- */

static void say_membarrier(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED))
        line("membarrier", "there: who sleeps pays for the fence, who signals does not");
    else
        line("membarrier", "not here (%s): who signals fences each time",
             commands < 0 ? strerror(errno) : "not its expedited kind");
}

static void say_waiting(void)
{
    printf("waiting\n");
    struct tt_patience patience = tt_patience_for(2, tt_usable_cores());
    line("looks", "%d, then %d yields, then sleep (2 ranks)", patience.spins, patience.yields);
    say_membarrier();
}

int tt_info_main(int argc, char **argv)
{
    static const struct argp argp = {
        .doc = "Tells what this machine has, what is forbidden here, and what is used instead."};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    printf("tutti %s\n", tutti_version());
    say_machine();
    say_transports();
    say_waiting();
    return TT_EXIT_OK;
}
