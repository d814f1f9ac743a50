/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hierarchical algorithms, written once: plans that are composed of plans for parts of the team.
 *
 * A collective over several nodes consists of a few stages. Each stage is a collective of a part of
 * the team, which is either the ranks of one node or the leaders, one rank of each node. An
 * ordinary algorithm builds the stage, and its steps go into the same plan with ranks and buffers
 * translated (tt_subteam_begin):
 *
 *     allreduce     reduce on each node to its leader, allreduce among leaders, bcast on each node
 *
 * Where a row allows it, a long vector is cut into slices. Each slice runs its stages in a lane of
 * its own, with its own share of the windows and of TMP. Lanes are independent of each other, so
 * while one slice is between the nodes, another one is within them.
 *
 * A row states its stages as a function of (team, rank, number of the stage). Building and the
 * phases of each stage are the same for all rows and are done here.
 */
#ifndef TT_COLL_COMPOSED_H
#define TT_COLL_COMPOSED_H

#include "coll/coll-util.h"
#include "topo/nodes.h"

/* A call and its map, with the ranks grouped by node. */
struct tt_stage_team {
    const struct tt_call *call;
    const struct tt_map *map;
    struct tt_nodes nodes;
    int *leader;              /* the leader of each node: the root on the root's node, else the
                               * first rank */
    int *peer;                /* the rank of each node in a stage that has one rank of each node
                               * (tt_stage_peers) */
    int *apart;               /* the numbers 0, 1, 2 ..., as map.node for a stage with one rank of
                               * each node, in which rank k is on node k */
    int64_t *counts, *displs; /* counts and displacements in elements, for each node or for each
                               * rank of a node; only some rows use them */
};

/* The work of one rank in a stage: an algorithm runs on the part that contains the rank, or the row
 * appends steps of its own. */
struct tt_stage {
    const struct tt_algorithm *algorithm; /* NULL: no algorithm runs; the rank does what `build`
                                           * appends, if `build` is set */
    /* Appends the row's own steps; may be NULL. `kept` is the offset in TMP of the bytes that keep
     * their contents through all stages. */
    void (*build)(struct tt_builder *b, const struct tt_stage_team *team, int me, int64_t kept);
    struct tt_call call;
    struct tt_map map;
    struct tt_subteam part; /* part.p == 0: this rank is in no part */
};

/* The data and functions of a composed algorithm, besides the functions of its row. */
struct tt_composition {
    int stages; /* number of stages */
    /* Sets *stage to what rank `me` does in stage number `which`. */
    void (*stage)(const struct tt_stage_team *team, int me, int which, struct tt_stage *stage);
    /* Returns how many bytes at the beginning of TMP keep their contents through all stages; NULL:
     * none do. */
    int64_t (*kept)(const struct tt_stage_team *team, int me);
    int64_t slice; /* a long vector is cut into slices, each in a lane. The shortest slice that
                    * saves time, in bytes, if the call gives no length; 0: there are no slices */
    int64_t units; /* elements that half a window must have room for */
    bool each;     /* half a window must have room for `units` elements of each rank of the node */
    bool ordered;  /* operands stay in rank order, also if the ranks of a node are not adjacent */
};

/* The functions refuse, phases and build of the rows with the name `composed`. A collective has at
 * most one such row. */
const char *tt_composed_refuse(const struct tt_call *call, const struct tt_map *map);
int tt_composed_phases(const struct tt_call *call, const struct tt_map *map);
void tt_composed_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, int phase);

/* The functions refuse, phases and build of a row with another name than `composed`, whose
 * composition is `how`. */
const char *tt_composition_refuse(const struct tt_composition *how, const struct tt_call *call,
                                  const struct tt_map *map);
int tt_composition_phases(const struct tt_composition *how, const struct tt_call *call,
                          const struct tt_map *map);
void tt_composition_build(const struct tt_composition *how, struct tt_builder *b,
                          const struct tt_call *call, const struct tt_map *map, int me, int phase);

/* Defines refuse, build and phases of a row whose composition is HOW. */
#define TT_COMPOSITION_FUNCTIONS(HOW)                                                              \
    static const char *refuse(const struct tt_call *call, const struct tt_map *map)                \
    {                                                                                              \
        return tt_composition_refuse(&(HOW), call, map);                                           \
    }                                                                                              \
    static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,  \
                      int me, int phase)                                                           \
    {                                                                                              \
        tt_composition_build(&(HOW), b, call, map, me, phase);                                     \
    }                                                                                              \
    static int phases(const struct tt_call *call, const struct tt_map *map)                        \
    {                                                                                              \
        return tt_composition_phases(&(HOW), call, map);                                           \
    }

