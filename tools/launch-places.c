/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides where ranks are bound. There are four steps, which decide which units (cores or
 * processors) exist, in which order ranks get these units, how many units a rank gets, and whether
 * the set of processors of a rank is widened to a NUMA node or a package.
 */
#include "launch-places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A core or processor that ranks may use. */
struct unit {
    hwloc_obj_t object;
    bool taken; /* another job is bound to a processor of this unit's core */
    /* for a processor: how many allowed processors of its core come before it; for a core: 0 */
    int sibling;
    int domain; /* the index of the NUMA node or package that contains the unit (--map-by) */
};

struct units {
    struct unit *list;
    int n, free;
};

/* ---- Units ---- */

static hwloc_obj_type_t domain_type(enum tt_map_by map)
{
    return map == TT_MAP_PACKAGE ? HWLOC_OBJ_PACKAGE : HWLOC_OBJ_NUMANODE;
}

/* Returns the smallest object of the type that contains the whole set; NULL if there is none.
 * Several may contain it: a host may have a NUMA node for all processors besides the NUMA nodes of
 * its parts. */
static hwloc_obj_t home_of(hwloc_topology_t topology, hwloc_const_bitmap_t set,
                           hwloc_obj_type_t type)
{
    hwloc_obj_t at = NULL, home = NULL;
    while ((at = hwloc_get_next_obj_by_type(topology, type, at))) {
        if (!hwloc_bitmap_isincluded(set, at->cpuset)) continue;
        bool smaller = !home || hwloc_bitmap_weight(at->cpuset) < hwloc_bitmap_weight(home->cpuset);
        if (smaller) home = at;
    }
    return home;
}

static int domain_of(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type)
{
    hwloc_obj_t home = home_of(topology, object->cpuset, type);
    return home ? (int)home->logical_index : 0;
}

/* Returns the core of the object; the object itself if hwloc finds no cores, as on some virtual
 * machines. */
static hwloc_obj_t core_of(hwloc_topology_t topology, hwloc_obj_t object)
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, object);
    return core ? core : object;
}

/* Returns how many allowed processors of the core come before `object`. */
static int sibling_of(const struct tt_places_wish *wish, hwloc_obj_t core, hwloc_obj_t object)
{
    int before = 0;
    if (object == core) return 0;
    for (int i = hwloc_bitmap_first(core->cpuset); i >= 0 && i != (int)object->os_index;
         i = hwloc_bitmap_next(core->cpuset, i))
        before += hwloc_bitmap_isset(wish->allowed, (unsigned)i);
    return before;
}

static void add_unit(struct units *units, hwloc_topology_t topology,
                     const struct tt_places_wish *wish, hwloc_obj_t object)
{
    hwloc_obj_t core = core_of(topology, object);
    bool taken = wish->taken && hwloc_bitmap_intersects(core->cpuset, wish->taken);
    units->list[units->n++] = (struct unit){
        .object = object,
        .taken = taken,
        .sibling = sibling_of(wish, core, object),
        .domain = domain_of(topology, object, domain_type(wish->binding.map)),
    };
    units->free += !taken;
}

/* Finds all allowed units of a type, in the order of the topology. */
static bool find_units(struct units *units, hwloc_topology_t topology,
                       const struct tt_places_wish *wish, hwloc_obj_type_t type)
{
    int most = hwloc_get_nbobjs_by_type(topology, type);
    *units = (struct units){.list = tt_calloc((size_t)most + 1, sizeof *units->list)};
    if (!units->list) return false;
    hwloc_obj_t at = NULL;
    while ((at = hwloc_get_next_obj_by_type(topology, type, at)))
        if (hwloc_bitmap_intersects(at->cpuset, wish->allowed)) add_unit(units, topology, wish, at);
    return true;
}

static bool fits(const struct units *units, const struct tt_places_wish *wish)
{
    return (int64_t)wish->ranks * wish->binding.cores <= units->free;
}

/* Chooses cores as units. Chooses processors instead if the user asks for them, if hwloc finds no
 * cores, or if the user asks for no unit and there are too few free cores for the ranks. Returns
 * false if there is no memory. */
