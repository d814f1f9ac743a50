/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The states of a rank that is watched:
 *
 *   ASKED       its address record was requested (records.h); the request is repeated as long as
 *               the answer is that there is no record
 *                                        --- none within the timeout ---------> DONE, failed
 *   CONNECTING  this rank tries to connect to it, twice a second
 *                                        --- neither up nor refused in time --> DONE, failed
 *   UP          a connection to it is up, or its process on this host is watched
 *                                        --- no answer over the connection ---> CONNECTING
 *   ENDED       its connection or process ended; half a second later, if this rank still waits for
 *               it, this rank decides whether it failed or left
 *   DONE        it is not watched any more
 *
 * While a rank waits in tutti_init for the ranks of other nodes (tt_watch_comers), it watches only
 * their processes: it reads the address record of any client that such a rank had before, and
 * connects to the port of the process at once. A rank without such a record is not watched.
 *
 * If the network's link to a rank has broken (tt_watch_lost), nothing more can come over it. So in
 * the state ENDED, a rank whose process has died counts as failed at once, and a rank that left
 * properly counts as left after half a second, even if this rank does not wait for it any more. If
 * the watched connection still stands, or cannot be made, the rank counts as failed with the cause
 * LOST after LOST_FOR.
 *
 * A connection that was refused or reset may mean that the rank left properly just before, and what
 * it sent may still be under way. So an end alone is no failure. It is a failure if a rank still
 * waits for that rank when all data has had time to come: tt_watch was called at least UNDER_WAY
 * after the end. Silence is a failure at once. But the kernel gives a connection up when a few
 * small packets in a row are lost, which does not show that the other host is silent. So this rank
 * then connects again, until TUTTI_PEER_TIMEOUT has passed since the last answer.
 *
 * A rank closes its port in the address record (`port`) when it leaves the client, and its process
 * may make another client. So if that port refuses a connection, the process may have ended, which
 * is a failure in all clients, or it may go on. To find out, the watcher connects to another port
 * (`process`), which the process keeps open until it ends. After a process has ended, no other
 * program can get one of these ports for a minute (watch-net.c). So a connection that comes up
 * leads to the process itself.
 *
 * A host may have several addresses, and some of them may not answer, or may belong to a third
 * host, too. So this rank does not wait until the attempts at all addresses have ended, and not
 * every refusal counts. If a connection to the host has been up at one of its addresses before,
 * only a refusal at that address counts, and the other addresses get SURE_FOR to accept the
 * connection instead. If none has been up before, each refusal counts, but the other addresses get
 * UNSURE_FOR. If the process then turns out to live, at an address that has not refused the port of
 * the client, this rank tries that port again.
 */
#include "boot/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file-id.h"
#include "base/signals.h"
#include "boot/inboxes.h"
#include "boot/records.h"
#include "boot/notice.h"
#include "boot/directory.h"
#include "boot/watch-net.h"

#define MS INT64_C(1000000)
#define LOOK_EVERY (50 * MS)
#define RETRY_EVERY (500 * MS)
/* If a connection gets no answer any more, this rank tries to connect again for at least so long.
 * It may notice the silence late, because it looks only while it waits. */
#define AGAIN_FOR (500 * MS)
/* When a connection of a rank has ended, data that the rank sent before arrive within this time. */
#define UNDER_WAY (500 * MS)
/* How long other addresses of the host get to accept a connection that one has refused (above).
 * SURE_FOR also serves if the network's link to the rank has broken, because this is another sign
 * that the process has ended. Within UNSURE_FOR, this rank tries three times to connect. */
#define SURE_FOR (300 * MS)
#define UNSURE_FOR (1500 * MS)
/* If the network's link to a rank has broken, but the watched connection to the rank stands, the
 * rank counts as lost after this time. */
#define LOST_FOR (1000 * MS)
/* The longest time that tt_watch_notify takes. Notices that were not sent by then are sent
 * later. */
#define NOTIFY_FOR (200 * MS)
#define LEAVE_FOR (50 * MS)

enum state { ASKED, CONNECTING, UP, ENDED, DONE };

