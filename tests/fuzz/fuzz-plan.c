/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as text. A text that is accepted gives valid plans, which print as a text that parses to
 * the same plans, and which unroll to well-formed steps. If they are the plans of all ranks of a
 * small team, the prover must reach a verdict, and the same verdict a second time.
 */
#include "fuzz.h"
#include "prove/prove.h"
#include "text/text.h"
#include "type/type.h"

enum { PLANS = 4, ELEMENTS = 8, STEPS_READ = 20000, STEPS_PROVEN = 500 };

static const int64_t counts[PLANS] = {3, 0, 5, 1}, displs[PLANS] = {0, 3, 4, 9};

static void is_reported(const char *text, const struct tt_text_error *error)
{
    const char *at = text;
    for (int line = 1; line < error->line; line++) {
        at = strchr(at, '\n');
        fuzz_check(at, "there is no line %d", error->line);
        at++;
    }
    fuzz_check(error->column >= 1 && (size_t)error->column <= strlen(at) + 1, "column %d of %s",
               error->column, at);
    fuzz_check(error->text[0], "nothing is said");
}

/* ---- Printing ---- */

static char *print_all(struct tt_plan *const *plans, int n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    for (int i = 0; i < n; i++) tt_plan_print(plans[i], out);
    fclose(out);
    return text;
}

static void come_back(struct tt_plan *const *plans, int n)
{
    struct tt_plan *again[PLANS];
    struct tt_text_error error;
    char *text = print_all(plans, n);
    int got = tt_plans_parse(text, again, PLANS, &error);
    fuzz_check(got == n, "%d of %d: line %d, column %d: %s\n%s", got, n, error.line, error.column,
               error.text, text);
    for (int i = 0; i < n; i++)
        fuzz_check(tt_plan_equal(plans[i], again[i]), "plan %d is another:\n%s", i, text);
    char *twice = print_all(again, n);
    fuzz_check(strcmp(text, twice) == 0, "printed otherwise:\n%s%s", text, twice);
    for (int i = 0; i < n; i++) tt_plan_free(again[i]);
    free(twice);
    free(text);
}

/* ---- Reading ---- */

static double exchanged(const struct tt_plan *plan, const struct tt_step *s)
{
    const struct tt_exchange *x = &plan->exchanges[s->first];
    double steps = 0;
    for (uint32_t i = 0; i < x->n; i++)
        steps += 2 * (1 + (double)plan->entries[x->first + i].len / (double)x->chunk);
    return steps;
}

/* Returns the largest number of steps that a lane can have, with each turn of a loop counted. */
static double steps_of(const struct tt_plan *plan, int lane)
{
    double steps = 0, times[TT_DEPTH + 1] = {1};
    int depth = 0;
    for (uint32_t i = 0; i < plan->lane[lane].n; i++) {
        const struct tt_step *s = &plan->steps[plan->lane[lane].first + i];
        if (s->kind == TT_LOOP) {
            times[depth + 1] = times[depth] * s->value;
            depth++;
        }
        steps += times[depth] * (s->kind == TT_EXCHANGE ? exchanged(plan, s) : 1);
        depth -= s->kind == TT_END;
    }
    return steps;
}

static double all_steps(const struct tt_plan *plan)
{
    double steps = 0;
    for (uint32_t lane = 0; lane < plan->lanes; lane++) steps += steps_of(plan, (int)lane);
    return steps;
}

static void is_step(const struct tt_plan *plan, const struct tt_plain *s)
{
    fuzz_check(s->kind <= TT_REDUCE, "kind %d", (int)s->kind);
    fuzz_check(s->at < plan->steps_n, "step %u", s->at);
    int stored = plan->steps[s->at].kind;
    fuzz_check(stored == (int)s->kind || stored == TT_EXCHANGE, "step %u is no %d", s->at,
               (int)s->kind);
    if (s->kind == TT_SIGNAL || s->kind == TT_AWAIT || s->kind == TT_WAIT) return;
    fuzz_check(s->len > 0 && s->nops <= plan->operands, "%lld bytes, %u ranges", (long long)s->len,
               s->nops);
    for (uint32_t k = 0; k < s->nops; k++)
        fuzz_check(s->range[k].buf < TT_BUFFERS && s->range[k].rank < plan->p, "range %u", k);
}

