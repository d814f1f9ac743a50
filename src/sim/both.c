/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simple model where a rank that sends and receives at once is slower at both: a byte takes
 * tw_both there, else tw.
 *
 *     sends      |--t_s--|====tw====|==tw_both==|
 *     receives                      |==tw_both==|====tw====|      start-up moves no bytes
 *
 * Each rank has two ports, which take one message after the other. Whenever bytes begin or cease to
 * move at one, what is left at both is reckoned up, and when they will be done is found anew. What
 * is left is counted in parts of a byte that are so small that a picosecond moves a whole number of
 * them at either rate; so nothing is rounded but ends, to whole picoseconds upwards.
 *
 * As without this, a message takes its receiver's port when it has its sender's and the receiver's
 * is free, and the two go on apart; but it is received no sooner than it is sent.
 */
#include "sim/sim-inside.h"

enum { SENDS, RECEIVES };
enum { SENT = 1 }; /* parcel.step */

typedef __int128 parts; /* of bytes: as long as times fit 63 bits these fit 127 */

struct tt_port {
    uint32_t now;         /* the parcel that has it; 0: it is free */
    uint32_t first, last; /* those that wait */
    bool moves;           /* bytes do; else nothing, or start-up */
    int64_t since;        /* when `left` was reckoned */
    parts left;
    int64_t due; /* of its event; TT_NEVER: it has none */
};

bool tt_both_ways(const struct tt_model *model)
{
    bool one = model->kind == TT_MODEL_simple && !model->all_ports;
    return one && model->tw_both_ps > model->tw_ps;
}

bool tt_both_begin(struct tt_sim *sim)
{
    sim->port = tt_calloc(2 * (size_t)sim->job->p, sizeof *sim->port);
    for (int i = 0; sim->port && i < 2 * sim->job->p; i++) sim->port[i].due = TT_NEVER;
    return sim->port != NULL;
}

/* ---- Bytes ---- */

static struct tt_port *other(struct tt_sim *sim, const struct tt_port *port)
{
    return &sim->port[(port - sim->port) ^ 1];
}

/* Parts that a picosecond moves; a byte has tw * tw_both of them. */
static int64_t rate(struct tt_sim *sim, const struct tt_port *port)
{
    const struct tt_model *model = sim->job->model;
    return other(sim, port)->moves ? model->tw_ps : model->tw_both_ps;
}

static void reckon(struct tt_sim *sim, struct tt_port *port)
{
    parts moved = (parts)(sim->clock - port->since) * rate(sim, port);
    if (port->moves) port->left -= moved < port->left ? moved : port->left;
    port->since = sim->clock;
}

static void expect(struct tt_sim *sim, struct tt_port *port, int64_t time)
{
    port->due = time;
    tt_sim_at(sim, time, TT_EVENT_PORT, (uint32_t)(port - sim->port));
}

/* A port whose bytes are all received but not yet sent has nothing to expect. */
static void foresee(struct tt_sim *sim, struct tt_port *port)
{
    int64_t moved = rate(sim, port);
    if (port->moves && port->left > 0)
        expect(sim, port, sim->clock + (int64_t)((port->left + moved - 1) / moved));
}

static void set_moves(struct tt_sim *sim, struct tt_port *port, bool moves)
{
    reckon(sim, port);
    reckon(sim, other(sim, port));
    port->moves = moves;
    foresee(sim, port);
    foresee(sim, other(sim, port));
}

/* ---- Messages ---- */

static void join(struct tt_sim *sim, struct tt_port *port, uint32_t place);

/* The first of those that wait gets the port. */
static void take(struct tt_sim *sim, struct tt_port *port)
{
    const struct tt_model *model = sim->job->model;
    uint32_t place = port->first;
    if (place == 0) return;
    port->first = sim->parcel[place].next;
    port->now = place;
    port->left = (parts)sim->parcel[place].bytes * model->tw_ps * model->tw_both_ps;
    expect(sim, port, sim->clock + model->ts_ps);
    if ((port - sim->port) % 2 == SENDS)
        join(sim, &sim->port[2 * sim->parcel[place].to + RECEIVES], place);
}

static void join(struct tt_sim *sim, struct tt_port *port, uint32_t place)
{
    sim->parcel[place].next = 0;
    if (port->first)
        sim->parcel[port->last].next = place;
    else
        port->first = place;
    port->last = place;
    if (port->now == 0) take(sim, port);
}

static void leave(struct tt_sim *sim, struct tt_port *port)
{
    port->now = 0;
    port->due = TT_NEVER; /* its event may be still to come, at this time */
    set_moves(sim, port, false);
    take(sim, port);
}

static void receive(struct tt_sim *sim, struct tt_port *port)
{
    uint32_t place = port->now;
    reckon(sim, port);
    if (!(sim->parcel[place].step & SENT)) return;
    leave(sim, port);
    tt_sim_came(sim, place, sim->clock);
}

/* What is received already has come now. */
static void sent(struct tt_sim *sim, struct tt_port *port)
{
    uint32_t place = port->now;
    struct tt_port *far = &sim->port[2 * sim->parcel[place].to + RECEIVES];
    sim->parcel[place].step |= SENT;
    leave(sim, port);
    tt_sim_left(sim, place, sim->clock);
    if (far->now == place && far->moves && far->left == 0) receive(sim, far);
}

void tt_both_send(struct tt_sim *sim, uint32_t place)
{
    join(sim, &sim->port[2 * sim->parcel[place].from + SENDS], place);
}

void tt_both_step(struct tt_sim *sim, uint32_t number)
{
    struct tt_port *port = &sim->port[number];
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
