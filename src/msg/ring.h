/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets from one context to another through shared memory: a packet ring with one writer and one
 * reader.
 *
 *     cells   lines of 64 bytes, one for each packet: the mark of the packet (packet.h), and its
 *             other bytes if these are at most 56
 *     bulk    an area for the bytes after the mark of longer packets, each packet in one piece, in
 *             the order of the cells
 *
 *     writer's arena:  | writer, sizes | reader's positions | cell 0 | cell 1 | ... | bulk ... |
 *
 * A ring begins with the writer's rank and context, the number of cells and the size of the bulk
 * area. A short message is thus one line that moves from cache to cache. The reader looks at the
 * mark of the next cell. It publishes its positions a few times per lap (a lap is one pass over all
 * cells), on a line that the writer reads only when the ring seems full.
 *
 * Why this is right. The low 16 bits of a mark are the lap in which it was written. So the reader
 * does not mistake what an earlier lap left in a cell for a new packet: each lap writes each cell
 * once, so a cell can only hold the mark of the last lap. The writer stores the mark last (release)
 * and the reader loads it first (acquire), so the reader finds the whole packet. The reader
 * publishes its positions (release) after its last access to the bytes before them, and the writer
 * loads them (acquire) before it writes these bytes again. Nobody else writes the positions or the
 * bytes, and there are no locks: a process that dies either has published its last packet or has
 * not.
 *
 * The reader checks every length. The writer is a program of the same user, but it may be broken.
 *
 * A ring also has a few words by which both ends share out the pieces of long messages (pull.h).
 *
 * The writer makes a ring in its own arena and announces it by a push onto a list in the mailbox of
 * the reader's rank (struct tt_mailbox). The mailbox exists as soon as a rank has opened its
 * client; it also serves contexts that are made later.
 */
#ifndef TT_RING_H
#define TT_RING_H

#include "fabric/wire.h"
#include "msg/packet.h"

/* ---- How to fill a ring ----
 *
 * The data of long packets are copied into a packet ring by plain stores or by non-temporal stores.
 *
 * A plain store to a line that the reader has read waits until the reader's caches have given up
 * that line. How long that takes differs much between computers. Non-temporal stores do not wait
 * for the caches, but after them the reader has to read from memory. So the ranks measure both when
 * they meet (fabric/cost.c), and all rings use the faster method. If there are more ranks than
 * processors, all rings use plain stores: the measured times say nothing about caches in this case,
 * because ranks wait for processors. A ring uses plain stores also while it is full, since the
 * reader then copies the data faster. */

enum tt_fill { TT_FILL_STORES, TT_FILL_STREAMS, TT_FILLS };

/* Returns the method that TUTTI_FILL names; -1: none. */
int tt_fill_asked(void);
/* Returns whether rings are filled by the method that was measured to be faster. `asked` is the
 * method that TUTTI_FILL names (or -1), `ranks` the number of ranks on this node, and `cores` the
 * number of processors that they may use. */
static inline bool tt_fill_is_measured(int asked, int ranks, int cores)
{
    return asked < 0 && ranks <= cores;
}
/* Returns the method by which rings are filled. `asked`: the method that TUTTI_FILL names, or -1.
 * `streams`: non-temporal stores were measured to be faster. `ranks`: the number of ranks on this
 * node. `cores`: the number of processors that they may use. */
enum tt_fill tt_fill_method(int asked, bool streams, int ranks, int cores);

enum { TT_CELL_BODY = TT_LINE - 8 };

struct tt_cell {
    _Alignas(TT_LINE) _Atomic uint64_t mark;
    char body[TT_CELL_BODY];
};

/* Claim words: by them the reader and the writer of a ring claim the pieces of a long message that
 * the writer sends (pull.h). */
enum { TT_CLAIM_WORDS = 4 };
struct tt_claim_word {
    _Alignas(TT_LINE) _Atomic uint64_t word;
};

/* A packet ring. It lies in the writer's arena, and its cells and its bulk area follow this struct.
 * The numbers `cells` and `bulk` are powers of two. */
struct tt_msg_ring {
    _Alignas(TT_LINE) int64_t next; /* offset of the ring that was announced before; 0: none */
    int32_t rank, context;          /* rank and context of the writer */
    int32_t cells, bulk;            /* number of cells; bytes of the bulk area */
    /* how far the reader has read; only the reader writes these */
    _Alignas(TT_LINE) _Atomic uint64_t read_cells, read_bulk;
    struct tt_claim_word claim[TT_CLAIM_WORDS];
    struct tt_cell cell[];
};

/* The mailbox of one client of a rank, in the rank's arena; struct tt_member holds its offset. */
struct tt_mailbox {
    _Atomic uint32_t leaving; /* the rank receives no more messages: leave.c */
    struct tt_mailbox_context {
        /* the offset of the ring announced last, 0: none; bit 0: the context is in use */
        _Alignas(TT_LINE) _Atomic uint64_t news;
        /* The offset of the address of the context's port, if the network is used within the node;
         * 0: not published. */
        _Atomic int64_t port;
    } context[TUTTI_CONTEXTS];
};
#define TT_MAILBOX_IN_USE 1u

/* The writer's end of a packet ring. `position` counts the cells that were written, `bulk_at` the
 * bytes of the bulk area. Invariants (tt_out_valid): position <= limit, where `limit` is the first
 * position that may not be written yet. Data in the bulk area end at bulk_limit at most. */
