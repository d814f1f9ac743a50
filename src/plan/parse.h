/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the parser of plans: parse.c reads headers and lanes, parse-step.c the steps,
 * parse-piece.c what steps are made of. Everything is appended to the builder that algorithms use,
 * so that a parsed plan is stored just as a built one.
 */
#ifndef TT_PLAN_PARSE_H
#define TT_PLAN_PARSE_H

#include "plan/lex.h"

/* The most of any number of bytes, so that what a place and a length add up to can be counted. */
#define TT_TEXT_BYTES (INT64_MAX / 2)

struct tt_parser {
    struct tt_lex in;
    struct tt_builder *b; /* NULL before the first lane of a plan */
    struct tt_call call;  /* what the header says of it */
    char name[48];        /* the algorithm's */
    int32_t p, me;
    int lanes, depth;
    uint32_t started; /* ids given in this lane */
    void *list;       /* what a step lists: operands, ranks */
    size_t listed, room;
};

/* ---- parse-piece.c ---- */

void tt_parse_list_begin(struct tt_parser *to);
void tt_parse_list(struct tt_parser *to, const void *element, size_t sz);

int32_t tt_parse_rank(struct tt_parser *to);
int32_t tt_parse_other_rank(struct tt_parser *to);
/* Any range; one of this rank; one of another. */
struct tt_range tt_parse_range(struct tt_parser *to);
struct tt_range tt_parse_own_range(struct tt_parser *to);
struct tt_range tt_parse_far_range(struct tt_parser *to);

/* "len 4K tail 100 every 3 phase 1"; the builder gets the tail after the step. */
struct tt_length {
    int64_t len, tail;
    int32_t mod, phase;
};
struct tt_length tt_parse_length(struct tt_parser *to);
void tt_parse_tail(struct tt_parser *to, struct tt_length length);

/* "1 + i*2 + j"; the builder gets inc after the step. */
uint32_t tt_parse_value(struct tt_parser *to, int inc[TT_DEPTH]);
void tt_parse_per_turn(struct tt_parser *to, const int inc[TT_DEPTH]);

/* ---- parse-step.c ---- */

/* One statement of a lane, with the end of its line. False, and nothing read, if none comes
 * next. */
bool tt_parse_step(struct tt_parser *to);

#endif
