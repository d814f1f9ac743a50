/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads numbers from the command line. An error message shows the wrong text and says what is
 * allowed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "command.h"

int64_t tt_arg_number(const struct argp_state *state, const char *option, const char *text,
                      int64_t least, int64_t most)
{
    int64_t value;
    if (!tt_parse_size(text, text + strlen(text), &value) || value < least || value > most)
        argp_error(state, "%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, option,
                   text, least, most);
    return value;
}

int64_t tt_arg_seconds(const struct argp_state *state, const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 1e9)
        argp_error(state, "%s: '%s' is not a number of seconds, more than 0 and at most 1e9",
                   option, text);
    return (int64_t)fmax(value * 1e9, 1);
}

bool tt_arg_keeps_times(const char *command, const char *output, const char *file,
                        const char *except)
{
    const char *changed = output || tt_setting(file) ? NULL : tt_setting_of_costs(except);
    if (changed)
        fprintf(stderr,
                "%s: %s changes the times, and later jobs without it would use them: unset it, or "
                "name a file by --output or %s\n",
                command, changed, file);
    return !changed;
}
