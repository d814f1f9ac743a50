/* SPDX-License-Identifier: BSD-3-Clause */
#include "draw/json-read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tt_json_begin(struct tt_json *json, const char *text, size_t n)
{
    *json = (struct tt_json){.begin = text, .at = text, .end = text + n};
}

bool tt_json_expect(struct tt_json *json, const char *at, const char *what)
{
    if (json->wrong_at) return false;
    json->wrong_at = at;
    snprintf(json->expected, sizeof json->expected, "%s", what);
    return false;
}

char tt_json_peek(struct tt_json *json)
{
    while (json->at < json->end && (*json->at == ' ' || (*json->at >= '\t' && *json->at <= '\r')))
        json->at++;
    return json->at < json->end && !json->wrong_at ? *json->at : '\0';
}

bool tt_json_take(struct tt_json *json, char c)
{
    if (tt_json_peek(json) != c || c == '\0') return false;
    json->at++;
    return true;
}

bool tt_json_must(struct tt_json *json, char c, const char *what)
{
    return tt_json_take(json, c) || tt_json_expect(json, json->at, what);
}

/* ---- Text ---- */

static bool hex(struct tt_json *json, int *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = json->at < json->end && *json->at ? strchr(digits, *json->at) : NULL;
        if (!digit) return tt_json_expect(json, json->at, "four hexadecimal digits");
        *value = *value * 16 + (int)((digit - digits) % 16);
        json->at++;
    }
    return true;
}

/* Reads the characters after a backslash, and sets *c to the character for which they stand. */
static bool escape(struct tt_json *json, char *c)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    int code;
    const char *name = json->at < json->end && *json->at ? strchr(names, *json->at) : NULL;
    if (name) {
        *c = bytes[name - names];
        json->at++;
        return true;
    }
    if (json->at == json->end || *json->at != 'u')
        return tt_json_expect(json, json->at, "a character that can be escaped");
    json->at++;
    if (!hex(json, &code)) return false;
    *c = code > 0 && code < 128 ? (char)code : '?';
    return true;
}

bool tt_json_text(struct tt_json *json, char *buffer, size_t size)
{
    size_t n = 0;
    if (!tt_json_must(json, '"', "a text in quotes")) return false;
    while (json->at < json->end && *json->at != '"') {
        char c = *json->at;
        if ((unsigned char)c < ' ')
            return tt_json_expect(json, json->at, "the text's closing quote");
        json->at++;
        if (c == '\\' && !escape(json, &c)) return false;
        if ((unsigned char)c >= 127) c = '?';
        if (n + 1 < size) buffer[n++] = c;
    }
    buffer[n] = '\0';
    if (json->at == json->end) return tt_json_expect(json, json->at, "the text's closing quote");
    json->at++;
    return true;
}

/* ---- Numbers ---- */

struct number {
    const char *at;
    int64_t whole; /* the value of the digits before the point; -1 if it is too large */
    int32_t part;  /* the value of the digits after the point, in millionths */
    bool negative, exact;
};

