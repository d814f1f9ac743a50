/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The guard is the parent of all ranks, and forks their processes. A rank that fails between fork
 * and exec reports the reason through a pipe that exec closes. So the guard prints once that a
 * program is missing, and not once for each rank. After the start the guard waits for events (a
 * rank ends, a deadline passes, the launcher passes a signal on or ends), and at last it ends all
 * processes that are left. When the ranks are started, the guard makes a session of its own. So a
 * signal that kills the launcher's whole process group leaves the guard to clean up.
 */
#include "launch-guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/fabric.h"

/* ---- Starting the ranks ---- */

/* The descriptor of the job's memory in the ranks. Shell scripts use low descriptors themselves, so
 * this one is higher. */
enum { JOB_DESCRIPTOR = 64 };

/* The reason why a rank could not execute its program. The rank sends a struct unstarted in one
 * write, so that the guard never reads a part of it. */
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

/* Returns the number of ranks of all programs together. */
static int ranks_of(const struct tt_launch_options *options)
{
    int ranks = 0;
    for (int i = 0; i < options->programs; i++) ranks += options->program[i].ranks;
    return ranks;
}

static _Noreturn void give_up(const struct tt_guard *g, int rank, enum obstacle obstacle, int error)
{
    struct unstarted why = {.obstacle = obstacle, .error = error, .rank = rank};
    ssize_t written = write(g->unstarted_in, &why, sizeof why);
    (void)written; /* if the write fails, the exit code still says that the rank failed */
    _exit(TT_LAUNCH_REFUSED);
}

static bool set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return setenv(name, text, 1) == 0;
}

/* Sets the program's own variables, and duplicates the descriptor of the job's memory to one that
 * exec leaves open. Sets the variables that contain the number of this duplicate, the rank and the
 * number of ranks. */
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

/* Opens the rank's file in the output folder as descriptor `to` (standard output or error). In the
 * names of the files, all ranks have the same number of digits. */
static bool set_file(const struct tt_guard *g, int rank, int to, const char *ending)
{
    char name[48], last[16];
    int digits = snprintf(last, sizeof last, "%d", g->ranks - 1);
    snprintf(name, sizeof name, "rank-%0*d.%s", digits, rank, ending);
    int fd = openat(g->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    return fd >= 0 && dup2(fd, to) >= 0;
}

/* Redirects standard output and error to files if there is an output folder. The process may do so
 * before exec, because it prints no errors itself (it reports them through a pipe). */
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
    /* so the rank does not go on if guard and launcher are killed at the same time */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) _exit(TT_LAUNCH_REFUSED);
    /* not done by the guard, which might replace what the rank itself has recorded by then */
    tt_segment_set_process(&tt_segment_page(&g->segment)->rank[rank], getpid());
    if (!set_environment(g, rank) || !set_descriptors(g, rank, out))
        give_up(g, rank, OBSTACLE_DESCRIPTORS, errno);
    if (!set_files(g, rank)) give_up(g, rank, OBSTACLE_OUTPUT, errno);
    int error = tt_cores_bind(g->cores, rank);
    if (error) give_up(g, rank, OBSTACLE_BINDING, error);
    setrlimit(RLIMIT_NOFILE, &g->inherited->files);
    sigaction(SIGCHLD, &g->inherited->child, NULL);
    /* Ctrl-\ asks the launcher for the roll call, but the terminal sends SIGQUIT to all ranks, too.
     * Ranks ignore this signal unless their program handles it. */
    signal(SIGQUIT, SIG_IGN);
    sigprocmask(SIG_SETMASK, &g->inherited->mask, NULL);
    if (program->folder && chdir(program->folder) != 0) give_up(g, rank, OBSTACLE_FOLDER, errno);
    execvp(program->argv[0], program->argv);
    give_up(g, rank, OBSTACLE_EXEC, errno);
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
                      tt_launch_hint(error));
        return false;
    }
    g->rank[rank] = (struct tt_launch_rank){.pid = pid, .running = true};
    g->running++;
    tt_assert(tt_guard_valid(g));
    return true;
}

/* Starts all ranks. Returns false, after printing the error, if a rank could not be started. */
static bool start_all(struct tt_guard *g)
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

/* Returns whether a program of that name is in a folder of PATH. The errno of execvp does not show
 * this: it is EACCES if a folder of PATH cannot be searched, even if there is no such program. */
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

