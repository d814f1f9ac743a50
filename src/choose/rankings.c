/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of the rankings: parsing and printing its lines, reading it and adding to it.
 */
#include "choose/rankings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <choose-build.h>
#include "coll/coll.h"
#include "plan/words.h"

enum {
    FILE_MOST = 4 << 20,
    LINES_MOST = 1024,
    LINE_MOST = 8192, /* bytes of a line; longer ones are ignored */
    ORIGIN = 128,
    LEAST_SIZE = 3 /* no ranking is for fewer than 8 bytes */
};

/* The words of `reach`, indexed by the bits TT_REACHES_... */
static const char *const reaches[] = {"window",      "read",      "write",      "read-write",
                                      "load-window", "load-read", "load-write", "load"};
static const struct tt_words reach_words = {reaches, sizeof reaches / sizeof *reaches};

/* ---- Where lines come from ---- */

/* Writes the part of a line that says under which model and by which library it was computed.
 * The file has rankings of teams on one node, which do not depend on the model's network. */
static char *print_origin(const struct tt_machine *machine, char text[ORIGIN])
{
    snprintf(text, ORIGIN, " model=%016" PRIx64 " tutti=%.23s build=%s ",
             tt_hash(TT_HASH_BEGIN, machine, offsetof(struct tt_machine, network)), tutti_version(),
             TT_CHOOSE_BUILD);
    return text;
}

/* ---- Printing ---- */

static const char *name_of(uint8_t place)
{
    return place == TT_NOTHING_RANKED ? "none" : tt_algorithms[place - 1]->name;
}

static void print_sizes(FILE *out, const struct tt_ranking *r)
{
    char size[24];
    for (int log2 = 0; log2 < TT_RANKED_SIZES; log2++) {
        const uint8_t *best = r->best[log2];
        if (best[0] == TT_NOT_RANKED) continue;
        fprintf(out, "%s=%s", tt_print_size(size, INT64_C(1) << log2), name_of(best[0]));
        for (int i = 1; i < TT_RANKED && best[i] != TT_NOT_RANKED; i++)
            fprintf(out, ",%s", name_of(best[i]));
        fputc(' ', out);
    }
}

/* Prints a line up to its check. */
static void print_checked(FILE *out, const struct tt_ranking *r, const char *origin)
{
    const struct tt_ranking_shape *s = &r->shape;
    fprintf(out,
            "%s/p%d buffers=%s reach=%s cost=%d cores=%d window=%" PRId64 " eager=%" PRId64
            " slice=%" PRId64 " radix=%d%s",
            tt_coll_name((enum tt_coll)s->coll), (int)s->p, s->shared ? "shared" : "own",
            tt_word(&reach_words, s->reach), s->cost, (int)s->cores, s->window, s->eager, s->slice,
            (int)s->radix, origin);
    print_sizes(out, r);
}

/* Prints a line. A line of more than LINE_MOST bytes is left out. */
static void print_line(FILE *out, const struct tt_ranking *r, const char *origin)
{
    char text[LINE_MOST];
    FILE *line = fmemopen(text, sizeof text - 32, "w");
    if (!line) return;
    print_checked(line, r, origin);
    bool whole = fflush(line) == 0 && !ferror(line);
    long n = ftell(line);
    if (fclose(line) == 0 && whole && n > 0)
        fprintf(out, "%.*scheck=%016" PRIx64 "\n", (int)n, text,
                tt_hash(TT_HASH_BEGIN, text, (size_t)n));
}

/* ---- Parsing ---- */

static bool is_possible(const struct tt_ranking_shape *s)
{
    return s->p >= 2 && s->cores >= 1 && s->window >= 0 && s->eager >= 0 && s->slice >= 0 &&
           s->radix >= 0;
}