struct peer {
    int rank;
    enum state state;
    /* a connection to the port of the client was refused or reset, so this rank connects to the
     * port of the process */
    bool doubted;
    /* if `doubted`: bit a is set if address number a has refused the port of the client; all bits
     * are set if a connection that was up was reset */
    uint32_t refused;
    /* this rank waits in tutti_init for the peer to come, and watches only the peer's process */
    bool comes;
    enum tt_cause cause; /* if ENDED: the cause of the end */
    /* when the state began; if CONNECTING follows ASKED, when ASKED began; if CONNECTING follows UP
     * because there was no answer, when the last answer came (but see AGAIN_FOR) */
    int64_t since_ns;
    int64_t tried_ns;          /* if CONNECTING: when the first connection was begun */
    int64_t retry_ns;          /* if CONNECTING: when to try again */
    _Atomic int64_t wanted_ns; /* when this rank last waited for the peer */
    int64_t lost_ns;           /* when a link to the peer broke; 0: none has broken */
    struct tt_reply *reply;
    struct tt_address_record record;
    /* CONNECTING: the connections that are being made; UP: the connection or the pidfd, or none if
     * pidfds are not supported, or the peer is in another PID namespace */
    struct tt_connecting line;
    struct peer *next; /* the next peer in `active` */
};

/* The watches of one client. `lock` is held to begin a watch, to look at the peers, and to send
 * notices. An entry of `peer` is set once, except that tt_watch_came removes entries before the
 * client is in use. */
struct tt_watch {
    pthread_mutex_t lock;
    pthread_t answerer; /* the thread that answers questions, if `stop` >= 0 */
    int stop;           /* an eventfd that ends the thread; -1: there is no thread */
    struct tt_watched_port port;
    uint64_t network; /* tt_host_network */
    int timeout_s, size;
    struct tt_watch *next;   /* the watches of another client of this process */
    _Atomic int64_t look_ns; /* the time of the next look */
    _Atomic int lost;        /* how many peers in `active` have lost_ns set */
    struct peer *active;
    bool *notifying; /* by rank: a notice about the rank is being sent */
    /* by node: the address at which a connection was up last; 0: none was up yet */
    uint8_t (*reached)[16];
    struct peer *_Atomic peer[];
};

/* ---- One rank that is watched ---- */

static void hang_up(struct peer *p)
{
    tt_connect_end(&p->line);
    tt_reply_drop(p->reply);
    p->reply = NULL;
}

static void log_end(const struct peer *p, const char *why)
{
    if (tt_log_on(TT_LOG_boot)) tt_log("stopped watching rank %d: %s", p->rank, why);
}

static void end(struct peer *p, enum tt_cause cause)
{
    hang_up(p);
    p->state = ENDED;
    p->cause = cause;
    p->since_ns = tt_clock_ns();
}

/* Returns whether the peer is known to be in another network namespace than this rank. */
static bool is_elsewhere(const struct tt_fabric *f, const struct peer *p)
{
    return p->record.network && f->watch->network && p->record.network != f->watch->network;
}

/* Marks a rank as failed in this client. without: the rank whose host has no network address, which
 * is the reason; -1: the reason is another one. */
static void lose(struct tt_fabric *f, struct peer *p, int without)
{
    hang_up(p);
    p->state = DONE;
    tt_common_fail(f->job, f->common, p->rank, TT_CAUSE_LOST, without + 1);
}

/* Returns whether this rank can reach no other host, because its own host has no address. */
static bool is_cut_off(const struct tt_fabric *f, const struct peer *p)
{
    uint8_t address[TT_RECORD_ADDRESSES][16];
    return is_elsewhere(f, p) && !tt_host_has_address(address, tt_host_addresses(address));
}

static void silent(struct tt_fabric *f, struct peer *p)
{
    if (is_cut_off(f, p)) {
        lose(f, p, f->me);
        return;
    }
    hang_up(p);
    p->state = DONE;
    tt_job_fail(f->job, p->rank, TT_CAUSE_SILENT, f->watch->timeout_s);
}

static bool in_time(const struct tt_fabric *f, const struct peer *p)
{
    return tt_clock_ns() - p->since_ns < f->watch->timeout_s * 1000 * MS;
}

static void try_connecting(struct tt_fabric *f, struct peer *p)
{
    uint16_t port = p->doubted ? p->record.process : p->record.port;
    tt_connect_begin(&p->line, port, p->record.address, p->record.addresses, is_elsewhere(f, p),
                     f->watch->timeout_s);
    p->retry_ns = tt_clock_ns() + RETRY_EVERY;
}

