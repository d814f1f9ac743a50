/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a team's shared block, and handles what concerns a team as a whole: progress and failure.
 */
#include "run/team.h"

#include <stdio.h>
#include <string.h>

#include "boot/watch.h"
#include "fabric/waiting.h"
#include "run/compare.h"
#include "run/exec.h"
#include "run/remote-inside.h"

/* tt_team_check also compares calls: once in LOOKS_TO_COMPARE checks, and if the last comparison
 * was more than COMPARE_NS nanoseconds ago. It reads the clock once in LOOKS_TO_CLOCK checks. */
enum { LOOKS_TO_COMPARE = 4096, LOOKS_TO_CLOCK = 16, COMPARE_NS = 10000000 };

int64_t tt_team_window(void)
{
    return tt_setting_must_match(TT_MUST_MATCH_WINDOW);
}

/* Returns n, halved as often as a team of p ranks requires, but at least 4. In large teams the
 * blocks together would take much memory, so fewer executions can be in flight at the same time. */
static int64_t fewer(int64_t n, int p)
{
    for (int64_t most = n * 32; n > 4 && n * p > most;) n /= 2;
    return n;
}

int64_t tt_team_windows(int p)
{
    return fewer(TT_WINDOWS, p);
}

int64_t tt_team_slots(int p, bool crowded)
{
    return crowded ? fewer(TT_SLOTS, p) : tt_team_windows(p);
}

/* Returns the distance between the lines of two slots: an odd number of cache lines, so that the
 * slots use different sets of the cache. It is as large as the size of the block allows, but at
 * most 15 lines. */
static int64_t line_stride(int64_t slots)
{
    enum { LINES = 512, MOST = 16 };
    return (tt_min(LINES / slots, MOST) - 1) * TT_LINE;
}

/* The distance of a long window from the begin of its first cache line, in bytes. Long messages
 * begin at byte 48 of the window (TT_WIN_LINE in coll/coll-util.h), which is then the first byte of
 * a cache line. */
#define LONG_AT 16

/* Returns the bytes of the signals of lanes 1, 2 ... */
static int64_t lanes_bytes(int p)
{
    return tt_team_windows(p) * (TT_LANES - 1) * TT_LINE;
}

/* Returns the layout of a member's block in a team of p ranks with so many slots. */
static struct tt_block layout(int p, int64_t slots)
{
    struct tt_block b = {.line = sizeof(struct tt_head), .line_stride = line_stride(slots)};
    b.opening = b.line + slots * b.line_stride;
    b.bytes = b.opening + slots * 2 * TT_LINE;
    b.window = LONG_AT;
    b.window_stride = tt_round_up(LONG_AT + tt_team_window(), 4096);
    b.peers = p;
    b.contents = tt_team_windows(p) * p * (int64_t)sizeof(struct tt_segment_opening);
    return b;
}

/* Returns the layout of the mirror of a member's block in a team of p ranks. The team is on several
 * nodes, so it is not crowded, and has as many slots as windows (tt_team_slots). */
static struct tt_block layout_of_mirror(int p)
{
    const int64_t windows = tt_team_windows(p);
    struct tt_block b = {.line = sizeof(struct tt_head), .line_stride = TT_LINE, .peers = 1};
    b.opening = b.line + windows * b.line_stride;
    b.lanes = b.opening + windows * 2 * TT_LINE;
    b.segments = b.lanes + lanes_bytes(p);
    b.bytes = b.segments + windows * (int64_t)sizeof(struct tt_segment_opening);
    return b;
}

static tutti_status take_block(struct tt_fabric *f, int64_t bytes, int64_t *offset)
{
    TT_TRY(tt_arena_take(&f->arena, bytes, offset));
    memset(tt_fabric_at(f, *offset), 0, (size_t)bytes);
    return TUTTI_OK;
}

tutti_status tt_team_block(struct tt_fabric *f, int p, int64_t *offset)
{
    return take_block(f, layout(p, tt_team_slots(p, f->crowded)).bytes, offset);
}

tutti_status tt_team_block_upto(struct tt_fabric *f, int p, int64_t *offset)
{
    int64_t most = 0;
    for (int n = 1; n <= p; n++) most = tt_max(most, layout(n, tt_team_slots(n, f->crowded)).bytes);
    return take_block(f, most, offset);
}

bool tt_team_find_window(struct tt_team *t, int rank)
{
    char *windows = tt_team_part(t, rank, TT_PART_WINDOWS);
    if (windows) t->window[TT_LONG_WINDOWS][rank] = windows + t->layout.window;
    return windows != NULL;
}