/* Returns where the text continues after the shape; NULL: the text does not begin with a shape. */
static const char *parse_shape(const char *text, struct tt_ranking_shape *shape)
{
    char coll[24], buffers[8], reach[16];
    int p, cost, cores, radix, end = 0;
    struct tt_ranking_shape s = {0};
    if (sscanf(text,
               "%23[a-z_]/p%d buffers=%7s reach=%15s cost=%d cores=%d window=%" SCNd64
               " eager=%" SCNd64 " slice=%" SCNd64 " radix=%d%n",
               coll, &p, buffers, reach, &cost, &cores, &s.window, &s.eager, &s.slice, &radix,
               &end) != 10)
        return NULL;
    int c = tt_word_find(&tt_coll_words, coll, strlen(coll));
    int r = tt_word_find(&reach_words, reach, strlen(reach));
    s.shared = strcmp(buffers, "shared") == 0;
    s.p = p;
    s.cores = cores;
    s.radix = radix;
    if (c < 0 || r < 0 || cost < 0 || cost > UINT8_MAX || !is_possible(&s) ||
        (!s.shared && strcmp(buffers, "own") != 0))
        return NULL;
    s.coll = (uint8_t)c;
    s.reach = (uint8_t)r;
    s.cost = (uint8_t)cost;
    *shape = s;
    return text + end;
}

static bool parse_place(enum tt_coll coll, const char *name, size_t n, uint8_t *place)
{
    *place = TT_NOTHING_RANKED;
    if (n == 4 && strncmp(name, "none", n) == 0) return true;
    for (int i = 0; tt_algorithms[i]; i++) {
        const struct tt_algorithm *a = tt_algorithms[i];
        if (a->coll != coll || strlen(a->name) != n || strncmp(name, a->name, n) != 0) continue;
        *place = (uint8_t)(i + 1);
        return true;
    }
    return false;
}

/* Parses a list of names such as "ring,flat", which has at least one name. */
static bool parse_places(enum tt_coll coll, const char *at, const char *end,
                         uint8_t best[TT_RANKED])
{
    for (int i = 0; i < TT_RANKED; i++, at++) {
        size_t n = 0;
        while (at + n < end && at[n] != ',') n++;
        if (!parse_place(coll, at, n, &best[i])) return false;
        at += n;
        if (at == end) return true;
    }
    return false;
}

static bool parse_size(const char *at, const char *end, struct tt_ranking *r)
{
    int64_t bytes;
    const char *names = memchr(at, '=', (size_t)(end - at));
    if (!names || !tt_parse_size(at, names, &bytes)) return false;
    for (int log2 = LEAST_SIZE; log2 < TT_RANKED_SIZES; log2++)
        if (bytes == INT64_C(1) << log2)
            return parse_places((enum tt_coll)r->shape.coll, names + 1, end, r->best[log2]);
    return false;
}

/* Parses all entries, such as "64K=window", up to `end`. A blank follows each of them. */
static bool parse_sizes(const char *at, const char *end, struct tt_ranking *r)
{
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        if (!blank || !parse_size(at, blank, r)) return false;
        at = blank + 1;
    }
    return true;
}

/* Returns where "check=" begins in a line, if the hash after it is right; else NULL. */
static const char *find_check(const char *text)
{
    static const char key[] = "check=";
    enum { DIGITS = 16 };
    char check[DIGITS + 1];
    size_t n = strlen(text), length = sizeof key - 1 + DIGITS;
    if (n < length) return NULL;
    const char *at = text + n - length;
    snprintf(check, sizeof check, "%016" PRIx64, tt_hash(TT_HASH_BEGIN, text, (size_t)(at - text)));
    return strncmp(at, key, sizeof key - 1) == 0 && strcmp(at + sizeof key - 1, check) == 0 ? at
                                                                                            : NULL;
}

/* Parses a line with the model, version and build that `origin` names (print_origin). Returns false
 * if the text is no such line, or is damaged. The hash of the line is computed only if the line is
 * of this origin, because that takes longest. */
