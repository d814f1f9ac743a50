/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Closed lists of words, as problem strings and plan texts use them, each made from the list that
 * declares the things themselves.
 */
#ifndef TT_PLAN_WORDS_H
#define TT_PLAN_WORDS_H

#include "base/base.h"

struct tt_words {
    const char *const *word;
    int n;
};

extern const struct tt_words tt_coll_words, tt_type_words, tt_op_words;
/* Buffers, step kinds and orders of an exchange, by the numbers of plan.h. */
extern const struct tt_words tt_buffer_words, tt_step_words, tt_order_words;
extern const struct tt_words tt_skew_words; /* by enum tt_skew */

/* The one user-defined operation of problem strings. */
#define TT_OP_USER_WORD "user"

/* The i-th word; "?" outside of the list. */
const char *tt_word(const struct tt_words *words, int i);
/* The place of text[0..len-1] in the list, or -1. */
int tt_word_find(const struct tt_words *words, const char *text, size_t len);
/* All of them with a space between; returns buffer. */
char *tt_words_list(const struct tt_words *words, char *buffer, size_t size);

#endif
