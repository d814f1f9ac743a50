/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doing the steps of a plan. A lane advances until a step cannot be done yet. No function in here
 * waits, so one thread can run any number of executions and lanes in turn.
 */
#include "run/remote.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "run/compare.h"
#include "run/roll.h"
#include "type/layout.h"

/* ---- Channels ---- */

/* A channel (channel.h) has two ends: the sender's and the receiver's. Each end has a queue of
 * messages, and both use one byte ring at a time. Positions count bytes from the beginning of the
 * channel and never wrap. Every message begins at a multiple of 8 bytes, so an address in the ring
 * is never split where the memory of the ring ends.
 *
 * A ring has room for AHEAD messages like the one for which it is made, but at least LEAST_BYTES
 * and at most MOST_BYTES. A channel through which BUSY times the bytes of its ring have passed gets
 * the largest ring, because messages that use the same memory again soon were measured to take
 * longer (docs/refused.md). */

enum { AHEAD = 4, BUSY = 64, LEAST_BYTES = 256, MOST_BYTES = 32 << 10 };
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

static inline bool is_busy(const struct tt_end *end)
{
    return end->position >= BUSY * (uint64_t)end->bytes;
}

/* Returns how many bytes of data the next ring has, for the first unsent message of this end. */
static int64_t bytes_of_next(const struct tt_end *end)
{
    const struct tt_message *m = end->unsent;
    int64_t bytes = end->ring && is_busy(end) ? MOST_BYTES : LEAST_BYTES;
    while (!m->rendezvous && bytes < MOST_BYTES && bytes < AHEAD * m->left) bytes *= 2;
    return bytes;
}

/* Makes a ring for the first unsent message of this end. Its offset is stored in *place. */
static tutti_status make_ring(struct tt_team *t, struct tt_end *end, _Atomic uint64_t *place)
{
    int64_t offset, bytes = bytes_of_next(end);
    TT_TRY(tt_team_take(t, (int64_t)sizeof(struct tt_byte_ring) + bytes, &offset));
    struct tt_byte_ring *ring = tt_fabric_at(t->fabric, offset);
    *ring = (struct tt_byte_ring){.head = end->position, .tail = end->position, .bytes = bytes};
    atomic_store_explicit(place, (uint64_t)offset, memory_order_release);
    end->ring = ring;
    end->bytes = bytes;
    return TUTTI_OK;
}

/* Returns whether this end wants a larger ring for its first unsent message, and may have one,
 * because the ring is empty. */
static inline bool may_grow(const struct tt_end *end, uint64_t tail)
{
    const struct tt_message *m = end->unsent;
    if (!m || end->bytes == MOST_BYTES || tail != end->position) return false;
    return !m->rendezvous && (AHEAD * m->left > end->bytes || is_busy(end));
}

/* Continues in the ring whose offset is in *place. Returns false if there is none yet. */
static bool find_ring(struct tt_fabric *f, struct tt_end *end, const _Atomic uint64_t *place)
{
    uint64_t offset = atomic_load_explicit(place, memory_order_acquire);
    if (!offset) return false;
    end->ring = tt_fabric_at(f, (int64_t)offset);
    end->bytes = end->ring->bytes;
    return true;
}

/* Returns the receiver's `head`, of the next ring if this one is empty and there is a next one. */
static uint64_t head_of(struct tt_fabric *f, struct tt_end *end)
{
    uint64_t head = atomic_load_explicit(&end->ring->head, memory_order_acquire);
    if (head != end->position || !find_ring(f, end, &end->ring->next)) return head;
    return atomic_load_explicit(&end->ring->head, memory_order_acquire);
}

/* Copies n bytes between memory and the ring at the position of the end, and continues at the
 * beginning of the ring's memory when it reaches the end. in: from memory into the ring. */
