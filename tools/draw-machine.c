/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti draw machine`: draws this machine as lstopo does. Packages, NUMA nodes, caches, cores and
 * processors are nested boxes. The boxes also show the ranks, at the places to which `tutti run -n
 * N` would bind them now.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <cjson/cJSON.h>
#include <hwloc.h>

#include "launch-guard.h"
#include "launch-places.h"
#include "command.h"
#include "draw.h"
#include "draw/svg.h"
#include "job/wait.h"
#include "picture.h"
#include "write.h"

enum { PAD = 6, GAP = 5, LINE = 16, BAR = 21, SMALL = 11 };

struct draw_machine_machine {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed, taken;
    struct tt_places places;
    int ranks;
    enum tt_scheme scheme;
    bool json;
};

/* ---- The machine ---- */

/* Finds the processors that this process may use, and the processors that other jobs have taken. If
 * hwloc reads a description of another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE), all its processors
 * may be used. */
static bool find_allowed(struct draw_machine_machine *m)
{
    m->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(m->topology));
    m->taken = hwloc_bitmap_alloc();
    if (!m->allowed || !m->taken) return false;
    if (!hwloc_topology_is_thissystem(m->topology)) return true;
    hwloc_bitmap_t own = hwloc_bitmap_alloc();
    if (own && hwloc_get_cpubind(m->topology, own, HWLOC_CPUBIND_PROCESS) == 0)
        hwloc_bitmap_and(m->allowed, m->allowed, own);
    hwloc_bitmap_free(own);
    tt_taken_find(m->topology, m->allowed, m->taken);
    return true;
}

static bool open_machine(struct draw_machine_machine *m)
{
    if (tt_topology_init(&m->topology) != 0) return false;
    hwloc_topology_set_icache_types_filter(m->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(m->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_flags(m->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(m->topology) != 0 || !find_allowed(m)) return false;
    if (m->ranks == 0)
        m->ranks = hwloc_topology_is_thissystem(m->topology)
                       ? tt_usable_cores()
                       : tt_max(hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_CORE), 1);
    struct tt_places_wish wish = {.allowed = m->allowed, .taken = m->taken, .ranks = m->ranks};
    return tt_places_make(&m->places, m->topology, &wish);
}

static void close_machine(struct draw_machine_machine *m)
{
    tt_places_free(&m->places);
    hwloc_bitmap_free(m->allowed);
    hwloc_bitmap_free(m->taken);
    if (m->topology) hwloc_topology_destroy(m->topology);
}

/* Returns the home of the rank: the smallest object that contains all processors to which the rank
 * is bound. */
static hwloc_obj_t home_of(const struct draw_machine_machine *m, int rank)
{
    return hwloc_get_obj_covering_cpuset(m->topology, m->places.set[rank % m->places.n]);
}

/* Writes the ranks for which this object is the smallest one that contains all their processors,
 * such as "rank 3" or "ranks 0-3,8". Returns false if there are none. */
static bool print_ranks(const struct draw_machine_machine *m, hwloc_obj_t object, char *text,
                        size_t size)
{
    char list[256];
    hwloc_bitmap_t ranks = hwloc_bitmap_alloc();
    for (int r = 0; ranks && m->places.n > 0 && r < m->ranks; r++)
        if (home_of(m, r) == object) hwloc_bitmap_set(ranks, (unsigned)r);
    int n = ranks ? hwloc_bitmap_weight(ranks) : 0;
    if (n > 0) {
        hwloc_bitmap_list_snprintf(list, sizeof list, ranks);
        snprintf(text, size, "rank%s %s", n > 1 ? "s" : "", list);
    }
    hwloc_bitmap_free(ranks);
    return n > 0;
}

/* ---- Names of boxes ---- */

static const char *class_of(hwloc_obj_t object)
{
    if (object->type == HWLOC_OBJ_CORE) return "core";
    if (object->type == HWLOC_OBJ_PU) return "pu";
    if (object->type == HWLOC_OBJ_NUMANODE) return "memory";
    return hwloc_obj_type_is_cache(object->type) ? "cache" : "package";
}

static void print_size(int64_t bytes, char text[32])
{
    tt_svg_bytes_text(text, (double)bytes);
}

static void print_name(hwloc_obj_t object, char *text, size_t size)
{
    char type[32], bytes[32];
    hwloc_obj_type_snprintf(type, sizeof type, object, 0);
    if (hwloc_obj_type_is_cache(object->type)) {
        print_size((int64_t)object->attr->cache.size, bytes);
        snprintf(text, size, "L%u %s", object->attr->cache.depth, bytes);
    } else if (object->type == HWLOC_OBJ_NUMANODE) {
        print_size((int64_t)object->attr->numanode.local_memory, bytes);
        snprintf(text, size, "NUMA node %u, %s", object->logical_index, bytes);
    } else if (object->type == HWLOC_OBJ_PU) {
        snprintf(text, size, "P%u", object->os_index);
    } else if (object->type == HWLOC_OBJ_MACHINE) {
        snprintf(text, size, "Machine, %d processors", hwloc_bitmap_weight(object->cpuset));
    } else {
        snprintf(text, size, "%s %u", type, object->logical_index);
    }
}

/* ---- Sizes of boxes ---- */

struct size {
    double wide, high;
};

static bool is_cache(hwloc_obj_t object)
{
    return hwloc_obj_type_is_cache(object->type);
}

/* Returns how many children of the object are drawn side by side. */
static int columns_of(hwloc_obj_t object)
{
    enum { MOST = 8 };
    int n = (int)object->arity, rows = (int)tt_div_up(n, MOST);
    if (object->type == HWLOC_OBJ_MACHINE && n > 1) return 2;
    return rows ? (int)tt_div_up(n, rows) : 1;
}

static struct size size_of(const struct draw_machine_machine *m, hwloc_obj_t object);

/* Returns the size of the area that all children take when they are arranged in rows. */
static struct size size_of_children(const struct draw_machine_machine *m, hwloc_obj_t object)
{
    struct size all = {0, 0};
    int columns = columns_of(object);
    for (unsigned first = 0; first < object->arity; first += (unsigned)columns) {
        struct size row = {0, 0};
        unsigned end = (unsigned)tt_min(first + (unsigned)columns, object->arity);
        for (unsigned i = first; i < end; i++) {
            struct size child = size_of(m, object->children[i]);
            row.wide += child.wide + (i > first ? GAP : 0);
            row.high = fmax(row.high, child.high);
        }
        all.wide = fmax(all.wide, row.wide);
        all.high += row.high + (first ? GAP : 0);
    }
    return all;
}

/* Returns the size of the box of an object. The box of a cache is a bar with the boxes of the
 * objects that share the cache below it. Any other box contains a title, memory, ranks and the
 * boxes of the children. */
static struct size size_of(const struct draw_machine_machine *m, hwloc_obj_t object)
{
    char name[64], ranks[300];
    struct size in = size_of_children(m, object);
    print_name(object, name, sizeof name);
    double text = tt_svg_text_width(name, SMALL), lines = LINE;
    if (print_ranks(m, object, ranks, sizeof ranks)) {
        text = fmax(text, tt_svg_text_width(ranks, SMALL) + 8);
        lines += LINE + 2;
    }
    if (is_cache(object))
        return (struct size){fmax(in.wide, text + 2 * PAD), BAR + (lines > LINE ? LINE + 2 : 0) +
                                                                (in.high > 0 ? GAP + in.high : 0)};
    for (hwloc_obj_t memory = object->memory_first_child; memory; memory = memory->next_sibling) {
        print_name(memory, name, sizeof name);
        text = fmax(text, tt_svg_text_width(name, SMALL) + 2 * PAD);
        lines += BAR + GAP;
    }
    double below = in.high > 0 ? in.high + PAD : 2;
    return (struct size){fmax(in.wide, text) + 2 * PAD, PAD + lines + below};
}

/* ---- Drawing ---- */

static void box(const char *class, double x, double y, struct size size, FILE *out)
{
    fprintf(out,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>\n",
            class, x, y, size.wide, size.high);
}

static void label(double x, double y, const char *text, FILE *out)
{
    tt_svg_text(x, y, "minor", "start", text, out);
}

/* Draws a label with the ranks for which this object is the smallest one that contains all their
 * processors, and returns the height of the label. */
static double draw_ranks(const struct draw_machine_machine *m, hwloc_obj_t object, double x,
                         double y, FILE *out)
{
    char text[300];
    if (!print_ranks(m, object, text, sizeof text)) return 0;
    box("rank", x, y, (struct size){tt_svg_text_width(text, SMALL) + 8, LINE}, out);
    tt_svg_text(x + 4, y + 12, "rank-text", "start", text, out);
    return LINE + 2;
}

static bool is_usable(const struct draw_machine_machine *m, hwloc_obj_t object)
{
    return hwloc_bitmap_intersects(object->cpuset, m->allowed);
}

static void draw(const struct draw_machine_machine *m, hwloc_obj_t object, double x, double y,
                 double wide, FILE *out);

static void draw_children(const struct draw_machine_machine *m, hwloc_obj_t object, double x,
                          double y, double wide, FILE *out)
{
    int columns = columns_of(object);
    double stretch = wide - size_of_children(m, object).wide;
    for (unsigned first = 0; first < object->arity; first += (unsigned)columns) {
        unsigned end = (unsigned)tt_min(first + (unsigned)columns, object->arity);
        double at = x, high = 0;
        for (unsigned i = first; i < end; i++) {
            struct size child = size_of(m, object->children[i]);
            double more = columns == 1 ? stretch : stretch / columns;
            draw(m, object->children[i], at, y, child.wide + more, out);
            at += child.wide + more + GAP;
            high = fmax(high, child.high);
        }
        y += high + GAP;
    }
}

static void draw_cache(const struct draw_machine_machine *m, hwloc_obj_t object, double x, double y,
                       double wide, FILE *out)
{
    char name[64];
    print_name(object, name, sizeof name);
    box("cache", x, y, (struct size){wide, BAR}, out);
    label(x + PAD, y + 15, name, out);
    y += BAR + GAP;
    y += draw_ranks(m, object, x, y, out);
    draw_children(m, object, x, y, wide, out);
}

static double draw_memory(hwloc_obj_t object, double x, double y, double wide, FILE *out)
{
    char name[64];
    for (hwloc_obj_t memory = object->memory_first_child; memory; memory = memory->next_sibling) {
        print_name(memory, name, sizeof name);
        box("memory", x, y, (struct size){wide, BAR}, out);
        label(x + PAD, y + 15, name, out);
        y += BAR + GAP;
    }
    return y;
}

static void draw(const struct draw_machine_machine *m, hwloc_obj_t object, double x, double y,
                 double wide, FILE *out)
{
    char name[64], class[32];
    if (is_cache(object)) {
        draw_cache(m, object, x, y, wide, out);
        return;
    }
    print_name(object, name, sizeof name);
    snprintf(class, sizeof class, "%s%s", class_of(object), is_usable(m, object) ? "" : " closed");
    box(class, x, y, (struct size){wide, size_of(m, object).high}, out);
    label(x + PAD, y + 14, name, out);
    y += PAD + LINE;
    y += draw_ranks(m, object, x + PAD, y - 2, out);
    y = draw_memory(object, x + PAD, y, wide - 2 * PAD, out);
    draw_children(m, object, x + PAD, y, wide - 2 * PAD, out);
}

/* Writes a text such as "host, 2 cores, 2 processors, ranks where tutti run -n 2 binds them". */
static void describe(const struct draw_machine_machine *m, char *text, size_t size)
{
    struct utsname host;
    bool here = hwloc_topology_is_thissystem(m->topology) && uname(&host) == 0;
    int used = snprintf(text, size, "%s%s%d cores, %d processors, ",
                        here ? host.nodename : "a machine that is described", ", ",
                        hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_CORE),
                        hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU));
    if (m->places.n > 0)
        snprintf(text + used, size - (size_t)used, "ranks where tutti run -n %d binds them",
                 m->ranks);
    else
        snprintf(text + used, size - (size_t)used, "ranks are not bound: %s", m->places.unbound);
}

/* Draws the legend from y downwards and returns the y of its last line. If `out` is NULL, only
 * computes this y. */
static double legend(const struct draw_machine_machine *m, double y, double width, FILE *out)
{
    struct tt_svg_legend l = {TT_SVG_MARGIN, TT_SVG_MARGIN + width, TT_SVG_MARGIN, y, out};
    bool closed =
        !hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(m->topology), m->allowed);
    tt_svg_key(&l, TT_SVG_BAR, "memory", "memory");
    if (hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_L1CACHE) > 0 ||
        hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_L3CACHE) > 0)
        tt_svg_key(&l, TT_SVG_BAR, "cache", "cache");
    tt_svg_key(&l, TT_SVG_BAR, "core", "core");
    tt_svg_key(&l, TT_SVG_BAR, "pu", "processor");
    if (m->places.n > 0) tt_svg_key(&l, TT_SVG_BAR, "rank", "rank");
    if (closed) tt_svg_key(&l, TT_SVG_BAR, "pu closed", "not for this process");
    return l.y;
}

static void print_svg(const struct draw_machine_machine *m, FILE *out)
{
    char about[512];
    hwloc_obj_t root = hwloc_get_root_obj(m->topology);
    struct size size = size_of(m, root);
    double wide = fmax(size.wide, 480), below = TT_SVG_TOP + size.high + 26;
    describe(m, about, sizeof about);
    tt_svg_open("This machine and its ranks", about, wide + 2 * TT_SVG_MARGIN,
                legend(m, below, wide, NULL) + 18, m->scheme, out);
    draw(m, root, TT_SVG_MARGIN, TT_SVG_TOP, wide, out);
    legend(m, below, wide, out);
    tt_svg_end(out);
}

/* ---- JSON ---- */

static void add_object(const struct draw_machine_machine *m, hwloc_obj_t object, cJSON *list)
{
    char text[128], set[256];
    cJSON *row = cJSON_CreateObject();
    hwloc_obj_type_snprintf(text, sizeof text, object, 0);
    cJSON_AddStringToObject(row, "type", text);
    cJSON_AddNumberToObject(row, "index", object->logical_index);
    hwloc_bitmap_list_snprintf(set, sizeof set, object->cpuset);
    cJSON_AddStringToObject(row, "processors", set);
    cJSON_AddBoolToObject(row, "usable", is_usable(m, object));
    if (is_cache(object)) cJSON_AddNumberToObject(row, "bytes", (double)object->attr->cache.size);
    if (object->type == HWLOC_OBJ_NUMANODE)
        cJSON_AddNumberToObject(row, "bytes", (double)object->attr->numanode.local_memory);
    cJSON_AddItemToArray(list, row);
    for (hwloc_obj_t at = object->memory_first_child; at; at = at->next_sibling)
        add_object(m, at, list);
    for (unsigned i = 0; i < object->arity; i++) add_object(m, object->children[i], list);
}

static tutti_status print_json(const struct draw_machine_machine *m, FILE *out)
{
    char text[512];
    cJSON *all = cJSON_CreateObject();
    cJSON_AddStringToObject(all, "tutti", "machine 1");
    add_object(m, hwloc_get_root_obj(m->topology), cJSON_AddArrayToObject(all, "objects"));
    cJSON *ranks = cJSON_AddArrayToObject(all, "ranks");
    for (int r = 0; r < m->ranks; r++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "rank", r);
        if (m->places.n > 0) {
            hwloc_bitmap_list_snprintf(text, sizeof text, m->places.set[r % m->places.n]);
            cJSON_AddStringToObject(row, "processors", text);
        } else {
            cJSON_AddNullToObject(row, "processors");
        }
        cJSON_AddItemToArray(ranks, row);
    }
    char *printed = cJSON_Print(all);
    tutti_status status = printed ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for JSON");
    if (printed) fprintf(out, "%s\n", printed);
    cJSON_free(printed);
    cJSON_Delete(all);
    return status;
}

static tutti_status print(void *arg, FILE *out)
{
    const struct draw_machine_machine *m = arg;
    if (m->json) return print_json(m, out);
    print_svg(m, out);
    return TUTTI_OK;
}

int tt_draw_machine(const struct tt_draw *draw, int ranks)
{
    struct draw_machine_machine m = {
        .ranks = ranks, .scheme = draw->scheme, .json = draw->format == TT_DRAW_AS_json};
    int code = TT_EXIT_FAILED;
    if (draw->format != TT_DRAW_AS_svg && draw->format != TT_DRAW_AS_json) {
        fprintf(stderr, "tutti draw: a machine is drawn as .svg, .png or .json\n");
        return TT_EXIT_USAGE;
    }
    if (!tt_write_apart("tutti draw", draw->output, getenv("HWLOC_XMLFILE"))) return TT_EXIT_USAGE;
    if (!open_machine(&m))
        fprintf(stderr, "tutti draw: hwloc cannot read the topology of this machine\n");
    else
        code = tt_draw_put(draw, print, &m) ? TT_EXIT_OK : TT_EXIT_FAILED;
    close_machine(&m);
    return code;
}
