/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mirrors, and what is kept with them: made when somebody is heard of or sent to, so that a rank
 * has as many as it has neighbours, and freed with the team.
 */
#include <string.h>

#include "run/remote.h"

/* ---- Arrivals ---- */

void tt_arrivals_append(struct tt_arrivals *list, struct tt_arrival *a)
{
    a->next = NULL;
    if (!list->first) list->end = &list->first;
    *list->end = a;
    list->end = &a->next;
}

void tt_arrival_free(struct tt_far *far, struct tt_arrival *a)
{
    tutti_receive nowhere = {.to = NULL};
    if (a->pending) (void)tt_msg_receive(far->context, a->pending, &nowhere);
    tt_free(a->opening);
    tt_free(a);
}

void tt_arrivals_drop(struct tt_far *far, struct tt_arrivals *list)
{
    struct tt_arrival *a = list->first;
    for (struct tt_arrival *next; a; a = next) {
        next = a->next;
        a->team = NULL;
        a->dropped = true;
        if (a->ready) tt_arrival_free(far, a);
    }
    *list = (struct tt_arrivals){NULL, NULL};
}

/* ---- Transfers ---- */

struct tt_transfer *tt_transfer_new(struct tt_far *far)
{
    struct tt_transfer *x = far->spare, *all = x ? x->all : far->transfers;
    if (x)
        far->spare = x->next;
    else if (!(x = tt_alloc(sizeof *x)))
        return NULL;
    else
        far->transfers = x;
    *x = (struct tt_transfer){.far = far, .all = all};
    return x;
}

void tt_transfer_list(struct tt_transfer *x, struct tt_exec *exec)
{
    x->exec = exec;
    x->before = NULL;
    x->after = exec->abroad->moving;
    if (x->after) x->after->before = x;
    exec->abroad->moving = x;
}

void tt_transfer_unlist(struct tt_transfer *x)
{
    if (!x->exec) return;
    if (x->after) x->after->before = x->before;
    if (x->before)
        x->before->after = x->after;
    else
        x->exec->abroad->moving = x->after;
    x->exec = NULL;
}

void tt_transfer_free(struct tt_transfer *x)
{
    tt_transfer_unlist(x);
    tt_free(x->payload);
    x->payload = NULL;
    x->next = x->far->spare;
    x->far->spare = x;
}

/* ---- Mirrors ---- */

struct tt_view tt_remote_unknown(const struct tt_team *t)
{
    return (struct tt_view){t->remote->blank, &t->remote->layout};
}

tutti_status tt_remote_new(struct tt_team *t, const struct tt_block *layout)
{
    struct tt_remote *remote = tt_calloc(1, sizeof *remote);
    if (!remote) return TUTTI_ERR_MEMORY;
    t->remote = remote;
    remote->layout = *layout;
    remote->blank = tt_alloc_lines((size_t)layout->bytes);
    remote->mirror = tt_calloc((size_t)t->map.p, sizeof(struct tt_mirror *));
    return remote->blank && remote->mirror ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

void tt_remote_drop(struct tt_team *t)
{
    for (struct tt_mirror *m = t->remote->mirrors; m; m = m->next) {
        tt_arrivals_drop(t->far, &m->early);
        tt_arrivals_drop(t->far, &m->arrived);
    }
    t->remote->early = 0;
}

static void free_mirror(struct tt_mirror *m)
{
    for (int s = 0; s < TT_SLOTS; s++) tt_free(m->opening[s]);
    tt_free(m->block);
    tt_free(m);
}

void tt_remote_free(struct tt_team *t)
{
    struct tt_remote *remote = t->remote;
    if (!remote) return;
    struct tt_team **link = t->far ? &t->far->teams : NULL;
    while (link && *link && *link != t) link = &(*link)->remote->next;
    if (link && *link) *link = remote->next;
    tt_remote_drop(t);
    for (struct tt_mirror *m = remote->mirrors, *next; m; m = next) {
        next = m->next;
        free_mirror(m);
    }
    tt_free(remote->mirror);
    tt_free(remote->blank);
    tt_free(remote);
}

static tutti_status fill_mirror(struct tt_team *t, int rank, struct tt_mirror *m)
{
    m->rank = rank;
    m->posted_end = &m->posted;
    m->block = tt_alloc_lines((size_t)t->remote->layout.bytes);
    if (!m->block) return TUTTI_ERR_MEMORY;
    return tt_msg_endpoint(t->far->msg, t->job_rank[rank], 0, &m->to);
}

struct tt_mirror *tt_mirror_of(struct tt_team *t, int rank)
{
    struct tt_remote *remote = t->remote;
    struct tt_mirror *m = remote->mirror[rank];
    if (tt_likely(m != NULL)) return m;
    if (!(m = tt_calloc(1, sizeof *m))) return NULL;
    if (fill_mirror(t, rank, m) != TUTTI_OK) {
        tt_free(m->block);
        tt_free(m);
        return NULL;
    }
    m->next = remote->mirrors;
    remote->mirrors = remote->mirror[rank] = m;
    t->view[rank].at = m->block;
    return m;
}
