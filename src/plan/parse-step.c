/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The statements within a lane: each reads its line and appends to the builder. A new kind of step
 * is a function and a row of the table.
 */
#include "plan/parse.h"
#include "type/type.h"

static void next_id(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    tt_lex_need(in, "%");
    uint32_t id = (uint32_t)tt_lex_number(in, 0, UINT32_MAX - 1, "an id");
    if (id != to->started) tt_lex_wrong(in, "the lane's next id is %%%u", (unsigned)to->started);
    to->started++;
}

/* ---- The statements: each reads its line and appends to the builder ---- */

static void send(struct tt_parser *to)
{
    next_id(to);
    tt_lex_need(&to->in, "to");
    int32_t peer = tt_parse_rank(to);
    struct tt_range from = tt_parse_own_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_send(to->b, peer, from, s.len);
    tt_parse_tail(to, s);
}

static void recv(struct tt_parser *to)
{
    next_id(to);
    tt_lex_need(&to->in, "from");
    int32_t peer = tt_parse_rank(to);
    struct tt_range into = tt_parse_own_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_recv(to->b, peer, into, s.len);
    tt_parse_tail(to, s);
}

static void put(struct tt_parser *to)
{
    next_id(to);
    struct tt_range into = tt_parse_far_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = tt_parse_own_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_put(to->b, into, from, s.len);
    tt_parse_tail(to, s);
}

static void get(struct tt_parser *to)
{
    next_id(to);
    struct tt_range into = tt_parse_own_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = tt_parse_far_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_get(to->b, into, from, s.len);
    tt_parse_tail(to, s);
}

static void copy(struct tt_parser *to)
{
    struct tt_range into = tt_parse_own_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = tt_parse_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_copy(to->b, into, from, s.len);
    tt_parse_tail(to, s);
}

static void reduce(struct tt_parser *to)
{
    struct tt_range into = tt_parse_own_range(to);
    tt_parse_list_begin(to);
    tt_lex_need(&to->in, "<-");
    do {
        struct tt_range operand = tt_parse_range(to);
        tt_parse_list(to, &operand, sizeof operand);
    } while (tt_lex_take(&to->in, tt_op_name(to->call.op)));
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_combine(to->b, into, to->list, (int)to->listed, s.len);
    tt_parse_tail(to, s);
}

static void wait(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    tt_lex_need(in, "%");
    uint32_t id = (uint32_t)tt_lex_number(in, 0, UINT32_MAX - 1, "an id");
    if (id >= to->started) tt_lex_wrong(in, "%%%u has not been started in this lane", (unsigned)id);
    int ago = 0;
    if (tt_lex_take(in, "-"))
        ago = (int)tt_lex_number(in, 1, TT_IN_FLIGHT - 1, "the number of turns ago");
    if (!in->failed) tt_wait_ago(to->b, id, ago);
}

/* 3..7, or 3 */
static void run_of_ranks(struct tt_parser *to)
{
    int32_t first = tt_parse_rank(to), last = first;
    if (tt_lex_take(&to->in, "..")) last = tt_parse_rank(to);
    if (last < first) tt_lex_wrong(&to->in, "the run ends before it begins");
    if (to->listed + (size_t)(last - first) >= (size_t)to->p)
        tt_lex_wrong(&to->in, "more ranks than there are");
    for (int32_t r = first; r <= last && !to->in.failed; r++) tt_parse_list(to, &r, sizeof r);
}

static void signal(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    int32_t peer = TT_ALL;
    int inc[TT_DEPTH];
    tt_parse_list_begin(to);
    if (tt_lex_take(in, "{")) {
        do run_of_ranks(to);
        while (tt_lex_take(in, ","));
        tt_lex_need(in, "}");
    } else if (!tt_lex_take(in, "all")) {
        peer = tt_parse_rank(to);
    } else if (to->p == 1) {
        tt_lex_wrong(in, "there is no other rank");
    }
    uint32_t raised = tt_parse_value(to, inc);
    if (in->failed) return;
    if (to->listed)
        tt_signal_set(to->b, to->list, (uint32_t)to->listed, raised);
    else
        tt_signal(to->b, peer, raised);
    tt_parse_per_turn(to, inc);
}