struct tt_out {
    struct tt_msg_ring *ring; /* NULL: the ring is not made yet */
    struct tt_cell *cell;
    char *bulk;
    uint32_t cells, cells_log2, bulk_bytes;
    uint64_t position, limit, bulk_at, bulk_limit;
    size_t long_least; /* bytes of data of the smallest long packet */
    enum tt_fill fill; /* how the data of long packets are copied; the writer sets it */
    bool is_full;      /* there was no room for the next long packet */
};

static inline bool tt_out_valid(const struct tt_out *out)
{
    return out->position <= out->limit && out->limit - out->position <= out->cells &&
           out->bulk_at <= out->bulk_limit;
}

/* The reader's end of a packet ring. `position` counts the cells that were read, `bulk_at` the
 * bytes of the bulk area; `published` and `bulk_published` are what the writer knows of these. */
struct tt_in {
    struct tt_cell *cell;
    uint32_t cells, cells_log2, bulk_bytes;
    uint64_t position, published, bulk_at, bulk_published;
    char *bulk;
    struct tt_msg_ring *ring;
};

/* ---- Making and finding ---- */

/* Makes the mailbox of this rank for the client f->client. Errors: those of tt_arena_alloc. */
tutti_status tt_mailbox_open(struct tt_fabric *f, struct tt_mailbox **mailbox);
/* Returns the mailbox of another rank for the same client; NULL: the rank has none yet. */
struct tt_mailbox *tt_mailbox_of(struct tt_fabric *f, int rank);

/* Publishes the network address of a context's port, of at most TT_WIRE_ADDRESS bytes. Errors:
 * those of tt_arena_alloc. */
tutti_status tt_mailbox_publish_port(struct tt_fabric *f, struct tt_mailbox_context *mailbox,
                                     const void *address, size_t bytes);
/* Stores in address[TT_WIRE_ADDRESS] the address that was published by tt_mailbox_publish_port, and
 * in *bytes its length. False: none was published. */
bool tt_mailbox_port(const struct tt_fabric *f, const struct tt_mailbox_context *mailbox,
                     void *address, size_t *bytes);

/* Makes a ring whose bulk area has `bytes` bytes, a power of two. Errors: those of
 * tt_arena_alloc. */
tutti_status tt_out_open(struct tt_fabric *f, int context, int64_t bytes, struct tt_out *out);
/* Announces a ring to its reader. Call it once, after the ring was made. */
void tt_out_announce(struct tt_fabric *f, const struct tt_out *out,
                     struct tt_mailbox_context *mailbox);

/* Opens for reading the ring at this offset in the segment. False: there is no valid ring at the
 * offset. */
bool tt_in_open(struct tt_fabric *f, int64_t offset, struct tt_in *in);

/* ---- Writing ---- */

/* Returns the largest number of bytes of data in a packet. It is an eighth of the bulk area, so
 * that one packet can be written while others are read. */
static inline size_t tt_ring_data_most(int64_t bulk_bytes)
{
    return (size_t)bulk_bytes / 8;
}

/* Returns the largest number of bytes that may follow a mark. It is less than half of the bulk
 * area, so that the longest packet always finds room once the reader has read everything. */
static inline size_t tt_ring_most(int64_t bulk_bytes)
{
    return tt_ring_data_most(bulk_bytes) + TT_ARGS * 8 + TUTTI_HEADER_BYTES;
}

/* Reads how far the reader has read, and sets the writer's limits accordingly. */
void tt_out_look(struct tt_out *out);
/* Finds room in the bulk area for n bytes, n > TT_CELL_BODY; NULL: no room now. */
char *tt_out_bulk(struct tt_out *out, size_t n);

/* Returns where to write the n bytes that follow a mark; NULL: no room now. The room is not
 * reserved until tt_out_end has published the packet. */
static inline char *tt_out_begin(struct tt_out *out, size_t n)
{
    if (tt_unlikely(out->position == out->limit)) {
        tt_out_look(out);
        if (out->position == out->limit) return NULL;
    }
    if (tt_likely(n <= TT_CELL_BODY)) return out->cell[out->position & (out->cells - 1)].body;
    return tt_out_bulk(out, n);
}

/* Copies the n bytes of data of a long packet to `to` in the bulk area. */
static inline void tt_out_fill(struct tt_out *out, char *to, const void *from, size_t n)
{
    if (out->fill == TT_FILL_STREAMS && !out->is_full)
        tt_stream(to, from, n);
    else
        tt_memcpy(to, from, n);
    out->is_full = false;
}

/* Publishes the packet with this mark, whose n bytes were written at `at`. */
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
    tt_assert(tt_out_valid(out));
}

/* ---- Reading ---- */

/* Returns the mark of the next packet; 0: none has come. */
static inline uint64_t tt_in_look(const struct tt_in *in)
{
    uint64_t mark =
        atomic_load_explicit(&in->cell[in->position & (in->cells - 1)].mark, memory_order_acquire);
    uint64_t lap = ((in->position >> in->cells_log2) + 1) & 0xffff;
    return (mark & 0xffff) == lap ? mark & ~(uint64_t)0xffff : 0;
}

/* Returns the n bytes that follow the mark; NULL: no packet can be so long, so the mark is
 * wrong. */
const void *tt_in_body(const struct tt_in *in, size_t n);
/* Moves past the packet of n bytes. True: the reader's positions were published, so a writer may
 * have to be woken. */
bool tt_in_next(struct tt_in *in, size_t n);

#endif
