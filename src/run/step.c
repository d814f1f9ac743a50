/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doing the steps of a plan. A lane advances until a step cannot be done yet. No function in here
 * waits, so one thread can run any number of executions and lanes in turn.
 */
#include "run/remote.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "run/roll.h"
#include "type/layout.h"

/* ---- Channels ---- */

/* A channel (channel.h) has two ends: the sender's and the receiver's. Each end has a queue of
 * messages, and both use one byte ring. Positions count bytes from the beginning of the channel and
 * never wrap. Every message begins at a multiple of 8 bytes, so an address in the ring is never
 * split where the memory of the ring ends. */

#define RING_BYTES (32 << 10)
#define WORD 8

void tt_end_post(struct tt_end *end, struct tt_message *m, void *memory, int64_t len,
                 struct tt_end **list)
{
    *m = (struct tt_message){.at = memory, .left = len};
    if (end->last)
        end->last->next = m;
    else
        end->first = m;
    end->last = m;
    if (end->listed) return;
    end->listed = true;
    end->next = *list;
    *list = end;
}

struct tt_message *tt_end_take(struct tt_end *end)
{
    struct tt_message *m = end->first;
    if (!m) return NULL;
    end->first = m->next;
    if (!end->first) end->last = NULL;
    return m;
}

static void complete_first(struct tt_end *end)
{
    tt_end_take(end)->complete = true;
}

static tutti_status make_ring(struct tt_fabric *f, struct tt_end *end)
{
    int64_t offset;
    TT_TRY(tt_arena_take(&f->arena, (int64_t)sizeof(struct tt_byte_ring) + RING_BYTES, &offset));
    end->ring = tt_fabric_at(f, offset);
    memset(end->ring, 0, sizeof *end->ring);
    atomic_store_explicit(end->place, (uint64_t)offset, memory_order_release);
    return TUTTI_OK;
}

static bool find_ring(struct tt_fabric *f, struct tt_end *end)
{
    uint64_t offset = atomic_load_explicit(end->place, memory_order_acquire);
    if (offset) end->ring = tt_fabric_at(f, (int64_t)offset);
    return offset != 0;
}

/* Copies n bytes between memory and the ring at `position`, and continues at the beginning of the
 * ring's memory when it reaches the end. in: from memory into the ring. */
static void copy_ring(struct tt_byte_ring *ring, uint64_t position, char *memory, int64_t n,
                      bool in)
{
    int64_t at = (int64_t)(position % RING_BYTES), first = tt_min(n, RING_BYTES - at);
    if (in) {
        tt_memcpy(ring->data + at, memory, (size_t)first);
        tt_memcpy(ring->data, memory + first, (size_t)(n - first));
    } else {
        tt_memcpy(memory, ring->data + at, (size_t)first);
        tt_memcpy(memory + first, ring->data, (size_t)(n - first));
    }
}

/* Returns how many bytes of the ring the last n bytes of a message take: n rounded up, because the
 * next message begins at a multiple of 8 bytes. */
static int64_t padded(int64_t n)
{
    return (n + 7) & ~(int64_t)7;
}

/* Moves a part of an eager message, at most `room` bytes, and returns the number of bytes moved.
 * The position advances by that number, rounded up to a multiple of 8. */
static int64_t move_piece(struct tt_end *end, struct tt_message *m, int64_t room)
{
    int64_t n = tt_min(m->left, room & ~(int64_t)7);
    if (n <= 0) return 0;
    copy_ring(end->ring, end->position, m->at, n, end->sending);
    m->at += n;
    m->left -= n;
    end->position += (uint64_t)padded(n);
    return n;
}

static tutti_status publish(struct tt_fabric *f, struct tt_end *end, _Atomic uint64_t *mine)
{
    if (tt_unlikely(f->ops->signalling != NULL)) TT_TRY(f->ops->signalling(f->ops, f));
    atomic_store_explicit(mine, end->position, memory_order_release);
    tt_fabric_signalled(f, &end->peer, 1);
    return TUTTI_OK;
}

/* ---- Sending through a ring ---- */

static void put_word(struct tt_end *end, uint64_t word)
{
    copy_ring(end->ring, end->position, (char *)&word, WORD, true);
    end->position += WORD;
}

/* Puts as much of a message into the ring as fits into the `room` free bytes. Returns true if the
 * whole message, or its address, is in the ring. */
static bool put(struct tt_fabric *f, struct tt_end *end, struct tt_message *m, int64_t room)
{
    if (!m->headed) {
        if (room < 2 * WORD) return false;
        put_word(end, (uint64_t)m->left);
        m->headed = true;
        room -= WORD;
    }
    if (!m->rendezvous) {
        move_piece(end, m, room);
        return m->left == 0;
    }
    put_word(end, tt_fabric_address(f, m->at));
    m->end = end->position;
    return true;
}

