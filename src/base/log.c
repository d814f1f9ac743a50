/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints messages to users on stderr. A line is one call of write, so that lines of several ranks
 * do not mix. TUTTI_LOG, read once, selects what is logged.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"

enum { LINE_SIZE = 1024 };

static unsigned wanted; /* bit mask of enum tt_log; written once, by read_wanted */

/* Reads TUTTI_LOG. Ignores words that do not name a log; tt_settings_check() warns of them. */
static void read_wanted(void)
{
    static const char names[] = TT_LOG_LIST(TT_LOG_WORD);
    const char *at = tt_setting("TUTTI_LOG");
    while (at && *at) {
        size_t length = strcspn(at, ",");
        int what = tt_word_place(names, at, length);
        if (what >= 0) wanted |= 1u << what;
        at += length + (at[length] == ',');
    }
}

bool tt_log_on(enum tt_log what)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_wanted);
    return wanted >> what & 1;
}

/* Replaces control characters, which may come from a file or a setting and could change the
 * terminal. Newlines and tabs stay. */
static void make_harmless(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (iscntrl((unsigned char)text[i]) && text[i] != '\n' && text[i] != '\t') text[i] = '?';
}

/* Prints one line. The last byte of the buffer is reserved for the newline, so a line that is too
 * long is cut, but still ends with a newline. */
static void write_line(const char *kind, const char *format, va_list args)
{
    char line[LINE_SIZE];
    const size_t room = sizeof line - 1;
    const char *rank = tt_setting(tt_setting("TUTTI_JOB") ? "TUTTI_RANK" : "PMIX_RANK");
    size_t used = rank ? (size_t)snprintf(line, 64, "tutti: [rank %.20s] %s", rank, kind)
                       : (size_t)snprintf(line, 64, "tutti: %s", kind);
    int length = vsnprintf(line + used, room - used, format, args);
    if (length > 0) used += (size_t)tt_min(length, (int64_t)(room - used - 1));
    make_harmless(line, used);
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* an error here cannot be reported anywhere */
}

void tt_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

void tt_log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("error: ", format, args);
    va_end(args);
}

void tt_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("warning: ", format, args);
    va_end(args);
}