static bool is_digit(const struct tt_json *json)
{
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

static void whole_digits(struct tt_json *json, struct number *number)
{
    for (; is_digit(json); json->at++) {
        if (number->whole > INT64_MAX / 10 - 1) number->whole = -1;
        if (number->whole >= 0) number->whole = 10 * number->whole + (*json->at - '0');
    }
}

static void part_digits(struct tt_json *json, struct number *number)
{
    int32_t unit = 100000;
    for (; is_digit(json); json->at++, unit /= 10) number->part += unit * (*json->at - '0');
}

/* Reads the exponent of a number whose other digits were read, and sets *number to the value with
 * the exponent. It uses strtod, which has the precision of a double only. This is enough, because
 * exponents are rare. */
static bool scaled(struct tt_json *json, struct number *number, const char *what)
{
    char copy[64];
    json->at++;
    if (json->at < json->end && (*json->at == '+' || *json->at == '-')) json->at++;
    if (!is_digit(json)) return tt_json_expect(json, json->at, "a digit");
    while (is_digit(json)) json->at++;
    size_t n = (size_t)(json->at - number->at);
    if (n >= sizeof copy) return tt_json_expect(json, number->at, what);
    memcpy(copy, number->at, n);
    copy[n] = '\0';
    double value = fabs(strtod(copy, NULL));
    number->whole = value < 9e15 ? (int64_t)value : -1;
    number->part = value < 9e15 ? (int32_t)((value - floor(value)) * 1e6) : 0;
    return true;
}

static bool read_number(struct tt_json *json, struct number *number, const char *what)
{
    char c = tt_json_peek(json);
    *number = (struct number){.at = json->at, .negative = c == '-'};
    json->at += c == '-';
    if (!is_digit(json)) return tt_json_expect(json, number->at, what);
    whole_digits(json, number);
    if (json->at < json->end && *json->at == '.') {
        json->at++;
        if (!is_digit(json)) return tt_json_expect(json, json->at, "a digit");
        part_digits(json, number);
    }
    if (json->at < json->end && (*json->at == 'e' || *json->at == 'E'))
        return scaled(json, number, what);
    return true;
}

bool tt_json_whole(struct tt_json *json, int64_t least, int64_t most, const char *what,
                   int64_t *value)
{
    struct number number;
    if (!read_number(json, &number, what)) return false;
    *value = number.negative ? -number.whole : number.whole;
    if (number.whole >= 0 && number.part == 0 && *value >= least && *value <= most) return true;
    return tt_json_expect(json, number.at, what);
}

bool tt_json_millionths(struct tt_json *json, const char *what, int64_t *whole, int32_t *part)
{
    const int64_t most = 1000000000000000;
    struct number number;
    if (!read_number(json, &number, what)) return false;
    *whole = number.whole;
    *part = number.part;
    if (!number.negative && *whole >= 0 && *whole < most) return true;
    return tt_json_expect(json, number.at, what);
}

/* ---- Members and items ---- */

bool tt_json_member(struct tt_json *json, int64_t *n, char *key, size_t size)
{
    if (*n == 0 && !tt_json_must(json, '{', "an object: {")) return false;
    if (tt_json_take(json, '}')) return false;
    if ((*n)++ > 0 && !tt_json_must(json, ',', ", or }")) return false;
    return tt_json_text(json, key, size) && tt_json_must(json, ':', ":");
}

bool tt_json_item(struct tt_json *json, int64_t *n)
{
    if (*n == 0 && !tt_json_must(json, '[', "an array: [")) return false;
    if (tt_json_take(json, ']')) return false;
    if ((*n)++ > 0 && !tt_json_must(json, ',', ", or ]")) return false;
    return !json->wrong_at;
}

/* ---- Skipping ---- */

static bool skip_word(struct tt_json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(json->end - json->at) < n || memcmp(json->at, words[i], n) != 0) continue;
        json->at += n;
        return true;
    }
    return tt_json_expect(json, json->at, "a value");
}

static bool skip_plain(struct tt_json *json)
{
    char c = tt_json_peek(json), text[8];
    struct number number;
    if (c == '"') return tt_json_text(json, text, sizeof text);
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(json, &number, "a number");
    return skip_word(json);
}

bool tt_json_skip(struct tt_json *json)
{
    enum { DEEP = 64 };
    int64_t n[DEEP] = {0};
    bool object[DEEP];
    int depth = 0;
    char key[8];
    do {
        char c = tt_json_peek(json);
        bool opens = c == '{' || c == '[';
        if (opens && depth == DEEP) return tt_json_expect(json, json->at, "less depth");
        if (opens) {
            object[depth] = c == '{';
            n[depth++] = 0;
        } else if (!skip_plain(json)) {
            return false;
        }
        while (depth > 0 &&
               !(object[depth - 1] ? tt_json_member(json, &n[depth - 1], key, sizeof key)
                                   : tt_json_item(json, &n[depth - 1]))) {
            if (json->wrong_at) return false;
            depth--;
        }
    } while (depth > 0);
    return true;
}

void tt_json_place(const struct tt_json *json, const char *at, int *line, int *column)
{
    const char *begin = json->begin;
    *line = 1;
    for (const char *c = json->begin; c < at; c++) {
        if (*c != '\n') continue;
        *line += *line < INT32_MAX;
        begin = c + 1;
    }
    *column = (int)tt_min(at - begin, INT32_MAX - 1) + 1;
}
