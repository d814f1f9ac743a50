/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of the wisdom: parsing and printing its lines, and adding to it.
 */
#include "choose/wisdom.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/locale.h"
#include "plan/words.h"

enum { FILE_MOST = 2 << 20, LINES_MOST = 4096, HEAD_LINES = 2, RANKS_MOST = 1 << 20 };

static const char *const reaches[] = {
#define WORD(name) #name,
    TT_REACH_LIST(WORD)
#undef WORD
};
static const struct tt_words reach_words = {reaches, TT_REACH_WORDS};

/* ---- Printing ---- */

char *tt_wisdom_problem(const struct tt_wise *w, const char *layout, char text[TT_WISDOM_LINE])
{
    char size[24], *at = text;
    at += sprintf(at, "%s", tt_coll_name((enum tt_coll)w->coll));
    if (w->type != TT_WISE_NONE) at += sprintf(at, "/%s", tt_word(&tt_type_words, w->type));
    if (w->op != TT_WISE_NONE) at += sprintf(at, "/%s", tt_word(&tt_op_words, w->op));
    if (w->type != TT_WISE_NONE) at += sprintf(at, "/%s", tt_print_size(size, w->bytes));
    at += sprintf(at, "/p%d", (int)w->p);
    if (*layout) sprintf(at, "@nodes:%.127s", layout);
    return text;
}

char *tt_wisdom_print(const struct tt_wisdom_line *line, char text[TT_WISDOM_LINE])
{
    const struct tt_wise *w = &line->wise;
    const struct tt_algorithm *a = tt_wisdom_algorithm(w);
    char size[24], *at = tt_wisdom_problem(w, line->layout, text);
    at += strlen(at);
    at += sprintf(at, " %s", a ? a->name : "?");
    if (w->slice) at += sprintf(at, " slice=%s", tt_print_size(size, w->slice));
    if (w->radix) at += sprintf(at, " radix=%d", (int)w->radix);
    if (w->lanes) at += sprintf(at, " lanes=%d", w->lanes);
    at += sprintf(at, " us=%" PRId64 ".%03d", line->time_ps / 1000000,
                  (int)(line->time_ps / 1000 % 1000));
    if (line->others[0]) at += sprintf(at, " others=%.*s", TT_WISDOM_OTHERS - 1, line->others);
    sprintf(at, " cores=%d reach=%s date=%.23s tutti=%.23s machine=%.127s", (int)w->cores,
            tt_word(&reach_words, w->reach), line->date, line->version, line->machine);
    return text;
}

/* ---- Parsing ---- */

/* A word of a line. */
struct word {
    const char *at;
    size_t n;
};

static struct word take(const char **at, const char *ends)
{
    struct word word = {*at, strcspn(*at, ends)};
    *at += word.n;
    return word;
}

static bool number_of(struct word word, int64_t most, int64_t *value)
{
    return tt_parse_size(word.at, word.at + word.n, value) && *value >= 0 && *value <= most;
}

static bool word_of(const struct tt_words *words, struct word word, uint8_t *value)
{
    int i = tt_word_find(words, word.at, word.n);
    *value = (uint8_t)i;
    return i >= 0;
}

static bool copy_of(struct word word, char *to, size_t n)
{
    if (word.n == 0 || word.n >= n) return false;
    memcpy(to, word.at, word.n);
    to[word.n] = '\0';
    return true;
}

/* Returns whether `c` is the next character of the text, and if so, moves *at past it. */
static bool passes(const char **at, char c)
{
    if (**at != c) return false;
    ++*at;
    return true;
}

/* Parses the nodes of a problem, which must have as many ranks as the problem. */
static bool parse_layout(const char **at, struct tt_wisdom_line *line)
{
    int64_t ranks = 0, n, nodes;
    if (!passes(at, '@')) return true;
    if (strncmp(*at, "nodes:", 6) != 0) return false;
    *at += 6;
    const char *each = *at;
    if (!copy_of(take(at, " "), line->layout, sizeof line->layout)) return false;
    do {
        if (!number_of(take(&each, "*, "), line->wise.p, &n) || n < 1) return false;
        nodes = 1;
        if (passes(&each, '*') && !number_of(take(&each, ", "), line->wise.p, &nodes)) return false;
        ranks += n * nodes;
    } while (passes(&each, ','));
    line->wise.layout = tt_wisdom_hash(line->layout);
    return ranks == line->wise.p && n < ranks;
}

