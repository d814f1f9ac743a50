/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints plans as text. The same functions print the steps that a plan stores and the unrolled
 * steps that the iterator returns, both as a struct tt_plain. The parts that vary with the turns of
 * loops are printed for stored steps only.
 */
#include "text/text.h"

#include <inttypes.h>

#include "plan/words.h"
#include "type/type.h"

struct printer {
    FILE *out;
    const struct tt_plan *plan;
    /* how the step varies with the turns of loops; NULL if it does not */
    const struct tt_vary *vary;
    bool unrolled;
};

static void size(const struct printer *to, int64_t value)
{
    char text[24];
    fputs(tt_print_size(text, value), to->out);
}

/* Prints the term of a range that grows with the turn of a loop, such as " + i*4K". */
static void turn(const struct printer *to, const char *turn, int64_t step)
{
    fprintf(to->out, " %c %s*", step < 0 ? '-' : '+', turn);
    size(to, step < 0 ? -step : step);
}

/* Prints the term of a range that varies with the turn of the inner loop, such as " + (i+1)%2*4K",
 * if there is one. */
static void inner(const struct printer *to, const struct tt_shape *s)
{
    char text[64], mod[16] = "";
    if (s->step[0] == 0 && s->mod == 0 && s->phase == 0) return;
    if (s->mod) snprintf(mod, sizeof mod, "%%%" PRId32, s->mod);
    if (s->phase)
        snprintf(text, sizeof text, "(i+%" PRId32 ")%s", s->phase, mod);
    else
        snprintf(text, sizeof text, "i%s", mod);
    turn(to, text, s->step[0]);
}

static void range(const struct printer *to, const struct tt_range *r)
{
    fputs(tt_word(&tt_buffer_words, r->buf), to->out);
    if (r->rank >= 0) fprintf(to->out, "@%" PRId32, r->rank);
    fputc('[', to->out);
    size(to, r->off);
    if (r->shape) {
        const struct tt_shape *s = &to->plan->shapes[r->shape];
        if (!to->unrolled) {
            inner(to, s);
            if (s->step[1]) turn(to, "j", s->step[1]);
        }
        if (s->block) {
            fputs(" block ", to->out);
            size(to, s->block);
            fputs(" stride ", to->out);
            size(to, s->stride);
        }
    }
    fputc(']', to->out);
}

static void length(const struct printer *to, int64_t len)
{
    fputs(" len ", to->out);
    size(to, len);
    if (!to->vary || to->vary->tail < 0) return;
    fputs(" tail ", to->out);
    size(to, to->vary->tail);
    if (to->vary->tail_mod == 0) return;
    fprintf(to->out, " every %" PRId32, to->vary->tail_mod);
    if (to->vary->tail_phase) fprintf(to->out, " phase %" PRId32, to->vary->tail_phase);
}

/* Prints a flag value such as "1 + i*2". The constant may be negative in a loop, if what is added
 * in each turn makes the value positive. */
static void value(const struct printer *to, uint32_t value)
{
    fprintf(to->out, " %" PRId32, (int32_t)value);
    if (!to->vary) return;
    if (to->vary->inc[0]) turn(to, "i", to->vary->inc[0]);
    if (to->vary->inc[1]) turn(to, "j", to->vary->inc[1]);
}

static void id(const struct printer *to, const struct tt_plain *s)
{
    fprintf(to->out, " %%%" PRIu32, s->value);
    if (s->instance) fprintf(to->out, ".%" PRIu64, s->instance);
}

/* ---- The steps ---- */

static void message(const struct printer *to, const struct tt_plain *s)
{
    id(to, s);
    fprintf(to->out, " %s %" PRId32 " ", s->kind == TT_SEND ? "to" : "from", s->peer);
    range(to, s->range);
    length(to, s->len);
}

static void to_from(const struct printer *to, const struct tt_plain *s)
{
    fputc(' ', to->out);
    range(to, &s->range[0]);
    fputs(" <- ", to->out);
    range(to, &s->range[1]);
    for (uint32_t k = 2; k < s->nops; k++) {
        fprintf(to->out, " %s ", tt_op_name(to->plan->op));
        range(to, &s->range[k]);
    }
    length(to, s->len);
}

static void one_sided(const struct printer *to, const struct tt_plain *s)
{
    id(to, s);
    to_from(to, s);
}

static void wait(const struct printer *to, const struct tt_plain *s)
{
    id(to, s);
    if (s->lane && !to->unrolled) fprintf(to->out, " -%" PRIu32, s->lane);
}

/* Prints a set of ranks such as {0..3,7}. Consecutive ranks become a run such as 0..3; the order of
 * the ranks stays. */
static void set(const struct printer *to, const int32_t *ranks, uint32_t n)
{
    const char *before = " {";
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && ranks[end] == ranks[end - 1] + 1;) end++;
        fprintf(to->out, "%s%" PRId32, before, ranks[i]);
        if (end > i + 1) fprintf(to->out, "..%" PRId32, ranks[end - 1]);
        before = ",";
    }
    fputc('}', to->out);
}

static void signal(const struct printer *to, const struct tt_plain *s)
{
    if (s->peer == TT_ALL)
        fputs(" all", to->out);
    else if (s->peer == TT_SET)
        set(to, s->set, s->nops);
    else
        fprintf(to->out, " %" PRId32, s->peer);
    value(to, s->value);
}

static void await(const struct printer *to, const struct tt_plain *s)
{
    fprintf(to->out, " %" PRId32, s->peer);
    if (s->lane) fprintf(to->out, ".%" PRIu32, s->lane);
    value(to, s->value);
}