static void reads(const struct tt_plan *plan, int lane)
{
    void *memory = malloc(tt_iter_bytes(plan, lane) + 8);
    double most = steps_of(plan, lane), n = 0;
    struct tt_iter iter;
    struct tt_plain s;
    if (!memory) abort();
    for (tt_iter_begin(&iter, plan, lane, memory); tt_iter_next(&iter, &s); n++) {
        is_step(plan, &s);
        fuzz_check(n <= most, "more than %g steps", most);
    }
    free(memory);
}

static void unrolls(const struct tt_plan *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    fuzz_check(tt_plan_print_unrolled(plan, out) == TUTTI_OK, "%s", tutti_error());
    fclose(out);
    free(text);
}

/* ---- Proving ---- */

static struct tt_call call_of(const struct tt_plan *plan)
{
    struct tt_call call = {.coll = plan->coll,
                           .type = plan->type,
                           .op = plan->op,
                           .commutes = plan->op < TUTTI_OP_USER,
                           .sz = (int64_t)tutti_type_size(plan->type)};
    if (!tt_call_counts(&call)) {
        call.n = ELEMENTS;
        return call;
    }
    call.out_counts = call.in_counts = counts;
    call.out_displs = call.in_displs = displs;
    for (int r = 0; call.coll == TT_COLL_reduce_scatter && r < plan->p; r++) call.n += counts[r];
    return call;
}

static bool are_one_team(struct tt_plan *const *plans, int n)
{
    for (int r = 0; r < n; r++)
        if (plans[r]->p != n || plans[r]->me != r || all_steps(plans[r]) > STEPS_PROVEN)
            return false;
    return n > 0;
}

static tutti_status verdict(struct tt_plan *const *plans, int n, struct tt_proof *proof)
{
    struct tt_call calls[PLANS];
    struct tt_map map = {
        .p = n, .cores = 1, .win_bytes = 4096, .reads = true, .writes = true, .nodes = 1};
    for (int r = 0; r < n; r++) calls[r] = call_of(plans[r]);
    struct tt_proof_execution once = {(const struct tt_plan *const *)plans, calls};
    struct tt_proof_execution twice[] = {once, once};
    struct tt_proof_case c = {
        .p = n, .executions = 2, .in_flight = 2, .execution = twice, .map = &map};
    struct tt_prover *prover = tt_prover_new();
    if (!prover) abort();
    tutti_status status = tt_prove(prover, &c, proof);
    tt_prover_free(prover);
    return status;
}

static void are_judged(struct tt_plan *const *plans, int n)
{
    struct tt_proof proof, again;
    tutti_status status = verdict(plans, n, &proof);
    fuzz_check(status == TUTTI_OK || status == TUTTI_ERR_ARG, "%s", tutti_error());
    if (status != TUTTI_OK) return;
    fuzz_check((unsigned)proof.fault < TT_FAULTS, "fault %d", (int)proof.fault);
    fuzz_check(proof.fault == TT_FAULT_NONE || proof.text[0], "nothing is said");
    fuzz_check(verdict(plans, n, &again) == TUTTI_OK && again.fault == proof.fault, "%s, then %s",
               proof.text, again.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct tt_text_error error = {.line = 0};
    struct tt_plan *plans[PLANS];
    int n = tt_plans_parse(text, plans, PLANS, &error);
    if (n < 0) is_reported(text, &error);
    for (int i = 0; i < n; i++) {
        fuzz_check(!tt_plan_invalid(plans[i], NULL), "%s", tt_plan_invalid(plans[i], NULL));
        if (all_steps(plans[i]) > STEPS_READ) continue;
        for (uint32_t lane = 0; lane < plans[i]->lanes; lane++) reads(plans[i], (int)lane);
        unrolls(plans[i]);
    }
    if (n > 0) come_back(plans, n);
    if (are_one_team(plans, n)) are_judged(plans, n);
    for (int i = 0; i < n; i++) tt_plan_free(plans[i]);
    free(text);
    return 0;
}