static tutti_status advance_send(struct tt_fabric *f, struct tt_end *end)
{
    if (!end->ring) TT_TRY(make_ring(f, end));
    uint64_t before = end->position;
    uint64_t tail = atomic_load_explicit(&end->ring->tail, memory_order_acquire);
    while (end->unsent && put(f, end, end->unsent, RING_BYTES - (int64_t)(end->position - tail)))
        end->unsent = end->unsent->next;
    if (end->position != before) TT_TRY(publish(f, end, &end->ring->head));
    while (end->first != end->unsent && tail >= end->first->end) complete_first(end);
    return TUTTI_OK;
}

/* ---- Receiving through a ring ---- */

static uint64_t take_word(struct tt_end *end)
{
    uint64_t word;
    copy_ring(end->ring, end->position, (char *)&word, WORD, false);
    end->position += WORD;
    return word;
}

/* Reads the length that precedes a message and compares it with the length that the recv
 * expects. */
static tutti_status take_length(struct tt_end *end, struct tt_message *m)
{
    uint64_t length = take_word(end);
    bool same = !end->shape || atomic_load_explicit(end->shape, memory_order_acquire) == end->mark;
    m->headed = true;
    if (tt_likely(same && length == (uint64_t)m->left)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MISMATCH, "%llu bytes came from rank %d where %lld were expected",
                   (unsigned long long)length, end->peer, (long long)m->left);
}

/* Keeps the address of the data in m->from, for a request to the sender to send them
 * (tt_served_receive). Moves the receiver's position back, to where the ring has the address: the
 * send is complete once this position is past the address, so not before the data have come. */
static tutti_status ask_for(struct tt_end *end, struct tt_message *m, tt_address from)
{
    m->asked_for = true;
    m->lacking = 1;
    m->from = from;
    end->position -= WORD;
    return TUTTI_AGAIN;
}

static tutti_status take_address(struct tt_fabric *f, struct tt_end *end, struct tt_message *m)
{
    tutti_status status = TUTTI_OK;
    if (m->lacking) return TUTTI_AGAIN;
    tt_address from = take_word(end);
    const void *loadable = tt_fabric_reach(f, end->peer, from);
    if (loadable)
        tt_memcpy(m->at, loadable, (size_t)m->left);
    else if (!m->asked_for)
        status = tt_fabric_read(f, end->peer, m->at, from, m->left);
    if (status == TUTTI_ERR_UNSUPPORTED) return ask_for(end, m, from);
    if (status == TUTTI_OK) m->left = 0;
    return status;
}

static tutti_status advance_recv(struct tt_fabric *f, struct tt_end *end)
{
    if (!end->ring && !find_ring(f, end)) return TUTTI_OK;
    uint64_t before = end->position;
    struct tt_message *m;
    while ((m = end->first) != NULL) {
        uint64_t head = atomic_load_explicit(&end->ring->head, memory_order_acquire);
        if (!m->headed) {
            if (head == end->position) break;
            TT_TRY(take_length(end, m));
        }
        if (m->rendezvous) {
            if (head == end->position) break;
            tutti_status status = take_address(f, end, m);
            if (status == TUTTI_AGAIN) break;
            if (status != TUTTI_OK) return status;
        } else {
            move_piece(end, m, (int64_t)(head - end->position));
            if (m->left) break;
        }
        complete_first(end);
    }
    return end->position != before ? publish(f, end, &end->ring->tail) : TUTTI_OK;
}

bool tt_end_valid(const struct tt_end *end)
{
    const struct tt_byte_ring *ring = end->ring;
    bool valid = !ring || end->position == atomic_load(end->sending ? &ring->head : &ring->tail);
    for (const struct tt_message *m = end->first; m; m = m->next)
        valid = valid && !m->complete && (m->next || m == end->last);
    return valid;
}

/* Advances one end of a byte ring: moves all bytes that can be moved without waiting. Errors: those
 * of the fabric's read; MEMORY and LIMIT when a ring is made; MISMATCH if the other side runs
 * another call, before any byte of the message is moved. */
static tutti_status advance_ring(struct tt_fabric *f, struct tt_end *end)
{
    tutti_status status = end->sending ? advance_send(f, end) : advance_recv(f, end);
    tt_assert(status != TUTTI_OK || tt_end_valid(end));
    return status;
}

/* ---- Messages ---- */

/* Finds the word in which the sender publishes the offset of the byte ring. Returns false if the
 * word does not exist yet, because the sender has not made the extension of its block. */
static bool find_place(const struct tt_exec *exec, struct tt_end *end)
{
    const struct tt_team *t = exec->team;
    int64_t n = (int64_t)t->windows * TT_LANES * t->map.p, i = (end - t->ends) % n;
    int peer = (int)(i % t->map.p);
    uint32_t lane = (uint32_t)(i / t->map.p % TT_LANES);
    end->place = end->sending ? tt_team_ring(t, t->me, exec->slot, lane, peer)
                              : tt_team_ring(t, peer, exec->slot, lane, t->me);
    return end->place != NULL;
}

