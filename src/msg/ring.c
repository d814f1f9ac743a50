/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making rings, finding them, and the long way of writing and reading.
 */
#include "msg/ring.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { BULK_A_CELL = 2048, CELLS_LEAST = 8 }; /* bytes of bulk for each cell; how many at least */

/* ---- Post boxes ---- */

tutti_status tt_mail_open(struct tt_fabric *f, struct tt_mail **mail)
{
    int64_t offset;
    TT_TRY(tt_arena_alloc(&f->arena, sizeof **mail, &offset));
    *mail = tt_fabric_at(f, offset);
    atomic_store(&f->common->rank[f->me].mail, offset);
    return TUTTI_OK;
}

static bool within(const struct tt_fabric *f, int64_t offset, int64_t bytes)
{
    return offset > 0 && offset % TT_LINE == 0 && tt_segment_holds(f->segment, offset, bytes);
}

struct tt_mail *tt_mail_of(struct tt_fabric *f, int rank)
{
    int64_t offset = atomic_load_explicit(&f->common->rank[rank].mail, memory_order_acquire);
    return within(f, offset, sizeof(struct tt_mail)) ? tt_fabric_at(f, offset) : NULL;
}

struct port {
    uint64_t bytes;
    char address[TT_WIRE_ADDRESS];
};

tutti_status tt_mail_tell_port(struct tt_fabric *f, struct tt_mail_context *mail,
                               const void *address, size_t bytes)
{
    int64_t offset;
    TT_TRY(tt_arena_alloc(&f->arena, sizeof(struct port), &offset));
    struct port *port = tt_fabric_at(f, offset);
    port->bytes = bytes;
    memcpy(port->address, address, bytes);
    atomic_store_explicit(&mail->port, offset, memory_order_release);
    return TUTTI_OK;
}

bool tt_mail_port(const struct tt_fabric *f, const struct tt_mail_context *mail, void *address,
                  size_t *bytes)
{
    int64_t offset = atomic_load_explicit(&mail->port, memory_order_acquire);
    if (!within(f, offset, sizeof(struct port))) return false;
    const struct port *port = tt_fabric_at(f, offset);
    *bytes = port->bytes;
    if (*bytes == 0 || *bytes > TT_WIRE_ADDRESS) return false;
    memcpy(address, port->address, *bytes);
    return true;
}

/* ---- Rings ---- */

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
                           .own_bytes = (uint32_t)bytes,
                           .limit = (uint64_t)cells,
                           .bulk_limit = (uint64_t)bytes};
    return TUTTI_OK;
}