static void begin_connecting(struct tt_fabric *f, struct peer *p)
{
    p->state = CONNECTING;
    p->tried_ns = tt_clock_ns();
    try_connecting(f, p);
}

/* Returns which of the peer's addresses, as bits, is the one at which its host was reached last. */
static uint32_t reached(const struct tt_fabric *f, const struct peer *p)
{
    const uint8_t *last = f->watch->reached[f->job->rank[p->rank].node];
    for (int a = 0; a < p->record.addresses; a++)
        if (memcmp(p->record.address[a], last, 16) == 0) return 1u << a;
    return 0;
}

/* Returns whether a refusal counts, and no other address has accepted the connection in time. */
static bool is_refused(const struct tt_fabric *f, const struct peer *p)
{
    uint32_t known = reached(f, p);
    if (!(p->line.refused & (known ? known : UINT32_MAX))) return false;
    int64_t others = known || p->lost_ns ? SURE_FOR : UNSURE_FOR;
    return p->line.n == 0 || tt_clock_ns() >= p->tried_ns + others;
}

/* Handles a connection that was refused or reset. If it led to the port of the client, connects to
 * the port of the process, to find out whether the process has ended. If it led to the port of the
 * process, the process has ended. refused: as in struct peer. */
static void doubt(struct tt_fabric *f, struct peer *p, uint32_t refused)
{
    bool known = p->doubted || p->record.process == 0;
    hang_up(p);
    if (known) {
        log_end(p, "its process has ended");
        end(p, TT_CAUSE_GONE);
        return;
    }
    p->doubted = true;
    p->refused = refused;
    p->since_ns = tt_clock_ns();
    begin_connecting(f, p);
}

/* Handles a connection that is up. If it leads to the port of the process, and the port of the
 * client was refused at an address that belongs to the host for certain, the rank has left the
 * client. If the port of the client was refused only at other addresses, tries that port again: now
 * it is known at which address a refusal counts. */
static void connected(struct tt_fabric *f, struct peer *p)
{
    int a = p->line.which[0];
    uint32_t certain = reached(f, p) | 1u << a;
    memcpy(f->watch->reached[f->job->rank[p->rank].node], p->record.address[a], 16);
    p->state = UP;
    if (!p->doubted || p->comes) return;
    if (p->refused & certain) {
        log_end(p, "it has left the client, and its process goes on");
        end(p, TT_CAUSE_LEFT);
        return;
    }
    hang_up(p);
    p->doubted = false;
    begin_connecting(f, p);
}

/* Returns whether this rank must still wait for the address record: either there is no answer yet,
 * or the answer is that there is no address record yet. In the second case, asks again. */
static bool is_to_come(struct tt_fabric *f, struct peer *p)
{
    if (!p->reply) return false;
    if (!tt_reply_answered(p->reply, 0)) return true;
    if (!tt_reply_lacks(p->reply)) return false;
    if (in_time(f, p)) {
        hang_up(p);
        p->reply = tt_records_ask(f, p->rank, false);
    }
    return p->reply;
}

/* The answer had address records, but older ones than that of the present client: asks for the
 * records anew, or, if the timeout is over, marks the rank as failed. */
static void ask_anew(struct tt_fabric *f, struct peer *p)
{
    if (in_time(f, p))
        p->reply = tt_records_ask(f, p->rank, true);
    else
        silent(f, p);
}

/* Reads the address record when the answer has come, and begins to connect. If the answer is an
 * error, the rank has left the client (PEER), or the PMIx server has noticed that the rank's
 * process has ended. */
static void look_for_record(struct tt_fabric *f, struct peer *p)
{
    if (!p->comes && is_to_come(f, p)) {
        if (!in_time(f, p)) silent(f, p);
        return;
    }
    if (p->comes && p->reply && !tt_reply_answered(p->reply, 0)) return;
    int client = p->comes ? TT_ANY_CLIENT : f->client;
    tutti_status status = tt_records_end(client, p->reply, p->rank, &p->record);
    p->reply = NULL;
    if (status == TUTTI_AGAIN) {
        ask_anew(f, p);
        return;
    }
    if (p->comes && (status != TUTTI_OK || p->record.process == 0)) {
        log_end(p, "its process is not known");
        p->state = DONE;
        return;
    }
    if (status != TUTTI_OK) {
        log_end(p, tutti_error());
        end(p, status == TUTTI_ERR_PEER ? TT_CAUSE_LEFT : TT_CAUSE_GONE);
        return;
    }
    p->doubted = p->comes;
    begin_connecting(f, p);
    if (!is_elsewhere(f, p) || tt_host_has_address(p->record.address, p->record.addresses)) return;
    log_end(p, "its host has no network address");
    if (p->comes)
        p->state = DONE;
    else
        lose(f, p, p->rank);
}

