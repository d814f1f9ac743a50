/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a short text from left to right. The reader keeps the first error together with its place.
 * After an error every function does nothing, so that a grammar is a plain sequence of calls.
 */
#ifndef TT_PLAN_READER_H
#define TT_PLAN_READER_H

#include "base/base.h"

struct tt_reader_error {
    size_t at; /* index of the character in the text at which the error is */
    char text[512];
};

struct tt_reader {
    const char *text, *at;
    struct tt_reader_error *error;
    bool failed;
    bool starved; /* reading failed because memory is short */
};

/* Records the error at this place, unless there is one already. */
__attribute__((format(printf, 3, 4))) void tt_reader_wrong(struct tt_reader *in, const char *at,
                                                           const char *format, ...);
/* Reads past these characters if they come next in the text. Returns whether they did. */
bool tt_reader_take(struct tt_reader *in, const char *characters);
/* Reads past these characters. If they do not come next, records an error that `what` was
 * expected. */
void tt_reader_need(struct tt_reader *in, const char *characters, const char *what);
/* Reads a whole number below 2^31; returns 0 after an error. */
int tt_reader_number(struct tt_reader *in, const char *what);

#endif
