/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long messages take: the ports of the ranks and the links between them are taken for a time,
 * one message after the other, in the order in which their heads come.
 */
#include "sim/sim-inside.h"

static int64_t of_bytes(const struct tt_model *model, const struct tt_parcel *parcel)
{
    return model->tw_ps * parcel->bytes;
}

/* Takes a port or link from `time` on, when it is free, for `span`; when that begins. */
static int64_t take(int64_t *free, int64_t time, int64_t span)
{
    int64_t begin = tt_max(time, *free);
    *free = begin + span;
    return begin;
}

/* Whose port a rank sends and receives through: its own, or that of its node, kept at the rank of
 * the node's number. */
static struct tt_sim_rank *port_of(const struct tt_sim *sim, int rank)
{
    const int *node = sim->job->node;
    return &sim->rank[node && sim->job->model->node_ports ? node[rank] : rank];
}

static void later(struct tt_sim *sim, uint32_t place, int64_t time)
{
    sim->parcel[place].step++;
    tt_sim_at(sim, time, TT_EVENT_PARCEL, place);
}

/* ---- simple ---- */

static void simple_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    int64_t span = model->ts_ps + of_bytes(model, parcel), begin = sim->clock;
    if (!model->all_ports) begin = take(&port_of(sim, parcel->from)->send_free, begin, span);
    tt_sim_left(sim, place, begin + span);
    later(sim, place, begin);
}

static void simple_step(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    int64_t span = model->ts_ps + of_bytes(model, parcel), begin = sim->clock;
    if (!model->all_ports) begin = take(&port_of(sim, parcel->to)->recv_free, begin, span);
    tt_sim_came(sim, place, begin + span);
}

/* ---- loggp ---- */

static int64_t stream_ps(const struct tt_model *model, const struct tt_parcel *parcel)
{
    return model->big_g_ps * tt_max(parcel->bytes - 1, 0);
}

/* The rank's processor works on a message for o, one after the other; when that is done. */
static int64_t engage(struct tt_sim *sim, int rank, int64_t time)
{
    int64_t o_ps = sim->job->model->o_ps;
    return take(&sim->rank[rank].busy, time, o_ps) + o_ps;
}

static void loggp_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    int64_t stream = stream_ps(model, parcel);
    int64_t *free = &port_of(sim, parcel->from)->send_free;
    int starter = parcel->kind == TT_PARCEL_GET ? parcel->to : parcel->from;
    int64_t begin = take(free, engage(sim, starter, sim->clock), model->g_ps + stream);
    tt_sim_left(sim, place, begin + stream);
    later(sim, place, begin + stream + model->l_ps);
}

/* It has come to the port of the receiver (step 1), then to its processor, which puts do not
 * engage. */
static void loggp_step(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    int64_t begin = sim->clock;
    if (parcel->step == 1) {
        int64_t span = model->g_ps + stream_ps(model, parcel);
        begin = take(&port_of(sim, parcel->to)->recv_free, sim->clock, span);
    }
    if (begin > sim->clock)
        later(sim, place, begin);
    else if (parcel->kind == TT_PARCEL_PUT)
        tt_sim_came(sim, place, sim->clock);
    else
        tt_sim_came(sim, place, engage(sim, parcel->to, sim->clock));
}

/* ---- links ---- */

static void links_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    const struct tt_net *net = sim->job->net;
    int64_t span = model->ts_ps + of_bytes(model, parcel), begin = sim->clock;
    if (!model->all_ports) begin = take(&port_of(sim, parcel->from)->send_free, begin, span);
    parcel->route = tt_route(tt_net_node(net, parcel->from), tt_net_node(net, parcel->to));
    tt_sim_left(sim, place, begin + span);
    later(sim, place, begin + model->ts_ps);
}

/* The head, or of store-and-forward the tail, is there. */
static void arrive(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    int64_t span = of_bytes(model, parcel), time = sim->clock, *free;
    free = &sim->rank[parcel->to].recv_free;
    if (model->stores) time -= tt_min(span, time);
    if (!model->all_ports) time = take(free, time, span);
    tt_sim_came(sim, place, time + span);
}

static void links_step(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    struct tt_hop hop;
    if (!tt_route_next(sim->job->net, &parcel->route, &hop)) {
        arrive(sim, place);
        return;
    }
    int64_t span = of_bytes(model, parcel);
    int64_t begin = take(&sim->link_free[hop.link], sim->clock, span);
    sim->result.link_bytes[hop.link] += parcel->bytes;
    tt_sim_at(sim, begin + (model->stores ? span : model->hop_ps), TT_EVENT_PARCEL, place);
}

/* ---- Within a node ---- */

static bool is_near(const struct tt_sim *sim, const struct tt_parcel *parcel)
{
    const int *node = sim->job->node;
    return node && node[parcel->from] == node[parcel->to];
}

/* A signal is a store, which keeps nobody. */
static void near_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_parcel *parcel = &sim->parcel[place];
    const struct tt_model *model = sim->job->model;
    int starter = parcel->kind == TT_PARCEL_GET ? parcel->to : parcel->from;
    int64_t span = parcel->kind == TT_PARCEL_SIGNAL ? 0 : model->near_tw_ps * parcel->bytes;
    int64_t end = take(&sim->rank[starter].copy_free, sim->clock, span) + span;
    if (parcel->kind == TT_PARCEL_SIGNAL) end = sim->clock;
    tt_sim_left(sim, place, end);
    later(sim, place, end + model->near_ts_ps);
}

/* ---- All ---- */

static const struct {
    void (*send)(struct tt_sim *, uint32_t);
    void (*step)(struct tt_sim *, uint32_t);
} wires[TT_MODELS] = {
    [TT_MODEL_simple] = {simple_send, simple_step},
    [TT_MODEL_loggp] = {loggp_send, loggp_step},
    [TT_MODEL_links] = {links_send, links_step},
};

void tt_wire_send(struct tt_sim *sim, uint32_t place)
{
    if (is_near(sim, &sim->parcel[place]))
        near_send(sim, place);
    else if (sim->port)
        tt_both_send(sim, place);
    else
        wires[sim->job->model->kind].send(sim, place);
}

void tt_wire_step(struct tt_sim *sim, uint32_t place)
{
    if (is_near(sim, &sim->parcel[place]))
        tt_sim_came(sim, place, sim->clock);
    else
        wires[sim->job->model->kind].step(sim, place);
}

tutti_status tt_wire_begin(struct tt_sim *sim)
{
    const struct tt_net *net = sim->job->net;
    if (tt_both_ways(sim->job->model) && !tt_both_begin(sim))
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the ports of %d ranks", sim->job->p);
    if (sim->job->model->kind != TT_MODEL_links) return TUTTI_OK;
    size_t n = (size_t)net->vertices * (size_t)net->ports;
    sim->link_free = tt_calloc(n, sizeof *sim->link_free);
    sim->result.link_bytes = tt_calloc(n, sizeof *sim->result.link_bytes);
    sim->result.link_room = (int64_t)n;
    if (sim->link_free && sim->result.link_bytes) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for %zu links", n);
}
