/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets from one context to another one through shared memory: a ring with one writer and one
 * reader.
 *
 *     cells   lines of 64 bytes, a packet each: the mark, and what follows it if that is at most 56
 *             bytes
 *     bulk    what follows longer ones, in one piece, in the same order; another, wider one may
 *             take its place (fill.h)
 *
 *     writer's arena:  | who, how large | reader's positions | cell 0 | cell 1 | ... | bulk ... |
 *
 * So a short message is one line that goes from cache to cache. The reader looks at the mark of the
 * cell that comes next; how far it has read it tells a few times a lap, on a line that the writer
 * looks at only when the ring seems full.
 *
 * Why it is right. The low 16 bits of a mark are the lap in which it was written, so what an
 * earlier lap left in a cell is not taken for news: every lap writes every cell once, so the last
 * lap is all that can be there. The writer stores the mark last (release), the reader loads it
 * first (acquire), so it finds the whole packet. The reader tells its positions (release) after its
 * last look at what lies before them, and the writer loads them (acquire) before it writes there
 * again. Nobody else writes any of it, and nothing is ever held: a process that dies has published
 * its last packet or not.
 *
 * The reader believes no length that it finds: whoever wrote it is a program of the same user, but
 * may be a broken one.
 *
 * Beside the packets lie a few words by which both ends share out long messages; help.h argues
 * about those.
 *
 * A ring is made by its writer in its own arena and announced by a push onto a list in the reader's
 * post box (mail). A post box is there as soon as its rank has opened its client, for contexts to
 * come too.
 */
#ifndef TT_RING_H
#define TT_RING_H

#include "fabric/wire.h"
#include "msg/fill.h"
#include "msg/packet.h"

enum { TT_CELL_BODY = TT_LINE - 8 };

struct tt_cell {
    _Alignas(TT_LINE) _Atomic uint64_t mark;
    char body[TT_CELL_BODY];
};

/* Where reader and writer claim pieces of a long message of the writer's: help.h. */
enum { TT_SEATS = 4 };
struct tt_help_seat {
    _Alignas(TT_LINE) _Atomic uint64_t word;
};

/* In the writer's arena, followed by the cells and the bulk. Both sizes are powers of two. */
struct tt_msg_ring {
    _Alignas(TT_LINE) int64_t next; /* that was announced before; 0: none */
    int32_t rank, context;          /* the writer */
    int32_t cells, bulk;            /* how many; bytes */
    _Alignas(TT_LINE) _Atomic uint64_t read_cells, read_bulk; /* the reader's */
    struct tt_help_seat seat[TT_SEATS];
    struct tt_cell cell[];
};

/* Of one client of a rank, in its arena; struct tt_member tells where. */
struct tt_mail {
    _Atomic uint32_t leaving; /* the rank takes no more messages: leave.c */
    struct tt_mail_context {
        /* The offset of the ring that was announced last, 0: none; bit 0: the context is in use. */
        _Alignas(TT_LINE) _Atomic uint64_t news;
        /* The offset of where its port is, where the wire is used within a machine; 0: not told. */
        _Atomic int64_t port;
    } context[TUTTI_CONTEXTS];
};
#define TT_MAIL_IN_USE 1u

/* The writer's end. Invariants: position <= limit, the first cell that may not be written; what is
 * written to the bulk ends at bulk_limit at most, which after a change of bulks may be too small
 * until it is looked at. */
struct tt_out {
    struct tt_msg_ring *ring; /* NULL: none yet */
    struct tt_cell *cell;
    char *bulk;
    uint32_t cells, cells_log2, bulk_bytes, own_bytes; /* own: of the ring's own bulk */
    uint64_t position, limit, bulk_at, bulk_limit;
    int64_t wide; /* the offset of a wider bulk; 0: none yet */
    struct tt_fill fill;
};

/* The reader's end. */
struct tt_in {
    struct tt_cell *cell;
    uint32_t cells, cells_log2, bulk_bytes, own_bytes;
    uint64_t position, told, bulk_at, bulk_told;
    char *bulk;
    struct tt_msg_ring *ring;
};

/* ---- Making and finding ---- */

/* This rank's post box, for the client f->client. Errors: those of the arena. */
tutti_status tt_mail_open(struct tt_fabric *f, struct tt_mail **mail);
/* That of another rank for the same client; NULL: it has none yet. */
struct tt_mail *tt_mail_of(struct tt_fabric *f, int rank);