static void copy_ring(struct tt_end *end, char *memory, int64_t n, bool in)
{
    struct tt_byte_ring *ring = end->ring;
    int64_t at = (int64_t)end->position & (end->bytes - 1), first = tt_min(n, end->bytes - at);
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
    copy_ring(end, m->at, n, end->sending);
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
    copy_ring(end, (char *)&word, WORD, true);
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

static tutti_status advance_send(struct tt_team *t, struct tt_end *end)
{
    struct tt_fabric *f = t->fabric;
    if (tt_unlikely(!end->ring)) TT_TRY(make_ring(t, end, end->place));
    uint64_t before = end->position;
    uint64_t tail = atomic_load_explicit(&end->ring->tail, memory_order_acquire);
    if (tt_unlikely(may_grow(end, tail))) TT_TRY(make_ring(t, end, &end->ring->next));
    while (end->unsent && put(f, end, end->unsent, end->bytes - (int64_t)(end->position - tail)))
        end->unsent = end->unsent->next;
    if (end->position != before) TT_TRY(publish(f, end, &end->ring->head));
    while (end->first != end->unsent && tail >= end->first->end) complete_first(end);
    return TUTTI_OK;
}

/* ---- Receiving through a ring ---- */

static uint64_t take_word(struct tt_end *end)
{
    uint64_t word;
    copy_ring(end, (char *)&word, WORD, false);
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
    if (!end->ring && !find_ring(f, end, end->place)) return TUTTI_OK;
    uint64_t before = end->position;
    struct tt_message *m;
    while ((m = end->first) != NULL) {
        uint64_t head = head_of(f, end);
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

/* Moves all bytes between the messages of an end and its byte ring that can be moved without
 * waiting. Errors: those of the fabric's read; MEMORY and LIMIT when a ring is made; MISMATCH if
 * the other side runs another call, before any byte of the message is moved. */
static tutti_status advance_ring(struct tt_team *t, struct tt_end *end)
{
    tutti_status status = end->sending ? advance_send(t, end) : advance_recv(t->fabric, end);
    tt_assert(status != TUTTI_OK || tt_end_valid(end));
    return status;
}

/* ---- Messages ---- */

/* Returns the member whose rank in the job is given. */
static int member_of(const struct tt_team *t, int job_rank)
{
    int r = 0;
    while (t->job_rank[r] != job_rank) r++;
    return r;
}

/* Finds the word in which the sender publishes the offset of the byte ring; the sender makes it if
 * needed. For a receiver, sets end->place to NULL if the sender has not made the word yet. Errors:
 * MEMORY, LIMIT. */
static tutti_status find_place(const struct tt_exec *exec, struct tt_end *end)
{
    struct tt_team *t = exec->team;
    int peer = member_of(t, end->peer);
    if (end->sending) TT_TRY(tt_team_provide(t, (enum tt_team_part)(TT_PART_RINGS + end->lane)));
    end->place = end->sending ? tt_team_ring(t, t->me, exec->slot, end->lane, peer)
                              : tt_team_ring(t, peer, exec->slot, end->lane, t->me);
    return TUTTI_OK;
}

/* Returns the ends of a lane's channels in the window of the execution: those for receiving by
 * member, and then those for sending; NULL where no message has passed yet. Returns NULL if there
 * is no memory. */
static struct tt_end **ends_of(struct tt_exec *exec, uint32_t lane)
{
    struct tt_team *t = exec->team;
    if (!t->ends && !(t->ends = tt_calloc(t->windows * TT_LANES, sizeof *t->ends))) return NULL;
    struct tt_end ***ends = &t->ends[tt_team_window_of(t, exec->slot) * TT_LANES + lane];
    if (!*ends) *ends = tt_calloc(2 * (size_t)t->map.p, sizeof **ends);
    return *ends;
}

/* Makes an end of a channel to or from the member. NULL: no memory. */
static __attribute__((noinline)) struct tt_end *new_end(const struct tt_team *t, uint32_t lane,
                                                        int peer, bool sending)
{
    struct tt_end *end = tt_calloc(1, sizeof *end);
    if (!end) return NULL;
    end->sending = sending;
    end->lane = (uint8_t)lane;
    end->peer = t->job_rank[peer];
    return end;
}

static struct tt_end *end_of(struct tt_exec *exec, uint32_t lane, int peer, bool sending)
{
    struct tt_end **ends = ends_of(exec, lane);
    if (!ends) return NULL;
    struct tt_end **end = &ends[sending * exec->team->map.p + peer];
    if (tt_unlikely(!*end)) *end = new_end(exec->team, lane, peer, sending);
    return *end;
}

static struct tt_message *message(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s)
{
    return &exec->lane[lane].messages[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT];
}

/* Advances one end of a byte ring. For the errors MISMATCH and ARG, sets a text that names the
 * calls that differ, or the argument in which the bad address lies. */
static tutti_status advance_end(struct tt_exec *exec, struct tt_end *end)
{
    if (tt_unlikely(!end->place)) TT_TRY(find_place(exec, end));
    if (tt_unlikely(!end->place)) return TUTTI_OK;
    tutti_status status = advance_ring(exec->team, end);
    if (tt_unlikely(status == TUTTI_ERR_MISMATCH))
        TT_TRY(tt_compare_call(exec->team, exec->number, member_of(exec->team, end->peer)));
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

/* Finds the long windows that the step touches. Returns a member that has not made its windows yet,
 * so that they cannot be touched, or -1 if there is no such member. */
static int find_windows(struct tt_exec *exec, const struct tt_plain *s)
{
    for (uint32_t i = 0; i < s->nops; i++) {
        const struct tt_range *r = &s->range[i];
        if (r->buf != TT_WIN || r->rank == TT_SELF || exec->window[r->rank]) continue;
        if (!tt_team_find_window(exec->team, r->rank)) return r->rank;
    }
    return -1;
}

/* Starts a put or get within this node. If it completes at once, it is marked as complete, so the
 * wait step for it does nothing. */
static tutti_status start_access(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                                 struct tt_message *m)
{
    /* A put may come before its target has begun the call, and so before the target has made and
     * backed its window. Then the put waits. */
    bool waits = s->kind == TT_PUT && s->range[0].buf == TT_WIN &&
                 tt_team_begun_last(exec->team, s->peer, exec->slot) < exec->base >> 32;
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
    if (tt_unlikely(!word)) return TUTTI_AGAIN;
    for (; atomic_load_explicit(word, memory_order_acquire) < want; tt_relax())
        if (++looks >= exec->looks) return TUTTI_AGAIN;
    /* The flag was raised when this rank looked for the first time. So the peer is ahead, and has
     * probably written its lines of the next executions. Prefetches the line of the execution after
     * the next one: between processors that share no cache, a line takes as long as two short
     * calls. */
    if (looks == 0)
        __builtin_prefetch(tt_team_line(t, peer, (exec->slot + 2) & (int)(t->slots - 1)));
    if (tt_likely(atomic_load_explicit(&line->shape, memory_order_relaxed) == exec->mark))
        return TUTTI_OK;
    return tt_compare_mismatch(t, exec->number, peer);
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
        return tt_compare_pair(exec->team, exec->number, peer);
    exec->words.agreed |= UINT64_C(1) << peer;
    return TUTTI_OK;
}

/* ---- Steps ---- */

/* Does a copy or reduction of memory on this node. The owners of the windows that the step reads
 * have written to the windows before, and so have made them (team.h); if not, the plan is wrong. */
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
