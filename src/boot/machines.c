/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining by PMIx. The lowest rank of each machine makes the segment of its ranks and hands it to
 * them (share.h); what is private to that machine goes through PMIx in its local scope. Then
 * tt_boot_meet's three rounds, on each machine; then the machines:
 *
 *   terms    the lowest rank of each puts what was agreed there, or why its ranks cannot go on; a
 *            fence brings all terms to all ranks, O(machines) bytes. All compare all, so all come
 *            to the same verdict.
 *   cards    each rank puts its own, and a second fence brings them to the servers of all machines,
 *            where they are fetched one by one, by whoever wants one.
 *
 * A rank that fails before the first fence still comes to it, so that no machine waits for another
 * in vain; one that died is waited for no longer than TUTTI_BOOT_TIMEOUT.
 */
#include "boot/machines.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "boot/notice.h"
#include "boot/pmix.h"
#include "boot/share.h"

#define SECOND INT64_C(1000000000)

/* This process in such a job. A job is joined once, so that is one. */
struct member {
    int rank, size;
    int nodes, first; /* first: the lowest rank of this machine */
    int *node;
    bool agreed;               /* came to the first fence */
    int inbox;                 /* of this machine's ranks; -1: there is only this machine */
    uint64_t token;            /* of the inbox, known to whoever made it */
    struct tt_inbox *inbox_of; /* of each machine, once they have agreed */
};

/* NEVER: not in such a job; OUT: in one, without a client. Changed under the lock of boot.c. */
enum stage { NEVER, IN, OUT };

static struct {
    _Atomic enum stage stage;
    struct member member;
} joined;

int tt_machines_peer_timeout(void)
{
    return (int)tt_setting_int("TUTTI_PEER_TIMEOUT", 10, 2, 3600);
}

int tt_machines_boot_timeout(void)
{
    return (int)tt_setting_int("TUTTI_BOOT_TIMEOUT", 300, 1, 86400);
}

static int64_t boot_deadline(void)
{
    return tt_clock_ns() + tt_machines_boot_timeout() * SECOND;
}

/* A PMIx server keeps every key for as long as the job runs, and a client library sends all keys of
 * its process again with each commit and each collecting fence. So the cost of a client would grow
 * with the number of those before it if each had keys of its own. Instead each rank has one key for
 * its terms and one for the cards of all its living clients, and says in the value which client
 * that is for. A key that is put again is seen by all after the next collecting fence. */
#define TERMS_KEY "tutti.terms"

bool tt_machines_has(const struct tt_job_page *job)
{
    return joined.stage == IN && !job->threads;
}

static void set_stage(enum stage stage)
{
    atomic_store(&joined.stage, stage);
}

/* Waits for the value that the rank has put under the key, and stores at most `room` bytes of
 * it. */
static tutti_status learn(int rank, const char *key, void *to, size_t room, size_t *n)
{
    struct tt_pmix_reply *reply = tt_pmix_ask(rank, key);
    if (reply) (void)tt_pmix_answered(reply, boot_deadline());
    return tt_pmix_end(reply, to, room, n);
}

/* ---- Who is where ---- */

/* By the name that the launcher has for the machine of each rank, known to the local server. */
static tutti_status host_of(int rank, char host[TT_JOB_HOST])
{
    char text[256];
    size_t n = 0;
    TT_TRY(learn(rank, "pmix.hname", text, sizeof text, &n));
    if (n == 0) return tt_fail(TUTTI_ERR_BOOT, "PMIx has no name for the machine of rank %d", rank);
    memset(host, 0, TT_JOB_HOST);
    memcpy(host, text, (size_t)tt_min((int64_t)n, TT_JOB_HOST - 1));
    return TUTTI_OK;
}

/* Machines are numbered in the order of their lowest ranks; `leader` has these. */
static int number_of(int rank, char (*host)[TT_JOB_HOST], const int *leader, int nodes)
{
    int n = 0;
    while (n < nodes && strcmp(host[leader[n]], host[rank]) != 0) n++;
    return n;
}

