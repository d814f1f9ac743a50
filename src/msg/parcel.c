/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parcels: packets that wait. Some are kept in reserve, so that what has come is handled only when
 * whatever it asks for can be answered, and no answer is lost for want of memory.
 */
#include <string.h>

#include "msg/inside.h"

static bool add(tutti_context *c)
{
    struct tt_parcel *p = tt_alloc_lines(sizeof *p);
    if (!p) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message that has to wait");
        return false;
    }
    p->next = c->parcel;
    p->owned = NULL;
    c->parcel = p;
    c->parcels++;
    return true;
}

bool tt_parcel_reserve(tutti_context *c)
{
    while (c->parcels < TT_PARCELS_RESERVED)
        if (!add(c)) return false;
    return true;
}

struct tt_parcel *tt_parcel_take(tutti_context *c)
{
    if (!c->parcel && !add(c)) return NULL;
    struct tt_parcel *p = c->parcel;
    c->parcel = p->next;
    c->parcels--;
    *p = (struct tt_parcel){0};
    return p;
}

void tt_parcel_give(tutti_context *c, struct tt_parcel *p)
{
    tt_free(p->owned);
    p->owned = NULL;
    p->next = c->parcel;
    c->parcel = p;
    c->parcels++;
}

void tt_parcel_append(struct tt_parcels *parcels, struct tt_parcel *p)
{
    p->next = NULL;
    *parcels->end = p;
    parcels->end = &p->next;
}

struct tt_parcel *tt_parcel_first(struct tt_parcels *parcels)
{
    struct tt_parcel *p = parcels->first;
    if (!p) return NULL;
    parcels->first = p->next;
    if (!p->next) parcels->end = &parcels->first;
    return p;
}

void tt_parcel_drop(tutti_context *c, struct tt_parcels *parcels)
{
    for (struct tt_parcel *p; (p = tt_parcel_first(parcels)) != NULL;) {
        p->sent = true;
        p->op = NULL;
        if (p->on_wire == 0) tt_parcel_give(c, p);
    }
}

void tt_parcel_close(tutti_context *c)
{
    for (struct tt_parcel *next; c->parcel; c->parcel = next) {
        next = c->parcel->next;
        tt_free(c->parcel);
    }
}
