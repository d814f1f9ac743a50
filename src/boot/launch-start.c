/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making the ranks' processes. Between fork and exec a rank can fail in a few ways; it tells through
 * a pipe that exec closes, so that a program that is not there is told once, not once a rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "boot/launch-guard.h"

/* Descriptors below are what scripts use for themselves. */
enum { JOB_DESCRIPTOR = 64 };

/* What kept a rank from becoming its program; one write, so never in pieces. */
enum obstacle { OBSTACLE_EXEC, OBSTACLE_DESCRIPTORS, OBSTACLE_BINDING };
struct unstarted {
    enum obstacle obstacle;
    int error, rank;
};

static _Noreturn void give_up(const struct tt_guard *g, int rank, enum obstacle obstacle, int error)
{
    struct unstarted why = {.obstacle = obstacle, .error = error, .rank = rank};
    ssize_t written = write(g->unstarted_in, &why, sizeof why);
    (void)written; /* the exit code tells as well */
    _exit(TT_LAUNCH_REFUSED);
}

static bool set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return setenv(name, text, 1) == 0;
}

/* The job's memory as a descriptor that exec leaves open, and the variables that tell of it. */
static bool set_environment(const struct tt_guard *g, int rank)
{
    int fd = fcntl(g->segment.fd, F_DUPFD, JOB_DESCRIPTOR);
    if (fd < 0) fd = dup(g->segment.fd);
    return fd >= 0 && set_number("TUTTI_RANK", rank) &&
           set_number("TUTTI_SIZE", g->options->ranks) && set_number("TUTTI_JOB", fd);
}

static bool set_descriptors(const struct tt_guard *g, int rank, const int out[2])
{
    if (rank > 0 && dup2(g->null, STDIN_FILENO) < 0) return false;
    if (!g->output) return true;
    return dup2(out[0], STDOUT_FILENO) >= 0 && dup2(out[1], STDERR_FILENO) >= 0;
}

/* The rank's own process, from fork to exec. */
static _Noreturn void become(const struct tt_guard *g, int rank, pid_t guard, const int out[2])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should both guard and launcher be killed at once */
    if (getppid() != guard) _exit(TT_LAUNCH_REFUSED);
    if (!set_environment(g, rank) || !set_descriptors(g, rank, out))
        give_up(g, rank, OBSTACLE_DESCRIPTORS, errno);
    int error = g->cores ? tt_cores_bind(g->cores, rank) : 0;
    if (error) give_up(g, rank, OBSTACLE_BINDING, error);
    setrlimit(RLIMIT_NOFILE, &g->inherited->files);
    sigaction(SIGCHLD, &g->inherited->child, NULL);
    /* Ctrl-\ asks for the roll call, and reaches all ranks, too: those that do not handle it
     * themselves go on. */
    signal(SIGQUIT, SIG_IGN);
    sigprocmask(SIG_SETMASK, &g->inherited->mask, NULL);
    execvp(g->options->argv[0], g->options->argv);
    give_up(g, rank, OBSTACLE_EXEC, errno);
}

static const char *hint(int error)
{
    switch (error) {
    case EAGAIN: return " (a limit on processes: ulimit -u, or the container's)";
    case EMFILE: return " (a limit on descriptors: ulimit -n)";
    case ENOMEM: return " (memory for processes)";
    default: return "";
    }
}

static bool start_one(struct tt_guard *g, int rank, pid_t guard)
{
    int out[2] = {-1, -1};
    if (g->output && !tt_output_pipes(g->output, rank, out)) return false;
    pid_t pid = fork();
    int error = errno;
    if (pid == 0) become(g, rank, guard, out);
    if (g->output) {
        close(out[0]);
        close(out[1]);
    }
    if (pid < 0) {
        tt_launch_say("cannot start rank %d of %d: %s%s", rank, g->options->ranks, strerror(error),
                      hint(error));
        return false;
    }
    g->rank[rank] = (struct tt_launch_rank){.pid = pid, .running = true};
    atomic_store(&tt_segment_page(&g->segment)->rank[rank].pid, pid);
    g->running++;
    return true;
}

bool tt_launch_start(struct tt_guard *g)
{
    pid_t guard = getpid();
    bool started = true;
    for (int rank = 0; rank < g->options->ranks && started; rank++)
        started = start_one(g, rank, guard);
    close(g->unstarted_in);
    g->unstarted_in = -1;
    return started;
}

/* Whether a program of that name is anywhere in PATH. Where a folder of it cannot be looked into,
 * execvp says EACCES, also if there is none. */
static bool is_in_path(const char *program)
{
    char file[PATH_MAX];
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        int used = snprintf(file, sizeof file, "%.*s/%s", (int)n, n ? path : ".", program);
        if (used < (int)sizeof file && access(file, F_OK) == 0) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static int say_unrunnable(const char *program, int error)
{
    bool named = strchr(program, '/') != NULL;
    if (error == EACCES && !named && !is_in_path(program)) error = ENOENT;
    if (error == ENOENT && named && access(program, F_OK) == 0)
        tt_launch_say("cannot run %s: what it is to be interpreted by is not there", program);
    else if (error == ENOENT)
        tt_launch_say("cannot run %s: there is no such program", program);
    else
        tt_launch_say("cannot run %s: %s", program, strerror(error));
    return error == ENOENT ? TT_LAUNCH_NOT_FOUND : TT_LAUNCH_NOT_RUNNABLE;
}

static int say_unstarted(const struct tt_guard *g, const struct unstarted *why)
{
    switch (why->obstacle) {
    case OBSTACLE_EXEC: return say_unrunnable(g->options->argv[0], why->error);
    case OBSTACLE_DESCRIPTORS:
        tt_launch_say("cannot set up rank %d: %s%s", why->rank, strerror(why->error),
                      hint(why->error));
        return TT_LAUNCH_REFUSED;
    case OBSTACLE_BINDING:
        tt_launch_say("cannot bind rank %d to a core: %s", why->rank, strerror(why->error));
        return TT_LAUNCH_REFUSED;
    }
    return TT_LAUNCH_REFUSED;
}

int tt_launch_unstarted(struct tt_guard *g)
{
    struct unstarted why;
    if (g->unstarted < 0) return 0;
    ssize_t n = read(g->unstarted, &why, sizeof why);
    if (n < 0 && errno == EAGAIN) return 0;
    close(g->unstarted); /* every rank has become its program; or one has not, which is enough */
    g->unstarted = -1;
    return n == sizeof why ? say_unstarted(g, &why) : 0;
}
