/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tt_reader_wrong(struct tt_reader *in, const char *at, const char *format, ...)
{
    if (in->failed) return;
    in->failed = true;
    in->error->at = (size_t)(at - in->text);
    va_list args;
    va_start(args, format);
    vsnprintf(in->error->text, sizeof in->error->text, format, args);
    va_end(args);
}

bool tt_reader_take(struct tt_reader *in, const char *characters)
{
    size_t n = strlen(characters);
    if (in->failed || strncmp(in->at, characters, n) != 0) return false;
    in->at += n;
    return true;
}

void tt_reader_need(struct tt_reader *in, const char *characters, const char *what)
{
    if (!tt_reader_take(in, characters)) tt_reader_wrong(in, in->at, "expected %s", what);
}

int tt_reader_number(struct tt_reader *in, const char *what)
{
    const char *begin = in->at;
    int64_t value = 0;
    if (in->failed) return 0;
    for (; *in->at >= '0' && *in->at <= '9'; in->at++)
        value = tt_min(10 * value + (*in->at - '0'), (int64_t)INT32_MAX + 1);
    if (in->at == begin) tt_reader_wrong(in, begin, "expected %s", what);
    if (value > INT32_MAX) tt_reader_wrong(in, begin, "%s: too large a number", what);
    return in->failed ? 0 : (int)value;
}
