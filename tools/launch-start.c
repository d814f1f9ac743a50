/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the ranks' processes. Between fork and exec a rank can fail in a few ways. It reports that
 * through a pipe that exec closes, so a missing program is reported once, not once for each rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launch-guard.h"

/* Scripts use low descriptors for themselves, so the job's memory gets a higher one. */
enum { JOB_DESCRIPTOR = 64 };

/* The reason why a rank could not execute its program. The rank writes it in one write, so that it
 * never arrives in pieces. */
enum obstacle {
    OBSTACLE_EXEC,
    OBSTACLE_DESCRIPTORS,
    OBSTACLE_OUTPUT,
    OBSTACLE_FOLDER,
    OBSTACLE_BINDING
};
struct unstarted {
    enum obstacle obstacle;
    int error, rank;
};

const struct tt_launch_program *tt_launch_program_of(const struct tt_launch_options *options,
                                                     int rank)
{
    const struct tt_launch_program *program = options->program;
    for (; rank >= program->ranks; program++) rank -= program->ranks;
    return program;
}

int tt_launch_ranks(const struct tt_launch_options *options)
{
    int ranks = 0;
    for (int i = 0; i < options->programs; i++) ranks += options->program[i].ranks;
    return ranks;
}

static _Noreturn void give_up(const struct tt_guard *g, int rank, enum obstacle obstacle, int error)
{
    struct unstarted why = {.obstacle = obstacle, .error = error, .rank = rank};
    ssize_t written = write(g->unstarted_in, &why, sizeof why);
    (void)written; /* the exit code also shows the failure */
    _exit(TT_LAUNCH_REFUSED);
}

static bool set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return setenv(name, text, 1) == 0;
}

/* Sets the program's own variables, duplicates the job's memory to a descriptor that exec leaves
 * open, and sets the variables that name it. */
static bool set_environment(const struct tt_guard *g, int rank)
{
    const struct tt_launch_program *program = tt_launch_program_of(g->options, rank);
    int fd = fcntl(g->segment.fd, F_DUPFD, JOB_DESCRIPTOR);
    if (fd < 0) fd = dup(g->segment.fd);
    for (int i = 0; i < program->sets; i++)
        if (putenv(program->set[i]) != 0) return false;
    return fd >= 0 && set_number("TUTTI_RANK", rank) && set_number("TUTTI_SIZE", g->ranks) &&
           set_number("TUTTI_JOB", fd);
}

/* Replaces descriptor `to` by the rank's file in the output folder. All names have the same number
 * of digits. */
static bool set_file(const struct tt_guard *g, int rank, int to, const char *ending)
{
    char name[48], last[16];
    int digits = snprintf(last, sizeof last, "%d", g->ranks - 1);
    snprintf(name, sizeof name, "rank-%0*d.%s", digits, rank, ending);
    int fd = openat(g->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    return fd >= 0 && dup2(fd, to) >= 0;
}

/* After fork the process prints nothing itself, so its stderr may become the file. */
static bool set_files(const struct tt_guard *g, int rank)
{
    return g->folder < 0 ||
           (set_file(g, rank, STDOUT_FILENO, "out") && set_file(g, rank, STDERR_FILENO, "err"));
}

static bool set_descriptors(const struct tt_guard *g, int rank, const int out[2])
{
    if (rank > 0 && dup2(g->null, STDIN_FILENO) < 0) return false;
    if (!g->output) return true;
    return dup2(out[0], STDOUT_FILENO) >= 0 && dup2(out[1], STDERR_FILENO) >= 0;
}

/* Runs in the rank's own process, from fork to exec. */
static _Noreturn void become(const struct tt_guard *g, int rank, pid_t guard, const int out[2])
{
    const struct tt_launch_program *program = tt_launch_program_of(g->options, rank);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case guard and launcher are killed at the same time */
    if (getppid() != guard) _exit(TT_LAUNCH_REFUSED);
    if (!set_environment(g, rank) || !set_descriptors(g, rank, out))
        give_up(g, rank, OBSTACLE_DESCRIPTORS, errno);
    if (!set_files(g, rank)) give_up(g, rank, OBSTACLE_OUTPUT, errno);
    int error = tt_cores_bind(g->cores, rank);
    if (error) give_up(g, rank, OBSTACLE_BINDING, error);
    setrlimit(RLIMIT_NOFILE, &g->inherited->files);
    sigaction(SIGCHLD, &g->inherited->child, NULL);
    /* Ctrl-\ asks for the roll call, and reaches all ranks, too. A rank that does not handle it
     * itself ignores it. */
    signal(SIGQUIT, SIG_IGN);
    sigprocmask(SIG_SETMASK, &g->inherited->mask, NULL);
    if (program->folder && chdir(program->folder) != 0) give_up(g, rank, OBSTACLE_FOLDER, errno);
    execvp(program->argv[0], program->argv);
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
        tt_launch_say("cannot start rank %d of %d: %s%s", rank, g->ranks, strerror(error),
                      hint(error));
        return false;
    }
    g->rank[rank] = (struct tt_launch_rank){.pid = pid, .running = true};
    atomic_store(&tt_segment_page(&g->segment)->rank[rank].pid, pid);
    g->running++;
    tt_assert(tt_guard_valid(g));
    return true;
}