/* Returns whether the program exists, and sets *is to what stat returns for it. A relative name is
 * looked up from the folder in which the ranks run. */
static bool is_there(const struct tt_launch_program *program, struct stat *is)
{
    int from = AT_FDCWD;
    if (program->folder) from = open(program->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool there = fstatat(from, program->argv[0], is, 0) == 0;
    if (from >= 0) close(from);
    return there;
}

static int say_unrunnable(const struct tt_launch_program *program, int error)
{
    const char *name = program->argv[0], *in = program->folder ? " in " : "";
    const char *folder = program->folder ? program->folder : "";
    struct stat is;
    bool named = strchr(name, '/') != NULL, there = named && is_there(program, &is);
    bool here = !named && is_there(program, &is) && S_ISREG(is.st_mode);
    if (error == EACCES && !named && !is_in_path(name)) error = ENOENT;
    if (error == ENOENT && there)
        tt_launch_say(
            "cannot run %s%s%s: its interpreter (the #! line or the ELF loader) does not exist",
            name, in, folder);
    else if (error == ENOENT && here)
        tt_launch_say(
            "cannot run %s%s%s: no folder of PATH has such a program; ./%s is the file in "
            "the current folder%s",
            name, in, folder, name, is.st_mode & 0111 ? "" : ", which is not executable");
    else if (error == ENOENT)
        tt_launch_say("cannot run %s%s%s: there is no such program", name, in, folder);
    else if (there && S_ISDIR(is.st_mode))
        tt_launch_say("cannot run %s%s%s: it is a folder", name, in, folder);
    else if (error == EACCES && there && !(is.st_mode & 0111))
        tt_launch_say("cannot run %s%s%s: the file is not executable; `chmod +x` makes a program "
                      "executable",
                      name, in, folder);
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
                      tt_launch_hint(why->error));
        return TT_LAUNCH_REFUSED;
    case OBSTACLE_BINDING:
        tt_launch_say("cannot bind rank %d: %s%s", why->rank, strerror(why->error),
                      tt_launch_hint(why->error));
        return TT_LAUNCH_REFUSED;
    }
    return TT_LAUNCH_REFUSED;
}

/* If a rank reported through the pipe that it could not execute its program, prints the error, once
 * for all ranks, and returns the exit code for the job; otherwise returns 0. */
static int report_unstarted(struct tt_guard *g)
{
    struct unstarted why;
    if (g->unstarted < 0) return 0;
    ssize_t n = read(g->unstarted, &why, sizeof why);
    if (n < 0 && errno == EAGAIN) return 0;
    /* The pipe has ended because all ranks have executed their programs, or `why` is the report of
     * the first rank that could not. */
    close(g->unstarted);
    g->unstarted = -1;
    return n == sizeof why ? say_unstarted(g, &why) : 0;
}

#define SECOND_NS INT64_C(1000000000)

enum { NAMES_SIZE = 400 };

/* grace_ns: the time from the first failure of a rank until the other ranks are asked to end.
 * asked_ns: the time from this request until they are killed. */
static const int64_t grace_ns = SECOND_NS, asked_ns = SECOND_NS / 3;

static bool is_running(const struct tt_launch_rank *rank, int like)
{
    (void)like;
    return rank->running;
}

static void signal_ranks(const struct tt_guard *g, int number)
{
    for (int i = 0; i < g->ranks; i++) {
        if (g->rank[i].running) kill(g->rank[i].pid, number);
    }
}

/* Asks the ranks to end by SIGTERM. SIGCONT follows, because a stopped rank does not handle SIGTERM
 * before it continues. */
static void begin_ending(struct tt_guard *g)
{
    g->phase = TT_GUARD_ENDING;
    g->deadline_ns = tt_clock_ns() + asked_ns;
    signal_ranks(g, SIGTERM);
    signal_ranks(g, SIGCONT);
}

static void first_failure(struct tt_guard *g, int code)
{
    g->code = code;
    if (g->options->on_failure != TT_ON_FAILURE_END) return;
    g->phase = TT_GUARD_GRACE;
    g->deadline_ns = tt_clock_ns() + grace_ns;
}

/* ---- Ranks that end ---- */

