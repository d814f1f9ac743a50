/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of settings, and a check of the environment for TUTTI_* variables that are no settings.
 * Without a warning, a misspelled setting would silently do nothing.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/locale.h"
#include "base/settings.h"

#define PREFIX "TUTTI_"
enum { PREFIX_LENGTH = sizeof PREFIX - 1, NAME_MOST = 128 };

const struct tt_known_setting tt_settings[] = {
#define ROW(name, kind, rule, costs, otherwise, does)                                              \
    {PREFIX #name, kind, TT_SETTING_##rule, TT_SETTING_##costs, otherwise, does},
    TT_SETTING_LIST(ROW)
#undef ROW
};
enum { SETTINGS = sizeof tt_settings / sizeof *tt_settings };
const int tt_settings_n = SETTINGS;

/* Words that may follow TUTTI_ in variables that are no settings: names with which environment
 * modules, package managers and build systems set the paths of an installation, and with which the
 * tests of Tutti find its build. */
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

/* ---- Values ---- */

int tt_word_place(const char *words, const char *text, size_t n)
{
    for (int i = 0; *words; i++) {
        size_t length = strcspn(words, " ");
        if (length == n && memcmp(words, text, n) == 0) return i;
        words += length + (words[length] == ' ');
    }
    return -1;
}

static bool is_number(const struct tt_known_setting *setting, const char *text)
{
    int64_t value;
    return tt_parse_size(text, text + strlen(text), &value) && value >= setting->least &&
           value <= setting->most;
}

static bool is_seconds(const struct tt_known_setting *setting, const char *text)
{
    char *end;
    double value = tt_parse_decimal(text, &end);
    return end != text && *end == '\0' && value >= (double)setting->least &&
           value <= (double)setting->most;
}

/* Returns whether the text consists of words of the setting, separated by commas. Empty words are
 * allowed. */
static bool are_words(const struct tt_known_setting *setting, const char *text)
{
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (n > 0 && tt_word_place(setting->words, text, n) < 0) return false;
    }
    return true;
}

bool tt_setting_accepts(const struct tt_known_setting *setting, const char *value)
{
    switch (setting->kind) {
    case TT_SETTING_NUMBER: return is_number(setting, value);
    case TT_SETTING_SECONDS: return is_seconds(setting, value);
    case TT_SETTING_WORD: return tt_word_place(setting->words, value, strlen(value)) >= 0;
    case TT_SETTING_WORDS: return are_words(setting, value);
    case TT_SETTING_TEXT: return true;
    }
    return true;
}

/* Appends the words of a list, such as "table, estimate, measure". */
static void add_words(const char *words, char *buffer, size_t n)
{
    while (*words) {
        size_t length = strcspn(words, " "), used = strlen(buffer);
        words += length + (words[length] == ' ');
        snprintf(buffer + used, n - used, "%.*s%s", (int)length,
                 words - length - (words[-1] == ' '), *words ? ", " : "");
    }
}

/* Prints a limit of a setting. From 4096 on, limits are numbers of bytes, which are easier to read
 * with K, M or G. */
static const char *print_limit(char buffer[24], int64_t value)
{
    if (value >= 4096) return tt_print_size(buffer, value);
    snprintf(buffer, 24, "%" PRId64, value);
    return buffer;
}

char *tt_setting_values(const struct tt_known_setting *setting, char *buffer, size_t n)
{
    static const char *const begin[] = {
        [TT_SETTING_NUMBER] = "a whole number",
        [TT_SETTING_SECONDS] = "a number of seconds",
        [TT_SETTING_WORD] = "one of ",
        [TT_SETTING_WORDS] = "a list of ",
        [TT_SETTING_TEXT] = "",
    };
    char least[24], most[24];
    snprintf(buffer, n, "%s", begin[setting->kind]);
    size_t used = strlen(buffer);
    if (setting->words)
        add_words(setting->words, buffer, n);
    else if (setting->kind != TT_SETTING_TEXT)
        snprintf(buffer + used, n - used, " from %s to %s", print_limit(least, setting->least),
                 print_limit(most, setting->most));
    return buffer;
}

