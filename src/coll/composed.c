/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hierarchical algorithms: grouping the team of a call by node, finding the part of the team for
 * each stage, and building the stages one after the other. For long vectors, the stages of each
 * slice are in a lane of their own.
 */
#include "coll/composed.h"

/* ---- The team ---- */

static bool team_of(struct tt_stage_team *team, const struct tt_call *call,
                    const struct tt_map *map)
{
    *team = (struct tt_stage_team){.call = call, .map = map};
    if (!tt_nodes_of(map, &team->nodes)) return false;
    size_t n = (size_t)map->p; /* at least the number of nodes, and of ranks of a node */
    team->counts = tt_alloc(n * (2 * sizeof(int64_t) + 3 * sizeof(int)));
    if (!team->counts) {
        tt_nodes_free(&team->nodes);
        return false;
    }
    team->displs = team->counts + n;
    team->leader = (int *)(team->displs + n);
    team->peer = team->leader + n;
    team->apart = team->peer + n;
    for (int k = 0; k < team->nodes.n; k++) {
        team->leader[k] = tt_nodes_ranks(&team->nodes, k)[0];
        team->apart[k] = k;
    }
    if (tt_coll_has_root(call->coll)) team->leader[team->nodes.of[call->root]] = call->root;
    return true;
}

static void team_free(struct tt_stage_team *team)
{
    tt_nodes_free(&team->nodes);
    tt_free(team->counts);
}

/* ---- Stages ---- */

static int64_t half_window(const struct tt_map *map)
{
    return map->win_bytes / 2 / TT_LINE * TT_LINE;
}

static int index_of(const int *list, int n, int rank)
{
    for (int i = 0; i < n; i++)
        if (list[i] == rank) return i;
    return -1;
}

static void begin_stage(const struct tt_stage_team *team, const int *member, int p, int me,
                        struct tt_stage *stage)
{
    stage->call = *team->call;
    stage->call.in_place = false;
    stage->call.in_counts = stage->call.in_displs = NULL;
    stage->call.out_counts = stage->call.out_displs = NULL;
    stage->map = (struct tt_map){.p = p, .cores = team->map->cores, .nodes = 1};
    stage->part = (struct tt_subteam){.p = p, .member = member, .me = index_of(member, p, me)};
    for (int buf = 0; buf < TT_BUFFERS; buf++) stage->part.at[buf] = tt_own((enum tt_buffer)buf, 0);
}

void tt_stage_node(const struct tt_stage_team *team, int me, bool last, struct tt_stage *stage)
{
    int k = team->nodes.of[me], size = tt_nodes_size(&team->nodes, k);
    int64_t half = half_window(team->map);
    begin_stage(team, tt_nodes_ranks(&team->nodes, k), size, me, stage);
    stage->map.reads = team->map->reads;
    stage->map.writes = team->map->writes;
    stage->map.mapped = team->map->mapped;
    stage->map.read_cost = team->map->read_cost;
    stage->map.win_bytes = half;
    stage->call.root = index_of(stage->part.member, size, team->leader[k]);
    tt_stage_puts(stage, TT_WIN, TT_WIN, last ? half : 0);
}

/* Sets *stage to a stage among the ranks `member`, one on each node. */
static void begin_apart(const struct tt_stage_team *team, const int *member, int me,
                        struct tt_stage *stage)
{
    begin_stage(team, member, team->nodes.n, me, stage);
    if (stage->part.me < 0) stage->part.p = 0;
    stage->map.nodes = team->nodes.n;
    stage->map.node = team->apart;
}

void tt_stage_peers(const struct tt_stage_team *team, int me, int i, struct tt_stage *stage)
{
    for (int k = 0; k < team->nodes.n; k++) {
        int at = i == TT_LAST_PEER ? tt_nodes_size(&team->nodes, k) - 1 : i;
        team->peer[k] = tt_nodes_ranks(&team->nodes, k)[at];
    }
    begin_apart(team, team->peer, me, stage);
}

int tt_team_index(const struct tt_stage_team *team, int me)
{
    return index_of(tt_nodes_ranks(&team->nodes, team->nodes.of[me]), tt_team_size(team, me), me);
}

