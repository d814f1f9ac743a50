/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two ends of a channel. Positions count bytes from the channel's beginning and never wrap.
 * Every message begins at a multiple of 8, so the ring's end never splits an address.
 */
#include "run/channel.h"

#include <string.h>

#define RING_BYTES (32 << 10)
#define WORD 8

void tt_end_post(struct tt_fabric *f, struct tt_end *end, struct tt_message *m, void *memory,
                 int64_t len)
{
    *m = (struct tt_message){.at = memory, .left = len};
    m->rendezvous = len > f->eager_most && f->reads;
    if (end->last)
        end->last->next = m;
    else
        end->first = m;
    end->last = m;
    if (!end->unsent) end->unsent = m;
}

static void complete_first(struct tt_end *end)
{
    struct tt_message *m = end->first;
    end->first = m->next;
    if (!end->first) end->last = NULL;
    m->complete = true;
}

static tutti_status make_ring(struct tt_fabric *f, struct tt_end *end)
{
    int64_t offset;
    TT_TRY(tt_arena_alloc(&f->arena, (int64_t)sizeof(struct tt_byte_ring) + RING_BYTES, &offset));
    end->ring = tt_fabric_at(f, offset);
    atomic_store_explicit(end->place, (uint64_t)offset, memory_order_release);
    return TUTTI_OK;
}

static bool find_ring(struct tt_fabric *f, struct tt_end *end)
{
    uint64_t offset = atomic_load_explicit(end->place, memory_order_acquire);
    if (offset) end->ring = tt_fabric_at(f, (int64_t)offset);
    return offset != 0;
}

/* Copies n bytes between memory and the ring at `position`, continuing at the ring's beginning. in:
 * into the ring. */
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

/* Returns the bytes that n bytes at the end of a message take in the ring. */
static int64_t padded(int64_t n)
{
    return (n + 7) & ~(int64_t)7;
}

/* Moves a part of an eager message, at most `room` bytes, and returns how many. The position
 * advances by the padded length. */
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

/* ---- Sending ---- */

static void put_word(struct tt_end *end, uint64_t word)
{
    copy_ring(end->ring, end->position, (char *)&word, WORD, true);
    end->position += WORD;
}

/* Puts as much of a message into the ring as fits. True: the whole message, or its address, is
 * in. */
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

/* ---- Receiving ---- */

static uint64_t take_word(struct tt_end *end)
{
    uint64_t word;
    copy_ring(end->ring, end->position, (char *)&word, WORD, false);
    end->position += WORD;
    return word;
}

/* Reads the length before a message and compares it with what is expected. */
static tutti_status take_length(struct tt_end *end, struct tt_message *m)
{
    uint64_t length = take_word(end);
    bool same = !end->shape || atomic_load_explicit(end->shape, memory_order_acquire) == end->mark;
    m->headed = true;
    if (tt_likely(same && length == (uint64_t)m->left)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MISMATCH, "%llu bytes came from rank %d where %lld were expected",
                   (unsigned long long)length, end->peer, (long long)m->left);
}

/* Leaves it to the owner of the end to ask the sender for the data. The address stays in the ring
 * until the data have arrived, since the sender's message is complete when the receiver is past
 * it. */
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
    const void *loadable = tt_fabric_reach(f, from);
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

tutti_status tt_end_advance(struct tt_fabric *f, struct tt_end *end)
{
    tutti_status status = end->sending ? advance_send(f, end) : advance_recv(f, end);
    tt_assert(status != TUTTI_OK || tt_end_valid(end));
    return status;
}
