/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses plans from text: headers and lanes.
 */
#include "text/parse.h"

#include <stdio.h>
#include <string.h>

#include "text/problem.h"
#include "type/type.h"

/* ---- The header ---- */

/* Parses "rank 0 of 4". In a plan file, "rank r" stands for any rank, and "of p" for any number of
 * ranks; to->me and to->p then keep the values that the caller has set. */
static void ranks(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    int32_t given = to->p;
    tt_lex_need(in, "rank");
    if (!to->given || !tt_lex_take(in, "r"))
        to->me = (int32_t)tt_lex_number(in, 0, TT_PROBLEM_RANKS - 1, "a rank");
    tt_lex_need(in, "of");
    if (!to->given || !tt_lex_take(in, "p"))
        to->p = (int32_t)tt_lex_number(in, 1, TT_PROBLEM_RANKS, "the number of ranks");
    if (to->given && to->p != given)
        tt_lex_wrong(in, "the plan is for %d ranks, and the problem has %d", (int)to->p,
                     (int)given);
    if (to->me >= to->p) tt_lex_wrong(in, "rank %d of %d", (int)to->me, (int)to->p);
}

static bool is_user(tutti_op op)
{
    return op >= TUTTI_OP_USER && op < TUTTI_OP_USER_END;
}

/* Parses the operation, and compares it with that of the call. A user-defined operation in a plan
 * file stands for the user-defined operation of the call, whatever its number in the file is. */
static void op(struct tt_parser *to)
{
    tt_lex_need(&to->in, "op");
    tt_lex_name(&to->in, to->op, sizeof to->op, "an operation");
    bool user = to->given && strcmp(to->op, TT_OP_USER_WORD) == 0;
    to->call.op = user ? TUTTI_OP_USER : tt_op_parse(to->op, strlen(to->op));
    if (to->call.op == TUTTI_OPS) tt_lex_wrong(&to->in, "there is no operation '%s'", to->op);
    if (!to->given || (is_user(to->call.op) && is_user(to->given->op))) {
        if (to->given) to->call.op = to->given->op;
    } else if (to->call.op != to->given->op) {
        tt_lex_wrong(&to->in, "the plan is for the operation %s, and the problem has %s", to->op,
                     is_user(to->given->op) ? TT_OP_USER_WORD : tt_op_name(to->given->op));
    }
}

/* Parses the type, and compares it with that of the call. If the collective reduces nothing, a plan
 * only moves bytes, so any type will do. */
static void type(struct tt_parser *to)
{
    tt_lex_need(&to->in, "type");
    to->call.type = (tutti_type)tt_lex_word(&to->in, &tt_type_words, "a type");
    if (!to->given || to->call.type == to->given->type) return;
    if (tt_coll_has_op(to->call.coll))
        tt_lex_wrong(&to->in, "the plan is for the type %s, and the problem has %s",
                     tt_type_name(to->call.type), tt_type_name(to->given->type));
    to->call.type = to->given->type;
}

static void collective(struct tt_parser *to)
{
    to->call.coll = (enum tt_coll)tt_lex_word(&to->in, &tt_coll_words, "a collective");
    if (to->given && to->call.coll != to->given->coll)
        tt_lex_wrong(&to->in, "the plan is for the collective %s, and the problem has %s",
                     tt_coll_name(to->call.coll), tt_coll_name(to->given->coll));
}

/* Defines the names that expressions may use. The name `bytes` has the meaning of BYTES in a
 * problem (problem.h). */
static void variables(struct tt_parser *to)
{
    const struct tt_call *call = to->given;
    to->variables_n = 0;
    tt_parse_variable(to, "r", to->me);
    tt_parse_variable(to, "p", to->p);
    if (!call || call->coll == TT_COLL_barrier) return;
    tt_parse_variable(to, "sz", call->sz);
    if (!tt_call_counts(call)) tt_parse_variable(to, "bytes", tt_call_bytes(call));
    if (tt_coll_has_root(call->coll)) tt_parse_variable(to, "root", call->root);
    bool may = !tt_coll_is_roots(call->coll) || to->me == call->root;
    tt_parse_variable(to, "inplace", call->in_place && may);
}

static uint32_t opens(struct tt_parser *to)
{
    uint32_t opened = 0;
    if (!tt_lex_take(&to->in, "opens")) return 0;
    do {
        int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
        if (buf == TT_WIN) tt_lex_wrong(&to->in, "WIN is always open");
        opened |= 1u << buf;
    } while (!tt_lex_line_ends(&to->in));
    tt_lex_line_end(&to->in);
    return opened;
}

static int64_t scratch(struct tt_parser *to)
{
    if (!tt_lex_take(&to->in, "tmp")) return 0;
    int64_t bytes = tt_parse_amount(to, TT_TEXT_BYTES, "the bytes of TMP");
    if (bytes % TT_LINE) tt_lex_wrong(&to->in, "TMP has a multiple of %d bytes", TT_LINE);
    tt_lex_line_end(&to->in);
    return bytes;
}

/* Parses the header, such as "plan allreduce algorithm flat rank 0 of 3 type f64 op sum", with the
 * lines `opens` and `tmp` that may follow, and makes the builder. */
