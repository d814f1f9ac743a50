/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of the plan parser share: parse.c reads headers and lanes,
 * parse-step.c reads steps and blocks in braces, and parse-number.c reads numbers. The parser
 * appends everything to the builder that algorithms use, so a parsed plan is stored exactly as a
 * built one.
 */
#ifndef TT_PLAN_PARSE_H
#define TT_PLAN_PARSE_H

#include "text/lex.h"

/* The largest offset or length that the text of a plan may contain: the sum of two of them fits in
 * 64 bits. */
#define TT_TEXT_BYTES (INT64_MAX / 2)

enum {
    TT_TEXT_NAME = 16,      /* the bytes of a variable's name, with the \0 at its end */
    TT_TEXT_VARIABLES = 16, /* the most variables at a time */
    TT_TEXT_BLOCKS = 16,    /* how deep blocks may nest */
    TT_TEXT_NESTED = 64     /* how deep parentheses may nest */
};

/* A named number. The first ones are r, p and the values of the call; the variables of the `for`
 * blocks that contain the current line follow. */
struct tt_variable {
    char name[TT_TEXT_NAME];
    int64_t value;
};

enum tt_block_kind { TT_BLOCK_LOOP, TT_BLOCK_FOR, TT_BLOCK_IF };
struct tt_text_block {
    enum tt_block_kind kind;
    int64_t last;        /* of a block `for`: the last value of the variable */
    struct tt_lex begin; /* of a block `for`: where its lines begin */
};

struct tt_parser {
    struct tt_lex in;
    struct tt_builder *b; /* the builder of the plan; NULL before the first lane of a plan */
    /* the call for which the plans are parsed; NULL if the headers of the plans decide it */
    const struct tt_call *given;
    struct tt_call call; /* the call, as far as the header of the plan describes it */
    char name[48];       /* the algorithm's name */
    char op[16];         /* the operation's name in the header, which the steps repeat */
    int32_t p, me;
    int lanes, depth; /* depth: the number of loops that contain the current line */
    struct tt_variable variables[TT_TEXT_VARIABLES];
    struct tt_text_block blocks[TT_TEXT_BLOCKS];
    int variables_n, blocks_n, nested;
    int64_t turns;    /* how many turns of `for` blocks were parsed so far */
    tt_started *ids;  /* for each id of this lane, what the builder has returned for its step */
    uint32_t started; /* the number of ids in this lane */
    size_t ids_room;
    /* if not NULL: where to put the place of step number `sought` of the plan, as soon as the step
     * has been appended */
    struct tt_lex *place;
    int64_t sought;
    void *list; /* the operands or ranks that the current step lists */
    size_t listed, room;
};

/* ---- parse.c ---- */

/* Parses the plan whose header begins at `at`, for rank `me` of p and this call. Returns NULL after
 * an error. */
struct tt_plan *tt_parse_for_call(const struct tt_lex *at, const struct tt_call *call, int p,
                                  int me, struct tt_text_error *error);

/* Finds the statement from which step number `step` of the plan comes. Sets *place to the beginning
 * of the statement. Returns false if the plan cannot be parsed up to there. The other arguments are
 * those of tt_parse_for_call, with which the plan has been parsed before. */
bool tt_parse_place(const struct tt_lex *at, const struct tt_call *call, int p, int me,
                    int64_t step, struct tt_lex *place);

/* ---- parse-number.c ---- */

/* tt_parse_variable adds a variable. tt_parse_find returns the variable of that name, or NULL. */
void tt_parse_variable(struct tt_parser *to, const char *name, int64_t value);
struct tt_variable *tt_parse_find(struct tt_parser *to, const char *name);
/* Parses a number within [min, max], or an expression with that value; returns min after an error.
 * A sum has to be in parentheses, because a + or - may follow a number in a step. `what` is the
 * text that error messages have for the thing that was expected. */
int64_t tt_parse_number(struct tt_parser *to, int64_t min, int64_t max, const char *what);
/* Parses a number or an expression like tt_parse_number, in places where a * or % may follow it. So
 * an expression with any operator has to be in parentheses. */
int64_t tt_parse_atom(struct tt_parser *to, int64_t min, int64_t max, const char *what);
/* Parses the length of a step or the number of turns of a loop. A plain number must not be 0. An
 * expression may be 0; the builder then leaves the step out. */
int64_t tt_parse_amount(struct tt_parser *to, int64_t max, const char *what);

/* ---- parse-step.c ---- */

/* Parses one statement of a lane, together with the end of its line. Reads nothing and returns
 * false if no statement comes next. */
bool tt_parse_step(struct tt_parser *to);

#endif