static tutti_status place(struct member *m, char (*host)[TT_JOB_HOST], int *leader)
{
    for (int r = 0; r < m->size; r++) {
        TT_TRY(host_of(r, host[r]));
        int last = m->nodes ? m->node[r - 1] : 0; /* most often the same as the rank before */
        bool same = m->nodes && strcmp(host[leader[last]], host[r]) == 0;
        m->node[r] = same ? last : number_of(r, host, leader, m->nodes);
        if (m->node[r] == m->nodes) leader[m->nodes++] = r;
    }
    m->first = leader[m->node[m->rank]];
    return TUTTI_OK;
}

/* ---- The segment ---- */

/* Whoever waits at the door is told what keeps it shut. */
static void refuse_door(void)
{
    char text[TT_TERMS_WHY];
    int n = snprintf(text, sizeof text, "!%s", tutti_error());
    (void)tt_pmix_put(TT_PMIX_LOCAL, "tutti.door", text,
                      (size_t)tt_min(n, (int64_t)sizeof text - 1));
}

static int locals_of(const struct member *m)
{
    int n = 0;
    for (int r = 0; r < m->size; r++) n += m->node[r] == m->node[m->rank];
    return n;
}

/* Returns what the ranks of a machine share: memory, and in a job on several machines an inbox. */
static int shared_of(const struct member *m)
{
    return m->nodes > 1 ? 2 : 1;
}

static tutti_status open_inbox(struct member *m)
{
    if (m->nodes < 2) return TUTTI_OK;
    TT_TRY(tt_inbox_open(&m->inbox));
    if (getrandom(&m->token, sizeof m->token, 0) == sizeof m->token) return TUTTI_OK;
    return tt_fail_errno(TUTTI_ERR_SYSTEM, "cannot draw a random number");
}

/* The process is noted before the rank itself can, so that its death is seen. */
static tutti_status hand_out(const struct member *m, struct tt_share *share,
                             const struct tt_segment *segment)
{
    struct tt_job_page *job = tt_segment_page(segment);
    int64_t until = boot_deadline();
    const int fds[TT_SHARE_MOST] = {segment->fd, m->inbox};
    TT_TRY(tt_pmix_put(TT_PMIX_LOCAL, "tutti.door", share->name, strlen(share->name)));
    for (int i = 1, rank = 0, n = locals_of(m); i < n; i++) {
        pid_t pid = 0;
        tutti_status status = tt_share_give(share, fds, shared_of(m), until, &rank, &pid);
        if (status != TUTTI_OK)
            return tt_fail(status, "only %d of this machine's %d ranks came within %d s", i, n,
                           tt_machines_boot_timeout());
        if (rank < m->size && m->node[rank] == m->node[m->rank])
            atomic_store(&job->rank[rank].pid, (int32_t)pid);
    }
    return TUTTI_OK;
}

static tutti_status make(struct member *m, char (*host)[TT_JOB_HOST], struct tt_segment *segment)
{
    struct tt_share share;
    TT_TRY(open_inbox(m));
    TT_TRY(tt_segment_create_on(segment, m->size, m->node, m->nodes, m->rank));
    for (int r = 0; r < m->size; r++)
        memcpy(tt_segment_page(segment)->rank[r].host, host[r], TT_JOB_HOST);
    tutti_status status = tt_share_open(&share);
    if (status == TUTTI_OK) {
        status = hand_out(m, &share, segment);
        tt_share_close(&share);
    }
    if (status != TUTTI_OK) tt_segment_close(segment);
    return status;
}