int tt_stage_part_of(const struct tt_stage_team *team, int me)
{
    return tt_team_index(team, me) % tt_stage_parts(team);
}

bool tt_stage_owns_part(const struct tt_stage_team *team, int me)
{
    return tt_team_index(team, me) < tt_stage_parts(team);
}

int64_t tt_stage_share_bytes(const struct tt_stage_team *team, int k, int j)
{
    const int *rank = tt_nodes_ranks(&team->nodes, k);
    int64_t bytes = 0;
    for (int i = j; i < tt_nodes_size(&team->nodes, k); i += tt_stage_parts(team))
        bytes += tt_call_block_bytes(team->call, rank[i]);
    return bytes;
}

int64_t tt_stage_part_bytes(const struct tt_stage_team *team, int j)
{
    int64_t bytes = 0;
    for (int k = 0; k < team->nodes.n; k++) bytes += tt_stage_share_bytes(team, k, j);
    return bytes;
}

void tt_stage_leaders(const struct tt_stage_team *team, int me, struct tt_stage *stage)
{
    begin_apart(team, team->leader, me, stage);
    if (tt_coll_has_root(team->call->coll)) stage->call.root = team->nodes.of[team->call->root];
}

/* On a node of at least WIDE ranks, and for messages of at least LONG bytes, every rank of the node
 * reduces a part of the vector. Elsewhere the leader alone reduces it, because sharing the work
 * costs a second round of signals and more copies. */
enum { WIDE = 4, LONG = 32 << 10 };

bool tt_stage_is_wide(const struct tt_stage_team *team, int me, int64_t bytes)
{
    int64_t size = tt_team_size(team, me);
    return size >= WIDE && bytes >= LONG && half_window(team->map) >= 2 * size * team->call->sz;
}

void tt_stage_sum(const struct tt_stage_team *team, int me, int64_t bytes, struct tt_stage *stage)
{
    bool wide = tt_stage_is_wide(team, me, bytes);
    tt_stage_node(team, me, false, stage);
    stage->algorithm = wide ? &tt_allreduce_window : &tt_reduce_flat;
    stage->call.coll = wide ? TT_COLL_allreduce : TT_COLL_reduce;
    stage->call.n = bytes / team->call->sz;
}

/* From this many bytes on, and on a number of ranks that is a power of two, `halving` takes less
 * time than `circulant`: `halving` sends twice as many messages, but copies less. */
enum { HALVED = 256 << 10 };

const struct tt_algorithm *tt_stage_scattering(const struct tt_stage_team *team, int64_t bytes)
{
    int n = team->nodes.n;
    bool halves = !team->call->commutes || (tt_pow2_below(n) == n && bytes >= HALVED);
    return halves ? &tt_reduce_scatter_halving : &tt_reduce_scatter_circulant;
}

/* From this many bytes on, and on three nodes or more, an allreduce that sends each byte twice
 * takes less time than `doubling`, which sends it log2(nodes) times, in half as many messages. */
enum { SENT_TWICE = 32 << 10 };

/* On three nodes, `ring` has as few rounds as `circulant`, and copies less. On more nodes, it has
 * more rounds. `halving` is for operations that do not commute: unless the number of nodes is a
 * power of two, some nodes first send half of the vector to another node, and in the end get all of
 * it. */
const struct tt_algorithm *tt_stage_summing(const struct tt_stage_team *team)
{
    int n = team->nodes.n;
    if (n == 2 || tt_call_bytes(team->call) < SENT_TWICE) return &tt_allreduce_doubling;
    if (!team->call->commutes) return &tt_allreduce_halving;
    return n == 3 ? &tt_allreduce_ring : &tt_allreduce_circulant;
}

int tt_stage_parts(const struct tt_stage_team *team)
{
    int least = team->map->p;
    for (int k = 0; k < team->nodes.n; k++)
        least = (int)tt_min(least, tt_nodes_size(&team->nodes, k));
    return least;
}

/* Returns the number of phases of a stage. It is the same on all ranks, although nodes differ in
 * size, because every algorithm that is used within a node has one phase. */
