/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses the statements within a lane. Each kind of statement has a function that reads its line
 * and appends a step to the builder, and a row in the table at the end of this file.
 *
 * Blocks are in braces. A loop becomes part of the plan. The blocks `for` and `if` exist in the
 * text only: the parser reads the lines of a `for` once for each value of its variable, and skips
 * the lines of an `if` whose condition does not hold.
 */
#include "text/parse.h"

#include <string.h>

#include "type/type.h"

/* ---- What steps consist of: ranks, ranges, lengths, flag values ---- */
static void begin_list(struct tt_parser *to)
{
    to->listed = 0;
}

static void list_element(struct tt_parser *to, const void *element, size_t sz)
{
    if (to->in.failed) return;
    if ((to->listed + 1) * sz > to->room) {
        size_t room = 2 * to->room + 16 * sz;
        void *more = tt_realloc(to->list, room);
        if (!more) {
            tt_lex_wrong(&to->in, "out of memory");
            return;
        }
        to->list = more;
        to->room = room;
    }
    memcpy((char *)to->list + to->listed++ * sz, element, sz);
}

static int32_t parse_rank(struct tt_parser *to)
{
    return (int32_t)tt_parse_number(to, 0, to->p - 1, "a rank");
}

static int32_t parse_other_rank(struct tt_parser *to)
{
    int32_t r = parse_rank(to);
    if (r == to->me) tt_lex_wrong(&to->in, "rank %d is this rank itself", (int)r);
    return r;
}

static int64_t bytes(struct tt_parser *to, const char *what)
{
    return tt_parse_number(to, 0, TT_TEXT_BYTES, what);
}

/* Records an error if the word that was read last needs more loops around the step than there are:
 * one, or two for `j`. Without them, the word would have no effect, or one that depends on loops
 * elsewhere in the plan. */
static void need_loops(struct tt_parser *to, int loops, const char *word)
{
    static const char *const around[] = {"a loop", "two loops, one in the other,"};
    if (to->depth < loops)
        tt_lex_wrong(&to->in, "'%s' is for steps in loops: expected %s around this step", word,
                     around[loops - 1]);
}

/* Parses `i`, the turn of the inner loop. take_outer reads `j`, the turn of the outer loop, if it
 * comes next. */
static void parse_inner(struct tt_parser *to)
{
    tt_lex_need(&to->in, "i");
    need_loops(to, 1, "i");
}

static bool take_outer(struct tt_parser *to)
{
    if (!tt_lex_take(&to->in, "j")) return false;
    need_loops(to, 2, "j");
    return true;
}

/* Parses the part of a range that depends on the turn i of the inner loop, such as "i%2" or
 * "(i+1)". The factor that follows, as in "i%2*4K", is not parsed here. */
static void inner_turn(struct tt_parser *to, struct tt_shape *s)
{
    struct tt_lex *in = &to->in;
    if (tt_lex_take(in, "(")) {
        parse_inner(to);
        tt_lex_need(in, "+");
        s->phase = (int32_t)tt_parse_atom(to, 0, INT32_MAX, "a phase");
        tt_lex_need(in, ")");
    } else {
        parse_inner(to);
    }
    if (tt_lex_take(in, "%")) s->mod = (int32_t)tt_parse_atom(to, 1, INT32_MAX, "a modulus");
}

/* Parses the terms of a range that vary with the turns of loops, such as " + i*4K - j*64K". */
static void turns(struct tt_parser *to, struct tt_shape *s)
{
    struct tt_lex *in = &to->in;
    bool there[TT_DEPTH] = {false};
    for (;;) {
        bool plus = tt_lex_take(in, "+"), minus = !plus && tt_lex_take(in, "-");
        if (!plus && !minus) return;
        int outer = take_outer(to);
        if (!outer) inner_turn(to, s);
        if (there[outer]) tt_lex_wrong(in, "%s is there already", outer ? "j" : "i");
        there[outer] = true;
        tt_lex_need(in, "*");
        int64_t by = bytes(to, "the bytes of a turn");
        s->step[outer] = minus ? -by : by;
    }
}

