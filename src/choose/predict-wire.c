/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on several nodes: on which processor each rank runs, and when messages between nodes
 * arrive.
 *
 * A message keeps its sender's processor busy for the time wire_send, and its receiver's processor
 * for the time wire_receive. The receiver can have taken it wire_time after its sender began,
 * at the earliest. Each node has one link, over which the bytes of its messages go one after the
 * other, in each direction; all ranks of the node share it. The link matters only if it is what
 * limits a stream of messages, and not the processors. A signal to a rank of another node is a
 * message without data.
 */
#include <tutti/message.h>

#include "choose/predict-wait.h"

/* tt_predictor.link_ps is the time in which a link moves this many bytes. */
#define LINK_BYTES INT64_C(1048576)

/* ---- Processors ---- */

static int node_of(const struct tt_predictor *s, int rank)
{
    return s->hosts ? s->hosts[rank] : 0;
}

/* Places the ranks of a machine on `cores` processors, which take ranks in turn. The first of these
 * processors gets the number s->cores. If `node` < 0, the machine has all ranks, else only the
 * ranks of this node. */
static void place_host(struct tt_predictor *s, int node, int cores, int *placed)
{
    int host = s->cores, n = 0;
    for (int r = 0; r < s->p; r++) {
        if (node >= 0 && node_of(s, r) != node) continue;
        s->core_of[r] = (uint8_t)(host + n++ % cores);
    }
    s->cores += (int)tt_min(n, cores);
    for (int c = host; c < s->cores; c++) {
        s->core[c] = (struct tt_core){.first = *placed, .host = host, .host_end = s->cores};
        for (int r = 0; r < s->p; r++)
            if (s->core_of[r] == c && (node < 0 || node_of(s, r) == node)) {
                s->on[(*placed)++] = &s->rank[r];
                s->core[c].n++;
            }
    }
}

/* Returns the first rank of the node of a rank. */
static int first_of(const struct tt_predictor *s, int rank)
{
    int first = 0;
    while (node_of(s, first) != node_of(s, rank)) first++;
    return first;
}

/* Sets s->link_ps. A link limits messages if a stream of them takes longer, by more than an eighth,
 * than the busier of the processors at both ends works for it. Both times are the least per byte
 * among the measured lengths of messages from 64 KiB on, because other programs can only have made
 * a measurement slower. */
static void find_link(struct tt_predictor *s)
{
    /* The index of 64 KiB in tt_machine_bytes: in messages of this length or more, nearly all of
     * the time is that of their data. */
    enum { LEAST = 5 };
    const struct tt_machine_network *network = &s->machine->network;
    int64_t link = INT64_MAX, work = INT64_MAX;
    for (int i = LEAST; i < TT_MACHINE_POINTS; i++) {
        int64_t busy = tt_max(network->wire[TT_MACHINE_wire_send][i],
                              network->wire[TT_MACHINE_wire_receive][i]);
        int64_t pieces = tt_machine_bytes[i] / tt_machine_bytes[LEAST];
        link = tt_min(link, network->wire[TT_MACHINE_wire_gap][i] / pieces);
        work = tt_min(work, busy / pieces);
    }
    s->link_ps = link > work + work / 8 ? link * (LINK_BYTES / tt_machine_bytes[LEAST]) : 0;
}

/* Returns the most bytes of a message to another node that is sent without waiting for its receive
 * (msg/context.c). Over a network this limit is higher if TUTTI_EAGER is not set. A rank cannot
 * know whether TUTTI_EAGER is set on other ranks: it only knows that s->eager_most is the same on
 * all ranks. So if s->eager_most is the default, all ranks assume that TUTTI_EAGER is not set, and
 * predict the same time. */
static int64_t wire_eager(const struct tt_predictor *s)
{
    enum { USUAL = 8 << 10, MOST = 256 << 10 };
    if (s->eager_most == USUAL) return MOST;
    return tt_max(TUTTI_IMMEDIATE_BYTES, tt_min(s->eager_most, MOST));
}

/* Assigns the processors of a machine to its ranks in turn, as launchers do. The processors of a
 * job on several machines are divided evenly among the machines. If the nodes are containers of one
 * machine, their ranks share its processors. */
void tt_wire_place(struct tt_predictor *s)
{
    int cores = (int)tt_max(1, s->map->cores), placed = 0;
    bool one = !s->hosts || s->map->one_kernel;
    s->host_cores = one ? cores : (int)tt_max(1, cores / s->map->nodes);
    for (int r = 0; r < s->p && !one; r++)
        if (first_of(s, r) == r) place_host(s, node_of(s, r), s->host_cores, &placed);
    if (one) place_host(s, -1, cores, &placed);
    if (!s->hosts) return;
    s->wire_eager = wire_eager(s);
    s->signal_ps = tt_machine_wire(s->machine, TT_MACHINE_wire_time, 0);
    find_link(s);
}

/* ---- Messages ---- */

