/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Closed lists of words, as problem strings and plan texts use them. The words for collectives,
 * types and operations come from the macro lists (such as TT_COLL_LIST) that also declare their
 * enums.
 */
#ifndef TT_PLAN_WORDS_H
#define TT_PLAN_WORDS_H

#include "base/base.h"

struct tt_words {
    const char *const *word;
    int n;
};

extern const struct tt_words tt_coll_words, tt_type_words, tt_op_words;
/* The words for buffers, for kinds of steps, and for the orders of an exchange, indexed by the
 * enums of plan.h. */
extern const struct tt_words tt_buffer_words, tt_step_words, tt_order_words;

/* The word in problem strings that stands for any user-defined operation. */
#define TT_OP_USER_WORD "user"

/* Returns the i-th word of the list, or "?" if i is outside of the list. */
const char *tt_word(const struct tt_words *words, int i);
/* Returns the index of text[0..len-1] in the list, or -1. */
int tt_word_find(const struct tt_words *words, const char *text, size_t len);
/* Writes all words with a space between them. Returns buffer. */
char *tt_words_list(const struct tt_words *words, char *buffer, size_t size);

#endif
