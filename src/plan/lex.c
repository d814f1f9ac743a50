/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Characters to tokens. A token is looked at where it stands; nothing is kept of it but its place.
 */
#include "plan/lex.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static void blanks(struct tt_lex *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\r') in->at++;
    if (*in->at == '#') in->at += strcspn(in->at, "\n");
}

/* To the next line that has something. */
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

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of the word that comes next; - only within names. */
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

void tt_lex_name(struct tt_lex *in, char *name, size_t size, const char *what)
{
    name[0] = '\0';
    if (in->failed) return;
    blanks(in);
    in->token = in->at;
    size_t n = word_length(in->at, true);
    if (n == 0 || n >= size) {
        tt_lex_wrong(in, "expected %s of 1 to %zu letters", what, size - 1);
        return;
    }
    memcpy(name, in->at, n);
    name[n] = '\0';
    in->at += n;
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
