/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status texts, and the cause of the last error of each thread. A status says whether a call, a
 * team or the job is broken; the text of the error says what is wrong, and why.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static _Thread_local char last_error[TT_ERROR_TEXT];
static _Thread_local char error_before[TT_ERROR_TEXT]; /* the text that last_error has replaced */
static _Thread_local tutti_status last_status;

/* Stores the text of an error. Unless `error` is 0, the text of this errno follows. Formats into a
 * second buffer, because an argument may be the last error itself: tt_fail(status, "while ...: %s",
 * tutti_error()) adds a context to a cause. */
static void note(const char *format, va_list args, int error)
{
    char text[TT_ERROR_TEXT];
    int length = vsnprintf(text, sizeof text, format, args);
    size_t used = length < 0 ? 0 : (size_t)tt_min(length, TT_ERROR_TEXT - 1);
    if (error) {
        errno = error;
        snprintf(text + used, sizeof text - used, ": %m");
    }
    memcpy(error_before, last_error, sizeof error_before);
    memcpy(last_error, text, sizeof text);
}

tutti_status tt_fail(tutti_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(format, args, 0);
    va_end(args);
    return last_status = status;
}

tutti_status tt_fail_errno(tutti_status status, const char *format, ...)
{
    int error = errno;
    va_list args;
    va_start(args, format);
    note(format, args, error);
    va_end(args);
    return last_status = status;
}

tutti_status tt_error_status(void)
{
    return last_status;
}

void tt_error_undo(void)
{
    memcpy(last_error, error_before, sizeof last_error);
}

void tt_error_keep(char kept[TT_ERROR_TEXT])
{
    memcpy(kept, last_error, TT_ERROR_TEXT);
}

void tt_error_restore(const char kept[TT_ERROR_TEXT])
{
    memcpy(last_error, kept, TT_ERROR_TEXT);
}

const char *tutti_error(void)
{
    return last_error;
}

const char *tutti_status_text(tutti_status status)
{
    static const char *const texts[] = {
#define TEXT(name, text) [TUTTI_##name] = text,
        TUTTI_STATUS_LIST(TEXT)
#undef TEXT
    };
    bool known = (unsigned)status < sizeof texts / sizeof texts[0];
    return known ? texts[status] : "not a status";
}

const char *tutti_version(void)
{
    return TUTTI_VERSION;
}

void tt_assert_failed(const char *condition, const char *file, int line)
{
    tt_warn("%s:%d: assertion failed: %s", file, line, condition);
    abort();
}
