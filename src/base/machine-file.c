/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of the machine model. A line is a name and its value, or # and a comment:
 *
 *     tutti 0.9.0
 *     processor Intel(R) Xeon(R) Processor
 *     processors 2
 *     bytes 8 64 512 ...
 *     line 118000
 *     copy_cached_cached 3100 4200 ...
 *
 * `bytes` has the sizes to which the entries of a table such as copy_cached_cached belong. The
 * number `line` and the entries of this table are times in picoseconds. Each name of the model is
 * in the file exactly once. The names of the network are either all in the file, or none of them
 * is. `processors` is the number that the machine has, not the number that this process may use,
 * because ranks that are bound to different processors must find the same file.
 */
#include "base/machine.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MOST = 64 << 10 };

bool tt_machine_path(char path[TT_MACHINE_PATH], char why[TT_MACHINE_WHY])
{
    return tt_file_path("TUTTI_MACHINE", "machine", path, why);
}

/* ---- Reading ---- */

/* The contents of a file: the machine on which the model was measured, and which entries the file
 * has. */
struct content {
    struct tt_machine *machine;
    char version[TT_MACHINE_NAME], processor[TT_MACHINE_NAME];
    int64_t processors;
    bool has_number[TT_MACHINE_NUMBERS_N], has_table[TT_MACHINE_TABLES_N];
    bool has_look, has_wire[TT_MACHINE_WIRES_N];
};

/* The name of the line with tt_machine_network.look. */
static const char look_name[] = "wire_look";

/* Reads n whole numbers. Returns false unless the text consists of exactly n whole numbers. */
static bool read_numbers(const char *text, int64_t *to, int n)
{
    for (int i = 0; i < n; i++) {
        char *end;
        if (!isdigit((unsigned char)text[strspn(text, " ")])) return false;
        errno = 0;
        to[i] = strtoll(text, &end, 10);
        if (errno || end == text) return false;
        text = end;
    }
    return *text == '\0';
}

/* Reads n times. Returns false unless the text consists of exactly n whole numbers, each of which
 * is a possible time. */
static bool read_times(const char *text, int64_t *to, int n)
{
    bool good = read_numbers(text, to, n);
    for (int i = 0; i < n && good; i++) good = to[i] >= 1 && to[i] <= TT_MACHINE_MOST;
    return good;
}

/* Reads an entry of the network. Returns false if the name is not that of such an entry, or if the
 * value is wrong. */
static bool read_network(struct content *c, const char *name, const char *value)
{
    struct tt_machine_network *network = &c->machine->network;
    if (strcmp(name, look_name) == 0) {
        bool again = c->has_look;
        c->has_look = true;
        return !again && read_times(value, &network->look, 1);
    }
    for (int i = 0; i < TT_MACHINE_WIRES_N; i++) {
        if (strcmp(name, tt_machine_wire_name((enum tt_machine_wire)i)) != 0) continue;
        bool again = c->has_wire[i];
        c->has_wire[i] = true;
        return !again && read_times(value, network->wire[i], TT_MACHINE_POINTS);
    }
    return false;
}

static bool read_entry(struct content *c, const char *name, const char *value)
{
    int64_t bytes[TT_MACHINE_POINTS];
    if (strcmp(name, "tutti") == 0 || strcmp(name, "processor") == 0) {
        tt_copy_words(name[0] == 't' ? c->version : c->processor, TT_MACHINE_NAME, value);
        return true;
    }
    if (strcmp(name, "processors") == 0) return read_numbers(value, &c->processors, 1);
    if (strcmp(name, "bytes") == 0)
        return read_numbers(value, bytes, TT_MACHINE_POINTS) &&
               memcmp(bytes, tt_machine_bytes, sizeof bytes) == 0;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) {
        if (strcmp(name, tt_machine_number_name((enum tt_machine_number)i)) != 0) continue;
        bool again = c->has_number[i];
        c->has_number[i] = true;
        return !again && read_times(value, &c->machine->number[i], 1);
    }
    for (int i = 0; i < TT_MACHINE_TABLES_N; i++) {
        if (strcmp(name, tt_machine_table_name((enum tt_machine_table)i)) != 0) continue;
        bool again = c->has_table[i];
        c->has_table[i] = true;
        return !again && read_times(value, c->machine->table[i], TT_MACHINE_POINTS);
    }
    return read_network(c, name, value);
}

/* Reads the lines of the text, which it cuts up. Returns the number of the first line that is
 * wrong; 0: all lines are right. */
