/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends notices, receives them, and records them in the job's page.
 */
#include "boot/notice.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/watch-net.h"
#include "job/common.h"

enum {
    /* seconds after which the kernel gives a connection to this process even if its record has not
     * arrived */
    DATA_S = 5,
    /* milliseconds that this process waits for the record of a connection that the kernel has given
     * to it */
    DATA_MS = 10,
    LOOK_MS = 1
};

bool tt_notice_goes(int from, int to, int nodes)
{
    unsigned ahead = (unsigned)((to - from + nodes) % nodes), behind = (unsigned)nodes - ahead;
    if (from == to) return false;
    return nodes <= TT_NOTICE_ALL || (ahead & (ahead - 1)) == 0 || (behind & (behind - 1)) == 0;
}

static bool is_rank(const struct tt_job_page *job, int rank)
{
    return rank >= 0 && rank < job->size;
}

/* Handles a notice about a client that no rank of this node has joined yet, or that all ranks of
 * this node have left. If the notice says that a process has ended, or that a host is cut off,
 * records that, because it concerns all clients; otherwise does nothing. */
static void note_end(struct tt_job_page *job, const struct tt_notice *n)
{
    enum tt_cause cause = (enum tt_cause)n->cause;
    bool refused = atomic_load(&job->rank[n->from].rank_status.state) == TT_RANK_FAILED;
    if (!n->left && !refused && tt_cause_ends(cause)) tt_job_fail(job, n->about, cause, n->code);
}

void tt_notice_note(struct tt_job_page *job, const struct tt_notice *n)
{
    struct tt_common *common = tt_common_find(job, (int)n->client);
    if (!is_rank(job, n->from) || !is_rank(job, n->about)) return;
    if (!common) {
        note_end(job, n);
        return;
    }
    if (n->from != n->about && tt_common_state(job, common, n->from) == TT_RANK_FAILED) return;
    struct tt_failure failure = {(enum tt_cause)n->cause, n->code, n->team, n->why};
    if (n->left)
        atomic_store(&common->rank[n->about].left_ns, tt_clock_ns());
    else
        tt_common_believe(job, common, n->about, &failure);
}

/* ---- Sending ---- */

/* A notice that waits until one of the connections is up. */
struct outgoing {
    struct outgoing *next;
    int64_t until_ns;
    struct tt_connecting line;
    size_t length;
    uint8_t bytes[TT_NOTICE_BYTES];
};

static struct {
    pthread_mutex_t lock;
    struct outgoing *first;
} out = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tt_notice_send(const struct tt_inbox *to, const struct tt_notice *notice, int timeout_s)
{
    struct outgoing *p = to->port ? tt_calloc(1, sizeof *p) : NULL;
    if (!p) return;
    tt_connect_begin(&p->line, to->port, to->address, to->addresses, false, timeout_s);
    p->until_ns = tt_clock_ns() + timeout_s * INT64_C(1000000000);
    p->length = tt_notice_write(notice, to->token, p->bytes);
    pthread_mutex_lock(&out.lock);
    p->next = out.first;
    out.first = p;
    pthread_mutex_unlock(&out.lock);
}

/* Sends the record and closes the connection. The record fits into the empty send buffer of a
 * socket, and the kernel still sends what is in this buffer after the close. */
static void hand_over(struct outgoing *p)
{
    (void)send(p->line.fds[0], p->bytes, p->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    tt_connect_end(&p->line);
}

/* Sends the notice if a connection is up. Returns true if the notice still has to wait for a
 * connection. */
static bool move_on(struct outgoing *p)
{
    enum tt_connect state = tt_connect_look(&p->line);
    if (state == TT_CONNECT_UNDER_WAY && tt_clock_ns() < p->until_ns) return true;
    if (state == TT_CONNECT_UP)
        hand_over(p);
    else
        tt_connect_end(&p->line);
    return false;
}

bool tt_notice_advance(void)
{
    pthread_mutex_lock(&out.lock);
    for (struct outgoing **at = &out.first, *p; (p = *at) != NULL;) {
        if (move_on(p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        tt_free(p);
    }
    bool some = out.first != NULL;
    pthread_mutex_unlock(&out.lock);
    return some;
}

void tt_notice_flush(int64_t until_ns)
{
    while (tt_notice_advance() && tt_clock_ns() < until_ns) (void)poll(NULL, 0, LOOK_MS);
}

/* ---- The inbox ---- */

/* With TCP_DEFER_ACCEPT, accept returns a connection only when its record has arrived, or after
 * DATA_S seconds. So a rank seldom has to wait for a record. */
tutti_status tt_inbox_open(int *fd)
{
    uint16_t port;
    int seconds = DATA_S;
    TT_TRY(tt_listener_open(fd, &port));
    (void)setsockopt(*fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
    return TUTTI_OK;
}

uint16_t tt_inbox_port(int fd)
{
    return fd < 0 ? 0 : tt_listener_port(fd);
}

void tt_inbox_of_terms(struct tt_inbox *inbox, const struct tt_terms *terms)
{
    *inbox = (struct tt_inbox){
        .token = terms->token, .port = terms->inbox, .addresses = terms->addresses};
    memcpy(inbox->address, terms->address, sizeof inbox->address);
}

static bool read_record(int from, uint64_t token, struct tt_notice *notice)
{
    uint8_t bytes[TT_NOTICE_BYTES + 1];
    struct pollfd p = {.fd = from, .events = POLLIN};
    if (poll(&p, 1, DATA_MS) <= 0) return false;
    ssize_t n = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    return n > 0 && tt_notice_read(notice, token, bytes, (size_t)n);
}

bool tt_inbox_take(int fd, uint64_t token, struct tt_notice *notice, int *asker)
{
    *asker = -1;
    for (int one; (one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
        bool good = read_record(one, token, notice);
        if (good && notice->asks)
            *asker = one;
        else
            close(one);
        if (good) return true;
    }
    return false;
}