static struct tt_end *end_of(struct tt_exec *exec, uint32_t lane, int peer, bool sending)
{
    struct tt_team *t = exec->team;
    int64_t n = (int64_t)t->windows * TT_LANES * t->map.p;
    if (!t->ends && !(t->ends = tt_calloc((size_t)(2 * n), sizeof *t->ends))) return NULL;
    int64_t window = tt_team_window_of(t, exec->slot);
    struct tt_end *end = &t->ends[sending * n + (window * TT_LANES + lane) * t->map.p + peer];
    end->sending = sending;
    end->peer = t->job_rank[peer];
    return end;
}

static struct tt_message *message(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    return &exec->lane[lane].messages[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT];
}

/* Advances one end of a byte ring. For the errors MISMATCH and ARG, sets a text that names the
 * calls that differ, or the argument in which the bad address lies. */
static tutti_status advance_end(struct tt_exec *exec, struct tt_end *end)
{
    if (tt_unlikely(!end->place) && !find_place(exec, end)) return TUTTI_OK;
    tutti_status status = advance_ring(exec->team->fabric, end);
    if (tt_unlikely(status == TUTTI_ERR_MISMATCH))
        for (int r = 0; r < exec->team->map.p; r++)
            if (exec->team->job_rank[r] == end->peer)
                TT_TRY(tt_step_compare(exec->team, exec->number, r));
    if (tt_unlikely(status == TUTTI_ERR_ARG && end->first))
        return tt_access_blame(exec, end->peer, end->first->at, end->first->left, !end->sending,
                               status);
    bool lacks = status == TUTTI_OK && end->first && end->first->from;
    return tt_unlikely(lacks) ? tt_served_receive(exec, end) : status;
}

tutti_status tt_step_messages(struct tt_exec *exec)
{
    struct tt_end **link = &exec->ends, *end;
    while ((end = *link) != NULL) {
        if (!end->remote) TT_TRY(advance_end(exec, end));
        if (end->first) {
            link = &end->next;
        } else {
            *link = end->next;
            end->listed = false;
        }
    }
    return TUTTI_OK;
}

/* Starts a message to or from a member of this node. */
static tutti_status post(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                         struct tt_message *m)
{
    struct tt_end *end = end_of(exec, lane, s->peer, s->kind == TT_SEND);
    if (!end) return tt_fail(TUTTI_ERR_MEMORY, "no memory for channels");
    end->shape = &tt_team_line(exec->team, s->peer, exec->slot)->shape;
    end->mark = exec->mark;
    tt_end_post(end, m, tt_exec_own(exec, s->range), s->len, &exec->ends);
    const struct tt_fabric *f = exec->team->fabric;
    m->rendezvous = s->len > f->eager_most && f->reads;
    if (!end->unsent) end->unsent = m;
    return advance_end(exec, end);
}

/* Finds the long windows that the step touches. Returns a member that has not made its extension
 * yet, so that its window cannot be touched, or -1 if there is no such member. */
static int find_windows(struct tt_exec *exec, const struct tt_plain *s)
{
    for (uint32_t i = 0; i < s->nops; i++) {
        const struct tt_range *r = &s->range[i];
        if (r->buf != TT_WIN || r->rank == TT_SELF || exec->window[r->rank]) continue;
        if (!tt_team_find_window(exec->team, r->rank)) return r->rank;
    }
    return -1;
}

/* Returns k / W + 1 for the execution k that member r has begun last in the slot, where W is the
 * number of windows (tt_team_base). This number rises with each execution in the slot. */
static uint64_t begun_last(const struct tt_team *t, int slot, int r)
{
    const struct tt_signal_line *line = tt_team_line(t, r, slot);
    return atomic_load_explicit(&line->shape, memory_order_acquire) >> 32;
}

/* Starts a put or get within this node. If it completes at once, it is marked as complete, so the
 * wait step for it does nothing. */
static tutti_status start_access(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                                 struct tt_message *m)
{
    /* A put may come before its target has begun the call, and so before the target has made and
     * backed its window. Then the put waits. */
    bool waits = s->kind == TT_PUT && s->range[0].buf == TT_WIN &&
                 begun_last(exec->team, exec->slot, s->peer) < exec->base >> 32;
    if (tt_unlikely(waits)) return TUTTI_AGAIN;
    if (tt_unlikely(exec->finds_windows) && find_windows(exec, s) >= 0) return TUTTI_AGAIN;
    m->complete = true;
    tutti_status status = tt_access_copy(exec, s->range, s->len);
    if (tt_likely(status != TUTTI_ERR_UNSUPPORTED)) return status;
    return tt_served_start(exec, lane, s, m);
}

static const struct tt_reach reach_node = {.send = post, .recv = post, .access = start_access};

/* Starts a send, recv, put or get, within this node or between nodes. */
static tutti_status start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    const struct tt_team *t = exec->team;
    bool is_remote = tt_unlikely(t->remote != NULL) && tt_team_is_remote(t, s->peer);
    const struct tt_reach *reach = is_remote ? &tt_reach_remote : &reach_node;
    struct tt_message *m = message(exec, lane, s);
    if (s->kind == TT_SEND) return reach->send(exec, lane, s, m);
    return s->kind == TT_RECV ? reach->recv(exec, lane, s, m) : reach->access(exec, lane, s, m);
}

/* ---- Signals ---- */

