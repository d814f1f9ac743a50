/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses the pieces that steps consist of: ranks, ranges, lengths, flag values.
 */
#include "text/parse.h"

#include <string.h>

void tt_parse_list_begin(struct tt_parser *to)
{
    to->listed = 0;
}

void tt_parse_list(struct tt_parser *to, const void *element, size_t sz)
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

int32_t tt_parse_rank(struct tt_parser *to)
{
    return (int32_t)tt_parse_number(to, 0, to->p - 1, "a rank");
}

int32_t tt_parse_other_rank(struct tt_parser *to)
{
    int32_t r = tt_parse_rank(to);
    if (r == to->me) tt_lex_wrong(&to->in, "rank %d is this rank itself", (int)r);
    return r;
}

static int64_t bytes(struct tt_parser *to, const char *what)
{
    return tt_parse_number(to, 0, TT_TEXT_BYTES, what);
}

/* Parses a turn of the inner loop, such as "i%2" or "(i+1)"; its factor follows. */
static void inner_turn(struct tt_parser *to, struct tt_shape *s)
{
    struct tt_lex *in = &to->in;
    if (tt_lex_take(in, "(")) {
        tt_lex_need(in, "i");
        tt_lex_need(in, "+");
        s->phase = (int32_t)tt_parse_atom(to, 0, INT32_MAX, "a phase");
        tt_lex_need(in, ")");
    } else {
        tt_lex_need(in, "i");
    }
    if (tt_lex_take(in, "%")) s->mod = (int32_t)tt_parse_atom(to, 1, INT32_MAX, "a modulus");
}

/* Parses the numbers that a range adds for each turn, such as " + i*4K - j*64K". */
static void turns(struct tt_parser *to, struct tt_shape *s)
{
    struct tt_lex *in = &to->in;
    bool there[TT_DEPTH] = {false};
    for (;;) {
        bool plus = tt_lex_take(in, "+"), minus = !plus && tt_lex_take(in, "-");
        if (!plus && !minus) return;
        int outer = tt_lex_take(in, "j");
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

/* Parses the rest of a range, from its [ on. */
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

/* Parses the rank after an @ in a step that may also read the buffers of its own rank. */
static int32_t owner(struct tt_parser *to)
{
    int32_t r = tt_parse_rank(to);
    return r == to->me ? TT_SELF : r;
}

struct tt_range tt_parse_range(struct tt_parser *to)
{
    int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
    return place(to, buf, tt_lex_take(&to->in, "@") ? owner(to) : TT_SELF);
}

void tt_parse_operands(struct tt_parser *to)
{
    int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
    int32_t first = to->me, last = first;
    if (tt_lex_take(&to->in, "@")) first = last = tt_parse_rank(to);
    if (tt_lex_take(&to->in, "..")) last = tt_parse_rank(to);
    if (last < first) tt_lex_wrong(&to->in, "the run ends before it begins");
    struct tt_range operand = place(to, buf, TT_SELF);
    for (int32_t r = first; r <= last && !to->in.failed; r++) {
        operand.rank = r == to->me ? TT_SELF : r;
        tt_parse_list(to, &operand, sizeof operand);
    }
}

struct tt_range tt_parse_far_range(struct tt_parser *to)
{
    int buf = tt_lex_word(&to->in, &tt_buffer_words, "a buffer");
    tt_lex_need(&to->in, "@");
    return place(to, buf, tt_parse_other_rank(to));
}

struct tt_range tt_parse_own_range(struct tt_parser *to)
{
    return place(to, tt_lex_word(&to->in, &tt_buffer_words, "a buffer"), TT_SELF);
}

struct tt_length tt_parse_length(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    struct tt_length s = {.tail = -1};
    tt_lex_need(in, "len");
    s.len = tt_parse_amount(to, TT_TEXT_BYTES, "a length");
    if (!tt_lex_take(in, "tail")) return s;
    s.tail = bytes(to, "the tail's length");
    if (!tt_lex_take(in, "every")) return s;
    s.mod = (int32_t)tt_parse_number(to, 1, INT32_MAX, "a number of turns");
    if (tt_lex_take(in, "phase")) s.phase = (int32_t)tt_parse_number(to, 0, INT32_MAX, "a phase");
    return s;
}

void tt_parse_tail(struct tt_parser *to, struct tt_length s)
{
    if (s.tail >= 0) tt_tail_at(to->b, s.tail, s.mod, s.phase);
}

uint32_t tt_parse_value(struct tt_parser *to, int inc[TT_DEPTH])
{
    struct tt_lex *in = &to->in;
    int64_t first = tt_parse_number(to, INT32_MIN, UINT32_MAX, "a flag value");
    inc[0] = inc[1] = 0;
    for (;;) {
        bool plus = tt_lex_take(in, "+"), minus = !plus && tt_lex_take(in, "-");
        if (!plus && !minus) return (uint32_t)first;
        int outer = tt_lex_take(in, "j");
        if (!outer) tt_lex_need(in, "i");
        if (inc[outer]) tt_lex_wrong(in, "%s is there already", outer ? "j" : "i");
        int64_t by = 1;
        if (tt_lex_take(in, "*")) by = tt_parse_amount(to, INT32_MAX, "what a turn adds");
        inc[outer] = (int)(minus ? -by : by);
    }
}

void tt_parse_per_turn(struct tt_parser *to, const int inc[TT_DEPTH])
{
    if (inc[0] || inc[1]) tt_per_turn(to->b, inc[0], inc[1]);
}
