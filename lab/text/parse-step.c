/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses the statements within a lane. Each function reads its line and appends to the builder. A
 * new kind of step is one function and one row of the table.
 */
#include "text/parse.h"
#include "type/type.h"

static bool make_room(struct tt_parser *to)
{
    if (to->started < to->ids_room) return true;
    size_t room = 2 * to->ids_room + 16;
    tt_started *more = tt_realloc(to->ids, room * sizeof *more);
    if (!more) {
        tt_lex_wrong(&to->in, "out of memory");
        return false;
    }
    to->ids = more;
    to->ids_room = room;
    return true;
}

/* Parses the id of a step that starts something. The id must be the next one of the lane, except
 * that in a block or as an expression it may repeat an earlier one: then the id means this step
 * from now on. */
static uint32_t next_id(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    tt_lex_need(in, "%");
    bool digits = !tt_lex_at_letter(in) && *in->at != '(';
    uint32_t id = (uint32_t)tt_parse_atom(to, 0, UINT32_MAX - 1, "an id");
    if (id > to->started || (digits && id < to->started && to->blocks_n == to->depth))
        tt_lex_wrong(in, "the lane's next id is %%%u", (unsigned)to->started);
    if (id == to->started && make_room(to)) to->started++;
    return id;
}

/* ---- The statements ---- */

static void send(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    tt_lex_need(&to->in, "to");
    int32_t peer = tt_parse_rank(to);
    struct tt_range from = tt_parse_own_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_send(to->b, peer, from, s.len);
    tt_parse_tail(to, s);
}

static void recv(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    tt_lex_need(&to->in, "from");
    int32_t peer = tt_parse_rank(to);
    struct tt_range into = tt_parse_own_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_recv(to->b, peer, into, s.len);
    tt_parse_tail(to, s);
}

static void put(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    struct tt_range into = tt_parse_far_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = tt_parse_own_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_put(to->b, into, from, s.len);
    tt_parse_tail(to, s);
}

static void get(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    struct tt_range into = tt_parse_own_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = tt_parse_far_range(to);
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_get(to->b, into, from, s.len);
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
    do tt_parse_operands(to);
    while (tt_lex_take(&to->in, to->op));
    struct tt_length s = tt_parse_length(to);
    if (to->in.failed) return;
    tt_combine(to->b, into, to->list, (int)to->listed, s.len);
    tt_parse_tail(to, s);
}

static void wait(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    tt_lex_need(in, "%");
    uint32_t id = (uint32_t)tt_parse_atom(to, 0, UINT32_MAX - 1, "an id");
    if (id >= to->started) tt_lex_wrong(in, "%%%u has not been started in this lane", (unsigned)id);
    int ago = 0;
    if (tt_lex_take(in, "-"))
        ago = (int)tt_parse_number(to, 1, TT_IN_FLIGHT - 1, "the number of turns ago");
    if (!in->failed) tt_wait_ago(to->b, to->ids[id], ago);
}

/* Parses a run of ranks such as "3..7", or a single rank. */
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
    if (tt_lex_take(&to->in, ".")) lane = (int)tt_parse_number(to, 0, TT_LANES - 1, "a lane");
    uint32_t reached = tt_parse_value(to, inc);
    if (to->in.failed) return;
    tt_await_lane(to->b, writer, lane, reached);
    tt_parse_per_turn(to, inc);
}

static int64_t offset(struct tt_parser *to)
{
    tt_lex_need(&to->in, "[");
    int64_t off = tt_parse_number(to, 0, TT_TEXT_BYTES, "an offset");
    tt_lex_need(&to->in, "]");
    return off;
}

/* Parses an entry such as "entry 1 IN[5000] -> OUT@1[0] len 5000", from the peer on. */
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
    e.len = tt_parse_amount(to, TT_TEXT_BYTES, "a length");
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
    x->chunk = tt_parse_number(to, 1, TT_TEXT_BYTES, "the bytes of a chunk");
    tt_lex_need(in, "window");
    x->window = (uint32_t)tt_parse_number(to, 1, TT_IN_FLIGHT, "the puts under way");
}

static void exchange(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    struct tt_exchange x = {0};
    uint32_t id = next_id(to);
    how(to, &x);
    tt_lex_line_end(in);
    tt_lex_need(in, "entry");
    do {
        entry(to, x.from);
        tt_lex_line_end(in);
    } while (tt_lex_take(in, "entry"));
    if (in->failed) return;
    to->ids[id] = tt_builder_starts(to->b);
    tt_exchange(to->b, &x);
    if (tt_builder_starts(to->b) == to->ids[id]) to->ids[id] = TT_DROPPED;
}

/* ---- The table ---- */

static const struct statement {
    void (*read)(struct tt_parser *);
    bool varies; /* whether "from 2" may follow */
} statements[] = {
    [TT_SEND] = {send, true},
    [TT_RECV] = {recv, true},
    [TT_PUT] = {put, true},
    [TT_GET] = {get, true},
    [TT_WAIT] = {wait, true},
    [TT_SIGNAL] = {signal, true},
    [TT_AWAIT] = {await, true},
    [TT_COPY] = {copy, true},
    [TT_REDUCE] = {reduce, true},
    [TT_LOOP] = {tt_parse_loop, false},
    [TT_END] = {tt_parse_close, false},
    [TT_EXCHANGE] = {exchange, false},
};

static void from(struct tt_parser *to)
{
    uint32_t turn = (uint32_t)tt_parse_number(to, 1, UINT32_MAX, "the first turn");
    if (!to->in.failed) tt_from(to->b, turn);
}

/* The blocks that exist only in the text, and not in the plan. */
static const struct {
    const char *word;
    void (*read)(struct tt_parser *);
} blocks[] = {{"for", tt_parse_for}, {"if", tt_parse_if}};

static bool block(struct tt_parser *to)
{
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        if (!tt_lex_take(&to->in, blocks[i].word)) continue;
        blocks[i].read(to);
        return true;
    }
    return false;
}

bool tt_parse_step(struct tt_parser *to)
{
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        const struct statement *s = &statements[i];
        if (!tt_lex_take(&to->in, tt_word(&tt_step_words, (int)i))) continue;
        s->read(to);
        if (s->varies && tt_lex_take(&to->in, "from")) from(to);
        tt_lex_line_end(&to->in);
        return true;
    }
    return block(to);
}
