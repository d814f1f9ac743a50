/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cuts a text into tokens. Tokens are compared within the text and never copied; only the place of
 * the last one is kept.
 */
#include "text/lex.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static void blanks(struct tt_lex *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\r') in->at++;
    if (*in->at == '#') in->at += strcspn(in->at, "\n");
}

/* Goes to the next line that has a token. */
static void skip(struct tt_lex *in)
{
    for (blanks(in); *in->at == '\n'; blanks(in)) {
        in->line_begin = ++in->at;
        in->line++;
    }
}

void tt_lex_begin(struct tt_lex *in, const char *text, struct tt_text_error *error)
{
    *in = (struct tt_lex){.at = text, .line_begin = text, .line = 1, .token = text, .error = error};
    skip(in);
}

static void complain(struct tt_lex *in, const char *at, const char *format, va_list args)
{
    if (in->failed) return;
    in->failed = true;
    in->error->line = in->line;
    in->error->column = (int)(at - in->line_begin) + 1;
    vsnprintf(in->error->text, sizeof in->error->text, format, args);
}

void tt_lex_wrong(struct tt_lex *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(in, in->token, format, args);
    va_end(args);
}

void tt_lex_missing(struct tt_lex *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(in, in->at, format, args);
    va_end(args);
}

void tt_lex_wrong_at(struct tt_lex *in, const struct tt_lex *place, const char *format, ...)
{
    va_list args;
    in->line = place->line;
    in->line_begin = place->line_begin;
    va_start(args, format);
    complain(in, place->at, format, args);
    va_end(args);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the length of the word at `at`. A '-' after the first character is part of the word only
 * if `name` is true. */
static size_t word_length(const char *at, bool name)
{
    size_t n = 0;
    while (is_word(at[n]) || (name && n && at[n] == '-')) n++;
    return n;
}

bool tt_lex_take(struct tt_lex *in, const char *text)
{
    if (in->failed) return false;
    blanks(in);
    size_t n = strlen(text);
    bool here = is_word(*text) ? word_length(in->at, false) == n : true;
    if (!here || strncmp(in->at, text, n) != 0) return false;
    in->token = in->at;
    in->at += n;
    return true;
}

void tt_lex_need(struct tt_lex *in, const char *text)
{
    if (!tt_lex_take(in, text)) tt_lex_missing(in, "expected '%s'", text);
}

int tt_lex_word(struct tt_lex *in, const struct tt_words *words, const char *what)
{
    char list[160];
    if (in->failed) return 0;
    blanks(in);
    in->token = in->at;
    size_t n = word_length(in->at, false);
    int found = tt_word_find(words, in->at, n);
    in->at += n;
    if (found >= 0) return found;
    tt_lex_wrong(in, "expected %s, one of %s", what, tt_words_list(words, list, sizeof list));
    return 0;
}

static void read_name(struct tt_lex *in, char *name, size_t size, const char *what, bool dashes)
{
    name[0] = '\0';
    if (in->failed) return;
    blanks(in);
    in->token = in->at;
    size_t n = word_length(in->at, dashes);
    if (n == 0 || n >= size) {
        tt_lex_wrong(in, "expected %s of 1 to %zu letters", what, size - 1);
        return;
    }
    memcpy(name, in->at, n);
    name[n] = '\0';
    in->at += n;
}

void tt_lex_name(struct tt_lex *in, char *name, size_t size, const char *what)
{
    read_name(in, name, size, what, true);
}

void tt_lex_variable(struct tt_lex *in, char *name, size_t size, const char *what)
{
    read_name(in, name, size, what, false);
}

int64_t tt_lex_number(struct tt_lex *in, int64_t min, int64_t max, const char *what)
{
    if (in->failed) return min;
    blanks(in);
    in->token = in->at;
    bool negative = *in->at == '-';
    const char *end = in->at += negative;
    while (is_digit(*end)) end++;
    if (end > in->at && *end && strchr("KMG", *end)) end++;
    int64_t value;
    if (!tt_parse_size(in->at, end, &value) || is_word(*end)) {
        tt_lex_wrong(in, "expected %s, a number", what);
        return min;
    }
    in->at = end;
    if (negative) value = -value;
    if (value >= min && value <= max) return value;
    tt_lex_wrong(in, "%s must be from %" PRId64 " to %" PRId64, what, min, max);
    return min;
}

uint64_t tt_lex_unsigned(struct tt_lex *in, const char *what)
{
    uint64_t value = 0;
    if (in->failed) return 0;
    blanks(in);
    in->token = in->at;
    for (; is_digit(*in->at); in->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*in->at - '0'), &value))
            tt_lex_wrong(in, "%s must be below 2^64", what);
    }
    if (in->at == in->token || is_word(*in->at)) tt_lex_wrong(in, "expected %s, a number", what);
    return value;
}

const char *tt_lex_next(struct tt_lex *in)
{
    blanks(in);
    return in->at;
}

bool tt_lex_at_letter(struct tt_lex *in)
{
    char c = *tt_lex_next(in);
    return is_word(c) && !is_digit(c);
}

bool tt_lex_closes_line(struct tt_lex *in)
{
    return *tt_lex_next(in) == '}';
}

bool tt_lex_skip_line(struct tt_lex *in)
{
    char last = '\0';
    size_t n = strcspn(in->at, "#\n");
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r", in->at[i])) last = in->at[i];
    in->token = in->at;
    in->at += n;
    skip(in);
    return last == '{';
}

bool tt_lex_line_ends(struct tt_lex *in)
{
    blanks(in);
    return in->failed || *in->at == '\0' || *in->at == '\n';
}

void tt_lex_line_end(struct tt_lex *in)
{
    if (in->failed || in->token < in->line_begin) return;
    if (!tt_lex_line_ends(in)) tt_lex_missing(in, "expected the end of the line");
    if (!in->failed) skip(in);
}

bool tt_lex_at_end(struct tt_lex *in)
{
    return in->failed || *in->at == '\0';
}
