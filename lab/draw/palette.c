/* SPDX-License-Identifier: BSD-3-Clause */
#include "draw/palette.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name, *light, *dark;
} palette[] = {
#define COLOUR(name, light, dark) {name, light, dark},
    TT_PALETTE(COLOUR)
#undef COLOUR
};

const char *tt_palette_colour(const char *name, size_t length, enum tt_scheme scheme)
{
    for (size_t i = 0; i < sizeof palette / sizeof *palette; i++) {
        if (strlen(palette[i].name) != length || memcmp(palette[i].name, name, length) != 0)
            continue;
        return scheme == TT_SCHEME_DARK ? palette[i].dark : palette[i].light;
    }
    return NULL;
}

const char *tt_palette_light(const char *name)
{
    const char *colour = tt_palette_colour(name, strlen(name), TT_SCHEME_LIGHT);
    assert(colour);
    return colour ? colour : "black";
}

static void print_rules(const char *rules, enum tt_scheme scheme, FILE *out)
{
    while (*rules) {
        size_t plain = strcspn(rules, "$");
        fwrite(rules, 1, plain, out);
        rules += plain;
        if (!*rules) return;
        size_t length = strcspn(++rules, ";}");
        const char *colour = tt_palette_colour(rules, length, scheme);
        assert(colour);
        fputs(colour ? colour : "none", out);
        rules += length;
    }
}

void tt_palette_style(const char *rules, enum tt_scheme scheme, FILE *out)
{
    print_rules(rules, scheme == TT_SCHEME_DARK ? TT_SCHEME_DARK : TT_SCHEME_LIGHT, out);
    if (scheme != TT_SCHEME_BOTH) return;
    fputs("@media(prefers-color-scheme:dark){\n", out);
    print_rules(rules, TT_SCHEME_DARK, out);
    fputs("}\n", out);
}
