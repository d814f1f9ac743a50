/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading text made of words, numbers and a few signs, line by line. Every function does nothing
 * after the first error, so that a grammar is written as a plain sequence of calls.
 */
#ifndef TT_PLAN_LEX_H
#define TT_PLAN_LEX_H

#include "plan/text.h"
#include "plan/words.h"

struct tt_lex {
    const char *at, *line_begin;
    int line;
    bool failed;
    const char *token; /* where the last one read began */
    struct tt_text_error *error;
};

void tt_lex_begin(struct tt_lex *in, const char *text, struct tt_text_error *error);
/* Notes the error, at the last token read or at what comes next, unless there is one already. */
__attribute__((format(printf, 2, 3))) void tt_lex_wrong(struct tt_lex *in, const char *format, ...);
__attribute__((format(printf, 2, 3))) void tt_lex_missing(struct tt_lex *in, const char *format,
                                                          ...);

/* Takes `text` (a whole word or a sign) if it comes next. */
bool tt_lex_take(struct tt_lex *in, const char *text);
void tt_lex_need(struct tt_lex *in, const char *text);
/* A word out of the list, by its place there; 0 after an error. */
int tt_lex_word(struct tt_lex *in, const struct tt_words *words, const char *what);
/* Any word: letters, digits, - and _, of at most size - 1 characters. */
void tt_lex_name(struct tt_lex *in, char *name, size_t size, const char *what);
/* A whole number in [min, max]; min after an error. With K M G, as any other number. */
int64_t tt_lex_number(struct tt_lex *in, int64_t min, int64_t max, const char *what);
/* Any unsigned number of 64 bits, in digits alone. */
uint64_t tt_lex_unsigned(struct tt_lex *in, const char *what);
/* Nothing but blanks and a comment is left on the line; goes to the next one that has something, or
 * stays there if nothing of it has been read. */
void tt_lex_line_end(struct tt_lex *in);
bool tt_lex_line_ends(struct tt_lex *in); /* or an error has been */
bool tt_lex_at_end(struct tt_lex *in);

#endif
