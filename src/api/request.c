/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The three forms of a collective, in the same steps: find the plan of the call, bind an execution
 * to the buffers, start the execution, complete it. Nonblocking and persistent forms keep the
 * execution in a request. A struct tt_prepared (choose/cache.h) holds the plan for calls of one
 * shape. It counts its uses; the owner of a use gives it up with tt_prepared_drop.
 */
#include <sched.h>
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

/* Returns the address of the input of a call in place, which begins `place` bytes after the start
 * of `out`; NULL if `out` is NULL. */
static inline char *input_in(void *out, int64_t place)
{
    return out ? (char *)out + place : NULL;
}

static inline void bind(struct tt_exec *exec, const struct tt_prepared *prepared,
                        const struct tt_args *args)
{
    exec->buffer[TT_OUT] = args->out;
    exec->buffer[TT_IN] =
        args->call.in_place ? input_in(args->out, prepared->place) : (char *)args->in;
    if (tt_unlikely(args->op != 0)) exec->op = args->op;
    if (tt_unlikely(prepared->segments)) bind_segments(exec, &args->call, exec->team->me);
}

static struct tt_exec *exec_for(tutti_team *team, struct tt_prepared *prepared)
{
    struct tt_exec *exec = tt_exec_new(&team->run, prepared->plan, prepared->windows);
    if (!exec) return NULL;
    exec->shape = prepared->shape;
    exec->signature = &prepared->signature;
    /* A call without the signature of a collective is a step of another call, which is traced as a
     * whole (tt_trace_call_begin). */
    if (prepared->signature.coll >= TT_COLLS) exec->traced = false;
    exec->bytes[TT_IN] = prepared->in_bytes;
    exec->bytes[TT_OUT] = prepared->out_bytes;
    return exec;
}

/* Breaks the team if `status` means that this rank cannot start a call that the other ranks start,
 * so that no rank waits for it. Returns the status. */
static tutti_status cannot_start(tutti_team *team, tutti_status status)
{
    if (status == TUTTI_ERR_MEMORY || status == TUTTI_ERR_LIMIT || status == TUTTI_ERR_SYSTEM)
        tt_team_break(&team->run, status);
    return status;
}

/* ---- Collectives that the library runs as a part of another call ---- */

tutti_status tt_team_step(tutti_team *team, enum tt_signature_other as, enum tt_coll coll,
                          const void *in, void *out, int64_t n)
{
    struct tt_args args = {.call = {.coll = coll,
                                    .as = (int8_t)as,
                                    .commutes = true,
                                    .n = n,
                                    .type = TUTTI_I64,
                                    .op = coll == TT_COLL_allreduce ? TUTTI_MAX : TUTTI_SUM},
                           .in = in,
                           .out = out};
    return tt_collective_run(team, &args);
}

/* Decides a trial: the ranks exchange the times of the n candidates that they have measured, and
 * choose the fastest (choose/measure.h). The exchange has a signature and a plan of its own, not
 * those of the user's allreduce (tt_call.as). */
static tutti_status decide(tutti_team *team, struct tt_trial *trial, int n)
{
    TT_TRY(
        tt_team_step(team, TT_SIGNATURE_MEASURE, TT_COLL_allreduce, TUTTI_IN_PLACE, trial->ns, n));
    tt_trial_decide(trial, &team->run);
    return TUTTI_OK;
}

/* Finds the plan for a blocking call that is measured and whose shape is not in the cache. During
 * the trial, this is the plan of the algorithm that is measured next; after the trial, it is that
 * of the chosen algorithm. */
static tutti_status measured_shape(tutti_team *team, const struct tt_call *call,
                                   struct tt_prepared **prepared)
{
    struct tt_trial *trial;
    int n;
    TT_TRY(tt_trial_find(&team->cache, &team->run, call, &trial));
    if (!trial) return tt_cache_make(&team->cache, &team->run, call, prepared);
    if (tt_trial_is_over(trial, &n)) TT_TRY(decide(team, trial, n));
    return tt_trial_plan(trial, &team->cache, &team->run, call, prepared);
}

