/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the structure of a plan, which every reader relies on. The first fault found is returned
 * as text. Whether the plan computes the right result is not checked here, but by the prover
 * (lab/prove).
 */
#include "plan/plan.h"

/* The values that the fields of each kind of step must have. AUDIENCE: `peer` is a rank, TT_ALL or
 * TT_SET. `blocks`: the ranges may consist of blocks at a stride; in other steps the bytes of each
 * range follow each other. */
enum valid_peer { NO_PEER, RANK, AUDIENCE };
static const struct rule {
    uint32_t least, most; /* number of ranges */
    enum valid_peer peer;
    bool length, flag, blocks;
} rules[] = {
    [TT_SEND] = {1, 1, RANK, true, false, false},
    [TT_RECV] = {1, 1, RANK, true, false, false},
    [TT_PUT] = {2, 2, RANK, true, false, true},
    [TT_GET] = {2, 2, RANK, true, false, true},
    [TT_WAIT] = {0, 0, NO_PEER, false, false, false},
    [TT_SIGNAL] = {0, 0, AUDIENCE, false, true, false},
    [TT_AWAIT] = {0, 0, RANK, false, true, false},
    [TT_COPY] = {2, 2, NO_PEER, true, false, true},
    [TT_REDUCE] = {2, UINT32_MAX, NO_PEER, true, false, false},
    [TT_LOOP] = {0, 0, NO_PEER, false, false, false},
    [TT_END] = {0, 0, NO_PEER, false, false, false},
    [TT_EXCHANGE] = {0, 0, NO_PEER, false, false, false},
};

/* The place of the check in a lane: the loops that are open at the current step, and the number of
 * steps so far that start a transfer. */
struct place {
    const struct tt_plan *plan;
    uint32_t loop[TT_DEPTH]; /* the indices of the steps that begin the open loops */
    int depth;
    uint32_t started;
};

static bool inside(uint64_t first, uint64_t n, uint64_t all)
{
    return first + n <= all;
}

static bool is_rank(const struct tt_plan *plan, int32_t r)
{
    return r >= 0 && r < plan->p;
}

/* ---- The header and the tables ---- */

static const char *header_invalid(const struct tt_plan *plan)
{
    if (plan->p < 1) return "a team of no ranks";
    if (!is_rank(plan, plan->me)) return "a rank outside the team";
    if ((unsigned)plan->coll >= TT_COLLS) return "no such collective";
    if (!plan->algorithm || !*plan->algorithm) return "an algorithm without a name";
    if ((unsigned)plan->type >= TUTTI_TYPES && (int)plan->type < TUTTI_TYPE_USER)
        return "no such type";
    bool user = plan->op >= TUTTI_OP_USER && plan->op < TUTTI_OP_USER_END;
    if ((unsigned)plan->op >= TUTTI_OPS && !user) return "no such operation";
    if (plan->opens & ~(1u << TT_IN | 1u << TT_OUT | 1u << TT_TMP))
        return "opens a buffer other than IN, OUT and TMP";
    if (plan->tmp_bytes < 0 || plan->win_bytes < 0) return "scratch of negative size";
    if (plan->lanes < 1 || plan->lanes > TT_LANES) return "a wrong number of lanes";
    return NULL;
}

static const char *lanes_invalid(const struct tt_plan *plan)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < plan->lanes; i++) {
        if (plan->lane[i].first != next) return "lanes that do not follow one another";
        next += plan->lane[i].n;
    }
    return next == plan->steps_n ? NULL : "steps outside of the lanes";
}

static const char *shape_invalid(const struct tt_shape *s)
{
    if (s->mod < 0 || s->phase < 0) return "a rotation by a negative number";
    if (s->block < 0 || (s->block && s->stride < s->block)) return "blocks that overlap";
    return s->step[0] == INT64_MIN || s->step[1] == INT64_MIN
               ? "a range that a turn moves by -2^63 bytes"
               : NULL;
}

static const char *shapes_invalid(const struct tt_plan *plan)
{
    for (uint32_t i = 0; i < plan->shapes_n; i++) {
        const struct tt_shape *s = &plan->shapes[i];
        const char *wrong = shape_invalid(s);
        if (wrong) return wrong;
        if (i == 0 && (s->step[0] || s->step[1] || s->mod || s->phase || s->block))
            return "shape 0 is not empty";
    }
    return NULL;
}

