/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which settings exist, and which variables of the environment are not settings. Without a warning,
 * a misspelled setting would silently do nothing.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/settings.h"

#define PREFIX "TUTTI_"
enum { PREFIX_LENGTH = sizeof PREFIX - 1, NAME_MOST = 128 };

const struct tt_known_setting tt_settings[] = {
#define ROW(name, least, most, rule, otherwise, does)                                              \
    {PREFIX #name, least, most, TT_SETTING_##rule, otherwise, does},
    TT_SETTING_LIST(ROW)
#undef ROW
};
enum { SETTINGS = sizeof tt_settings / sizeof *tt_settings };
const int tt_settings_n = SETTINGS;

/* Names that environment modules, package managers and build systems give to the parts of an
 * installation, and names by which the tests of Tutti find its build. */
static const char *const places[] = {"BIN",     "BUILD",    "DIR",     "HOME",   "INC",
                                     "INCLUDE", "LIB",      "LIBRARY", "PATH",   "PREFIX",
                                     "ROOT",    "SANITIZE", "SOURCE",  "VERSION"};
enum { PLACES = sizeof places / sizeof *places };

const struct tt_known_setting *tt_setting_known(const char *name)
{
    for (int i = 0; i < SETTINGS; i++)
        if (strcmp(tt_settings[i].name, name) == 0) return &tt_settings[i];
    return NULL;
}

bool tt_setting_is_expected(const char *name)
{
    if (tt_setting_known(name)) return true;
    if (strncmp(name, PREFIX, PREFIX_LENGTH) != 0) return true;
    const char *rest = name + PREFIX_LENGTH;
    if (strncmp(rest, "TEST", 4) == 0) return true;
    for (int i = 0; i < PLACES; i++)
        if (strcmp(rest, places[i]) == 0) return true;
    return false;
}

bool tt_setting_in_force(const struct tt_known_setting *setting)
{
    const char *text = tt_setting(setting->name);
    int64_t value;
    if (!text || setting->most == 0) return text != NULL;
    return tt_parse_size(text, text + strlen(text), &value) && value >= setting->least &&
           value <= setting->most;
}

/* Names are compared in capitals, without their common prefix. */
static void warn_of(const char *name, const char *upper)
{
    const char *names[SETTINGS];
    for (int i = 0; i < SETTINGS; i++) names[i] = tt_settings[i].name + PREFIX_LENGTH;
    const char *nearest = tt_nearest(upper + PREFIX_LENGTH, names, SETTINGS);
    if (nearest)
        tt_warn("%s is not a setting and is ignored; did you mean " PREFIX "%s?", name, nearest);
    else
        tt_warn("%s is not a setting and is ignored ('tutti info' lists the settings)", name);
}

/* Warns of a variable that is no setting. A name in small letters may be the user's own; it causes
 * a warning only if it is a setting when written in capitals. */
static void check_one(const char *variable)
{
    char name[NAME_MOST], upper[NAME_MOST];
    int length = (int)tt_min((int64_t)strcspn(variable, "="), NAME_MOST - 1);
    snprintf(name, sizeof name, "%.*s", length, variable);
    for (int i = 0; i <= length; i++) upper[i] = (char)toupper((unsigned char)name[i]);
    bool ours = strncmp(name, PREFIX, PREFIX_LENGTH) == 0;
    if (ours ? !tt_setting_is_expected(name) : tt_setting_known(upper) != NULL)
        warn_of(name, upper);
}

static void check(void)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (strncasecmp(*variable, PREFIX, PREFIX_LENGTH) == 0) check_one(*variable);
}

void tt_settings_check(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, check);
}
