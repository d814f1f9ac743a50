/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank joins a job by PMIx or by the caller's allgather (directory.h). The lowest rank of
 * each node, its leader, makes the segment of the node and passes it to the other ranks of the node
 * (share.h). Values for ranks of the same node are published with PMIx's local scope. After that,
 * the ranks of each node go through the three rounds of tt_boot_meet. At the end the nodes agree,
 * by two fences:
 *
 *   terms   the leader of each node publishes on what its ranks have agreed, or why they cannot go
 *           on; a fence brings all terms to all ranks, O(nodes) bytes. All ranks compare all terms,
 *           so all get the same result.
 *   address records
 *           each rank publishes its address record (records.h), and a second fence brings all
 *           records to the servers of all nodes, where a rank fetches only those that it needs.
 *
 * A rank that fails before the first fence still takes part in it, so that no node waits for
 * another in vain. A rank that waits in a fence looks whether another rank has died, and waits for
 * at most TUTTI_BOOT_TIMEOUT. While the ranks make the job's first client, a rank has no address
 * records of other nodes, and sees only the deaths of ranks of its own node.
 */
#include "boot/machines.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "boot/directory.h"
#include "boot/inboxes.h"
#include "boot/records.h"
#include "boot/share.h"
#include "boot/watch-net.h"
#include "boot/watch.h"

#define SECOND INT64_C(1000000000)
/* the time after which a rank that waits in a fence looks again whether another rank has died */
#define LOOK_NS (SECOND / 10)

/* The state of this process in the job that it joined by PMIx or by the allgather. A process joins
 * only one job. */
struct machines_member {
    int rank, size;
    int nodes, first; /* first: the lowest rank of this node */
    int *node;
    bool agreed; /* this rank has taken part in a fence for terms */
    /* Used if values need a fence (not `at_once`). has_names: this rank has taken part in the
     * fences for the names of the leaders' sockets. shown: this rank has begun the fence for the
     * address records of its last client. */
    bool has_names, shown;
};

/* NEVER: this process has joined no job by PMIx or by an allgather. IN: it has joined one, and has
 * clients. OUT: it has joined one, and has no client now. Changed under the lock of boot.c. */
enum stage { NEVER, IN, OUT };

static struct {
    _Atomic enum stage stage;
    struct machines_member member;
} joined;

static int boot_timeout(void)
{
    return (int)tt_setting_int("TUTTI_BOOT_TIMEOUT");
}

static int64_t boot_deadline(void)
{
    return tt_clock_ns() + boot_timeout() * SECOND;
}

/* Each rank has one key for the terms of all its clients (records.h says why). */
#define TERMS_KEY "tutti.terms"

static void set_stage(enum stage stage)
{
    atomic_store(&joined.stage, stage);
    tt_directory_join(stage == IN);
}

/* Asks for the value that the rank has published under the key. Stores its length in *n, and its
 * bytes in to[], which has room for `room` bytes. If `anew` is true, an older value that the PMIx
 * library has kept does not count, and the PMIx server is asked (directory.h). Errors: AGAIN (the
 * answer is that there is no value so far), BOOT. */
static tutti_status ask_value(int rank, const char *key, bool anew, void *to, size_t room,
                              size_t *n)
{
    struct tt_reply *reply = tt_directory()->ask(rank, key, anew);
    bool lacks = reply && tt_reply_answered(reply, boot_deadline()) && tt_reply_lacks(reply);
    tutti_status status = tt_reply_end(reply, to, room, n);
    return lacks ? TUTTI_AGAIN : status;
}

/* Waits for the value that the leader of the node publishes in its tutti_init. Most PMIx servers
 * answer only when there is a value. Others answer earlier that there is none, that of Open MPI
 * after two seconds; then this function asks again. Errors: BOOT. */
static tutti_status await_leader(int leader, const char *key, void *to, size_t room, size_t *n)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    int64_t until_ns = boot_deadline();
    tutti_status status;
    while ((status = ask_value(leader, key, false, to, room, n)) == TUTTI_AGAIN &&
           tt_clock_ns() < until_ns)
        (void)nanosleep(&pause, NULL);
    if (status == TUTTI_OK || tt_clock_ns() < until_ns) return status;
    return tt_fail(TUTTI_ERR_BOOT,
                   "rank %d has not called tutti_init within %d s (TUTTI_BOOT_TIMEOUT)", leader,
                   boot_timeout());
}

