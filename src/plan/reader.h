/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading a short text from left to right. The first thing that is wrong is kept together with its
 * place; after that every function does nothing, so that a grammar is a plain sequence of calls.
 */
#ifndef TT_PLAN_READER_H
#define TT_PLAN_READER_H

#include "base/base.h"

struct tt_reader_error {
    size_t at; /* place in the text */
    char text[512];
};

struct tt_reader {
    const char *text, *at;
    struct tt_reader_error *error;
    bool failed;
};

/* Notes what is wrong at that place. */
__attribute__((format(printf, 3, 4))) void tt_reader_wrong(struct tt_reader *in, const char *at,
                                                           const char *format, ...);
/* Takes these characters if they come next. */
bool tt_reader_take(struct tt_reader *in, const char *characters);
/* The same, or `what` was expected. */
void tt_reader_need(struct tt_reader *in, const char *characters, const char *what);
/* A whole number, below 2^31; 0 after an error. */
int tt_reader_number(struct tt_reader *in, const char *what);

#endif
