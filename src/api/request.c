/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The three forms of a collective, which are one: a plan, bound to buffers, started, completed.
 */
#include <string.h>

#include "api/packed.h"
#include "type/layout.h"

/* ---- Binding ---- */

static void bind_segments(struct tt_exec *exec, const struct tt_call *c, int me)
{
    exec->call = c;
    exec->bytes[TT_IN] = c->coll == TT_COLL_allgatherv ? c->out_counts[me] * c->sz : 0;
    if (c->in_place && c->out_counts[me] > 0)
        exec->buffer[TT_IN] = exec->buffer[TT_OUT] + c->out_displs[me] * c->sz;
}

/* Where in OUT the input lies; nowhere, if there is no OUT. */
static inline char *input_in(void *out, int64_t place)
{
    return out ? (char *)out + place : NULL;
}

static inline void bind(struct tt_exec *exec, const struct tt_prepared *prepared,
                        const struct tt_request *rq)
{
    exec->buffer[TT_OUT] = rq->out;
    exec->buffer[TT_IN] = rq->call.in_place ? input_in(rq->out, prepared->place) : (char *)rq->in;
    if (tt_unlikely(tt_call_segments(&rq->call))) bind_segments(exec, &rq->call, exec->team->me);
}

static struct tt_exec *exec_for(tutti_team *team, struct tt_prepared *prepared)
{
    struct tt_exec *exec = tt_exec_new(&team->run, prepared->plan);
    if (!exec) return NULL;
    exec->shape = prepared->shape;
    exec->what = &prepared->what;
    exec->bytes[TT_IN] = prepared->in_bytes;
    exec->bytes[TT_OUT] = prepared->out_bytes;
    return exec;
}

/* A rank that cannot start what the others start tells them, so that none waits for it. */
static tutti_status cannot_start(tutti_team *team, tutti_status status)
{
    if (status == TUTTI_ERR_MEMORY || status == TUTTI_ERR_LIMIT || status == TUTTI_ERR_SYSTEM)
        tt_team_break(&team->run, status);
    return status;
}

/* ---- The plan for a request ---- */

/* Finds or makes the plan of a request that was checked. The cache keeps the use of the plan,
 * except for v-collectives, whose caller gets it. */
static tutti_status shape_of(tutti_team *team, const struct tt_request *rq,
                             struct tt_prepared **prepared)
{
    if (tt_call_counts(&rq->call)) return tt_prepare(&team->cache, &team->run, &rq->call, prepared);
    *prepared = tt_cache_find(&team->cache, &rq->call); /* of a user's operation, checked by now */
    if (*prepared) return TUTTI_OK;
    return tt_cache_make(&team->cache, &team->run, &rq->call, prepared);
}

static tutti_status make_shape(tutti_team *team, struct tt_request *rq,
                               struct tt_prepared **prepared)
{
    TT_TRY(tt_request_check(team, rq));
    return shape_of(team, rq, prepared);
}

static inline bool overlap(const void *a, int64_t an, const void *b, int64_t bn)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + (uintptr_t)bn && y < x + (uintptr_t)an;
}

/* The buffers, against the sizes that the shape asks for. */
static inline tutti_status check_buffers(const struct tt_prepared *p, const struct tt_request *rq)
{
    int64_t in = rq->call.in_place ? 0 : p->in_bytes, out = p->out_bytes;
    if (tt_unlikely((in > 0 && !rq->in) || (out > 0 && !rq->out)))
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", in > 0 && !rq->in ? "in" : tt_request_out(rq));
    if (tt_unlikely(rq->out == TUTTI_IN_PLACE))
        return tt_fail(TUTTI_ERR_ARG, "%s is TUTTI_IN_PLACE, which is for in alone",
                       tt_request_out(rq));
    if (tt_unlikely(in > 0 && out > 0 && overlap(rq->in, in, rq->out, out)))
        return tt_fail(TUTTI_ERR_ARG, "in and out overlap; TUTTI_IN_PLACE is for equal buffers");
    return TUTTI_OK;
}

/* A shape that is kept was checked when it was made; only user-defined operations, which may have
 * been freed since, and the counts of v-forms are looked at each time. The use stays the cache's,
 * but for v-forms. */
static inline tutti_status find_shape(tutti_team *team, struct tt_request *rq,
                                      struct tt_prepared **prepared)
{
    rq->call.in_place = rq->in == TUTTI_IN_PLACE;
    *prepared = NULL;
    if (tt_likely(!tt_call_counts(&rq->call) && (unsigned)rq->call.op < TUTTI_OPS))
        *prepared = tt_cache_find(&team->cache, &rq->call);
    if (tt_unlikely(!*prepared)) TT_TRY(make_shape(team, rq, prepared));
    tutti_status status = check_buffers(*prepared, rq);
    if (tt_unlikely(status != TUTTI_OK && tt_call_counts(&rq->call))) tt_prepared_drop(*prepared);
    return status;
}