static int stage_phases(const struct tt_stage *stage)
{
    return stage->algorithm ? tt_algorithm_phases(stage->algorithm, &stage->call, &stage->map) : 1;
}

static struct tt_stage stage_of(const struct tt_composition *how, const struct tt_stage_team *team,
                                int me, int which)
{
    struct tt_stage stage = {.algorithm = NULL};
    how->stage(team, me, which, &stage);
    return stage;
}

/* ---- Slices ---- */

/* A slice of a long vector. Each slice has a lane of its own, so that one slice can be between the
 * nodes while another is within them. */
struct slice {
    struct tt_stage_team team; /* the team, but with the call and the map of the slice */
    struct tt_call call;
    struct tt_map map;
    int64_t off, win; /* offset of the slice in IN and OUT; offset of its share of WIN */
};

/* SLICES: the most slices, if the call does not say how many lanes. A fourth slice would gain up to
 * 10 % on fast networks, but each slice takes messages of its own, and on slow networks a vector of
 * 128K would take up to 20 % longer. WINDOW: the least share of a window, in bytes. */
enum { SLICES = 3, WINDOW = 4 << 10 };
_Static_assert((int)SLICES <= (int)TT_LANES_MOST && (int)TT_LANES_MOST == (int)TT_LANES,
               "each has a lane");

static int64_t share_of(const struct tt_map *map, int slices)
{
    return slices == 1 ? map->win_bytes : map->win_bytes / slices / TT_LINE * TT_LINE;
}

/* Returns the bytes that half a window must have room for. */
static int64_t least_half(const struct tt_composition *how, const struct tt_stage_team *team)
{
    int most = tt_nodes_size(&team->nodes, tt_nodes_largest(&team->nodes));
    return how->units * team->call->sz * (how->each ? most : 1);
}

static bool has_room(const struct tt_composition *how, const struct tt_stage_team *team, int slices)
{
    int64_t share = share_of(team->map, slices);
    return share >= WINDOW && share / 2 / TT_LINE * TT_LINE >= least_half(how, team);
}

static int slices_of(const struct tt_composition *how, const struct tt_stage_team *team)
{
    const struct tt_call *call = team->call;
    bool spans = team->nodes.n > 1 && team->nodes.n < team->map->p;
    if (how->slice == 0 || !spans) return 1;
    int64_t most = call->lanes > 0 ? tt_min(call->lanes, TT_LANES) : SLICES;
    int n = (int)tt_min(most, tt_call_bytes(call) / tt_slice_bytes(call, how->slice));
    while (n > 1 && !has_room(how, team, n)) n--;
    return (int)tt_max(1, n);
}

static void slice_of(const struct tt_stage_team *whole, int slices, int i, struct slice *s)
{
    struct tt_span span = {0, tt_call_bytes(whole->call)};
    *s = (struct slice){.team = *whole, .call = *whole->call, .map = *whole->map};
    s->team.call = &s->call;
    s->team.map = &s->map;
    if (slices == 1) return;
    span = tt_block(whole->call, slices, i);
    s->call.n = span.len / s->call.sz;
    s->map.win_bytes = share_of(whole->map, slices);
    s->off = span.off;
    s->win = i * s->map.win_bytes;
}

static int slice_phases(const struct tt_composition *how, const struct tt_stage_team *team)
{
    int phases = 0;
    for (int which = 0; which < how->stages; which++) {
        struct tt_stage stage = stage_of(how, team, team->leader[0], which);
        phases += stage_phases(&stage);
    }
    return phases;
}

/* If the vector is cut into slices, the function returns 1, so that tt_composition_build is called
 * once for all lanes. Then build_slices begins the phases of each slice in the slice's lane. */
int tt_composition_phases(const struct tt_composition *how, const struct tt_call *call,
                          const struct tt_map *map)
{
    struct tt_stage_team team;
    if (!team_of(&team, call, map)) return how->stages; /* tt_composition_build reports the error */
    int phases = slices_of(how, &team) > 1 ? 1 : slice_phases(how, &team);
    team_free(&team);
    return phases;
}

/* ---- Building ---- */