static tutti_status fetch(struct member *m, struct tt_segment *segment)
{
    char name[TT_TERMS_WHY + 1] = "";
    size_t n = 0;
    int fds[TT_SHARE_MOST] = {-1, -1};
    TT_TRY(learn(m->first, "tutti.door", name, sizeof name - 1, &n));
    if (name[0] == '!')
        return tt_fail(TUTTI_ERR_BOOT, "rank %d has no memory for this machine's ranks: %s",
                       m->first, name + 1);
    if (n >= TT_SHARE_NAME) return tt_fail(TUTTI_ERR_BOOT, "rank %d told nonsense", m->first);
    TT_TRY(tt_share_take(name, m->rank, boot_deadline(), fds, shared_of(m)));
    m->inbox = fds[1];
    return tt_segment_attach(segment, fds[0], m->rank);
}

static tutti_status get_segment(struct member *m, char (*host)[TT_JOB_HOST],
                                struct tt_segment *segment)
{
    if (m->rank != m->first) return fetch(m, segment);
    tutti_status status = make(m, host, segment);
    if (status != TUTTI_OK) refuse_door();
    return status;
}

static tutti_status same_size(const struct member *m, const struct tt_job_page *job)
{
    if (job->size == m->size && job->nodes == m->nodes) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "the memory that rank %d offers is of another job", m->first);
}

/* ---- Joining and leaving ---- */

static tutti_status fence(void)
{
    struct tt_pmix_reply *reply = tt_pmix_fence();
    if (reply && !tt_pmix_answered(reply, boot_deadline())) {
        (void)tt_pmix_end(reply, NULL, 0, NULL);
        return tt_fail(TUTTI_ERR_BOOT,
                       "not all ranks of the job came within %d s (TUTTI_BOOT_TIMEOUT)",
                       tt_machines_boot_timeout());
    }
    return tt_pmix_end(reply, NULL, 0, NULL);
}

/* This machine's terms, by its lowest rank; then all come together. */
static tutti_status exchange(struct member *m, int client, const struct tt_terms *terms)
{
    uint8_t bytes[sizeof(uint32_t) + TT_TERMS_BYTES];
    const uint32_t number = (uint32_t)client;
    m->agreed = true;
    if (m->rank == m->first) {
        memcpy(bytes, &number, sizeof number);
        size_t n = sizeof number + tt_terms_write(terms, bytes + sizeof number);
        TT_TRY(tt_pmix_put(TT_PMIX_ALL, TERMS_KEY, bytes, n));
    }
    return fence();
}

/* Takes part although this rank cannot go on, so that the other machines do not wait for it. */
static void come_in_vain(struct member *m, tutti_status status)
{
    struct tt_terms terms = {.status = (int32_t)status, .cores = 1};
    if (m->agreed || m->nodes < 2) return;
    snprintf(terms.version, sizeof terms.version, "%s", tutti_version());
    snprintf(terms.why, sizeof terms.why, "rank %d cannot go on: %.120s", m->rank,
             tutti_status_text(status));
    (void)exchange(m, 0, &terms);
}

