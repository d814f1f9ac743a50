/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads plan files: first the lines before the plans and the headers of the plans, and later the
 * plan of a rank when it is requested. The header of a plan is parsed again with its plan, and is
 * then compared with the call.
 */
#include "text/plan-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/parse.h"

enum { ANY_RANK = -1, BYTES_MOST = 1 << 30 };

struct tt_plan_section {
    struct tt_lex at; /* the place of the word `plan` in the text */
    int rank;         /* the rank that the plan is for, or ANY_RANK */
};

/* ---- Reading the file ---- */

static tutti_status wrong(const struct tt_plan_file *file, const struct tt_text_error *error)
{
    return tt_fail(TUTTI_ERR_ARG, "%s:%d:%d: %s", file->name, error->line, error->column,
                   error->text);
}

static tutti_status unreadable(const char *name, const char *why)
{
    return tt_fail(TUTTI_ERR_SYSTEM, "the plan file %s cannot be read: %s", name, why);
}

/* Reads the whole file. Sets *text, which ends with a \0, and *n to its bytes without the \0. Stops
 * at the first piece that is no text, because a device such as /dev/zero never ends. */
static tutti_status read_all(FILE *in, const char *name, char **text, size_t *n)
{
    size_t room = 0, before;
    *text = NULL;
    *n = 0;
    do {
        room = 2 * room + 4096;
        if (room > BYTES_MOST) return unreadable(name, "it is longer than half a GiB");
        char *more = tt_realloc(*text, room + 1);
        if (!more)
            return tt_fail(TUTTI_ERR_MEMORY,
                           "no memory for the plan file %s of more than %zu bytes", name, *n);
        *text = more;
        before = *n;
        *n += fread(*text + *n, 1, room - *n, in);
        if (memchr(*text + before, '\0', *n - before))
            return unreadable(name, "it holds bytes that are no text");
    } while (*n == room);
    (*text)[*n] = '\0';
    return ferror(in) ? unreadable(name, strerror(errno)) : TUTTI_OK;
}

tutti_status tt_plan_file_open(struct tt_plan_file *file, const char *path)
{
    bool input = strcmp(path, "-") == 0;
    const char *name = input ? "standard input" : path;
    FILE *in = input ? stdin : fopen(path, "re");
    char *text = NULL;
    size_t n;
    *file = (struct tt_plan_file){0};
    if (!in) return unreadable(name, strerror(errno));
    tutti_status status = read_all(in, name, &text, &n);
    if (!input) fclose(in);
    if (status == TUTTI_OK) status = tt_plan_file_text(file, name, text);
    tt_free(text);
    return status;
}

/* ---- The lines before the plans, and the headers ---- */

static void version(struct tt_lex *in)
{
    if (!tt_lex_take(in, "tutti"))
        tt_lex_missing(in, "expected 'tutti plan %d', the version of the format",
                       TT_PLAN_FILE_VERSION);
    tt_lex_need(in, "plan");
    int64_t number = tt_lex_number(in, 0, INT64_MAX, "the version of the format");
    if (number != TT_PLAN_FILE_VERSION)
        tt_lex_wrong(in, "this is version %lld of the format, and version %d is expected",
                     (long long)number, TT_PLAN_FILE_VERSION);
    tt_lex_line_end(in);
}

static void problem(struct tt_plan_file *file, struct tt_lex *in)
{
    struct tt_problem parsed;
    struct tt_problem_error error;
    if (!tt_lex_take(in, "problem")) return;
    in->token = tt_lex_next(in);
    size_t n = strcspn(in->at, " \t\r\n#");
    if (n >= sizeof file->problem) {
        tt_lex_wrong(in, "a problem has at most %zu characters", sizeof file->problem - 1);
        return;
    }
    memcpy(file->problem, in->at, n);
    file->problem[n] = '\0';
    if (tt_problem_parse(file->problem, &parsed, &error) != TUTTI_OK) {
        in->token += error.at;
        tt_lex_wrong(in, "%.300s", error.text);
    }
    in->at += n;
    tt_lex_line_end(in);
    file->has_problem = true;
}