static void build_stage(struct tt_builder *b, const struct slice *s, struct tt_stage *stage, int me,
                        int phase, struct tt_range kept)
{
    struct tt_range *at = stage->part.at;
    if (stage->build) stage->build(b, &s->team, me, kept.off);
    if (!stage->algorithm || stage->part.p == 0) return;
    for (int buf = TT_IN; buf <= TT_OUT; buf++)
        at[buf].off += at[buf].buf == TT_TMP ? kept.off : s->off;
    at[TT_WIN].off += s->win;
    tt_subteam_begin(b, &stage->part);
    tt_algorithm_steps(stage->algorithm, b, &stage->call, &stage->map, stage->part.me, phase);
    tt_subteam_end(b);
}

static void build_phase(struct tt_builder *b, const struct tt_composition *how,
                        const struct slice *s, int me, int phase)
{
    int64_t bytes = how->kept ? how->kept(&s->team, me) : 0;
    struct tt_range kept = bytes > 0 ? tt_scratch(b, bytes) : tt_own(TT_TMP, 0);
    for (int which = 0, first = 0; which < how->stages; which++) {
        struct tt_stage stage = stage_of(how, &s->team, me, which);
        int phases = stage_phases(&stage);
        if (phase >= first && phase < first + phases)
            build_stage(b, s, &stage, me, phase - first, kept);
        first += phases;
    }
}

static void build_slices(struct tt_builder *b, const struct tt_composition *how,
                         const struct tt_stage_team *team, int slices, int me)
{
    for (int i = 0; i < slices; i++) {
        struct slice s;
        slice_of(team, slices, i, &s);
        if (i > 0) tt_lane(b);
        int phases = slice_phases(how, &s.team);
        for (int phase = 0; phase < phases; phase++) {
            tt_phase(b, phase);
            build_phase(b, how, &s, me, phase);
        }
    }
}

void tt_composition_build(const struct tt_composition *how, struct tt_builder *b,
                          const struct tt_call *call, const struct tt_map *map, int me, int phase)
{
    struct tt_stage_team team;
    struct slice s;
    if (!team_of(&team, call, map)) {
        tt_builder_fail(b, tt_needs_memory);
        return;
    }
    int slices = slices_of(how, &team);
    slice_of(&team, 1, 0, &s);
    if (slices > 1)
        build_slices(b, how, &team, slices, me);
    else
        build_phase(b, how, &s, me, phase);
    team_free(&team);
}

/* ---- Refusing ---- */

/* Returns whether the stages would combine operands out of rank order. */
static bool mixes(const struct tt_composition *how, const struct tt_stage_team *team)
{
    bool ordered = tt_coll_has_op(team->call->coll) && !team->call->commutes;
    return ordered && !team->nodes.adjacent && !how->ordered;
}

const char *tt_composition_refuse(const struct tt_composition *how, const struct tt_call *call,
                                  const struct tt_map *map)
{
    struct tt_stage_team team;
    const char *why = NULL;
    if (!team_of(&team, call, map)) return tt_needs_memory;
    int most = tt_nodes_size(&team.nodes, tt_nodes_largest(&team.nodes));
    if (mixes(how, &team))
        why = tt_needs_order;
    else if (most > TT_OPERANDS)
        why = tt_needs_fewer;
    else if (most > 1 && half_window(map) < least_half(how, &team))
        why = tt_needs_window;
    team_free(&team);
    return why;
}

/* ---- The rows `composed` ---- */

/* Returns the stages of the composed row of this collective. */
static const struct tt_composition *composition_of(const struct tt_call *call)
{
    const struct tt_algorithm *const *a = tt_algorithms;
    while ((*a)->coll != call->coll || (*a)->build != tt_composed_build) a++;
    return (*a)->composition;
}

const char *tt_composed_refuse(const struct tt_call *call, const struct tt_map *map)
{
    return tt_composition_refuse(composition_of(call), call, map);
}

int tt_composed_phases(const struct tt_call *call, const struct tt_map *map)
{
    return tt_composition_phases(composition_of(call), call, map);
}

void tt_composed_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, int phase)
{
    tt_composition_build(composition_of(call), b, call, map, me, phase);
}