static bool parse_line(const char *text, const char *origin, struct tt_ranking *ranking)
{
    struct tt_ranking r = {.computed = 0};
    size_t n = strlen(origin);
    const char *at = parse_shape(text, &r.shape);
    if (!at || strncmp(at, origin, n) != 0) return false;
    const char *end = find_check(text);
    if (!end || !parse_sizes(at + n, end, &r)) return false;
    *ranking = r;
    return true;
}

/* ---- Reading ---- */

bool tt_rankings_path(char path[TT_FILE_PATH], char why[TT_FILE_WHY])
{
    const char *given = tt_setting("TUTTI_RANKINGS");
    path[0] = '\0';
    if (given && strcmp(given, "0") == 0) return tt_file_refuse(why, "TUTTI_RANKINGS=0");
    return tt_file_path("TUTTI_RANKINGS", "rankings", path, why);
}

static struct tt_ranking *find(struct tt_rankings *all, const struct tt_ranking_shape *shape)
{
    for (int i = 0; i < all->n; i++)
        if (memcmp(&all->ranking[i].shape, shape, sizeof *shape) == 0) return &all->ranking[i];
    return NULL;
}

/* Calls `each` for each line of the text, which it changes. The last line, which is the newest one,
 * comes first. Returns how many lines there are. */
static int each_line(char *text, void (*each)(const char *line, void *arg), void *arg)
{
    int lines = 0;
    char *newline;
    size_t n = strlen(text);
    do {
        newline = memrchr(text, '\n', n);
        const char *line = newline ? newline + 1 : text;
        text[n] = '\0';
        n = newline ? (size_t)(newline - text) : 0;
        if (!*line) continue;
        each(line, arg);
        lines++;
    } while (newline);
    return lines;
}

/* The lines that are read from a file, and where they go. A line is read only if its model, version
 * and build are those that `origin` names (print_origin). */
struct ranking_reading {
    char origin[ORIGIN];
    int ranks;
    int fit; /* how many lines are of this origin */
    /* Lines for `ranks` ranks go to `exact`, and lines for fewer ranks to `other`. If both are
     * NULL, the lines are only counted. */
    struct tt_rankings *exact, *other;
};

static void take_line(const char *line, void *arg)
{
    struct ranking_reading *r = arg;
    struct tt_ranking ranking;
    if (r->exact && r->exact->n == TT_RANKINGS_GIVEN) return; /* no more lines are needed */
    if (!parse_line(line, r->origin, &ranking)) return;
    r->fit++;
    struct tt_rankings *to = ranking.shape.p == r->ranks ? r->exact : r->other;
    if (!to || ranking.shape.p > r->ranks) return;
    if (to->n < TT_RANKINGS_GIVEN && !find(to, &ranking.shape)) to->ranking[to->n++] = ranking;
}

/* Reads the file, and calls take_line for each line. Returns the number of lines; -1: the file
 * cannot be read, and `why` has the reason. */
static int read_lines(const char *path, struct ranking_reading *reading, char why[TT_FILE_WHY])
{
    bool missing;
    char *text = tt_file_read(path, FILE_MOST, &missing, why);
    if (!text) return missing ? 0 : -1;
    int n = each_line(text, take_line, reading);
    tt_free(text);
    return n;
}

static void append(struct tt_rankings *to, const struct tt_rankings *from)
{
    for (int i = 0; i < from->n && to->n < TT_RANKINGS_GIVEN; i++)
        to->ranking[to->n++] = from->ranking[i];
}

/* Loads the lines of a file into *rankings. If there is no memory, *rankings stays empty. */
static void load(const char *path, struct ranking_reading *r, struct tt_rankings *rankings)
{
    char why[TT_FILE_WHY] = "";
    r->exact = rankings;
    r->other = tt_calloc(1, sizeof *r->other);
    int lines = r->other ? read_lines(path, r, why) : 0;
    if (r->other) append(rankings, r->other);
    tt_free(r->other);
    rankings->given = rankings->n;
    tt_assert(tt_rankings_valid(rankings));
    if (lines < 0 && tt_setting("TUTTI_RANKINGS")) tt_warn("no rankings are known: %s", why);
    if (lines >= 0 && tt_log_on(TT_LOG_choice))
        tt_log("rankings: %d of %d lines are used of %s", rankings->n, lines, path);
}