/* Makes a plan that only one request uses; the caller ends this use with tt_prepared_drop. The
 * function takes no plan from the cache, because the cached plan may be that of an algorithm that
 * is being measured. */
static tutti_status steady_shape(tutti_team *team, const struct tt_call *call,
                                 struct tt_prepared **prepared)
{
    TT_TRY(tt_prepare(&team->cache, &team->run, call, prepared));
    (*prepared)->owned = true;
    return TUTTI_OK;
}

/* Waits for the other ranks of the team, and begins to measure the call. After an error, the
 * function gives up the caller's use of the plan. */
static tutti_status begin_measured(tutti_team *team, struct tt_prepared *prepared)
{
    tutti_status status = tt_team_step(team, TT_SIGNATURE_MEASURE, TT_COLL_barrier, NULL, NULL, 0);
    if (status == TUTTI_OK)
        tt_trial_begin(prepared->trial);
    else
        tt_prepared_drop(prepared);
    return status;
}

/* ---- The plan for a call ---- */

/* Sets *given, by which an earlier call with the same arguments is found again. The call in `args`
 * is not checked yet, or it is a packed call. A gatherv or scatterv that is not checked has its
 * lists in args->counts and args->displs. Only the root reads them, because the pointers of other
 * ranks may point anywhere. The members are assigned one by one: copying the whole structure would
 * be measurable in a short call. */
static inline void set_given(struct tt_as_given *given, const tutti_team *team,
                             const struct tt_args *args)
{
    const struct tt_call *c = &args->call;
    bool lists = c->out_counts != NULL, is_root = team->run.me == c->root;
    given->key = tt_shape_key(c);
    given->n = lists ? 0 : args->n;
    given->longest = 0;
    given->list[0] = lists ? c->in_counts : is_root ? args->counts : NULL;
    given->list[1] = lists ? c->in_displs : is_root ? args->displs : NULL;
    given->list[2] = c->out_counts;
    given->list[3] = c->out_displs;
}

tutti_status tt_prepare_given(tutti_team *team, const struct tt_call *call,
                              const struct tt_as_given *given, struct tt_prepared **prepared)
{
    int p = team->run.map.p;
    struct tt_repeat *same = call->neighbors ? NULL : tt_repeat_find(&team->cache, given, p);
    if (same) {
        same->prepared->uses++;
        *prepared = same->prepared;
        return TUTTI_OK;
    }
    TT_TRY(tt_prepare(&team->cache, &team->run, call, prepared));
    struct tt_repeat repeat = {.prepared = *prepared, .given = *given, .call = *call};
    tt_args_stretch(team, call, &repeat.in, &repeat.out);
    if (!call->neighbors) tt_repeat_keep(&team->cache, &repeat, p);
    return TUTTI_OK;
}

static tutti_status shape_of_counts(tutti_team *team, const struct tt_args *args,
                                    const struct tt_as_given *given, struct tt_prepared **prepared)
{
    const struct tt_algorithm *first;
    TT_TRY(tt_choose_first(&args->call, &team->run.map, &first));
    if (tt_unlikely(first != NULL)) return tt_counts_prepare(team, args, given, first, prepared);
    return tt_prepare_given(team, &args->call, given, prepared);
}

/* Finds or makes the plan of a checked call. If (*prepared)->owned is true, the caller owns a use
 * of the plan. */
static tutti_status shape_of(tutti_team *team, const struct tt_args *args,
                             const struct tt_as_given *given, struct tt_prepared **prepared)
{
    if (tt_call_counts(&args->call)) return shape_of_counts(team, args, given, prepared);
    if (args->call.steady) return steady_shape(team, &args->call, prepared);
    /* Calls with user-defined operations also find their plans here, because the operation has been
     * checked by now (find_shape). */
    *prepared = tt_cache_find(&team->cache, &args->call);
    if (*prepared) return TUTTI_OK;
    if (team->run.map.measures) return measured_shape(team, &args->call, prepared);
    return tt_cache_make(&team->cache, &team->run, &args->call, prepared);
}

static inline bool overlap(const void *a, int64_t an, const void *b, int64_t bn)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + (uintptr_t)bn && y < x + (uintptr_t)an;
}

