/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes the time that messages take, under each of the models.
 */
#include "sim/sim-inside.h"

/* ---- Ranks that are slower at sending and receiving at once ---- */

/* This section is for the simple model with tw_both, in which a rank is slower while it sends and
 * receives at once: a byte then takes the time tw_both, and otherwise the time tw. In the picture,
 * t_s is the start-up time of a message, in which no bytes move.
 *
 *     sends      |--t_s--|====tw====|==tw_both==|
 *     receives                      |==tw_both==|====tw====|
 *
 * Each rank has two ports, one for sends and one for receives, and each port handles one message
 * after the other. Whenever bytes begin or cease to move at one port, the bytes that are left at
 * both ports are computed, and the times at which they will have moved are set anew. The bytes that
 * are left are counted in parts of a byte that are so small that a whole number of them moves in a
 * picosecond at either rate. So only end times are rounded, up to whole picoseconds.
 *
 * As in the model without tw_both, a message first takes the port of its sender, and then that of
 * its receiver as soon as that is free. Its bytes move at the two ports independently, but the
 * message is received no earlier than it is sent. */

enum { SENDS, RECEIVES };
enum { SENT = 1 }; /* a bit of tt_sim_message.step: all bytes of the message were sent */

/* an amount of data in parts of a byte (see above); it is below 2^127 if times are below 2^63 ps */
typedef __int128 parts;

struct tt_sim_port {
    uint32_t now;         /* the index of the message that has the port; 0 if the port is free */
    uint32_t first, last; /* the list of messages that wait for the port */
    /* bytes move; if false, the port is free, or its message is still in the start-up time */
    bool moves;
    int64_t since; /* the time at which `left` was computed */
    parts left;
    int64_t due; /* the time of the port's next event; TT_NEVER if there is none */
};

static bool both_directions(const struct tt_model *model)
{
    bool one = model->kind == TT_MODEL_simple && !model->all_ports;
    return one && model->tw_both_ps > model->tw_ps;
}

static bool both_begin(struct tt_sim *sim)
{
    sim->port = tt_calloc(2 * (size_t)sim->job->p, sizeof *sim->port);
    for (int i = 0; sim->port && i < 2 * sim->job->p; i++) sim->port[i].due = TT_NEVER;
    return sim->port != NULL;
}

/* ---- Bytes ---- */

static struct tt_sim_port *other(struct tt_sim *sim, const struct tt_sim_port *port)
{
    return &sim->port[(port - sim->port) ^ 1];
}

/* Returns how many parts of a byte move at the port in a picosecond. A byte has tw * tw_both
 * parts. */
static int64_t rate(struct tt_sim *sim, const struct tt_sim_port *port)
{
    const struct tt_model *model = sim->job->model;
    return other(sim, port)->moves ? model->tw_ps : model->tw_both_ps;
}

static void reckon(struct tt_sim *sim, struct tt_sim_port *port)
{
    parts moved = (parts)(sim->clock - port->since) * rate(sim, port);
    if (port->moves) port->left -= moved < port->left ? moved : port->left;
    port->since = sim->clock;
}

static void expect(struct tt_sim *sim, struct tt_sim_port *port, int64_t time)
{
    port->due = time;
    tt_sim_at(sim, time, TT_EVENT_PORT, (uint32_t)(port - sim->port));
}

/* Sets an event at the time at which all bytes of the port's message will have moved. If all bytes
 * have been received but not all have been sent yet, sets no event. */
static void foresee(struct tt_sim *sim, struct tt_sim_port *port)
{
    int64_t moved = rate(sim, port);
    if (port->moves && port->left > 0)
        expect(sim, port, sim->clock + (int64_t)((port->left + moved - 1) / moved));
}

static void set_moves(struct tt_sim *sim, struct tt_sim_port *port, bool moves)
{
    reckon(sim, port);
    reckon(sim, other(sim, port));
    port->moves = moves;
    foresee(sim, port);
    foresee(sim, other(sim, port));
}

/* ---- Messages ---- */

static void join(struct tt_sim *sim, struct tt_sim_port *port, uint32_t place);

/* Gives the port to the first message that waits for it. If this is a port for sends, the message
 * from now on also waits for the receive port of its receiver. */
static void take_bytes(struct tt_sim *sim, struct tt_sim_port *port)
{
    const struct tt_model *model = sim->job->model;
    uint32_t place = port->first;
    if (place == 0) return;
    port->first = sim->message[place].next;
    port->now = place;
    port->left = (parts)sim->message[place].bytes * model->tw_ps * model->tw_both_ps;
    expect(sim, port, sim->clock + model->ts_ps);
    if ((port - sim->port) % 2 == SENDS)
        join(sim, &sim->port[2 * sim->message[place].to + RECEIVES], place);
}

