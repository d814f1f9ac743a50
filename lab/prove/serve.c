/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gives the library the plan of a rank from a plan file, after it has proven the schedule for the
 * call. All ranks of a team ask with the same arguments, except for their rank, and except that
 * only the root knows whether it calls in place. So if their files have the same contents, all
 * ranks get the same answer, or the root gets another one, and then the call fails on all ranks.
 */
#include <stdio.h>
#include <string.h>

#include "plan/lab.h"
#include "prove/prove.h"
#include "text/plan-file.h"

struct served {
    const struct tt_lab_request *request;
    struct tt_plan_file file;
    /* The call as it is known to this rank. In a collective in which only the root may call in
     * place, the root alone knows whether it does. Other ranks prove the schedule for a root that
     * does not. */
    struct tt_call call;
    struct tt_plan **plans;
    struct tt_call *calls;
    int p;
};

const char *tutti_lab_version(void)
{
    static char text[TT_VERSION];
    return tt_version(text);
}

static void set_calls(struct served *s)
{
    bool roots = tt_coll_is_roots(s->request->call->coll);
    s->call = *s->request->call;
    if (roots) s->call.in_place &= s->request->me == s->call.root;
    for (int r = 0; r < s->p; r++) {
        s->calls[r] = s->call;
        if (roots) s->calls[r].in_place &= r == s->call.root;
    }
}

/* Proves that the schedule is right, also if ranks start a second execution of it before the first
 * one has ended. */
static tutti_status prove(struct served *s, struct tt_prover *prover)
{
    const char *how =
        tt_coll_is_roots(s->call.coll) && s->call.in_place ? " for a root that calls in place" : "";
    struct tt_proof proof = {.fault = TT_FAULT_NONE};
    struct tt_proof_execution twice[2];
    for (int i = 0; i < 2; i++)
        twice[i] = (struct tt_proof_execution){(const struct tt_plan *const *)s->plans, s->calls};
    struct tt_proof_case problem = {.p = s->p,
                                    .executions = 2,
                                    .in_flight = 2,
                                    .execution = twice,
                                    .map = s->request->map,
                                    .file = &s->file};
    TT_TRY(tt_prove(prover, &problem, &proof));
    if (proof.fault == TT_FAULT_NONE) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "the schedule of the plan file %s is refuted%s: %s: %s",
                   s->file.name, how, tt_fault_text(proof.fault), proof.text);
}

static tutti_status prove_all(struct served *s)
{
    struct tt_prover *prover = tt_prover_new();
    if (!prover) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a prover");
    tutti_status status = prove(s, prover);
    tt_prover_free(prover);
    return status;
}

static tutti_status parse(struct served *s)
{
    s->plans = tt_calloc((size_t)s->p, sizeof *s->plans);
    s->calls = tt_calloc((size_t)s->p, sizeof *s->calls);
    if (!s->plans || !s->calls)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the plans of %d ranks", s->p);
    set_calls(s);
    if (!tt_plan_file_plans(&s->file, &s->call, s->p, s->plans)) return TUTTI_ERR_ARG;
    return prove_all(s);
}

static tutti_status serve(struct served *s, struct tt_lab_answer *answer)
{
    int me = s->request->me;
    TT_TRY(tt_plan_file_open(&s->file, s->request->path));
    tutti_status status = parse(s);
    answer->hash = s->file.hash;
    if (status == TUTTI_OK) {
        answer->plan = s->plans[me];
        s->plans[me] = NULL;
    }
    for (int r = 0; r < s->p && s->plans; r++) tt_plan_free(s->plans[r]);
    tt_free(s->plans);
    tt_free(s->calls);
    tt_plan_file_close(&s->file);
    return status;
}

void tutti_lab_plan(const struct tt_lab_request *request, struct tt_lab_answer *answer)
{
    struct served s = {.request = request, .p = request->map->p};
    *answer = (struct tt_lab_answer){.plan = NULL};
    answer->status = serve(&s, answer);
    if (answer->status != TUTTI_OK) snprintf(answer->why, sizeof answer->why, "%s", tutti_error());
}