/* Parses the header of a plan up to the name of the algorithm. */
static enum tt_coll name_of(struct tt_lex *in, char name[TT_PLAN_FILE_NAME])
{
    tt_lex_need(in, "plan");
    int coll = tt_lex_word(in, &tt_coll_words, "a collective");
    tt_lex_need(in, "algorithm");
    tt_lex_name(in, name, TT_PLAN_FILE_NAME, "an algorithm's name");
    return (enum tt_coll)coll;
}

/* Parses the header of a plan up to its rank. Returns the rank, or ANY_RANK. */
static int rank_of(struct tt_lex *in)
{
    char name[TT_PLAN_FILE_NAME];
    (void)name_of(in, name);
    tt_lex_need(in, "rank");
    if (tt_lex_take(in, "r")) return ANY_RANK;
    if (tt_lex_at_letter(in)) tt_lex_missing(in, "expected a rank: a number, or r for any rank");
    return (int)tt_lex_number(in, 0, TT_PROBLEM_RANKS - 1, "a rank");
}

static const struct tt_plan_section *find(const struct tt_plan_file *file, int rank)
{
    for (int i = 0; i < file->sections_n; i++)
        if (file->sections[i].rank == rank) return &file->sections[i];
    return NULL;
}

static void section(struct tt_plan_file *file, struct tt_lex *in)
{
    struct tt_plan_section s = {.at = *in};
    s.rank = rank_of(in);
    const struct tt_plan_section *before = in->failed ? NULL : find(file, s.rank);
    if (before && s.rank == ANY_RANK)
        tt_lex_wrong(in, "line %d has a plan for any rank already", before->at.line);
    else if (before)
        tt_lex_wrong(in, "line %d has a plan for rank %d already", before->at.line, s.rank);
    size_t bytes = ((size_t)file->sections_n + 1) * sizeof s;
    struct tt_plan_section *more = in->failed ? NULL : tt_realloc(file->sections, bytes);
    if (!more) {
        tt_lex_wrong(in, "out of memory");
        return;
    }
    file->sections = more;
    file->sections[file->sections_n++] = s;
}

/* Finds the plans in the text: each line whose first word is `plan` begins one. */
static void sections(struct tt_plan_file *file, struct tt_lex *in)
{
    while (!tt_lex_at_end(in)) {
        struct tt_lex line = *in;
        bool begins = tt_lex_take(in, "plan");
        if (!begins && file->sections_n == 0) tt_lex_need(in, "plan");
        *in = in->failed ? *in : line;
        if (begins) section(file, in);
        if (!in->failed) (void)tt_lex_skip_line(in);
    }
    if (file->sections_n == 0) tt_lex_need(in, "plan");
    file->end_line = in->line;
    file->end_column = (int)(in->at - in->line_begin) + 1;
}