static void join(struct tt_sim *sim, struct tt_sim_port *port, uint32_t place)
{
    sim->message[place].next = 0;
    if (port->first)
        sim->message[port->last].next = place;
    else
        port->first = place;
    port->last = place;
    if (port->now == 0) take_bytes(sim, port);
}

static void leave(struct tt_sim *sim, struct tt_sim_port *port)
{
    port->now = 0;
    /* an earlier event of this port may still be in the queue, and is ignored */
    port->due = TT_NEVER;
    set_moves(sim, port, false);
    take_bytes(sim, port);
}

static void receive(struct tt_sim *sim, struct tt_sim_port *port)
{
    uint32_t place = port->now;
    reckon(sim, port);
    if (!(sim->message[place].step & SENT)) return;
    leave(sim, port);
    tt_sim_came(sim, place, sim->clock);
}

/* Handles the event at which all bytes of the port's message have been sent. If all of them have
 * been received as well, the message has now come. */
static void sent(struct tt_sim *sim, struct tt_sim_port *port)
{
    uint32_t place = port->now;
    struct tt_sim_port *far = &sim->port[2 * sim->message[place].to + RECEIVES];
    sim->message[place].step |= SENT;
    leave(sim, port);
    tt_sim_left(sim, place, sim->clock);
    if (far->now == place && far->moves && far->left == 0) receive(sim, far);
}

static void both_send(struct tt_sim *sim, uint32_t place)
{
    join(sim, &sim->port[2 * sim->message[place].from + SENDS], place);
}

void tt_both_step(struct tt_sim *sim, uint32_t number)
{
    struct tt_sim_port *port = &sim->port[number];
    if (port->due != sim->clock) return;
    port->due = TT_NEVER;
    tt_assert(port->now);
    if (!port->moves)
        set_moves(sim, port, true);
    else if (number % 2 == SENDS)
        sent(sim, port);
    else
        receive(sim, port);
}

/* ---- Messages ---- */

/* This section computes the time that messages take under the models without tw_both. A message
 * occupies the ports of the ranks and the links between them for some time, one message after the
 * other, in the order in which their heads come. */

static int64_t of_bytes(const struct tt_model *model, const struct tt_sim_message *message)
{
    return model->tw_ps * message->bytes;
}

/* Occupies a port or link for the time `span`, from `time` on or from when it is free (*free),
 * whichever is later. Returns when this time span begins. */
static int64_t take(int64_t *free, int64_t time, int64_t span)
{
    int64_t begin = tt_max(time, *free);
    *free = begin + span;
    return begin;
}

/* Returns the entry of sim->rank[] whose send_free and recv_free are those of the port of `rank`:
 * the entry of the rank itself; or, if the ranks of a node share a port, the entry whose index is
 * the number of the node. */
static struct tt_sim_rank *port_of(const struct tt_sim *sim, int rank)
{
    const int *node = sim->job->node;
    return &sim->rank[node && sim->job->model->node_ports ? node[rank] : rank];
}

static void later(struct tt_sim *sim, uint32_t place, int64_t time)
{
    sim->message[place].step++;
    tt_sim_at(sim, time, TT_EVENT_MESSAGE, place);
}

/* ---- simple ---- */

static void simple_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    int64_t span = model->ts_ps + of_bytes(model, message), begin = sim->clock;
    if (!model->all_ports) begin = take(&port_of(sim, message->from)->send_free, begin, span);
    tt_sim_left(sim, place, begin + span);
    later(sim, place, begin);
}

static void simple_step(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    int64_t span = model->ts_ps + of_bytes(model, message), begin = sim->clock;
    if (!model->all_ports) begin = take(&port_of(sim, message->to)->recv_free, begin, span);
    tt_sim_came(sim, place, begin + span);
}

/* ---- loggp ---- */

static int64_t stream_ps(const struct tt_model *model, const struct tt_sim_message *message)
{
    return model->big_g_ps * tt_max(message->bytes - 1, 0);
}

/* Occupies the rank's processor with a message for the overhead o of LogGP, from `time` or from the
 * end of its earlier work, whichever is later. Returns the end of the overhead. */
static int64_t engage(struct tt_sim *sim, int rank, int64_t time)
{
    int64_t o_ps = sim->job->model->o_ps;
    return take(&sim->rank[rank].busy, time, o_ps) + o_ps;
}

