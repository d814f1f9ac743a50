/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti ps`: lists the jobs of this user on this machine, with the process of each rank and the
 * call in which the rank is.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "jobs.h"
#include "json.h"

enum { TEXT_SIZE = 768 };

struct ps_arguments {
    const char *json;
    char **pids; /* process ids from the command line */
    int n;
    int shown;
    cJSON *rows; /* the rows of the JSON output; NULL if the output is text */
};

static bool is_asked_for(const struct ps_arguments *a, const struct tt_job_page *page,
                         pid_t starter, pid_t found_in)
{
    bool asked = a->n == 0;
    for (int i = 0; i < a->n; i++)
        asked = asked || tt_job_has(page, starter, found_in, atoi(a->pids[i]));
    return asked;
}

static const char *state_text(const struct tt_roll_rank *r)
{
    if (!r->here) return "elsewhere";
    switch (r->state) {
    case 'R': return "running";
    case 'T':
    case 't': return "stopped";
    case 'D': return "in-kernel";
    case 'Z':
    case 'X': return "ended";
    case TT_ROLL_UNSEEN: return "unknown";
    case 0: return r->pid ? "gone" : "-";
    default: return "sleeping";
    }
}

/* Returns a text to print before the other facts about a rank. It warns if the rank is in another
 * PID namespace, where processes have other ids; otherwise it is "". */
static const char *where_text(const struct tt_roll_rank *r)
{
    return r->state == TT_ROLL_UNSEEN ? "in another PID namespace; " : "";
}

/* The text says what a rank does if the job has no client. */
static const char in_no_client[] = "in no client of the library";

/* Returns the process of a rank of a job that has no client. */
static struct tt_roll_rank absent_rank(const struct tt_job_page *page, int r)
{
    struct tt_roll_rank rank = {.here = page->rank[r].arena >= 0,
                                .pid = atomic_load(&page->rank[r].pid)};
    rank.state = rank.here ? tt_roll_process(&page->rank[r]) : 0;
    return rank;
}

/* ---- Text ---- */

static void print_job(const struct tt_job_page *page, pid_t found_in, pid_t starter,
                      const char *name)
{
    char program[80];
    tt_job_program(page, found_in, program, sizeof program);
    double age = (double)(tt_clock_ns() - page->stamp) / 1e9;
    printf("%d %s of %s", page->size,
           page->size == 1 ? "rank"
           : page->threads ? "threads"
                           : "ranks",
           program);
    if (page->nodes > 1) printf(", on %d hosts", page->nodes);
    if (page->threads)
        printf(" (pid %d)", (int)found_in);
    else if (starter > 1)
        printf(", started by %s (pid %d)", name, (int)starter);
    printf(", %.0f s ago\n", age > 0 ? age : 0);
}

static void print_rank(const struct tt_roll *roll, int r)
{
    char text[TEXT_SIZE];
    const struct tt_roll_rank *rank = &roll->rank[r];
    printf("%6d %8d  %-9s  %s%s\n", r, rank->pid, state_text(rank), where_text(rank),
           tt_roll_whole(roll, r, text, sizeof text));
}

static void print_roll(const struct tt_roll *roll, bool alone)
{
    if (!alone)
        printf("  client %llu:\n", (unsigned long long)atomic_load(&roll->common->number) - 1);
    printf("%6s %8s  %-9s  %s\n", "RANK", "PID", "STATE", "DOING");
    for (int r = 0; r < roll->job->size; r++) print_rank(roll, r);
}

static void print_absent(const struct tt_job_page *page)
{
    printf("%6s %8s  %-9s  %s\n", "RANK", "PID", "STATE", "DOING");
    for (int r = 0; r < page->size; r++) {
        struct tt_roll_rank rank = absent_rank(page, r);
        printf("%6d %8d  %-9s  %s%s\n", r, rank.pid, state_text(&rank), where_text(&rank),
               in_no_client);
    }
}

/* ---- JSON ---- */

/* The rows of all ranks of a client have these facts in common. */
struct common_row {
    pid_t starter;
    const char *program;
    int64_t client; /* its number; -1: the job has no client */
};

static cJSON *add_row(cJSON *rows, const struct common_row *all, int r,
                      const struct tt_roll_rank *rank, const char *doing)
{
    cJSON *row = cJSON_CreateObject();
    char text[TEXT_SIZE + 64];
    snprintf(text, sizeof text, "%s%s", where_text(rank), doing);
    cJSON_AddNumberToObject(row, "started_by", all->starter);
    cJSON_AddStringToObject(row, "program", all->program);
    cJSON_AddItemToObject(row, "client",
                          all->client < 0 ? cJSON_CreateNull()
                                          : cJSON_CreateNumber((double)all->client));
    cJSON_AddNumberToObject(row, "rank", r);
    cJSON_AddNumberToObject(row, "pid", rank->pid);
    cJSON_AddStringToObject(row, "state", state_text(rank));
    cJSON_AddStringToObject(row, "doing", text);
    cJSON_AddItemToArray(rows, row);
    return row;
}

/* Adds a row for each rank of a job. `roll` is the roll of one of its clients; NULL: the job has
 * none. */
static void add_rows(cJSON *rows, const struct tt_job_page *page, const struct tt_roll *roll,
                     pid_t found_in, pid_t starter)
{
    char doing[TEXT_SIZE], program[TEXT_SIZE];
    struct common_row all = {starter, program,
                             roll ? (int64_t)atomic_load(&roll->common->number) - 1 : -1};
    tt_job_program(page, found_in, program, sizeof program);
    for (int r = 0; r < page->size; r++) {
        struct tt_roll_rank rank = roll ? roll->rank[r] : absent_rank(page, r);
        if (roll)
            tt_roll_doing(roll, r, doing, sizeof doing);
        else
            snprintf(doing, sizeof doing, "%s", in_no_client);
        cJSON *row = add_row(rows, &all, r, &rank, doing);
        if (rank.waits)
            cJSON_AddNumberToObject(row, "for_s",
                                    (double)tt_max(0, roll->now_ns - rank.is.since_ns) / 1e9);
    }
}

/* ---- Jobs ---- */

static void show_clients(const struct ps_arguments *a, const struct tt_job_found *found,
                         struct tt_job_page *page, pid_t starter)
{
    int clients = tt_roll_clients(page);
    for (int i = 0; i < TT_CLIENTS; i++) {
        struct tt_roll roll;
        if (!atomic_load(&tt_common_at(page, i)->number)) continue;
        if (tt_roll_read(&found->source, page, i, &roll) != TUTTI_OK) continue;
        if (a->rows)
            add_rows(a->rows, page, &roll, found->pid, starter);
        else
            print_roll(&roll, clients == 1);
        tt_roll_free(&roll);
    }
    if (clients == 0 && a->rows)
        add_rows(a->rows, page, NULL, found->pid, starter);
    else if (clients == 0)
        print_absent(page);
}

/* Shows one job, unless all its ranks have ended. If the job cannot be read, for example because it
 * has another version of the library, prints the reason. It does not if the user asks for certain
 * processes only, or for JSON. */
static void show_job(struct ps_arguments *a, const struct tt_job_found *found)
{
    struct tt_job_page *page;
    if (tt_roll_page(&found->source, &page) != TUTTI_OK) {
        if (a->n == 0 && !a->rows)
            printf("a job of process %d cannot be shown: %s\n", (int)found->pid, tutti_error());
        return;
    }
    char name[TT_STARTER_NAME];
    pid_t starter = tt_job_starter(page, found->pid, name);
    if (tt_job_runs(page, found->pid) && is_asked_for(a, page, starter, found->pid)) {
        if (a->shown++ && !a->rows) printf("\n");
        if (!a->rows) print_job(page, found->pid, starter, name);
        show_clients(a, found, page, starter);
    }
    tt_free(page);
}

static int show_all(struct ps_arguments *a)
{
    struct tt_jobs jobs;
    tt_jobs_find(&jobs);
    if (jobs.no_memory) fprintf(stderr, "tutti ps: no memory for all jobs\n");
    for (int i = 0; i < jobs.n; i++) show_job(a, &jobs.job[i]);
    tt_jobs_free(&jobs);
    if (a->rows && !tt_json_write("tutti ps", a->rows, a->json)) return TT_EXIT_FAILED;
    if (a->shown == 0 && !a->rows && jobs.n == 0)
        fprintf(stderr, "tutti ps: no job of this user runs on this machine\n");
    if (a->shown == 0 && a->n > 0)
        fprintf(stderr,
                "tutti ps: no job has such a rank or launcher; `tutti ps` lists the jobs\n");
    return a->shown == 0 && a->n > 0 ? TT_EXIT_FAILED : TT_EXIT_OK;
}

/* ---- Arguments ---- */

enum { OPTION_JSON = 256 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct ps_arguments *a = state->input;
    switch (key) {
    case OPTION_JSON: a->json = arg ? arg : "-"; return 0;
    case ARGP_KEY_ARGS:
        a->pids = state->argv + state->next;
        a->n = state->argc - state->next;
        for (int i = 0; i < a->n; i++) (void)tt_arg_number(state, "PID", a->pids[i], 1, INT32_MAX);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int tt_ps_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", OPTION_JSON, "FILE", OPTION_ARG_OPTIONAL,
         "write an array with an object for each rank to a file (default: stdout)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[PID...]",
        .doc = "Shows the jobs of this user on this machine (or those with these launchers or "
               "ranks): each rank's process, the call it waits in, since when, and for whom. Stops "
               "and disturbs nobody.",
    };
    struct ps_arguments a = {0};
    tt_arg_parse(&argp, argc, argv, 0, &a);
    if (a.json) a.rows = cJSON_CreateArray();
    return show_all(&a);
}