static struct tt_range shaped(struct tt_parser *to, struct tt_range r, const struct tt_shape *s)
{
    if (to->in.failed) return r;
    bool rotates = s->mod || s->phase;
    if (s->step[1] || (s->step[0] && !rotates))
        r = tt_moving(to->b, r, rotates ? 0 : s->step[0], s->step[1]);
    if (rotates) r = tt_rotating(to->b, r, s->step[0], s->mod, s->phase);
    if (s->block) r = tt_strided(to->b, r, s->block, s->stride);
    return r;
}

/* Parses the rest of a range, from its [ on: the offset, the terms that vary with loops, block and
 * stride. */
static struct tt_range place(struct tt_parser *to, int buf, int32_t owner)
{
    struct tt_lex *in = &to->in;
    struct tt_shape s = {0};
    struct tt_range r = {.rank = owner, .buf = (uint8_t)buf};
    tt_lex_need(in, "[");
    r.off = bytes(to, "an offset");
    turns(to, &s);
    if (tt_lex_take(in, "block")) {
        s.block = tt_parse_number(to, 1, TT_TEXT_BYTES, "the bytes of a block");
        tt_lex_need(in, "stride");
        s.stride = tt_parse_number(to, s.block, TT_TEXT_BYTES, "the stride of blocks");
    }
    tt_lex_need(in, "]");
    return shaped(to, r, &s);
}

/* Parses the rank after an @ in a step that may read the buffers of any rank. Returns TT_SELF for
 * the rank to which the plan belongs. */
static int32_t owner(struct tt_parser *to)
{
    int32_t r = parse_rank(to);
    return r == to->me ? TT_SELF : r;
}

/* Parses a range of any rank. parse_own_range parses a range of this rank, and parse_far_range a
 * range of another rank. */
static struct tt_range parse_range(struct tt_parser *to)
{
    int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
    return place(to, buf, tt_lex_take(&to->in, "@") ? owner(to) : TT_SELF);
}

/* Parses an operand: a range of any rank, or ranges of several ranks as in WIN@0..3[0], and appends
 * them to the list. */
static void parse_operands(struct tt_parser *to)
{
    int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
    int32_t first = to->me, last = first;
    if (tt_lex_take(&to->in, "@")) first = last = parse_rank(to);
    if (tt_lex_take(&to->in, "..")) last = parse_rank(to);
    if (last < first) tt_lex_wrong(&to->in, "the run ends before it begins");
    struct tt_range operand = place(to, buf, TT_SELF);
    for (int32_t r = first; r <= last && !to->in.failed; r++) {
        operand.rank = r == to->me ? TT_SELF : r;
        list_element(to, &operand, sizeof operand);
    }
}

static struct tt_range parse_far_range(struct tt_parser *to)
{
    int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
    tt_lex_need(&to->in, "@");
    return place(to, buf, parse_other_rank(to));
}

static struct tt_range parse_own_range(struct tt_parser *to)
{
    return place(to, tt_lex_word(&to->in, &tt_buffer_words, "a buffer"), TT_SELF);
}

/* A length such as "len 4K tail 100 every 3 phase 1". The length is 100 instead of 4K in the last
 * of every 3 turns of a loop, where the phase 1 is added to the number i of the turn: if (i + 1) %
 * 3 == 2. parse_tail passes the tail to the builder after the step has been appended. */
struct length {
    int64_t len, tail;
    int32_t mod, phase;
};

static struct length parse_length(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    struct length s = {.tail = -1};
    tt_lex_need(in, "len");
    s.len = tt_parse_amount(to, TT_TEXT_BYTES, "a length");
    if (!tt_lex_take(in, "tail")) return s;
    need_loops(to, 1, "tail");
    s.tail = bytes(to, "the tail's length");
    if (!tt_lex_take(in, "every")) return s;
    s.mod = (int32_t)tt_parse_number(to, 1, INT32_MAX, "a number of turns");
    if (tt_lex_take(in, "phase")) s.phase = (int32_t)tt_parse_number(to, 0, INT32_MAX, "a phase");
    return s;
}

static void parse_tail(struct tt_parser *to, struct length s)
{
    if (s.tail >= 0) tt_tail_at(to->b, s.tail, s.mod, s.phase);
}