/* ---- Which rank is on which node ---- */

/* Gets from the directory the name of the host of a rank. The local PMIx server knows the names of
 * all hosts. */
static tutti_status host_of(int rank, char host[TT_JOB_HOST])
{
    char text[256];
    size_t n = 0;
    tutti_status status = ask_value(rank, "pmix.hname", false, text, sizeof text, &n);
    if (status == TUTTI_AGAIN || (status == TUTTI_OK && n == 0))
        return tt_fail(TUTTI_ERR_BOOT,
                       "PMIx has no name for the host of rank %d; if a process of this job has "
                       "left it already, another process of the same rank cannot join again",
                       rank);
    if (status != TUTTI_OK) return status;
    memset(host, 0, TT_JOB_HOST);
    memcpy(host, text, (size_t)tt_min((int64_t)n, TT_JOB_HOST - 1));
    return TUTTI_OK;
}

/* Returns the number of the rank's node, or `nodes` if the node has no number yet. Nodes are
 * numbered in the order of their lowest ranks, which are in leader[]. */
static int number_of(int rank, char (*host)[TT_JOB_HOST], const int *leader, int nodes)
{
    int n = 0;
    while (n < nodes && strcmp(host[leader[n]], host[rank]) != 0) n++;
    return n;
}

static tutti_status place(struct machines_member *m, char (*host)[TT_JOB_HOST], int *leader)
{
    for (int r = 0; r < m->size; r++) {
        TT_TRY(host_of(r, host[r]));
        /* rank r is often on the node of the rank before it, so this node is compared first */
        int last = m->nodes ? m->node[r - 1] : 0;
        bool same = m->nodes && strcmp(host[leader[last]], host[r]) == 0;
        m->node[r] = same ? last : number_of(r, host, leader, m->nodes);
        if (m->node[r] == m->nodes) leader[m->nodes++] = r;
    }
    m->first = leader[m->node[m->rank]];
    return TUTTI_OK;
}

/* ---- The segment ---- */

/* The key under which a leader publishes the name of its socket for the segment. */
#define SOCKET_KEY "tutti.door"

/* Publishes this rank's error, with a ! before it, in the place of the socket's name, for the ranks
 * of the node that wait for the segment. */
static void publish_refusal(void)
{
    char text[TT_TERMS_WHY];
    int n = snprintf(text, sizeof text, "!%s", tutti_error());
    (void)tt_directory()->put(TT_SCOPE_LOCAL, SOCKET_KEY, text,
                              (size_t)tt_min(n, (int64_t)sizeof text - 1));
}

static int locals_of(const struct machines_member *m)
{
    int n = 0;
    for (int r = 0; r < m->size; r++) n += m->node[r] == m->node[m->rank];
    return n;
}

/* Returns how many descriptors the leader passes to the other ranks of the node: that of the
 * memory, and in a job on several nodes also that of the inbox. */
static int shared_of(const struct machines_member *m)
{
    return m->nodes > 1 ? 2 : 1;
}

/* Waits until all ranks have come to the fence. Returns an error if a rank has died, or does not
 * come within TUTTI_BOOT_TIMEOUT. Only the leader of the node of a missing rank knows which rank is
 * missing (hand_out). This function waits for a second longer than the leader, because a launcher
 * may end the job at the first error, and the error of the leader has to be that one. */
static tutti_status await_all(struct tt_fabric *f, struct tt_reply *reply)
{
    char text[160];
    int64_t until_ns = boot_deadline() + SECOND;
    while (!tt_reply_answered(reply, tt_min(tt_clock_ns() + LOOK_NS, until_ns))) {
        if (tt_clock_ns() >= until_ns)
            return tt_fail(TUTTI_ERR_BOOT,
                           "not all ranks of the job came within %d s (TUTTI_BOOT_TIMEOUT); on the "
                           "host of a missing rank, the first rank names it, or is missing itself",
                           boot_timeout());
        if (f) tt_watch_comers(f);
        int ended = f ? tt_job_first_ended(f->job) : -1;
        if (ended >= 0)
            return tt_fail(TUTTI_ERR_PEER, "%s",
                           tt_job_cause_text(f->job, ended, text, sizeof text));
    }
    return TUTTI_OK;
}

