/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encodes and decodes packets.
 */
#include "msg/packet.h"

#include <string.h>

#include "fabric/wire.h"

#define WIRE_MAGIC 0x7474u

/* The sender of a packet. On a network it stands before the packet's mark. */
struct packet_origin {
    uint16_t magic, context;
    uint32_t rank;
};

static const struct {
    signed char args; /* how many args a packet of this kind has; -1: there is no such kind */
    bool message;     /* the packet carries a message: it has a dispatch id and may have a header */
} kinds[TT_PACKET_KINDS] = {
    [TT_PACKET_NOTHING] = {-1, false},   [TT_PACKET_EAGER] = {0, true},
    [TT_PACKET_EAGER_ACKED] = {1, true}, [TT_PACKET_RTS] = {3, true},
    [TT_PACKET_ACK] = {2, false},        [TT_PACKET_PULL] = {4, false},
    [TT_PACKET_DATA] = {2, false},       [TT_PACKET_GET] = {4, false},
    [TT_PACKET_PUT] = {3, false},        [TT_PACKET_FENCE] = {1, false},
    [TT_PACKET_ADDRESS] = {1, false},    [TT_PACKET_ADDRESS_IS] = {1, false},
    [TT_PACKET_BYE] = {0, false},        [TT_PACKET_LEAVING] = {0, false},
    [TT_PACKET_SPLIT] = {5, false},      [TT_PACKET_PLAN] = {0, true}};

_Static_assert(TT_DISPATCHES <= 1 << 12, "a dispatch has 12 bits of a mark");
_Static_assert(TUTTI_HEADER_BYTES < 1 << 8, "a header's length has 8");
_Static_assert(TT_BODY_MOST < 1 << 20, "that of the data has 20");
_Static_assert(sizeof(struct packet_origin) + 8 + TT_ARGS * 8 + TUTTI_HEADER_BYTES <= TT_WIRE_HEAD,
               "all but the data goes into a wire's head");

int tt_packet_args(enum tt_packet_kind kind)
{
    return kinds[kind].args;
}

/* The lowest bit of each field of a mark. The 16 bits below these fields belong to the packet ring,
 * which stores there how often it had passed over its cells (ring.h). */
enum { KIND_BIT = 16, HEADER_BIT = 24, DISPATCH_BIT = 32, DATA_BIT = 44 };

uint64_t tt_packet_mark(const struct tt_packet *p)
{
    return (uint64_t)p->kind << KIND_BIT | (uint64_t)p->header_bytes << HEADER_BIT |
           (uint64_t)p->dispatch << DISPATCH_BIT | (uint64_t)p->bytes << DATA_BIT;
}

/* Returns the sum of the bytes of args, header and data. The length of the header is rounded up to
 * a multiple of 8. */
size_t tt_packet_length(uint64_t mark)
{
    unsigned kind = (unsigned)(mark >> KIND_BIT & 0xff);
    size_t args = kind < TT_PACKET_KINDS && kinds[kind].args > 0 ? (size_t)kinds[kind].args : 0;
    size_t header = ((size_t)(mark >> HEADER_BIT & 0xff) + 7) & ~(size_t)7;
    return args * 8 + header + (size_t)(mark >> DATA_BIT);
}

/* Returns how many bytes args and header take. The length of the header is rounded up to a multiple
 * of 8. */
size_t tt_packet_write(const struct tt_packet *p, char *to)
{
    size_t args = (size_t)kinds[p->kind].args * 8;
    memcpy(to, p->arg, args);
    if (p->header_bytes) memcpy(to + args, p->header, p->header_bytes);
    return args + ((p->header_bytes + 7) & ~(size_t)7);
}

/* Decodes a mark. Does not compare its lengths with what follows it. */
static bool read_mark(uint64_t mark, struct tt_packet *p)
{
    unsigned kind = (unsigned)(mark >> KIND_BIT & 0xff);
    if (kind >= TT_PACKET_KINDS || kinds[kind].args < 0) return false;
    p->kind = (enum tt_packet_kind)kind;
    p->dispatch = (int)(mark >> DISPATCH_BIT & 0xfff);
    p->header_bytes = (size_t)(mark >> HEADER_BIT & 0xff);
    p->bytes = (size_t)(mark >> DATA_BIT);
    if (p->dispatch >= TT_DISPATCHES || p->header_bytes > TUTTI_HEADER_BYTES) return false;
    return kinds[kind].message || (p->dispatch == 0 && p->header_bytes == 0);
}

/* Decodes args and header, which lie at `front` in at most `room` bytes. Returns how many bytes
 * args and header have; more than `room`: these do not fit, and nothing was read. */
static size_t read_front(const char *front, size_t room, struct tt_packet *p)
{
    size_t args = (size_t)kinds[p->kind].args * 8;
    size_t bytes = args + ((p->header_bytes + 7) & ~(size_t)7);
    if (tt_unlikely(bytes > room)) return bytes;
    memcpy(p->arg, front, args);
    p->header = front + args;
    return bytes;
}

bool tt_packet_read(uint64_t mark, const void *body, size_t bytes, struct tt_packet *p)
{
    if (tt_unlikely(!read_mark(mark, p)) || p->bytes > bytes) return false;
    size_t front = read_front(body, bytes - p->bytes, p);
    p->data = (const char *)body + front;
    return front <= bytes - p->bytes;
}

size_t tt_packet_wire_head(const struct tt_packet *p, int rank, int context, void *head)
{
    struct packet_origin origin = {WIRE_MAGIC, (uint16_t)context, (uint32_t)rank};
    uint64_t mark = tt_packet_mark(p);
    char *at = head;
    memcpy(at, &origin, sizeof origin);
    memcpy(at + sizeof origin, &mark, sizeof mark);
    return sizeof origin + sizeof mark + tt_packet_write(p, at + sizeof origin + sizeof mark);
}

bool tt_packet_wire_read(const void *head, size_t head_bytes, const void *data, size_t data_bytes,
                         int ranks, int *rank, int *context, struct tt_packet *p)
{
    struct packet_origin origin;
    uint64_t mark;
    size_t before = sizeof origin + sizeof mark;
    if (head_bytes < before) return false;
    memcpy(&origin, head, sizeof origin);
    memcpy(&mark, (const char *)head + sizeof origin, sizeof mark);
    if (origin.magic != WIRE_MAGIC || origin.context >= TUTTI_CONTEXTS ||
        origin.rank >= (uint32_t)ranks || (mark & 0xffff) || !read_mark(mark, p))
        return false;
    size_t front = head_bytes - before;
    if (p->bytes != data_bytes || read_front((const char *)head + before, front, p) != front)
        return false;
    p->data = data;
    *rank = (int)origin.rank;
    *context = origin.context;
    return true;
}