bool tt_team_find_windows(struct tt_team *t)
{
    bool all = true;
    for (int r = 0; r < t->map.p; r++)
        if (!tt_team_is_remote(t, r) && !t->window[TT_LONG_WINDOWS][r])
            all = tt_team_find_window(t, r) && all;
    t->finds_windows = !all;
    return all;
}

/* Mixes the three arguments to one number, by the function of splitmix64. */
uint64_t tt_team_id(uint64_t of, uint64_t n, int first)
{
    uint64_t z = of + 0x9e3779b97f4a7c15u * (2 * n + 1) + (uint64_t)first;
    for (int i = 0; i < 2; i++) {
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return z;
}

static tutti_status release_failed(struct tt_team *t)
{
    int p = t->map.p;
    tt_team_release(t, false);
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a team of %d ranks", p);
}

/* Fills in the map's `node`: numbers the nodes of the members in the order of their first members.
 * Returns the number of nodes. */
static int number_nodes(struct tt_team *t, const int *job_rank, int *seen)
{
    const struct tt_fabric *f = t->fabric;
    int nodes = 0;
    for (int n = 0; n < f->nodes; n++) seen[n] = -1;
    for (int r = 0; r < t->map.p; r++) {
        int *as = &seen[f->node[job_rank[r]]];
        if (*as < 0) *as = nodes++;
        t->node[r] = *as;
    }
    return nodes;
}

static tutti_status map_nodes(struct tt_team *t, const int *job_rank)
{
    if (!t->fabric->node) return TUTTI_OK;
    int *seen = tt_alloc((size_t)t->fabric->nodes * sizeof *seen);
    t->node = tt_alloc((size_t)t->map.p * sizeof *t->node);
    if (seen && t->node) t->map.nodes = number_nodes(t, job_rank, seen);
    if (t->map.nodes > 1) t->map.node = t->node;
    tt_free(seen);
    return seen && t->node ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* Returns whether all members are threads of this process. Either every member finds that, or no
 * member. */
static bool is_mapped(const struct tt_team *t)
{
    bool mapped = true;
    for (int r = 0; r < t->map.p; r++) mapped = mapped && tt_fabric_maps(t->fabric, t->job_rank[r]);
    return mapped;
}

/* Returns the processors of the team's nodes. Only the sum of the processors of all nodes of the
 * job is known, so each node counts as having equally many. Nodes that are containers of one
 * machine share its processors. */
static int cores_of(const struct tt_team *t)
{
    const struct tt_fabric *f = t->fabric;
    if (f->one_kernel || t->map.nodes >= f->nodes) return f->cores;
    return (int)tt_max(1, (int64_t)f->cores * t->map.nodes / f->nodes);
}

static void map_machine(struct tt_team *t)
{
    const struct tt_fabric *f = t->fabric;
    t->fill = tt_filling(f->stores_slow, tt_setting_int_or("TUTTI_FILL", -1) >= 0);
    t->map.cores = cores_of(t);
    t->map.eager = f->eager_most;
    t->map.mapped = is_mapped(t);
    t->map.reads = t->map.mapped || (f->everywhere & TT_READS);
    t->map.writes = t->map.mapped || (f->everywhere & TT_WRITES);
    t->map.read_cost = t->map.mapped ? 1 : f->read_cost;
    t->map.machine = f->machine.use == TT_MACHINE_UNKNOWN ? NULL : &f->machine.model;
    t->map.estimates = f->machine.use == TT_MACHINE_ESTIMATE;
    t->map.measures = f->machine.measures && f->size > 1;
    t->map.wisdom = f->wisdom.n > 0 ? &f->wisdom : NULL;
    t->map.one_kernel = f->one_kernel && f->job->nodes > 1;
    t->map.link = t->map.one_kernel ? (struct tt_machine_link){0} : f->machine.link;
    t->map.rdma = f->everywhere == TT_ACCESSES && t->map.node != NULL;
}

static void find_short_window(struct tt_team *t, int rank)
{
    t->window[TT_SHORT_WINDOWS][rank] = (char *)tt_team_line(t, rank, 0)->window;
}

/* Sets the views of all members. The view of a member of this node is its block, whose offset is in
 * blocks[]. All members on other nodes have the same view at first, an empty mirror. A member gets
 * a mirror of its own when the first message comes from it or goes to it. */
static tutti_status view_members(struct tt_team *t, const int *job_rank, const int64_t *blocks)
{
    struct tt_block mirror = layout_of_mirror(t->map.p);
    if (t->map.node) TT_TRY(tt_remote_new(t, &mirror));
    for (int r = 0; r < t->map.p; r++) {
        t->job_rank[r] = job_rank[r];
        bool local = tt_map_same_node(&t->map, r, t->me);
        t->local += local;
        t->view[r] = local ? (struct tt_view){tt_fabric_at(t->fabric, blocks[r]), &t->layout, NULL}
                           : tt_remote_unknown(t);
        if (local) find_short_window(t, r);
    }
    return TUTTI_OK;
}

void tt_team_place(struct tt_team *t, const int64_t *blocks)
{
    t->offset = blocks[t->me];
    for (int r = 0; r < t->map.p; r++) {
        if (tt_team_is_remote(t, r)) continue;
        t->view[r].at = tt_fabric_at(t->fabric, blocks[r]);
        find_short_window(t, r);
    }
}

/* Publishes TUTTI_ALGORITHM. If the text is too long, leaves out the entries from the first one
 * that does not fit as a whole: a part of an algorithm's name could be the name of another
 * algorithm. A comma after a backslash belongs to the path of a plan file, and ends no entry. */
static void publish_algorithm(struct tt_world_facts *world)
{
    const char *algorithm = tt_setting("TUTTI_ALGORITHM");
    world->algorithm_bytes = algorithm ? (int64_t)strlen(algorithm) : 0;
    snprintf(world->algorithm, sizeof world->algorithm, "%s", algorithm ? algorithm : "");
    if (world->algorithm_bytes < TT_FACTS_ALGORITHM) return;
    char *end = world->algorithm + strlen(world->algorithm);
    while (end > world->algorithm && (end[0] != ',' || end[-1] == '\\')) end--;
    *end = '\0';
}

/* Publishes the facts on which the choice of algorithms depends, for programs that read the job's
 * memory. */
static void publish_world(const struct tt_team *t)
{
    struct tt_common *common = t->fabric->common;
    struct tt_world_facts *world = &common->world;
    world->nodes = t->map.nodes;
    for (int r = 0; r < t->map.p; r++) common->rank[r].node = t->map.node ? t->map.node[r] : 0;
    world->cores = t->map.cores;
    world->read_cost = t->map.read_cost;
    world->link = t->map.link;
    world->reads = t->map.reads;
    world->writes = t->map.writes;
    world->mapped = t->map.mapped;
    world->one_kernel = t->map.one_kernel;
    world->rdma = t->map.rdma;
    world->win_bytes = t->map.win_bytes;
    publish_algorithm(world);
    atomic_store(&world->known, 1);
}

/* Sets the numbers of slots and windows, and where they are in a block. */
static void set_slots(struct tt_team *t)
{
    t->slots = (uint64_t)tt_team_slots(t->map.p, t->fabric->crowded);
    t->windows = (uint64_t)tt_team_windows(t->map.p);
    t->windows_log2 = __builtin_ctz((unsigned)t->windows);
    t->layout = layout(t->map.p, (int64_t)t->slots);
}

static void publish_slots(const struct tt_team *t)
{
    struct tt_head *head = tt_fabric_at(t->fabric, t->offset);
    atomic_store(&head->slots_log2, (int16_t)__builtin_ctz((unsigned)t->slots));
    atomic_store(&head->windows_log2, (int16_t)t->windows_log2);
    atomic_store(&head->line_stride, (int32_t)t->layout.line_stride);
    atomic_store(&head->opening, (int32_t)t->layout.opening);
}

void tt_team_met(struct tt_team *t)
{
    struct tt_fabric *f = t->fabric;
    const int64_t room = t->layout.bytes;
    tt_assert(t->next == 0);
    map_machine(t);
    set_slots(t);
    tt_assert(t->layout.bytes <= room);
    (void)room;
    publish_slots(t);
    if (f->job->rank[f->me].arena == 0) publish_world(t);
    for (int r = 0; r < t->map.p; r++) {
        if (tt_team_is_remote(t, r)) continue;
        t->view[r].at = tt_fabric_at(f, atomic_load(&f->common->rank[t->job_rank[r]].world));
        find_short_window(t, r);
    }
}

tutti_status tt_team_init(struct tt_team *t, struct tt_fabric *f, int p, int me,
                          const int *job_rank, const int64_t *blocks)
{
    *t = (struct tt_team){.fabric = f,
                          .ring = t,
                          .ring_before = t,
                          .world = t,
                          .me = me,
                          .offset = blocks[me],
                          .finds_windows = true,
                          .culprit = -1};
    const int64_t win_bytes = tt_team_window();
    t->map = (struct tt_map){.p = p, .win_bytes = win_bytes, .nodes = 1};
    tt_team_divide(&t->map, win_bytes);
    t->queue_end = &t->queue;
    set_slots(t);
    t->job_rank = tt_alloc((size_t)p * sizeof *t->job_rank);
    t->view = tt_alloc((size_t)p * sizeof *t->view);
    t->window[TT_SHORT_WINDOWS] = tt_calloc(2 * (size_t)p, sizeof(char *));
    if (t->window[TT_SHORT_WINDOWS]) t->window[TT_LONG_WINDOWS] = t->window[TT_SHORT_WINDOWS] + p;
    if (!t->job_rank || !t->view || !t->window[TT_SHORT_WINDOWS] ||
        map_nodes(t, job_rank) != TUTTI_OK || view_members(t, job_rank, blocks) != TUTTI_OK)
        return release_failed(t);
    map_machine(t);
    return TUTTI_OK;
}

/* ---- For the roll call ---- */

static struct tt_head *head_at(const struct tt_team *t, int64_t offset)
{
    return tt_fabric_at(t->fabric, offset);
}

/* Returns the head of this rank's block in the world, which may be this team. */
static struct tt_head *first_head(const struct tt_team *t)
{
    const struct tt_fabric *f = t->fabric;
    return head_at(t, atomic_load(&f->common->rank[f->me].world));
}

void tt_team_list(struct tt_team *t)
{
    struct tt_head *head = head_at(t, t->offset), *first = first_head(t);
    atomic_store(&head->id, t->id);
    atomic_store(&head->me, t->me);
    publish_slots(t);
    atomic_store(&head->ranks, t->map.p);
    if (head == first) return;
    atomic_store(&head->next, atomic_load(&first->next));
    atomic_store(&first->next, t->offset);
}

void tt_team_unlist(struct tt_team *t)
{
    struct tt_head *head = head_at(t, t->offset), *before = first_head(t);
    int64_t next;
    while ((next = atomic_load(&before->next)) != 0 && next != t->offset) before = head_at(t, next);
    if (next) atomic_store(&before->next, atomic_load(&head->next));
    atomic_store(&head->ranks, 0);
}

/* ---- Parts and small pieces ---- */

/* A piece begins at an even cache line, because some processors fetch lines in pairs. */
enum { CHUNK_BYTES = 4096, PIECE_UNIT = 2 * TT_LINE };

/* The begin of a chunk. The pieces follow after PIECE_UNIT bytes. */
struct chunk {
    int64_t before; /* offset of the chunk that was taken before this one; 0: there is none */
};

/* Takes a chunk that is large enough for a piece, and makes it the one from which pieces are
 * cut. */
static tutti_status take_chunk(struct tt_team *t, int64_t bytes)
{
    int64_t offset, all = tt_round_up(PIECE_UNIT + bytes, CHUNK_BYTES);
    TT_TRY(tt_arena_take(&t->fabric->arena, all, &offset));
    *(struct chunk *)tt_fabric_at(t->fabric, offset) = (struct chunk){.before = t->chunk};
    t->chunk = offset;
    t->piece = offset + PIECE_UNIT;
    t->chunk_end = offset + all;
    return TUTTI_OK;
}

tutti_status tt_team_take(struct tt_team *t, int64_t bytes, int64_t *offset)
{
    bytes = tt_round_up(bytes, PIECE_UNIT);
    if (bytes > t->chunk_end - t->piece) TT_TRY(take_chunk(t, bytes));
    *offset = t->piece;
    t->piece += bytes;
    return TUTTI_OK;
}

/* Returns the bytes of a part. */
static int64_t part_bytes(const struct tt_team *t, enum tt_team_part part)
{
    const int64_t windows = (int64_t)t->windows, p = t->map.p;
    if (part == TT_PART_WINDOWS) return windows * t->layout.window_stride;
    if (part == TT_PART_LANES) return lanes_bytes(t->map.p);
    if (part >= TT_PART_RINGS) return windows * p * (int64_t)sizeof(uint64_t);
    return t->layout.contents + windows * p * 2 * (int64_t)sizeof(struct tt_contents);
}

tutti_status tt_team_provide(struct tt_team *t, enum tt_team_part part)
{
    int64_t offset, bytes = part_bytes(t, part);
    if (tt_team_part(t, t->me, part)) return TUTTI_OK;
    if (part == TT_PART_WINDOWS) {
        TT_TRY(tt_arena_reserve(&t->fabric->arena, bytes, &offset));
    } else {
        TT_TRY(tt_team_take(t, bytes, &offset));
        memset(tt_fabric_at(t->fabric, offset), 0, (size_t)bytes);
    }
    atomic_store_explicit(&tt_team_head(t, t->me)->part[part], offset, memory_order_release);
    return TUTTI_OK;
}

char *tt_team_find_lanes(struct tt_team *t, int rank)
{
    return t->view[rank].lanes = tt_team_part(t, rank, TT_PART_LANES);
}

static void free_chunks(struct tt_team *t)
{
    while (t->chunk) {
        int64_t offset = t->chunk;
        t->chunk = ((const struct chunk *)tt_fabric_at(t->fabric, offset))->before;
        tt_arena_put(&t->fabric->arena, offset);
    }
}

/* Frees the long windows; the other parts lie in chunks. */
static void free_windows(struct tt_team *t)
{
    int64_t at = atomic_load(&tt_team_head(t, t->me)->part[TT_PART_WINDOWS]);
    if (at) tt_arena_put(&t->fabric->arena, at);
}

static void free_ends(struct tt_team *t)
{
    for (uint64_t i = 0; t->ends && i < t->windows * TT_LANES; i++) {
        for (int k = 0; t->ends[i] && k < 2 * t->map.p; k++) tt_free(t->ends[i][k]);
        tt_free(t->ends[i]);
    }
    tt_free(t->ends);
}

void tt_team_release(struct tt_team *t, bool shared)
{
    if (shared) {
        free_chunks(t);
        free_windows(t);
        tt_arena_put(&t->fabric->arena, t->offset);
    }
    tt_exec_free(t->note);
    free_ends(t);
    tt_free(t->bounce);
    tt_free(t->job_rank);
    tt_free(t->node);
    tt_free(t->view);
    tt_free(t->window[TT_SHORT_WINDOWS]);
    tt_remote_free(t);
    *t = (struct tt_team){0};
}

/* Adds to the `leavers` of each member as the last access of this rank to that member's block. So
 * when all other members on the node have added to a member's `leavers`, only the member itself
 * still touches its block. */
void tt_team_depart(struct tt_team *t)
{
    if (t->given_up || t->state == TT_TEAM_DEPARTED) return;
    for (int r = 0; r < t->map.p; r++)
        if (r != t->me && !tt_team_is_remote(t, r))
            atomic_fetch_add(&tt_team_head(t, r)->leavers, 1);
    tt_fabric_signalled(t->fabric, t->job_rank, t->map.p);
}

/* ---- Failure ---- */

tutti_status tt_team_error(struct tt_team *t)
{
    t->reported = true;
    return tt_fail(t->broken, "%s", t->broken_text);
}

/* A thread of a shared client calls this function only while it holds the client's lock: other
 * threads read the team, also teams of other threads (tt_team_advance_all). */
static void set_broken(struct tt_team *t, tutti_status status, int culprit, const char *text)
{
    tt_assert(!t->fabric->policy.lock || tt_lock_held(t->fabric->policy.lock));
    if (t->broken != TUTTI_OK) return;
    t->broken = status;
    t->culprit = culprit;
    snprintf(t->broken_text, sizeof t->broken_text, "%s", text);
    tt_team_add_busy(t);
    if (t->remote && t->remote_teams) tt_remote_broke(t);
    if (culprit >= 0) tt_watch_notify(t->fabric);
}

/* Returns whether an error of this status may be the fault of another member. If so, all members
 * report the error's text. */
static bool has_reason(tutti_status status)
{
    return status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_ARG || status == TUTTI_ERR_SYSTEM ||
           status == TUTTI_ERR_UNSUPPORTED;
}

static enum tt_rank_state state_of(const struct tt_team *t, int r)
{
    return tt_common_state(t->fabric->job, t->fabric->common, t->job_rank[r]);
}

static struct tt_failure failure_of(const struct tt_team *t, int culprit)
{
    return tt_common_failure(t->fabric->job, t->fabric->common, culprit);
}

/* Returns whether the failed member r has an error that is also an error of this rank: the calls on
 * this team do not match, or an argument of this rank is wrong (tt_access_blame). Errors on other
 * teams do not count. */
static bool is_shared(const struct tt_team *t, int r, const struct tt_failure *failure)
{
    return failure->cause == TT_CAUSE_STATUS && failure->team == t->id &&
           (failure->code == TUTTI_ERR_MISMATCH || (failure->code == TUTTI_ERR_ARG && r == t->me));
}

/* If another member has found an error that is also an error of this rank (is_shared), breaks the
 * team with that error and returns true. Looks at all members that have failed, because the member
 * that failed first may have failed for another reason. */
static bool hear_error(struct tt_team *t)
{
    const struct tt_fabric *f = t->fabric;
    for (int r = 0; r < t->map.p && t->broken == TUTTI_OK; r++) {
        if (state_of(t, r) != TT_RANK_FAILED) continue;
        struct tt_failure failure = failure_of(t, t->job_rank[r]);
        if (!is_shared(t, r, &failure)) continue;
        tutti_status status = (tutti_status)failure.code;
        const char *text = failure.why ? failure.why : tutti_status_text(status);
        set_broken(t, status, t->job_rank[r], text);
        tt_common_fail_on(f->job, f->common, t->job_rank[t->me], status, t->id, text);
        return true;
    }
    return false;
}

/* `text` says that a rank has failed. If the rank has failed because of an error for which another
 * member may be at fault (has_reason), appends the text of the error. */
static void add_reason(const struct tt_failure *failure, char *text, size_t n)
{
    size_t used = strlen(text);
    if (!failure->why || failure->cause != TT_CAUSE_STATUS ||
        !has_reason((tutti_status)failure->code))
        return;
    snprintf(text + used, n - used, ": %s", failure->why);
}

/* Breaks the team because a member, rank `culprit` of the job (-1: unknown), has failed. Takes the
 * text of tutti_error(), which the function that noticed the failure has set. */
static void break_for(struct tt_team *t, int culprit)
{
    char text[sizeof t->broken_text];
    struct tt_failure failure = {.team = TT_NO_TEAM};
    if (hear_error(t)) return;
    snprintf(text, sizeof text, "%s", tutti_error());
    if (culprit >= 0) failure = failure_of(t, culprit);
    if (failure.team == t->id) add_reason(&failure, text, sizeof text);
    set_broken(t, TUTTI_ERR_PEER, culprit, text);
}

void tt_team_break(struct tt_team *t, tutti_status status)
{
    const struct tt_fabric *f = t->fabric;
    int me = t->job_rank[t->me];
    if (status == TUTTI_ERR_PEER) {
        break_for(t, tt_common_first_failed(f->job, f->common));
        return;
    }
    tt_common_fail_on(f->job, f->common, me, status, t->id,
                      has_reason(status) ? tutti_error() : NULL);
    set_broken(t, status, me, tutti_error());
}

static void look_at(struct tt_team *t, int r)
{
    char text[384];
    enum tt_rank_state state = state_of(t, r);
    if (state == TT_RANK_LEFT) t->left = true;
    /* The member may have failed after hear_error last looked at it, so hear_error looks again. */
    if (state != TT_RANK_FAILED || hear_error(t) || t->broken != TUTTI_OK) return;
    struct tt_failure failure = failure_of(t, t->job_rank[r]);
    const char *mine = r == t->me ? "this rank counts as failed: " : "";
    int n = snprintf(text, sizeof text, "%s", mine);
    tt_common_cause_text(t->fabric->job, t->fabric->common, t->job_rank[r], text + n,
                         sizeof text - (size_t)n);
    add_reason(&failure, text, sizeof text);
    set_broken(t, TUTTI_ERR_PEER, t->job_rank[r], text);
}

/* Advances the context of the team. Returns how many events happened. An error breaks the team only
 * if it may concern messages of the team. */
static int advance_context(struct tt_team *t)
{
    int events = 0;
    tutti_status status = tt_msg_advance(t->context, &events);
    if (tt_likely(status == TUTTI_OK)) return events;
    if (t->remote && t->broken == TUTTI_OK && tt_msg_concerns_all(status)) tt_team_break(t, status);
    tt_error_undo(); /* the call that returns the error sets the text again */
    return events;
}

static bool has_left(const struct tt_team *t, int r)
{
    return state_of(t, r) == TT_RANK_LEFT || (tt_team_is_remote(t, r) && tt_remote_has_left(t, r));
}

bool tt_team_miss(struct tt_team *t, int r)
{
    if (!has_left(t, r)) return false;
    for (int other = 0; other < t->map.p; other++)
        if (state_of(t, other) == TT_RANK_FAILED) return true;
    tt_common_miss(t->fabric->job, t->fabric->common, t->job_rank[r]);
    return true;
}

static void take_all(struct tt_team *t)
{
    while (t->context && advance_context(t) > 0) {
    }
}

static void look_for_others(struct tt_team *t, const struct tt_exec *exec)
{
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < t->map.p && status == TUTTI_OK; r++)
        status = tt_compare_call(t, exec->number, r);
    if (status != TUTTI_OK) tt_team_break(t, status);
}

/* Handles members that have left. A member that left is a failure only if this rank still waits for
 * it. Everything that the member sent before it left has arrived, so the execution is advanced once
 * more. If this rank still waits then, the member counts as failed on all ranks, because other
 * ranks may wait for this rank, which cannot go on. */
static void look_for_left(struct tt_team *t, struct tt_exec *exec)
{
    for (int r = 0; r < t->map.p; r++) {
        if (!has_left(t, r) || !tt_exec_waits_for(exec, r)) continue;
        if (tt_team_is_remote(t, r)) take_all(t);
        tt_exec_advance(exec);
        if (exec->state == TT_EXEC_IDLE) return;
        /* If the member has made another call, the error is a mismatch, and not that the member
         * left too early. */
        if (tt_exec_waits_for(exec, r)) look_for_others(t, exec);
        if (t->broken == TUTTI_OK && tt_exec_waits_for(exec, r)) (void)tt_team_miss(t, r);
    }
}

/* Compares the calls under way if a member has left with a call under way. Such a member found no
 * difference between its own counts and those of others, but the counts of two other members may
 * differ (settle.c). In that case the mismatch is the error to report, not that the member left. */
static void look_for_differences(struct tt_team *t)
{
    bool left = false;
    for (int r = 0; r < t->map.p && !left; r++)
        left = failure_of(t, t->job_rank[r]).cause == TT_CAUSE_LEFT;
    for (uint64_t s = 0; s < t->slots && left && t->broken == TUTTI_OK; s++)
        if (t->running[s]) look_for_others(t, t->running[s]);
}

static void look_for_failed(struct tt_team *t)
{
    int first = tt_common_first_failed(t->fabric->job, t->fabric->common);
    if (!hear_error(t)) look_for_differences(t);
    for (int r = 0; r < t->map.p; r++)
        if (t->job_rank[r] == first) look_at(t, r);
    for (int r = 0; r < t->map.p; r++) look_at(t, r);
    /* Ranks may have failed after the team broke. This sends the other nodes notices of these
     * failures, too. */
    if (first >= 0) tt_watch_notify(t->fabric);
}

void tt_team_give_up(struct tt_team *t, int gone)
{
    char text[64] = "another member has found the team to be broken";
    look_for_failed(t);
    if (gone >= 0) {
        int rank = t->job_rank[gone];
        bool left = tt_common_state(t->fabric->job, t->fabric->common, rank) == TT_RANK_LEFT;
        snprintf(text, sizeof text, "rank %d %s", rank,
                 left ? "left the job while it was still needed" : "has failed or left the job");
    }
    set_broken(t, TUTTI_ERR_PEER, -1, text);
    t->given_up = true;
    t->reported = true; /* the call that runs the agreement reports the error */
}

void tt_team_revoke(struct tt_team *t, int by)
{
    char text[64];
    if (!t->revoked_by) t->revoked_by = 1 + by;
    snprintf(text, sizeof text, "rank %d revoked the team", by);
    set_broken(t, TUTTI_ERR_PEER, -1, text);
}

/* Watches the members that this rank waits for. If no execution is in flight, this rank waits
 * outside of executions, for example in tt_team_settle or in an agreement. It may then wait for any
 * member, so it watches all members. */
static void watch_others(struct tt_team *t)
{
    bool any = t->queue != NULL;
    for (uint64_t s = 0; s < t->slots; s++) any = any || t->running[s];
    for (int r = 0; r < t->map.p; r++) {
        bool waits = !any || (t->queue && tt_exec_waits_for(t->queue, r));
        for (uint64_t s = 0; s < t->slots && !waits; s++)
            waits = t->running[s] && tt_exec_waits_for(t->running[s], r);
        if (waits) tt_watch(t->fabric, t->job_rank[r]);
    }
    tt_watch_look(t->fabric);
}

/* Returns whether it is time to compare calls. A caller that waits in its own loop, by tutti_test,
 * may lose the processor in each pass of the loop, or calculate: then the number of checks alone
 * would let seconds pass, and members that leave meanwhile would not hear of a mismatch
 * (TT_SETTLE_NS). */
static bool is_time_to_compare(struct tt_team *t)
{
    if (++t->looks % LOOKS_TO_CLOCK != 0) return false;
    int64_t now_ns = tt_clock_ns();
    if (t->looks % LOOKS_TO_COMPARE != 0 && now_ns < t->compared_ns + COMPARE_NS) return false;
    t->compared_ns = now_ns;
    return true;
}

bool tt_team_check(struct tt_team *t, bool long_wait)
{
    long_wait |= is_time_to_compare(t);
    if (tt_unlikely(long_wait && t->fabric->watch)) watch_others(t);
    uint32_t failures = atomic_load(&t->fabric->job->failures);
    if (tt_unlikely(failures != t->failures)) {
        t->failures = failures;
        /* All messages that the failed rank sent before it failed have arrived. They may be all
         * that this rank waits for, so it advances the executions before it handles the failure. */
        tt_team_advance(t);
        look_for_failed(t);
    }
    for (uint64_t s = 0; s < t->slots && (t->left || long_wait); s++) {
        if (t->running[s] && t->left) look_for_left(t, t->running[s]);
        if (t->running[s] && long_wait) look_for_others(t, t->running[s]);
        if (t->running[s] && long_wait && t->remote) tt_remote_send_call(t->running[s]);
    }
    if (t->queue && t->left) look_for_left(t, t->queue);
    if (t->remote) tt_remote_end_doubt(t);
    return long_wait;
}

/* ---- Progress ---- */

static void end_all(struct tt_team *t)
{
    for (uint64_t s = 0; s < t->slots; s++)
        if (t->running[s]) tt_exec_advance(t->running[s]);
    while (t->queue) tt_exec_advance(t->queue);
}

/* ---- The teams of a client ---- */

void tt_team_enter_ring(struct tt_team *t, struct tt_team *other)
{
    t->world = other->world;
    t->ring = other->ring;
    t->ring_before = other;
    t->ring->ring_before = other->ring = t;
}

void tt_team_leave_ring(struct tt_team *t)
{
    struct tt_team **link = &t->world->busy;
    t->ring_before->ring = t->ring;
    t->ring->ring_before = t->ring_before;
    t->ring = t->ring_before = t;
    while (t->is_busy && *link != t) link = &(*link)->next_busy;
    if (t->is_busy) *link = t->next_busy;
    t->is_busy = false;
}

void tt_team_add_busy(struct tt_team *t)
{
    if (t->is_busy) return;
    t->is_busy = true;
    t->next_busy = t->world->busy;
    t->world->busy = t;
}

static bool stays_busy(const struct tt_team *t)
{
    if (t->next != t->my_done || t->state != TT_TEAM_USED) return true;
    return t->broken == TUTTI_OK ? tt_remote_doubts(t) : !t->reported;
}

/* Teams that are added while `each` runs go to the front of the list. A function of the program
 * that handles a message must not test a request (message.h). If one does so all the same, this
 * function is called within itself; the inner call then takes no team out of the list, because the
 * outer one continues behind the team of its call of `each`. */
void tt_team_each_busy(struct tt_team *t, tt_team_fn *each, void *arg)
{
    struct tt_team *world = t->world, *busy;
    bool removes = !world->walks_busy;
    world->walks_busy = true;
    for (struct tt_team **link = &world->busy; (busy = *link) != NULL;) {
        each(busy, arg);
        if (*link != busy) continue; /* `each` has deleted this team, or has added another one */
        if (removes && !stays_busy(busy)) {
            busy->is_busy = false;
            *link = busy->next_busy;
        } else {
            link = &busy->next_busy;
        }
    }
    if (removes) world->walks_busy = false;
}

static void advance_other(struct tt_team *t, void *arg)
{
    if (t != arg && t->next != t->my_done) tt_team_advance(t);
}

void tt_team_advance_all(struct tt_team *t)
{
    tt_team_advance(t);
    if (tt_unlikely(t->world->busy != NULL)) tt_team_each_busy(t, advance_other, t);
}

void tt_team_advance(struct tt_team *t)
{
    if (tt_unlikely(t->context && !tt_msg_is_idle(t->context)))
        t->events += (uint64_t)advance_context(t);
    if (tt_unlikely(t->broken != TUTTI_OK)) {
        end_all(t);
        return;
    }
    for (uint64_t k = t->my_done; k < t->next && k < t->my_done + t->slots; k++) {
        struct tt_exec *exec = t->running[k & (t->slots - 1)];
        if (exec) tt_exec_advance(exec);
    }
    if (tt_unlikely(t->queue != NULL)) tt_exec_advance(t->queue);
}
