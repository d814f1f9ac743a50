/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads JSON from memory, piece by piece, without a tree of its values. So a trace of a million
 * events needs no more memory than its events. The reader keeps the first error and its place, and
 * all calls after an error fail.
 */
#ifndef TT_DRAW_JSON_READ_H
#define TT_DRAW_JSON_READ_H

#include "base/base.h"

struct tt_json {
    const char *begin, *at, *end;
    const char *wrong_at; /* the place of the first error; NULL before the first error */
    char expected[120];
};

void tt_json_begin(struct tt_json *json, const char *text, size_t n);
/* Records, unless there is an error already, that `what` was expected at `at`. Returns false. */
bool tt_json_expect(struct tt_json *json, const char *at, const char *what);

/* Returns the next byte that is not blank; 0 at the end or after an error. */
char tt_json_peek(struct tt_json *json);
/* Reads the next byte if it is c. Returns whether it was. */
bool tt_json_take(struct tt_json *json, char c);

/* All functions below return false after an error. */

/* Reads the next byte, which must be c. An error message names it `what`. */
bool tt_json_must(struct tt_json *json, char c, const char *what);
/* Reads a string. The string is cut if it does not fit in the buffer, and characters beyond ASCII
 * become '?'. */
bool tt_json_text(struct tt_json *json, char *buffer, size_t size);
/* Reads a whole number in [least, most]. An error message names it `what`. */
bool tt_json_whole(struct tt_json *json, int64_t least, int64_t most, const char *what,
                   int64_t *value);
/* Reads a number from 0 to below 10^15. Sets *whole to its whole part, and *part to the rest in
 * millionths. */
bool tt_json_millionths(struct tt_json *json, const char *what, int64_t *whole, int32_t *part);
/* Skips a value of any kind. */
bool tt_json_skip(struct tt_json *json);

/* These two functions iterate over the members of an object or the items of an array. They are
 * called before each member or item, with *n == 0 before the first, and return false at the end or
 * after an error. tt_json_member also reads the key and the colon. */
bool tt_json_member(struct tt_json *json, int64_t *n, char *key, size_t size);
bool tt_json_item(struct tt_json *json, int64_t *n);

/* Converts a place in the text to its line and column, which count from 1. */
void tt_json_place(const struct tt_json *json, const char *at, int *line, int *column);

#endif
