/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Another user of the machine, who tries to get access to a job. The program is started as root and
 * makes its attempts as the user nobody.
 *
 *     stranger job FILE        a rank of the job: sums until FILE exists
 *     stranger files PATH...   tries to open these files
 *     stranger pids PID...     tries to access and to signal these processes
 *     stranger sockets NAME... asks jobs that are starting for their shared memory, at these
 *                              abstract sockets
 *     stranger offer           offers its own memory to a rank that asks for the job's memory
 *     stranger ports A:P ...   sends garbage to these ports, which do not check users: the job must
 *                              tolerate it
 *
 * The program prints the number of attempts and each attempt that was not refused. It exits with 1
 * if there was one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tutti/tutti.h>

#include "boot/share.h"

/* The stranger tries the descriptors 0 .. DESCRIPTORS - 1 of a process. */
enum { DESCRIPTORS = 256 };

static int tried, got;

static void judge(bool refused, const char *what, const char *of)
{
    tried++;
    if (refused) return;
    got++;
    printf("NOT REFUSED: %s %s: %s\n", what, of, strerror(errno));
}

static bool forbidden(bool failed)
{
    return failed && (errno == EACCES || errno == EPERM);
}

static void become_nobody(void)
{
    const struct passwd *nobody = getpwnam("nobody");
    if (!nobody || setgroups(0, NULL) != 0 ||
        setresgid(nobody->pw_gid, nobody->pw_gid, nobody->pw_gid) != 0 ||
        setresuid(nobody->pw_uid, nobody->pw_uid, nobody->pw_uid) != 0) {
        perror("stranger: cannot become nobody");
        exit(2);
    }
}

/* ---- Files ---- */

static void try_path(const char *path, int how)
{
    errno = 0;
    int fd = open(path, how | O_CLOEXEC | O_NONBLOCK);
    judge(forbidden(fd < 0), how == O_RDONLY ? "reading" : "writing", path);
    if (fd >= 0) close(fd);
}

static void try_file(const char *path)
{
    try_path(path, O_RDONLY);
    try_path(path, O_RDWR);
}

/* ---- Processes ---- */

static void try_memory(pid_t pid, const char *of)
{
    char byte = 0;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)4096, 1};
    judge(forbidden(process_vm_readv(pid, &here, 1, &there, 1, 0) < 0), "process_vm_readv", of);
    judge(forbidden(process_vm_writev(pid, &here, 1, &there, 1, 0) < 0), "process_vm_writev", of);
    judge(forbidden(ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0), "ptrace", of);
}

static void try_descriptors(pid_t pid, const char *of)
{
    char path[64];
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        try_path(path, O_RDONLY);
        if (pidfd < 0) continue;
        errno = 0;
        judge(forbidden(syscall(SYS_pidfd_getfd, pidfd, fd, 0) < 0), "pidfd_getfd of", of);
    }
    if (pidfd >= 0) close(pidfd);
}

static void try_process(const char *text)
{
    static const char *const files[] = {"fd", "mem", "maps", "map_files", "environ"};
    char path[64];
    pid_t pid = (pid_t)atoi(text);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, files[i]);
        try_path(path, O_RDONLY);
    }
    try_memory(pid, text);
    try_descriptors(pid, text);
    judge(forbidden(kill(pid, SIGTERM) != 0), "kill", text);
}

/* ---- The socket that hands out shared memory ---- */

/* Sends the request of tt_share_take, but without checking the user at the other end. Returns
 * whether no descriptor comes back. */
static bool is_turned_away(int giver)
{
    struct {
        uint64_t word;
        int64_t rank;
    } hello = {0x6572616873745454u, 1};
    char bytes[sizeof hello];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    (void)send(giver, &hello, sizeof hello, MSG_NOSIGNAL);
    return recvmsg(giver, &message, 0) <= 0;
}

static void try_socket(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strnlen(name, sizeof address.sun_path - 1);
    memcpy(address.sun_path + 1, name, n);
    int giver = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(giver, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) == 0)
        judge(is_turned_away(giver), "socket", name);
    close(giver);
}

/* ---- Ports ---- */

/* Sends garbage to a port. The listener may close the connection, or never read from it. */
static void try_port(const char *text)
{
    char address[64], rubbish[1000];
    int port, sent = 0;
    if (sscanf(text, "%63[0-9.]:%d", address, &port) != 2) exit(2);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, address, &at.sin_addr);
    memset(rubbish, 0x5a, sizeof rubbish);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        sent = (int)send(fd, rubbish, sizeof rubbish, MSG_NOSIGNAL);
    tried += sent == sizeof rubbish;
    close(fd);
}

/* ---- Offering memory ---- */

/* Lets a child process, as the user nobody, offer memory over a socket, and asks this socket for
 * memory as a rank does. The request must fail because the socket belongs to another user. */
static void offer(void)
{
    struct tt_share share;
    int fd = -1, mine[2];
    if (pipe(mine) != 0) exit(2);
    pid_t child = fork();
    if (child == 0) {
        become_nobody();
        if (tt_share_open(&share) != TUTTI_OK) _exit(2);
        if (write(mine[1], share.name, sizeof share.name) != sizeof share.name) _exit(2);
        pause();
        _exit(0);
    }
    if (read(mine[0], share.name, sizeof share.name) != sizeof share.name) exit(2);
    tutti_status status = tt_share_take(share.name, 0, tt_clock_ns() + 5000000000, &fd, 1);
    judge(status == TUTTI_ERR_BOOT && strstr(tutti_error(), "another user"), "memory of", "nobody");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- The job ---- */

static int work(const char *file)
{
    tutti_client *client;
    int64_t sums = 0;
    if (tutti_init(&client) != TUTTI_OK) {
        fprintf(stderr, "init: %s\n", tutti_error());
        return 9;
    }
    tutti_team *world = tutti_world(client);
    int64_t p = tutti_size(world), me = tutti_rank(world), mine[2] = {me, 0}, sum[2] = {0};
    for (; !sum[1]; sums++) {
        mine[1] = me == 0 && access(file, F_OK) == 0;
        if (tutti_allreduce(world, mine, sum, 2, TUTTI_I64, TUTTI_SUM) != TUTTI_OK) {
            fprintf(stderr, "rank %d: %s\n", (int)me, tutti_error());
            return 8;
        }
        if (sum[0] != p * (p - 1) / 2) return 7;
        if (sums == 100) {
            printf("rank %d: pid %d\n", (int)me, (int)getpid());
            fflush(stdout);
        }
    }
    printf("rank %d: all sums are right\n", (int)me);
    tutti_finalize(client);
    return sums > 100 ? 0 : 6;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(what, "job") == 0) return work(argv[2]);
    if (strcmp(what, "offer") == 0)
        offer();
    else
        become_nobody();
    for (int i = 2; i < argc; i++) {
        if (strcmp(what, "files") == 0) try_file(argv[i]);
        if (strcmp(what, "pids") == 0) try_process(argv[i]);
        if (strcmp(what, "sockets") == 0) try_socket(argv[i]);
        if (strcmp(what, "ports") == 0) try_port(argv[i]);
    }
    printf("%d attempts, %d not refused\n", tried, got);
    return got != 0;
}
