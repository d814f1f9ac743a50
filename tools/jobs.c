/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the jobs of this user on this machine.
 *
 * A job of processes has its memory in a memfd, for which each rank has a descriptor. A job of
 * threads has its memory in a large private mapping whose first word is a magic number. This file
 * copies the memory with pread(2) or process_vm_readv(2) and does not map it: if the memory
 * disappears meanwhile, the copy fails and no signal is raised, and no page is allocated for a hole
 * in the memory.
 */
#include "jobs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MEMORY_NAME "/memfd:tutti (deleted)"
#define THREADS_LEAST TT_GRAIN /* no smaller mapping can be the memory of a job of threads */

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

/* Returns the process id of the parent; 0 if it cannot be read. */
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

static struct tt_job_found *add(struct tt_jobs *jobs)
{
    if (jobs->n == jobs->room) {
        int room = 2 * jobs->room + 16;
        struct tt_job_found *more = tt_realloc(jobs->job, (size_t)room * sizeof *more);
        jobs->no_memory = jobs->no_memory || !more;
        if (!more) return NULL;
        jobs->job = more;
        jobs->room = room;
    }
    return &jobs->job[jobs->n++];
}

/* ---- Jobs of processes ---- */

static bool is_known(const struct tt_jobs *jobs, const struct stat *st)
{
    for (int i = 0; i < jobs->n; i++) {
        const struct tt_job_found *f = &jobs->job[i];
        if (f->file == st->st_ino && f->device == st->st_dev) return true;
    }
    return false;
}

static void add_file(struct tt_jobs *jobs, pid_t pid, int fd)
{
    struct stat st;
    struct tt_job_found *found = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !is_known(jobs, &st)) found = add(jobs);
    if (!found) {
        close(fd);
        return;
    }
    *found = (struct tt_job_found){
        .pid = pid,
        .device = st.st_dev,
        .file = st.st_ino,
        .source = {.fetch = fetch_file, .bytes = st.st_size, .handle = fd},
    };
}

static void look_at_descriptor(struct tt_jobs *jobs, pid_t pid, const char *path)
{
    char target[64];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n != (ssize_t)strlen(MEMORY_NAME) || memcmp(target, MEMORY_NAME, (size_t)n) != 0) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) add_file(jobs, pid, fd);
}

static void look_at_descriptors(struct tt_jobs *jobs, pid_t pid)
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

/* Adds the job whose memory is this mapping, if the page at its beginning has the magic number of a
 * job of threads. This page also says how long the memory is. */
static void look_at_mapping(struct tt_jobs *jobs, pid_t pid, uintptr_t begin, int64_t bytes)
{
    struct tt_job_page head;
    struct tt_source source = {
        .fetch = fetch_process, .base = begin, .bytes = bytes, .handle = pid};
    if (!source.fetch(&source, 0, &head, sizeof head) || head.magic != TT_JOB_MAGIC) return;
    if (!head.threads || head.arenas < 1) return;
    struct tt_job_found *found = add(jobs);
    if (!found) return;
    source.bytes = head.whole_bytes;
    *found = (struct tt_job_found){.pid = pid, .source = source};
}

static void look_at_mappings(struct tt_jobs *jobs, pid_t pid)
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

void tt_jobs_find(struct tt_jobs *jobs)
{
    *jobs = (struct tt_jobs){0};
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

void tt_jobs_free(struct tt_jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++)
        if (jobs->job[i].file) close(jobs->job[i].source.handle);
    tt_free(jobs->job);
}

/* ---- A job ---- */

pid_t tt_job_pid(const struct tt_job_page *page, int rank)
{
    const struct tt_job_rank *r = &page->rank[rank];
    return r->arena >= 0 && tt_roll_process(r) != TT_ROLL_UNSEEN ? atomic_load(&r->pid) : 0;
}

pid_t tt_job_starter(const struct tt_job_page *page, pid_t found_in, char name[TT_STARTER_NAME])
{
    pid_t rank = found_in;
    name[0] = '\0';
    if (page->threads) return 0;
    for (int r = page->size - 1; r >= 0; r--)
        if (tt_job_pid(page, r) && tt_roll_process(&page->rank[r])) rank = tt_job_pid(page, r);
    pid_t parent = parent_of(rank);
    if (strcmp(proc_text(parent, "comm", name, TT_STARTER_NAME), "tutti-guard") != 0) return parent;
    parent = parent_of(parent);
    proc_text(parent, "comm", name, TT_STARTER_NAME);
    return parent;
}

bool tt_job_has(const struct tt_job_page *page, pid_t starter, pid_t found_in, pid_t pid)
{
    bool has = pid == starter || pid == found_in;
    for (int r = 0; r < page->size; r++) has = has || tt_job_pid(page, r) == pid;
    return has;
}

/* Returns the id that a process has in its own PID namespace; 0 if it is not known. This id is the
 * last number in the line NSpid of /proc/PID/status; `pid`, its id in the PID namespace of this
 * process, is the first. */
static pid_t own_number_of(pid_t pid)
{
    char text[4096];
    const char *line = strstr(proc_text(pid, "status", text, sizeof text), "NSpid:");
    int number = 0, used;
    for (line = line ? line + 6 : ""; sscanf(line, " %d%n", &number, &used) == 1;) line += used;
    return number;
}

static bool is_alive(char state)
{
    return state && state != 'Z' && state != 'X';
}

/* Returns whether the rank runs on this machine. A rank in another PID namespace counts as running,
 * because this process cannot find out. */
static bool is_running(const struct tt_job_page *page, int rank)
{
    return page->rank[rank].arena >= 0 && is_alive(tt_roll_process(&page->rank[rank]));
}

/* Returns whether the job runs (jobs.h). A job of threads runs in the process that owns its memory.
 * A child of that process has a copy of the memory, so if the job was found in such a child, the
 * result is false. */
bool tt_job_runs(const struct tt_job_page *page, pid_t found_in)
{
    bool published = false;
    pid_t owner = page->threads ? own_number_of(found_in) : 0;
    for (int r = 0; r < page->size; r++) {
        pid_t pid = page->rank[r].arena >= 0 ? atomic_load(&page->rank[r].pid) : 0;
        if ((!page->threads || pid == owner) && is_running(page, r)) return true;
        published = published || pid > 0;
    }
    return !published;
}

char *tt_job_program(const struct tt_job_page *page, pid_t found_in, char *text, size_t n)
{
    char name[32];
    pid_t running = found_in;
    for (int r = page->size - 1; r >= 0; r--)
        if (tt_job_pid(page, r) && is_running(page, r)) running = tt_job_pid(page, r);
    if (!*proc_text(running, "cmdline", text, n))
        snprintf(text, n, "[%s]", proc_text(running, "comm", name, sizeof name));
    return text;
}