bool tt_launch_start(struct tt_guard *g)
{
    pid_t guard = getpid();
    bool started = true;
    tt_launch_say_places(g);
    for (int rank = 0; rank < g->ranks && started; rank++) started = start_one(g, rank, guard);
    tt_cores_started(g->cores);
    close(g->unstarted_in);
    g->unstarted_in = -1;
    return started;
}

/* Whether a program of that name is in a folder of PATH. If a folder of PATH cannot be searched,
 * execvp returns EACCES even if there is no such program. */
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

/* Whether the program exists; a relative name is looked up from the ranks' folder. */
static bool is_there(const struct tt_launch_program *program)
{
    int from = AT_FDCWD;
    if (program->folder) from = open(program->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool there = faccessat(from, program->argv[0], F_OK, 0) == 0;
    if (from >= 0) close(from);
    return there;
}

static int say_unrunnable(const struct tt_launch_program *program, int error)
{
    const char *name = program->argv[0], *in = program->folder ? " in " : "";
    const char *folder = program->folder ? program->folder : "";
    bool named = strchr(name, '/') != NULL;
    if (error == EACCES && !named && !is_in_path(name)) error = ENOENT;
    if (error == ENOENT && named && is_there(program))
        tt_launch_say(
            "cannot run %s%s%s: its interpreter (the #! line or the ELF loader) does not exist",
            name, in, folder);
    else if (error == ENOENT)
        tt_launch_say("cannot run %s%s%s: there is no such program", name, in, folder);
    else
        tt_launch_say("cannot run %s%s%s: %s", name, in, folder, strerror(error));
    return error == ENOENT ? TT_LAUNCH_NOT_FOUND : TT_LAUNCH_NOT_RUNNABLE;
}

static int say_unstarted(const struct tt_guard *g, const struct unstarted *why)
{
    const struct tt_launch_program *program = tt_launch_program_of(g->options, why->rank);
    switch (why->obstacle) {
    case OBSTACLE_EXEC: return say_unrunnable(program, why->error);
    case OBSTACLE_FOLDER:
        tt_launch_say("cannot run rank %d in the folder %s: %s", why->rank, program->folder,
                      strerror(why->error));
        return TT_LAUNCH_REFUSED;
    case OBSTACLE_OUTPUT:
        tt_launch_say("cannot write the output of rank %d to the folder %s: %s", why->rank,
                      g->options->output, strerror(why->error));
        return TT_LAUNCH_REFUSED;
    case OBSTACLE_DESCRIPTORS:
        tt_launch_say("cannot set up rank %d: %s%s", why->rank, strerror(why->error),
                      hint(why->error));
        return TT_LAUNCH_REFUSED;
    case OBSTACLE_BINDING:
        tt_launch_say("cannot bind rank %d: %s", why->rank, strerror(why->error));
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
    close(g->unstarted); /* all ranks have executed their programs, or `why` is the first failure */
    g->unstarted = -1;
    return n == sizeof why ? say_unstarted(g, &why) : 0;
}