/* Checks the buffers against the sizes that the plan needs. */
static inline tutti_status check_buffers(const tutti_team *team, const struct tt_prepared *p,
                                         const struct tt_args *args)
{
    int64_t in = args->call.in_place ? 0 : p->in_bytes, out = p->out_bytes;
    if (tt_unlikely((in > 0 && !args->in) || (out > 0 && !args->out)))
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", in > 0 && !args->in ? "in" : tt_args_out(args));
    if (tt_unlikely(args->out == TUTTI_IN_PLACE) &&
        !tt_call_ignores(&args->call, true, team->run.me))
        return tt_fail(TUTTI_ERR_ARG, "%s is TUTTI_IN_PLACE (allowed only as in)",
                       tt_args_out(args));
    if (tt_unlikely(in > 0 && out > 0 && overlap(args->in, in, args->out, out)))
        return tt_fail(TUTTI_ERR_ARG, "in and out overlap; TUTTI_IN_PLACE is for equal buffers");
    return TUTTI_OK;
}

/* Returns whether the buffers of a call with counts are certainly right: no buffer that is used is
 * NULL, and the range in which all input pieces lie does not overlap that of the output pieces. If
 * the two ranges overlap, only a comparison of the pieces can show whether the buffers are right,
 * and the function returns false. */
static bool has_clear_buffers(const struct tt_repeat *repeat, const struct tt_args *args)
{
    const struct tt_stretch *in = &repeat->in, *out = &repeat->out;
    bool reads = in->begin < in->end, writes = out->begin < out->end;
    if ((reads && !args->in) || (writes && !args->out)) return false;
    if (args->call.in_place && !args->out) return false; /* `out` has the input, too */
    return !reads || !writes ||
           !overlap((const char *)args->in + in->begin, in->end - in->begin,
                    (const char *)args->out + out->begin, out->end - out->begin);
}

/* Finds the plan of an earlier call with counts that was given the same arguments. The earlier call
 * was checked, so only the buffers are checked here. Returns NULL if there is no such call, or if
 * the buffers are not certainly right. The function is not inlined, so that calls without counts do
 * not become slower. */
static __attribute__((noinline)) struct tt_prepared *find_repeat(tutti_team *team,
                                                                 struct tt_args *args)
{
    struct tt_as_given given;
    set_given(&given, team, args);
    struct tt_repeat *same = tt_repeat_find(&team->cache, &given, team->run.map.p);
    if (!same || !has_clear_buffers(same, args)) return NULL;
    const struct tt_call *checked = &same->call;
    args->call.n = checked->n;
    args->call.sz = checked->sz;
    args->call.in_counts = checked->in_counts;
    args->call.in_displs = checked->in_displs;
    args->call.out_counts = checked->out_counts;
    args->call.out_displs = checked->out_displs;
    same->prepared->uses++;
    return same->prepared;
}

/* Checks the call, and finds or makes its plan. If the call is measured and its buffers are right,
 * the measurement begins here. */
static __attribute__((noinline)) tutti_status make_shape(tutti_team *team, struct tt_args *args,
                                                         struct tt_prepared **prepared)
{
    struct tt_as_given given;
    /* `given` is set before the check, because tt_args_check adds lists that the user has not
     * given. */
    set_given(&given, team, args);
    TT_TRY(tt_args_check(team, args));
    if ((unsigned)args->call.op >= TUTTI_OPS)
        /* tt_args_check has found out whether the operation commutes, and given->key depends on
         * that, so `given` is set again */
        set_given(&given, team, args);
    TT_TRY(shape_of(team, args, tt_call_counts(&args->call) ? &given : NULL, prepared));
    if ((*prepared)->trial && check_buffers(team, *prepared, args) == TUTTI_OK)
        return begin_measured(team, *prepared);
    return TUTTI_OK;
}

/* Finds or makes the plan of a call, and checks the buffers. A call whose plan is in the cache is
 * not checked again, because the call for which the plan was made was checked. Exceptions are calls
 * with a user-defined operation, which may have been freed since, and calls with counts, whose
 * plans find_repeat finds. If (*prepared)->owned is true, the caller owns a use of the plan. */