/* Parses a flag value such as "1 + i*2 + j". Sets inc[] to the amounts by which the value grows in
 * each turn of the inner and of the outer loop (here 2 and 1). parse_per_turn passes inc[] to the
 * builder after the step has been appended. */
static uint32_t parse_value(struct tt_parser *to, int inc[TT_DEPTH])
{
    struct tt_lex *in = &to->in;
    int64_t first = tt_parse_number(to, INT32_MIN, UINT32_MAX, "a flag value");
    inc[0] = inc[1] = 0;
    for (;;) {
        bool plus = tt_lex_take(in, "+"), minus = !plus && tt_lex_take(in, "-");
        if (!plus && !minus) return (uint32_t)first;
        int outer = take_outer(to);
        if (!outer) parse_inner(to);
        if (inc[outer]) tt_lex_wrong(in, "%s is there already", outer ? "j" : "i");
        int64_t by = 1;
        if (tt_lex_take(in, "*")) by = tt_parse_amount(to, INT32_MAX, "what a turn adds");
        inc[outer] = (int)(minus ? -by : by);
    }
}

static void parse_per_turn(struct tt_parser *to, const int inc[TT_DEPTH])
{
    if (inc[0] || inc[1]) tt_per_turn(to->b, inc[0], inc[1]);
}

/* ---- Blocks in braces; each parse function is called after the first word of a line ---- */

enum { TURNS_MOST = 1 << 18 }; /* the most turns of all `for` blocks of a plan together */

static struct tt_text_block *open_block(struct tt_parser *to, enum tt_block_kind kind)
{
    if (to->blocks_n == TT_TEXT_BLOCKS) {
        tt_lex_wrong(&to->in, "blocks are at most %d deep", TT_TEXT_BLOCKS);
        /* the parser has failed, so it does not matter which block is returned */
        return to->blocks;
    }
    struct tt_text_block *block = &to->blocks[to->blocks_n++];
    *block = (struct tt_text_block){.kind = kind};
    return block;
}

/* Skips the lines of a block up to the } that closes it. */
static void skip_lines(struct tt_parser *to)
{
    int open = 1;
    while (!to->in.failed) {
        if (tt_lex_at_end(&to->in)) {
            tt_lex_missing(&to->in, "expected the } of the block");
            return;
        }
        if (tt_lex_closes_line(&to->in)) open--;
        if (open == 0) return;
        open += tt_lex_skip_line(&to->in);
    }
}

static void parse_loop(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    if (to->depth++ == TT_DEPTH) tt_lex_wrong(in, "loops are at most %d deep", TT_DEPTH);
    uint32_t turns_n = (uint32_t)tt_parse_amount(to, TT_TURNS, "a number of turns");
    tt_lex_need(in, "{");
    if (in->failed) return;
    open_block(to, TT_BLOCK_LOOP);
    tt_loop(to->b, turns_n);
}

/* Reads the header of a `for` block after the word `for`, such as "k in 0..p-1 {", and opens the
 * block. */
static void parse_for(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    char name[TT_TEXT_NAME];
    tt_lex_variable(in, name, sizeof name, "a variable's name");
    if (strcmp(name, "i") == 0 || strcmp(name, "j") == 0)
        tt_lex_wrong(in, "%s is the turn of a loop; call the variable otherwise", name);
    if (tt_parse_find(to, name)) tt_lex_wrong(in, "there is a variable %s already", name);
    tt_lex_need(in, "in");
    int64_t first = tt_parse_number(to, -INT32_MAX, INT32_MAX, "the first value");
    tt_lex_need(in, "..");
    int64_t last = tt_parse_number(to, -INT32_MAX, INT32_MAX, "the last value");
    tt_lex_need(in, "{");
    if (first <= last) tt_parse_variable(to, name, first);
    struct tt_text_block *block = open_block(to, first <= last ? TT_BLOCK_FOR : TT_BLOCK_IF);
    tt_lex_line_end(in);
    if (in->failed) return;
    block->last = last;
    block->begin = *in;
    if (first > last) skip_lines(to);
}

