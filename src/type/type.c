/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The element types: functions for the list in the public header.
 */
#include <string.h>

#include "type/layout.h"
#include "type/type.h"

static const struct {
    const char *name;
    size_t sz;
} types[TUTTI_TYPES] = {
#define ENTRY(name, text, sz) [TUTTI_##name] = {#text, sz},
    TUTTI_TYPE_LIST(ENTRY)
#undef ENTRY
};

size_t tutti_type_size(tutti_type type)
{
    if (tt_likely((unsigned)type < TUTTI_TYPES)) return types[type].sz;
    const struct tt_layout *derived = tt_layout_find(type);
    return derived ? (size_t)derived->packed : 0;
}

const char *tt_type_name(tutti_type type)
{
    if ((unsigned)type < TUTTI_TYPES) return types[type].name;
    return (int)type >= TUTTI_TYPE_USER ? "packed" : "?";
}

tutti_type tt_type_parse(const char *text, size_t length)
{
    for (int i = 0; i < TUTTI_TYPES; i++) {
        const char *name = types[i].name;
        if (strlen(name) == length && memcmp(name, text, length) == 0) return (tutti_type)i;
    }
    return TUTTI_TYPES;
}
