/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the launcher's lines about ranks. The first failure is the cause and gets a line of its
 * own. Ranks that fail because of it share one line for each way in which they ended.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch-guard.h"

enum { LINE_SIZE = 1024, NAMES_SIZE = 400, HOW_SIZE = 160 };

void tt_launch_say(const char *format, ...)
{
    char line[LINE_SIZE] = "tutti: ";
    const size_t begin = strlen(line);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line + begin, sizeof line - begin - 1, format, args);
    va_end(args);
    size_t used = begin + (size_t)tt_min(tt_max(length, 0), (int64_t)(sizeof line - begin - 2));
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* if stderr cannot be written, there is no place to report this */
}

const char *tt_launch_hint(int error)
{
    switch (error) {
    case EAGAIN: return " (a limit on processes: ulimit -u, or the container's)";
    case EMFILE: return " (a limit on descriptors: ulimit -n)";
    case EFBIG: return " (a limit on the size of files: ulimit -f)";
    case ENOMEM: return " (memory for processes, or a limit on address space: ulimit -v)";
    default: return "";
    }
}

static const char *how(int status, char text[HOW_SIZE])
{
    if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        snprintf(text, HOW_SIZE, "killed by signal %d (%s)", signal, strsignal(signal));
    } else {
        snprintf(text, HOW_SIZE, "exited with code %d", WEXITSTATUS(status));
    }
    return text;
}

/* Returns the version of the library to which the rank is linked (it records the version in the
 * job's page), if this is not the version of this command; otherwise NULL. */
static const char *other_version(const struct tt_guard *g, int rank)
{
    const struct tt_job_page *job = tt_segment_page(&g->segment);
    const char *version = job->rank[rank].version;
    return *version && strncmp(version, job->version, sizeof job->version) != 0 ? version : NULL;
}

/* Returns whether the loader or a shell probably ended the rank, since it did not find a library or
 * a command: code 127 says this, and the rank has not joined the job. */
static bool lacks_something(const struct tt_guard *g, int rank)
{
    int status = g->rank[rank].status;
    return WIFEXITED(status) && WEXITSTATUS(status) == 127 &&
           !*tt_segment_page(&g->segment)->rank[rank].version;
}

void tt_launch_say_end(const struct tt_guard *g, int rank)
{
    char text[HOW_SIZE], mine[TT_VERSION];
    const struct tt_launch_rank *r = &g->rank[rank];
    const char *version = other_version(g, rank);
    if (version)
        tt_launch_say(
            "rank %d (pid %d) %s: it is linked to version %.23s of the library, this is %s", rank,
            (int)r->pid, how(r->status, text), version, tt_version(mine));
    else if (lacks_something(g, rank))
        tt_launch_say("rank %d (pid %d) %s: it found no library, or no command, of the name that "
                      "is printed above; if this is libtutti.so, set LD_LIBRARY_PATH to its folder",
                      rank, (int)r->pid, how(r->status, text));
    else
        tt_launch_say("rank %d (pid %d) %s", rank, (int)r->pid, how(r->status, text));
}

/* Appends "FIRST-LAST", with a comma before it unless `begins` is true. If the text would become
 * too long, appends "..." instead. */
static void append_range(char *text, size_t n, int first, int last, bool begins)
{
    size_t used = strlen(text);
    const char *comma = begins ? "" : ",";
    if (used + 32 > n)
        snprintf(text + used, n - used, "%s", text[used - 1] == '.' ? "" : ",...");
    else if (first == last)
        snprintf(text + used, n - used, "%s%d", comma, first);
    else
        snprintf(text + used, n - used, "%s%d-%d", comma, first, last);
}

bool tt_launch_names(const struct tt_guard *g, tt_launch_member *member, int like, char *text,
                     size_t n)
{
    int found = 0;
    for (int i = 0; i < g->ranks; i++) found += member(&g->rank[i], like);
    snprintf(text, n, "%s ", found == 1 ? "rank" : "ranks");
    bool begins = true;
    for (int i = 0; i < g->ranks; i++) {
        int first = i;
        while (i < g->ranks && member(&g->rank[i], like)) i++;
        if (i == first) continue;
        append_range(text, n, first, i - 1, begins);
        begins = false;
    }
    return found > 0;
}

static bool is_unsaid(const struct tt_launch_rank *rank, int status)
{
    return rank->unsaid && rank->status == status;
}

static bool is_deserted(const struct tt_launch_rank *rank, int like)
{
    (void)like;
    return rank->deserted;
}

static bool is_lost(const struct tt_launch_rank *rank, int like)
{
    (void)like;
    return rank->lost;
}

static void say_all_like(struct tt_guard *g, int status)
{
    char names[NAMES_SIZE], text[HOW_SIZE];
    tt_launch_names(g, is_unsaid, status, names, sizeof names);
    tt_launch_say("then %s %s", names, how(status, text));
    for (int i = 0; i < g->ranks; i++) {
        if (is_unsaid(&g->rank[i], status)) g->rank[i].unsaid = false;
    }
}

/* Prints a line for each rank that is linked to another version of the library. Such a rank is the
 * cause of a failure, whichever rank ended first. */
static void say_other_versions(struct tt_guard *g)
{
    for (int i = 0; i < g->ranks; i++) {
        if (!g->rank[i].unsaid || !other_version(g, i)) continue;
        tt_launch_say_end(g, i);
        g->rank[i].unsaid = false;
    }
}

void tt_launch_say_places(const struct tt_guard *g)
{
    char where[LINE_SIZE / 2];
    const struct tt_launch_options *o = g->options;
    if (!o->report_bindings && !o->display_map) return;
    for (int i = 0; i < g->ranks; i++) {
        tt_cores_print(g->cores, i, where, sizeof where);
        if (o->display_map)
            tt_launch_say("rank %d: %s: %s", i, tt_launch_program_of(o, i)->argv[0], where);
        else
            tt_launch_say("rank %d: %s", i, where);
    }
}

void tt_launch_say_rest(struct tt_guard *g)
{
    char names[NAMES_SIZE];
    say_other_versions(g);
    for (int i = 0; i < g->ranks; i++) {
        if (g->rank[i].unsaid) say_all_like(g, g->rank[i].status);
    }
    if (tt_launch_names(g, is_deserted, 0, names, sizeof names))
        tt_launch_say("%s exited without tutti_finalize", names);
    if (g->code == 0 && tt_launch_names(g, is_lost, 0, names, sizeof names))
        tt_launch_say("%s %s lost; the others ended with code 0, and so does the job", names,
                      strncmp(names, "rank ", 5) == 0 ? "was" : "were");
}
