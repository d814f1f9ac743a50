/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends a whole tree of processes, whatever they do to escape. Processes that lost their parent
 * become children of this process (it is a subreaper), so each round finds all descendants in /proc
 * and kills them, until a round finds none.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch-guard.h"

struct process {
    pid_t pid, parent;
    char state;
    bool ours;
    unsigned long long started;
};

struct processes {
    struct process *list;
    size_t n, room;
};

/* The processes that one round has found. killed: how many it has killed; ended: how many had
 * ended, but were not collected yet; refused: how many this user may not kill. */
struct round {
    size_t killed, ended, refused;
};

/* Reads fields 3, 4 and 22 of /proc/PID/stat. Field 2, a name in brackets, may contain anything. */
static bool read_process(pid_t pid, struct process *p)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *after_name = strrchr(text, ')');
    *p = (struct process){.pid = pid};
    return after_name && sscanf(after_name + 1,
                                " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                                "%*d %*d %*d %llu",
                                &p->state, &p->parent, &p->started) == 3;
}

unsigned long long tt_tree_started(pid_t pid)
{
    struct process p;
    return read_process(pid, &p) ? p.started : 0;
}

static bool add(struct processes *all, const struct process *p)
{
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        struct process *list = tt_realloc(all->list, room * sizeof *list);
        if (!list) return false;
        all->list = list;
        all->room = room;
    }
    all->list[all->n++] = *p;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void scan(struct processes *all)
{
    all->n = 0;
    DIR *dir = opendir("/proc");
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct process p;
        pid_t pid = atoi(entry->d_name);
        if (pid > 0 && read_process(pid, &p) && !add(all, &p)) break;
    }
    closedir(dir);
    if (all->n > 0) qsort(all->list, all->n, sizeof *all->list, by_pid);
}

static bool is_ours(const struct processes *all, const struct process *p, unsigned long long since)
{
    if (p->parent == getpid()) return p->started >= since;
    struct process key = {.pid = p->parent};
    const struct process *parent = bsearch(&key, all->list, all->n, sizeof key, by_pid);
    return parent && parent->ours;
}

/* Marks the descendants of this process that started at `since` or later. Goes through the list
 * until nothing changes, because a child may come before its parent in the list. */
static void mark_ours(struct processes *all, unsigned long long since)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < all->n; i++) {
            struct process *p = &all->list[i];
            if (p->ours || !is_ours(all, p, since)) continue;
            p->ours = changed = true;
        }
    }
}

static void end_one(const struct process *p, struct round *round)
{
    if (p->state == 'Z' || p->state == 'X') {
        round->ended++;
        if (p->parent == getpid()) waitpid(p->pid, NULL, WNOHANG);
    } else if (kill(p->pid, SIGKILL) == 0) {
        round->killed++;
    } else if (errno == EPERM) {
        round->refused++;
    }
}

static struct round end_all(struct processes *all, unsigned long long since)
{
    struct round round = {0};
    scan(all);
    mark_ours(all, since);
    for (size_t i = 0; i < all->n; i++) {
        if (all->list[i].ours) end_one(&all->list[i], &round);
    }
    return round;
}

/* Collects children that have ended. Returns whether this process has no child any more. A process
 * that is forked during a scan of /proc may be missing in the scan; but when its parent is killed,
 * it becomes a child of this process. */
static bool has_no_child(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void pause_ms(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

/* Repeats the rounds until no descendant is left, and prints an error if some cannot be ended. If
 * this process has other children (not `alone`), it stops when two rounds in a row have found
 * nothing. */
static void end_rounds(struct processes *all, unsigned long long since, bool alone)
{
    bool said = false;
    int clean = 0;
    for (int round = 0; clean < 2 && !(alone && has_no_child()); round++) {
        struct round found = end_all(all, since);
        if (all->n == 0) {
            tt_launch_say("cannot read /proc: processes that ranks have started may go on");
            return;
        }
        if (found.killed == 0 && found.refused > 0) {
            tt_launch_say("%zu processes of the job belong to another user and go on",
                          found.refused);
            return;
        }
        if (found.killed > 0 && round > 2500 && !said) {
            said = true;
            tt_launch_say("%zu processes do not die of SIGKILL; waiting for them", found.killed);
        }
        clean = found.killed + found.ended == 0 && !alone ? clean + 1 : 0;
        pause_ms(2);
    }
}

void tt_tree_end(unsigned long long since, bool alone)
{
    struct processes all = {0};
    end_rounds(&all, since, alone);
    tt_free(all.list);
}