const char *tt_setting_of_costs(const char *except)
{
    for (int i = 0; i < SETTINGS; i++) {
        const struct tt_known_setting *s = &tt_settings[i];
        const char *value = s->costs == TT_SETTING_COSTS ? tt_setting(s->name) : NULL;
        if (value && strcmp(value, s->otherwise) != 0 && tt_setting_accepts(s, value) &&
            !(except && strcmp(s->name, except) == 0))
            return s->name;
    }
    return NULL;
}

/* ---- Checking the environment ---- */

enum { VALUE_SHOWN = 200 };

/* Warns of a variable that is no setting. `upper` is its name in capitals, which is compared with
 * the names of all settings, all without the prefix TUTTI_. */
static void warn_of_name(const char *name, const char *upper, tt_setting_warn_fn *fn, void *arg)
{
    char text[2 * NAME_MOST + 100];
    const char *names[SETTINGS];
    for (int i = 0; i < SETTINGS; i++) names[i] = tt_settings[i].name + PREFIX_LENGTH;
    const char *nearest = tt_nearest(upper + PREFIX_LENGTH, names, SETTINGS);
    if (nearest)
        snprintf(text, sizeof text,
                 "%s is not a setting and is ignored; did you mean " PREFIX "%s?", name, nearest);
    else
        snprintf(text, sizeof text,
                 "%s is not a setting and is ignored ('tutti info' lists the settings)", name);
    fn(arg, text);
}

static void warn_of_value(const struct tt_known_setting *setting, const char *value,
                          tt_setting_warn_fn *fn, void *arg)
{
    char values[200], text[VALUE_SHOWN + 500];
    bool words = setting->kind == TT_SETTING_WORDS;
    tt_setting_values(setting, values, sizeof values);
    snprintf(text, sizeof text, "%s=%.*s is not %s: %s%s%s", setting->name, VALUE_SHOWN, value,
             values, words ? "other words are ignored" : "using the default (",
             words ? "" : setting->otherwise, words ? "" : ")");
    fn(arg, text);
}

/* Checks a variable. A name in small letters may be the user's own; it causes a warning only if it
 * is a setting when written in capitals. */
static void check_one(const char *variable, tt_setting_warn_fn *fn, void *arg)
{
    char name[NAME_MOST], upper[NAME_MOST];
    int length = (int)tt_min((int64_t)strcspn(variable, "="), NAME_MOST - 1);
    snprintf(name, sizeof name, "%.*s", length, variable);
    for (int i = 0; i <= length; i++) upper[i] = (char)toupper((unsigned char)name[i]);
    bool ours = strncmp(name, PREFIX, PREFIX_LENGTH) == 0;
    const struct tt_known_setting *setting = tt_setting_known(name);
    if (ours ? !tt_setting_is_expected(name) : tt_setting_known(upper) != NULL)
        warn_of_name(name, upper, fn, arg);
    const char *value = setting ? tt_setting(name) : NULL;
    if (value && !tt_setting_accepts(setting, value)) warn_of_value(setting, value, fn, arg);
}

void tt_settings_check(tt_setting_warn_fn *fn, void *arg)
{
    for (int i = 0; i < SETTINGS; i++) (void)tt_setting(tt_settings[i].name);
    locale_t former = tt_locale_enter(); /* in Turkish, I is not the capital letter of i */
    for (char **variable = environ; variable && *variable; variable++)
        if (strncasecmp(*variable, PREFIX, PREFIX_LENGTH) == 0) check_one(*variable, fn, arg);
    tt_locale_leave(former);
}

void tt_warnings_add(struct tt_warnings *mine, const struct tt_warnings *theirs)
{
    for (int i = 0; i < mine->n; i++) {
        struct tt_warning *to = &mine->warning[i];
        for (int j = 0; j < theirs->n; j++) {
            const struct tt_warning *from = &theirs->warning[j];
            if (from->id != to->id) continue;
            to->first = (int32_t)tt_min(to->first, from->first);
            to->ranks += from->ranks;
        }
    }
}