static bool choose_units(struct units *units, hwloc_topology_t topology,
                         const struct tt_places_wish *wish)
{
    if (wish->binding.bind != TT_BIND_THREAD) {
        if (!find_units(units, topology, wish, HWLOC_OBJ_CORE)) return false;
        bool enough = wish->binding.bind != TT_BIND_DEFAULT || fits(units, wish);
        if (units->n > 0 && enough) return true;
        tt_free(units->list);
    }
    return find_units(units, topology, wish, HWLOC_OBJ_PU);
}

/* ---- The order of the units ---- */

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

/* Compares units for qsort, for ranks with one unit. Free units come before taken ones, and the
 * first processor of each core before the second; then the order of the topology decides. */
static int by_turn(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    int order = compare(x->taken, y->taken);
    if (order == 0) order = compare(x->sibling, y->sibling);
    return order ? order : compare((int)x->object->logical_index, (int)y->object->logical_index);
}

/* Compares units for qsort, for ranks with several units. Free units come before taken ones; then
 * the order of the topology decides, in which processors of a core follow each other. */
static int by_place(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    int order = compare(x->taken, y->taken);
    return order ? order : compare((int)x->object->logical_index, (int)y->object->logical_index);
}

/* Moves the first `each` units of this domain (a NUMA node or package) to the front of the list.
 * Returns false, and moves nothing, if the list has fewer units of the domain. */
static bool deal(struct unit *list, int n, int domain, int each)
{
    int has = 0, found = 0;
    for (int i = 0; i < n; i++) has += list[i].domain == domain;
    for (int i = 0; has >= each && found < each; i++) {
        if (list[i].domain != domain) continue;
        struct unit next = list[i];
        memmove(&list[found + 1], &list[found], (size_t)(i - found) * sizeof next);
        list[found++] = next;
    }
    return found == each;
}

/* Orders the list so that consecutive ranks get their units from the domains (NUMA nodes or
 * packages) in turn: `each` units of one domain, then `each` units of the next one that has enough
 * left. The units that are left keep their order. */
static void deal_out(struct unit *list, int n, int domains, int each)
{
    int dealt = 0;
    for (int idle = 0, domain = 0; idle < domains; domain = (domain + 1) % domains) {
        bool more = deal(&list[dealt], n - dealt, domain, each);
        idle = more ? 0 : idle + 1;
        if (more) dealt += each;
    }
}

/* ---- The set of a rank ---- */

/* Adds to the set of a rank the processors of one of its units; or, if the user asks for that, the
 * processors of the NUMA node or package that contains the unit. */
static void add_part(hwloc_topology_t topology, const struct tt_places_wish *wish,
                     hwloc_obj_t object, hwloc_bitmap_t set)
{
    hwloc_obj_t whole = object;
    if (wish->binding.bind == TT_BIND_NUMA)
        whole = home_of(topology, object->cpuset, HWLOC_OBJ_NUMANODE);
    if (wish->binding.bind == TT_BIND_PACKAGE)
        whole = home_of(topology, object->cpuset, HWLOC_OBJ_PACKAGE);
    hwloc_bitmap_or(set, set, whole ? whole->cpuset : wish->allowed);
}

static hwloc_bitmap_t set_of(hwloc_topology_t topology, const struct tt_places_wish *wish,
                             const struct unit *unit, int each)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) return NULL;
    for (int i = 0; i < each; i++) add_part(topology, wish, unit[i].object, set);
    hwloc_bitmap_and(set, set, wish->allowed);
    return set;
}

/* ---- All four steps ---- */

static void leave_unbound(struct tt_places *places, bool none)
{
    snprintf(places->unbound, sizeof places->unbound, "%s",
             none ? "--bind none" : "hwloc finds no processor");
}

