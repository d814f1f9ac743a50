/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file in which decisions of the measured choice are kept: its lines, reading and writing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cache-file.h"
#include "base/locale.h"
#include "base/settings.h"
#include "mpi/kept.h"

enum { FILE_MOST = 1 << 20, LINES_MOST = 2048, RANKS_MOST = 1 << 20 };

/* ---- What base/cache-file.c calls ---- */

/* libtutti_mpi.so contains base/cache-file.c, but no second copy of the rest of the base. So the
 * build gives other names to the functions of the base that cache-file.c calls (CMakeLists.txt),
 * and this file defines functions with these names. */
tutti_status tt_mpi_fail(tutti_status status, const char *format, ...);
tutti_status tt_mpi_fail_errno(tutti_status status, const char *format, ...);
const char *tt_mpi_environment(const char *name);

/* Returns `value`, the value of an environment variable, or NULL if the variable is not set or
 * empty. */
static const char *unless_empty(const char *value)
{
    return value && *value ? value : NULL;
}

const char *tt_mpi_environment(const char *name)
{
    return unless_empty(getenv(name));
}

/* These values are read from the environment when MPI begins, because the program may change the
 * environment later. */
static struct {
    bool named;              /* the user named the file in TUTTI_MPI_WISDOM */
    char path[TT_FILE_PATH]; /* "": the user wants no file, or there is no folder for it */
    const char *changed;     /* the result of setting_of_costs */
} file;

/* Prints why the file that the user named in TUTTI_MPI_WISDOM is not used. */
static void complain(const char *why)
{
    if (file.named) tt_mpi_say("TUTTI_MPI_WISDOM: %s", why);
}

tutti_status tt_mpi_fail(tutti_status status, const char *format, ...)
{
    char why[TT_FILE_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    complain(why);
    return status;
}

tutti_status tt_mpi_fail_errno(tutti_status status, const char *format, ...)
{
    const char *cause = strerror(errno);
    char why[TT_FILE_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return tt_mpi_fail(status, "%s: %s", why, cause);
}

/* ---- On which nodes the ranks are ---- */

static int node_of(const int *ranks, const int *node, int i)
{
    return node[ranks ? ranks[i] : i];
}

bool tt_mpi_nodes_of(int n, const int *ranks, const int *node, char layout[TT_MPI_LAYOUT])
{
    size_t used = 0;
    layout[0] = '\0';
    for (int first = 0, next = 0; first < n; first = next) {
        int here = node_of(ranks, node, first);
        for (int i = 0; i < first; i++)
            if (node_of(ranks, node, i) == here) return false;
        while (next < n && node_of(ranks, node, next) == here) next++;
        if (first == 0 && next == n) return true;
        int more =
            snprintf(layout + used, TT_MPI_LAYOUT - used, "%s%d", first ? "," : "", next - first);
        if (more < 0 || (used += (size_t)more) >= TT_MPI_LAYOUT) return false;
    }
    return true;
}

/* ---- Shapes ---- */

#define LOWER_NAME(F, NAME, LOWER, ...) [TT_MPI_INDEX_##NAME] = #LOWER,
static const char *const name_of[TT_MPI_INDEXES] = {TT_MPI_BARRIER(LOWER_NAME, )
                                                        TT_MPI_MEMBERS(LOWER_NAME, , int, int)};

static int magnitude_of(int shape)
{
    return shape % TT_MPI_MAGNITUDES;
}

static int index_of(int shape)
{
    return shape / TT_MPI_MAGNITUDES % TT_MPI_INDEXES;
}

static bool has_user(int shape)
{
    return shape / TT_MPI_MAGNITUDES >= TT_MPI_INDEXES;
}

/* Returns whether the number of a shape says how many bytes a call moves, between two powers of
 * two. It does not if not all ranks know the bytes of their calls. A barrier moves none. */
static bool is_definite(int shape)
{
    return magnitude_of(shape) > 0 || index_of(shape) == TT_MPI_INDEX_Barrier;
}

static const char units[] = "KMGT";

static void print_problem(FILE *out, const struct tt_mpi_keep *keep)
{
    int shape = keep->decision.shape, power = magnitude_of(shape) - 1;
    fputs(name_of[index_of(shape)], out);
    if (has_user(shape)) fputs("/user", out);
    if (power >= 0) fprintf(out, "/%d", 1 << power % 10);
    if (power >= 10) fputc(units[power / 10 - 1], out);
    fprintf(out, "/p%d", (int)keep->ranks);
    if (keep->layout[0]) fprintf(out, "@nodes:%s", keep->layout);
}

/* Returns whether *at begins with `text`, and if so, moves *at past these characters. */
static bool passes(const char **at, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*at, text, n) != 0) return false;
    *at += n;
    return true;
}

/* Reads a number of bytes such as "8" or "1K", which must be a power of two. Returns its exponent
 * plus 1, which is the magnitude in the number of a shape (tt_mpi_shape_of); 0: it is no power of
 * two, or too large. */
