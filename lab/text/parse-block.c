/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses blocks in braces. A loop becomes part of the plan. The blocks `for` and `if` exist in the
 * text only: the parser reads the lines of a `for` once for each value of its variable, and skips
 * the lines of an `if` whose condition does not hold.
 */
#include "text/parse.h"

#include <string.h>

enum { TURNS_MOST = 1 << 18 }; /* turns of all `for` blocks of a plan */

static struct tt_text_block *open_block(struct tt_parser *to, enum tt_block_kind kind)
{
    if (to->blocks_n == TT_TEXT_BLOCKS) {
        tt_lex_wrong(&to->in, "blocks are at most %d deep", TT_TEXT_BLOCKS);
        return to->blocks; /* any: the parser has failed */
    }
    struct tt_text_block *block = &to->blocks[to->blocks_n++];
    *block = (struct tt_text_block){.kind = kind};
    return block;
}

/* Goes to the } that closes the block whose lines come next. */
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

void tt_parse_loop(struct tt_parser *to)
{
    struct tt_lex *in = &to->in;
    if (to->depth++ == TT_DEPTH) tt_lex_wrong(in, "loops are at most %d deep", TT_DEPTH);
    uint32_t turns_n = (uint32_t)tt_parse_amount(to, UINT32_MAX, "a number of turns");
    tt_lex_need(in, "{");
    if (in->failed) return;
    open_block(to, TT_BLOCK_LOOP);
    tt_loop(to->b, turns_n);
}

/* Reads the header "k in 0..p-1 {", from the variable on; the limits are numbers. */
void tt_parse_for(struct tt_parser *to)
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
    tt_lex_line_end(in);
    if (first <= last) tt_parse_variable(to, name, first);
    struct tt_text_block *block = open_block(to, first <= last ? TT_BLOCK_FOR : TT_BLOCK_IF);
    if (in->failed) return;
    block->last = last;
    block->begin = *in;
    if (first > last) skip_lines(to);
}

void tt_parse_if(struct tt_parser *to)
{
    int64_t holds = tt_parse_number(to, -INT64_MAX, INT64_MAX, "a condition");
    tt_lex_need(&to->in, "{");
    tt_lex_line_end(&to->in);
    open_block(to, TT_BLOCK_IF);
    if (!holds && !to->in.failed) skip_lines(to);
}

/* Goes back to the first line of the block, for the next value of its variable. Returns false if
 * there is none. */
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

void tt_parse_close(struct tt_parser *to)
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