static inline tutti_status find_shape(tutti_team *team, struct tt_args *args,
                                      struct tt_prepared **prepared)
{
    args->call.in_place = args->in == TUTTI_IN_PLACE;
    *prepared = NULL;
    if (tt_likely((unsigned)args->call.op < TUTTI_OPS))
        *prepared = TT_COUNTING >> args->call.coll & 1 ? find_repeat(team, args)
                                                       : tt_cache_find(&team->cache, &args->call);
    if (tt_unlikely(!*prepared)) TT_TRY(make_shape(team, args, prepared));
    tutti_status status = check_buffers(team, *prepared, args);
    if (tt_unlikely(status != TUTTI_OK && (*prepared)->owned)) tt_prepared_drop(*prepared);
    return status;
}

static tutti_status make_request(tutti_team *team, struct tt_args *args, tutti_request **request);

/* ---- Blocking ---- */

static tutti_status run_spare(tutti_team *team, struct tt_prepared *prepared,
                              const struct tt_args *args)
{
    if (tt_unlikely(!prepared->spare)) {
        if (!(prepared->spare = exec_for(team, prepared)))
            return cannot_start(team, tt_error_status());
        tt_exec_block(prepared->spare);
    }
    bind(prepared->spare, prepared, args);
    tt_exec_start(prepared->spare);
    return tt_exec_wait(prepared->spare);
}

static inline void end_owned(struct tt_prepared *prepared)
{
    if (tt_unlikely(prepared->trial != NULL)) tt_trial_end(prepared->trial);
    tt_prepared_drop(prepared);
}

/* Returns whether the call packs its elements at the start and unpacks them at the end. */
static bool packs(const struct tt_args *args)
{
    return (unsigned)args->call.type >= TUTTI_TYPES || args->exchanges_in_place;
}

static tutti_status run_packed(tutti_team *team, struct tt_args *args)
{
    tutti_request *request;
    tutti_status status = make_request(team, args, &request);
    if (status != TUTTI_OK) return cannot_start(team, status);
    tt_exec_block(request->exec);
    status = tutti_start(request);
    if (status == TUTTI_OK) status = tutti_wait(request);
    if (request->prepared->trial) tt_trial_end(request->prepared->trial);
    tt_request_delete(request);
    return status;
}

tutti_status tt_collective_run(tutti_team *team, struct tt_args *args)
{
    struct tt_prepared *prepared;
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tt_collective_run(team, args));
    tt_assert(tt_msg_outside(team->client->msg, "a collective that blocks"));
    args->may_wait = true;
    if (tt_unlikely(packs(args))) return run_packed(team, args);
    tutti_status status = find_shape(team, args, &prepared);
    if (tt_likely(status == TUTTI_OK)) {
        status = run_spare(team, prepared, args);
        if (tt_unlikely(prepared->owned)) end_owned(prepared);
    } else {
        status = cannot_start(team, status);
    }
    if (tt_unlikely(args->lists != NULL)) tt_free(args->lists);
    return status;
}

/* ---- Requests ---- */

/* Copies the caller's counts and displacements into the request, which outlives the caller's lists.
 * In a neighbourhood collective, request->packed has them already. */
static tutti_status keep_counts(tutti_request *request, int p)
{
    const int64_t **lists[] = {&request->call.in_counts, &request->call.in_displs,
                               &request->call.out_counts, &request->call.out_displs};
    if (!tt_call_counts(&request->call) || request->call.neighbors) return TUTTI_OK;
    int64_t *at = request->counts = tt_alloc(4 * (size_t)p * sizeof *at);
    if (!at) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the counts of a request");
    for (int i = 0; i < 4; i++) {
        if (!*lists[i]) continue;
        memcpy(at, *lists[i], (size_t)p * sizeof *at);
        *lists[i] = at;
        at += p;
    }
    return TUTTI_OK;
}

static struct tt_handles handles = TT_HANDLES(tutti_request, 64);

static void free_request(tutti_request *request)
{
    tt_free(request->counts);
    tt_handle_free(&handles, request);
}

/* Returns an execution for a request: the one that an earlier request has left, or a new one. NULL:
 * there was an error. */