static int parse_magnitude(const char **at)
{
    char *end;
    const char *unit;
    long n = strtol(*at, &end, 10);
    if (end == *at || n < 1 || n > 512 || (n & (n - 1)) != 0) return 0;
    int magnitude = __builtin_ctzl((unsigned long)n) + 1;
    if (*end && (unit = strchr(units, *end)) != NULL) {
        magnitude += 10 * (int)(unit - units + 1);
        end++;
    }
    *at = end;
    return magnitude < TT_MPI_MAGNITUDES ? magnitude : 0;
}

static int parse_name(const char **at)
{
    size_t n = strcspn(*at, "/ ");
    for (int i = 0; i < TT_MPI_INDEXES; i++) {
        if (strlen(name_of[i]) != n || strncmp(*at, name_of[i], n) != 0) continue;
        *at += n;
        return i;
    }
    return -1;
}

static bool parse_layout(const char **at, char layout[TT_MPI_LAYOUT])
{
    layout[0] = '\0';
    if (!passes(at, "@nodes:")) return true;
    size_t n = strspn(*at, "0123456789,");
    if (n == 0 || n >= TT_MPI_LAYOUT) return false;
    memcpy(layout, *at, n);
    layout[n] = '\0';
    *at += n;
    return true;
}

static bool parse_problem(const char *at, struct tt_mpi_keep *keep)
{
    char *end;
    int index = parse_name(&at), magnitude = 0;
    if (index < 0) return false;
    bool user = passes(&at, "/user");
    if (!passes(&at, "/")) return false;
    if (*at != 'p' && ((magnitude = parse_magnitude(&at)) == 0 || !passes(&at, "/"))) return false;
    if (!passes(&at, "p")) return false;
    long ranks = strtol(at, &end, 10);
    if (end == at || ranks < 2 || ranks > RANKS_MOST) return false;
    at = end;
    keep->ranks = (int32_t)ranks;
    keep->decision.shape = (index + user * TT_MPI_INDEXES) * TT_MPI_MAGNITUDES + magnitude;
    return is_definite(keep->decision.shape) && parse_layout(&at, keep->layout) && *at == '\0';
}

/* ---- Lines ---- */

/* A line of the file: the decision, and where it was measured. */
struct kept_line {
    struct tt_mpi_keep keep;
    struct tt_mpi_place place;
    char machine[TT_MACHINE_NAME];
};

/* Parses microseconds. Returns nanoseconds; -1: the text is no such time. */
static int64_t parse_us(const char *text)
{
    char *end;
    double us = tt_parse_decimal(text, &end);
    return end != text && *end == '\0' && us >= 0 && us < 1e9 ? (int64_t)(us * 1e3 + 0.5) : -1;
}

static bool parse(const char *text, struct kept_line *line)
{
    char problem[160], side[8], date[24], tutti_us[24], host_us[24];
    memset(line, 0, sizeof *line);
    struct tt_mpi_decision *d = &line->keep.decision;
    if (sscanf(text,
               "%159s by=%7s tutti-us=%23s host-us=%23s cores=%d host=%63s date=%23s version=%23s "
               "machine=%127s",
               problem, side, tutti_us, host_us, &line->place.cores, line->place.host, date,
               line->place.version, line->machine) != 9)
        return false;
    d->tutti = strcmp(side, "tutti") == 0;
    if (!d->tutti && strcmp(side, "host") != 0) return false;
    d->tutti_ns = parse_us(tutti_us);
    d->host_ns = parse_us(host_us);
    return d->tutti_ns >= 0 && d->host_ns >= 0 && parse_problem(problem, &line->keep);
}

static void print(FILE *out, const struct tt_mpi_place *place, const struct tt_mpi_keep *keep,
                  const char *machine)
{
    const struct tt_mpi_decision *d = &keep->decision;
    char date[24];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    print_problem(out, keep);
    fprintf(out, " by=%s tutti-us=%" PRId64 ".%03d host-us=%" PRId64 ".%03d cores=%d host=%s",
            d->tutti ? "tutti" : "host", d->tutti_ns / 1000, (int)(d->tutti_ns % 1000),
            d->host_ns / 1000, (int)(d->host_ns % 1000), place->cores, place->host);
    fprintf(out, " date=%s version=%s machine=%s\n", date, place->version, machine);
}

/* Returns whether two decisions are on the same shape, for communicators of the same number of
 * ranks, which are spread over nodes in the same way. */
static bool same(const struct tt_mpi_keep *a, const struct tt_mpi_keep *b)
{
    return a->decision.shape == b->decision.shape && a->ranks == b->ranks &&
           strcmp(a->layout, b->layout) == 0;
}

/* Returns whether a line was measured on this machine, with this host MPI and this number of
 * processors, by any version of Tutti. */