/* Returns the cause that the other ranks see for the end of a rank that has exited. TT_CAUSE_LEFT
 * means that the rank had no client any more: its last call was tutti_finalize or a tutti_init that
 * failed. */
static enum tt_cause cause_of_exit(const struct tt_job_rank *rank)
{
    if (atomic_load(&rank->rank_status.state) == TT_RANK_ABSENT) return TT_CAUSE_ABSENT;
    return atomic_load(&rank->clients) > 0 ? TT_CAUSE_EXIT : TT_CAUSE_LEFT;
}

/* Returns whether a rank that has failed is lost, which means that the job may still succeed
 * without it. This is so if the user asked for TT_ON_FAILURE_CONTINUE, and a signal killed the rank
 * or it exited before it called tutti_finalize. The other ranks can recover from such losses,
 * however many there are. A rank that exits with a code other than 0 after tutti_finalize is not
 * lost, because its code reports an error. If the user asked the job to end, no rank counts as
 * lost. */
static bool is_loss(const struct tt_guard *g, int rank)
{
    if (g->options->on_failure != TT_ON_FAILURE_CONTINUE || g->asked) return false;
    return WIFSIGNALED(g->rank[rank].status) ||
           cause_of_exit(&tt_segment_page(&g->segment)->rank[rank]) != TT_CAUSE_LEFT;
}

static void lose(struct tt_guard *g, int rank, int code)
{
    g->rank[rank].lost = true;
    if (g->first_code == 0) g->first_code = code;
}

static void rank_failed(struct tt_guard *g, int rank, int code)
{
    int status = g->rank[rank].status;
    bool lost = is_loss(g, rank);
    enum tt_cause cause = WIFSIGNALED(status) ? TT_CAUSE_SIGNAL : TT_CAUSE_EXIT;
    tt_job_fail(tt_segment_page(&g->segment), rank, cause,
                WIFSIGNALED(status) ? WTERMSIG(status) : code);
    /* the ranks were asked to end, so their failures are not reported */
    if (g->phase == TT_GUARD_ENDING) return;
    if (g->code == 0 || g->options->on_failure != TT_ON_FAILURE_END)
        tt_launch_say_end(g, rank);
    else
        g->rank[rank].unsaid = true;
    if (lost)
        lose(g, rank, code);
    else if (g->code == 0)
        first_failure(g, code);
}

/* If every rank was lost (is_loss), the job fails with the exit code of the first rank that was
 * lost: no rank is left that could recover. */
static void settle_losses(struct tt_guard *g)
{
    int lost = 0;
    for (int i = 0; i < g->ranks; i++) lost += g->rank[i].lost;
    if (g->code == 0 && lost == g->ranks) g->code = g->first_code;
}

/* Records that a rank has exited with 0. The job goes on, but the other ranks must not wait for
 * this rank. */
static void rank_done(struct tt_guard *g, int rank)
{
    struct tt_job_page *job = tt_segment_page(&g->segment);
    enum tt_cause cause = cause_of_exit(&job->rank[rank]);
    g->rank[rank].deserted = cause == TT_CAUSE_EXIT;
    tt_job_fail(job, rank, cause, 0);
}

static void rank_ended(struct tt_guard *g, int rank, int status)
{
    g->rank[rank].running = false;
    g->rank[rank].status = status;
    g->running--;
    tt_assert(tt_guard_valid(g));
    int code = WIFSIGNALED(status) ? TT_LAUNCH_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    if (code != 0)
        rank_failed(g, rank, code);
    else
        rank_done(g, rank);
    tt_trace_ended(&g->segment, rank);
}

static int rank_of(const struct tt_guard *g, pid_t pid)
{
    int rank = 0;
    while (rank < g->ranks && (g->rank[rank].pid != pid || !g->rank[rank].running)) rank++;
    return rank;
}

/* Collects children that have ended, and records the ends of ranks. The other children are
 * processes that ranks have left behind, about which nothing is recorded. */
static void collect(struct tt_guard *g)
{
    struct signalfd_siginfo info;
    while (read(g->children, &info, sizeof info) == sizeof info) continue;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        int rank = rank_of(g, pid);
        if (rank < g->ranks) rank_ended(g, rank, status);
    }
}

/* Kills the ranks that still run, and records how they ended. Waits no longer than a second: if a
 * process is stuck in the kernel, tt_tree_end waits for it later and prints a message. */
