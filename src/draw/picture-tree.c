/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The logical tree: the pairs of ranks between which data went, where those are the edges of one.
 * Whether it went up, down or both does not matter; the root is the collective's, or else found by
 * what it alone did.
 */
#include <stdlib.h>

#include "draw/picture-inside.h"

bool tt_pairs_begin(struct tt_picture_pairs *pairs, int ranks)
{
    size_t p = (size_t)ranks, room = 4;
    while (room < 2 * p) room *= 2;
    pairs->key = tt_calloc(room, sizeof *pairs->key);
    pairs->sent_ps = tt_alloc(p * sizeof *pairs->sent_ps);
    pairs->received = tt_calloc(p, sizeof *pairs->received);
    pairs->room = room;
    for (size_t r = 0; pairs->sent_ps && r < p; r++) pairs->sent_ps[r] = -1;
    return pairs->key && pairs->sent_ps && pairs->received;
}

void tt_pairs_free(struct tt_picture_pairs *pairs)
{
    tt_free(pairs->key);
    tt_free(pairs->sent_ps);
    tt_free(pairs->received);
}

static void add_pair(struct tt_picture_pairs *pairs, uint64_t key, int most)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (pairs->room - 1);
    while (pairs->key[at] && pairs->key[at] != key) at = (at + 1) & (pairs->room - 1);
    if (pairs->key[at]) return;
    pairs->many = pairs->n == most;
    if (pairs->many) return;
    pairs->key[at] = key;
    pairs->n++;
}

void tt_pairs_add(struct tt_picture *picture, const struct tt_sim_deed *trip)
{
    struct tt_picture_pairs *pairs = &picture->pairs;
    int64_t *sent = &pairs->sent_ps[trip->rank];
    uint64_t low = (uint64_t)tt_min(trip->rank, trip->peer);
    uint64_t high = (uint64_t)tt_max(trip->rank, trip->peer);
    if (pairs->many || low == high) return;
    if (*sent < 0 || trip->begin_ps < *sent) *sent = trip->begin_ps;
    pairs->received[trip->peer] = true;
    add_pair(pairs, low * (uint64_t)picture->ranks + high + 1, picture->ranks - 1);
}

/* ---- The root ---- */

/* The one rank that never received, or never sent; else the one that sent last: what it sends down
 * has come up from all. */
static int find_root(const struct tt_picture *picture)
{
    const struct tt_picture_pairs *pairs = &picture->pairs;
    int givers = 0, giver = 0, takers = 0, taker = 0, last = 0;
    for (int r = 0; r < picture->ranks; r++) {
        if (!pairs->received[r]) givers++, giver = r;
        if (pairs->sent_ps[r] < 0) takers++, taker = r;
        if (pairs->sent_ps[r] > pairs->sent_ps[last]) last = r;
    }
    return givers == 1 ? giver : takers == 1 ? taker : last;
}

/* ---- Edges ---- */

/* The neighbours of rank r are near[first[r] .. first[r + 1] - 1], ascending. */
struct near {
    int *first, *near, *queue;
    bool *seen;
};

static void each_end(const struct tt_picture *picture, int *first, int *near)
{
    for (size_t i = 0; i < picture->pairs.room; i++) {
        if (!picture->pairs.key[i]) continue;
        uint64_t key = picture->pairs.key[i] - 1;
        int a = (int)(key / (uint64_t)picture->ranks), b = (int)(key % (uint64_t)picture->ranks);
        if (near) {
            near[first[a + 1]++] = b;
            near[first[b + 1]++] = a;
        } else {
            first[a + 2]++;
            first[b + 2]++;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void find_near(const struct tt_picture *picture, struct near *near)
{
    int p = picture->ranks;
    each_end(picture, near->first, NULL);
    for (int r = 2; r <= p; r++) near->first[r + 1] += near->first[r];
    each_end(picture, near->first, near->near);
    for (int r = 0; r < p; r++)
        qsort(near->near + near->first[r], (size_t)(near->first[r + 1] - near->first[r]),
              sizeof *near->near, ascending);
}

/* Breadth first; how many ranks are reached. */
static int walk(struct tt_picture *picture, struct near *near, int root)
{
    int n = 0, edges = 0;
    near->queue[n++] = root;
    near->seen[root] = true;
    for (int i = 0; i < n; i++) {
        int r = near->queue[i];
        for (int k = near->first[r]; k < near->first[r + 1]; k++) {
            int child = near->near[k];
            if (near->seen[child]) continue;
            near->seen[child] = true;
            near->queue[n++] = child;
            picture->edge[edges][0] = r;
            picture->edge[edges++][1] = child;
        }
    }
    return n;
}

tutti_status tt_picture_tree(struct tt_picture *picture, int root)
{
    size_t p = (size_t)picture->ranks;
    if (picture->pairs.many || picture->pairs.n != picture->ranks - 1 || p < 2) return TUTTI_OK;
    struct near near = {tt_calloc(p + 2, sizeof(int)), tt_calloc(2 * p, sizeof(int)),
                        tt_calloc(p, sizeof(int)), tt_calloc(p, sizeof(bool))};
    picture->edge = tt_calloc(p, sizeof *picture->edge);
    bool room = near.first && near.near && near.queue && near.seen && picture->edge;
    if (room) find_near(picture, &near);
    if (room && walk(picture, &near, root < 0 ? find_root(picture) : root) == picture->ranks)
        picture->edges = picture->ranks - 1;
    tt_free(near.first);
    tt_free(near.near);
    tt_free(near.queue);
    tt_free(near.seen);
    return room ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for a tree of %zu ranks", p);
}