static inline bool is_basic(const struct tt_request *rq)
{
    return tt_likely((unsigned)rq->call.type < TUTTI_TYPES);
}

/* ---- Blocking ---- */

static tutti_status run_spare(tutti_team *team, struct tt_prepared *prepared,
                              const struct tt_request *rq)
{
    if (tt_unlikely(!prepared->spare)) {
        if (!(prepared->spare = exec_for(team, prepared)))
            return cannot_start(team, TUTTI_ERR_MEMORY);
        prepared->spare->blocks = true;
    }
    bind(prepared->spare, prepared, rq);
    tt_exec_start(prepared->spare);
    return tt_exec_wait(prepared->spare);
}

static tutti_status run_packed(tutti_team *team, struct tt_request *rq)
{
    tutti_plan *plan;
    TT_TRY(tt_request_start(team, rq, &plan));
    tutti_status status = tutti_wait(plan);
    tt_plan_delete(plan);
    return status;
}

tutti_status tt_request_run(tutti_team *team, struct tt_request *rq)
{
    struct tt_prepared *prepared;
    TT_TRY_HANDLE(team);
    tt_msg_outside(team->client->msg, "a collective that blocks");
    if (!is_basic(rq)) return run_packed(team, rq);
    tutti_status status = find_shape(team, rq, &prepared);
    if (tt_unlikely(status != TUTTI_OK)) return cannot_start(team, status);
    status = run_spare(team, prepared, rq);
    if (tt_unlikely(tt_call_counts(&rq->call))) tt_prepared_drop(prepared);
    return status;
}

/* ---- Plans ---- */

/* The caller's counts and displacements, kept. */
static tutti_status keep_counts(tutti_plan *plan, int p)
{
    const int64_t **lists[] = {&plan->call.in_counts, &plan->call.in_displs, &plan->call.out_counts,
                               &plan->call.out_displs};
    if (!tt_call_counts(&plan->call)) return TUTTI_OK;
    int64_t *at = plan->counts = tt_alloc(4 * (size_t)p * sizeof *at);
    if (!at) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the counts of a plan");
    for (int i = 0; i < 4; i++) {
        if (!*lists[i]) continue;
        memcpy(at, *lists[i], (size_t)p * sizeof *at);
        *lists[i] = at;
        at += p;
    }
    return TUTTI_OK;
}

static struct tt_handles plans = TT_HANDLES(tutti_plan, 64);

static void free_plan(tutti_plan *plan)
{
    tt_free(plan->counts);
    tt_handle_free(&plans, plan);
}

static tutti_plan *new_plan(tutti_team *team, const struct tt_call *call,
                            struct tt_prepared *prepared)
{
    tutti_plan *plan = tt_handle_new(&plans);
    if (!plan) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan");
        return NULL;
    }
    plan->team = team;
    plan->prepared = prepared;
    plan->call = *call;
    if (keep_counts(plan, team->run.map.p) == TUTTI_OK) plan->exec = exec_for(team, prepared);
    if (plan->exec) return plan;
    free_plan(plan);
    return NULL;
}

static void enlist(tutti_plan *plan)
{
    plan->link = &plan->team->plans;
    plan->next = plan->team->plans;
    if (plan->next) plan->next->link = &plan->next;
    plan->team->plans = plan;
}

void tt_plan_delete(tutti_plan *plan)
{
    *plan->link = plan->next;
    if (plan->next) plan->next->link = plan->link;
    plan->exec->state = TT_EXEC_IDLE;
    tt_exec_free(plan->exec);
    tt_prepared_drop(plan->prepared);
    tt_packed_free(plan->packed);
    free_plan(plan);
}

static tutti_status plan_of(tutti_team *team, struct tt_request *rq, struct tt_prepared *prepared,
                            tutti_plan **plan)
{
    if (!tt_call_counts(&rq->call)) prepared->uses++;
    tutti_plan *made = new_plan(team, &rq->call, prepared);
    if (!made) {
        tt_prepared_drop(prepared);
        return TUTTI_ERR_MEMORY;
    }
    struct tt_request kept = {.call = made->call, .in = rq->in, .out = rq->out};
    bind(made->exec, prepared, &kept);
    if (made->exec->call) made->exec->call = &made->call;
    enlist(made);
    *plan = made;
    return TUTTI_OK;
}

/* The call is named as its user made it, with elements of the derived type. The upper half of the
 * fingerprint, which is not compared, says that this is another text. */