static void end_ranks(struct tt_guard *g)
{
    int64_t until_ns = tt_clock_ns() + SECOND_NS;
    g->phase = TT_GUARD_ENDING;
    signal_ranks(g, SIGKILL);
    while (g->running > 0 && tt_clock_ns() < until_ns) {
        struct pollfd children = {.fd = g->children, .events = POLLIN};
        (void)poll(&children, 1, 10);
        collect(g);
    }
}

/* ---- Events ---- */

static void call_roll(const struct tt_guard *g, const char *heading)
{
    if (g->options->call_roll) g->options->call_roll(&g->segment, heading);
}

static void deadline_passed(struct tt_guard *g)
{
    char names[NAMES_SIZE], seconds[32];
    tt_launch_names(g, is_running, 0, names, sizeof names);
    if (g->phase == TT_GUARD_GRACE) {
        tt_launch_say("ending %s, still running 1 s later", names);
    } else {
        snprintf(seconds, sizeof seconds, "%g", (double)g->options->timeout_ns / SECOND_NS);
        call_roll(g, "the time is over: roll call");
        tt_launch_say("timed out after %s s: ending %s", seconds, names);
        g->code = TT_LAUNCH_TIMED_OUT;
    }
    begin_ending(g);
}

/* Passes a signal on to the ranks, unless `heard` says that they have got it already. Returns
 * whether the signal asks the job to end. */
