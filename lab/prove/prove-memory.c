/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The records of a proof: the prover's working memory, the clocks of happens-before, the values of
 * bytes, and the buffers that hold these values.
 */
#include "prove/prove-inside.h"

#include <string.h>

/* ---- Working memory ---- */

/* The prover's memory consists of pieces of 2^SMALLEST or more bytes, whose sizes are powers of
 * two. They are cut out of chunks of CHUNK or more bytes. Before each further proof all pieces are
 * freed at once, and the chunks are used again, unless they have more than KEEP bytes together. So
 * thousands of small proofs allocate no memory from the system. */

enum { CHUNK = 1 << 18, SMALLEST = 4, KEEP = 1 << 26 };

struct tt_pool_chunk {
    struct tt_pool_chunk *next;
    size_t used, room;
    _Alignas(16) char data[];
};

bool tt_prove_no_memory(struct tt_prover *p)
{
    if (p->status == TUTTI_OK)
        p->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a proof of %d ranks", p->p);
    return false;
}

/* Returns the binary logarithm of the size of the smallest piece that holds `bytes` bytes. */
static int class_of(size_t bytes)
{
    if (bytes <= (size_t)1 << SMALLEST) return SMALLEST;
    return 64 - __builtin_clzll(bytes - 1);
}

static struct tt_pool_chunk *chunk_new(size_t room)
{
    struct tt_pool_chunk *chunk = tt_alloc(sizeof *chunk + room);
    if (chunk) *chunk = (struct tt_pool_chunk){.room = room};
    return chunk;
}

/* Returns a chunk that has room for `bytes` more bytes, and makes it the chunk from which pieces
 * are cut from now on. */
static struct tt_pool_chunk *chunk_with(struct tt_proof_pool *pool, size_t bytes)
{
    struct tt_pool_chunk *at = pool->current;
    if (at && at->room - at->used >= bytes) return at;
    struct tt_pool_chunk *next = at ? at->next : pool->first;
    if (!next || next->room < bytes) {
        struct tt_pool_chunk *fresh = chunk_new(bytes > CHUNK ? bytes : CHUNK);
        if (!fresh) return NULL;
        fresh->next = next;
        *(at ? &at->next : &pool->first) = fresh;
        next = fresh;
    }
    next->used = 0;
    return pool->current = next;
}

void *tt_prove_alloc(struct tt_prover *p, size_t bytes)
{
    struct tt_proof_pool *pool = &p->pool;
    int class = class_of(bytes);
    void **freed = pool->freed[class];
    if (freed) {
        pool->freed[class] = *freed;
        return freed;
    }
    size_t room = (size_t)1 << class;
    struct tt_pool_chunk *chunk = chunk_with(pool, room);
    if (!chunk) {
        tt_prove_no_memory(p);
        return NULL;
    }
    chunk->used += room;
    return chunk->data + chunk->used - room;
}

