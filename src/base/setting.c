/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads settings from the environment. Each variable is read once, so that all parts of the library
 * use the same value. Names are given in full ("TUTTI_LOG") so that a search finds every use. This
 * file also reads and prints numbers with K, M and G, which settings and problem strings use.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"
#include "base/process-lock.h"
#include "base/settings.h"

enum { SETTINGS = 64, NAME_SIZE = 48 };

/* The variables read so far. The table has more entries than there are settings, so it is never
 * full; if it were, its last entry would be used again. The values are copies that are never freed:
 * a program that sets its process title overwrites the memory of the first environment. */
static struct {
    struct tt_process_lock lock;
    atomic_int n;
    struct setting {
        char name[NAME_SIZE];
        const char *value;
        bool ignored; /* tt_setting_ignore was called */
    } known[SETTINGS];
} settings = {.lock = TT_PROCESS_LOCK};

/* Returns a copy of the value, or the value itself if there is no memory. The copy is not made by
 * tt_strdup, so that a test that makes the i-th allocation fail counts the same allocations in each
 * round. */
static const char *kept(const char *value)
{
    const char *copy = strdup(value);
    return copy ? copy : value;
}

static struct setting *find_locked(const char *name)
{
    tt_assert(strncmp(name, "TUTTI_", 6) != 0 || tt_setting_is_expected(name));
    for (int i = 0; i < settings.n; i++) {
        if (strcmp(settings.known[i].name, name) == 0) return &settings.known[i];
    }
    int n = tt_min(settings.n, SETTINGS - 1);
    struct setting *added = &settings.known[n];
    snprintf(added->name, sizeof added->name, "%s", name);
    added->ignored = false;
    const char *value = getenv(name);
    added->value = value && *value ? kept(value) : NULL;
    settings.n = n + 1; /* last (process-lock.h) */
    return added;
}

const char *tt_setting(const char *name)
{
    tt_process_lock(&settings.lock);
    const struct setting *found = find_locked(name);
    const char *value = found->ignored ? NULL : found->value;
    tt_process_unlock(&settings.lock);
    return value;
}

void tt_setting_ignore(const char *name)
{
    tt_process_lock(&settings.lock);
    find_locked(name)->ignored = true;
    tt_process_unlock(&settings.lock);
}

/* Returns the row of the setting in the table of settings, and its value in *text, if the
 * environment has a value that the setting accepts; else NULL. */
static const struct tt_known_setting *accepted(const char *name, const char **text)
{
    const struct tt_known_setting *known = tt_setting_known(name);
    tt_assert(known);
    *text = tt_setting(name);
    return *text && tt_setting_accepts(known, *text) ? known : NULL;
}

int64_t tt_setting_int_or(const char *name, int64_t fallback)
{
    const char *text;
    int64_t value;
    if (accepted(name, &text) && tt_parse_size(text, text + strlen(text), &value)) return value;
    return fallback;
}

int64_t tt_setting_int(const char *name)
{
    const char *text = tt_setting_known(name)->otherwise;
    int64_t fallback = 0;
    bool is_number = tt_parse_size(text, text + strlen(text), &fallback);
    tt_assert(is_number);
    (void)is_number;
    return tt_setting_int_or(name, fallback);
}

int64_t tt_setting_seconds(const char *name)
{
    const char *text;
    if (!accepted(name, &text)) text = tt_setting_known(name)->otherwise;
    return (int64_t)(tt_parse_decimal(text, NULL) * 1e9);
}

int tt_setting_word(const char *name)
{
    const char *text;
    if (!accepted(name, &text)) text = tt_setting_known(name)->otherwise;
    return tt_word_place(tt_setting_known(name)->words, text, strlen(text));
}

static const char *const must_match[] = {
#define MUST_MATCH(name) "TUTTI_" #name,
    TT_MUST_MATCH_LIST(MUST_MATCH)
#undef MUST_MATCH
};

const char *tt_setting_must_match_name(enum tt_must_match which)
{
    return must_match[which];
}

static bool is_text(enum tt_must_match which)
{
    return tt_setting_known(must_match[which])->kind == TT_SETTING_TEXT;
}

/* Returns a hash of the text, shifted so that it is not negative. */
static int64_t hash(const char *text)
{
    return (int64_t)(tt_hash(TT_HASH_BEGIN, text, strlen(text)) >> 2);
}

int64_t tt_setting_must_match(enum tt_must_match which)
{
    const char *name = must_match[which], *text = tt_setting(name);
    const char *otherwise = tt_setting_known(name)->otherwise;
    int64_t fallback = 0;
    if (is_text(which)) return text ? hash(text) : 0;
    if (!tt_parse_size(otherwise, otherwise + strlen(otherwise), &fallback)) fallback = 0;
    return tt_setting_int_or(name, fallback);
}

static int64_t unit_of(char letter)
{
    switch (letter) {
    case 'K': return INT64_C(1) << 10;
    case 'M': return INT64_C(1) << 20;
    case 'G': return INT64_C(1) << 30;
    default: return 0;
    }
}

bool tt_parse_size(const char *text, const char *end, int64_t *value)
{
    int64_t number = 0;
    const char *at = text;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number)) return false;
        if (__builtin_add_overflow(number, *at - '0', &number)) return false;
    }
    if (at == text) return false;
    if (at < end) {
        int64_t unit = unit_of(*at++);
        if (!unit || __builtin_mul_overflow(number, unit, &number)) return false;
    }
    if (at != end) return false;
    *value = number;
    return true;
}

char *tt_print_size(char *buffer, int64_t value)
{
    static const char letters[] = "GMK";
    for (const char *letter = letters; *letter; letter++) {
        int64_t unit = unit_of(*letter);
        if (value != 0 && value % unit == 0) {
            snprintf(buffer, 24, "%" PRId64 "%c", value / unit, *letter);
            return buffer;
        }
    }
    snprintf(buffer, 24, "%" PRId64, value);
    return buffer;
}

tutti_status tt_setting_differs(enum tt_must_match which, int64_t mine, int64_t theirs,
                                const char *where, const char *all)
{
    char here[24], there[24];
    const char *name = must_match[which], *text = tt_setting(name);
    if (is_text(which))
        return tt_fail(TUTTI_ERR_MISMATCH,
                       "%s is '%.200s' here and something else on %s: it must be the same on %s",
                       name, text ? text : "", where, all);
    return tt_fail(TUTTI_ERR_MISMATCH, "%s is %s here and %s on %s: it must be the same on %s",
                   name, tt_print_size(here, mine), tt_print_size(there, theirs), where, all);
}
