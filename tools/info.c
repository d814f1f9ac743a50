/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti info`: prints which features of the system the library can use on this machine, which ones
 * it cannot use, and what it uses instead. The command tries each feature instead of looking it up.
 */
#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/settings.h"
#include "choose/choose.h"
#include "choose/rankings.h"
#include "choose/wisdom.h"
#include "launch-guard.h"
#include "launch-places.h"
#include "boot/pmix.h"
#include "command.h"
#include "fabric/fabric.h"
#include "fabric/wire.h"
#include "json.h"
#include "plan/network.h"
#include "run/team.h"
#include "topo/net.h"
#include "type/kernels.h"
#include "type/type.h"

/* Where the output goes: to standard output with a line for each fact, or into a JSON object. */
static struct {
    /* all: the JSON object, or NULL if the output is text; section: the part of it that is filled
     * now */
    cJSON *all, *section;
} report;

static void begin_section(const char *name)
{
    if (report.all)
        report.section = cJSON_AddObjectToObject(report.all, name);
    else
        printf("%s\n", name);
}

/* Makes the JSON key of a line: "L1 cache" becomes l1_cache. */
static void key_of(const char *name, char key[32])
{
    snprintf(key, 32, "%s", name);
    for (char *c = key; *c; c++) *c = *c == ' ' ? '_' : (char)tolower((unsigned char)*c);
}

/* Prints a fact: its name and a text. If the text is too long for one line, it goes on in the next
 * line, in the same column. A word, such as a path, is never broken. */
static void print_fact(const char *name, const char *text)
{
    enum { INDENT = 15, COLUMNS = 100 };
    int column = printf("  %-12s ", name);
    for (const char *end; *text; text = end) {
        bool begins = column <= INDENT;
        int spaces = (int)strspn(text, " "), letters = (int)strcspn(text + spaces, " ");
        end = text + spaces + letters;
        if (!begins && column + spaces + letters > COLUMNS) {
            column = printf("\n%*s", INDENT, "") - 1;
            text += spaces;
        }
        column += printf("%.*s", (int)(end - text), text);
    }
    printf("\n");
}

/* Prints a fact, or adds the text as a string to the JSON object. */
static void line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(const char *name, const char *format, ...)
{
    char text[512], key[32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    key_of(name, key);
    if (report.all)
        cJSON_AddStringToObject(report.section, key, text);
    else
        print_fact(name, text);
}

/* Prints the text about a feature, which says whether it works on this machine. In JSON, adds an
 * object with the members `works` and `text`. */
static void whether(const char *name, bool works, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void whether(const char *name, bool works, const char *format, ...)
{
    char text[512], key[32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!report.all) {
        print_fact(name, text);
        return;
    }
    key_of(name, key);
    cJSON *object = cJSON_AddObjectToObject(report.section, key);
    cJSON_AddBoolToObject(object, "works", works);
    cJSON_AddStringToObject(object, "text", text);
}

/* Adds a number to the JSON object. If the output is text, does nothing, because another fact
 * contains the number as text. */
static void number(const char *key, int64_t value)
{
    if (report.all) cJSON_AddNumberToObject(report.section, key, (double)value);
}

/* ---- Machine ---- */

static void say_cache(const char *name, int n, hwloc_obj_t cache)
{
    char size[24];
    int64_t bytes = (int64_t)cache->attr->cache.size;
    int processors = hwloc_bitmap_weight(cache->cpuset);
    if (!report.all) {
        line(name, "%d of %s (processors at each: %d)", n, tt_print_size(size, bytes), processors);
        return;
    }
    char key[32];
    key_of(name, key);
    cJSON *object = cJSON_AddObjectToObject(report.section, key);
    cJSON_AddNumberToObject(object, "n", n);
    cJSON_AddNumberToObject(object, "bytes", (double)bytes);
    cJSON_AddNumberToObject(object, "processors_at_each", processors);
}

static void say_caches(hwloc_topology_t topology)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = {{HWLOC_OBJ_L1CACHE, "L1 cache"},
                  {HWLOC_OBJ_L2CACHE, "L2 cache"},
                  {HWLOC_OBJ_L3CACHE, "L3 cache"}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        int n = hwloc_get_nbobjs_by_type(topology, levels[i].type);
        hwloc_obj_t cache = n > 0 ? hwloc_get_obj_by_type(topology, levels[i].type, 0) : NULL;
        if (cache) say_cache(levels[i].name, n, cache);
    }
}

static void say_cores(hwloc_topology_t topology)
{
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    int processors = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    if (!report.all) line("cores", "%d (processors: %d)", cores, processors);
    number("cores", cores);
    number("processors", processors);
}

static void say_usable(void)
{
    int usable = tt_usable_cores();
    if (!report.all)
        line("usable", "processors: %d (affinity, cpuset, and the cgroup's cpu.max)", usable);
    number("usable_processors", usable);
}

static void say_machine(void)
{
    struct utsname host;
    hwloc_topology_t topology;
    long page = sysconf(_SC_PAGESIZE);
    begin_section("machine");
    if (uname(&host) == 0) line("system", "%s %s, %s", host.sysname, host.release, host.machine);
    if (tt_topology_init(&topology) != 0) return;
    if (hwloc_topology_load(topology) == 0) {
        say_cores(topology);
        say_caches(topology);
    }
    hwloc_topology_destroy(topology);
    say_usable();
    if (!report.all) line("page", "%ld bytes; huge pages are not asked for", page);
    number("page_bytes", page);
    line("kernels", report.all ? "%s" : "%s (reductions)", tt_reduce_isa());
}

/* ---- Transports ---- */

static void say_memory(void)
{
    struct tt_segment segment;
    if (tt_segment_create(&segment, 2, false) == TUTTI_OK) {
        whether("shm", true, "between processes, through a memfd");
        tt_segment_close(&segment);
    } else {
        whether("shm", false, "not here: %s; threads and single processes work", tutti_error());
    }
}

static bool cma_is_wanted(void)
{
    return tt_setting_int("TUTTI_CMA") != 0;
}

static void say_cma(void)
{
    const char *unwanted = cma_is_wanted() ? NULL : "TUTTI_CMA=0";
    const char *reading = unwanted ? unwanted : tt_cma_forbidden(TT_READS);
    const char *writing = unwanted ? unwanted : tt_cma_forbidden(TT_WRITES);
    if (reading && writing)
        whether("CMA", false, "forbidden (%s): data goes through windows in shared memory instead",
                reading);
    else if (reading)
        whether(
            "CMA", false,
            "reading is forbidden (%s), writing allowed: most data goes through windows and rings "
            "in shared memory instead",
            reading);
    else if (writing)
        whether("CMA", false,
                "reading is allowed, writing forbidden (%s): messages and collectives only read",
                writing);
    else
        whether(
            "CMA", true,
            "allowed: the cost of reading a peer's memory (process_vm_readv) is %d (1: less time "
            "than through shared memory)",
            tt_cost_alone());
}

static void say_ucx(void)
{
    const char *version;
    if (tt_wire_ucx_version(&version) == TUTTI_OK)
        whether("ucx", true, "%s: between machines", version);
    else
        whether("ucx", false, "not here: %s", tutti_error());
}

static void say_launchers(void)
{
    const char *version;
    if (tt_pmix_version(&version) == TUTTI_OK)
        whether("PMIx", true, "there (%s): jobs may be started by mpirun, prun, srun", version);
    else
        whether("PMIx", false, "not here: %s", tutti_error());
}

static void say_transports(void)
{
    char size[24];
    begin_section("transports");
    whether("self", true, "a job of one rank");
    whether("thread", true, "between threads of one process, by plain loads");
    say_memory();
    say_cma();
    say_launchers();
    say_ucx();
    if (!report.all)
        line("window", "%d of %s bytes for each rank", TT_WINDOWS,
             tt_print_size(size, tt_team_window()));
    number("window_bytes", tt_team_window());
    number("windows", TT_WINDOWS);
}

/* ---- Waiting ---- */

static void say_membarrier(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    bool works = commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    if (works)
        whether("membarrier", true, "available: the sleeper pays for the fence, a signal does not");
    else
        whether("membarrier", false, "not available (%s): each signal has a fence",
                commands < 0 ? strerror(errno) : "not its expedited kind");
}

/* ---- The model of this machine ---- */

static void say_wisdom(void)
{
    struct tt_wisdom_file file = {0};
    char path[TT_FILE_PATH], why[TT_FILE_WHY] = "";
    int fits = 0;
    if (!tt_wisdom_path(path, why) || !tt_wisdom_read(path, &file, why)) {
        whether("wisdom", false, "%s", why);
        return;
    }
    for (int i = 0; i < file.n; i++) fits += file.entry[i].fits;
    whether("wisdom", fits > 0, "%d lines, of which %d fit: %s", file.n, fits, path);
    tt_wisdom_close(&file);
}

static void say_rankings(const struct tt_machine *machine)
{
    char path[TT_FILE_PATH], why[TT_FILE_WHY] = "";
    int lines, fit;
    if (tt_rankings_path(path, why) && tt_rankings_count(path, machine, &lines, &fit, why))
        whether("rankings", fit > 0, "%d lines, of which %d fit: %s", lines, fit, path);
    else
        whether("rankings", false, "%s", why);
}

static void say_model(void)
{
    struct tt_machine machine;
    char path[TT_MACHINE_PATH], why[TT_MACHINE_WHY];
    const char *choice = tt_setting("TUTTI_CHOICE");
    begin_section("model");
    bool known = tt_machine_find(&machine, path, why);
    if (known)
        whether("steps", true, "%s", path);
    else
        whether("steps", false, "not known: %s (tutti calibrate measures it)", why);
    bool network = known && tt_machine_has_network(&machine);
    whether("messages between hosts", network,
            network ? "measured" : "not known (tutti calibrate --network measures them)");
    bool estimates = known && !(choice && strcmp(choice, "table") == 0);
    bool measures = choice && strcmp(choice, "measure") == 0;
    line("chosen by", "%s",
         measures    ? "the wisdom, and measuring"
         : estimates ? "the wisdom, then the estimate"
                     : "the wisdom, then the table");
    say_wisdom();
    say_rankings(known ? &machine : NULL);
    for (int i = 0; known && i < TT_MACHINE_NUMBERS_N; i++) {
        const char *name = tt_machine_number_name((enum tt_machine_number)i);
        if (!report.all)
            line(name, "%.3f us: %s", 1e-6 * (double)machine.number[i],
                 tt_machine_number_text((enum tt_machine_number)i));
        number(name, machine.number[i]);
    }
}

static void say_waiting(void)
{
    struct tt_wait_policy policy = tt_wait_policy_for(2, tt_usable_cores(), false);
    begin_section("waiting");
    if (!report.all)
        line("looks", "%d, then %d yields, then sleep (2 ranks)", policy.spins, policy.yields);
    number("spins", policy.spins);
    number("yields", policy.yields);
    say_membarrier();
}

/* ---- Settings ---- */

/* The value that a setting has if the environment does not set it, and the origin of that value. */
struct otherwise {
    char value[64];
    const char *from;
};

static struct otherwise otherwise_of(const struct tt_known_setting *setting)
{
    struct tt_wait_policy policy = tt_wait_policy_for(2, tt_usable_cores(), false);
    struct otherwise o = {.from = "default"};
    const char *name = setting->name;
    snprintf(o.value, sizeof o.value, "%s", setting->otherwise);
    if (strcmp(name, "TUTTI_READ_COST") == 0 && cma_is_wanted() && !tt_cma_forbidden(TT_READS)) {
        o.from = "measured";
        snprintf(o.value, sizeof o.value, "%d", tt_cost_alone());
    } else if (strcmp(name, "TUTTI_FILL") == 0) {
        o = (struct otherwise){"when the ranks meet", "measured"};
    } else if (strcmp(name, "TUTTI_SPINS") == 0) {
        snprintf(o.value, sizeof o.value, "%d (2 ranks)", policy.spins);
    } else if (strcmp(name, "TUTTI_YIELDS") == 0) {
        snprintf(o.value, sizeof o.value, "%d (2 ranks)", policy.yields);
    } else if (strcmp(name, "TUTTI_ISA") == 0) {
        snprintf(o.value, sizeof o.value, "%s", tt_reduce_isa());
    }
    return o;
}

static const char *const rules[] = {
    [TT_SETTING_OWN] = "",
    [TT_SETTING_SAME] = "the same on all ranks",
    [TT_SETTING_AGREED] = "agreed in tutti_init",
};

static bool network_is_wrong(const char *text)
{
    struct tt_net net = {0};
    struct tt_reader_error error;
    if (tt_network_parse(text, &net, &error) == TUTTI_OK) {
        tt_net_free(&net);
        return false;
    }
    (void)tt_fail(TUTTI_ERR_ARG, "%.200s (at character %zu)", error.text, error.at + 1);
    return true;
}

/* Returns whether the part of the library that uses this setting would report an error for this
 * value. Sets tutti_error() to the error. */
static bool is_refused(const char *name, const char *text)
{
    if (strcmp(name, "TUTTI_ALGORITHM") == 0) return tt_choose_check() != TUTTI_OK;
    if (strcmp(name, "TUTTI_FAULT") == 0) return tt_fault_check(text) != TUTTI_OK;
    if (strcmp(name, "TUTTI_NETWORK") == 0) return network_is_wrong(text);
    if (strcmp(name, "TUTTI_NODES") != 0 || tt_fabric_nodes_valid(text)) return false;
    (void)tt_fail(TUTTI_ERR_ARG, "expected the ranks of each node, as in 4,2,1,1 or 4*16");
    return true;
}

static bool lacks_job(const char *name)
{
    bool place = strcmp(name, "TUTTI_RANK") == 0 || strcmp(name, "TUTTI_SIZE") == 0;
    return place && !tt_setting("TUTTI_JOB");
}

/* Returns whether the library ignores the value that the environment has for the setting. Writes to
 * `why` what is wrong with the value; "" if nothing is. A value that makes a job fail is not
 * ignored, but `why` then has the error. */
static bool is_ignored(const struct tt_known_setting *setting, char *why, size_t n)
{
    char values[200];
    const char *text = tt_setting(setting->name);
    *why = '\0';
    if (!text) return false;
    tt_setting_values(setting, values, sizeof values);
    if (!tt_setting_accepts(setting, text) && setting->kind == TT_SETTING_WORDS) {
        snprintf(why, n, "it is not %s: other words are ignored", values);
        return false;
    }
    if (!tt_setting_accepts(setting, text))
        snprintf(why, n, "'%.60s' is ignored: it is not %s", text, values);
    else if (strcmp(setting->name, "TUTTI_ISA") == 0 && !tt_kernels_find(text))
        snprintf(why, n, "'%.60s' is ignored: this processor or build does not support it", text);
    else if (lacks_job(setting->name))
        snprintf(why, n, "'%.60s' is ignored: TUTTI_JOB is not set", text);
    else if (is_refused(setting->name, text)) {
        snprintf(why, n, "wrong, and an error in a job: %s", tutti_error());
        return false;
    }
    return *why != '\0';
}

static void add_setting(const struct tt_known_setting *setting, const char *value, const char *from,
                        const char *why)
{
    static const char *const kinds[] = {
        [TT_SETTING_NUMBER] = "number", [TT_SETTING_SECONDS] = "seconds",
        [TT_SETTING_WORD] = "word",     [TT_SETTING_WORDS] = "words",
        [TT_SETTING_TEXT] = "text",
    };
    char values[200];
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", setting->name);
    cJSON_AddStringToObject(row, "value", value);
    cJSON_AddStringToObject(row, "from", from);
    if (*why) cJSON_AddStringToObject(row, "wrong", why);
    cJSON_AddStringToObject(row, "kind", kinds[setting->kind]);
    if (setting->kind != TT_SETTING_TEXT)
        cJSON_AddStringToObject(row, "accepts", tt_setting_values(setting, values, sizeof values));
    cJSON_AddStringToObject(row, "default", setting->otherwise);
    cJSON_AddBoolToObject(row, "same", setting->rule == TT_SETTING_SAME);
    cJSON_AddBoolToObject(row, "agreed", setting->rule == TT_SETTING_AGREED);
    cJSON_AddStringToObject(row, "does", setting->does);
    cJSON_AddItemToArray(report.section, row);
}

static void say_setting(const struct tt_known_setting *setting)
{
    char why[400];
    struct otherwise o = otherwise_of(setting);
    bool set = !is_ignored(setting, why, sizeof why) && tt_setting(setting->name);
    const char *value = set ? tt_setting(setting->name) : o.value;
    const char *from = set ? "environment" : o.from, *rule = rules[setting->rule];
    if (report.all) {
        add_setting(setting, value, from, why);
        return;
    }
    printf("  %-20s %-32s %s%s%s\n", setting->name, value, from, *rule ? "; " : "", rule);
    if (*why) printf("  %-20s %s\n", "", why);
}

static void say_settings(void)
{
    if (report.all)
        report.section = cJSON_AddArrayToObject(report.all, "settings");
    else
        printf("settings\n");
    for (int i = 0; i < tt_settings_n; i++) say_setting(&tt_settings[i]);
}

/* ---- Command line ---- */

enum { OPTION_JSON = 256 };
static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "print a JSON object", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "there is nothing to do with '%s': the command takes options only", arg);
    if (key != OPTION_JSON) return ARGP_ERR_UNKNOWN;
    report.all = cJSON_CreateObject();
    return 0;
}

/* ---- Binding ---- */

/* Prints to which processors `tutti run` would bind the first few ranks now. */
static void say_places(const struct tt_cores *cores, int ranks)
{
    enum { SHOWN = 4 };
    char text[480] = "", where[160];
    int shown = (int)tt_min(ranks, SHOWN);
    if (!tt_cores_bound(cores)) shown = 1;
    for (int i = 0; i < shown; i++) {
        size_t used = strlen(text);
        tt_cores_print(cores, i, where, sizeof where);
        snprintf(text + used, sizeof text - used, "%s%s", i ? "; " : "", where);
    }
    bool more = tt_cores_bound(cores) && shown < ranks;
    line("tutti run", "%d rank%s: %s%s", ranks, ranks == 1 ? "" : "s", text, more ? "; ..." : "");
}

static void say_binding(void)
{
    char text[400];
    int ranks = (int)tt_min(tt_usable_cores(), TT_LAUNCH_RANKS);
    const struct tt_launch_program program = {.ranks = ranks};
    const struct tt_launch_options usual = {.program = &program, .programs = 1};
    struct tt_cores *cores = tt_cores_new(ranks, &usual);
    begin_section("binding");
    if (cores) {
        if (tt_cores_print_all(cores, false, text, sizeof text)) line("allowed", "%s", text);
        if (tt_cores_print_all(cores, true, text, sizeof text))
            line("taken", "%s, by other jobs of this user", text);
        say_places(cores, ranks);
    }
    line("elsewhere", "under mpirun, prun and srun their binding is kept");
    tt_cores_free(cores);
}

int tt_info_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Prints what this machine has, what is forbidden here, what is used instead, and "
               "which settings are in force, with where each comes from."};
    tt_arg_parse(&argp, argc, argv, 0, NULL);
    if (report.all)
        cJSON_AddStringToObject(report.all, "version", tutti_version());
    else
        printf("tutti %s\n", tutti_version());
    say_machine();
    say_transports();
    say_waiting();
    say_model();
    say_binding();
    say_settings();
    return !report.all || tt_json_print(report.all) ? TT_EXIT_OK : TT_EXIT_FAILED;
}
