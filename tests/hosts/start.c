/* SPDX-License-Identifier: BSD-3-Clause
 *
 * start FOLDER SECONDS HOST:SLOTS,... PROGRAM...: starts ranks on the hosts of lib.sh without a
 * launcher (mini-pmix.c). The output of rank r is in FOLDER/out.r. The program ends when all ranks
 * have ended, or kills those that are left after the given time. Its exit code is 0 if every rank
 * exited with 0 or was killed by SIGKILL before the time was over.
 *
 * A rank is in the network namespace of its host and has its host name. Its memory is not
 * separated: Tutti goes by the host names alone.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, NAME = 32, PATH = 512 };

struct start_rank {
    char host[NAME];
    pid_t pid;
    int status;
};
static struct start_rank ranks[MOST];
static int n;

static void read_hosts(char *text)
{
    for (char *host = strtok(text, ","); host; host = strtok(NULL, ",")) {
        char *slots = strchr(host, ':');
        if (!slots) exit(2);
        *slots = 0;
        for (int i = atoi(slots + 1); i > 0 && n < MOST; i--)
            snprintf(ranks[n++].host, NAME, "%s", host);
    }
}

/* Writes the host name of each rank, as a PMIx server would give it. */
static void write_hosts(const char *folder)
{
    char path[PATH];
    for (int r = 0; r < n; r++) {
        snprintf(path, sizeof path, "%s/%d.pmix.hname", folder, r);
        FILE *to = fopen(path, "w");
        if (!to || fputs(ranks[r].host, to) < 0 || fclose(to) != 0) exit(2);
    }
}

static void enter(const char *host, const char *what)
{
    char path[PATH], pid[NAME] = "";
    snprintf(path, sizeof path, "%s.pid", host);
    FILE *from = fopen(path, "r");
    if (!from || !fgets(pid, sizeof pid, from)) exit(2);
    fclose(from);
    snprintf(path, sizeof path, "/proc/%d/ns/%s", atoi(pid), what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, 0) != 0) exit(2);
    close(fd);
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    if (setenv(name, text, 1) != 0) exit(2);
}

static void begin(const char *folder, int r, char **program)
{
    char path[PATH];
    ranks[r].pid = fork();
    if (ranks[r].pid != 0) return;
    enter(ranks[r].host, "net");
    enter(ranks[r].host, "uts");
    set_number("PMIX_RANK", r);
    set_number("MINI_PMIX_SIZE", n);
    if (setenv("PMIX_NAMESPACE", "mini", 1) != 0 || setenv("MINI_PMIX", folder, 1) != 0) exit(2);
    snprintf(path, sizeof path, "%s/out.%d", folder, r);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) exit(2);
    execvp(program[0], program);
    _exit(127);
}

static bool is_good(int status)
{
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Waits for all ranks, and kills the ranks that are left when the time is over. Returns the number
 * of ranks that had to be killed. */
static int wait_all(int seconds)
{
    int left = n;
    for (int ms = 0; left > 0 && ms < seconds * 1000; ms += 5) {
        for (int r = 0; r < n; r++)
            if (ranks[r].pid && waitpid(ranks[r].pid, &ranks[r].status, WNOHANG) > 0)
                ranks[r].pid = 0, left--;
        if (left > 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    for (int r = 0; r < n; r++)
        if (ranks[r].pid) kill(ranks[r].pid, SIGKILL);
    return left;
}

int main(int argc, char **argv)
{
    if (argc < 5) return 2;
    read_hosts(argv[3]);
    write_hosts(argv[1]);
    for (int r = 0; r < n; r++) begin(argv[1], r, argv + 4);
    int bad = wait_all(atoi(argv[2]));
    for (int r = 0; r < n; r++) {
        if (ranks[r].pid) printf("rank %d has not ended\n", r);
        if (!ranks[r].pid && is_good(ranks[r].status)) continue;
        if (!ranks[r].pid) printf("rank %d ended with status %x\n", r, (unsigned)ranks[r].status);
        bad++;
    }
    return bad > 0;
}
