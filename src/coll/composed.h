/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans made of plans of parts: hierarchy, written once.
 *
 * A collective over several nodes is a few stages, each the collective of a part of the team (the
 * ranks of a node, or one rank of each node, its leader) by an ordinary algorithm, whose steps go
 * into the same plan with ranks and buffers translated (tt_subteam_begin):
 *
 *     allreduce     reduce on each node to its leader, allreduce among leaders, bcast on each node
 *
 * Where a row allows it, a long vector is cut into slices, and each slice's stages are in a lane,
 * with a share of the windows and TMP of its own. Lanes have nothing to do with each other, so
 * while one slice is between the nodes another is on them.
 *
 * A row says which stages there are, in a function of (team, rank, which); building, counting, and
 * that each stage has phases of its own are the same for all and are here.
 */
#ifndef TT_COLL_COMPOSED_H
#define TT_COLL_COMPOSED_H

#include "coll/coll-util.h"
#include "topo/nodes.h"

/* A call and its map, cut into nodes. */
struct tt_team {
    const struct tt_call *call;
    const struct tt_map *map;
    struct tt_nodes nodes;
    int *leader;              /* of each node: the root on its own, else the first */
    int *apart;               /* 0, 1, 2 ...: the map of leaders, each on a node of its own */
    int64_t *counts, *displs; /* of each node, in elements; for the rows that need them */
};

/* What a rank does in one stage: an algorithm of the part that it is in, or the row's own steps. */
struct tt_stage {
    const struct tt_algorithm *algorithm; /* tells count_rank; NULL: nothing or `build` */
    void (*build)(struct tt_builder *b, const struct tt_team *team, int me, int64_t kept);
    struct tt_count (*count)(const struct tt_team *team, int me);
    struct tt_call call;
    struct tt_map map;
    struct tt_subteam part; /* p == 0: this rank has none */
};

/* What a row of a composed algorithm names beside the functions below. */
struct tt_composition {
    int stages;
    void (*stage)(const struct tt_team *team, int me, int which, struct tt_stage *stage);
    /* Bytes of TMP that last through all stages, from its beginning; NULL: none. */
    int64_t (*kept)(const struct tt_team *team, int me);
    bool adjacent; /* needs nodes of adjacent ranks */
    bool slices;   /* a long vector may be cut into slices, each in a lane */
    int64_t units; /* elements that half a window must hold */
};

/* The functions of every such row; of a collective there is at most one. */
const char *tt_composed_refuse(const struct tt_call *call, const struct tt_map *map);
struct tt_count tt_composed_count(const struct tt_call *call, const struct tt_map *map);
int tt_composed_phases(const struct tt_call *call, const struct tt_map *map);
void tt_composed_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, int phase);

/* ---- For the rows ---- */

/* `me` has a part: its node, whose windows the first of two stages has one half of and the last the
 * other. The call is the team's, with the leader for its root. */
void tt_stage_node(const struct tt_team *team, int me, bool last, struct tt_stage *stage);
/* The same, to sum up `bytes` of the node's inputs into its leader's OUT; where it is_wide, into
 * everyone's. */
void tt_stage_sum(const struct tt_team *team, int me, int64_t bytes, struct tt_stage *stage);
bool tt_stage_is_wide(const struct tt_team *team, int me, int64_t bytes);
/* Leaders have a part, all of them; nobody else. */
void tt_stage_leaders(const struct tt_team *team, int me, struct tt_stage *stage);
/* The part's buffer is that one of the team's, from off on. */
static inline void tt_stage_puts(struct tt_stage *stage, enum tt_buffer buf, enum tt_buffer at,
                                 int64_t off)
{
    stage->part.at[buf] = tt_own(at, off);
}

static inline bool tt_team_leads(const struct tt_team *team, int me)
{
    return team->leader[team->nodes.of[me]] == me;
}

static inline int tt_team_size(const struct tt_team *team, int me)
{
    return tt_nodes_size(&team->nodes, team->nodes.of[me]);
}

#endif