/* Runs a fence. If a rank has died, the function ends the fence without its answer, and notifies
 * the other nodes: no later fence of the job can succeed, so the ranks need not agree whether this
 * fence succeeded. `f` is NULL if this rank has no client yet. */
static tutti_status fence(struct tt_fabric *f)
{
    struct tt_reply *reply = tt_directory()->fence();
    tutti_status status = reply ? await_all(f, reply) : TUTTI_OK;
    if (f) tt_watch_came(f);
    if (status == TUTTI_OK) return tt_reply_end(reply, NULL, 0, NULL);
    tt_reply_drop(reply);
    if (status == TUTTI_ERR_PEER) tt_watch_notify(f);
    return status;
}

/* Brings the names of the leaders' sockets to all ranks, by two fences, if the provider needs
 * fences for that. The first fence exchanges the names. If it fails on one rank only, that rank
 * sends its error to the other ranks in the second fence, so that none of them waits for that rank
 * at a socket. */
static tutti_status bring_names(struct machines_member *m)
{
    if (tt_directory()->at_once) return TUTTI_OK;
    TT_TRY(fence(NULL));
    TT_TRY(fence(NULL));
    m->has_names = true;
    return TUTTI_OK;
}

/* Records the pid of a rank that has come for the memory, because a rank that dies before it has
 * recorded its own pid must be noticed, too. The rank does not have the memory yet, so the leader
 * cannot replace what the rank has recorded. */
struct coming {
    const struct machines_member *m;
    struct tt_job_page *job;
    bool *came; /* by rank */
};

static void record_process(void *arg, int rank, pid_t pid)
{
    const struct coming *c = arg;
    bool is_here = rank < c->m->size && c->m->node[rank] == c->m->node[c->m->rank];
    if (is_here) c->came[rank] = true;
    if (is_here && pid > 0) tt_segment_set_process(&c->job->rank[rank], pid);
}

/* Returns an error that names the ranks of this node that have not come, the first ten of them. */
static tutti_status name_missing(const struct coming *c)
{
    enum { MOST = 10 };
    const struct machines_member *m = c->m;
    int missing = 0, used = 0;
    char list[MOST * 12] = "";
    for (int r = 0; r < m->size; r++) {
        if (m->node[r] != m->node[m->rank] || c->came[r]) continue;
        if (missing++ < MOST)
            used += snprintf(list + used, sizeof list - (size_t)used, "%s%d", used ? ", " : "", r);
    }
    return tt_fail(TUTTI_ERR_BOOT,
                   "only %d of the %d ranks of this node came within %d s (TUTTI_BOOT_TIMEOUT): "
                   "%s %s%s not called tutti_init",
                   locals_of(m) - missing, locals_of(m), boot_timeout(),
                   missing > 1 ? "ranks" : "rank", list,
                   missing > MOST ? ", ... have"
                   : missing > 1  ? " have"
                                  : " has");
}

/* Passes the descriptors to the ranks of the node that come. If some do not, this rank takes part
 * in no fence any more, because no fence can succeed without these ranks. */
static tutti_status give_all(struct machines_member *m, struct tt_share *share,
                             const struct tt_segment *segment, bool *came)
{
    struct coming coming = {m, tt_segment_page(segment), came};
    int64_t until = boot_deadline();
    const int fds[TT_SHARE_MOST] = {segment->fd, tt_inboxes_held()};
    came[m->rank] = true;
    for (int i = 1, n = locals_of(m); i < n; i++) {
        if (tt_share_give(share, fds, shared_of(m), until, record_process, &coming) == TUTTI_OK)
            continue;
        m->agreed = true;
        return name_missing(&coming);
    }
    return TUTTI_OK;
}

/* Passes the descriptors to the other ranks of the node. */
static tutti_status hand_out(struct machines_member *m, struct tt_share *share,
                             const struct tt_segment *segment)
{
    bool *came = tt_calloc((size_t)m->size, sizeof *came);
    tutti_status status =
        came ? tt_directory()->put(TT_SCOPE_LOCAL, SOCKET_KEY, share->name, strlen(share->name))
             : tt_fail(TUTTI_ERR_MEMORY, "no memory for %d ranks", m->size);
    if (status == TUTTI_OK) status = bring_names(m);
    if (status == TUTTI_OK) status = give_all(m, share, segment, came);
    tt_free(came);
    return status;
}

