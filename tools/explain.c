/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti explain`: prints which algorithm would run for a problem, and why: the algorithms that
 * apply with their predicted times, the parts of the time, and why the other algorithms do not
 * apply.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choose/predict.h"
#include "command.h"
#include "jobs.h"
#include "json.h"
#include "problem.h"

enum { OPTION_JSON = 256, OPTION_JOB };

static const struct argp_option options[] = {
    {"job", OPTION_JOB, "PID", 0,
     "explain the choice in the running job of this process (a rank or the launcher; tutti ps "
     "lists "
     "them): with its ranks, hosts, model, wisdom and settings. The PROBLEM then has no /pRANKS",
     0},
    {"json", OPTION_JSON, NULL, 0, "print a JSON object", 0},
    {0},
};

/* An algorithm of the problem's collective. */
struct candidate {
    const struct tt_algorithm *algorithm;
    const char *refusal; /* why the algorithm does not apply; NULL if it applies */
    bool predicted;
    char why_not[200]; /* why no time is predicted */
    struct tt_prediction prediction;
};

struct explanation {
    const char *problem;
    pid_t job; /* a process of the job whose choice is explained; 0 without --job */
    struct tt_case c;
    bool json;
    struct candidate *candidate;
    int n;
    struct tt_call *call; /* the call of each rank (make_calls) */
    int64_t *room;
    /* path: the path of the file with the model; why: the reason why there is no model */
    char path[TT_MACHINE_PATH], why[TT_MACHINE_WHY];
    /* with --job: the text of the problem, with the job's number of ranks (tt_problem_add_ranks) */
    char text[TT_PROBLEM_TEXT];
    char program[80]; /* the command line of the job's program */
    char wisdom_path[TT_FILE_PATH], wisdom_why[TT_FILE_WHY];
    struct tt_wisdom_file wisdom;
    /* the line of the wisdom file that decides the choice; NULL if none does */
    const struct tt_wisdom_entry *wise;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct explanation *e = state->input;
    switch (key) {
    case OPTION_JSON: e->json = true; return 0;
    case OPTION_JOB: e->job = (pid_t)tt_arg_number(state, "--job", arg, 1, INT32_MAX); return 0;
    case ARGP_KEY_ARG:
        if (e->problem) argp_error(state, "'%s': only one problem at a time", arg);
        e->problem = arg;
        return 0;
    case ARGP_KEY_END:
        if (!e->problem)
            argp_error(state, "the problem is missing (as in allreduce/f64/sum/1M/p16)");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The candidates ---- */

/* Makes the calls of all ranks, or of the first TT_PREDICT_RANKS ranks if there are more. e->room
 * is the memory for what the calls point to, such as arrays of counts. */
static bool make_calls(struct explanation *e)
{
    size_t each = tt_problem_room(&e->c.problem);
    /* more calls are not needed: no time is predicted for a problem with more ranks */
    int p = (int)tt_min(e->c.problem.p, TT_PREDICT_RANKS);
    e->call = tt_calloc((size_t)p, sizeof *e->call);
    e->room = tt_calloc((size_t)p * each + 1, sizeof *e->room);
    for (int r = 0; e->call && e->room && r < p; r++)
        e->call[r] = tt_problem_call(&e->c.problem, r, e->room + (size_t)r * each);
    return e->call && e->room;
}

/* Sets the slice, radix and lanes of the calls for an algorithm. The parameters from the wisdom are
 * used only for the algorithm that the wisdom names. */
static void tune_calls(struct explanation *e, const struct tt_algorithm *a)
{
    const struct tt_call *like = a == e->c.algorithm ? &e->c.problem.call : &e->c.given;
    int p = (int)tt_min(e->c.problem.p, TT_PREDICT_RANKS);
    for (int r = 0; r < p; r++) {
        e->call[r].slice = like->slice;
        e->call[r].radix = like->radix;
        e->call[r].lanes = like->lanes;
    }
}

static void consider(struct explanation *e, const struct tt_algorithm *a, struct candidate *c)
{
    tune_calls(e, a);
    *c = (struct candidate){.algorithm = a, .refusal = a->refuse(&e->call[0], &e->c.map)};
    if (c->refusal) return;
    c->predicted = tt_predict_calls(a, e->call, &e->c.map, &c->prediction) == TUTTI_OK;
    if (!c->predicted) snprintf(c->why_not, sizeof c->why_not, "%s", tutti_error());
}

/* Compares candidates for qsort. The algorithms with a predicted time come first, sorted by this
 * time. The algorithms without one come next, and the algorithms that do not apply come last. */
static int by_time(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int x_last = x->refusal ? 2 : !x->predicted, y_last = y->refusal ? 2 : !y->predicted;
    if (x_last != y_last) return x_last - y_last;
    int64_t s = x->prediction.time_ps, t = y->prediction.time_ps;
    return s != t ? (s > t) - (s < t) : strcmp(x->algorithm->name, y->algorithm->name);
}

static bool collect(struct explanation *e)
{
    bool file = e->c.row.p > 0; /* TUTTI_ALGORITHM names a plan file, which is one more candidate */
    for (int i = 0; tt_algorithms[i]; i++) e->n += tt_algorithms[i]->coll == e->c.problem.call.coll;
    e->n += file;
    e->candidate = tt_calloc((size_t)e->n, sizeof *e->candidate);
    if (!e->candidate || !make_calls(e)) return false;
    e->n = 0;
    for (int i = 0; tt_algorithms[i]; i++) {
        if (tt_algorithms[i]->coll == e->c.problem.call.coll)
            consider(e, tt_algorithms[i], &e->candidate[e->n++]);
    }
    if (file) consider(e, &e->c.row.row, &e->candidate[e->n++]);
    qsort(e->candidate, (size_t)e->n, sizeof *e->candidate, by_time);
    return true;
}

/* Finds the line of the wisdom file that decides the choice, if there is one. The wisdom in memory
 * lacks the text and date of the line, so the function reads the file again. */
static void find_wisdom(struct explanation *e)
{
    struct tt_call call = tt_case_given(&e->c);
    const struct tt_wise *wise = tt_wisdom_find(&call, &e->c.map);
    if (!tt_wisdom_path(e->wisdom_path, e->wisdom_why)) return;
    (void)tt_wisdom_read(e->wisdom_path, &e->wisdom, e->wisdom_why);
    for (int i = 0; wise && i < e->wisdom.n; i++)
        if (e->wisdom.entry[i].fits &&
            memcmp(&e->wisdom.entry[i].line.wise, wise, sizeof *wise) == 0)
            e->wise = &e->wisdom.entry[i];
}

/* Returns whether a line of the wisdom file is about this problem, but is ignored. */
static bool is_about(const struct explanation *e, const struct tt_wisdom_entry *entry)
{
    char problem[TT_WISDOM_LINE], layout[TT_WISDOM_LAYOUT];
    struct tt_wise place;
    struct tt_call call = tt_case_given(&e->c);
    if (entry->fits || !tt_wisdom_place(&call, &e->c.map, &place, layout)) return false;
    size_t n = strlen(tt_wisdom_problem(&place, layout, problem));
    return strncmp(entry->text, problem, n) == 0 && entry->text[n] == ' ';
}

static const struct candidate *chosen(const struct explanation *e)
{
    int i = 0;
    while (e->candidate[i].algorithm != e->c.algorithm) i++;
    return &e->candidate[i];
}

/* ---- Text ---- */

static double us(int64_t ps)
{
    return 1e-6 * (double)ps;
}

/* Returns whether the choice sets a parameter of the algorithm. */
static bool has_parameters(const struct explanation *e)
{
    const struct tt_parameters *with = &e->c.with;
    return with->slice != 0 || with->radix != 0 || with->lanes != 0;
}

/* Prints why the estimate chooses this algorithm, and other parameters than its own. The estimate
 * leaves the algorithm of the table only for one whose predicted time is at least a fifth shorter,
 * and the algorithm's own parameters only for a time that is shorter by as much. */
static void print_estimate(const struct explanation *e)
{
    struct tt_map map = e->c.map;
    struct tt_call call = tt_case_given(&e->c);
    struct tt_choice choice = {.algorithm = NULL};
    map.estimates = map.measures = false;
    map.wisdom = NULL;
    (void)tt_choose(&call, &map, NULL, &choice, NULL);
    const struct tt_algorithm *table = choice.algorithm;
    if (table == e->c.algorithm)
        printf("The table chooses it, and for calls of about this size no other one is predicted "
               "to take at least a fifth less time.\n");
    else
        printf("For calls of about this size, it has the least predicted time: at least a fifth "
               "less than %s, which the table chooses.\n",
               table ? table->name : "the algorithm");
    if (has_parameters(e))
        printf("With its own parameters, it is predicted to take at least a quarter more time.\n");
}

/* Prints in a sentence why this algorithm runs. */
static void print_reason(const struct explanation *e)
{
    const struct candidate *c = chosen(e), *best = &e->candidate[0];
    switch (e->c.by) {
    case TT_CHOSEN_FORCED:
        if (e->c.row.p > 0) printf("It is that of the plan file %s. ", e->c.row.file.name);
        printf("TUTTI_ALGORITHM forces it.\n");
        break;
    case TT_CHOSEN_WISDOM:
    case TT_CHOSEN_MEASURED:
        printf("It was measured to be the fastest on %s.\n", e->wise ? e->wise->line.date : "?");
        break;
    case TT_CHOSEN_ESTIMATE: print_estimate(e); break;
    case TT_CHOSEN_TABLE:
        printf("It is the first algorithm that fits and applies in the table of docs/tuning.md.\n");
        break;
    }
    if (c->predicted && best != c && best->prediction.time_ps < c->prediction.time_ps)
        printf("By the model, %s would take %.0f %% less time here.\n", best->algorithm->name,
               100 - 100 * us(best->prediction.time_ps) / us(c->prediction.time_ps));
}

/* Prints on what the slowest rank spends its time: each part that is at least one per cent of the
 * time. */
static void print_spent(const struct tt_prediction *p)
{
    const char *comma = "";
    for (int i = 0; i < TT_SPENT_N; i++) {
        if (p->spent[i] < p->time_ps / 100) continue;
        printf("%s%s %.2f", comma, tt_spent_text((enum tt_spent)i), us(p->spent[i]));
        comma = ", ";
    }
    printf("\n");
}

static void print_candidate(const struct explanation *e, const struct candidate *c)
{
    bool is_chosen = c->algorithm == e->c.algorithm;
    printf("%c %-18s", is_chosen ? '*' : ' ', c->algorithm->name);
    if (c->refusal) {
        printf(" does not apply: it %s\n", c->refusal);
    } else if (!c->predicted) {
        printf(" %12s  %s\n", "-", c->why_not);
    } else {
        printf(" %12.2f  ", us(c->prediction.time_ps));
        print_spent(&c->prediction);
    }
}

static void print_wisdom(const struct explanation *e)
{
    char problem[TT_WISDOM_LINE];
    if (e->wise) {
        const struct tt_wisdom_line *line = &e->wise->line;
        printf("Wisdom: %s\n  %s was measured on %s: %s %.3f us%s%s\n", e->wisdom_path,
               tt_wisdom_problem(&line->wise, line->layout, problem), line->date,
               tt_wisdom_algorithm(&line->wise)->name, us(line->time_ps),
               line->others[0] ? "; others " : "", line->others);
    } else {
        printf("No wisdom for it%s%s\n", e->wisdom_why[0] ? ": " : " in ",
               e->wisdom_why[0] ? e->wisdom_why : e->wisdom_path);
    }
    for (int i = 0; i < e->wisdom.n; i++)
        if (is_about(e, &e->wisdom.entry[i]))
            printf("  a line for it is ignored: %s\n", e->wisdom.entry[i].why);
}

/* Prints what the table knew of the links between the nodes. */
static void print_link(const struct tt_map *map)
{
    char text[TT_LINK_TEXT];
    if (tt_map_one_node(map) || map->one_kernel) return;
    printf("Links between nodes: %s\n",
           map->link.mbit > 0 ? tt_link_print(&map->link, text) : "their speed is not known");
}

static void print_text(const struct explanation *e)
{
    char with[TT_PARAMETERS_TEXT];
    if (e->job) printf("In the job of %s, ", e->program);
    tt_parameters_print(&e->c.with, ", ", with);
    printf("%s runs by %s%s%s. ", e->problem, e->c.algorithm->name, *with ? " with " : "",
           *with ? with + 2 : "");
    print_reason(e);
    if (e->c.map.measures)
        printf(
            "The job measures algorithms in its first calls, and may have found a faster one.\n");
    if (e->c.map.machine)
        printf("Model: %s\n", e->path);
    else
        printf("No model of this machine: %s\n", e->why);
    print_link(&e->c.map);
    print_wisdom(e);
    printf("\n  %-18s %12s  %s\n", "algorithm", "predicted us",
           "where the slowest rank's time goes, us");
    for (int i = 0; i < e->n; i++) print_candidate(e, &e->candidate[i]);
}

/* ---- JSON ---- */

static cJSON *json_of(const struct explanation *e, const struct candidate *c)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "algorithm", c->algorithm->name);
    cJSON_AddBoolToObject(row, "applies", !c->refusal);
    cJSON_AddBoolToObject(row, "chosen", c->algorithm == e->c.algorithm);
    if (c->refusal) cJSON_AddStringToObject(row, "why", c->refusal);
    if (!c->refusal && !c->predicted) cJSON_AddStringToObject(row, "why", c->why_not);
    if (!c->predicted) return row;
    cJSON_AddNumberToObject(row, "predicted_us", us(c->prediction.time_ps));
    cJSON *spent = cJSON_AddObjectToObject(row, "spent_us");
#define PART(name, text)                                                                           \
    cJSON_AddNumberToObject(spent, #name, us(c->prediction.spent[TT_SPENT_##name]));
    TT_SPENT_LIST(PART)
#undef PART
    return row;
}

static void add_wisdom(const struct explanation *e, cJSON *all)
{
    cJSON *ignored = cJSON_CreateArray();
    if (e->wise) {
        cJSON *wisdom = cJSON_AddObjectToObject(all, "wisdom");
        cJSON_AddStringToObject(wisdom, "file", e->wisdom_path);
        cJSON_AddStringToObject(wisdom, "date", e->wise->line.date);
        cJSON_AddNumberToObject(wisdom, "measured_us", us(e->wise->line.time_ps));
        cJSON_AddStringToObject(wisdom, "others", e->wise->line.others);
    }
    for (int i = 0; i < e->wisdom.n; i++)
        if (is_about(e, &e->wisdom.entry[i]))
            cJSON_AddItemToArray(ignored, cJSON_CreateString(e->wisdom.entry[i].why));
    cJSON_AddItemToObject(all, "ignored", ignored);
}

/* Adds the parameters that the choice sets, under their names as in a problem. */
static void add_parameters(const struct explanation *e, cJSON *all)
{
    const struct tt_parameters *with = &e->c.with;
    if (with->slice) cJSON_AddNumberToObject(all, "slice", (double)with->slice);
    if (with->radix) cJSON_AddNumberToObject(all, "radix", with->radix);
    if (with->lanes) cJSON_AddNumberToObject(all, "lanes", with->lanes);
}

static bool print_json(const struct explanation *e)
{
    cJSON *all = cJSON_CreateObject();
    cJSON_AddStringToObject(all, "problem", e->problem);
    if (e->job) cJSON_AddNumberToObject(all, "job", e->job);
    if (e->job) cJSON_AddStringToObject(all, "program", e->program);
    if (e->c.map.measures) cJSON_AddTrueToObject(all, "measures");
    cJSON_AddStringToObject(all, "algorithm", e->c.algorithm->name);
    add_parameters(e, all);
    cJSON_AddStringToObject(all, "chosen", tt_chosen_text(e->c.by));
    if (e->c.map.machine)
        cJSON_AddStringToObject(all, "model", e->path);
    else
        cJSON_AddStringToObject(all, "no_model", e->why);
    add_wisdom(e, all);
    cJSON *rows = cJSON_AddArrayToObject(all, "candidates");
    for (int i = 0; i < e->n; i++) cJSON_AddItemToArray(rows, json_of(e, &e->candidate[i]));
    return tt_json_print(all);
}

static bool print(const struct explanation *e)
{
    if (e->json) return print_json(e);
    print_text(e);
    return true;
}

/* ---- A running job ---- */

/* Returns the record of the oldest of those clients that all ranks of the job have joined; NULL if
 * there is none. */
static const struct tt_common *client_of(const struct tt_job_page *page)
{
    const struct tt_common *oldest = NULL;
    for (int i = 0; i < TT_CLIENTS; i++) {
        const struct tt_common *common = tt_common_at(page, i);
        if (!atomic_load(&common->number) || !atomic_load(&common->world.known)) continue;
        if (!oldest || atomic_load(&common->number) < atomic_load(&oldest->number)) oldest = common;
    }
    return oldest;
}

/* Returns whether this command can find out which algorithm the job would choose. If not, prints
 * why. */
static bool can_be_known(const struct explanation *e, const struct tt_job_page *page,
                         const struct tt_common *common)
{
    if (!common)
        fprintf(stderr, "tutti explain: some ranks of the job have not called tutti_init, or all "
                        "have called tutti_finalize\n");
    else if (page->rank[0].arena < 0)
        fprintf(stderr, "tutti explain: rank 0 of the job is on host %s; run the command there\n",
                page->rank[0].host);
    else if (e->c.problem.p != page->size || e->c.problem.map[0])
        fprintf(stderr,
                "tutti explain: '%s' has other ranks or hosts than the job, which has %d "
                "ranks\n",
                e->text, page->size);
    else
        return true;
    return false;
}

/* Prints a warning if the record of the job has no room for the whole value of TUTTI_ALGORITHM. */
static void say_left_out(const struct tt_world_facts *world)
{
    if (world->algorithm_bytes >= TT_FACTS_ALGORITHM)
        fprintf(stderr,
                "tutti explain: TUTTI_ALGORITHM of the job has %lld bytes, and only entries in the "
                "first %d are known here\n",
                (long long)world->algorithm_bytes, TT_FACTS_ALGORITHM - 1);
}

/* Goes to the folder of rank 0, by which the job finds the plan files in its TUTTI_ALGORITHM.
 * Returns a descriptor of the folder in which this process was; -1 after printing the error. */
static int enter_folder(const struct tt_job_page *page)
{
    char path[32];
    pid_t pid = tt_job_pid(page, 0);
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    if (here >= 0 && pid > 0 && chdir(path) == 0) return here;
    fprintf(stderr,
            "tutti explain: the folder of rank 0, in which the job looks for plan files, cannot be "
            "entered: %s\n",
            pid > 0 ? strerror(errno) : "the rank is in another PID namespace");
    if (here >= 0) close(here);
    return -1;
}

/* Opens the problem with the plan file that the job's TUTTI_ALGORITHM names for it, in the folder
 * of rank 0. */
static bool open_with_files(struct explanation *e, const struct tt_job_page *page,
                            const struct tt_common *common)
{
    int here = enter_folder(page);
    if (here < 0) return false;
    bool opened = tt_case_open(&e->c, "tutti explain", e->text, NULL, common);
    if (fchdir(here) != 0) perror("tutti explain: the folder of the command");
    close(here);
    return opened;
}

/* Returns whether the job's TUTTI_ALGORITHM names a plan file for the problem by a relative
 * path. */
static bool has_relative_file(const struct explanation *e, const struct tt_common *common)
{
    char path[TT_PLAN_PATH];
    tt_choose_force(common->world.algorithm);
    bool named = tt_choose_file(&e->c.problem.call, path) == TUTTI_OK && path[0];
    tt_choose_force(NULL);
    return named && path[0] != '/';
}

static bool open_in(struct explanation *e, const struct tt_job_page *page)
{
    const struct tt_common *common = client_of(page);
    e->problem = tt_problem_add_ranks(e->problem, page->size, e->text);
    snprintf(e->path, sizeof e->path, "that of the job");
    snprintf(e->why, sizeof e->why, "the job found none when it started");
    if (!tt_problem_open("tutti explain", &e->c.problem, e->text) || !can_be_known(e, page, common))
        return false;
    say_left_out(&common->world);
    if (has_relative_file(e, common)) return open_with_files(e, page, common);
    return tt_case_open(&e->c, "tutti explain", e->text, NULL, common);
}

static bool open_job(struct explanation *e)
{
    struct tt_jobs jobs;
    bool found = false, opened = false;
    char name[TT_STARTER_NAME];
    tt_jobs_find(&jobs);
    for (int i = 0; i < jobs.n && !found; i++) {
        struct tt_job_page *page;
        pid_t in = jobs.job[i].pid;
        if (tt_roll_page(&jobs.job[i].source, &page) != TUTTI_OK) continue;
        found =
            tt_job_runs(page, in) && tt_job_has(page, tt_job_starter(page, in, name), in, e->job);
        if (found) tt_job_program(page, in, e->program, sizeof e->program);
        opened = found && open_in(e, page);
        tt_free(page);
    }
    tt_jobs_free(&jobs);
    if (!found)
        fprintf(stderr,
                "tutti explain: process %d belongs to no job of this user that can be read; "
                "tutti ps lists the jobs\n",
                (int)e->job);
    return opened;
}

/* Opens the problem, as a job would run it (if --job is given) or for this machine. Returns an exit
 * code. */
static int open_problem(struct explanation *e, struct tt_machine *machine)
{
    if (e->job) return open_job(e) ? TT_EXIT_OK : TT_EXIT_FAILED;
    if (!tt_case_open(&e->c, "tutti explain", e->problem, NULL, NULL)) return TT_EXIT_USAGE;
    (void)tt_machine_find(machine, e->path, e->why);
    return TT_EXIT_OK;
}

/* ---- Command ---- */

int tt_explain_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM",
        .doc = "Explains which algorithm would run a problem on this machine, and why: the "
               "candidates with the times that the model of this machine predicts (tutti "
               "calibrate makes it), where the time goes, and why other algorithms do not "
               "apply.\v" TT_PROBLEM_HELP " Exit status: 0 done, 1 failed, 2 wrong usage."};
    struct explanation e = {.n = 0};
    struct tt_machine machine;
    tt_arg_parse(&argp, argc, argv, 0, &e);
    int code = open_problem(&e, &machine);
    if (code != TT_EXIT_OK) return code;
    find_wisdom(&e);
    code = collect(&e) && print(&e) ? TT_EXIT_OK : TT_EXIT_FAILED;
    tt_wisdom_close(&e.wisdom);
    tt_free(e.candidate);
    tt_free(e.call);
    tt_free(e.room);
    tt_case_close(&e.c);
    return code;
}
