/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text to plans: headers and lanes.
 */
#include "plan/parse.h"

#include <string.h>

#include "plan/problem.h"
#include "type/type.h"

/* ---- The header ---- */

static void ranks(struct tt_parser *to)
{
    tt_lex_need(&to->in, "rank");
    to->me = (int32_t)tt_lex_number(&to->in, 0, TT_PROBLEM_RANKS - 1, "a rank");
    tt_lex_need(&to->in, "of");
    to->p = (int32_t)tt_lex_number(&to->in, 1, TT_PROBLEM_RANKS, "the number of ranks");
    if (to->me >= to->p) tt_lex_wrong(&to->in, "rank %d of %d", (int)to->me, (int)to->p);
}

static void op(struct tt_parser *to)
{
    char name[16];
    tt_lex_need(&to->in, "op");
    tt_lex_name(&to->in, name, sizeof name, "an operation");
    to->call.op = tt_op_parse(name, strlen(name));
    if (to->call.op == TUTTI_OPS) tt_lex_wrong(&to->in, "there is no operation '%s'", name);
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
    int64_t bytes = tt_lex_number(&to->in, 1, TT_TEXT_BYTES, "the bytes of TMP");
    if (bytes % TT_LINE) tt_lex_wrong(&to->in, "TMP has a multiple of %d bytes", TT_LINE);
    tt_lex_line_end(&to->in);
    return bytes;
}

/* plan allreduce algorithm flat rank 0 of 3 type f64 op sum, and what goes with it */
static void header(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    to->call = (struct tt_call){0};
    tt_lex_need(in, "plan");
    to->call.coll = (enum tt_coll)tt_lex_word(in, &tt_coll_words, "a collective");
    tt_lex_need(in, "algorithm");
    tt_lex_name(in, to->name, sizeof to->name, "an algorithm's name");
    ranks(to);
    tt_lex_need(in, "type");
    to->call.type = (tutti_type)tt_lex_word(in, &tt_type_words, "a type");
    if (tt_coll_has_op(to->call.coll)) op(to);
    tt_lex_line_end(in);
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
    if (to->depth) tt_lex_missing(&to->in, "expected } or a step");
}

static struct tt_plan *finished(struct tt_parser *to)
{
    struct tt_plan *plan = to->in.failed ? NULL : tt_builder_finish(to->b);
    const char *invalid = plan ? tt_plan_invalid(plan) : tutti_error();
    tt_builder_free(to->b);
    to->b = NULL;
    if (!invalid || to->in.failed) return plan;
    tt_lex_missing(&to->in, "the plan above is wrong: %s", invalid);
    tt_plan_free(plan);
    return NULL;
}

static struct tt_plan *plan(struct tt_parser *to)
{
    int lanes = 0;
    header(to);
    tt_lex_need(&to->in, "lane");
    do lane(to, lanes++);
    while (tt_lex_take(&to->in, "lane"));
    return finished(to);
}

static void begin(struct tt_parser *to, const char *text, struct tt_text_error *error)
{
    *to = (struct tt_parser){0};
    tt_lex_begin(&to->in, text, error);
}

static void tell(const struct tt_text_error *wrong, struct tt_text_error *error)
{
    if (error) *error = *wrong;
    (void)tt_fail(TUTTI_ERR_ARG, "line %d, column %d: %s", wrong->line, wrong->column, wrong->text);
}

int tt_plans_parse(const char *text, struct tt_plan **plans, int most, struct tt_text_error *error)
{
    struct tt_parser to;
    struct tt_text_error wrong;
    int n = 0;
    begin(&to, text, &wrong);
    while (n < most && !to.in.failed && (n == 0 || !tt_lex_at_end(&to.in))) {
        plans[n] = plan(&to);
        n += !to.in.failed;
    }
    if (!tt_lex_at_end(&to.in)) tt_lex_missing(&to.in, "expected a step, a lane or the end");
    tt_free(to.list);
    if (!to.in.failed) return n;
    while (n > 0) tt_plan_free(plans[--n]);
    tell(&wrong, error);
    return -1;
}

struct tt_plan *tt_plan_parse(const char *text, struct tt_text_error *error)
{
    struct tt_plan *plan;
    return tt_plans_parse(text, &plan, 1, error) == 1 ? plan : NULL;
}