/* The functions that print the steps of each kind. The function step() prints the kinds loop, end
 * and exchange. */
static void (*const printers[])(const struct printer *, const struct tt_plain *) = {
    [TT_SEND] = message,  [TT_RECV] = message, [TT_PUT] = one_sided,
    [TT_GET] = one_sided, [TT_WAIT] = wait,    [TT_SIGNAL] = signal,
    [TT_AWAIT] = await,   [TT_COPY] = to_from, [TT_REDUCE] = to_from,
};

static void plain(const struct printer *to, const struct tt_plain *s)
{
    fputs(tt_word(&tt_step_words, (int)s->kind), to->out);
    printers[s->kind](to, s);
    if (to->vary && to->vary->from) fprintf(to->out, " from %" PRIu32, to->vary->from);
}

/* ---- Stored steps ---- */

static void exchange(const struct printer *to, const struct tt_step *s)
{
    const struct tt_exchange *x = &to->plan->exchanges[s->first];
    const char *from = tt_word(&tt_buffer_words, x->from);
    fprintf(to->out, "exchange %%%" PRIu32 " from %s order %s", s->value, from,
            tt_word(&tt_order_words, (int)x->order));
    if (x->seed) fprintf(to->out, " seed %" PRIu64, x->seed);
    fputs(" chunk ", to->out);
    size(to, x->chunk);
    fprintf(to->out, " window %" PRIu32, x->window);
}

static void entries(const struct printer *to, const struct tt_step *s, int indent)
{
    const struct tt_exchange *x = &to->plan->exchanges[s->first];
    for (uint32_t i = 0; i < x->n; i++) {
        const struct tt_entry *e = &to->plan->entries[x->first + i];
        fprintf(to->out, "\n%*sentry %" PRId32 " ", indent, "", e->peer);
        range(to, &(struct tt_range){.off = e->mine, .rank = TT_SELF, .buf = x->from});
        fputs(" -> ", to->out);
        range(to, &(struct tt_range){.off = e->theirs, .rank = e->peer, .buf = TT_OUT});
        fputs(" len ", to->out);
        size(to, e->len);
    }
}

static struct tt_plain stored(const struct tt_plan *plan, const struct tt_step *s)
{
    return (struct tt_plain){
        .kind = (enum tt_kind)s->kind,
        .peer = s->peer,
        .value = s->value,
        .lane = s->sub,
        .nops = s->nops,
        .len = s->len,
        .range = plan->ranges + s->first,
        .set = plan->ranks + s->first,
    };
}

/* Prints one stored step. Returns the indentation of the next step. */
static int step(struct printer *to, const struct tt_step *s, int indent)
{
    if (s->kind == TT_END) indent -= 2;
    fprintf(to->out, "%*s", indent, "");
    to->vary = s->vary ? &to->plan->varies[s->vary] : NULL;
    if (s->kind == TT_LOOP) {
        fprintf(to->out, "loop %" PRIu32 " {", s->value);
        indent += 2;
    } else if (s->kind == TT_END) {
        fputc('}', to->out);
    } else if (s->kind == TT_EXCHANGE) {
        exchange(to, s);
        entries(to, s, indent + 2);
    } else {
        struct tt_plain view = stored(to->plan, s);
        plain(to, &view);
    }
    fputc('\n', to->out);
    return indent;
}

static void header(const struct printer *to)
{
    const struct tt_plan *plan = to->plan;
    fprintf(to->out, "plan %s algorithm %s rank %" PRId32 " of %" PRId32 " type %s",
            tt_coll_name(plan->coll), plan->algorithm, plan->me, plan->p, tt_type_name(plan->type));
    if (tt_coll_has_op(plan->coll)) fprintf(to->out, " op %s", tt_op_name(plan->op));
    fputc('\n', to->out);
    if (plan->opens) {
        fputs("opens", to->out);
        for (int buf = 0; buf < TT_BUFFERS; buf++)
            if (plan->opens & 1u << buf) fprintf(to->out, " %s", tt_word(&tt_buffer_words, buf));
        fputc('\n', to->out);
    }
    if (plan->tmp_bytes) {
        fputs("tmp ", to->out);
        size(to, plan->tmp_bytes);
        fputc('\n', to->out);
    }
}

void tt_plan_print(const struct tt_plan *plan, FILE *out)
{
    struct printer to = {.out = out, .plan = plan};
    header(&to);
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        int indent = 2;
        fprintf(out, "lane %" PRIu32 "\n", lane);
        const struct tt_step *s = plan->steps + plan->lane[lane].first;
        for (uint32_t i = 0; i < plan->lane[lane].n; i++) indent = step(&to, &s[i], indent);
    }
}

void tt_plan_print_step(const struct tt_plan *plan, const struct tt_plain *s, FILE *out)
{
    plain(&(struct printer){.out = out, .plan = plan, .unrolled = true}, s);
}

tutti_status tt_plan_print_unrolled(const struct tt_plan *plan, FILE *out)
{
    header(&(struct printer){.out = out, .plan = plan});
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        struct tt_iter iter;
        struct tt_plain s;
        void *memory = tt_alloc(tt_iter_bytes(plan, (int)lane));
        if (!memory) return tt_fail(TUTTI_ERR_MEMORY, "no memory to read a plan");
        fprintf(out, "lane %" PRIu32 "\n", lane);
        for (tt_iter_begin(&iter, plan, (int)lane, memory); tt_iter_next(&iter, &s);) {
            fputs("  ", out);
            tt_plan_print_step(plan, &s, out);
            fputc('\n', out);
        }
        tt_free(memory);
    }
    return TUTTI_OK;
}
