/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings from the environment. The first look at a variable counts, so that the whole library
 * uses the same value, whenever a part asks. Names are given in full ("TUTTI_LOG") so that a search
 * finds every use. This file also reads and prints numbers with K, M and G, as settings and
 * problems use them.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"

enum { SETTINGS = 64, NAME_SIZE = 48 };

/* The variables read so far. There are more entries than variables; if there were not, the last
 * entry would be used again. The table keeps pointers into the environment, which the C library
 * never frees. */
static struct {
    pthread_mutex_t lock;
    int n;
    struct setting {
        char name[NAME_SIZE];
        const char *value;
        bool warned;
    } known[SETTINGS];
} settings = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct setting *find_locked(const char *name)
{
    tt_assert(strncmp(name, "TUTTI_", 6) != 0 || tt_setting_is_expected(name));
    for (int i = 0; i < settings.n; i++) {
        if (strcmp(settings.known[i].name, name) == 0) return &settings.known[i];
    }
    if (settings.n < SETTINGS) settings.n++;
    struct setting *added = &settings.known[settings.n - 1];
    snprintf(added->name, sizeof added->name, "%s", name);
    added->warned = false;
    const char *value = getenv(name);
    added->value = value && *value ? value : NULL;
    return added;
}

const char *tt_setting(const char *name)
{
    pthread_mutex_lock(&settings.lock);
    const char *value = find_locked(name)->value;
    pthread_mutex_unlock(&settings.lock);
    return value;
}

static bool first_warning(const char *name)
{
    pthread_mutex_lock(&settings.lock);
    struct setting *setting = find_locked(name);
    bool first = !setting->warned;
    setting->warned = true;
    pthread_mutex_unlock(&settings.lock);
    return first;
}

/* Checks that the limits in the table are those that the code applies. Builds without assertions do
 * not call it. */
__attribute__((unused)) static bool agrees_with_table(const char *name, int64_t min, int64_t max)
{
    const struct tt_known_setting *known = tt_setting_known(name);
    return !known || (known->least == min && known->most == max);
}

int64_t tt_setting_int(const char *name, int64_t fallback, int64_t min, int64_t max)
{
    const char *text = tt_setting(name);
    tt_assert(agrees_with_table(name, min, max));
    if (!text) return fallback;
    bool negative = *text == '-';
    int64_t value;
    if (tt_parse_size(text + negative, text + strlen(text), &value)) {
        if (negative) value = -value;
        if (value >= min && value <= max) return value;
    }
    if (first_warning(name)) {
        char taken[40] = "using the default";
        if (fallback >= min && fallback <= max)
            snprintf(taken, sizeof taken, "using %" PRId64, fallback);
        tt_warn("%s=%s is not a whole number from %" PRId64 " to %" PRId64 ": %s", name, text, min,
                max, taken);
    }
    return fallback;
}

int64_t tt_setting_seconds(const char *name)
{
    static const double most = 1e9;
    const char *text = tt_setting(name);
    char *end = NULL;
    double seconds = text ? strtod(text, &end) : 0;
    if (!text || (end != text && *end == '\0' && seconds >= 0 && seconds <= most))
        return (int64_t)(seconds * 1e9);
    if (first_warning(name))
        tt_warn("%s=%s is not a number of seconds from 0 to %.0f: it is ignored", name, text, most);
    return 0;
}

static const struct {
    const char *name;
    int64_t fallback, least, most;
} must_match[] = {
#define MUST_MATCH(name, fallback, least, most) {"TUTTI_" #name, fallback, least, most},
    TT_MUST_MATCH_LIST(MUST_MATCH)
#undef MUST_MATCH
};

const char *tt_setting_must_match_name(enum tt_must_match which)
{
    return must_match[which].name;
}

static bool is_text(enum tt_must_match which)
{
    return must_match[which].most == 0;
}

/* FNV-1a, shifted so that the result is not negative. */
static int64_t hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (int64_t)(hash >> 2);
}

int64_t tt_setting_must_match(enum tt_must_match which)
{
    if (is_text(which)) {
        const char *text = tt_setting(must_match[which].name);
        return text ? hash(text) : must_match[which].fallback;
    }
    return tt_setting_int(must_match[which].name, must_match[which].fallback,
                          must_match[which].least, must_match[which].most);
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
    const char *name = must_match[which].name, *text = tt_setting(name);
    if (is_text(which))
        return tt_fail(TUTTI_ERR_MISMATCH,
                       "%s is '%.200s' here and something else on %s: it must be the same on %s",
                       name, text ? text : "", where, all);
    return tt_fail(TUTTI_ERR_MISMATCH, "%s is %s here and %s on %s: it must be the same on %s",
                   name, tt_print_size(here, mine), tt_print_size(there, theirs), where, all);
}