static struct tt_exec *exec_for_request(tutti_team *team, struct tt_prepared *prepared)
{
    struct tt_exec *idle = prepared->idle;
    prepared->idle = NULL;
    return idle ? idle : exec_for(team, prepared);
}

/* Ends the use of an execution by a request. Keeps the execution for the next request of the same
 * call if it has no scratch memory, and has nothing of this request but the buffers, which `bind`
 * sets again. The last request that uses the plan frees its execution. */
static void leave_exec(const tutti_request *request)
{
    struct tt_exec *exec = request->exec;
    struct tt_prepared *prepared = request->prepared;
    bool keeps = prepared->uses > 1 && !prepared->idle && !prepared->segments && !request->packed &&
                 !exec->remote && exec->plan->tmp_bytes == 0;
    if (keeps && exec->status == TUTTI_OK)
        prepared->idle = exec;
    else
        tt_exec_free(exec);
}

/* Returns NULL after an error (tt_error_status). */
static tutti_request *new_request(tutti_team *team, const struct tt_call *call,
                                  struct tt_prepared *prepared)
{
    tutti_request *request = tt_handle_new(&handles);
    if (!request) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a request");
        return NULL;
    }
    request->team = team;
    request->prepared = prepared;
    request->call = *call;
    if (keep_counts(request, team->run.map.p) == TUTTI_OK)
        request->exec = exec_for_request(team, prepared);
    if (request->exec) return request;
    free_request(request);
    return NULL;
}

static void enlist(tutti_request *request)
{
    request->link = &request->team->requests;
    request->next = request->team->requests;
    if (request->next) request->next->link = &request->next;
    request->team->requests = request;
}

void tt_request_delete(tutti_request *request)
{
    *request->link = request->next;
    if (request->next) request->next->link = request->link;
    tt_exec_abandon(request->exec);
    tt_exec_settle_debt(request->exec);
    bool reachable = tt_exec_is_reachable(request->exec);
    leave_exec(request);
    tt_prepared_drop(request->prepared);
    tt_packed_free(request->packed, reachable ? &request->team->client->fabric : NULL);
    free_request(request);
}

static tutti_status request_of(tutti_team *team, struct tt_args *args, struct tt_prepared *prepared,
                               tutti_request **request)
{
    if (!prepared->owned) prepared->uses++;
    tutti_request *made = new_request(team, &args->call, prepared);
    if (!made) {
        tutti_status status = tt_error_status();
        tt_prepared_drop(prepared);
        return status;
    }
    struct tt_args kept = {.call = made->call, .in = args->in, .out = args->out, .op = args->op};
    bind(made->exec, prepared, &kept);
    if (made->exec->call) made->exec->call = &made->call;
    enlist(made);
    *request = made;
    return TUTTI_OK;
}

/* Stores the signature of the call as the user made it, with elements of the derived type.
 * exec->shape is a fingerprint of the call. A call publishes its signature only if its fingerprint
 * differs from that of the call that used its slot before. Calls with different derived types may
 * use the same plan, which determines the fingerprint. So the function mixes the type into the
 * upper half of the fingerprint, which the ranks do not compare, and the call publishes its own
 * signature. */
static void name_packed(tutti_request *request, const struct tt_args *args,
                        struct tt_packed *packed)
{
    const struct tt_call_signature *plain = &request->prepared->signature;
    request->packed = packed;
    struct tt_call_signature *w = &request->signature;
    *w = tt_signature_of(&args->call, request->team->run.map.p, plain->print);
    w->type = packed->contents[0] ? packed->type : plain->type;
    w->flags |= plain->flags & TT_SIGNATURE_CONTENTS;
    if (w->form) w->n = args->n;
    w->element = (int32_t)tt_min(packed->element, INT32_MAX);
    request->exec->signature = w;
    uint64_t text = (uint64_t)(uint32_t)w->element + (uint64_t)w->n;
    if (w->form) text += (uint64_t)(uint32_t)w->type * 0x9e3779b97f4a7c15u >> 32;
    request->exec->shape ^= text << 32;
}