static void parse_if(struct tt_parser *to)
{
    int64_t holds = tt_parse_number(to, -INT64_MAX, INT64_MAX, "a condition");
    tt_lex_need(&to->in, "{");
    open_block(to, TT_BLOCK_IF);
    tt_lex_line_end(&to->in);
    if (!holds && !to->in.failed) skip_lines(to);
}

/* Goes back to the first line of the block, for the next value of its variable. Returns false if
 * the variable has had its last value. */
static bool next_value(struct tt_parser *to, const struct tt_text_block *block)
{
    struct tt_variable *variable = &to->variables[to->variables_n - 1];
    if (++to->turns > TURNS_MOST)
        tt_lex_wrong(&to->in, "the blocks `for` of a plan have more than %d turns", TURNS_MOST);
    if (to->in.failed) return false;
    if (variable->value >= block->last) {
        to->variables_n--;
        return false;
    }
    variable->value++;
    to->in = block->begin;
    return true;
}

/* Handles the } of the innermost block: goes back to its first line if it is a `for` with values
 * left; otherwise ends it. */
static void parse_close(struct tt_parser *to)
{
    if (to->blocks_n == 0) {
        tt_lex_wrong(&to->in, "no loop is open, and no other block");
        return;
    }
    struct tt_text_block *block = &to->blocks[to->blocks_n - 1];
    if (block->kind == TT_BLOCK_FOR && next_value(to, block)) return;
    to->blocks_n--;
    if (block->kind != TT_BLOCK_LOOP || to->in.failed) return;
    to->depth--;
    tt_end(to->b);
}

/* ---- Ids ---- */

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

/* Parses the id of a step that starts a transfer, such as `send %3`, for which a later step waits.
 * The id must be the next one of the lane. In a `for` or `if`, or if the id is an expression, it
 * may also be an earlier id; from now on, this id then stands for the new step. */
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
    int32_t peer = parse_rank(to);
    struct tt_range from = parse_own_range(to);
    struct length s = parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_send(to->b, peer, from, s.len);
    parse_tail(to, s);
}

static void recv(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    tt_lex_need(&to->in, "from");
    int32_t peer = parse_rank(to);
    struct tt_range into = parse_own_range(to);
    struct length s = parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_recv(to->b, peer, into, s.len);
    parse_tail(to, s);
}

static void put(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    struct tt_range into = parse_far_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = parse_own_range(to);
    struct length s = parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_put(to->b, into, from, s.len);
    parse_tail(to, s);
}

static void get(struct tt_parser *to)
{
    uint32_t id = next_id(to);
    struct tt_range into = parse_own_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = parse_far_range(to);
    struct length s = parse_length(to);
    if (to->in.failed) return;
    to->ids[id] = tt_get(to->b, into, from, s.len);
    parse_tail(to, s);
}

static void copy(struct tt_parser *to)
{
    struct tt_range into = parse_own_range(to);
    tt_lex_need(&to->in, "<-");
    struct tt_range from = parse_range(to);
    struct length s = parse_length(to);
    if (to->in.failed) return;
    tt_copy(to->b, into, from, s.len);
    parse_tail(to, s);
}

static void reduce(struct tt_parser *to)
{
    struct tt_range into = parse_own_range(to);
    begin_list(to);
    tt_lex_need(&to->in, "<-");
    do parse_operands(to);
    while (tt_lex_take(&to->in, to->op));
    if (strncmp(tt_lex_next(&to->in), "len", 3) != 0)
        tt_lex_missing(&to->in, "expected '%s', the operation of the plan, or 'len'", to->op);
    struct length s = parse_length(to);
    if (to->in.failed) return;
    tt_combine(to->b, into, to->list, (int)to->listed, s.len);
    parse_tail(to, s);
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
    int32_t first = parse_rank(to), last = first;
    if (tt_lex_take(&to->in, "..")) last = parse_rank(to);
    if (last < first) tt_lex_wrong(&to->in, "the run ends before it begins");
    if (to->listed + (size_t)(last - first) >= (size_t)to->p)
        tt_lex_wrong(&to->in, "more ranks than there are");
    for (int32_t r = first; r <= last && !to->in.failed; r++) list_element(to, &r, sizeof r);
}