static void raise_flag(struct tt_exec *exec, uint32_t lane, uint32_t value)
{
    struct tt_team *t = exec->team;
    _Atomic uint64_t *word =
        lane ? tt_team_signal(t, t->me, exec->slot, lane) : &exec->line->signal;
    atomic_store_explicit(&exec->line->done, t->my_done, memory_order_release);
    atomic_store_explicit(word, exec->base + value, memory_order_release);
}

static void ring_peers(struct tt_exec *exec, int32_t peer)
{
    struct tt_team *t = exec->team;
    if (peer >= 0)
        tt_fabric_ring(t->fabric, &t->job_rank[peer], 1);
    else
        tt_fabric_ring(t->fabric, t->job_rank, t->map.p);
}

static inline tutti_status signal_local(struct tt_exec *exec, uint32_t lane, int32_t peer,
                                        uint32_t value)
{
    struct tt_fabric *f = exec->team->fabric;
    if (tt_unlikely(f->ops->signalling != NULL)) TT_TRY(f->ops->signalling(f->ops, f));
    raise_flag(exec, lane, value);
    if (tt_signalled(f->job, f->fences)) ring_peers(exec, peer);
    return TUTTI_OK;
}

static tutti_status signal_peers(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    bool remote = exec->team->remote != NULL;
    if (remote) TT_TRY(tt_remote_may_signal(exec, s));
    TT_TRY(signal_local(exec, lane, s->peer, s->value));
    return remote ? tt_remote_signal(exec, lane, s) : TUTTI_OK;
}

/* Returns the member's k-th call as long as its slot holds it; else NULL. */
static const struct tt_call_signature *signature_of(const struct tt_team *t, int rank, uint64_t k)
{
    int slot = tt_team_slot(t, k);
    const struct tt_signal_line *line = tt_team_line(t, rank, slot);
    uint64_t mark = atomic_load_explicit(&line->shape, memory_order_acquire);
    return mark >> 32 == tt_team_base(t, k) >> 32 ? tt_team_signature(t, rank, slot) : NULL;
}

static bool differs(const struct tt_team *t, int peer, uint64_t k)
{
    const struct tt_call_signature *theirs = signature_of(t, peer, k),
                                   *mine = signature_of(t, t->me, k);
    return theirs && mine && theirs->print != mine->print;
}

char *tt_step_which_team(const struct tt_team *t, char *text, size_t n)
{
    int other = 0;
    char names[64];
    bool *picked = tt_calloc((size_t)t->fabric->size, sizeof *picked);
    for (int r = 0; r < t->map.p && picked; r++) {
        picked[t->job_rank[r]] = true;
        other += t->job_rank[r] != r;
    }
    text[0] = '\0';
    if (other > 0)
        snprintf(text, n, " (on the team of %s; a root is a rank of the team)",
                 tt_roll_names(picked, t->fabric->size, names, sizeof names));
    tt_free(picked);
    return text;
}

/* Returns the number of the first call, up to execution `now`, in which the calls of the member and
 * of this rank are known to differ, or `now` if no such call is known. */
static uint64_t first_difference(const struct tt_team *t, uint64_t now, int peer)
{
    uint64_t k = now >= t->slots ? now - t->slots + 1 : 0;
    while (k < now && !differs(t, peer, k)) k++;
    return k;
}

bool tt_step_knows(const struct tt_team *t, uint64_t number, int rank)
{
    return differs(t, rank, first_difference(t, number, rank));
}

/* Returns MISMATCH with a text that does not name the calls that differ, because they are older
 * than the calls of the member that this rank still knows. */
static tutti_status differed_earlier(const struct tt_team *t, uint64_t now, int peer)
{
    char mine[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT];
    tt_signature_text(tt_team_signature(t, t->me, tt_team_slot(t, now)), mine, sizeof mine);
    return tt_fail(
        TUTTI_ERR_MISMATCH, "rank %d called %s after calls that did not match those of rank %d%s",
        t->job_rank[t->me], mine, t->job_rank[peer], tt_step_which_team(t, team, sizeof team));
}

/* The error names the first call that differs, in execution `now` or before. A rank that waits for
 * nobody in a call may notice a mismatch only in a later call. If both calls have the same text,
 * they differ in counts that the text does not show, or in the algorithm, because a setting differs
 * between the ranks. */
tutti_status tt_step_mismatch(const struct tt_team *t, uint64_t now, int peer)
{
    uint64_t k = first_difference(t, now, peer);
    char theirs[TT_SIGNATURE_TEXT], mine[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT];
    int one = t->job_rank[peer], me = t->job_rank[t->me];
    int slot = tt_team_slot(t, k);
    if (!differs(t, peer, k)) return differed_earlier(t, now, peer);
    tt_signature_text(tt_team_signature(t, peer, slot), theirs, sizeof theirs);
    tt_signature_text(tt_team_signature(t, t->me, slot), mine, sizeof mine);
    if (strcmp(theirs, mine) != 0)
        return tt_fail(TUTTI_ERR_MISMATCH, "rank %d called %s where rank %d called %s%s", one,
                       theirs, me, mine, tt_step_which_team(t, team, sizeof team));
    enum tt_coll coll = (enum tt_coll)tt_team_signature(t, t->me, slot)->coll;
    bool counts = coll == TT_COLL_allgatherv || coll == TT_COLL_reduce_scatter;
    return tt_fail(TUTTI_ERR_MISMATCH, "ranks %d and %d called %s, but %s%s", one, me, mine,
                   counts ? "with different counts or by different algorithms"
                          : "by different algorithms (is TUTTI_ALGORITHM the same on all ranks?)",
                   tt_step_which_team(t, team, sizeof team));
}