/* ---- For the rows ---- */

/* Sets *stage to a stage within the node of `me`. The first of two such stages uses one half of the
 * node's windows, the last one uses the other half. The call is the team's, but with the node's
 * leader as the root. */
void tt_stage_node(const struct tt_stage_team *team, int me, bool last, struct tt_stage *stage);
/* Sets *stage to a stage within the node that reduces the first `bytes` bytes of the inputs into
 * the leader's OUT, or, if tt_stage_is_wide, into the OUT of every rank of the node. */
void tt_stage_sum(const struct tt_stage_team *team, int me, int64_t bytes, struct tt_stage *stage);
/* Returns whether each rank of this node should reduce a part of the vector: the node has many
 * ranks, the message has many bytes, and the windows have room for the parts. */
bool tt_stage_is_wide(const struct tt_stage_team *team, int me, int64_t bytes);
/* Sets *stage to a stage among all leaders. A rank that is no leader has no steps in it. */
void tt_stage_leaders(const struct tt_stage_team *team, int me, struct tt_stage *stage);
/* Returns the algorithm for a reduce_scatter of `bytes` bytes among one rank of each node. */
const struct tt_algorithm *tt_stage_scattering(const struct tt_stage_team *team, int64_t bytes);
/* Returns the algorithm for an allreduce among one rank of each node: of the vector of the team's
 * call, or of all parts of this vector at the same time. */
const struct tt_algorithm *tt_stage_summing(const struct tt_stage_team *team);
/* Returns the number of ranks of the smallest node: of each node, this many ranks can send to other
 * nodes at the same time. */
int tt_stage_parts(const struct tt_stage_team *team);
/* In the rows with the name `parts`, rank j of each node owns part j. On each node, the ranks are
 * dealt out among the parts in turn, and a part consists of the pieces of the ranks that are dealt
 * to it. tt_stage_part_of: the part that has the piece of `me`. tt_stage_owns_part: whether `me`
 * owns it. tt_stage_share_bytes: the bytes of node k in part j. tt_stage_part_bytes: the bytes of
 * all nodes in part j. */
int tt_stage_part_of(const struct tt_stage_team *team, int me);
bool tt_stage_owns_part(const struct tt_stage_team *team, int me);
int64_t tt_stage_share_bytes(const struct tt_stage_team *team, int k, int j);
int64_t tt_stage_part_bytes(const struct tt_stage_team *team, int j);
/* Sets *stage to a stage among the i-th ranks of all nodes, where every node has more than i ranks,
 * or, if i is TT_LAST_PEER, among the last ranks of all nodes. Any other rank has no steps in this
 * stage. */
enum { TT_LAST_PEER = -1 };
void tt_stage_peers(const struct tt_stage_team *team, int me, int i, struct tt_stage *stage);
/* Sets *stage to stage `which` of an allgather(v); the team's call must be an allgather(v). After
 * all TT_COLLECTING stages, each rank has the pieces of all ranks. If the ranks of each node are
 * adjacent and the call is no v-form, the pieces are in their places in OUT. Otherwise they are at
 * the beginning of the bytes of TMP that keep their contents, in the order in which struct tt_nodes
 * lists the ranks. */
enum { TT_COLLECTING = 3 };
void tt_stage_collect(const struct tt_stage_team *team, int me, int which, struct tt_stage *stage);
/* Makes the stage's buffer `buf` refer to the buffer `at` of the whole team, from offset `off`
 * on. */
static inline void tt_stage_puts(struct tt_stage *stage, enum tt_buffer buf, enum tt_buffer at,
                                 int64_t off)
{
    stage->part.at[buf] = tt_own(at, off);
}

/* Makes the stage an allgatherv in place by this algorithm, with the team's counts and
 * displacements. */
static inline void tt_stage_allgatherv(const struct tt_stage_team *team,
                                       const struct tt_algorithm *algorithm, struct tt_stage *stage)
{
    stage->algorithm = algorithm;
    stage->call.coll = TT_COLL_allgatherv;
    stage->call.n = 0;
    stage->call.in_place = true;
    stage->call.out_counts = team->counts;
    stage->call.out_displs = team->displs;
}

/* Returns whether `me` is the leader of its node. */
static inline bool tt_team_leads(const struct tt_stage_team *team, int me)
{
    return team->leader[team->nodes.of[me]] == me;
}

/* Returns the place of `me` among the ranks of its node. */
int tt_team_index(const struct tt_stage_team *team, int me);
/* Returns the number of ranks on the node of `me`. */
static inline int tt_team_size(const struct tt_stage_team *team, int me)
{
    return tt_nodes_size(&team->nodes, team->nodes.of[me]);
}

#endif
