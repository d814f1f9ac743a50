/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads JSON from memory, piece by piece, without building a tree of it. So a trace of a million
 * events needs no more memory than its events. The reader keeps the first error with its place, and
 * everything after an error fails.
 */
#ifndef TT_DRAW_JSON_READ_H
#define TT_DRAW_JSON_READ_H

#include "base/base.h"

struct tt_json {
    const char *begin, *at, *end;
    const char *wrong_at; /* NULL: no error yet */
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

/* Reads the next byte, which must be c; `what` names it in the error. */
bool tt_json_must(struct tt_json *json, char c, const char *what);
/* Reads a string. It is cut if it does not fit in buffer, and characters beyond ASCII become
 * '?'. */
bool tt_json_text(struct tt_json *json, char *buffer, size_t size);
/* Reads a whole number in [least, most]; `what` names it in the error. */
bool tt_json_whole(struct tt_json *json, int64_t least, int64_t most, const char *what,
                   int64_t *value);
/* Reads a number >= 0 and below 10^15, as its whole part and its millionths. */
bool tt_json_millionths(struct tt_json *json, const char *what, int64_t *whole, int32_t *part);
/* Skips a value of any kind. */
bool tt_json_skip(struct tt_json *json);

/* Iterates over the members of an object or the items of an array. Call it before each one, with *n
 * == 0 before the first. It returns false at the end or after an error. tt_json_member reads the
 * key and the colon. */
bool tt_json_member(struct tt_json *json, int64_t *n, char *key, size_t size);
bool tt_json_item(struct tt_json *json, int64_t *n);

/* Converts a place to line and column, both from 1. */
void tt_json_place(const struct tt_json *json, const char *at, int *line, int *column);

#endif