/* Converts bytes to elements of the user's type, which may be derived or basic. */
static long long elements(const struct tt_call_signature *w, int64_t bytes)
{
    int64_t sz = w->element;
    if (sz == 0 && (unsigned)w->type < TUTTI_TYPES)
        sz = (int64_t)tutti_type_size((tutti_type)w->type);
    return sz > 0 ? bytes / sz : bytes;
}

tutti_status tt_step_uneven(const struct tt_team *t, uint64_t number, int from, int to,
                            int64_t sent, int64_t expected)
{
    const struct tt_call_signature *w = tt_team_signature(t, t->me, tt_team_slot(t, number));
    enum tt_coll coll = (enum tt_coll)w->coll;
    char type[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT], out[32], in[32];
    int giver = t->job_rank[from], taker = t->job_rank[to];
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "%s: rank %d sends rank %d n=%lld of %s%s where rank %d expects n=%lld%s%s",
                   tt_coll_pairs(coll) ? tt_signature_name(w) : "an exchange", giver, taker,
                   elements(w, sent), tt_signature_type(w, type, sizeof type),
                   tt_signature_argument(w, true, to, out, sizeof out), taker,
                   elements(w, expected), tt_signature_argument(w, false, from, in, sizeof in),
                   tt_step_which_team(t, team, sizeof team));
}

/* Whether the counts of member r can still be read. A member of this node that has left the job may
 * have freed the memory of its counts. In this case r or this rank has compared the counts before r
 * left. */
static bool keeps_counts(const struct tt_team *t, int r)
{
    const struct tt_fabric *f = t->fabric;
    return tt_team_is_remote(t, r) ||
           tt_common_state(f->job, f->common, t->job_rank[r]) != TT_RANK_LEFT;
}

/* Returns MISMATCH for a call in which the contents that member `from` sends to member `to` are not
 * those that `to` expects. If the descriptions of both are equal, the pieces differ in how they are
 * divided or ordered, and the error says so. */
static tutti_status unlike(const struct tt_team *t, uint64_t number, int from, int to,
                           const struct tt_contents *sent, const struct tt_contents *expected)
{
    const struct tt_call_signature *w = tt_team_signature(t, t->me, tt_team_slot(t, number));
    char one[TT_SIGNATURE_TEXT], other[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT], out[32], in[32];
    int giver = t->job_rank[from], taker = t->job_rank[to];
    tt_signature_contents(sent, sent->type == w->type ? w->element : 0, one, sizeof one);
    tt_signature_contents(expected, expected->type == w->type ? w->element : 0, other,
                          sizeof other);
    bool alike = strcmp(one, other) == 0;
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "%s: rank %d sends rank %d %s%s where rank %d expects %s%s%s%s",
                   tt_signature_name(w), giver, taker, one,
                   tt_signature_argument(w, true, to, out, sizeof out), taker, other,
                   tt_signature_argument(w, false, from, in, sizeof in),
                   alike ? ", but divided or ordered in another way" : "",
                   tt_step_which_team(t, team, sizeof team));
}

static bool same_contents(const struct tt_contents *a, const struct tt_contents *b)
{
    return a->hash == b->hash && a->bytes == b->bytes;
}

/* Whether a later execution has replaced the entries (segment entries or contents) that this rank
 * and member r wrote for each other in this execution. The slots may then still hold the calls of
 * this execution, because there may be more slots than windows, and entries exist only once for
 * each window. There is nothing left to compare: both ranks have ended this execution before the
 * later one began, and one of them has compared the entries. A mirror has an entry for each slot,
 * so a remote member's entry is not replaced before its call is. */
static bool are_replaced(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    return !tt_team_is_remote(t, r) && (tt_team_segment(t, t->me, slot, r)->begun > number + 1 ||
                                        tt_team_segment(t, r, slot, t->me)->begun > number + 1);
}

/* Compares the contents of the pieces that this rank and member r have for each other. If the
 * member is on another node, its contents came with each of its messages in this execution. */
static tutti_status compare_contents(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    if (begun_last(t, slot, r) != tt_team_base(t, number) >> 32) return TUTTI_OK;
    const struct tt_contents *theirs = tt_team_contents(t, r, slot, t->me);
    const struct tt_contents *mine = tt_team_contents(t, t->me, slot, r);
    bool sent = same_contents(&mine[TT_IN], &theirs[TT_OUT]);
    if ((sent && same_contents(&theirs[TT_IN], &mine[TT_OUT])) || !keeps_counts(t, r) ||
        are_replaced(t, number, r))
        return TUTTI_OK;
    if (!sent) return unlike(t, number, t->me, r, &mine[TT_IN], &theirs[TT_OUT]);
    return unlike(t, number, r, t->me, &theirs[TT_IN], &mine[TT_OUT]);
}

