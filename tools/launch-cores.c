/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides where the ranks of this job are bound on this host. It calls the pure functions of
 * launch-places.h with the topology that hwloc finds, the processors that cpuset and affinity
 * allow, the processors that other jobs have taken, and the number of threads from the environment.
 * If the ranks cannot be bound and the user has not asked for a binding, the ranks run unbound.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch-guard.h"
#include "launch-places.h"

struct tt_cores {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed, taken;
    struct tt_places places;
    bool loaded;
    /* the topology is that of this host, and not a description of another one (HWLOC_SYNTHETIC) */
    bool real;
    int lock;
    int ranks, asked; /* asked: the value of --cores-per-rank; 0 if it was not given */
};

/* ---- What there is ---- */

static bool load(struct tt_cores *c)
{
    static const hwloc_obj_type_t kept[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_CORE};
    if (tt_topology_init(&c->topology) != 0) return false;
    hwloc_topology_set_all_types_filter(c->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        hwloc_topology_set_type_filter(c->topology, kept[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    /* Keeps groups, because hwloc attaches a NUMA node to a group if no other object has the same
     * processors. */
    hwloc_topology_set_type_filter(c->topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    /* Without this flag, hwloc would number only the cores of the cpuset, from 0. */
    hwloc_topology_set_flags(c->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(c->topology) != 0) return false;
    c->loaded = true;
    c->real = hwloc_topology_is_thissystem(c->topology);
    if (hwloc_get_cpubind(c->topology, c->allowed, HWLOC_CPUBIND_PROCESS) != 0) return false;
    hwloc_bitmap_and(c->allowed, c->allowed, hwloc_topology_get_allowed_cpuset(c->topology));
    return !hwloc_bitmap_iszero(c->allowed);
}

static void find_taken(struct tt_cores *c)
{
    if (!c->real) return;
    c->lock = tt_taken_lock();
    tt_taken_find(c->topology, c->allowed, c->taken);
}

/* Returns how many threads the outermost parallel region of a rank has, from the value of
 * OMP_NUM_THREADS: 4 for "4,2"; 1 if the value has no number. */
static int threads_of(const char *text)
{
    int threads = text ? atoi(text) : 1;
    return threads >= 1 && threads <= TT_LAUNCH_RANKS ? threads : 1;
}

/* Returns how many threads each rank of the program has, from the environment that these ranks will
 * get. */
static int threads_of_program(const struct tt_launch_program *program)
{
    static const char name[] = "OMP_NUM_THREADS=";
    const char *text = getenv("OMP_NUM_THREADS");
    for (int i = 0; i < program->sets; i++)
        if (strncmp(program->set[i], name, sizeof name - 1) == 0)
            text = program->set[i] + sizeof name - 1;
    return threads_of(text);
}

static struct tt_binding wish_of(const struct tt_launch_options *options)
{
    struct tt_binding binding = options->binding;
    if (binding.cores > 0) return binding;
    for (int i = 0; i < options->programs; i++) {
        int threads = threads_of_program(&options->program[i]);
        if (threads > binding.cores) binding.cores = threads;
    }
    return binding;
}

/* Returns 0, or the errno that says why this process may not bind itself. */
static int try_binding(const struct tt_cores *c)
{
    if (c->places.n == 0 || !c->real) return 0;
    int error = tt_cores_bind(c, 0);
    return error                                                                    ? error
           : hwloc_set_cpubind(c->topology, c->allowed, HWLOC_CPUBIND_PROCESS) == 0 ? 0
                                                                                    : errno;
}

/* ---- The result ---- */

static bool place(struct tt_cores *c, int ranks, struct tt_binding binding)
{
    struct tt_places_wish wish = {c->allowed, c->taken, binding, ranks};
    return tt_places_make(&c->places, c->topology, &wish);
}

static bool refuse(struct tt_cores *c, struct tt_binding binding, const char *why)
{
    tt_places_free(&c->places);
    snprintf(c->places.unbound, sizeof c->places.unbound, "%s", why);
    if (binding.bind == TT_BIND_DEFAULT) return true;
    tt_launch_say("cannot bind ranks: %s", why);
    return false;
}

/* Returns whether a single rank can have as many cores as the user asked for. If not, prints the
 * error. */
static bool has_cores(const struct tt_cores *c)
{
    if (c->places.units == 0 || c->asked <= c->places.units) return true;
    tt_launch_say(
        "--cores-per-rank %d: a rank can have at most %d here, as the cpuset and the affinity of "
        "this process allow; --bind none binds no rank",
        c->asked, c->places.units);
    return false;
}

/* Decides the places of the ranks. Returns false, after printing the error, if the user's request
 * cannot be met. */
static bool settle(struct tt_cores *c, int ranks, struct tt_binding binding)
{
    c->allowed = hwloc_bitmap_alloc();
    c->taken = hwloc_bitmap_alloc();
    if (!c->allowed || !c->taken) return refuse(c, binding, "no memory");
    if (!load(c)) return refuse(c, binding, "hwloc finds no processor that this process may use");
    if (binding.bind != TT_BIND_NONE) find_taken(c);
    if (!place(c, ranks, binding)) return refuse(c, binding, "no memory");
    if (!has_cores(c)) return false;
    int error = try_binding(c);
    return error == 0 || refuse(c, binding, strerror(error));
}

struct tt_cores *tt_cores_new(int ranks, const struct tt_launch_options *options)
{
    struct tt_cores *c = tt_calloc(1, sizeof *c);
    if (!c) {
        tt_launch_say("cannot start: no memory");
        return NULL;
    }
    c->lock = -1;
    c->ranks = ranks;
    c->asked = options->binding.cores;
    if (settle(c, ranks, wish_of(options))) return c;
    tt_cores_free(c);
    return NULL;
}

int tt_cores_bind(const struct tt_cores *c, int rank)
{
    if (c->places.n == 0 || !c->real) return 0;
    hwloc_const_bitmap_t set = c->places.set[rank % c->places.n];
    return hwloc_set_cpubind(c->topology, set, HWLOC_CPUBIND_PROCESS) == 0 ? 0 : errno;
}

/* Prints that a rank gets fewer cores than --cores-per-rank asks for, or that the ranks share
 * processors with other jobs. The line about other jobs is printed on terminals only: a program
 * that reads standard error must find the same text whether another job runs or not. */
void tt_cores_say(const struct tt_cores *c)
{
    if (c->places.crowded && isatty(STDERR_FILENO))
        tt_launch_say("other jobs of this user leave %d of %d processors free, so the ranks share "
                      "some with them; --bind none lets the kernel choose",
                      c->places.free, c->places.units);
    if (c->places.n > 0 && c->asked > c->places.each)
        tt_launch_say("--cores-per-rank %d: each of %d ranks gets only %d, because there are %d "
                      "for all of them",
                      c->asked, c->ranks, c->places.each, c->places.units);
}

void tt_cores_print(const struct tt_cores *c, int rank, char *text, size_t n)
{
    if (c->places.n == 0) {
        snprintf(text, n, "not bound: %s", c->places.unbound);
        return;
    }
    tt_places_print(c->topology, c->places.set[rank % c->places.n], text, n);
    size_t used = strlen(text);
    if (!c->real) snprintf(text + used, n - used, ", of a simulated machine: not bound");
}

bool tt_cores_bound(const struct tt_cores *c)
{
    return c->places.n > 0;
}

bool tt_cores_print_all(const struct tt_cores *c, bool taken, char *text, size_t n)
{
    hwloc_const_bitmap_t set = taken ? c->taken : c->allowed;
    if (!c->loaded || hwloc_bitmap_iszero(set)) return false;
    tt_places_print(c->topology, set, text, n);
    return true;
}

void tt_cores_started(struct tt_cores *c)
{
    if (c->lock >= 0) close(c->lock);
    c->lock = -1;
}

void tt_cores_free(struct tt_cores *c)
{
    if (!c) return;
    tt_cores_started(c);
    tt_places_free(&c->places);
    if (c->topology) hwloc_topology_destroy(c->topology);
    hwloc_bitmap_free(c->allowed);
    hwloc_bitmap_free(c->taken);
    tt_free(c);
}