static tutti_status make_packed(tutti_team *team, struct tt_args *args, tutti_request **request)
{
    struct tt_packed *packed;
    struct tt_prepared *prepared;
    args->call.in_place = args->in == TUTTI_IN_PLACE;
    TT_TRY(tt_args_check(team, args));
    TT_TRY(tt_packed_new(team, args, &packed));
    struct tt_as_given given;
    set_given(&given, team, &packed->args);
    tutti_status status = shape_of(team, &packed->args, &given, &prepared);
    if (status == TUTTI_OK && prepared->trial) status = begin_measured(team, prepared);
    if (status == TUTTI_OK) status = request_of(team, &packed->args, prepared, request);
    if (status == TUTTI_OK)
        name_packed(*request, args, packed);
    else
        tt_packed_free(packed, NULL);
    return status;
}

/* Makes a plan and checks the buffers as find_shape does, but takes no plan from the cache. */
static tutti_status find_steady(tutti_team *team, struct tt_args *args,
                                struct tt_prepared **prepared)
{
    TT_TRY(make_shape(team, args, prepared));
    tutti_status status = check_buffers(team, *prepared, args);
    if (status != TUTTI_OK) tt_prepared_drop(*prepared);
    return status;
}

static tutti_status make_plain(tutti_team *team, struct tt_args *args, tutti_request **request)
{
    struct tt_prepared *prepared;
    args->call.in_place = args->in == TUTTI_IN_PLACE;
    if (args->call.shared) TT_TRY(tt_args_shared(team, args));
    if (tt_unlikely(args->call.steady))
        TT_TRY(find_steady(team, args, &prepared));
    else
        TT_TRY(find_shape(team, args, &prepared));
    return request_of(team, args, prepared, request);
}

/* Returns whether the ranks may communicate before they make the plan of the call; true also if
 * that cannot be found out. The function leaves the error text as it is, because it is the text of
 * the error with which the call has failed. */
static bool meets_first(const tutti_team *team, const struct tt_args *args)
{
    char kept[TT_ERROR_TEXT];
    const struct tt_algorithm *first;
    tt_error_keep(kept);
    tutti_status status = tt_choose_first(&args->call, &team->run.map, &first);
    tt_error_restore(kept);
    return status != TUTTI_OK || first != NULL;
}

/* Makes a request. args->call.steady is set for a request of the user. It is not set for a blocking
 * call that packs, because other ranks may make the same call without packing, and may choose its
 * algorithm by measuring it.
 *
 * A persistent request is normally made without communication, so an error of this rank does not
 * concern the other ranks. If the algorithm lets the ranks communicate first (meets_first), the
 * other ranks wait for this rank, so the error breaks the team. */
static tutti_status make_request(tutti_team *team, struct tt_args *args, tutti_request **request)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, make_request(team, args, request));
    if (!request) return tt_fail(TUTTI_ERR_ARG, "request is NULL");
    args->call.steady &= team->run.map.measures;
    tutti_status status =
        packs(args) ? make_packed(team, args, request) : make_plain(team, args, request);
    if (tt_unlikely(args->lists != NULL)) tt_free(args->lists);
    if (tt_unlikely(status != TUTTI_OK) && args->may_wait && meets_first(team, args))
        return cannot_start(team, status);
    return status;
}

tutti_status tt_collective_init(tutti_team *team, struct tt_args *args, unsigned flags,
                                tutti_request **request)
{
    if (flags & ~(unsigned)(TUTTI_REQUEST_IN_ORDER | TUTTI_REQUEST_SHARED))
        return tt_fail(TUTTI_ERR_ARG,
                       "flags: unknown bits %#x (known: TUTTI_REQUEST_IN_ORDER, "
                       "TUTTI_REQUEST_SHARED)",
                       flags & ~(unsigned)(TUTTI_REQUEST_IN_ORDER | TUTTI_REQUEST_SHARED));
    if (flags & TUTTI_REQUEST_IN_ORDER) args->call.commutes = false;
    args->call.shared = flags & TUTTI_REQUEST_SHARED;
    args->call.steady = true;
    args->may_wait = true;
    return make_request(team, args, request);
}