void tt_rankings_load(const struct tt_machine *machine, int ranks, struct tt_rankings *rankings)
{
    char path[TT_FILE_PATH], why[TT_FILE_WHY];
    struct ranking_reading reading = {.ranks = ranks};
    if (!tt_rankings_path(path, why)) return;
    print_origin(machine, reading.origin);
    load(path, &reading, rankings);
}

bool tt_rankings_count(const char *path, const struct tt_machine *machine, int *lines, int *fit,
                       char why[TT_FILE_WHY])
{
    struct ranking_reading reading = {.fit = 0};
    if (machine) print_origin(machine, reading.origin);
    *lines = read_lines(path, &reading, why);
    *fit = machine ? reading.fit : 0;
    return *lines >= 0;
}

/* ---- Adding ---- */

struct ranking_addition {
    struct tt_rankings *rankings;
    const char *origin;
};

/* Copies to *to the entries that it lacks from *from, a ranking of the same shape by another
 * process. Entries that both have are equal. */
static void absorb(struct tt_ranking *to, const struct tt_ranking *from)
{
    for (int log2 = 0; log2 < TT_RANKED_SIZES; log2++)
        for (int i = 0; i < TT_RANKED; i++)
            if (to->best[log2][i] == TT_NOT_RANKED) to->best[log2][i] = from->best[log2][i];
}

static bool stays(const char *line, void *arg)
{
    const struct ranking_addition *a = arg;
    struct tt_ranking old = {.computed = 0};
    struct tt_ranking *now = parse_shape(line, &old.shape) ? find(a->rankings, &old.shape) : NULL;
    if (!now || now->computed == 0) return true;
    if (parse_line(line, a->origin, &old)) absorb(now, &old);
    return false;
}

static void add(FILE *out, void *arg)
{
    const struct ranking_addition *a = arg;
    for (int i = 0; i < a->rankings->n; i++)
        if (a->rankings->ranking[i].computed > 0)
            print_line(out, &a->rankings->ranking[i], a->origin);
}

static tutti_status merge(const char *path, struct ranking_addition *a)
{
    const struct tt_file_change change = {.most_bytes = FILE_MOST,
                                          .most_lines = LINES_MOST,
                                          .head = "",
                                          .stays = stays,
                                          .add = add,
                                          .arg = a};
    return tt_file_merge(path, &change);
}

/* Logs whether the computed rankings are kept. `why_not` is "" if they are. */
static void say_kept(const struct tt_rankings *rankings, const char *path, const char *why_not)
{
    unsigned n = rankings->computed;
    if (*why_not && *path && tt_setting("TUTTI_RANKINGS"))
        tt_warn("rankings are not kept: %s", why_not);
    if (!tt_log_on(TT_LOG_choice)) return;
    if (n == 0)
        tt_log("rankings: there is nothing new to keep");
    else if (*why_not)
        tt_log("rankings: %u were computed, and are not kept: %s", n, why_not);
    else
        tt_log("rankings: %u were computed, and are kept in %s", n, path);
}

void tt_rankings_keep(const struct tt_machine *machine, struct tt_rankings *rankings)
{
    char path[TT_FILE_PATH], why[TT_FILE_WHY] = "", origin[ORIGIN], error[TT_ERROR_TEXT];
    struct ranking_addition a = {rankings, print_origin(machine, origin)};
    bool wanted = rankings->computed > 0 && tt_rankings_path(path, why);
    tt_error_keep(error);
    if (wanted && merge(path, &a) != TUTTI_OK) (void)tt_file_refuse(why, "%.500s", tutti_error());
    tt_error_restore(error);
    say_kept(rankings, wanted ? path : "", why);
}
