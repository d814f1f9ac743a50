/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values: what a byte is made of. Equal values are one node (hash-consed), so that comparing two
 * outputs is comparing two numbers, and whatever can be wrong with a combination is looked at once,
 * when it first occurs. A node stands for all bytes alike: slices do not multiply it.
 */
#include "plan/prove-inside.h"

#include <string.h>

/* Empties the table; the cost is that of what is in it. */
bool tt_prove_values_begin(struct tt_prover *p)
{
    for (uint32_t i = 0; i < p->nodes_n; i++)
        if (p->nodes[i].kind == TT_NODE_REDUCED)
            p->buckets[p->nodes[i].hash & (p->buckets_n - 1)] = 0;
    p->set_words = ((uint32_t)p->p + 63) / 64;
    p->nodes_n = p->kids_n = 0;
    tt_prove_leaf(p, TT_NODE_UNDER_WAY, 0, 0, -1); /* node 0 */
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

static uint64_t hash_of(const struct tt_run *one, uint32_t k)
{
    uint64_t hash = k;
    for (uint32_t i = 0; i < k; i++) {
        hash = (hash ^ one[i].node) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_combination(const struct tt_prover *p, const struct tt_node *node,
                           const struct tt_run *one, uint32_t k)
{
    if (node->n != k) return false;
    for (uint32_t i = 0; i < k; i++)
        if (p->kids[node->kids + i] != one[i].node) return false;
    return true;
}

static uint32_t lookup(const struct tt_prover *p, uint64_t hash, const struct tt_run *one,
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

/* ---- What may be combined ---- */

static bool is_data(const struct tt_node *node)
{
    return node->kind == TT_NODE_INPUT || node->kind == TT_NODE_REDUCED;
}

/* Operands that hold something of this execution. */
static bool operands_are_data(struct tt_prover *p, const struct tt_run *one, uint32_t k)
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

static bool counted_once(struct tt_prover *p, const struct tt_run *one, uint32_t k, uint64_t *set)
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

/* Each operand the run of ranks that follows the one before. */
static bool in_order(struct tt_prover *p, const struct tt_run *one, uint32_t k)
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

static bool same_place(struct tt_prover *p, const struct tt_run *one, uint32_t k)
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

static bool append_kids(struct tt_prover *p, const struct tt_run *one, uint32_t k)
{
    uint32_t *kids = tt_prove_grow(p, p->kids, &p->kids_room, p->kids_n + k, sizeof *kids);
    if (!kids) return false;
    p->kids = kids;
    for (uint32_t i = 0; i < k; i++) kids[p->kids_n + i] = one[i].node;
    p->kids_n += k;
    return true;
}

/* Checked, and entered in the table. */
static uint32_t combine_first(struct tt_prover *p, const struct tt_run *one, uint32_t k,
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

uint32_t tt_prove_combine(struct tt_prover *p, const struct tt_run *one, uint32_t k)
{
    uint64_t hash = hash_of(one, k);
    uint32_t node = lookup(p, hash, one, k);
    if (!node) node = combine_first(p, one, k, hash);
    return node && same_place(p, one, k) ? node : 0;
}
