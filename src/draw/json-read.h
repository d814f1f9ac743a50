/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading JSON from memory, piece by piece, without building anything of it: a trace of a million
 * events needs no more room than its events. The first thing that is not as expected is kept, with
 * its place, and everything after that fails too.
 */
#ifndef TT_DRAW_JSON_READ_H
#define TT_DRAW_JSON_READ_H

#include "base/base.h"

struct tt_json {
    const char *begin, *at, *end;
    const char *wrong_at; /* NULL: nothing is wrong */
    char expected[120];
};

void tt_json_begin(struct tt_json *json, const char *text, size_t n);
/* Notes, if nothing is wrong yet, that something else was expected at `at`; false. */
bool tt_json_expect(struct tt_json *json, const char *at, const char *what);

/* The next byte that is not blank; 0 at the end, or when something is wrong. */
char tt_json_peek(struct tt_json *json);
/* Takes that byte if it is c. */
bool tt_json_take(struct tt_json *json, char c);

/* All below return false when something is wrong. */

/* The same, and it must be c, which `what` names. */
bool tt_json_must(struct tt_json *json, char c, const char *what);
/* What is longer than buffer is cut; what is beyond ASCII becomes '?'. */
bool tt_json_text(struct tt_json *json, char *buffer, size_t size);
/* A whole number in [least, most], which `what` names. */
bool tt_json_whole(struct tt_json *json, int64_t least, int64_t most, const char *what,
                   int64_t *value);
/* A number >= 0 below 10^15 with six decimals: whole and millionth parts. */
bool tt_json_millionths(struct tt_json *json, const char *what, int64_t *whole, int32_t *part);
/* Any value, looked at no further. */
bool tt_json_skip(struct tt_json *json);

/* The members of an object or the items of an array: call before each; false at the end, or when
 * something is wrong. *n is 0 before the first. A member's key and its colon are taken. */
bool tt_json_member(struct tt_json *json, int64_t *n, char *key, size_t size);
bool tt_json_item(struct tt_json *json, int64_t *n);

/* Line and column of a place, from 1. */
void tt_json_place(const struct tt_json *json, const char *at, int *line, int *column);

#endif