static void look_at_connecting(struct tt_fabric *f, struct peer *p)
{
    int64_t tried_ns = p->tried_ns;
    if (tt_connect_look(&p->line) == TT_CONNECT_UP) {
        connected(f, p);
        return;
    }
    if (is_refused(f, p)) {
        doubt(f, p, p->line.refused);
        p->tried_ns = tried_ns; /* the other addresses have had their time */
        return;
    }
    if (tt_clock_ns() >= p->retry_ns) try_connecting(f, p);
    if (!in_time(f, p)) silent(f, p);
}

static bool is_here(const struct tt_fabric *f, const struct peer *p)
{
    return tt_fabric_shares(f, p->rank);
}

static pid_t pid_of(const struct tt_fabric *f, const struct peer *p)
{
    return tt_segment_pid(&f->job->rank[p->rank], &f->job->rank[f->me]);
}

static bool process_ended(const struct tt_fabric *f, const struct peer *p)
{
    struct pollfd poll_one = {.fd = p->line.fds[0], .events = POLLIN};
    if (p->line.n > 0) return poll(&poll_one, 1, 0) > 0;
    pid_t pid = pid_of(f, p);
    if (pid > 0) return kill(pid, 0) != 0 && errno == ESRCH;
    return tt_named_socket_is_gone(atomic_load(&f->job->rank[p->rank].socket));
}

/* Checks whether the process of a rank on this host has ended. If so, marks the rank as failed at
 * once, without the delay UNDER_WAY, because what the rank sent before lies in shared memory. */
static void look_at_process(struct tt_fabric *f, struct peer *p)
{
    if (!process_ended(f, p)) return;
    hang_up(p);
    p->state = DONE;
    tt_job_fail(f->job, p->rank, TT_CAUSE_GONE, 0);
}

/* Connects again, because the peer's host has not answered over the connection for a while. */
static void reconnect(struct tt_fabric *f, struct peer *p)
{
    int64_t most_ns = f->watch->timeout_s * 1000 * MS - AGAIN_FOR;
    int64_t silent_ns = tt_line_silent_ms(p->line.fds[0]) * MS;
    log_end(p, "it does not answer over the connection; connecting again");
    hang_up(p);
    begin_connecting(f, p);
    p->since_ns = p->tried_ns - tt_min(silent_ns, most_ns);
}

static void look_at_line(struct tt_fabric *f, struct peer *p)
{
    switch (tt_line_look(p->line.fds[0])) {
    case TT_LINE_UP: return;
    case TT_LINE_ENDED:
        log_end(p, "it ended the connection");
        end(p, TT_CAUSE_LEFT);
        return;
    case TT_LINE_RESET: doubt(f, p, UINT32_MAX); return;
    case TT_LINE_SILENT: reconnect(f, p); return;
    }
}

/* Returns whether everything that the rank sent has had time to arrive. If the network's link to
 * the rank stands, the function returns true if this rank still waited for the rank (wanted_ns) at
 * least UNDER_WAY after the rank's connection had ended. If the link has broken, a rank that failed
 * gets no more time, because nothing more can come over the link. A rank that left properly gets
 * the time UNDER_WAY, because it may have sent data over other connections. */
static bool is_settled(const struct peer *p)
{
    int64_t settled_ns = p->since_ns + UNDER_WAY;
    if (!p->lost_ns) return atomic_load(&p->wanted_ns) >= settled_ns;
    return p->cause != TT_CAUSE_LEFT || tt_clock_ns() >= settled_ns;
}

/* Decides what has happened to a rank whose connection or process has ended. A rank that left
 * properly, and to which the network's link has broken, is marked as left, not as failed. Other
 * ranks that wait for it also watch it, and notice by themselves that it has left. */
