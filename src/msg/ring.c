/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and finding packet rings, and the slow paths of writing and reading. A ring consists of
 * cells and a bulk area. Its reader finds it in the list in the mailbox of the reader's rank
 * (ring.h).
 */
#include "msg/ring.h"

#include <string.h>

/* ---- How to fill a ring ---- */

int tt_fill_asked(void)
{
    return (int)tt_setting_int_or("TUTTI_FILL", -1);
}

enum tt_fill tt_fill_method(int asked, bool streams, int ranks, int cores)
{
    if (asked >= 0) return (enum tt_fill)asked;
    return streams && tt_fill_is_measured(asked, ranks, cores) ? TT_FILL_STREAMS : TT_FILL_STORES;
}

/* ---- Making and finding ---- */

/* BULK_A_CELL: bytes of the bulk area for each cell of a ring. CELLS_LEAST: the least number of
 * cells. */
enum { BULK_A_CELL = 2048, CELLS_LEAST = 8 };

/* ---- Mailboxes ---- */

tutti_status tt_mailbox_open(struct tt_fabric *f, struct tt_mailbox **mailbox)
{
    int64_t offset;
    TT_TRY(tt_arena_alloc(&f->arena, sizeof **mailbox, &offset));
    *mailbox = tt_fabric_at(f, offset);
    atomic_store(&f->common->rank[f->me].mailbox, offset);
    return TUTTI_OK;
}

static bool within(const struct tt_fabric *f, int64_t offset, int64_t bytes)
{
    return offset > 0 && offset % TT_LINE == 0 && tt_segment_holds(f->segment, offset, bytes);
}

struct tt_mailbox *tt_mailbox_of(struct tt_fabric *f, int rank)
{
    int64_t offset = atomic_load_explicit(&f->common->rank[rank].mailbox, memory_order_acquire);
    return within(f, offset, sizeof(struct tt_mailbox)) ? tt_fabric_at(f, offset) : NULL;
}

struct port {
    uint64_t bytes;
    char address[TT_WIRE_ADDRESS];
};

tutti_status tt_mailbox_publish_port(struct tt_fabric *f, struct tt_mailbox_context *mailbox,
                                     const void *address, size_t bytes)
{
    int64_t offset;
    TT_TRY(tt_arena_alloc(&f->arena, sizeof(struct port), &offset));
    struct port *port = tt_fabric_at(f, offset);
    port->bytes = bytes;
    memcpy(port->address, address, bytes);
    atomic_store_explicit(&mailbox->port, offset, memory_order_release);
    return TUTTI_OK;
}

bool tt_mailbox_port(const struct tt_fabric *f, const struct tt_mailbox_context *mailbox,
                     void *address, size_t *bytes)
{
    int64_t offset = atomic_load_explicit(&mailbox->port, memory_order_acquire);
    if (!within(f, offset, sizeof(struct port))) return false;
    const struct port *port = tt_fabric_at(f, offset);
    *bytes = port->bytes;
    if (*bytes == 0 || *bytes > TT_WIRE_ADDRESS) return false;
    memcpy(address, port->address, *bytes);
    return true;
}

/* ---- Packet rings ---- */

static int64_t ring_bytes(int64_t cells, int64_t bulk)
{
    return (int64_t)sizeof(struct tt_msg_ring) + cells * (int64_t)sizeof(struct tt_cell) + bulk;
}

tutti_status tt_out_open(struct tt_fabric *f, int context, int64_t bytes, struct tt_out *out)
{
    int64_t cells = tt_max(CELLS_LEAST, bytes / BULK_A_CELL), offset;
    TT_TRY(tt_arena_alloc(&f->arena, ring_bytes(cells, bytes), &offset));
    struct tt_msg_ring *ring = tt_fabric_at(f, offset);
    ring->rank = f->me;
    ring->context = context;
    ring->cells = (int32_t)cells;
    ring->bulk = (int32_t)bytes;
    *out = (struct tt_out){.ring = ring,
                           .cell = ring->cell,
                           .bulk = (char *)&ring->cell[cells],
                           .cells = (uint32_t)cells,
                           .cells_log2 = (uint32_t)__builtin_ctzll((uint64_t)cells),
                           .bulk_bytes = (uint32_t)bytes,
                           .long_least = (size_t)bytes / 32,
                           .limit = (uint64_t)cells,
                           .bulk_limit = (uint64_t)bytes};
    return TUTTI_OK;
}

