/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 600 }; /* SIGALRM ends a process after this time, long enough for sanitizers */

/* Enters a network namespace as `ip netns exec` does: /sys is mounted anew, because UCX looks for
 * interfaces in /sys/class/net, which shows those of the namespace in which /sys was mounted. */
static void enter_network(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0);
    must(setns(fd, CLONE_NEWNET) == 0);
    must(unshare(CLONE_NEWNS) == 0);
    must(mount("", "/", "none", MS_SLAVE | MS_REC, NULL) == 0);
    umount2("/sys", MNT_DETACH);
    must(mount(name, "/sys", "sysfs", 0, NULL) == 0);
    close(fd);
}

static pid_t start(pair_fn *play, int me, const int *fds, char *const *names)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0) return pid;
    const int crashes[] = {SIGSEGV, SIGILL, SIGFPE,
                           SIGBUS}; /* resets cmocka's handlers, which would continue with the
                                     * next test */
    for (int i = 0; i < 4; i++) signal(crashes[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(LIMIT_S);
    close(fds[!me]);
    if (names) enter_network(names[me]);
    struct side side = {.me = me, .fd = fds[me], .ops = &tt_wire_ucx};
    play(&side);
    exit(0);
}

static bool ended_well(int status, bool killed)
{
    if (killed) return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool pair_play(pair_fn *play, int killed, char *const *names)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
    pid_t pids[2] = {start(play, 0, fds, names), start(play, 1, fds, names)};
    close(fds[0]);
    close(fds[1]);
    bool well = true;
    for (int n = 0; n < 2; n++) {
        int status;
        pid_t pid = wait(&status);
        int who = pid == pids[1];
        if (ended_well(status, who == killed)) continue;
        fprintf(stderr, "process %d ended with status %#x\n", who, (unsigned)status);
        if (well && n == 0) kill(pids[!who], SIGKILL);
        well = false;
    }
    return well;
}

static void link_lost(void *arg, tutti_status status)
{
    struct side *side = arg;
    side->lost++;
    side->why = status;
}

void pair_open(struct side *side, tt_wire_arrive_fn *arrive, void *arg)
{
    must(side->ops->open(true, &side->wire) == TUTTI_OK);
    must(side->ops->port_open(side->wire, arrive, arg, &side->port) == TUTTI_OK);
}

void pair_link(struct side *side)
{
    struct {
        size_t bytes;
        char address[TT_WIRE_ADDRESS];
    } mine, other;
    memset(&mine, 0, sizeof mine);
    must(side->ops->port_address(side->port, mine.address, &mine.bytes) == TUTTI_OK);
    must(mine.bytes <= sizeof mine.address);
    pair_swap(side, &mine, &other, sizeof mine);
    must(side->ops->link_open(side->port, other.address, other.bytes, link_lost, side,
                              &side->link) == TUTTI_OK);
}

void pair_meet(struct side *side, tt_wire_arrive_fn *arrive, void *arg)
{
    pair_open(side, arrive, arg);
    pair_link(side);
}

void pair_close_port(struct side *side)
{
    int64_t end = tt_clock_ns() + 1000000000;
    while (!side->ops->port_drain(side->port) && tt_clock_ns() < end)
        ;
    side->ops->port_close(side->port);
}

void pair_close(struct side *side)
{
    if (side->link) side->ops->link_close(side->link);
    pair_close_port(side);
    side->ops->close(side->wire);
}

void pair_swap(struct side *side, const void *mine, void *other, size_t bytes)
{
    size_t sent = 0, got = 0;
    while (sent < bytes || got < bytes) {
        ssize_t n = sent < bytes ? send(side->fd, (const char *)mine + sent, bytes - sent,
                                        MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : 0;
        must(n >= 0 || errno == EAGAIN);
        if (n > 0) sent += (size_t)n;
        n = got < bytes ? recv(side->fd, (char *)other + got, bytes - got, MSG_DONTWAIT) : -2;
        must(n > 0 || n == -2 || errno == EAGAIN);
        if (n > 0) got += (size_t)n;
        if (side->ops->port_advance(side->port) == 0) sched_yield();
    }
}

void pair_sync(struct side *side)
{
    char mine = 's', other;
    pair_swap(side, &mine, &other, 1);
}

void pair_signal(struct side *side)
{
    must(send(side->fd, "t", 1, MSG_NOSIGNAL) == 1);
}

void pair_wait(struct side *side)
{
    char byte;
    must(recv(side->fd, &byte, 1, 0) == 1);
}

void tally_done(struct tally *tally, tutti_status status)
{
    must(tally->left > 0);
    tally->left--;
    tally->over++;
    tally->failed += status != TUTTI_OK;
    must(status == TUTTI_OK || status == TUTTI_ERR_PEER);
}

struct tallied {
    struct tally *tally;
    struct tt_wire_packet packet;
};

static void tallied_done(struct tt_wire_op *op, tutti_status status)
{
    struct tallied *one = tt_container_of(op, struct tallied, packet.op);
    struct tally *tally = one->tally;
    free(one);
    tally_done(tally, status);
}

static struct tallied *tallied_new(struct tally *tally)
{
    struct tallied *one = malloc(sizeof *one);
    must(one != NULL);
    one->tally = tally;
    one->packet.op.done = tallied_done;
    return one;
}

static tutti_status tallied_begun(struct tallied *one, tutti_status status)
{
    if (status != TUTTI_AGAIN) free(one);
    return status;
}

tutti_status tally_send(struct side *side, struct tt_link *link, const void *head,
                        size_t head_bytes, const void *data, size_t data_bytes, struct tally *tally)
{
    struct tallied *one = tallied_new(tally);
    memcpy(one->packet.bytes + TT_WIRE_BEFORE, head, head_bytes);
    return tallied_begun(one, side->ops->send(link, &one->packet, head_bytes, data, data_bytes));
}

tutti_status tally_get(struct side *side, void *to, uint64_t from, struct tt_wire_key *key,
                       size_t bytes, struct tally *tally)
{
    struct tallied *one = tallied_new(tally);
    return tallied_begun(one, side->ops->get(side->link, to, from, key, bytes, &one->packet.op));
}

tutti_status tally_put(struct side *side, uint64_t to, const void *from, struct tt_wire_key *key,
                       size_t bytes, struct tally *tally)
{
    struct tallied *one = tallied_new(tally);
    return tallied_begun(one, side->ops->put(side->link, to, from, key, bytes, &one->packet.op));
}

void tally_begun(struct tally *tally, tutti_status status)
{
    must(status == TUTTI_OK || status == TUTTI_AGAIN);
    tally->left += status == TUTTI_AGAIN;
    tally->over += status == TUTTI_OK;
}

void tally_wait(struct side *side, struct tally *tally)
{
    while (tally->left > 0) {
        if (side->ops->port_advance(side->port) == 0) sched_yield();
    }
}

static unsigned char byte_at(uint64_t seed, size_t i)
{
    return (unsigned char)((seed * 0x9e3779b97f4a7c15u >> 56) + i * 7 + (i >> 8));
}

void pattern_fill(void *memory, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)memory)[i] = byte_at(seed, i);
}

bool pattern_holds(const void *memory, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (((const unsigned char *)memory)[i] != byte_at(seed, i)) return false;
    }
    return true;
}