static void name_packed(tutti_plan *plan, const struct tt_request *rq, struct tt_packed *packed)
{
    const struct tt_what *plain = &plan->prepared->what;
    plan->packed = packed;
    plan->what = tt_what_of(&rq->call, plan->team->run.map.p, plain->print);
    plan->what.type = plain->type;
    plan->what.element = (int32_t)tt_min(packed->layout->packed, INT32_MAX);
    plan->exec->what = &plan->what;
    plan->exec->shape ^= (uint64_t)(uint32_t)plan->what.element << 32;
}

static tutti_status make_packed(tutti_team *team, struct tt_request *rq, tutti_plan **plan)
{
    struct tt_packed *packed;
    struct tt_prepared *prepared;
    rq->call.in_place = rq->in == TUTTI_IN_PLACE;
    TT_TRY(tt_request_check(team, rq));
    TT_TRY(tt_packed_new(team, rq, &packed));
    tutti_status status = shape_of(team, &packed->request, &prepared);
    if (status == TUTTI_OK) status = plan_of(team, &packed->request, prepared, plan);
    if (status == TUTTI_OK)
        name_packed(*plan, rq, packed);
    else
        tt_packed_free(packed);
    return status;
}

static tutti_status make_plan(tutti_team *team, struct tt_request *rq, tutti_plan **plan)
{
    struct tt_prepared *prepared;
    TT_TRY_HANDLE(team);
    if (!plan) return tt_fail(TUTTI_ERR_ARG, "plan is NULL");
    if (!is_basic(rq)) return make_packed(team, rq, plan);
    if (rq->call.shared) TT_TRY(tt_request_shared(team, rq));
    TT_TRY(find_shape(team, rq, &prepared));
    return plan_of(team, rq, prepared, plan);
}

tutti_status tt_request_plan(tutti_team *team, struct tt_request *rq, unsigned flags,
                             tutti_plan **plan)
{
    if (flags & ~(unsigned)(TUTTI_PLAN_IN_ORDER | TUTTI_PLAN_SHARED))
        return tt_fail(TUTTI_ERR_ARG, "flags %#x are none", flags);
    if (flags & TUTTI_PLAN_IN_ORDER) rq->call.commutes = false;
    rq->call.shared = flags & TUTTI_PLAN_SHARED;
    return make_plan(team, rq, plan);
}

tutti_status tt_request_start(tutti_team *team, struct tt_request *rq, tutti_plan **plan)
{
    tutti_status status = make_plan(team, rq, plan);
    if (status != TUTTI_OK) return cannot_start(team, status);
    return tutti_start(*plan);
}

/* Ends a plan that is complete: its owner knows that now, so the plan is not under way any more.
 * Unpacks the output of a derived type if that was not done before. */
static inline tutti_status finish(tutti_plan *plan)
{
    plan->under_way = false;
    if (tt_unlikely(plan->packed != NULL))
        tt_packed_end(plan->packed, plan->exec->status == TUTTI_OK);
    return tt_likely(plan->exec->status == TUTTI_OK) ? TUTTI_OK : tt_team_error(&plan->team->run);
}

/* Whether a plan is under way is its owner's affair alone: another rank, or how quickly the members
 * came, has no part in it, so that the same program gets the same answer each time. */
tutti_status tutti_start(tutti_plan *plan)
{
    TT_TRY_HANDLE(plan);
    if (plan->under_way)
        return tt_fail(TUTTI_ERR_ARG, "the plan is under way already: complete it first, by "
                                      "tutti_wait or by tutti_test until that returns TUTTI_OK");
    if (tt_unlikely(plan->packed != NULL)) tt_packed_begin(plan->packed);
    plan->under_way = true;
    tt_exec_start(plan->exec);
    tt_exec_advance(plan->exec);
    return TUTTI_OK;
}

tutti_status tutti_test(tutti_plan *plan)
{
    TT_TRY_HANDLE(plan);
    struct tt_team *t = &plan->team->run;
    if (plan->exec->state != TT_EXEC_IDLE) {
        tt_team_advance(t);
        tt_team_check(t, false);
    }
    return plan->exec->state == TT_EXEC_IDLE ? finish(plan) : TUTTI_AGAIN;
}

tutti_status tutti_wait(tutti_plan *plan)
{
    TT_TRY_HANDLE(plan);
    tt_msg_outside(plan->team->client->msg, "tutti_wait");
    (void)tt_exec_wait(plan->exec);
    return finish(plan);
}

tutti_status tutti_plan_free(tutti_plan *plan)
{
    if (!plan) return TUTTI_OK;
    TT_TRY_HANDLE(plan);
    if (plan->under_way)
        return tt_fail(TUTTI_ERR_ARG,
                       "the plan is under way: complete it first, by tutti_wait or by "
                       "tutti_test until that returns TUTTI_OK");
    tt_plan_delete(plan);
    return TUTTI_OK;
}