static const char *vary_invalid(const struct tt_vary *v)
{
    if (v->tail < -1) return "a tail of negative length";
    if (v->tail_mod < 0 || v->tail_phase < 0) return "a tail in negative turns";
    if (v->tail < 0 && v->tail_mod) return "a rotation of a tail, but no tail";
    return v->tail_phase && !v->tail_mod ? "a tail's phase without a rotation" : NULL;
}

static const char *varies_invalid(const struct tt_plan *plan)
{
    for (uint32_t i = 0; i < plan->varies_n; i++) {
        const struct tt_vary *v = &plan->varies[i];
        const char *wrong = vary_invalid(v);
        if (wrong) return wrong;
        if (i == 0 && (v->inc[0] || v->inc[1] || v->from || v->tail >= 0))
            return "variation 0 is not empty";
    }
    return NULL;
}

/* ---- Steps ---- */

/* Returns whether a range rotates (tt_shape.mod > 0) within two loops, and the number of turns of
 * the inner loop is no multiple of `mod`. That is a fault, because a rotation counts only the turns
 * of the inner loop. */
static bool rotates_unevenly(const struct place *at, const struct tt_shape *s)
{
    if (s->mod == 0 || at->depth < TT_DEPTH) return false;
    return at->plan->steps[at->loop[at->depth - 1]].value % (uint32_t)s->mod != 0;
}

static uint32_t most_turns(const struct place *at, int out)
{
    return at->depth > out ? at->plan->steps[at->loop[at->depth - 1 - out]].value - 1 : 0;
}

/* Returns an upper limit of the distance, in bytes, by which the loops move a range in either
 * direction. */
static __int128 moved(const struct place *at, const struct tt_shape *s)
{
    int64_t inner = (int64_t)most_turns(at, 0) + s->phase;
    if (s->mod) inner = tt_min(inner, s->mod - 1);
    __int128 steps[TT_DEPTH] = {s->step[0], s->step[1]};
    for (int d = 0; d < TT_DEPTH; d++)
        if (steps[d] < 0) steps[d] = -steps[d];
    return inner * steps[0] + most_turns(at, 1) * steps[1];
}

/* Returns whether the end of the range does not fit in 64 bits in some turn. */
static bool gets_too_far(const struct place *at, const struct tt_range *r, const struct tt_shape *s,
                         int64_t len)
{
    __int128 end = r->off + moved(at, s);
    end += s->block ? (__int128)(len / s->block) * s->stride : len;
    return end > INT64_MAX;
}

static const char *range_invalid(const struct place *at, const struct tt_step *s,
                                 const struct tt_range *r)
{
    const struct tt_plan *plan = at->plan;
    if (r->buf >= TT_BUFFERS) return "no such buffer";
    if (r->rank != TT_SELF && !is_rank(plan, r->rank))
        return "a range of a rank outside of the team";
    if (r->rank == plan->me) return "a range of the own rank that is not TT_SELF";
    if (r->off < 0) return "a negative offset";
    int64_t tail = s->vary ? tt_max(plan->varies[s->vary].tail, 0) : 0, len = tt_max(s->len, tail);
    if (r->shape == 0)
        return r->off > INT64_MAX - len ? "a range that does not fit in 64 bits" : NULL;
    if (r->shape >= plan->shapes_n) return "a shape outside its array";
    const struct tt_shape *shape = &plan->shapes[r->shape];
    if (rotates_unevenly(at, shape))
        return "a loop whose turns are no multiple of a rotation in it";
    if (gets_too_far(at, r, shape, len)) return "a range that does not fit in 64 bits";
    if (shape->block == 0) return NULL;
    if (!rules[s->kind].blocks) return "blocks in a step that is no copy, put or get";
    return s->len % shape->block || tail % shape->block ? "a length that is no multiple of a block"
                                                        : NULL;
}