/* Sets how many bytes `rank` has for the peer (in bytes[TT_IN]) and expects from the peer (in
 * bytes[TT_OUT]), in the call that is in the slot. words: the two ranks have words for each other
 * (tt_team_word). */
static void bytes_of_pair(const struct tt_team *t, int rank, int slot, int peer, bool words,
                          int64_t bytes[2])
{
    uint32_t word = words ? *tt_team_word(t, rank, slot, peer) : TT_PAIR_UNFIT;
    if (word != TT_PAIR_UNFIT)
        tt_pair_bytes(word, bytes);
    else
        memcpy(bytes, tt_team_segment(t, rank, slot, peer)->bytes, 2 * sizeof *bytes);
}

/* Whether this rank and member r may have pieces for each other in this call of pairs. Words and
 * entries of other pairs must not be compared, because they may belong to an earlier call. In a
 * gatherv or scatterv, one of the two ranks must be the root. In a neighbourhood collective, this
 * rank must have written an entry for r in this execution; then r has written one, too. */
static bool are_partners(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    const struct tt_call_signature *w = tt_team_signature(t, t->me, slot);
    if (tt_coll_has_root((enum tt_coll)w->coll)) return t->me == w->root || r == w->root;
    return !tt_signature_neighbors(w) || tt_team_segment(t, t->me, slot, r)->begun == number + 1;
}

/* Compares the numbers of bytes that this rank and member r have for each other. */
static tutti_status compare_bytes(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    int64_t mine[2], theirs[2];
    bool words = tt_team_has_words(t, r);
    bytes_of_pair(t, t->me, slot, r, words, mine);
    bytes_of_pair(t, r, slot, t->me, words, theirs);
    bool same = theirs[TT_OUT] == mine[TT_IN] && theirs[TT_IN] == mine[TT_OUT];
    if (tt_likely(same) || !keeps_counts(t, r) || are_replaced(t, number, r)) return TUTTI_OK;
    if (theirs[TT_OUT] != mine[TT_IN])
        return tt_step_uneven(t, number, t->me, r, mine[TT_IN], theirs[TT_OUT]);
    return tt_step_uneven(t, number, r, t->me, theirs[TT_IN], mine[TT_OUT]);
}

/* Reads the counts that both ranks published for each other when they began the call. The execution
 * may have ended on this rank. If the words of the two ranks (tt_team_word) agree, the function
 * looks at nothing else. */
tutti_status tt_step_pair(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    const struct tt_call_signature *w = tt_team_signature(t, t->me, slot);
    if (!tt_coll_pairs((enum tt_coll)w->coll) || r == t->me) return TUTTI_OK;
    if (tt_team_words_agree(t, slot, r) || !are_partners(t, number, r)) return TUTTI_OK;
    if (tt_unlikely(w->flags & TT_SIGNATURE_CONTENTS)) return compare_contents(t, number, r);
    if (tt_team_is_remote(t, r) && !tt_remote_has_opened(t, r, number)) return TUTTI_OK;
    return compare_bytes(t, number, r);
}

tutti_status tt_step_compare(const struct tt_team *t, uint64_t number, int rank)
{
    const int slot = tt_team_slot(t, number);
    const uint64_t begun = tt_team_base(t, number) >> 32;
    uint64_t mine =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    uint64_t mark = atomic_load_explicit(&tt_team_line(t, rank, slot)->shape, memory_order_acquire);
    if (mine >> 32 != begun || mark >> 32 != begun) return TUTTI_OK;
    return mark == mine ? tt_step_pair(t, number, rank) : tt_step_mismatch(t, number, rank);
}

/* Returns OK if the peer's flag has the value or a higher one, AGAIN if not, and MISMATCH if the
 * peer runs another call. */
static inline tutti_status await_flag(struct tt_exec *exec, int32_t peer, uint32_t lane,
                                      uint32_t value)
{
    struct tt_team *t = exec->team;
    uint64_t want = exec->base + value;
    const struct tt_signal_line *line = tt_team_line(t, peer, exec->slot);
    const _Atomic uint64_t *word = lane ? tt_team_signal(t, peer, exec->slot, lane) : &line->signal;
    int looks = 0;
    for (; atomic_load_explicit(word, memory_order_acquire) < want; tt_relax())
        if (++looks >= exec->looks) return TUTTI_AGAIN;
    /* The flag was raised when this rank looked for the first time. So the peer is ahead, and has
     * written its line of the next execution or soon will. Prefetches that line. */
    if (looks == 0)
        __builtin_prefetch(tt_team_line(t, peer, (exec->slot + 1) & (int)(t->slots - 1)));
    if (tt_likely(atomic_load_explicit(&line->shape, memory_order_relaxed) == exec->mark))
        return TUTTI_OK;
    return tt_step_mismatch(t, exec->number, peer);
}