static bool parse_problem(const char **at, struct tt_wisdom_line *line)
{
    struct tt_wise *w = &line->wise;
    int64_t p;
    *w = (struct tt_wise){.type = TT_WISE_NONE, .op = TT_WISE_NONE};
    if (!word_of(&tt_coll_words, take(at, "/ "), &w->coll) || !passes(at, '/')) return false;
    if (w->coll != TT_COLL_barrier) {
        if (!word_of(&tt_type_words, take(at, "/ "), &w->type) || !passes(at, '/')) return false;
        if (tt_coll_has_op((enum tt_coll)w->coll) &&
            (!word_of(&tt_op_words, take(at, "/ "), &w->op) || !passes(at, '/')))
            return false;
        if (!number_of(take(at, "/ "), INT64_C(1) << 40, &w->bytes) || !passes(at, '/'))
            return false;
    }
    if (!passes(at, 'p') || !number_of(take(at, "@ "), RANKS_MOST, &p) || p < 2) return false;
    w->p = (int32_t)p;
    return parse_layout(at, line);
}

static bool parse_time(struct word word, int64_t *ps)
{
    char text[32], *end;
    if (!copy_of(word, text, sizeof text) || strspn(text, "0123456789.") != word.n) return false;
    double us = tt_parse_decimal(text, &end);
    *ps = (int64_t)(us * 1e6 + 0.5);
    return *end == '\0' && us < 1e9;
}

static bool is_key(struct word key, const char *name)
{
    return key.n == strlen(name) && strncmp(key.at, name, key.n) == 0;
}

static bool parse_key(struct word key, struct word value, struct tt_wisdom_line *line)
{
    struct tt_wise *w = &line->wise;
    int64_t n = 0;
    if (is_key(key, "us")) return parse_time(value, &line->time_ps);
    if (is_key(key, "others")) return copy_of(value, line->others, sizeof line->others);
    if (is_key(key, "date")) return copy_of(value, line->date, sizeof line->date);
    if (is_key(key, "tutti")) return copy_of(value, line->version, sizeof line->version);
    if (is_key(key, "machine")) return copy_of(value, line->machine, sizeof line->machine);
    if (is_key(key, "reach")) return word_of(&reach_words, value, &w->reach);
    if (is_key(key, "slice")) return number_of(value, TT_SLICE_MOST, &w->slice);
    if (!number_of(value, INT32_MAX, &n)) return false;
    if (is_key(key, "radix")) {
        w->radix = (int32_t)n;
        return n >= TT_RADIX_LEAST && n <= TT_RADIX_MOST;
    }
    if (is_key(key, "lanes")) {
        w->lanes = (uint16_t)n;
        return n >= TT_LANES_LEAST && n <= TT_LANES_MOST;
    }
    w->cores = (int32_t)n;
    return is_key(key, "cores") && n >= 1;
}

static bool parse_keys(const char *at, struct tt_wisdom_line *line, char why[TT_FILE_WHY])
{
    line->time_ps = -1;
    line->wise.reach = TT_REACH_WORDS;
    while (*(at += strspn(at, " \r"))) { /* an editor may have put \r before the newline */
        struct word key = take(&at, "= \r");
        struct word value = {at, 0};
        if (passes(&at, '=')) value = take(&at, " \r");
        if (!parse_key(key, value, line))
            return tt_file_refuse(why, "'%.*s=%.*s' has an unknown key or a wrong value",
                                  (int)tt_min(key.n, 40), key.at, (int)tt_min(value.n, 80),
                                  value.at);
    }
    if (line->time_ps >= 0 && line->date[0] && line->version[0] && line->machine[0] &&
        tt_wise_valid(&line->wise))
        return true;
    return tt_file_refuse(why, "one of us, cores, reach, date, tutti and machine is missing");
}

static bool find_algorithm(struct word name, struct tt_wise *w)
{
    for (uint32_t i = 0; tt_algorithms[i]; i++) {
        if ((uint8_t)tt_algorithms[i]->coll != w->coll || !is_key(name, tt_algorithms[i]->name))
            continue;
        w->algorithm = (uint16_t)i;
        return true;
    }
    return false;
}

