/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The process that wants the descriptors sends its rank in one packet; the answer is one packet
 * with the descriptors attached (SCM_RIGHTS). Packets (SOCK_SEQPACKET) arrive whole, and each side
 * refuses a packet that has not the length of struct greeting.
 */
#include "boot/share.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define GREETING 0x6572616873745454u

struct greeting {
    uint64_t word;
    int64_t rank;
};

/* Room for the descriptors, aligned as the kernel requires. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(TT_SHARE_MOST * sizeof(int))];
};

/* how long the giving rank waits for the packet of a process that has connected */
enum { WAIT_MS = 1000 };

/* Returns a message that consists of a greeting, with room for descriptors attached to it. */
static struct msghdr message_of(struct iovec *greeting, union control *control)
{
    return (struct msghdr){.msg_iov = greeting,
                           .msg_iovlen = 1,
                           .msg_control = control->bytes,
                           .msg_controllen = sizeof control->bytes};
}

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t n = strnlen(name, TT_SHARE_NAME - 1);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, n); /* the 0 before the name makes it abstract */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static bool draw_name(char name[TT_SHARE_NAME])
{
    uint64_t drawn[2];
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) return false;
    snprintf(name, TT_SHARE_NAME, "tutti-%016llx%016llx", (unsigned long long)drawn[0],
             (unsigned long long)drawn[1]);
    return true;
}

tutti_status tt_share_open(struct tt_share *share)
{
    struct sockaddr_un address;
    share->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (share->fd < 0) return tt_fail_errno(TUTTI_ERR_LIMIT, "cannot make a socket");
    bool named = draw_name(share->name);
    socklen_t n = address_of(share->name, &address);
    if (named && bind(share->fd, (struct sockaddr *)&address, n) == 0 &&
        listen(share->fd, SOMAXCONN) == 0)
        return TUTTI_OK;
    tutti_status status = tt_fail_errno(TUTTI_ERR_SYSTEM, "cannot listen on a socket");
    tt_share_close(share);
    return status;
}

void tt_share_close(struct tt_share *share)
{
    if (share->fd >= 0) close(share->fd);
    share->fd = -1;
}

static bool is_mine(int fd, pid_t *pid)
{
    struct ucred who;
    socklen_t n = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 || n != sizeof who) return false;
    *pid = who.pid;
    return who.uid == geteuid();
}

/* Waits until the descriptor is ready for the event `what`. Returns false after until_ns. */
static bool await_event(int fd, short what, int64_t until_ns)
{
    struct pollfd p = {.fd = fd, .events = what};
    int64_t ms;
    int n;
    do {
        ms = tt_max(0, (until_ns - tt_clock_ns() + 999999) / 1000000);
        n = poll(&p, 1, (int)tt_min(ms, 1000000));
    } while ((n < 0 && errno == EINTR) || (n == 0 && ms > 1000000));
    return n > 0;
}

/* ---- The side that gives ---- */

static bool hand_over(int to, const int *fds, int n)
{
    struct greeting hello = {GREETING, 0};
    struct iovec data = {&hello, sizeof hello};
    union control control = {0};
    struct msghdr message = message_of(&data, &control);
    const size_t bytes = (size_t)n * sizeof *fds;
    control.header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(bytes)};
    message.msg_controllen = CMSG_SPACE(bytes);
    memcpy(CMSG_DATA(&control.header), fds, bytes);
    return sendmsg(to, &message, MSG_NOSIGNAL) == sizeof hello;
}

/* Reads the greeting, and returns whether it is one. Asks for one byte more than a greeting has, to
 * detect a longer packet. */
static bool is_greeted(int from, int *rank)
{
    char bytes[sizeof(struct greeting) + 1];
    struct greeting hello;
    if (!await_event(from, POLLIN, tt_clock_ns() + INT64_C(1000000) * WAIT_MS)) return false;
    if (recv(from, bytes, sizeof bytes, MSG_DONTWAIT) != sizeof hello) return false;
    memcpy(&hello, bytes, sizeof hello);
    *rank = (int)hello.rank;
    return hello.word == GREETING && hello.rank >= 0 && hello.rank <= INT32_MAX;
}

tutti_status tt_share_give(struct tt_share *share, const int *fds, int n, int64_t until_ns,
                           tt_share_fn *comes, void *arg)
{
    int rank;
    pid_t pid;
    while (await_event(share->fd, POLLIN, until_ns)) {
        int to = accept4(share->fd, NULL, NULL, SOCK_CLOEXEC);
        if (to < 0) continue;
        bool good = is_mine(to, &pid) && is_greeted(to, &rank);
        if (good) comes(arg, rank, pid);
        good = good && hand_over(to, fds, n);
        close(to);
        if (good) return TUTTI_OK;
    }
    return tt_fail(TUTTI_ERR_BOOT, "no further rank has asked for the job's memory in time");
}

/* ---- The side that receives ---- */

/* Stores the n descriptors that came with the message in fds[]. If another number of descriptors
 * came, closes them all and returns false. The function must close them because the kernel has
 * opened them in this process. There may be one more than TT_SHARE_MOST, because the padding of the
 * control buffer may have room for it. */
static bool take_descriptors(struct msghdr *message, int *fds, int n)
{
    int came[TT_SHARE_MOST + 1] = {-1, -1, -1};
    struct cmsghdr *c = CMSG_FIRSTHDR(message);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) return false;
    size_t bytes = c->cmsg_len - CMSG_LEN(0), wanted = (size_t)n * sizeof *fds;
    memcpy(came, CMSG_DATA(c), bytes < sizeof came ? bytes : sizeof came);
    if (bytes == wanted && !(message->msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
        memcpy(fds, came, wanted);
        return true;
    }
    for (int i = 0; i <= TT_SHARE_MOST; i++)
        if (came[i] >= 0) close(came[i]);
    return false;
}

static bool receive(int from, int *fds, int n)
{
    struct greeting hello = {0};
    struct iovec data = {&hello, sizeof hello};
    union control control = {0};
    struct msghdr message = message_of(&data, &control);
    ssize_t got = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 || !take_descriptors(&message, fds, n)) return false;
    if (got == sizeof hello && hello.word == GREETING) return true;
    for (int i = 0; i < n; i++) close(fds[i]);
    return false;
}

static tutti_status fetch(int from, int rank, int64_t until_ns, int *fds, int n)
{
    struct greeting hello = {GREETING, rank};
    pid_t pid;
    if (!is_mine(from, &pid))
        return tt_fail(TUTTI_ERR_BOOT, "refused: the process that offers the job's memory belongs "
                                       "to another user");
    if (send(from, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return tt_fail_errno(TUTTI_ERR_BOOT, "cannot ask for the job's memory");
    if (await_event(from, POLLIN, until_ns) && receive(from, fds, n)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "the rank that has the job's memory did not pass it on");
}

tutti_status tt_share_take(const char *name, int rank, int64_t until_ns, int *fds, int many)
{
    struct sockaddr_un address;
    socklen_t n = address_of(name, &address);
    int from = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (from < 0) return tt_fail_errno(TUTTI_ERR_LIMIT, "cannot make a socket");
    tutti_status status =
        connect(from, (struct sockaddr *)&address, n) == 0
            ? fetch(from, rank, until_ns, fds, many)
            : tt_fail_errno(TUTTI_ERR_BOOT,
                            "cannot reach the rank that has the job's memory, though its host has "
                            "the same name as that of this rank");
    close(from);
    return status;
}