static void loggp_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    int64_t stream = stream_ps(model, message);
    int64_t *free = &port_of(sim, message->from)->send_free;
    int starter = message->kind == TT_SIM_GET ? message->to : message->from;
    int64_t begin = take(free, engage(sim, starter, sim->clock), model->g_ps + stream);
    tt_sim_left(sim, place, begin + stream);
    later(sim, place, begin + stream + model->l_ps);
}

/* Handles an event of a message at its receiver. At stage 1 the message has come to the receiver's
 * port; at the next stage the port has taken it, and the receiver's processor works on it. A put
 * does not use this processor. */
static void loggp_step(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    int64_t begin = sim->clock;
    if (message->step == 1) {
        int64_t span = model->g_ps + stream_ps(model, message);
        begin = take(&port_of(sim, message->to)->recv_free, sim->clock, span);
    }
    if (begin > sim->clock)
        later(sim, place, begin);
    else if (message->kind == TT_SIM_PUT)
        tt_sim_came(sim, place, sim->clock);
    else
        tt_sim_came(sim, place, engage(sim, message->to, sim->clock));
}

/* ---- links ---- */

static void links_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    const struct tt_net *net = sim->job->net;
    int64_t span = model->ts_ps + of_bytes(model, message), begin = sim->clock;
    if (!model->all_ports) begin = take(&port_of(sim, message->from)->send_free, begin, span);
    message->route = tt_route(tt_net_node(net, message->from), tt_net_node(net, message->to));
    tt_sim_left(sim, place, begin + span);
    later(sim, place, begin + model->ts_ps);
}

/* Handles the event at which the head of the message (or, with store-and-forward, its last byte)
 * has come to the node of the receiver. */
static void arrive(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    int64_t span = of_bytes(model, message), time = sim->clock, *free;
    free = &sim->rank[message->to].recv_free;
    if (model->stores) time -= tt_min(span, time);
    if (!model->all_ports) time = take(free, time, span);
    tt_sim_came(sim, place, time + span);
}

static void links_step(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    struct tt_hop hop;
    if (!tt_route_next(sim->job->net, &message->route, &hop)) {
        arrive(sim, place);
        return;
    }
    int64_t span = of_bytes(model, message);
    int64_t begin = take(&sim->link_free[hop.link], sim->clock, span);
    sim->result.link_bytes[hop.link] += message->bytes;
    tt_sim_at(sim, begin + (model->stores ? span : model->hop_ps), TT_EVENT_MESSAGE, place);
}

/* ---- Within a node ---- */

static bool is_local(const struct tt_sim *sim, const struct tt_sim_message *message)
{
    const int *node = sim->job->node;
    return node && node[message->from] == node[message->to];
}

/* Sends a message to a rank of the same node. A signal is a plain store, so it neither waits for
 * copies nor delays them. */
static void local_send(struct tt_sim *sim, uint32_t place)
{
    struct tt_sim_message *message = &sim->message[place];
    const struct tt_model *model = sim->job->model;
    int starter = message->kind == TT_SIM_GET ? message->to : message->from;
    int64_t span = message->kind == TT_SIM_SIGNAL ? 0 : model->near_tw_ps * message->bytes;
    int64_t end = take(&sim->rank[starter].copy_free, sim->clock, span) + span;
    if (message->kind == TT_SIM_SIGNAL) end = sim->clock;
    tt_sim_left(sim, place, end);
    later(sim, place, end + model->near_ts_ps);
}

/* ---- All models ---- */

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
    if (is_local(sim, &sim->message[place]))
        local_send(sim, place);
    else if (sim->port)
        both_send(sim, place);
    else
        wires[sim->job->model->kind].send(sim, place);
}

void tt_wire_step(struct tt_sim *sim, uint32_t place)
{
    if (is_local(sim, &sim->message[place]))
        tt_sim_came(sim, place, sim->clock);
    else
        wires[sim->job->model->kind].step(sim, place);
}

tutti_status tt_wire_begin(struct tt_sim *sim)
{
    const struct tt_net *net = sim->job->net;
    if (both_directions(sim->job->model) && !both_begin(sim))
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the ports of %d ranks", sim->job->p);
    if (sim->job->model->kind != TT_MODEL_links) return TUTTI_OK;
    size_t n = (size_t)net->vertices * (size_t)net->ports;
    sim->link_free = tt_calloc(n, sizeof *sim->link_free);
    sim->result.link_bytes = tt_calloc(n, sizeof *sim->result.link_bytes);
    sim->result.link_room = (int64_t)n;
    if (sim->link_free && sim->result.link_bytes) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for %zu links", n);
}