bool tt_wisdom_parse(const char *text, struct tt_wisdom_line *line, char why[TT_FILE_WHY])
{
    const char *at = text;
    *line = (struct tt_wisdom_line){.layout = ""};
    if (!parse_problem(&at, line))
        return tt_file_refuse(why, "'%.*s' is no problem of a line of wisdom",
                              (int)tt_min(strcspn(text, " "), 80), text);
    at += strspn(at, " ");
    struct word name = take(&at, " ");
    if (!find_algorithm(name, &line->wise))
        return tt_file_refuse(why, "%s has no algorithm '%.*s'",
                              tt_coll_name((enum tt_coll)line->wise.coll), (int)tt_min(name.n, 40),
                              name.at);
    return parse_keys(at, line, why);
}

/* ---- Reading ---- */

bool tt_wisdom_path(char path[TT_FILE_PATH], char why[TT_FILE_WHY])
{
    const char *given = tt_setting("TUTTI_WISDOM");
    path[0] = '\0';
    if (given && strcmp(given, "0") == 0) return tt_file_refuse(why, "TUTTI_WISDOM=0");
    return tt_file_path("TUTTI_WISDOM", "wisdom", path, why);
}

static bool fits(const struct tt_wisdom_line *line, const char *slug, char why[TT_FILE_WHY])
{
    if (strcmp(line->machine, slug) != 0)
        return tt_file_refuse(why, "it was measured on %.60s, and this is %.60s", line->machine,
                              slug);
    if (strcmp(line->version, tutti_version()) != 0)
        return tt_file_refuse(why, "it was measured by Tutti %.23s, and this is %s", line->version,
                              tutti_version());
    return true;
}

static void read_entry(struct tt_wisdom_entry *e, char *text, const char *slug)
{
    char why[TT_FILE_WHY] = "";
    e->text = text;
    bool good = tt_wisdom_parse(text, &e->line, why);
    if (!good) e->line = (struct tt_wisdom_line){.layout = ""};
    e->fits = good && fits(&e->line, slug, why);
    snprintf(e->why, sizeof e->why, "%.159s", why);
}

bool tt_wisdom_read(const char *path, struct tt_wisdom_file *file, char why[TT_FILE_WHY])
{
    char slug[TT_MACHINE_NAME], *line;
    bool missing;
    *file = (struct tt_wisdom_file){.text = tt_file_read(path, FILE_MOST, &missing, why)};
    if (missing) return true;
    if (!file->text) return false;
    int lines = 1;
    for (const char *at = file->text; (at = strchr(at, '\n')); at++) lines++;
    if (lines > LINES_MOST)
        return tt_file_refuse(why, "%.300s has more than %d lines", path, LINES_MOST);
    file->entry = tt_calloc((size_t)lines, sizeof *file->entry);
    if (!file->entry) return tt_file_refuse(why, "there is no memory for %.300s", path);
    tt_machine_slug(slug);
    for (char *rest = file->text; (line = strsep(&rest, "\n"));)
        if (*line && *line != '#') read_entry(&file->entry[file->n++], line, slug);
    return true;
}

void tt_wisdom_close(struct tt_wisdom_file *file)
{
    tt_free(file->entry);
    tt_free(file->text);
    *file = (struct tt_wisdom_file){0};
}

static void load_lines(const struct tt_wisdom_file *file, int ranks, bool as_many,
                       struct tt_wisdom *wisdom)
{
    for (int i = file->n - 1; i >= 0 && wisdom->n < TT_WISDOM_MOST; i--) {
        const struct tt_wisdom_entry *e = &file->entry[i];
        if (e->fits && e->line.wise.p <= ranks && (e->line.wise.p == ranks) == as_many)
            wisdom->line[wisdom->n++] = e->line.wise;
    }
}

void tt_wisdom_load(int ranks, struct tt_wisdom *wisdom)
{
    char path[TT_FILE_PATH], why[TT_FILE_WHY] = "";
    struct tt_wisdom_file file = {0};
    wisdom->n = 0;
    if (!tt_wisdom_path(path, why)) return;
    if (!tt_wisdom_read(path, &file, why) && tt_setting("TUTTI_WISDOM"))
        tt_warn("there is no wisdom: %s", why);
    load_lines(&file, ranks, true, wisdom);
    load_lines(&file, ranks, false, wisdom);
    for (int i = 0; i < file.n && tt_log_on(TT_LOG_choice); i++)
        if (!file.entry[i].fits)
            tt_log("wisdom: '%.60s...' is ignored: %s", file.entry[i].text, file.entry[i].why);
    tt_wisdom_close(&file);
}