static bool is_here(const struct kept_line *line, const struct tt_mpi_place *place,
                    const char *machine)
{
    return line->place.cores == place->cores && strcmp(line->place.host, place->host) == 0 &&
           strcmp(line->machine, machine) == 0;
}

/* ---- Decisions in memory ---- */

static void replace(struct tt_mpi_kept *kept, const struct tt_mpi_keep *keep)
{
    int i = 0;
    while (i < kept->n && !same(&kept->entry[i], keep)) i++;
    if (i == TT_MPI_KEPT) {
        i--;
        memmove(kept->entry, kept->entry + 1, (size_t)i * sizeof *kept->entry);
    }
    if (i == kept->n) kept->n++;
    kept->entry[i] = *keep;
}

void tt_mpi_kept_add(struct tt_mpi_kept *kept, const struct tt_mpi_keep *keep)
{
    int64_t host = keep->decision.host_ns, tutti = keep->decision.tutti_ns;
    int64_t less = keep->decision.tutti ? tutti : host, more = keep->decision.tutti ? host : tutti;
    if (is_definite(keep->decision.shape) && less > 0 && less <= more - more / 10)
        replace(kept, keep);
}

/* ---- The file ---- */

/* Returns the name of a variable that changes what calls cost and has another value than its
 * default; NULL: there is none. */
static const char *setting_of_costs(void)
{
    static const struct {
        const char *name, *otherwise;
        enum tt_setting_costs costs;
    } settings[] = {
#define ROW(name, kind, rule, costs, otherwise, does)                                              \
    {"TUTTI_" #name, otherwise, TT_SETTING_##costs},
        TT_SETTING_LIST(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = unless_empty(getenv(settings[i].name));
        if (settings[i].costs != TT_SETTING_PLAIN && value &&
            strcmp(value, settings[i].otherwise) != 0)
            return settings[i].name;
    }
    return NULL;
}

static void read_environment(void)
{
    char why[TT_FILE_WHY];
    const char *given = unless_empty(getenv("TUTTI_MPI_WISDOM"));
    file.named = given != NULL;
    file.changed = setting_of_costs();
    if ((given && strcmp(given, "0") == 0) ||
        !tt_file_path("TUTTI_MPI_WISDOM", "mpi", file.path, why))
        file.path[0] = '\0';
}

void tt_mpi_kept_read(const struct tt_mpi_place *place, struct tt_mpi_kept *kept)
{
    char why[TT_FILE_WHY], machine[TT_MACHINE_NAME], *one;
    struct kept_line line;
    bool missing;
    kept->n = 0;
    read_environment();
    if (!file.path[0]) return;
    char *text = tt_file_read(file.path, FILE_MOST, &missing, why);
    if (!text && !missing) complain(why);
    if (!text) return;
    tt_machine_slug(machine);
    for (char *rest = text; (one = strsep(&rest, "\n"));)
        if (parse(one, &line) && is_here(&line, place, machine) &&
            strcmp(line.place.version, place->version) == 0)
            replace(kept, &line.keep);
    free(text);
}

/* The argument of `stays` and `add` while the file is written: the decisions to add, and where they
 * were made. */
struct kept_addition {
    const struct tt_mpi_place *place;
    const struct tt_mpi_kept *kept;
    const char *machine;
};

static bool stays(const char *text, void *arg)
{
    const struct kept_addition *a = arg;
    struct kept_line line;
    if (!parse(text, &line) || !is_here(&line, a->place, a->machine)) return true;
    for (int i = 0; i < a->kept->n; i++)
        if (same(&line.keep, &a->kept->entry[i])) return false;
    return true;
}

static void add(FILE *out, void *arg)
{
    const struct kept_addition *a = arg;
    for (int i = 0; i < a->kept->n; i++) print(out, a->place, &a->kept->entry[i], a->machine);
}

/* Returns whether the decisions may be kept in the file. If not, prints the reason. */
static bool may_keep(void)
{
    const char *changed = file.named ? NULL : file.changed;
    if (changed)
        tt_mpi_say("the choices between Tutti and the MPI are not kept, because %s changes the "
                   "times; TUTTI_MPI_WISDOM=FILE keeps them in a file of its own",
                   changed);
    return !changed;
}

void tt_mpi_kept_write(const struct tt_mpi_place *place, const struct tt_mpi_kept *kept)
{
    char machine[TT_MACHINE_NAME];
    struct kept_addition a = {.place = place, .kept = kept, .machine = machine};
    const struct tt_file_change change = {.most_bytes = FILE_MOST,
                                          .most_lines = LINES_MOST,
                                          .head = "",
                                          .stays = stays,
                                          .add = add,
                                          .arg = &a};
    if (kept->n == 0 || !file.path[0] || !may_keep()) return;
    tt_machine_slug(machine);
    /* tt_mpi_fail has printed an error, if the user named the file */
    (void)tt_file_merge(file.path, &change);
}
