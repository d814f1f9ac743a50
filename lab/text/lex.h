/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads text that consists of words, numbers and a few signs, line by line. After the first error
 * every function does nothing. So a parser can call them one after the other, and check for errors
 * only at the end.
 */
#ifndef TT_PLAN_LEX_H
#define TT_PLAN_LEX_H

#include "text/text.h"
#include "plan/words.h"

struct tt_lex {
    const char *at, *line_begin;
    int line;
    bool failed;
    const char *token; /* where the token that was read last begins */
    struct tt_text_error *error;
};

void tt_lex_begin(struct tt_lex *in, const char *text, struct tt_text_error *error);
/* Records an error, unless there is one already: tt_lex_wrong at the token that was read last, and
 * tt_lex_missing at the token that comes next. */
__attribute__((format(printf, 2, 3))) void tt_lex_wrong(struct tt_lex *in, const char *format, ...);
__attribute__((format(printf, 2, 3))) void tt_lex_missing(struct tt_lex *in, const char *format,
                                                          ...);

/* Records an error at an earlier place, unless there is an error already. */
__attribute__((format(printf, 3, 4))) void
tt_lex_wrong_at(struct tt_lex *in, const struct tt_lex *place, const char *format, ...);

/* tt_lex_take reads `text` (a whole word or a sign) if it comes next, and returns whether it did.
 * tt_lex_need records an error if something else comes next. */
bool tt_lex_take(struct tt_lex *in, const char *text);
void tt_lex_need(struct tt_lex *in, const char *text);
/* Reads a word of the list and returns its index in the list; 0 after an error. Here and in the
 * next functions, `what` is the text that error messages have for the thing that was expected. */
int tt_lex_word(struct tt_lex *in, const struct tt_words *words, const char *what);
/* Reads any word of letters, digits, - and _, of at most size - 1 characters. */
void tt_lex_name(struct tt_lex *in, char *name, size_t size, const char *what);
/* Reads a word of letters, digits and _, of at most size - 1 characters. A - ends the word, because
 * it is an operator in expressions. */
void tt_lex_variable(struct tt_lex *in, char *name, size_t size, const char *what);
/* Reads a whole number in [min, max], which may end in K, M or G; returns min after an error. */
int64_t tt_lex_number(struct tt_lex *in, int64_t min, int64_t max, const char *what);
/* Reads an unsigned 64-bit number, in digits alone. */
uint64_t tt_lex_unsigned(struct tt_lex *in, const char *what);
/* Skips blanks and returns where the next token begins. tt_lex_at_letter returns whether that token
 * begins with a letter. */
const char *tt_lex_next(struct tt_lex *in);
bool tt_lex_at_letter(struct tt_lex *in);
/* These two functions serve to skip lines that are not parsed, and are called at the beginning of a
 * line. tt_lex_closes_line returns whether the line begins with a }. tt_lex_skip_line goes to the
 * next line that is not empty, and returns whether the skipped line ended in a {. */
bool tt_lex_closes_line(struct tt_lex *in);
bool tt_lex_skip_line(struct tt_lex *in);
/* Requires that only blanks and a comment are left on the line, and goes to the next line that is
 * not empty. It does nothing if no token of this line has been read yet. */
void tt_lex_line_end(struct tt_lex *in);
bool tt_lex_line_ends(struct tt_lex *in); /* returns true after an error, too */
bool tt_lex_at_end(struct tt_lex *in);

#endif
