/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti list`: prints the table of algorithms, or the rows that the user asks for, as text or as
 * JSON. For a problem it also prints what the algorithms cost, counted in their plans.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "choose/choose.h"
#include "coll/coll.h"
#include "command.h"
#include "counts.h"
#include "json.h"
#include "plan/words.h"
#include "problem.h"

enum {
    OPTION_JSON = 256,
    OPTION_FOR,
    OPTION_COSTS,
    OPTION_APPLICABLE,
    OPTION_SOURCES,
    OPTION_NAMES
};

struct list_arguments {
    bool json, costs, applicable, sources, names;
    bool failed;                 /* the costs of at least one row could not be counted */
    const char *problem, **word; /* collectives and algorithms named on the command line */
    int words;
    struct tt_case c; /* the problem, and the machine for which its algorithm is chosen */
    /* the rows of the plan files that TUTTI_ALGORITHM names, of the problem's collective only if
     * there is a problem; `opened` are those of which `c` is not the owner */
    const struct tt_algorithm *file[TT_COLLS];
    struct tt_plan_row opened[TT_COLLS];
    int files;
};

static const struct argp_option options[] = {
    {"for", OPTION_FOR, "PROBLEM", 0,
     "list the algorithms of its collective, whether each applies to it here, and why not", 0},
    {"costs", OPTION_COSTS, "PROBLEM", 0,
     "print the same rows, with what the most burdened rank sends, receives, reduces and copies "
     "(bytes), its messages and its steps",
     0},
    {"applicable", OPTION_APPLICABLE, NULL, 0, "with --for or --costs: list only those that apply",
     0},
    {"sources", OPTION_SOURCES, NULL, 0, "also print where each comes from", 0},
    {"names", OPTION_NAMES, NULL, 0, "print only collective and algorithm, one pair a line", 0},
    {"json", OPTION_JSON, NULL, 0, "print a JSON array of rows", 0},
    {0},
};

/* ---- Arguments ---- */

static void check_forms(const struct list_arguments *a, const struct argp_state *state)
{
    if (a->applicable && !a->problem)
        argp_error(state, "--applicable wants --for PROBLEM or --costs PROBLEM");
    if (a->json && a->names) argp_error(state, "--json and --names cannot both be given");
    if (a->costs && a->names) argp_error(state, "--costs and --names cannot both be given");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct list_arguments *a = state->input;
    switch (key) {
    case OPTION_JSON: a->json = true; return 0;
    case OPTION_FOR:
    case OPTION_COSTS:
        if (a->problem) argp_error(state, "only one --for or --costs can be given");
        a->problem = arg;
        a->costs = key == OPTION_COSTS;
        return 0;
    case OPTION_APPLICABLE: a->applicable = true; return 0;
    case OPTION_SOURCES: a->sources = true; return 0;
    case OPTION_NAMES: a->names = true; return 0;
    case ARGP_KEY_ARG: a->word[a->words++] = arg; return 0;
    case ARGP_KEY_END: check_forms(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Selecting rows ---- */

static bool is_collective(const char *word)
{
    return tt_word_find(&tt_coll_words, word, strlen(word)) >= 0;
}

/* Returns why the algorithm does not apply to the problem; NULL if the algorithm applies, or no
 * problem was given. */
static const char *refusal(const struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    if (!a->problem) return NULL;
    struct tt_call call = tt_case_given(&a->c);
    return algorithm->refuse(&call, &a->c.map);
}

/* Returns whether the words on the command line select the row of the algorithm. If words name
 * collectives, the algorithm must belong to one of these; if words name algorithms, it must be one
 * of these. */
static bool is_named(const struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    bool colls = false, names = false, coll = false, name = false;
    for (int i = 0; i < a->words; i++) {
        bool of_coll = is_collective(a->word[i]);
        colls = colls || of_coll;
        names = names || !of_coll;
        coll = coll || strcmp(a->word[i], tt_coll_name(algorithm->coll)) == 0;
        name = name || strcmp(a->word[i], algorithm->name) == 0;
    }
    return (!colls || coll) && (!names || name);
}

/* Returns row number i of all rows, or NULL after the last one. The rows are the algorithms of the
 * table and then the plan files that TUTTI_ALGORITHM names. */
static const struct tt_algorithm *row_at(const struct list_arguments *a, int i)
{
    int n = 0;
    while (n < i && tt_algorithms[n]) n++;
    if (tt_algorithms[n]) return tt_algorithms[n];
    return i - n < a->files ? a->file[i - n] : NULL;
}

static bool is_wanted(const struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    if (a->problem && algorithm->coll != a->c.problem.call.coll) return false;
    if (a->applicable && refusal(a, algorithm)) return false;
    return is_named(a, algorithm);
}

/* ---- Text: at most WIDTH columns, with longer cells on several lines ---- */

enum { WIDTH = 100, NAME_WIDE = 20, COST_WIDE = 42, APPLIES_WIDE = WIDTH - NAME_WIDE - COST_WIDE };

/* Takes the first piece of *text: all of it if it fits into `width` characters; otherwise the text
 * before the last blank that fits, or `width` characters if there is no blank. Returns the length
 * of the piece, and moves *text past the piece and the blanks that follow it. */
static int take_piece(const char **text, int width)
{
    const char *begin = *text;
    int n = (int)strlen(begin), end = n;
    if (n > width) {
        for (n = width; n > 0 && begin[n] != ' ';) n--;
        if (n == 0) n = width;
        for (end = n; begin[end] == ' ';) end++;
    }
    *text += end;
    return n;
}

static void print_cells(const char *name, const char *cost, const char *applies)
{
    do {
        const char *left = cost, *right = applies;
        int n = take_piece(&cost, COST_WIDE - 2), m = take_piece(&applies, APPLIES_WIDE);
        if (m)
            printf("%-*s%-*.*s%.*s\n", NAME_WIDE, name, COST_WIDE, n, left, m, right);
        else
            printf("%-*s%.*s\n", NAME_WIDE, name, n, left);
        name = "";
    } while (*cost || *applies);
}

static void print_source(const char *source)
{
    do {
        const char *at = source;
        int n = take_piece(&source, WIDTH - NAME_WIDE);
        printf("%*s%.*s\n", NAME_WIDE, "", n, at);
    } while (*source);
}

static void print_row(const struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    char name[64], applies[256];
    const char *why = refusal(a, algorithm);
    snprintf(name, sizeof name, "  %s", algorithm->name);
    snprintf(applies, sizeof applies, "%s%s",
             !a->problem                   ? algorithm->applies
             : why                         ? "no: it "
             : algorithm == a->c.algorithm ? "yes, and it is chosen"
                                           : "yes",
             why ? why : "");
    print_cells(name, algorithm->cost, applies);
    if (a->sources) print_source(algorithm->source);
}

/* Sets each count in *most to the largest value that a rank has for it. After an error, which has
 * been printed, records that the command failed, and returns false. */
static bool count_most(struct list_arguments *a, const struct tt_algorithm *algorithm,
                       struct tt_count *most)
{
    struct tt_count *count = tt_case_count(&a->c, "tutti list", algorithm);
    a->failed |= !count;
    if (count) *most = tt_count_worst(count, a->c.problem.p);
    tt_free(count);
    return count != NULL;
}

/* Prints what the algorithm costs, or why it does not apply. */
static void print_costs(struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    char name[64];
    struct tt_count most;
    const char *why = refusal(a, algorithm);
    snprintf(name, sizeof name, "  %s", algorithm->name);
    if (why)
        printf("%-*s no: it %s\n", NAME_WIDE, name, why);
    else if (count_most(a, algorithm, &most))
        tt_counts_row(name, NAME_WIDE, &most);
    if (a->sources) print_source(algorithm->source);
}

/* Prints a collective's name and its rows; returns the number of rows. */
static int print_collective(struct list_arguments *a, enum tt_coll coll)
{
    int rows = 0;
    const struct tt_algorithm *row;
    for (int i = 0; (row = row_at(a, i)); i++) {
        if (row->coll != coll || !is_wanted(a, row)) continue;
        if (rows++ == 0) printf("%s\n", tt_coll_name(coll));
        if (a->costs)
            print_costs(a, row);
        else
            print_row(a, row);
    }
    return rows;
}

static int print_table(struct list_arguments *a)
{
    int rows = 0;
    if (a->costs)
        tt_counts_head("most of any rank", NAME_WIDE);
    else
        print_cells("algorithm", "cost", a->problem ? "applies here" : "applies");
    for (int coll = 0; coll < TT_COLLS; coll++) rows += print_collective(a, (enum tt_coll)coll);
    return rows;
}

/* ---- Output for programs ---- */

static int print_names(const struct list_arguments *a)
{
    int rows = 0;
    const struct tt_algorithm *row;
    for (int i = 0; (row = row_at(a, i)); i++)
        if (is_wanted(a, row)) rows += printf("%s %s\n", tt_coll_name(row->coll), row->name) > 0;
    return rows;
}

/* Adds the number, or null if there is no number because the count does not fit in 63 bits. */
static void add_count(cJSON *counts, const char *name, int64_t n)
{
    if (n < TT_COUNT_MOST)
        cJSON_AddNumberToObject(counts, name, (double)n);
    else
        cJSON_AddNullToObject(counts, name);
}

/* Adds to the row, as the object `counts`, what the algorithm costs, counted in its plans
 * (count_most). Adds null instead if the algorithm does not apply, or after an error. */
static void add_counts(cJSON *row, struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    struct tt_count most;
    if (refusal(a, algorithm) || !count_most(a, algorithm, &most)) {
        cJSON_AddNullToObject(row, "counts");
        return;
    }
    cJSON *counts = cJSON_AddObjectToObject(row, "counts");
#define NUMBER(field) add_count(counts, #field, most.field);
    TT_COUNT_FIELDS(NUMBER)
#undef NUMBER
}

static cJSON *row_of(struct list_arguments *a, const struct tt_algorithm *algorithm)
{
    const char *why = refusal(a, algorithm);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", algorithm->name);
    cJSON_AddStringToObject(row, "collective", tt_coll_name(algorithm->coll));
    cJSON_AddStringToObject(row, "applies", algorithm->applies);
    cJSON_AddStringToObject(row, "cost", algorithm->cost);
    cJSON_AddStringToObject(row, "source", algorithm->source);
    if (!a->problem) return row;
    cJSON_AddBoolToObject(row, "applicable", !why);
    cJSON_AddBoolToObject(row, "chosen", algorithm == a->c.algorithm);
    if (why)
        cJSON_AddStringToObject(row, "why", why);
    else
        cJSON_AddNullToObject(row, "why");
    if (a->costs) add_counts(row, a, algorithm);
    return row;
}

static int print_json(struct list_arguments *a)
{
    int n = 0;
    cJSON *rows = cJSON_CreateArray();
    const struct tt_algorithm *row;
    for (int i = 0; (row = row_at(a, i)); i++) {
        if (!is_wanted(a, row)) continue;
        cJSON_AddItemToArray(rows, row_of(a, row));
        n++;
    }
    return tt_json_write("tutti list", rows, "-") ? n : -1;
}

/* ---- Command line ---- */

/* Returns whether the word is the name of a collective or of an algorithm. If not, prints the
 * error, with the most similar name. */
static bool is_name(const struct list_arguments *a, const char *word)
{
    enum { MOST = 256 };
    const char *names[MOST];
    const struct tt_algorithm *row;
    size_t n = 0;
    for (int coll = 0; coll < TT_COLLS; coll++) names[n++] = tt_coll_name((enum tt_coll)coll);
    for (int i = 0; (row = row_at(a, i)) && n < MOST; i++) names[n++] = row->name;
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0) return true;
    const char *nearest = tt_nearest(word, names, n);
    fprintf(stderr, "tutti list: '%s' is neither a collective nor an algorithm; ", word);
    if (nearest)
        fprintf(stderr, "did you mean '%s'?\n", nearest);
    else
        fprintf(stderr, "`tutti list` lists all\n");
    return false;
}

static bool are_names(const struct list_arguments *a)
{
    for (int i = 0; i < a->words; i++)
        if (!is_name(a, a->word[i])) return false;
    return true;
}

/* Returns whether at least one selected row of the table of algorithms has `word` as its collective
 * or as its name. The problem and all words on the command line together select the rows. */
static bool is_of_use(const struct list_arguments *a, const char *word)
{
    const struct tt_algorithm *row;
    for (int i = 0; (row = row_at(a, i)); i++) {
        bool has = strcmp(word, tt_coll_name(row->coll)) == 0 || strcmp(word, row->name) == 0;
        bool of_problem = !a->problem || row->coll == a->c.problem.call.coll;
        if (has && of_problem && is_named(a, row)) return true;
    }
    return false;
}

/* Returns whether each word on the command line is the collective or the name of at least one
 * selected row. Prints an error for the first word that is not. */
static bool words_fit(const struct list_arguments *a)
{
    for (int i = 0; i < a->words; i++) {
        const char *word = a->word[i];
        bool coll = is_collective(word);
        if (is_of_use(a, word)) continue;
        if (coll && a->problem && strcmp(word, tt_coll_name(a->c.problem.call.coll)) != 0)
            fprintf(stderr, "tutti list: the problem is no %s\n", word);
        else if (coll)
            fprintf(stderr, "tutti list: no algorithm of %s has one of the names that were given\n",
                    word);
        else
            fprintf(stderr,
                    "tutti list: '%s' is no algorithm of the collectives that were given "
                    "('tutti list %s' lists those that have it)\n",
                    word, word);
        return false;
    }
    return true;
}

static int print(struct list_arguments *a)
{
    if (!words_fit(a)) return TT_EXIT_FAILED;
    int rows = a->json ? print_json(a) : a->names ? print_names(a) : print_table(a);
    if (rows == 0) fprintf(stderr, "tutti list: there is no such algorithm\n");
    return rows > 0 && !a->failed ? TT_EXIT_OK : TT_EXIT_FAILED;
}

static const char doc[] =
    "Lists the algorithms: which collective each is for, what it costs, when it applies, and where "
    "it comes from. With names of collectives: only those of these collectives. With names of "
    "algorithms: only those with these names. With both: only those that fit both.\v"
    "In costs: p ranks, L bytes that a rank contributes, m bytes to each other rank, t_s the time "
    "to start, t_w that for a byte, gamma that to reduce a byte, q slices. " TT_PROBLEM_HELP
    " Exit status: 0 done, 1 no such algorithm, 2 wrong usage.";

/* Opens the plan files that TUTTI_ALGORITHM names. Prints errors: once, if the setting itself is
 * wrong, or for each wrong file. Then some rows are missing; the others can still be listed. */
static void open_files(struct list_arguments *a)
{
    char path[TT_PLAN_PATH];
    for (int coll = 0; coll < TT_COLLS; coll++) {
        const struct tt_call call = {.coll = (enum tt_coll)coll};
        struct tt_plan_row *row = &a->opened[coll];
        if (tt_choose_file(&call, path) != TUTTI_OK) {
            fprintf(stderr, "tutti list: %s\n", tutti_error());
            return;
        }
        if (path[0] && tt_plan_row_named(row, "tutti list", call.coll))
            a->file[a->files++] = &row->row;
    }
}

/* Opens the plan files, and the problem if there is one. Returns false, after printing the error,
 * if the problem cannot be opened. */
static bool open_rows(struct list_arguments *a)
{
    if (!a->problem) {
        open_files(a);
        return true;
    }
    if (!tt_case_open(&a->c, "tutti list", a->problem, NULL, NULL)) return false;
    if (a->c.row.p > 0) a->file[a->files++] = &a->c.row.row;
    return true;
}

static void close_rows(struct list_arguments *a)
{
    for (int coll = 0; coll < TT_COLLS; coll++) tt_plan_row_close(&a->opened[coll]);
    if (a->problem) tt_case_close(&a->c);
}

int tt_list_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[COLLECTIVE|ALGORITHM...]", .doc = doc};
    struct list_arguments a = {.word = tt_calloc((size_t)argc, sizeof *a.word)};
    int code = TT_EXIT_FAILED;
    if (!a.word) return code;
    tt_arg_parse(&argp, argc, argv, 0, &a);
    code = open_rows(&a) && are_names(&a) ? print(&a) : TT_EXIT_USAGE;
    close_rows(&a);
    tt_free(a.word);
    return code;
}