/* ---- Adding ---- */

/* The lines at the beginning of a file. */
static const char head[] =
    "# Wisdom of Tutti: which algorithm was the fastest for a problem (tutti tune).\n"
    "# Lines may be added, deleted and exchanged between machines of a kind.\n";

bool tt_wisdom_takes_lines(const char *path, char why[TT_FILE_WHY])
{
    struct tt_wisdom_file file;
    bool takes = tt_wisdom_read(path, &file, why);
    int wise = 0;
    for (int i = 0; i < file.n; i++) wise += file.entry[i].line.version[0] != '\0';
    if (takes && file.n > 0 && wise == 0)
        takes = tt_file_refuse(why, "%.300s is no file of wisdom: none of its lines is one", path);
    tt_wisdom_close(&file);
    return takes;
}

/* The lines that are added. */
struct wisdom_addition {
    const struct tt_wisdom_line *line;
    int n;
};

/* Returns whether two lines are for the same problem, cores, reach and machine, so that the later
 * one counts. */
static bool same_place(const struct tt_wisdom_line *a, const struct tt_wisdom_line *b)
{
    const struct tt_wise *x = &a->wise, *y = &b->wise;
    return x->coll == y->coll && x->type == y->type && x->op == y->op && x->bytes == y->bytes &&
           x->p == y->p && x->cores == y->cores && x->reach == y->reach &&
           strcmp(a->layout, b->layout) == 0 && strcmp(a->machine, b->machine) == 0;
}

/* Returns whether the line is one of the lines of `head`, which may have \r before the newline. */
static bool is_head(const char *text)
{
    size_t n = strcspn(text, "\r");
    for (const char *line = head; *line; line = strchr(line, '\n') + 1)
        if (strcspn(line, "\n") == n && strncmp(line, text, n) == 0) return true;
    return false;
}

/* Returns whether an old line stays in the file. Comments of the user stay, and so does a line that
 * cannot be parsed. The lines of `head` are written anew. */
static bool stays(const char *text, void *arg)
{
    const struct wisdom_addition *a = arg;
    struct tt_wisdom_line old;
    char why[TT_FILE_WHY];
    if (*text == '#') return !is_head(text);
    if (!tt_wisdom_parse(text, &old, why)) return true;
    for (int i = 0; i < a->n; i++)
        if (same_place(&old, &a->line[i])) return false;
    return true;
}

static void add_lines(FILE *out, void *arg)
{
    const struct wisdom_addition *a = arg;
    char text[TT_WISDOM_LINE];
    for (int i = 0; i < a->n; i++) fprintf(out, "%s\n", tt_wisdom_print(&a->line[i], text));
}

/* Returns a copy of the n lines with the time, the version and the machine of the measurement;
 * NULL: there is no memory. */
static struct tt_wisdom_line *sign(const struct tt_wisdom_line *line, int n)
{
    struct tt_wisdom_line *signed_ = tt_calloc((size_t)n, sizeof *signed_);
    time_t now = time(NULL);
    struct tm utc;
    for (int i = 0; signed_ && i < n; i++) {
        struct tt_wisdom_line *l = &signed_[i];
        *l = line[i];
        snprintf(l->version, sizeof l->version, "%s", tutti_version());
        tt_machine_slug(l->machine);
        if (!gmtime_r(&now, &utc) || !strftime(l->date, sizeof l->date, "%Y-%m-%dT%H:%M:%SZ", &utc))
            snprintf(l->date, sizeof l->date, "unknown");
    }
    return signed_;
}

tutti_status tt_wisdom_add(const char *path, const struct tt_wisdom_line *line, int n)
{
    char why[TT_FILE_WHY] = "";
    if (!tt_wisdom_takes_lines(path, why)) return tt_fail(TUTTI_ERR_SYSTEM, "%s", why);
    struct tt_wisdom_line *lines = sign(line, n);
    struct wisdom_addition a = {lines, n};
    const struct tt_file_change change = {.most_bytes = FILE_MOST,
                                          .most_lines = LINES_MOST - n - HEAD_LINES,
                                          .head = head,
                                          .stays = stays,
                                          .add = add_lines,
                                          .arg = &a};
    if (!lines) return tt_fail(TUTTI_ERR_MEMORY, "no memory for %d lines of wisdom", n);
    tutti_status status = tt_file_merge(path, &change);
    tt_free(lines);
    return status;
}