static void judge(struct tt_fabric *f, struct peer *p)
{
    if (!is_settled(p)) return;
    p->state = DONE;
    if (p->cause != TT_CAUSE_LEFT)
        tt_job_fail(f->job, p->rank, p->cause, 0);
    else if (p->lost_ns)
        tt_common_left(f->job, f->common, p->rank);
    else
        tt_common_miss(f->job, f->common, p->rank);
}

/* Ends the watch of a rank that has sent a notice that it leaves (notice.h). */
static void look_for_notice(const struct tt_fabric *f, struct peer *p)
{
    int64_t left_ns = atomic_load(&f->common->rank[p->rank].left_ns);
    if (!left_ns || p->state == ENDED || p->state == DONE) return;
    end(p, TT_CAUSE_LEFT);
    p->since_ns = left_ns;
}

static void give_up_lost(struct tt_fabric *f, struct peer *p)
{
    bool ends = p->state == ENDED || p->state == DONE;
    if (!p->lost_ns || ends || tt_clock_ns() < p->lost_ns + LOST_FOR) return;
    lose(f, p, is_cut_off(f, p) ? f->me : -1);
}

static void look_at(struct tt_fabric *f, struct peer *p)
{
    enum tt_rank_state state = tt_common_state(f->job, f->common, p->rank);
    if (state == TT_RANK_LEFT || state == TT_RANK_FAILED) {
        tt_common_announce(f->job, f->common, p->rank);
        hang_up(p);
        p->state = DONE;
    }
    look_for_notice(f, p);
    give_up_lost(f, p);
    switch (p->state) {
    case ASKED: look_for_record(f, p); break;
    case CONNECTING: look_at_connecting(f, p); break;
    case UP:
        if (is_here(f, p))
            look_at_process(f, p);
        else
            look_at_line(f, p);
        break;
    case ENDED: judge(f, p); break;
    case DONE: break;
    }
}

/* ---- All ranks that are watched ---- */

/* Looks at all ranks that are watched. What goes wrong in a look concerns no call of the user, so
 * the text of tutti_error() stays as it is. */
static void look_locked(struct tt_fabric *f)
{
    struct tt_watch *w = f->watch;
    char kept[TT_ERROR_TEXT];
    tt_error_keep(kept);
    tt_inboxes_take(f);
    for (struct peer **at = &w->active, *p; (p = *at) != NULL;) {
        look_at(f, p);
        if (p->state != DONE) {
            at = &p->next;
            continue;
        }
        if (p->lost_ns) atomic_fetch_sub(&w->lost, 1);
        *at = p->next;
    }
    tt_error_restore(kept);
}

void tt_watch_look(struct tt_fabric *f)
{
    struct tt_watch *w = f->watch;
    if (!w || tt_clock_ns() < atomic_load_explicit(&w->look_ns, memory_order_relaxed)) return;
    if (pthread_mutex_trylock(&w->lock) != 0) return;
    look_locked(f);
    atomic_store_explicit(&w->look_ns, tt_clock_ns() + LOOK_EVERY, memory_order_relaxed);
    pthread_mutex_unlock(&w->lock);
}

/* Begins to watch a process of this host, by its pid if this rank can refer to it, else by its
 * socket. Returns false if the process has published neither; the caller tries again later. */
static bool watch_process(struct tt_fabric *f, struct peer *p)
{
    pid_t pid = pid_of(f, p);
    if (pid <= 0 && !atomic_load(&f->job->rank[p->rank].socket)) return false;
    int fd = pid > 0 ? tt_file_above_standard((int)syscall(SYS_pidfd_open, pid, 0)) : -1;
    if (fd >= 0) p->line.fds[p->line.n++] = fd;
    p->state = UP;
    return true;
}

/* Begins to watch a rank, unless it is watched already. comes: this rank waits in tutti_init for
 * the other rank to come. If there is no memory, does nothing, and the next call tries again. */
static void begin_locked(struct tt_fabric *f, int rank, bool comes)
{
    struct tt_watch *w = f->watch;
    struct peer *p = atomic_load(&w->peer[rank]) ? NULL : tt_calloc(1, sizeof *p);
    if (!p) return;
    p->rank = rank;
    p->comes = comes && !is_here(f, p);
    p->since_ns = tt_clock_ns();
    atomic_store(&p->wanted_ns, p->since_ns);
    if (!is_here(f, p))
        p->reply = tt_records_ask(f, rank, false);
    else if (!watch_process(f, p)) {
        tt_free(p);
        return;
    }
    p->next = w->active;
    w->active = p;
    atomic_store(&w->peer[rank], p);
}