tutti_status tt_collective_start(tutti_team *team, struct tt_args *args, tutti_request **request)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tt_collective_start(team, args, request));
    args->call.steady = true;
    tutti_status status = make_request(team, args, request);
    if (status != TUTTI_OK) return cannot_start(team, status);
    return tutti_start(*request);
}

/* Ends a request whose execution is complete: records that the request is not under way any more,
 * and unpacks the output of a derived type if that was not done before. Returns the error of the
 * team if the execution failed. */
static inline tutti_status finish(tutti_request *request)
{
    request->under_way = false;
    tt_exec_settle_debt(request->exec);
    if (tt_unlikely(request->packed != NULL))
        tt_packed_end(request->packed, request->exec->status == TUTTI_OK);
    return tt_likely(request->exec->status == TUTTI_OK) ? TUTTI_OK
                                                        : tt_team_error(&request->team->run);
}

/* A request is under way until its owner has called tutti_wait, or a test that returned anything
 * but AGAIN, even if its execution has ended before. So it does not depend on the speed of other
 * ranks whether this function returns an error. */
tutti_status tutti_start(tutti_request *request)
{
    TT_TRY_HANDLE(request);
    TT_LOCKED(request->team->client->lock, tutti_start(request));
    if (request->under_way)
        return tt_fail(TUTTI_ERR_ARG,
                       "the request is under way already: complete it first, by "
                       "tutti_wait or by tutti_test until it returns anything but TUTTI_AGAIN");
    /* On a broken team the execution ends at once, so nothing reads packed elements. */
    if (tt_unlikely(request->packed != NULL) && request->team->run.broken == TUTTI_OK)
        tt_packed_begin(request->packed);
    request->under_way = true;
    if (!request->exec->blocks) tt_exec_owe(request->exec);
    tt_exec_start(request->exec);
    tt_exec_advance(request->exec);
    return TUTTI_OK;
}

/* Lets other ranks run if this rank tests requests in a loop, and the ranks share processors. The
 * rank for which this rank waits may need this processor. Without a yield it would get the
 * processor only when the kernel preempts this rank, after milliseconds in each step. A program
 * that calculates between tests keeps its processor. Threads that share a client hold its lock
 * here, so they do not yield. */
static tutti_status not_yet(tutti_client *client)
{
    enum { LOOP_NS = 10000 }; /* tests that follow each other within this time are a loop */
    const struct tt_wait_policy *policy = &client->fabric.policy;
    if (policy->spins > 0 || policy->lock) return TUTTI_AGAIN;
    if (tt_clock_ns() < client->tested_ns + LOOP_NS) sched_yield();
    client->tested_ns = tt_clock_ns();
    return TUTTI_AGAIN;
}

tutti_status tutti_test(tutti_request *request)
{
    TT_TRY_HANDLE(request);
    TT_LOCKED(request->team->client->lock, tutti_test(request));
    struct tt_team *t = &request->team->run;
    if (request->exec->state != TT_EXEC_IDLE) {
        tt_team_advance_all(t);
        tt_team_check(t, false);
    }
    if (request->exec->state == TT_EXEC_IDLE) return finish(request);
    return not_yet(request->team->client);
}

tutti_status tutti_request_check(tutti_request *request)
{
    TT_TRY_HANDLE(request);
    TT_LOCKED(request->team->client->lock, tutti_request_check(request));
    return request->exec->state == TT_EXEC_IDLE ? finish(request) : TUTTI_AGAIN;
}

tutti_status tutti_wait(tutti_request *request)
{
    TT_TRY_HANDLE(request);
    TT_LOCKED(request->team->client->lock, tutti_wait(request));
    tt_assert(tt_msg_outside(request->team->client->msg, "tutti_wait"));
    (void)tt_exec_wait(request->exec);
    return finish(request);
}

tutti_status tutti_request_free(tutti_request *request)
{
    if (!request) return TUTTI_OK;
    TT_TRY_HANDLE(request);
    TT_LOCKED(request->team->client->lock, tutti_request_free(request));
    if (request->under_way)
        return tt_fail(TUTTI_ERR_ARG,
                       "the request is under way: complete it first, by tutti_wait or by "
                       "tutti_test until it returns anything but TUTTI_AGAIN");
    tt_request_delete(request);
    return TUTTI_OK;
}