static tutti_status make(struct machines_member *m, char (*host)[TT_JOB_HOST],
                         struct tt_segment *segment)
{
    struct tt_share share;
    if (m->nodes > 1) TT_TRY(tt_inboxes_open());
    TT_TRY(tt_segment_create_on(segment, m->size, m->node, m->nodes, m->rank));
    for (int r = 0; r < m->size; r++)
        memcpy(tt_segment_page(segment)->rank[r].host, host[r], TT_JOB_HOST);
    tutti_status status = tt_share_open(&share);
    if (status == TUTTI_OK) {
        status = hand_out(m, &share, segment);
        tt_share_close(&share);
    }
    if (status != TUTTI_OK) {
        /* so that ranks of the node that have got the memory do not wait for this rank */
        tt_job_fail(tt_segment_page(segment), m->rank, TT_CAUSE_STATUS, (int)status);
        tt_segment_close(segment);
    }
    return status;
}

static tutti_status fetch(struct machines_member *m, struct tt_segment *segment)
{
    char name[TT_TERMS_WHY + 1] = "";
    size_t n = 0;
    int fds[TT_SHARE_MOST] = {-1, -1};
    TT_TRY(bring_names(m));
    TT_TRY(await_leader(m->first, SOCKET_KEY, name, sizeof name - 1, &n));
    if (name[0] == '!')
        return tt_fail(TUTTI_ERR_BOOT,
                       "rank %d could not make the memory for the ranks of this node: %s", m->first,
                       name + 1);
    if (n >= TT_SHARE_NAME)
        return tt_fail(TUTTI_ERR_BOOT,
                       "rank %d published an invalid name for the socket of the job's memory",
                       m->first);
    TT_TRY(tt_share_take(name, m->rank, boot_deadline(), fds, shared_of(m)));
    tt_inboxes_hold(fds[1]);
    return tt_segment_attach(segment, fds[0], m->rank);
}

static tutti_status get_segment(struct machines_member *m, char (*host)[TT_JOB_HOST],
                                struct tt_segment *segment)
{
    if (m->rank != m->first) return fetch(m, segment);
    tutti_status status = make(m, host, segment);
    if (status != TUTTI_OK && tt_directory()->at_once) publish_refusal();
    return status;
}

static tutti_status same_size(const struct machines_member *m, const struct tt_job_page *job)
{
    if (job->size == m->size && job->nodes == m->nodes) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "the memory that rank %d offers belongs to another job",
                   m->first);
}

/* ---- Joining and leaving ---- */

/* Publishes the node's terms if this rank is the leader, and runs the fence that brings the terms
 * of all nodes to all ranks. `f` is NULL if this rank has no client. */
static tutti_status exchange(struct machines_member *m, struct tt_fabric *f,
                             const struct tt_terms *terms)
{
    uint8_t bytes[sizeof(uint32_t) + TT_TERMS_BYTES];
    const uint32_t number = f ? (uint32_t)f->client : 0;
    m->agreed = true;
    if (m->rank == m->first) {
        memcpy(bytes, &number, sizeof number);
        size_t n = sizeof number + tt_terms_write(terms, bytes + sizeof number);
        TT_TRY(tt_directory()->put(TT_SCOPE_ALL, TERMS_KEY, bytes, n));
    }
    return fence(f);
}

/* Sends this rank's error to the other ranks if this rank still has fences to take part in: the
 * next fence of the other ranks then fails. Call this only if values need a fence (not
 * `at_once`). */
static void refuse_fence(const struct machines_member *m, tutti_status status)
{
    char why[TT_TERMS_WHY];
    if (m->has_names && (m->nodes < 2 || m->shown)) return;
    snprintf(why, sizeof why, "rank %d cannot go on: %.120s", m->rank, tutti_status_text(status));
    tt_directory()->refuse(why);
}

/* Sends this rank's error to the ranks that wait for this rank. Over PMIx, in a job on several
 * nodes, these ranks wait in the first fence for terms. If this rank has not taken part in that
 * fence, it does so now, and if it is a leader, publishes its error in the place of its node's
 * terms. */