/* The reader takes the whole list at once, so whoever pushes needs to know only what is first. */
void tt_out_announce(struct tt_fabric *f, const struct tt_out *out, struct tt_mail_context *mail)
{
    uint64_t offset = (uint64_t)((char *)out->ring - f->segment->base);
    uint64_t first = atomic_load_explicit(&mail->news, memory_order_relaxed);
    do {
        out->ring->next = (int64_t)(first & ~(uint64_t)TT_MAIL_IN_USE);
    } while (!atomic_compare_exchange_weak_explicit(&mail->news, &first,
                                                    offset | (first & TT_MAIL_IN_USE),
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
                         .bulk_bytes = (uint32_t)bulk,
                         .own_bytes = (uint32_t)bulk};
    return true;
}

/* ---- Writing ---- */

void tt_out_look(struct tt_out *out)
{
    out->limit = atomic_load_explicit(&out->ring->read_cells, memory_order_acquire) + out->cells;
    out->bulk_limit =
        atomic_load_explicit(&out->ring->read_bulk, memory_order_acquire) + out->bulk_bytes;
}

/* Where n bytes lie in one piece, at `at` or at the bulk's next beginning. */
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

/* ---- Another bulk ---- */

/* Maps all of it at once, if the system can, rather than a page at each fault. */
static char *map(struct tt_fabric *f, int64_t offset, int64_t bytes)
{
    char *memory = tt_fabric_at(f, offset);
#ifdef MADV_POPULATE_WRITE
    (void)madvise(memory, (size_t)bytes, MADV_POPULATE_WRITE);
#else
    (void)bytes;
#endif
    return memory;
}

/* The call goes on without it, so what it failed of is no error of the call. */
static tutti_status make_wide(struct tt_fabric *f, struct tt_out *out)
{
    char before[512];
    if (out->wide) return TUTTI_OK;
    snprintf(before, sizeof before, "%s", tutti_error());
    tutti_status status = tt_arena_alloc(&f->arena, TT_WIDE * (int64_t)out->own_bytes, &out->wide);
    return status == TUTTI_OK ? status : tt_fail(status, "%s", before);
}

/* Whether n bytes find room at `at` of a bulk of so many bytes; or else the reader is so far
 * behind, by more than it leaves untold, that the writer waits for it in any case. */
static bool may_move(struct tt_out *out, uint64_t at, uint32_t bulk_bytes, size_t n)
{
    tt_out_look(out);
    uint64_t read = out->bulk_limit - out->bulk_bytes;
    return at + lines(n) <= read + bulk_bytes || out->bulk_at - read > out->bulk_bytes / 4;
}

static bool tell_move(struct tt_out *out, int64_t wide)
{
    struct tt_packet p = {.kind = TT_PACKET_BULK, .arg = {(uint64_t)wide}};
    size_t n = (size_t)tt_packet_args(p.kind) * 8;
    char *at = tt_out_begin(out, n);
    if (!at) return false;
    (void)tt_packet_write(&p, at);
    tt_out_end(out, tt_packet_mark(&p), at, n);
    return true;
}

/* How far the reader is has to be looked at anew. */
tutti_status tt_out_move(struct tt_fabric *f, struct tt_out *out, bool wide, size_t n)
{
    uint32_t bulk_bytes = out->own_bytes * (wide ? TT_WIDE : 1);
    uint64_t at = (uint64_t)tt_round_up((int64_t)out->bulk_at, bulk_bytes);
    if (wide) TT_TRY(make_wide(f, out));
    if (!may_move(out, at, bulk_bytes, n) || !tell_move(out, wide ? out->wide : 0))
        return TUTTI_AGAIN;
    out->bulk = wide ? tt_fabric_at(f, out->wide) : (char *)&out->cell[out->cells];
    out->bulk_bytes = bulk_bytes;
    out->bulk_at = at;
    out->bulk_limit = 0;
    return TUTTI_OK;
}

/* Where it begins is told at once: the writer may wait for that. */
bool tt_in_move(struct tt_fabric *f, struct tt_in *in, const struct tt_packet *p)
{
    int64_t wide = (int64_t)p->arg[0],
            bytes = wide ? TT_WIDE * (int64_t)in->own_bytes : in->own_bytes;
    if (wide && !within(f, wide, bytes)) return false;
    in->bulk = wide ? map(f, wide, bytes) : (char *)&in->cell[in->cells];
    in->bulk_bytes = (uint32_t)bytes;
    in->bulk_at = (uint64_t)tt_round_up((int64_t)in->bulk_at, bytes);
    in->bulk_told = in->bulk_at - in->bulk_bytes;
    return true;
}

/* ---- Reading ---- */

const void *tt_in_body(const struct tt_in *in, size_t n)
{
    if (tt_likely(n <= TT_CELL_BODY)) return in->cell[in->position & (in->cells - 1)].body;
    if (n > tt_ring_most(in->own_bytes)) return NULL;
    return in->bulk + (place(in->bulk_at, lines(n), in->bulk_bytes) & (in->bulk_bytes - 1));
}

/* A quarter of a lap is told at once: then a writer that writes less than half of the bulk at a
 * time never waits for what is read but not told. */
bool tt_in_next(struct tt_in *in, size_t n)
{
    in->position++;
    if (tt_unlikely(n > TT_CELL_BODY))
        in->bulk_at = place(in->bulk_at, lines(n), in->bulk_bytes) + lines(n);
    if (tt_likely(in->position - in->told < in->cells / 4 &&
                  in->bulk_at - in->bulk_told < in->bulk_bytes / 4))
        return false;
    in->told = in->position;
    in->bulk_told = in->bulk_at;
    atomic_store_explicit(&in->ring->read_bulk, in->bulk_at, memory_order_release);
    atomic_store_explicit(&in->ring->read_cells, in->position, memory_order_release);
    return true;
}