static uint64_t hash_of(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

tutti_status tt_plan_file_text(struct tt_plan_file *file, const char *name, const char *text)
{
    struct tt_text_error error;
    struct tt_lex in;
    *file = (struct tt_plan_file){.name = tt_strdup(name), .text = tt_strdup(text)};
    if (!file->name || !file->text) {
        tt_plan_file_close(file);
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan file");
    }
    file->hash = hash_of(text);
    tt_lex_begin(&in, file->text, &error);
    version(&in);
    problem(file, &in);
    if (!in.failed) sections(file, &in);
    if (!in.failed) return TUTTI_OK;
    (void)wrong(file, &error);
    tt_plan_file_close(file);
    return TUTTI_ERR_ARG;
}

void tt_plan_file_close(struct tt_plan_file *file)
{
    tt_free(file->name);
    tt_free(file->text);
    tt_free(file->sections);
    *file = (struct tt_plan_file){0};
}

/* ---- The plans ---- */

static const struct tt_plan_section *find_for(const struct tt_plan_file *file, int rank)
{
    const struct tt_plan_section *s = find(file, rank);
    return s ? s : find(file, ANY_RANK);
}

bool tt_plan_file_name(const struct tt_plan_file *file, enum tt_coll *coll,
                       char name[TT_PLAN_FILE_NAME])
{
    struct tt_text_error error;
    const struct tt_plan_section *s = find_for(file, 0);
    if (!s) return false;
    struct tt_lex in = s->at;
    in.error = &error;
    *coll = name_of(&in, name);
    return true;
}

char *tt_plan_file_place(const struct tt_plan_file *file, const struct tt_call *call, int p, int me,
                         int64_t step, char *text, size_t size)
{
    enum { NUMBERS = 24 }; /* the room for ":LINE:COLUMN" */
    struct tt_lex place;
    const struct tt_plan_section *s = find_for(file, me);
    size_t n = strlen(file->name), most = size - NUMBERS;
    const char *name = file->name + (n > most ? n - most : 0); /* the end of a long path */
    text[0] = '\0';
    if (s && tt_parse_place(&s->at, call, p, me, step, &place))
        snprintf(text, size, "%s:%d:%d", name, place.line, (int)(place.at - place.line_begin) + 1);
    return text;
}

struct tt_plan *tt_plan_file_plan(const struct tt_plan_file *file, const struct tt_call *call,
                                  int p, int me)
{
    struct tt_text_error error;
    const struct tt_plan_section *s = find_for(file, me);
    struct tt_plan *plan = s ? tt_parse_for_call(&s->at, call, p, me, &error) : NULL;
    if (plan) return plan;
    if (s)
        (void)wrong(file, &error);
    else
        (void)tt_fail(TUTTI_ERR_ARG,
                      "%s:%d:%d: expected a plan for rank %d of %d, or one for any rank (rank r)",
                      file->name, file->end_line, file->end_column, me, p);
    return NULL;
}

/* Checks that no plan is for a rank that the problem does not have. */
static bool ranks_exist(const struct tt_plan_file *file, int p)
{
    for (int i = 0; i < file->sections_n; i++) {
        const struct tt_plan_section *s = &file->sections[i];
        if (s->rank < p) continue;
        (void)tt_fail(TUTTI_ERR_ARG,
                      "%s:%d:1: the plan is for rank %d, and the problem has %d ranks", file->name,
                      s->at.line, s->rank, p);
        return false;
    }
    return true;
}

/* Marks the plans of the ranks into whose windows another rank puts. */
static void mark_puts(struct tt_plan **plans, int p)
{
    for (int r = 0; r < p; r++)
        for (uint32_t i = 0; i < plans[r]->steps_n; i++) {
            const struct tt_step *s = &plans[r]->steps[i];
            bool puts = s->kind == TT_PUT && plans[r]->ranges[s->first].buf == TT_WIN;
            if (puts && s->peer >= 0 && s->peer < p) plans[s->peer]->is_put_into = true;
        }
}

bool tt_plan_file_plans(const struct tt_plan_file *file, const struct tt_call *call, int p,
                        struct tt_plan **plans)
{
    if (!ranks_exist(file, p)) return false;
    for (int r = 0; r < p; r++) {
        plans[r] = tt_plan_file_plan(file, call, p, r);
        if (plans[r]) continue;
        while (r > 0) tt_plan_free(plans[--r]);
        return false;
    }
    mark_puts(plans, p);
    return true;
}

void tt_plan_file_print_head(const struct tt_problem *problem, FILE *out)
{
    char text[TT_PROBLEM_TEXT];
    fprintf(out, "tutti plan %d\nproblem %s\n\n", TT_PLAN_FILE_VERSION,
            tt_problem_print(problem, text));
}