static int read_lines(struct content *c, char *text)
{
    char *rest = text, *line;
    for (int n = 1; (line = strsep(&rest, "\n")) != NULL; n++) {
        if (*line == '#' || *line == '\0') continue;
        char *value = strchr(line, ' ');
        if (!value) return n;
        *value = '\0';
        if (!read_entry(c, line, value + 1)) return n;
    }
    return 0;
}

/* Returns whether the file has all entries of the network, or none. */
static bool has_all_or_none(const struct content *c)
{
    bool even = true;
    for (int i = 0; i < TT_MACHINE_WIRES_N; i++) even = even && c->has_wire[i] == c->has_look;
    return even;
}

static bool is_whole(const struct content *c)
{
    bool whole = true;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) whole = whole && c->has_number[i];
    for (int i = 0; i < TT_MACHINE_TABLES_N; i++) whole = whole && c->has_table[i];
    return whole && has_all_or_none(c);
}

/* Returns whether the model in the file was measured by this version on this kind of machine, is
 * complete, and is credible (tt_machine_credible). `wrong` is the number of a wrong line, or 0. The
 * version is compared first, because the files of another version may have other entries. */
static bool fits(const struct content *c, const char *path, int wrong, char why[TT_MACHINE_WHY])
{
    char here[TT_MACHINE_NAME] = "";
    tt_machine_processor(here, sizeof here);
    if (c->version[0] && strcmp(c->version, tutti_version()) != 0)
        return tt_file_refuse(why, "%.200s was measured by Tutti %.60s, and this is Tutti %s", path,
                              c->version, tutti_version());
    if (wrong) return tt_file_refuse(why, "%.200s: line %d is wrong", path, wrong);
    if (!c->version[0])
        return tt_file_refuse(why, "%.200s is no model of a machine: it has no line 'tutti %s'",
                              path, tutti_version());
    if (strcmp(c->processor, here) != 0)
        return tt_file_refuse(why, "%.160s was measured on '%.100s', and this machine has '%.100s'",
                              path, c->processor, here);
    if (c->processors != tt_machine_processors())
        return tt_file_refuse(
            why, "%.200s was measured with %" PRId64 " processors, and this machine has %ld", path,
            c->processors, tt_machine_processors());
    if (!is_whole(c)) return tt_file_refuse(why, "%.200s is not complete", path);
    char entry[TT_MACHINE_WHY];
    return tt_machine_credible(c->machine, entry) ||
           tt_file_refuse(why, "%.160s cannot be right: %.80s", path, entry);
}

/* The text of a file without a model (tt_machine_begin). */
static const char begun[] =
    "# A job has begun to measure a model of this machine. If it could not, because other "
    "programs\n"
    "# took the processors, a job that begins at least ten minutes later tries again.\n";

bool tt_machine_read(const char *path, struct tt_machine *machine, char why[TT_MACHINE_WHY])
{
    struct tt_machine found = {0};
    struct content c = {.machine = &found};
    bool missing;
    why[0] = '\0';
    char *text = tt_file_read(path, FILE_MOST, &missing, why);
    if (!text) return false;
    bool good = strcmp(text, begun) == 0
                    ? tt_file_refuse(why,
                                     "%.200s: other programs were busy when a job began to "
                                     "measure a model",
                                     path)
                    : fits(&c, path, read_lines(&c, text), why);
    tt_free(text);
    if (good) *machine = found;
    return good;
}

bool tt_machine_find(struct tt_machine *machine, char path[TT_MACHINE_PATH],
                     char why[TT_MACHINE_WHY])
{
    return tt_machine_path(path, why) && tt_machine_read(path, machine, why);
}

/* The values of TUTTI_CHOICE, in the order of the table of settings. AUTO: by estimate if a model
 * is known, else by the table. */
enum choice { CHOICE_AUTO, CHOICE_TABLE, CHOICE_ESTIMATE, CHOICE_MEASURE };

/* Returns whether a new model may be written to this path. If TUTTI_MACHINE names the file, the
 * model may be written only if the file does not exist. */
static bool may_replace(const char *path)
{
    return path[0] && (!tt_setting("TUTTI_MACHINE") || access(path, F_OK) != 0);
}

/* Returns whether a job that does not demand a model may measure one. A file that does not fit may
 * be that of tt_machine_begin: then other programs disturbed the measurement, or it goes on. So a
 * job does not measure again soon. */
static bool may_try(const char *path)
{
    enum { AGAIN_S = 600 };
    struct stat is;
    if (!path[0] || tt_setting("TUTTI_MACHINE")) return false;
    if (stat(path, &is) != 0) return errno == ENOENT;
    return llabs((long long)time(NULL) - is.st_mtime) > AGAIN_S;
}