/* Awaits a flag. In calls in which ranks know only their own counts, then compares the counts of
 * the two ranks, so that nobody reads or writes a piece before both ranks are known to agree on its
 * size. */
static inline tutti_status await_pair(struct tt_exec *exec, int32_t peer, uint32_t lane,
                                      uint32_t value)
{
    TT_TRY(await_flag(exec, peer, lane, value));
    if (tt_likely(!exec->pairs)) return TUTTI_OK;
    if (!tt_team_words_agree(exec->team, exec->slot, peer))
        return tt_step_pair(exec->team, exec->number, peer);
    exec->words.agreed |= UINT64_C(1) << peer;
    return TUTTI_OK;
}

/* ---- Steps ---- */

/* Does a copy or reduction of memory on this node. The owners of the windows that the step reads
 * have written to the windows before, so they have made their extensions (team.h); if not, the plan
 * is wrong. */
static tutti_status combine(struct tt_exec *exec, const struct tt_plain *s)
{
    int missing = tt_unlikely(exec->finds_windows) ? find_windows(exec, s) : -1;
    if (tt_unlikely(missing >= 0))
        return tt_fail(TUTTI_ERR_ARG, "the plan reads a window before rank %d writes to it",
                       exec->team->job_rank[missing]);
    if (s->kind == TT_COPY) return tt_access_copy(exec, s->range, s->len);
    return tt_access_reduce(exec, s->range, s->nops, s->len);
}

static tutti_status combine_local(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    tutti_status status = combine(exec, s);
    return tt_unlikely(status == TUTTI_ERR_UNSUPPORTED) ? tt_served_refused(exec, lane) : status;
}

/* Does a copy or reduction of which some operands may have to be fetched first. */
static tutti_status combine_remote(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    struct tt_plain local = *s;
    TT_TRY(tt_remote_fetch(exec, lane, &local));
    tutti_status status = combine(exec, &local);
    tt_remote_fetched(exec, lane);
    if (tt_unlikely(status == TUTTI_ERR_UNSUPPORTED)) return tt_served_refused(exec, lane);
    exec->lane[lane].resume = 0;
    return status;
}

