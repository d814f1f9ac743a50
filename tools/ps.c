/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti ps`: lists the jobs of this user on this machine, with the process of each rank and the
 * call it is in.
 *
 * A job of processes keeps its memory in a memfd, which is found behind a descriptor of each rank.
 * A job of threads keeps it in a large private mapping whose first word is a magic number. Both are
 * read by copying (pread(2), process_vm_readv(2)): if the memory disappears meanwhile, the read
 * fails and no signal is raised, and reading a hole in the memory does not fill it.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "run/roll.h"

#define MEMORY_NAME "/memfd:tutti (deleted)"
#define THREADS_LEAST TT_GRAIN /* smallest mapping that can be the memory of a job of threads */

/* Where the memory of a job was found. For a job of processes, `source` holds a descriptor, which
 * free_jobs closes; for a job of threads, it holds the address in the process, and `file` is
 * 0. */
struct found {
    struct tt_source source;
    pid_t pid; /* the process in which the job was found */
    dev_t device;
    ino_t file;
};

struct jobs {
    struct found *job;
    int n, room;
    bool no_memory;
};

/* ---- Reading /proc ---- */

/* Returns `buffer` with the first n - 1 bytes of /proc/PID/NAME, without line ends at the end and
 * with other control characters replaced by blanks; "" if the file cannot be read. */
static char *proc_text(pid_t pid, const char *name, char *buffer, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(buffer, 1, n - 1, file) : 0;
    if (file) fclose(file);
    while (got > 0 && (buffer[got - 1] == '\n' || buffer[got - 1] == '\0')) got--;
    buffer[got] = '\0';
    for (size_t i = 0; i < got; i++)
        if (iscntrl((unsigned char)buffer[i])) buffer[i] = ' ';
    return buffer;
}

/* The parent's process id; 0 if it cannot be read. */
static pid_t parent_of(pid_t pid)
{
    char text[512];
    int parent = 0;
    const char *end = strrchr(proc_text(pid, "stat", text, sizeof text), ')');
    if (!end || sscanf(end, ") %*c %d", &parent) != 1) return 0;
    return parent;
}

/* ---- Reading the memory of a job ---- */

static bool fetch_file(const struct tt_source *s, int64_t at, void *to, size_t n)
{
    return at >= 0 && (int64_t)n <= s->bytes && at <= s->bytes - (int64_t)n &&
           pread(s->handle, to, n, at) == (ssize_t)n;
}

static bool fetch_process(const struct tt_source *s, int64_t at, void *to, size_t n)
{
    if (at < 0 || (int64_t)n > s->bytes || at > s->bytes - (int64_t)n) return false;
    struct iovec here = {to, n}, there = {(void *)(s->base + (uintptr_t)at), n};
    return process_vm_readv(s->handle, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static struct found *add(struct jobs *jobs)
{
    if (jobs->n == jobs->room) {
        int room = 2 * jobs->room + 16;
        struct found *more = tt_realloc(jobs->job, (size_t)room * sizeof *more);
        jobs->no_memory = jobs->no_memory || !more;
        if (!more) return NULL;
        jobs->job = more;
        jobs->room = room;
    }
    return &jobs->job[jobs->n++];
}

/* ---- Jobs of processes ---- */

static bool is_known(const struct jobs *jobs, const struct stat *st)
{
    for (int i = 0; i < jobs->n; i++) {
        const struct found *f = &jobs->job[i];
        if (f->file == st->st_ino && f->device == st->st_dev) return true;
    }
    return false;
}

static void add_file(struct jobs *jobs, pid_t pid, int fd)
{
    struct stat st;
    struct found *found = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !is_known(jobs, &st)) found = add(jobs);
    if (!found) {
        close(fd);
        return;
    }
    *found = (struct found){
        .pid = pid,
        .device = st.st_dev,
        .file = st.st_ino,
        .source = {.fetch = fetch_file, .bytes = st.st_size, .handle = fd},
    };
}

static void look_at_descriptor(struct jobs *jobs, pid_t pid, const char *path)
{
    char target[64];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n != (ssize_t)strlen(MEMORY_NAME) || memcmp(target, MEMORY_NAME, (size_t)n) != 0) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) add_file(jobs, pid, fd);
}

static void look_at_descriptors(struct jobs *jobs, pid_t pid)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, entry->d_name);
        if (entry->d_name[0] != '.') look_at_descriptor(jobs, pid, path);
    }
    closedir(folder);
}

/* ---- Jobs of threads ---- */

/* Adds the job whose memory begins here, if its head has the magic number of a job of threads. The
 * head also says how long the memory is. */
static void look_at_mapping(struct jobs *jobs, pid_t pid, uintptr_t begin, int64_t bytes)
{
    struct tt_job_page head;
    struct tt_source source = {
        .fetch = fetch_process, .base = begin, .bytes = bytes, .handle = pid};
    if (!source.fetch(&source, 0, &head, sizeof head) || head.magic != TT_JOB_MAGIC) return;
    if (!head.threads || head.arenas < 1) return;
    struct found *found = add(jobs);
    if (!found) return;
    source.bytes = head.whole_bytes;
    *found = (struct found){.pid = pid, .source = source};
}

static void look_at_mappings(struct jobs *jobs, pid_t pid)
{
    char line[512];
    snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(line, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        uintptr_t begin, end;
        char mode[5];
        unsigned long inode;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*s %lu", &begin, &end, mode, &inode) !=
            4)
            continue;
        int64_t bytes = (int64_t)(end - begin);
        if (inode == 0 && strcmp(mode, "rw-p") == 0 && bytes >= THREADS_LEAST)
            look_at_mapping(jobs, pid, begin, bytes);
    }
    fclose(file);
}

/* ---- All jobs ---- */

static bool is_mine(const char *name)
{
    char path[320];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%s", name);
    return isdigit((unsigned char)name[0]) && stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* Finds all jobs that this user may look at. Does not stop any process and does not write to its
 * memory. The caller ends with free_jobs, also if no_memory says that some jobs are missing. */
static void find_jobs(struct jobs *jobs)
{
    *jobs = (struct jobs){0};
    DIR *folder = opendir("/proc");
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!is_mine(entry->d_name)) continue;
        pid_t pid = atoi(entry->d_name);
        look_at_descriptors(jobs, pid);
        look_at_mappings(jobs, pid);
    }
    closedir(folder);
}

static void free_jobs(struct jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++)
        if (jobs->job[i].file) close(jobs->job[i].source.handle);
    tt_free(jobs->job);
}

enum { TEXT_SIZE = 768 };

struct ps_arguments {
    const char *json;
    char **pids; /* process ids from the command line */
    int n;
    int shown;
    cJSON *rows; /* rows of JSON; NULL: print text */
};

/* The process that started the ranks: the launcher, and not the guard process between it and the
 * ranks. */
static pid_t starter_of(const struct tt_job_page *page, pid_t found_in)
{
    char name[32];
    pid_t rank = found_in;
    for (int r = page->size - 1; r >= 0; r--)
        if (page->rank[r].arena >= 0 && tt_roll_process(atomic_load(&page->rank[r].pid)))
            rank = atomic_load(&page->rank[r].pid);
    pid_t parent = parent_of(rank);
    bool is_guard = strcmp(proc_text(parent, "comm", name, sizeof name), "tutti-guard") == 0;
    return is_guard ? parent_of(parent) : parent;
}

static bool is_asked_for(const struct ps_arguments *a, const struct tt_job_page *page,
                         pid_t starter, pid_t found_in)
{
    bool asked = a->n == 0;
    for (int i = 0; i < a->n; i++) {
        int pid = atoi(a->pids[i]);
        asked = asked || pid == starter || pid == found_in;
        for (int r = 0; r < page->size; r++)
            asked = asked || (page->rank[r].arena >= 0 && atomic_load(&page->rank[r].pid) == pid);
    }
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
    case 0: return r->pid ? "gone" : "-";
    default: return "sleeping";
    }
}

/* The command line of the lowest rank that is here and still runs, or else of the process in which
 * the job was found. */
static char *program_of(const struct tt_job_page *page, pid_t found_in, char *text, size_t n)
{
    for (int r = 0; r < page->size; r++) {
        int pid = page->rank[r].arena >= 0 ? atomic_load(&page->rank[r].pid) : 0;
        if (pid > 0 && *proc_text(pid, "cmdline", text, n)) return text;
    }
    return proc_text(found_in, "cmdline", text, n);
}

/* ---- Text ---- */

static void print_job(const struct tt_job_page *page, pid_t found_in, pid_t starter)
{
    char program[80], name[32];
    program_of(page, found_in, program, sizeof program);
    proc_text(starter, "comm", name, sizeof name);
    double age = (double)(tt_clock_ns() - page->stamp) / 1e9;
    printf("%d %s of %s", page->size,
           page->threads     ? "threads"
           : page->size == 1 ? "rank"
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
    printf("%6d %8d  %-9s  %s\n", r, rank->pid, state_text(rank),
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
        struct tt_roll_rank rank = {.here = page->rank[r].arena >= 0,
                                    .pid = atomic_load(&page->rank[r].pid)};
        rank.state = rank.here ? tt_roll_process(rank.pid) : 0;
        printf("%6d %8d  %-9s  %s\n", r, rank.pid, state_text(&rank),
               "in no client of the library");
    }
}

/* ---- JSON ---- */

static void add_rows(cJSON *rows, const struct tt_roll *roll, pid_t found_in, pid_t starter)
{
    char text[TEXT_SIZE], program[TEXT_SIZE];
    program_of(roll->job, found_in, program, sizeof program);
    for (int r = 0; r < roll->job->size; r++) {
        const struct tt_roll_rank *rank = &roll->rank[r];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "started_by", starter);
        cJSON_AddStringToObject(row, "program", program);
        cJSON_AddNumberToObject(row, "client", (double)atomic_load(&roll->common->number) - 1);
        cJSON_AddNumberToObject(row, "rank", r);
        cJSON_AddNumberToObject(row, "pid", rank->pid);
        cJSON_AddStringToObject(row, "state", state_text(rank));
        cJSON_AddStringToObject(row, "doing", tt_roll_doing(roll, r, text, sizeof text));
        if (rank->waits)
            cJSON_AddNumberToObject(row, "for_s",
                                    (double)tt_max(0, roll->now_ns - rank->is.since_ns) / 1e9);
        cJSON_AddItemToArray(rows, row);
    }
}

/* ---- Jobs ---- */

static void show_clients(const struct ps_arguments *a, const struct found *found,
                         struct tt_job_page *page, pid_t starter)
{
    int clients = tt_roll_clients(page);
    for (int i = 0; i < TT_CLIENTS; i++) {
        struct tt_roll roll;
        if (!atomic_load(&tt_common_at(page, i)->number)) continue;
        if (tt_roll_read(&found->source, page, i, &roll) != TUTTI_OK) continue;
        if (a->rows)
            add_rows(a->rows, &roll, found->pid, starter);
        else
            print_roll(&roll, clients == 1);
        tt_roll_free(&roll);
    }
    if (clients == 0 && !a->rows) print_absent(page);
}

/* Shows one job. A job of another version of the library cannot be shown: prints so, unless the
 * user asked for certain processes. */
static void show_job(struct ps_arguments *a, const struct found *found)
{
    struct tt_job_page *page;
    if (tt_roll_page(&found->source, &page) != TUTTI_OK) {
        if (a->n == 0 && !a->rows)
            printf("a job of process %d cannot be shown: %s\n", (int)found->pid, tutti_error());
        return;
    }
    pid_t starter = page->threads ? 0 : starter_of(page, found->pid);
    if (is_asked_for(a, page, starter, found->pid)) {
        if (a->shown++ && !a->rows) printf("\n");
        if (!a->rows) print_job(page, found->pid, starter);
        show_clients(a, found, page, starter);
    }
    tt_free(page);
}

static int show_all(struct ps_arguments *a)
{
    struct jobs jobs;
    find_jobs(&jobs);
    if (jobs.no_memory) fprintf(stderr, "tutti ps: no memory for all jobs\n");
    for (int i = 0; i < jobs.n; i++) show_job(a, &jobs.job[i]);
    free_jobs(&jobs);
    if (a->rows && !tt_json_write(a->rows, a->json)) return TT_EXIT_FAILED;
    if (a->shown == 0 && !a->rows && jobs.n == 0)
        fprintf(stderr, "tutti ps: no job of this user runs on this machine\n");
    if (a->shown == 0 && a->n > 0)
        fprintf(stderr, "tutti ps: no job has such a rank or launcher\n");
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