static const char *ranges_invalid(const struct place *at, const struct tt_step *s)
{
    const struct tt_plan *plan = at->plan;
    const struct rule *rule = &rules[s->kind];
    if (s->nops < rule->least || s->nops > rule->most) return "a wrong number of ranges";
    if (s->nops > plan->operands) return "more ranges than plan->operands";
    if (!inside(s->first, s->nops, plan->ranges_n)) return "ranges outside their array";
    for (uint32_t k = 0; k < s->nops; k++) {
        const char *wrong = range_invalid(at, s, &plan->ranges[s->first + k]);
        if (wrong) return wrong;
    }
    return NULL;
}

/* Checks the ranks of a step's ranges. The destination of a put and the source of a get belong to
 * the peer. All other destinations, and the sources of sends and puts, belong to this rank. */
static const char *owners_invalid(const struct place *at, const struct tt_step *s)
{
    const struct tt_range *r = at->plan->ranges + s->first;
    int far = s->kind == TT_PUT ? 0 : s->kind == TT_GET ? 1 : -1;
    if (far >= 0 && r[far].rank == TT_SELF) return "a put or get without a range of its peer";
    if (far >= 0 && r[far].rank != s->peer)
        return "a put or get with a range of another rank than its peer";
    return r[far == 0].rank != TT_SELF ? "a range of another rank where one of this rank is needed"
                                       : NULL;
}

static const char *length_invalid(const struct place *at, const struct tt_step *s)
{
    if (s->len < 0) return "a negative length";
    if (s->len == 0 && at->depth == 0) return "a step of length 0";
    const char *wrong = ranges_invalid(at, s);
    return wrong ? wrong : owners_invalid(at, s);
}

static const char *set_invalid(const struct place *at, const struct tt_step *s)
{
    const struct tt_plan *plan = at->plan;
    if (s->nops == 0) return "an empty set";
    if (!inside(s->first, s->nops, plan->ranks_n)) return "a set outside its array";
    for (uint32_t i = 0; i < s->nops; i++)
        if (!is_rank(plan, plan->ranks[s->first + i])) return "a set with no rank in it";
    return NULL;
}

static const char *audience_invalid(const struct place *at, const struct tt_step *s)
{
    if (s->peer == TT_SET) return set_invalid(at, s);
    if (s->nops) return "a set for one rank";
    if (s->peer == TT_ALL) return at->plan->p == 1 ? "a signal to all in a team of one rank" : NULL;
    return is_rank(at->plan, s->peer) ? NULL : "a signal to no rank";
}

static const char *start_invalid(struct place *at, const struct tt_step *s)
{
    if (s->value != at->started++) return "ids that do not ascend";
    return NULL;
}

static const char *wait_invalid(const struct place *at, const struct tt_step *s)
{
    if (s->value >= at->started) return "a wait for what has not been started";
    if (s->sub >= TT_IN_FLIGHT) return "a wait for too long ago";
    return s->first > 1 ? "a wait that is neither in nor after its loop" : NULL;
}

static const char *await_invalid(const struct place *at, const struct tt_step *s)
{
    if (s->sub >= TT_LANES) return "an await of no lane";
    bool own = s->peer == at->plan->me;
    return own && s->sub >= at->plan->lanes ? "an await of a lane that this rank does not have"
                                            : NULL;
}

static const char *loop_invalid(struct place *at, const struct tt_step *s)
{
    if (at->depth == TT_DEPTH) return "loops that nest too deep";
    if (s->value == 0) return "a loop of no turns";
    if (s->value > TT_TURNS) return "a loop of more than 2^30 turns";
    if (!at->plan->loops) return "a loop in a plan whose `loops` is false";
    at->loop[at->depth++] = (uint32_t)(s - at->plan->steps);
    return NULL;
}

static const char *end_invalid(struct place *at, const struct tt_step *s)
{
    if (at->depth == 0) return "an end without a loop";
    uint32_t back = (uint32_t)(s - at->plan->steps) - at->loop[--at->depth];
    return s->value != back ? "an end of another loop" : NULL;
}

static const char *entry_invalid(const struct tt_plan *plan, const struct tt_entry *e)
{
    if (!is_rank(plan, e->peer)) return "an entry for no rank";
    if (e->peer == plan->me) return "an entry for the rank itself";
    if (e->len <= 0) return "an entry of no length";
    if (e->mine < 0 || e->theirs < 0) return "an entry at a negative offset";
    return tt_max(e->mine, e->theirs) > INT64_MAX - e->len ? "an entry that does not fit in 64 bits"
                                                           : NULL;
}

