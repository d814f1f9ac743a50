/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan `chain`: each rank receives the reduction of all ranks before it, slice by slice,
 * combines it with its input, and sends the result on.
 *
 *     slice   0: 0 > 1 > 2 > 3
 *             1:     0 > 1 > 2 > 3          p-1 + slices-1 rounds of one slice
 *             2:         0 > 1 > 2 > 3
 *
 * A rank sends and receives each byte once and reduces it once, however many ranks there are. So
 * the chain suits long inputs. Operands are combined in rank order.
 * Source: the pipelined chain of message-passing scans; Sanders and Traeff 2006, Parallel prefix
 * (scan) algorithms for MPI.
 */
#include "coll/coll-util.h"

enum { SLICE = 64 << 10 };

/* Where the slices of a turn lie: `in`, this rank's input; `arrived`, what it receives; `result`,
 * what it sends on. */
struct scan_ends {
    struct tt_range in, arrived, result;
};

/* Returns where the slices lie. In a scan, a rank receives into scratch, and sends on its result,
 * which is in OUT. In an exscan, a rank receives its result into OUT, and computes in scratch what
 * it sends on. In an exscan in place, it receives into scratch, too, because IN is OUT. last: the
 * rank sends nothing on. */
static struct scan_ends ends(struct tt_builder *b, const struct tt_call *call,
                             const struct tt_slices *s, bool last)
{
    bool scan = call->coll == TT_COLL_scan;
    struct tt_range out = tt_slice(b, s, tt_own(TT_OUT, 0));
    struct scan_ends e = {.in = tt_slice(b, s, tt_own(TT_IN, 0)), .arrived = out, .result = out};
    if (!scan && last) return e; /* the last rank of an exscan needs no input */
    if (scan || call->in_place) e.arrived = tt_half(b, s, tt_scratch(b, 2 * s->len));
    if (!scan) e.result = tt_half(b, s, tt_scratch(b, 2 * s->len));
    return e;
}

static void tail(struct tt_builder *b, const struct tt_slices *s)
{
    if (s->tail != s->len) tt_tail(b, s->tail);
}

/* Appends the steps of rank 0, which receives nothing. */
static void lead(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s)
{
    tt_slices_begin(b, s);
    tt_started send = tt_send(b, 1, tt_slice(b, s, tt_own(TT_IN, 0)), s->len);
    tail(b, s);
    tt_wait_ago(b, send, s->turns > 1);
    tt_slices_end(b, s);
    if (s->turns > 1) tt_wait_ago(b, send, 1);
    if (call->coll == TT_COLL_scan) tt_copy_in(b, call, 0, 0, tt_call_bytes(call));
}

/* Appends the steps of a rank other than rank 0; the `last` rank sends nothing. The rank waits for
 * each send in the next turn. An exscan sends from the two halves of scratch in turn, so this wait
 * comes before the rank writes to the same half again. */
static void pass(struct tt_builder *b, const struct tt_call *call, const struct tt_slices *s,
                 int me, bool last)
{
    struct scan_ends e = ends(b, call, s, last);
    bool scan = call->coll == TT_COLL_scan, kept = !scan && e.arrived.buf == TT_TMP;
    tt_started send = TT_DROPPED;
    tt_slices_begin(b, s);
    tt_started recv = tt_recv(b, me - 1, e.arrived, s->len);
    tail(b, s);
    tt_wait(b, recv);
    if (scan || !last) {
        tt_combine(b, e.result, (struct tt_range[]){e.arrived, e.in}, 2, s->len);
        tail(b, s);
    }
    if (kept) tt_slice_copy(b, s, tt_slice(b, s, tt_own(TT_OUT, 0)), e.arrived);
    if (!last) {
        send = tt_send(b, me + 1, e.result, s->len);
        tail(b, s);
        tt_wait_ago(b, send, s->turns > 1);
    }
    tt_slices_end(b, s);
    if (!last && s->turns > 1) tt_wait_ago(b, send, 1);
}

/* Returns the time by Sanders and Traeff 2006: the first slice takes a message over each link, and
 * a reduction on each rank between the first and the last one; in a scan, on the last rank, too.
 * Each further slice takes one more message, or one more reduction if that is slower. Rank 0 of a
 * scan copies its input at the end. In an exscan in place, a rank copies each slice that has
 * arrived. */
static int64_t time_ps(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_costs *c)
{
    struct tt_slices s = tt_slices(tt_call_bytes(call), tt_slice_bytes(call, SLICE), call->sz);
    bool scan = call->coll == TT_COLL_scan;
    int64_t message = c->ts + c->tw * s.len, work = c->gamma * s.len;
    if (!scan && call->in_place) work += c->tr * s.len;
    int64_t works = map->p - 2 + scan, slower = works > 0 ? tt_max(message, work) : message;
    int64_t lead = s.turns * message + (scan && !call->in_place ? c->tr : 0) * tt_call_bytes(call);
    /* With several slices a rank sends one slice while it receives the next one. The formula holds
     * only if the bytes do not move more slowly then (c->tw_both) than when a rank only sends or
     * only receives (c->tw). */
    if (s.tail != s.len || c->all_ports || (s.turns > 1 && c->tw_both > c->tw)) return -1;
    return tt_max(lead, (map->p - 1) * message + works * work + (s.turns - 1) * slower);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_slices s = tt_slices(tt_call_bytes(call), tt_slice_bytes(call, SLICE), call->sz);
    if (me == 0)
        lead(b, call, &s);
    else
        pass(b, call, &s, me, me == map->p - 1);
}

const struct tt_algorithm tt_scan_chain = {
    .coll = TT_COLL_scan,
    .name = "chain",
    .applies = "always",
    .cost = "(p-2+q) (t_s + (t_w + gamma) L/q)",
    .source = "pipelined chain; Sanders and Traeff 2006",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};

const struct tt_algorithm tt_exscan_chain = {
    .coll = TT_COLL_exscan,
    .name = "chain",
    .applies = "always",
    .cost = "(p-2+q) (t_s + (t_w + gamma) L/q)",
    .source = "pipelined chain; Sanders and Traeff 2006",
    .refuse = tt_refuse_never,
    .build = build,
    .time = time_ps,
};