/* Returns what is known of a link. The model's network, if there is one, has the speed of a stream
 * of long messages between two nodes, and the time of the shortest message. */
static struct tt_machine_link link_of(const struct tt_machine *model)
{
    enum { LONGEST = TT_MACHINE_POINTS - 1 };
    int64_t gap = model->network.wire[TT_MACHINE_wire_gap][LONGEST];
    int64_t wanted = tt_setting_int_or("TUTTI_LINK_MBIT", -1);
    struct tt_machine_link link = {0};
    if (gap > 0) {
        int64_t time_ps = model->network.wire[TT_MACHINE_wire_time][0];
        link.mbit = (int32_t)tt_min(INT32_MAX, tt_machine_bytes[LONGEST] * 8 * 1000000 / gap);
        link.start_ns = (int32_t)tt_max(1, time_ps / 1000);
    }
    if (wanted >= 0) link.mbit = (int32_t)wanted;
    return link;
}

/* Decides how this job chooses algorithms. TUTTI_CHOICE=measure works without a model, too, because
 * it then tries the algorithms of the table; so a missing model causes no warning with this
 * setting. */
void tt_machine_decide(struct tt_machine_in_force *machine, tt_machine_measure *measure,
                       char why[TT_MACHINE_WHY])
{
    char path[TT_MACHINE_PATH];
    *machine = (struct tt_machine_in_force){.use = TT_MACHINE_UNKNOWN};
    enum choice wanted = (enum choice)tt_setting_word("TUTTI_CHOICE");
    bool found = tt_machine_find(&machine->model, path, why);
    bool demands = wanted == CHOICE_ESTIMATE || wanted == CHOICE_MEASURE;
    bool may = demands ? may_replace(path) : wanted == CHOICE_AUTO && may_try(path);
    if (!found && measure && may) found = measure(path, demands, &machine->model, why);
    machine->measures = wanted == CHOICE_MEASURE;
    if (found) machine->use = wanted == CHOICE_TABLE ? TT_MACHINE_TABLE : TT_MACHINE_ESTIMATE;
    machine->link = link_of(&machine->model);
    if (!found && (wanted == CHOICE_ESTIMATE || tt_setting("TUTTI_MACHINE")))
        tt_warn("there is no model of this machine, so the table chooses: %s", why);
}

/* ---- Writing ---- */

static void print_row(FILE *out, const char *name, const int64_t *value, int n)
{
    fprintf(out, "%s", name);
    for (int i = 0; i < n; i++) fprintf(out, " %" PRId64, value[i]);
    fprintf(out, "\n");
}

static void print_network(FILE *out, const struct tt_machine_network *network)
{
    fprintf(out, "# messages between two nodes, measured by `tutti calibrate --network`\n");
    print_row(out, look_name, &network->look, 1);
    for (int i = 0; i < TT_MACHINE_WIRES_N; i++)
        print_row(out, tt_machine_wire_name((enum tt_machine_wire)i), network->wire[i],
                  TT_MACHINE_POINTS);
}

static void print_model(FILE *out, const void *arg)
{
    const struct tt_machine *m = arg;
    char processor[TT_MACHINE_NAME] = "";
    tt_machine_processor(processor, sizeof processor);
    fprintf(out,
            "# The costs of the steps of a plan on this machine, measured by `tutti calibrate`.\n"
            "# Times are in picoseconds; tables have a time for each number of bytes.\n");
    fprintf(out, "tutti %s\nprocessor %s\nprocessors %ld\n", tutti_version(), processor,
            tt_machine_processors());
    print_row(out, "bytes", tt_machine_bytes, TT_MACHINE_POINTS);
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++)
        print_row(out, tt_machine_number_name((enum tt_machine_number)i), &m->number[i], 1);
    for (int i = 0; i < TT_MACHINE_TABLES_N; i++)
        print_row(out, tt_machine_table_name((enum tt_machine_table)i), m->table[i],
                  TT_MACHINE_POINTS);
    if (tt_machine_has_network(m)) print_network(out, &m->network);
}

static void print_begun(FILE *out, const void *arg)
{
    (void)arg;
    fputs(begun, out);
}

tutti_status tt_machine_begin(const char *path)
{
    return tt_file_replace(path, print_begun, NULL);
}

tutti_status tt_machine_write(const char *path, const struct tt_machine *machine)
{
    tt_assert(tt_machine_valid(machine));
    return tt_file_replace(path, print_model, machine);
}