static void await(struct tt_parser *to)
{
    int inc[TT_DEPTH], lane = 0;
    int32_t writer = tt_parse_rank(to);
    if (tt_lex_take(&to->in, ".")) lane = (int)tt_lex_number(&to->in, 0, TT_LANES - 1, "a lane");
    uint32_t reached = tt_parse_value(to, inc);
    if (to->in.failed) return;
    tt_await_lane(to->b, writer, lane, reached);
    tt_parse_per_turn(to, inc);
}

static void loop(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    if (to->depth++ == TT_DEPTH) tt_lex_wrong(in, "loops are at most %d deep", TT_DEPTH);
    uint32_t turns_n = (uint32_t)tt_lex_number(in, 1, UINT32_MAX, "a number of turns");
    tt_lex_need(in, "{");
    if (!in->failed) tt_loop(to->b, turns_n);
}

static void end(struct tt_parser *to)
{
    if (to->depth-- == 0) tt_lex_wrong(&to->in, "no loop is open");
    if (!to->in.failed) tt_end(to->b);
}

static int64_t offset(struct tt_parser *to)
{
    tt_lex_need(&to->in, "[");
    int64_t off = tt_lex_number(&to->in, 0, TT_TEXT_BYTES, "an offset");
    tt_lex_need(&to->in, "]");
    return off;
}

/* entry 1 IN[5000] -> OUT@1[0] len 5000 */
static void entry(struct tt_parser *to, int from)
{
    struct tt_lex *in = &to->in;
    struct tt_entry e = {.peer = tt_parse_other_rank(to)};
    tt_lex_need(in, tt_word(&tt_buffer_words, from));
    e.mine = offset(to);
    tt_lex_need(in, "->");
    tt_lex_need(in, "OUT");
    tt_lex_need(in, "@");
    if (tt_parse_rank(to) != e.peer) tt_lex_wrong(in, "an entry for rank %d", (int)e.peer);
    e.theirs = offset(to);
    tt_lex_need(in, "len");
    e.len = tt_lex_number(in, 1, TT_TEXT_BYTES, "a length");
    if (!in->failed) tt_entry(to->b, &e);
}

static void how(struct tt_parser *to, struct tt_exchange *x)
{
    struct tt_lex *in = &to->in;
    tt_lex_need(in, "from");
    bool out = tt_lex_take(in, "OUT");
    if (!out) tt_lex_need(in, "IN");
    x->from = out ? TT_OUT : TT_IN;
    tt_lex_need(in, "order");
    x->order = (enum tt_order)tt_lex_word(in, &tt_order_words, "an order");
    if (tt_lex_take(in, "seed")) x->seed = tt_lex_unsigned(in, "a seed");
    tt_lex_need(in, "chunk");
    x->chunk = tt_lex_number(in, 1, TT_TEXT_BYTES, "the bytes of a chunk");
    tt_lex_need(in, "window");
    x->window = (uint32_t)tt_lex_number(in, 1, TT_IN_FLIGHT, "the puts under way");
}

static void exchange(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    struct tt_exchange x = {0};
    next_id(to);
    how(to, &x);
    tt_lex_line_end(in);
    tt_lex_need(in, "entry");
    do {
        entry(to, x.from);
        tt_lex_line_end(in);
    } while (tt_lex_take(in, "entry"));
    if (!in->failed) tt_exchange(to->b, &x);
}

/* ---- The table ---- */

static const struct statement {
    const char *word;
    void (*read)(struct tt_parser *);
    bool varies; /* "from 2" may follow */
} statements[] = {
    {"send", send, true},   {"recv", recv, true}, {"put", put, true},
    {"get", get, true},     {"wait", wait, true}, {"signal", signal, true},
    {"await", await, true}, {"copy", copy, true}, {"reduce", reduce, true},
    {"loop", loop, false},  {"}", end, false},    {"exchange", exchange, false},
};

static void from(struct tt_parser *to)
{
    uint32_t turn = (uint32_t)tt_lex_number(&to->in, 1, UINT32_MAX, "the first turn");
    if (!to->in.failed) tt_from(to->b, turn);
}

bool tt_parse_step(struct tt_parser *to)
{
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        const struct statement *s = &statements[i];
        if (!tt_lex_take(&to->in, s->word)) continue;
        s->read(to);
        if (s->varies && tt_lex_take(&to->in, "from")) from(to);
        tt_lex_line_end(&to->in);
        return true;
    }
    return false;
}