int64_t tt_wire_arrives(struct tt_predictor *s, int from, int to, int64_t len, int64_t begin)
{
    int source = first_of(s, from), target = first_of(s, to);
    int64_t *out = &s->out_free_ps[source], *in = &s->in_free_ps[target];
    int64_t busy = s->link_ps / LINK_BYTES * len + s->link_ps % LINK_BYTES * len / LINK_BYTES;
    int64_t start = tt_max(begin, *out);
    *out = start + busy;
    int64_t end =
        tt_max(start + tt_machine_wire(s->machine, TT_MACHINE_wire_time, len), *in + busy);
    *in = end;
    s->out_busy_ps[source] += busy;
    s->in_busy_ps[target] += busy;
    int64_t at = end - tt_machine_wire(s->machine, TT_MACHINE_wire_receive, len);
    /* on a shared processor, the receiver cannot begin before the sender has ended */
    bool shares = s->rank[from].core == s->rank[to].core;
    return tt_max(at, shares ? s->core[s->rank[from].core].now_ps : begin);
}

int64_t tt_wire_for_call(const struct tt_predictor *s)
{
    int begun = 1;
    int64_t most = 0;
    for (int r = 0; r < s->p; r++) {
        begun = (int)tt_max(begun, tt_min(s->calls, s->rank[r].call + 1));
        most = tt_max(most, tt_max(s->out_busy_ps[r], s->in_busy_ps[r]));
    }
    return most / begun;
}

int64_t tt_wire_acknowledged(const struct tt_predictor *s, int64_t len)
{
    return s->signal_ps + tt_machine_wire(s->machine, TT_MACHINE_wire_receive, len);
}

/* ---- Signals ---- */

struct tt_wire_flag *tt_wire_flag(struct tt_predictor *s, int from, int to, int lane)
{
    size_t n = (size_t)s->p * (size_t)s->p * (size_t)s->lanes;
    if (!s->wire_flag) s->wire_flag = tt_calloc(n, sizeof *s->wire_flag);
    if (!s->wire_flag) s->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a prediction");
    return s->wire_flag ? &s->wire_flag[tt_pair_lane(s, from, to, lane)] : NULL;
}

static bool signal_one(struct tt_predictor *s, struct tt_follow *r, int lane, int to,
                       uint32_t value)
{
    int64_t begin = tt_core_of(s, r)->now_ps;
    struct tt_wire_flag *flag = tt_wire_flag(s, r->me, to, lane);
    if (!flag) return false;
    struct tt_flag_log *log = &flag->log;
    if (!tt_predict_room(s, (void **)&log->raise, log->n, &log->room, sizeof *log->raise))
        return false;
    tt_spend(s, r, TT_SPENT_wire, tt_machine_wire(s->machine, TT_MACHINE_wire_send, 0));
    int64_t at = tt_wire_arrives(s, r->me, to, 0, begin);
    if (log->n > 0) at = tt_max(at, log->raise[log->n - 1].time_ps);
    log->raise[log->n++] = (struct tt_raise){(uint64_t)r->call << 32 | value, at};
    s->wire_until_ps = tt_max(s->wire_until_ps, at);
    tt_wake_one(s, to, r->me, at);
    return true;
}

static bool is_receiver(const struct tt_plain *step, int rank)
{
    bool found = step->peer == TT_ALL || step->peer == rank;
    for (uint32_t i = 0; step->peer == TT_SET && i < step->nops; i++)
        found = found || step->set[i] == rank;
    return found;
}

bool tt_wire_signal(struct tt_predictor *s, struct tt_follow *r, int lane,
                    const struct tt_plain *step)
{
    for (int to = 0; to < s->p; to++)
        if (tt_is_apart(s, r->me, to) && is_receiver(step, to) &&
            !signal_one(s, r, lane, to, step->value))
            return false;
    return true;
}

void tt_wire_take_signals(struct tt_predictor *s, struct tt_follow *r, struct tt_wire_flag *flag)
{
    int64_t each = tt_machine_wire(s->machine, TT_MACHINE_wire_receive, 0);
    int64_t now = tt_core_of(s, r)->now_ps;
    for (; flag->taken < flag->log.n && flag->log.raise[flag->taken].time_ps <= now; flag->taken++)
        tt_spend(s, r, TT_SPENT_wire, each);
}

/* ---- Memory of other nodes ---- */

bool tt_wire_reaches(struct tt_predictor *s, const struct tt_follow *r, const struct tt_plain *step)
{
    for (uint32_t i = 0; i < step->nops; i++) {
        int owner = step->range[i].rank;
        if (owner == TT_SELF || !tt_is_apart(s, r->me, owner)) continue;
        s->status = tt_fail(TUTTI_ERR_UNSUPPORTED,
                            "no time is known for accesses to memory of another node");
        return false;
    }
    return true;
}

void tt_wire_close(struct tt_predictor *s)
{
    int n = s->wire_flag ? s->p * s->p * s->lanes : 0;
    for (int i = 0; i < n; i++) tt_free(s->wire_flag[i].log.raise);
    tt_free(s->wire_flag);
}
