/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Filling a picture.
 */
#include "draw/picture.h"

#include <stdlib.h>
#include <string.h>

#include "draw/picture-inside.h"

tutti_status tt_picture_begin(struct tt_picture *picture, int ranks)
{
    *picture = (struct tt_picture){.ranks = ranks, .last = ranks - 1};
    picture->per_group = (int)tt_div_up(ranks, TT_PICTURE_GROUPS);
    picture->groups = (int)tt_div_up(ranks, picture->per_group);
    size_t cells = (size_t)picture->groups * (size_t)picture->groups;
    picture->traffic = tt_calloc(cells, sizeof *picture->traffic);
    if (picture->traffic && tt_pairs_begin(&picture->pairs, ranks)) return TUTTI_OK;
    tt_picture_free(picture);
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a picture of %d ranks", ranks);
}

void tt_picture_free(struct tt_picture *picture)
{
    tt_free(picture->deeds.at);
    tt_free(picture->trips.at);
    tt_free(picture->traffic);
    tt_free(picture->edge);
    tt_pairs_free(&picture->pairs);
    tt_picture_net_free(&picture->net);
    tt_calls_free(&picture->calls);
    *picture = (struct tt_picture){0};
}

static void add(struct tt_picture *picture, struct tt_picture_list *list,
                const struct tt_sim_deed *deed)
{
    enum { FIRST_ROOM = 1024 };
    if (list->n == list->room && list->n < TT_PICTURE_MOST) {
        int64_t room = tt_min(list->room ? 2 * list->room : FIRST_ROOM, TT_PICTURE_MOST);
        struct tt_sim_deed *at = tt_realloc(list->at, (size_t)room * sizeof *at);
        if (!at) {
            picture->status =
                tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld deeds", (long long)room);
            return;
        }
        list->at = at;
        list->room = room;
    }
    if (list->n == list->room)
        list->left_out++;
    else
        list->at[list->n++] = *deed;
}

static bool is_kept(const struct tt_picture *p, int rank)
{
    return rank >= p->first && rank <= p->last;
}

void tt_picture_step(void *picture, const struct tt_sim_deed *deed)
{
    struct tt_picture *p = picture;
    struct tt_sim_deed kept = *deed;
    kept.peer = (int)tt_max(deed->peer, -1);
    p->time_ps = tt_max(p->time_ps, deed->end_ps);
    if (is_kept(p, deed->rank)) add(p, &p->deeds, &kept);
}

void tt_picture_message(void *picture, const struct tt_sim_deed *trip)
{
    struct tt_picture *p = picture;
    p->time_ps = tt_max(p->time_ps, trip->end_ps);
    if (is_kept(p, trip->rank) || is_kept(p, trip->peer)) add(p, &p->trips, trip);
    if (trip->kind == TT_SIGNAL) return;
    int row = trip->rank / p->per_group, column = trip->peer / p->per_group;
    p->traffic[row * p->groups + column] += trip->bytes;
    tt_pairs_add(p, trip);
}

/* By rank, lane and time, so that a picture does not depend on the order in which things were found
 * out. A step that takes no time comes before one that begins as it ends. */
static int earlier(const void *a, const void *b)
{
    const struct tt_sim_deed *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    if (x->end_ps != y->end_ps) return x->end_ps < y->end_ps ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void sort(struct tt_picture_list *list)
{
    if (list->n) qsort(list->at, (size_t)list->n, sizeof *list->at, earlier);
}

tutti_status tt_picture_end(struct tt_picture *picture, int root)
{
    TT_TRY(picture->status);
    sort(&picture->deeds);
    sort(&picture->trips);
    return tt_picture_tree(picture, root);
}