static void send_error(struct machines_member *m, tutti_status status)
{
    struct tt_terms terms = {.status = (int32_t)status, .cores = 1, .online = 1, .ranks = 1};
    if (!tt_directory()->at_once) refuse_fence(m, status);
    if (m->agreed || m->nodes < 2 || !tt_directory()->at_once) return;
    tt_version(terms.version);
    snprintf(terms.why, sizeof terms.why, "rank %d cannot go on: %.120s", m->rank,
             tutti_status_text(status));
    (void)exchange(m, NULL, &terms);
}

static tutti_status join(struct machines_member *m, struct tt_segment *segment)
{
    char(*host)[TT_JOB_HOST] = tt_alloc((size_t)m->size * sizeof *host);
    int *leader = tt_alloc((size_t)m->size * sizeof *leader);
    m->node = tt_alloc((size_t)m->size * sizeof *m->node);
    tutti_status status = host && leader && m->node && tt_inboxes_make(m->size)
                              ? place(m, host, leader)
                              : tt_fail(TUTTI_ERR_MEMORY, "no memory for %d ranks", m->size);
    if (status == TUTTI_OK) status = get_segment(m, host, segment);
    if (status == TUTTI_OK) {
        status = same_size(m, tt_segment_page(segment));
        if (status != TUTTI_OK) tt_segment_close(segment);
    }
    tt_free(leader);
    tt_free(host);
    return status;
}

/* Ends a failed attempt to join: sends the error to the other nodes, and frees what join() has
 * made. Keeps the text of the error, because send_error may set another text. */
static tutti_status give_up(struct machines_member *m, tutti_status status)
{
    char text[256];
    snprintf(text, sizeof text, "%s", tutti_error());
    send_error(m, status);
    tt_directory()->close();
    tt_inboxes_close();
    tt_free(m->node);
    *m = (struct machines_member){0};
    return tt_fail(status, "%s", text);
}

tutti_status tt_machines_attach(struct tt_segment *segment, int *rank)
{
    struct machines_member *m = &joined.member;
    *m = (struct machines_member){0};
    TT_TRY(tt_directory()->open(&m->rank, &m->size));
    *rank = m->rank;
    tutti_status status = join(m, segment);
    if (status != TUTTI_OK) return give_up(m, status);
    set_stage(IN);
    return TUTTI_OK;
}

void tt_machines_leave(tutti_status status)
{
    if (joined.stage != IN) return;
    send_error(&joined.member, status == TUTTI_OK ? TUTTI_ERR_BOOT : status);
    set_stage(OUT);
    tt_directory()->close();
}

tutti_status tt_machines_return(void)
{
    int rank, size;
    if (joined.stage != OUT) return TUTTI_OK;
    TT_TRY(tt_directory()->open(&rank, &size));
    set_stage(IN);
    return TUTTI_OK;
}

/* ---- Agreeing ---- */

static struct tt_terms terms_of(const struct tt_fabric *f, tutti_status here)
{
    struct tt_terms t = {.status = (int32_t)here,
                         .cores = f->cores,
                         .online = (int32_t)tt_max(1, sysconf(_SC_NPROCESSORS_ONLN)),
                         .accesses = f->everywhere,
                         .read_cost = f->read_cost,
                         .stamp = f->job->stamp,
                         .kernel = tt_host_kernel(),
                         .ranks = f->job->arenas};
    tt_inboxes_describe(&t);
    t.addresses = (uint8_t)tt_host_addresses(t.address);
    tt_version(t.version);
    t.machine = f->machine;
    t.wisdom = f->wisdom;
    if (here == TUTTI_OK) tt_common_warnings(f->job, f->common, &t.warnings);
    for (int i = 0; i < TT_MUST_MATCH_SETTINGS; i++)
        t.must_match[i] = tt_setting_must_match((enum tt_must_match)i);
    if (here != TUTTI_OK) {
        int r = tt_common_first_failed(f->job, f->common);
        if (r >= 0)
            tt_common_cause_text(f->job, f->common, r, t.why, sizeof t.why);
        else
            snprintf(t.why, sizeof t.why, "rank %d cannot go on: %.120s", f->me,
                     tutti_status_text(here));
    }
    return t;
}

