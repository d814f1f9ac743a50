/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers as sorted intervals, each with its value and with the accesses that a next one must not
 * run into: the last write, and the reads since. It is enough to look when an access begins: of two
 * that conflict one begins later in this run, and the earlier is ordered before it only if it is
 * over by then and known to be.
 */
#include "plan/prove-inside.h"

#include <string.h>

bool tt_prove_runs_add(struct tt_prover *p, struct tt_runs *runs, struct tt_run run)
{
    if (runs->n) {
        struct tt_run *last = &runs->at[runs->n - 1];
        if (last->node == run.node && last->coord + last->len == run.coord) {
            last->len += run.len;
            return true;
        }
    }
    struct tt_run *at = tt_prove_grow(p, runs->at, &runs->room, runs->n + 1, sizeof *at);
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

/* The interval of a byte. Most look-ups follow the one before. */
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

/* Makes an interval begin at off; *index becomes its place. */
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

/* Intervals *first .. *end-1 are [off, off + len). */
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
    struct tt_access *all =
        tt_prove_grow(p, p->accesses, &p->accesses_room, p->accesses_n + 1, sizeof *all);
    if (!all) return 0;
    p->accesses = all;
    const struct tt_lane_run *lane = p->running;
    all[p->accesses_n] = (struct tt_access){.clock = lane->now.clock,
                                            .end = under_way ? TT_UNDER_WAY : lane->now.time,
                                            .part = (uint32_t)(lane->part - p->parts),
                                            .at = lane->step.at,
                                            .lane = (uint8_t)lane->index};
    p->proof->accesses++;
    return p->accesses_n++;
}

static bool add_reader(struct tt_prover *p, struct tt_interval *in, uint32_t access)
{
    struct tt_reader *all =
        tt_prove_grow(p, p->readers, &p->readers_room, p->readers_n + 1, sizeof *all);
    if (!all) return false;
    p->readers = all;
    uint32_t next = in->reads;
    /* A lane's later read stands for its earlier one. */
    const struct tt_access *last = &p->accesses[all[next].access], *now = &p->accesses[access];
    if (next && last->clock == now->clock && last->end != TT_UNDER_WAY) next = all[next].next;
    all[p->readers_n] = (struct tt_reader){.access = access, .next = next};
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

static bool load_block(struct tt_prover *p, struct tt_memory *m, int64_t off, int64_t len,
                       uint32_t access, struct tt_runs *runs)
{
    uint32_t first, end;
    if (!cut_out(p, m, off, len, &first, &end)) return false;
    for (uint32_t i = first; i < end; i++) {
        struct tt_interval *in = &m->at[i];
        struct tt_run run = {end_of(m, i) - in->off, in->off + in->shift, in->node};
        if (!written_before(p, m, i, access, false) || !add_reader(p, in, access) ||
            !tt_prove_runs_add(p, runs, run))
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
        if (!tt_prove_runs_add(p, runs, (struct tt_run){part, off + m->at[i].shift, m->at[i].node}))
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

static bool store_piece(struct tt_prover *p, struct tt_memory *m, int64_t off, struct tt_run run)
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
    int64_t block = 0, done = 0; /* of the place: which, and how much of it */
    for (uint32_t r = 0; r < runs->n; r++) {
        struct tt_run left = runs->at[r];
        while (left.len > 0) {
            struct tt_run piece = left;
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
    char bytes[80];
    const struct tt_access *a = &p->accesses[access];
    return tt_prove_fault_at_end(
        p, part, TT_FAULT_CLOSED,
        "rank %d ends while rank %d may still touch %s (its lane %d, step %u)", part->rank,
        p->parts[a->part].rank,
        tt_prove_say_bytes(p, bytes, sizeof bytes, m, m->at[i].off, end_of(m, i) - m->at[i].off),
        a->lane, a->at);
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
