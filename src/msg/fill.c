/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three ways of filling a ring, and which one is gone.
 */
#include <string.h>

#include "msg/ring.h"

enum {
    SPAN = 8, /* of the ring's own bulk */
    /* Spans between two trials (which take two, or less where they are much slower): more and more,
     * as long as nothing changes. */
    PAUSE_LEAST = 16,
    PAUSE_MOST = 128,
    TRIALS = TT_WAYS - 1, /* of all other ways */
    WIDE_RANKS = 16,      /* of this machine, at most: each has a wide bulk for every other one */
    NEW_NS = 2000000,     /* what both ends take at most to map a new bulk, which shall not count */
    CLIP_NS = 40000       /* between two packets: more is not the memory's doing */
};

/* ---- Which way ---- */

int tt_fill_asked(void)
{
    return (int)tt_setting_int("TUTTI_FILL", -1, 0, TT_WAYS - 1);
}

bool tt_fill_measures(int way, int ranks, int cores)
{
    return way < 0 && ranks <= cores;
}

void tt_fill_init(struct tt_fill *fill, int way, bool streams, int ranks, int cores)
{
    bool measures = tt_fill_measures(way, ranks, cores);
    if (way < 0) way = measures && streams ? TT_WAY_STREAM : TT_WAY_PLAIN;
    *fill = (struct tt_fill){.measures = measures,
                             .way = (enum tt_way)way,
                             .best = (enum tt_way)way,
                             .tried = TT_WAY_WIDE, /* whose memory is made last */
                             .trials = 1,
                             .pause = PAUSE_LEAST};
    if (!TT_STREAMS) fill->cost[TT_WAY_STREAM] = TT_NO_WAY;
    if (ranks > WIDE_RANKS) fill->cost[TT_WAY_WIDE] = TT_NO_WAY;
}

static void go(struct tt_fill *fill, enum tt_way way)
{
    fill->counts = fill->way == way;
    fill->way = way;
    fill->bytes = fill->ns = 0;
}

/* The one after the last that was tried; if there is none, the best. */
static enum tt_way another(const struct tt_fill *fill)
{
    for (int i = 1; i <= TT_WAYS; i++) {
        enum tt_way way = (enum tt_way)(((int)fill->tried + i) % TT_WAYS);
        if (way != fill->best && fill->cost[way] != TT_NO_WAY) return way;
    }
    return fill->best;
}

/* In two spans slower by half than before: then the others may be better now. Once may be an
 * interrupt. */
static bool is_slower(struct tt_fill *fill, int64_t before)
{
    bool slower = before && fill->cost[fill->best] > before + before / 2;
    bool again = slower && fill->slower;
    if (slower && !again) fill->cost[fill->best] = before;
    fill->slower = slower && !again;
    return again;
}

static enum tt_way after_best(struct tt_fill *fill, int64_t before)
{
    if (is_slower(fill, before)) {
        fill->trials = TRIALS;
        fill->pause = PAUSE_LEAST;
    }
    if (fill->trials == 0 && ++fill->spans < fill->pause) return fill->best;
    fill->trials -= fill->trials > 0;
    fill->spans = 0;
    return fill->tried = another(fill);
}

static bool knows_all(const struct tt_fill *fill)
{
    for (int way = 0; way < TT_WAYS; way++)
        if (fill->cost[way] == 0) return false;
    return true;
}

static enum tt_way after_trial(struct tt_fill *fill)
{
    bool better = fill->cost[fill->way] < fill->cost[fill->best] / 10 * 9;
    if (better) fill->best = fill->way;
    if (better)
        fill->pause = PAUSE_LEAST;
    else if (knows_all(fill))
        fill->pause = (int)tt_min(2 * fill->pause, PAUSE_MOST);
    return fill->best;
}

static int64_t span_of(const struct tt_out *out)
{
    return SPAN * (int64_t)out->own_bytes;
}

/* A trial ends early when it has taken twice as long as all of it by the best way. */
static bool fails(const struct tt_fill *fill)
{
    return fill->way != fill->best && fill->ns > 2 * fill->cost[fill->best];
}

static void end_span(struct tt_fill *fill, int64_t span)
{
    int64_t before = fill->cost[fill->way];
    if (!fill->counts && !fails(fill)) {
        go(fill, fill->way);
        return;
    }
    fill->cost[fill->way] =
        tt_max(1, (int64_t)((double)fill->ns * (double)span / (double)fill->bytes));
    go(fill, fill->way == fill->best ? after_best(fill, before) : after_trial(fill));
}

/* Has the bulk be that of the way that is gone now; whether the reader was told. A way that it
 * cannot be had for is none. */
static bool change_bulk(struct tt_fabric *f, struct tt_out *out, size_t n)
{
    struct tt_fill *fill = &out->fill;
    bool wide = fill->way == TT_WAY_WIDE;
    if (tt_likely(wide == (out->bulk_bytes > out->own_bytes))) return false;
    tutti_status status = tt_out_move(f, out, wide, n);
    if (status == TUTTI_AGAIN) fill->bytes = fill->ns = 0; /* says nothing of this way */
    if (status == TUTTI_OK && wide && fill->cost[TT_WAY_WIDE] == 0) fill->ns -= NEW_NS;
    if (status <= TUTTI_AGAIN) return status == TUTTI_OK;
    fill->cost[fill->way] = TT_NO_WAY;
    if (fill->best == fill->way) fill->best = TT_WAY_PLAIN;
    go(fill, fill->best);
    return false;
}

bool tt_fill_begin(struct tt_fabric *f, struct tt_out *out, size_t n)
{
    int64_t span = span_of(out);
    if (out->fill.measures && (out->fill.bytes >= span || fails(&out->fill)))
        end_span(&out->fill, span);
    return change_bulk(f, out, n);
}

/* ---- A packet ---- */

void tt_fill_full(struct tt_out *out)
{
    out->fill.is_full = true;
}

void tt_fill_copy(struct tt_out *out, char *to, const void *from, size_t n)
{
    struct tt_fill *fill = &out->fill;
    if (fill->way == TT_WAY_STREAM && !fill->is_full)
        tt_stream(to, from, n);
    else
        tt_memcpy(to, from, n);
    fill->is_full = false;
    if (!fill->measures) return;
    int64_t now = tt_clock_ns();
    fill->ns += tt_min(CLIP_NS, now - fill->last_ns);
    fill->bytes += (int64_t)n;
    fill->last_ns = now;
}