static tutti_status join(struct member *m, struct tt_segment *segment)
{
    char(*host)[TT_JOB_HOST] = tt_alloc((size_t)m->size * sizeof *host);
    int *leader = tt_alloc((size_t)m->size * sizeof *leader);
    m->node = tt_alloc((size_t)m->size * sizeof *m->node);
    m->inbox_of = tt_calloc((size_t)m->size, sizeof *m->inbox_of);
    tutti_status status = host && leader && m->node && m->inbox_of
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

/* The cause is kept over coming in vain, which may fail too. */
static tutti_status give_up(struct member *m, tutti_status status)
{
    char text[256];
    snprintf(text, sizeof text, "%s", tutti_error());
    come_in_vain(m, status);
    tt_pmix_close();
    if (m->inbox >= 0) close(m->inbox);
    tt_free(m->node);
    tt_free(m->inbox_of);
    *m = (struct member){.inbox = -1};
    return tt_fail(status, "%s", text);
}

tutti_status tt_machines_attach(struct tt_segment *segment, int *rank)
{
    struct member *m = &joined.member;
    *m = (struct member){.inbox = -1};
    TT_TRY(tt_pmix_open(&m->rank, &m->size));
    *rank = m->rank;
    tutti_status status = join(m, segment);
    if (status != TUTTI_OK) return give_up(m, status);
    set_stage(IN);
    return TUTTI_OK;
}

void tt_machines_leave(tutti_status status)
{
    if (joined.stage != IN) return;
    come_in_vain(&joined.member, status == TUTTI_OK ? TUTTI_ERR_BOOT : status);
    set_stage(OUT);
    tt_pmix_close();
}

tutti_status tt_machines_return(void)
{
    int rank, size;
    if (joined.stage != OUT) return TUTTI_OK;
    TT_TRY(tt_pmix_open(&rank, &size));
    set_stage(IN);
    return TUTTI_OK;
}

/* ---- Agreeing ---- */

static struct tt_terms terms_of(const struct tt_fabric *f, tutti_status here)
{
    struct tt_terms t = {.status = (int32_t)here,
                         .cores = f->cores,
                         .direct = f->direct,
                         .read_cost = f->read_cost,
                         .stamp = f->job->stamp,
                         .kernel = tt_machines_kernel(),
                         .ranks = f->job->arenas,
                         .token = joined.member.token,
                         .inbox = tt_inbox_port(joined.member.inbox)};
    t.addresses = (uint8_t)tt_machines_addresses(t.address);
    snprintf(t.version, sizeof t.version, "%s", tutti_version());
    for (int i = 0; i < TT_ALIKES; i++) t.alike[i] = tt_setting_alike((enum tt_alike)i);
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

/* The leader puts the terms of its next client only when all ranks of its node have come to that
 * one, and the other nodes get them with the fence of that client, to which this rank has to come
 * too. So what is read here is never newer. */
static tutti_status terms_from(int client, int leader, struct tt_terms *terms)
{
    uint8_t bytes[sizeof(uint32_t) + TT_TERMS_BYTES];
    uint32_t number = 0;
    size_t n = 0;
    TT_TRY(learn(leader, TERMS_KEY, bytes, sizeof bytes, &n));
    if (n >= sizeof number) memcpy(&number, bytes, sizeof number);
    if (n >= sizeof number && number != (uint32_t)client)
        return tt_fail(TUTTI_ERR_BOOT, "rank %d is at client %u of the job, this rank at client %d",
                       leader, (unsigned)number, client);
    if (n >= sizeof number && tt_terms_read(terms, bytes + sizeof number, n - sizeof number))
        return TUTTI_OK;
    return tt_fail(TUTTI_ERR_VERSION,
                   "rank %d says what version %s does not understand: is another version there?",
                   leader, tutti_version());
}

static tutti_status compare(const struct tt_terms *mine, const struct tt_terms *theirs,
                            const char *host)
{
    if (strcmp(mine->version, theirs->version) != 0)
        return tt_fail(TUTTI_ERR_VERSION, "this rank is linked to version %s, those on %s to %s",
                       mine->version, host, theirs->version);
    if (theirs->status != TUTTI_OK) return tt_fail(TUTTI_ERR_PEER, "%s", theirs->why);
    for (int i = 0; i < TT_ALIKES; i++)
        if (mine->alike[i] != theirs->alike[i])
            return tt_setting_differs((enum tt_alike)i, mine->alike[i], theirs->alike[i], host,
                                      "all ranks");
    return TUTTI_OK;
}

/* The lowest rank of a machine; ranks[r].node ascends at these. */
static int leader_of(const struct tt_job_page *job, int node)
{
    int r = 0;
    while (job->rank[r].node != node) r++;
    return r;
}

/* One stamp for the whole job, that of machine 0: by one rank of each, before the second fence. */
static void mark(struct tt_fabric *f, int64_t stamp)
{
    if (f->me == joined.member.first) f->job->stamp = stamp;
}

static tutti_status compare_all(struct tt_fabric *f, const struct tt_terms *mine)
{
    struct tt_terms theirs;
    int neighbours = 0, shared = 0; /* ranks on this kernel, and processors */
    uint64_t first = 0;             /* the kernel of machine 0 */
    f->cores = 0;
    f->one_kernel = true;
    for (int node = 0; node < f->job->nodes; node++) {
        int leader = leader_of(f->job, node);
        TT_TRY(terms_from(f->client, leader, &theirs));
        TT_TRY(compare(mine, &theirs, f->job->rank[leader].host));
        tt_inbox_of_terms(&joined.member.inbox_of[node], &theirs);
        f->cores += theirs.cores;
        f->direct = f->direct && theirs.direct;
        if (node == 0) first = theirs.kernel;
        f->one_kernel = f->one_kernel && first != 0 && theirs.kernel == first;
        if (theirs.kernel == mine->kernel) neighbours += theirs.ranks;
        if (theirs.kernel == mine->kernel) shared += theirs.cores;
        if (node > 0) continue;
        f->read_cost = theirs.read_cost;
        mark(f, theirs.stamp);
    }
    if (mine->kernel) f->patience = tt_patience_for(neighbours, tt_machines_cores(shared));
    return TUTTI_OK;
}

static void come_all(const struct tt_fabric *f)
{
    for (int r = 0; r < f->size; r++) {
        uint32_t absent = TT_RANK_ABSENT;
        atomic_compare_exchange_strong(&f->common->rank[r].fate.state, &absent, TT_RANK_JOINED);
    }
}

/* Tells why this machine's ranks cannot go on, and keeps the cause. */
static tutti_status refuse(struct tt_fabric *f, tutti_status status, const struct tt_terms *terms)
{
    char text[256];
    snprintf(text, sizeof text, "%s", tutti_error());
    (void)exchange(&joined.member, f->client, terms);
    return tt_fail(status, "%s", text);
}

tutti_status tt_machines_agree(struct tt_fabric *f, tutti_status status)
{
    struct tt_terms mine = terms_of(f, status);
    if (status != TUTTI_OK) return refuse(f, status, &mine);
    TT_TRY(exchange(&joined.member, f->client, &mine));
    TT_TRY(compare_all(f, &mine));
    come_all(f);
    return TUTTI_OK;
}

/* ---- Cards ---- */

/* The others wait for this rank at the fence, though it may have nothing to show. The fence brings
 * all cards to all servers: a server does not answer for a rank that has ended its PMIx session
 * (Open MPI 4.1), nor for one whose host is cut off, and those are the ranks whose cards are wanted
 * when something has gone wrong. */
tutti_status tt_machines_show(struct tt_fabric *f, uint16_t port, const void *wire, size_t bytes)
{
    tt_assert(bytes <= TT_WIRE_ADDRESS);
    tutti_status shown = tt_machines_put_card(f, port, wire, bytes);
    tutti_status met = fence();
    return met != TUTTI_OK ? met : shown;
}

/* ---- Notices ---- */

/* Whether a rank there may still want to know. */
static bool has_living(const struct tt_fabric *f, int node)
{
    for (int r = 0; r < f->size; r++)
        if (f->job->rank[r].node == node && tt_common_state(f->job, f->common, r) < TT_RANK_LEFT)
            return true;
    return false;
}

void tt_machines_tell(struct tt_fabric *f, const struct tt_notice *notice)
{
    const struct member *m = &joined.member;
    int here = f->job->rank[f->me].node;
    for (int node = 0; node < m->nodes; node++)
        if (tt_notice_goes(here, node, m->nodes) && has_living(f, node))
            tt_notice_send(&m->inbox_of[node], notice, tt_machines_peer_timeout());
}

void tt_machines_hear(struct tt_fabric *f)
{
    struct tt_notice notice;
    const struct member *m = &joined.member;
    if (m->inbox < 0 || !tt_machines_has(f->job)) return;
    while (tt_inbox_take(m->inbox, m->inbox_of[m->node[m->rank]].token, &notice))
        tt_notice_note(f->job, &notice);
    (void)tt_notice_advance();
}
