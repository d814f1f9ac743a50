/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher's own process: it is in the terminal's foreground, passes signals on, and stops and
 * continues together with its job. If the guard is killed, the launcher ends the processes of the
 * job and then ends itself.
 *
 * The ranks stay in the launcher's process group, so that rank 0 may read from the terminal.
 * Therefore a signal that the terminal itself sends (Ctrl-C, Ctrl-Z) has reached them already, and
 * the launcher does not pass it on a second time.
 */
#include "launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch-guard.h"
#include "job/wait.h"

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

static void set_up(struct tt_launch_inherited *inherited, sigset_t *watched)
{
    fflush(NULL); /* otherwise launcher and guard would both write the contents of the buffers */
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(watched, passed_on[i]);
    sigprocmask(SIG_BLOCK, watched, &inherited->mask);
    /* If SIGCHLD were ignored, the kernel would keep no exit codes. */
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &usual, &inherited->child);
    getrlimit(RLIMIT_NOFILE, &inherited->files);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void restore(const struct tt_launch_inherited *inherited)
{
    sigaction(SIGCHLD, &inherited->child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static bool is_end(int signal)
{
    /* pass_on in launch-guard.c has the same list of signals */
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

static void pass_on(int guard, const siginfo_t *info)
{
    unsigned char byte = (unsigned char)info->si_signo;
    if (info->si_code == SI_KERNEL) byte |= TT_LAUNCH_HEARD;
    send(guard, &byte, 1, MSG_NOSIGNAL);
    if (info->si_signo == SIGTSTP) raise(SIGSTOP);
}

/* Passes signals on to the guard until the guard ends. Returns the guard's status from waitpid(2),
 * and records in *ended_by which signal asked the job to end. */
static int attend(pid_t pid, int guard, const sigset_t *watched, int *ended_by)
{
    int status = 0;
    for (;;) {
        siginfo_t info;
        if (sigwaitinfo(watched, &info) < 0) continue;
        if (ended_by && is_end(info.si_signo)) *ended_by = info.si_signo;
        if (info.si_signo != SIGCHLD)
            pass_on(guard, &info);
        else if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
    }
}

static int without_guard(pid_t pid, int status, unsigned long long since)
{
    int signal = WTERMSIG(status);
    tt_launch_say("the guard (pid %d) was killed by signal %d (%s): ending the job", (int)pid,
                  signal, strsignal(signal));
    tt_tree_end(since, false);
    return TT_LAUNCH_SIGNAL + signal;
}

static int with_guard(const struct tt_launch_options *options,
                      const struct tt_launch_inherited *inherited, const sigset_t *watched)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        tt_launch_say("cannot start: %s%s", strerror(errno), tt_launch_hint(errno));
        return TT_LAUNCH_REFUSED;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(tt_guard_main(options, inherited, ends[1]));
    }
    close(ends[1]);
    if (pid < 0) {
        tt_launch_say("cannot start a process: %s%s", strerror(errno), tt_launch_hint(errno));
        close(ends[0]);
        return TT_LAUNCH_REFUSED;
    }
    unsigned long long since = tt_tree_started(pid);
    int status = attend(pid, ends[0], watched, options->ended_by);
    close(ends[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : without_guard(pid, status, since);
}

int tt_launch(const struct tt_launch_options *options)
{
    struct tt_launch_inherited inherited;
    sigset_t watched;
    struct tt_launch_options o = *options;
    struct tt_launch_program first = o.program[0];
    if (first.ranks == 0) {
        tt_assert(o.programs == 1);
        first.ranks = (int)tt_min(tt_usable_cores(), TT_LAUNCH_RANKS);
        o.program = &first;
    }
    set_up(&inherited, &watched);
    int code = with_guard(&o, &inherited, &watched);
    restore(&inherited);
    return code;
}

void tt_launch_obey(int signal)
{
    if (signal == 0) return;
    fflush(NULL);
    raise(signal);
}