static void signal(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    int32_t peer = TT_ALL;
    int inc[TT_DEPTH];
    bool nobody = false; /* the signal is for all other ranks, but there are none */
    begin_list(to);
    if (tt_lex_take(in, "{")) {
        do run_of_ranks(to);
        while (tt_lex_take(in, ","));
        tt_lex_need(in, "}");
    } else if (!tt_lex_take(in, "all")) {
        peer = parse_rank(to);
    } else {
        nobody = to->p == 1;
    }
    uint32_t raised = parse_value(to, inc);
    if (in->failed) return;
    if (nobody)
        tt_signal_set(to->b, to->list, 0, raised); /* the builder leaves out a signal to no rank */
    else if (to->listed)
        tt_signal_set(to->b, to->list, (uint32_t)to->listed, raised);
    else
        tt_signal(to->b, peer, raised);
    parse_per_turn(to, inc);
}

static void await(struct tt_parser *to)
{
    int inc[TT_DEPTH], lane = 0;
    int32_t writer = parse_rank(to);
    if (tt_lex_take(&to->in, ".")) lane = (int)tt_parse_number(to, 0, TT_LANES - 1, "a lane");
    uint32_t reached = parse_value(to, inc);
    if (to->in.failed) return;
    tt_await_lane(to->b, writer, lane, reached);
    parse_per_turn(to, inc);
}

static int64_t offset(struct tt_parser *to)
{
    tt_lex_need(&to->in, "[");
    int64_t off = tt_parse_number(to, 0, TT_TEXT_BYTES, "an offset");
    tt_lex_need(&to->in, "]");
    return off;
}

/* Parses an entry of a step `exchange`, such as "entry 1 IN[5000] -> OUT@1[0] len 5000", after the
 * word `entry`. `from` is the buffer that the entry must name (here IN). */
static void entry(struct tt_parser *to, int from)
{
    struct tt_lex *in = &to->in;
    struct tt_entry e = {.peer = parse_other_rank(to)};
    tt_lex_need(in, tt_word(&tt_buffer_words, from));
    e.mine = offset(to);
    tt_lex_need(in, "->");
    tt_lex_need(in, "OUT");
    tt_lex_need(in, "@");
    if (parse_rank(to) != e.peer) tt_lex_wrong(in, "an entry for rank %d", (int)e.peer);
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
    /* the step may end with "from N": the turn of the loop in which it is done first */
    bool varies;
} statements[] = {
    [TT_SEND] = {send, true},        [TT_RECV] = {recv, true},
    [TT_PUT] = {put, true},          [TT_GET] = {get, true},
    [TT_WAIT] = {wait, true},        [TT_SIGNAL] = {signal, true},
    [TT_AWAIT] = {await, true},      [TT_COPY] = {copy, true},
    [TT_REDUCE] = {reduce, true},    [TT_LOOP] = {parse_loop, false},
    [TT_END] = {parse_close, false}, [TT_EXCHANGE] = {exchange, false},
};

static void from(struct tt_parser *to)
{
    need_loops(to, 1, "from");
    uint32_t turn = (uint32_t)tt_parse_number(to, 1, UINT32_MAX, "the first turn");
    if (!to->in.failed) tt_from(to->b, turn);
}

/* The blocks that exist only in the text, and not in the plan. */
static const struct {
    const char *word;
    void (*read)(struct tt_parser *);
} blocks[] = {{"for", parse_for}, {"if", parse_if}};

static bool block(struct tt_parser *to)
{
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        if (!tt_lex_take(&to->in, blocks[i].word)) continue;
        blocks[i].read(to);
        return true;
    }
    return false;
}

static bool statement(struct tt_parser *to)
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

bool tt_parse_step(struct tt_parser *to)
{
    struct tt_lex begin = to->in;
    int64_t before = tt_builder_steps(to->b);
    bool read = statement(to);
    if (!read || to->in.failed) return read;
    int64_t now = tt_builder_steps(to->b);
    if (to->place && before <= to->sought && to->sought < now) *to->place = begin;
    if (now < 0) {
        (void)tt_builder_finish(to->b); /* sets the error that the builder keeps */
        tt_lex_wrong_at(&to->in, &begin, "%s", tutti_error());
    }
    return true;
}