/* Pushes the ring onto the list in the reader's mailbox. The reader takes the whole list at once,
 * so a push needs to know only the first entry. */
void tt_out_announce(struct tt_fabric *f, const struct tt_out *out,
                     struct tt_mailbox_context *mailbox)
{
    uint64_t offset = (uint64_t)((char *)out->ring - f->segment->base);
    uint64_t first = atomic_load_explicit(&mailbox->news, memory_order_relaxed);
    do {
        out->ring->next = (int64_t)(first & ~(uint64_t)TT_MAILBOX_IN_USE);
    } while (!atomic_compare_exchange_weak_explicit(&mailbox->news, &first,
                                                    offset | (first & TT_MAILBOX_IN_USE),
                                                    memory_order_release, memory_order_relaxed));
}

static bool is_power(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

bool tt_in_open(struct tt_fabric *f, int64_t offset, struct tt_in *in)
{
    if (!within(f, offset, sizeof(struct tt_msg_ring))) return false;
    struct tt_msg_ring *ring = tt_fabric_at(f, offset);
    int32_t cells = ring->cells, bulk = ring->bulk;
    if (!is_power(cells) || !is_power(bulk) || bulk < TT_LINE ||
        !within(f, offset, ring_bytes(cells, bulk)) || ring->rank < 0 || ring->rank >= f->size ||
        ring->context < 0 || ring->context >= TUTTI_CONTEXTS)
        return false;
    *in = (struct tt_in){.ring = ring,
                         .cell = ring->cell,
                         .bulk = (char *)&ring->cell[cells],
                         .cells = (uint32_t)cells,
                         .cells_log2 = (uint32_t)__builtin_ctz((uint32_t)cells),
                         .bulk_bytes = (uint32_t)bulk};
    return true;
}

/* ---- Writing ---- */

void tt_out_look(struct tt_out *out)
{
    out->limit = atomic_load_explicit(&out->ring->read_cells, memory_order_acquire) + out->cells;
    out->bulk_limit =
        atomic_load_explicit(&out->ring->read_bulk, memory_order_acquire) + out->bulk_bytes;
}

/* Positions in the bulk area go on counting from lap to lap. Returns the first position, not before
 * `at`, from which n bytes lie in one piece: `at` itself, or the position at which the next lap
 * begins. */
static uint64_t place(uint64_t at, size_t n, uint32_t bulk_bytes)
{
    uint64_t in = at & (bulk_bytes - 1);
    return in + n <= bulk_bytes ? at : at + bulk_bytes - in;
}

static size_t lines(size_t n)
{
    return (n + TT_LINE - 1) & ~(size_t)(TT_LINE - 1);
}

char *tt_out_bulk(struct tt_out *out, size_t n)
{
    uint64_t at = place(out->bulk_at, lines(n), out->bulk_bytes);
    if (at + lines(n) > out->bulk_limit) {
        tt_out_look(out);
        if (at + lines(n) > out->bulk_limit) return NULL;
    }
    return out->bulk + (at & (out->bulk_bytes - 1));
}

/* ---- Reading ---- */

const void *tt_in_body(const struct tt_in *in, size_t n)
{
    if (tt_likely(n <= TT_CELL_BODY)) return in->cell[in->position & (in->cells - 1)].body;
    if (n > tt_ring_most(in->bulk_bytes)) return NULL;
    return in->bulk + (place(in->bulk_at, lines(n), in->bulk_bytes) & (in->bulk_bytes - 1));
}

/* Moves past a packet, and publishes the positions when they have moved by a quarter of a lap since
 * they were last published. So a writer that writes less than half of the bulk area at a time never
 * waits for bytes that were read but not published. */
bool tt_in_next(struct tt_in *in, size_t n)
{
    in->position++;
    if (tt_unlikely(n > TT_CELL_BODY))
        in->bulk_at = place(in->bulk_at, lines(n), in->bulk_bytes) + lines(n);
    if (tt_likely(in->position - in->published < in->cells / 4 &&
                  in->bulk_at - in->bulk_published < in->bulk_bytes / 4))
        return false;
    in->published = in->position;
    in->bulk_published = in->bulk_at;
    atomic_store_explicit(&in->ring->read_bulk, in->bulk_at, memory_order_release);
    atomic_store_explicit(&in->ring->read_cells, in->position, memory_order_release);
    return true;
}
