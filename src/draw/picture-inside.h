/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the files that fill a picture.
 */
#ifndef TT_DRAW_PICTURE_INSIDE_H
#define TT_DRAW_PICTURE_INSIDE_H

#include "draw/picture.h"

/* ---- picture-tree.c ---- */

bool tt_pairs_begin(struct tt_picture_pairs *pairs, int ranks);
void tt_pairs_add(struct tt_picture *picture, const struct tt_sim_deed *trip);
void tt_pairs_free(struct tt_picture_pairs *pairs);
/* Fills in the edges, if the pairs are those of a tree. */
tutti_status tt_picture_tree(struct tt_picture *picture, int root);

/* ---- picture-net.c ---- */

void tt_picture_net_free(struct tt_picture_net *net);

/* ---- place.c ---- */

/* Where the vertices are drawn; sets x, y and slice of each, and slices. MEMORY. */
tutti_status tt_place(struct tt_picture_net *picture, const struct tt_net *net);
/* A tree level by level, each parent above the middle of its children. parent[i] < i or -1; x, y of
 * n vertices. MEMORY. */
tutti_status tt_place_tree(const int *parent, int n, struct tt_picture_vertex *vertex);

#endif