/* Returns the error for a node whose lowest rank, `leader`, has published its terms (struct
 * tt_terms) only for an older client. PMIx completes a fence although a rank has died, so the
 * leader may have died before it published the new terms. This rank may find out later than PMIx
 * that a rank has died, by the end of the rank's process or by a notice of another node. So this
 * function waits until it knows of a rank that has died, and returns PEER with the cause of the
 * death. If it knows of none in time, it returns BOOT with a text that says at which client the
 * leader is. No other thread uses the client. */
static tutti_status older_terms(struct tt_fabric *f, int leader, uint32_t client)
{
    char text[160];
    const struct timespec pause = {.tv_nsec = 10000000};
    int ended = -1;
    int64_t until_ns = tt_clock_ns() + tt_peer_timeout() * SECOND;
    while (ended < 0 && tt_clock_ns() < until_ns) {
        tt_watch_comer(f, leader);
        ended = tt_job_first_ended(f->job);
        if (ended < 0) nanosleep(&pause, NULL);
    }
    tt_watch_came(f);
    if (ended < 0)
        return tt_fail(TUTTI_ERR_BOOT, "rank %d is at client %u of the job, this rank at client %d",
                       leader, (unsigned)client, f->client);
    tt_watch_notify(f);
    return tt_fail(TUTTI_ERR_PEER, "%s", tt_job_cause_text(f->job, ended, text, sizeof text));
}

/* Reads the terms that a leader has published for this client. Terms of a later client cannot have
 * come: a leader publishes them only when all ranks of its node have come to the later client, and
 * they reach other nodes only with the fence of the later client, in which this rank must take
 * part. */
static tutti_status terms_from(struct tt_fabric *f, int leader, struct tt_terms *terms)
{
    uint8_t bytes[sizeof(uint32_t) + TT_TERMS_BYTES];
    uint32_t number = UINT32_MAX;
    size_t n = 0;
    for (int anew = 0; anew < 2 && number != (uint32_t)f->client; anew++) {
        tutti_status status = ask_value(leader, TERMS_KEY, anew, bytes, sizeof bytes, &n);
        if (status == TUTTI_AGAIN)
            return tt_fail(TUTTI_ERR_BOOT, "rank %d has published no terms", leader);
        if (status != TUTTI_OK) return status;
        if (n >= sizeof number) memcpy(&number, bytes, sizeof number);
    }
    if (n >= sizeof number && number != (uint32_t)f->client) return older_terms(f, leader, number);
    if (n >= sizeof number && tt_terms_read(terms, bytes + sizeof number, n - sizeof number))
        return TUTTI_OK;
    return tt_fail(
        TUTTI_ERR_VERSION,
        "version %s cannot read what rank %d published: does its host run another version?",
        tutti_version(), leader);
}

static tutti_status compare(const struct tt_terms *mine, const struct tt_terms *theirs,
                            const char *host)
{
    if (strcmp(mine->version, theirs->version) != 0)
        return tt_fail(TUTTI_ERR_VERSION, "this rank is linked to version %s, those on %s to %s",
                       mine->version, host, theirs->version);
    if (theirs->status != TUTTI_OK) return tt_fail(TUTTI_ERR_PEER, "%s", theirs->why);
    for (int i = 0; i < TT_MUST_MATCH_SETTINGS; i++)
        if (mine->must_match[i] != theirs->must_match[i])
            return tt_setting_differs((enum tt_must_match)i, mine->must_match[i],
                                      theirs->must_match[i], host, "all ranks");
    return TUTTI_OK;
}

/* Returns the lowest rank of a node. Nodes are numbered in the order of these ranks. */
static int leader_of(const struct tt_job_page *job, int node)
{
    int r = 0;
    while (job->rank[r].node != node) r++;
    return r;
}

/* Gives the whole job one stamp, the time at which node 0 made its job page (segment.h): the leader
 * of each node stores this stamp in the job page of its own node, before the fence for address
 * records. */
static void set_stamp(struct tt_fabric *f, int64_t stamp)
{
    if (f->me == joined.member.first) f->job->stamp = stamp;
}