/* Does a step. Returns OK if the step is done, and AGAIN if the caller must try it again. */
static tutti_status do_step(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    switch (s->kind) {
    case TT_SEND:
    case TT_RECV:
    case TT_PUT:
    case TT_GET: return start(exec, lane, s);
    case TT_WAIT: return message(exec, lane, s)->complete ? TUTTI_OK : TUTTI_AGAIN;
    case TT_SIGNAL: return signal_peers(exec, lane, s);
    case TT_AWAIT: return await_pair(exec, s->peer, s->lane, s->value);
    case TT_COPY:
    case TT_REDUCE:
        return exec->remote ? combine_remote(exec, lane, s) : combine_local(exec, lane, s);
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
    return tt_fail(TUTTI_ERR_ARG, "the plan has a step of an unknown kind");
}

static const char *const step_names[] = {
    [TT_SEND] = "send",   [TT_RECV] = "recv", [TT_PUT] = "put",
    [TT_GET] = "get",     [TT_WAIT] = "wait", [TT_SIGNAL] = "signal",
    [TT_AWAIT] = "await", [TT_COPY] = "copy", [TT_REDUCE] = "reduce",
};

/* Traces the plain loads and stores of a copy or reduction as events within the event of the
 * step. */
static void trace_loads(const struct tt_exec *exec, const struct tt_plain *s,
                        const struct tt_trace_record *step)
{
    struct tt_fabric *f = exec->team->fabric;
    struct tt_trace_record event = *step;
    /* This event begins later than the event of the step, so that a viewer draws it inside. */
    event.begin_ns = tt_min(step->begin_ns + 1, tt_clock_ns());
    for (uint32_t i = 0; i < s->nops; i++) {
        if (!tt_access_is_loaded(exec, &s->range[i], s->len)) continue;
        event.name = i ? "read" : "write";
        event.peer = exec->team->job_rank[s->range[i].rank];
        f->ops->did(f->ops, f, &event);
    }
}

/* Returns the rank in the job of the peer of a step; -1: the step has no single peer. The peer of a
 * wait is the rank with which the operation that it waited for exchanged data. */
static int peer_of(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    const int *job_rank = exec->team->job_rank;
    bool flagged = s->kind == TT_AWAIT || (s->kind == TT_SIGNAL && s->peer >= 0);
    if (s->kind == TT_WAIT) return job_rank[message(exec, lane, s)->peer];
    return tt_kind_starts(s->kind) || flagged ? job_rank[s->peer] : -1;
}

/* Does the step and traces it. */
static tutti_status do_step_traced(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    struct tt_team *t = exec->team;
    int64_t *since_ns = &exec->lane[lane].since_ns;
    if (!*since_ns) *since_ns = tt_clock_ns();
    tutti_status status = do_step(exec, lane, s);
    if (status != TUTTI_OK) return status;
    if (tt_kind_starts(s->kind)) message(exec, lane, s)->peer = s->peer;
    struct tt_trace_record event = {.name = step_names[s->kind],
                                    .call = tt_coll_name(exec->plan->coll),
                                    .algorithm = exec->plan->algorithm,
                                    .begin_ns = *since_ns,
                                    .bytes = s->len,
                                    .peer = peer_of(exec, lane, s),
                                    .value = s->value,
                                    .lane = lane,
                                    .execution = exec->number,
                                    .key = exec};
    *since_ns = 0;
    if (s->kind == TT_COPY || s->kind == TT_REDUCE) trace_loads(exec, s, &event);
    t->fabric->ops->did(t->fabric->ops, t->fabric, &event);
    return TUTTI_OK;
}

/* Does a step of a plan without loops. Steps that are frequent in small collectives run directly
 * from the plan; any other step is converted to struct tt_plain first. */
static inline tutti_status straight_step(struct tt_exec *exec, uint32_t lane,
                                         const struct tt_step *s)
{
    const struct tt_range *range = exec->plan->ranges + s->first;
    struct tt_plain plain;
    if (tt_likely(exec->plain)) {
        if (s->kind == TT_COPY) return tt_access_copy(exec, range, s->len);
        if (s->kind == TT_REDUCE) return tt_access_reduce(exec, range, s->nops, s->len);
        if (s->kind == TT_SIGNAL) return signal_local(exec, lane, s->peer, s->value);
        if (s->kind == TT_AWAIT) return await_pair(exec, s->peer, s->sub, s->value);
    }
    /* this step may be tried very often, so it has a shorter path */
    if (s->kind == TT_WAIT && !exec->traced)
        return exec->lane[lane].messages[s->value * TT_IN_FLIGHT].complete ? TUTTI_OK : TUTTI_AGAIN;
    if (exec->own && !exec->traced) {
        if (s->kind == TT_COPY) return tt_access_copy(exec, range, s->len);
        if (s->kind == TT_REDUCE) return tt_access_reduce(exec, range, s->nops, s->len);
    }
    tt_iter_plain(exec->plan, s, &plain);
    return tt_likely(!exec->traced) ? do_step(exec, lane, &plain)
                                    : do_step_traced(exec, lane, &plain);
}

/* straight_steps (for a plan without loops and without TT_EXCHANGE) and unrolled_steps (for any
 * other plan) do up to `most` steps of lane i, which has not ended, until a step cannot be done
 * yet. They return the number of steps done; *status is the status of the last step. */
static inline int straight_steps(struct tt_exec *exec, uint32_t i, int most, tutti_status *status)
{
    struct tt_iter *iter = &exec->lane[i].iter;
    int done = 0;
    for (; done < most && iter->at < iter->end; done++, iter->at++) {
        *status = straight_step(exec, i, &exec->plan->steps[iter->at]);
        if (*status != TUTTI_OK) return done;
    }
    if (done < most) exec->lane[i].ended = true;
    exec->lanes_left -= done < most;
    return done;
}

static int unrolled_steps(struct tt_exec *exec, uint32_t i, int most, tutti_status *status)
{
    struct tt_lane_run *lane = &exec->lane[i];
    int done = 0;
    for (; done < most && (lane->has_step || tt_iter_next(&lane->iter, &lane->step)); done++) {
        *status =
            exec->traced ? do_step_traced(exec, i, &lane->step) : do_step(exec, i, &lane->step);
        lane->has_step = *status != TUTTI_OK;
        if (lane->has_step) return done;
    }
    if (done < most) lane->ended = true;
    exec->lanes_left -= done < most;
    return done;
}

/* Handles the error of a step. UNSUPPORTED in an exec whose steps take the fast path (exec->plain)
 * means that the system refused an access. From now on the exec then asks the owners of the memory
 * for the bytes, and AGAIN is returned. Returns other errors as they are. */
static tutti_status after_error(struct tt_exec *exec, uint32_t lane, tutti_status status)
{
    bool refused = status == TUTTI_ERR_UNSUPPORTED && exec->plain;
    return refused ? tt_served_refused(exec, lane) : status;
}

tutti_status tt_step_lanes(struct tt_exec *exec)
{
    for (uint32_t i = 0; i < exec->plan->lanes; i++) {
        tutti_status status = TUTTI_OK;
        if (exec->lane[i].ended) continue;
        if (tt_unlikely(exec->lane[i].iter.unrolls))
            unrolled_steps(exec, i, INT_MAX, &status);
        else
            straight_steps(exec, i, INT_MAX, &status);
        if (tt_likely(status <= TUTTI_AGAIN)) continue;
        status = after_error(exec, i, status);
        if (status > TUTTI_AGAIN) return status;
    }
    return TUTTI_OK;
}

int tt_step_some(struct tt_exec *exec, uint32_t lane, int steps, tutti_status *status)
{
    *status = TUTTI_OK;
    if (exec->lane[lane].ended) return 0;
    int done = exec->lane[lane].iter.unrolls ? unrolled_steps(exec, lane, steps, status)
                                             : straight_steps(exec, lane, steps, status);
    if (tt_unlikely(*status > TUTTI_AGAIN)) *status = after_error(exec, lane, *status);
    return done;
}