static void header(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    to->call = (struct tt_call){0};
    snprintf(to->op, sizeof to->op, "%s", tt_op_name(to->call.op));
    tt_lex_need(in, "plan");
    collective(to);
    tt_lex_need(in, "algorithm");
    tt_lex_name(in, to->name, sizeof to->name, "an algorithm's name");
    ranks(to);
    type(to);
    if (tt_coll_has_op(to->call.coll)) op(to);
    tt_lex_line_end(in);
    variables(to);
    uint32_t opened = opens(to);
    int64_t tmp_bytes = scratch(to);
    if (in->failed) return;
    to->b = tt_builder_new(to->p, to->me, &to->call, to->name);
    if (!to->b) {
        tt_lex_wrong(in, "out of memory");
        return;
    }
    tt_builder_name_is_lent(to->b);
    tt_open(to->b, opened);
    if (tmp_bytes) (void)tt_scratch(to->b, tmp_bytes);
}

/* ---- Lanes and plans ---- */

static void lane(struct tt_parser *to, int number)
{
    if (tt_lex_number(&to->in, 0, TT_LANES - 1, "a lane") != number)
        tt_lex_wrong(&to->in, "the next lane is %d", number);
    tt_lex_line_end(&to->in);
    if (to->in.failed) return;
    if (number > 0) tt_lane(to->b);
    to->started = 0;
    while (tt_parse_step(to)) continue;
    if (to->blocks_n) tt_lex_missing(&to->in, "expected } or a step");
}

static void header_and_lanes(struct tt_parser *to)
{
    int lanes = 0;
    header(to);
    tt_lex_need(&to->in, "lane");
    do lane(to, lanes++);
    while (tt_lex_take(&to->in, "lane"));
}

static void drop_builder(struct tt_parser *to)
{
    tt_builder_free(to->b);
    to->b = NULL;
}

/* Records what is wrong with the structure of the plan whose header begins at `at`: at the place of
 * the step, or behind the plan if the fault belongs to no step. */
static void wrong_structure(struct tt_parser *to, const struct tt_lex *at, int64_t step,
                            const char *invalid)
{
    struct tt_lex place;
    if (step >= 0 && tt_parse_place(at, to->given, to->p, to->me, step, &place))
        tt_lex_wrong_at(&to->in, &place, "this step is wrong: %s", invalid);
    else
        tt_lex_missing(&to->in, "the plan above is wrong: %s", invalid);
}

static struct tt_plan *plan(struct tt_parser *to)
{
    struct tt_lex at = to->in;
    int64_t step = -1;
    header_and_lanes(to);
    struct tt_plan *plan = to->in.failed ? NULL : tt_builder_finish(to->b);
    const char *invalid = plan ? tt_plan_invalid(plan, &step) : tutti_error();
    drop_builder(to);
    if (!invalid || to->in.failed) return plan;
    wrong_structure(to, &at, step, invalid);
    tt_plan_free(plan);
    return NULL;
}

static void set_error(const struct tt_text_error *wrong, struct tt_text_error *error)
{
    if (error) *error = *wrong;
    (void)tt_fail(TUTTI_ERR_ARG, "line %d, column %d: %s", wrong->line, wrong->column, wrong->text);
}

static void end(struct tt_parser *to)
{
    tt_free(to->list);
    tt_free(to->ids);
}

bool tt_parse_place(const struct tt_lex *at, const struct tt_call *call, int p, int me,
                    int64_t step, struct tt_lex *place)
{
    struct tt_text_error error;
    struct tt_parser to = {
        .in = *at, .given = call, .p = p, .me = me, .place = place, .sought = step};
    to.in.error = &error;
    *place = (struct tt_lex){.at = NULL};
    header_and_lanes(&to);
    drop_builder(&to);
    end(&to);
    return place->at != NULL;
}

int tt_plans_parse(const char *text, struct tt_plan **plans, int most, struct tt_text_error *error)
{
    struct tt_parser to = {.given = NULL};
    struct tt_text_error wrong;
    int n = 0;
    tt_lex_begin(&to.in, text, &wrong);
    while (n < most && !to.in.failed && (n == 0 || !tt_lex_at_end(&to.in))) {
        plans[n] = plan(&to);
        n += !to.in.failed;
    }
    if (!tt_lex_at_end(&to.in)) tt_lex_missing(&to.in, "expected a step, a lane or the end");
    end(&to);
    if (!to.in.failed) return n;
    while (n > 0) tt_plan_free(plans[--n]);
    set_error(&wrong, error);
    return -1;
}

struct tt_plan *tt_plan_parse(const char *text, struct tt_text_error *error)
{
    struct tt_plan *plan;
    return tt_plans_parse(text, &plan, 1, error) == 1 ? plan : NULL;
}

struct tt_plan *tt_parse_for_call(const struct tt_lex *at, const struct tt_call *call, int p,
                                  int me, struct tt_text_error *error)
{
    struct tt_parser to = {.in = *at, .given = call, .p = p, .me = me};
    to.in.error = error;
    struct tt_plan *made = plan(&to);
    if (!to.in.failed && !tt_lex_at_end(&to.in)) {
        struct tt_lex before = to.in;
        if (!tt_lex_take(&to.in, "plan")) {
            to.in = before;
            tt_lex_missing(&to.in, "expected a step, a lane, a plan or the end");
        }
    }
    end(&to);
    if (!to.in.failed) return made;
    tt_plan_free(made);
    return NULL;
}
