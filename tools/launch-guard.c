/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The guard: parent of all ranks. It waits for the next event (a rank ends, a deadline passes, the
 * launcher passes a signal on or is gone), and at last ends everything that is left. It makes a
 * session of its own once the ranks are started, so that a signal to the launcher's whole process
 * group leaves a process to clean up.
 */
#include "launch-guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

enum { NAMES_SIZE = 400 };

/* grace_ns: from a first failure until the other ranks are asked to end. asked_ns: from then until
 * they are killed. */
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

/* Asks the ranks to end; a stopped one must run to do so. */
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

/* Whether the job may still end well without this rank. The rank that failed first is lost, and so
 * is every rank that a signal killed. If another rank exits with a code of its own after that, it
 * continued, and its code says that it could not go on; it is not lost. If the user asked the job
 * to end, no rank counts as lost. */
static bool is_loss(const struct tt_guard *g, int status)
{
    if (g->options->on_failure != TT_ON_FAILURE_CONTINUE || g->asked) return false;
    return WIFSIGNALED(status) || g->first_code == 0;
}

static void lose(struct tt_guard *g, int rank, int code)
{
    g->rank[rank].lost = true;
    if (g->first_code == 0) g->first_code = code;
}

static void rank_failed(struct tt_guard *g, int rank, int code)
{
    int status = g->rank[rank].status;
    enum tt_cause cause = WIFSIGNALED(status) ? TT_CAUSE_SIGNAL : TT_CAUSE_EXIT;
    tt_job_fail(tt_segment_page(&g->segment), rank, cause,
                WIFSIGNALED(status) ? WTERMSIG(status) : code);
    if (g->phase == TT_GUARD_ENDING) return; /* they were asked to end */
    if (g->code == 0 || g->options->on_failure != TT_ON_FAILURE_END)
        tt_launch_say_end(g, rank);
    else
        g->rank[rank].unsaid = true;
    if (is_loss(g, status))
        lose(g, rank, code);
    else if (g->code == 0)
        first_failure(g, code);
}

/* If every rank was lost, the job has failed. */
static void settle_losses(struct tt_guard *g)
{
    int lost = 0;
    for (int i = 0; i < g->ranks; i++) lost += g->rank[i].lost;
    if (g->code == 0 && lost == g->ranks) g->code = g->first_code;
}

/* A rank that exits with 0 has not failed, but the other ranks must not wait for it. */
static void rank_done(struct tt_guard *g, int rank)
{
    struct tt_job_page *job = tt_segment_page(&g->segment);
    g->rank[rank].deserted = atomic_load(&job->rank[rank].clients) > 0;
    tt_job_fail(job, rank, TT_CAUSE_LEFT, 0);
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
}

static int rank_of(const struct tt_guard *g, pid_t pid)
{
    int rank = 0;
    while (rank < g->ranks && (g->rank[rank].pid != pid || !g->rank[rank].running)) rank++;
    return rank;
}

/* Children that are not ranks are processes left over by ranks: they are only collected. */
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

/* Passes a signal on, unless the ranks have heard it. Returns whether it asks the job to end. */
static bool pass_on(const struct tt_guard *g, int number, bool heard)
{
    /* The kernel drops a SIGTSTP for a process group without a parent in its session. */
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

/* A user who looks for the process of `tutti run` may find the guard and signal it instead. */
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

/* Returns when no rank runs, or when those that run must be killed. */
static void watch(struct tt_guard *g)
{
    while (g->running > 0 && !g->orphaned) {
        struct pollfd what[] = {{.fd = g->launcher, .events = POLLIN},
                                {.fd = g->children, .events = POLLIN},
                                {.fd = g->unstarted, .events = POLLIN},
                                {.fd = g->signals, .events = POLLIN}};
        int ready = poll(what, 4, wait_ms(g));
        int unstarted = ready > 0 ? tt_launch_unstarted(g) : 0;
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
    sigfillset(&all); /* a signal to the whole process group is not for the guard */
    sigprocmask(SIG_BLOCK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int ends[2] = {-1, -1};
    g->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    g->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool piped = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    g->unstarted = ends[0];
    g->unstarted_in = ends[1];
    if (g->children >= 0 && g->null >= 0 && piped) return true;
    tt_launch_say("cannot start: %s", strerror(errno));
    return false;
}

/* Opens the output folder before the ranks are started, because they may run in other folders. */
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
    if (tt_segment_create(&g->segment, g->ranks, false) != TUTTI_OK) {
        tt_launch_say("cannot start: %s", tutti_error());
        return false;
    }
    g->rank = tt_calloc((size_t)g->ranks, sizeof *g->rank);
    if (!g->rank) {
        tt_launch_say("cannot start: no memory");
        return false;
    }
    if (!(g->cores = tt_cores_new(g->ranks, tt_cores_wish(o)))) return false;
    if (!open_folder(g)) return false;
    return !o->tag || (g->output = tt_output_new(g->ranks, &g->inherited->files)) != NULL;
}

/* Signals that are pending went to the launcher's whole process group, and the launcher passes them
 * on. From now on the guard is in no process group but its own. */
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

/* Lets go of the terminal, and of pipes whose end other processes wait for. */
static void step_back(struct tt_guard *g)
{
    setsid();
    listen_to_user(g);
    prctl(PR_SET_NAME, "tutti-guard");
    dup2(g->null, STDIN_FILENO);
    if (!g->output) dup2(g->null, STDOUT_FILENO);
}

/* Waits until the rest of the output is written, or the launcher asks the job to end. After the
 * time limit of the job has passed it waits no longer than 1 s. */
static void finish_output(struct tt_guard *g)
{
    struct pollfd either[] = {{.fd = tt_output_stop(g->output), .events = POLLIN},
                              {.fd = g->launcher, .events = POLLIN}};
    int timeout_ms = g->code == TT_LAUNCH_TIMED_OUT ? 1000 : -1;
    while (either[0].fd >= 0 && poll(either, 2, timeout_ms) > 0 && !either[0].revents) {
        if (hear_launcher(g)) return;
    }
}

static void run(struct tt_guard *g)
{
    bool started = tt_launch_start(g);
    step_back(g);
    if (started && (!g->output || tt_output_start(g->output)))
        watch(g);
    else
        g->code = TT_LAUNCH_REFUSED;
    settle_losses(g);
    tt_tree_end(0, true);
    if (g->output && !g->orphaned) finish_output(g);
    if (!g->orphaned) tt_launch_say_rest(g);
}

int tt_guard_main(const struct tt_launch_options *options,
                  const struct tt_launch_inherited *inherited, int launcher)
{
    struct tt_guard g = {.options = options,
                         .inherited = inherited,
                         .ranks = tt_launch_ranks(options),
                         .launcher = launcher,
                         .folder = -1,
                         .signals = -1,
                         .deadline_ns = INT64_MAX};
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* not inherited from the launcher */
    if (options->timeout_ns > 0) g.deadline_ns = tt_clock_ns() + options->timeout_ns;
    if (!open_descriptors(&g) || !make_job(&g)) return TT_LAUNCH_REFUSED;
    run(&g);
    return g.code;
}