void *tt_prove_zalloc(struct tt_prover *p, size_t bytes)
{
    void *memory = tt_prove_alloc(p, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void tt_prove_release(struct tt_prover *p, void *memory, size_t bytes)
{
    int class = class_of(bytes);
    *(void **)memory = p->pool.freed[class];
    p->pool.freed[class] = memory;
}

static size_t chunks_room(const struct tt_proof_pool *pool)
{
    size_t room = 0;
    for (const struct tt_pool_chunk *c = pool->first; c; c = c->next) room += c->room;
    return room;
}

void tt_prove_pool_reset(struct tt_prover *p)
{
    if (chunks_room(&p->pool) > KEEP) tt_prove_pool_free(p);
    p->pool.current = NULL;
    memset(p->pool.freed, 0, sizeof p->pool.freed);
}

void tt_prove_pool_free(struct tt_prover *p)
{
    struct tt_pool_chunk *c = p->pool.first;
    while (c) {
        struct tt_pool_chunk *next = c->next;
        tt_free(c);
        c = next;
    }
    p->pool = (struct tt_proof_pool){.first = NULL};
}

void *tt_prove_grow(struct tt_prover *p, void *array, uint32_t *room, uint32_t n, size_t sz)
{
    if (n <= *room) return array;
    uint32_t more = *room ? *room : 64;
    while (more < n) more *= 2;
    void *grown = tt_realloc(array, more * sz);
    if (grown)
        *room = more;
    else
        tt_prove_no_memory(p);
    return grown;
}

/* ---- Clocks ---- */

/* Vector clocks record what happens before what. A lane shares the array of its clock with the
 * moments that tt_prove_moment has returned for it. The array is copied only if the lane has to
 * change it while a moment still refers to it. So a lane that signals often and awaits little
 * copies little. */

static size_t clock_bytes(const struct tt_prover *p)
{
    return sizeof(struct tt_vclock) + p->width * sizeof(uint32_t);
}

struct tt_vclock *tt_prove_clock_new(struct tt_prover *p)
{
    struct tt_vclock *clock = tt_prove_zalloc(p, clock_bytes(p));
    if (clock) clock->refs = 1;
    return clock;
}

static struct tt_vclock *clock_copy(struct tt_prover *p, const struct tt_vclock *clock)
{
    struct tt_vclock *copy = tt_prove_alloc(p, clock_bytes(p));
    if (!copy) return NULL;
    memcpy(copy, clock, clock_bytes(p));
    copy->refs = 1;
    return copy;
}

void tt_prove_clock_drop(struct tt_prover *p, struct tt_vclock *clock)
{
    if (clock && --clock->refs == 0) tt_prove_release(p, clock, clock_bytes(p));
}

/* Makes sure that *seen may be changed: if other pointers refer to the same clock, sets *seen to a
 * copy of it. */
static bool make_own(struct tt_prover *p, struct tt_vclock **seen)
{
    if ((*seen)->refs == 1) return true;
    struct tt_vclock *copy = clock_copy(p, *seen);
    if (!copy) return false;
    (*seen)->refs--;
    *seen = copy;
    return true;
}

static void latest(uint32_t *restrict mine, const uint32_t *restrict other, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) mine[i] = mine[i] > other[i] ? mine[i] : other[i];
}

bool tt_prove_join_all(struct tt_prover *p, struct tt_vclock **seen, const struct tt_vclock *other)
{
    if (!make_own(p, seen)) return false;
    latest((*seen)->t, other->t, p->width);
    return true;
}

bool tt_prove_join(struct tt_prover *p, struct tt_vclock **seen, const struct tt_moment *other)
{
    /* If *seen already has the time of `other`, it also has all times that were known at the moment
     * `other`. */
    if ((*seen)->t[other->clock] >= other->time) return true;
    if (!make_own(p, seen)) return false;
    if (*seen != other->seen) latest((*seen)->t, other->seen->t, p->width);
    (*seen)->t[other->clock] = other->time;
    return true;
}

struct tt_moment tt_prove_moment(struct tt_proof_lane *lane)
{
    struct tt_moment moment = lane->now;
    moment.seen->refs++;
    lane->now.time++;
    return moment;
}

/* ---- Values ---- */

/* The value of a byte says from which inputs it was computed. Bytes with equal values refer to the
 * same node (hash-consing). So comparing two outputs means comparing numbers, and a combination is
 * checked only when it first occurs. A node says nothing about byte positions, so a message that is
 * cut into slices needs no more nodes than a whole one. */

/* Empties the table of nodes. This takes time in proportion to the nodes in the table, not to the
 * size of the table. */
bool tt_prove_values_begin(struct tt_prover *p)
{
    for (uint32_t i = 0; i < p->nodes_n; i++)
        if (p->nodes[i].kind == TT_NODE_REDUCED)
            p->buckets[p->nodes[i].hash & (p->buckets_n - 1)] = 0;
    p->set_words = ((uint32_t)p->p + 63) / 64;
    p->nodes_n = p->kids_n = 0;
    /* The node for bytes that a transfer is still writing gets the index 0, because claim_block
     * clears the intervals that a transfer will write. */
    tt_prove_leaf(p, TT_NODE_UNDER_WAY, 0, 0, -1);
    return p->status == TUTTI_OK;
}

static bool room_for_node(struct tt_prover *p)
{
    struct tt_node *nodes =
        tt_prove_grow(p, p->nodes, &p->nodes_room, p->nodes_n + 1, sizeof *p->nodes);
    if (!nodes) return false;
    p->nodes = nodes;
    uint64_t *sets =
        tt_prove_grow(p, p->sets, &p->sets_room, (p->nodes_n + 1) * p->set_words, sizeof *p->sets);
    if (!sets) return false;
    p->sets = sets;
    memset(sets + (size_t)p->nodes_n * p->set_words, 0, p->set_words * sizeof *sets);
    return true;
}

static uint64_t *set_of(struct tt_prover *p, uint32_t node)
{
    return p->sets + (size_t)node * p->set_words;
}

uint32_t tt_prove_leaf(struct tt_prover *p, enum tt_node_kind kind, int buf, int rank,
                       int execution)
{
    if (!room_for_node(p)) return 0;
    uint32_t node = p->nodes_n++;
    p->nodes[node] = (struct tt_node){.kind = (uint8_t)kind,
                                      .buf = (uint8_t)buf,
                                      .first = rank,
                                      .last = rank,
                                      .execution = execution};
    if (kind == TT_NODE_INPUT) set_of(p, node)[rank / 64] |= UINT64_C(1) << rank % 64;
    return node;
}

/* ---- The table of combinations ---- */

static uint64_t hash_of(const struct tt_proof_run *one, uint32_t k)
{
    uint64_t hash = k;
    for (uint32_t i = 0; i < k; i++) {
        hash = (hash ^ one[i].node) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_combination(const struct tt_prover *p, const struct tt_node *node,
                           const struct tt_proof_run *one, uint32_t k)
{
    if (node->n != k) return false;
    for (uint32_t i = 0; i < k; i++)
        if (p->kids[node->kids + i] != one[i].node) return false;
    return true;
}

static uint32_t lookup(const struct tt_prover *p, uint64_t hash, const struct tt_proof_run *one,
                       uint32_t k)
{
    if (!p->buckets_n) return 0;
    uint32_t at = p->buckets[hash & (p->buckets_n - 1)];
    while (at && !(p->nodes[at].hash == hash && is_combination(p, &p->nodes[at], one, k)))
        at = p->nodes[at].next;
    return at;
}

static void link_node(struct tt_prover *p, uint32_t node)
{
    uint32_t *bucket = &p->buckets[p->nodes[node].hash & (p->buckets_n - 1)];
    p->nodes[node].next = *bucket;
    *bucket = node;
}

static bool enough_buckets(struct tt_prover *p)
{
    if (p->buckets_n > p->nodes_n) return true;
    uint32_t n = p->buckets_n ? p->buckets_n * 2 : 256;
    while (n <= p->nodes_n) n *= 2;
    uint32_t *buckets = tt_calloc(n, sizeof *buckets);
    if (!buckets) return tt_prove_no_memory(p);
    tt_free(p->buckets);
    p->buckets = buckets;
    p->buckets_n = n;
    for (uint32_t i = 0; i < p->nodes_n; i++)
        if (p->nodes[i].kind == TT_NODE_REDUCED) link_node(p, i);
    return true;
}

/* ---- Checks of a combination ---- */

static bool is_data(const struct tt_node *node)
{
    return node->kind == TT_NODE_INPUT || node->kind == TT_NODE_REDUCED;
}

/* Checks that the operands hold data of this execution. */
static bool operands_are_data(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k)
{
    char said[160];
    for (uint32_t i = 0; i < k; i++) {
        const struct tt_node *node = &p->nodes[one[i].node];
        if (!is_data(node) || node->execution != p->running->part->execution)
            return tt_prove_fault(p, is_data(node) ? TT_FAULT_WRONG : TT_FAULT_UNWRITTEN,
                                  "operand %u holds %s", i + 1,
                                  tt_prove_say_value(p, said, sizeof said, one[i]));
    }
    return true;
}

static bool counted_once(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k,
                         uint64_t *set)
{
    char said[160];
    for (uint32_t i = 0; i < k; i++) {
        const uint64_t *more = set_of(p, one[i].node);
        for (uint32_t w = 0; w < p->set_words; w++) {
            uint64_t twice = set[w] & more[w];
            set[w] |= more[w];
            if (!twice) continue;
            return tt_prove_fault(p, TT_FAULT_TWICE,
                                  "rank %d is counted twice: operand %u holds %s again",
                                  (int)w * 64 + __builtin_ctzll(twice), i + 1,
                                  tt_prove_say_value(p, said, sizeof said, one[i]));
        }
    }
    return true;
}

/* Checks, for an operation that does not commute, that the ranks in each operand follow the ranks
 * in the operand before it. */
static bool in_order(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k)
{
    char left[160], right[160];
    for (uint32_t i = 1; i < k; i++)
        if (p->nodes[one[i].node].first != p->nodes[one[i - 1].node].last + 1)
            return tt_prove_fault(p, TT_FAULT_ORDER,
                                  "the operation does not commute, and %s does not follow %s",
                                  tt_prove_say_value(p, right, sizeof right, one[i]),
                                  tt_prove_say_value(p, left, sizeof left, one[i - 1]));
    return true;
}

static bool same_place(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k)
{
    char left[160], right[160];
    int64_t sz = p->running->part->call->sz;
    for (uint32_t i = 0; i < k; i++) {
        if (one[i].coord % sz || one[i].len % sz)
            return tt_prove_fault(p, TT_FAULT_MISALIGNED,
                                  "operand %u holds %s, which are not whole elements of %ld bytes",
                                  i + 1, tt_prove_say_value(p, left, sizeof left, one[i]),
                                  (long)sz);
        if (one[i].coord != one[0].coord)
            return tt_prove_fault(p, TT_FAULT_WRONG, "combines %s with %s",
                                  tt_prove_say_value(p, left, sizeof left, one[0]),
                                  tt_prove_say_value(p, right, sizeof right, one[i]));
    }
    return true;
}

/* ---- Combining ---- */

static bool append_kids(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k)
{
    uint32_t *kids = tt_prove_grow(p, p->kids, &p->kids_room, p->kids_n + k, sizeof *kids);
    if (!kids) return false;
    p->kids = kids;
    for (uint32_t i = 0; i < k; i++) kids[p->kids_n + i] = one[i].node;
    p->kids_n += k;
    return true;
}

/* Checks a combination that has not occurred before, and enters it in the table. */
static uint32_t combine_first(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k,
                              uint64_t hash)
{
    if (!operands_are_data(p, one, k)) return 0;
    if (!p->running->part->call->commutes && !in_order(p, one, k)) return 0;
    if (!room_for_node(p) || !append_kids(p, one, k) || !enough_buckets(p)) return 0;
    if (!counted_once(p, one, k, set_of(p, p->nodes_n))) return 0;
    uint32_t node = p->nodes_n++;
    p->nodes[node] = (struct tt_node){.kind = TT_NODE_REDUCED,
                                      .first = p->nodes[one[0].node].first,
                                      .last = p->nodes[one[k - 1].node].last,
                                      .execution = p->running->part->execution,
                                      .kids = p->kids_n - k,
                                      .n = k,
                                      .hash = hash};
    link_node(p, node);
    return node;
}

uint32_t tt_prove_combine(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k)
{
    uint64_t hash = hash_of(one, k);
    uint32_t node = lookup(p, hash, one, k);
    if (!node) node = combine_first(p, one, k, hash);
    return node && same_place(p, one, k) ? node : 0;
}

/* ---- Buffers ---- */

/* A buffer is kept as sorted intervals. Each interval has its value and the accesses with which a
 * new access could conflict: the last write, and the reads since.
 *
 * An access is checked only once, when it begins. That is enough: if two accesses conflict, one of
 * them begins later in this run of the prover. There is no race only if the earlier access has
 * ended when the later one begins, and the lane of the later access knows this end. Both can be
 * checked when the later access begins. */

bool tt_prove_runs_add(struct tt_prover *p, struct tt_runs *runs, struct tt_proof_run run)
{
    if (runs->n) {
        struct tt_proof_run *last = &runs->at[runs->n - 1];
        if (last->node == run.node && last->coord + last->len == run.coord) {
            last->len += run.len;
            return true;
        }
    }
    struct tt_proof_run *at = tt_prove_grow(p, runs->at, &runs->room, runs->n + 1, sizeof *at);
    if (!at) return false;
    runs->at = at;
    at[runs->n++] = run;
    return true;
}

/* ---- Intervals ---- */

bool tt_prove_memory_set(struct tt_prover *p, struct tt_memory *m, int64_t bytes, uint32_t node)
{
    m->room = 4;
    m->hint = 0;
    m->n = bytes > 0;
    m->bytes = bytes;
    m->at = tt_prove_alloc(p, m->room * sizeof *m->at);
    if (m->at) m->at[0] = (struct tt_interval){.node = node};
    return m->at != NULL;
}

static int64_t end_of(const struct tt_memory *m, uint32_t i)
{
    return i + 1 < m->n ? m->at[i + 1].off : m->bytes;
}

/* Returns the index of the interval that contains byte `off`. It first tries the interval that the
 * previous look-up found, and the interval after that one, because most look-ups are for
 * consecutive bytes. */
static uint32_t find(struct tt_memory *m, int64_t off)
{
    uint32_t low = 0, high = m->n;
    for (uint32_t i = m->hint; i < m->n && i < m->hint + 2; i++)
        if (m->at[i].off <= off && off < end_of(m, i)) return m->hint = i;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (m->at[middle].off <= off)
            low = middle;
        else
            high = middle;
    }
    return m->hint = low;
}

static bool room_for_one(struct tt_prover *p, struct tt_memory *m)
{
    if (m->n < m->room) return true;
    struct tt_interval *at = tt_prove_alloc(p, 2 * m->room * sizeof *at);
    if (!at) return false;
    memcpy(at, m->at, m->n * sizeof *at);
    tt_prove_release(p, m->at, m->room * sizeof *at);
    m->at = at;
    m->room *= 2;
    return true;
}

/* Makes sure that an interval begins at `off`, by cutting one in two if necessary. Sets *index to
 * the index of this interval. */
static bool cut(struct tt_prover *p, struct tt_memory *m, int64_t off, uint32_t *index)
{
    *index = m->n;
    if (off == m->bytes) return true;
    uint32_t i = find(m, off);
    *index = i;
    if (m->at[i].off == off) return true;
    if (!room_for_one(p, m)) return false;
    memmove(m->at + i + 2, m->at + i + 1, (m->n - i - 1) * sizeof *m->at);
    m->n++;
    m->at[i + 1] = m->at[i];
    m->at[i + 1].off = off;
    *index = i + 1;
    return true;
}

/* Cuts intervals so that some of them cover exactly the bytes [off, off + len), and sets *first and
 * *end: these intervals are *first .. *end - 1. */
static bool cut_out(struct tt_prover *p, struct tt_memory *m, int64_t off, int64_t len,
                    uint32_t *first, uint32_t *end)
{
    return cut(p, m, off, first) && cut(p, m, off + len, end);
}

static void join_up(struct tt_memory *m, uint32_t first, uint32_t end)
{
    if (end - first < 2) return;
    memmove(m->at + first + 1, m->at + end, (m->n - end) * sizeof *m->at);
    m->n -= end - first - 1;
    m->hint = first;
}

static int64_t blocks_of(const struct tt_place *place)
{
    return place->len / place->block;
}

/* ---- Accesses ---- */

uint32_t tt_prove_access(struct tt_prover *p, bool under_way)
{
    struct tt_proof_access *all =
        tt_prove_grow(p, p->accesses, &p->accesses_room, p->accesses_n + 1, sizeof *all);
    if (!all) return 0;
    p->accesses = all;
    const struct tt_proof_lane *lane = p->running;
    all[p->accesses_n] = (struct tt_proof_access){.clock = lane->now.clock,
                                                  .end = under_way ? TT_UNDER_WAY : lane->now.time,
                                                  .part = (uint32_t)(lane->part - p->parts),
                                                  .at = lane->step.at,
                                                  .lane = (uint8_t)lane->index};
    p->proof->accesses++;
    return p->accesses_n++;
}

static bool add_reader(struct tt_prover *p, struct tt_interval *in, uint32_t access)
{
    struct tt_proof_reader *all =
        tt_prove_grow(p, p->readers, &p->readers_room, p->readers_n + 1, sizeof *all);
    if (!all) return false;
    p->readers = all;
    uint32_t next = in->reads;
    /* a read replaces an earlier read by the same lane in the list */
    const struct tt_proof_access *last = &p->accesses[all[next].access],
                                 *now = &p->accesses[access];
    if (next && last->clock == now->clock && last->end != TT_UNDER_WAY) next = all[next].next;
    all[p->readers_n] = (struct tt_proof_reader){.access = access, .next = next};
    in->reads = p->readers_n++;
    return true;
}

static bool written_before(struct tt_prover *p, struct tt_memory *m, uint32_t i, uint32_t access,
                           bool write)
{
    const struct tt_interval *in = &m->at[i];
    if (tt_likely(tt_prove_before(p, in->write, &p->running->now) && in->write != access))
        return true;
    return tt_prove_race(p, m, in->off, end_of(m, i) - in->off, access, write, in->write, true);
}

static bool read_before(struct tt_prover *p, struct tt_memory *m, uint32_t i, uint32_t access)
{
    const struct tt_interval *in = &m->at[i];
    for (uint32_t r = in->reads; r; r = p->readers[r].next) {
        uint32_t other = p->readers[r].access;
        if (tt_unlikely(other == access || !tt_prove_before(p, other, &p->running->now)))
            return tt_prove_race(p, m, in->off, end_of(m, i) - in->off, access, true, other, false);
    }
    return true;
}

/* Returns whether somebody has written the bytes of an interval in this execution, if they lie in
 * the window of another rank. Otherwise that rank may not have begun the execution yet, and then
 * its window may lack memory. */
static bool is_backed(struct tt_prover *p, const struct tt_memory *m, uint32_t i)
{
    char bytes[80];
    const struct tt_interval *in = &m->at[i];
    const struct tt_part *mine = p->running->part, *writer = &p->parts[p->accesses[in->write].part];
    if (m->buf != TT_WIN || m->rank == mine->rank) return true;
    if (in->write && writer->execution == mine->execution) return true;
    tt_prove_say_bytes(p, bytes, sizeof bytes, m, in->off, end_of(m, i) - in->off);
    return tt_prove_fault(p, TT_FAULT_UNWRITTEN,
                          "reads %s, which nobody has written in this execution", bytes);
}

static bool load_block(struct tt_prover *p, struct tt_memory *m, int64_t off, int64_t len,
                       uint32_t access, struct tt_runs *runs)
{
    uint32_t first, end;
    if (!cut_out(p, m, off, len, &first, &end)) return false;
    for (uint32_t i = first; i < end; i++) {
        struct tt_interval *in = &m->at[i];
        struct tt_proof_run run = {end_of(m, i) - in->off, in->off + in->shift, in->node};
        if (!written_before(p, m, i, access, false) || !is_backed(p, m, i) ||
            !add_reader(p, in, access) || !tt_prove_runs_add(p, runs, run))
            return false;
    }
    return true;
}

bool tt_prove_load(struct tt_prover *p, const struct tt_place *place, uint32_t access,
                   struct tt_runs *runs)
{
    runs->n = 0;
    for (int64_t b = 0; b < blocks_of(place); b++)
        if (!load_block(p, place->memory, place->off + b * place->stride, place->block, access,
                        runs))
            return false;
    return true;
}

static bool peek_block(struct tt_prover *p, struct tt_memory *m, int64_t off, int64_t len,
                       struct tt_runs *runs)
{
    for (uint32_t i = find(m, off); len > 0; i++) {
        int64_t part = tt_min(len, end_of(m, i) - off);
        if (!tt_prove_runs_add(p, runs,
                               (struct tt_proof_run){part, off + m->at[i].shift, m->at[i].node}))
            return false;
        off += part;
        len -= part;
    }
    return true;
}

bool tt_prove_peek(struct tt_prover *p, const struct tt_place *place, struct tt_runs *runs)
{
    runs->n = 0;
    for (int64_t b = 0; b < blocks_of(place); b++)
        if (!peek_block(p, place->memory, place->off + b * place->stride, place->block, runs))
            return false;
    return true;
}

static bool claim_block(struct tt_prover *p, struct tt_memory *m, int64_t off, int64_t len,
                        uint32_t access)
{
    uint32_t first, end;
    if (!cut_out(p, m, off, len, &first, &end)) return false;
    for (uint32_t i = first; i < end; i++)
        if (!written_before(p, m, i, access, true) || !read_before(p, m, i, access)) return false;
    join_up(m, first, end);
    m->at[first] = (struct tt_interval){.off = off, .write = access};
    return true;
}

bool tt_prove_claim(struct tt_prover *p, const struct tt_place *place, uint32_t access)
{
    for (int64_t b = 0; b < blocks_of(place); b++)
        if (!claim_block(p, place->memory, place->off + b * place->stride, place->block, access))
            return false;
    return true;
}

static bool store_piece(struct tt_prover *p, struct tt_memory *m, int64_t off,
                        struct tt_proof_run run)
{
    uint32_t first, end;
    if (!cut_out(p, m, off, run.len, &first, &end)) return false;
    for (uint32_t i = first; i < end; i++) {
        m->at[i].node = run.node;
        m->at[i].shift = run.coord - off;
    }
    return true;
}

bool tt_prove_store(struct tt_prover *p, const struct tt_place *place, const struct tt_runs *runs)
{
    /* block: the number of the block that is being written; done: the bytes already written in
     * it */
    int64_t block = 0, done = 0;
    for (uint32_t r = 0; r < runs->n; r++) {
        struct tt_proof_run left = runs->at[r];
        while (left.len > 0) {
            struct tt_proof_run piece = left;
            piece.len = tt_min(left.len, place->block - done);
            if (!store_piece(p, place->memory, place->off + block * place->stride + done, piece))
                return false;
            left.len -= piece.len;
            left.coord += piece.len;
            done += piece.len;
            block += done == place->block;
            done %= place->block;
        }
    }
    return true;
}

static bool over(struct tt_prover *p, struct tt_part *part, struct tt_memory *m, uint32_t i,
                 uint32_t access)
{
    if (tt_likely(tt_prove_before(p, access, &part->end))) return true;
    char bytes[80], step[TT_PROVE_STEP_TEXT];
    const struct tt_proof_access *a = &p->accesses[access];
    return tt_prove_fault_at_end(
        p, part, TT_FAULT_CLOSED, "rank %d ends while rank %d may still touch %s (its lane %d, %s)",
        part->rank, p->parts[a->part].rank,
        tt_prove_say_bytes(p, bytes, sizeof bytes, m, m->at[i].off, end_of(m, i) - m->at[i].off),
        a->lane, tt_prove_say_step(p, step, &p->parts[a->part], a->at));
}

bool tt_prove_quiet(struct tt_prover *p, struct tt_part *part, struct tt_memory *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (!over(p, part, m, i, m->at[i].write)) return false;
        for (uint32_t r = m->at[i].reads; r; r = p->readers[r].next)
            if (!over(p, part, m, i, p->readers[r].access)) return false;
    }
    return true;
}