/* The sums of the ranks and processors of several nodes with the same kernel, and the processors
 * that this kernel has online. Such nodes (containers) may share processors, so together they have
 * at most `online`. All ranks use the numbers that each node has sent in its terms (struct
 * tt_terms), because containers may show different numbers to their processes. */
struct kernel_use {
    int ranks, cores, online;
};

static void add_use(struct kernel_use *use, const struct tt_terms *terms)
{
    use->ranks += terms->ranks;
    use->cores += terms->cores;
    use->online = (int)tt_max(use->online, terms->online);
}

static int cores_of(const struct kernel_use *use)
{
    return (int)tt_min(use->cores, use->online);
}

static tutti_status compare_all(struct tt_fabric *f, const struct tt_terms *mine)
{
    struct tt_terms theirs;
    struct kernel_use all = {0}, here = {0};
    uint64_t first = 0; /* the kernel of node 0 */
    f->one_kernel = true;
    for (int node = 0; node < f->job->nodes; node++) {
        int leader = leader_of(f->job, node);
        TT_TRY(terms_from(f, leader, &theirs));
        TT_TRY(compare(mine, &theirs, f->job->rank[leader].host));
        tt_inboxes_learn(node, &theirs);
        if (node != f->job->rank[f->me].node) tt_warnings_add(&f->warnings, &theirs.warnings);
        add_use(&all, &theirs);
        f->everywhere &= theirs.accesses;
        if (node == 0) first = theirs.kernel;
        f->one_kernel = f->one_kernel && first != 0 && theirs.kernel == first;
        if (theirs.kernel == mine->kernel) add_use(&here, &theirs);
        if (node > 0) continue;
        f->read_cost = theirs.read_cost;
        f->machine = theirs.machine;
        f->wisdom = theirs.wisdom;
        set_stamp(f, theirs.stamp);
    }
    f->cores = f->one_kernel ? cores_of(&all) : all.cores;
    if (mine->kernel) {
        f->policy = tt_wait_policy_for(here.ranks, cores_of(&here), f->job->nodes > 1);
        f->policy.fences = f->fences;
    }
    return TUTTI_OK;
}

/* Records in this node's memory that the ranks of all other nodes have joined the client. */
static void mark_joined(const struct tt_fabric *f)
{
    for (int r = 0; r < f->size; r++) {
        uint32_t absent = TT_RANK_ABSENT;
        atomic_compare_exchange_strong(&f->common->rank[r].rank_status.state, &absent,
                                       TT_RANK_JOINED);
    }
}

/* Publishes why this node's ranks cannot go on, and returns the error with its text. */
static tutti_status refuse(struct tt_fabric *f, tutti_status status, const struct tt_terms *terms)
{
    char text[256];
    snprintf(text, sizeof text, "%s", tutti_error());
    (void)exchange(&joined.member, f, terms);
    return tt_fail(status, "%s", text);
}

tutti_status tt_machines_agree(struct tt_fabric *f, tutti_status status)
{
    struct tt_terms mine = terms_of(f, status);
    joined.member.shown = false;
    if (status != TUTTI_OK) return refuse(f, status, &mine);
    TT_TRY(exchange(&joined.member, f, &mine));
    TT_TRY(compare_all(f, &mine));
    mark_joined(f);
    return TUTTI_OK;
}

/* ---- Address records ---- */

/* Every rank takes part in the fence, even if it has no address, because all ranks wait for each
 * other in the fence. The fence brings all address records to all servers. Without the fence, a
 * server would not answer requests for a rank that has ended its PMIx session (Open MPI 4.1), nor
 * for a rank whose host is cut off, and the records of those ranks are needed to find out whether
 * they have failed. */
tutti_status tt_machines_show(struct tt_fabric *f, uint16_t port, const void *wire, size_t bytes)
{
    tt_assert(bytes <= TT_WIRE_ADDRESS);
    joined.member.shown = true;
    struct tt_address_record record = {.port = port,
                                       .process = tt_watch_process_port(),
                                       .network = tt_host_network(),
                                       .wire_bytes = (uint16_t)bytes};
    record.addresses = (uint8_t)tt_host_addresses(record.address);
    if (bytes) memcpy(record.wire, wire, bytes);
    tutti_status shown = tt_records_put(f->client, &record);
    tutti_status met = fence(f);
    return met != TUTTI_OK ? met : shown;
}