static bool pass_on(const struct tt_guard *g, int number, bool heard)
{
    /* Sends SIGSTOP instead of SIGTSTP: the kernel drops SIGTSTP for a process group that has no
     * parent in its session. */
    if (!heard) signal_ranks(g, number == SIGTSTP ? SIGSTOP : number);
    if (number == SIGQUIT) call_roll(g, "SIGQUIT: roll call");
    return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

static bool hear_launcher(struct tt_guard *g)
{
    unsigned char byte[16];
    bool end = false;
    ssize_t n = recv(g->launcher, byte, sizeof byte, MSG_DONTWAIT);
    for (ssize_t i = 0; i < n; i++) {
        int number = byte[i] & ~TT_LAUNCH_HEARD;
        end = pass_on(g, number, number != byte[i]) || end;
    }
    g->orphaned = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    return end || g->orphaned;
}

/* Passes on signals that were sent to the guard itself: a user who looks for the process of `tutti
 * run` may find the guard instead. Returns whether a signal asks the job to end. */
static bool hear_user(const struct tt_guard *g)
{
    struct signalfd_siginfo info;
    bool end = false;
    while (read(g->signals, &info, sizeof info) == sizeof info)
        end = pass_on(g, (int)info.ssi_signo, false) || end;
    return end;
}

static int wait_ms(const struct tt_guard *g)
{
    if (g->deadline_ns == INT64_MAX) return -1;
    int64_t left = tt_div_up(tt_max(g->deadline_ns - tt_clock_ns(), 0), 1000000);
    return (int)tt_min(left, INT_MAX);
}

/* Handles events until no rank runs, or until the ranks that still run must be killed. */
static void watch(struct tt_guard *g)
{
    while (g->running > 0 && !g->orphaned) {
        struct pollfd what[] = {{.fd = g->launcher, .events = POLLIN},
                                {.fd = g->children, .events = POLLIN},
                                {.fd = g->unstarted, .events = POLLIN},
                                {.fd = g->signals, .events = POLLIN}};
        int ready = poll(what, 4, wait_ms(g));
        int unstarted = ready > 0 ? report_unstarted(g) : 0;
        if (unstarted != 0) {
            g->code = unstarted;
            return;
        }
        if (ready > 0 && what[0].revents) g->asked = hear_launcher(g) || g->asked;
        if (ready > 0 && what[1].revents) collect(g);
        if (ready > 0 && what[3].revents) g->asked = hear_user(g) || g->asked;
        if (g->running == 0 || tt_clock_ns() < g->deadline_ns) continue;
        if (g->phase == TT_GUARD_ENDING) return;
        deadline_passed(g);
    }
}

/* ---- From beginning to end ---- */

static bool open_descriptors(struct tt_guard *g)
{
    sigset_t all, child;
    sigfillset(&all); /* the launcher passes on signals that the whole process group gets */
    sigprocmask(SIG_BLOCK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int ends[2] = {-1, -1};
    g->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    g->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool piped = g->null >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    g->unstarted = ends[0];
    g->unstarted_in = ends[1];
    if (g->children >= 0 && piped) return true;
    tt_launch_say("cannot start: %s%s%s", g->null < 0 ? "/dev/null: " : "", strerror(errno),
                  tt_launch_hint(errno));
    return false;
}

/* Opens the output folder before the ranks are started, because the programs may run in other
 * folders, and the name may be relative. */
static bool open_folder(struct tt_guard *g)
{
    const char *name = g->options->output;
    if (!name) return true;
    g->folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (g->folder < 0) tt_launch_say("cannot write to the folder %s: %s", name, strerror(errno));
    return g->folder >= 0;
}

static bool make_job(struct tt_guard *g)
{
    const struct tt_launch_options *o = g->options;
    errno = 0; /* tt_segment_create may fail without a system error; errno is 0 then */
    if (tt_segment_create(&g->segment, g->ranks, false) != TUTTI_OK) {
        tt_launch_say("cannot start: %s%s", tutti_error(), tt_launch_hint(errno));
        return false;
    }
    g->rank = tt_calloc((size_t)g->ranks, sizeof *g->rank);
    if (!g->rank) {
        tt_launch_say("cannot start: no memory");
        return false;
    }
    if (!(g->cores = tt_cores_new(g->ranks, o))) return false;
    tt_cores_say(g->cores);
    if (!open_folder(g)) return false;
    return !o->tag || (g->output = tt_output_new(g->ranks, &g->inherited->files)) != NULL;
}

/* Makes a descriptor for signals to the guard, which is in a process group of its own now. Drops
 * signals that are pending: they were sent to the launcher's whole process group, and the launcher
 * passes them on. */
static void listen_to_user(struct tt_guard *g)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    const struct timespec now = {0};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaddset(&set, numbers[i]);
    while (sigtimedwait(&set, NULL, &now) > 0) continue;
    g->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Detaches the guard from the terminal. Replaces its standard input by /dev/null, and also its
 * standard output unless it writes the output of the ranks: they may be pipes, which end only when
 * all processes have closed them. */
static void step_back(struct tt_guard *g)
{
    setsid();
    listen_to_user(g);
    prctl(PR_SET_NAME, "tutti-guard");
    dup2(g->null, STDIN_FILENO);
    if (!g->output) dup2(g->null, STDOUT_FILENO);
}

/* Waits until the rest of the output is written, or the launcher asks the job to end. If the time
 * limit of the job has passed, waits no longer than 1 s. If the output is not complete, the job has
 * failed. */
static void finish_output(struct tt_guard *g)
{
    struct pollfd either[] = {{.fd = tt_output_stop(g->output), .events = POLLIN},
                              {.fd = g->launcher, .events = POLLIN}};
    int timeout_ms = g->code == TT_LAUNCH_TIMED_OUT ? 1000 : -1;
    while (either[0].fd >= 0 && poll(either, 2, timeout_ms) > 0 && !either[0].revents) {
        if (hear_launcher(g)) return;
    }
    if (g->code == 0 && tt_output_lost(g->output)) g->code = TT_LAUNCH_REFUSED;
}

static void run(struct tt_guard *g)
{
    bool started = start_all(g);
    step_back(g);
    if (started && (!g->output || tt_output_start(g->output)))
        watch(g);
    else
        g->code = TT_LAUNCH_REFUSED;
    settle_losses(g);
    end_ranks(g);
    tt_tree_end(0, true);
    if (g->output && !g->orphaned) finish_output(g);
    if (!g->orphaned) tt_launch_say_rest(g);
}

int tt_guard_main(const struct tt_launch_options *options,
                  const struct tt_launch_inherited *inherited, int launcher)
{
    struct tt_guard g = {.options = options,
                         .inherited = inherited,
                         .ranks = ranks_of(options),
                         .launcher = launcher,
                         .folder = -1,
                         .signals = -1,
                         .deadline_ns = INT64_MAX};
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* a child does not inherit this property from the launcher */
    if (options->timeout_ns > 0) g.deadline_ns = tt_clock_ns() + options->timeout_ns;
    if (!open_descriptors(&g) || !make_job(&g)) return TT_LAUNCH_REFUSED;
    run(&g);
    return g.code;
}