static void watch(struct tt_fabric *f, int rank, bool comes)
{
    struct tt_watch *w = f->watch;
    if (!w || rank == f->me) return;
    struct peer *p = atomic_load_explicit(&w->peer[rank], memory_order_acquire);
    if (p) {
        atomic_store_explicit(&p->wanted_ns, tt_clock_ns(), memory_order_relaxed);
        return;
    }
    if (pthread_mutex_trylock(&w->lock) != 0) return;
    begin_locked(f, rank, comes);
    pthread_mutex_unlock(&w->lock);
}

void tt_watch(struct tt_fabric *f, int rank)
{
    watch(f, rank, false);
}

/* Returns whether this rank has to watch `rank`, a rank of another node, in tutti_init. The ranks
 * of a node divide the ranks of other nodes among themselves. In a large job a node watches only
 * the nodes to which it sends notices, and it gets notices about the ranks of all other nodes. */
static bool watches_comer(const struct tt_fabric *f, int rank)
{
    const struct tt_job_rank *its = &f->job->rank[rank], *mine = &f->job->rank[f->me];
    return f->client > 0 && tt_notice_goes(mine->node, its->node, f->job->nodes) &&
           rank % f->job->arenas == mine->arena;
}

void tt_watch_comer(struct tt_fabric *f, int rank)
{
    watch(f, rank, true);
    tt_watch_look(f);
}

void tt_watch_comers(struct tt_fabric *f)
{
    for (int r = 0; f->watch && r < f->size; r++)
        if (tt_fabric_shares(f, r) || watches_comer(f, r)) watch(f, r, true);
    tt_watch_look(f);
}

/* Records that the link to the rank has broken, unless the rank's end is known already. */
static void note_lost_locked(struct tt_watch *w, struct peer *p)
{
    if (!p || p->lost_ns || p->state == DONE) return;
    p->lost_ns = tt_clock_ns();
    atomic_fetch_add(&w->lost, 1);
    atomic_store_explicit(&w->look_ns, 0, memory_order_relaxed);
}

/* Begins to look for the cause of a broken link to the rank. Returns false if this rank cannot find
 * a cause: it watches no rank, the rank is this rank itself, or there is no memory to watch it. */
static bool seek_cause(struct tt_fabric *f, int rank)
{
    struct tt_watch *w = f->watch;
    if (!w || rank == f->me) return false;
    pthread_mutex_lock(&w->lock);
    begin_locked(f, rank, false);
    struct peer *p = atomic_load(&w->peer[rank]);
    note_lost_locked(w, p);
    pthread_mutex_unlock(&w->lock);
    return p != NULL;
}

void tt_watch_lost(struct tt_fabric *f, int rank)
{
    if (seek_cause(f, rank)) return;
    if (rank != f->me && tt_fabric_shares(f, rank)) tt_fabric_await_record(f, rank);
    tt_common_fail(f->job, f->common, rank, TT_CAUSE_LOST, 0);
}

bool tt_watch_seeks(const struct tt_fabric *f)
{
    return f->watch && atomic_load_explicit(&f->watch->lost, memory_order_relaxed) > 0;
}

/* ---- Sending notices ---- */

static void send_notice(struct tt_fabric *f, int rank)
{
    struct tt_failure failure = tt_common_failure(f->job, f->common, rank);
    struct tt_notice notice = {.client = (uint32_t)f->client,
                               .from = f->me,
                               .about = rank,
                               .cause = (int32_t)failure.cause,
                               .code = failure.code,
                               .team = failure.team};
    if (failure.why) snprintf(notice.why, sizeof notice.why, "%s", failure.why);
    tt_inboxes_notify(f, &notice);
}

static bool is_unnoticed(const struct tt_fabric *f, int rank)
{
    return tt_common_state(f->job, f->common, rank) == TT_RANK_FAILED &&
           !atomic_load(&f->common->rank[rank].noticed);
}

/* Sends notices about the ranks that have failed. Marks such a rank as noticed when all notices are
 * sent, or NOTIFY_FOR after they were begun. */