static bool fill(struct tt_places *places, hwloc_topology_t topology,
                 const struct tt_places_wish *wish, struct units *units)
{
    int share = units->n / wish->ranks, domains = 1;
    int each = (int)tt_max(1, tt_min(wish->binding.cores, share));
    qsort(units->list, (size_t)units->n, sizeof *units->list, each > 1 ? by_place : by_turn);
    if (wish->binding.map != TT_MAP_CORE)
        domains = hwloc_get_nbobjs_by_type(topology, domain_type(wish->binding.map));
    if (domains > 1) {
        deal_out(units->list, units->free, domains, each);
        deal_out(units->list + units->free, units->n - units->free, domains, each);
    }
    int n = (int)tt_min(wish->ranks, units->n / each);
    places->each = each;
    places->set = tt_calloc((size_t)n, sizeof(hwloc_bitmap_t));
    for (bool good = places->set != NULL; good && places->n < n;) {
        hwloc_bitmap_t set = set_of(topology, wish, &units->list[places->n * each], each);
        if (set) places->set[places->n++] = set;
        good = set != NULL;
    }
    return places->n == n;
}

bool tt_places_make(struct tt_places *places, hwloc_topology_t topology,
                    const struct tt_places_wish *given)
{
    struct tt_places_wish wish = *given;
    struct units units = {0};
    *places = (struct tt_places){0};
    if (wish.binding.cores == 0) wish.binding.cores = 1;
    bool none = wish.binding.bind == TT_BIND_NONE;
    if (!none && !choose_units(&units, topology, &wish)) return false;
    bool beside = wish.binding.bind == TT_BIND_DEFAULT && units.free < units.n;
    bool made = true;
    places->units = units.n;
    places->free = units.free;
    places->crowded = beside && !fits(&units, &wish);
    if (none || units.n == 0)
        leave_unbound(places, none);
    else
        made = fill(places, topology, &wish, &units);
    tt_free(units.list);
    if (!made) tt_places_free(places);
    return made;
}

void tt_places_free(struct tt_places *places)
{
    for (int i = 0; i < places->n; i++) hwloc_bitmap_free(places->set[i]);
    tt_free(places->set);
    *places = (struct tt_places){0};
}

/* ---- Printing ---- */

/* Appends ", core 1" or ", cores 1-2" for the objects of a type that have a processor in the
 * set. */
static void print_objects(hwloc_topology_t topology, hwloc_const_bitmap_t set,
                          hwloc_obj_type_t type, const char *name, char *text, size_t n)
{
    char list[256];
    hwloc_bitmap_t numbers = hwloc_bitmap_alloc();
    hwloc_obj_t at = NULL;
    while (numbers && (at = hwloc_get_next_obj_by_type(topology, type, at)))
        if (hwloc_bitmap_intersects(at->cpuset, set)) hwloc_bitmap_set(numbers, at->logical_index);
    if (numbers && !hwloc_bitmap_iszero(numbers)) {
        size_t used = strlen(text);
        hwloc_bitmap_list_snprintf(list, sizeof list, numbers);
        snprintf(text + used, n - used, "%s%s%s %s", used ? ", " : "", name,
                 hwloc_bitmap_weight(numbers) > 1 ? "s" : "", list);
    }
    hwloc_bitmap_free(numbers);
}

void tt_places_print(hwloc_topology_t topology, hwloc_const_bitmap_t set, char *text, size_t n)
{
    char list[256], in[400] = "";
    hwloc_bitmap_list_snprintf(list, sizeof list, set);
    print_objects(topology, set, HWLOC_OBJ_CORE, "core", in, sizeof in);
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) > 1)
        print_objects(topology, set, HWLOC_OBJ_NUMANODE, "NUMA node", in, sizeof in);
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) > 1)
        print_objects(topology, set, HWLOC_OBJ_PACKAGE, "package", in, sizeof in);
    snprintf(text, n, "processor%s %s%s%s%s", hwloc_bitmap_weight(set) > 1 ? "s" : "", list,
             *in ? " (" : "", in, *in ? ")" : "");
}

int tt_topology_init(hwloc_topology_t *topology)
{
    static const char path[] = "HWLOC_PLUGINS_PATH";
    /* Plugins stay allowed if HWLOC_XMLFILE is set: without a plugin, hwloc cannot read XML that
     * other programs have written. */
    bool given = getenv(path) || getenv("HWLOC_XMLFILE");
    if (!given) setenv(path, "", 1);
    int failed = hwloc_topology_init(topology);
    if (!given) unsetenv(path);
    return failed;
}