/* Tells where a context's port is, `bytes` bytes, TT_WIRE_ADDRESS at most. Errors: those of the
 * arena. */
tutti_status tt_mail_tell_port(struct tt_fabric *f, struct tt_mail_context *mail,
                               const void *address, size_t bytes);
/* What was told, into address[TT_WIRE_ADDRESS]. False: nothing. */
bool tt_mail_port(const struct tt_fabric *f, const struct tt_mail_context *mail, void *address,
                  size_t *bytes);

/* bytes: of the bulk, a power of two. Errors: those of the arena. */
tutti_status tt_out_open(struct tt_fabric *f, int context, int64_t bytes, struct tt_out *out);
/* Once, when the ring has been made. */
void tt_out_announce(struct tt_fabric *f, const struct tt_out *out, struct tt_mail_context *mail);

/* The ring at this offset. False: there is none that could be one. */
bool tt_in_open(struct tt_fabric *f, int64_t offset, struct tt_in *in);

/* ---- Writing ---- */

/* The most bytes of data of a packet: an eighth, so that one is written while others are read. */
static inline size_t tt_ring_data_most(int64_t bulk_bytes)
{
    return (size_t)bulk_bytes / 8;
}

/* The most bytes that may follow a mark: less than half of the bulk, so that whatever its state
 * they find room once it is read. */
static inline size_t tt_ring_most(int64_t bulk_bytes)
{
    return tt_ring_data_most(bulk_bytes) + TT_ARGS * 8 + TUTTI_HEADER_BYTES;
}

/* Looks how far the reader is. */
void tt_out_look(struct tt_out *out);
/* Has the bulk of the next packets be the wide one, or the ring's own, and tells the reader, before
 * a packet of n bytes. AGAIN: not now, for want of room. Errors, nothing being changed: those of
 * the arena, without a text. */
tutti_status tt_out_move(struct tt_fabric *f, struct tt_out *out, bool wide, size_t n);
/* Room in the bulk for n bytes, n > TT_CELL_BODY; NULL: not now. */
char *tt_out_bulk(struct tt_out *out, size_t n);

/* Where n bytes are to be written that follow a mark; NULL: there is no room now. Nothing is
 * claimed until tt_out_end. */
static inline char *tt_out_begin(struct tt_out *out, size_t n)
{
    if (tt_unlikely(out->position == out->limit)) {
        tt_out_look(out);
        if (out->position == out->limit) return NULL;
    }
    if (tt_likely(n <= TT_CELL_BODY)) return out->cell[out->position & (out->cells - 1)].body;
    return tt_out_bulk(out, n);
}

/* Publishes them. */
static inline void tt_out_end(struct tt_out *out, uint64_t mark, const char *at, size_t n)
{
    uint64_t lap = ((out->position >> out->cells_log2) + 1) & 0xffff;
    if (tt_unlikely(n > TT_CELL_BODY)) {
        uint64_t offset = (uint64_t)(at - out->bulk);
        out->bulk_at += (offset - out->bulk_at) & (out->bulk_bytes - 1);
        out->bulk_at += (n + TT_LINE - 1) & ~(size_t)(TT_LINE - 1);
    }
    atomic_store_explicit(&out->cell[out->position & (out->cells - 1)].mark, mark | lap,
                          memory_order_release);
    out->position++;
}

/* ---- Reading ---- */

/* The mark of the next packet; 0: none has come. */
static inline uint64_t tt_in_look(const struct tt_in *in)
{
    uint64_t mark =
        atomic_load_explicit(&in->cell[in->position & (in->cells - 1)].mark, memory_order_acquire);
    uint64_t lap = ((in->position >> in->cells_log2) + 1) & 0xffff;
    return (mark & 0xffff) == lap ? mark & ~(uint64_t)0xffff : 0;
}

/* The other end of tt_out_move, when its packet is there and before it is gone past. False: it is
 * broken. */
bool tt_in_move(struct tt_fabric *f, struct tt_in *in, const struct tt_packet *p);
/* What follows the mark, n bytes; NULL: so much cannot be. */
const void *tt_in_body(const struct tt_in *in, size_t n);
/* Goes past the packet of n bytes. True: the reader's positions were told, which somebody may wait
 * for. */
bool tt_in_next(struct tt_in *in, size_t n);

#endif