static void notify_locked(struct tt_fabric *f)
{
    bool *notifying = f->watch->notifying, any = false;
    for (int r = 0; r < f->size; r++) {
        any |= notifying[r] = is_unnoticed(f, r);
        if (notifying[r]) send_notice(f, r);
    }
    if (any) tt_notice_flush(tt_clock_ns() + NOTIFY_FOR);
    for (int r = 0; r < f->size; r++)
        if (notifying[r]) atomic_store(&f->common->rank[r].noticed, 1);
}

void tt_watch_notify(struct tt_fabric *f)
{
    if (!f->watch || f->job->nodes < 2) return;
    pthread_mutex_lock(&f->watch->lock);
    notify_locked(f);
    pthread_mutex_unlock(&f->watch->lock);
}

void tt_watch_leave(struct tt_fabric *f)
{
    if (!f->watch || f->job->nodes < 2) return;
    struct tt_notice notice = {
        .client = (uint32_t)f->client, .from = f->me, .about = f->me, .left = true};
    tt_inboxes_take(f);
    if (tt_common_state(f->job, f->common, f->me) == TT_RANK_FAILED)
        tt_watch_notify(f);
    else
        tt_inboxes_notify(f, &notice);
    tt_notice_flush(tt_clock_ns() + LEAVE_FOR);
}

/* ---- In a child of this process ----
 *
 * A child that fork makes inherits all descriptors. If the child kept the descriptors by which
 * other ranks watch this process, they would not notice the death of this process while the child
 * lives; so the child closes them. The child undoes nothing else of the job. The job's memory stays
 * mapped (no MADV_DONTFORK), because the program may read its results in this memory. The library
 * does not access this memory in the child (base/handle.h). */

static struct {
    pthread_mutex_t lock;
    struct tt_watch *first;
    /* both open from the first watch to the end of the process; socket: -1: it is not open */
    struct tt_watched_port process;
    int socket;
    uint64_t socket_number;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .process = {.fd = -1}, .socket = -1};

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&all.lock);
}

/* Runs in a child process after a fork, and closes the descriptors. If another thread of the parent
 * was changing a peer just then, the child may close a descriptor that is closed already, or leave
 * one open. */
static void in_child(void)
{
    tt_watched_port_forget(&all.process);
    if (all.socket >= 0) close(all.socket);
    all.socket = -1;
    for (struct tt_watch *w = all.first; w; w = w->next) {
        tt_watched_port_forget(&w->port);
        for (int r = 0; r < w->size; r++) {
            struct peer *p = atomic_load(&w->peer[r]);
            for (int i = 0; p && i < p->line.n; i++) close(p->line.fds[i]);
        }
    }
    all.first = NULL;
    after_fork();
}

static void handle_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

/* The function holds `all.lock`, because a child that another thread forks meanwhile must not find
 * a peer that is half removed. */
void tt_watch_came(struct tt_fabric *f)
{
    struct tt_watch *w = f->watch;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    pthread_mutex_lock(&all.lock);
    for (struct peer **at = &w->active, *p; (p = *at) != NULL;)
        if (p->comes)
            *at = p->next;
        else
            at = &p->next;
    for (int r = 0; r < w->size; r++) {
        struct peer *p = atomic_load(&w->peer[r]);
        if (!p || !p->comes) continue;
        atomic_store(&w->peer[r], NULL);
        hang_up(p);
        tt_free(p);
    }
    pthread_mutex_unlock(&all.lock);
    pthread_mutex_unlock(&w->lock);
}

static void enlist(struct tt_watch *w)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, handle_forks);
    pthread_mutex_lock(&all.lock);
    w->next = all.first;
    all.first = w;
    pthread_mutex_unlock(&all.lock);
}

static void unlist(const struct tt_watch *w)
{
    pthread_mutex_lock(&all.lock);
    struct tt_watch **link = &all.first;
    while (*link && *link != w) link = &(*link)->next;
    if (*link) *link = w->next;
    pthread_mutex_unlock(&all.lock);
}

/* ---- Answering questions ----
 *
 * A thread takes the notices and questions that come to the node's inbox, as a rank that waits
 * does. A child that fork makes does not have the thread. */

