/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the data of long packets get into a ring (ring.h). There are three ways:
 *
 *   plain    by stores, into the ring's own bulk
 *   stream   past the caches, likewise; but by stores while the bulk is full, since the reader
 *            takes those faster
 *   wide     by stores, into a bulk TT_WIDE times as large
 *
 * A store to a line that the reader has read waits until the reader's caches have let go of it.
 * What that takes depends on the two processors, and where a hypervisor moves them, on the minute:
 * 1 us for 64 KiB where they share all caches, 7 where they share the last one, 28 where they share
 * none. Of a bulk that is larger than the second cache the lines have left it when they are written
 * again, which on some machines makes it 2 us. Past the caches it is 2 us everywhere, but then the
 * reader takes 4 instead of 1.5, for it has to go to memory. (An EPYC with 2 cores.)
 *
 * So each ring tries and remembers: it adds up what passes from one long packet to the next until a
 * span of data is in, which is what counts between two ranks that are at work all the time. It
 * tries the others now and then, and when its own way has become slower. Where ranks outnumber
 * processors all is by plain stores: waiting then says nothing about caches.
 *
 * The reader is told of a change of bulks by a packet (BULK) in the same ring, so both know where
 * the next data lie. Positions go on, from the next multiple of the new bulk's size. Why nothing
 * unread is written over: a byte of a bulk has positions that differ by multiples of its size, and
 * the writer writes at most that size beyond the reader's position, so the reader is past whatever
 * the byte held before, however often the bulk has changed meanwhile.
 */
#ifndef TT_FILL_H
#define TT_FILL_H

#include "base/base.h"

enum tt_way { TT_WAY_PLAIN, TT_WAY_STREAM, TT_WAY_WIDE, TT_WAYS };
enum { TT_WIDE = 4 };

struct tt_fabric;
struct tt_out;

/* Of one ring; tt_fill_init begins. */
struct tt_fill {
    bool measures;         /* ways are tried */
    enum tt_way way, best; /* differ while one is */
    enum tt_way tried;     /* last */
    bool counts; /* the span before this one was of the same way: what was before matters no more */
    bool slower; /* the last span of the best way was */
    bool is_full;      /* there was no room for the next packet */
    int trials;        /* to be made without a pause */
    int pause, spans;  /* of so many spans between two others, and how many were since the last */
    int64_t bytes, ns; /* of this span, so far */
    int64_t last_ns;   /* when the last packet was put in */
    int64_t cost[TT_WAYS]; /* nanoseconds of a span when last seen; 0: never; or TT_NO_WAY */
};
#define TT_NO_WAY INT64_MAX

/* Whether a packet with so many bytes of data is a long one. */
static inline bool tt_fill_is_long(size_t bytes, int64_t ring_bytes)
{
    return bytes >= (size_t)ring_bytes / 32;
}

/* What TUTTI_FILL says: a way, or -1. */
int tt_fill_asked(void);
/* Whether rings of so many ranks on so many processors of this machine look for the best way, when
 * this one was asked for. */
bool tt_fill_measures(int way, int ranks, int cores);
/* For a ring that was just made. streams: past the caches is what to begin with. */
void tt_fill_init(struct tt_fill *fill, int way, bool streams, int ranks, int cores);
/* Before a long packet of n bytes: may change the way, and the bulk; true: that was told to the
 * reader, who may sleep. */
bool tt_fill_begin(struct tt_fabric *f, struct tt_out *out, size_t n);
/* There is no room for it. */
void tt_fill_full(struct tt_out *out);
/* Copies n bytes of its data into the bulk, to be published by tt_out_end. */
void tt_fill_copy(struct tt_out *out, char *to, const void *from, size_t n);

#endif