static const char *how_invalid(const struct tt_exchange *x)
{
    if ((unsigned)x->order > TT_ORDER_RANK) return "no such order";
    if (x->window < 1 || x->window > TT_IN_FLIGHT) return "a wrong window";
    if (x->chunk <= 0) return "chunks of no length";
    return x->from != TT_IN && x->from != TT_OUT ? "an exchange out of neither IN nor OUT" : NULL;
}

static const char *exchange_invalid(struct place *at, const struct tt_step *s)
{
    const struct tt_plan *plan = at->plan;
    if (plan->operands < 2) return "more ranges than plan->operands";
    if (s->first >= plan->exchanges_n) return "an exchange outside its array";
    const struct tt_exchange *x = &plan->exchanges[s->first];
    const char *wrong = how_invalid(x);
    if (wrong) return wrong;
    if (!inside(x->first, x->n, plan->entries_n)) return "entries outside their array";
    for (uint32_t i = 0; i < x->n && !wrong; i++)
        wrong = entry_invalid(plan, &plan->entries[x->first + i]);
    return wrong ? wrong : start_invalid(at, s);
}

static const char *varying_invalid(const struct place *at, const struct tt_step *s)
{
    const struct rule *rule = &rules[s->kind];
    if (s->vary == 0) return NULL;
    if (s->vary >= at->plan->varies_n) return "a variation outside its array";
    const struct tt_vary *v = &at->plan->varies[s->vary];
    if (v->tail >= 0 && !rule->length) return "a tail of a step without a length";
    if ((v->inc[0] || v->inc[1]) && !rule->flag) return "a flag value of a step without a flag";
    bool plain = rule->length || rule->flag || s->kind == TT_WAIT;
    return v->from && !plain ? "a first turn (`from`) of a step that cannot have one" : NULL;
}

static const char *step_invalid(struct place *at, const struct tt_step *s)
{
    if (s->kind >= sizeof rules / sizeof rules[0]) return "no such kind of step";
    const struct rule *rule = &rules[s->kind];
    const char *wrong = varying_invalid(at, s);
    if (!wrong && rule->peer == RANK && !is_rank(at->plan, s->peer))
        wrong = "a peer that is no rank";
    if (!wrong && rule->peer == AUDIENCE) wrong = audience_invalid(at, s);
    if (!wrong && rule->length) wrong = length_invalid(at, s);
    if (wrong) return wrong;
    if (tt_kind_starts((enum tt_kind)s->kind)) return start_invalid(at, s);
    if (s->kind == TT_WAIT) return wait_invalid(at, s);
    if (s->kind == TT_AWAIT) return await_invalid(at, s);
    if (s->kind == TT_LOOP) return loop_invalid(at, s);
    if (s->kind == TT_END) return end_invalid(at, s);
    return s->kind == TT_EXCHANGE ? exchange_invalid(at, s) : NULL;
}

static const char *lane_invalid(const struct tt_plan *plan, const struct tt_lane *lane,
                                int64_t *step)
{
    struct place at = {.plan = plan};
    for (uint32_t i = 0; i < lane->n; i++) {
        const char *wrong = step_invalid(&at, &plan->steps[lane->first + i]);
        if (wrong) *step = (int64_t)lane->first + i;
        if (wrong) return wrong;
    }
    if (at.depth) return "a loop without an end";
    return at.started != lane->starts ? "a wrong number of ids" : NULL;
}

const char *tt_plan_invalid(const struct tt_plan *plan, int64_t *step)
{
    int64_t at = -1;
    const char *wrong = header_invalid(plan);
    if (!wrong) wrong = lanes_invalid(plan);
    if (!wrong) wrong = shapes_invalid(plan);
    if (!wrong) wrong = varies_invalid(plan);
    for (uint32_t i = 0; i < plan->lanes && !wrong; i++)
        wrong = lane_invalid(plan, &plan->lane[i], &at);
    if (wrong && step) *step = at;
    return wrong;
}