static void *answer_all(void *arg)
{
    struct tt_fabric *f = arg;
    struct pollfd p[2] = {{.fd = tt_inboxes_fd(f), .events = POLLIN},
                          {.fd = f->watch->stop, .events = POLLIN}};
    while (poll(p, 2, -1) < 0 || !p[1].revents) tt_inboxes_take(f);
    return NULL;
}

/* Starts the thread with all signals blocked, because the program's signal handlers must not run in
 * it. Returns whether it was started. */
static bool begin_thread(struct tt_fabric *f)
{
    sigset_t before;
    tt_signals_block(&before);
    bool begun = pthread_create(&f->watch->answerer, NULL, answer_all, f) == 0;
    tt_signals_restore(&before);
    return begun;
}

void tt_watch_answer(struct tt_fabric *f)
{
    struct tt_watch *w = f->watch;
    if (!w || !f->watchdog_ns || tt_inboxes_fd(f) < 0) return;
    w->stop = tt_file_above_standard(eventfd(0, EFD_CLOEXEC));
    if (w->stop < 0 || begin_thread(f)) return;
    close(w->stop);
    w->stop = -1;
}

static void end_answers(struct tt_watch *w)
{
    uint64_t one = 1;
    if (w->stop < 0) return;
    ssize_t written = write(w->stop, &one, sizeof one);
    (void)written; /* eight bytes always fit */
    pthread_join(w->answerer, NULL);
    close(w->stop);
    w->stop = -1;
}

/* ---- Begin and end ---- */

static tutti_status listen_for_process(void)
{
    pthread_mutex_lock(&all.lock);
    tutti_status status = all.process.fd < 0 ? tt_watched_port_open(&all.process) : TUTTI_OK;
    pthread_mutex_unlock(&all.lock);
    return status;
}

uint16_t tt_watch_process_port(void)
{
    pthread_mutex_lock(&all.lock);
    uint16_t port = all.process.port;
    pthread_mutex_unlock(&all.lock);
    return port;
}

/* Publishes the socket by which ranks in other PID namespaces watch this process. */
static void publish_socket(struct tt_job_rank *me)
{
    pthread_mutex_lock(&all.lock);
    if (all.socket < 0) all.socket = tt_named_socket_make(&all.socket_number);
    if (all.socket >= 0) atomic_store(&me->socket, all.socket_number);
    pthread_mutex_unlock(&all.lock);
}

static tutti_status listen_for_others(struct tt_watch *w)
{
    TT_TRY(listen_for_process());
    return tt_watched_port_open(&w->port);
}

static void free_watch(struct tt_watch *w)
{
    if (!w) return;
    tt_free(w->notifying);
    tt_free(w->reached);
    tt_free(w);
}

tutti_status tt_watch_open(struct tt_fabric *f)
{
    struct tt_watch *w = tt_calloc(1, sizeof *w + (size_t)f->size * sizeof w->peer[0]);
    if (w) w->notifying = tt_calloc((size_t)f->size, sizeof *w->notifying);
    if (w) w->reached = tt_calloc((size_t)f->job->nodes, sizeof *w->reached);
    if (!w || !w->notifying || !w->reached) {
        free_watch(w);
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for watching %d ranks", f->size);
    }
    w->timeout_s = tt_peer_timeout();
    w->network = tt_host_network();
    w->port.fd = w->stop = -1;
    tutti_status status = f->job->nodes > 1 ? listen_for_others(w) : TUTTI_OK;
    if (status != TUTTI_OK) {
        free_watch(w);
        return status;
    }
    /* the processes of a nested job are in one PID namespace (tutti_team_threads) */
    if (!f->job->nested) publish_socket(&f->job->rank[f->me]);
    pthread_mutex_init(&w->lock, NULL);
    w->size = f->size;
    enlist(w);
    f->watch = w;
    return TUTTI_OK;
}

uint16_t tt_watch_port(const struct tt_fabric *f)
{
    return f->watch ? f->watch->port.port : 0;
}

void tt_watch_close(struct tt_fabric *f)
{
    struct tt_watch *w = f->watch;
    if (!w) return;
    end_answers(w);
    f->watch = NULL;
    unlist(w);
    tt_watched_port_close(&w->port);
    for (int r = 0; r < f->size; r++) {
        struct peer *p = atomic_load(&w->peer[r]);
        if (p) hang_up(p);
        tt_free(p);
    }
    pthread_mutex_destroy(&w->lock);
    free_watch(w);
}
